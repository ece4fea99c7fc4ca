/* The definition of OP_PIXELS_IN and OP_PIXELS_OUT: frames of any pixel format to R, G, B and back, one pixel at a
 * time. */
#include "unet/cpu/cpu_pixels.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_threads.h"

#include <math.h>
#include <string.h>

/* --- sizes of a frame's rows --- */

size_t cpu_pixels_row(const struct frame *frame) {
  int longest = 0;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    int bytes = frame_row_bytes(frame->format, i, frame->width);
    longest = bytes > longest ? bytes : longest;
  }
  return (size_t)(frame->format == PIXEL_P010 ? longest / 2 : longest);
}

struct span pixel_span(int position, double source, double source_size, int dest, int dest_size, bool half) {
  double step = source_size / dest_size, centre = source + (position - dest + 0.5) * step;
  if (half)
    step /= 2, centre /= 2;
  double size = step > 1 ? step : 1;
  return (struct span){centre - size / 2, centre + size / 2};
}

/* --- from a frame to the network's input (OP_PIXELS_IN) --- */

static int clamp(int x, int low, int high) {
  return x < low ? low : x > high ? high : x;
}

/* Returns which fraction of the span, 0 to 1, lies in pixel (or chroma sample) number i. That pixel reaches from i to i
 * + 1 in its row or column. */
static double coverage(struct span s, double i) {
  double low = fmax(s.low, i), high = fmin(s.high, i + 1);
  return high > low ? (high - low) / (s.high - s.low) : 0;
}

static double channel_mean(const struct channel *c, struct span x, struct span y) {
  double sum = 0;
  for (double j = floor(y.low); j < y.high; j++)
    for (double i = floor(x.low); i < x.high; i++) {
      int column = (int)fmin(fmax(i, 0), c->width - 1), row = (int)fmin(fmax(j, 0), c->height - 1);
      sum += coverage(x, i) * coverage(y, j) * channel_sample(c, column, row);
    }
  return sum;
}

static void decode(const struct coding *k, bool rgb, const double v[3], double out[3]) {
  out[0] = rgb ? v[0] : v[0] + k->r_cr * v[2];
  out[1] = rgb ? v[1] : v[0] + k->g_cb * v[1] + k->g_cr * v[2];
  out[2] = rgb ? v[2] : v[0] + k->b_cb * v[1];
  for (int i = 0; i < 3; i++)
    out[i] = fmin(fmax(out[i], 0), 1);
}

static void frame_pixel(const struct frame *frame, const struct geometry *g, int x, int y, double rgb[3]) {
  struct coding coding = frame_coding(frame);
  double value[3];
  for (int i = 0; i < 3; i++) {
    struct channel c = frame_channel(frame, i);
    struct span sx = pixel_span(x, (double)g->source_x, (double)g->source_w, g->dest_x, g->dest_w, c.half_x);
    struct span sy = pixel_span(y, (double)g->source_y, (double)g->source_h, g->dest_y, g->dest_h, c.half_y);
    value[i] = (channel_mean(&c, sx, sy) - coding.zero[i]) / coding.range[i];
  }
  decode(&coding, frame_is_rgb(frame), value, rgb);
}

/* Fills `out`, one picture of the network's input (op->y), from one frame. */
static void read_frame(const struct op_pixels_in *op, const struct frame *frame, const struct geometry *g, float *out) {
#pragma omp parallel for
  for (int y = 0; y < op->y.h; y++)
    for (int x = 0; x < op->y.w; x++) {
      double rgb[3] = {0};
      if (x >= g->dest_x && x < g->dest_x + g->dest_w && y >= g->dest_y && y < g->dest_y + g->dest_h)
        frame_pixel(frame, g, x, y, rgb);
      for (int c = 0; c < 3; c++)
        out[((size_t)y * (size_t)op->y.w + (size_t)x) * 3 + (size_t)c] =
            (float)(rgb[c] * (double)op->scale + (double)op->bias);
    }
}

static void pixels_in_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_pixels_in *op = &node->op->pixels_in;
  size_t count = tensor_elements(op->y) / (size_t)op->y.n;
  for (int i = 0; i < op->y.n; i++) {
    int frame = op->source * op->y.n + i;
    read_frame(op, &run->frames[frame], &run->params->geometry[frame],
               cpu_f32(run->program, op->y) + (size_t)i * count);
  }
}

/* --- the input's fine detail (OP_DETAIL) --- */

static int detail_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_detail *op = &node->op->detail;
  (void)err;
  cpu_reserve(program, (size_t)program->device->threads * (size_t)op->x.w * (size_t)op->x.c * sizeof(float));
  return 0;
}

/* Adds the input's fine detail to row y of the picture. picture: the whole input picture; sums: room for a row; out:
 * the row. */
static void add_detail(const struct op_detail *op, const float *picture, int y, float detail, float *sums, float *out) {
  int c = op->x.c, count = op->x.w * c;
  const float *x = picture + (size_t)y * (size_t)count;
  for (int i = 0; i < count; i++)
    sums[i] = 0;
  for (int j = -DETAIL_RADIUS; j <= DETAIL_RADIUS; j++) {
    const float *row = picture + (size_t)clamp(y + j, 0, op->x.h - 1) * (size_t)count;
    for (int i = 0; i < count; i++)
      sums[i] += (float)DETAIL_WEIGHT(j) * row[i];
  }
  for (int i = 0; i < count; i++) {
    float low = 0;
    for (int j = -DETAIL_RADIUS; j <= DETAIL_RADIUS; j++)
      low += (float)DETAIL_WEIGHT(j) * sums[clamp(i / c + j, 0, op->x.w - 1) * c + i % c];
    out[i] += detail * (x[i] - low / DETAIL_SUM);
  }
}

static void detail_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_detail *op = &node->op->detail;
  const float *x = cpu_f32(run->program, op->x);
  float *y = cpu_f32(run->program, op->y), *scratch = run->program->scratch;
  size_t row = (size_t)op->x.w * (size_t)op->x.c;
  int h = op->x.h, rows = run->params->detail != 0 ? op->x.n * h : 0;
#pragma omp parallel for
  for (int i = 0; i < rows; i++)
    add_detail(op, x + (size_t)(i / h * h) * row, i % h, run->params->detail, scratch + (size_t)thread_number() * row,
               y + (size_t)i * row);
}

/* --- from the network's output to a picture (OP_PIXELS_OUT) --- */

struct output {
  const struct op_pixels_out *op;
  /* x: the generated picture; input: the frame's picture, or NULL if the output does not show the frame; map: the
   * control's map that is shown, or NULL */
  const float *x, *input, *map;
  double mix;
  bool both;
  int w, h; /* width and height of the picture that is written */
};

static void picture_rgb(const struct output *p, int x, int y, double rgb[3]) {
  const struct op_pixels_out *op = p->op;
  for (int c = 0; c < 3; c++) {
    size_t at = ((size_t)y * (size_t)op->x.w + (size_t)x) * 3 + (size_t)c;
    double value = (double)p->x[at] * (double)op->scale + (double)op->bias;
    if (p->input)
      value = p->mix * value + (1 - p->mix) * ((double)p->input[at] * (double)op->input_scale + (double)op->input_bias);
    rgb[c] = fmin(fmax(value, 0), 1);
  }
}

static void map_rgb(const struct output *p, int x, int y, double rgb[3]) {
  for (int c = 0; c < 3; c++)
    rgb[c] = fmin(fmax((double)p->map[((size_t)y * (size_t)p->op->x.w + (size_t)x) * 3 + (size_t)c], 0), 1);
}

static void both_rgb(const struct output *p, int x, int y, double rgb[3]) {
  int w = p->w / 2, h = p->h / 2;
  bool left = x < w;
  x -= left ? 0 : w;
  y -= (p->h - h) / 2;
  rgb[0] = rgb[1] = rgb[2] = 0;
  for (int i = 0; i < 4 && x < w && y >= 0 && y < h; i++) {
    double one[3];
    (left ? map_rgb : picture_rgb)(p, 2 * x + i % 2, 2 * y + i / 2, one);
    for (int c = 0; c < 3; c++)
      rgb[c] += one[c] / 4;
  }
}

static void output_rgb(const struct output *p, int x, int y, double rgb[3]) {
  (!p->map ? picture_rgb : p->both ? both_rgb : map_rgb)(p, x, y, rgb);
}

/* Converts a colour in R, G, B to the stored value of component i (Y, Cb, Cr or R, G, B). */
static double encode(const struct coding *k, const double rgb[3], int i) {
  double luma = k->r * rgb[0] + k->g * rgb[1] + k->b * rgb[2];
  return i == 0 ? luma : i == 1 ? (rgb[2] - luma) / k->b_cb : (rgb[0] - luma) / k->r_cr;
}

/* Returns one sample of a channel of the output: the mean over the pixels to which it belongs (several, for
 * chroma). */
static double sample_value(const struct output *p, const struct coding *coding, const struct channel *c, bool is_rgb,
                           int index, int x, int y) {
  int columns = c->half_x ? 2 : 1, rows = c->half_y ? 2 : 1, count = 0;
  double sum = 0;
  for (int j = y * rows; j < (y + 1) * rows && j < p->h; j++)
    for (int i = x * columns; i < (x + 1) * columns && i < p->w; i++) {
      double rgb[3];
      output_rgb(p, i, j, rgb);
      sum += is_rgb ? rgb[index] : encode(coding, rgb, index);
      count++;
    }
  return sum / count;
}

static void write_row(const struct output *p, const struct frame *out, int index, int y) {
  struct coding coding = frame_coding(out);
  struct channel c = frame_channel(out, index);
  int top = c.ten_bits ? 1023 : 255;
  for (int x = 0; x < c.width; x++) {
    double value = sample_value(p, &coding, &c, frame_is_rgb(out), index, x, y);
    channel_store(&c, x, y, clamp((int)lrint(coding.zero[index] + coding.range[index] * value), 0, top));
  }
}

/* Fills the bytes of a frame that depend on no pixel: alpha, and the second luma of YUYV's last pair if the width is
 * odd. */
static void fill_unused(const struct frame *out) {
  for (int y = 0; y < out->height; y++) {
    uint8_t *row = (uint8_t *)out->plane[0] + (ptrdiff_t)y * out->pitch[0];
    if (frame_is_rgb(out))
      for (int x = 0; x < out->width; x++)
        row[4 * x + 3] = 255;
    else if (out->format == PIXEL_YUYV && out->width % 2)
      row[2 * out->width] = row[2 * out->width - 2];
  }
}

static void write_picture(const struct output *p, const struct frame *out) {
  for (int i = 0; i < 3; i++) {
    struct channel c = frame_channel(out, i);
#pragma omp parallel for
    for (int y = 0; y < c.height; y++)
      write_row(p, out, i, y);
  }
  fill_unused(out);
}

static void pixels_out_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_pixels_out *op = &node->op->pixels_out;
  const struct run_params *params = run->params;
  struct output p = {.op = op,
                     .x = cpu_f32(run->program, op->x),
                     .input = cpu_f32(run->program, op->input),
                     .mix = (double)params->mix,
                     .both = params->show == SHOW_BOTH,
                     .w = pixels_out_w(op),
                     .h = pixels_out_h(op)};
  if (params->show != SHOW_PICTURE)
    p.map = cpu_f32(run->program, pixels_out_map(op, params->show_control));
  size_t count = tensor_elements(op->x) / (size_t)op->x.n;
  for (int i = 0; i < op->x.n; i++) {
    write_picture(&p, &run->pictures[i]);
    p.x += count;
    p.input += p.input ? count : 0;
    p.map += p.map ? count : 0;
  }
}

const struct cpu_impl cpu_define_pixels_in = {.run = pixels_in_run};
const struct cpu_impl cpu_define_detail = {.prepare = detail_prepare, .run = detail_run};
const struct cpu_impl cpu_define_pixels_out = {.run = pixels_out_run};
