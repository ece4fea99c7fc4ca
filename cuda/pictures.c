#include "cuda/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/check.h"
#include "cuda/driver_memory.h"
#include "unet/base/platform.h"

static const char pictures[] = "the pictures", copying[] = "bringing a picture to the host";

/* It lasts until the device and all pictures are gone. */
struct picture_home {
  int ordinal;
  cudaStream_t stream; /* for what pictures do themselves */
  struct driver_memory driver;
  CUmemAllocationProp kind;
  size_t granularity; /* of the driver's memory; 0: there is none */
  pthread_mutex_t lock;
  /* Protected by lock */
  struct cuda_device *device; /* NULL: closed */
  int holders;
};

struct cuda_picture {
  struct picture base;
  struct picture_home *home;
  void *memory;         /* the device's */
  size_t bytes;         /* of it */
  size_t used;          /* of these, by the run */
  bool mapped;          /* it is the driver's, else the run-time library's */
  pthread_mutex_t lock; /* one thread copies */
  atomic_bool copied;
};

static struct cuda_picture *cuda_picture(struct picture *picture) {
  return (struct cuda_picture *)picture;
}

/* --- the home --- */

static void home_leave(struct picture_home *home) {
  pthread_mutex_lock(&home->lock);
  bool last = --home->holders == 0;
  pthread_mutex_unlock(&home->lock);
  if (!last)
    return;
  cudaStreamDestroy(home->stream);
  pthread_mutex_destroy(&home->lock);
  free(home);
}

/* Compute Sanitizer's initcheck lets no kernel write to memory that is exported. */
static void find_memory(struct picture_home *home, bool shared) {
  home->kind = (CUmemAllocationProp){.type = CU_MEM_ALLOCATION_TYPE_PINNED,
                                     .requestedHandleTypes =
                                         shared ? CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR : CU_MEM_HANDLE_TYPE_NONE,
                                     .location = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = home->ordinal}};
  if (!driver_memory_find(&home->driver) ||
      home->driver.get_granularity(&home->granularity, &home->kind, CU_MEM_ALLOC_GRANULARITY_MINIMUM))
    home->granularity = 0;
}

int pictures_open(struct cuda_device *device, bool shared, struct error *err) {
  struct picture_home *home = calloc(1, sizeof *home);
  if (!home)
    return error_set(err, STATUS_FAILED, "out of memory");
  *home = (struct picture_home){.ordinal = device->ordinal, .device = device, .holders = 1};
  if (cuda_check(cudaStreamCreateWithFlags(&home->stream, cudaStreamNonBlocking), pictures, err) < 0) {
    free(home);
    return -1;
  }
  platform_lock_init(&home->lock);
  find_memory(home, shared);
  device->picture_home = home;
  return 0;
}

void pictures_close(struct cuda_device *device) {
  struct picture_home *home = device->picture_home;
  if (!home)
    return;
  pthread_mutex_lock(&home->lock);
  home->device = NULL;
  pthread_mutex_unlock(&home->lock);
  home_leave(home);
}

/* The device, if it is there, has so much less memory in use and so much more copied. */
static void tell_device(struct picture_home *home, size_t freed, size_t copied) {
  pthread_mutex_lock(&home->lock);
  struct cuda_device *device = home->device;
  if (device && freed)
    cuda_uncount(device, freed);
  if (device && copied) {
    pthread_mutex_lock(&device->base.memory);
    device->counters.copied_down += copied;
    pthread_mutex_unlock(&device->base.memory);
  }
  pthread_mutex_unlock(&home->lock);
}

/* --- device memory --- */

/* At addresses that were reserved for it. What is there when a step fails is undone; a mapping keeps its memory. */
static bool map(const struct picture_home *home, CUmemGenericAllocationHandle memory, size_t bytes, CUdeviceptr *at) {
  const struct driver_memory *driver = &home->driver;
  const CUmemAccessDesc access = {.location = home->kind.location, .flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE};
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

/* false: this system has no such memory, or none left. */
static bool make_mapped(struct cuda_picture *picture, size_t bytes) {
  const struct picture_home *home = picture->home;
  CUmemGenericAllocationHandle memory;
  CUdeviceptr at = 0;
  int descriptor = -1;
  if (!home->granularity || home->driver.create(&memory, bytes, &home->kind, 0))
    return false;
  picture->mapped = map(home, memory, bytes, &at);
  if (picture->mapped && home->kind.requestedHandleTypes &&
      home->driver.export(&descriptor, memory, home->kind.requestedHandleTypes, 0) == CUDA_SUCCESS) {
    picture->base.share = descriptor;
    picture->base.share_bytes = bytes;
  }
  home->driver.release(memory);
  if (picture->mapped)
    picture->memory = (void *)(uintptr_t)at;
  return picture->mapped;
}

static int make_memory(struct cuda_device *device, struct cuda_picture *picture, size_t wanted, struct error *err) {
  size_t unit = picture->home->granularity, bytes = unit ? (wanted + unit - 1) / unit * unit : wanted;
  if (cuda_count(device, bytes, pictures, err) < 0)
    return -1;
  picture->bytes = bytes;
  if (make_mapped(picture, bytes))
    return 0;
  cudaError_t status = cudaMalloc(&picture->memory, bytes);
  if (status != cudaErrorMemoryAllocation)
    return cuda_check(status, pictures, err);
  cudaGetLastError();
  return cuda_no_room(device, bytes, pictures, err);
}

static void free_memory(struct cuda_picture *picture) {
  const struct driver_memory *driver = &picture->home->driver;
  CUdeviceptr at = (CUdeviceptr)(uintptr_t)picture->memory;
  if (picture->mapped) {
    driver->unmap(at, picture->bytes);
    driver->free(at, picture->bytes);
    if (picture->base.share >= 0)
      platform_close_descriptor(picture->base.share);
  } else {
    cudaFree(picture->memory);
  }
  tell_device(picture->home, picture->bytes, 0);
}

/* --- pictures --- */

static void destroy(struct picture *base) {
  struct cuda_picture *picture = cuda_picture(base);
  cudaSetDevice(picture->home->ordinal);
  free_memory(picture);
  cudaFreeHost(frame_plane(&base->template, 0));
  pthread_mutex_destroy(&picture->lock);
  home_leave(picture->home);
}

/* Rows' padding is never undefined. */
static int clear(const struct cuda_picture *picture, void *host, size_t bytes, struct error *err) {
  memset(host, 0, bytes);
  if (cuda_check(cudaMemsetAsync(picture->memory, 0, picture->bytes, picture->home->stream), pictures, err) < 0)
    return -1;
  return cuda_check(cudaStreamSynchronize(picture->home->stream), pictures, err);
}

static int make(void *opaque, struct picture *base, struct error *err) {
  const struct device_pictures *shape = opaque;
  struct cuda_device *device = cuda_enter(shape->device);
  struct cuda_picture *picture = cuda_picture(base);
  void *host = NULL;
  picture->home = device->picture_home;
  platform_lock_init(&picture->lock);
  pthread_mutex_lock(&picture->home->lock);
  picture->home->holders++;
  pthread_mutex_unlock(&picture->home->lock);
  if (make_memory(device, picture, shape->bytes, err) < 0 ||
      cuda_check(cudaHostAlloc(&host, shape->bytes, cudaHostAllocPortable), "pinned memory", err) < 0 ||
      clear(picture, host, shape->bytes, err) < 0) {
    base->template.plane[0] = host;
    destroy(base);
    return -1;
  }
  base->memory = MEMORY_HOST | MEMORY_PINNED | MEMORY_DEVICE;
  base->gpu = device->base.gpu;
  base->device_plane[0] = picture->memory;
  base->template.plane[0] = host;
  return 0;
}

static int copy(struct cuda_picture *picture, struct error *err) {
  struct picture_home *home = picture->home;
  if (cuda_check(cudaSetDevice(home->ordinal), copying, err) < 0 ||
      cuda_check(cudaMemcpyAsync(frame_plane(&picture->base.template, 0), picture->memory, picture->used,
                                 cudaMemcpyDeviceToHost, home->stream),
                 copying, err) < 0 ||
      cuda_check(cudaStreamSynchronize(home->stream), copying, err) < 0)
    return -1;
  tell_device(home, 0, picture->used);
  return 0;
}

/* Whoever has the picture got it when its run was collected: it is complete on the device. */
static int wait(struct picture *base, enum memory kind, struct error *err) {
  struct cuda_picture *picture = cuda_picture(base);
  if (kind == MEMORY_DEVICE || picture->copied)
    return 0;
  pthread_mutex_lock(&picture->lock);
  int status = picture->copied ? 0 : copy(picture, err);
  if (status == 0)
    picture->copied = true;
  pthread_mutex_unlock(&picture->lock);
  return status;
}

static bool ready(struct picture *base, enum memory kind) {
  return kind == MEMORY_DEVICE || cuda_picture(base)->copied;
}

const struct picture_owner cuda_picture_owner = {
    .bytes = sizeof(struct cuda_picture), .make = make, .destroy = destroy, .wait = wait, .ready = ready};

void picture_begin(const struct frame *frame, size_t bytes) {
  struct cuda_picture *picture = cuda_picture(frame->picture);
  for (int i = 0; i < frame_planes(frame->format); i++)
    picture->base.device_plane[i] = (uint8_t *)picture->memory + (frame->plane[i] - frame->plane[0]);
  picture->used = bytes;
  picture->copied = false;
}

void picture_copied(struct picture *picture) {
  cuda_picture(picture)->copied = true;
  tell_device(cuda_picture(picture)->home, 0, cuda_picture(picture)->used);
}
