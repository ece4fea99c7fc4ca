/* Fast implementation of OP_PIXELS_IN and OP_PIXELS_OUT, row by row. On input, whole rows of a plane are first added up
 * as they lie in memory, with all channels of the plane together; then each channel is averaged along the row. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_threads.h"

#include <math.h>
#include <string.h>

/* Clamps x to 0..1; NaN becomes 0. */
static float clamp_unit(float x) {
  return x > 0 ? (x < 1 ? x : 1) : 0;
}

/* --- from a frame to the network's input (OP_PIXELS_IN) --- */

/* Returns the samples, in a row of `length`, that a span covers at least partly, with their weights. Where the span
 * lies outside the row, the sample at the row's end gets the weight. */
static struct tap tap_of(struct span s, int length) {
  double size = s.high - s.low;
  int first = (int)fmin(fmax(floor(s.low), 0), length - 1), last = (int)fmin(fmax(ceil(s.high) - 1, 0), length - 1);
  struct tap t = {.first = first, .count = last - first + 1, .first_weight = 1};
  if (t.count > 1) {
    t.first_weight = (float)((first + 1 - s.low) / size);
    t.middle_weight = (float)(1 / size);
    t.last_weight = (float)((s.high - last) / size);
  }
  return t;
}

static float tap_weight(const struct tap *t, int i) {
  return i == 0 ? t->first_weight : i == t->count - 1 ? t->last_weight : t->middle_weight;
}

static void fill_taps(const struct resize *r) {
  const struct geometry *g = &r->geometry;
  for (int half = 0; half < 2; half++) {
    int length = half ? (r->frame->width + 1) / 2 : r->frame->width;
    for (int x = g->dest_x; x < g->dest_x + g->dest_w; x++)
      r->taps[half][x] =
          tap_of(pixel_span(x, (double)g->source_x, (double)g->source_w, g->dest_x, g->dest_w, half), length);
  }
}

/* Adds each sample of a row, times `weight`, to `sum`. fresh: true: `sum` is overwritten, because it has no values
 * yet. */
static void add_bytes(float *restrict sum, const uint8_t *restrict row, size_t count, float weight, bool fresh) {
  if (fresh)
    for (size_t i = 0; i < count; i++)
      sum[i] = weight * (float)row[i];
  else
    for (size_t i = 0; i < count; i++)
      sum[i] += weight * (float)row[i];
}

static void add_words(float *restrict sum, const uint8_t *restrict row, size_t count, float weight, bool fresh) {
  for (size_t i = 0; i < count; i++) {
    float value = weight * (float)((row[2 * i] | row[2 * i + 1] << 8) >> 6);
    sum[i] = fresh ? value : sum[i] + value;
  }
}

/* Where a channel's samples are in a row of its plane: index of the first sample, and distance from one to the next,
 * both counted in samples. */
struct track {
  const struct tap *taps;
  size_t first, step;
};

static struct track track_of(const struct resize *r, const struct channel *c) {
  size_t size = c->ten_bits ? 2 : 1;
  return (struct track){r->taps[c->half_x], (size_t)(c->data - r->frame->plane[c->plane]) / size,
                        (size_t)c->stride / size};
}

/* Stores in `sum` the weighted sum of those rows of the frame's plane that output row y covers. Only the columns from
 * which the output's pixels are computed are summed. */
static void sum_rows(const struct resize *r, const struct channel *c, int y, float *sum) {
  const struct geometry *g = &r->geometry;
  struct track track = track_of(r, c);
  struct tap rows =
      tap_of(pixel_span(y, (double)g->source_y, (double)g->source_h, g->dest_y, g->dest_h, c->half_y), c->height);
  const struct tap *left = &track.taps[g->dest_x], *right = &track.taps[g->dest_x + g->dest_w - 1];
  size_t low = (size_t)left->first * track.step, high = (size_t)(right->first + right->count) * track.step;
  for (int i = 0; i < rows.count; i++) {
    const uint8_t *row = r->frame->plane[c->plane] + (ptrdiff_t)(rows.first + i) * c->pitch;
    if (c->ten_bits)
      add_words(sum + low, row + 2 * low, high - low, tap_weight(&rows, i), i == 0);
    else
      add_bytes(sum + low, row + low, high - low, tap_weight(&rows, i), i == 0);
  }
}

/* Returns true if each column of the output is one column of the frame: then every tap has one sample. */
static bool keeps_columns(const struct resize *r) {
  const struct geometry *g = &r->geometry;
  return g->source_w == (float)g->dest_w && g->source_x >= 0 && g->source_x == floorf(g->source_x) &&
         g->source_x + g->source_w <= (float)r->frame->width;
}

static void average_row(const struct resize *r, const struct channel *c, const float *sum, float *values) {
  const struct geometry *g = &r->geometry;
  struct track track = track_of(r, c);
  if (!c->half_x && keeps_columns(r)) {
    const float *at = sum + (size_t)track.taps[g->dest_x].first * track.step + track.first;
    for (int x = 0; x < g->dest_w; x++)
      values[x] = at[(size_t)x * track.step];
    return;
  }
  for (int x = 0; x < g->dest_w; x++) {
    const struct tap *t = &track.taps[g->dest_x + x];
    const float *at = sum + (size_t)t->first * track.step + track.first;
    float value = t->first_weight * at[0];
    for (int i = 1; i < t->count - 1; i++)
      value += t->middle_weight * at[(size_t)i * track.step];
    if (t->count > 1)
      value += t->last_weight * at[(size_t)(t->count - 1) * track.step];
    values[x] = value;
  }
}

/* Converts a row of the three channels' samples to R, G, B, scales them, and stores them in the picture `out`. */
static void color_row(const struct resize *r, float *const values[3], float *out) {
  struct coding k = frame_coding(r->frame);
  bool rgb = frame_is_rgb(r->frame);
  float zero[3], unit[3];
  for (int i = 0; i < 3; i++)
    zero[i] = (float)k.zero[i], unit[i] = (float)(1 / k.range[i]);
  float r_cr = (float)k.r_cr, g_cb = (float)k.g_cb, g_cr = (float)k.g_cr, b_cb = (float)k.b_cb;
  for (int x = 0; x < r->geometry.dest_w; x++) {
    float a = (values[0][x] - zero[0]) * unit[0], b = (values[1][x] - zero[1]) * unit[1],
          c = (values[2][x] - zero[2]) * unit[2];
    float red = rgb ? a : a + r_cr * c, green = rgb ? b : a + g_cb * b + g_cr * c, blue = rgb ? c : a + b_cb * b;
    out[3 * x] = clamp_unit(red) * r->scale + r->bias;
    out[3 * x + 1] = clamp_unit(green) * r->scale + r->bias;
    out[3 * x + 2] = clamp_unit(blue) * r->scale + r->bias;
  }
}

static void resize_row(const struct resize *r, int y) {
  const struct geometry *g = &r->geometry;
  size_t thread = (size_t)thread_number();
  float *out = r->out + (size_t)y * (size_t)r->w * 3, *sum = r->rows + thread * r->row;
  float *first = r->values + thread * 3 * (size_t)r->w, *values[3] = {first, first + r->w, first + 2 * r->w};
  bool inside = y >= g->dest_y && y < g->dest_y + g->dest_h;
  for (int i = 0; i < 3 * r->w; i++)
    if (!inside || i < 3 * g->dest_x || i >= 3 * (g->dest_x + g->dest_w))
      out[i] = r->bias;
  if (!inside)
    return;
  int plane = -1;
  for (int i = 0; i < 3; i++) {
    struct channel c = frame_channel(r->frame, i);
    /* Channels that are interleaved in one plane are added up together, with the first of them; the others use the same
     * sums. YUYV is an exception: its chroma needs samples beyond those that luma needs, so each channel is added up
     * anew. */
    if (c.plane != plane || r->frame->format == PIXEL_YUYV)
      sum_rows(r, &c, y, sum);
    plane = c.plane;
    average_row(r, &c, sum, values[i]);
  }
  color_row(r, values, out + 3 * g->dest_x);
}

void KERNEL(cpu_resize)(const struct resize *r) {
  fill_taps(r);
#pragma omp parallel for
  for (int y = 0; y < r->h; y++)
    resize_row(r, y);
}

/* --- from the network's output to a picture (OP_PIXELS_OUT) --- */

/* Computes row y of the output picture as R, G, B in 0..1. */
static void value_row(const struct compose *c, int y, float *values) {
  size_t count = 3 * (size_t)c->picture->width, from = 3 * (size_t)c->w * (size_t)y;
  const float *x = c->x + from, *input = c->input + from;
  if (c->input)
    for (size_t i = 0; i < count; i++)
      values[i] = clamp_unit(x[i] * c->x_scale + input[i] * c->input_scale + c->bias);
  else
    for (size_t i = 0; i < count; i++)
      values[i] = clamp_unit(x[i] * c->x_scale + c->bias);
}

static void write_rgb_row(const struct frame *f, const float *values, int y) {
  uint8_t *row = (uint8_t *)f->plane[0] + (ptrdiff_t)y * f->pitch[0];
  int red = f->format == PIXEL_RGBA ? 0 : 2;
  for (int x = 0; x < f->width; x++) {
    row[4 * x + red] = (uint8_t)(values[3 * x] * 255 + 0.5f);
    row[4 * x + 1] = (uint8_t)(values[3 * x + 1] * 255 + 0.5f);
    row[4 * x + 2 - red] = (uint8_t)(values[3 * x + 2] * 255 + 0.5f);
    row[4 * x + 3] = 255;
  }
}

static void write_luma_row(const struct frame *f, const struct coding *k, const float *values, int y) {
  struct channel c = frame_channel(f, 0);
  float r = (float)(k->r * k->range[0]), g = (float)(k->g * k->range[0]), b = (float)(k->b * k->range[0]);
  float zero = (float)k->zero[0] + 0.5f;
  for (int x = 0; x < f->width; x++)
    channel_store(&c, x, y, (int)(r * values[3 * x] + g * values[3 * x + 1] + b * values[3 * x + 2] + zero));
  /* The second luma sample of the row's last pair has no pixel if the width is odd; it is filled here. */
  if (f->format == PIXEL_YUYV && f->width % 2)
    channel_store(&c, f->width, y, channel_sample(&c, f->width - 1, y));
}

/* Writes row y of both chroma channels: each sample is the mean of the pixels that share it, from one or two rows. */
static void write_chroma_row(const struct frame *f, const struct coding *k, const float *const values[], int rows,
                             int y) {
  struct channel cb = frame_channel(f, 1), cr = frame_channel(f, 2);
  float blue = (float)(k->range[1] / k->b_cb), red = (float)(k->range[2] / k->r_cr), zero = (float)k->zero[1] + 0.5f;
  float r = (float)k->r, g = (float)k->g, b = (float)k->b;
  for (int x = 0; x < cb.width; x++) {
    int columns = 2 * x + 1 < f->width ? 2 : 1;
    float sum[3] = {0}, part = 1 / (float)(rows * columns);
    for (int j = 0; j < rows; j++)
      for (int i = 0; i < 3 * columns; i++)
        sum[i % 3] += values[j][6 * x + i] * part;
    float luma = r * sum[0] + g * sum[1] + b * sum[2];
    channel_store(&cb, x, y, (int)((sum[2] - luma) * blue + zero));
    channel_store(&cr, x, y, (int)((sum[0] - luma) * red + zero));
  }
}

static void compose_rows(const struct compose *c, int pair) {
  const struct frame *f = c->picture;
  struct coding k = frame_coding(f);
  float *first = c->values + (size_t)thread_number() * 6 * (size_t)f->width;
  const float *const values[2] = {first, first + 3 * f->width};
  int y = 2 * pair, rows = y + 1 < f->height ? 2 : 1;
  for (int j = 0; j < rows; j++) {
    value_row(c, y + j, first + j * 3 * f->width);
    if (frame_is_rgb(f))
      write_rgb_row(f, values[j], y + j);
    else
      write_luma_row(f, &k, values[j], y + j);
    if (f->format == PIXEL_YUYV)
      write_chroma_row(f, &k, &values[j], 1, y + j);
  }
  if (!frame_is_rgb(f) && f->format != PIXEL_YUYV)
    write_chroma_row(f, &k, values, rows, pair);
}

void KERNEL(cpu_compose)(const struct compose *c) {
#pragma omp parallel for
  for (int pair = 0; pair < (c->picture->height + 1) / 2; pair++)
    compose_rows(c, pair);
}
