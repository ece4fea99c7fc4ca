/* Faster implementations of ops, by the vectorised kernels of cpu_kernels.h, and the preparation of inputs for
 * convolutions and linear layers. */
#ifndef UNET_CPU_CPU_FAST_H
#define UNET_CPU_CPU_FAST_H

#include "unet/cpu/cpu_device.h"
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_tiles.h"

/* Returns the kernels for the widest instruction set of this processor. */
const struct cpu_kernels *cpu_kernels(void);

/* Returns the kernels for matrix units, which the processor must have; NULL: they were not built. */
const struct cpu_tiles *cpu_tiles(void);

/* Replaces the definitions of some ops in device->impl by vectorised implementations. */
void cpu_fast(struct cpu_device *device);

/* The input of a convolution, linear layer or norm: x and x2 concatenated, then the prologue (norm, activation), then
 * upsampling. */
struct cpu_input {
  struct tensor x, x2;
  const struct prologue *prologue;
  bool upsample;
};

/* Returns how many bytes of scratch memory cpu_gather needs for this input. */
size_t cpu_gather_scratch(const struct cpu_input *input);
/* Computes the input of a convolution or linear layer (concatenation, norm, activation, upsampling), and stores it in
 * `out` with type `dtype`. `scratch` has cpu_gather_scratch bytes, aligned to 64. */
void cpu_gather(const struct cpu_program *program, const struct cpu_input *input, void *out, enum dtype dtype,
                void *scratch);

#endif
