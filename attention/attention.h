/* Flash attention: o = softmax(scale * q k^T) v for each batch row and head, FP16 in and out, FP32 in between.
 *
 * Self-contained: this folder needs the CUDA run time and nothing of the program around it.
 *
 * Tensors are rows of channels. Head h of a row is its channels [h * D, (h + 1) * D); rows and batches lie at strides
 * of their own, so that Q, K and V are read in place from a fused projection and the output is written where the next
 * projection reads it.
 *
 *            row stride
 *   |<---------------------------------->|
 *   [ q0 q1 ... qH | k0 k1 ... kH | v0 v1 ... vH ]   row t of a fused projection: q, k = q + H * D, v = q + 2 * H * D
 *
 * Alignment: all pointers 16 bytes, all strides multiples of 8 elements, D a multiple of 8.
 *
 * Two kernels do the work: a generic one (compute capability 8.0 and up) and one for Hopper (9.0). The same binary
 * holds both; attention_launch chooses. Head dims are padded to one of a few on the way: above 160 all to 512, which is
 * fast for 512 itself (the one head of a KL autoencoder's middle block) and merely right for what lies between.
 *
 * Numbers: products, sums and softmax are FP32. Finite inputs give finite results between the least and the largest
 * value of V (up to rounding), also where scores reach 2^35 (FP16's largest values) or scale * q k overflows: then the
 * largest score of a row takes it all. What FP32 cannot tell apart in a sum of products, the softmax cannot either.
 * With NaN or infinities among the inputs results are unspecified.
 *
 * No function allocates device memory, waits for the device or keeps state: launches can be captured into graphs. */
#ifndef ATTENTION_ATTENTION_H
#define ATTENTION_ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTN_HEAD_DIM_MIN = 8, ATTN_HEAD_DIM_MAX = 512 };

/* One attention. Device pointers to FP16 (attention_cpu: host pointers to float), borrowed for the launch.
 * Strides count elements. */
struct attn_args {
  const void *q;       /* [B, Tq, H * D] */
  const void *k, *v;   /* [B, Tk, H * D] */
  void *o;             /* [B, Tq, H * D]; must not overlap an input */
  int B, H;            /* batch rows, heads */
  int Tq, Tk, D;       /* rows of q and of k and v, at least 1; head dim */
  long q_batch, q_row; /* q_batch and o_batch: positive unless B is 1 */
  long k_batch, k_row; /* k_batch and v_batch may be 0: one K and V serve all batch rows */
  long v_batch, v_row;
  long o_batch, o_row;
  float scale; /* usually 1 / sqrt(D); positive and finite */
  bool causal; /* row i sees columns 0..i */

  /* A second segment of keys and values, as if appended to the first: a bank with room for Tk2 rows of which the first
   * *count2 (a device-side int, read when the kernel runs, clamped to 0..Tk2) take part. What lies behind them is never
   * used, whatever it holds. k2 NULL: no second segment. Not together with causal. */
  const void *k2, *v2;   /* [B, Tk2, H * D] */
  long k2_batch, k2_row; /* the batch strides may be 0 */
  long v2_batch, v2_row;
  int Tk2;
  const int *count2;
};

enum attn_path {
  ATTN_AUTO,    /* the fastest that this device and shape have */
  ATTN_GENERIC, /* cp.async and mma.sync */
  ATTN_HOPPER,  /* TMA and wgmma; no causal mask */
};

/* What the launcher must know of the device. */
struct attn_device {
  int capability;          /* 10 * major + minor */
  int sms;                 /* multiprocessors */
  void *encode_tensor_map; /* cuTensorMapEncodeTiled, or NULL: no Hopper path */
  bool overlap;            /* Hopper path: launch as a programmatic dependent: the kernel may become resident before the
                            * work before it in the stream is done, and waits for that on the device. May be cleared. */
};

/* Fills *device for the calling thread's current device. */
cudaError_t attention_open(struct attn_device *device);

/* Whether attention_launch would run args by this path on this device: shapes, alignment, and for ATTN_HOPPER the
 * device. Reads no device memory. */
bool attention_supported(const struct attn_device *device, const struct attn_args *args, enum attn_path path);

/* Bytes of device scratch memory that a launch needs; often 0, up to 36 MB on 132 multiprocessors. Zero it once after
 * allocating; every launch leaves it fit for the next, of any shape. Launches that may run at the same time must not
 * share it. */
size_t attention_workspace(const struct attn_device *device, const struct attn_args *args, enum attn_path path);

/* Enqueues the kernel. workspace: device memory of attention_workspace bytes, aligned to 256 (NULL when 0).
 *
 * Errors: cudaErrorNotSupported when attention_supported says no; else what the launch returned. */
cudaError_t attention_launch(const struct attn_device *device, const struct attn_args *args, enum attn_path path,
                             void *workspace, cudaStream_t stream);

/* The definition that the kernels are compared with: the same arguments over host arrays of float, all sums in double.
 * count2 is a host pointer. */
void attention_cpu(const struct attn_args *args);

#ifdef __cplusplus
}
#endif

#endif
