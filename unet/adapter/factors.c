/* Makes the factors from which changes of weights are computed (unet/plan/blend.h), from the tensors of an adapter's
 * file (LoRA and similar). recipe_plan checks all shapes and decides where each factor lies in adapter->factors.
 * recipe_fill then reads, converts and stores the factors. In names, "take" reserves memory; "left" and "right" are the
 * factors of a product. */
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unet/adapter/adapter_impl.h"
#include "unet/base/text.h"

/* --- sizes and values of tensors --- */

static bool is_double(const struct safetensor *t) {
  return !strcmp(t->type, "F64") && t->rank <= SAFETENSOR_RANK_MAX;
}

bool factor_is_readable(const struct safetensor *t) {
  return t->usable || is_double(t);
}

static int64_t elements(const struct safetensor *t) {
  return (int64_t)(t->bytes / (is_double(t) ? sizeof(double) : dtype_size(t->dtype)));
}

static int64_t side(const struct safetensor *t, int dimension) {
  return dimension < t->rank ? t->shape[dimension] : 1;
}

/* The shape of a tensor of the model, in the order in which networks read it: [rows, taps, channels], where taps is the
 * number of positions of a convolution's kernel; 1 for a matrix. */
struct extent {
  int64_t rows, channels, taps;
};

static struct extent extent_of(const struct safetensor *t) {
  struct extent e = {side(t, 0), side(t, 1), 1};
  for (int i = 2; i < t->rank; i++)
    e.taps *= t->shape[i];
  return e;
}

/* Fails unless a tensor's first dimension is `rows` and it has rows * columns elements. How its further dimensions are
 * divided does not matter. */
static int expect(const struct safetensor *t, int64_t rows, int64_t columns, struct error *err) {
  if (t->rank > 0 && t->shape[0] == rows && rows > 0 && columns > 0 && elements(t) / rows == columns &&
      elements(t) % rows == 0)
    return 0;
  char has[128] = "";
  for (int i = 0; i < t->rank && i < SAFETENSOR_RANK_MAX; i++)
    snprintf(has + strlen(has), sizeof has - strlen(has), "%s%lld", i ? ", " : "", (long long)t->shape[i]);
  return error_set(err, STATUS_MODEL, "%s: tensor %s: has shape [%s] where this model asks for [%lld, %lld]",
                   t->file->path, text_quote(t->name).text, has, (long long)rows, (long long)columns);
}

static int check_rank(const struct safetensor *t, int64_t rank, struct error *err) {
  if (rank >= 1 && rank <= BLEND_RANK_MAX)
    return 0;
  return error_set(err, STATUS_MODEL, "%s: tensor %s: a rank of %lld is not supported (1 to %d is)", t->file->path,
                   text_quote(t->name).text, (long long)rank, BLEND_RANK_MAX);
}

/* Reads all values of an F64 tensor as FP32, a part of them at a time. */
static int read_doubles(const struct safetensor *t, float *out, struct error *err) {
  double some[512];
  size_t count = (size_t)elements(t), most = sizeof some / sizeof *some;
  for (size_t first = 0; first < count; first += most) {
    size_t now = count - first < most ? count - first : most;
    if (weight_file_read(t->file, t->offset + first * sizeof *some, some, now * sizeof *some, err))
      return -1;
    for (size_t i = 0; i < now; i++)
      if (!isfinite(out[first + i] = (float)some[i]))
        return error_set(err, STATUS_MODEL, "%s: tensor %s: value %zu is not finite in FP32", t->file->path,
                         text_quote(t->name).text, first + i);
  }
  return 0;
}

/* Reads all values of a tensor as FP32. */
static int read_tensor(const struct safetensor *t, float *out, struct error *err) {
  if (is_double(t))
    return read_doubles(t, out, err);
  const struct weight_part part = {
      .dtype = t->dtype, .rows = (int)side(t, 0), .file = t->file, .offset = t->offset, .name = t->key};
  void *stored = malloc(t->bytes + 1);
  if (!stored)
    return error_set(err, STATUS_FAILED, "%s: out of memory", t->file->path);
  int result = weight_part_read(&part, 0, (size_t)elements(t), false, stored, err);
  if (!result)
    weights_to_f32(t->dtype, stored, (size_t)elements(t), out);
  free(stored);
  return result;
}

static float *load_tensor(const struct safetensor *t, struct error *err) {
  float *out = malloc((size_t)elements(t) * sizeof *out + 1);
  if (!out)
    error_set(err, STATUS_FAILED, "%s: out of memory", t->file->path);
  else if (!read_tensor(t, out, err))
    return out;
  free(out);
  return NULL;
}

int read_scalar(const struct safetensor *t, double *value, struct error *err) {
  int64_t whole;
  float real;
  if (t->usable && elements(t) == 1) {
    if (read_tensor(t, &real, err))
      return -1;
    *value = (double)real;
    return 0;
  }
  bool wide = t->bytes == 8 && (!strcmp(t->type, "I64") || !strcmp(t->type, "F64"));
  if (!wide)
    return error_set(err, STATUS_MODEL, "%s: tensor %s: is no number", t->file->path, text_quote(t->name).text);
  if (weight_file_read(t->file, t->offset, &whole, sizeof whole, err))
    return -1;
  if (*t->type == 'F')
    memcpy(value, &whole, sizeof whole);
  else
    *value = (double)whole;
  return isfinite(*value)
             ? 0
             : error_set(err, STATUS_MODEL, "%s: tensor %s: is not finite", t->file->path, text_quote(t->name).text);
}

/* --- calculating with the small matrices of adapters --- */

/* Reorders values from [n][channels][taps], as files store convolutions, to [n][taps][channels]. */
static void turn(const float *from, int64_t n, const struct extent *e, float *to) {
  for (int64_t i = 0; i < n; i++, from += e->channels * e->taps)
    for (int64_t tap = 0; tap < e->taps; tap++)
      for (int64_t c = 0; c < e->channels; c++)
        *to++ = from[c * e->taps + tap];
}

static void transpose(const float *from, int64_t rows, int64_t columns, float *to) {
  for (int64_t c = 0; c < columns; c++)
    for (int64_t r = 0; r < rows; r++)
      *to++ = from[r * columns + c];
}

/* Multiplies two matrices: `to` [rows][columns] = `a` [rows][inner] * `b` [inner][columns]. */
static void multiply(const float *a, const float *b, int64_t rows, int64_t inner, int64_t columns, float *to) {
  memset(to, 0, (size_t)(rows * columns) * sizeof *to);
  for (int64_t r = 0; r < rows; r++, to += columns)
    for (int64_t k = 0; k < inner; k++, a++)
      for (int64_t c = 0; c < columns; c++)
        to[c] += *a * b[k * columns + c];
}

/* Multiplies the down factor by the middle factor. The result `to` [p][taps][channels] is the sum over q of
 * middle[p][q][taps] * down[q][channels]. */
static void expand(const float *middle, const float *down, int64_t p_count, int64_t q_count, const struct extent *e,
                   float *to) {
  memset(to, 0, (size_t)(p_count * e->taps * e->channels) * sizeof *to);
  for (int64_t p = 0; p < p_count; p++, to += e->taps * e->channels)
    for (int64_t q = 0; q < q_count; q++)
      for (int64_t tap = 0; tap < e->taps; tap++)
        for (int64_t c = 0; c < e->channels; c++)
          to[tap * e->channels + c] += middle[(p * q_count + q) * e->taps + tap] * down[q * e->channels + c];
}

/* --- a product: left [rows, rank], right [rank, taps, channels], from two tensors or three --- */

struct product {
  /* the tensors of a product of two factors, `left` and `right`; `middle`: a third factor between these two; NULL:
   * there is none */
  const struct safetensor *left, *right, *middle;
  bool turned; /* true: with a middle factor, the left factor is stored transposed, [rank, rows], as LyCORIS does */
};

static int64_t product_rank(const struct product *p) {
  return p->middle ? side(p->middle, 0) : side(p->right, 0);
}

static int check_product(const struct product *p, const struct extent *e, struct error *err) {
  int64_t rank = product_rank(p), inner = side(p->right, 0);
  if (check_rank(p->right, inner, err) || check_rank(p->middle ? p->middle : p->right, rank, err))
    return -1;
  if (p->middle && expect(p->middle, rank, inner * e->taps, err))
    return -1;
  if (p->middle && p->turned ? expect(p->left, rank, e->rows, err) : expect(p->left, e->rows, rank, err))
    return -1;
  return expect(p->right, inner, p->middle ? e->channels : e->channels * e->taps, err);
}

static int fill_left(const struct product *p, const struct extent *e, float *to, struct error *err) {
  if (!p->middle || !p->turned)
    return read_tensor(p->left, to, err);
  float *left = load_tensor(p->left, err);
  if (left)
    transpose(left, product_rank(p), e->rows, to);
  free(left);
  return left ? 0 : -1;
}

static int fill_right(const struct product *p, const struct extent *e, float *to, struct error *err) {
  if (!p->middle && e->taps == 1)
    return read_tensor(p->right, to, err);
  float *right = load_tensor(p->right, err), *middle = right && p->middle ? load_tensor(p->middle, err) : NULL;
  bool read = right && (middle || !p->middle);
  if (read && middle)
    expand(middle, right, product_rank(p), side(p->right, 0), e, to);
  else if (read)
    turn(right, product_rank(p), e, to);
  free(right);
  free(middle);
  return read ? 0 : -1;
}

static int fill_product(const struct product *p, const struct extent *e, float *left, float *right, struct error *err) {
  return fill_left(p, e, left, err) || fill_right(p, e, right, err) ? -1 : 0;
}

static size_t take(size_t *used, int64_t count) {
  size_t at = *used;
  *used += (size_t)count;
  return at;
}

static void place_product(const struct product *p, const struct extent *e, int *rank, size_t *left, size_t *right,
                          size_t *used) {
  *rank = (int)product_rank(p);
  *left = take(used, e->rows * *rank);
  *right = take(used, *rank * e->taps * e->channels);
}

static struct product lora_product(const struct group *g) {
  return (struct product){g->piece[PIECE_UP], g->piece[PIECE_DOWN], g->piece[PIECE_MID], false};
}

static struct product loha_product(const struct group *g, int which) {
  return which ? (struct product){g->piece[PIECE_W2_A], g->piece[PIECE_W2_B], g->piece[PIECE_T2], true}
               : (struct product){g->piece[PIECE_W1_A], g->piece[PIECE_W1_B], g->piece[PIECE_T1], true};
}

/* --- a Kronecker product, each of whose two factors is one tensor or a product of two --- */

static struct product lokr_product(const struct group *g, int which) {
  return which ? (struct product){g->piece[PIECE_W2_A], g->piece[PIECE_W2_B], g->piece[PIECE_T2], true}
               : (struct product){g->piece[PIECE_W1_A], g->piece[PIECE_W1_B], NULL, false};
}

/* Computes the shapes of a LoKr's two factors. The first one follows from its tensors. The second one is chosen so that
 * the Kronecker product has the shape *e; the caller checks that the tensors fit it. Returns 0, or -1 with err. */
static int lokr_extents(const struct group *g, const struct extent *e, struct extent left_right[2], struct error *err) {
  const struct safetensor *whole = g->piece[PIECE_W1], *rows = whole ? whole : g->piece[PIECE_W1_A],
                          *channels = whole ? whole : g->piece[PIECE_W1_B];
  int64_t r = side(rows, 0), c = side(channels, 1);
  if (r < 1 || c < 1 || e->rows % r || e->channels % c)
    return error_set(err, STATUS_MODEL, "%s: tensor %s: its shape does not divide the model's [%lld, %lld]",
                     rows->file->path, text_quote(rows->name).text, (long long)e->rows, (long long)e->channels);
  left_right[0] = (struct extent){r, c, 1};
  left_right[1] = (struct extent){e->rows / r, e->channels / c, e->taps};
  return 0;
}

static int check_kronecker(const struct group *g, int which, const struct extent *e, struct error *err) {
  const struct safetensor *whole = g->piece[which ? PIECE_W2 : PIECE_W1];
  const struct product p = lokr_product(g, which);
  return whole ? expect(whole, e->rows, e->channels * e->taps, err) : check_product(&p, e, err);
}

static int fill_whole(const struct safetensor *t, const struct extent *e, float *to, struct error *err) {
  float *whole = load_tensor(t, err);
  if (whole)
    turn(whole, e->rows, e, to);
  free(whole);
  return whole ? 0 : -1;
}

static int fill_kronecker(const struct group *g, int which, const struct extent *e, float *to, struct error *err) {
  const struct safetensor *whole = g->piece[which ? PIECE_W2 : PIECE_W1];
  if (whole)
    return fill_whole(whole, e, to, err);
  const struct product p = lokr_product(g, which);
  int64_t rank = product_rank(&p), columns = e->taps * e->channels;
  float *left = malloc((size_t)(e->rows * rank) * sizeof *left),
        *right = malloc((size_t)(rank * columns) * sizeof *right);
  int result = left && right ? fill_product(&p, e, left, right, err) : error_set(err, STATUS_FAILED, "out of memory");
  if (!result)
    multiply(left, right, e->rows, rank, columns, to);
  free(left);
  free(right);
  return result;
}

/* --- the number by which a change is multiplied (alpha / rank) --- */

int group_rank(const struct group *g) {
  const struct product p = g->family == FAMILY_LORA ? lora_product(g) : lokr_product(g, 0);
  const struct safetensor *t = NULL;
  if (g->family == FAMILY_LORA || g->family == FAMILY_LOHA || (g->family == FAMILY_LOKR && p.right))
    t = p.right;
  else if (g->family == FAMILY_LOKR)
    t = g->piece[PIECE_W2_B];
  return t && side(t, 0) <= BLEND_RANK_MAX ? (int)side(t, 0) : 0;
}

bool group_is_scaleless(const struct group *g) {
  return g->family != FAMILY_FULL && group_rank(g) && !g->piece[PIECE_ALPHA];
}

/* Stores the number by which the factors' product is multiplied: alpha / rank, or the scale in PEFT's config. The
 * number is 1 if the file has neither, if alpha is 0, or if no factor has a rank. It is also 1 if the file has no
 * factors but the change of the weight itself. */
static int find_scale(const struct group *g, const struct peft *peft, float *scale, struct error *err) {
  const struct safetensor *alpha = g->piece[PIECE_ALPHA];
  int rank = group_rank(g);
  double value = 0;
  *scale = 1;
  if (alpha && g->family != FAMILY_FULL) {
    if (read_scalar(alpha, &value, err))
      return -1;
    *scale = rank && value != 0 ? (float)(value / rank) : 1;
  } else if (peft_scale(peft, &g->key, rank, &value)) {
    *scale = (float)value;
  }
  return 0;
}

/* --- magnitudes of DoRA, which give each row of the changed weight its norm --- */

/* Decides how the magnitudes of a DoRA are applied. The tensor's shape tells whether there is one magnitude for each
 * row or for each input channel of the weight. */
static int plan_gain(const struct group *g, const struct extent *e, struct blend_term *term, size_t *used,
                     struct error *err) {
  const struct safetensor *t = g->piece[PIECE_MAGNITUDE];
  if (!t)
    return 0;
  bool of_channels = t->rank > 1 && t->shape[0] == 1 && t->shape[1] == e->channels && elements(t) == e->channels &&
                     !(elements(t) == e->rows && !strstr(t->name, ".dora_scale"));
  if (!of_channels && elements(t) != e->rows)
    return error_set(err, STATUS_MODEL, "%s: tensor %s: has %lld magnitudes where this model has %lld rows",
                     t->file->path, text_quote(t->name).text, (long long)elements(t), (long long)e->rows);
  term->axis = of_channels ? GAIN_CHANNELS : GAIN_ROWS;
  term->gain = take(used, of_channels ? e->channels : e->rows);
  return 0;
}

/* Squares the values in some rows of the changed weight, and adds the squares to `squares`. This array has one sum for
 * each row or, if `axis` says so, for each input channel. values: the rows `first` to `first` + `rows` - 1 of the
 * weight. */
static void add_squares(const float *values, size_t first, size_t rows, const struct extent *e, enum blend_gain axis,
                        double *squares) {
  for (size_t r = 0; r < rows; r++)
    for (int64_t i = 0; i < e->taps * e->channels; i++, values++)
      squares[axis == GAIN_ROWS ? (int64_t)(first + r) : i % e->channels] += (double)*values * (double)*values;
}

/* Computes, for each row or input channel of the changed weight, the sum of its squared values. The change is added
 * with weight 1 and without DoRA's magnitudes: these are applied later, and need the sums. */
static int sum_squares(const struct safetensor *weight, const struct blend *blend, const struct extent *e,
                       enum blend_gain axis, double *squares, struct error *err) {
  size_t columns = (size_t)(e->taps * e->channels);
  const struct weight_part part = {.dtype = weight->dtype,
                                   .rows = (int)e->rows,
                                   .file = weight->file,
                                   .offset = weight->offset,
                                   .name = weight->key,
                                   .columns = weight->transposed ? (int)e->channels : 0};
  float *memory = malloc(6 * columns * sizeof *memory);
  if (!memory)
    return error_set(err, STATUS_FAILED, "out of memory");
  float *stored = memory, *base = memory + columns, *values = memory + 2 * columns, *scratch = memory + 3 * columns;
  int result = 0;
  for (size_t row = 0; !result && row < blend->rows; row++) {
    result = weight_part_read(&part, row * columns, columns, false, stored, err);
    if (result)
      break;
    weights_to_f32(weight->dtype, stored, columns, values);
    turn(values, 1, e, base);
    blend_rows(blend, row, 1, base, values, scratch);
    add_squares(values, row, 1, e, axis, squares);
  }
  free(memory);
  return result;
}

/* Computes each gain (DoRA's factor of a row or channel) as magnitude / norm of the changed weight. */
static int fill_gain(const struct recipe *recipe, const struct extent *e, struct adapter *adapter, struct error *err) {
  struct adapter_place *place = &adapter->places[recipe->weight];
  struct blend_term plain = place->term;
  plain.axis = GAIN_NONE;
  plain.factors = adapter->factors;
  const struct blend blend = {&plain, 1, (size_t)e->rows, (int)e->taps, (int)e->channels};
  int64_t count = place->term.axis == GAIN_ROWS ? e->rows : e->channels;
  float *gain = adapter->factors + place->term.gain;
  double *squares = calloc((size_t)count, sizeof *squares);
  int result = squares ? sum_squares(place->tensor, &blend, e, place->term.axis, squares, err)
                       : error_set(err, STATUS_FAILED, "out of memory");
  result = result ? result : read_tensor(recipe->group->piece[PIECE_MAGNITUDE], gain, err);
  /* a row is divided by its norm. LyCORIS adds an epsilon to the norm, PEFT does not; rows of zeros stay zeros */
  double epsilon = strstr(recipe->group->piece[PIECE_MAGNITUDE]->name, ".dora_scale") ? FLT_EPSILON : 0;
  for (int64_t i = 0; !result && i < count; i++)
    gain[i] = squares[i] > 0 ? (float)((double)gain[i] / (sqrt(squares[i]) + epsilon)) : 1;
  free(squares);
  return result;
}

/* --- recipes: how the factors of one module's change are made from tensors --- */

static int plan_weight(const struct group *g, const struct extent *e, struct blend_term *term, size_t *used,
                       struct error *err) {
  struct extent parts[2];
  struct product first = g->family == FAMILY_LORA ? lora_product(g) : loha_product(g, 0), second = loha_product(g, 1);
  switch (g->family) {
  case FAMILY_LORA:
    term->kind = BLEND_PRODUCT;
    if (check_product(&first, e, err))
      return -1;
    place_product(&first, e, &term->rank, &term->left, &term->right, used);
    break;
  case FAMILY_LOHA:
    term->kind = BLEND_HADAMARD;
    if (check_product(&first, e, err) || check_product(&second, e, err))
      return -1;
    place_product(&first, e, &term->rank, &term->left, &term->right, used);
    place_product(&second, e, &term->rank2, &term->left2, &term->right2, used);
    break;
  case FAMILY_LOKR:
    term->kind = BLEND_KRONECKER;
    if (lokr_extents(g, e, parts, err) || check_kronecker(g, 0, &parts[0], err) ||
        check_kronecker(g, 1, &parts[1], err))
      return -1;
    term->block_rows = (int)parts[1].rows;
    term->block_channels = (int)parts[1].channels;
    term->left = take(used, parts[0].rows * parts[0].channels);
    term->right = take(used, parts[1].rows * parts[1].channels * parts[1].taps);
    break;
  default:
    term->kind = BLEND_DENSE;
    if (expect(g->piece[PIECE_DIFF], e->rows, e->taps * e->channels, err))
      return -1;
    term->left = take(used, e->rows * e->taps * e->channels);
  }
  return plan_gain(g, e, term, used, err);
}

static struct adapter_place *add_place(struct adapter *adapter, const struct safetensor *tensor, float scale) {
  struct adapter_place *place = &adapter->places[adapter->place_count++];
  *place = (struct adapter_place){.tensor = tensor, .term = {.weight = 1, .scale = scale}};
  return place;
}

static const struct safetensor *bias_of(const struct group *g) {
  return g->piece[PIECE_DIFF_BIAS] ? g->piece[PIECE_DIFF_BIAS] : g->piece[PIECE_UP_BIAS];
}

static int plan_bias(struct recipe *recipe, struct adapter *adapter, float scale, size_t *used, struct error *err) {
  const struct safetensor *given = bias_of(recipe->group), *bias = recipe->module->bias;
  if (!bias)
    return error_set(err, STATUS_MODEL, "%s: tensor %s: the model's layer has no bias", given->file->path,
                     text_quote(given->name).text);
  if (expect(given, side(bias, 0), 1, err))
    return -1;
  recipe->bias = adapter->place_count;
  struct blend_term *term = &add_place(adapter, bias, recipe->group->piece[PIECE_DIFF_BIAS] ? 1 : scale)->term;
  term->kind = BLEND_DENSE;
  term->left = take(used, side(bias, 0));
  return 0;
}

static bool changes_weight(const struct group *g) {
  return g->family != FAMILY_FULL || g->piece[PIECE_DIFF];
}

int recipe_plan(struct recipe *recipe, const struct peft *peft, struct adapter *adapter, size_t *used,
                struct error *err) {
  const struct group *g = recipe->group;
  const struct extent e = extent_of(recipe->module->weight);
  float scale;
  recipe->weight = recipe->bias = -1;
  if (elements(recipe->module->weight) > INT_MAX)
    return error_set(err, STATUS_MODEL, "%s: is too large for an adapter", recipe->module->weight->name);
  if (find_scale(g, peft, &scale, err))
    return -1;
  if (changes_weight(g)) {
    recipe->weight = adapter->place_count;
    if (plan_weight(g, &e, &add_place(adapter, recipe->module->weight, scale)->term, used, err))
      return -1;
  }
  return bias_of(g) ? plan_bias(recipe, adapter, scale, used, err) : 0;
}

static int fill_weight(const struct group *g, const struct extent *e, const struct blend_term *term, float *factors,
                       struct error *err) {
  struct extent parts[2];
  struct product first = g->family == FAMILY_LORA ? lora_product(g) : loha_product(g, 0), second = loha_product(g, 1);
  switch (term->kind) {
  case BLEND_HADAMARD:
    if (fill_product(&second, e, factors + term->left2, factors + term->right2, err))
      return -1;
    return fill_product(&first, e, factors + term->left, factors + term->right, err);
  case BLEND_PRODUCT:
    return fill_product(&first, e, factors + term->left, factors + term->right, err);
  case BLEND_KRONECKER:
    return lokr_extents(g, e, parts, err) || fill_kronecker(g, 0, &parts[0], factors + term->left, err)
               ? -1
               : fill_kronecker(g, 1, &parts[1], factors + term->right, err);
  case BLEND_DENSE:
    return fill_whole(g->piece[PIECE_DIFF], e, factors + term->left, err);
  }
  return -1;
}

int recipe_fill(const struct recipe *recipe, struct adapter *adapter, struct error *err) {
  const struct extent e = extent_of(recipe->module->weight);
  if (recipe->bias >= 0 &&
      read_tensor(bias_of(recipe->group), adapter->factors + adapter->places[recipe->bias].term.left, err))
    return -1;
  if (recipe->weight < 0)
    return 0;
  const struct blend_term *term = &adapter->places[recipe->weight].term;
  if (fill_weight(recipe->group, &e, term, adapter->factors, err))
    return -1;
  return term->axis == GAIN_NONE ? 0 : fill_gain(recipe, &e, adapter, err);
}
