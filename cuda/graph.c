/* Prepares programs: allocates the memory of a plan, makes its launches, and captures them once as a graph. */
#include "cuda/graph.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/buffers.h"
#include "cuda/capture.h"
#include "cuda/check.h"
#include "cuda/fuse.h"
#include "cuda/ops.h"
#include "cuda/recording.h"
#include "cuda/timing.h"
#include "cuda/ways/tuner.h"

/* Longest time, in seconds, for which implementations of convolutions and linear layers are timed while frames run. The
 * size or step count that the user has asked for waits until the timing ends. Layers that were not timed for lack of
 * time are timed when the same shape is prepared again. */
static const double tune_running_s = 0.5;

/* Returns true if the temporary belongs to a parallel region: ops that a run may skip, and that may run at the same
 * time as other ops. Such temporaries are in lane 1. Lane 0 is the working memory of the other ops. */
static bool is_parallel(const struct plan *plan, int temporary) {
  return plan_is_parallel(plan, plan->temporaries[temporary].first);
}

/* Returns the last op until which a temporary of a parallel region must keep its memory: usually the last op that reads
 * it. If that op comes after the part of the region that runs in parallel, other parallel regions may run before that
 * op. The result is then the last op of the last such region, so that none of them gets this memory. */
static int find_last(const struct plan *plan, const struct temporary *t) {
  const struct plan_region *own = plan_region_of(plan, t->first);
  int last = t->last;
  for (int i = 0; last >= own->parallel_end && i < plan->region_count; i++)
    if (plan->regions[i].parallel_end && plan->regions[i].parallel_with < own->end && plan->regions[i].end > last)
      last = plan->regions[i].end - 1;
  return last;
}

/* Chooses the offsets of the temporaries in one lane (working memory of kernels that run one after the other). A fused
 * launch prolongs the lifetimes of its temporaries. Returns how many bytes the temporaries take; SIZE_MAX: out of
 * memory. */
static size_t lay_out_lane(const struct cuda_program *program, const struct plan *plan, int lane, size_t *offset) {
  struct plan seen = *plan;
  size_t bytes = (size_t)plan->temporary_count * sizeof *plan->temporaries;
  seen.temporaries = malloc(bytes + 1);
  if (!seen.temporaries)
    return SIZE_MAX;
  memcpy(seen.temporaries, plan->temporaries, bytes);
  fusions_lifetimes(program, seen.temporaries);
  for (int i = 0; i < plan->temporary_count; i++) {
    bool parallel = is_parallel(plan, i);
    if (parallel != (lane == 1))
      seen.temporaries[i].n = 0;
    else if (parallel)
      seen.temporaries[i].last = find_last(plan, &seen.temporaries[i]);
  }
  size_t total = plan_layout(&seen, program->element, 256, offset);
  free(seen.temporaries);
  return total;
}

static size_t lay_out(const struct cuda_program *program, const struct plan *plan) {
  size_t *parallel = malloc(((size_t)plan->temporary_count + 1) * sizeof *parallel);
  size_t first = lay_out_lane(program, plan, 0, program->offset);
  size_t second = parallel && program->lanes > 1 ? lay_out_lane(program, plan, 1, parallel) : 0;
  bool failed = !parallel || first == SIZE_MAX || second == SIZE_MAX;
  for (int i = 0; !failed && program->lanes > 1 && i < plan->temporary_count; i++)
    if (is_parallel(plan, i))
      program->offset[i] = first + parallel[i];
  free(parallel);
  return failed ? SIZE_MAX : first + second;
}

/* Allocates the second lane (working memory of kernels) if the plan has ops that run in parallel to others. */
static int lanes_open(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                      struct error *err) {
  program->lanes = 1;
  for (int i = 0; i < plan->region_count; i++)
    if (plan->regions[i].parallel_end)
      program->lanes = 2;
  if (program->lanes == 1)
    return 0;
  pthread_mutex_lock(&device->base.weights);
  int status = cuda_open_lane(device, &device->lane[1], device->preparing.queue.stream, err);
  pthread_mutex_unlock(&device->base.weights);
  return status;
}

static int memory_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                         bool own_memory, struct error *err) {
  program->offset = malloc(((size_t)plan->temporary_count + 1) * sizeof *program->offset);
  if (!program->offset)
    return error_set(err, STATUS_FAILED, "out of memory");
  size_t most[SCRATCH_AREAS] = {0};
  if (lanes_open(device, program, plan, err) < 0)
    return -1;
  program->arena_bytes = lay_out(program, plan);
  if (program->arena_bytes == SIZE_MAX)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < plan->op_count; i++) {
    size_t bytes[SCRATCH_AREAS];
    op_scratch(device, program, &plan->ops[i], bytes);
    for (int j = 0; j < SCRATCH_AREAS; j++)
      most[j] = bytes[j] > most[j] ? bytes[j] : most[j];
  }
  for (int j = 0; j < SCRATCH_AREAS; j++) {
    program->scratch_at[j] = program->scratch_bytes;
    program->scratch_bytes += (most[j] + 255) / 256 * 256;
  }
  program->arena_bytes += 256; /* 256 more bytes, because the size must not be 0; it must also stay a multiple of 256 */
  program->scratch_bytes += 256;
  size_t bytes = program->arena_bytes + (size_t)program->lanes * program->scratch_bytes;
  if (arena_take(&device->arena, &program->working, bytes, own_memory, err) < 0)
    return -1;
  program->arena = program->working.data;
  program->scratch = (char *)program->arena + program->arena_bytes;
  return 0;
}

/* Returns the time, in seconds of CLOCK_MONOTONIC, until which implementations of convolutions and linear layers may be
 * timed. 0: the program does not run in every frame, so fixed rules choose them. If the caller only wants to know the
 * sizes of memory, the result is a time that has passed: earlier choices are used and nothing is timed. */
static double choose_tune_until(const struct cuda_device *device, const struct cuda_program *program) {
  const double passed = 1e-9;
  if (!program->has_output && !device->tune_always)
    return 0;
  if (device->base.sizes_only)
    return passed;
  return device->running ? clock_seconds() + tune_running_s : INFINITY;
}

static void output_find(struct cuda_program *program, const struct plan *plan, enum pixel_format format) {
  for (int i = 0; i < plan->op_count; i++) {
    const struct op *op = &plan->ops[i];
    if (op->type != OP_PIXELS_OUT)
      continue;
    program->has_output = true;
    output_describe(program, format, pixels_out_w(&op->pixels_out), pixels_out_h(&op->pixels_out));
  }
}

/* Record at which launches the plan's regions (ops that a run may skip) begin and end. The launches of op number `op`
 * are made next: regions_begin is for regions that begin at this op, regions_end for those that end before it, or
 * whose parallel ops do. */
static void regions_begin(struct cuda_program *program, const struct plan *plan, int op) {
  for (int i = 0; i < plan->region_count; i++) {
    struct plan_region *region = &program->regions[i];
    int count = program->launches.count;
    region->when = plan->regions[i].when;
    if (plan->regions[i].parallel_with == op)
      region->parallel_with = count;
    if (plan->regions[i].first == op)
      region->first = count;
  }
}

static void regions_end(struct cuda_program *program, const struct plan *plan, int op) {
  for (int i = 0; i < plan->region_count; i++) {
    if (plan->regions[i].parallel_end == op)
      program->regions[i].parallel_end = program->launches.count;
    if (plan->regions[i].end == op)
      program->regions[i].end = program->launches.count;
  }
}

static int launches_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                           struct error *err) {
  program->tune_until = choose_tune_until(device, program);
  program->loop.iterations = plan->loop.iterations;
  if (!program->regions)
    program->regions = calloc((size_t)plan->region_count + 1, sizeof *program->regions);
  if (!program->regions)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0, ops; i < plan->op_count; i += ops) {
    bool fused = program->fused[i].count > 0;
    ops = fused ? program->fused[i].count : 1;
    if (device_check_wanted(&device->base, err) < 0)
      return -1;
    if (i == plan->loop.first)
      program->loop.first = program->launches.count;
    regions_begin(program, plan, i);
    program->lane = plan_is_parallel(plan, i);
    pthread_mutex_lock(&device->base.weights);
    int status = fused ? fused_prepare(device, program, i, err) : op_prepare(device, program, plan, i, err);
    pthread_mutex_unlock(&device->base.weights);
    if (status < 0)
      return -1;
    if (i + ops == plan->loop.end)
      program->loop.end = program->launches.count;
    regions_end(program, plan, i + ops);
  }
  launches_fetch_ahead(&program->launches, &device->queue);
  tuner_save(device->tuner, device->log);
  return 0;
}

/* Returns true if the plan reads a weight that the device stores twice, once in each set (weight_merges.h). */
static bool reads_adapted(const struct plan *plan) {
  for (int i = 0; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int count = op_tensors(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < count; j++)
      if (list[j].space == TENSOR_RESOURCE && plan->resources->list[list[j].index].adapted)
        return true;
  }
  return false;
}

/* Makes the program's launches a second time, with addresses in the second set of weights and the same
 * implementations. */
static int other_create(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                        struct error *err) {
  if (!device->merge || !reads_adapted(plan))
    return 0;
  const struct launches first = program->launches;
  program->launches = (struct launches){0};
  program->set = 1;
  int status = launches_create(device, program, plan, err);
  program->set = 0;
  program->other_launches = program->launches;
  program->launches = first;
  program->doubled = true;
  return status;
}

/* Makes the graphs of all parts of a run. recorded: what they have in common. */
static int graphs_create_parts(struct cuda_device *device, const struct recording *recorded, cudaGraphExec_t *graph,
                               struct error *err) {
  const struct launch_queue *queue = &device->preparing.queue;
  for (int part = 0; part < recorded->program->base.parts; part++) {
    struct recording recording = *recorded;
    recording.part = part;
    if (device_check_wanted(&device->base, err) < 0)
      return -1;
    graph[part] = graph_capture(device, queue, record_part, &recording, err);
    if (!graph[part] || cuda_check(cudaGraphUpload(graph[part], queue->stream), "the graph", err) < 0)
      return -1;
  }
  return 0;
}

/* Returns true if a graph is made for runs that leave out the parts of the plan with bits in `without` (IDLE_CONTROL
 * and others in run.h). may: the bits of all parts that runs of the plan may leave out.
 *
 * Such graphs are worth their memory: without them, a skipped conditional node takes about 10 us, and an op that adds
 * nothing 1.5 us. But with more than three controls (all style pictures count as one control) there would be too many
 * combinations: then a graph leaves out none of the controls, all of them, or all but one. Each of them that keeps a
 * control is captured twice (graphs_create_without).
 *
 * Graphs exist with and without the ops of the bank (keys and values of earlier frames) and of motion, which so need no
 * conditional node (recording.c). If the plan has both, a run never uses the bank without motion. */
static bool deserves_graph(unsigned without, unsigned may) {
  const unsigned memory = IDLE_BANK | IDLE_MOTION, others = may & ~memory;
  int left = __builtin_popcount(others & ~without);
  if (without & ~may || (without & IDLE_MOTION && may & ~without & IDLE_BANK))
    return false;
  return !(without & others) || left <= 1 || __builtin_popcount(others) <= 3;
}

/* Makes the graphs that leave out the same parts of the plan. In one graph for each part of a run the GPU decides about
 * controls that are left, by conditional nodes, which take 30 us of a frame. The other has no such nodes: it is for
 * runs in which all of these controls act in each step. Else a map may be shown while its network adds nothing, or
 * steps may differ. */
static int graphs_create_without(struct cuda_device *device, struct recording *recording, struct graphs *graphs,
                                 struct error *err) {
  recording->exact = false;
  if (graphs_create_parts(device, recording, graphs->without[recording->without], err) < 0)
    return -1;
  recording->exact = recording_decides(recording);
  return recording->exact ? graphs_create_parts(device, recording, graphs->exact[recording->without], err) : 0;
}

static int graphs_create(struct cuda_device *device, const struct cuda_program *program,
                         const struct launches *launches, struct graphs *graphs, struct error *err) {
  unsigned may = plan_may_idle(program->base.plan);
  for (unsigned without = 0; device->use_graph && without < IDLE_SETS; without++) {
    struct recording recording = {.program = program, .launches = launches, .without = without};
    if (deserves_graph(without, may) && graphs_create_without(device, &recording, graphs, err) < 0)
      return -1;
  }
  return 0;
}

static void graph_destroy(cudaGraphExec_t graph) {
  if (graph)
    cudaGraphExecDestroy(graph);
}

static void graphs_destroy(const struct graphs *graphs) {
  for (int without = 0; without < IDLE_SETS; without++)
    for (int part = 0; part < PARTS_MAX; part++) {
      graph_destroy(graphs->without[without][part]);
      graph_destroy(graphs->exact[without][part]);
    }
}

/* Waits until the device has done all work that preparing a program has enqueued, so that the program can run or be
 * freed. Also frees the memory for timing trials. */
static int preparing_settle(struct cuda_device *device, struct error *err) {
  struct preparing *p = &device->preparing;
  cudaError_t trials = cudaStreamSynchronize(p->queue.stream),
              loads = cudaStreamSynchronize(device->loads.queue.stream);
  cuda_free(device, p->memory, p->bytes);
  p->memory = NULL;
  p->cramped = false;
  return cuda_check(trials == cudaSuccess ? loads : trials, "preparing", err);
}

static int create(struct cuda_device *device, struct cuda_program *program, const struct program_options *options,
                  struct error *err) {
  const struct plan *plan = program->base.plan;
  const struct cuda_program *owner = options->owner ? cuda_program(options->owner) : NULL;
  output_find(program, plan, options->output);
  if (elements_choose(program, owner, err) < 0 || fusions_find(device, program, err) < 0 ||
      states_create(device, program, owner, err) < 0 ||
      memory_create(device, program, plan, options->own_memory, err) < 0 || buffers_create(device, program, err) < 0 ||
      launches_create(device, program, plan, err) < 0 || other_create(device, program, plan, err) < 0)
    return -1;
  program->base.parts = !plan_is_straight(plan) || options->parts < 1 ? 1
                        : options->parts < PARTS_MAX                  ? options->parts
                                                                      : PARTS_MAX;
  if (graphs_create(device, program, &program->launches, &program->graphs, err) < 0 ||
      (program->doubled && graphs_create(device, program, &program->other_launches, &program->other_graphs, err) < 0))
    return -1;
  return preparing_settle(device, err);
}

/* Frees a program, which no run may be using any more. */
static void program_free(struct cuda_device *device, struct cuda_program *program) {
  graphs_destroy(&program->graphs);
  graphs_destroy(&program->other_graphs);
  launches_free(&program->launches);
  launches_free(&program->other_launches);
  free(program->chosen);
  free(program->regions);
  buffers_free(device, program);
  arena_give(&device->arena, &program->working);
  states_free(device, program);
  free(program->offset);
  free(program->fused);
  free(program);
}

static struct loaded loaded_so_far(struct cuda_device *device) {
  pthread_mutex_lock(&device->base.weights);
  struct loaded loaded = device->loaded;
  pthread_mutex_unlock(&device->base.weights);
  return loaded;
}

static void say_prepared(struct cuda_device *device, const struct cuda_program *program, double seconds,
                         const struct loaded *before) {
  const struct loaded now = loaded_so_far(device);
  log_line(device->log, LOG_DEBUG, "cuda: %d launches prepared in %.3f s, %.3f s of it for %.1f MB of weights",
           program->launches.count, seconds, now.seconds - before->seconds, (double)(now.bytes - before->bytes) / 1e6);
}

int program_prepare(struct device *base, struct program **out, const struct plan *plan,
                    const struct program_options *options, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = calloc(1, sizeof *program);
  if (!program)
    return error_set(err, STATUS_FAILED, "out of memory");
  program->base.plan = plan;
  pthread_mutex_lock(&device->preparing.lock);
  const struct loaded before = loaded_so_far(device);
  double begun = clock_seconds();
  int status = create(device, program, options, err);
  if (status == 0)
    say_prepared(device, program, clock_seconds() - begun, &before);
  if (status < 0) {
    preparing_settle(device, NULL);
    program_free(device, program);
  }
  cuda_pool_trim(device);
  pthread_mutex_unlock(&device->preparing.lock);
  *out = status < 0 ? NULL : &program->base;
  return status;
}

void program_release(struct device *base, struct program *program) {
  struct cuda_device *device = cuda_enter(base);
  cudaStreamSynchronize(device->upload);
  cudaStreamSynchronize(device->queue.stream);
  cudaStreamSynchronize(device->download);
  if (cuda_program(program)->has_output)
    device->pictures_in_flight -= program_in_flight(program);
  pthread_mutex_lock(&device->preparing.lock);
  program_free(device, cuda_program(program));
  cuda_pool_trim(device);
  pthread_mutex_unlock(&device->preparing.lock);
}
