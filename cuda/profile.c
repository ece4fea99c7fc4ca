/* Measures the time of each launch within a frame. That is the time of a graph that ends with the launch, minus the
 * time of a graph that ends before it. Both graphs need not begin at the frame's beginning: a few launches before the
 * timed one are enough for it to overlap with its predecessor (programmatic dependent launch) as in a frame. Before
 * each timed graph, an untimed graph runs enough of the frame to fill the cache as in a frame:
 *
 *   launches of the frame   ... 41 42 43 44 45 46 47 48 ...
 *   untimed graph           ...=====|
 *   first timed graph               |==|                   what the following two have in common
 *   graph that ends with 45         |=====|
 *   graph that ends with 46         |========|             launch 46 takes the difference to the graph above
 *
 * What all timed graphs have in common (start, first launches, end of the last launch) cancels in the difference, and
 * the times of such short graphs vary little. All graphs are timed one after the other, and this sweep is repeated. A
 * launch's time is the mean of the middle half of its differences. Each difference is within one sweep, so that a clock
 * rate that changes between sweeps does no harm. */
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
  /* A timed graph begins with this many untimed launches, so that its first timed launch overlaps with a launch before
   * it, as in a frame. */
  AHEAD = 2,
  /* number of launches in a block; more if the block would end between two launches of one op. The graphs that time
   * launches of one block all begin at the same launch */
  BLOCK = 6,
  REPEATS_MIN = 8,
  REPEATS_MAX = 400,
  FLUSHED_REPEATS = 8, /* how often a graph repeats a launch, with the cache flushed before each repetition */
  FLUSHED_RUNS = 6,
};

/* how many times the size of the last-level cache is read to replace its content */
static const double cache_turns = 3;

/* The highest rates that were measured on a kind of GPU: operations a second of a matrix product of size 8192
 * (cuBLASLt), bytes a second of a copy in device memory, bytes a second of reads from the last-level cache. */
static const struct {
  const char *name; /* a text by which the kind of GPU is recognised: its GPUs have this text in their names */
  struct profile_roof roof;
} roofs[] = {{"H200", {.flops = 715e12, .memory = 4.2e12, .cache = 5.5e12}}};

/* A range of a run's launches, `first` to `end - 1`. Number 0 is launch_begin, with which every run begins; number i +
 * 1 is launch i of the program's list. */
struct range {
  int first, end;
};

struct recording {
  const struct cuda_program *program;
  /* for each launch, numbered as in struct range: true if it is in a region that the run skips */
  const bool *skipped;
  struct range parts[2]; /* two ranges of launches, of which the graph consists, one after the other */
};

/* A graph whose time is measured, with events recorded before and after it. */
struct sample {
  /* prime: graph that runs untimed before `graph`, to fill the cache as in a frame. In sample 0 both are the whole
   * frame. */
  cudaGraphExec_t prime, graph;
  cudaEvent_t begun, done;
};

struct profiler {
  struct cuda_device *device;
  struct cuda_program *program;
  const struct plan *plan;
  int places;
  double *bytes; /* number of bytes that each launch reads and writes */
  bool *skipped; /* for each launch: true if it is in a region that the run skips */
  /* Launches are divided into blocks. For each block there is a graph of the launches before the block, which runs
   * untimed before the block is timed, so that caches are as in a real run. This struct owns the graphs */
  cudaGraphExec_t *primes;
  int prime_count;
  /* samples[0] measures the whole frame. Each other sample measures one launch, by a short graph that ends with this
   * launch and begins where its block of launches begins */
  struct sample *samples;
  int sample_count;
  /* For each launch: index of the sample whose timed graph ends with this launch. The launch takes the time of this
   * sample minus the time of the sample before, whose graph ends one launch earlier. */
  int *sample_of;
  double *times; /* measured times in microseconds. For each sample (a graph whose time is measured) there is an array
                  * of REPEATS_MAX times, one for each sweep; a sweep times every sample once */
  double *differences;
  int repeats;
};

/* --- capturing the graphs that are timed --- */

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

/* Captures a graph that runs before a timed one, so that the cache has the same content as in a frame. It has the
 * launches just before number `end`, as many as fill the cache; if there are too few, the frame's last launches come
 * first. */
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

/* Returns the number of the first launch after the block of launches that begins at number `first`. */
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
    if (i > 0 && sample->graph) /* the graph of sample 0, the whole frame, belongs to the program */
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

/* --- measuring the ops' times while whole frames run --- */

/* Runs the graphs of all samples once, and stores their times for sweep number `turn`. All of them are enqueued before
 * the first time is read, so that the GPU never waits for the host. */
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

/* Runs all sweeps (a sweep times each graph once). Two more come first, whose times are not used: the first one loads
 * graphs and code, the second one shows how long a sweep takes. */
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

/* Returns how many microseconds sample `longer` takes more than sample `shorter`. Each sweep times all samples once and
 * gives one difference of the two; the result is the mean of the middle half of these differences. shorter -1: the
 * whole time of `longer`. *spread (may be NULL): the standard error of the result. */
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

/* --- the time of each op alone, with a cache that was emptied before (flushed) --- */

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

/* Returns the microseconds that the launches of one op take with an empty cache: those of the fastest run of a graph
 * that repeats them. INFINITY after a failure. */
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

/* Times each op alone, with its data in the cache (warm) and with the cache flushed. zeros: device memory that is read
 * to flush the cache; NULL: there is none, so only warm times are measured. */
static int fill_alone(const struct profiler *p, struct profile *profile, const struct profile_request *request,
                      const void *zeros, size_t bytes, struct error *err) {
  const struct launches none = {0};
  /* launches_time stores true here if a run of the program was going on while it measured. The value is not read,
   * because only the user could start such a run */
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

/* --- making the whole profile of a program --- */

/* Runs the program twice, so that the buffers of both runs that may be in flight have these parameters: the timed
 * graphs read them in turn. */
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

/* An op that is fused with an earlier op has no time of its own: the fused launch is in the earlier op's row. Writes
 * "with the op above" in the rows of such ops, in place of the kernels' names (`way`). */
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
  /* Each graph that begins with launch_begin increments the number of the next run on the device. It is set back
   * here. */
  int restored = program_set_turn(p->device->queue.stream, p->program, "after the profile", status == 0 ? err : NULL);
  return restored < 0 ? -1 : status;
}

int program_profile(struct device *base, struct program *program_base, const struct run_params *params,
                    const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                    struct profile *profile, struct error *err) {
  struct profiler p = {.device = cuda_enter(base), .program = cuda_program(program_base), .plan = program_base->plan};
  (void)pictures; /* `pictures` is not used, because each timed run writes to pictures of its own */
  if (!p.program->graphs.without[0][0])
    return error_set(err, STATUS_USAGE, "--profile measures graphs: leave out --graph off");
  if (run_twice(base, program_base, params, frames, err) < 0)
    return -1;
  return measure(&p, params, request, profile, err);
}
