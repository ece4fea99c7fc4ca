#include "cuda/arena.h"

#include <stdlib.h>

#include "cuda/check.h"
#include "cuda/driver_memory.h"

/* Largest size, in bytes, of the blocks of device memory that the arena takes from the driver and gives back. */
enum { PIECE_BYTES = 32 << 20 };

static const char working[] = "this size";

struct piece {
  CUmemGenericAllocationHandle memory;
  size_t at, bytes;
};

struct cuda_arena {
  struct cuda_device *device;
  CUmemAllocationProp kind;
  size_t granularity;
  /* blocks of device memory that are mapped into the arena's address range, sorted by address; together they fill its
   * beginning without gaps */
  struct piece *pieces;
  int count, capacity;
  struct driver_memory driver;
};

static size_t round_up(size_t bytes, size_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

/* --- mapping blocks of memory into the address range --- */

static CUdeviceptr address(const struct arena *arena, size_t at) {
  return (CUdeviceptr)(uintptr_t)arena->base + at;
}

static int map_piece(const struct arena *arena, struct piece *piece) {
  const struct cuda_arena *a = arena->opaque;
  const CUmemAccessDesc access = {.location = a->kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  if (a->driver.create(&piece->memory, piece->bytes, &a->kind, 0))
    return -1;
  if (a->driver.map(address(arena, piece->at), piece->bytes, 0, piece->memory, 0) == CUDA_SUCCESS) {
    if (a->driver.set_access(address(arena, piece->at), piece->bytes, &access, 1) == CUDA_SUCCESS)
      return 0;
    a->driver.unmap(address(arena, piece->at), piece->bytes);
  }
  a->driver.release(piece->memory);
  return -1;
}

static struct piece *append(struct cuda_arena *a, struct error *err) {
  if (a->count == a->capacity) {
    int capacity = a->capacity ? 2 * a->capacity : 16;
    struct piece *pieces = realloc(a->pieces, (size_t)capacity * sizeof *pieces);
    if (!pieces) {
      error_set(err, STATUS_FAILED, "out of memory");
      return NULL;
    }
    a->pieces = pieces;
    a->capacity = capacity;
  }
  return &a->pieces[a->count];
}

static int add_piece(struct arena *arena, size_t bytes, struct error *err) {
  struct cuda_arena *a = arena->opaque;
  struct piece *piece = append(a, err);
  if (!piece || cuda_count(a->device, bytes, working, err) < 0)
    return -1;
  *piece = (struct piece){.at = arena->mapped, .bytes = bytes};
  if (map_piece(arena, piece) < 0) {
    cuda_uncount(a->device, bytes);
    return cuda_no_room(a->device, bytes, working, err);
  }
  a->count++;
  arena->mapped += bytes;
  return 0;
}

static void drop_pieces(struct arena *arena, size_t bytes) {
  struct cuda_arena *a = arena->opaque;
  while (a->count > 0 && a->pieces[a->count - 1].at >= bytes) {
    const struct piece *piece = &a->pieces[--a->count];
    a->driver.unmap(address(arena, piece->at), piece->bytes);
    a->driver.release(piece->memory);
    arena->mapped = piece->at;
    cuda_uncount(a->device, piece->bytes);
  }
}

static int resize(struct arena *arena, size_t bytes, struct error *err) {
  const struct cuda_arena *a = arena->opaque;
  size_t before = arena->mapped, wanted = round_up(bytes, a->granularity);
  while (arena->mapped < wanted) {
    size_t missing = wanted - arena->mapped;
    if (add_piece(arena, missing < PIECE_BYTES ? missing : PIECE_BYTES, err) < 0) {
      drop_pieces(arena, before);
      return -1;
    }
  }
  drop_pieces(arena, bytes);
  return 0;
}

static void *alloc_own(struct arena *arena, size_t bytes, struct error *err) {
  void *data;
  const struct cuda_arena *a = arena->opaque;
  return cuda_alloc(a->device, &data, bytes, working, err) < 0 ? NULL : data;
}

static void free_own(struct arena *arena, void *data, size_t bytes) {
  const struct cuda_arena *a = arena->opaque;
  cuda_free(a->device, data, bytes);
}

/* --- opening and closing the arena --- */

/* Returns true if memory that is mapped into the arena's address range can really be written. Some systems report that
 * they support such mappings, although they do not. */
static bool try_out(struct arena *arena) {
  const struct cuda_arena *a = arena->opaque;
  if (resize(arena, a->granularity, NULL) < 0)
    return false;
  cudaError_t status = cudaMemsetAsync(arena->base, 0, a->granularity, a->device->queue.stream);
  if (status == cudaSuccess)
    status = cudaStreamSynchronize(a->device->queue.stream);
  if (status != cudaSuccess)
    cudaGetLastError();
  drop_pieces(arena, 0);
  return status == cudaSuccess;
}

static void reserve(struct arena *arena) {
  struct cuda_arena *a = arena->opaque;
  CUdeviceptr base = 0;
  a->kind = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                  .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = a->device->ordinal}};
  if (!driver_memory_find(&a->driver) ||
      a->driver.get_granularity(&a->granularity, &a->kind, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED) != CUDA_SUCCESS ||
      !a->granularity || PIECE_BYTES % a->granularity)
    return;
  arena->reserved = round_up(a->device->properties.totalGlobalMem, a->granularity);
  if (a->driver.reserve(&base, arena->reserved, 0, 0, 0) != CUDA_SUCCESS)
    return;
  arena->base = (void *)(uintptr_t)base;
  if (try_out(arena))
    return;
  a->driver.free(base, arena->reserved);
  arena->base = NULL;
}

int cuda_arena_open(struct cuda_device *device, struct error *err) {
  static const struct arena_impl impl = {.resize = resize, .alloc = alloc_own, .free = free_own};
  struct cuda_arena *a = calloc(1, sizeof *a);
  if (!a)
    return error_set(err, STATUS_FAILED, "out of memory");
  a->device = device;
  device->arena = (struct arena){.impl = &impl, .opaque = a};
  reserve(&device->arena);
  if (!device->arena.base)
    log_line(device->log, LOG_INFO, "cuda: no addresses can be reserved: each program has working memory of its own");
  return 0;
}

void cuda_arena_close(struct cuda_device *device) {
  struct cuda_arena *a = device->arena.opaque;
  if (!a)
    return;
  if (device->arena.base)
    a->driver.free((CUdeviceptr)(uintptr_t)device->arena.base, device->arena.reserved);
  free(a->pieces);
  free(a);
}
