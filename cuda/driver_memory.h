/* The driver's functions for device memory in addresses of one's own choice, which a machine without a driver lacks. */
#ifndef CUDA_DRIVER_MEMORY_H
#define CUDA_DRIVER_MEMORY_H

#include <cuda.h>
#include <stdbool.h>

struct driver_memory {
  __typeof__(&cuMemGetAllocationGranularity) get_granularity;
  __typeof__(&cuMemAddressReserve) reserve;
  __typeof__(&cuMemAddressFree) free;
  __typeof__(&cuMemCreate) create;
  __typeof__(&cuMemRelease) release;
  __typeof__(&cuMemExportToShareableHandle) export;
  __typeof__(&cuMemMap) map;
  __typeof__(&cuMemUnmap) unmap;
  __typeof__(&cuMemSetAccess) set_access;
};

/* false: some are missing. */
bool driver_memory_find(struct driver_memory *driver);

#endif
