/* The kernel that makes an op's input in one pass: concatenation, norm, activation and upsampling by repeated
 * pixels. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

static int lanes_left(int position, int end) {
  return end - position < LANES ? end - position : LANES;
}

/* --- storing the result: one pixel of the input becomes one pixel, or four by upsampling --- */

struct target {
  void *out;
  enum dtype dtype;
  /* The places in `out` of the pixels that one input pixel becomes: one pixel, or four by upsampling. at: for each of
   * them the index of its first channel. */
  size_t at[4];
  int count;
};

static struct target target_of(const struct gather *g, size_t pixel) {
  size_t c = (size_t)(g->c[0] + g->c[1]), w = (size_t)g->w;
  struct target t = {g->out, g->out_dtype, {pixel * c}, 1};
  if (g->upsample) {
    size_t row = pixel / w, x = pixel % w, first = (row * 4 * w + 2 * x) * c;
    t = (struct target){g->out, g->out_dtype, {first, first + c, first + 2 * w * c, first + (2 * w + 1) * c}, 4};
  }
  return t;
}

INLINE void put(const struct target *t, int channel, int count, vec v) {
  for (int i = 0; i < t->count; i++)
    vec_put(t->out, t->dtype, t->at[i] + (size_t)channel, count, v);
}

/* --- inputs without a norm: activation alone --- */

/* Without upsampling and without a second input, the places of all elements stay: they are taken without regard to
 * pixels, so that a picture of 3 channels fills vectors. Applies the activation to elements `low` to `high` - 1. */
static void plain_elements(const struct gather *g, size_t low, size_t high) {
  const enum dtype in = g->dtype[0], out = g->out_dtype;
  const enum activation act = g->prologue->act;
  const void *x = g->x[0];
  void *y = g->out;
  for (size_t i = low; i < high; i += LANES) {
    int count = high - i < LANES ? (int)(high - i) : LANES;
    vec_put(y, out, i, count, vec_activate(act, vec_get(x, in, i, count)));
  }
}

static void plain_pixel(const struct gather *g, size_t pixel) {
  struct target t = target_of(g, pixel);
  enum activation act = g->prologue->act;
  for (int s = 0, base = 0; s < 2; base += g->c[s], s++)
    for (int c = 0; c < g->c[s]; c += LANES) {
      int count = lanes_left(c, g->c[s]);
      vec v = vec_get(g->x[s], g->dtype[s], pixel * (size_t)g->c[s] + (size_t)c, count);
      put(&t, base + c, count, vec_activate(act, v));
    }
}

/* --- layer norm: statistics over the channels of a pixel --- */

/* The sums of x - middle and of its square over a set of values x; `middle` is a value near their mean. */
struct moments {
  double first, second;
};

/* Computes the moments (sums of x - middle and of its square) of all channels of one pixel, over both inputs. */
static struct moments row_moments(const struct gather *g, size_t pixel, float middle) {
  struct moments m = {0, 0};
  for (int s = 0; s < 2; s++) {
    const void *x = g->x[s];
    const enum dtype dtype = g->dtype[s];
    size_t at = pixel * (size_t)g->c[s];
    int own = g->c[s];
    vec first = {0}, second = {0};
    for (int c = 0; c < own; c += LANES) {
      int count = lanes_left(c, own);
      vec d = vec_first(vec_get(x, dtype, at + (size_t)c, count) - middle, count);
      first += d;
      second += d * d;
    }
    m.first += (double)vec_sum(first);
    m.second += (double)vec_sum(second);
  }
  return m;
}

static vec affine(const float *weights, float otherwise, int c, int count) {
  return weights ? vec_get(weights, DTYPE_F32, (size_t)c, count) : vec_set(otherwise);
}

/* Normalises the channels of one pixel. The mean is computed twice, the second time from the differences to the first
 * mean, so that a small variance around a large mean is as exact as the inputs. */
static void layer_norm_pixel(const struct gather *g, size_t pixel) {
  const struct target t = target_of(g, pixel);
  const enum activation act = g->prologue->act;
  const float *gamma = g->gamma, *beta = g->beta;
  int channels = g->c[0] + g->c[1];
  float mean = (float)(row_moments(g, pixel, 0).first / channels);
  struct moments m = row_moments(g, pixel, mean);
  double rest = m.first / channels, variance = m.second / channels - rest * rest;
  float scale = (float)(1 / sqrt(variance + (double)g->prologue->eps)), shift = (float)-rest * scale;
  for (int s = 0, base = 0; s < 2; base += g->c[s], s++) {
    const void *x = g->x[s];
    const enum dtype dtype = g->dtype[s];
    int own = g->c[s];
    size_t at = pixel * (size_t)own;
    for (int c = 0; c < own; c += LANES) {
      int count = lanes_left(c, own);
      vec v = (vec_get(x, dtype, at + (size_t)c, count) - mean) * scale + shift;
      v = v * affine(gamma, 1, base + c, count) + affine(beta, 0, base + c, count);
      put(&t, base + c, count, vec_activate(act, v));
    }
  }
}

/* --- group norm: each thread computes whole groups, so that no thread waits for another --- */

/* Finds which channels of input s (0: x, 1: x2) are among channels `low` to `high - 1` of the concatenation of x and
 * x2. They are channels *first to *end - 1 of input s. Returns false if there are none. */
static bool part_range(const struct gather *g, int s, int low, int high, int *first, int *end) {
  int base = s ? g->c[0] : 0;
  *first = low > base ? low - base : 0;
  *end = high - base < g->c[s] ? high - base : g->c[s];
  return *first < *end;
}

/* The sums over all pixels of an image, for each channel: of x - middle, and of its square. */
struct channel_sums {
  double *first, *second;
};

INLINE void add_sums(double *to, vec sums, int count) {
  if (count == LANES)
    for (int i = 0; i < LANES; i++)
      to[i] += (double)sums[i];
  else
    for (int i = 0; i < count; i++)
      to[i] += (double)sums[i];
}

/* For each of the channels `low` to `high - 1` of an image, adds up x - middle and its square over all pixels, and adds
 * both sums to `sums`. The arrays `middle` (NULL: zeros) and those of `sums` begin with channel `low`. A few rows at a
 * time are summed in FP32, the rest in double. */
static void channel_moments(const struct gather *g, size_t image, int low, int high, const float *middle,
                            struct channel_sums sums) {
  enum { ROWS = 32 };
  size_t pixels = (size_t)g->h * (size_t)g->w, first_pixel = image * pixels;
  for (int s = 0; s < 2; s++) {
    int begin, end, base = s ? g->c[0] : 0;
    if (!part_range(g, s, low, high, &begin, &end))
      continue;
    const void *x = g->x[s];
    const enum dtype dtype = g->dtype[s];
    size_t pitch = (size_t)g->c[s];
    for (size_t p = 0; p < pixels; p += ROWS)
      for (int c = begin; c < end; c += LANES) {
        int count = lanes_left(c, end);
        size_t rows = pixels - p < ROWS ? pixels - p : ROWS;
        vec origin = middle ? vec_get(middle, DTYPE_F32, (size_t)(base + c - low), count) : vec_set(0);
        vec first = {0}, second = {0};
        for (size_t r = 0; r < rows; r++) {
          vec d = vec_get(x, dtype, (first_pixel + p + r) * pitch + (size_t)c, count) - origin;
          first += d;
          second += d * d;
        }
        add_sums(sums.first + (base + c - low), first, count);
        add_sums(sums.second + (base + c - low), second, count);
      }
  }
}

static struct moments group_mean(struct channel_sums sums, size_t start, int width, double elements) {
  struct moments m = {0, 0};
  for (int c = 0; c < width; c++) {
    m.first += sums.first[start + (size_t)c] / elements;
    m.second += sums.second[start + (size_t)c] / elements;
  }
  return m;
}

/* Computes scale and shift for channels `low` to `high - 1` of an image, so that y = (x - mean) * scale + shift. A
 * second pass computes the mean again from the differences to the first mean, which keeps small variances exact. */
static void group_statistics(const struct gather *g, size_t image, int low, int high, int width) {
  size_t start = image * (size_t)(g->c[0] + g->c[1]) + (size_t)low, channels = (size_t)(high - low);
  struct channel_sums sums = {g->totals + 2 * start, g->totals + 2 * start + channels};
  double elements = (double)g->h * g->w * width;
  float *mean = g->mean + start, *scale = g->scale + start, *shift = g->shift + start;
  memset(sums.first, 0, 2 * channels * sizeof *sums.first);
  channel_moments(g, image, low, high, NULL, sums);
  for (size_t c = 0; c < channels; c += (size_t)width) {
    float of_group = (float)group_mean(sums, c, width, elements).first;
    for (int i = 0; i < width; i++)
      mean[c + (size_t)i] = of_group;
  }
  memset(sums.first, 0, 2 * channels * sizeof *sums.first);
  channel_moments(g, image, low, high, mean, sums);
  for (size_t group = 0; group < channels; group += (size_t)width) {
    struct moments m = group_mean(sums, group, width, elements);
    double of_group = 1 / sqrt(m.second - m.first * m.first + (double)g->prologue->eps);
    for (size_t c = group; c < group + (size_t)width; c++) {
      double factor = of_group * (g->gamma ? (double)g->gamma[(size_t)low + c] : 1);
      scale[c] = (float)factor;
      shift[c] = (float)((g->beta ? (double)g->beta[(size_t)low + c] : 0) - m.first * factor);
    }
  }
}

static void group_apply(const struct gather *g, size_t image, int low, int high) {
  size_t pixels = (size_t)g->h * (size_t)g->w, statistics = image * (size_t)(g->c[0] + g->c[1]);
  const float *mean = g->mean + statistics, *scale = g->scale + statistics, *shift = g->shift + statistics;
  const enum activation act = g->prologue->act;
  for (size_t pixel = image * pixels; pixel < (image + 1) * pixels; pixel++) {
    const struct target t = target_of(g, pixel);
    for (int s = 0; s < 2; s++) {
      int begin, end, base = s ? g->c[0] : 0;
      part_range(g, s, low, high, &begin, &end);
      const void *x = g->x[s];
      const enum dtype dtype = g->dtype[s];
      size_t first = pixel * (size_t)g->c[s];
      for (int c = begin; c < end; c += LANES) {
        int count = lanes_left(c, end);
        size_t at = (size_t)(base + c);
        vec v = (vec_get(x, dtype, first + (size_t)c, count) - vec_get(mean, DTYPE_F32, at, count)) *
                vec_get(scale, DTYPE_F32, at, count);
        put(&t, base + c, count, vec_activate(act, v + vec_get(shift, DTYPE_F32, at, count)));
      }
    }
  }
}

static void group_norm(const struct gather *g) {
  int groups = g->prologue->groups, width = (g->c[0] + g->c[1]) / groups;
  size_t low, high;
  thread_share((size_t)groups, &low, &high);
  for (size_t image = 0; low < high && image < (size_t)g->n; image++) {
    group_statistics(g, image, (int)low * width, (int)high * width, width);
    group_apply(g, image, (int)low * width, (int)high * width);
  }
}

void KERNEL(cpu_gather)(const struct gather *g) {
#pragma omp parallel
  {
    size_t low, high;
    thread_share((size_t)g->n * (size_t)g->h * (size_t)g->w, &low, &high);
    if (g->prologue->norm == NORM_GROUP)
      group_norm(g);
    else if (g->prologue->norm == NORM_NONE && !g->upsample && !g->c[1])
      plain_elements(g, low * (size_t)g->c[0], high * (size_t)g->c[0]);
    else
      for (size_t pixel = low; pixel < high; pixel++)
        (g->prologue->norm == NORM_LAYER ? layer_norm_pixel : plain_pixel)(g, pixel);
  }
}

void KERNEL(cpu_copy)(const void *in, enum dtype in_dtype, void *out, enum dtype out_dtype, size_t count) {
#pragma omp parallel
  {
    size_t low, high;
    thread_share((count + LANES - 1) / LANES, &low, &high);
    for (size_t i = low * LANES; i < high * LANES && i < count; i += LANES) {
      int lanes = count - i < LANES ? (int)(count - i) : LANES;
      vec_put(out, out_dtype, i, lanes, vec_get(in, in_dtype, i, lanes));
    }
  }
}

void KERNEL(cpu_add)(const void *in, enum dtype in_dtype, float factor, void *out, enum dtype out_dtype, size_t count) {
#pragma omp parallel
  {
    size_t low, high;
    thread_share((count + LANES - 1) / LANES, &low, &high);
    for (size_t i = low * LANES; i < high * LANES && i < count; i += LANES) {
      int lanes = count - i < LANES ? (int)(count - i) : LANES;
      vec sum = vec_get(out, out_dtype, i, lanes) + vec_set(factor) * vec_get(in, in_dtype, i, lanes);
      vec_put(out, out_dtype, i, lanes, sum);
    }
  }
}
