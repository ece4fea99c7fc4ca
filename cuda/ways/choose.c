#include "cuda/ways/choose.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "cuda/timing.h"
#include "cuda/ways/product.h"
#include "cuda/ways/tuner.h"

/* Returns the implementation (way) that is known, without timing, to be the best for this product; NULL: there is
 * none. */
static const struct way *find_settled(const struct cuda_device *device, const struct gemm_args *shape) {
  for (int i = 0; i < WAYS && !device->forced; i++)
    if (ways[i]->settles && ways[i]->settles(device, shape))
      return ways[i];
  return NULL;
}

/* Returns true for the second of the three layers of a feed-forward (ways/feed.h). */
static bool is_fed(const struct cuda_program *program, const struct op *op) {
  int index = (int)(op - program->base.plan->ops);
  return index > 0 && program->fused[index - 1].product == FUSED_FEED;
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
  if (is_fed(program, op)) { /* its input and its residual side by side */
    product_fold_shape(op, &shape);
    size_t wanted = product_dense_bytes(&shape);
    bytes[SCRATCH_DENSE] = wanted > bytes[SCRATCH_DENSE] ? wanted : bytes[SCRATCH_DENSE];
  }
}

static void make_key(const struct product *product, char *key, size_t size) {
  const struct gemm_args *a = &product->args;
  char more[32] = "";
  if (a->more.x)
    snprintf(more, sizeof more, " and c%d+%d", a->more.c, a->more.c2);
  else if (a->attend.k)
    snprintf(more, sizeof more, ", %d tokens%s", a->attend.tokens, a->attend.k_text ? " each" : "");
  snprintf(key, size, "%dx%dx%d c%d+%d to %dx%d c%d k%d s%d p%d u%d a%d b%d t%d r%d%s%s%s%s", a->n, a->h, a->w, a->c,
           a->c2, a->out_h, a->out_w, a->columns, a->kernel, a->stride, a->pad, a->upsample, (int)a->act,
           a->bias != NULL, a->time != NULL, a->residual != NULL, a->gain.there ? " gain" : "",
           product->only ? " by " : "", product->only ? way_name(product->only) : "", more);
}

/* --- timing candidates on a copy of the product --- */

static size_t aligned(size_t bytes) {
  return (bytes + 255) / 256 * 256;
}

static size_t input_rows(const struct gemm_args *a) {
  return (size_t)a->n * (size_t)a->h * (size_t)a->w;
}

static size_t output_rows(const struct gemm_args *a) {
  return (size_t)a->n * (size_t)a->out_h * (size_t)a->out_w;
}

/* Returns the next free address for an operand of `bytes` bytes, and moves *next to its end. Modulo 256 the address
 * equals `like`, the operand's address in frames, so that both have the same alignment. */
static void *place(uintptr_t *next, const void *like, size_t bytes) {
  uintptr_t at = *next + (uintptr_t)like % 256;
  *next += aligned(bytes) + 256;
  return (void *)at;
}

/* Sets the addresses of a copy of a product that is to be timed: operands and scratch memory, one after the other from
 * `base` on. If the product adds its result to the residual in place, so does the copy. Returns how many bytes they
 * take. base NULL: only this number is wanted. */
static size_t place_operands(void *base, const size_t scratch[SCRATCH_AREAS], struct product *product) {
  struct gemm_args *a = &product->args;
  uintptr_t next = (uintptr_t)base;
  bool in_place = a->residual == a->y;
  size_t row = (size_t)a->columns * sizeof(half_t);
  a->x = place(&next, a->x, input_rows(a) * (size_t)a->c * sizeof(half_t));
  if (a->x2)
    a->x2 = place(&next, a->x2, input_rows(a) * (size_t)a->c2 * sizeof(half_t));
  a->y = place(&next, a->y, output_rows(a) * row);
  if (a->attend.k)
    a->attend.o = place(&next, a->attend.o, output_rows(a) * row);
  if (a->residual)
    a->residual = in_place ? a->y : place(&next, a->residual, output_rows(a) * row);
  if (a->time)
    a->time = place(&next, a->time, row);
  for (int i = 0; i < SCRATCH_AREAS; i++)
    product->scratch[i] = place(&next, product->scratch[i], scratch[i]);
  return (size_t)(next - (uintptr_t)base);
}

/* Returns how many bytes of operands and scratch memory op number `index` needs while it is timed. folded: as one
 * product with the op behind it. */
static size_t op_bytes(const struct cuda_device *device, const struct cuda_program *program, int index, bool folded) {
  static const half_t there;
  const struct op *op = &program->base.plan->ops[index];
  size_t scratch[SCRATCH_AREAS] = {0};
  struct product product = {0};
  if (!is_product(op))
    return 0;
  product_scratch(device, program, op, scratch);
  if (folded)
    product_fold_shape(op, &product.args);
  else
    product_shape(program, op, &product.args);
  product.args.x2 = product.args.residual = product.args.time = &there;
  product.args.attend.k = program->fused[index].product == FUSED_QUERY ? &there : NULL;
  return place_operands(NULL, scratch, &product);
}

/* Returns how many bytes the largest product, or the largest products that are timed together, need meanwhile. */
static size_t trial_bytes(const struct cuda_device *device, const struct cuda_program *program) {
  size_t most = 0;
  for (int i = 0; i < program->base.plan->op_count; i++) {
    int product = program->fused[i].product;
    size_t bytes = op_bytes(device, program, i, product == FUSED_LAYERS);
    if (product == FUSED_PAIR || product == FUSED_FEED)
      bytes += op_bytes(device, program, i + 1, false);
    if (product == FUSED_FEED)
      bytes += op_bytes(device, program, i + 2, false) + op_bytes(device, program, i + 1, true);
    most = bytes > most ? bytes : most;
  }
  return most;
}

enum { COUNTER_BYTES = ARRIVALS * sizeof(unsigned), OWN_BYTES = WORKSPACE_BYTES + COUNTER_BYTES };

static int reserve_trials(struct cuda_device *device, const struct cuda_program *program) {
  struct preparing *p = &device->preparing;
  if (p->memory)
    return 0;
  p->bytes = OWN_BYTES + trial_bytes(device, program);
  if (cuda_alloc(device, &p->memory, p->bytes, "trials", NULL) < 0)
    return -1;
  char *counters = (char *)p->memory + WORKSPACE_BYTES;
  return cudaMemsetAsync(counters, 0, COUNTER_BYTES, p->queue.stream) == cudaSuccess ? 0 : -1;
}

/* Copies for timing have their own operands, workspace and counters, because runs that go on meanwhile use those of the
 * program. Weights are only read, and shared. Operands are not 0, because zeros would make the candidates faster. */
int product_trials(struct cuda_device *device, const struct cuda_program *program, const struct product *products,
                   int count, struct product *trials) {
  struct preparing *p = &device->preparing;
  if (reserve_trials(device, program) < 0)
    return -1;
  char *operands = (char *)p->memory + OWN_BYTES;
  size_t bytes = 0;
  for (int i = 0; i < count; i++) {
    size_t scratch[SCRATCH_AREAS] = {0};
    trials[i] = products[i];
    trials[i].workspace = p->memory;
    trials[i].arrivals = (unsigned *)((char *)p->memory + WORKSPACE_BYTES);
    product_scratch(device, program, &program->base.plan->ops[products[i].prologue.op], scratch);
    bytes += place_operands(operands + bytes, scratch, &trials[i]);
  }
  return cudaMemsetAsync(operands, 0x3c, bytes, p->queue.stream) == cudaSuccess ? 0 : -1;
}

/* Makes *launch a copy of the norm that precedes the product. The copy works in place, and is run between timed
 * launches. Returns false if the product has no norm before it, or one that pads channels. */
static bool norm_as_spacer(const struct product *product, struct launch *launch) {
  const struct gemm_args *a = &product->args;
  *launch = product->prologue;
  struct norm_args *norm = &launch->norm;
  if (!product->has_prologue || launch->kind != LAUNCH_NORM || norm->c + norm->c2 != norm->pitch)
    return false;
  norm->x = a->x;
  norm->y = (half_t *)(uintptr_t)a->x;
  norm->x2 = NULL;
  norm->x_f32 = false;
  norm->c = norm->pitch;
  norm->c2 = 0;
  norm->partial = product->workspace;
  return true;
}

/* Appends a kernel that runs before a timed candidate: the norm that also precedes the product in a frame, or else a
 * tiny kernel. In a frame most products stand between small kernels of this program. Directly after itself, a candidate
 * would have other times: a kernel that needs much shared memory could not start early, and kernels of a library would
 * have one gap between them instead of two. */
int product_space(const struct product *product, struct launches *launches, struct error *err) {
  struct launch norm;
  if (norm_as_spacer(product, &norm))
    return launches_append(launches, &norm, err);
  struct launch launch = {.kind = LAUNCH_GATHER};
  launch.gather =
      (struct gather_args){.x = product->arrivals, .y = product->workspace, .n = 1, .h = 1, .w = 1, .c = 8, .pitch = 8};
  return launches_append(launches, &launch, err);
}

/* The mutex base.weights is unlocked during the measurement, so that runs and changes of weights go on. */
double product_time(struct cuda_device *device, const struct launches *launches, double least, bool *disturbed) {
  struct preparing *p = &device->preparing;
  if (cudaEventRecord(p->loaded, device->loads.queue.stream) != cudaSuccess ||
      cudaStreamWaitEvent(p->queue.stream, p->loaded, 0) != cudaSuccess)
    return -1;
  pthread_mutex_unlock(&device->base.weights);
  double seconds = launches_time(device, &p->queue, launches, least, disturbed);
  pthread_mutex_lock(&device->base.weights);
  return seconds;
}

/* Appends the launches of a product by a choice, and of the attention that it does not end with. */
static int append_choice(struct cuda_device *device, const struct product *product, const struct choice *choice,
                         struct launches *launches, struct error *err) {
  struct launch attention = product->attention;
  if (choice->way->append(device, product, choice, launches, err) < 0)
    return -1;
  if (!product->args.attend.k || choice_attends(choice))
    return 0;
  attention.attention.args.q = product->args.y;
  attention.attention.args.o = product->args.attend.o;
  return launches_append(launches, &attention, err);
}

/* Returns how many seconds one candidate for a product takes. */
static double time_candidate(struct cuda_device *device, const struct product *product, const struct choice *choice,
                             double least, bool *disturbed) {
  struct launches trial = {0};
  double seconds = -1;
  if (product_space(product, &trial, NULL) == 0 && append_choice(device, product, choice, &trial, NULL) == 0)
    seconds = product_time(device, &trial, least, disturbed);
  launches_free(&trial);
  return seconds;
}

enum outcome {
  LEFT_OVER /* the time was over, or the caller gave up, before all candidates were timed */,
  DISTURBED /* all candidates were timed, but runs of programs went on meanwhile, so that the choice is not saved */,
  SETTLED
};

/* Times the candidates for a product one after the other, and stores the fastest one in *best. Stops at the time
 * `until`. */
static enum outcome time_candidates(struct cuda_device *device, const struct product *product, const char *key,
                                    const struct choice *list, int count, double until, struct choice *best) {
  double least = INFINITY;
  enum outcome outcome = SETTLED;
  for (int i = 0; i < count; i++) {
    bool disturbed = false;
    if (clock_seconds() >= until || device_check_wanted(&device->base, NULL) < 0)
      return LEFT_OVER;
    double seconds = time_candidate(device, product, &list[i], least, &disturbed);
    if (disturbed)
      outcome = DISTURBED;
    log_line(device->log, LOG_DEBUG, "%s: %s %d%s, %d splits: %.2f us", key, way_name(list[i].way), list[i].index,
             choice_remark(&list[i]), list[i].splits, seconds * 1e6);
    tuner_note(device->tuner, key, &list[i], seconds);
    if (seconds >= 0 && seconds < least) {
      least = seconds;
      *best = list[i];
    }
  }
  return outcome;
}

static int list_candidates(const struct cuda_device *device, const struct product *product,
                           struct choice list[CANDIDATES_MAX]) {
  const struct gemm_args *args = &product->args;
  const struct way *settled = product->only ? product->only : find_settled(device, args);
  int count = 0;
  for (int i = 0; i < WAYS; i++)
    if (!settled || ways[i] == settled)
      count += ways[i]->candidates(device, args, list + count);
  return count;
}

bool product_untimed(const struct cuda_device *device, const struct cuda_program *program) {
  return clock_seconds() >= program->tune_until || device->preparing.cramped || tuner_is_given(device->tuner);
}

static struct choice find_best(struct cuda_device *device, const struct cuda_program *program,
                               const struct product *product) {
  struct choice list[CANDIDATES_MAX];
  struct product trial, loaded = *product;
  char key[128];
  int count = list_candidates(device, product, list);
  struct choice best = list[0];
  make_key(product, key, sizeof key);
  if (product_untimed(device, program) || product_load(device, &loaded, NULL) < 0)
    return best;
  if (product_trials(device, program, &loaded, 1, &trial) < 0) {
    device->preparing.cramped = true;
    log_line(device->log, LOG_INFO, "cuda: no room to try out the ways to do this network's products: choices by rule");
    return best;
  }
  enum outcome outcome = time_candidates(device, &trial, key, list, count, program->tune_until, &best);
  if (outcome != LEFT_OVER)
    tuner_store(device->tuner, key, &best, outcome == SETTLED);
  return best;
}

/* Programs that time nothing (tune_until 0) use fixed rules alone. So a text is always encoded to the same bits,
 * whatever other programs have measured for the same shapes. */
struct choice product_choose(struct cuda_device *device, const struct cuda_program *program,
                             const struct product *product) {
  const struct way *settled = find_settled(device, &product->args);
  struct choice choice;
  char key[128];
  if (device->forced && device->forced->way->takes(device, &product->args, device->forced))
    return *device->forced;
  make_key(product, key, sizeof key);
  if (program->tune_until > 0 && tuner_find(device->tuner, key, &choice) && (!settled || choice.way == settled) &&
      choice.way->takes(device, &product->args, &choice))
    return choice;
  return find_best(device, program, product);
}

/* Lets the kernel of OP_PIXELS_IN also write its pixels with channels padded to 8, if that is all that the gather does.
 * Returns false if it is not. */
static bool copy_pixels(struct pixels_args *pixels, const struct gather_args *g) {
  if (g->x != pixels->y || g->x_f32 || g->act != ACT_NONE || g->pitch != 8 || g->n != pixels->n || g->h != pixels->h ||
      g->w != pixels->w)
    return false;
  pixels->padded = g->y;
  return true;
}

/* Lets the kernel of OP_UNET_INPUT or OP_STEP also write what the gather would make of its result. Returns false if it
 * makes something else. */
static bool copy_sample(struct launch *launch, const struct gather_args *g) {
  struct sample_args *args = &launch->sample.args;
  bool able = launch->sample.enqueue == launch_unet_input || launch->sample.enqueue == launch_step;
  if (!able || g->x != args->y || g->x_f32 != (args->y_type == DTYPE_F32) ||
      (size_t)g->n * (size_t)g->h * (size_t)g->w * (size_t)g->c != (size_t)args->n * args->count)
    return false;
  args->copy = (struct sample_copy){g->y, g->c, g->pitch, g->act};
  return true;
}

/* Returns true if the launch is made whenever the product is, and on the same lane, with no launch between the two:
 * neither is in a region (ops that a run may skip), nor does the loop begin between them. Where it ends between them,
 * the last iteration's launch is the one before. Others may run beside. */
static bool is_certain(const struct plan *plan, const struct launch *last, const struct product *product) {
  int index = product->prologue.op;
  return product->follows ||
         (!plan_region_of(plan, last->op) && !plan_region_of(plan, index) && index != plan->loop.first);
}

/* Saves the launch that makes a convolution's input (the gather of its prologue), if the op before can also write its
 * result as the convolution reads it: it writes to scratch memory, which no launch between the two uses. Returns false
 * if the op before cannot. */
static bool copy_ahead(struct cuda_program *program, const struct product *product) {
  const struct gather_args *g = &product->prologue.gather;
  struct launches *launches = &program->launches;
  struct launch *last = launches->count ? &launches->list[launches->count - 1] : NULL;
  if (product->prologue.kind != LAUNCH_GATHER || !last || last->op != product->prologue.op - 1 || g->x2 ||
      g->upsample || !is_certain(program->base.plan, last, product))
    return false;
  return last->kind == LAUNCH_PIXELS_IN ? copy_pixels(&last->pixels, g)
         : last->kind == LAUNCH_SAMPLE  ? copy_sample(last, g)
                                        : false;
}

int product_keep(const struct cuda_device *device, struct cuda_program *program, int index, const struct choice *choice,
                 struct error *err) {
  if (!device->merge)
    return 0;
  if (!program->chosen)
    program->chosen = calloc((size_t)program->base.plan->op_count, sizeof *program->chosen);
  if (!program->chosen)
    return error_set(err, STATUS_FAILED, "out of memory");
  program->chosen[index] = *choice;
  return 0;
}

static int fill(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                struct product *product, struct error *err) {
  switch (program->fused[index].product) {
  case FUSED_LAYERS:
    return product_fold(device, program, plan, index, product, err);
  case FUSED_SHORTCUT:
    return product_add(device, program, plan, index, product, err);
  default:
    return product_fill(device, program, plan, index, product, err);
  }
}

/* Appends the launches of a filled product: first its prologue. */
static int append_all(struct cuda_device *device, struct cuda_program *program, int index,
                      const struct product *product, struct error *err) {
  if (product->has_prologue && !copy_ahead(program, product) &&
      launches_append(&program->launches, &product->prologue, err) < 0)
    return -1;
  return product_append(device, program, index, product, err);
}

int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err) {
  struct product product;
  return fill(device, program, plan, index, &product, err) < 0 ? -1 : append_all(device, program, index, &product, err);
}

int query_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                  const struct launch *attention, struct error *err) {
  const struct attn_args *a = &attention->attention.args;
  struct product product;
  if (product_fill(device, program, plan, index, &product, err) < 0)
    return -1;
  product.attention = *attention;
  product.args.attend = (struct product_attend){.k = a->k,
                                                .v = a->v,
                                                .o = a->o,
                                                .k_row = a->k_row,
                                                .v_row = a->v_row,
                                                .k_text = a->k_batch,
                                                .v_text = a->v_batch,
                                                .tokens = a->Tk,
                                                .rows = a->Tq,
                                                .scale = a->scale};
  return append_all(device, program, index, &product, err);
}

/* Appends the product's launches. A weight that was not loaded yet is loaded if they read it as it is. If they read it
 * as four of 2x2, it is dropped. */
static int append_way(struct cuda_device *device, struct cuda_program *program, const struct product *product,
                      const struct choice *choice, struct error *err) {
  struct product loaded = *product;
  bool waits = !product->args.weight, quarters = choice->way->quarters && choice->way->quarters(&product->args);
  if (waits && !quarters && product_load(device, &loaded, err) < 0)
    return -1;
  if (append_choice(device, &loaded, choice, &program->launches, err) < 0)
    return -1;
  if (waits && !quarters)
    device->resource[product->weight].read = true;
  if (waits && quarters)
    resource_drop(device, product->weight);
  return 0;
}

int product_append(struct cuda_device *device, struct cuda_program *program, int index, const struct product *product,
                   struct error *err) {
  struct choice choice = program->set ? program->chosen[index] : product_choose(device, program, product);
  int mark = program->launches.count;
  if (append_way(device, program, product, &choice, err) == 0)
    return product_keep(device, program, index, &choice, err);
  if (choice.way == ways[0] || product->only)
    return -1;
  /* A library has refused the choice that was read from the tuning file, so choose anew. The candidates include the
   * first way (gemm.c), which can do every product. */
  launches_truncate(&program->launches, mark);
  choice = find_best(device, program, product);
  return append_way(device, program, product, &choice, err) < 0 ? -1
                                                                : product_keep(device, program, index, &choice, err);
}
