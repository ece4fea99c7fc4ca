/* The CPU device: it prepares plans as programs, and runs a plan's ops one after another. A run is complete when submit
 * returns. */
#include "unet/cpu/cpu.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/cpu/cpu_conv.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_dnnl.h"
#include "unet/cpu/cpu_fast.h"
#include "unet/cpu/cpu_layout.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_pixels.h"
#include "unet/cpu/cpu_threads.h"
#include "unet/cpu/cpu_weights.h"

static struct cpu_device *cpu_device(struct device *device) {
  return (struct cpu_device *)device;
}

static struct cpu_program *cpu_program(struct program *program) {
  return (struct cpu_program *)program;
}

/* --- opening the device: its functions for ops, threads, text of choices --- */

#define CPU_DEFINED(TYPE, field, ...) [OP_##TYPE] = &cpu_define_##field,
static const struct cpu_impl *const definition[OP_TYPES] = {OP_TABLE(CPU_DEFINED)};

static bool choose_bf16(const struct cpu_device *device, const struct device_options *options) {
  bool possible = !device->plain && device->dnnl && cpu_dnnl_has_bf16();
  if (options->precision == PRECISION_BF16 && !possible)
    log_line(options->log, LOG_WARNING, "cpu: bfloat16 needs a processor that has it, and oneDNN: using FP32");
  return possible && options->precision != PRECISION_F32 &&
         (options->precision == PRECISION_BF16 || cpu_dnnl_has_amx());
}

/* Writes as text everything on which the rounding of sums depends: libraries, instruction set, number type, number of
 * threads. Another engine, for example in the next part of a render, compares this text with its own. */
static void describe_choices(const struct cpu_device *device, int threads, char text[160]) {
  snprintf(text, 160, "cpu %.100s, %s, %d threads\n", device->detail, device->bf16 ? "bfloat16" : "FP32", threads);
}

static int choices(struct device *base, char **text, struct error *err) {
  char own[160];
  describe_choices(cpu_device(base), cpu_device(base)->threads, own);
  *text = strdup(own);
  return *text ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

/* Makes this device compute as another engine does, whose choices (describe_choices) are in `text`: uses as many
 * threads. If anything else in the text differs on this device, logs a warning instead. Does nothing if `text` is
 * NULL. */
static void take_choices(struct cpu_device *device, const char *text) {
  char own[160];
  const char *number = text ? strrchr(text, ',') : NULL;
  int threads = number ? atoi(number + 1) : 0;
  describe_choices(device, threads, own);
  if (threads > 0 && threads <= THREADS_MOST && !strcmp(own, text))
    device->threads = threads_choose(threads);
  else if (text)
    log_line(device->log, LOG_WARNING,
             "cpu: the choices of another engine were made for another device or library: this one makes its own, and "
             "its pictures differ by rounding");
}

static void destroy(struct device *base) {
  struct cpu_device *device = cpu_device(base);
  cpu_dnnl_close(device);
  cpu_derived_free(device);
  for (int i = 0; device->resource && i < RESOURCES_MAX; i++)
    if (device->resource[i].data)
      cpu_free(device, device->resource[i].data, device->resource[i].bytes);
  cpu_arena_close(&device->arena);
  cpu_arena_close(&device->scratch);
  device_end(base);
  free(device->resource);
  free(device);
}

static int create(struct device **result, const struct device_options *options, struct error *err) {
  bool plain = !strcmp(options->name, "cpu:plain");
  if (!plain && strcmp(options->name, "cpu") != 0)
    return error_set(err, STATUS_USAGE, "no device is called '%s': use cpu or cpu:plain", options->name);
  struct cpu_device *device = calloc(1, sizeof *device);
  if (!device)
    return error_set(err, STATUS_DEVICE, "cpu: out of memory");
  device->threads = threads_choose(options->threads);
  device->log = options->log;
  device->plain = plain;
  threads_set(device->threads);
  memcpy(device->impl, definition, sizeof device->impl);
  snprintf(device->detail, sizeof device->detail, "plain loops");
  /* The system gives memory only to entries that are written, so this large array costs little. */
  device->resource = calloc(RESOURCES_MAX, sizeof *device->resource);
  device_begin(&device->base);
  device->base.memory_limit = options->memory_limit;
  cpu_arena_open(device, &device->arena);
  cpu_arena_open(device, &device->scratch);
  if (!device->resource) {
    error_set(err, STATUS_DEVICE, "cpu: out of memory");
    goto fail;
  }
  if (!plain) {
    cpu_fast(device);
    if (cpu_dnnl_open(device, err) < 0)
      goto fail;
  }
  device->bf16 = choose_bf16(device, options);
  device->tiles = device->bf16 && cpu_dnnl_has_amx() ? cpu_tiles() : NULL;
  if (device->tiles)
    strncat(device->detail, ", AMX", sizeof device->detail - strlen(device->detail) - 1);
  take_choices(device, options->choices);
  *result = &device->base;
  return 0;
fail:
  destroy(&device->base);
  return -1;
}

static void info(struct device *base, struct device_info *info) {
  const struct cpu_device *device = cpu_device(base);
  char name[96];
  platform_cpu_name(name, sizeof name);
  snprintf(info->name, sizeof info->name, "%s, %d thread%s", name, device->threads, device->threads == 1 ? "" : "s");
  snprintf(info->detail, sizeof info->detail, "%s, %s", device->detail, device->bf16 ? "bfloat16" : "FP32");
  info->depth = info->batch = 1;
  info->element = device->bf16 ? DTYPE_BF16 : DTYPE_F32;
  platform_memory(&info->memory_total, &info->memory_free);
}

static void counters(struct device *base, struct device_counters *counters) {
  pthread_mutex_lock(&base->memory);
  *counters = cpu_device(base)->counters;
  pthread_mutex_unlock(&base->memory);
}

/* --- preparing a plan as a program --- */

static const struct cpu_impl *choose(const struct cpu_program *program, const struct op *op) {
  const struct cpu_device *device = program->device;
  if (program->bf16 && cpu_dnnl_has_amx())
    return device->tiles && cpu_tiles_takes(op) ? &cpu_tiles_conv : device->impl[op->type];
  return device->kernels && cpu_winograd_takes(op) ? &cpu_winograd_conv : device->impl[op->type];
}

static bool is_packed(const struct cpu_node *node, const struct op_operand *operand) {
  return node->impl->packs_weight && operand->roles & OPERAND_MATRIX;
}

static int prepare_node(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  struct op_operand list[OPERANDS_MAX];
  int count = op_operands(node->op, OPERAND_READ | OPERAND_WRITE, list);
  for (int i = 0; i < count; i++)
    if (list[i].tensor.space == TENSOR_RESOURCE && !is_packed(node, &list[i]) &&
        cpu_load(program->device, list[i].tensor, err) < 0)
      return -1;
  if (node->impl->prepare && node->impl->prepare(program, node, err) < 0)
    return error_prefix(err, "%s: ", node->op->name);
  return 0;
}

static void release(struct device *base, struct program *base_program) {
  struct cpu_device *device = cpu_device(base);
  struct cpu_program *program = cpu_program(base_program);
  for (int i = 0; program->nodes && i < program->plan->op_count; i++)
    if (program->nodes[i].impl && program->nodes[i].impl->free)
      program->nodes[i].impl->free(program, &program->nodes[i]);
  arena_give(&device->arena, &program->arena_share);
  arena_give(&device->scratch, &program->scratch_share);
  cpu_free(device, program->rows, program->rows_bytes);
  free(program->nodes);
  free(program->offset);
  for (int i = 0; program->state && i < program->plan->state_count; i++)
    if (program->state[i].bytes)
      cpu_free(device, program->state[i].data, program->state[i].bytes);
  free(program->state);
  free(program->element);
  free(program);
}

static int prepare(struct device *base, struct program **result, const struct plan *plan,
                   const struct program_options *options, struct error *err) {
  struct cpu_device *device = cpu_device(base);
  /* OpenMP, and so oneDNN, has a number of threads for each calling thread. It must be set for this thread, too, which
   * runs programs. */
  threads_set(device->threads);
  struct cpu_program *program = calloc(1, sizeof *program);
  if (!program)
    return error_set(err, STATUS_DEVICE, "cpu: out of memory");
  program->device = device;
  program->plan = plan;
  program->own_memory = options->own_memory;
  program->picture_bytes = options->picture_bytes;
  program->base.parts = !plan_is_straight(plan) || options->parts < 1 ? 1 : options->parts;
  program->nodes = calloc((size_t)plan->op_count + 1, sizeof *program->nodes);
  program->offset = calloc((size_t)plan->temporary_count + 1, sizeof *program->offset);
  program->element = calloc((size_t)plan_places(plan) + 1, sizeof *program->element);
  program->state = calloc((size_t)plan->state_count + 1, sizeof *program->state);
  program->base.element = program->element;
  if (!program->nodes || !program->offset || !program->element || !program->state) {
    error_set(err, STATUS_DEVICE, "cpu: out of memory");
    goto fail;
  }
  cpu_states_find(program, options->owner ? cpu_program(options->owner) : NULL);
  cpu_choose_precision(program);
  for (int i = 0; i < plan->op_count; i++)
    program->nodes[i] = (struct cpu_node){.op = &plan->ops[i], .impl = choose(program, &plan->ops[i])};
  if (cpu_layout(program, err) < 0 || cpu_states_make(program, err) < 0)
    goto fail;
  for (int i = 0; i < plan->op_count; i++)
    if (device_check_wanted(base, err) < 0 || prepare_node(program, &program->nodes[i], err) < 0)
      goto fail;
  if (arena_take(&device->scratch, &program->scratch_share, program->scratch_bytes, program->own_memory, err) < 0)
    goto fail;
  program->scratch = program->scratch_share.data;
  *result = &program->base;
  return 0;
fail:
  release(base, &program->base);
  return -1;
}

/* --- running a program's ops --- */

static int grow_rows(struct cpu_program *program, const struct frame *frame, struct error *err) {
  size_t bytes = (size_t)program->device->threads * cpu_pixels_row(frame) * sizeof(float);
  if (bytes <= program->rows_bytes)
    return 0;
  cpu_free(program->device, program->rows, program->rows_bytes);
  program->rows_bytes = 0;
  program->rows = cpu_alloc(program->device, bytes, "rows of the source", err);
  program->rows_bytes = program->rows ? bytes : 0;
  return program->rows ? 0 : -1;
}

static double clock_seconds(void) {
  return 1e-9 * (double)platform_now_ns();
}

/* Returns the number of the op that runs next: i; or, if a region (ops that a run may skip) begins at i and this run
 * skips it, the first op after it. */
static int skip_regions(const struct cpu_run *run, int i) {
  const struct plan *plan = run->program->plan;
  for (int r = 0; r < plan->region_count; r++)
    if (plan->regions[r].first == i && !region_runs(&plan->regions[r].when, run->params, run->iteration))
      i = plan->regions[r].end;
  return i;
}

/* Runs ops `first` to `end` - 1. A frame of a large picture takes seconds, so before each op the function checks
 * whether the caller wants to stop. */
static int run_ops(const struct cpu_run *run, int first, int end, struct error *err) {
  struct cpu_program *program = run->program;
  double begin = run->seconds ? clock_seconds() : 0;
  for (int i = skip_regions(run, first); i < end; i = skip_regions(run, i + 1)) {
    if (device_check_wanted(&program->device->base, err) < 0)
      return -1;
    program->nodes[i].impl->run(run, &program->nodes[i]);
    program->device->counters.launches++;
    if (run->seconds) {
      double now = clock_seconds();
      run->seconds[i] += now - begin;
      begin = now;
    }
  }
  return 0;
}

static int run_all(struct cpu_run *run, struct error *err) {
  const struct plan_loop *loop = &run->program->plan->loop;
  if (run_ops(run, 0, loop->first, err) < 0)
    return -1;
  for (; run->iteration < loop->iterations; run->iteration++)
    if (run_ops(run, loop->first, loop->end, err) < 0)
      return -1;
  run->iteration = 0;
  return run_ops(run, loop->end, run->program->plan->op_count, err);
}

/* Runs the whole plan. seconds: an array with an entry for each op, to which the op's time is added; NULL: times are
 * not measured. */
static int run_program(struct cpu_device *device, struct cpu_program *program, const struct run_params *params,
                       const struct frame *frames, const struct frame *pictures, double *seconds, struct error *err) {
  struct cpu_run run = {program, params, frames, pictures, 0, seconds};
  for (int i = 0; device->kernels && i < program->base.frames; i++)
    if (grow_rows(program, &frames[i], err) < 0)
      return -1;
  threads_set(device->threads);
  if (cpu_refresh(device, err) < 0)
    return -1;
  program->failed = NULL;
  if (run_all(&run, err) < 0)
    return -1;
  if (program->failed)
    return error_set(err, STATUS_DEVICE, "%s: oneDNN could not run it", program->failed->name);
  return 0;
}

static int submit(struct device *base, struct program *program, const struct run_params *params,
                  const struct frame *frames, const struct frame *pictures, struct error *err) {
  struct run_stamps *stamps = &cpu_device(base)->counters.stamps;
  int64_t begin = (int64_t)(clock_seconds() * 1e9);
  int status = run_program(cpu_device(base), cpu_program(program), params, frames, pictures, NULL, err);
  *stamps = (struct run_stamps){.begun_ns = begin, .computed_ns = (int64_t)(clock_seconds() * 1e9)};
  return status;
}

static int start_part(struct device *base, struct program *base_program, const struct run_params *params, int part,
                      bool merged, struct error *err) {
  struct cpu_device *device = cpu_device(base);
  struct cpu_program *program = cpu_program(base_program);
  const struct cpu_run run = {.program = program, .params = params};
  int ops = program->plan->op_count, parts = base_program->parts;
  (void)merged;
  if (parts == 1)
    return run_program(device, program, params, NULL, NULL, NULL, err);
  threads_set(device->threads);
  if (cpu_refresh(device, err) < 0)
    return -1;
  program->failed = NULL;
  if (run_ops(&run, ops * part / parts, ops * (part + 1) / parts, err) < 0)
    return -1;
  return program->failed ? error_set(err, STATUS_DEVICE, "%s: oneDNN could not run it", program->failed->name) : 0;
}

static int settle(struct device *device, struct error *err) {
  (void)device, (void)err;
  return 0;
}

static int collect(struct device *base, struct program *program, struct error *err) {
  (void)program, (void)err;
  cpu_device(base)->counters.waits++;
  return 0;
}

/* --- the profile: times of each op --- */

/* A profile times at least REPEATS_MIN and at most REPEATS_MAX frames. How many depends on the time of a first
 * frame. */
enum { REPEATS_MIN = 3, REPEATS_MAX = 200 };

static const char *way_of(const struct cpu_device *device, const struct cpu_node *node) {
  if (node->impl == &cpu_winograd_conv)
    return "winograd";
  if (node->impl == &cpu_tiles_conv)
    return "matrix units";
  return node->impl->packs_weight ? "onednn" : device->plain ? "plain" : "own";
}

/* Runs frames and measures their ops. Each repeat fills one row of `seconds`: the time of each op, and last the sum of
 * these times. */
static int measure(struct cpu_device *device, struct cpu_program *program, const struct run_params *params,
                   const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                   int repeats, double *seconds, struct error *err) {
  int ops = program->plan->op_count;
  for (int r = 0; r < repeats; r++) {
    double *row = seconds + (size_t)r * (size_t)(ops + 1);
    if (request->stop && request->stop())
      return error_set(err, STATUS_INTERRUPTED, "interrupted: no profile");
    if (run_program(device, program, params, frames, pictures, row, err) < 0)
      return -1;
    for (int i = 0; i < ops; i++)
      row[ops] += row[i];
  }
  return 0;
}

/* Returns the microseconds that one execution of op i takes: the mean of the middle half of its times in the rows that
 * `measure` has filled. *spread: the standard error of this number. */
static double middle_us(const double *seconds, int columns, int i, int repeats, int runs, double *spread) {
  double values[REPEATS_MAX];
  for (int r = 0; r < repeats; r++)
    values[r] = seconds[(size_t)r * (size_t)columns + (size_t)i] * 1e6 / runs;
  return profile_middle(values, repeats, spread);
}

static int profile(struct device *base, struct program *base_program, const struct run_params *params,
                   const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                   struct profile *profile, struct error *err) {
  struct cpu_device *device = cpu_device(base);
  struct cpu_program *program = cpu_program(base_program);
  int ops = program->plan->op_count;
  double *seconds = calloc((size_t)(ops + 1) * REPEATS_MAX, sizeof *seconds);
  if (!seconds)
    return error_set(err, STATUS_FAILED, "profile: out of memory");
  int status = measure(device, program, params, frames, pictures, request, 1, seconds, err);
  double fitting = status == 0 ? request->seconds / seconds[ops] : 0;
  int wanted = request->repeats ? request->repeats : fitting < REPEATS_MAX ? (int)fitting : REPEATS_MAX;
  profile->repeats = wanted < REPEATS_MIN ? REPEATS_MIN : wanted > REPEATS_MAX ? REPEATS_MAX : wanted;
  memset(seconds, 0, (size_t)(ops + 1) * sizeof *seconds);
  if (status == 0)
    status = measure(device, program, params, frames, pictures, request, profile->repeats, seconds, err);
  for (int i = 0; status == 0 && i < ops; i++) {
    struct profile_row *row = &profile->rows[i];
    int runs = run_op_runs(program->plan, i, params);
    row->us = middle_us(seconds, ops + 1, i, profile->repeats, runs ? runs : 1, &row->spread_us);
    const char *way = runs ? way_of(device, &program->nodes[i]) : "skipped";
    snprintf(row->way, sizeof row->way, "%s", way);
    row->launches[row->launch_count++] = (struct profile_launch){way, row->us};
  }
  profile->frame_us = middle_us(seconds, ops + 1, ops, profile->repeats, 1, &profile->frame_spread_us);
  profile->roof.element = program->bf16 ? 2 : 4;
  free(seconds);
  return status;
}

/* --- copying tensors between the host's arrays and the program's memory --- */

/* Returns the index in memory of a tensor's element i; both are counted from the tensor's first element. They differ if
 * the tensor is a view of some channels of a wider tensor. */
static size_t place_of(struct tensor t, size_t i) {
  return i / (size_t)t.c * (size_t)t.pitch + i % (size_t)t.c;
}

/* Returns the address of a tensor's values. If the tensor is a resource (a weight or another tensor that plans share),
 * it is loaded first. Returns NULL with err set on failure. */
static void *locate(struct cpu_device *device, const struct cpu_program *program, struct tensor t, struct error *err) {
  if (t.space != TENSOR_RESOURCE)
    return cpu_data(program, t);
  return cpu_load(device, t, err) < 0 ? NULL : device->resource[t.index].data + t.offset;
}

static int write_tensor(struct device *base, struct program *program, struct tensor t, size_t first, const float *data,
                        size_t count, struct error *err) {
  void *to = locate(cpu_device(base), cpu_program(program), t, err);
  const struct element element = cpu_element(cpu_program(program), t);
  if (!to)
    return -1;
  for (size_t i = 0; i < count; i++)
    element_store(element, to, place_of(t, first + i), data[i]);
  return 0;
}

static int read_tensor(struct device *base, struct program *program, struct tensor t, size_t first, float *data,
                       size_t count, struct error *err) {
  const void *from = locate(cpu_device(base), cpu_program(program), t, err);
  const struct element element = cpu_element(cpu_program(program), t);
  if (!from)
    return -1;
  for (size_t i = 0; i < count; i++)
    data[i] = element_load(element, from, place_of(t, first + i));
  return 0;
}

/* Fills the program's temporaries and scratch memory with a value that is a quiet NaN both as FP32 and as bfloat16. So
 * tests notice if values are read before they are written. */
static int poison(struct device *base, struct program *base_program, struct error *err) {
  struct cpu_program *program = cpu_program(base_program);
  const uint32_t nan = 0x7fc07fc0;
  (void)base, (void)err;
  for (size_t i = 0; i + sizeof nan <= program->arena_bytes; i += sizeof nan)
    memcpy(program->arena + i, &nan, sizeof nan);
  for (size_t i = 0; i + sizeof nan <= program->scratch_bytes; i += sizeof nan)
    memcpy((unsigned char *)program->scratch + i, &nan, sizeof nan);
  return 0;
}

/* --- the memory of pictures that runs write --- */

/* Returns how many bytes the device's pool of pictures (those that runs write) takes when all of its pictures exist; 0
 * if there is no pool. */
static size_t bytes_of(const struct device_pictures *pictures) {
  return pictures->bytes * (size_t)pictures->count;
}

/* Makes a picture of the device's pool. The first call counts the bytes of the whole pool, because the pool's other
 * pictures are made right after it. */
static int picture_make(void *opaque, struct picture *picture, struct error *err) {
  const struct device_pictures *pictures = opaque;
  struct cpu_device *device = cpu_device(pictures->device);
  if (device_check_wanted(pictures->device, err) < 0 || cpu_count_pictures(device, bytes_of(pictures), err) < 0)
    return -1;
  uint8_t *memory = platform_alloc(CPU_ALIGN, pictures->bytes);
  if (!memory) {
    cpu_count_pictures(device, bytes_of(&device->base.pictures), NULL);
    return error_set(err, STATUS_DEVICE, "output pictures: no memory for %zu MB", pictures->bytes >> 20);
  }
  memset(memory, 0, pictures->bytes); /* Rows may have padding at their end. Zeros give it a defined value. */
  picture->memory = MEMORY_HOST;
  picture->template.plane[0] = memory;
  return 0;
}

static void picture_destroy(struct picture *picture) {
  platform_free(frame_plane(&picture->template, 0));
}

static const struct picture_owner picture_owner = {
    .bytes = sizeof(struct picture), .make = picture_make, .destroy = picture_destroy};

const struct device_impl cpu_device_impl = {
    .name = "cpu",
    .pictures = &picture_owner,
    .create = create,
    .destroy = destroy,
    .info = info,
    .counters = counters,
    .choices = choices,
    .prepare = prepare,
    .release = release,
    .submit = submit,
    .start_part = start_part,
    .collect = collect,
    .update = cpu_update,
    .write = write_tensor,
    .read = read_tensor,
    .settle = settle,
    .profile = profile,
    .poison = poison,
};
