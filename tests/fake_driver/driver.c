/* A libcuda.so.1 that has the entry points of a driver and none of its abilities, for machines that lack one: first on
 * the library path, it is what the program takes for the driver. FAKE_CUDA_VERSION is the CUDA version it serves (13000
 * is 13.0), FAKE_CUDA_RESULT what cuInit and everything else answer (a CUresult other than 0). */
#include <cuda.h>
#include <stdlib.h>
#include <string.h>

static int number(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static CUresult refuse(void) {
  return (CUresult)number("FAKE_CUDA_RESULT", CUDA_ERROR_UNKNOWN);
}

CUresult CUDAAPI cuInit(unsigned flags) {
  (void)flags;
  return refuse();
}

CUresult CUDAAPI cuDriverGetVersion(int *version) {
  *version = number("FAKE_CUDA_VERSION", CUDA_VERSION);
  return CUDA_SUCCESS;
}

/* How the run-time library finds all other functions. */
CUresult CUDAAPI cuGetProcAddress(const char *symbol, void **function, int version, cuuint64_t flags,
                                  CUdriverProcAddressQueryResult *found) {
  static const struct {
    const char *name;
    void *function;
  } known[] = {
      {"cuInit", (void *)cuInit},
      {"cuDriverGetVersion", (void *)cuDriverGetVersion},
      {"cuGetProcAddress", (void *)cuGetProcAddress},
  };
  (void)version, (void)flags;
  *function = (void *)refuse;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(symbol, known[i].name))
      *function = known[i].function;
  if (found)
    *found = CU_GET_PROC_ADDRESS_SUCCESS;
  return CUDA_SUCCESS;
}
