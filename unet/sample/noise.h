/* Standard normal noise, counter based: element i of sample d under a seed is a pure function of the three, the same
 * bits on every machine (built from IEEE additions, multiplications, divisions and square roots alone). */
#ifndef UNET_SAMPLE_NOISE_H
#define UNET_SAMPLE_NOISE_H

#include <stddef.h>
#include <stdint.h>

/* Philox 4x32-10: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011. */
void noise_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/* out[i] = element first + i of sample (sampler.h says which sample is for what). */
void noise_fill(uint64_t seed, uint32_t sample, uint64_t first, float *out, size_t count);

#endif
