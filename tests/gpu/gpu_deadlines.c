/* Whether frames keep their deadlines while things change, on the CUDA device with a smooth engine: each control
 * changes 200 times while frames run at 60 a second, and then one after the other with two in flight; a seed walk moves
 * on with each frame. A deadline is missed where a picture is not there when the next frame comes. Every frame is
 * compared with the pictures of the two values that it is between; those are made by an engine that is not smooth. Then
 * other handles are prepared beside frames at 60 a second, and the time until they show is taken. Prints tables, and
 * last what was missed; at full rate also what the engine's thread was at, part by part. Exits with 1 where that is a
 * deadline, a picture or 0.3 ms of a frame at full rate.
 *
 *   gpu_deadlines [--handles] MODEL ADAPTER [W H]
 *
 * --handles: other handles alone.
 *
 * TUNING_DIR: the folder of tuning results, needed so that both engines choose the same kernels. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/timing.h"
#include "tests/gpu/gpu_deadlines.h"
#include "unet/base/platform.h"

enum { SKIPPED = 77, FULL_CHANGES = 50, APART_MAX = 60, WORST = 3 };
enum { TAKES_MAX = FULL_CHANGES * APART_MAX + WARM };
static const double spare_ms = 0.3;
static const double walk_step = 0.07; /* seeds that a walk advances by with each frame */

/* Descriptions of what was missed, one line each. */
static struct {
  char line[64][160];
  int count;
} missed;

void miss(const char *format, ...) {
  va_list args;
  va_start(args, format);
  if (missed.count < 64)
    vsnprintf(missed.line[missed.count++], sizeof missed.line[0], format, args);
  va_end(args);
}

void must(struct run *run, int status) {
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

static void set_walk(struct run *run, int value) {
  run->controls.seed_position = 0.3 + walk_step * value;
}

static void set_adapter(struct run *run, int value) {
  run->controls.adapter[0] = value ? 0.8f : 0.5f;
}

static const struct change changes[] = {
    {"prompt's text", 1, set_text, {2, 20}, false},
    {"prompt", 1, set_slot, {1, 4}, false},
    {"negative", 1.5f, set_negative, {2, 20}, false},
    {"blend", 1, set_blend, {1, 4}, false},
    {"guidance", 1.5f, set_guidance, {1, 4}, false},
    {"strength", 1, set_strength, {1, 4}, false},
    {"seed", 1, set_seed, {1, 4}, false},
    {"seed walk", 1, set_walk, {1, 1}, true},
    {"LoRA weight", 1, set_adapter, {2, APART_MAX}, false},
};
enum { KINDS = sizeof changes / sizeof changes[0] };

static void open_run(struct run *run, const char *model, const char *adapter, bool smooth, bool guidance) {
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  params.model = model;
  params.device.name = "cuda";
  params.device.cache_dir = getenv("TUNING_DIR");
  params.device.pictures = 2;
  params.device.stamps = true;
  params.adapters = &adapter;
  params.adapter_count = 1;
  params.smooth = smooth;
  const struct engine_shape shape = {
      .width = run->frame.width, .height = run->frame.height, .steps = 1, .guidance = guidance};
  must(run, engine_open(&run->engine, &params, &run->err));
  must(run, engine_prepare(run->engine, &shape, &run->prepared, &run->err));
}

void begin(struct run *run, const struct change *change) {
  run->controls = (struct controls)CONTROLS_DEFAULTS;
  run->controls.strength = 0.5f;
  run->controls.guidance = change->guidance;
  run->controls.adapter[0] = 0.5f;
  must(run, engine_set_prompt(run->engine, 1, "oil painting", &run->err));
  must(run, engine_set_prompt(run->engine, 3, "watercolor of a fox", &run->err));
  must(run, engine_set_prompt(run->engine, SLOT_NEGATIVE, "hands", &run->err));
  change->set(run, 0);
}

void submit(struct run *run) {
  const struct engine_request request = {.prepared = run->prepared, .controls = &run->controls, .frame = &run->frame};
  must(run, engine_submit(run->engine, &request, &run->err));
}

static size_t picture_bytes(const struct run *run) {
  return 4 * (size_t)run->frame.width * (size_t)run->frame.height;
}

struct engine_result collect(struct run *run) {
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

/* Compares row by row and stops at the first difference, because this time is counted as no frame's. */
static bool shows(const struct run *run, const struct frame *picture, int value) {
  size_t row = 4 * (size_t)run->frame.width;
  for (int y = 0; y < run->frame.height; y++)
    if (memcmp(run->pictures[value] + row * (size_t)y, picture->plane[0] + (size_t)picture->pitch[0] * (size_t)y, row))
      return false;
  return true;
}

/* Measured times of one frame, in milliseconds. */
struct seen {
  double apart; /* at 60 a second: from the frame's due time to its picture; at full rate: between two pictures */
  double device, submit;
  /* By the device's time stamps. idle: from the end of the frame before to the beginning of this one; late: from this
   * one's end until the thread saw it. */
  double idle, late;
  /* What the thread did since the picture before, at full rate: set: the change itself; collect: waiting for the
   * picture; compare: checking the picture before, which only this test does. engine_submit's parts are in
   * in_submit. */
  double set, collect, compare;
  struct submit_times in_submit;
  int since; /* frames since the last change */
  bool whole;
};

/* Results of frames at 60 a second, or of frames at full rate. */
struct outcome {
  struct seen seen[TAKES_MAX];
  double submits;                                    /* longest time of a call of engine_submit */
  int64_t ended_ns;                                  /* end of the frame before, by the device's time stamps */
  int frames, changes, missed, wrong, done, longest; /* longest: most frames until a picture had all of a change */
  int over;                                          /* number of frames that took longer than allowed */
  /* sum over the changes of the frames until a picture had all of it */
  long until;
};

/* The value that a frame was submitted with, and the value of the frame before. */
struct values {
  int now, before;
};

struct script {
  const struct change *change;
  struct values values;
  /* number of the frame that was submitted with the last change; changed: -1 once a picture has all of it */
  int changed, asked;
  bool still; /* true: nothing changes */
  int apart;
};

/* Makes a change every s->apart frames. */
static void step(struct run *run, struct script *s, struct outcome *o, int frame) {
  s->values.before = s->values.now;
  if (s->still || frame < WARM || (frame - WARM) % s->apart)
    return;
  o->changes++;
  s->values.now = s->change->walks ? frame : !s->values.now;
  s->change->set(run, s->values.now);
  s->changed = s->asked = frame;
}

/* Checks the picture of frame number `frame`, which was submitted with these values. */
static void look(const struct run *run, struct outcome *o, struct script *s, const struct engine_result *result,
                 int frame, struct values values) {
  bool now = shows(run, &result->picture, values.now);
  if (!now && (result->whole || !shows(run, &result->picture, s->change->walks ? values.before : !values.now)))
    o->wrong++;
  if (s->change->walks && !s->still) {
    o->done += result->whole && frame >= WARM;
    return;
  }
  if (s->changed < 0 || frame < s->changed || !result->whole)
    return;
  int frames = frame - s->changed;
  o->done++;
  o->until += frames;
  o->longest = frames > o->longest ? frames : o->longest;
  s->changed = -1;
}

static struct seen *note(struct outcome *o, const struct script *s, const struct engine_result *result, int frame,
                         double apart, double submit) {
  struct seen *seen = &o->seen[o->frames++];
  const struct run_stamps *stamps = &result->stamps;
  int64_t ended = stamps->downloaded_ns > stamps->computed_ns ? stamps->downloaded_ns : stamps->computed_ns;
  *seen = (struct seen){.apart = 1e3 * apart,
                        .device = result->device_ms,
                        .submit = 1e3 * submit,
                        .idle = o->ended_ns ? 1e-6 * (double)(stamps->begun_ns - o->ended_ns) : 0,
                        .late = 1e-6 * (double)(result->finished_ns - ended),
                        .since = s->asked < 0 ? -1 : frame - s->asked,
                        .whole = result->whole};
  o->ended_ns = stamps->computed_ns;
  o->submits = submit > o->submits ? submit : o->submits;
  return seen;
}

static int compare_seen(const void *a, const void *b) {
  double x = ((const struct seen *)a)->apart, y = ((const struct seen *)b)->apart;
  return (x > y) - (x < y);
}

/* Runs one frame at a time, 60 a second; the engine's background work runs between frames. */
static void run_paced(struct run *run, struct script s, struct outcome *o) {
  *o = (struct outcome){0};
  s.changed = s.asked = -1;
  s.apart = s.change->apart[0];
  double begun = clock_seconds() + period;
  for (int i = 0; i < WARM + CHANGES * s.apart; i++) {
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
      note(o, &s, &result, i, now - due, submitted - due);
      o->missed += now > due + period;
    }
    look(run, o, &s, &result, i, s.values);
    frame_release(&result.picture);
  }
}

/* Runs frames at full rate, two in flight: the frame that is collected is the one submitted before the last. */
static void run_full(struct run *run, struct script s, struct outcome *o) {
  *o = (struct outcome){0};
  struct values values[2] = {s.values};
  s.changed = s.asked = -1;
  s.apart = s.change->apart[1];
  int frames = WARM + (s.change->walks ? CHANGES : FULL_CHANGES * s.apart);
  submit(run);
  double last = 0, compared = 0;
  struct seen *before = NULL; /* the frame whose engine_submit the next result measures */
  for (int i = 1; i < frames; i++) {
    double start = clock_seconds();
    step(run, &s, o, i);
    double changed = clock_seconds();
    values[i % 2] = s.values;
    submit(run);
    double submitted = clock_seconds();
    struct engine_result result = collect(run);
    double now = clock_seconds();
    if (before)
      before->in_submit = result.submitted;
    before = NULL;
    if (i >= WARM && last > 0) {
      before = note(o, &s, &result, i - 1, now - last, submitted - start);
      before->set = 1e3 * (changed - start);
      before->collect = 1e3 * (now - submitted);
      before->compare = 1e3 * compared;
    }
    last = now;
    look(run, o, &s, &result, i - 1, values[(i - 1) % 2]);
    frame_release(&result.picture);
    compared = clock_seconds() - now;
  }
  struct engine_result result = collect(run);
  if (before)
    before->in_submit = result.submitted;
  frame_release(&result.picture);
}

static double at(const struct outcome *o, double share) {
  return o->seen[(size_t)(share * (double)(o->frames - 1))].apart;
}

static void print_parts(const char *what, const struct seen *seen) {
  const struct submit_times *in = &seen->in_submit;
  printf("    %s: change %.3f, fill %.3f, launch %.3f, slice %.3f, noise %.3f, wait %.3f, test's comparison %.3f\n",
         what, seen->set, in->fill, in->launch, in->slice, in->ahead, seen->collect, seen->compare);
}

/* Prints the longest time of each part over all frames: a part that makes a frame late stands out. */
static void print_longest_parts(const struct outcome *o) {
  struct seen most = {0};
  for (int i = 0; i < o->frames; i++) {
    const struct seen *seen = &o->seen[i];
    most.set = seen->set > most.set ? seen->set : most.set;
    most.collect = seen->collect > most.collect ? seen->collect : most.collect;
    most.compare = seen->compare > most.compare ? seen->compare : most.compare;
    const struct submit_times *in = &seen->in_submit;
    most.in_submit.fill = in->fill > most.in_submit.fill ? in->fill : most.in_submit.fill;
    most.in_submit.launch = in->launch > most.in_submit.launch ? in->launch : most.in_submit.launch;
    most.in_submit.slice = in->slice > most.in_submit.slice ? in->slice : most.in_submit.slice;
    most.in_submit.ahead = in->ahead > most.in_submit.ahead ? in->ahead : most.in_submit.ahead;
  }
  print_parts("longest of each part", &most);
}

/* Prints means of the frames that came equally long after a change: they show where background work, or what follows
 * it, costs frames their time. */
static void print_by_age(const struct outcome *o) {
  enum { AGES = 48 };
  struct seen sum[AGES] = {0};
  int count[AGES] = {0};
  for (int i = 0; i < o->frames; i++) {
    const struct seen *seen = &o->seen[i];
    if (seen->since < 0 || seen->since >= AGES)
      continue;
    struct seen *mean = &sum[seen->since];
    count[seen->since]++;
    mean->apart += seen->apart;
    mean->device += seen->device;
    mean->idle += seen->idle;
    mean->late += seen->late;
    mean->submit += seen->submit;
  }
  for (int i = 0; i < AGES; i++)
    if (count[i])
      printf("    %2d frames after a change: %.3f ms apart, %.3f on the device, begun %.3f after the one before, seen "
             "%.3f late, submission %.3f\n",
             i, sum[i].apart / count[i], sum[i].device / count[i], sum[i].idle / count[i], sum[i].late / count[i],
             sum[i].submit / count[i]);
}

/* Prints the longest frames and what was being done in them. */
static void print_worst(const struct outcome *o, double limit) {
  for (int i = o->frames - 1; i >= 0 && i >= o->frames - WORST && o->seen[i].apart > limit; i--) {
    const struct seen *seen = &o->seen[i];
    printf("    %.3f ms: %.3f by the device's clock, begun %.3f after the one before, seen %.3f late, submission %.3f, "
           "%d frames after a change, %s\n",
           seen->apart, seen->device, seen->idle, seen->late, seen->submit, seen->since,
           seen->whole ? "whole" : "not whole");
    if (seen->collect > 0)
      print_parts("its parts", seen);
  }
}

static void judge(const char *name, const struct outcome *o, double spare, bool paced) {
  const char *rate = paced ? "60 frames/s" : "full rate";
  if (o->wrong)
    miss("%s, %s: %d pictures show neither value, or not the new one", name, rate, o->wrong);
  if (paced && o->missed)
    miss("%s, %s: %d deadlines missed", name, rate, o->missed);
  if (!paced && o->over)
    miss("%s, %s: %d of %d frames lost more than %.1f ms, the longest %.2f", name, rate, o->over, o->frames, spare_ms,
         spare);
}

/* Prints a row of the table. Sorts o->seen; still->seen must be sorted. */
static void print(const char *name, struct outcome *o, const struct outcome *still, bool paced) {
  qsort(o->seen, (size_t)o->frames, sizeof *o->seen, compare_seen);
  double most = at(o, 1), middle = at(o, 0.5), quiet = at(still, 1), quiet_middle = at(still, 0.5);
  for (int i = 0; i < o->frames; i++)
    o->over += o->seen[i].apart > quiet + spare_ms;
  printf("%-14s %7d %7d %7d %9.3f %9.3f %9.3f %+9.3f %+9.3f %5d %9.3f %7.1f %5d %6d\n", name, o->changes, o->done,
         o->missed, middle, at(o, 0.99), most, middle - quiet_middle, most - quiet, o->over, 1e3 * o->submits,
         o->done ? (double)o->until / o->done : 0, o->longest, o->wrong);
  if (!paced) {
    print_longest_parts(o);
    print_by_age(o);
  }
  print_worst(o, quiet + spare_ms);
  fflush(stdout);
  judge(name, o, most - quiet, paced);
}

static const char heading[] = "%-14s %7s %7s %7s %9s %9s %9s %9s %9s %5s %9s %7s %5s %6s\n";

static void print_heading(const char *what) {
  printf(heading, what, "changes", "whole", "missed", "median", "p99", "longest", "+median", "+longest", "over",
         "submit", "until", "most", "wrong");
}

static int value_count(const struct change *change) {
  return change->walks ? VALUES_MAX : 2;
}

/* Makes the pictures of all values with an engine that shows a change at once. */
static void make_pictures(struct run *exact, struct run *run, const struct change *change) {
  begin(exact, change);
  for (int v = 0; v < value_count(change); v++) {
    change->set(exact, v);
    submit(exact);
    struct engine_result result = collect(exact);
    free(run->pictures[v]);
    run->pictures[v] = copy(exact, &result.picture);
    frame_release(&result.picture);
    if (v && !memcmp(run->pictures[v - 1], run->pictures[v], picture_bytes(run)))
      miss("%s: two values make the same picture", change->name);
  }
}

void settle(struct run *run, const struct change *change) {
  begin(run, change);
  for (int i = 0; i < 6; i++) {
    submit(run);
    struct engine_result result = collect(run);
    frame_release(&result.picture);
    while (engine_go_on(run->engine, &run->err) > 0)
      ;
  }
}

static void measure(struct run *run, struct run *exact, bool guidance, bool paced) {
  static struct outcome still, outcome;
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
    print(change->name, &outcome, &still, paced);
  }
}

int main(int argc, char **argv) {
  bool handles_alone = argc > 1 && !strcmp(argv[1], "--handles");
  argv += handles_alone;
  argc -= handles_alone;
  if (argc != 3 && argc != 5) {
    fprintf(stderr, "usage: gpu_deadlines [--handles] MODEL ADAPTER [W H]\n");
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
  for (int guidance = 0; guidance < (handles_alone ? 1 : 2); guidance++) {
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
    for (int full = 0; full < 2 && !handles_alone; full++)
      measure(&run, &exact, guidance, !full);
    if (!guidance)
      measure_handles(&run, &exact, &changes[0]);
    engine_close(&run.engine);
    engine_close(&exact.engine);
  }
  for (int v = 0; v < VALUES_MAX; v++)
    free(run.pictures[v]);
  free(pixels);
  for (int i = 0; i < missed.count; i++)
    printf("MISSED %s\n", missed.line[i]);
  if (!missed.count)
    printf("every deadline kept, every picture right\n");
  return missed.count ? 1 : 0;
}
