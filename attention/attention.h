/* Flash attention for diffusion models: o = softmax(scale * q k^T) v for each batch row and head, FP16 in and out, FP32
 * in between.
 *
 * This folder stands on its own: it needs the CUDA run time and nothing of the program around it.
 *
 * Tensors are rows of channels. Head h of a row is its channels h * D to (h + 1) * D - 1. Rows and batch rows have
 * strides of their own, so that Q, K and V are read in place from a fused projection, and the output is written where
 * the next projection reads it.
 *
 *            row stride
 *   |<---------------------------------->|
 *   [ q0 q1 ... qH | k0 k1 ... kH | v0 v1 ... vH ]   row t of a fused projection: q, k = q + H * D, v = q + 2 * H * D
 *
 * Alignment: all pointers to 16 bytes, all strides to multiples of 8 elements; D is a multiple of 8.
 *
 * Two kernels do the work: a generic one (compute capability 8.0 and up) and one for Hopper (9.0). The same binary has
 * both, and attention_launch chooses. The kernels pad head dims to one of a few sizes. Head dims above 160 are all
 * padded to 512, which is fast for 512 itself (the one head of a KL autoencoder's middle block) and correct but slow
 * for the others.
 *
 * Numbers: products, sums and softmax are FP32. Finite inputs give finite results between the least and the largest
 * value of V (up to rounding), also where scores reach 2^35, with FP16's largest values. Where scale * q k overflows,
 * the key with the row's largest score gets the whole weight. Scores that are equal in FP32 get equal weights. Inputs
 * with NaN or infinities give unspecified results.
 *
 * No function allocates device memory, waits for the device or keeps state, so launches can be captured into graphs. */
#ifndef ATTENTION_ATTENTION_H
#define ATTENTION_ATTENTION_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ATTN_HEAD_DIM_MIN = 8, ATTN_HEAD_DIM_MAX = 512 };

/* The arguments of one attention. Pointers are device pointers to FP16 (for attention_cpu host pointers to float), and
 * must stay valid until the launch has run. Strides count elements. */
struct attn_args {
  const void *q;     /* queries: [B, Tq, H * D] */
  const void *k, *v; /* keys and values: [B, Tk, H * D] */
  void *o;           /* the output: [B, Tq, H * D]; must not overlap an input */
  int B, H;          /* B: number of batch rows; H: number of heads */
  /* Tq: number of rows (tokens) of q; Tk: number of rows of k and v; both at least 1. D: number of channels of a
   * head */
  int Tq, Tk, D;
  /* number of elements from one batch row of q to the next (positive unless B is 1), and from one row to the next;
   * o_batch and o_row are those of o */
  long q_batch, q_row;
  /* number of elements from one batch row of k to the next (0: all batch rows share one K), and from one row of k to
   * the next; v_batch and v_row are those of v */
  long k_batch, k_row;
  long v_batch, v_row;
  long o_batch, o_row;
  float scale; /* factor of the scores, usually 1 / sqrt(D); positive and finite */
  bool causal; /* true: row i of q attends to rows 0..i of k alone; false: to all rows */

  /* k2, v2: keys and values that are treated as if they were appended to k and v; NULL: there are none. They have
   * memory for Tk2 rows, of which the first *count2 * count2_rows take part: *count2 may be a number of frames, with
   * count2_rows rows each. count2 is a device address of an int, which the kernel reads when it runs and clamps to
   * 0..Tk2 / count2_rows. Rows that do not take part may have any content. If none takes part, the result is that of
   * the same launch without k2, to the bit. k2 cannot be combined with causal. */
  const void *k2, *v2; /* the appended keys and values: [B, Tk2, H * D] */
  /* strides of k2 and v2 in elements, as for k and v; a batch stride may be 0: all batch rows then use the same keys
   * (or values) in k2 (v2) */
  long k2_batch, k2_row;
  long v2_batch, v2_row;
  int Tk2;
  const int *count2;
  int count2_rows; /* number of keys in each group that *count2 counts; 0 means 1 */
};

enum attn_path {
  ATTN_AUTO,    /* the faster of the two kernels for this device and shape */
  ATTN_GENERIC, /* the kernel with cp.async and mma.sync */
  ATTN_HOPPER,  /* the kernel with TMA and wgmma; it cannot do a causal mask */
};

/* Properties of the GPU that attention_launch needs to choose and launch a kernel. */
struct attn_device {
  int capability;          /* compute capability: 10 * major + minor */
  int sms;                 /* number of the GPU's multiprocessors */
  void *encode_tensor_map; /* the driver's function cuTensorMapEncodeTiled; NULL: the Hopper kernel cannot be used */
  /* True: the Hopper kernel is launched as a programmatic dependent: it may become resident before the preceding work
   * in the stream is done, for which it waits on the device. False: it starts after that work. attention_open sets this
   * field to true if the Hopper kernel can be used; the caller may clear it. */
  bool overlap;
};

/* Fills *device with the properties of the calling thread's current device. */
cudaError_t attention_open(struct attn_device *device);

/* Returns true if attention_launch can run args by this path on this device. Checks shapes, alignment and the device's
 * compute capability, and for ATTN_HOPPER if the Hopper kernel can be used and can do the shape. Reads no device
 * memory. */
bool attention_supported(const struct attn_device *device, const struct attn_args *args, enum attn_path path);

/* Returns the bytes of device scratch memory that a launch needs: often 0, up to 36 MB on 132 multiprocessors. With
 * appended keys (k2) it may be more than without. The caller zeroes the memory once, after allocating it; after a
 * launch it can be used for the next launch, of any shape. Launches that may run at the same time must not share it. */
size_t attention_workspace(const struct attn_device *device, const struct attn_args *args, enum attn_path path);

/* Enqueues the kernel in `stream`. workspace: device memory of attention_workspace bytes, aligned to 256; NULL if that
 * is 0.
 *
 * Returns cudaErrorNotSupported if attention_supported says no, else the status of the launch. */
cudaError_t attention_launch(const struct attn_device *device, const struct attn_args *args, enum attn_path path,
                             void *workspace, cudaStream_t stream);

/* The definition of attention, with which the kernels are compared: it takes the same arguments with host arrays of
 * float, and computes all sums in double. count2 is a host pointer here. */
void attention_cpu(const struct attn_args *args);

#ifdef __cplusplus
}
#endif

#endif
