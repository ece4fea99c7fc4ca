#include "unet/cpu/cpu_memory.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"

/* Returns how much of the available memory this program may use. Some is left to other programs, because Linux promises
 * more memory than it has, and kills programs when all of it is used. */
static size_t leave_to_others(size_t available) {
  const size_t most_left = (size_t)256 << 20;
  return available - (available / 16 < most_left ? available / 16 : most_left);
}

/* Returns how many of the bytes that the system reports as free count as taken. On a device that only counts sizes,
 * which uses no memory for that, these are the bytes counted so far; on other devices none. */
static size_t unused_bytes(struct cpu_device *device) {
  pthread_mutex_lock(&device->base.memory);
  size_t bytes = device->base.sizes_only ? device->counters.bytes : 0;
  pthread_mutex_unlock(&device->base.memory);
  return bytes;
}

int cpu_check_room(struct cpu_device *device, size_t bytes, const char *what, struct error *err) {
  if (bytes < CPU_ROOM_LEAST)
    return 0;
  size_t total, available;
  platform_memory(&total, &available);
  size_t unused = unused_bytes(device), most = leave_to_others(available);
  size_t free_bytes = most > unused ? most - unused : 0;
  if (!available || bytes <= free_bytes)
    return 0;
  return error_set(
      err, STATUS_DEVICE,
      "%s would take %.1f MB, and %.1f MB of memory are free here: choose a smaller size, or end what else "
      "uses memory",
      what, (double)bytes * 1e-6, (double)free_bytes * 1e-6);
}

static int count_bytes(struct cpu_device *device, size_t bytes, const char *what, struct error *err) {
  if (cpu_check_room(device, bytes, what, err) < 0)
    return -1;
  return device_count_bytes(&device->base, &device->counters, bytes, what, err);
}

static void uncount_bytes(struct cpu_device *device, size_t bytes) {
  device_uncount_bytes(&device->base, &device->counters, bytes);
}

/* Returns an address that stands for memory on a device that only counts sizes. No page is mapped at this address, so
 * that any use of the memory is noticed. */
static void *nowhere(void) {
  return (void *)(uintptr_t)CPU_ALIGN;
}

/* Zeroes memory, a part of it at a time. Gigabytes take long, so between the parts it checks whether the device's
 * caller wants to stop. */
static int clear(const struct cpu_device *device, void *data, size_t bytes, struct error *err) {
  const size_t part = (size_t)64 << 20;
  for (size_t at = 0; at < bytes; at += part) {
    if (device_check_wanted(&device->base, err) < 0)
      return -1;
    memset((char *)data + at, 0, bytes - at < part ? bytes - at : part);
  }
  return 0;
}

void *cpu_alloc(struct cpu_device *device, size_t bytes, const char *what, struct error *err) {
  if (count_bytes(device, bytes, what, err) < 0)
    return NULL;
  if (device->base.sizes_only)
    return nowhere();
  void *data = bytes > SIZE_MAX / 2 ? NULL : platform_alloc(CPU_ALIGN, bytes);
  if (!data) {
    uncount_bytes(device, bytes);
    error_set(err, STATUS_DEVICE, "%s: no memory for %zu MB", what, bytes >> 20);
    return NULL;
  }
  if (clear(device, data, bytes, err) == 0)
    return data;
  cpu_free(device, data, bytes);
  return NULL;
}

void cpu_free(struct cpu_device *device, void *data, size_t bytes) {
  if (data)
    uncount_bytes(device, bytes);
  if (data != nowhere())
    platform_free(data);
}

int cpu_count_pictures(struct cpu_device *device, size_t bytes, struct error *err) {
  if (bytes > device->picture_bytes && count_bytes(device, bytes - device->picture_bytes, "output pictures", err) < 0)
    return -1;
  if (bytes < device->picture_bytes)
    uncount_bytes(device, device->picture_bytes - bytes);
  device->picture_bytes = bytes;
  return 0;
}

/* --- arenas: working memory that programs share --- */

static const char working[] = "working memory";

/* Makes the arena larger and zeroes the new memory. The system counts memory as used only when it was written, and
 * later frames then need not wait for pages. */
static int grow_arena(const struct arena *arena, size_t bytes, struct error *err) {
  const struct cpu_device *device = arena->opaque;
  if (device->base.sizes_only)
    return 0;
  if (platform_commit(arena->base, bytes) < 0)
    return error_set(err, STATUS_DEVICE, "%s: no memory for %zu MB", working, bytes >> 20);
  if (clear(device, (char *)arena->base + arena->mapped, bytes - arena->mapped, err) == 0)
    return 0;
  platform_uncommit(arena->base, arena->mapped, bytes);
  return -1;
}

static int resize_arena(struct arena *arena, size_t bytes, struct error *err) {
  if (bytes < arena->mapped) {
    platform_uncommit(arena->base, bytes, arena->mapped);
    uncount_bytes(arena->opaque, arena->mapped - bytes);
  } else {
    size_t more = bytes - arena->mapped;
    if (count_bytes(arena->opaque, more, working, err) < 0)
      return -1;
    if (grow_arena(arena, bytes, err) < 0) {
      uncount_bytes(arena->opaque, more);
      return -1;
    }
  }
  arena->mapped = bytes;
  return 0;
}

static void *alloc_own(struct arena *arena, size_t bytes, struct error *err) {
  return cpu_alloc(arena->opaque, bytes, working, err);
}

static void free_own(struct arena *arena, void *data, size_t bytes) {
  cpu_free(arena->opaque, data, bytes);
}

void cpu_arena_open(struct cpu_device *device, struct arena *arena) {
  static const struct arena_impl impl = {.resize = resize_arena, .alloc = alloc_own, .free = free_own};
  size_t most = (size_t)1 << (sizeof(size_t) > 4 ? 38 : 28);
  *arena = (struct arena){.impl = &impl, .opaque = device, .base = platform_reserve(most), .reserved = most};
}

void cpu_arena_close(struct arena *arena) {
  platform_release(arena->base, arena->reserved);
}

/* --- types and addresses of tensors --- */

struct element cpu_element(const struct cpu_program *program, struct tensor t) {
  bool chosen = t.space == TENSOR_TEMPORARY || t.space == TENSOR_STATE;
  return chosen ? program->element[plan_place(program->plan, t)] : element_of(DTYPE_F32);
}

enum dtype cpu_dtype(const struct cpu_program *program, struct tensor t) {
  return cpu_element(program, t).type;
}

void *cpu_data(const struct cpu_program *program, struct tensor t) {
  if (t.space == TENSOR_RESOURCE)
    return program->device->resource[t.index].data + t.offset;
  if (t.space == TENSOR_NONE)
    return NULL;
  unsigned char *first =
      t.space == TENSOR_STATE ? program->state[t.index].data : program->arena + program->offset[t.index];
  return first + (size_t)t.offset * element_size(cpu_element(program, t));
}

float *cpu_f32(const struct cpu_program *program, struct tensor t) {
  return cpu_data(program, t);
}

int cpu_load_held(struct cpu_device *device, int index, struct error *err) {
  const struct resource *source = &device->base.resources->list[index];
  struct cpu_resource *r = &device->resource[index];
  if (r->data)
    return 0;
  size_t bytes = resource_elements(source) * sizeof(float);
  float *data = cpu_alloc(device, bytes, source->name, err);
  if (!data)
    return -1;
  if (source->kind == RESOURCE_WEIGHT && !device->base.sizes_only && resource_read_f32(source, data, err)) {
    cpu_free(device, data, bytes);
    return -1;
  }
  r->bytes = bytes;
  r->data = data;
  return 0;
}

int cpu_load(struct cpu_device *device, struct tensor t, struct error *err) {
  pthread_mutex_lock(&device->base.weights);
  int status = cpu_load_held(device, t.index, err);
  pthread_mutex_unlock(&device->base.weights);
  return status;
}

const float *cpu_peek(struct cpu_device *device, int resource, float **temporary, struct error *err) {
  const struct resource *r = &device->base.resources->list[resource];
  if (device->resource[resource].data)
    return device->resource[resource].data;
  *temporary = malloc(resource_elements(r) * sizeof(float));
  if (!*temporary)
    error_set(err, STATUS_DEVICE, "%s: out of memory", r->name);
  else if (!resource_read_f32(r, *temporary, err))
    return *temporary;
  return NULL;
}

/* --- scratch memory of the op that is running --- */

void cpu_reserve(struct cpu_program *program, size_t bytes) {
  if (bytes > program->scratch_bytes)
    program->scratch_bytes = bytes;
}

size_t cpu_bump(size_t *total, size_t bytes) {
  size_t at = *total;
  *total = (at + bytes + CPU_ALIGN - 1) / CPU_ALIGN * CPU_ALIGN;
  return at;
}
