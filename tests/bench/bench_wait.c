/* Compares the ways in which a thread can wait for a run on the GPU: what each costs the thread, and how late it goes
 * on. This is not a test by itself.
 *
 *   bench_wait MODEL [WAYS [FRAMES]]     WAYS: letters of the ways, without them all
 *                                        FRAMES: times only so many long frames, without pauses
 *
 * A watcher on another core sees in pinned memory when the picture is complete; "late" is how long after that the
 * thread goes on. "off" is how long after the expected moment the picture was complete. */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "cuda/program.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/devices.h"
#include "unet/model/plans.h"

enum { COPIED = 8192, SKIPPED = 77, MOST = 4096, RECENT = 8, SHAPES = 3 };

struct shape {
  int width, height, steps;
  struct plan plan;
  struct program *program;
  struct frame frame;
  struct run_params run;
  int64_t recent[RECENT]; /* device times of the last runs, nanoseconds */
  int runs;
};

struct bench {
  struct checkpoint *checkpoint;
  struct resources resources;
  struct model model;
  struct device *device;
  struct shape shape[SHAPES];
  unsigned *numbers;       /* memory of the device */
  volatile unsigned *flag; /* page-locked memory of the host */
  atomic_uint seen;
  atomic_bool end;
  int64_t ended_ns[MOST];
  sem_t sem;
  bool blocking[SHAPES];
  struct error err;
};

static void must(const struct bench *b, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", b->err.message);
  exit(1);
}

static void check(cudaError_t status) {
  if (status == cudaSuccess)
    return;
  fprintf(stderr, "%s\n", cudaGetErrorString(status));
  exit(1);
}

static void *watch(void *opaque) {
  struct bench *b = opaque;
  unsigned last = 0;
  while (!b->end) {
    unsigned now = *b->flag;
    if (now == last)
      continue;
    int64_t ns = platform_now_ns();
    for (unsigned i = now > last ? last + 1 : now; i <= now; i++)
      b->ended_ns[i % MOST] = ns;
    last = now;
    b->seen = now;
  }
  return NULL;
}

/* --- the ways to wait that are compared --- */

enum how { SYNCHRONIZE, QUERY, MEMORY, MEMORY_NAP, NAP, HOST, COLLECT };
struct way {
  char letter;
  const char *name;
  enum how how;
  bool blocking, expects;
  int margin_us, nap_us;
  bool alone, on_device; /* alone: without the watcher; on_device: the picture stays on the GPU */
};
static const struct way ways[] = {
    {'a', "synchronize", SYNCHRONIZE, false, false, 0, 0},
    {'b', "blocking event", SYNCHRONIZE, true, false, 0, 0},
    {'d', "sleep - 50, query", QUERY, false, true, 50, 0},
    {'h', "sleep - 50, naps of 5", NAP, false, true, 50, 5},
    {'i', "sleep, naps of 5", NAP, false, true, 0, 5},
    {'m', "sleep - 50, memory", MEMORY, false, true, 50, 0},
    {'n', "sleep - 20, memory", MEMORY, false, true, 20, 0},
    {'o', "sleep - 20, memory, naps of 5", MEMORY_NAP, false, true, 20, 5},
    {'j', "naps of 20", NAP, false, false, 0, 20},
    {'k', "host function, semaphore", HOST, false, false, 0, 0},
    {'p', "collect", COLLECT, false, false, 0, 0},
    {'q', "collect, no watcher", COLLECT, false, false, 0, 0, .alone = true},
    {'r', "collect, no watcher, on device", COLLECT, false, false, 0, 0, .alone = true, .on_device = true},
};
enum { WAYS = sizeof ways / sizeof ways[0] };

static void sleep_until(int64_t ns) {
  struct timespec t = {ns / 1000000000, ns % 1000000000};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

static bool done(cudaEvent_t event) {
  cudaError_t status = cudaEventQuery(event);
  if (status != cudaErrorNotReady)
    check(status);
  return status == cudaSuccess;
}

static void CUDART_CB post(void *opaque) {
  sem_post(opaque);
}

static void wait_for(struct bench *b, const struct way *way, struct program *program, cudaEvent_t event,
                     unsigned number, int64_t expected) {
  if (way->expects)
    sleep_until(expected - 1000 * way->margin_us);
  switch (way->how) {
  case SYNCHRONIZE:
    check(cudaEventSynchronize(event));
    break;
  case QUERY:
    while (!done(event))
      ;
    break;
  case MEMORY:
    while (*b->flag - number > MOST)
      __builtin_ia32_pause();
    break;
  case MEMORY_NAP:
    while (*b->flag - number > MOST)
      sleep_until(platform_now_ns() + 1000 * way->nap_us);
    break;
  case NAP:
    while (!done(event))
      sleep_until(platform_now_ns() + 1000 * way->nap_us);
    break;
  case HOST:
    sem_wait(&b->sem);
    break;
  case COLLECT:
    must(b, device_collect(b->device, program, NULL, &b->err));
    break;
  }
}

/* --- frames --- */

struct figures {
  double cpu[MOST], wait[MOST], late[MOST], off[MOST], device[MOST];
  int count;
};

struct flight {
  struct shape *shape;
  cudaEvent_t event, begun;
  unsigned number;
  int64_t submitted;
};

static int64_t cpu_ns(void) {
  struct timespec t;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static unsigned next_number = 1;

static struct flight start(struct bench *b, const struct way *way, struct shape *s) {
  struct cuda_device *device = cuda_device(b->device);
  struct run_buffer *buffer = &cuda_program(s->program)->buffer[s->program->submitted % RUNS_IN_FLIGHT];
  struct flight flight = {.shape = s, .number = next_number++};
  if (way->blocking != b->blocking[s - b->shape]) {
    b->blocking[s - b->shape] = way->blocking;
    for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
      cudaEvent_t *event = &cuda_program(s->program)->buffer[i].downloaded;
      cudaEventDestroy(*event);
      check(cudaEventCreateWithFlags(event, way->blocking ? cudaEventBlockingSync : cudaEventDefault));
    }
  }
  s->run.on_device = way->on_device;
  check(cudaEventRecord(buffer->begun, device->queue.stream));
  must(b, device_submit(b->device, s->program, &s->run, &s->frame, &b->err));
  flight.event = buffer->downloaded;
  flight.begun = buffer->begun;
  flight.submitted = platform_now_ns();
  if (way->alone)
    return flight;
  check(cudaEventRecord(buffer->computed, device->queue.stream));
  check(cudaStreamWaitEvent(device->download, buffer->computed, 0));
  check(cudaMemcpyAsync((void *)b->flag, b->numbers + flight.number, sizeof *b->numbers, cudaMemcpyDeviceToHost,
                        device->download));
  if (way->how != COLLECT)
    check(cudaEventRecord(buffer->downloaded, device->download));
  if (way->how == HOST)
    check(cudaLaunchHostFunc(device->download, post, &b->sem));
  return flight;
}

static int64_t shortest(const struct shape *s) {
  int64_t least = s->runs ? INT64_MAX : 0;
  for (int i = 0; i < s->runs && i < RECENT; i++)
    least = s->recent[i] < least ? s->recent[i] : least;
  return least;
}

static void finish(struct bench *b, const struct way *way, const struct flight *flight, int64_t *previous,
                   struct figures *f, int64_t *cpu_begun) {
  struct shape *s = flight->shape;
  float ms = 0;
  int64_t begin = flight->submitted > *previous ? flight->submitted : *previous;
  int64_t expected = begin + shortest(s);
  int64_t cpu = cpu_ns(), entered = platform_now_ns();
  wait_for(b, way, s->program, flight->event, flight->number, expected);
  int64_t now = platform_now_ns(), waited = cpu_ns() - cpu;
  *previous = now;
  if (way->how != COLLECT) {
    must(b, device_collect(b->device, s->program, NULL, &b->err));
    check(cudaEventElapsedTime(&ms, flight->begun, flight->event));
  }
  if (way->how == COLLECT)
    ms = (float)cuda_device(b->device)->counters.run_ms;
  s->recent[s->runs++ % RECENT] = (int64_t)(1e6 * (double)ms);
  int i = f->count < MOST ? f->count++ : MOST - 1;
  f->cpu[i] = 1e-3 * (double)(cpu_ns() - *cpu_begun);
  while (!way->alone && b->seen < flight->number)
    ;
  int64_t ended = way->alone ? now : b->ended_ns[flight->number % MOST];
  f->wait[i] = 1e-3 * (double)waited;
  f->late[i] = 1e-3 * (double)(now - (ended > entered ? ended : entered));
  f->off[i] = 1e-3 * (double)(ended - expected);
  f->device[i] = 1e3 * (double)ms;
  *cpu_begun = cpu_ns();
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void print(const char *what, const struct way *way, struct figures *f) {
  double sum = 0, waits = 0;
  int n = f->count;
  for (int i = 0; i < n; i++) {
    sum += f->cpu[i];
    waits += f->wait[i];
  }
  qsort(f->late, (size_t)n, sizeof *f->late, by_value);
  qsort(f->off, (size_t)n, sizeof *f->off, by_value);
  qsort(f->device, (size_t)n, sizeof *f->device, by_value);
  printf("%-16s %c %-30s cpu %7.1f (wait %7.1f)  late %6.1f p90 %6.1f p99 %6.1f max %7.1f  off p1 %7.1f %6.1f p99 "
         "%7.1f  device %6.1f p99 %6.1f us\n",
         what, way->letter, way->name, sum / n, waits / n, f->late[n / 2], f->late[n * 90 / 100], f->late[n * 99 / 100],
         f->late[n - 1], f->off[n / 100], f->off[n / 2], f->off[n * 99 / 100], f->device[n / 2],
         f->device[n * 99 / 100]);
  fflush(stdout);
}

/* Submits a frame at each period. pick: gives the shape of frame number i. */
static void paced(struct bench *b, const struct way *way, const char *what, struct shape *(*pick)(struct bench *, int),
                  int count, int64_t period) {
  static struct figures f;
  int64_t previous = 0, next = platform_now_ns(), cpu;
  f.count = 0;
  for (int i = 0; i < count; i++) {
    sleep_until(next += period);
    cpu = cpu_ns();
    struct flight flight = start(b, way, pick(b, i));
    finish(b, way, &flight, &previous, &f, &cpu);
  }
  print(what, way, &f);
}

static void full(struct bench *b, const struct way *way, const char *what, struct shape *(*pick)(struct bench *, int),
                 int count) {
  static struct figures f;
  int64_t previous = 0, begun = platform_now_ns(), cpu = cpu_ns();
  f.count = 0;
  struct flight flight[2] = {start(b, way, pick(b, 0))};
  for (int i = 1; i <= count; i++) {
    if (i < count)
      flight[i % 2] = start(b, way, pick(b, i));
    finish(b, way, &flight[(i - 1) % 2], &previous, &f, &cpu);
  }
  double rate = 1e9 * count / (double)(platform_now_ns() - begun);
  char text[64];
  snprintf(text, sizeof text, "%s %.0f/s", what, rate);
  print(text, way, &f);
}

static struct shape *first(struct bench *b, int i) {
  (void)i;
  return &b->shape[0];
}
static struct shape *longer(struct bench *b, int i) {
  (void)i;
  return &b->shape[1];
}
static struct shape *mixed(struct bench *b, int i) {
  return &b->shape[(i * 7 + i / 5) % SHAPES];
}

static void prepare(struct bench *b, struct shape *s, int w, int h, int steps) {
  struct frame_noise noise;
  struct frame_shape shape = {.width = w, .height = h, .steps = steps, .rows = {1, 1}};
  *s = (struct shape){.width = w, .height = h, .steps = steps};
  plan_init(&s->plan, &b->resources);
  must(b, plans_frame(&b->model, &shape, &s->plan, &noise, &b->err));
  must(b, device_prepare(b->device, &s->program, &s->plan, &(struct program_options){PIXEL_RGBA}, &b->err));
  s->run = (struct run_params){.start_latent = 0.5f,
                               .start_noise = 0.8f,
                               .mix = 1,
                               .prompt = {{{SLOT_PRESET_1}, {1}}},
                               .geometry = {{0, 0, (float)w, (float)h, 0, 0, w, h}}};
  for (int i = 0; i < steps; i++)
    s->run.step[i] = (struct step_params){.timestep = 499.0f / (float)(i + 1), .x = 1.9f, .model = -1.6f};
  uint8_t *planes = calloc((size_t)w * (size_t)h, 2);
  s->frame =
      (struct frame){.format = PIXEL_NV12, .width = w, .height = h, .plane = {planes, planes + w * h}, .pitch = {w, w}};
  for (int i = 0; i < 30; i++) {
    must(b, device_submit(b->device, s->program, &s->run, &s->frame, &b->err));
    must(b, device_collect(b->device, s->program, NULL, &b->err));
  }
}

/* Times the calls to CUDA that submitting a run consists of. */
static void calls(struct bench *b, int64_t period) {
  enum { COPY, RECORD, STREAM_WAIT, TIMED, LAUNCH, ENTER, ASK, CALLS, TIMES = 60 };
  static const char *const names[CALLS] = {"copy", "record", "wait", "timed", "launch", "enter", "query"};
  static double times[CALLS][TIMES];
  struct cuda_device *device = cuda_device(b->device);
  struct cuda_program *program = cuda_program(b->shape[0].program);
  const struct run_buffer *buffer = &program->buffer[0];
  int64_t next = platform_now_ns(), at[CALLS + 1];
  for (int i = 0; i < TIMES; i++) {
    sleep_until(next += period);
    at[COPY] = platform_now_ns();
    check(cudaMemcpyAsync(buffer->device, buffer->host, COPIED, cudaMemcpyHostToDevice, device->upload));
    at[RECORD] = platform_now_ns();
    check(cudaEventRecord(buffer->uploaded, device->upload));
    at[STREAM_WAIT] = platform_now_ns();
    check(cudaStreamWaitEvent(device->queue.stream, buffer->uploaded, 0));
    at[TIMED] = platform_now_ns();
    check(cudaEventRecord(buffer->begun, device->queue.stream));
    at[LAUNCH] = platform_now_ns();
    check(cudaGraphLaunch(program_graph(program, 0, false), device->queue.stream));
    at[ENTER] = platform_now_ns();
    check(cudaSetDevice(device->ordinal));
    at[ASK] = platform_now_ns();
    cudaEventQuery(buffer->begun);
    at[CALLS] = platform_now_ns();
    for (int j = 0; j < CALLS; j++)
      times[j][i] = 1e-3 * (double)(at[j + 1] - at[j]);
    check(cudaEventRecord(buffer->computed, device->queue.stream));
    check(cudaStreamSynchronize(device->queue.stream));
  }
  printf("calls every %.1f ms, us:", 1e-6 * (double)period);
  for (int j = 0; j < CALLS; j++) {
    qsort(times[j], TIMES, sizeof *times[j], by_value);
    printf("  %s %.1f (p90 %.1f)", names[j], times[j][TIMES / 2], times[j][TIMES * 9 / 10]);
  }
  printf("\n");
}

/* --- parts of the least time --- */

/* Parts of the least time that a thread needs for a run on this machine: it wakes each period, launches, sleeps until
 * shortly before the expected end and polls the memory into which the GPU writes the end. The first runs show how long
 * one takes. */
enum least { LEAST_WAKE, LEAST_LAUNCH, LEAST_SLEEP, LEAST_LOOK, LEAST_PARTS };

static void launch_bare(struct shape *s, struct cuda_device *device, unsigned turn) {
  struct run_buffer *buffer = &cuda_program(s->program)->buffer[(s->program->submitted + turn) % RUNS_IN_FLIGHT];
  buffer->end->number = 0;
  buffer->order->number = turn + 1;
  check(cudaGraphLaunch(program_graph(cuda_program(s->program), 0, false), device->queue.stream));
}

static void look(const struct shape *s, unsigned turn) {
  const struct run_buffer *buffer = &cuda_program(s->program)->buffer[(s->program->submitted + turn) % RUNS_IN_FLIGHT];
  while (__atomic_load_n(&buffer->end->number, __ATOMIC_ACQUIRE) != turn + 1)
    __builtin_ia32_pause();
}

/* Times the parts of the least time. s NULL: times only waking. early: how many nanoseconds before the expected end the
 * thread stops sleeping. */
static void least(struct bench *b, const char *what, struct shape *s, int64_t period, int64_t early) {
  enum { TIMES = 100, FIRST = 10, BEFORE = 300000 };
  static double parts[LEAST_PARTS + 1][TIMES];
  struct cuda_device *device = cuda_device(b->device);
  int64_t next = platform_now_ns(), length = 0;
  for (unsigned i = 0; i < FIRST && s; i++) {
    sleep_until(next += period);
    int64_t begun = platform_now_ns();
    launch_bare(s, device, i);
    look(s, i);
    int64_t took = platform_now_ns() - begun;
    length = i && length < took ? length : took;
  }
  for (unsigned i = 0; i < TIMES; i++) {
    int64_t at[LEAST_PARTS + 1] = {cpu_ns()};
    sleep_until(next += period);
    at[1] = at[2] = at[3] = at[4] = cpu_ns();
    if (s) {
      int64_t begun = platform_now_ns();
      launch_bare(s, device, i);
      at[2] = cpu_ns();
      if (length > 2 * BEFORE)
        sleep_until(begun + length - BEFORE);
      sleep_until(begun + length - early);
      at[3] = cpu_ns();
      look(s, i);
      at[4] = cpu_ns();
    }
    for (int j = 0; j < LEAST_PARTS; j++)
      parts[j][i] = 1e-3 * (double)(at[j + 1] - at[j]);
    parts[LEAST_PARTS][i] = 1e-3 * (double)(at[LEAST_PARTS] - at[0]);
  }
  static const char *const names[] = {"wake", "launch", "sleep", "look", "in all"};
  printf("least, %-26s every %5.1f ms, %2.0f us early: processor", what, 1e-6 * (double)period, 1e-3 * (double)early);
  for (int j = 0; j <= LEAST_PARTS; j++) {
    double sum = 0;
    for (int i = 0; i < TIMES; i++)
      sum += parts[j][i];
    qsort(parts[j], TIMES, sizeof *parts[j], by_value);
    printf("  %s %.1f (median %.1f)", names[j], sum / TIMES, parts[j][TIMES / 2]);
  }
  printf(" us\n");
}

static void leasts(struct bench *b) {
  static const int64_t periods[] = {16666667, 4166667};
  for (int i = 0; i < 2; i++) {
    least(b, "nothing", NULL, periods[i], 0);
    least(b, "1 step", &b->shape[0], periods[i], 10000);
    least(b, "8 steps", &b->shape[1], periods[i], 10000);
    least(b, "8 steps", &b->shape[1], periods[i], 30000);
  }
}

int main(int argc, char **argv) {
  static struct bench b;
  if (argc < 2)
    return 2;
  prctl(PR_SET_TIMERSLACK, 1, 0, 0, 0);
  sem_init(&b.sem, 0, 0);
  must(&b, checkpoint_open(&b.checkpoint, &(struct checkpoint_sources){.model = argv[1]}, NULL, &b.err));
  must(&b, model_init(&b.model, b.checkpoint, &b.resources, &b.err));
  struct device_options options = {.name = "cuda", .cache_dir = getenv("TUNING_DIR")};
  if (device_open(&b.device, &b.resources, &options, &b.err) < 0) {
    printf("skipped: %s\n", b.err.message);
    return SKIPPED;
  }
  prepare(&b, &b.shape[0], 512, 512, 1);
  prepare(&b, &b.shape[1], 512, 512, 8);
  prepare(&b, &b.shape[2], 256, 256, 1);
  enum { NUMBERS = 1 << 20 };
  unsigned *numbers = malloc(NUMBERS * sizeof *numbers);
  for (unsigned i = 0; i < NUMBERS; i++)
    numbers[i] = i;
  check(cudaMalloc((void **)&b.numbers, NUMBERS * sizeof *numbers));
  check(cudaMemcpy(b.numbers, numbers, NUMBERS * sizeof *numbers, cudaMemcpyHostToDevice));
  check(cudaHostAlloc((void **)&b.flag, 64, cudaHostAllocPortable));
  *b.flag = 0;
  pthread_t watcher;
  pthread_create(&watcher, NULL, watch, &b);
  for (int i = 0; i < WAYS; i++) {
    const struct way *way = &ways[i];
    if (argc > 2 && !strchr(argv[2], way->letter))
      continue;
    if (argc > 3) {
      full(&b, way, "load", longer, atoi(argv[3]));
      continue;
    }
    paced(&b, way, "60/s, 8 steps", longer, 70, 16666667);
    paced(&b, way, "200/s, 1 step", first, 160, 5000000);
    full(&b, way, "full", longer, 250);
    full(&b, way, "full, mixed", mixed, 600);
  }
  leasts(&b);
  calls(&b, 16666667);
  calls(&b, 1000000);
  b.end = true;
  pthread_join(watcher, NULL);
  return 0;
}
