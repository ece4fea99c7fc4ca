/* The CUDA kernels' launchers, callable from C. Each kernel family has one struct of arguments, which a prepared
 * program keeps and launches again for every frame.
 *
 * Conventions: pointers are device pointers and stay the caller's; half is FP16; tensors are NHWC without padding
 * unless a field says otherwise. Launchers only enqueue, so they can be captured, and return the launch's error. */
#ifndef CUDA_KERNELS_KERNELS_H
#define CUDA_KERNELS_KERNELS_H

#include <cuda_runtime_api.h>
#include <stdbool.h>
#include <stdint.h>

#include "attention/attention.h"
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

/* The stream that launches go to, and how they are launched. */
struct launch_queue {
  cudaStream_t stream;
  int sms; /* number of multiprocessors */
  /* Kernels are launched as programmatic dependents: a kernel may become resident before the one ahead has finished,
   * and waits for it on the device. This needs compute capability 9.0, which also has clusters of thread blocks. */
  bool overlap;
};

/* Stores 10 * major + minor of the PTX from which the current device's kernels were compiled. Returns an error if the
 * program has no kernels for the device. */
cudaError_t kernels_version(int *version);

/* --- gemm.cu: matrix products and convolutions as implicit matrix products, on tensor cores --- */

enum gemm_tile { TILE_128x128, TILE_64x160, TILE_64x64, TILE_64x16, TILES };

struct gemm_tile_size {
  int m, n;
};
extern const struct gemm_tile_size gemm_tile_sizes[TILES];

struct run_block;

/* The gain of OP_INJECT: a product's rows are multiplied by a factor that differs from picture to picture. It is
 * calculated from the run's parameters, for this control and step. */
struct product_gain {
  bool there; /* false: the gain is 1 */
  const struct run_block *block;
  int control, step;
  float guess; /* gain for the first picture of each latent, if the control runs in guess mode */
  struct guidance_rows rows;
};

/* Arguments of a matrix product, y[rows, columns] = epilogue(A W^T), with one row for each output pixel: rows = n *
 * out_h * out_w. A is x itself (kernel 1), or the input windows of a convolution, gathered from x. */
struct gemm_args {
  const half_t *x, *x2;   /* [n, h, w, c], and [n, h, w, c2] concatenated after it; c and c2 are multiples of 8 */
  const half_t *weight;   /* [columns, taps, c + c2], 16-byte aligned */
  const float *bias;      /* [columns] or NULL */
  const half_t *time;     /* [columns] or NULL: added like bias */
  const half_t *residual; /* [rows, columns] or NULL */
  half_t *y;              /* [rows, columns], or [rows, columns / 2] with ACT_GEGLU */
  int n, h, w, c, c2;
  int out_h, out_w;
  int kernel, stride, pad; /* kernel is 1 or 3; pad is the padding at the left and top */
  bool upsample;           /* doubles the picture by nearest neighbours before the convolution */
  bool residual_last;      /* true: act comes before the residual, as in OP_LINEAR; false: after it, as in OP_CONV */
  enum activation act;
  /* The gain multiplies product and bias, before the residual is added. It needs ACT_NONE. */
  struct product_gain gain;
  int columns;
  enum gemm_tile tile;
  int splits;     /* parts of the sum over taps and channels; partial sums are added in a fixed order */
  float *partial; /* memory for partial sums, as gemm_partial_bytes says; NULL when splits is 1 */
  /* gemm_tiles(args) counters, with which the last split of a tile is found; 0 before and after a launch; NULL when
   * splits is 1 */
  unsigned *arrived;
};

/* Returns the number of a product's tiles, which is that of the thread blocks of one split. */
int gemm_tiles(const struct gemm_args *args);
size_t gemm_partial_bytes(const struct gemm_args *args);
cudaError_t launch_gemm(const struct launch_queue *queue, const struct gemm_args *args);

/* --- narrow.cu: 3x3 convolutions with few channels over many pixels --- */

/* Return whether launch_narrow can do a product, and with how much shared memory. The arguments are those of a gemm
 * with kernel 3, stride 1, pad 1 and no x2. It can do these numbers of channels, from c to columns: 8 to 32 or 64; 32
 * or 64 to the same number, or to at most 16. Each thread block keeps all weights, and a tile of the input with its
 * border, in shared memory. */
bool narrow_supported(const struct gemm_args *args);
/* Returns the bytes of shared memory that a thread block needs; not every GPU has so many. */
int narrow_shared_bytes(const struct gemm_args *args);
cudaError_t launch_narrow(const struct launch_queue *queue, const struct gemm_args *args);

/* --- norm.cu, group_norm.cu, layer_norm.cu --- */

struct norm_args {
  const void *x, *x2;        /* [n, pixels, c], [n, pixels, c2] */
  bool x_f32;                /* true: x is FP32 */
  const float *gamma, *beta; /* [c + c2] or NULL */
  half_t *y;                 /* [n, pixels, pitch]; channels from c + c2 to pitch are set to 0 */
  int n, pixels, c, c2, pitch;
  int groups; /* groups of a group norm; 0: a layer norm over each pixel's channels */
  float eps;
  enum activation act;
  float *partial; /* memory for partial sums of a group norm: NORM_PARTIAL_FLOATS floats */
};
enum { NORM_BLOCKS_MAX = 256, NORM_GROUPS_MAX = 128 };
enum { NORM_PARTIAL_FLOATS = NORM_BLOCKS_MAX * NORM_GROUPS_MAX * 2 };

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args);

/* --- pointwise.cu --- */

/* y = act(x ++ x2), doubled in size if upsample, with channels padded with 0 to pitch. */
struct gather_args {
  const void *x, *x2;
  bool x_f32;
  half_t *y;
  int n, h, w, c, c2, pitch;
  bool upsample;
  enum activation act;
};
cudaError_t launch_gather(const struct launch_queue *queue, const struct gather_args *args);

/* y = epilogue(x): finishes the product of a library, which has neither bias, time, residual, activation nor gain; the
 * fields mean the same as in gemm_args. x may be y. With ACT_GEGLU x is [rows, columns] and y [rows, columns / 2]. */
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
  int pixels; /* rows of the product for one picture, for which the gain is the same */
};
cudaError_t launch_epilogue(const struct launch_queue *queue, const struct epilogue_args *args);

/* Attention for shapes that attention/ does not support: one thread block a row, slow. */
cudaError_t launch_plain_attention(const struct launch_queue *queue, const struct attn_args *args);

/* Converts checkpoint rows to the device's order: source [rows, channels, taps] of type dtype, to target [rows, taps,
 * channels]. */
struct convert_args {
  const void *source;
  enum dtype dtype;
  void *target;
  struct element element; /* type of the target's elements */
  size_t rows;
  int channels, taps;
};
cudaError_t launch_convert(const struct launch_queue *queue, const struct convert_args *args);

/* target = source, in rows of width elements; the target's rows are padded with 0 to pitch. */
struct pad_args {
  const half_t *source;
  half_t *target;
  size_t rows;
  int width, pitch;
};
cudaError_t launch_pad(const struct launch_queue *queue, const struct pad_args *args);

/* Converts weights of a 3x3 convolution after an upsampling by 2, [rows, 9, width], to four 2x2 convolutions before the
 * upsampling, one for each of the four pixels that a pixel becomes: [rows, 4, 4, pitch]. */
cudaError_t launch_quarters(const struct launch_queue *queue, const struct pad_args *args);
cudaError_t launch_to_f16(const struct launch_queue *queue, const float *source, half_t *target, size_t count);

/* A range of bytes that launch_publish copies from a shadow buffer to `target`. Number of bytes and address are
 * even. */
struct segment {
  size_t source; /* offset in the shadow buffer, a multiple of 16 */
  void *target;
  size_t bytes;
};
/* Copies all segments. list is in device memory. */
cudaError_t launch_publish(const struct launch_queue *queue, const void *shadow, const struct segment *list, int count);

/* --- pixels.cu, sample.cu: kernels that read the run's parameters: conversion of pixels, sampler's steps, embeddings
 * --- */

/* The conversion of stored numbers to R, G, B: value = (number - zero) * scale for each component, then the matrix. */
struct coding {
  float zero[3], scale[3];
  float r, g, b;                /* weights of R, G, B in luma */
  float r_cr, g_cb, g_cr, b_cb; /* factors of Cr and Cb in R, G and B */
};

/* A picture's planes in device memory. */
struct planes {
  struct coding coding;
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;
  uint8_t *plane[3];
  int pitch[3];
};

/* The parameters that a run's kernels read from device memory: those of the run, and the planes of its frames and
 * pictures. */
struct run_block {
  struct run_params run;
  struct planes input[FRAMES_MAX], output[BATCH_MAX];
  int iteration; /* iteration of the plan's loop; 0 outside the loop */
};

/* Increments block->iteration, and resets it to 0 after the last of `iterations`. It is the last node of every
 * iteration. again: handle of the loop node in the graph being captured, which it tells whether another iteration
 * follows; NULL outside a graph. */
cudaError_t launch_next_iteration(const struct launch_queue *queue, struct run_block *block, int iterations,
                                  const cudaGraphConditionalHandle *again);

/* The arguments of launch_decide: for each conditional node of the graph being captured, the condition under which the
 * region in its body runs. */
enum { DECISIONS_MAX = 32 };
struct decisions {
  int count;
  struct region_when when[DECISIONS_MAX];
  cudaGraphConditionalHandle node[DECISIONS_MAX];
};

/* Sets each node to run or skip its body, by its condition, the run's parameters and block->iteration. */
cudaError_t launch_decide(const struct launch_queue *queue, const struct run_block *block,
                          const struct decisions *decisions);

struct pixels_args {
  const struct run_block *block;
  const half_t *x;                 /* pixels_out: [n, h, w, 3] */
  const half_t *input;             /* pixels_out: [n, h, w, 3] or NULL */
  const half_t *map[CONTROLS_MAX]; /* pixels_out: [n, h, w, 3] each, or NULL */
  half_t *y;                       /* pixels_in: [n, h, w, 3] */
  /* pixels_in: [n, h, w, 8] or NULL. The same pixels with channels of zeros, as a convolution reads them. */
  half_t *padded;
  int n, h, w;
  int out_h, out_w; /* pixels_out: height and width of the pictures that are written */
  int first;        /* pixels_in: index in block->input of the frame for the first picture */
  float scale, bias, input_scale, input_bias;
};
cudaError_t launch_pixels_in(const struct launch_queue *queue, const struct pixels_args *args);
cudaError_t launch_pixels_out(const struct launch_queue *queue, const struct pixels_args *args);

/* --- maps.cu --- */

struct map_args {
  const struct run_block *block;
  const half_t *x; /* [h, w, 3] */
  half_t *y;       /* [h, w, 3] */
  void *scratch;   /* working memory of the size that map_scratch_bytes returns */
  enum map_kind kind;
  int control, w, h;
  float scale, bias; /* x * scale + bias, rounded down, is the 8-bit value from which the map is made */
  /* launch_map sets all following fields: addresses in scratch, and the number of the pass of hysteresis. */
  struct ushort4 *along;
  struct uchar4 *mean;
  unsigned *weak, *strong[2];
  int pass;
};
size_t map_scratch_bytes(enum map_kind kind, int w, int h);
cudaError_t launch_map(const struct launch_queue *queue, const struct map_args *args);

/* Arguments of the ops of sample.cu; operands as in unet/plan/op.h. Pointers are to half, noise is float, unless a type
 * stands here. */
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
  size_t count; /* elements of one row of y: a latent, a slot or an embedding */
  /* Number of rows of y: of latents or of text positions. launch_shift: number of entries of the ring;
   * launch_store_slot: number of slots of a ring, or 0. */
  int n;
  /* [kept_n] pixels of the mask, or NULL. The mask is `size` times as wide and high as the latent. */
  const float *kept_pixels;
  int w, size;               /* width of the latent; pixels of the mask for one pixel of the latent */
  int c, c_image;            /* channels of the latent and of image */
  int pitch;                 /* elements from one row of table to the next */
  struct guidance_rows rows; /* guidance rows of the first latent or step, and of each later one */
  int values;                /* values embedded side by side instead of the steps' timesteps; 0: none */
  float value[SIZES];
  /* step: number of the U-Net's call; together: number of latents at each step (for noise: of pictures), at least 1 */
  int step, together;
  int kept_n; /* masks in kept_pixels: 1, or one for each latent */
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
/* OP_BLOCKS. w is the width of y; c and pitch are those of x. */
cudaError_t launch_blocks(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_end_token(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_emphasis(const struct launch_queue *queue, const struct sample_args *args);
/* y += gain * x, for n pictures of count elements. c 1: all pictures share one x; else c is 0. */
cudaError_t launch_inject(const struct launch_queue *queue, const struct sample_args *args);
/* y += the row of table that belongs to each picture: the time embedding after a convolution, where pictures of a batch
 * are at different timesteps. */
cudaError_t launch_add_times(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_between(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_start(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_mask(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_unet_input(const struct launch_queue *queue, const struct sample_args *args);
/* Calculates the sums from which launch_guide gets the standard deviation of a latent's predictions, to rescale them.
 * Does nothing in a run that does not rescale. */
enum { GUIDE_BLOCKS = 32 };
cudaError_t launch_guide_sums(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_guide(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_step(const struct launch_queue *queue, const struct sample_args *args);

/* --- style.cu --- */

/* Arguments of OP_STYLE, attention to style pictures. k and v have a slot for each style picture; slots follow each
 * other in memory, tokens * pitch FP16 values each. */
struct style_args {
  const struct run_block *block;
  const half_t *q, *k, *v;
  half_t *y;
  int n, count, heads, d;  /* count: rows of a picture */
  int tokens, pitch, last; /* tokens of a slot; elements from one token to the next; number of the last slot */
  int q_pitch, y_pitch;    /* elements from one row to the next */
  float scale;
  int part;
  struct guidance_rows rows; /* guidance rows of the first latent, and of each later one */
};
cudaError_t launch_style(const struct launch_queue *queue, const struct style_args *args);

/* Arguments of OP_JOIN: y = x, then x2, plus position if there is one. */
struct join_args {
  const void *x, *x2; /* FP32 or FP16 */
  enum dtype x_type, x2_type;
  const half_t *position; /* NULL: nothing is added */
  half_t *y;
  size_t first, count; /* elements of x; elements of y */
};
cudaError_t launch_join(const struct launch_queue *queue, const struct join_args *args);

/* --- profile.cu --- */

/* Reads memory that holds zeros. If it is larger than the last cache level, it evicts nearly everything else. */
cudaError_t launch_evict(const struct launch_queue *queue, const void *zeros, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
