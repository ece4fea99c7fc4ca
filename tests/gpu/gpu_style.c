/* What style pictures cost, for people. Not a test by itself.
 *
 *   gpu_style MODEL IP_ADAPTER IMAGE_ENCODER FRAMES [FPS]
 *
 * Frames of 512x512 in one step: of a handle without styles, of one with a weight of 0, of one with 1 and of four; then
 * with FPS of them a second how long a new picture takes to show, and the frames meanwhile. */
#include <stdio.h>
#include <stdlib.h>

#include "unet/base/platform.h"
#include "unet/engine.h"

enum { SIDE = 512, TIMES_MAX = 1 << 14, SKIPPED = 77, CHANGES = 10 };

struct bench {
  struct engine *engine;
  struct prepared *plain, *styled;
  struct controls controls;
  struct frame frame;
  double times[TIMES_MAX];
  int count;
  struct error err;
};

static void must(const struct error *err, int status) {
  if (status == 0)
    return;
  fprintf(stderr, "%s\n", err->message);
  exit(1);
}

/* Runs one frame; returns true if its picture has all that was asked for. */
static bool one_frame(struct bench *b, struct prepared *prepared) {
  const struct engine_request request = {.prepared = prepared, .controls = &b->controls, .frame = &b->frame};
  struct engine_result result;
  must(&b->err, engine_submit(b->engine, &request, &b->err));
  must(&b->err, engine_collect(b->engine, &result, &b->err));
  frame_release(&result.picture);
  if (b->count < TIMES_MAX)
    b->times[b->count++] = result.device_ms;
  return result.whole;
}

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double median(struct bench *b) {
  qsort(b->times, (size_t)b->count, sizeof *b->times, by_value);
  double value = b->times[b->count / 2];
  b->count = 0;
  return value;
}

static double time_frames(struct bench *b, struct prepared *prepared, int frames) {
  for (int i = 0; i < frames / 4; i++)
    one_frame(b, prepared);
  b->count = 0;
  for (int i = 0; i < frames; i++)
    one_frame(b, prepared);
  return median(b);
}

static struct frame make_frame(int number) {
  uint8_t *pixels = malloc(4 * SIDE * SIDE);
  if (!pixels)
    exit(1);
  for (size_t i = 0; i < 4 * SIDE * SIDE; i++)
    pixels[i] = (uint8_t)((i + (size_t)number) * 2654435761u >> 24);
  return (struct frame){.format = PIXEL_RGBA, .width = SIDE, .height = SIDE, .plane = {pixels}, .pitch = {4 * SIDE}};
}

/* Reads a style picture on the calling thread; in the program another thread does that. */
static struct engine_style *read_style(struct bench *b, int number, double *ms) {
  struct frame frame = make_frame(number);
  struct engine_info info;
  struct engine_style *style;
  engine_get_info(b->engine, &info);
  int64_t begun = platform_now_ns();
  must(&b->err, engine_read_style(&info.style, &frame, &style, &b->err));
  *ms = 1e-6 * (double)(platform_now_ns() - begun);
  free((void *)frame.plane[0]);
  return style;
}

static void set_style(struct bench *b, int slot, int number) {
  double ms;
  struct engine_style *style = read_style(b, number, &ms);
  must(&b->err, engine_set_style(b->engine, slot, style, &b->err));
  engine_free_style(&style);
}

static void change(struct bench *b, double fps) {
  double longest = 0, slowest = 0, read_ms = 0, period = 1e9 / fps, late = 0;
  int frames = 0;
  for (int i = 0; i < CHANGES; i++) {
    struct engine_style *style = read_style(b, 100 + i, &read_ms);
    must(&b->err, engine_set_style(b->engine, 0, style, &b->err));
    engine_free_style(&style);
    int64_t begun = platform_now_ns();
    for (bool whole = false; !whole; frames++) {
      int64_t from = platform_now_ns();
      whole = one_frame(b, b->styled);
      double taken = (double)(platform_now_ns() - from);
      slowest = taken > slowest ? taken : slowest;
      late += taken > period;
      while (!whole && (double)(platform_now_ns() - from) < period)
        if (engine_go_on(b->engine, &b->err) <= 0)
          platform_sleep_ns(100000);
    }
    double shown = 1e-6 * (double)(platform_now_ns() - begun);
    longest = shown > longest ? shown : longest;
  }
  printf("a new picture at %.0f frames/s: read in %.1f ms, shown after %.1f frames, %.1f ms at most; slowest frame "
         "%.2f ms of %.2f, %.0f late\n",
         fps, read_ms, (double)frames / CHANGES, longest, 1e-6 * slowest, 1e-6 * period, late);
}

int main(int argc, char **argv) {
  static struct bench b = {.controls = CONTROLS_DEFAULTS};
  if (argc < 5) {
    fprintf(stderr, "usage: gpu_style MODEL IP_ADAPTER IMAGE_ENCODER FRAMES [FPS]\n");
    return 2;
  }
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  const char *device = getenv("DEVICE");
  params.model = argv[1];
  params.ip_adapter = argv[2];
  params.image_encoder = argv[3];
  params.smooth = true;
  params.device =
      (struct device_options){.name = device ? device : "cuda", .cache_dir = getenv("TUNING_DIR"), .pictures = 2};
  int frames = atoi(argv[4]);
  if (engine_open(&b.engine, &params, &b.err) < 0) {
    printf("skipped: %s\n", b.err.message);
    return SKIPPED;
  }
  struct engine_shape shape = {.width = SIDE, .height = SIDE, .steps = 1};
  must(&b.err, engine_prepare(b.engine, &shape, &b.plain, &b.err));
  shape.styles = true;
  must(&b.err, engine_prepare(b.engine, &shape, &b.styled, &b.err));
  b.frame = make_frame(0);
  double plain = time_frames(&b, b.plain, frames), off = time_frames(&b, b.styled, frames);
  for (int i = 0; i < STYLES_MAX; i++)
    set_style(&b, i, i);
  b.controls.style[0].weight = 1;
  while (!one_frame(&b, b.styled))
    ;
  double one = time_frames(&b, b.styled, frames);
  for (int i = 1; i < STYLES_MAX; i++)
    b.controls.style[i].weight = 0.5f;
  double four = time_frames(&b, b.styled, frames);
  printf("frame %.3f ms; styles off %+.3f, one %+.3f, four %+.3f\n", plain, off - plain, one - plain, four - plain);
  change(&b, argc > 5 ? atof(argv[5]) : 60);
  engine_close(&b.engine);
  free((void *)b.frame.plane[0]);
  return 0;
}
