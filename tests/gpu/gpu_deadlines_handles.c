/* Measures how long another handle takes until its first picture, when it is prepared while frames run at 60 a
 * second. */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/timing.h"
#include "tests/gpu/gpu_deadlines.h"

static const double another_handle_s = 1;

struct another {
  const char *name;
  struct engine_shape shape; /* fields that are 0 stay as in the engine's present shape */
  float guidance;
};

static const struct another others[] = {
    {"size 384x640", {.width = 384, .height = 640}, 1},
    {"again", {.width = 384, .height = 640}, 1},
    {"size 640x640", {.width = 640, .height = 640}, 1},
    {"again", {.width = 640, .height = 640}, 1},
    {"4 steps", {.steps = 4}, 1},
    {"again", {.steps = 4}, 1},
    {"guidance full", {.guidance = GUIDANCE_FULL}, 2},
    {"again", {.guidance = GUIDANCE_FULL}, 2},
    {"guidance self", {.guidance = GUIDANCE_SELF}, 1.4f},
    {"one-time", {.guidance = GUIDANCE_ONE_TIME}, 1.4f},
};

/* A preparation on a thread of its own, while frames run. */
struct errand {
  struct run *run;
  struct engine_shape shape;
  struct prepared *prepared;
  struct error err;
  int status;
  atomic_bool done;
};

static void *prepare_another(void *opaque) {
  struct errand *e = opaque;
  e->status = engine_prepare(e->run->engine, &e->shape, &e->prepared, &e->err);
  e->done = true;
  return NULL;
}

static struct engine_shape shape_of(const struct run *run, const struct another *another) {
  struct prepared_info info;
  prepared_get_info(run->prepared, &info);
  struct engine_shape shape = info.shape;
  shape.guidance = another->shape.guidance;
  if (another->shape.width) {
    shape.width = another->shape.width;
    shape.height = another->shape.height;
  }
  shape.steps = another->shape.steps ? another->shape.steps : shape.steps;
  return shape;
}

struct switching {
  /* seconds until the new handle's picture, until it was prepared, and of the longest frame in between */
  double shown, prepared, longest;
  int frames, missed;
};

/* Runs a frame at its due time. Returns the seconds from then until its picture. */
static double frame_at(struct run *run, double due, struct engine_result *result) {
  while (clock_seconds() < due)
    ;
  submit(run);
  *result = collect(run);
  return clock_seconds() - due;
}

/* Runs frames at 60 a second with the old handle until the new one is prepared, then one frame with the new one, whose
 * picture goes to *last. */
static void switch_handle(struct run *run, struct errand *e, float guidance, struct switching *s,
                          struct engine_result *last) {
  pthread_t thread;
  struct prepared *old = run->prepared;
  double asked = clock_seconds();
  *s = (struct switching){0};
  if (pthread_create(&thread, NULL, prepare_another, e))
    exit(1);
  for (; !e->done; s->frames++) {
    struct engine_result result;
    double took = frame_at(run, asked + period * (s->frames + 1), &result);
    frame_release(&result.picture);
    s->longest = took > s->longest ? took : s->longest;
    s->missed += took > period;
  }
  s->prepared = clock_seconds() - asked;
  pthread_join(thread, NULL);
  run->err = e->err;
  must(run, e->status);
  run->prepared = e->prepared;
  run->controls.guidance = guidance;
  frame_at(run, 0, last);
  s->shown = clock_seconds() - asked;
  run->controls.guidance = 1;
  run->prepared = old;
}

/* Returns the mean difference of two pictures in levels of 8 bit. */
static double difference(const struct frame *a, const struct frame *b) {
  double sum = 0;
  for (int y = 0; y < a->height; y++)
    for (int x = 0; x < 4 * a->width; x++)
      sum += abs(a->plane[0][(size_t)a->pitch[0] * (size_t)y + (size_t)x] -
                 b->plane[0][(size_t)b->pitch[0] * (size_t)y + (size_t)x]);
  return sum / (4.0 * a->width * a->height);
}

/* Returns the difference of the picture from the one that the other engine makes. */
static double check_picture(struct run *exact, const struct errand *e, float guidance, const struct frame *picture) {
  struct prepared *old = exact->prepared;
  must(exact, engine_prepare(exact->engine, &e->shape, &exact->prepared, &exact->err));
  exact->controls.guidance = guidance;
  submit(exact);
  struct engine_result result = collect(exact);
  bool same_size = result.picture.width == picture->width && result.picture.height == picture->height;
  double off = same_size ? difference(&result.picture, picture) : INFINITY;
  frame_release(&result.picture);
  engine_release(exact->engine, &exact->prepared);
  exact->prepared = old;
  return off;
}

void measure_handles(struct run *run, struct run *exact, const struct change *change) {
  printf("%-14s %9s %9s %7s %7s %9s %9s\n", "another handle", "prepared", "shown", "frames", "missed", "longest",
         "off");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct errand e = {.run = run, .shape = shape_of(run, &others[i])};
    struct engine_result last;
    struct switching s;
    begin(exact, change);
    settle(run, change);
    switch_handle(run, &e, others[i].guidance, &s, &last);
    double off = check_picture(exact, &e, others[i].guidance, &last.picture);
    printf("%-14s %9.3f %9.3f %7d %7d %9.4f %9.3f\n", others[i].name, s.prepared, s.shown, s.frames, s.missed,
           s.longest, off);
    fflush(stdout);
    frame_release(&last.picture);
    engine_release(run->engine, &e.prepared);
    if (s.shown > another_handle_s)
      miss("%s: shown after %.2f s, not within %.0f", others[i].name, s.shown, another_handle_s);
    if (!(off < 1))
      miss("%s: its picture is off by %.2f levels", others[i].name, off);
  }
}
