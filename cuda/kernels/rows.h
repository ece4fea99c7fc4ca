/* Parts of a transformer block in one launch each: its start (row_enter.cu), its attentions (row_attend.cu) and its
 * feed-forward layers (row_leave.cu). With at most 256 channels a thread block has whole rows, so that norms need no
 * other thread block, and the weights are loaded while the preceding kernel in the stream still runs. */
#ifndef CUDA_KERNELS_ROWS_H
#define CUDA_KERNELS_ROWS_H

#include "cuda/kernels/kernels.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A layer norm. */
struct row_norm {
  const float *gamma, *beta; /* [c] or NULL */
  float eps;
};

/* A linear layer: weight [columns, c]; bias may be NULL. */
struct row_product {
  const half_t *weight;
  const float *bias;
};

/* The start of a transformer, up to the queries, keys and values: y = W1 group_norm(x), z = W2 layer_norm(y). groups 0:
 * y = W1 x. */
struct row_enter {
  const half_t *x;           /* [n, rows, c] */
  int groups;                /* groups of the group norm over each picture; 0: no norm */
  const float *gamma, *beta; /* parameters of the group norm: [c] or NULL */
  float eps;
  struct row_product first, second;
  struct row_norm norm;
  half_t *y; /* [n, rows, c] */
  half_t *z; /* [n, rows, columns] */
  int n, rows, c, columns;
};
/* True if a picture is so small that launch_row_enter can include its group norm. */
bool row_enter_has_norm(int rows, int c);
bool row_enter_supported(const struct launch_queue *queue, const struct row_enter *args);
cudaError_t launch_row_enter(const struct launch_queue *queue, const struct row_enter *args);

/* h = residual + W1 x; y = h + W3 attention(W2 layer norm(h)), with keys and values of a few tokens. */
struct row_attend {
  const half_t *x, *residual; /* [n, rows, c] */
  struct row_product first, query, last;
  struct row_norm norm;
  const half_t *k, *v;
  long k_row, k_batch, v_row, v_batch; /* strides in elements; those of batches may be 0 */
  int tokens;
  float scale;
  half_t *y; /* [n, rows, c] */
  int n, rows, c, heads;
};
bool row_attend_supported(const struct launch_queue *queue, const struct row_attend *args);
cudaError_t launch_row_attend(const struct launch_queue *queue, const struct row_attend *args);

/* h = x + W2 GEGLU(W1 layer norm(x)); y = residual + W3 h: the feed-forward layers with 4 c channels, and the
 * transformer's last product. */
struct row_leave {
  const half_t *x, *residual; /* [rows, c] */
  struct row_norm norm;
  struct row_product wide, narrow, last; /* [8 c, c], values then gates; [c, 4 c]; [c, c] */
  half_t *y;                             /* [rows, c] */
  int rows, c;
};
bool row_leave_supported(const struct launch_queue *queue, const struct row_leave *args);
cudaError_t launch_row_leave(const struct launch_queue *queue, const struct row_leave *args);

#ifdef __cplusplus
}
#endif

#endif
