#include "cuda/driver_memory.h"

#include <cuda_runtime_api.h>

#include "unet/base/platform.h"

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

/* Under Compute Sanitizer's initcheck no kernel can write to memory that other libraries may import, so `shared` must
 * then be false. */
void driver_memory_open(struct driver_memory *driver, int ordinal, bool shared) {
  driver->kind = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                       .requestedHandleTypes =
                                           shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
                                       .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = ordinal}};
  if (!driver_memory_find(driver) ||
      driver->get_granularity(&driver->granularity, &driver->kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    driver->granularity = 0;
}

size_t driver_memory_round(const struct driver_memory *driver, size_t bytes) {
  size_t unit = driver->granularity;
  return unit ? (bytes + unit - 1) / unit * unit : bytes;
}

/* Maps memory at newly reserved addresses. If a step fails, undoes the steps that have succeeded. The mapping keeps the
 * memory alive after its handle is released. */
static bool map(const struct driver_memory *driver, CUmemGenericAllocationHandle memory, size_t bytes,
                CUdeviceptr *at) {
  const CUmemAccessDesc access = {.location = driver->kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (driver->reserve(at, bytes, 0, 0, 0))
    return false;
  if (driver->map(*at, bytes, 0, memory, 0) == CUDA_SUCCESS) {
    if (driver->set_access(*at, bytes, &access, 1) == CUDA_SUCCESS)
      return true;
    driver->unmap(*at, bytes);
  }
  driver->free(*at, bytes);
  return false;
}

void *driver_memory_make(const struct driver_memory *driver, size_t bytes, int *share) {
  CUmemGenericAllocationHandle memory;
  CUdeviceptr at = 0;
  int descriptor = -1;
  *share = -1;
  if (!driver->granularity || driver->create(&memory, bytes, &driver->kind, 0))
    return NULL;
  bool mapped = map(driver, memory, bytes, &at);
  if (mapped && driver->kind.requestedHandleTypes &&
      driver->export(&descriptor, memory, driver->kind.requestedHandleTypes, 0) == CUDA_SUCCESS)
    *share = descriptor;
  driver->release(memory);
  return mapped ? (void *)(uintptr_t)at : NULL;
}

void driver_memory_drop(const struct driver_memory *driver, void *memory, size_t bytes, int share) {
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)memory;
  driver->unmap(at, bytes);
  driver->free(at, bytes);
  if (share >= 0)
    platform_close_descriptor(share);
}
