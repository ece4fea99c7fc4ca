/* Device memory as the driver gives it: at addresses of one's own choice, and for other libraries to import where that
 * is wished for. A machine without a driver has none. */
#ifndef CUDA_DRIVER_MEMORY_H
#define CUDA_DRIVER_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* The driver's functions, and what memory is made. */
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
  CUmemAllocationProp kind;
  size_t granularity; /* 0: there is no such memory */
};

/* Finds the functions alone. false: some are missing. */
bool driver_memory_find(struct driver_memory *driver);

/* For memory of that GPU; shared: which others may import. */
void driver_memory_open(struct driver_memory *driver, int ordinal, bool shared);
/* What so many bytes take. */
size_t driver_memory_round(const struct driver_memory *driver, size_t bytes);
/* bytes: rounded. *share: a file descriptor that others import, to be closed by driver_memory_drop; -1: none. NULL:
 * this system has no such memory, or none left. */
void *driver_memory_make(const struct driver_memory *driver, size_t bytes, int *share);
void driver_memory_drop(const struct driver_memory *driver, void *memory, size_t bytes, int share);

#endif
