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
    vec first = {0}, second = {0};
    for (int c = 0; c < g->c[s]; c += LANES) {
      int count = lanes_left(c, g->c[s]);
      vec d = vec_get(g->x[s], g->dtype[s], pixel * (size_t)g->c[s] + (size_t)c, count) - middle;
      for (int i = count; i < LANES; i++)
        d[i] = 0;
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
  struct target t = target_of(g, pixel);
  int channels = g->c[0] + g->c[1];
  float mean = (float)(row_moments(g, pixel, 0).first / channels);
  struct moments m = row_moments(g, pixel, mean);
  double rest = m.first / channels, variance = m.second / channels - rest * rest;
  float scale = (float)(1 / sqrt(variance + (double)g->prologue->eps)), shift = (float)-rest * scale;
  for (int s = 0, base = 0; s < 2; base += g->c[s], s++)
    for (int c = 0; c < g->c[s]; c += LANES) {
      int count = lanes_left(c, g->c[s]);
      vec v = vec_get(g->x[s], g->dtype[s], pixel * (size_t)g->c[s] + (size_t)c, count);
      v = ((v - mean) * scale + shift) * affine(g->gamma, 1, base + c, count) + affine(g->beta, 0, base + c, count);
      put(&t, base + c, count, vec_activate(g->prologue->act, v));
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

/* For each of the channels `low` to `high - 1` of an image, adds up x - middle and its square over all pixels, and adds
 * both sums to `totals`. The arrays `middle` (NULL: zeros) and `totals` begin with channel `low`. A few rows at a time
 * are summed in FP32, the rest in double. */
static void channel_moments(const struct gather *g, size_t image, int low, int high, const float *middle,
                            struct moments *totals) {
  enum { ROWS = 32 };
  size_t pixels = (size_t)g->h * (size_t)g->w, first_pixel = image * pixels;
  for (int s = 0; s < 2; s++) {
    int begin, end, base = s ? g->c[0] : 0;
    if (!part_range(g, s, low, high, &begin, &end))
      continue;
    for (size_t p = 0; p < pixels; p += ROWS)
      for (int c = begin; c < end; c += LANES) {
        int count = lanes_left(c, end);
        size_t rows = pixels - p < ROWS ? pixels - p : ROWS;
        vec origin = middle ? vec_get(middle, DTYPE_F32, (size_t)(base + c - low), count) : vec_set(0);
        vec first = {0}, second = {0};
        for (size_t r = 0; r < rows; r++) {
          vec d = vec_get(g->x[s], g->dtype[s], (first_pixel + p + r) * (size_t)g->c[s] + (size_t)c, count) - origin;
          first += d;
          second += d * d;
        }
        for (int i = 0; i < count; i++) {
          totals[base + c - low + i].first += (double)first[i];
          totals[base + c - low + i].second += (double)second[i];
        }
      }
  }
}

static struct moments group_mean(const struct moments *totals, int width, double elements) {
  struct moments m = {0, 0};
  for (int c = 0; c < width; c++) {
    m.first += totals[c].first / elements;
    m.second += totals[c].second / elements;
  }
  return m;
}

/* Computes scale and shift for channels `low` to `high - 1` of an image, so that y = (x - mean) * scale + shift. A
 * second pass computes the mean again from the differences to the first mean, which keeps small variances exact. */
static void group_statistics(const struct gather *g, size_t image, int low, int high, int width) {
  size_t start = image * (size_t)(g->c[0] + g->c[1]) + (size_t)low, channels = (size_t)(high - low);
  struct moments *totals = (struct moments *)g->totals + start;
  double elements = (double)g->h * g->w * width;
  float *mean = g->mean + start, *scale = g->scale + start, *shift = g->shift + start;
  memset(totals, 0, channels * sizeof *totals);
  channel_moments(g, image, low, high, NULL, totals);
  for (size_t c = 0; c < channels; c++)
    mean[c] = (float)group_mean(totals + c / (size_t)width * (size_t)width, width, elements).first;
  memset(totals, 0, channels * sizeof *totals);
  channel_moments(g, image, low, high, mean, totals);
  for (size_t c = 0; c < channels; c++) {
    struct moments m = group_mean(totals + c / (size_t)width * (size_t)width, width, elements);
    double factor = 1 / sqrt(m.second - m.first * m.first + (double)g->prologue->eps);
    factor *= g->gamma ? (double)g->gamma[(size_t)low + c] : 1;
    scale[c] = (float)factor;
    shift[c] = (float)((g->beta ? (double)g->beta[(size_t)low + c] : 0) - m.first * factor);
  }
}

static void group_apply(const struct gather *g, size_t image, int low, int high) {
  size_t pixels = (size_t)g->h * (size_t)g->w, statistics = image * (size_t)(g->c[0] + g->c[1]);
  enum activation act = g->prologue->act;
  for (size_t pixel = image * pixels; pixel < (image + 1) * pixels; pixel++) {
    struct target t = target_of(g, pixel);
    for (int s = 0; s < 2; s++) {
      int begin, end, base = s ? g->c[0] : 0;
      part_range(g, s, low, high, &begin, &end);
      for (int c = begin; c < end; c += LANES) {
        int count = lanes_left(c, end);
        size_t at = statistics + (size_t)(base + c);
        vec v = vec_get(g->x[s], g->dtype[s], pixel * (size_t)g->c[s] + (size_t)c, count);
        v = (v - vec_get(g->mean, DTYPE_F32, at, count)) * vec_get(g->scale, DTYPE_F32, at, count);
        put(&t, base + c, count, vec_activate(act, v + vec_get(g->shift, DTYPE_F32, at, count)));
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
