/* Times what a frame costs the thread of the engine. The loop and the engine are the real ones; there is no decoder and
 * no window. This is not a test by itself.
 *
 *   bench_loop MODEL [RATE [SECONDS [device|pinned|host]]]   frames are 1920x1080, NV12; the last says where they lie
 *
 * With PARTS in the environment it also prints where the time of the thread goes, call by call: the time of a call
 * includes all that it calls, and an indented line is part of the call above it.
 *
 * "from put" is the time from handing a frame in to handing its picture out. Where frames lie on the device, pictures
 * stay there too, as for a window that the GPU draws; otherwise they are copied to the host. */
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "app/platform/app_platform.h"
#include "app/run/loop.h"
#include "unet/base/platform.h"
#include "unet/devices.h"
#include "unet/plan/device.h"

enum { W = 1920, H = 1080, SKIPPED = 77, MOST = 1 << 16, LEFT_OUT = 60, START_MS = 60000 };

static struct gpu gpu;
static const char *model;

static void must(int status, const struct error *err) {
  if (status < 0) {
    fprintf(stderr, "%s\n", err->message);
    exit(1);
  }
}

/* --- parts --- */

/* Functions that the linker replaces by wrappers, which time them. */
#define CALLS(CALL)                                                                                                    \
  CALL(mailbox_take, int, (struct mailbox * a, const struct mail **b, int c), (a, b, c))                               \
  CALL(engine_submit, int, (struct engine * a, const struct engine_request *b, struct error *c), (a, b, c))            \
  CALL(device_submit, int,                                                                                             \
       (struct device * a, struct program * b, const struct run_params *c, const struct frame *d, struct error *e),    \
       (a, b, c, d, e))                                                                                                \
  CALL(cudaSetDevice, cudaError_t, (int a), (a))                                                                       \
  CALL(cudaMemcpyAsync, cudaError_t, (void *a, const void *b, size_t c, enum cudaMemcpyKind d, cudaStream_t e),        \
       (a, b, c, d, e))                                                                                                \
  CALL(cudaEventRecord, cudaError_t, (cudaEvent_t a, cudaStream_t b), (a, b))                                          \
  CALL(cudaStreamWaitEvent, cudaError_t, (cudaStream_t a, cudaEvent_t b, unsigned c), (a, b, c))                       \
  CALL(cudaGraphLaunch, cudaError_t, (cudaGraphExec_t a, cudaStream_t b), (a, b))                                      \
  CALL(engine_collect, int, (struct engine * a, struct engine_result * b, struct error * c), (a, b, c))                \
  CALL(platform_sleep_until_ns, void, (int64_t a), (a))                                                                \
  CALL(cudaEventQuery, cudaError_t, (cudaEvent_t a), (a))                                                              \
  CALL(cudaEventElapsedTime, cudaError_t, (float *a, cudaEvent_t b, cudaEvent_t c), (a, b, c))                         \
  CALL(mailbox_put, void, (struct mailbox * a, const struct mail *b), (a, b))

#define NAME(name, result, parameters, arguments) PART_##name,
enum part { CALLS(NAME) PARTS };
#undef NAME

static pthread_t engine_thread;
static atomic_bool in_parts;
static struct { int64_t ns, calls; } parts[PARTS];

static bool counts(void) {
  return in_parts && pthread_equal(pthread_self(), engine_thread);
}

/* Times a call from begin to end. A wrapper keeps it in a variable with a cleanup, so that it can return the result of
 * the call directly. */
struct span {
  enum part part;
  int64_t begun;
};

static struct span begin(enum part part) {
  return (struct span){part, counts() ? platform_thread_cpu_ns() : 0};
}

static void end(const struct span *span) {
  if (!span->begun || !counts())
    return;
  parts[span->part].ns += platform_thread_cpu_ns() - span->begun;
  parts[span->part].calls++;
}

#define WRAP(name, result, parameters, arguments)                                                                      \
  result __real_##name parameters;                                                                                     \
  result __wrap_##name parameters;                                                                                     \
  result __wrap_##name parameters {                                                                                    \
    __attribute__((cleanup(end))) const struct span span = begin(PART_##name);                                         \
    return __real_##name arguments;                                                                                    \
  }
CALLS(WRAP)
#undef WRAP

static void print_parts(double pictures) {
  static const char *const names[] = {
      [PART_mailbox_take] = "taking a frame",
      [PART_engine_submit] = "submitting",
      [PART_device_submit] = "  to the device",
      [PART_cudaSetDevice] = "    the GPU (also when collecting)",
      [PART_cudaMemcpyAsync] = "    copies",
      [PART_cudaEventRecord] = "    events",
      [PART_cudaStreamWaitEvent] = "    waits of streams",
      [PART_cudaGraphLaunch] = "    the graph",
      [PART_engine_collect] = "collecting",
      [PART_platform_sleep_until_ns] = "  sleeps",
      [PART_cudaEventQuery] = "  asking",
      [PART_cudaEventElapsedTime] = "  times",
      [PART_mailbox_put] = "handing out",
  };
  for (int i = 0; i < PARTS; i++)
    if (parts[i].calls)
      printf("    %-36s %6.1f us, %4.1f calls\n", names[i], 1e-3 * (double)parts[i].ns / pictures,
             (double)parts[i].calls / pictures);
}

/* --- frames --- */

static int make(void *opaque, struct picture *picture, struct error *err) {
  void *memory;
  (void)opaque;
  if (cudaMalloc(&memory, (size_t)W * H * 3 / 2) != cudaSuccess ||
      cudaMemset(memory, 100, (size_t)W * H * 3 / 2) != cudaSuccess)
    return error_set(err, STATUS_DEVICE, "no memory");
  picture->memory = MEMORY_DEVICE;
  picture->gpu = gpu.id;
  picture->fence = gpu.impl->make_fence(&gpu, err);
  picture->device_plane[0] = memory;
  picture->device_plane[1] = (uint8_t *)memory + W * H;
  picture->template = (struct frame){.format = PIXEL_NV12, .width = W, .height = H, .pitch = {W, W}};
  return picture->fence ? 0 : -1;
}

static void destroy(struct picture *picture) {
  gpu.impl->free_fence(&gpu, picture->fence);
  cudaFree(picture->device_plane[0]);
}

static const struct picture_owner owner = {.bytes = sizeof(struct picture), .make = make, .destroy = destroy};

struct frames {
  bool on_device;
  struct picture_pool *pool;
  struct host_pictures host;
};

static struct frame take(struct frames *frames) {
  struct frame frame;
  struct error err;
  if (frames->on_device) {
    must(picture_pool_take(frames->pool, &frame, &err), &err);
    must(gpu.impl->record_fence(&gpu, frame.picture->fence, &err), &err);
  } else {
    must(host_pictures_take(&frames->host, PIXEL_NV12, W, H, &frame, &err), &err);
  }
  return frame;
}

/* --- the loop --- */

static int open_engine_once(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  const struct engine_shape shape = {.width = 512, .height = 512, .steps = 1};
  (void)opaque;
  (void)used;
  engine_thread = pthread_self();
  params.model = model;
  params.smooth = true;
  params.device.name = "cuda";
  params.device.cache_dir = getenv("TUNING_DIR");
  params.device.pictures = LOOP_HOLDS + MAILBOX_HOLDS;
  if (engine_open(&opened->engine, &params, err))
    return -1;
  if (engine_prepare(opened->engine, &shape, &opened->prepared, err) ||
      engine_set_prompt(opened->engine, SLOT_PRESET_1, "an oil painting", err)) {
    engine_close(&opened->engine);
    return -1;
  }
  opened->beginning.values.steps = 1;
  opened->beginning.values.size = (struct parameter_size){512, 512};
  return 0;
}

static void print_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  if (level <= LOG_WARNING)
    fprintf(stderr, "%s\n", text);
}

struct watch {
  struct mailbox *out;
  double engine_ms[MOST], since_put_ms[MOST];
  _Atomic(int64_t) put_ns;
  int count;
};

/* Takes the pictures as the window does, and stores how long the engine took for each and how long ago its frame
 * came. */
static void *look(void *opaque) {
  struct watch *watch = opaque;
  const struct mail *mail;
  for (int got; (got = mailbox_take(watch->out, &mail, 1000)) >= 0;) {
    if (!got || watch->count == MOST)
      continue;
    watch->engine_ms[watch->count] = mail->frame_ms;
    watch->since_put_ms[watch->count++] = 1e-6 * (double)(mail->put_ns - watch->put_ns);
  }
  return NULL;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void print(const char *what, double *times, int count) {
  qsort(times, (size_t)count, sizeof *times, by_value);
  printf("  %s %.3f p99 %.3f", what, times[count / 2], times[count * 99 / 100]);
}

int main(int argc, char **argv) {
  static struct watch watch;
  static struct mailbox in, out;
  const char *where = argc > 4 ? argv[4] : "device";
  double rate = argc > 2 ? atof(argv[2]) : 60, seconds = argc > 3 ? atof(argv[3]) : 5;
  struct frames frames = {.on_device = !strcmp(where, "device")};
  struct log log = {print_line, NULL};
  struct loop_status before = {0}, after;
  struct error err;
  pthread_t thread;
  struct loop *loop;
  if (argc < 2)
    return 2;
  model = argv[1];
  if (!devices_find_gpu("cuda", &gpu))
    return SKIPPED;
  if (!strcmp(where, "pinned"))
    frames.host.gpu = gpu;
  must(frames.on_device ? picture_pool_open(&frames.pool, &owner, NULL, 4, 0, &err) : 0, &err);
  mailbox_init(&in);
  mailbox_init(&out);
  watch.out = &out;
  must(loop_start(&loop, &(struct loop_params){.open = open_engine_once, .log = &log}, &in, &out, &err), &err);
  loop_set_on_device(loop, frames.on_device);
  for (int i = 0; i < START_MS && !before.ready; i++) {
    platform_sleep_ns(1000000);
    loop_get_status(loop, &before);
  }
  if (!before.ready)
    return 1;
  pthread_create(&thread, NULL, look, &watch);
  platform_sleep_exactly();
  int64_t next = platform_now_ns();
  int count = (int)(rate * seconds) + LEFT_OUT;
  for (int i = 0; i < count; i++) {
    struct mail mail = {.frame = take(&frames)};
    mail.frame.serial = (uint64_t)i;
    platform_sleep_until_ns(next += (int64_t)(1e9 / rate));
    mail.frame.captured_ns = watch.put_ns = platform_now_ns();
    mailbox_put(&in, &mail);
    if (i == LEFT_OUT) {
      loop_get_status(loop, &before);
      watch.count = 0;
      in_parts = getenv("PARTS") != NULL;
    }
  }
  platform_sleep_ns(50000000);
  in_parts = false;
  loop_get_status(loop, &after);
  loop_end(loop);
  mailbox_close(&in);
  int status = loop_stop(&loop, &err);
  pthread_join(thread, NULL);
  double made = (double)(after.frames - before.frames);
  printf("%s %.0f/s: %.0f pictures, engine's thread %.1f us each,", where, rate, made,
         1e3 * (after.cpu_ms - before.cpu_ms) / made);
  print("engine", watch.engine_ms, watch.count);
  print("from put", watch.since_put_ms, watch.count);
  printf(" ms\n");
  print_parts(made);
  must(status, &err);
  mailbox_free(&in);
  mailbox_free(&out);
  picture_pool_close(&frames.pool);
  host_pictures_free(&frames.host);
  return 0;
}
