#include "unet/plan/blend.h"

#include <string.h>

static size_t columns_of(const struct blend *blend) {
  return (size_t)blend->taps * (size_t)blend->channels;
}

/* --- checking the sizes of the factors from which an adapter's change is computed --- */

static bool inside(size_t first, size_t count, size_t elements) {
  return first <= elements && count <= elements - first;
}

static bool product_fits(const struct blend *blend, int rank, size_t left, size_t right, size_t elements) {
  return rank > 0 && rank <= BLEND_RANK_MAX && inside(left, blend->rows * (size_t)rank, elements) &&
         inside(right, (size_t)rank * columns_of(blend), elements);
}

static bool kronecker_fits(const struct blend_term *t, const struct blend *blend, size_t elements) {
  if (t->block_rows < 1 || t->block_channels < 1 || blend->rows % (size_t)t->block_rows ||
      blend->channels % t->block_channels)
    return false;
  size_t rows = blend->rows / (size_t)t->block_rows, channels = (size_t)(blend->channels / t->block_channels);
  return inside(t->left, rows * channels, elements) &&
         inside(t->right, (size_t)t->block_rows * (size_t)blend->taps * (size_t)t->block_channels, elements);
}

static bool kind_fits(const struct blend_term *t, const struct blend *blend, size_t elements) {
  switch (t->kind) {
  case BLEND_PRODUCT:
    return product_fits(blend, t->rank, t->left, t->right, elements);
  case BLEND_HADAMARD:
    return product_fits(blend, t->rank, t->left, t->right, elements) &&
           product_fits(blend, t->rank2, t->left2, t->right2, elements);
  case BLEND_KRONECKER:
    return kronecker_fits(t, blend, elements);
  case BLEND_DENSE:
    return inside(t->left, blend->rows * columns_of(blend), elements);
  }
  return false;
}

bool blend_term_fits(const struct blend_term *t, const struct blend *blend, size_t elements) {
  size_t gains = t->axis == GAIN_ROWS ? blend->rows : t->axis == GAIN_CHANNELS ? (size_t)blend->channels : 0;
  return kind_fits(t, blend, elements) && (!gains || inside(t->gain, gains, elements));
}

/* --- computing rows of a weight with the adapters' changes --- */

static void product_row(const float *left, const float *right, int rank, size_t columns, float *out) {
  memset(out, 0, columns * sizeof *out);
  for (int k = 0; k < rank; k++, right += columns)
    for (size_t c = 0; c < columns; c++)
      out[c] += left[k] * right[c];
}

static void hadamard_row(const struct blend_term *t, size_t row, size_t columns, float *out, float *other) {
  product_row(t->factors + t->left + row * (size_t)t->rank, t->factors + t->right, t->rank, columns, out);
  product_row(t->factors + t->left2 + row * (size_t)t->rank2, t->factors + t->right2, t->rank2, columns, other);
  for (size_t c = 0; c < columns; c++)
    out[c] *= other[c];
}

static void kronecker_row(const struct blend_term *t, const struct blend *blend, size_t row, float *out) {
  size_t m = (size_t)t->block_rows, n = (size_t)t->block_channels, channels = (size_t)blend->channels;
  const float *left = t->factors + t->left + row / m * (channels / n);
  const float *right = t->factors + t->right + row % m * (size_t)blend->taps * n;
  for (int tap = 0; tap < blend->taps; tap++, right += n)
    for (size_t i = 0; i < channels; i++)
      *out++ = left[i / n] * right[i % n];
}

/* Computes row number `row` of the term's matrix D (its formula is in blend.h) into `out`. `other` is scratch for one
 * row. */
static void term_row(const struct blend_term *t, const struct blend *blend, size_t row, float *out, float *other) {
  size_t columns = columns_of(blend);
  switch (t->kind) {
  case BLEND_PRODUCT:
    product_row(t->factors + t->left + row * (size_t)t->rank, t->factors + t->right, t->rank, columns, out);
    break;
  case BLEND_HADAMARD:
    hadamard_row(t, row, columns, out, other);
    break;
  case BLEND_KRONECKER:
    kronecker_row(t, blend, row, out);
    break;
  case BLEND_DENSE:
    memcpy(out, t->factors + t->left + row * columns, columns * sizeof *out);
    break;
  }
}

/* Replaces a row d of the term's matrix D (blend.h) by (gain - 1) * base + gain * scale * D: the term's part of the
 * weight before it is multiplied by the adapter's weight. */
static void scale_row(const struct blend_term *t, const struct blend *blend, size_t row, const float *base, float *d) {
  size_t columns = columns_of(blend), channels = (size_t)blend->channels;
  const float *gain = t->factors + t->gain;
  for (size_t c = 0; c < columns; c++) {
    d[c] *= t->scale;
    if (t->axis == GAIN_NONE)
      continue;
    float g = t->axis == GAIN_ROWS ? gain[row] : gain[c % channels];
    d[c] = (g - 1) * base[c] + g * d[c];
  }
}

static void blend_row(const struct blend *blend, size_t row, const float *base, float *out, float *scratch) {
  size_t columns = columns_of(blend);
  float *sum = scratch, *d = scratch + columns, *other = scratch + 2 * columns;
  memcpy(sum, base, columns * sizeof *sum);
  for (int i = 0; i < blend->count; i++) {
    const struct blend_term *t = &blend->terms[i];
    if (t->weight == 0)
      continue;
    term_row(t, blend, row, d, other);
    scale_row(t, blend, row, base, d);
    for (size_t c = 0; c < columns; c++)
      sum[c] += t->weight * d[c];
  }
  memcpy(out, sum, columns * sizeof *out);
}

void blend_rows(const struct blend *blend, size_t first, size_t rows, const float *base, float *out, float *scratch) {
  size_t columns = columns_of(blend);
  for (size_t i = 0; i < rows; i++)
    blend_row(blend, first + i, base + i * columns, out + i * columns, scratch);
}
