/* The definition of every op, in plain C. */
#ifndef UNET_CPU_CPU_DEFINITION_H
#define UNET_CPU_CPU_DEFINITION_H

#include "unet/cpu/cpu_device.h"

/* cpu_define_conv, cpu_define_linear, ... */
#define CPU_DEFINITION(TYPE, field, ...) extern const struct cpu_impl cpu_define_##field;
OP_TABLE(CPU_DEFINITION)
#undef CPU_DEFINITION

/* Parts of the definition. cpu_activate computes in double. */
double cpu_activate(enum activation act, double x);
/* Computes out [rows of x, c + c2] = prologue(x ++ x2). Operands are FP32. */
void cpu_prologue(const struct cpu_program *program, const struct prologue *prologue, struct tensor x, struct tensor x2,
                  float *out);

#endif
