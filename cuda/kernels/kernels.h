/* The CUDA kernels' launchers, callable from C. Each family of kernels has one struct of arguments. A prepared program
 * keeps the struct, and launches the kernel with it in every run.
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

/* The stream on which kernels are launched, and facts about the device on which launchers base their choices. */
struct launch_queue {
  cudaStream_t stream;
  int sms; /* number of multiprocessors */
  /* true: a kernel may start before the preceding one in the stream has finished, and waits for it on the device
   * (programmatic dependent launch). Only set for compute capability 9.0 and up, which has clusters of thread blocks as
   * well. */
  bool overlap;
};

/* Stores the PTX version for which the current device's kernels were compiled, as 10 * major + minor: 90 for sm_90.
 * Returns an error if this program has no kernels for the device. */
cudaError_t kernels_version(int *version);

/* --- gemm.cu: matrix products, and convolutions as implicit matrix products, on tensor cores --- */

/* Sizes of tiles, rows by columns; those of window.cu are pixels in height and width by columns. The number of a tile
 * is part of choices in tuning files. The tiles from TILES_F32 on have FP16 sums over spans of K, which are added to
 * FP32 sums; the others have FP32 sums alone. */
enum gemm_tile {
  TILE_128x128,
  TILE_128x160,
  TILE_256x64,
  TILE_64x160,
  TILE_64x64,
  TILE_64x16,
  WINDOW_8x16x160, /* the first tile of window.cu */
  WINDOW_8x16x80,
  WINDOW_16x16x64,
  WINDOW_8x16x64,
  WINDOW_8x8x64,
  WINDOW_8x8x64_DEEP,
  TILES_F32,
  WINDOW_FIRST = WINDOW_8x16x160,
  TILE_128x128_F16 = TILES_F32,
  TILE_128x160_F16,
  TILE_256x64_F16,
  TILES
};

struct gemm_tile_size {
  int m, n;
  int span; /* number of products along K (taps and channels) that are summed in FP16; 0: all sums are FP32 */
};
extern const struct gemm_tile_size gemm_tile_sizes[TILES];

struct run_block;

/* The gain of OP_INJECT, which adds a control network's result times a factor. The factor differs from picture to
 * picture. Kernels read it from the run's parameters, for control number `control` and step `step`. */
struct product_gain {
  /* true: product and bias are multiplied by the gain; false: there is no gain, and the other fields are not read */
  bool there;
  const struct run_block *block;
  int control, step;
  /* a further factor, used if the control runs in guess mode: the first guidance row of each latent gets gain * guess,
   * the other rows 0 (inject_gain in unet/plan/run.h) */
  float guess;
  struct guidance_rows rows;
};

/* A second product that is added to a convolution's (product_sm90.cu alone): [x, x2] weight^T, with a row for each
 * output pixel. A residual block's shortcut is one. */
struct product_more {
  const half_t *x, *x2; /* [rows, c] and [rows, c2]; x NULL: there is no second product; x2 NULL, c2 0: x alone */
  const half_t *weight; /* [columns, c + c2] */
  int c, c2;            /* multiples of 8 */
};

/* How the warps of launch_narrow divide the work from 64 to 64 and from 32 to 32 channels; all else has the first
 * shape. Which is the fastest depends on the number of tiles. The number of a shape is part of choices in tuning
 * files. */
enum narrow_shape {
  NARROW_PAIR, /* two groups with tiles of 8 x 16 pixels */
  NARROW_FOUR, /* four groups with tiles of 8 x 16 pixels */
  NARROW_LOW,  /* two groups with tiles of 4 x 16 pixels */
  NARROW_SHAPES
};

/* The attention to a text whose queries are the product's result. Kernels of product_sm90.cu that end with it store its
 * result instead; for all others a launch of its own follows. Heads have PRODUCT_HEAD channels. */
struct product_attend {
  const half_t *k, *v; /* keys and values, [texts, tokens, columns]; k NULL: there is no attention */
  half_t *o;           /* the attention's result, [rows, columns] */
  /* number of elements from one token to the next, and from one text to the next; the latter is 0 if all rows read the
   * same text */
  long k_row, v_row, k_text, v_text;
  int tokens; /* 1 to PRODUCT_TOKENS_MOST */
  int rows;   /* number of neighbouring rows that read the same text */
  float scale;
};
enum { PRODUCT_HEAD = 64, PRODUCT_TOKENS_MOST = 80 };

/* Arguments of a matrix product, y[rows, columns] = epilogue(A W^T), with one row for each output pixel: rows = n *
 * out_h * out_w. A is x itself (kernel 1), or the input windows of a convolution, gathered from x. */
struct gemm_args {
  /* inputs [n, h, w, c] and [n, h, w, c2], concatenated by channels; c and c2 are multiples of 8; x2 NULL, c2 0: x
   * alone */
  const half_t *x, *x2;
  const half_t *weight;   /* weights [columns, taps (places of the convolution window), c + c2], 16-byte aligned */
  const float *bias;      /* the bias of each column of y, [columns]; NULL: there is none */
  const half_t *time;     /* a vector from the time embedding, [columns], which is added like the bias; NULL: there is
                           * none */
  const half_t *residual; /* what is added to the product, [rows, columns]; NULL: nothing is added */
  half_t *y;              /* the result: [rows, columns], or [rows, columns / 2] with ACT_GEGLU */
  int n, h, w, c, c2;
  int out_h, out_w;
  /* kernel: side of the convolution window, 1 or 3; pad: padding in pixels at the left and top */
  int kernel, stride, pad;
  bool upsample; /* true: the picture is doubled in width and height, by nearest neighbours, before the convolution */
  /* true: the activation `act` comes before the residual is added, as in OP_LINEAR; false: after it, as in OP_CONV */
  bool residual_last;
  /* true: the doubled picture's convolution is done as four 2x2 convolutions of the input, and weight is what
   * launch_quarters makes; only with upsample, kernel 3, stride 1 and pad 1 */
  bool quarters;
  enum activation act;
  /* gain by which the product and the bias are multiplied before the residual is added; only with ACT_NONE */
  struct product_gain gain;
  struct product_more more;
  int columns;
  enum gemm_tile tile;
  /* number of parts into which each sum over taps and channels is split, one thread block a part; they are added in a
   * fixed order */
  int splits;
  float *partial; /* device memory for the parts of split sums, gemm_partial_bytes(args) bytes; NULL if splits is 1 */
  /* gemm_tiles(args) counters, one for each tile whose sum is split: the thread block that counts last adds up the
   * parts. All are 0 before and after a launch; NULL if splits is 1 */
  unsigned *arrived;
  /* launch_narrow alone: how its warps divide the work */
  enum narrow_shape shape;
  struct product_attend attend; /* attend.k NULL: no attention follows */
};

/* Returns true if the time row may be read two values at a time, as window.cu and narrow.cu do. It is part of a longer
 * one, and begins at an odd place of it in networks with odd numbers of channels. */
static inline bool time_in_pairs(const struct gemm_args *args) {
  return (uintptr_t)args->time % 4 == 0;
}

/* Returns true if the tile args->tile can do this product; those of window.cu do some 3x3 convolutions alone. */
bool gemm_takes(const struct gemm_args *args);
/* Returns the number of tiles into which the result of a product is divided. A launch has one thread block for each
 * tile and split (part of the sum over K). */
int gemm_tiles(const struct gemm_args *args);
/* Returns how many bytes the parts of split sums take (gemm_args.partial). */
size_t gemm_partial_bytes(const struct gemm_args *args);
cudaError_t launch_gemm(const struct launch_queue *queue, const struct gemm_args *args);

/* --- window.cu: 3x3 convolutions of 32 i or 64 i channels, whose input is read once for all places of the window;
 * launch_gemm and the functions above call these for its tiles --- */

/* Returns true for the tiles of window.cu. */
static inline bool is_window(enum gemm_tile tile) {
  return tile >= WINDOW_FIRST && tile < TILES_F32;
}
bool window_takes(const struct gemm_args *args);
int window_tiles_down(const struct gemm_args *args); /* number of tiles that hold all pixels, for some columns */
cudaError_t launch_window(const struct launch_queue *queue, const struct gemm_args *args);

/* --- narrow.cu: 3x3 convolutions with few channels over many pixels --- */

/* Returns true if launch_narrow can do this convolution. The arguments are those of a gemm with kernel 3, stride 1, pad
 * 1 and no x2, and without ACT_GEGLU. launch_narrow can do these numbers of channels: input 8, output 16, 32 or 64;
 * input 16, output 16; input 32, output 32 or at most 16; input 64, output 64 or at most 16. They are few, because each
 * thread block keeps all weights and a tile of the input with its border in shared memory. */
bool narrow_supported(const struct gemm_args *args);
/* Returns true if launch_narrow divides this convolution as args->shape says. */
bool narrow_has_shape(const struct gemm_args *args);
/* Returns how many bytes of shared memory a thread block of launch_narrow needs, which can be more than the GPU has. */
int narrow_shared_bytes(const struct gemm_args *args);
cudaError_t launch_narrow(const struct launch_queue *queue, const struct gemm_args *args);

/* --- norm.cu, group_norm.cu, layer_norm.cu: group norms and layer norms, with an activation after them --- */

struct norm_args {
  const void *x, *x2;        /* inputs [n, pixels, c] and [n, pixels, c2], concatenated by channels */
  bool x_f32;                /* true: x is FP32; false: x is FP16 */
  const float *gamma, *beta; /* factors and summands of the channels, [c + c2]; NULL: 1 and 0 */
  half_t *y; /* the result, [n, pixels, pitch]; channels from c + c2 to pitch are padding and are set to 0 */
  int n, pixels, c, c2, pitch;
  int groups; /* number of groups of a group norm; 0: it is a layer norm, over the channels of each pixel */
  float eps;
  enum activation act;
  float *partial; /* device memory for a group norm's partial sums, NORM_PARTIAL_FLOATS floats */
};
enum { NORM_BLOCKS_MAX = 256, NORM_GROUPS_MAX = 128 };
enum { NORM_PARTIAL_FLOATS = NORM_BLOCKS_MAX * NORM_GROUPS_MAX * 2 };

cudaError_t launch_norm(const struct launch_queue *queue, const struct norm_args *args);

/* --- pointwise.cu: element by element; a slow attention; conversion of weights --- */

/* Arguments of a kernel that makes y from x and x2, pictures of h x w pixels: it concatenates them by channels, applies
 * the activation, doubles height and width if `upsample` is true, and adds channels of zeros up to pitch. */
struct gather_args {
  const void *x, *x2;
  bool x_f32;
  half_t *y;
  int n, h, w, c, c2, pitch;
  bool upsample;
  enum activation act;
};
cudaError_t launch_gather(const struct launch_queue *queue, const struct gather_args *args);

/* Arguments of a kernel that finishes a product x which a library has computed: y = epilogue(x). x has neither bias,
 * time, residual, activation nor gain yet; these fields mean the same as in gemm_args. x may be y. With ACT_GEGLU x is
 * [rows, columns] and y [rows, columns / 2]. */
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
  /* number of rows of the product that belong to one picture; all of them are multiplied by the same gain */
  int pixels;
};
cudaError_t launch_epilogue(const struct launch_queue *queue, const struct epilogue_args *args);

/* Attention for shapes that flash attention (attention/) does not support. It is slow: one thread block for each row of
 * q. */
cudaError_t launch_plain_attention(const struct launch_queue *queue, const struct attn_args *args);

/* Arguments of a kernel that converts a weight from the checkpoint's layout and type to the device's: from source,
 * [rows, channels, taps] of type dtype, to target, [rows, taps, channels] of type element. */
struct convert_args {
  const void *source;
  enum dtype dtype;
  void *target;
  struct element element; /* number type of `target`, to which the values are converted */
  size_t rows;
  int channels, taps;
};
cudaError_t launch_convert(const struct launch_queue *queue, const struct convert_args *args);

/* Arguments of a kernel that copies rows of `width` elements from source to target, where rows are `pitch` elements
 * apart and padded with 0. */
struct pad_args {
  const half_t *source;
  half_t *target;
  size_t rows;
  int width, pitch;
};
cudaError_t launch_pad(const struct launch_queue *queue, const struct pad_args *args);

/* Converts the weights of a 3x3 convolution after an upsampling by 2, [rows, 9, width], to those of four 2x2
 * convolutions before the upsampling, [rows, 4, 4, pitch]. Together the four give the same result: each makes one of
 * the 2x2 output pixels of an input pixel. */
cudaError_t launch_quarters(const struct launch_queue *queue, const struct pad_args *args);
/* Makes one linear layer of two. The second (`outer`) follows the first (`inner`), with a residual x2 between them:
 * outer (inner x + inner_bias + x2) + bias = weight [x, x2] + y_bias, where weight = [outer inner, outer] and y_bias =
 * outer inner_bias + bias. All sizes are multiples of 8. */
struct fold_weights_args {
  const half_t *outer;            /* [rows, c] */
  const half_t *inner;            /* [c, width] */
  const float *inner_bias, *bias; /* [c] and [rows]; NULL: 0 */
  half_t *weight;                 /* [rows, width + c] */
  float *y_bias;                  /* [rows] */
  int rows, c, width;
};
cudaError_t launch_fold_weights(const struct launch_queue *queue, const struct fold_weights_args *args);
/* Converts `count` FP32 values to FP16. */
cudaError_t launch_to_f16(const struct launch_queue *queue, const float *source, half_t *target, size_t count);

/* A range of bytes that launch_publish copies to `target` from the shadow buffer, the device memory in which weights
 * that adapters change are calculated. The address of `target` and the number of bytes are even. */
struct segment {
  size_t source; /* offset in bytes from the start of the buffer of new weights, a multiple of 16 */
  void *target;
  size_t bytes;
};
/* Copies `count` segments (ranges of bytes) from the shadow buffer to their targets. The list of the segments is in
 * device memory. The shadow buffer is the device memory in which changed weights were calculated. */
cudaError_t launch_publish(const struct launch_queue *queue, const void *shadow, const struct segment *list, int count);

/* --- pixels.cu, sample.cu: kernels that read the run's parameters: conversion of pixels, sampler's steps, embeddings
 * --- */

/* How the numbers in a picture's planes are converted to R, G, B. First each component becomes (number - zero) * scale.
 * If the components are luma, Cb and Cr, they are then converted to R, G, B with the fields from r to b_cb. */
struct coding {
  float zero[3], scale[3];
  float r, g, b;                /* weights with which luma is the sum of R, G and B */
  float r_cr, g_cb, g_cr, b_cb; /* factors by which Cb and Cr count in R, G and B; g_cb: factor of Cb in G */
};

/* The planes of a picture in device memory, with all that is needed to convert them to R, G, B. */
struct planes {
  struct coding coding;
  enum pixel_format format;
  enum color_matrix matrix;
  enum color_range range;
  int width, height;
  uint8_t *plane[3];
  int pitch[3];
};

/* What a run's kernels read from device memory: the parameters of the run, and the addresses of its input and output
 * planes. */
struct run_block {
  struct run_params run;
  struct planes input[FRAMES_MAX], output[BATCH_MAX];
  int iteration;    /* number of the present iteration of the plan's loop, from 0; 0 outside the loop */
  uint32_t changes; /* device_changes when the run was submitted */
};

/* Enqueues the last kernel of an iteration of the plan's loop. It increments block->iteration, or resets it to 0 after
 * the last of `iterations` iterations. again: handle of the loop's node in the graph that is being captured, which the
 * kernel sets so that the loop is repeated or ends; NULL: no graph is captured. */
cudaError_t launch_next_iteration(const struct launch_queue *queue, struct run_block *block, int iterations,
                                  const cudaGraphConditionalHandle *again);

/* The arguments of launch_decide: conditional nodes of the graph that is being captured. The body of each has the ops
 * of a region, which a run may skip; it runs if the node's condition holds. */
enum { DECISIONS_MAX = 32 };
struct decisions {
  int count;
  struct region_when when[DECISIONS_MAX];
  cudaGraphConditionalHandle node[DECISIONS_MAX];
};

/* Each node has a condition, which depends on the run's parameters and on block->iteration. Evaluates these conditions,
 * and sets each node so that its body runs or is skipped. */
cudaError_t launch_decide(const struct launch_queue *queue, const struct run_block *block,
                          const struct decisions *decisions);

struct pixels_args {
  const struct run_block *block;
  const half_t *x; /* pixels_out: the generated pictures, [n, h, w, 3] */
  /* pixels_out: the input pictures, [n, h, w, 3], into which the generated ones are blended; NULL: none */
  const half_t *input;
  /* pixels_out: for each control its map, which can be shown, [n, h, w, 3]; NULL: the control has no map */
  const half_t *map[CONTROLS_MAX];
  half_t *y; /* pixels_in: the result, [n, h, w, 3] */
  /* pixels_in: the pixels of y again with 8 channels, zeros from channel 3 on, as a convolution reads them, [n, h, w,
   * 8]; NULL: not wanted */
  half_t *padded;
  int n, h, w;
  int out_h, out_w; /* pixels_out: height and width of the pictures that are written */
  int first;        /* pixels_in: index in block->input of the frame from which picture 0 is made */
  float scale, bias, input_scale, input_bias;
};
/* launch_pixels_in does OP_PIXELS_IN (from frames to R, G, B), launch_pixels_out OP_PIXELS_OUT (from R, G, B to
 * pictures). */
cudaError_t launch_pixels_in(const struct launch_queue *queue, const struct pixels_args *args);
cudaError_t launch_pixels_out(const struct launch_queue *queue, const struct pixels_args *args);

/* --- detail.cu: the input's fine detail, added to the generated picture --- */

struct detail_args {
  const struct run_block *block;
  const half_t *x; /* the input pictures, [n, h, w, 3] */
  half_t *y;       /* the generated pictures, of x's shape; run.detail times (x - blurred x) is added to them */
  int n, h, w;
};
cudaError_t launch_detail(const struct launch_queue *queue, const struct detail_args *args);

/* --- maps.cu: maps of the input picture, such as its edges, that steer control networks --- */

struct map_args {
  const struct run_block *block;
  const half_t *x; /* the picture of which the map is made, [h, w, 3] */
  half_t *y;       /* the map that is made, [h, w, 3] */
  void *scratch;   /* device memory of map_scratch_bytes(kind, w, h) bytes */
  enum map_kind kind;
  int control, w, h;
  float scale, bias; /* floor(x * scale + bias) is the 8-bit code of a value x; maps are made from these codes */
  /* launch_map itself sets the following fields: addresses of its arrays in `scratch`, and the number of the pass of
   * hysteresis (strong edges grow along weak ones). */
  struct ushort4 *along;
  struct uchar4 *mean;
  unsigned *weak, *strong[2];
  int pass;
};
/* Returns how many bytes of scratch memory launch_map needs to make a map of kind `kind` from a picture of w x h
 * pixels; 0: none. */
size_t map_scratch_bytes(enum map_kind kind, int w, int h);
cudaError_t launch_map(const struct launch_queue *queue, const struct map_args *args);

/* A second copy of what a launch makes, as the convolution behind it reads it: in y the activations of the values,
 * which have c channels a pixel and there `pitch`, zeros from channel c on. y: NULL: there is no copy. */
struct sample_copy {
  half_t *y;
  int c, pitch;
  enum activation act;
};

/* Arguments of the ops of sample.cu (sampler, prompts, embeddings). Fields are named like the operands of the ops
 * (unet/plan/op_*.h). Pointers are to FP16, and noise is FP32, unless the field says otherwise. */
struct sample_args {
  const struct run_block *block;
  const void *x;
  enum dtype x_type; /* element type of x: FP32 or FP16 */
  const half_t *image, *table, *position;
  /* launch_prompt: what is in y, which then keeps its values from run to run; NULL: y is made in each run */
  struct prompt_note *note;
  const float *noise;
  enum dtype model_type, reference_type;
  /* model: the network's predictions. reference: the prediction of residual guidance (operand `reference` of OP_GUIDE),
   * NULL: zeros. model_type and reference_type are their types: FP32 or FP16 */
  const void *model, *reference;
  float *anew;
  float *sums;    /* device memory for launch_guide_sums, [latents][GUIDE_BLOCKS][4] */
  float *earlier; /* predictions of earlier steps, `kept` for each latent, newest first: [latents][kept][count] */
  int kept;
  void *y;
  enum dtype y_type;
  /* Number of values of one row of y (a latent, a picture, a prompt slot). In launch_emphasis, in launch_between and in
   * launches that do not use n: number of values of all of y */
  size_t count;
  /* Number of rows of y. launch_shift: number of entries of the queue; launch_store_slot: number of slots if they are
   * written in turn, 0: the run's parameters give the slot; launch_emphasis: number of tokens. */
  int n;
  /* masks, [kept_n]: at least 0.5 where the input picture is kept; NULL: there is no mask. launch_unet_input: a mask
   * has `size` times the latent's width and height. */
  const float *kept_pixels;
  /* w: width of the latent in pixels; for launch_mask, number of pixels of the mask. size: side of the square, in
   * pixels of the mask, that becomes one pixel of the latent; for launch_blocks, side of a block. */
  int w, size;
  int c, c_image; /* numbers of channels of the latent and of `image` */
  int pitch;      /* number of elements from one row of `table` to the next */
  /* how many guidance rows (computations for one prompt each) the first latent has, and each later one */
  struct guidance_rows rows;
  /* for launch_timestep: if `values` is 0, y has the embeddings of the steps' timesteps; else y has the embeddings of
   * the first `values` entries of value[], side by side */
  int values;
  float value[SIZES];
  /* step: number of the sampling step; in a loop block->iteration, the number of the iteration, is added. together:
   * number of latents that are at the same step, at least 1; in launches that make noise, number of pictures */
  int step, together;
  int kept_n; /* number of masks in kept_pixels: 1 for all latents, or one for each latent */
  unsigned image_rows;
  bool cos_first, mean;
  float scale, shift;
  struct product_gain gain;
  struct sample_copy copy; /* launch_unet_input, launch_step: a second copy of y */
};
/* These functions and those below without a comment launch the kernel of the op with the same name: launch_embed does
 * OP_EMBED. */
cudaError_t launch_embed(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_timestep(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_guidance_embed(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_time_row(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_store_slot(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_shift(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_prompt(const struct launch_queue *queue, const struct sample_args *args); /* prompt.cu */
cudaError_t launch_affine(const struct launch_queue *queue, const struct sample_args *args);
/* Does OP_BLOCKS, which rearranges square blocks of pixels to channels. Here w is the width of y; c and pitch are those
 * of x. */
cudaError_t launch_blocks(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_end_token(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_emphasis(const struct launch_queue *queue, const struct sample_args *args);
/* Adds gain * x to y, for n pictures of `count` elements. c: 1 if all pictures have the same x, 0 if each has its
 * own. */
cudaError_t launch_inject(const struct launch_queue *queue, const struct sample_args *args);
/* Adds a bias to each channel of the pictures in y; for picture i the biases are row i of `table`. They are projected
 * from the embedding of the picture's timestep. Used where the pictures of a batch are at different timesteps. */
cudaError_t launch_add_times(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_between(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_start(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_mask(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_unet_input(const struct launch_queue *queue, const struct sample_args *args);
/* Calculates the sums from which launch_guide finds the standard deviations of a latent's predictions, which guidance
 * rescale needs. Does nothing in a run without guidance rescale. */
enum { GUIDE_BLOCKS = 32 };
cudaError_t launch_guide_sums(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_guide(const struct launch_queue *queue, const struct sample_args *args);
cudaError_t launch_step(const struct launch_queue *queue, const struct sample_args *args);

/* --- style.cu: attention to style pictures, and the op that joins rows of tokens --- */

/* Arguments of OP_STYLE, attention to style pictures (IP-Adapter). k and v have one slot for each style picture. A slot
 * has tokens * pitch FP16 values, and slots follow each other in memory. */
struct style_args {
  const struct run_block *block;
  const half_t *q, *k, *v;
  half_t *y;
  /* n pictures with `count` rows of q each; heads: number of heads; d: number of channels of a head */
  int n, count, heads, d;
  /* tokens: number of tokens in a slot; pitch: elements from one token to the next; last: number of the last slot,
   * which stands for "no style picture". It is read for the negative prompt, that is, for all guidance rows of a latent
   * but the first. */
  int tokens, pitch, last;
  int q_pitch, y_pitch; /* elements from one row of q, and of y, to the next */
  float scale;
  int part;
  /* how many guidance rows (computations for one prompt each) the first latent has, and each later one */
  struct guidance_rows rows;
};
cudaError_t launch_style(const struct launch_queue *queue, const struct style_args *args);

/* Arguments of OP_JOIN: y has the rows of x followed by those of x2. If `position` is not NULL, it is added to all of
 * y. */
struct join_args {
  const void *x, *x2; /* the inputs, in x_type and x2_type: FP32 or FP16 */
  enum dtype x_type, x2_type;
  const half_t *position; /* vectors for the positions of y's rows, which are added to the rows; NULL: nothing is
                           * added */
  half_t *y;
  size_t first, count; /* first: number of elements of x; count: number of elements of y, that is, of x and x2
                        * together */
};
cudaError_t launch_join(const struct launch_queue *queue, const struct join_args *args);

/* --- profile.cu: an empty cache for measurements --- */

/* Evicts nearly everything from the caches, by reading device memory that holds zeros and is larger than the last-level
 * cache. bytes: its size, a multiple of 16. */
cudaError_t launch_evict(const struct launch_queue *queue, const void *zeros, size_t bytes);

#ifdef __cplusplus
}
#endif

#endif
