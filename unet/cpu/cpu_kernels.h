/* The vectorised kernels of the CPU device: structs with a kernel's arguments, and one table of functions (struct
 * cpu_kernels) for each instruction set. Kernels divide their work among OpenMP's threads. Scratch is memory of the
 * caller's that a kernel overwrites. */
#ifndef UNET_CPU_CPU_KERNELS_H
#define UNET_CPU_CPU_KERNELS_H

#include "unet/cpu/cpu_motion.h"
#include "unet/cpu/cpu_pixels.h"
#include "unet/plan/run.h"

/* out = upsample(prologue(x ++ x2)): the input of a convolution or matrix product that cannot read x itself. */
struct gather {
  const void *x[2];
  enum dtype dtype[2]; /* of x and x2: FP32 or bfloat16, as out_dtype may be */
  int c[2];            /* channels of x and x2; c[1] is 0 without x2 */
  int n, h, w;
  bool upsample;
  const struct prologue *prologue;
  const float *gamma, *beta; /* NULL: gamma is 1, beta is 0 */
  double *totals;            /* scratch of 2 * n * (c[0] + c[1]); used by group norm only */
  /* scratch of n * (c[0] + c[1]) each; used by group norm only */
  float *mean, *scale, *shift;
  void *out; /* [n, h << upsample, w << upsample, c[0] + c[1]] */
  enum dtype out_dtype;
};

/* The arguments of OP_ATTENTION (op_layers.h). A pitch is the number of elements from one token to the next. The second
 * segment has keys2 tokens for each n, and n2 elements from one n to the next; keys2 0: there is none. */
struct attend {
  const void *q, *k, *v, *k2, *v2;
  void *y;
  enum dtype q_dtype, k_dtype, v_dtype, y_dtype, k2_dtype, v2_dtype;
  int q_pitch, k_pitch, v_pitch, y_pitch, k2_pitch, v2_pitch;
  int n, k_n; /* k_n is 1 or n */
  int heads, dim, queries, keys, keys2;
  size_t n2;
  float scale;
  bool causal;
  float *packed; /* scratch: k_n * heads * attend_packed floats */
  float *tiles;  /* scratch: attend_tile floats for each thread */
};

/* y = act(conv3x3(upsample(x)) + bias + residual), stride 1, padding 1. */
struct winograd {
  const void *x; /* [n, h, w, c] */
  enum dtype x_dtype;
  int n, h, w, c;
  bool upsample;
  const float *weight;  /* packed by winograd_pack */
  const float *bias;    /* [c_out]; NULL: none */
  const void *residual; /* shape of y; may be y itself; NULL: none */
  enum dtype residual_dtype;
  enum activation act;
  void *y; /* [n, h << upsample, w << upsample, c_out] */
  enum dtype y_dtype;
  int c_out;
  float *scratch; /* winograd_scratch floats for each thread */
};

/* The weighted mean of samples first .. first + count - 1 of a row. All samples but the first and the last have
 * middle_weight. */
struct tap {
  int first, count;
  float first_weight, middle_weight, last_weight;
};

struct resize {
  const struct frame *frame;
  struct geometry geometry;
  float scale, bias;
  int w, h; /* size of out */
  float *out;
  struct tap *taps[2]; /* scratch, w each: which samples each pixel averages, in channels of full and of half width */
  float *values;       /* scratch: 3 * w for each thread */
  float *rows;         /* scratch: cpu_pixels_row for each thread */
  size_t row;          /* equals cpu_pixels_row */
};

struct compose {
  const struct frame *picture;
  /* rows of w pixels of R, G, B, one after another; input NULL: the result is x alone */
  const float *x, *input;
  int w; /* pixels in a row of x and input; a narrower picture shows the left part of the row */
  float x_scale, input_scale, bias; /* value = x * x_scale + input * input_scale + bias */
  float *values;                    /* scratch: 6 * the picture's width for each thread */
};

/* code = floor(x * scale + bias) clamped to 0..255, with one rounding; NaN becomes 0. */
struct encode {
  const float *x;
  uint8_t *code;
  size_t count;
  float scale, bias;
};

/* Softens a picture of 8-bit values: the value `soft` of OP_MAP. */
enum { SOFTEN_REACH = 48, SOFTEN_SPARE = 64 }; /* values of padding after a row */
struct soften {
  const uint8_t *code; /* [h, w, 3] */
  int w, h;
  /* radius in pixels, and sum of the weights */
  int reach, volume;
  const int *weight; /* weights of pixels at distances 0 to reach */
  /* [h] rows: the 8-bit values softened along rows, and these softened along columns */
  uint16_t *along, *soft;
  size_t row;      /* values from one row to the next: 3 w + SOFTEN_SPARE or more */
  uint16_t *wide;  /* scratch: wide_row for each thread */
  size_t wide_row; /* 3 (w + 2 reach) + SOFTEN_SPARE or more */
};

struct cpu_kernels {
  const char *name;
  void (*gather)(const struct gather *);
  size_t (*attend_packed)(int keys, int dim);
  size_t (*attend_tile)(int dim);
  void (*attend)(const struct attend *);
  /* returns the number of floats that winograd_pack writes */
  size_t (*winograd_packed)(int c_out, int c_in);
  void (*winograd_pack)(const float *weight, int c_out, int c_in, float *packed); /* weight: [c_out][3][3][c_in] */
  size_t (*winograd_scratch)(int c_in);
  void (*winograd)(const struct winograd *);
  void (*resize)(const struct resize *);
  void (*compose)(const struct compose *);
  void (*encode)(const struct encode *);
  void (*soften)(const struct soften *);
  /* OP_MATCH in one direction, and its copies of details: index 1 to 3 is the level. */
  void (*search)(const struct matching *, const struct padded now[4], const struct padded last[4]);
  void (*pad)(const struct padded *, const int32_t *details);
  /* OP_FLOW: the differences around a block that moves by a vector, where all pixels are within the picture */
  int (*cost)(const struct direction *, int x, int y, int vy, int vx);
  /* out = in, converted to out_dtype: for a residual that cannot be added in place. */
  void (*copy)(const void *in, enum dtype in_dtype, void *out, enum dtype out_dtype, size_t count);
  /* out += factor * in. */
  void (*add)(const void *in, enum dtype in_dtype, float factor, void *out, enum dtype out_dtype, size_t count);
};

extern const struct cpu_kernels cpu_kernels_base, cpu_kernels_avx2, cpu_kernels_avx512;

/* Functions of the kernel files for one instruction set, whose name is CPU_ISA. */
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
void KERNEL(cpu_winograd)(const struct winograd *op);
void KERNEL(cpu_resize)(const struct resize *r);
void KERNEL(cpu_compose)(const struct compose *c);
void KERNEL(cpu_encode)(const struct encode *e);
void KERNEL(cpu_soften)(const struct soften *s);
void KERNEL(cpu_search)(const struct matching *m, const struct padded now[4], const struct padded last[4]);
void KERNEL(cpu_pad)(const struct padded *p, const int32_t *details);
int KERNEL(cpu_cost)(const struct direction *d, int x, int y, int vy, int vx);
#endif

#endif
