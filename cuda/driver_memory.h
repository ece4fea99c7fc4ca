/* Device memory that is allocated by functions of the driver instead of the CUDA runtime: at addresses that the caller
 * chooses, and, if wanted, such that other libraries can import it. The functions are looked up at run time, so the
 * program also starts on a machine without a driver. */
#ifndef CUDA_DRIVER_MEMORY_H
#define CUDA_DRIVER_MEMORY_H

#include <cuda.h>
#include <stdbool.h>
#include <stddef.h>

/* The driver's functions that allocate memory for import by other libraries, and the properties of that memory. */
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
  /* sizes of allocations are multiples of this many bytes; 0: this system cannot allocate such memory */
  size_t granularity;
};

/* Looks up the driver's functions, without choosing a GPU. Returns false if some are missing. */
bool driver_memory_find(struct driver_memory *driver);

/* Looks up the driver's functions and prepares them for allocating memory of GPU number `ordinal`. shared: true if
 * other libraries may import the memory. */
void driver_memory_open(struct driver_memory *driver, int ordinal, bool shared);
/* Returns `bytes` rounded up to a multiple of the granularity: the size of an allocation. */
size_t driver_memory_round(const struct driver_memory *driver, size_t bytes);
/* Allocates device memory and maps it. bytes: rounded by driver_memory_round. *share: a file descriptor for other
 * libraries, which driver_memory_drop closes; -1: none. Returns NULL if this system cannot allocate such memory, or has
 * none left. */
void *driver_memory_make(const struct driver_memory *driver, size_t bytes, int *share);
/* Unmaps memory of driver_memory_make, and closes the descriptor `share` unless it is -1. bytes: the number that was
 * given to driver_memory_make. */
void driver_memory_drop(const struct driver_memory *driver, void *memory, size_t bytes, int share);

#endif
