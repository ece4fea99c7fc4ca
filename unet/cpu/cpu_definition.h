/* The definition of every op in plain C, with which all faster implementations are compared. */
#ifndef UNET_CPU_CPU_DEFINITION_H
#define UNET_CPU_CPU_DEFINITION_H

#include "unet/cpu/cpu_device.h"

/* Declares cpu_define_conv, cpu_define_linear and so on: one definition for each row of OP_TABLE (op.h). */
#define CPU_DEFINITION(TYPE, field, ...) extern const struct cpu_impl cpu_define_##field;
OP_TABLE(CPU_DEFINITION)
#undef CPU_DEFINITION

/* Returns act(x), computed in double precision. This function and those below are used by several definitions. */
double cpu_activate(enum activation act, double x);
/* Applies a prologue (norm and activation of an op's input) to x and x2, concatenated by channels, and stores the
 * result in out [rows of x, c + c2]. x, x2 and out are FP32. */
void cpu_prologue(const struct cpu_program *program, const struct prologue *prologue, struct tensor x, struct tensor x2,
                  float *out);
/* Returns how many frames of the bank (keys and values of earlier frames) an attention reads in this run; 0 if it reads
 * none. */
int cpu_bank_frames(const struct cpu_run *run, const struct op_attention *op);

#endif
