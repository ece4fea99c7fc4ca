/* Measures the time of each launch in a frame. A launch is timed in its place: the time of a graph that ends with it,
 * minus the time of a graph that ends before it. The graphs need not begin at the frame's beginning. A few launches
 * ahead are enough for programmatic launch. An untimed graph before each timed one runs enough of the frame to fill the
 * cache as in a frame:
 *
 *   launches of the frame   ... 41 42 43 44 45 46 47 48 ...
 *   untimed                 ...=====|
 *   timed, the base                 |==|
 *   timed, ends after 45            |=====|
 *   timed, ends after 46            |========|             46 takes the difference to the one above
 *
 * The parts that all graphs share (their start, the launches ahead, the end of the last) cancel in the difference, and
 * the times of short graphs vary less. The sweep over all graphs is repeated. A launch's time is the median of its
 * differences, each within one sweep, so that a clock rate that changes between sweeps does no harm. */
#include "cuda/profile.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/buffers.h"
#include "cuda/capture.h"
#include "cuda/check.h"
#include "cuda/graph.h"
#include "cuda/timing.h"

enum {
  AHEAD = 2, /* launches in a timed graph before its block's first launch */
  /* launches whose timed graphs begin at the same launch (the base); a few more where an op has several launches */
  BLOCK = 6,
  REPEATS_MIN = 8,
  REPEATS_MAX = 400,
  FLUSHED_REPEATS = 8, /* repeats in one graph */
  FLUSHED_RUNS = 6,
};

/* This many times the size of the last cache level must be read until its old content is gone. */
static const double cache_turns = 3;

/* Highest rates that were measured: operations a second of a product of 8192 cubed (cuBLASLt), bytes a second of a copy
 * in device memory, and bytes a second of reads from the last cache level. */
static const struct {
  const char *name; /* part of the GPU's name */
  struct profile_roof roof;
} roofs[] = {{"H200", {.flops = 715e12, .memory = 4.2e12, .cache = 5.5e12}}};

/* Launches [first, end) of a run, which follow each other. Number 0 is launch_begin, and number i + 1 is launch i of
 * the program. */
struct range {
  int first, end;
};

struct recording {
  const struct cuda_program *program;
  const bool *skipped;   /* for each launch: true if it is in a region that the run skips */
  struct range parts[2]; /* recorded one after the other */
};

/* A timed graph. */
struct sample {
  /* prime: the graph that runs untimed before `graph`, to fill the cache; for sample 0 both are the whole frame. */
  cudaGraphExec_t prime, graph;
  cudaEvent_t begun, done;
};

struct profiler {
  struct cuda_device *device;
  struct cuda_program *program;
  const struct plan *plan;
  int places;
  double *bytes;           /* bytes that each launch reads and writes */
  bool *skipped;           /* for each launch: true if it is in a region that the run skips */
  cudaGraphExec_t *primes; /* owned: for each block of launches, the graph that runs untimed before its samples */
  int prime_count;
  struct sample *samples; /* sample 0 is the whole frame */
  int sample_count;
  /* For each launch: index of the sample whose timed graph ends with it. The time of the sample before that is
   * subtracted. */
  int *sample_of;
  double *times; /* microseconds of each sample in each sweep */
  double *differences;
  int repeats;
};

/* --- graphs --- */

static cudaError_t record_ranges(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct recording *recording = opaque;
  const struct cuda_program *program = recording->program;
  cudaError_t status = cudaSuccess;
  for (int part = 0; part < 2; part++)
    for (int i = recording->parts[part].first; status == cudaSuccess && i < recording->parts[part].end; i++)
      status = i == 0                  ? launch_begin(queue, program->ring, program->order)
               : recording->skipped[i] ? cudaSuccess
                                       : launch_enqueue(device, queue, &program->launches.list[i - 1]);
  return status;
}

static cudaGraphExec_t capture(const struct profiler *p, struct range first, struct range second, struct error *err) {
  const struct recording recording = {p->program, p->skipped, {first, second}};
  return graph_capture(p->device, &p->device->queue, record_ranges, &recording, err);
}

/* Captures launches before number `end`, enough of them to replace the cache's content. They may begin in the frame
 * before. */
static cudaGraphExec_t capture_prime(const struct profiler *p, int end, struct error *err) {
  double wanted = cache_turns * (double)p->device->properties.l2CacheSize, moved = 0;
  int first = end, before = p->places;
  while (first > 0 && moved < wanted)
    moved += p->bytes[--first];
  while (first == 0 && before > end && moved < wanted)
    moved += p->bytes[--before];
  return capture(p, (struct range){before, p->places}, (struct range){first, end}, err);
}

static int add_sample(struct profiler *p, cudaGraphExec_t prime, cudaGraphExec_t graph, struct error *err) {
  struct sample *sample = &p->samples[p->sample_count++];
  *sample = (struct sample){.prime = prime, .graph = graph};
  if (!graph || cuda_check(cudaEventCreate(&sample->begun), "event", err) < 0 ||
      cuda_check(cudaEventCreate(&sample->done), "event", err) < 0)
    return -1;
  return cuda_check(cudaGraphUpload(graph, p->device->queue.stream), "the profile's graphs", err);
}

static int op_of(const struct profiler *p, int place) {
  return place ? p->program->launches.list[place - 1].op : -1;
}

/* Returns the number of the launch after a block of launches that begins at `first`. */
static int block_end(const struct profiler *p, int first) {
  int end = first + 1;
  while (end < p->places && (end - first < BLOCK || op_of(p, end) == op_of(p, end - 1)))
    end++;
  return end;
}

static int add_block(struct profiler *p, int first, int end, struct error *err) {
  int start = first > AHEAD ? first - AHEAD : 0;
  cudaGraphExec_t prime = capture_prime(p, start, err);
  if (!prime)
    return -1;
  p->primes[p->prime_count++] = prime;
  for (int i = first; i <= end; i++) {
    if (i > first)
      p->sample_of[i - 1] = p->sample_count;
    if (add_sample(p, prime, capture(p, (struct range){start, i}, (struct range){0, 0}, err), err) < 0)
      return -1;
  }
  return 0;
}

static void count_bytes(struct profiler *p) {
  for (int i = 1; i < p->places; i++) {
    double weights, activations;
    if (i + 1 < p->places && op_of(p, i + 1) == op_of(p, i))
      continue;
    profile_bytes(p->plan, p->program->element, op_of(p, i), sizeof(half_t), &weights, &activations);
    p->bytes[i] = p->skipped[i] ? 0 : weights + activations;
  }
}

static int profiler_open(struct profiler *p, const struct run_params *params, struct error *err) {
  size_t places = (size_t)p->program->launches.count + 1, most = 2 * places + 1;
  p->places = (int)places;
  p->bytes = calloc(places, sizeof *p->bytes);
  p->skipped = calloc(places, sizeof *p->skipped);
  p->primes = calloc(places, sizeof *p->primes);
  p->samples = calloc(most, sizeof *p->samples);
  p->sample_of = calloc(places, sizeof *p->sample_of);
  p->times = calloc(most * REPEATS_MAX, sizeof *p->times);
  p->differences = calloc(REPEATS_MAX, sizeof *p->differences);
  if (!p->bytes || !p->skipped || !p->primes || !p->samples || !p->sample_of || !p->times || !p->differences)
    return error_set(err, STATUS_FAILED, "profile: out of memory");
  for (int i = 1; i < p->places; i++)
    p->skipped[i] = run_op_runs(p->plan, op_of(p, i), params) == 0;
  count_bytes(p);
  cudaGraphExec_t whole = program_graph(p->program, 0, false);
  if (add_sample(p, whole, whole, err) < 0)
    return -1;
  for (int first = 1, end; first < p->places; first = end) {
    end = block_end(p, first);
    if (add_block(p, first, end, err) < 0)
      return -1;
  }
  return 0;
}

static void profiler_close(struct profiler *p) {
  cudaStreamSynchronize(p->device->queue.stream);
  for (int i = 0; p->samples && i < p->sample_count; i++) {
    const struct sample *sample = &p->samples[i];
    if (i > 0 && sample->graph) /* the first graph is owned by the program */
      cudaGraphExecDestroy(sample->graph);
    if (sample->begun)
      cudaEventDestroy(sample->begun);
    if (sample->done)
      cudaEventDestroy(sample->done);
  }
  for (int i = 0; i < p->prime_count; i++)
    cudaGraphExecDestroy(p->primes[i]);
  free(p->bytes);
  free(p->skipped);
  free(p->primes);
  free(p->samples);
  free(p->sample_of);
  free(p->times);
  free(p->differences);
}

/* --- times in the frame --- */

/* Runs all samples once. It enqueues everything before it reads the first result, so that the GPU never waits for the
 * host. */
static int sweep(struct profiler *p, int turn, struct error *err) {
  static const char doing[] = "profiling";
  cudaStream_t stream = p->device->queue.stream;
  for (int i = 0; i < p->sample_count; i++) {
    const struct sample *s = &p->samples[i];
    if (cuda_check(cudaGraphLaunch(s->prime, stream), doing, err) < 0 ||
        cuda_check(cudaEventRecord(s->begun, stream), doing, err) < 0 ||
        cuda_check(cudaGraphLaunch(s->graph, stream), doing, err) < 0 ||
        cuda_check(cudaEventRecord(s->done, stream), doing, err) < 0)
      return -1;
  }
  if (cuda_check(cudaStreamSynchronize(stream), doing, err) < 0)
    return -1;
  for (int i = 0; i < p->sample_count; i++) {
    float milliseconds;
    if (cuda_check(cudaEventElapsedTime(&milliseconds, p->samples[i].begun, p->samples[i].done), doing, err) < 0)
      return -1;
    p->times[(size_t)i * REPEATS_MAX + (size_t)turn] = 1e3 * (double)milliseconds;
  }
  return 0;
}

static int interrupted(const struct profile_request *request, struct error *err) {
  return request->stop && request->stop() ? error_set(err, STATUS_INTERRUPTED, "interrupted: no profile") : 0;
}

/* Makes two sweeps first: one loads graphs and code, the second shows how long a sweep takes. */
static int sweep_all(struct profiler *p, const struct profile_request *request, struct error *err) {
  double begin = 0;
  for (int i = 0; i < 2; i++) {
    begin = clock_seconds();
    if (interrupted(request, err) < 0 || sweep(p, 0, err) < 0)
      return -1;
  }
  double fitting = request->seconds / (clock_seconds() - begin);
  int wanted = request->repeats ? request->repeats : fitting < REPEATS_MAX ? (int)fitting : REPEATS_MAX;
  p->repeats = wanted < REPEATS_MIN ? REPEATS_MIN : wanted > REPEATS_MAX ? REPEATS_MAX : wanted;
  for (int i = 0; i < p->repeats; i++)
    if (interrupted(request, err) < 0 || sweep(p, i, err) < 0)
      return -1;
  return 0;
}

/* Returns how much longer sample `longer` takes than sample `shorter`; shorter -1: the whole time of `longer`. */
static double difference(const struct profiler *p, int longer, int shorter, double *spread) {
  for (int i = 0; i < p->repeats; i++)
    p->differences[i] = p->times[(size_t)longer * REPEATS_MAX + (size_t)i] -
                        (shorter < 0 ? 0 : p->times[(size_t)shorter * REPEATS_MAX + (size_t)i]);
  return profile_middle(p->differences, p->repeats, spread);
}

static void fill_row(const struct profiler *p, struct profile_row *row, int first, int end) {
  if (p->skipped[first]) {
    snprintf(row->way, sizeof row->way, "skipped");
    return;
  }
  for (int i = first; i < end; i++) {
    const struct launch *launch = &p->program->launches.list[i - 1];
    char name[32];
    size_t used = strlen(row->way);
    launch_describe(launch, name, sizeof name);
    snprintf(row->way + used, sizeof row->way - used, "%s%s", used ? " + " : "", name);
    if (row->launch_count < PROFILE_LAUNCHES_MAX)
      row->launches[row->launch_count++] = (struct profile_launch){
          launch_kind_name(launch->kind), difference(p, p->sample_of[i], p->sample_of[i] - 1, NULL)};
  }
  row->us = difference(p, p->sample_of[end - 1], p->sample_of[first] - 1, &row->spread_us);
}

/* --- times alone --- */

struct flushed {
  const struct launches *launches;
  const void *zeros;
  size_t bytes;
};

static cudaError_t record_flushed(struct cuda_device *device, const struct launch_queue *queue, const void *opaque) {
  const struct flushed *flushed = opaque;
  cudaError_t status = cudaSuccess;
  for (int i = 0; status == cudaSuccess && i < FLUSHED_REPEATS; i++) {
    status = launch_evict(queue, flushed->zeros, flushed->bytes);
    for (int j = 0; status == cudaSuccess && j < flushed->launches->count; j++)
      status = launch_enqueue(device, queue, &flushed->launches->list[j]);
  }
  return status;
}

/* Returns microseconds of the fastest run, divided by the repeats in the graph; INFINITY after a failure. */
static double time_flushed(const struct profiler *p, const struct flushed *flushed) {
  const struct sample *events = &p->samples[0];
  cudaStream_t stream = p->device->queue.stream;
  double best = INFINITY;
  cudaGraphExec_t graph = graph_capture(p->device, &p->device->queue, record_flushed, flushed, NULL);
  for (int i = 0; graph && i < FLUSHED_RUNS; i++) {
    float milliseconds = INFINITY;
    if (cudaEventRecord(events->begun, stream) || cudaGraphLaunch(graph, stream) ||
        cudaEventRecord(events->done, stream) || cudaEventSynchronize(events->done) ||
        cudaEventElapsedTime(&milliseconds, events->begun, events->done))
      break;
    best = fmin(best, 1e3 * (double)milliseconds / FLUSHED_REPEATS);
  }
  if (graph)
    cudaGraphExecDestroy(graph);
  return best;
}

/* Times each op alone. zeros NULL: there is no memory to flush the cache with. */
static int fill_alone(const struct profiler *p, struct profile *profile, const struct profile_request *request,
                      const void *zeros, size_t bytes, struct error *err) {
  const struct launches none = {0};
  /* launches_time sets it if another program ran during all readings. It is ignored, because only the user can have
   * started the preparation of one now. */
  bool disturbed;
  double nothing = zeros ? time_flushed(p, &(struct flushed){&none, zeros, bytes}) : INFINITY;
  for (int first = 1, end; first < p->places; first = end) {
    struct profile_row *row = &profile->rows[op_of(p, first)];
    for (end = first + 1; end < p->places && op_of(p, end) == op_of(p, first);)
      end++;
    const struct launches launches = {.list = &p->program->launches.list[first - 1], .count = end - first};
    if (interrupted(request, err) < 0)
      return -1;
    if (p->skipped[first])
      continue;
    row->warm_us = fmax(0, 1e6 * launches_time(p->device, &p->device->queue, &launches, INFINITY, &disturbed));
    if (isfinite(nothing))
      row->flushed_us = fmax(0, time_flushed(p, &(struct flushed){&launches, zeros, bytes}) - nothing);
  }
  return 0;
}

static int measure_alone(const struct profiler *p, struct profile *profile, const struct profile_request *request,
                         struct error *err) {
  size_t bytes = (size_t)(cache_turns * (double)p->device->properties.l2CacheSize) / 16 * 16;
  void *zeros = NULL;
  struct error refusal = {0};
  if (cuda_alloc(p->device, &zeros, bytes, "flushing the cache", &refusal) < 0 ||
      cudaMemsetAsync(zeros, 0, bytes, p->device->queue.stream)) {
    log_line(p->device->log, LOG_WARNING, "profile: no times with the cache flushed: %s", refusal.message);
    cuda_free(p->device, zeros, bytes);
    zeros = NULL;
  }
  int status = fill_alone(p, profile, request, zeros, bytes, err);
  cudaStreamSynchronize(p->device->queue.stream);
  cuda_free(p->device, zeros, bytes);
  return status;
}

/* --- the whole profile --- */

/* Runs two frames, so that both run buffers hold this run's parameters. */
static int run_twice(struct device *device, struct program *program, const struct run_params *params,
                     const struct frame *frames, struct error *err) {
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    if (device_submit(device, program, params, frames, err) < 0 || device_collect(device, program, NULL, err) < 0)
      return -1;
  return 0;
}

static void fill_roof(const struct cuda_device *device, struct profile_roof *roof) {
  for (size_t i = 0; i < sizeof roofs / sizeof roofs[0]; i++)
    if (strstr(device->properties.name, roofs[i].name))
      *roof = roofs[i].roof;
  roof->element = sizeof(half_t);
}

/* Names the ops whose time is included in an earlier op's. */
static void name_fused(const struct profiler *p, struct profile *profile) {
  for (int i = 0; i < p->plan->op_count; i++)
    for (int j = 1; j < p->program->fused[i].count; j++)
      snprintf(profile->rows[i + j].way, sizeof profile->rows[i + j].way, "with the op above");
}

static int measure(struct profiler *p, const struct run_params *params, const struct profile_request *request,
                   struct profile *profile, struct error *err) {
  int status = profiler_open(p, params, err) < 0 || sweep_all(p, request, err) < 0 ? -1 : 0;
  for (int first = 1, end; status == 0 && first < p->places; first = end) {
    for (end = first + 1; end < p->places && op_of(p, end) == op_of(p, first);)
      end++;
    fill_row(p, &profile->rows[op_of(p, first)], first, end);
  }
  if (status == 0) {
    name_fused(p, profile);
    profile->frame_us = difference(p, 0, -1, &profile->frame_spread_us);
    profile->repeats = p->repeats;
    fill_roof(p->device, &profile->roof);
    status = measure_alone(p, profile, request, err);
  }
  profiler_close(p);
  /* Each graph that was launched has increased the run's number on the device. */
  int restored = program_set_turn(p->device->queue.stream, p->program, "after the profile", status == 0 ? err : NULL);
  return restored < 0 ? -1 : status;
}

int program_profile(struct device *base, struct program *program_base, const struct run_params *params,
                    const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                    struct profile *profile, struct error *err) {
  struct profiler p = {.device = cuda_enter(base), .program = cuda_program(program_base), .plan = program_base->plan};
  (void)pictures; /* each run takes pictures of its own */
  if (!p.program->graphs.without[0][0])
    return error_set(err, STATUS_USAGE, "--profile measures graphs: leave out --graph off");
  if (run_twice(base, program_base, params, frames, err) < 0)
    return -1;
  return measure(&p, params, request, profile, err);
}
