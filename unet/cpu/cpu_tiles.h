/* Convolutions and attention by a processor's matrix units (AMX), which multiply tiles: up to 16 rows of 32 bfloat16
 * numbers. The kernels are compiled twice: for the matrix units, and for tests with plain loops in place of their
 * instructions. */
#ifndef UNET_CPU_CPU_TILES_H
#define UNET_CPU_CPU_TILES_H

#include "unet/cpu/cpu_kernels.h"

struct cpu_tiles {
  /* returns how many bfloat16 numbers `pack` writes */
  size_t (*packed)(int c_out, int c_in);
  /* packs an FP32 weight [c_out][3][3][c_in] */
  void (*pack)(const float *weight, int c_out, int c_in, uint16_t *packed);
  /* returns the bytes of scratch of each thread; w: width of the result in pixels */
  size_t (*scratch)(int w, int c_in);
  /* x is bfloat16; the number of its channels is a multiple of 32, the result is at least 32 pixels wide */
  void (*conv)(const struct conv3x3 *);
  /* as the functions of struct cpu_kernels; without a causal mask. Queries, keys and values are rounded to bfloat16. */
  size_t (*attend_packed)(int keys, int dim);
  size_t (*attend_tile)(int dim);
  void (*attend)(const struct attend *);
};

/* cpu_tiles_amx needs a processor with AMX for bfloat16, and a process that the system lets use it, for which
 * cpu_dnnl_has_amx asks. cpu_tiles_plain runs on every processor. */
extern const struct cpu_tiles cpu_tiles_amx, cpu_tiles_plain;

#endif
