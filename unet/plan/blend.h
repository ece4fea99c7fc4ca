/* A weight as a sum: its values in the checkpoint (base), and what each adapter (LoRA and its kin) adds. A term is one
 * adapter's part:
 *
 *   W = base + sum over terms of weight * ((gain - 1) * base + gain * scale * D)
 *
 * weight is the user's weight of the adapter, and gain is 1 in terms that have none. D is computed from the adapter's
 * factors, FP32 matrices that lie one after another in one vector for each adapter. Rows are the weight's output
 * channels; columns are [taps, input channels], where taps are the kernel's places (1 for a matrix). A term whose
 * weight is 0 adds nothing, so that the result equals base to the bit. */
#ifndef UNET_PLAN_BLEND_H
#define UNET_PLAN_BLEND_H

#include <stdbool.h>
#include <stddef.h>

enum blend_kind {
  BLEND_PRODUCT,   /* D = left @ right, an ordinary LoRA: left [rows, rank], right [rank, columns] */
  BLEND_HADAMARD,  /* D = (left @ right) * (left2 @ right2) element by element (LoHa); the second product has rank2 */
  BLEND_KRONECKER, /* D[o m + p, t, i n + q] = left[o, i] * right[p, t, q] (LoKr); right is [m, taps, n] */
  BLEND_DENSE,     /* D = left, which has the weight's own shape [rows, columns] */
};

enum blend_gain { GAIN_NONE, GAIN_ROWS, GAIN_CHANNELS }; /* gain: 1; one for each row; one for each input channel */

enum { BLEND_RANK_MAX = 1 << 16 };

struct blend_term {
  enum blend_kind kind;
  float weight, scale;
  int rank, rank2;
  int block_rows, block_channels; /* BLEND_KRONECKER: m and n, the rows and input channels of `right` */
  /* elements of the adapter's vector at which the factors begin; those that the kind does not have are not read */
  size_t left, right, left2, right2;
  enum blend_gain axis;
  size_t gain;          /* element at which the gains begin, unless axis is GAIN_NONE */
  int store;            /* index of the adapter's vector in resources.list */
  const float *factors; /* the same vector in the host's memory; borrowed from the adapter */
};

/* The terms that are added to a range of a weight's rows, all to the same rows. */
struct blend {
  const struct blend_term *terms;
  int count;
  size_t rows;
  int taps, channels;
};

/* True if all of a term's factors and gains lie within a vector of this many elements, and the factors' shapes fit the
 * rows and columns of the blend. */
bool blend_term_fits(const struct blend_term *term, const struct blend *blend, size_t elements);

/* Computes rows [first, first + rows) of the blend on the calling thread; every device's result is compared with this.
 * base and out begin with row `first` and may be the same memory; scratch has room for three rows. */
void blend_rows(const struct blend *blend, size_t first, size_t rows, const float *base, float *out, float *scratch);

#endif
