/* Standard normal noise from a counter-based generator: element i of a sample depends only on the seed, the sample's
 * number and i. It has the same bits on every machine, because it is computed with IEEE additions, multiplications,
 * divisions and square roots alone. */
#ifndef UNET_SAMPLE_NOISE_H
#define UNET_SAMPLE_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Computes out from counter and key with Philox 4x32-10, a counter-based random number generator: Salmon, Moraes, Dror,
 * Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
void noise_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Sets out[i] to element first + i of a noise sample. Sample 0 is the noise with which sampling starts (OP_START),
 * sample 1 + step the noise that this step adds (OP_STEP). */
void noise_fill(uint64_t seed, uint32_t sample, uint64_t first, float *out, size_t count);

#endif
