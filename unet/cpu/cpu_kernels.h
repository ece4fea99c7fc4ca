/* The vectorised kernels of the CPU device: structs with a kernel's arguments, and one table of functions (struct
 * cpu_kernels) for each instruction set. Kernels divide their work among OpenMP's threads. "Scratch" is memory of the
 * caller that a kernel overwrites. */
#ifndef UNET_CPU_CPU_KERNELS_H
#define UNET_CPU_CPU_KERNELS_H

#include "unet/cpu/cpu_motion.h"
#include "unet/cpu/cpu_pixels.h"
#include "unet/plan/run.h"

/* The arguments of a kernel that makes the input of a convolution or matrix product: out = upsample(prologue(x and x2
 * concatenated)), where the prologue is a norm and an activation. It is used if the product cannot read x itself. */
struct gather {
  const void *x[2];
  enum dtype dtype[2]; /* types of x and x2: FP32 or bfloat16 */
  int c[2];            /* numbers of channels of x and x2; c[1] is 0 if there is no x2 */
  int n, h, w;
  bool upsample;
  const struct prologue *prologue;
  const float *gamma, *beta; /* factors and summands of the norm for each channel; NULL: 1 and 0 */
  double *totals;            /* scratch of 2 * n * (c[0] + c[1]) values for sums; used by group norm only */
  /* Scratch memory, used by group norm only. Each array has n * (c[0] + c[1]) values, one for every channel of every
   * picture */
  float *mean, *scale, *shift;
  void *out; /* the result: [n, h << upsample, w << upsample, c[0] + c[1]] */
  enum dtype out_dtype;
};

/* The arguments of OP_ATTENTION (op_layers.h). A pitch is the number of elements from one token to the next. k2 and v2
 * are the keys and values of earlier frames: keys2 tokens for each picture (0: there are none), and n2 elements from
 * one picture's to the next one's. */
struct attend {
  const void *q, *k, *v, *k2, *v2;
  void *y;
  enum dtype q_dtype, k_dtype, v_dtype, y_dtype, k2_dtype, v2_dtype;
  int q_pitch, k_pitch, v_pitch, y_pitch, k2_pitch, v2_pitch;
  int n, k_n; /* n: number of pictures of q. k_n: number of pictures of k and v, which is n, or 1 if all pictures of q
               * share the keys */
  int heads, dim, queries, keys, keys2;
  size_t n2;
  float scale;
  bool causal;
  /* scratch for keys and values in the order in which the kernel reads them: attend_packed(keys, dim) floats for each
   * head of each of the k_n pictures */
  float *packed;
  float *tiles; /* scratch of attend_tile floats for each thread: some queries, with their scores and results */
};

/* The arguments of a convolution by Winograd's algorithm or by matrix units (cpu_tiles.h): y =
 * act(conv3x3(upsample(x)) + bias + residual), with stride 1 and padding 1. */
struct conv3x3 {
  const void *x; /* the input: [n, h, w, c] */
  enum dtype x_dtype;
  int n, h, w, c;
  bool upsample;
  const void *weight;   /* the weight, transformed and packed by winograd_pack or by cpu_tiles.pack */
  const float *bias;    /* the bias of each output channel, [c_out]; NULL: there is none */
  const void *residual; /* tensor with the shape of y, added to the result; may be y itself; NULL: there is none */
  enum dtype residual_dtype;
  enum activation act;
  void *y; /* the result: [n, h << upsample, w << upsample, c_out] */
  enum dtype y_dtype;
  int c_out;
  /* scratch of winograd_scratch floats for each thread, or of cpu_tiles.scratch bytes, aligned to 64 */
  void *scratch;
};

/* The samples `first` to `first + count - 1` of a row, from which an output pixel is averaged. All but the first and
 * the last sample have the weight middle_weight. */
struct tap {
  int first, count;
  float first_weight, middle_weight, last_weight;
};

struct resize {
  const struct frame *frame;
  struct geometry geometry;
  float scale, bias;
  int w, h; /* width and height of out in pixels */
  float *out;
  /* Scratch memory, an array of w entries for each width of planes: taps[0] for planes as wide as the frame, taps[1]
   * for chroma planes of half its width. Entry x says which samples of a plane's row are averaged for the output pixel
   * in column x. */
  struct tap *taps[2];
  float *values; /* scratch of 3 * w floats for each thread: a row of R, G and B */
  float *rows;   /* scratch for each thread, which holds one row of a plane */
  size_t row;    /* number of floats that each thread has in `rows` (cpu_pixels_row) */
};

struct compose {
  const struct frame *picture;
  /* pictures in R, G, B, of which each output pixel is a weighted sum; input NULL: it is made from x alone */
  const float *x, *input;
  /* number of pixels in a row of x and input; if the output picture is narrower, it shows the left part of the rows */
  int w;
  float x_scale, input_scale, bias; /* value of an output pixel = x * x_scale + input * input_scale + bias */
  float *values;                    /* scratch of 6 * the picture's width floats for each thread: two rows of pixels */
};

/* Converts a picture to 8-bit codes: code = floor(x * scale + bias), rounded once and clamped to 0..255; NaN becomes
 * 0. */
struct encode {
  const float *x;
  uint8_t *code;
  size_t count;
  float scale, bias;
};

/* SOFTEN_REACH: largest radius of the blur in pixels. SOFTEN_SPARE: number of values after the end of a row that the
 * kernel may overwrite */
enum { SOFTEN_REACH = 48, SOFTEN_SPARE = 64 };
/* The arguments of a kernel that blurs a picture of 8-bit codes, for maps (OP_MAP) made of the blurred picture. */
struct soften {
  const uint8_t *code; /* the picture's 8-bit codes: [h, w, 3] */
  int w, h;
  /* reach: radius of the blur in pixels; volume: sum of the weights */
  int reach, volume;
  const int *weight; /* weight[k]: weight of a pixel at distance k, 0 to `reach`, from the pixel that is computed */
  /* h rows each: along: the 8-bit values blurred along rows; soft: the values of `along` blurred along columns */
  uint16_t *along, *soft;
  size_t row;      /* number of values from one row of along and soft to the next: at least 3 w + SOFTEN_SPARE */
  uint16_t *wide;  /* scratch of wide_row values for each thread: a row with its margins */
  size_t wide_row; /* number of values in a row with a margin on both sides: at least 3 (w + 2 reach) + SOFTEN_SPARE */
};

struct cpu_kernels {
  const char *name;
  void (*gather)(const struct gather *);
  size_t (*attend_packed)(int keys, int dim);
  size_t (*attend_tile)(int dim);
  void (*attend)(const struct attend *);
  /* returns the number of floats that winograd_pack writes */
  size_t (*winograd_packed)(int c_out, int c_in);
  /* stores in `packed` the weights [c_out][3][3][c_in] of a convolution, transformed for Winograd's algorithm */
  void (*winograd_pack)(const float *weight, int c_out, int c_in, float *packed);
  size_t (*winograd_scratch)(int c_in);
  void (*winograd)(const struct conv3x3 *);
  void (*resize)(const struct resize *);
  void (*compose)(const struct compose *);
  void (*encode)(const struct encode *);
  void (*soften)(const struct soften *);
  /* Finds, for each block of the frame `now`, the best match in the frame `last` (one direction of OP_MATCH). now and
   * last are padded copies of the pyramids' details: each pixel's brightness minus the mean around it, at levels 1 to
   * 3. */
  void (*search)(const struct matching *, const struct padded now[4], const struct padded last[4]);
  void (*pad)(const struct padded *, const int32_t *details);
  /* Returns the sum of differences that is left if block (x, y) moves by the vector (vy, vx), as OP_FLOW defines it.
   * All pixels of the block must lie within the picture. */
  int (*cost)(const struct direction *, int x, int y, int vy, int vx);
  /* Copies `in` to `out` and converts it to out_dtype; used for a residual that cannot be added in place. */
  void (*copy)(const void *in, enum dtype in_dtype, void *out, enum dtype out_dtype, size_t count);
  /* adds factor * in to out, element by element */
  void (*add)(const void *in, enum dtype in_dtype, float factor, void *out, enum dtype out_dtype, size_t count);
};

extern const struct cpu_kernels cpu_kernels_base, cpu_kernels_avx2, cpu_kernels_avx512;

/* Declares the kernels for one instruction set. CPU_ISA is its name, which becomes a part of each function's name. */
#ifdef CPU_ISA
#define KERNEL_JOIN(name, isa) name##_##isa
#define KERNEL_EXPAND(name, isa) KERNEL_JOIN(name, isa)
#define KERNEL(name) KERNEL_EXPAND(name, CPU_ISA)
#define KERNEL_TEXT(isa) #isa
#define KERNEL_NAME(isa) KERNEL_TEXT(isa)

void KERNEL(cpu_gather)(const struct gather *g);
void KERNEL(cpu_copy)(const void *in, enum dtype in_dtype, void *out, enum dtype out_dtype, size_t count);
void KERNEL(cpu_add)(const void *in, enum dtype in_dtype, float factor, void *out, enum dtype out_dtype, size_t count);
size_t KERNEL(cpu_attend_packed)(int keys, int dim);
size_t KERNEL(cpu_attend_tile)(int dim);
void KERNEL(cpu_attend)(const struct attend *a);
size_t KERNEL(cpu_winograd_packed)(int c_out, int c_in);
void KERNEL(cpu_winograd_pack)(const float *weight, int c_out, int c_in, float *packed);
size_t KERNEL(cpu_winograd_scratch)(int c_in);
void KERNEL(cpu_winograd)(const struct conv3x3 *op);
void KERNEL(cpu_resize)(const struct resize *r);
void KERNEL(cpu_compose)(const struct compose *c);
void KERNEL(cpu_encode)(const struct encode *e);
void KERNEL(cpu_soften)(const struct soften *s);
void KERNEL(cpu_search)(const struct matching *m, const struct padded now[4], const struct padded last[4]);
void KERNEL(cpu_pad)(const struct padded *p, const int32_t *details);
int KERNEL(cpu_cost)(const struct direction *d, int x, int y, int vy, int vx);
#endif

#endif
