/* Measures what an adapter costs on the CUDA device: opening it, setting its first weight, and changing weights while
 * two frames are in flight. Pictures of two weights are compared with those of engines that were opened with that
 * weight; exits with 1 if they differ. Prints lines for people.
 *
 *   gpu_lora MODEL ADAPTER [W H]
 *
 * TUNING_DIR: the folder of tuning results; both engines then choose the same kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/timing.h"
#include "unet/engine.h"

enum { SKIPPED = 77, FRAMES = 300, CHANGES = 50, APART = 6 };

struct run {
  const char *model, *adapter;
  int width, height;
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame frame;
  struct error err;
};

static void must(struct run *run, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", run->err.message);
  exit(run->err.status == STATUS_DEVICE ? SKIPPED : 1);
}

static struct engine_info info_of(const struct run *run) {
  struct engine_info info;
  engine_get_info(run->engine, &info);
  return info;
}

/* Returns the seconds that opening took, without preparing the handle. */
static double open_engine(struct run *run, const char *adapter) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = run->model;
  params.device.name = "cuda";
  params.device.cache_dir = getenv("TUNING_DIR");
  params.adapters = &adapter;
  params.adapter_count = adapter != NULL;
  const struct engine_shape shape = {.width = run->width, .height = run->height, .steps = 1};
  run->controls = (struct controls)CONTROLS_DEFAULTS;
  run->controls.strength = 0.5f;
  double start = clock_seconds();
  must(run, engine_open(&run->engine, &params, &run->err));
  double seconds = clock_seconds() - start;
  must(run, engine_prepare(run->engine, &shape, &run->prepared, &run->err));
  must(run, engine_set_prompt(run->engine, 1, "a", &run->err));
  return seconds;
}

static void submit(struct run *run) {
  const struct engine_request request = {.prepared = run->prepared, .controls = &run->controls, .frame = &run->frame};
  must(run, engine_submit(run->engine, &request, &run->err));
}

static struct engine_result collect(struct run *run) {
  struct engine_result result;
  must(run, engine_collect(run->engine, &result, &run->err));
  return result;
}

static uint8_t *render(struct run *run) {
  submit(run);
  struct frame picture = collect(run).picture;
  size_t row = 4 * (size_t)run->width;
  uint8_t *pixels = malloc(row * (size_t)run->height);
  for (int y = 0; y < run->height; y++)
    memcpy(pixels + row * (size_t)y, picture.plane[0] + (size_t)picture.pitch[0] * (size_t)y, row);
  frame_release(&picture);
  return pixels;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Runs frames, two in flight, and prints the times between pictures. changes: each APARTth frame has another weight. */
static void measure(struct run *run, const char *what, int count, bool changes) {
  double *apart = malloc((size_t)count * sizeof *apart), *device = malloc((size_t)count * sizeof *device);
  double worst_submit = 0, last = 0;
  submit(run);
  for (int i = -10; i < count; i++) {
    if (changes && i >= 0 && i % APART == 0)
      run->controls.adapter[0] = 0.5f + 0.01f * (float)(i / APART);
    double start = clock_seconds();
    submit(run);
    double now = clock_seconds();
    worst_submit = i >= 0 && now - start > worst_submit ? now - start : worst_submit;
    struct engine_result result = collect(run);
    frame_release(&result.picture);
    now = clock_seconds();
    if (i >= 0) {
      apart[i] = 1e3 * (now - last);
      device[i] = result.device_ms;
    }
    last = now;
  }
  struct engine_result result = collect(run);
  frame_release(&result.picture);
  qsort(apart, (size_t)count, sizeof *apart, compare_doubles);
  qsort(device, (size_t)count, sizeof *device, compare_doubles);
  printf("%-34s picture to picture %.3f ms, max %.3f; on the device %.3f, max %.3f; submit at most %.3f\n", what,
         apart[count / 2], apart[count - 1], device[count / 2], device[count - 1], 1e3 * worst_submit);
  fflush(stdout);
  free(apart);
  free(device);
}

/* Times one frame alone, from its submission to its picture. */
static void measure_one(struct run *run, const char *what, float weight) {
  size_t before = info_of(run).device_bytes;
  run->controls.adapter[0] = weight;
  double start = clock_seconds();
  free(render(run));
  printf("%-34s %.2f ms, %+.0f MB\n", what, 1e3 * (clock_seconds() - start),
         1e-6 * ((double)info_of(run).device_bytes - (double)before));
  fflush(stdout);
}

static uint8_t *render_fresh(struct run *run, float weight, bool with) {
  struct run fresh = *run;
  open_engine(&fresh, with ? run->adapter : NULL);
  fresh.controls.adapter[0] = weight;
  uint8_t *pixels = render(&fresh);
  engine_close(&fresh.engine);
  return pixels;
}

static bool same(const struct run *run, const char *what, uint8_t *a, uint8_t *b) {
  bool equal = !memcmp(a, b, 4 * (size_t)run->width * (size_t)run->height);
  printf("%-34s %s\n", what, equal ? "equal" : "DIFFERENT");
  free(a);
  free(b);
  return equal;
}

static bool compare(struct run *run) {
  uint8_t *none = (run->controls.adapter[0] = 0, render(run)), *some = (run->controls.adapter[0] = 0.7f, render(run));
  bool moved = memcmp(none, some, 4 * (size_t)run->width * (size_t)run->height);
  engine_close(&run->engine);
  bool base = same(run, "weight 0, an engine without it", none, render_fresh(run, 0, false));
  bool fresh = same(run, "weight 0.7, an engine opened anew", some, render_fresh(run, 0.7f, true));
  printf("%-34s %s\n", "weight 0 and 0.7", moved ? "differ" : "EQUAL");
  return base && fresh && moved;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 5) {
    fprintf(stderr, "usage: gpu_lora MODEL ADAPTER [W H]\n");
    return 2;
  }
  struct run run = {.model = argv[1],
                    .adapter = argv[2],
                    .width = argc > 3 ? atoi(argv[3]) : 512,
                    .height = argc > 3 ? atoi(argv[4]) : 512};
  size_t bytes = 4 * (size_t)run.width * (size_t)run.height;
  uint8_t *pixels = malloc(bytes);
  for (size_t i = 0; pixels && i < bytes; i++)
    pixels[i] = (uint8_t)(i * 2654435761u >> 24);
  run.frame = (struct frame){
      .format = PIXEL_RGBA, .width = run.width, .height = run.height, .plane = {pixels}, .pitch = {4 * run.width}};
  double without = open_engine(&run, NULL);
  engine_close(&run.engine);
  double with = open_engine(&run, run.adapter);
  printf("%s, %s: reading it %.0f ms\n", info_of(&run).device, run.adapter, 1e3 * (with - without));
  measure_one(&run, "first frame, weight 0", 0);
  measure_one(&run, "a frame, weight 0", 0);
  measure_one(&run, "first weight", 0.5f);
  measure_one(&run, "another weight", 0.6f);
  measure_one(&run, "another weight", 0.7f);
  measure_one(&run, "a frame, the same weight", 0.7f);
  measure(&run, "no change", FRAMES, false);
  measure(&run, "50 changes in 300 frames", CHANGES * APART, true);
  bool equal = compare(&run);
  free(pixels);
  return equal ? 0 : 1;
}
