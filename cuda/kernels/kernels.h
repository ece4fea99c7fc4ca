/* The CUDA kernels' launchers, callable from C. One struct of arguments per kernel family: what a prepared program
 * keeps and launches again for every frame.
 *
 * Conventions: device pointers, borrowed; half is FP16; tensors are NHWC without padding unless a field says otherwise.
 * Launchers only enqueue (they can be captured) and return the launch's error. */
#ifndef CUDA_KERNELS_KERNELS_H
#define CUDA_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "unet/plan/device.h"

#ifdef __CUDACC__
#include <cuda_fp16.h>
typedef __half half_t;
#else
typedef uint16_t half_t;
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Where launches go. */
struct launch_queue {
  cudaStream_t stream;
  int sms;      /* multiprocessors */
  bool overlap; /* launch as programmatic dependents: the kernel may be resident before the one ahead has finished, and
                   waits on the device (compute capability 9.0 and up, which also has clusters of thread blocks) */
};

/* 10 * major + minor of the PTX that the kernels in use were compiled from; an error when there are none for the
 * current device. */
cudaError_t kernels_version(int *version);

/* --- gemm.cu: matrix products and convolutions as implicit matrix products, on tensor cores --- */

enum gemm_tile { TILE_128x128, TILE_64x160, TILE_64x64, TILE_64x16, TILES };

struct gemm_tile_size {
  int m, n;
};
extern const struct gemm_tile_size gemm_tile_sizes[TILES];

struct run_block;

/* OP_INJECT's g, of each picture of a product's rows, which the run decides. */
struct product_gain {
  bool there; /* else it is 1 */
  const struct run_block *block;
  int control, step;
  float guess; /* where the control guesses: of a latent's first picture */
  struct guidance_rows rows;
};

/* y[rows, columns] = epilogue(A W^T): A is x itself, or gathered from it as a convolution needs. */
struct gemm_args {
  const half_t *x, *x2;   /* [n, h, w, c], [n, h, w, c2] concatenated after it; c and c2 multiples of 8 */
  const half_t *weight;   /* [columns, taps, c + c2], 16-byte aligned */
  const float *bias;      /* [columns] or NULL */
  const half_t *time;     /* [columns] or NULL: added like bias */
  const half_t *residual; /* [rows, columns] or NULL */
  half_t *y;              /* [rows, columns], or [rows, columns / 2] with ACT_GEGLU */
  int n, h, w, c, c2;
  int out_h, out_w;
  int kernel, stride, pad; /* kernel 1 or 3; pad is that of the start */
  bool upsample;           /* nearest 2x before the convolution */
  bool residual_last;      /* act before the residual, as OP_LINEAR; else after, as OP_CONV */
  enum activation act;
  struct product_gain gain; /* of product and bias, before the residual, where there is no activation */
  int columns;
  enum gemm_tile tile;
  int splits;        /* of the sum over taps and channels; partial sums are added in a fixed order */
  float *partial;    /* gemm_partial_bytes; NULL when splits is 1 */
  unsigned *arrived; /* gemm_tiles counters, 0 before and after; NULL when splits is 1 */
};

int gemm_tiles(const struct gemm_args *args); /* blocks of one split */
size_t gemm_partial_bytes(const struct gemm_args *args);
cudaError_t launch_gemm(const struct launch_queue *queue, const struct gemm_args *args);

/* --- narrow.cu: 3x3 convolutions of few channels over many pixels --- */

/* As a gemm_args with kernel 3, stride 1, pad 1, no x2, and c to columns: 8 to 32 or 64; 32 or 64 to as many, or to at
 * most 16. Each block keeps all weights and a tile of the input with its border in shared memory. */
bool narrow_supported(const struct gemm_args *args);
int narrow_shared_bytes(const struct gemm_args *args); /* of a block; not every GPU has as many */
cudaError_t launch_narrow(const struct launch_queue *queue, const struct gemm_args *args);

/* --- norm.cu, group_norm.cu, layer_norm.cu --- */

struct norm_args {
  const void *x, *x2;        /* [n, pixels, c], [n, pixels, c2] */
  bool x_f32;                /* x is FP32 */
  const float *gamma, *beta; /* [c + c2] or NULL */
  half_t *y;                 /* [n, pixels, pitch]; channels from c + c2 to pitch are set to 0 */
  int n, pixels, c, c2, pitch;
  int groups; /* group norm; 0: layer norm, over each pixel's channels */
  float eps;
  enum activation act;
  float *partial; /* group norm: NORM_PARTIAL_FLOATS */
};
enum { NORM_BLOCKS_MAX = 256, NORM_GROUPS_MAX = 128 };
enum { NORM_PARTIAL_FLOATS = NORM_BLOCKS_MAX * NORM_GROUPS_MAX * 2 };

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args);

/* --- pointwise.cu --- */

/* y = act(x ++ x2), doubled in size when upsample, channels padded with 0 to pitch. */
struct gather_args {
  const void *x, *x2;
  bool x_f32;
  half_t *y;
  int n, h, w, c, c2, pitch;
  bool upsample;
  enum activation act;
};
cudaError_t launch_gather(const struct launch_queue *queue, const struct gather_args *args);

/* y = the rest of an op after a library's product: bias, time, residual, activation, gain as in gemm_args. x may be y.
 * With ACT_GEGLU x is [rows, columns] and y [rows, columns / 2]. */
struct epilogue_args {
  const half_t *x;
  const float *bias;
  const half_t *time, *residual;
  half_t *y;
  size_t rows;
  int columns;
  bool residual_last;
  enum activation act;
  struct product_gain gain;
  int pixels; /* rows of a picture */
};
cudaError_t launch_epilogue(const struct launch_queue *queue, const struct epilogue_args *args);

/* Any attention that attention/ does not take: one block a row, no speed. */
struct plain_attention_args {
  const half_t *q, *k, *v;
  half_t *y;
  int n, heads, rows, columns, d;
  long q_batch, q_row, k_batch, k_row, v_batch, v_row;
  float scale;
  bool causal;
};
cudaError_t launch_plain_attention(const struct launch_queue *queue, const struct plain_attention_args *args);

/* Checkpoint rows to device order: source [rows, channels, taps] of dtype, to [rows, taps, channels]. */
struct convert_args {
  const void *source;
  enum dtype dtype;
  void *target;
  struct element element; /* of the target */
  size_t rows;
  int channels, taps;
};
cudaError_t launch_convert(const struct launch_queue *queue, const struct convert_args *args);

/* target[i] = source[i], rows of width elements, the target's padded with 0 to pitch. */
struct pad_args {
  const half_t *source;
  half_t *target;
  size_t rows;
  int width, pitch;
};
cudaError_t launch_pad(const struct launch_queue *queue, const struct pad_args *args);

/* Weights of 3x3 convolutions behind a doubling, [rows, 9, width], as those of four 2x2 convolutions before it, one for
 * each pixel that a pixel becomes: [rows, 4, 4, pitch]. */
cudaError_t launch_quarters(const struct launch_queue *queue, const struct pad_args *args);
cudaError_t launch_to_f16(const struct launch_queue *queue, const float *source, half_t *target, size_t count);

/* Bytes that go from a place in a shadow to their own; even, as is the address. */
struct segment {
  size_t source; /* in the shadow, a multiple of 16 */
  void *target;
  size_t bytes;
};
/* Copies all segments; list is in device memory. */
cudaError_t launch_publish(const struct launch_queue *queue, const void *shadow, const struct segment *list, int count);

/* --- pixels.cu, sample.cu: what reads the run's parameters, and what the latents go through --- */

/* How stored numbers become R, G, B: value = (number - zero) * scale of each component, then the matrix. */
struct coding {
  float zero[3], scale[3];
  float r, g, b;                /* luma of R, G, B */
  float r_cr, g_cb, g_cr, b_cb; /* what colour differences add */
};

/* Planes of a picture in device memory. */
struct planes {
  struct coding coding;
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;
  uint8_t *plane[3];
  int pitch[3];
};

/* What a run's launches read. */
struct run_block {
  struct run_params run;
  struct planes input[FRAMES_MAX], output[BATCH_MAX];
  int iteration; /* of the plan's loop; 0 outside it */
};

/* Counts block->iteration up, from the last of `iterations` to 0: the last node of every iteration. again: the loop
 * node of the graph being captured, which is told whether another iteration follows; NULL outside a graph. */
cudaError_t launch_next_iteration(const struct launch_queue *queue, struct run_block *block, int iterations,
                                  const cudaGraphConditionalHandle *again);

/* Conditional nodes of the graph being captured: regions, and when each runs. */
enum { DECISIONS_MAX = 32 };
struct decisions {
  int count;
  struct region_when when[DECISIONS_MAX];
  cudaGraphConditionalHandle node[DECISIONS_MAX];
};

/* Tells each node whether its body runs: region_runs in the block's iteration. */
cudaError_t launch_decide(const struct launch_queue *queue, const struct run_block *block,
                          const struct decisions *decisions);

struct pixels_args {
  const struct run_block *block;
  const half_t *x;                 /* pixels_out: [n, h, w, 3] */
  const half_t *input;             /* pixels_out: [n, h, w, 3] or NULL */
  const half_t *map[CONTROLS_MAX]; /* pixels_out: likewise */
  half_t *y;                       /* pixels_in: [n, h, w, 3] */
  half_t *padded; /* pixels_in: [n, h, w, 8] or NULL: the same with channels of zeros, as a convolution reads it */
  int n, h, w;
  int out_h, out_w; /* pixels_out: of the pictures */
  int first;        /* pixels_in: number of the first frame */
  float scale, bias, input_scale, input_bias;
};
cudaError_t launch_pixels_in(const struct launch_queue *queue, const struct pixels_args *args);
cudaError_t launch_pixels_out(const struct launch_queue *queue, const struct pixels_args *args);

/* --- maps.cu --- */

struct map_args {
  const struct run_block *block;
  const half_t *x; /* [h, w, 3] */
  half_t *y;       /* likewise */
  void *scratch;   /* map_scratch_bytes */
  enum map_kind kind;
  int control, w, h;
  float scale, bias; /* to codes: floor(x * scale + bias) */
  /* Set by launch_map: parts of scratch, and which round of hysteresis it is. */
  struct ushort4 *along;
  struct uchar4 *mean;
  unsigned *weak, *strong[2];
  int pass;
};
size_t map_scratch_bytes(enum map_kind kind, int w, int h);
cudaError_t launch_map(const struct launch_queue *queue, const struct map_args *args);

/* The ops of sample.cu: operands as in unet/plan/op.h. What has no type here is half, noise float. */
struct sample_args {
  const struct run_block *block;
  const void *x;
  enum dtype x_type; /* FP32 or FP16 */
  const half_t *image, *table, *position;
  const float *noise;
  enum dtype model_type, reference_type;
  const void *model, *reference; /* FP32 or FP16 */
  float *anew;
  float *sums;    /* [latents][GUIDE_BLOCKS][4] */
  float *earlier; /* [kept] latents */
  int kept;
  void *y;
  enum dtype y_type;
  size_t count;              /* elements of one row of y: a latent, a slot, an embedding */
  int n;                     /* rows of y, latents, text positions; of a ring, or 0 */
  const float *kept_pixels;  /* of the picture, size times as wide as the latent, each way; or NULL */
  int w, size;               /* the latent's width */
  int c, c_image;            /* channels */
  int pitch;                 /* from one row of table to the next */
  struct guidance_rows rows; /* of a step or a latent */
  int values;                /* embedded beside each other in place of the steps' timesteps; 0: none */
  float value[SIZES];
  int step, together; /* latents at each step, at least 1; of noise the pictures */
  int kept_n;         /* of kept_pixels: 1 or as many as latents */
  unsigned image_rows;
  bool cos_first, mean;
  float scale, shift;
  struct product_gain gain;
};
cudaError_t launch_embed(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_timestep(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_guidance_embed(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_time_row(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_store_slot(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_shift(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_prompt(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_affine(const struct launch_queue *queue, const struct sample_args *args);
/* OP_BLOCKS: w is y's, c and pitch are x's. */
cudaError_t launch_blocks(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_end_token(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_emphasis(const struct launch_queue *queue, const struct sample_args *args);
/* y += gain * x, n pictures of count elements; c 1: x is one for all of them, else 0. */
cudaError_t launch_inject(const struct launch_queue *queue, const struct sample_args *args);
/* y += each picture's own row of table, of a convolution. */
cudaError_t launch_add_times(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_between(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_start(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_mask(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_unet_input(const struct launch_queue *queue, const struct sample_args *args);
/* How far a latent's predictions spread, for launch_guide; where the run does not rescale it does nothing. */
enum { GUIDE_BLOCKS = 32 };
cudaError_t launch_guide_sums(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_guide(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_step(const struct launch_queue *queue, const struct sample_args *args);

/* --- style.cu --- */

/* OP_STYLE. Slots lie after each other, tokens * pitch halves each. */
struct style_args {
  const struct run_block *block;
  const half_t *q, *k, *v;
  half_t *y;
  int n, count, heads, d;  /* count: rows of a picture */
  int tokens, pitch, last; /* of a slot; the last slot */
  int q_pitch, y_pitch;    /* from one row to the next */
  float scale;
  int part;
  struct guidance_rows rows; /* of a latent */
};
cudaError_t launch_style(const struct launch_queue *queue, const struct style_args *args);

/* OP_JOIN. */
struct join_args {
  const void *x, *x2; /* FP32 or FP16 */
  enum dtype x_type, x2_type;
  const half_t *position; /* or NULL */
  half_t *y;
  size_t first, count; /* elements of x, of y */
};
cudaError_t launch_join(const struct launch_queue *queue, const struct join_args *args);

/* --- profile.cu --- */

/* Reads memory that holds zeros: when it is larger than the last cache, little else is in there afterwards. */
cudaError_t launch_evict(const struct launch_queue *queue, const void *zeros, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
