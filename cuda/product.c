/* Convolutions and linear layers. Both are products of rows with a weight matrix (struct gemm_args); what an op has
 * beside that, its prologue, runs before. The project's own kernel takes concatenated and upsampled inputs as they are
 * and does the whole epilogue; libraries get a prepared input and, for what they lack, an epilogue kernel.
 *
 * Scratch areas: 0 the prologue's result; 1 the input concatenated and upsampled for a library; 2 a library's product
 * before GEGLU, or bias and time row as one vector. */
#include "check.h"
#include "cuda_device.h"
#include "cuda/libraries/libraries.h"
#include "tune.h"

#include <math.h>
#include <stdio.h>

enum { PRODUCT_CANDIDATES = 6 };

struct product {
  struct gemm_args args;
  struct step prologue; /* first, when has_prologue */
  bool has_prologue;
  int bias; /* resource, or -1 */
  void *scratch[3];
};

/* The operands that convolutions and linear layers share. */
struct operands {
  struct tensor x, x2, weight, bias, time, residual, y;
  struct prologue prologue;
};

static struct operands get_operands(const struct op *op) {
  if (op->type == OP_CONV) {
    const struct op_conv *o = &op->conv;
    return (struct operands){o->x, o->x2, o->weight, o->bias, o->time, o->residual, o->y, o->prologue};
  }
  const struct op_linear *o = &op->linear;
  return (struct operands){.x = o->x,
                           .x2 = o->x2,
                           .weight = o->weight,
                           .bias = o->bias,
                           .residual = o->residual,
                           .y = o->y,
                           .prologue = o->prologue};
}

static int pad8(int channels) {
  return (channels + 7) / 8 * 8;
}

static bool is_wide(const struct plan *plan, struct tensor t) {
  return t.space == TENSOR_TEMP ? plan->temps[t.index].wide : plan->resources->list[t.index].wide;
}

static bool needs_prologue(const struct plan *plan, const struct operands *o) {
  return o->prologue.norm != NORM_NONE || o->prologue.act != ACT_NONE || o->x.c % 8 || o->x2.c % 8 ||
         is_wide(plan, o->x);
}

void product_scratch(const struct plan *plan, const struct op *op, size_t bytes[3]) {
  bytes[0] = bytes[1] = bytes[2] = 0;
  if (op->type != OP_CONV && op->type != OP_LINEAR)
    return;
  struct operands o = get_operands(op);
  bool upsample = op->type == OP_CONV && op->conv.upsample;
  size_t input = tensor_rows(o.x) * (size_t)pad8(o.x.c + o.x2.c) * 2;
  if (needs_prologue(plan, &o))
    bytes[0] = input;
  if (upsample || tensor_exists(o.x2))
    bytes[1] = upsample ? 4 * input : input;
  if (op->type == OP_LINEAR && op->linear.act == ACT_GEGLU)
    bytes[2] = tensor_rows(o.y) * (size_t)o.weight.n * 2;
  else if (tensor_exists(o.time))
    bytes[2] = (size_t)o.weight.n * 2;
}

/* --- an op as a product --- */

static void fill_shape(struct gemm_args *args, const struct op *op, const struct operands *o) {
  *args = (struct gemm_args){.n = o->x.n,
                             .h = o->x.h,
                             .w = o->x.w,
                             .c = o->x.c,
                             .c2 = o->x2.c,
                             .out_h = o->y.h,
                             .out_w = o->y.w,
                             .kernel = o->weight.h,
                             .stride = 1,
                             .columns = o->weight.n,
                             .splits = 1};
  if (op->type == OP_CONV) {
    args->stride = op->conv.stride;
    args->pad = op->conv.pad;
    args->upsample = op->conv.upsample;
    args->act = op->conv.act;
  } else { /* y may be a state of another shape than x with as many rows */
    args->n = 1;
    args->h = args->out_h = 1;
    args->w = args->out_w = (int)tensor_rows(o->x);
    args->act = op->linear.act;
    args->residual_last = true;
  }
}

/* A NULL for an operand left out is no failure: ok says. */
static void *optional(struct cuda_device *device, const struct cuda_program *program, struct tensor t, enum role role,
                      bool *ok, struct error *err) {
  if (!tensor_exists(t))
    return NULL;
  void *data = tensor_data(device, program, t, NULL, role, err);
  *ok = *ok && data;
  return data;
}

static void set_prologue(const struct cuda_device *device, struct product *product, const struct operands *o, bool wide,
                         const float *gamma, const float *beta) {
  struct gemm_args *args = &product->args;
  const struct prologue *p = &o->prologue;
  int pitch = pad8(args->c + args->c2);
  struct step *step = &product->prologue;
  *step = (struct step){.kind = p->norm == NORM_NONE ? STEP_GATHER : STEP_NORM, .op = step->op};
  if (p->norm == NORM_NONE)
    step->gather = (struct gather_args){.x = args->x,
                                        .x2 = args->x2,
                                        .wide = wide,
                                        .y = product->scratch[0],
                                        .n = args->n,
                                        .h = args->h,
                                        .w = args->w,
                                        .c = args->c,
                                        .c2 = args->c2,
                                        .pitch = pitch,
                                        .act = p->act};
  else
    step->norm = (struct norm_args){.x = args->x,
                                    .x2 = args->x2,
                                    .wide = wide,
                                    .gamma = gamma,
                                    .beta = beta,
                                    .y = product->scratch[0],
                                    .n = o->x.n,
                                    .pixels = o->x.h * o->x.w,
                                    .c = args->c,
                                    .c2 = args->c2,
                                    .pitch = pitch,
                                    .groups = p->norm == NORM_GROUP ? p->groups : 0,
                                    .eps = p->eps,
                                    .act = p->act,
                                    .partial = device->norm_partial,
                                    .barrier = device->barrier};
  product->has_prologue = true;
  args->x = product->scratch[0];
  args->x2 = NULL;
  args->c = pitch;
  args->c2 = 0;
}

static int fill_product(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                        struct product *product, struct error *err) {
  const struct op *op = &plan->ops[index];
  struct operands o = get_operands(op);
  struct gemm_args *args = &product->args;
  bool ok = true, wide = false;
  *product = (struct product){.prologue = {.op = index}, .bias = tensor_exists(o.bias) ? o.bias.index : -1};
  for (int i = 0; i < 3; i++)
    product->scratch[i] = (char *)program->scratch + program->scratch_at[i];
  fill_shape(args, op, &o);
  args->x = tensor_data(device, program, o.x, &wide, ROLE_ANY, err);
  ok = args->x != NULL;
  args->x2 = optional(device, program, o.x2, ROLE_ANY, &ok, err);
  args->weight = optional(device, program, o.weight, ROLE_MATRIX, &ok, err);
  args->bias = optional(device, program, o.bias, ROLE_VECTOR, &ok, err);
  args->time = optional(device, program, o.time, ROLE_ANY, &ok, err);
  args->residual = optional(device, program, o.residual, ROLE_ANY, &ok, err);
  args->y = optional(device, program, o.y, ROLE_ANY, &ok, err);
  const float *gamma = optional(device, program, o.prologue.gamma, ROLE_VECTOR, &ok, err);
  const float *beta = optional(device, program, o.prologue.beta, ROLE_VECTOR, &ok, err);
  if (ok && (o.x.c + o.x2.c) % 8)
    ok = (args->weight = resource_padded(device, o.weight.index, err)) != NULL;
  if (!ok)
    return -1;
  if (needs_prologue(plan, &o))
    set_prologue(device, product, &o, wide, gamma, beta);
  return 0;
}

/* --- the project's own kernel: tile and splits --- */

static int depth_blocks(const struct gemm_args *args) {
  return (args->kernel * args->kernel * (args->c + args->c2) + 63) / 64;
}

/* Time of a product by a simple model, in units of a 128x128 tile's 64 deep block: waves of blocks over the
 * multiprocessors, each with a constant for its start and end, and the traffic of split sums. */
static double model_time(const struct cuda_device *device, const struct gemm_args *args) {
  static const double block_time[TILES] = {
      [TILE_128x128] = 1.0, [TILE_64x160] = 0.62, [TILE_64x64] = 0.33, [TILE_64x16] = 0.16};
  const struct gemm_tile_size *size = &gemm_tile_sizes[args->tile];
  int blocks = gemm_tiles(args) * args->splits;
  double waves = (double)((blocks + device->queue.sms - 1) / device->queue.sms);
  double deep = (double)((depth_blocks(args) + args->splits - 1) / args->splits);
  double add = args->splits > 1 ? 2.0 + 0.5 * args->splits * size->m * size->n / (128.0 * 128.0) : 0;
  return waves * (deep + 3) * block_time[args->tile] + add;
}

/* The best number of splits for args->tile by the model; the model's time. */
static double choose_splits(const struct cuda_device *device, struct gemm_args *args) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16, 24};
  int best = 1;
  double least = 0;
  for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
    args->splits = splits[i];
    if (splits[i] > 1 && (2 * splits[i] > depth_blocks(args) || gemm_tiles(args) > ARRIVALS ||
                          gemm_partial_bytes(args) > WORKSPACE_BYTES))
      continue;
    double time = model_time(device, args);
    if (i == 0 || time < least) {
      best = splits[i];
      least = time;
    }
  }
  args->splits = best;
  return least;
}

/* Own candidates, the model's favourite first; those it puts far behind are left out. */
static int list_gemm(const struct cuda_device *device, const struct gemm_args *args, struct choice list[TILES]) {
  double time[TILES];
  int count = 0;
  for (int tile = 0; tile < TILES; tile++) {
    struct gemm_args trial = *args;
    trial.tile = (enum gemm_tile)tile;
    double t = choose_splits(device, &trial);
    int at = count++;
    for (; at > 0 && time[at - 1] > t; at--) {
      time[at] = time[at - 1];
      list[at] = list[at - 1];
    }
    time[at] = t;
    list[at] = (struct choice){BACKEND_GEMM, tile, trial.splits};
  }
  while (count > 1 && time[count - 1] > 2.5 * time[0])
    count--;
  return count < 3 ? count : 3;
}

/* --- the kernels for compute capability 9.0: tile, pair and splits --- */

/* What the product reads once append_dense_input has doubled its input in size. */
static struct gemm_args without_upsampling(const struct gemm_args *args) {
  struct gemm_args dense = *args;
  if (args->upsample) {
    dense.h *= 2;
    dense.w *= 2;
    dense.c += dense.c2;
    dense.c2 = 0;
    dense.x2 = NULL;
    dense.upsample = false;
  }
  return dense;
}

static struct product_args as_product(const struct gemm_args *args, const struct choice *choice) {
  struct product_args product = {.gemm = without_upsampling(args),
                                 .tile = (enum product_tile)(choice->index / PRODUCT_PAIRS),
                                 .pair = (enum product_pair)(choice->index % PRODUCT_PAIRS)};
  product.gemm.splits = choice->splits;
  return product;
}

static bool product_fits(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  if (choice->index < 0 || choice->index >= PRODUCT_TILES * PRODUCT_PAIRS)
    return false;
  struct product_args product = as_product(args, choice);
  return product_supported(&device->product, &product) &&
         (choice->splits == 1 ||
          (product_counters(&product) <= ARRIVALS && product_partial_bytes(&product) <= WORKSPACE_BYTES));
}

/* Microseconds by a simple model, its constants fitted to what bench_product measured on an H200: arithmetic of the
 * busiest multiprocessor, what passes from the second level cache, weights from memory to all and to one
 * multiprocessor; beginnings, ends, and the sum of splits, of which a multiprocessor reads all of a tile's. */
static double model_product(const struct cuda_device *device, const struct gemm_args *args,
                            const struct choice *choice) {
  static const double flops = 5.8e6, cache = 9.8e6, memory = 4.2e6, weights = 5.4e4, sums = 1.4e5; /* a microsecond */
  struct product_args product = as_product(args, choice);
  const struct product_tile_size *size = &product_tile_sizes[product.tile];
  bool pair_sum = product.pair == PAIR_SUM;
  int blocks = product_blocks(&product), parts = choice->splits * (pair_sum ? 2 : 1), sms = device->queue.sms;
  double waves = (double)((blocks + sms - 1) / sms), resident = ceil((double)blocks / (sms * size->blocks));
  int depth = product_depth(&product.gemm);
  double deep = 64 * (double)((depth + parts - 1) / parts);
  double rows = size->m / (product.pair == PAIR_INPUT ? 2.0 : 1) + size->n / (product.pair == PAIR_WEIGHTS ? 2.0 : 1);
  double tile = (double)size->m * size->n, partial = tile * 4 / (pair_sum ? 2 : 1);
  double multiply = fmax(waves * deep * tile * 2 / flops, blocks * deep * rows * 2 / cache);
  double load = fmax((double)args->columns * 64 * depth * 2 / memory, waves * deep * size->n * 2 / weights);
  double sum = pair_sum ? 0.4 : 0;
  if (choice->splits > 1)
    sum += 1.6 + choice->splits * partial / sums + 2 * blocks * partial / cache;
  return fmax(multiply, load) + 1.8 + 0.4 * resident * tile / 10240 + sum;
}

/* The model's favourites. */
static int list_products(const struct cuda_device *device, const struct gemm_args *args,
                         struct choice list[PRODUCT_CANDIDATES]) {
  static const int splits[] = {1, 2, 3, 4, 6, 8, 12, 16};
  double time[PRODUCT_CANDIDATES];
  int count = 0;
  for (int index = 0; index < PRODUCT_TILES * PRODUCT_PAIRS; index++)
    for (size_t i = 0; i < sizeof splits / sizeof splits[0]; i++) {
      struct choice choice = {BACKEND_PRODUCT, index, splits[i]};
      if (!product_fits(device, args, &choice))
        continue;
      double t = model_product(device, args, &choice);
      int at = count < PRODUCT_CANDIDATES ? count++ : PRODUCT_CANDIDATES;
      for (; at > 0 && time[at - 1] > t; at--)
        if (at < PRODUCT_CANDIDATES) {
          time[at] = time[at - 1];
          list[at] = list[at - 1];
        }
      if (at < PRODUCT_CANDIDATES) {
        time[at] = t;
        list[at] = choice;
      }
    }
  return count;
}

/* --- candidates --- */

static bool suits_blas(const struct gemm_args *args) {
  return args->kernel == 1 && args->stride == 1 && !args->upsample && !args->time && args->columns % 16 == 0 &&
         (args->act == ACT_NONE || args->act == ACT_GEGLU);
}

static bool suits_dnn(const struct gemm_args *args) {
  int h = args->h << args->upsample;
  return args->kernel == 3 && args->columns % 8 == 0 &&
         args->out_h == (h + 2 * args->pad - args->kernel) / args->stride + 1;
}

/* dnn indices: even ones are fused, odd ones raw. */
static int list_candidates(const struct cuda_device *device, const struct gemm_args *args,
                           struct choice list[CANDIDATES_MAX]) {
  int count = list_gemm(device, args, list);
  count += list_products(device, args, list + count);
  if (narrow_supported(args))
    list[count++] = (struct choice){.backend = BACKEND_NARROW};
  for (int i = 0; i < 3 && device->blas && suits_blas(args); i++)
    list[count++] = (struct choice){BACKEND_BLAS, i, 1};
  for (int i = 0; i < 4 && device->dnn && suits_dnn(args); i++)
    list[count++] = (struct choice){BACKEND_DNN, i, 1};
  return count;
}

static int append_gemm(struct cuda_device *device, const struct product *product, const struct choice *choice,
                       struct steps *steps, struct error *err) {
  struct step step = {.kind = STEP_GEMM, .op = product->prologue.op, .gemm = product->args};
  step.gemm.tile = (enum gemm_tile)choice->index;
  step.gemm.splits = choice->splits;
  if (choice->splits > 1) {
    step.gemm.partial = device->workspace;
    step.gemm.arrived = device->arrivals;
  }
  return steps_append(steps, &step, err);
}

/* One dense input at the size that the product reads. */
static int append_dense_input(const struct product *product, struct gemm_args *args, struct steps *steps,
                              struct error *err) {
  if (!args->x2 && !args->upsample)
    return 0;
  struct step step = {.kind = STEP_GATHER, .op = product->prologue.op};
  step.gather = (struct gather_args){.x = args->x,
                                     .x2 = args->x2,
                                     .y = product->scratch[1],
                                     .n = args->n,
                                     .h = args->h,
                                     .w = args->w,
                                     .c = args->c,
                                     .c2 = args->c2,
                                     .pitch = args->c + args->c2,
                                     .upsample = args->upsample};
  args->x = product->scratch[1];
  args->x2 = NULL;
  args->c += args->c2;
  args->c2 = 0;
  args->h <<= args->upsample;
  args->w <<= args->upsample;
  args->upsample = false;
  return steps_append(steps, &step, err);
}

static int append_product(struct cuda_device *device, const struct product *product, const struct choice *choice,
                          struct steps *steps, struct error *err) {
  struct gemm_args args = product->args;
  if (args.upsample && append_dense_input(product, &args, steps, err) < 0)
    return -1;
  struct step step = {.kind = STEP_PRODUCT, .op = product->prologue.op};
  step.product = as_product(&args, choice);
  step.product.gemm.partial = device->workspace;
  step.product.gemm.arrived = device->arrivals;
  return steps_append(steps, &step, err);
}

static int append_epilogue(const struct product *product, const half_t *x, struct steps *steps, struct error *err) {
  const struct gemm_args *args = &product->args;
  struct step step = {.kind = STEP_EPILOGUE, .op = product->prologue.op};
  step.epilogue = (struct epilogue_args){.x = x,
                                         .bias = args->bias,
                                         .time = args->time,
                                         .residual = args->residual,
                                         .y = args->y,
                                         .rows = (size_t)args->n * (size_t)args->out_h * (size_t)args->out_w,
                                         .columns = args->columns,
                                         .residual_last = args->residual_last,
                                         .act = args->act};
  return steps_append(steps, &step, err);
}

static int append_blas(struct cuda_device *device, const struct product *product, int index, struct steps *steps,
                       struct error *err) {
  struct gemm_args args = product->args;
  bool raw = args.act != ACT_NONE;
  const half_t *bias = NULL;
  if (!device->blas || !suits_blas(&args))
    return error_set(err, STATUS_DEVICE, "cuda: cuBLASLt does not do this product");
  if (!raw && product->bias >= 0 && !(bias = resource_narrow(device, product->bias, err)))
    return -1;
  if (append_dense_input(product, &args, steps, err) < 0)
    return -1;
  struct step step = {.kind = STEP_BLAS, .op = product->prologue.op, .algorithm = index};
  half_t *y = raw ? product->scratch[2] : args.y;
  step.blas = blas_product_create(device->blas, &args, bias, y, index, device->workspace, WORKSPACE_BYTES);
  if (!step.blas)
    return error_set(err, STATUS_DEVICE, "cuda: cuBLASLt has no algorithm %d for this product", index);
  if (steps_append(steps, &step, err) < 0) {
    blas_product_destroy(step.blas);
    return -1;
  }
  return raw ? append_epilogue(product, y, steps, err) : 0;
}

/* Bias and time row as the one FP16 vector that cuDNN's fused convolutions add; *vector NULL when there is neither. */
static int append_bias(struct cuda_device *device, const struct product *product, const half_t **vector,
                       struct steps *steps, struct error *err) {
  const struct gemm_args *args = &product->args;
  *vector = args->time;
  if (!args->bias)
    return 0;
  if (!args->time)
    return (*vector = resource_narrow(device, product->bias, err)) ? 0 : -1;
  if ((uintptr_t)args->time % 16)
    return error_set(err, STATUS_DEVICE, "cuda: cuDNN needs aligned vectors");
  struct step step = {.kind = STEP_EPILOGUE, .op = product->prologue.op};
  step.epilogue = (struct epilogue_args){
      .x = args->time, .bias = args->bias, .y = product->scratch[2], .rows = 1, .columns = args->columns};
  *vector = product->scratch[2];
  return steps_append(steps, &step, err);
}

static int append_dnn(struct cuda_device *device, const struct product *product, int index, struct steps *steps,
                      struct error *err) {
  struct gemm_args args = product->args;
  bool fused = index % 2 == 0;
  const half_t *vector = NULL;
  if (!device->dnn || !suits_dnn(&args))
    return error_set(err, STATUS_DEVICE, "cuda: cuDNN does not do this convolution");
  if (append_dense_input(product, &args, steps, err) < 0 ||
      (fused && append_bias(device, product, &vector, steps, err) < 0))
    return -1;
  struct step step = {.kind = STEP_DNN, .op = product->prologue.op, .algorithm = index};
  step.dnn = dnn_conv_create(device->dnn, &args, vector, fused, index / 2, device->workspace, WORKSPACE_BYTES);
  if (!step.dnn)
    return error_set(err, STATUS_DEVICE, "cuda: cuDNN has no engine %d for this convolution", index);
  if (steps_append(steps, &step, err) < 0) {
    dnn_conv_destroy(step.dnn);
    return -1;
  }
  bool rest = args.bias || args.time || args.residual || args.act != ACT_NONE;
  return !fused && rest ? append_epilogue(product, args.y, steps, err) : 0;
}

static int append_choice(struct cuda_device *device, const struct product *product, const struct choice *choice,
                         struct steps *steps, struct error *err) {
  switch (choice->backend) {
  case BACKEND_NARROW: {
    struct step step = {.kind = STEP_NARROW, .op = product->prologue.op, .gemm = product->args};
    return steps_append(steps, &step, err);
  }
  case BACKEND_PRODUCT:
    return append_product(device, product, choice, steps, err);
  case BACKEND_BLAS:
    return append_blas(device, product, choice->index, steps, err);
  case BACKEND_DNN:
    return append_dnn(device, product, choice->index, steps, err);
  default:
    return append_gemm(device, product, choice, steps, err);
  }
}

/* --- choice --- */

static void make_key(const struct gemm_args *a, char *key, size_t size) {
  snprintf(key, size, "%dx%dx%d c%d+%d to %dx%d c%d k%d s%d p%d u%d a%d b%d t%d r%d", a->n, a->h, a->w, a->c, a->c2,
           a->out_h, a->out_w, a->columns, a->kernel, a->stride, a->pad, a->upsample, (int)a->act, a->bias != NULL,
           a->time != NULL, a->residual != NULL);
}

/* Whether a choice from the file can be one of today's. */
static bool choice_valid(const struct cuda_device *device, const struct gemm_args *args, const struct choice *choice) {
  if (choice->backend == BACKEND_PRODUCT)
    return product_fits(device, args, choice);
  if (choice->backend == BACKEND_NARROW)
    return narrow_supported(args);
  if (choice->backend != BACKEND_GEMM)
    return choice->index >= 0;
  struct gemm_args trial = *args;
  if (choice->index < 0 || choice->index >= TILES || choice->splits < 1 || choice->splits > depth_blocks(args))
    return false;
  trial.tile = (enum gemm_tile)choice->index;
  trial.splits = choice->splits;
  return choice->splits == 1 || (gemm_tiles(&trial) <= ARRIVALS && gemm_partial_bytes(&trial) <= WORKSPACE_BYTES);
}

/* A tiny kernel ahead of each candidate. In a frame a product mostly stands between kernels of our own, small ones:
 * behind itself one that needs much shared memory could not begin early, and a library's would have one gap, not two.
 */
static int append_spacer(const struct cuda_device *device, struct steps *steps, struct error *err) {
  struct step step = {.kind = STEP_GATHER};
  step.gather =
      (struct gather_args){.x = device->arrivals, .y = device->workspace, .n = 1, .h = 1, .w = 1, .c = 8, .pitch = 8};
  return steps_append(steps, &step, err);
}

/* The fastest of the candidates that can be timed until then. Returns whether all could. */
static bool time_candidates(struct cuda_device *device, const struct product *product, const char *key,
                            const struct choice *list, int count, double until, struct choice *best) {
  double least = INFINITY;
  for (int i = 0; i < count; i++) {
    struct steps trial = {0};
    double seconds = -1;
    if (clock_seconds() >= until)
      return false;
    if (append_spacer(device, &trial, NULL) == 0 && append_choice(device, product, &list[i], &trial, NULL) == 0)
      seconds = tuner_time(device, &trial, least);
    steps_finish(&trial);
    log_line(device->log, LOG_DEBUG, "%s: backend %d, %d, %d splits: %.2f us", key, (int)list[i].backend, list[i].index,
             list[i].splits, seconds * 1e6);
    if (seconds >= 0 && seconds < least) {
      least = seconds;
      *best = list[i];
    }
  }
  return true;
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
  struct choice choice;
  char key[128];
  if (device->forced && choice_valid(device, &product->args, device->forced))
    return *device->forced;
  make_key(&product->args, key, sizeof key);
  if (tuner_find(device->tuner, key, &choice) && choice_valid(device, &product->args, &choice))
    return choice;
  return find_best(device, program, product);
}

int product_prepare(struct cuda_device *device, struct cuda_program *program, const struct plan *plan, int index,
                    struct error *err) {
  struct product product;
  if (fill_product(device, program, plan, index, &product, err) < 0)
    return -1;
  if (product.has_prologue && steps_append(&program->steps, &product.prologue, err) < 0)
    return -1;
  struct choice choice = choose(device, program, &product);
  int mark = program->steps.count;
  if (append_choice(device, &product, &choice, &program->steps, err) == 0)
    return 0;
  if (choice.backend == BACKEND_GEMM)
    return -1;
  /* A library refuses what the file says of it. Among the candidates is the project's own kernel, which takes all. */
  steps_truncate(&program->steps, mark);
  choice = find_best(device, program, &product);
  return append_choice(device, &product, &choice, &program->steps, err);
}
