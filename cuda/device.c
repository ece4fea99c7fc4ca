#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/arena.h"
#include "cuda/check.h"
#include "cuda/gpus.h"
#include "cuda/graph.h"
#include "cuda/libraries/libraries.h"
#include "cuda/libraries/nvml.h"
#include "cuda/weight_merges.h"
#include "cuda/pictures.h"
#include "cuda/profile.h"
#include "cuda/timing.h"
#include "cuda/ways/tuner.h"

enum { LIVE_LONGEST = 512 };

/* --- opening and closing the device --- */

/* Fails if this build has no code for the GPU. Sets queue.overlap: true if that code can start a kernel early
 * (programmatic dependent launch) and run in clusters. PTX for compute capability 8.0, which the driver compiles for
 * newer GPUs, has no instructions for that. */
static int check_code(struct cuda_device *device, struct error *err) {
  const struct cudaDeviceProp *p = &device->properties;
  int version = 0;
  cudaError_t status = kernels_version(&version);
  if (status == cudaErrorNoKernelImageForDevice || status == cudaErrorInvalidDeviceFunction || !gpus_serves(p)) {
    cudaGetLastError();
    return error_set(err, STATUS_DEVICE,
                     "cuda: this program has no code for %s (compute capability %d.%d): GPUs of 8.0 and up, built with "
                     "-Dgpu_archs=all",
                     p->name, p->major, p->minor);
  }
  device->queue.overlap = version >= 90 && p->major >= 9;
  return cuda_check(status, "loading the kernels", err);
}

static int open_streams(struct cuda_device *device, struct error *err) {
  struct preparing *preparing = &device->preparing;
  cudaStream_t *streams[] = {
      &device->queue.stream,       &device->upload,          &device->download,     &device->memory,
      &device->loads.queue.stream, &preparing->queue.stream, &preparing->loop_body, &preparing->region_body,
      &preparing->beside,          &preparing->loop_beside};
  enum { STREAMS = sizeof streams / sizeof streams[0], WITH_FRAMES = 5 };
  cudaEvent_t *events[] = {&device->shadow_ready, &device->published, &preparing->loaded};
  int least = 0, greatest = 0;
  preparing->queue = device->writes.queue = device->loads.queue = device->queue;
  if (cuda_check(cudaDeviceGetStreamPriorityRange(&least, &greatest), "stream", err) < 0)
    return -1;
  for (int i = 0; i < STREAMS; i++)
    if (cuda_check(cudaStreamCreateWithPriority(streams[i], cudaStreamNonBlocking, i < WITH_FRAMES ? greatest : least),
                   "stream", err) < 0)
      return -1;
  device->writes.queue.stream = device->queue.stream;
  for (int i = 0; i < 3; i++)
    if (cuda_check(cudaEventCreateWithFlags(events[i], cudaEventDisableTiming), "event", err) < 0)
      return -1;
  return 0;
}

static int open_workspaces(struct cuda_device *device, struct error *err) {
  void *arrived;
  if (cuda_open_lane(device, &device->lane[0], device->queue.stream, err) < 0 ||
      cuda_keep(device, &arrived, 2 * STAGING_BYTES, "workspace", err) < 0)
    return -1;
  device->loads.arrived = arrived;
  /* `writes` (values that callers write to states and weights) shares memory with the kernels' partial sums: writes and
   * runs are on the same stream, so they use it one after the other */
  device->writes.arrived = device->lane[0].workspace;
  return 0;
}

/* Finds the GPU. Its context is made by the first call that needs one. */
static int find_gpu(struct cuda_device *device, const char *name, struct error *err) {
  if (gpus_choose(name, &device->ordinal, err) < 0 ||
      cuda_check(cudaGetDeviceProperties(&device->properties, device->ordinal), "opening the GPU", err) < 0)
    return -1;
  device->base.gpu = gpus_id(&device->properties, device->ordinal);
  device->queue.sms = device->properties.multiProcessorCount;
  return 0;
}

static int open_gpu(struct cuda_device *device, struct error *err) {
  return cuda_check(cudaSetDevice(device->ordinal), "opening the GPU", err) < 0 ? -1 : check_code(device, err);
}

static void destroy(struct device *base) {
  struct cuda_device *device = cuda_enter(base);
  struct preparing *preparing = &device->preparing;
  cudaStream_t streams[] = {device->queue.stream,       device->upload,          device->download,
                            device->loads.queue.stream, preparing->queue.stream, preparing->loop_body,
                            preparing->region_body,     preparing->beside,       preparing->loop_beside};
  enum { STREAMS = sizeof streams / sizeof streams[0] };
  for (int i = 0; i < STREAMS; i++)
    if (streams[i]) {
      cudaStreamSynchronize(streams[i]);
      cudaStreamDestroy(streams[i]);
    }
  cudaEvent_t events[] = {device->origin, device->shadow_ready, device->published, preparing->loaded};
  for (int i = 0; i < 4; i++)
    if (events[i])
      cudaEventDestroy(events[i]);
  library_threads_end(device);
  blas_close(device->blas);
  dnn_close(device->dnn);
  tuner_close(device->tuner);
  merge_close(device);
  pictures_close(device);
  cuda_memory_free(device);
  cuda_arena_close(device);
  if (device->memory)
    cudaStreamDestroy(device->memory);
  nvml_close(device->nvml);
  pthread_mutex_destroy(&preparing->lock);
  device_end(base);
  free(device);
}

static int create(struct device **out, const struct device_options *options, struct error *err) {
  double begun = clock_seconds();
  struct cuda_device *device = calloc(1, sizeof *device);
  if (!device)
    return error_set(err, STATUS_FAILED, "out of memory");
  device->log = options->log;
  device->use_graph = options->graph == GRAPH_ON;
  device->stamps = options->stamps;
  /* the system gives memory only for entries that are written, so this large array costs little */
  device->resource = calloc(RESOURCES_MAX, sizeof *device->resource);
  device_begin(&device->base);
  device->base.memory_limit = options->memory_limit;
  pthread_mutex_init(&device->preparing.lock, NULL);
  if (!device->resource) {
    error_set(err, STATUS_FAILED, "out of memory");
    goto fail;
  }
  if (find_gpu(device, options->name, err) < 0)
    goto fail;
  library_threads_begin(device, options->cache_dir);
  if (open_gpu(device, err) < 0 || open_streams(device, err) < 0 || cuda_pool_open(device, err) < 0 ||
      pictures_open(device, options->shares_pictures, err) < 0 || open_workspaces(device, err) < 0 ||
      cuda_arena_open(device, err) < 0 || (options->two_sets && merge_open(device, err) < 0) ||
      cuda_check(attention_open(&device->attention), "attention", err) < 0)
    goto fail;
  product_open(&device->product);
  if (library_threads_opened(device, err) < 0)
    goto fail;
  if (!device->blas || !device->dnn)
    log_line(device->log, LOG_INFO, "cuda: %s%s%s not found: the program's own kernels do its work",
             device->dnn ? "" : "cuDNN 9", device->dnn || device->blas ? "" : " and ", device->blas ? "" : blas_name());
  if (options->choices && !tuner_take(device->tuner, options->choices))
    log_line(device->log, LOG_WARNING,
             "cuda: the choices of another engine were made on another GPU, or with another driver or library: this "
             "one makes its own, and its pictures differ by rounding");
  log_line(device->log, LOG_DEBUG, "cuda: opened in %.3f s", clock_seconds() - begun);
  *out = &device->base;
  return 0;
fail:
  destroy(&device->base);
  return -1;
}

/* --- facts about the device --- */

static void info(struct device *base, struct device_info *info) {
  struct cuda_device *device = cuda_enter(base);
  size_t dnn = dnn_version(device->dnn), blas = blas_version(device->blas);
  int runtime = 0;
  char state[96];
  cudaRuntimeGetVersion(&runtime);
  nvml_state(device->nvml, state, sizeof state);
  snprintf(info->name, sizeof info->name, "%.100s", device->properties.name);
  snprintf(info->detail, sizeof info->detail,
           "driver %.40s, CUDA %d.%d, cuDNN %zu.%zu.%zu, cuBLASLt %zu.%zu.%zu, FP16%s%s%s", device->driver,
           runtime / 1000, runtime % 1000 / 10, dnn / 10000, dnn / 100 % 100, dnn % 100, blas / 10000, blas / 100 % 100,
           blas % 100, device->use_graph ? "" : ", no graph", state[0] ? ", " : "", state);
  info->depth = 2;
  info->batch = BATCH_MAX;
  info->longest_side = LIVE_LONGEST;
  info->replaceable = true;
  info->two_sets = device->merge != NULL;
  info->element = DTYPE_F16;
  info->energy_j = nvml_energy(device->nvml);
  if (cudaMemGetInfo(&info->memory_free, &info->memory_total) != cudaSuccess)
    cudaGetLastError();
}

static void counters(struct device *base, struct device_counters *counters) {
  pthread_mutex_lock(&base->memory);
  *counters = cuda_device(base)->counters;
  pthread_mutex_unlock(&base->memory);
}

static int choices(struct device *base, char **text, struct error *err) {
  *text = tuner_write(cuda_device(base)->tuner);
  return *text ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

/* For people: what the GPU is, its clocks of this moment, and what each candidate for a product took. */
static int timings(struct device *base, char **text, struct error *err) {
  struct cuda_device *device = cuda_device(base);
  const struct cudaDeviceProp *p = &device->properties;
  char *times = tuner_times(device->tuner), state[128] = "";
  nvml_state(device->nvml, state, sizeof state);
  bool good =
      times && asprintf(text,
                        "%s: compute capability %d.%d, %d multiprocessors, %.0f MB of second-level cache, "
                        "%zu KB of shared memory a thread block, a memory bus of %d bits\nclocks: %s\n%s",
                        p->name, p->major, p->minor, p->multiProcessorCount, p->l2CacheSize / 1048576.0,
                        p->sharedMemPerBlockOptin / 1024, p->memoryBusWidth, *state ? state : "unknown", times) >= 0;
  free(times);
  if (good)
    return 0;
  *text = NULL;
  return error_set(err, STATUS_FAILED, "out of memory");
}

/* --- writing and reading tensors --- */

/* Loads a resource (a weight or another tensor that plans share) if needed, waits for that, and returns its device
 * address; NULL with err set on failure. */
static void *find_resource(struct cuda_device *device, struct tensor tensor, struct element *element,
                           struct error *err) {
  pthread_mutex_lock(&device->base.weights);
  void *data = tensor_data(device, NULL, tensor, element, ROLE_ANY, err);
  if (data && cuda_check(cudaStreamSynchronize(device->loads.queue.stream), "loading weights", err) < 0)
    data = NULL;
  pthread_mutex_unlock(&device->base.weights);
  return data;
}

static int transfer(struct device *base, struct program *program, struct tensor tensor, size_t first,
                    const float *source, float *target, size_t count, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct element element;
  void *data = tensor.space == TENSOR_RESOURCE
                   ? find_resource(device, tensor, &element, err)
                   : tensor_data(device, cuda_program(program), tensor, &element, ROLE_ANY, err);
  if (!data)
    return -1;
  return source ? memory_write(device, data, element, first, source, count, err)
                : memory_read(device, data, element, first, target, count, err);
}

static int write_tensor(struct device *device, struct program *program, struct tensor tensor, size_t first,
                        const float *data, size_t count, struct error *err) {
  return transfer(device, program, tensor, first, data, NULL, count, err);
}

static int read_tensor(struct device *device, struct program *program, struct tensor tensor, size_t first, float *data,
                       size_t count, struct error *err) {
  return transfer(device, program, tensor, first, NULL, data, count, err);
}

static int settle(struct device *base, struct error *err) {
  return cuda_check(cudaStreamSynchronize(cuda_enter(base)->queue.stream), "waiting", err);
}

extern const struct device_impl cuda_device_impl;
const struct device_impl cuda_device_impl = {
    .name = "cuda",
    .pictures = &cuda_picture_owner,
    .create = create,
    .destroy = destroy,
    .info = info,
    .counters = counters,
    .choices = choices,
    .timings = timings,
    .prepare = program_prepare,
    .release = program_release,
    .submit = program_submit,
    .start_part = program_start_part,
    .collect = program_collect,
    .update = weights_update,
    .merge_begin = merges_begin,
    .merge_go_on = merges_go_on,
    .merge_show = merges_show,
    .write = write_tensor,
    .read = read_tensor,
    .settle = settle,
    .profile = program_profile,
    .poison = program_poison,
};
