#include "cuda/ways/choose.h"

#include <math.h>
#include <stdio.h>

#include "cuda/timing.h"
#include "cuda/ways/product.h"
#include "cuda/ways/tuner.h"

/* The way beside which none is tried; NULL: there is none. */
static const struct way *find_settled(const struct cuda_device *device, const struct gemm_args *shape) {
  for (int i = 0; i < WAYS && !device->forced; i++)
    if (ways[i]->settles && ways[i]->settles(device, shape))
      return ways[i];
  return NULL;
}

void product_scratch(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                     size_t bytes[SCRATCH_AREAS]) {
  struct gemm_args shape;
  bytes[SCRATCH_PROLOGUE] = product_shape(program, op, &shape);
  const struct way *settled = find_settled(device, &shape);
  for (int i = 0; i < WAYS; i++) {
    size_t wanted[SCRATCH_AREAS] = {0};
    if (ways[i]->scratch && (!settled || ways[i] == settled))
      ways[i]->scratch(&shape, wanted);
    for (int j = 0; j < SCRATCH_AREAS; j++)
      bytes[j] = wanted[j] > bytes[j] ? wanted[j] : bytes[j];
  }
}

static void make_key(const struct gemm_args *a, char *key, size_t size) {
  snprintf(key, size, "%dx%dx%d c%d+%d to %dx%d c%d k%d s%d p%d u%d a%d b%d t%d r%d", a->n, a->h, a->w, a->c, a->c2,
           a->out_h, a->out_w, a->columns, a->kernel, a->stride, a->pad, a->upsample, (int)a->act, a->bias != NULL,
           a->time != NULL, a->residual != NULL);
}

/* A tiny kernel ahead of each candidate. In a frame most products stand between small kernels of our own. Timed behind
 * itself, a kernel that needs much shared memory could not begin early, and a library's would have one gap instead of
 * two. */
static int append_spacer(const struct cuda_device *device, struct launches *launches, struct error *err) {
  struct launch launch = {.kind = LAUNCH_GATHER};
  launch.gather =
      (struct gather_args){.x = device->arrivals, .y = device->workspace, .n = 1, .h = 1, .w = 1, .c = 8, .pitch = 8};
  return launches_append(launches, &launch, err);
}

/* *best gets the fastest of the candidates that were timed before `until`. Returns whether all were. */
static bool time_candidates(struct cuda_device *device, const struct product *product, const char *key,
                            const struct choice *list, int count, double until, struct choice *best) {
  double least = INFINITY;
  for (int i = 0; i < count; i++) {
    struct launches trial = {0};
    double seconds = -1;
    if (clock_seconds() >= until)
      return false;
    if (append_spacer(device, &trial, NULL) == 0 && list[i].way->append(device, product, &list[i], &trial, NULL) == 0)
      seconds = launches_time(device, &trial, least);
    launches_free(&trial);
    log_line(device->log, LOG_DEBUG, "%s: %s %d, %d splits: %.2f us", key, way_name(list[i].way), list[i].index,
             list[i].splits, seconds * 1e6);
    if (seconds >= 0 && seconds < least) {
      least = seconds;
      *best = list[i];
    }
  }
  return true;
}

static int list_candidates(const struct cuda_device *device, const struct gemm_args *args,
                           struct choice list[CANDIDATES_MAX]) {
  const struct way *settled = find_settled(device, args);
  int count = 0;
  for (int i = 0; i < WAYS; i++)
    if (!settled || ways[i] == settled)
      count += ways[i]->candidates(device, args, list + count);
  return count;
}

static struct choice find_best(struct cuda_device *device, const struct cuda_program *program,
                               const struct product *product) {
  struct choice list[CANDIDATES_MAX];
  char key[128];
  int count = list_candidates(device, &product->args, list);
  struct choice best = list[0];
  make_key(&product->args, key, sizeof key);
  if (time_candidates(device, product, key, list, count, program->tune_until, &best))
    tuner_store(device->tuner, key, &best);
  return best;
}

static struct choice choose(struct cuda_device *device, const struct cuda_program *program,
                            const struct product *product) {
  const struct way *settled = find_settled(device, &product->args);
  struct choice choice;
  char key[128];
  if (device->forced && device->forced->way->takes(device, &product->args, device->forced))
    return *device->forced;
  make_key(&product->args, key, sizeof key);
  if (tuner_find(device->tuner, key, &choice) && (!settled || choice.way == settled) &&
      choice.way->takes(device, &product->args, &choice))
    return choice;
  return find_best(device, program, product);
}

/* Pixels that a convolution reads next are written as it reads them, so that nothing has to pad them. */
static bool pad_pixels(struct launches *launches, const struct launch *prologue) {
  const struct gather_args *g = &prologue->gather;
  struct launch *last = launches->count ? &launches->list[launches->count - 1] : NULL;
  if (!last || last->kind != LAUNCH_PIXELS_IN || prologue->kind != LAUNCH_GATHER || g->x != last->pixels.y || g->x2 ||
      g->x_f32 || g->upsample || g->act != ACT_NONE || g->pitch != 8)
    return false;
  last->pixels.padded = g->y;
  return true;
}

int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err) {
  struct product product;
  if (product_fill(device, program, plan, index, &product, err) < 0)
    return -1;
  if (product.has_prologue && !pad_pixels(&program->launches, &product.prologue) &&
      launches_append(&program->launches, &product.prologue, err) < 0)
    return -1;
  struct choice choice = choose(device, program, &product);
  int mark = program->launches.count;
  if (choice.way->append(device, &product, &choice, &program->launches, err) == 0)
    return 0;
  if (choice.way == ways[0])
    return -1;
  /* A library refused the choice in the tuning file. The candidates include the first way, which takes every
   * product. */
  launches_truncate(&program->launches, mark);
  choice = find_best(device, program, &product);
  return choice.way->append(device, &product, &choice, &program->launches, err);
}
