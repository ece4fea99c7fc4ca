/* A weight as a sum: its values in the checkpoint (base), and for each adapter (LoRA and its kin) a term:
 *   W = base + sum over terms of weight * ((gain - 1) * base + gain * scale * D)
 * Here weight is the user's weight of the adapter, and gain is 1 in terms without gains. D is computed from the
 * adapter's factors, which are FP32 matrices, one after another in one vector for each adapter. Rows are the weight's
 * output channels. Columns are [taps, input channels], where taps are the positions in a convolution's kernel (1 for a
 * linear layer). A term whose weight is 0 adds nothing, so that the result equals base to the bit. */
#ifndef UNET_PLAN_BLEND_H
#define UNET_PLAN_BLEND_H

#include <stdbool.h>
#include <stddef.h>

enum blend_kind {
  /* D = left @ right, the matrix product of an ordinary LoRA: left [rows, rank], right [rank, columns] */
  BLEND_PRODUCT,
  BLEND_HADAMARD,  /* D = (left @ right) * (left2 @ right2) element by element (LoHa); the second product has rank2 */
  BLEND_KRONECKER, /* D[o m + p, t, i n + q] = left[o, i] * right[p, t, q] (LoKr); right is [m, taps, n] */
  BLEND_DENSE,     /* D = left, which has the weight's own shape [rows, columns] */
};

/* how many gains (factors of base + scale * D, as in DoRA) a term has: none, one for each row, or one for each input
 * channel */
enum blend_gain { GAIN_NONE, GAIN_ROWS, GAIN_CHANNELS };

enum { BLEND_RANK_MAX = 1 << 16 };

struct blend_term {
  enum blend_kind kind;
  float weight, scale;
  int rank, rank2;
  /* BLEND_KRONECKER: m and n in the formula of LoKr, the numbers of rows and of input channels of `right` */
  int block_rows, block_channels;
  /* All factors of an adapter are stored one after the other in one vector (`store`). The following fields are the
   * indices, in this vector, of the first values of this term's factors; factors that the kind does not have are not
   * read. */
  size_t left, right, left2, right2;
  enum blend_gain axis;
  size_t gain;          /* index in the vector `store` of the first gain (factor for a row or an input channel); not
                         * read if axis is GAIN_NONE */
  int store;            /* index in resources.list of the vector that has the adapter's factors */
  const float *factors; /* values of the vector `store` in the host's memory; borrowed from the adapter */
};

/* Some rows of one weight W, and the terms that are added to them, one for each adapter (see the formula at the top of
 * the file). */
struct blend {
  const struct blend_term *terms;
  int count;
  size_t rows;
  int taps, channels;
};

/* Returns true if a term can be added to these rows of a weight: its factors and gains lie within a vector of
 * `elements` values, and the factors' shapes fit the rows and columns of the blend. */
bool blend_term_fits(const struct blend_term *term, const struct blend *blend, size_t elements);

/* Computes rows `first` to `first + rows - 1` of a weight with the adapters' terms added, on the calling thread. Every
 * device's result is compared with this function's. `base` and `out` begin with row `first` and may be the same memory;
 * scratch has room for three rows. */
void blend_rows(const struct blend *blend, size_t first, size_t rows, const float *base, float *out, float *scratch);

#endif
