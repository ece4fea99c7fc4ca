#include "cuda/ways/pair.h"

#include <math.h>
#include <stdio.h>

#include "cuda/ways/choose.h"
#include "cuda/ways/product.h"
#include "cuda/ways/tuner.h"

/* The choices between one launch and a launch for each op: `index` of struct choice, with way_pair as its way. */
enum { PAIR_APART, PAIR_TOGETHER, PAIR_CHOICES };
enum { KEY_BYTES = 128 };

/* The two products of a pair. The second one's prologue is the norm. */
struct pair {
  struct product first, second;
};

/* A tuning file might name this way for a single product, which it cannot do. */
static bool takes(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  (void)device;
  (void)args;
  (void)choice;
  return false;
}

const struct way way_pair = {.kind = LAUNCH_ROW_PAIR, .takes = takes};

static const struct choice together = {&way_pair, PAIR_TOGETHER, 1}, apart = {&way_pair, PAIR_APART, 1};

static bool has_second(const struct pair *pair) {
  const struct gemm_args *a = &pair->second.args;
  return a->act == ACT_NONE && row_pair_has(a->columns);
}

static struct launch describe(const struct pair *pair) {
  const struct gemm_args *a = &pair->first.args, *b = &pair->second.args;
  const struct norm_args *norm = &pair->second.prologue.norm;
  struct launch launch = {.kind = LAUNCH_ROW_PAIR, .op = pair->first.prologue.op};
  launch.row_pair = (struct row_pair){.x = a->x,
                                      .residual = a->residual,
                                      .first = {a->weight, a->bias},
                                      .norm = {norm->gamma, norm->beta, norm->eps},
                                      .h = a->y,
                                      .y = (half_t *)(uintptr_t)b->x,
                                      .rows = a->w,
                                      .c = a->c};
  if (has_second(pair)) {
    launch.row_pair.second = (struct row_product){b->weight, b->bias};
    launch.row_pair.columns = b->columns;
    launch.row_pair.y = b->y;
  }
  return launch;
}

static void make_key(const struct pair *pair, char key[KEY_BYTES]) {
  const struct gemm_args *a = &pair->first.args, *b = &pair->second.args;
  snprintf(key, KEY_BYTES, "%d rows c%d r%d, norm, c%d a%d b%d", a->w, a->c, a->residual != NULL, b->columns,
           (int)b->act, b->bias != NULL);
}

/* --- timing both --- */

static int append_product(struct cuda_device *device, const struct product *product, const struct choice *choice,
                          struct launches *launches) {
  return choice->way->append(device, product, choice, launches, NULL);
}

/* Appends the launches of a trial: both products by the given choices, and the norm between them; or those that the
 * fused launch leaves. */
static int append_trial(struct cuda_device *device, const struct pair *trial, const struct choice choices[2],
                        bool joined, struct launches *launches) {
  struct launch launch = joined ? describe(trial) : trial->second.prologue;
  if (!joined) {
    launch.norm.x = trial->first.args.y;
    launch.norm.y = (half_t *)(uintptr_t)trial->second.args.x;
    launch.norm.partial = trial->first.workspace;
  }
  if (product_space(&trial->first, launches, NULL) < 0 ||
      (!joined && append_product(device, &trial->first, &choices[0], launches) < 0) ||
      launches_append(launches, &launch, NULL) < 0)
    return -1;
  return joined && has_second(trial) ? 0 : append_product(device, &trial->second, &choices[1], launches);
}

/* Returns the faster of the two choices, and stores it in the tuning file if nothing disturbed the measurements. */
static struct choice time_pair(struct cuda_device *device, const struct pair *trial, const struct choice choices[2],
                               const char *key) {
  const struct choice *list[PAIR_CHOICES] = {&apart, &together}, *best = &together;
  double least = INFINITY;
  bool final = true;
  for (int i = 0; i < PAIR_CHOICES; i++) {
    struct launches launches = {0};
    bool disturbed = false;
    double seconds = -1;
    if (append_trial(device, trial, choices, list[i] == &together, &launches) == 0)
      seconds = product_time(device, &launches, least, &disturbed);
    launches_free(&launches);
    final = final && !disturbed && seconds >= 0;
    log_line(device->log, LOG_DEBUG, "%s: %s: %.2f us", key, i == PAIR_TOGETHER ? "together" : "apart", seconds * 1e6);
    tuner_note(device->tuner, key, list[i], seconds);
    if (seconds >= 0 && seconds < least) {
      least = seconds;
      best = list[i];
    }
  }
  tuner_store(device->tuner, key, best, final);
  return *best;
}

/* Returns the choice where nothing is timed: one launch while all of its thread blocks are on the GPU at the same time.
 * Where they take turns, as at 9216 rows on an H200, launches of their own were faster (ROWS.md). */
static struct choice choose_untimed(const struct cuda_device *device, const struct row_pair *pair) {
  return row_pair_blocks(pair->rows) <= device->queue.sms || device->together ? together : apart;
}

/* Returns whether a pair is one launch: by the tuning file, or by timing both. */
static struct choice choose(struct cuda_device *device, const struct cuda_program *program, const struct pair *pair) {
  struct launch launch = describe(pair);
  struct choice choice, choices[2];
  struct product trials[2];
  char key[KEY_BYTES];
  make_key(pair, key);
  if (!row_pair_supported(&device->product, &launch.row_pair))
    return apart;
  if (program->tune_until > 0 && tuner_find(device->tuner, key, &choice) && choice.way == &way_pair)
    return choice;
  if (product_untimed(device, program))
    return choose_untimed(device, &launch.row_pair);
  choices[0] = product_choose(device, program, &pair->first);
  choices[1] = product_choose(device, program, &pair->second);
  const struct product products[2] = {pair->first, pair->second};
  if (product_untimed(device, program) || device_check_wanted(&device->base, NULL) < 0 ||
      product_trials(device, program, products, 2, trials) < 0)
    return choose_untimed(device, &launch.row_pair);
  const struct pair trial = {trials[0], trials[1]};
  return time_pair(device, &trial, choices, key);
}

/* --- preparing a pair --- */

static int append_together(struct cuda_device *device, struct cuda_program *program, int index, const struct pair *pair,
                           struct error *err) {
  const struct launch launch = describe(pair);
  if ((pair->first.has_prologue && launches_append(&program->launches, &pair->first.prologue, err) < 0) ||
      launches_append(&program->launches, &launch, err) < 0)
    return -1;
  if (!has_second(pair) && product_append(device, program, index + 1, &pair->second, err) < 0)
    return -1;
  return product_keep(device, program, index, &together, err);
}

int pair_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct error *err) {
  struct pair pair;
  if (product_fill(device, program, plan, index, &pair.first, err) < 0 ||
      product_fill(device, program, plan, index + 1, &pair.second, err) < 0)
    return -1;
  /* for the second set of weights a pair is prepared as for the first one; apart, each op has a choice of its own */
  struct choice choice = program->set ? program->chosen[index] : choose(device, program, &pair);
  if (choice.way == &way_pair && choice.index == PAIR_TOGETHER)
    return append_together(device, program, index, &pair, err);
  return product_prepare(device, program, plan, index, err) < 0
             ? -1
             : product_prepare(device, program, plan, index + 1, err);
}
