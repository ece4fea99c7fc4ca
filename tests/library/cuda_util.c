#include "cuda_util.h"

#include <cuda.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static char folder[] = "/tmp/reverie-test-XXXXXX";
static bool has_folder;

int look_for_gpu(void) {
  int count = 0;
  if (cudaGetDeviceCount(&count) == cudaSuccess && count > 0)
    return 0;
  cudaGetLastError();
  printf("skipped: there is no GPU\n");
  return SKIPPED;
}

struct reverie *open_on_gpu(struct reverie_config config) {
  struct reverie *reverie;
  if (!has_folder)
    assert_non_null(mkdtemp(folder));
  has_folder = true;
  config.size = sizeof config;
  config.device = config.device ? config.device : "cuda";
  config.cache_dir = folder;
  MUST(reverie_create(&reverie, &config, error));
  MUST(reverie_set(reverie, "prompt[1]", "ink drawing", error));
  MUST(reverie_open(reverie, error));
  MUST(reverie_prepare(reverie, SIDE, SIDE, error));
  return reverie;
}

void remove_folder(void) {
  DIR *entries = has_folder ? opendir(folder) : NULL;
  for (const struct dirent *entry; entries && (entry = readdir(entries));)
    if (entry->d_name[0] != '.')
      unlinkat(dirfd(entries), entry->d_name, 0);
  if (entries)
    closedir(entries);
  rmdir(folder);
}

int row_bytes(int format, int plane) {
  switch (format) {
  case REVERIE_I420:
    return plane ? SIDE / 2 : SIDE;
  case REVERIE_NV12:
    return plane < 2 ? SIDE : 0;
  case REVERIE_P010:
    return plane < 2 ? 2 * SIDE : 0;
  case REVERIE_YUYV:
    return plane ? 0 : 2 * SIDE;
  default:
    return plane ? 0 : 4 * SIDE;
  }
}

int row_count(int format, int plane) {
  return row_bytes(format, plane) ? plane ? SIDE / 2 : SIDE : 0;
}

struct frames make_frames(int format, int number, int padding) {
  struct frames frames;
  size_t used = 0, used_there = 0;
  CUDA(cudaHostAlloc((void **)&frames.pixels, BYTES_MOST, cudaHostAllocDefault));
  CUDA(cudaMalloc((void **)&frames.memory, BYTES_MOST));
  CUDA(cudaMemset(frames.memory, 0x5a, BYTES_MOST));
  for (int i = 0; i < BYTES_MOST; i++)
    frames.pixels[i] = (uint8_t)(i * 7 + i / 256 * 3 + number * 50 + (i >> 9) * number);
  frames.host = (struct reverie_frame){.size = sizeof frames.host,
                                       .format = format,
                                       .width = SIDE,
                                       .height = SIDE,
                                       .time_ns = number * INT64_C(40000000)};
  frames.cuda = frames.host;
  frames.cuda.memory = REVERIE_CUDA;
  for (int i = 0; i < PLANES && row_bytes(format, i); i++) {
    frames.host.plane[i] = frames.pixels + used;
    frames.host.pitch[i] = row_bytes(format, i);
    frames.cuda.plane[i] = frames.memory + used_there;
    frames.cuda.pitch[i] = row_bytes(format, i) + padding;
    used += (size_t)frames.host.pitch[i] * (size_t)row_count(format, i);
    used_there += (size_t)frames.cuda.pitch[i] * (size_t)row_count(format, i);
  }
  assert_true(used_there <= BYTES_MOST);
  return frames;
}

static void copy_plane(void *to, int to_pitch, const void *from, int from_pitch, int format, int plane,
                       enum cudaMemcpyKind kind, cudaStream_t stream) {
  CUDA(cudaMemcpy2DAsync(to, (size_t)to_pitch, from, (size_t)from_pitch, (size_t)row_bytes(format, plane),
                         (size_t)row_count(format, plane), kind, stream));
}

void copy_frames(const struct frames *frames, cudaStream_t stream) {
  const struct reverie_frame *host = &frames->host, *cuda = &frames->cuda;
  for (int i = 0; i < PLANES && host->plane[i]; i++)
    copy_plane((void *)(uintptr_t)cuda->plane[i], cuda->pitch[i], host->plane[i], host->pitch[i], host->format, i,
               cudaMemcpyHostToDevice, stream);
}

void free_frames(struct frames *frames) {
  cudaFreeHost(frames->pixels);
  cudaFree(frames->memory);
}

void copy_picture_on(const struct reverie_picture *picture, uint8_t *to, cudaStream_t stream) {
  for (int i = 0; i < PLANES && row_bytes(picture->format, i); i++) {
    int bytes = row_bytes(picture->format, i);
    copy_plane(to, bytes, picture->plane[i], picture->pitch[i], picture->format, i, cudaMemcpyDefault, stream);
    to += (size_t)bytes * (size_t)row_count(picture->format, i);
  }
}

size_t copy_picture(const struct reverie_picture *picture, uint8_t *to) {
  size_t bytes = 0;
  assert_true(picture->width == SIDE && picture->height == SIDE);
  copy_picture_on(picture, to, cudaStreamLegacy);
  CUDA(cudaStreamSynchronize(cudaStreamLegacy));
  for (int i = 0; i < PLANES; i++)
    bytes += (size_t)row_bytes(picture->format, i) * (size_t)row_count(picture->format, i);
  return bytes;
}

struct reverie_picture picture_of(struct reverie *reverie, const struct reverie_frame *frame) {
  struct reverie_picture picture = {.size = sizeof picture};
  MUST(reverie_submit(reverie, frame, error));
  MUST(reverie_collect(reverie, &picture, error));
  assert_int_equal(picture.time_ns, frame->time_ns);
  return picture;
}

static void *driver_function(const char *name) {
  void *function = NULL;
  enum cudaDriverEntryPointQueryResult found;
  CUDA(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found));
  assert_int_equal(found, cudaDriverEntryPointSuccess);
  return function;
}

#define DRIVER(name) ((__typeof__(&name))driver_function(#name))

get_context_function find_get_context(void) {
  return (get_context_function)driver_function("cuCtxGetCurrent");
}

static void map_by_driver(int descriptor, struct mapping *mapping) {
  const CUmemAccessDesc access = {.location = {.type = CU_MEM_LOCATION_TYPE_DEVICE},
                                  .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
  CUmemGenericAllocationHandle handle;
  CUdeviceptr at;
  assert_int_equal(DRIVER(cuMemImportFromShareableHandle)(&handle, (void *)(intptr_t)descriptor,
                                                          CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR),
                   CUDA_SUCCESS);
  assert_int_equal(DRIVER(cuMemAddressReserve)(&at, mapping->size, 0, 0, 0), CUDA_SUCCESS);
  assert_int_equal(DRIVER(cuMemMap)(at, mapping->size, 0, handle, 0), CUDA_SUCCESS);
  assert_int_equal(DRIVER(cuMemSetAccess)(at, mapping->size, &access, 1), CUDA_SUCCESS);
  mapping->handle = handle;
  mapping->bytes = (void *)(uintptr_t)at;
  close(descriptor);
}

struct mapping map_memory(int descriptor, size_t size) {
  struct mapping mapping = {.size = size};
  const struct cudaExternalMemoryHandleDesc desc = {
      .type = cudaExternalMemoryHandleTypeOpaqueFd, .handle.fd = descriptor, .size = size};
  const struct cudaExternalMemoryBufferDesc buffer = {.size = size};
  if (cudaImportExternalMemory(&mapping.external, &desc) == cudaSuccess) {
    CUDA(cudaExternalMemoryGetMappedBuffer(&mapping.bytes, mapping.external, &buffer));
    return mapping;
  }
  cudaGetLastError();
  mapping.external = NULL;
  map_by_driver(descriptor, &mapping);
  return mapping;
}

void unmap_memory(struct mapping *mapping) {
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)mapping->bytes;
  if (mapping->external) {
    CUDA(cudaFree(mapping->bytes));
    CUDA(cudaDestroyExternalMemory(mapping->external));
    return;
  }
  assert_int_equal(DRIVER(cuMemUnmap)(at, mapping->size), CUDA_SUCCESS);
  assert_int_equal(DRIVER(cuMemAddressFree)(at, mapping->size), CUDA_SUCCESS);
  assert_int_equal(DRIVER(cuMemRelease)(mapping->handle), CUDA_SUCCESS);
}

static void sleep_a_little(void *opaque) {
  (void)opaque;
  nanosleep(&(struct timespec){.tv_nsec = 8000000}, NULL);
}

void slow_down(cudaStream_t stream) {
  CUDA(cudaLaunchHostFunc(stream, sleep_a_little, NULL));
}
