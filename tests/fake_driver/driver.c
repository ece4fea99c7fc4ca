/* A libcuda.so.1 that has a driver's entry points and none of its abilities, for machines without a driver: placed
 * first on the library path, it is what the program takes for the driver. FAKE_CUDA_VERSION sets the CUDA version that
 * it reports (13000 is 13.0), FAKE_CUDA_RESULT what cuInit and all other functions return (a CUresult other than 0). */
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

/* The CUDA run-time library looks all other functions up with this one. */
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
