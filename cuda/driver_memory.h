/* Device memory from the driver's own functions: at addresses of the caller's choice, and, if wanted, for other
 * libraries to import. A machine without a driver has none. */
#ifndef CUDA_DRIVER_MEMORY_H
#define CUDA_DRIVER_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* The driver's functions that allocate memory which other libraries can import, and the properties of that memory. */
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
  size_t granularity; /* allocations are multiples of this many bytes; 0: this system has no such memory */
};

/* Finds the functions alone. Returns false if some are missing. */
bool driver_memory_find(struct driver_memory *driver);

/* Finds the functions, for memory of this GPU. shared: other libraries may import the memory. */
void driver_memory_open(struct driver_memory *driver, int ordinal, bool shared);
/* Rounds bytes up to the size that is really allocated. */
size_t driver_memory_round(const struct driver_memory *driver, size_t bytes);
/* Makes memory. bytes: rounded by driver_memory_round. *share: a file descriptor that others import, which
 * driver_memory_drop closes; -1: none. Returns NULL if this system has no such memory, or none left. */
void *driver_memory_make(const struct driver_memory *driver, size_t bytes, int *share);
void driver_memory_drop(const struct driver_memory *driver, void *memory, size_t bytes, int share);

#endif
