/* The definition of every op in plain C, with which all faster implementations are compared. */
#ifndef UNET_CPU_CPU_DEFINITION_H
#define UNET_CPU_CPU_DEFINITION_H

#include "unet/cpu/cpu_device.h"

/* The implementations cpu_define_conv, cpu_define_linear, ...: one for each row of OP_TABLE; nothing needs to be added
 * here. */
#define CPU_DEFINITION(TYPE, field, ...) extern const struct cpu_impl cpu_define_##field;
OP_TABLE(CPU_DEFINITION)
#undef CPU_DEFINITION

/* Functions that several definitions use. cpu_activate applies an activation to one value, in double. */
double cpu_activate(enum activation act, double x);
/* Stores prologue(x ++ x2) in out [rows of x, c + c2], where ++ concatenates channels. x, x2 and out are FP32. */
void cpu_prologue(const struct cpu_program *program, const struct prologue *prologue, struct tensor x, struct tensor x2,
                  float *out);
/* Returns how many frames of the bank an attention attends to; 0 if it has no second segment. */
int cpu_bank_frames(const struct cpu_run *run, const struct op_attention *op);

#endif
