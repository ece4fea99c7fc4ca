/* Parts of a transformer block in one launch each: its start (row_enter.cu), its attentions (row_attend.cu) and its
 * feed-forward layers (row_leave.cu). They exist for 128 and 192 channels. Rows are then so short that a thread block
 * has whole rows. So layer norms need no other thread block, and weights can be loaded while the preceding kernel in
 * the stream still runs. */
#ifndef CUDA_KERNELS_ROWS_H
#define CUDA_KERNELS_ROWS_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A layer norm of rows of c channels. */
struct row_norm {
  const float *gamma, *beta; /* factor and summand of each channel, [c]; NULL: 1 and 0 */
  float eps;
};

/* A linear layer: its weight [columns, c] and its bias, which may be NULL. */
struct row_product {
  const half_t *weight;
  const float *bias;
};

/* The arguments of launch_row_enter: the start of a transformer, up to the queries, keys and values of its
 * self-attention. y = W1 group_norm(x), z = W2 layer_norm(y). If groups is 0, y = W1 x. */
struct row_enter {
  const half_t *x;           /* the input, [n, rows, c] */
  int groups;                /* number of groups of the group norm over each picture; 0: there is no group norm */
  const float *gamma, *beta; /* factors and summands of the group norm, [c]; NULL: 1 and 0 */
  float eps;
  struct row_product first, second;
  struct row_norm norm;
  half_t *y; /* result of the product `first`, [n, rows, c] */
  half_t *z; /* result of the product `second`, [n, rows, columns]: queries, keys and values side by side */
  int n, rows, c, columns;
};
/* Returns true if a picture is small enough for launch_row_enter to include its group norm. */
bool row_enter_has_norm(int rows, int c);
/* Returns true if launch_row_enter can do this part of a transformer. */
bool row_enter_supported(const struct launch_queue *queue, const struct row_enter *args);
cudaError_t launch_row_enter(const struct launch_queue *queue, const struct row_enter *args);

/* The arguments of launch_row_attend: the end of a self-attention, and the cross-attention to a text of a few tokens. h
 * = residual + W1 x; y = h + W3 attention(W2 layer norm(h)). */
struct row_attend {
  /* x: result of the self-attention; residual: the tensor to which W1 x is added; [n, rows, c] each */
  const half_t *x, *residual;
  struct row_product first, query, last;
  struct row_norm norm;
  const half_t *k, *v;
  /* elements from one token to the next (k_row, v_row), and from one picture to the next (k_batch, v_batch; 0: all
   * pictures have the same text) */
  long k_row, k_batch, v_row, v_batch;
  int tokens;
  bool text_there; /* k and v are complete before the preceding launch begins, so they can be loaded before it ends */
  float scale;
  half_t *y; /* the result, [n, rows, c] */
  int n, rows, c, heads;
};
/* Returns true if launch_row_attend can do the end of this self-attention and the cross-attention after it. */
bool row_attend_supported(const struct launch_queue *queue, const struct row_attend *args);
cudaError_t launch_row_attend(const struct launch_queue *queue, const struct row_attend *args);

/* The arguments of launch_row_leave: the feed-forward layers, with 4 c channels between them, and the last product of a
 * transformer. h = x + W2 GEGLU(W1 layer norm(x)); y = residual + W3 h. */
struct row_leave {
  const half_t *x, *residual; /* the input, and what the last product is added to, [rows, c] each */
  struct row_norm norm;
  /* shapes of the weights: wide (W1) [8 c, c], first the rows of values, then those of gates; narrow (W2) [c, 4 c];
   * last (W3) [c, c] */
  struct row_product wide, narrow, last;
  half_t *y; /* the result, [rows, c] */
  int rows, c;
};
/* Returns true if launch_row_leave can do this part of a transformer, and is faster than separate launches. */
bool row_leave_supported(const struct launch_queue *queue, const struct row_leave *args);
cudaError_t launch_row_leave(const struct launch_queue *queue, const struct row_leave *args);

#ifdef __cplusplus
}
#endif

#endif
