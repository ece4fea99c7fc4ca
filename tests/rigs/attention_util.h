/* Helpers for the test and the benchmark of attention. */
#ifndef TESTS_ATTENTION_UTIL_H
#define TESTS_ATTENTION_UTIL_H

#include <cuda_runtime_api.h>

__extension__ typedef _Float16 half;

/* Calls a CUDA function. If it fails, ends the program with a line that says which call failed. */
#define CUDA(call) cuda_must(call, __FILE__, __LINE__, #call)
void cuda_must(cudaError_t status, const char *file, int line, const char *call);

/* Return the next number of a fixed sequence: between 0 and 1, or normally distributed. */
double random_uniform(void);
double random_normal(void);

#endif
