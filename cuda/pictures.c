#include "cuda/pictures.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/check.h"
#include "cuda/driver_memory.h"
#include "cuda/gpus.h"
#include "unet/base/platform.h"

static const char pictures[] = "the pictures", copying[] = "bringing a picture to the host";
static const char following[] = "following a picture's stream";

/* The data that all pictures of a device share. They are freed when the device is closed and the last picture is
 * gone. */
struct picture_home {
  struct gpus_context context; /* the GPU's context, for the threads of programs */
  cudaStream_t stream;         /* CUDA stream on which pictures are copied to the host if a reader asks for that */
  struct driver_memory driver;
  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. */
  struct cuda_device *device; /* the device, whose counters are updated; NULL: it was closed */
  int holders;
};

struct cuda_picture {
  struct picture base;
  struct picture_home *home;
  void *memory; /* device memory with the picture's planes */
  size_t bytes; /* size in bytes of the picture's device memory */
  size_t used;  /* number of bytes, from the beginning of `memory`, that the last run writes */
  bool mapped;  /* true: `memory` was allocated by the driver's functions (driver_memory.h); false: by cudaMalloc */
  /* Lock that a thread holds while it copies the picture to the host, so that no other thread copies it as well. */
  pthread_mutex_t lock;
  atomic_bool copied;
  cudaEvent_t made; /* event behind the run that writes the picture; used if the picture is given out before that */
  /* Event behind the work of other streams that reads the picture's device memory. is_read: it was recorded since a run
   * has written the picture. Protected by `lock` while others hold the picture. */
  cudaEvent_t read;
  bool is_read;
};

static struct cuda_picture *cuda_picture(struct picture *picture) {
  return (struct cuda_picture *)picture;
}

/* --- struct picture_home: the data that all pictures share --- */

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

int pictures_open(struct cuda_device *device, bool shared, struct error *err) {
  struct picture_home *home = calloc(1, sizeof *home);
  if (!home)
    return error_set(err, STATUS_FAILED, "out of memory");
  *home = (struct picture_home){.device = device, .holders = 1};
  if (cuda_check(cudaStreamCreateWithFlags(&home->stream, cudaStreamNonBlocking), pictures, err) < 0 ||
      gpus_get_context(&home->context, err) < 0) {
    if (home->stream)
      cudaStreamDestroy(home->stream);
    free(home);
    return -1;
  }
  platform_lock_init(&home->lock);
  driver_memory_open(&home->driver, device->ordinal, shared);
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

/* Updates the device's counters, unless it was closed. freed: bytes of device memory that were freed; copied: bytes
 * that were copied to the host. */
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

/* --- the device memory of a picture --- */

static int make_memory(struct cuda_device *device, struct cuda_picture *picture, size_t wanted, struct error *err) {
  const struct driver_memory *driver = &picture->home->driver;
  size_t bytes = driver_memory_round(driver, wanted);
  if (cuda_count(device, bytes, pictures, err) < 0)
    return -1;
  picture->bytes = bytes;
  picture->memory = driver_memory_make(driver, bytes, &picture->base.share);
  picture->mapped = picture->memory != NULL;
  picture->base.share_bytes = bytes;
  if (picture->mapped)
    return 0;
  cudaError_t status = cudaMalloc(&picture->memory, bytes);
  if (status != cudaErrorMemoryAllocation)
    return cuda_check(status, pictures, err);
  cudaGetLastError();
  return cuda_no_room(device, bytes, pictures, err);
}

static void free_memory(struct cuda_picture *picture) {
  if (picture->mapped)
    driver_memory_drop(&picture->home->driver, picture->memory, picture->bytes, picture->base.share);
  else
    cudaFree(picture->memory);
  tell_device(picture->home, picture->bytes, 0);
}

/* --- the functions that the pool of pictures calls for each picture --- */

static void destroy(struct picture *base) {
  struct cuda_picture *picture = cuda_picture(base);
  const struct gpus_context context = picture->home->context;
  bool entered = gpus_enter(&context);
  if (picture->is_read) /* memory of the driver's functions is gone at once, whoever reads it */
    cudaEventSynchronize(picture->read);
  free_memory(picture);
  if (picture->made)
    cudaEventDestroy(picture->made);
  if (picture->read)
    cudaEventDestroy(picture->read);
  cudaFreeHost(frame_plane(&base->template, 0));
  pthread_mutex_destroy(&picture->lock);
  home_leave(picture->home);
  gpus_leave(&context, entered);
}

/* Zeroes device memory and host memory, so that the padding of rows has defined values. */
static int clear(const struct cuda_picture *picture, void *host, size_t bytes, struct error *err) {
  memset(host, 0, bytes);
  if (cuda_check(cudaMemsetAsync(picture->memory, 0, picture->bytes, picture->home->stream), pictures, err) < 0)
    return -1;
  return cuda_check(cudaStreamSynchronize(picture->home->stream), pictures, err);
}

static int create_events(struct cuda_picture *picture, struct error *err) {
  return cuda_check(cudaEventCreateWithFlags(&picture->made, cudaEventDisableTiming), pictures, err) < 0
             ? -1
             : cuda_check(cudaEventCreateWithFlags(&picture->read, cudaEventDisableTiming), pictures, err);
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
  if (make_memory(device, picture, shape->bytes, err) < 0 || create_events(picture, err) < 0 ||
      cuda_check(cudaHostAlloc(&host, shape->bytes, cudaHostAllocPortable), "pinned memory", err) < 0 ||
      clear(picture, host, shape->bytes, err) < 0) {
    base->template.plane[0] = host;
    destroy(base);
    return -1;
  }
  base->memory = MEMORY_HOST | MEMORY_PINNED | MEMORY_DEVICE | (base->share >= 0 ? MEMORY_SHARED : 0u);
  base->gpu = device->base.gpu;
  base->device_plane[0] = picture->memory;
  base->template.plane[0] = host;
  return 0;
}

static int copy(struct cuda_picture *picture, struct error *err) {
  struct picture_home *home = picture->home;
  if ((picture->base.fence &&
       cuda_check(cudaStreamWaitEvent(home->stream, picture->base.fence, 0), copying, err) < 0) ||
      cuda_check(cudaMemcpyAsync(frame_plane(&picture->base.template, 0), picture->memory, picture->used,
                                 cudaMemcpyDeviceToHost, home->stream),
                 copying, err) < 0 ||
      cuda_check(cudaStreamSynchronize(home->stream), copying, err) < 0)
    return -1;
  tell_device(home, 0, picture->used);
  return 0;
}

static int wait_for_copy(struct cuda_picture *picture, struct error *err) {
  pthread_mutex_lock(&picture->lock);
  int status = picture->copied ? 0 : copy(picture, err);
  if (status == 0)
    picture->copied = true;
  pthread_mutex_unlock(&picture->lock);
  return status;
}

static bool is_complete(struct picture *base, enum memory kind) {
  return kind == MEMORY_HOST ? cuda_picture(base)->copied : !base->fence;
}

/* Makes the picture readable in this kind of memory. In host memory, copies it unless that was done before. In device
 * memory it is complete already, unless it was given out before its run has ended. */
static int wait(struct picture *base, enum memory kind, struct error *err) {
  const struct gpus_context *context = &cuda_picture(base)->home->context;
  if (is_complete(base, kind))
    return 0;
  bool entered = gpus_enter(context);
  int status = kind == MEMORY_HOST ? wait_for_copy(cuda_picture(base), err)
                                   : cuda_check(cudaEventSynchronize(base->fence), "waiting for a picture", err);
  gpus_leave(context, entered);
  return status;
}

static bool ready(struct picture *base, enum memory kind) {
  const struct gpus_context *context = &cuda_picture(base)->home->context;
  if (kind == MEMORY_HOST || is_complete(base, kind))
    return is_complete(base, kind);
  bool entered = gpus_enter(context), reached = cudaEventQuery(base->fence) != cudaErrorNotReady;
  gpus_leave(context, entered);
  return reached;
}

/* --- streams of others that read pictures --- */

static int wait_on(struct picture *base, void *stream, struct error *err) {
  const struct gpus_context *context = &cuda_picture(base)->home->context;
  if (!base->fence)
    return 0;
  bool entered = gpus_enter(context);
  int status = cuda_check(cudaStreamWaitEvent(stream, base->fence, 0), following, err);
  gpus_leave(context, entered);
  return status;
}

/* Records the event on the stream. If another stream was told before, the present one waits for it first, so that the
 * event stands for both. */
static int read_on(struct picture *base, void *stream, struct error *err) {
  struct cuda_picture *picture = cuda_picture(base);
  bool entered = gpus_enter(&picture->home->context);
  pthread_mutex_lock(&picture->lock);
  int status = picture->is_read ? cuda_check(cudaStreamWaitEvent(stream, picture->read, 0), following, err) : 0;
  if (status == 0)
    status = cuda_check(cudaEventRecord(picture->read, stream), following, err);
  picture->is_read |= status == 0;
  pthread_mutex_unlock(&picture->lock);
  gpus_leave(&picture->home->context, entered);
  return status;
}

const struct picture_owner cuda_picture_owner = {.bytes = sizeof(struct cuda_picture),
                                                 .make = make,
                                                 .destroy = destroy,
                                                 .wait = wait,
                                                 .ready = ready,
                                                 .wait_on = wait_on,
                                                 .read_on = read_on};

/* --- pictures in runs --- */

int pictures_follow_readers(struct picture *const *all, int count, cudaStream_t stream, struct error *err) {
  for (int i = 0; i < count; i++) {
    struct cuda_picture *picture = cuda_picture(all[i]);
    if (picture->is_read && cuda_check(cudaStreamWaitEvent(stream, picture->read, 0), following, err) < 0)
      return -1;
    picture->is_read = false;
  }
  return 0;
}

int pictures_record_fences(struct picture *const *all, int count, cudaStream_t stream, struct error *err) {
  for (int i = 0; i < count; i++)
    if (all[i]->fence && cuda_check(cudaEventRecord(all[i]->fence, stream), following, err) < 0)
      return -1;
  return 0;
}

void picture_begin(const struct frame *frame, size_t bytes, bool early) {
  struct cuda_picture *picture = cuda_picture(frame->picture);
  for (int i = 0; i < frame_planes(frame->format); i++)
    picture->base.device_plane[i] = (uint8_t *)picture->memory + (frame->plane[i] - frame->plane[0]);
  picture->used = bytes;
  picture->copied = false;
  picture->base.fence = early ? picture->made : NULL;
}

void picture_copied(struct picture *picture) {
  cuda_picture(picture)->copied = true;
  tell_device(cuda_picture(picture)->home, 0, cuda_picture(picture)->used);
}
