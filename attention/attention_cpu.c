/* attention_cpu: computes attention by its formula, row after row, in double precision. Tests compare the kernels with
 * it. */
#include "attention.h"

#include <math.h>

/* The running softmax of one row of q, whose keys are read one after the other (online softmax). */
struct row {
  double max, sum;
  double *acc; /* [D] */
};

static double dot(const float *a, const float *b, int count) {
  double sum = 0;
  for (int i = 0; i < count; i++)
    sum += (double)a[i] * b[i];
  return sum;
}

static void row_add(struct row *row, double score, const float *value, int dim) {
  double max = fmax(row->max, score);
  double keep = exp(row->max - max), weight = exp(score - max);
  for (int d = 0; d < dim; d++)
    row->acc[d] = row->acc[d] * keep + weight * value[d];
  row->sum = row->sum * keep + weight;
  row->max = max;
}

static int second_count(const struct attn_args *a) {
  int rows = a->count2_rows ? a->count2_rows : 1, most = a->Tk2 / rows;
  if (!a->k2 || !a->count2 || *a->count2 < 0)
    return 0;
  return (*a->count2 < most ? *a->count2 : most) * rows;
}

static void attend_row(const struct attn_args *a, int b, int h, int t, double *acc) {
  const float *q = (const float *)a->q + b * a->q_batch + t * a->q_row + (long)h * a->D;
  struct row row = {.max = -INFINITY, .acc = acc};
  for (int d = 0; d < a->D; d++)
    acc[d] = 0;
  int columns = a->causal && t + 1 < a->Tk ? t + 1 : a->Tk;
  for (int s = 0; s < columns; s++) {
    const float *k = (const float *)a->k + b * a->k_batch + s * a->k_row + (long)h * a->D;
    const float *v = (const float *)a->v + b * a->v_batch + s * a->v_row + (long)h * a->D;
    row_add(&row, a->scale * dot(q, k, a->D), v, a->D);
  }
  for (int s = 0; s < second_count(a); s++) {
    const float *k = (const float *)a->k2 + b * a->k2_batch + s * a->k2_row + (long)h * a->D;
    const float *v = (const float *)a->v2 + b * a->v2_batch + s * a->v2_row + (long)h * a->D;
    row_add(&row, a->scale * dot(q, k, a->D), v, a->D);
  }
  float *o = (float *)a->o + b * a->o_batch + t * a->o_row + (long)h * a->D;
  for (int d = 0; d < a->D; d++)
    o[d] = (float)(acc[d] / row.sum);
}

void attention_cpu(const struct attn_args *args) {
  double acc[ATTN_HEAD_DIM_MAX];
  for (int b = 0; b < args->B; b++)
    for (int h = 0; h < args->H; h++)
      for (int t = 0; t < args->Tq; t++)
        attend_row(args, b, h, t, acc);
}
