#include "cuda/gpus.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/check.h"
#include "cuda/driver_memory.h"
#include "cuda/kernels/mix.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"

/* --- choosing a GPU by its name --- */

/* Reads the number of a GPU from a device's name: "cuda" is GPU 0, "cuda:N" GPU N. */
static int parse_ordinal(const char *name, int count, int *ordinal, struct error *err) {
  char *end;
  *ordinal = 0;
  if (strncmp(name, "cuda:", 5))
    return 0;
  long number = strtol(name + 5, &end, 10);
  if (end == name + 5 || *end || number < 0 || number >= count)
    return error_set(err, STATUS_DEVICE, "cuda: there is no GPU '%s': this machine has %d, cuda:0 being the first",
                     name + 5, count);
  *ordinal = (int)number;
  return 0;
}

static int say_no_driver(struct error *err) {
  enum { VENDOR_NVIDIA = 0x10de };
  if (platform_has_display("", VENDOR_NVIDIA))
    return error_set(err, STATUS_DEVICE, "cuda: there is no NVIDIA driver: install one, or use --device cpu");
  error_set(err, STATUS_DEVICE, "cuda: there is neither an NVIDIA GPU nor its driver here: use --device cpu");
  return error_mark_absent(err);
}

/* Stores the number of GPUs. Fails if cudaGetDeviceCount fails or finds none, because no GPU is usable then, whatever
 * the reason. */
static int count_gpus(int *count, struct error *err) {
  cudaError_t status = cudaGetDeviceCount(count);
  int driver = 0, runtime = 0;
  if (status == cudaSuccess && *count > 0)
    return 0;
  cudaGetLastError();
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  if (status == cudaErrorStubLibrary)
    return error_set(
        err, STATUS_DEVICE,
        "cuda: the libcuda.so.1 found first is a stub for building: take its folder out of LD_LIBRARY_PATH");
  if (driver == 0)
    return say_no_driver(err);
  if (driver / 1000 < runtime / 1000)
    return error_set(err, STATUS_DEVICE,
                     "cuda: the driver serves CUDA %d.%d, this program needs %d.0: update the driver", driver / 1000,
                     driver % 1000 / 10, runtime / 1000);
  error_set(err, STATUS_DEVICE, "cuda: no usable GPU: %s", cudaGetErrorString(status));
  /* CUDA looks for GPUs only once in a process, so another attempt in this process would find none either */
  return error_mark_lost(err);
}

int gpus_choose(const char *name, int *ordinal, struct error *err) {
  int count = 0;
  return count_gpus(&count, err) < 0 ? -1 : parse_ordinal(name, count, ordinal, err);
}

struct gpu_id gpus_id(const struct cudaDeviceProp *properties, int ordinal) {
  struct gpu_id id = {.ordinal = ordinal};
  memcpy(id.uuid, properties->uuid.bytes, sizeof id.uuid);
  return id;
}

bool gpus_serves(const struct cudaDeviceProp *properties) {
  return properties->major >= 8;
}

/* --- page-locked memory for frames --- */

/* Makes the GPU current for the calling thread, which CUDA's calls then use. */
static cudaError_t enter(const struct gpu *gpu) {
  return cudaSetDevice(gpu->id.ordinal);
}

/* Returns true if a CUDA call succeeded. Clears the error of a failed one, so that no later call reports it. */
static bool succeeded(cudaError_t status) {
  return cuda_check(status, "", NULL) == 0;
}

static void *alloc_host(const struct gpu *gpu, size_t bytes) {
  void *memory = NULL;
  return succeeded(enter(gpu)) && succeeded(cudaHostAlloc(&memory, bytes, cudaHostAllocPortable)) ? memory : NULL;
}

static void free_host(const struct gpu *gpu, void *memory) {
  if (succeeded(enter(gpu)))
    succeeded(cudaFreeHost(memory));
}

static bool lock_host(const struct gpu *gpu, void *memory, size_t bytes) {
  return succeeded(enter(gpu)) && succeeded(cudaHostRegister(memory, bytes, cudaHostRegisterPortable));
}

static void unlock_host(const struct gpu *gpu, void *memory) {
  if (succeeded(enter(gpu)))
    succeeded(cudaHostUnregister(memory));
}

static bool is_locked(const void *memory) {
  struct cudaPointerAttributes attributes;
  return succeeded(cudaPointerGetAttributes(&attributes, memory)) && attributes.type == cudaMemoryTypeHost;
}

/* --- fences: events after which a picture is complete --- */

static void *make_fence(const struct gpu *gpu, struct error *err) {
  cudaEvent_t event = NULL;
  if (cuda_check(enter(gpu), "a fence", err) < 0 ||
      cuda_check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "a fence", err) < 0)
    return NULL;
  return event;
}

static int record_fence(const struct gpu *gpu, void *fence, struct error *err) {
  return cuda_check(enter(gpu), "a fence", err) < 0
             ? -1
             : cuda_check(cudaEventRecord(fence, cudaStreamLegacy), "a fence", err);
}

static void free_fence(const struct gpu *gpu, void *fence) {
  if (succeeded(enter(gpu)))
    succeeded(cudaEventDestroy(fence));
}

static int record_fence_on(const struct gpu *gpu, void *fence, void *stream, struct error *err) {
  return cuda_check(enter(gpu), "a stream's event", err) < 0
             ? -1
             : cuda_check(cudaEventRecord(fence, stream), "a stream's event", err);
}

static void *make_stream(const struct gpu *gpu, struct error *err) {
  cudaStream_t stream = NULL;
  if (cuda_check(enter(gpu), "a stream", err) < 0 ||
      cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "a stream", err) < 0)
    return NULL;
  return stream;
}

static void free_stream(const struct gpu *gpu, void *stream) {
  if (succeeded(enter(gpu)))
    succeeded(cudaStreamDestroy(stream));
}

/* --- memory of others --- */

static int check_address(const struct gpu *gpu, const void *memory, struct error *err) {
  struct cudaPointerAttributes attributes;
  if (!succeeded(enter(gpu)) || !succeeded(cudaPointerGetAttributes(&attributes, memory)))
    attributes.type = cudaMemoryTypeUnregistered;
  if (attributes.type == cudaMemoryTypeUnregistered)
    return error_set(err, STATUS_INPUT, "%p is no address of CUDA's memory", memory);
  if (attributes.type == cudaMemoryTypeDevice && attributes.device != gpu->id.ordinal)
    return error_set(err, STATUS_INPUT, "%p is in the memory of GPU %d, not of GPU %d", memory, attributes.device,
                     gpu->id.ordinal);
  return 0;
}

static int check_memory(const struct gpu *gpu, const void *memory, size_t bytes, struct error *err) {
  if (check_address(gpu, memory, err))
    return -1;
  return check_address(gpu, (const uint8_t *)memory + bytes - 1, err)
             ? error_prefix(err, "the last of its %zu bytes: ", bytes)
             : 0;
}

/* --- copying pictures to the host --- */

static const char downloading[] = "bringing a picture to the host";

/* Copies the planes of a frame's picture from the device to the planes of `target`, a frame of the same format and size
 * in page-locked memory. */
static int copy_planes(cudaStream_t stream, const struct frame *frame, const struct frame *target, struct error *err) {
  const struct picture *picture = frame->picture;
  if (picture->fence && cuda_check(cudaStreamWaitEvent(stream, picture->fence, 0), downloading, err) < 0)
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++)
    if (cuda_check(cudaMemcpy2DAsync(frame_plane(target, i), (size_t)target->pitch[i], picture->device_plane[i],
                                     (size_t)frame->pitch[i], (size_t)frame_row_bytes(frame->format, i, frame->width),
                                     (size_t)frame_rows(frame->format, i, frame->height), cudaMemcpyDeviceToHost,
                                     stream),
                   downloading, err) < 0)
      return -1;
  return cuda_check(cudaStreamSynchronize(stream), downloading, err);
}

/* Copies the pixels of a frame's picture from the device to the frame's own planes. These are not page-locked, so the
 * copy goes by way of page-locked memory, which is allocated for it. */
static int download_through(const struct gpu *gpu, cudaStream_t stream, const struct frame *frame, struct error *err) {
  struct frame between = *frame;
  size_t bytes = frame_lay_out(&between, NULL);
  void *memory = alloc_host(gpu, bytes);
  if (!memory)
    return error_set(err, STATUS_DEVICE, "cuda: %s: no page-locked memory for %zu bytes", downloading, bytes);
  frame_lay_out(&between, memory);
  int status = copy_planes(stream, frame, &between, err);
  uint8_t *const planes[3] = {frame_plane(frame, 0), frame_plane(frame, 1), frame_plane(frame, 2)};
  if (status == 0)
    frame_copy_pixels(planes, frame->pitch, &between);
  free_host(gpu, memory);
  return status;
}

static int download(const struct gpu *gpu, const struct frame *frame, struct error *err) {
  cudaStream_t stream;
  if (cuda_check(enter(gpu), downloading, err) < 0 ||
      cuda_check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), downloading, err) < 0)
    return -1;
  int status =
      is_locked(frame->plane[0]) ? copy_planes(stream, frame, frame, err) : download_through(gpu, stream, frame, err);
  cudaStreamDestroy(stream);
  return status;
}

/* --- copies of frames for OpenGL, in device memory that it imports --- */

static const char sharing[] = "bringing a frame to OpenGL";

struct shared_memory {
  struct gpu_share base;
  struct driver_memory driver;
  cudaStream_t stream;
};

static void free_share(const struct gpu *gpu, struct gpu_share *share) {
  struct shared_memory *shared = (struct shared_memory *)share;
  if (!shared)
    return;
  bool entered = succeeded(enter(gpu));
  if (entered && shared->stream) {
    succeeded(cudaStreamSynchronize(shared->stream));
    succeeded(cudaStreamDestroy(shared->stream));
  }
  if (share->memory)
    driver_memory_drop(&shared->driver, share->memory, share->bytes, share->descriptor);
  free(shared);
}

static int make_share(const struct gpu *gpu, size_t bytes, struct gpu_share **out, struct error *err) {
  struct shared_memory *shared = calloc(1, sizeof *shared);
  if (!shared)
    return error_set(err, STATUS_FAILED, "out of memory");
  struct gpu_share *share = &shared->base;
  share->descriptor = -1;
  if (cuda_check(enter(gpu), sharing, err) < 0 ||
      cuda_check(cudaStreamCreateWithFlags(&shared->stream, cudaStreamNonBlocking), sharing, err) < 0)
    goto fail;
  driver_memory_open(&shared->driver, gpu->id.ordinal, true);
  share->bytes = driver_memory_round(&shared->driver, bytes);
  share->memory = driver_memory_make(&shared->driver, share->bytes, &share->descriptor);
  if (share->descriptor < 0) {
    error_set(err, STATUS_DEVICE, "cuda: %s: no memory of %zu bytes that others may import", sharing, share->bytes);
    goto fail;
  }
  *out = share;
  return 0;
fail:
  free_share(gpu, share);
  return -1;
}

static int copy_to_share(const struct shared_memory *shared, const struct frame *frame, struct error *err) {
  const struct picture *picture = frame->picture;
  const uint8_t *first = picture->device_plane[0];
  if (picture->fence && cuda_check(cudaStreamWaitEvent(shared->stream, picture->fence, 0), sharing, err) < 0)
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    const uint8_t *from = picture->device_plane[i];
    if (cuda_check(cudaMemcpy2DAsync((uint8_t *)shared->base.memory + (from - first), (size_t)frame->pitch[i], from,
                                     (size_t)frame->pitch[i], (size_t)frame_row_bytes(frame->format, i, frame->width),
                                     (size_t)frame_rows(frame->format, i, frame->height), cudaMemcpyDeviceToDevice,
                                     shared->stream),
                   sharing, err) < 0)
      return -1;
  }
  return 0;
}

static int wait_share(const struct gpu *gpu, struct gpu_share *share, struct error *err) {
  const struct shared_memory *shared = (const struct shared_memory *)share;
  return cuda_check(enter(gpu), sharing, err) < 0 ? -1
                                                  : cuda_check(cudaStreamSynchronize(shared->stream), sharing, err);
}

static int fill_share(const struct gpu *gpu, struct gpu_share *share, const struct frame *frame, struct error *err) {
  const struct shared_memory *shared = (const struct shared_memory *)share;
  if (cuda_check(enter(gpu), sharing, err) < 0)
    return -1;
  int status = copy_to_share(shared, frame, err);
  if (status < 0)
    /* the caller may reuse the frame after a failure, so wait: copies of other planes may still be under way */
    succeeded(cudaStreamSynchronize(shared->stream));
  return status;
}

/* --- mixtures of frames --- */

static const char mixing_frames[] = "mixing two frames";

static int mix(const struct gpu *gpu, struct gpu_share *share, const struct gpu_mixing *mixing, struct error *err) {
  const struct shared_memory *shared = (const struct shared_memory *)share;
  const struct launch_queue queue = {.stream = shared->stream};
  const struct mix_args args = {*mixing->mixture, {share->memory, (uint8_t *)share->memory + mixing->chroma}};
  if (cuda_check(enter(gpu), mixing_frames, err) < 0)
    return -1;
  for (int i = 0; i < 2; i++)
    if (mixing->fence[i] &&
        cuda_check(cudaStreamWaitEvent(shared->stream, mixing->fence[i], 0), mixing_frames, err) < 0)
      return -1;
  if (cuda_check(launch_mix(&queue, &args), mixing_frames, err) < 0)
    return -1;
  return cuda_check(cudaStreamSynchronize(shared->stream), mixing_frames, err);
}

/* --- contexts --- */

/* Returns a function of the driver; NULL: there is none of this name. */
static void *driver_function(const char *name) {
  enum cudaDriverEntryPointQueryResult found;
  void *function = NULL;
  return succeeded(cudaGetDriverEntryPointByVersion(name, &function, 12000, cudaEnableDefault, &found)) &&
                 found == cudaDriverEntryPointSuccess
             ? function
             : NULL;
}

/* Returns the CUDA context (CUcontext) that is current for the calling thread; NULL: it has none. */
static void *current_context(void) {
  int (*get_current)(void **) = (int (*)(void **))driver_function("cuCtxGetCurrent");
  void *now = NULL;
  return get_current && !get_current(&now) ? now : NULL;
}

int gpus_get_context(struct gpus_context *context, struct error *err) {
  *context = (struct gpus_context){.context = current_context(),
                                   .push = (int (*)(void *))driver_function("cuCtxPushCurrent"),
                                   .pop = (int (*)(void **))driver_function("cuCtxPopCurrent")};
  if (context->context && context->push && context->pop)
    return 0;
  return error_set(err, STATUS_DEVICE, "cuda: the driver does not tell the GPU's context");
}

bool gpus_enter(const struct gpus_context *context) {
  return context->push && context->push(context->context) == 0;
}

void gpus_leave(const struct gpus_context *context, bool entered) {
  void *left;
  if (entered)
    context->pop(&left);
}

/* --- the functions of unet/base/gpu.h for a CUDA GPU --- */

static void *context(const struct gpu *gpu) {
  /* cudaFree(NULL) frees nothing, but creates the GPU's context */
  return succeeded(enter(gpu)) && succeeded(cudaFree(NULL)) ? current_context() : NULL;
}

static const struct gpu_impl impl = {.alloc_host = alloc_host,
                                     .free_host = free_host,
                                     .lock_host = lock_host,
                                     .unlock_host = unlock_host,
                                     .make_fence = make_fence,
                                     .record_fence = record_fence,
                                     .free_fence = free_fence,
                                     .record_fence_on = record_fence_on,
                                     .make_stream = make_stream,
                                     .free_stream = free_stream,
                                     .check_memory = check_memory,
                                     .download = download,
                                     .make_share = make_share,
                                     .fill_share = fill_share,
                                     .wait_share = wait_share,
                                     .free_share = free_share,
                                     .mix = mix,
                                     .context = context};

bool cuda_find_gpu(const char *device_name, struct gpu *gpu);
bool cuda_find_gpu(const char *device_name, struct gpu *gpu) {
  struct cudaDeviceProp properties;
  int ordinal;
  if (gpus_choose(device_name, &ordinal, NULL) < 0 || !succeeded(cudaGetDeviceProperties(&properties, ordinal)) ||
      !gpus_serves(&properties))
    return false;
  *gpu = (struct gpu){.impl = &impl, .id = gpus_id(&properties, ordinal)};
  return true;
}
