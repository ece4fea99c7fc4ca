#include "unet/plan/op_checks.h"

static bool is_vector(struct tensor t, int c) {
  return !tensor_exists(t) || (t.n == 1 && t.h == 1 && t.w == 1 && t.c == c);
}

static const char *check_input(struct tensor x, struct tensor x2, const struct prologue *p) {
  int c = x.c + x2.c;
  if (tensor_exists(x2) && !has_size(x2, x))
    return "the second input's size differs from the first's";
  if (p->norm == NORM_GROUP && (p->groups <= 0 || c % p->groups))
    return "the norm's groups do not divide the channels";
  if (!is_vector(p->gamma, c) || !is_vector(p->beta, c))
    return "the norm's weights do not match the channels";
  return p->act == ACT_GEGLU ? "GEGLU cannot be applied to an input" : NULL;
}

/* Returns true if the operand `time` was left out, or has one row for all pictures or one row for each picture. */
static bool has_time_rows(const struct op_conv *o) {
  struct tensor one = o->time;
  one.n = o->time.n == o->x.n ? 1 : o->time.n;
  return is_vector(one, o->weight.n);
}

static const char *check_conv_kernel(const struct op_conv *o) {
  struct tensor w = o->weight;
  if (w.c != o->x.c + o->x2.c)
    return "the weight's input channels do not match the input";
  if (w.h != w.w || (w.h != 1 && w.h != 3))
    return "only 1x1 and 3x3 kernels are supported";
  if (o->stride != 1 && o->stride != 2)
    return "only strides 1 and 2 are supported";
  if (o->pad_end_only && o->pad)
    return "padding at the end only excludes other padding";
  if (!is_vector(o->bias, w.n) || !has_time_rows(o))
    return "bias or time row does not match the output";
  if (o->time.n > 1 && o->act != ACT_NONE)
    return "a time row for each picture excludes an activation";
  return o->act == ACT_GEGLU ? "GEGLU belongs to linear layers" : NULL;
}

const char *op_check_conv(const struct op *op, int runs, struct op_result *y) {
  const struct op_conv *o = &op->conv;
  const char *wrong = check_input(o->x, o->x2, &o->prologue);
  (void)runs;
  if (wrong || (wrong = check_conv_kernel(o)))
    return wrong;
  int border = (o->pad_end_only ? 1 : 2 * o->pad) - o->weight.h;
  *y = (struct op_result){.n = o->x.n,
                          .h = ((o->x.h << o->upsample) + border) / o->stride + 1,
                          .w = ((o->x.w << o->upsample) + border) / o->stride + 1,
                          .c = o->weight.n};
  return fits_result(o->residual, y) ? NULL : "the residual's shape differs from the output's";
}

const char *op_check_linear(const struct op *op, int runs, struct op_result *y) {
  const struct op_linear *o = &op->linear;
  const char *wrong = check_input(o->x, o->x2, &o->prologue);
  struct tensor w = o->weight;
  (void)runs;
  if (wrong)
    return wrong;
  if (w.c != o->x.c + o->x2.c || w.h != 1 || w.w != 1)
    return "the weight's input features do not match the input";
  if (!is_vector(o->bias, w.n))
    return "the bias does not match the output features";
  if (o->act == ACT_GEGLU && w.n % 2)
    return "GEGLU needs an even number of features";
  *y = (struct op_result){.n = o->x.n, .h = o->x.h, .w = o->x.w, .c = o->act == ACT_GEGLU ? w.n / 2 : w.n};
  return fits_result(o->residual, y) ? NULL : "the residual's shape differs from the output's";
}

const char *op_check_norm(const struct op *op, int runs, struct op_result *y) {
  (void)runs;
  *y = shape_of(op->norm.x);
  return check_input(op->norm.x, (struct tensor){0}, &op->norm.prologue);
}

const char *op_check_affine(const struct op *op, int runs, struct op_result *y) {
  (void)runs;
  *y = shape_of(op->affine.x);
  y->demand = op->affine.precise ? ELEMENT_PRECISE : ELEMENT_DEVICE;
  return op->affine.x.pitch == op->affine.x.c ? NULL : "x is a slice of channels";
}

const char *op_check_blocks(const struct op *op, int runs, struct op_result *y) {
  const struct op_blocks *o = &op->blocks;
  int size = o->size;
  (void)runs;
  if (size < 1 || size > 64 || o->x.h % size || o->x.w % size)
    return "the size is no multiple of the blocks'";
  *y = (struct op_result){
      .n = o->x.n, .h = o->x.h / size, .w = o->x.w / size, .c = o->mean ? o->x.c : o->x.c * size * size};
  return NULL;
}

static const char *check_inject_operands(const struct op_inject *o) {
  struct tensor one = o->x, w = o->weight;
  one.n = o->x.n == 1 && !tensor_exists(w) ? o->y.n : o->x.n;
  if (o->y.space == TENSOR_RESOURCE || is_same(o->x, o->y))
    return "what it adds to is a weight, or is read as well";
  if (!has_size(one, o->y))
    return "the size differs from that of what it adds to";
  if (tensor_exists(w) && (w.c != o->x.c || w.h != 1 || w.w != 1))
    return "the weight's input features do not match the input";
  if (tensor_exists(o->bias) && (!tensor_exists(w) || !is_vector(o->bias, w.n)))
    return "the bias does not match the output features";
  return o->y.c == (tensor_exists(w) ? w.n : o->x.c) ? NULL : "the channels differ from those of what it adds to";
}

const char *op_check_inject(const struct op *op, int runs, struct op_result *y) {
  const struct op_inject *o = &op->inject;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->y.n);
  const char *wrong = check_inject_operands(o);
  (void)y;
  if (wrong)
    return wrong;
  if (o->control < 0 || o->control >= CONTROLS_MAX || o->index < 0 || o->index >= o->count)
    return "there is no such control or injection";
  if (!has_rows(rows, o->y.n))
    return "the guidance rows are not all there";
  return has_steps(o->step, runs + guidance_index(rows, o->y.n - 1)) ? NULL : "no such step";
}

/* Returns what is wrong with k2 and v2, the keys and values of earlier frames, or NULL. */
static const char *check_second(const struct op_attention *o) {
  if (tensor_exists(o->k2) != tensor_exists(o->v2) || tensor_exists(o->k2) != tensor_exists(o->bank))
    return "the second segment lacks keys, values or the bank's state";
  if (!tensor_exists(o->k2))
    return NULL;
  if (o->causal)
    return "a second segment excludes the causal mask";
  if (tensor_elements(o->bank) != BANK_VALUES)
    return "the bank's state has another shape";
  return has_size(o->k2, o->v2) && o->k2.n == o->k.n && o->k2.c == o->k.c && o->v2.c == o->k.c
             ? NULL
             : "the second segment does not match the first";
}

const char *op_check_attention(const struct op *op, int runs, struct op_result *y) {
  const struct op_attention *o = &op->attention;
  (void)runs;
  *y = shape_of(o->q);
  if (o->heads <= 0 || o->q.c % o->heads)
    return "the heads do not divide the channels";
  if (o->k.c != o->q.c || o->v.c != o->q.c)
    return "q, k and v differ in channels";
  if (o->k.h * o->k.w != o->v.h * o->v.w)
    return "k and v differ in length";
  if (o->k.n != o->v.n || (o->k.n != 1 && o->k.n != o->q.n))
    return "k and v do not match q's rows";
  return check_second(o);
}

const char *op_check_style(const struct op *op, int runs, struct op_result *y) {
  const struct op_style *o = &op->style;
  (void)runs, (void)y;
  if (o->heads <= 0 || o->q.c % o->heads)
    return "the heads do not divide the channels";
  if (o->k.c != o->q.c || o->v.c != o->q.c || !has_size(o->y, o->q) || o->y.c != o->q.c)
    return "q, k, v and y differ in channels or size";
  if (!has_size(o->k, o->v) || o->k.pitch != o->v.pitch || o->k.h != 1 || o->k.n < 2)
    return "k and v are not slices of the same slots";
  if (o->part < 0 || o->part >= STYLE_PARTS)
    return "no such part";
  return has_rows(guidance_rows(o->first, o->rows, o->y.n), o->y.n) ? NULL : "the guidance rows are not all there";
}

const char *op_check_join(const struct op *op, int runs, struct op_result *y) {
  const struct op_join *o = &op->join;
  int tokens = o->x.w + o->x2.w;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = tokens, .c = o->x.c};
  if (o->x.n != 1 || o->x.h != 1 || o->x2.n != 1 || o->x2.h != 1 || o->x2.c != o->x.c)
    return "the parts are not rows of tokens of one width";
  return !tensor_exists(o->position) || (o->position.n == tokens && o->position.c == o->x.c)
             ? NULL
             : "there is not a position for each token";
}
