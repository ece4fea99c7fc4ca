/* Standard normal noise from a counter-based generator: element i of a sample depends on seed, sample number and i
 * alone, and has the same bits on every machine (it is computed with IEEE additions, multiplications, divisions and
 * square roots alone). */
#ifndef UNET_SAMPLE_NOISE_H
#define UNET_SAMPLE_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
void noise_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* Fills out[i] with element first + i of a sample: sample 0 is the noise of OP_START, sample 1 + step that of
 * OP_STEP. */
void noise_fill(uint64_t seed, uint32_t sample, uint64_t first, float *out, size_t count);

#endif
