#include "cuda/fuse.h"

#include <stdlib.h>

#include "cuda/fuse_convs.h"
#include "cuda/fuse_operands.h"
#include "cuda/ops.h"
#include "cuda/ways/choose.h"
#include "cuda/ways/feed.h"
#include "cuda/ways/pair.h"
#include "cuda/ways/product.h"

static struct row_product row_product(struct addresses *a, const struct op_linear *o) {
  return (struct row_product){address(a, o->weight, ROLE_MATRIX), address(a, o->bias, ROLE_VECTOR)};
}

static struct row_norm row_norm(struct addresses *a, const struct prologue *p) {
  return (struct row_norm){address(a, p->gamma, ROLE_VECTOR), address(a, p->beta, ROLE_VECTOR), p->eps};
}

/* --- fusing the linear layers of a transformer block --- */

/* Returns true if the op is a linear layer to `columns` channels, with this norm before and this activation after it,
 * and the kernels of rows.h can read its tensors. */
static bool is_linear(const struct cuda_program *program, const struct op *op, enum norm_kind norm, int columns,
                      enum activation act) {
  const struct op_linear *o = &op->linear;
  return op->type == OP_LINEAR && o->prologue.norm == norm && o->prologue.act == ACT_NONE && !tensor_exists(o->x2) &&
         o->act == act && o->weight.n == columns && has_rows(program, o->x) && has_rows(program, o->y) &&
         (!tensor_exists(o->residual) || has_rows(program, o->residual));
}

static int rows_of(struct tensor t) {
  return t.h * t.w;
}

static struct row_enter shape_enter(const struct op *op) {
  const struct op_linear *first = &op[0].linear, *second = &op[1].linear;
  return (struct row_enter){.groups = first->prologue.norm == NORM_GROUP ? first->prologue.groups : 0,
                            .eps = first->prologue.eps,
                            .n = first->x.n,
                            .rows = rows_of(first->x),
                            .c = first->x.c,
                            .columns = second->weight.n};
}

static int match_enter(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                       int left) {
  const struct op_linear *first = &op[0].linear, *second = &op[1].linear;
  if (left < 2 || op[0].type != OP_LINEAR || op[1].type != OP_LINEAR)
    return 0;
  if (!(is_linear(program, &op[0], NORM_GROUP, first->x.c, ACT_NONE) ||
        is_linear(program, &op[0], NORM_NONE, first->x.c, ACT_NONE)) ||
      tensor_exists(first->residual) || !is_linear(program, &op[1], NORM_LAYER, second->weight.n, ACT_NONE) ||
      tensor_exists(second->residual) || !is_same(first->y, second->x))
    return 0;
  struct row_enter args = shape_enter(op);
  if (args.groups && !row_enter_has_norm(args.rows, args.c))
    args.groups = 0;
  return row_enter_supported(&device->queue, &args) ? 2 : 0;
}

/* Returns a launch that does a group norm before the fused launch. It is used for large pictures: within the fused
 * launch every thread block would have to read the whole picture. */
static struct launch norm_ahead(const struct addresses *a, struct row_enter *args) {
  const struct cuda_program *program = a->program;
  struct launch launch = {.kind = LAUNCH_NORM};
  launch.beside = (struct norm_beside){0};
  launch.norm = (struct norm_args){.x = args->x,
                                   .gamma = args->gamma,
                                   .beta = args->beta,
                                   .y = program_scratch(program, SCRATCH_PROLOGUE),
                                   .n = args->n,
                                   .pixels = args->rows,
                                   .c = args->c,
                                   .pitch = args->c,
                                   .groups = args->groups,
                                   .eps = args->eps,
                                   .partial = a->device->lane[program->lane].norm_partial};
  args->x = launch.norm.y;
  args->groups = 0;
  return launch;
}

static int prepare_enter(struct addresses *a, const struct op *op, struct launch launches[LAUNCHES_MAX]) {
  const struct op_linear *first = &op[0].linear, *second = &op[1].linear;
  struct launch own = {0}, *launch = &own;
  launch->kind = LAUNCH_ROW_ENTER;
  launch->row_enter = shape_enter(op);
  launch->row_enter.x = address(a, first->x, ROLE_ANY);
  launch->row_enter.gamma = address(a, first->prologue.gamma, ROLE_VECTOR);
  launch->row_enter.beta = address(a, first->prologue.beta, ROLE_VECTOR);
  launch->row_enter.first = row_product(a, first);
  launch->row_enter.second = row_product(a, second);
  launch->row_enter.norm = row_norm(a, &second->prologue);
  launch->row_enter.y = address(a, first->y, ROLE_ANY);
  launch->row_enter.z = address(a, second->y, ROLE_ANY);
  int count = 0;
  if (own.row_enter.groups && !row_enter_has_norm(own.row_enter.rows, own.row_enter.c))
    launches[count++] = norm_ahead(a, &own.row_enter);
  launches[count++] = own;
  return count;
}

static struct row_attend shape_attend(const struct op *op) {
  const struct op_attention *o = &op[2].attention;
  return (struct row_attend){.k_row = o->k.pitch,
                             .k_batch = o->k.n == 1 ? 0 : (long)rows_of(o->k) * o->k.pitch,
                             .v_row = o->v.pitch,
                             .v_batch = o->v.n == 1 ? 0 : (long)rows_of(o->v) * o->v.pitch,
                             .tokens = rows_of(o->k),
                             .scale = o->scale,
                             .n = o->q.n,
                             .rows = rows_of(o->q),
                             .c = o->q.c,
                             .heads = o->heads};
}

static int match_attend(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                        int left) {
  const struct op_linear *first = &op[0].linear, *query = &op[1].linear, *last = &op[3].linear;
  const struct op_attention *attention = &op[2].attention;
  if (left < 4 || op[2].type != OP_ATTENTION || attention->causal || tensor_exists(attention->k2) ||
      !is_linear(program, &op[0], NORM_NONE, first->x.c, ACT_NONE) || !tensor_exists(first->residual) ||
      !is_linear(program, &op[1], NORM_LAYER, first->x.c, ACT_NONE) || tensor_exists(query->residual) ||
      !is_linear(program, &op[3], NORM_NONE, first->x.c, ACT_NONE) || !is_same(first->y, query->x) ||
      !is_same(query->y, attention->q) || !is_same(attention->y, last->x) || !is_same(first->y, last->residual) ||
      !has_rows(program, attention->k) || !has_rows(program, attention->v))
    return 0;
  int end = (int)(op - program->base.plan->ops) + 3;
  struct row_attend args = shape_attend(op);
  bool inner =
      is_inner(program, first->y, end) && is_inner(program, query->y, end) && is_inner(program, attention->y, end);
  return inner && row_attend_supported(&device->queue, &args) ? 4 : 0;
}

/* Returns true if the launches that write the tensor are done when the one that begins with op number `index` begins. A
 * launch may begin while the one ahead of it runs. If that one is an attention, which lets the next one begin before
 * its own wait, the one before it may run as well. So what the last three launches write may be missing, and what ops
 * behind write in the turn before, if there is a loop. Launches in regions (ops that a run may skip) may not be there,
 * and are not counted. */
static bool is_there_ahead(const struct cuda_program *program, struct tensor t, int index) {
  enum { AHEAD = 3 };
  int starts[AHEAD] = {0}, count = 0;
  for (int i = 0; i < index; i += program->fused[i].count ? program->fused[i].count : 1)
    if (!plan_region_of(program->base.plan, i))
      starts[count++ % AHEAD] = i;
  const struct plan *plan = program->base.plan;
  for (int i = starts[count % AHEAD]; i < plan->op_count; i++) {
    struct tensor list[OPERANDS_MAX];
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == t.space && list[j].index == t.index)
        return false;
  }
  return true;
}

static int prepare_attend(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  const struct op_linear *first = &op[0].linear, *query = &op[1].linear, *last = &op[3].linear;
  const struct tensor k = op[2].attention.k, v = op[2].attention.v;
  int index = (int)(op - a->program->base.plan->ops);
  launch->kind = LAUNCH_ROW_ATTEND;
  launch->row_attend = shape_attend(op);
  launch->row_attend.x = address(a, first->x, ROLE_ANY);
  launch->row_attend.residual = address(a, first->residual, ROLE_ANY);
  launch->row_attend.first = row_product(a, first);
  launch->row_attend.query = row_product(a, query);
  launch->row_attend.last = row_product(a, last);
  launch->row_attend.norm = row_norm(a, &query->prologue);
  launch->row_attend.k = address(a, k, ROLE_MATRIX);
  launch->row_attend.v = address(a, v, ROLE_MATRIX);
  launch->row_attend.text_there = is_there_ahead(a->program, k, index) && is_there_ahead(a->program, v, index);
  launch->row_attend.y = address(a, last->y, ROLE_ANY);
  return 1;
}

static struct row_leave shape_leave(const struct op *op) {
  return (struct row_leave){.rows = (int)tensor_rows(op[0].linear.x), .c = op[0].linear.x.c};
}

static int match_leave(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                       int left) {
  const struct op_linear *wide = &op[0].linear, *narrow = &op[1].linear, *last = &op[2].linear;
  if (left < 3 || !is_linear(program, &op[0], NORM_LAYER, 8 * wide->x.c, ACT_GEGLU) || tensor_exists(wide->residual) ||
      !is_linear(program, &op[1], NORM_NONE, wide->x.c, ACT_NONE) ||
      !is_linear(program, &op[2], NORM_NONE, wide->x.c, ACT_NONE) || !tensor_exists(last->residual) ||
      !is_same(wide->y, narrow->x) || !is_same(wide->x, narrow->residual) || !is_same(narrow->y, last->x))
    return 0;
  int end = (int)(op - program->base.plan->ops) + 2;
  struct row_leave args = shape_leave(op);
  return is_inner(program, wide->y, end) && is_inner(program, narrow->y, end) &&
                 row_leave_supported(&device->queue, &args)
             ? 3
             : 0;
}

static int prepare_leave(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  const struct op_linear *wide = &op[0].linear, *narrow = &op[1].linear, *last = &op[2].linear;
  launch->kind = LAUNCH_ROW_LEAVE;
  launch->row_leave = shape_leave(op);
  launch->row_leave.x = address(a, wide->x, ROLE_ANY);
  launch->row_leave.residual = address(a, last->residual, ROLE_ANY);
  launch->row_leave.norm = row_norm(a, &wide->prologue);
  launch->row_leave.wide = row_product(a, wide);
  launch->row_leave.narrow = row_product(a, narrow);
  launch->row_leave.last = row_product(a, last);
  launch->row_leave.y = address(a, last->y, ROLE_ANY);
  return 1;
}

/* --- two linear layers as one product --- */

/* Returns 2 for two linear layers, one after the other, with a residual each: the narrowing layer of a feed-forward and
 * the projection out of a transformer. Their weights are multiplied when they are loaded, and the first one's residual
 * becomes a second input. The product of the weights takes memory beside them, which is why wide layers do without. */
static int match_fold(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                      int left) {
  enum { BYTES_MOST = 8 << 20 };
  const struct op_linear *inner = &op[0].linear, *outer = &op[1].linear;
  if (left < 2 || op[1].type != OP_LINEAR || !is_linear(program, &op[0], NORM_NONE, outer->x.c, ACT_NONE) ||
      !is_linear(program, &op[1], NORM_NONE, outer->weight.n, ACT_NONE) || !is_same(inner->y, outer->x) ||
      !tensor_exists(inner->residual) || !tensor_exists(outer->residual) || !is_dense(program, inner->x) ||
      !is_dense(program, inner->residual) || !is_dense(program, outer->residual) || !is_dense(program, outer->y) ||
      outer->weight.n % 8)
    return 0;
  struct product_args args = {.tile = PRODUCT_64x80_DEEP};
  product_fold_shape(op, &args.gemm);
  int end = (int)(op - program->base.plan->ops) + 1;
  size_t bytes = (size_t)args.gemm.columns * (size_t)(args.gemm.c + args.gemm.c2) * sizeof(half_t);
  return bytes <= BYTES_MOST && is_inner(program, inner->y, end) && product_supported(&device->product, &args) ? 2 : 0;
}

/* Returns 3 for a linear layer with GEGLU and the two layers behind it that match_fold describes, of which the first
 * one's residual is the input of the norm before GEGLU. All weights stay, as a library may still make three
 * products. */
static int match_feed(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                      int left) {
  const struct op_linear *wide = &op[0].linear, *narrow = &op[1].linear, *last = &op[2].linear;
  if (left < 3 || device->forced || !is_linear(program, &op[0], NORM_LAYER, wide->weight.n, ACT_GEGLU) ||
      !is_linear(program, &op[1], NORM_NONE, last->x.c, ACT_NONE) ||
      !is_linear(program, &op[2], NORM_NONE, last->weight.n, ACT_NONE) || tensor_exists(wide->residual) ||
      !tensor_exists(narrow->residual) || !tensor_exists(last->residual) || !is_same(wide->y, narrow->x) ||
      !is_same(wide->x, narrow->residual) || !is_same(narrow->y, last->x) || !is_dense(program, narrow->x) ||
      !is_dense(program, narrow->residual) || !is_dense(program, last->residual) || !is_dense(program, last->y))
    return 0;
  int end = (int)(op - program->base.plan->ops) + 2;
  return is_inner(program, wide->y, end) && is_inner(program, narrow->y, end) && feed_supported(device, &op[1]) ? 3 : 0;
}

/* --- two linear layers with a layer norm between them --- */

/* Returns 2 for a linear layer and one that begins with a layer norm of its result, if row_pair.cu can do both, or do
 * the first one and the norm. The first one's result is stored as well. */
static int match_pair(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                      int left) {
  const struct op_linear *first = &op[0].linear, *second = &op[1].linear;
  if (left < 2 || device->forced || op[0].type != OP_LINEAR || op[1].type != OP_LINEAR)
    return 0;
  bool grouped = is_linear(program, &op[0], NORM_GROUP, first->x.c, ACT_NONE);
  int columns = second->act == ACT_NONE && row_pair_has(second->weight.n) ? second->weight.n : 0;
  if (!(grouped || is_linear(program, &op[0], NORM_NONE, first->x.c, ACT_NONE)) ||
      !is_linear(program, &op[1], NORM_LAYER, second->weight.n, second->act) || tensor_exists(second->residual) ||
      !is_same(first->y, second->x) || !is_dense(program, first->x) || !is_dense(program, first->y) ||
      !is_dense(program, second->y) || (tensor_exists(first->residual) && !is_dense(program, first->residual)))
    return 0;
  /* without a second product the result is the input of a product, where the group norm's result is already */
  if (grouped && !columns)
    return 0;
  const struct row_pair args = {.rows = (int)tensor_rows(first->x), .c = first->x.c, .columns = columns};
  return row_pair_supported(&device->product, &args) ? 2 : 0;
}

/* --- a linear layer and the attention whose queries it makes --- */

/* Returns 2 for a linear layer and an attention to a short text that alone reads its result. Whether the product may
 * end with the attention depends on its tile as well (product_supported). */
static int match_query(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                       int left) {
  const struct op_linear *query = &op[0].linear;
  const struct op_attention *attention = &op[1].attention;
  (void)device;
  if (left < 2 || op[0].type != OP_LINEAR || op[1].type != OP_ATTENTION || query->act != ACT_NONE ||
      tensor_exists(query->residual) || attention->causal || tensor_exists(attention->k2) ||
      attention->q.c != attention->heads * PRODUCT_HEAD || rows_of(attention->k) > PRODUCT_TOKENS_MOST)
    return 0;
  int end = (int)(op - program->base.plan->ops) + 1;
  return is_same(query->y, attention->q) && is_dense(program, query->y) && is_dense(program, attention->y) &&
                 has_rows(program, attention->k) && has_rows(program, attention->v) && is_inner(program, query->y, end)
             ? 2
             : 0;
}

/* Appends the launches of both. An attention with a workspace stays apart, because trials may not share it. */
static int prepare_query(struct cuda_device *device, struct cuda_program *program, int index, struct error *err) {
  struct launches *launches = &program->launches;
  const struct plan *plan = program->base.plan;
  int first = launches->count;
  if (op_prepare(device, program, plan, index + 1, err) < 0)
    return -1;
  struct launch attention = launches->list[first];
  launches_truncate(launches, first);
  if (!attention.attention.workspace)
    return query_prepare(device, program, plan, index, &attention, err);
  return product_prepare(device, program, plan, index, err) < 0 ? -1 : launches_append(launches, &attention, err);
}

/* --- fusing the three convolutions of an autoencoder's block --- */

/* Returns true for a 3x3 convolution with ReLU that has as many output channels as input channels. */
static bool is_block_conv(const struct cuda_program *program, const struct op *op) {
  const struct op_conv *o = &op->conv;
  return op->type == OP_CONV && o->weight.h == 3 && o->stride == 1 && o->pad == 1 && !o->upsample && !o->pad_end_only &&
         o->act == ACT_RELU && o->prologue.norm == NORM_NONE && o->prologue.act == ACT_NONE && !tensor_exists(o->x2) &&
         !tensor_exists(o->time) && o->weight.n == o->x.c && has_rows(program, o->x) && has_rows(program, o->y);
}

static struct block_args shape_block(const struct op *op) {
  struct tensor x = op->conv.x;
  return (struct block_args){.n = x.n, .h = x.h, .w = x.w, .c = x.c};
}

static int match_block(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                       int left) {
  if (left < 3 || !is_block_conv(program, &op[0]) || !is_block_conv(program, &op[1]) ||
      !is_block_conv(program, &op[2]) || tensor_exists(op[0].conv.residual) || tensor_exists(op[1].conv.residual) ||
      !tensor_exists(op[2].conv.residual) || !is_same(op[0].conv.y, op[1].conv.x) ||
      !is_same(op[1].conv.y, op[2].conv.x) || !is_same(op[0].conv.x, op[2].conv.residual))
    return 0;
  int end = (int)(op - program->base.plan->ops) + 2;
  struct block_args args = shape_block(op);
  return is_inner(program, op[0].conv.y, end) && is_inner(program, op[1].conv.y, end) &&
                 block_supported(&device->product, &device->queue, &args)
             ? 3
             : 0;
}

static int prepare_block(struct addresses *a, const struct op *op, struct launch launch[LAUNCHES_MAX]) {
  launch->kind = LAUNCH_BLOCK;
  launch->block = shape_block(op);
  launch->block.x = address(a, op[0].conv.x, ROLE_ANY);
  launch->block.y = address(a, op[2].conv.y, ROLE_ANY);
  for (int i = 0; i < 3; i++) {
    launch->block.weight[i] = address(a, op[i].conv.weight, ROLE_MATRIX);
    launch->block.bias[i] = address(a, op[i].conv.bias, ROLE_VECTOR);
  }
  return 1;
}

/* --- a residual block's shortcut in its second convolution --- */

/* Returns true if the kernels that do a convolution and its shortcut have a tile for the convolution's number of output
 * channels: a multiple of 80, or of 64 where channels and pixels are so few that a launch less counts most. These small
 * ones stay apart if the convolution and its norm are one launch already. */
static bool has_shortcut_tile(const struct cuda_device *device, const struct cuda_program *program,
                              const struct op *op) {
  enum { COLUMNS = 80, COLUMNS_FEW = 64, FEW_MOST = 192, ROWS_MOST = 4096 };
  const struct op_conv *o = &op->conv;
  bool few = o->weight.n % COLUMNS_FEW == 0 && o->weight.n <= FEW_MOST && tensor_rows(o->y) <= ROWS_MOST;
  return o->weight.n % COLUMNS == 0 || (few && !fuse_match_norm_conv(device, program, op, 1));
}

/* Returns 2 for a linear layer and the 3x3 convolution to which it is added. */
static int match_shortcut(const struct cuda_device *device, const struct cuda_program *program, const struct op *op,
                          int left) {
  static const _Alignas(16) half_t there[8]; /* stands for the shortcut's input, which has no address yet */
  const struct op_linear *shortcut = &op[0].linear;
  const struct op_conv *o = &op[1].conv;
  if (left < 2 || op[0].type != OP_LINEAR || op[1].type != OP_CONV || shortcut->prologue.norm != NORM_NONE ||
      shortcut->prologue.act != ACT_NONE || shortcut->act != ACT_NONE || tensor_exists(shortcut->residual) ||
      o->weight.h != 3 || o->stride != 1 || o->pad != 1 || o->upsample || o->pad_end_only || o->act != ACT_NONE ||
      tensor_exists(o->time) || !tensor_exists(o->residual) || !is_same(shortcut->y, o->residual) ||
      !is_dense(program, shortcut->x) || (tensor_exists(shortcut->x2) && !is_dense(program, shortcut->x2)) ||
      !is_dense(program, o->y) || !has_shortcut_tile(device, program, &op[1]))
    return 0;
  struct product_args args = {.tile = PRODUCT_64x80_DEEP};
  product_add_shape(program, op, &args.gemm);
  args.gemm.more.x = there;
  int end = (int)(op - program->base.plan->ops) + 1;
  return o->x.c % 8 == 0 && !tensor_exists(o->x2) && is_inner(program, shortcut->y, end) &&
                 product_supported(&device->product, &args)
             ? 2
             : 0;
}

/* --- the list of sequences that can be fused --- */

static const struct pattern {
  /* A pattern is a sequence of ops that one launch can do. match: returns how many ops, from `op` on, the pattern
   * replaces; 0: it does not fit. left: largest number of ops that it may replace. The result depends on shapes and
   * operands alone. */
  int (*match)(const struct cuda_device *device, const struct cuda_program *program, const struct op *op, int left);
  /* Fills in the launches that do a sequence of ops which `match` has found. op: the sequence's first op. Returns the
   * number of launches. NULL: the launch is a product (struct fused). */
  int (*prepare)(struct addresses *addresses, const struct op *op, struct launch launches[LAUNCHES_MAX]);
  int product; /* kind of product (struct fused) */
  bool sm90;   /* true: needs compute capability 9.0, for clusters or for kernels of product_sm90.cu */
  bool others; /* true: is for other GPUs alone */
} patterns[] = {
    {fuse_match_norm_conv, fuse_prepare_norm_conv, .sm90 = true},
    {fuse_match_norm_shortcut, fuse_prepare_norm_shortcut, .sm90 = true},
    {match_block, prepare_block},
    {fuse_match_composed, fuse_prepare_composed},
    {match_enter, prepare_enter},
    {match_attend, prepare_attend},
    {match_leave, prepare_leave, .sm90 = true},
    {match_pair, NULL, FUSED_PAIR, .sm90 = true},
    {match_query, NULL, FUSED_QUERY, .sm90 = true},
    {match_feed, NULL, FUSED_FEED, .others = true},
    {match_fold, NULL, FUSED_LAYERS, .sm90 = true},
    {match_shortcut, NULL, FUSED_SHORTCUT, .sm90 = true},
};
enum { PATTERNS = sizeof patterns / sizeof patterns[0] };

int fusions_find(const struct cuda_device *device, struct cuda_program *program, struct error *err) {
  const struct plan *plan = program->base.plan;
  program->fused = calloc((size_t)plan->op_count + 1, sizeof *program->fused);
  if (!program->fused)
    return error_set(err, STATUS_FAILED, "out of memory");
  bool able = (!device->forced || device->together) && !device->apart; /* tests may switch fused kernels off */
  bool sm90 = device->product.encode_tiled;
  for (int i = 0, count; able && i < plan->op_count; i += count) {
    count = 0;
    for (int j = 0; j < PATTERNS && !count; j++) {
      if ((device->forced && !patterns[j].product) || (patterns[j].sm90 && !sm90) || (patterns[j].others && sm90))
        continue;
      count = patterns[j].match(device, program, &plan->ops[i], plan_sequence_end(plan, i) - i);
      if (count)
        program->fused[i] = (struct fused){count, j, patterns[j].product};
    }
    count = count ? count : 1;
  }
  return 0;
}

static void extend(const struct plan *plan, int first, int end, struct temporary *lifetimes) {
  for (int i = first; i < end; i++) {
    struct tensor list[OPERANDS_MAX];
    int reads = op_tensors(&plan->ops[i], OPERAND_READ, list);
    for (int j = 0; j < reads; j++)
      if (list[j].space == TENSOR_TEMPORARY && lifetimes[list[j].index].last < end - 1)
        lifetimes[list[j].index].last = end - 1;
    int writes = op_tensors(&plan->ops[i], OPERAND_WRITE, list);
    for (int j = 0; j < writes; j++)
      if (list[j].space == TENSOR_TEMPORARY && lifetimes[list[j].index].first > first)
        lifetimes[list[j].index].first = first;
  }
}

void fusions_lifetimes(const struct cuda_program *program, struct temporary *lifetimes) {
  const struct plan *plan = program->base.plan;
  for (int i = 0; i < plan->op_count; i++)
    if (program->fused[i].count)
      extend(plan, i, i + program->fused[i].count, lifetimes);
}

/* Appends the launches of a product. All count as those of the sequence's first op, except for an attention's own. */
static int prepare_product(struct cuda_device *device, struct cuda_program *program, int index, struct error *err) {
  int first = program->launches.count;
  const struct plan *plan = program->base.plan;
  int product = program->fused[index].product;
  if (product == FUSED_QUERY)
    return prepare_query(device, program, index, err);
  int status = product == FUSED_PAIR   ? pair_prepare(device, program, plan, index, err)
               : product == FUSED_FEED ? feed_prepare(device, program, plan, index, err)
                                       : product_prepare(device, program, plan, index, err);
  for (int i = first; i < program->launches.count; i++)
    program->launches.list[i].op = index;
  return status;
}

int fused_prepare(struct cuda_device *device, struct cuda_program *program, int index, struct error *err) {
  struct addresses addresses = {device, program, err, true};
  struct launch launches[LAUNCHES_MAX] = {0};
  const struct op *op = &program->base.plan->ops[index];
  if (program->fused[index].product)
    return prepare_product(device, program, index, err);
  int count = patterns[program->fused[index].pattern].prepare(&addresses, op, launches);
  for (int i = 0; i < count && addresses.ok; i++) {
    launches[i].op = index;
    addresses.ok = launches_append(&program->launches, &launches[i], err) == 0;
  }
  return addresses.ok ? 0 : -1;
}
