#include "unet/plan/op.h"

#include <math.h>
#include <stdint.h>

/* --- the lists of operands --- */

struct place {
  const char *name;
  unsigned short at; /* bytes into the op's struct */
  unsigned short roles;
};

#define PLACE_TENSOR(name, roles) {#name, offsetof(this, name), roles},
#define PLACE_PROLOGUE(name)                                                                                           \
  {#name ".gamma", offsetof(this, name.gamma), OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL},                      \
      {#name ".beta", offsetof(this, name.beta), OPERAND_READ | OPERAND_VECTOR | OPERAND_OPTIONAL},
#define PLACES(TYPE, field, ...)                                                                                       \
  static const struct place *places_##field(int *count) {                                                              \
    typedef struct op_##field this;                                                                                    \
    static const struct place places[] = {OPERANDS_##TYPE(PLACE_TENSOR, PLACE_PROLOGUE)};                              \
    _Static_assert(sizeof places <= OPERANDS_MAX * sizeof *places, #field " has more operands than OPERANDS_MAX");     \
    *count = sizeof places / sizeof *places;                                                                           \
    return places;                                                                                                     \
  }
OP_TABLE(PLACES)

#define PLACES_ROW(TYPE, field, ...) [OP_##TYPE] = places_##field,
static const struct place *(*const places_of[OP_TYPES])(int *count) = {OP_TABLE(PLACES_ROW)};

static struct tensor *operand_at(const struct op *op, const struct place *place) {
  return (struct tensor *)((char *)(uintptr_t)&op->conv + place->at);
}

int op_operands(const struct op *op, unsigned roles, struct op_operand list[OPERANDS_MAX]) {
  int count, kept = 0;
  const struct place *places = places_of[op->type](&count);
  for (int i = 0; i < count; i++)
    if (places[i].roles & roles)
      list[kept++] = (struct op_operand){*operand_at(op, &places[i]), places[i].name, places[i].roles};
  return kept;
}

int op_tensors(const struct op *op, unsigned roles, struct tensor list[OPERANDS_MAX]) {
  struct op_operand all[OPERANDS_MAX];
  int count = op_operands(op, roles, all), kept = 0;
  for (int i = 0; i < count; i++)
    if (tensor_exists(all[i].tensor))
      list[kept++] = all[i].tensor;
  return kept;
}

struct tensor *op_y(struct op *op) {
  int count;
  const struct place *places = places_of[op->type](&count);
  for (int i = 0; i < count; i++)
    if (places[i].roles == OPERAND_WRITE)
      return operand_at(op, &places[i]);
  return NULL;
}

float inject_guess(const struct op_inject *op) {
  return powf(10, op->count > 1 ? (float)op->index / (float)(op->count - 1) - 1 : -1);
}

const char *op_type_name(enum op_type type) {
#define NAME(TYPE, field, name, ...) [OP_##TYPE] = name,
  static const char *const names[OP_TYPES] = {OP_TABLE(NAME)};
  return type < OP_TYPES ? names[type] : "unknown";
}

/* --- what each op asks of its operands, and the shape of what it makes --- */

static bool has_size(struct tensor t, struct tensor other) {
  return t.n == other.n && t.h == other.h && t.w == other.w;
}

static bool fits_result(struct tensor t, const struct op_result *y) {
  return !tensor_exists(t) || (t.n == y->n && t.h == y->h && t.w == y->w && t.c == y->c);
}

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

/* Of all pictures or of each. */
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

static const char *check_conv(const struct op *op, int runs, struct op_result *y) {
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

static const char *check_linear(const struct op *op, int runs, struct op_result *y) {
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

static struct op_result shape_of(struct tensor x) {
  return (struct op_result){.n = x.n, .h = x.h, .w = x.w, .c = x.c};
}

static const char *check_norm(const struct op *op, int runs, struct op_result *y) {
  (void)runs;
  *y = shape_of(op->norm.x);
  return check_input(op->norm.x, (struct tensor){0}, &op->norm.prologue);
}

static const char *check_affine(const struct op *op, int runs, struct op_result *y) {
  (void)runs;
  *y = shape_of(op->affine.x);
  y->demand = op->affine.precise ? ELEMENT_PRECISE : ELEMENT_DEVICE;
  return op->affine.x.pitch == op->affine.x.c ? NULL : "x is a slice of channels";
}

static const char *check_blocks(const struct op *op, int runs, struct op_result *y) {
  const struct op_blocks *o = &op->blocks;
  int size = o->size;
  (void)runs;
  if (size < 1 || size > 64 || o->x.h % size || o->x.w % size)
    return "the size is no multiple of the blocks'";
  *y = (struct op_result){
      .n = o->x.n, .h = o->x.h / size, .w = o->x.w / size, .c = o->mean ? o->x.c : o->x.c * size * size};
  return NULL;
}

/* Whether n rows are those of one latent or step or of several. */
static bool has_rows(struct guidance_rows rows, int n) {
  return rows.first >= 1 && rows.first <= GUIDANCE_ROWS_MAX && rows.each >= 1 && rows.each <= GUIDANCE_ROWS_MAX &&
         n >= rows.first && (n - rows.first) % rows.each == 0;
}

/* Whether there are steps enough for an op that runs so often, first at this one. */
static bool has_steps(int step, int runs) {
  return step >= 0 && step < CALLS_MAX && step + runs <= CALLS_MAX;
}

/* Of so many latents; 0: they are not all together. */
static int count_steps(int latents, int together) {
  int each = together ? together : 1;
  return each > 0 && latents % each == 0 ? latents / each : 0;
}

static bool is_same(struct tensor a, struct tensor b) {
  return tensor_exists(a) && a.space == b.space && a.index == b.index;
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

static const char *check_inject(const struct op *op, int runs, struct op_result *y) {
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

static const char *check_attention(const struct op *op, int runs, struct op_result *y) {
  const struct op_attention *o = &op->attention;
  (void)runs;
  *y = shape_of(o->q);
  if (o->heads <= 0 || o->q.c % o->heads)
    return "the heads do not divide the channels";
  if (o->k.c != o->q.c || o->v.c != o->q.c)
    return "q, k and v differ in channels";
  if (o->k.h * o->k.w != o->v.h * o->v.w)
    return "k and v differ in length";
  return o->k.n == o->v.n && (o->k.n == 1 || o->k.n == o->q.n) ? NULL : "k and v do not match q's rows";
}

static const char *check_style(const struct op *op, int runs, struct op_result *y) {
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

static const char *check_join(const struct op *op, int runs, struct op_result *y) {
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

/* Of as many latents of one shape; or left out. */
static bool fits_latents(struct tensor t, struct tensor other) {
  return !tensor_exists(t) || (has_size(t, other) && t.c == other.c);
}

static const char *check_embed(const struct op *op, int runs, struct op_result *y) {
  const struct op_embed *o = &op->embed;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = o->position.n, .c = o->position.c};
  if (o->position.n > TOKENS_MAX)
    return "more text positions than are supported";
  return o->token.c == o->position.c ? NULL : "token and position embeddings differ in width";
}

static const char *check_timestep(const struct op *op, int runs, struct op_result *y) {
  const struct op_timestep *o = &op->timestep;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, 1);
  int n = o->y.n, c = o->y.c, values = o->values ? o->values : 1;
  (void)runs;
  *y = (struct op_result){.n = n, .h = 1, .w = 1, .c = c};
  if (!has_rows(rows, n) || (!o->values && guidance_index(rows, n - 1) >= CALLS_MAX))
    return "no such number of steps";
  if (values < 1 || values > SIZES)
    return "no such number of values";
  return c > 0 && c % (2 * values) == 0 ? NULL : "the embedding's width is odd";
}

static const char *check_guidance_embed(const struct op *op, int runs, struct op_result *y) {
  int c = op->guidance_embed.y.c;
  (void)runs;
  *y = (struct op_result){.n = op->guidance_embed.y.n, .h = 1, .w = 1, .c = c};
  return c > 2 && c % 2 == 0 ? NULL : "the embedding's width is odd";
}

static const char *check_time_row(const struct op *op, int runs, struct op_result *y) {
  const struct op_time_row *o = &op->time_row;
  int rows = o->y.n ? o->y.n : 1;
  *y = (struct op_result){.n = rows, .h = 1, .w = 1, .c = o->table.c};
  return rows > 0 && o->step >= 0 && o->step + runs <= o->table.n / rows ? NULL : "the table has no such row";
}

static const char *check_store_slot(const struct op *op, int runs, struct op_result *y) {
  const struct op_store_slot *o = &op->store_slot;
  (void)runs, (void)y;
  bool fits = o->x.n == 1 && o->x.h == o->slots.h && o->x.w == o->slots.w && o->x.c == o->slots.c;
  return fits ? NULL : "the shape differs from the slots'";
}

static const char *check_shift(const struct op *op, int runs, struct op_result *y) {
  const struct op_shift *o = &op->shift;
  struct tensor rows = o->rows;
  (void)runs, (void)y;
  rows.n = o->by ? o->by : 1;
  if (o->by < 0 || o->rows.n % rows.n)
    return "the rows do not go on by so many";
  return fits_latents(o->x, rows) ? NULL : "the shape differs from the rows'";
}

static const char *check_prompt(const struct op *op, int runs, struct op_result *y) {
  const struct op_prompt *o = &op->prompt;
  (void)runs;
  *y = (struct op_result){.n = o->y.n, .h = 1, .w = o->slots.w, .c = o->slots.c};
  return has_rows(guidance_rows(o->first, o->rows, o->y.n), o->y.n) ? NULL : "the guidance rows are not all there";
}

static const char *check_end_token(const struct op *op, int runs, struct op_result *y) {
  const struct op_end_token *o = &op->end_token;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = 1, .w = 1, .c = o->x.c};
  return o->x.n == 1 && o->x.h == 1 ? NULL : "the text is not one row of tokens";
}

static const char *check_emphasis(const struct op *op, int runs, struct op_result *y) {
  const struct op_emphasis *o = &op->emphasis;
  (void)runs;
  *y = shape_of(o->x);
  return o->x.n == 1 && o->x.h == 1 && o->x.w <= TOKENS_MAX ? NULL : "the text is not one row of tokens";
}

static bool fits_noise(struct tensor x, struct tensor noise) {
  return !tensor_exists(x) || !tensor_exists(noise) || (noise.h == x.h && noise.w == x.w && noise.c == x.c);
}

static const char *check_between(const struct op *op, int runs, struct op_result *y) {
  struct tensor ends = op->between.ends, noise = op->between.noise;
  int pictures = op->between.pictures ? op->between.pictures : 1;
  (void)runs, (void)y;
  if (pictures < 1 || pictures > BATCH_MAX || noise.n % pictures)
    return "the samples are not of so many pictures";
  bool fits = ends.n == 2 * noise.n && ends.h == noise.h && ends.w == noise.w && ends.c == noise.c;
  return fits ? NULL : "the ends are not two of the noise's shape";
}

static const char *check_start(const struct op *op, int runs, struct op_result *y) {
  const struct op_start *o = &op->start;
  (void)runs;
  *y = shape_of(tensor_exists(o->z) ? o->z : o->noise);
  y->demand = ELEMENT_PRECISE;
  return fits_noise(o->z, o->noise) && o->noise.n >= y->n ? NULL : "the noise's shape is not the latent's";
}

static const char *check_mask(const struct op *op, int runs, struct op_result *y) {
  const struct op_mask *o = &op->mask;
  (void)runs;
  *y = shape_of(o->x);
  bool fits = o->kept.h == o->x.h && o->kept.w == o->x.w && o->kept.n == 1 && o->kept.c == 1;
  return fits ? NULL : "the mask's size differs from the picture's";
}

/* Whether there is a mask value or k x k of them for each pixel, of all pictures or of each. */
static bool fits_mask(struct tensor kept, struct tensor x) {
  int k = kept.h / x.h;
  return !tensor_exists(kept) ||
         (k > 0 && (kept.n == 1 || kept.n == x.n) && kept.h == k * x.h && kept.w == k * x.w && kept.c == 1);
}

static const char *check_unet_input(const struct op *op, int runs, struct op_result *y) {
  const struct op_unet_input *o = &op->unet_input;
  (void)runs;
  *y = (struct op_result){.n = o->y.n, .h = o->x.h, .w = o->x.w, .c = o->x.c + o->kept.c + o->image.c};
  if (!fits_mask(o->kept, o->x))
    return "the mask's size is no multiple of the latent's";
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->y.n);
  if (!has_rows(rows, o->y.n) || guidance_total(rows, o->x.n) != o->y.n)
    return "the guidance rows are not all there";
  return !tensor_exists(o->image) || has_size(o->image, o->x)
             ? NULL
             : "the image latent's size differs from the noisy latent's";
}

static const char *check_guide(const struct op *op, int runs, struct op_result *y) {
  const struct op_guide *o = &op->guide;
  const struct guidance_rows rows = guidance_rows(o->first, o->rows, o->model.n);
  int latents = tensor_exists(o->x) ? o->x.n : 1, steps = count_steps(latents, o->together);
  struct tensor one = o->model;
  one.n = latents;
  *y = shape_of(one);
  y->demand = ELEMENT_PRECISE;
  if (!steps || !has_steps(o->step, runs + steps - 1))
    return "no such step";
  if (!has_rows(rows, o->model.n) || guidance_total(rows, latents) != o->model.n)
    return "the guidance rows are not all there";
  if (!fits_latents(o->x, one) || !fits_latents(o->reference, one) || !fits_latents(o->anew, one))
    return "x, reference or anew do not have the prediction's shape";
  if (tensor_exists(o->anew) && (rows.first != 2 || (o->together > 1 && rows.each != 2) || !tensor_exists(o->x)))
    return "there is nothing to make the reference anew from";
  return !tensor_exists(o->reference) || tensor_exists(o->x) ? NULL : "a reference without an x";
}

static const char *check_step(const struct op *op, int runs, struct op_result *y) {
  const struct op_step *o = &op->step;
  struct tensor m = o->model;
  int steps = count_steps(o->x.n, o->together);
  (void)y;
  if (!steps || !has_steps(o->step, runs + steps - 1) ||
      (tensor_exists(o->noise) && o->step >= o->noise.n / (o->x.n / steps)))
    return "no such step";
  if (!fits_noise(o->x, o->noise))
    return "the noise's shape is not the latent's";
  if (!fits_latents(m, o->x))
    return "the prediction does not have the latent's shape";
  if (!fits_noise(o->x, o->earlier) || o->earlier.n % o->x.n || o->earlier.n / o->x.n > EARLIER_MAX)
    return "the earlier predictions do not have the latent's shape, or are too many";
  return is_same(o->earlier, o->x) || is_same(o->earlier, m) ? "the earlier predictions are another operand" : NULL;
}

static const char *check_pixels_in(const struct op *op, int runs, struct op_result *y) {
  struct tensor given = op->pixels_in.y;
  (void)runs;
  *y = (struct op_result){.n = given.n ? given.n : 1, .h = given.h, .w = given.w, .c = 3};
  if (y->n < 1 || y->n > BATCH_MAX)
    return "no such number of pictures";
  return op->pixels_in.source >= 0 && op->pixels_in.source < SOURCES_MAX ? NULL : "there is no such source";
}

static const char *check_map(const struct op *op, int runs, struct op_result *y) {
  const struct op_map *o = &op->map;
  (void)runs;
  *y = shape_of(o->x);
  if (o->x.n != 1 || o->x.c != 3)
    return "the picture does not have three channels";
  if (o->kind == MAP_DEPTH || o->kind == MAP_PICTURE || (size_t)o->kind >= MAP_KINDS)
    return "no op makes such a map";
  return o->control >= 0 && o->control < CONTROLS_MAX ? NULL : "no such control";
}

static const char *check_pixels_out(const struct op *op, int runs, struct op_result *y) {
  const struct op_pixels_out *o = &op->pixels_out;
  (void)runs, (void)y;
  if (o->x.n > BATCH_MAX || o->x.c != 3)
    return "the pictures are too many or do not have three channels";
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (!fits_latents(pixels_out_map(o, i), o->x))
      return "a map's size differs from the picture's";
  return fits_latents(o->input, o->x) ? NULL : "input and output sizes differ";
}

/* Of no more pixels than a tensor may have (plan.c); each factor is checked, so that their product is in range. */
static bool has_grid(int rows, int columns, int size) {
  enum { SIDE_MAX = 1 << 14 };
  return rows > 0 && columns > 0 && size > 0 && rows <= SIDE_MAX / size && columns <= SIDE_MAX / size;
}

static const char *check_patches(const struct op *op, int runs, struct op_result *y) {
  const struct op_patches *o = &op->patches;
  (void)runs;
  if (!has_grid(o->rows, o->columns, o->size))
    return "no such number of patches";
  *y = (struct op_result){.n = 1, .h = 1, .w = 1 + o->rows * o->columns, .c = o->y.c};
  if (o->x.n != 1 || o->x.c != 3)
    return "the picture does not have three channels";
  return o->y.c >= 3 * o->size * o->size ? NULL : "a patch has more values than y";
}

static const char *check_unpatch(const struct op *op, int runs, struct op_result *y) {
  const struct op_unpatch *o = &op->unpatch;
  (void)runs;
  if (!has_grid(o->rows, o->columns, o->size) || o->skip < 0)
    return "no such number of patches";
  int values = o->size * o->size;
  *y = (struct op_result){.n = 1, .h = o->rows * o->size, .w = o->columns * o->size, .c = o->x.c / values};
  if (o->x.n != 1 || o->x.h != 1 || o->x.w - o->skip != o->rows * o->columns)
    return "there are not so many tokens";
  return o->x.c % values ? "the squares do not divide the channels" : NULL;
}

static const char *check_resize(const struct op *op, int runs, struct op_result *y) {
  const struct op_resize *o = &op->resize;
  (void)runs;
  *y = (struct op_result){.n = o->x.n, .h = o->y.h, .w = o->y.w, .c = o->x.c};
  return fits_result(o->residual, y) ? NULL : "the residual's shape differs from the output's";
}

static bool is_range(struct tensor t) {
  return t.n == 1 && t.h == 1 && t.w == 1 && t.c == 3;
}

static const char *check_range(const struct op *op, int runs, struct op_result *y) {
  const struct op_range *o = &op->range;
  (void)runs, (void)y;
  if (!is_range(o->range))
    return "the range is not three values";
  if (o->x.n != 1 || o->x.c != 1 || o->size < 1 || o->x.h % o->size || o->x.w % o->size)
    return "x is not whole squares of one channel";
  return o->control >= 0 && o->control < CONTROLS_MAX ? NULL : "no such control";
}

static const char *check_spread(const struct op *op, int runs, struct op_result *y) {
  const struct op_spread *o = &op->spread;
  (void)runs;
  *y = (struct op_result){.n = 1, .h = o->y.h, .w = o->y.w, .c = 3};
  if (!is_range(o->range))
    return "the range is not three values";
  return o->x.n == 1 && o->x.c == 1 ? NULL : "x does not have one channel";
}

const char *op_check(const struct op *op, int runs, struct op_result *y) {
#define CHECK(TYPE, field, ...) [OP_##TYPE] = check_##field,
  static const char *(*const checks[OP_TYPES])(const struct op *, int, struct op_result *) = {OP_TABLE(CHECK)};
  *y = (struct op_result){0};
  return checks[op->type](op, runs, y);
}

/* --- cost --- */

static double no_flops(const struct op *op) {
  (void)op;
  return 0;
}

static double conv_flops(const struct op *op) {
  struct tensor w = op->conv.weight;
  return 2.0 * (double)tensor_elements(op->conv.y) * w.h * w.w * w.c;
}

static double linear_flops(const struct op *op) {
  struct tensor w = op->linear.weight;
  return 2.0 * (double)tensor_rows(op->linear.x) * w.n * w.c;
}

static double inject_flops(const struct op *op) {
  return 2.0 * (double)tensor_elements(op->inject.y) * op->inject.weight.c;
}

static double attention_flops(const struct op *op) {
  const struct op_attention *o = &op->attention;
  return 4.0 * (double)tensor_elements(o->q) * o->k.h * o->k.w;
}

static double style_flops(const struct op *op) {
  const struct op_style *o = &op->style;
  return 4.0 * (double)tensor_elements(o->q) * o->k.w;
}

double op_flops(const struct op *op) {
#define FLOPS(TYPE, field, name, parameters, flops) [OP_##TYPE] = flops,
  static double (*const flops_of[OP_TYPES])(const struct op *) = {OP_TABLE(FLOPS)};
  return flops_of[op->type](op);
}
