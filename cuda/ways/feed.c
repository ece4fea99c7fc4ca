#include "cuda/ways/feed.h"

#include <math.h>
#include <stdio.h>

#include "cuda/libraries/libraries.h"
#include "cuda/ways/choose.h"
#include "cuda/ways/product.h"
#include "cuda/ways/tuner.h"

/* Choices are those of way_pair: `index` 0: apart; above it: two products, the second by the library's algorithm number
 * index - 1. */
enum { FEED_APART, FEED_ALGORITHMS = 4, FEED_CHOICES = 1 + FEED_ALGORITHMS };
enum { KEY_BYTES = 128 };

/* The products: apart those of wide, narrow and outer, together those of wide and folded. */
enum { WIDE, NARROW, OUTER, FOLDED, FEED_PRODUCTS };

bool feed_supported(const struct cuda_device *device, const struct op *op) {
  enum { BYTES_MOST = 8 << 20 };
  struct gemm_args shape;
  product_fold_shape(op, &shape);
  size_t bytes = (size_t)shape.columns * (size_t)(shape.c + shape.c2) * sizeof(half_t);
  return device->blas && shape.c % 8 == 0 && shape.columns % 16 == 0 && bytes <= BYTES_MOST;
}

static void make_key(const struct product products[FEED_PRODUCTS], char key[KEY_BYTES]) {
  const struct gemm_args *wide = &products[WIDE].args, *outer = &products[OUTER].args;
  snprintf(key, KEY_BYTES, "%d rows c%d, GEGLU to c%d, to c%d, to c%d b%d", wide->w, wide->c, wide->columns / 2,
           outer->c, outer->columns, wide->bias != NULL);
}

/* Appends the library's product with GEGLU, whose epilogue puts the residual beside its result, and the product of
 * both. The bias of that product, which is FP32, becomes FP16 where the first product's input was. */
static int append_together(struct cuda_device *device, const struct product products[FEED_PRODUCTS],
                           const struct choice *wide, int algorithm, struct launches *launches, struct error *err) {
  const struct product *folded = &products[FOLDED];
  struct gemm_args args = folded->args;
  half_t *dense = folded->scratch[SCRATCH_DENSE], *bias = products[WIDE].scratch[SCRATCH_PROLOGUE];
  if (wide->way->append(device, &products[WIDE], wide, launches, err) < 0)
    return -1;
  struct launch *last = &launches->list[launches->count - 1];
  if (last->kind != LAUNCH_EPILOGUE)
    return error_set(err, STATUS_DEVICE, "cuda: a product with GEGLU has no epilogue of its own");
  last->epilogue.y = dense;
  last->joined =
      (struct gates_beside){.x = args.x2, .c = args.c2, .bias = args.bias, .bias_f16 = bias, .count = args.columns};
  args.x = dense;
  args.x2 = NULL;
  args.c += args.c2;
  args.c2 = 0;
  struct launch launch = {.kind = LAUNCH_BLAS, .op = folded->prologue.op, .algorithm = algorithm};
  launch.blas = blas_product_create(device->blas, &args, bias, args.y, algorithm, folded->workspace, WORKSPACE_BYTES);
  if (!launch.blas)
    return error_set(err, STATUS_DEVICE, "cuda: cuBLASLt has no algorithm %d for this product", algorithm);
  if (launches_append(launches, &launch, err) == 0)
    return 0;
  blas_product_destroy(launch.blas);
  return -1;
}

static int append_product(struct cuda_device *device, const struct product *product, const struct choice *choice,
                          struct launches *launches) {
  return choice->way->append(device, product, choice, launches, NULL);
}

/* --- timing both --- */

static int append_trial(struct cuda_device *device, const struct product trials[FEED_PRODUCTS],
                        const struct choice choices[FOLDED], int index, struct launches *launches) {
  if (product_space(&trials[WIDE], launches, NULL) < 0)
    return -1;
  if (index != FEED_APART)
    return append_together(device, trials, &choices[WIDE], index - 1, launches, NULL);
  for (int i = WIDE; i < FOLDED; i++)
    if (append_product(device, &trials[i], &choices[i], launches) < 0)
      return -1;
  return 0;
}

/* Returns the fastest choice, and stores it in the tuning file if nothing disturbed the measurements. */
static struct choice time_feed(struct cuda_device *device, const struct product trials[FEED_PRODUCTS],
                               const struct choice choices[FOLDED], const char *key) {
  struct choice best = {&way_pair, FEED_APART, 1};
  double least = INFINITY;
  bool final = true;
  for (int i = 0; i < FEED_CHOICES; i++) {
    struct choice choice = {&way_pair, i, 1};
    struct launches launches = {0};
    bool disturbed = false;
    double seconds = -1;
    if (append_trial(device, trials, choices, i, &launches) == 0)
      seconds = product_time(device, &launches, least, &disturbed);
    launches_free(&launches);
    final = final && !disturbed;
    log_line(device->log, LOG_DEBUG, "%s: %s %d: %.2f us", key, i == FEED_APART ? "apart" : "together", i,
             seconds * 1e6);
    tuner_note(device->tuner, key, &choice, seconds);
    if (seconds >= 0 && seconds < least) {
      least = seconds;
      best = choice;
    }
  }
  tuner_store(device->tuner, key, &best, final);
  return best;
}

/* Returns whether the last two layers are one product: by the tuning file, or by timing. Fills products[FOLDED] only if
 * it is needed. choices[WIDE] becomes how the first product is made. */
static struct choice choose(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                            int index, struct product products[FEED_PRODUCTS], struct choice choices[FOLDED]) {
  const struct choice apart = {&way_pair, FEED_APART, 1}, together = {&way_pair, FEED_APART + 1, 1};
  struct product trials[FEED_PRODUCTS];
  struct choice choice;
  char key[KEY_BYTES];
  make_key(products, key);
  if (device->together) { /* wanted by a test */
    choices[WIDE] = (struct choice){&way_cublaslt, 0, 1};
    return together;
  }
  choices[WIDE] = product_choose(device, program, &products[WIDE]);
  if (choices[WIDE].way != &way_cublaslt)
    return apart;
  if (program->tune_until > 0 && tuner_find(device->tuner, key, &choice) && choice.way == &way_pair)
    return choice;
  if (product_untimed(device, program))
    return apart;
  for (int i = NARROW; i < FOLDED; i++)
    choices[i] = product_choose(device, program, &products[i]);
  if (product_untimed(device, program) || device_check_wanted(&device->base, NULL) < 0 ||
      product_fold(device, program, plan, index + 1, &products[FOLDED], NULL) < 0 ||
      product_trials(device, program, products, FEED_PRODUCTS, trials) < 0)
    return apart;
  return time_feed(device, trials, choices, key);
}

/* --- preparing it --- */

/* Appends the two products. Returns -1, with no launch appended, if that is impossible. */
static int prepare_together(struct cuda_device *device, struct cuda_program *program, const struct plan *plan,
                            int index, struct product products[FEED_PRODUCTS], const struct choice *choice,
                            const struct choice *wide, struct error *err) {
  int mark = program->launches.count;
  if (product_fold(device, program, plan, index + 1, &products[FOLDED], err) == 0 &&
      launches_append(&program->launches, &products[WIDE].prologue, err) == 0 &&
      append_together(device, products, wide, choice->index - 1, &program->launches, err) == 0 &&
      product_keep(device, program, index, choice, err) == 0 &&
      product_keep(device, program, index + 1, wide, err) == 0)
    return 0;
  launches_truncate(&program->launches, mark);
  return -1;
}

int feed_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                 struct error *err) {
  struct product products[FEED_PRODUCTS];
  struct choice choices[FOLDED], choice;
  for (int i = WIDE; i < FOLDED; i++)
    if (product_fill(device, program, plan, index + i, &products[i], err) < 0)
      return -1;
  /* for the second set of weights the layers are prepared as for the first one; apart, each has a choice of its own */
  if (program->set) {
    choice = program->chosen[index];
    choices[WIDE] = program->chosen[index + 1];
  } else {
    choice = choose(device, program, plan, index, products, choices);
  }
  if (choice.way == &way_pair && choice.index != FEED_APART) {
    int status = prepare_together(device, program, plan, index, products, &choice, &choices[WIDE], err);
    if (status == 0 || program->set)
      return status;
  }
  for (int i = WIDE; i < FOLDED; i++)
    if (product_prepare(device, program, plan, index + i, err) < 0)
      return -1;
  return 0;
}
