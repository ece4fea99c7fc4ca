/* A weight as a sum: its values in the checkpoint, and the values that adapters add, each times the adapter's weight.
 *
 *   W = base + sum over terms of weight * ((gain - 1) * base + gain * scale * D)      gain 1 where there is none
 *
 * D is a product of factors in FP32, which lie in one vector for each adapter. Rows are the weight's own; columns are
 * [taps, channels], as a resource has them. A term whose weight is 0 adds nothing, so that the result equals base to
 * the bit. */
#ifndef UNET_PLAN_BLEND_H
#define UNET_PLAN_BLEND_H

#include <stdbool.h>
#include <stddef.h>

enum blend_kind {
  BLEND_PRODUCT,   /* D = left @ right: left [rows, rank], right [rank, columns] */
  BLEND_HADAMARD,  /* D = (left @ right) * (left2 @ right2) element by element; the second product has rank2 */
  BLEND_KRONECKER, /* D[o m + p, t, i n + q] = left[o, i] * right[p, t, q]; right is [m, taps, n] */
  BLEND_DENSE,     /* D = left [rows, columns] */
};

enum blend_gain { GAIN_NONE, GAIN_ROWS, GAIN_CHANNELS }; /* no gain; one for each row; one for each input channel */

enum { BLEND_RANK_MAX = 1 << 16 };

struct blend_term {
  enum blend_kind kind;
  float weight, scale;
  int rank, rank2;
  int block_rows, block_channels; /* m and n of a Kronecker product */
  /* indices at which the factors begin in the vector */
  size_t left, right, left2, right2;
  enum blend_gain axis;
  size_t gain;          /* index at which the gains begin in the vector */
  int store;            /* index of the vector as a resource */
  const float *factors; /* the factors' vector in host memory; borrowed */
};

/* The terms that are added to some rows of a weight. */
struct blend {
  const struct blend_term *terms;
  int count;
  size_t rows;
  int taps, channels;
};

/* True if all of a term's factors lie within a vector of this many elements, and their shapes fit the weight. */
bool blend_term_fits(const struct blend_term *term, const struct blend *blend, size_t elements);

/* Computes rows [first, first + rows) of the blend by the plain definition. base and out hold these rows and may be the
 * same; scratch holds three rows. */
void blend_rows(const struct blend *blend, size_t first, size_t rows, const float *base, float *out, float *scratch);

#endif
