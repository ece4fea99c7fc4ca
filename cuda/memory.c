#include "check.h"
#include "cuda_device.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Allocations share chunks of device memory. Each goes into the first chunk that has room for it. If none has, an
 * allocation of more than LARGE_BYTES gets a chunk of exactly its size, and a smaller one opens a chunk of CHUNK_BYTES.
 * So a chunk of CHUNK_BYTES is opened only if all others have less than LARGE_BYTES left. Large allocations do not open
 * one, because many models have matrices of exactly CHUNK_BYTES / 4: beside a vector, only three of them would fit. */
enum { CHUNK_BYTES = 32 << 20, LARGE_BYTES = 4 << 20, ALIGN = 256 };
static_assert(2 * STAGING_BYTES <= WORKSPACE_BYTES, "what arrives fits the workspace");

/* Returns true for errors after which every later CUDA call of this process fails. cudaErrorDevicesUnavailable is what
 * a new process gets while the GPU is in that state. */
static bool lasts(cudaError_t status) {
  static const cudaError_t lasting[] = {
      cudaErrorIllegalAddress,      cudaErrorLaunchTimeout,       cudaErrorAssert,
      cudaErrorHardwareStackError,  cudaErrorIllegalInstruction,  cudaErrorMisalignedAddress,
      cudaErrorInvalidAddressSpace, cudaErrorInvalidPc,           cudaErrorLaunchFailure,
      cudaErrorECCUncorrectable,    cudaErrorNvlinkUncorrectable, cudaErrorMpsClientTerminated,
      cudaErrorExternalDevice,      cudaErrorDevicesUnavailable};
  for (size_t i = 0; i < sizeof lasting / sizeof *lasting; i++)
    if (status == lasting[i])
      return true;
  return false;
}

int cuda_check(cudaError_t status, const char *doing, struct error *err) {
  if (status == cudaSuccess)
    return 0;
  cudaGetLastError();
  error_set(err, STATUS_DEVICE, "cuda: %s: %s", doing, cudaGetErrorString(status));
  return lasts(status) ? error_mark_lost(err) : -1;
}

/* --- allocating device memory --- */

static size_t round_up(size_t bytes) {
  return (bytes + ALIGN - 1) / ALIGN * ALIGN;
}

int cuda_count(struct cuda_device *device, size_t bytes, const char *what, struct error *err) {
  if (device_count_bytes(&device->base, &device->counters, bytes, what, err) < 0)
    return -1;
  log_line(device->log, LOG_DEBUG, "cuda: %s takes %.1f MB", what, (double)bytes / 1e6);
  return 0;
}

void cuda_uncount(struct cuda_device *device, size_t bytes) {
  device_uncount_bytes(&device->base, &device->counters, bytes);
}

int cuda_no_room(struct cuda_device *device, size_t bytes, const char *what, struct error *err) {
  pthread_mutex_lock(&device->base.memory);
  size_t taken = device->counters.bytes;
  pthread_mutex_unlock(&device->base.memory);
  return error_set(err, STATUS_DEVICE,
                   "cuda: %s needs %.1f MB and the GPU has no room beside the %.1f MB taken: choose a smaller size, or "
                   "end what else uses the GPU",
                   what, (double)bytes / 1e6, (double)taken / 1e6);
}

/* Allocates memory from the pool. The call waits for the pool's own stream, but no kernel runs on that stream. */
static cudaError_t allocate(const struct cuda_device *device, void **pointer, size_t bytes) {
  if (!device->pool)
    return cudaMalloc(pointer, bytes);
  cudaError_t status = cudaMallocFromPoolAsync(pointer, bytes, device->pool, device->memory);
  return status == cudaSuccess ? cudaStreamSynchronize(device->memory) : status;
}

int cuda_alloc(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err) {
  *pointer = NULL;
  if (cuda_count(device, bytes, what, err) < 0)
    return -1;
  cudaError_t status = allocate(device, pointer, bytes);
  if (status == cudaSuccess)
    return 0;
  *pointer = NULL;
  cuda_uncount(device, bytes);
  if (status != cudaErrorMemoryAllocation)
    return cuda_check(status, what, err);
  cudaGetLastError();
  return cuda_no_room(device, bytes, what, err);
}

void cuda_free(struct cuda_device *device, void *pointer, size_t bytes) {
  if (!pointer)
    return;
  if (device->pool)
    cudaFreeAsync(pointer, device->memory);
  else
    cudaFree(pointer);
  cuda_uncount(device, bytes);
}

int cuda_pool_open(struct cuda_device *device, struct error *err) {
  const struct cudaMemPoolProps kind = {.allocType = cudaMemAllocationTypePinned,
                                        .location = {.type = cudaMemLocationTypeDevice, .id = device->ordinal}};
  uint64_t all = UINT64_MAX;
  int supported = 0;
  if (cudaDeviceGetAttribute(&supported, cudaDevAttrMemoryPoolsSupported, device->ordinal) != cudaSuccess ||
      !supported) {
    cudaGetLastError();
    return 0;
  }
  /* The pool keeps freed memory until cuda_pool_trim returns it to the GPU. Returned at once, in the middle of a run,
   * it could delay that run. */
  if (cuda_check(cudaMemPoolCreate(&device->pool, &kind), "memory", err) < 0)
    return -1;
  return cuda_check(cudaMemPoolSetAttribute(device->pool, cudaMemPoolAttrReleaseThreshold, &all), "memory", err);
}

void cuda_pool_trim(struct cuda_device *device) {
  if (!device->pool)
    return;
  cudaStreamSynchronize(device->memory);
  cudaMemPoolTrimTo(device->pool, 0);
}

static struct chunk *find_room(const struct cuda_device *device, size_t bytes) {
  struct chunk *chunk = device->chunks;
  while (chunk && chunk->size - chunk->used < bytes)
    chunk = chunk->next;
  return chunk;
}

static struct chunk *add_chunk(struct cuda_device *device, size_t bytes, const char *what, struct error *err) {
  struct chunk *chunk = calloc(1, sizeof *chunk);
  if (!chunk) {
    error_set(err, STATUS_FAILED, "out of memory");
    return NULL;
  }
  chunk->size = bytes;
  if (cuda_alloc(device, &chunk->data, bytes, what, err) < 0) {
    free(chunk);
    return NULL;
  }
  chunk->next = device->chunks;
  device->chunks = chunk;
  return chunk;
}

int cuda_open_lane(struct cuda_device *device, struct lane *lane, cudaStream_t stream, struct error *err) {
  static const char what[] = "workspace";
  const size_t counters = ARRIVALS * sizeof(unsigned), norm = NORM_PARTIAL_FLOATS * sizeof(float);
  void *workspace, *arrivals, *partial;
  if (lane->workspace)
    return 0;
  if (cuda_keep(device, &workspace, WORKSPACE_BYTES, what, err) < 0 ||
      cuda_keep(device, &partial, norm, what, err) < 0 || cuda_keep(device, &arrivals, counters, what, err) < 0 ||
      cuda_check(cudaMemsetAsync(arrivals, 0, counters, stream), what, err) < 0)
    return -1;
  *lane = (struct lane){.workspace = workspace, .arrivals = arrivals, .norm_partial = partial};
  return 0;
}

int cuda_keep(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err) {
  size_t size = round_up(bytes);
  /* all chunks are searched, so that small allocations (vectors) fill the gaps that large ones (matrices) have left */
  struct chunk *chunk = find_room(device, size);
  if (!chunk)
    chunk = add_chunk(device, size > LARGE_BYTES ? size : CHUNK_BYTES, what, err);
  if (!chunk)
    return -1;
  *pointer = (char *)chunk->data + chunk->used;
  chunk->used += size;
  return 0;
}

/* Returns the smallest gap with room for so many bytes; NULL: there is none. */
static struct gap *find_gap(const struct cuda_device *device, size_t bytes) {
  struct gap *found = NULL;
  for (int i = 0; i < device->gap_count; i++)
    if (device->gaps[i].bytes >= bytes && (!found || device->gaps[i].bytes < found->bytes))
      found = &device->gaps[i];
  return found;
}

int cuda_keep_weight(struct cuda_device *device, void **pointer, size_t bytes, const char *what, struct error *err) {
  size_t size = round_up(bytes);
  struct gap *gap = find_gap(device, size);
  if (!gap)
    return cuda_keep(device, pointer, bytes, what, err);
  *pointer = gap->data;
  gap->data = (char *)gap->data + size;
  gap->bytes -= size;
  if (gap->bytes == 0)
    *gap = device->gaps[--device->gap_count];
  return 0;
}

/* Returns false if memory of the host runs out. */
static bool add_gap(struct cuda_device *device, void *data, size_t bytes) {
  if (device->gap_count == device->gap_room) {
    int room = device->gap_room ? 2 * device->gap_room : 16;
    struct gap *gaps = realloc(device->gaps, (size_t)room * sizeof *gaps);
    if (!gaps)
      return false;
    device->gaps = gaps;
    device->gap_room = room;
  }
  device->gaps[device->gap_count++] = (struct gap){data, round_up(bytes)};
  return true;
}

static void staging_free(struct staging *staging) {
  for (int i = 0; i < 2; i++) {
    if (staging->buffer[i])
      cudaFreeHost(staging->buffer[i]);
    if (staging->free[i])
      cudaEventDestroy(staging->free[i]);
  }
}

void cuda_memory_free(struct cuda_device *device) {
  while (device->chunks) {
    struct chunk *chunk = device->chunks;
    device->chunks = chunk->next;
    cuda_free(device, chunk->data, chunk->size);
    free(chunk);
  }
  readers_close(device->readers);
  staging_free(&device->writes);
  staging_free(&device->loads);
  cuda_free(device, device->shadow, device->shadow_bytes);
  for (int set = 0; set < 2; set++)
    derived_free(&device->derived[set]);
  free(device->gaps);
  free(device->resource);
  cuda_pool_trim(device);
  if (device->pool)
    cudaMemPoolDestroy(device->pool);
}

/* --- copying host data and the checkpoint's weights to the device --- */

static int staging_open(struct staging *staging, struct error *err) {
  for (int i = 0; i < 2; i++) { /* buffers and events that an earlier call has created before it failed are kept */
    if (!staging->buffer[i] &&
        cuda_check(cudaHostAlloc(&staging->buffer[i], STAGING_BYTES, cudaHostAllocDefault), "pinned memory", err) < 0)
      return -1;
    if (!staging->free[i] &&
        cuda_check(cudaEventCreateWithFlags(&staging->free[i], cudaEventDisableTiming), "event", err) < 0)
      return -1;
  }
  return 0;
}

/* Returns room for `bytes` bytes in the staging buffer that was used last. If it has too little room left, returns the
 * beginning of the other one, after its last copy to the device is done. Returns NULL with err set on failure. */
static void *next_room(struct staging *staging, size_t bytes, const char *doing, struct error *err) {
  staging->at = staging->end;
  if (staging->at + bytes > STAGING_BYTES) {
    staging->turn ^= 1;
    staging->at = 0;
    if (cuda_check(cudaEventSynchronize(staging->free[staging->turn]), doing, err) < 0)
      return NULL;
  }
  staging->end = staging->at + round_up(bytes);
  return (char *)staging->buffer[staging->turn] + staging->at;
}

/* Starts to copy what the last room (next_room) has to `target`. With `convert`, copies it to device memory
 * (staging->arrived) instead; from there a kernel writes the converted values to convert->target. */
static int send_room(struct staging *staging, void *target, size_t bytes, struct convert_args *convert,
                     const char *doing, struct error *err) {
  const struct launch_queue *queue = &staging->queue;
  char *arrived = staging->arrived + (size_t)staging->turn * STAGING_BYTES + staging->at;
  const void *from = (const char *)staging->buffer[staging->turn] + staging->at;
  void *to = convert ? arrived : target;
  if (cuda_check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, queue->stream), doing, err) < 0)
    return -1;
  if (convert) {
    convert->source = arrived;
    if (cuda_check(launch_convert(queue, convert), doing, err) < 0)
      return -1;
  }
  return cuda_check(cudaEventRecord(staging->free[staging->turn], queue->stream), doing, err);
}

/* Values of a tensor of the checkpoint's file that several threads read, each a piece of them. */
struct reading {
  const struct weight_part *part;
  size_t first, count;
  bool f16; /* true: the device keeps the weight in FP16, so that values beyond it are refused */
  char *out;
  int pieces;
  int status[READERS_MAX];
  struct error err[READERS_MAX];
};

static void read_piece(void *opaque, int piece) {
  struct reading *r = opaque;
  size_t from = r->count * (size_t)piece / (size_t)r->pieces, to = r->count * (size_t)(piece + 1) / (size_t)r->pieces;
  r->status[piece] = weight_part_read(r->part, r->first + from, to - from, r->f16,
                                      r->out + from * dtype_size(r->part->dtype), &r->err[piece]);
}

/* Reads elements `first` to `first` + count - 1 of a part. Half of the threads do it where frames run meanwhile. Of
 * several failures the one of the first value is told. A matrix that the file has by columns is read by one thread,
 * since each piece would read a little of all columns. */
static int read_values(struct cuda_device *device, const struct weight_part *part, size_t first, size_t count, bool f16,
                       void *out, struct error *err) {
  enum { PIECE_BYTES = 256 << 10 }; /* fewer bytes are read sooner than a thread wakes */
  size_t pieces = part->columns ? 1 : count * dtype_size(part->dtype) / PIECE_BYTES;
  if (pieces < 2)
    return weight_part_read(part, first, count, f16, out, err);
  if (!device->readers)
    device->readers = readers_open();
  int all = readers_count(device->readers), most = device->running ? (all + 1) / 2 : all;
  struct reading reading = {.part = part,
                            .first = first,
                            .count = count,
                            .f16 = f16,
                            .out = out,
                            .pieces = pieces < (size_t)most ? (int)pieces : most};
  readers_run(device->readers, reading.pieces, read_piece, &reading);
  for (int i = 0; i < reading.pieces; i++)
    if (reading.status[i] < 0) {
      if (err)
        *err = reading.err[i];
      return -1;
    }
  return 0;
}

/* Loads those rows of a weight that are in one tensor of the checkpoint's file (`part`), through the two staging
 * buffers in turn. */
static int load_part(struct cuda_device *device, const struct resource *r, const struct weight_part *part, void *target,
                     struct element element, struct error *err) {
  struct staging *staging = &device->loads;
  static const char doing[] = "loading weights";
  size_t taps = (size_t)r->h * (size_t)r->w, total = 0;
  for (int i = 0; i < r->part_count; i++)
    total += (size_t)r->parts[i].rows;
  size_t row = (size_t)r->n * taps * (size_t)r->c / total, row_bytes = row * dtype_size(part->dtype);
  size_t most = STAGING_BYTES / row_bytes, rows = (size_t)part->rows;
  /* the kernel divides values by the scale, so 2^-exponent here multiplies them by 2^exponent */
  struct element raised = {element.type, element.scale * ldexpf(1, -part->exponent)};
  if (most < 1)
    return error_set(err, STATUS_MODEL, "%s: rows of %zu bytes are not supported", r->name, row_bytes);
  for (size_t first = 0; first < rows; first += most) {
    size_t count = rows - first < most ? rows - first : most;
    struct convert_args convert = {.dtype = part->dtype,
                                   .target = (char *)target + first * row * element_size(element),
                                   .element = raised,
                                   .rows = count,
                                   .channels = (int)(row / taps),
                                   .taps = (int)taps};
    void *buffer =
        device_check_wanted(&device->base, err) < 0 ? NULL : next_room(staging, count * row_bytes, doing, err);
    if (!buffer || read_values(device, part, first * row, count * row, element.type == DTYPE_F16, buffer, err) < 0 ||
        send_room(staging, NULL, count * row_bytes, &convert, doing, err) < 0)
      return -1;
  }
  return 0;
}

static int load_parts(struct cuda_device *device, const struct resource *r, void *target, struct element element,
                      struct error *err) {
  if (staging_open(&device->loads, err) < 0)
    return -1;
  int64_t begun = platform_now_ns();
  size_t taps = (size_t)r->h * (size_t)r->w, total = 0, done = 0;
  for (int i = 0; i < r->part_count; i++)
    total += (size_t)r->parts[i].rows;
  size_t row = (size_t)r->n * taps * (size_t)r->c / total;
  for (int i = 0; i < r->part_count; i++) {
    if (load_part(device, r, &r->parts[i], (char *)target + done * row * element_size(element), element, err) < 0)
      return -1;
    done += (size_t)r->parts[i].rows;
    device->loaded.bytes += (size_t)r->parts[i].rows * row * dtype_size(r->parts[i].dtype);
  }
  device->loaded.seconds += 1e-9 * (double)(platform_now_ns() - begun);
  return 0;
}

/* Returns the type in which the checkpoint's own values of a weight are kept: FP16 if both the file and the device have
 * FP16, so that they are equal to the bit; else FP32. */
static struct element base_element(const struct resource *r, struct element element) {
  for (int i = 0; i < r->part_count; i++)
    if (r->parts[i].dtype != DTYPE_F16)
      element = element_of(DTYPE_F32);
  return element;
}

/* Makes a second copy of the checkpoint's own values of a weight in device memory, unless there is one. Weights with
 * adapters' changes are computed from this copy. */
static int load_base(struct cuda_device *device, int index, struct error *err) {
  const struct resource *r = &device->base.resources->list[index];
  struct resource_memory *memory = &device->resource[index];
  struct element element = base_element(r, memory->element);
  size_t bytes = resource_elements(r) * element_size(element);
  bool untouched = r->version == 0 && element_is(memory->element, element.type);
  void *base;
  if (memory->base)
    return 0;
  if (cuda_keep_weight(device, &base, bytes, r->name, err) < 0)
    return -1;
  int status =
      untouched || device->base.sizes_only
          ? cuda_check(cudaMemcpyAsync(base, memory->data, bytes, cudaMemcpyDeviceToDevice, device->loads.queue.stream),
                       r->name, err)
          : load_parts(device, r, base, element, err);
  if (status < 0)
    return -1;
  memory->base = base;
  memory->base_element = element;
  return 0;
}

/* Matrices, tables and states are FP16. Vectors, and tensors with the demand ELEMENT_PRECISE, are FP32. */
struct element resource_element(const struct resource *r, enum role role) {
  bool vector = r->kind == RESOURCE_WEIGHT && r->n == 1 && r->h == 1 && r->w == 1;
  bool precise = role == ROLE_VECTOR || (role == ROLE_ANY && (vector || r->demand == ELEMENT_PRECISE));
  return element_of(precise ? DTYPE_F32 : DTYPE_F16);
}

/* If adapters change the weight and the device has two sets of weights, allocates its copy in the second set and loads
 * the checkpoint's own values. */
static int double_up(struct cuda_device *device, int index, struct error *err) {
  const struct resource *r = &device->base.resources->list[index];
  struct resource_memory *memory = &device->resource[index];
  size_t bytes = resource_elements(r) * element_size(memory->element);
  cudaStream_t stream = device->loads.queue.stream;
  void *other;
  if (!device->merge || !r->adapted || memory->other)
    return 0;
  if (cuda_keep_weight(device, &other, bytes, r->name, err) < 0 ||
      cuda_check(cudaMemcpyAsync(other, memory->data, bytes, cudaMemcpyDeviceToDevice, stream), r->name, err) < 0 ||
      load_base(device, index, err) < 0)
    return -1;
  memory->other = other;
  return 0;
}

struct resource_memory *resource_load(struct cuda_device *device, int index, enum role role, struct error *err) {
  const struct resource *r = &device->base.resources->list[index];
  struct resource_memory *memory = &device->resource[index];
  struct element element = resource_element(r, role);
  if (memory->data) {
    if (role == ROLE_ANY || element_is(memory->element, element.type))
      return double_up(device, index, err) < 0 ? NULL : memory;
    error_set(err, STATUS_FAILED, "%s: used both as a matrix and as a vector", r->name);
    return NULL;
  }
  size_t bytes = resource_elements(r) * element_size(element);
  void *data;
  if (cuda_keep_weight(device, &data, bytes, r->name, err) < 0)
    return NULL;
  if (r->kind == RESOURCE_STATE) {
    if (cuda_check(cudaMemsetAsync(data, 0, bytes, device->loads.queue.stream), r->name, err) < 0)
      return NULL;
  } else if (!device->base.sizes_only && load_parts(device, r, data, element, err) < 0) {
    return NULL;
  }
  memory->data = data;
  memory->element = element;
  return double_up(device, index, err) < 0 ? NULL : memory;
}

void resource_drop(struct cuda_device *device, int index) {
  const struct resource *r = &device->base.resources->list[index];
  struct resource_memory *memory = &device->resource[index];
  if (!memory->data || memory->read || memory->other || memory->base || r->kind != RESOURCE_WEIGHT || r->adapted ||
      r->version)
    return;
  if (add_gap(device, memory->data, resource_elements(r) * element_size(memory->element)))
    memory->data = NULL;
}

struct resource_memory *resource_base(struct cuda_device *device, int index, struct error *err) {
  struct resource_memory *memory = resource_load(device, index, ROLE_ANY, err);
  return memory && load_base(device, index, err) == 0 ? memory : NULL;
}

/* --- copying bytes, and FP32 values that are converted, between host and device --- */

int memory_copy(cudaStream_t stream, void *target, const void *source, size_t bytes, const char *doing,
                struct error *err) {
  if (cuda_check(cudaMemcpyAsync(target, source, bytes, cudaMemcpyDefault, stream), doing, err) < 0)
    return -1;
  return cuda_check(cudaStreamSynchronize(stream), doing, err);
}

int staging_send(struct staging *staging, void *target, struct element element, const float *data, size_t count,
                 struct error *err) {
  static const char doing[] = "writing a tensor";
  enum { MOST = STAGING_BYTES / sizeof(float) };
  if (staging_open(staging, err) < 0)
    return -1;
  for (size_t first = 0; first < count; first += MOST) {
    size_t part = count - first < MOST ? count - first : MOST;
    struct convert_args convert = {.dtype = DTYPE_F32,
                                   .target = (char *)target + first * element_size(element),
                                   .element = element,
                                   .rows = part,
                                   .channels = 1,
                                   .taps = 1};
    void *buffer = next_room(staging, part * sizeof(float), doing, err);
    if (!buffer)
      return -1;
    memcpy(buffer, data + first, part * sizeof(float));
    if (send_room(staging, NULL, part * sizeof(float), &convert, doing, err) < 0)
      return -1;
  }
  return 0;
}

int staging_copy(struct staging *staging, void *target, const void *data, size_t bytes, struct error *err) {
  static const char doing[] = "writing a tensor";
  if (staging_open(staging, err) < 0)
    return -1;
  for (size_t first = 0; first < bytes; first += STAGING_BYTES) {
    size_t part = bytes - first < STAGING_BYTES ? bytes - first : STAGING_BYTES;
    void *buffer = next_room(staging, part, doing, err);
    if (!buffer)
      return -1;
    memcpy(buffer, (const char *)data + first, part);
    if (send_room(staging, (char *)target + first, part, NULL, doing, err) < 0)
      return -1;
  }
  return 0;
}

int memory_write(struct cuda_device *device, void *target, struct element element, size_t first, const float *data,
                 size_t count, struct error *err) {
  return staging_send(&device->writes, (char *)target + first * element_size(element), element, data, count, err);
}

int memory_read(const struct cuda_device *device, const void *source, struct element element, size_t first, float *data,
                size_t count, struct error *err) {
  static const char doing[] = "reading a tensor";
  size_t size = element_size(element);
  const char *from = (const char *)source + first * size;
  if (element_is(element, DTYPE_F32))
    return memory_copy(device->queue.stream, data, from, count * size, doing, err);
  void *stored = malloc(count * size + 1);
  if (!stored)
    return error_set(err, STATUS_FAILED, "out of memory");
  int status = memory_copy(device->queue.stream, stored, from, count * size, doing, err);
  for (size_t i = 0; status == 0 && i < count; i++)
    data[i] = element_load(element, stored, i);
  free(stored);
  return status;
}
