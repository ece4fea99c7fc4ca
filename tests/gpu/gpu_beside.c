/* Prints times of frames while a second thread prepares another handle (the engine made ready for another size or step
 * count), for people. Not a test by itself.
 *
 *   gpu_beside MODEL W H STEPS  W2 H2 STEPS2 GUIDANCE2  [FPS]
 *
 * Frames of the first shape run one after the other, or FPS of them a second, first alone, then while the second shape
 * is prepared; TUNING_DIR is the folder in which choices of kernels are kept. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/engine.h"

enum { ALONE = 200, TIMES_MAX = 1 << 16, SKIPPED = 77 };

struct bench {
  struct engine *engine;
  struct prepared *running, *second;
  struct engine_shape shape;
  struct frame frame;
  int64_t period_ns; /* time between two frames; 0: each frame follows at once */
  double times[TIMES_MAX];
  int count;
  double prepared_ms;
  atomic_bool done;
  struct error err, second_err;
};

static void must(const struct error *err, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", err->message);
  exit(1);
}

static double milliseconds(int64_t ns) {
  return 1e-6 * (double)ns;
}

static void one_frame(struct bench *b) {
  static const struct controls controls = CONTROLS_DEFAULTS;
  const struct engine_request request = {.prepared = b->running, .controls = &controls, .frame = &b->frame};
  struct engine_result result;
  int64_t begun = platform_now_ns();
  must(&b->err, engine_submit(b->engine, &request, &b->err));
  must(&b->err, engine_collect(b->engine, &result, &b->err));
  frame_release(&result.picture);
  int64_t taken = platform_now_ns() - begun;
  if (b->count < TIMES_MAX)
    b->times[b->count++] = milliseconds(taken);
  if (taken < b->period_ns)
    platform_sleep_ns(b->period_ns - taken);
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static void print_times(struct bench *b, const char *what) {
  int n = b->count;
  qsort(b->times, (size_t)n, sizeof *b->times, by_value);
  printf("%-28s %6d frames: median %7.3f  p99 %7.3f  max %8.3f ms;", what, n, b->times[n / 2], b->times[n * 99 / 100],
         b->times[n - 1]);
  printf(" longest");
  for (int i = n - 1; i >= 0 && i > n - 6; i--)
    printf(" %.2f", b->times[i]);
  printf("\n");
  b->count = 0;
}

static void *prepare_second(void *opaque) {
  struct bench *b = opaque;
  int64_t begun = platform_now_ns();
  must(&b->second_err, engine_prepare(b->engine, &b->shape, &b->second, &b->second_err));
  b->prepared_ms = milliseconds(platform_now_ns() - begun);
  b->done = true;
  return NULL;
}

static struct frame make_frame(int width, int height) {
  size_t bytes = (size_t)width * (size_t)height;
  uint8_t *planes = malloc(bytes * 3 / 2);
  for (size_t i = 0; planes && i < bytes * 3 / 2; i++)
    planes[i] = (uint8_t)(i * 2654435761u >> 24);
  return (struct frame){.format = PIXEL_NV12,
                        .width = width,
                        .height = height,
                        .plane = {planes, planes + bytes},
                        .pitch = {width, width}};
}

static void measure(struct bench *b, const char *what) {
  pthread_t thread;
  b->done = false;
  if (pthread_create(&thread, NULL, prepare_second, b))
    exit(1);
  while (!b->done)
    one_frame(b);
  pthread_join(thread, NULL);
  print_times(b, what);
  printf("%-28s prepared in %.1f ms\n", "", b->prepared_ms);
  int64_t begun = platform_now_ns();
  engine_release(b->engine, &b->second);
  printf("%-28s released in %.1f ms\n", "", milliseconds(platform_now_ns() - begun));
}

int main(int argc, char **argv) {
  static struct bench b;
  if (argc < 9) {
    fprintf(stderr, "usage: gpu_beside MODEL W H STEPS W2 H2 STEPS2 GUIDANCE2 [FPS]\n");
    return 2;
  }
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = argv[1];
  params.device = (struct device_options){.name = "cuda", .cache_dir = getenv("TUNING_DIR"), .pictures = 2};
  int64_t begun = platform_now_ns();
  if (engine_open(&b.engine, &params, &b.err) < 0) {
    printf("skipped: %s\n", b.err.message);
    return SKIPPED;
  }
  const struct engine_shape first = {.width = atoi(argv[2]), .height = atoi(argv[3]), .steps = atoi(argv[4])};
  b.shape = (struct engine_shape){
      .width = atoi(argv[5]), .height = atoi(argv[6]), .steps = atoi(argv[7]), .guidance = atoi(argv[8])};
  b.period_ns = argc > 9 && atof(argv[9]) > 0 ? (int64_t)(1e9 / atof(argv[9])) : 0;
  b.frame = make_frame(first.width, first.height);
  int64_t opened = platform_now_ns();
  must(&b.err, engine_prepare(b.engine, &first, &b.running, &b.err));
  printf("opened in %.1f ms, first handle in %.1f ms\n", milliseconds(opened - begun),
         milliseconds(platform_now_ns() - opened));
  for (int i = 0; i < 20; i++)
    one_frame(&b);
  b.count = 0;
  for (int i = 0; i < ALONE; i++)
    one_frame(&b);
  print_times(&b, "alone");
  measure(&b, "beside a preparation");
  measure(&b, "beside another, tuned");
  struct engine_info info;
  engine_get_info(b.engine, &info);
  printf("device memory %.1f MB, at most %.1f MB\n", (double)info.device_bytes / 1e6,
         (double)info.device_peak_bytes / 1e6);
  engine_close(&b.engine);
  free(b.frame.plane[0] ? (void *)b.frame.plane[0] : NULL);
  return 0;
}
