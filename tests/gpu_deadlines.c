/* Whether frames keep their deadlines while things change, on the CUDA device with a smooth engine: each control
 * changes 200 times while frames run at 60 a second, and then one after the other with two in flight. A deadline is
 * missed where a picture is not there when the next frame comes. Every frame is compared with the pictures of the two
 * values that it is between; those are made by an engine that is not smooth. Prints a table; exits with 1 where a
 * deadline is missed, a frame shows neither value, or a whole one not the new.
 *
 *   gpu_deadlines MODEL ADAPTER [W H]
 *
 * TUNING_DIR: the folder of tuning results, needed so that both engines choose the same kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/timing.h"
#include "unet/base/platform.h"
#include "unet/engine.h"

enum { SKIPPED = 77, CHANGES = 200, APART = 2, FULL_CHANGES = 50, APART_MAX = 60, WARM = 20, VALUES = 2 };
enum { FRAMES_MAX = FULL_CHANGES * APART_MAX + WARM };
static const double period = 1.0 / 60;

struct run {
  struct engine *engine;
  struct prepared *prepared;
  struct controls controls;
  struct frame frame;
  uint8_t *pictures[VALUES]; /* of the control's two values */
  struct error err;
};

struct change {
  const char *name;
  float guidance;
  void (*set)(struct run *run, int value); /* 0 or 1 */
  int apart;                               /* frames from one to the next at full rate */
};

static void must(struct run *run, int status) {
  if (status >= 0)
    return;
  fprintf(stderr, "%s\n", run->err.message);
  exit(run->err.status == STATUS_DEVICE ? SKIPPED : 1);
}

static void set_text(struct run *run, int value) {
  must(run, engine_set_prompt(run->engine, 1, value ? "a city of glass at night, rain" : "oil painting", &run->err));
}

static void set_slot(struct run *run, int value) {
  run->controls.prompt = 1 + 2 * value;
}

static void set_negative(struct run *run, int value) {
  must(run, engine_set_prompt(run->engine, SLOT_NEGATIVE, value ? "blurred, low quality" : "hands", &run->err));
}

static void set_blend(struct run *run, int value) {
  run->controls.blend[0] = value ? 0.3f : 0.8f;
  run->controls.blend[2] = value ? 0.7f : 0.2f;
}

static void set_guidance(struct run *run, int value) {
  run->controls.guidance = value ? 1.8f : 1.3f;
}

static void set_strength(struct run *run, int value) {
  run->controls.strength = value ? 0.8f : 0.5f;
}

static void set_seed(struct run *run, int value) {
  run->controls.seed = value ? 77 : 1;
}

static void set_adapter(struct run *run, int value) {
  run->controls.adapter[0] = value ? 0.8f : 0.5f;
}

static const struct change changes[] = {
    {"prompt's text", 1, set_text, 20},
    {"prompt", 1, set_slot, 4},
    {"negative", 1.5f, set_negative, 20},
    {"blend", 1, set_blend, 4},
    {"guidance", 1.5f, set_guidance, 4},
    {"strength", 1, set_strength, 4},
    {"seed", 1, set_seed, 4},
    {"LoRA weight", 1, set_adapter, APART_MAX},
};
enum { KINDS = sizeof changes / sizeof changes[0] };

static void open_run(struct run *run, const char *model, const char *adapter, bool smooth, bool guidance) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = model;
  params.device.name = "cuda";
  params.device.cache_dir = getenv("TUNING_DIR");
  params.device.pictures = 2;
  params.adapters = &adapter;
  params.adapter_count = 1;
  params.smooth = smooth;
  const struct engine_shape shape = {
      .width = run->frame.width, .height = run->frame.height, .steps = 1, .guidance = guidance};
  must(run, engine_open(&run->engine, &params, &run->err));
  must(run, engine_prepare(run->engine, &shape, &run->prepared, &run->err));
}

static void begin(struct run *run, const struct change *change) {
  run->controls = (struct controls)CONTROLS_DEFAULTS;
  run->controls.strength = 0.5f;
  run->controls.guidance = change->guidance;
  run->controls.adapter[0] = 0.5f;
  must(run, engine_set_prompt(run->engine, 1, "oil painting", &run->err));
  must(run, engine_set_prompt(run->engine, 3, "watercolor of a fox", &run->err));
  must(run, engine_set_prompt(run->engine, SLOT_NEGATIVE, "hands", &run->err));
  change->set(run, 0);
}

static void submit(struct run *run) {
  const struct engine_request request = {.prepared = run->prepared, .controls = &run->controls, .frame = &run->frame};
  must(run, engine_submit(run->engine, &request, &run->err));
}

static size_t picture_bytes(const struct run *run) {
  return 4 * (size_t)run->frame.width * (size_t)run->frame.height;
}

static struct engine_result collect(struct run *run) {
  struct engine_result result;
  must(run, engine_collect(run->engine, &result, &run->err));
  return result;
}

static uint8_t *copy(const struct run *run, const struct frame *picture) {
  uint8_t *pixels = malloc(picture_bytes(run));
  size_t row = 4 * (size_t)run->frame.width;
  for (int y = 0; y < run->frame.height; y++)
    memcpy(pixels + row * (size_t)y, picture->plane[0] + (size_t)picture->pitch[0] * (size_t)y, row);
  return pixels;
}

/* Bit v: it shows value v. Pictures that are compared line by line cost time that belongs to no frame. */
static unsigned shows(const struct run *run, const struct frame *picture) {
  unsigned which = 0;
  size_t row = 4 * (size_t)run->frame.width;
  for (int v = 0; v < VALUES; v++) {
    bool same = true;
    for (int y = 0; same && y < run->frame.height; y++)
      same =
          !memcmp(run->pictures[v] + row * (size_t)y, picture->plane[0] + (size_t)picture->pitch[0] * (size_t)y, row);
    which |= same ? 1u << v : 0;
  }
  return which;
}

/* What was seen of one way to run. */
struct outcome {
  double apart[FRAMES_MAX]; /* paced: from submission to picture; else between pictures. Milliseconds */
  double submits;           /* the longest submission */
  int frames, changes, missed, wrong, done, longest; /* frames until a change is whole, at most */
  long until;                                        /* the same, in all */
};

struct script {
  const struct change *change;
  int value, changed; /* the frame that was submitted with the change; -1: it is whole */
  bool still;         /* nothing changes */
  int apart;
};

/* A change every so many frames. */
static void step(struct run *run, struct script *s, struct outcome *o, int frame) {
  if (s->still || frame < WARM || (frame - WARM) % s->apart)
    return;
  o->changes++;
  s->change->set(run, s->value = !s->value);
  s->changed = frame;
}

/* Frame number `frame`, submitted with that value. */
static void look(const struct run *run, struct outcome *o, struct script *s, const struct engine_result *result,
                 int frame, int value) {
  unsigned which = shows(run, &result->picture);
  if (!which || (result->whole && !(which >> value & 1)))
    o->wrong++;
  if (s->changed < 0 || frame < s->changed || !result->whole)
    return;
  int frames = frame - s->changed;
  o->done++;
  o->until += frames;
  o->longest = frames > o->longest ? frames : o->longest;
  s->changed = -1;
}

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* One frame at a time, 60 a second; in the time between, the engine goes on. */
static void run_paced(struct run *run, struct script s, struct outcome *o) {
  *o = (struct outcome){0};
  s.changed = -1;
  s.apart = APART;
  double begun = clock_seconds() + period;
  for (int i = 0; i < WARM + CHANGES * APART; i++) {
    double due = begun + period * i;
    int left = 1;
    while (clock_seconds() < due)
      if (left && (left = engine_go_on(run->engine, &run->err)) < 0)
        must(run, left);
    step(run, &s, o, i);
    submit(run);
    double submitted = clock_seconds();
    struct engine_result result = collect(run);
    double now = clock_seconds();
    if (i >= WARM) {
      o->apart[o->frames++] = 1e3 * (now - due);
      o->submits = submitted - due > o->submits ? submitted - due : o->submits;
      o->missed += now > due + period;
    }
    look(run, o, &s, &result, i, s.value);
    frame_release(&result.picture);
  }
}

/* Two in flight, one after the other. */
static void run_full(struct run *run, struct script s, struct outcome *o) {
  *o = (struct outcome){0};
  int values[2];
  s.changed = -1;
  s.apart = s.change->apart;
  values[0] = s.value;
  submit(run);
  double last = 0;
  for (int i = 1; i < WARM + FULL_CHANGES * s.apart; i++) {
    double start = clock_seconds();
    step(run, &s, o, i);
    values[i % 2] = s.value;
    submit(run);
    double submitted = clock_seconds();
    struct engine_result result = collect(run);
    double now = clock_seconds();
    if (i >= WARM && last > 0) {
      o->apart[o->frames++] = 1e3 * (now - last);
      o->submits = submitted - start > o->submits ? submitted - start : o->submits;
    }
    last = now;
    look(run, o, &s, &result, i - 1, values[(i - 1) % 2]);
    frame_release(&result.picture);
  }
  struct engine_result result = collect(run);
  frame_release(&result.picture);
}

static double at(struct outcome *o, double share) {
  qsort(o->apart, (size_t)o->frames, sizeof *o->apart, compare_doubles);
  return o->apart[(size_t)(share * (double)(o->frames - 1))];
}

static bool print(const char *name, struct outcome *o, struct outcome *still, bool paced) {
  double most = at(o, 1), middle = at(o, 0.5), quiet = at(still, 1), quiet_middle = at(still, 0.5);
  printf("%-14s %7d %7d %7d %9.3f %9.3f %+9.3f %+9.3f %9.3f %7.1f %5d %6d\n", name, o->changes, o->done, o->missed,
         middle, most, middle - quiet_middle, most - quiet, 1e3 * o->submits, o->done ? (double)o->until / o->done : 0,
         o->longest, o->wrong);
  fflush(stdout);
  return !o->wrong && (!paced || !o->missed);
}

static const char heading[] = "%-14s %7s %7s %7s %9s %9s %9s %9s %9s %7s %5s %6s\n";

static void print_heading(const char *what) {
  printf(heading, what, "changes", "whole", "missed", "median", "longest", "+median", "+longest", "submit", "until",
         "most", "wrong");
}

/* Pictures of both values, by an engine that shows them at once. */
static void make_pictures(struct run *exact, struct run *run, const struct change *change) {
  for (int v = 0; v < VALUES; v++) {
    begin(exact, change);
    change->set(exact, v);
    submit(exact);
    struct engine_result result = collect(exact);
    free(run->pictures[v]);
    run->pictures[v] = copy(exact, &result.picture);
    frame_release(&result.picture);
  }
  if (!memcmp(run->pictures[0], run->pictures[1], picture_bytes(run)))
    printf("%s: both values make the same picture\n", change->name);
}

/* Everything is there, and the picture is that of the first value. */
static void settle(struct run *run, const struct change *change) {
  begin(run, change);
  for (int i = 0; i < 6; i++) {
    submit(run);
    struct engine_result result = collect(run);
    frame_release(&result.picture);
    while (engine_go_on(run->engine, &run->err) > 0)
      ;
  }
}

static bool measure(struct run *run, struct run *exact, bool guidance, bool paced) {
  static struct outcome still, outcome;
  bool good = true;
  print_heading(paced ? "60 frames/s" : "full rate");
  bool first = true;
  for (int i = 0; i < KINDS; i++) {
    const struct change *change = &changes[i];
    if ((change->guidance != 1) != guidance)
      continue;
    make_pictures(exact, run, change);
    settle(run, change);
    if (first) {
      (paced ? run_paced : run_full)(run, (struct script){.change = change, .still = true}, &still);
      print("none", &still, &still, paced);
      settle(run, change);
      first = false;
    }
    (paced ? run_paced : run_full)(run, (struct script){.change = change}, &outcome);
    good &= print(change->name, &outcome, &still, paced);
  }
  return good;
}

int main(int argc, char **argv) {
  if (argc != 3 && argc != 5) {
    fprintf(stderr, "usage: gpu_deadlines MODEL ADAPTER [W H]\n");
    return 2;
  }
  struct run run = {.frame = {.format = PIXEL_RGBA,
                              .width = argc > 3 ? atoi(argv[3]) : 512,
                              .height = argc > 3 ? atoi(argv[4]) : 512}};
  uint8_t *pixels = malloc(picture_bytes(&run));
  for (size_t i = 0; pixels && i < picture_bytes(&run); i++)
    pixels[i] = (uint8_t)(i * 2654435761u >> 24);
  run.frame.plane[0] = pixels;
  run.frame.pitch[0] = 4 * run.frame.width;
  bool good = true;
  for (int guidance = 0; guidance < 2; guidance++) {
    struct run exact = run;
    open_run(&exact, argv[1], argv[2], false, guidance);
    open_run(&run, argv[1], argv[2], true, guidance);
    if (!guidance) {
      struct engine_info info, other;
      engine_get_info(run.engine, &info);
      engine_get_info(exact.engine, &other);
      printf("%s, %s\nsmooth %.0f MB of device memory, exact %.0f\n", info.device, info.device_detail,
             1e-6 * (double)info.device_bytes, 1e-6 * (double)other.device_bytes);
    }
    good &= measure(&run, &exact, guidance, true);
    good &= measure(&run, &exact, guidance, false);
    engine_close(&run.engine);
    engine_close(&exact.engine);
  }
  for (int v = 0; v < VALUES; v++)
    free(run.pictures[v]);
  free(pixels);
  printf(good ? "every deadline kept, every picture right\n" : "FAILED\n");
  return good ? 0 : 1;
}
