/* Ops that vectorised C runs, and what convolutions and linear layers need of it. */
#ifndef UNET_CPU_CPU_FAST_H
#define UNET_CPU_CPU_FAST_H

#include "unet/cpu/cpu_device.h"
#include "unet/cpu/cpu_kernels.h"

/* The widest instruction set this processor has. */
const struct cpu_kernels *cpu_kernels(void);

/* Puts what it has in the place of the definition. */
void cpu_fast(struct cpu_device *device);

/* Everything that happens to the inputs of a convolution, linear layer or norm before its product. */
struct cpu_input {
  struct tensor x, x2;
  const struct prologue *prologue;
  bool upsample;
};

/* Bytes of scratch that cpu_gather needs beside its output. */
size_t cpu_gather_scratch(const struct cpu_input *input);
/* out, of type dtype, gets the input. scratch: cpu_gather_scratch bytes, aligned to 64. */
void cpu_gather(const struct cpu_program *program, const struct cpu_input *input, void *out, enum dtype dtype,
                void *scratch);

#endif
