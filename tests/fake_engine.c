#include "fake_engine.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "app/flow/stats.h"

enum { NATIVE = 64, MULTIPLE = 8, MAX_IN_FLIGHT = 2, PICTURES = 4 };

struct fake_picture {
  uint8_t *pixels;
  struct frame frame;
  int64_t done_ns;
};

struct engine {
  struct engine_info info;
  enum fit fit;
  struct fake_picture pictures[PICTURES];
};

/* The tests' switches and findings: one engine at a time. */
static struct fake_engine_script script;
static struct fake_engine_log record;
static atomic_int released;
static char texts[SLOTS][64];

void fake_engine_begin(const struct fake_engine_script *new_script) {
  script = *new_script;
  memset(&record, 0, sizeof record);
  released = 0;
}

void fake_engine_release(int pictures) {
  released += pictures;
}

const char *fake_engine_text(int slot) {
  return texts[slot];
}

const struct fake_engine_log *fake_engine_log(void) {
  return &record;
}

static void sleep_until(int64_t ns) {
  struct timespec at = {ns / 1000000000, ns % 1000000000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL))
    ;
}

static int rounded(int wish) {
  return wish > 0 ? (wish + MULTIPLE / 2) / MULTIPLE * MULTIPLE : NATIVE;
}

static void make_pictures(struct engine *engine) {
  for (int i = 0; i < PICTURES; i++) {
    free(engine->pictures[i].pixels);
    engine->pictures[i].pixels = calloc((size_t)engine->info.width * (size_t)engine->info.height, 4);
  }
}

int engine_open(struct engine **out, const struct engine_params *params, struct error *err) {
  sleep_until(clock_now_ns() + script.open_ms * INT64_C(1000000));
  struct engine *engine = calloc(1, sizeof *engine);
  if (!engine)
    return error_set(err, STATUS_FAILED, "no memory");
  engine->info = (struct engine_info){.model = "fake",
                                      .device = "fake",
                                      .depth = script.depth ? script.depth : 1,
                                      .width = rounded(params->width),
                                      .height = rounded(params->height),
                                      .native_width = NATIVE,
                                      .native_height = NATIVE,
                                      .size_multiple = MULTIPLE,
                                      .steps = params->steps ? params->steps : 1,
                                      .image_conditioned = true};
  engine->fit = params->fit;
  make_pictures(engine);
  *out = engine;
  return 0;
}

void engine_close(struct engine **engine) {
  if (!*engine)
    return;
  for (int i = 0; i < PICTURES; i++)
    free((*engine)->pictures[i].pixels);
  free(*engine);
  *engine = NULL;
  record.closed = true;
}

void engine_get_info(const struct engine *engine, struct engine_info *info) {
  *info = engine->info;
}

int engine_configure(struct engine *engine, int width, int height, int steps, struct error *err) {
  record.configurations++;
  record.configured_busy |= record.submitted > record.collected;
  if (steps && steps == script.refuse_steps)
    return error_set(err, STATUS_DEVICE, "%d steps do not fit", steps);
  engine->info.width = width ? rounded(width) : engine->info.width;
  engine->info.height = height ? rounded(height) : engine->info.height;
  engine->info.steps = steps ? steps : engine->info.steps;
  make_pictures(engine);
  return 0;
}

double engine_device_ms(const struct engine *engine) {
  (void)engine;
  return 0;
}

void engine_stamps(const struct engine *engine, struct run_stamps *stamps) {
  (void)engine;
  *stamps = (struct run_stamps){0};
}

int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err) {
  (void)engine;
  if (!text[0]) {
    record.refused_prompts++;
    return error_set(err, STATUS_MODEL, "an empty prompt");
  }
  snprintf(texts[slot], sizeof texts[slot], "%s", text);
  record.prompts[slot]++;
  return 0;
}

/* Luma of the nearest pixel; the fakes and the pattern give 8-bit formats with luma in plane 0, and RGBA. */
static int grey_at(const struct frame *frame, int x, int y) {
  const uint8_t *row = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0];
  switch (frame->format) {
  case PIXEL_NV12:
  case PIXEL_YUV420P:
    return row[x];
  case PIXEL_YUYV:
    return row[2 * x];
  default:
    return (row[4 * x] + 2 * row[4 * x + 1] + row[4 * x + 2]) / 4;
  }
}

void fake_engine_color(const struct controls *controls, int grey, uint8_t rgb[3]) {
  for (int c = 0; c < 3; c++) {
    float tint = controls->prompt >> c & 1 ? 1.0f : 0.35f;
    rgb[c] = (uint8_t)lrintf((float)grey * (1 - controls->strength + controls->strength * tint));
  }
}

/* The frame cropped to the picture's shape. */
static void paint(const struct engine *engine, struct fake_picture *picture, const struct controls *controls,
                  const struct frame *frame) {
  int w = engine->info.width, h = engine->info.height;
  double scale = frame ? fmin((double)frame->width / w, (double)frame->height / h) : 1;
  for (int y = 0; y < h; y++)
    for (int x = 0; x < w; x++) {
      int grey = 128;
      if (frame) {
        double from_x = (x + 0.5 - w / 2.0) * scale + frame->width / 2.0;
        double from_y = (y + 0.5 - h / 2.0) * scale + frame->height / 2.0;
        grey = grey_at(frame, (int)from_x, (int)from_y);
      }
      uint8_t *pixel = picture->pixels + 4 * ((size_t)y * (size_t)w + (size_t)x);
      fake_engine_color(controls, grey, pixel);
      pixel[3] = 255;
    }
}

int engine_submit(struct engine *engine, const struct controls *controls, const struct frame *frame,
                  struct error *err) {
  if (record.submitted + 1 == script.fail_at_submit)
    return error_set(err, STATUS_DEVICE, "the fake device fails as told");
  int64_t now = clock_now_ns();
  struct fake_picture *picture = &engine->pictures[record.submitted % PICTURES];
  const struct fake_picture *before = &engine->pictures[(record.submitted + PICTURES - 1) % PICTURES];
  struct fake_submit *entry = &record.submits[record.submitted % FAKE_LOG];
  *entry = (struct fake_submit){.has_frame = frame != NULL,
                                .serial = frame ? frame->serial : 0,
                                .captured_ns = frame ? frame->captured_ns : 0,
                                .submitted_ns = now,
                                .controls = *controls,
                                .steps = engine->info.steps};
  record.unset_prompt_used |= !record.prompts[controls->prompt];
  record.unset_prompt_used |= controls->blend > 0 && !record.prompts[controls->prompt_to];
  record.submitted++;
  int in_flight = record.submitted - record.collected;
  record.overfull |= in_flight > MAX_IN_FLIGHT;
  record.most_in_flight = in_flight > record.most_in_flight ? in_flight : record.most_in_flight;
  paint(engine, picture, controls, frame);
  picture->done_ns = (before->done_ns > now ? before->done_ns : now) + script.frame_ms * INT64_C(1000000);
  picture->frame = (struct frame){.format = PIXEL_RGBA,
                                  .width = engine->info.width,
                                  .height = engine->info.height,
                                  .plane = {picture->pixels},
                                  .pitch = {engine->info.width * 4},
                                  .pts = frame ? frame->pts : 0,
                                  .captured_ns = frame ? frame->captured_ns : 0,
                                  .serial = frame ? frame->serial : 0};
  return 0;
}

int engine_collect(struct engine *engine, struct frame *picture, struct error *err) {
  if (record.submitted == record.collected) {
    record.overfull = true;
    return error_set(err, STATUS_FAILED, "nothing is in flight");
  }
  const struct fake_picture *oldest = &engine->pictures[record.collected++ % PICTURES];
  sleep_until(oldest->done_ns);
  while (script.gated && released < record.collected)
    usleep(1000);
  *picture = oldest->frame;
  return 0;
}
