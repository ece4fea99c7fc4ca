#include "cuda/driver_memory.h"

#include <cuda_runtime_api.h>
#include <stddef.h>

bool driver_memory_find(struct driver_memory *driver) {
  const struct {
    void *pointer;
    const char *name;
  } symbols[] = {
      {&driver->get_granularity, "cuMemGetAllocationGranularity"},
      {&driver->reserve, "cuMemAddressReserve"},
      {&driver->free, "cuMemAddressFree"},
      {&driver->create, "cuMemCreate"},
      {&driver->release, "cuMemRelease"},
      {&driver->export, "cuMemExportToShareableHandle"},
      {&driver->map, "cuMemMap"},
      {&driver->unmap, "cuMemUnmap"},
      {&driver->set_access, "cuMemSetAccess"},
  };
  for (size_t i = 0; i < sizeof symbols / sizeof symbols[0]; i++) {
    enum cudaDriverEntryPointQueryResult found;
    cudaError_t status = cudaGetDriverEntryPointByVersion(symbols[i].name, (void **)symbols[i].pointer, 12000,
                                                          cudaEnableDefault, &found);
    if (status != cudaSuccess || found != cudaDriverEntryPointSuccess) {
      cudaGetLastError();
      return false;
    }
  }
  return true;
}
