/* The definition of the ops with matrices and norms (convolutions, linear layers, attention): plain loops with sums in
 * double. Rows are divided among threads, which changes no result. */
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"
#include "unet/cpu/cpu_threads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

double cpu_activate(enum activation act, double x) {
  switch (act) {
  case ACT_RELU:
    return x > 0 ? x : 0;
  case ACT_SILU:
    return x / (1 + exp(-x));
  case ACT_GELU:
    return 0.5 * x * (1 + erf(x * M_SQRT1_2));
  case ACT_QUICK_GELU:
    return x / (1 + exp(-1.702 * x));
  case ACT_TANH3:
    return 3 * tanh(x / 3);
  default: /* x itself for ACT_NONE, and also for ACT_GEGLU, which needs two values and is therefore computed in
            * linear_row */
    return x;
  }
}

/* --- prologue: an op's inputs are concatenated, normalised and activated --- */

struct norm_input {
  /* input of a norm: rows of c1 channels from x followed by c2 channels from x2; x2 is NULL if c2 is 0 */
  const float *x, *x2;
  int c1, c2;
};

static float input_at(const struct norm_input *in, size_t row, int c) {
  return c < in->c1 ? in->x[row * (size_t)in->c1 + (size_t)c] : in->x2[row * (size_t)in->c2 + (size_t)(c - in->c1)];
}

/* Normalises channels `first` to `first + count - 1` of rows `row` to `row + rows - 1` by their common mean and
 * variance. */
static void norm_region(const struct norm_input *in, const struct prologue *p, const float *gamma, const float *beta,
                        size_t row, size_t rows, int first, int count, float *out) {
  size_t channels = (size_t)(in->c1 + in->c2);
  double elements = (double)rows * count, mean = 0, variance = 0;
  for (size_t r = row; r < row + rows; r++)
    for (int c = first; c < first + count; c++)
      mean += input_at(in, r, c) / elements;
  for (size_t r = row; r < row + rows; r++)
    for (int c = first; c < first + count; c++)
      variance += (input_at(in, r, c) - mean) * (input_at(in, r, c) - mean) / elements;
  double scale = 1 / sqrt(variance + (double)p->eps);
  for (size_t r = row; r < row + rows; r++)
    for (int c = first; c < first + count; c++) {
      double y = (input_at(in, r, c) - mean) * scale * (gamma ? gamma[c] : 1) + (beta ? beta[c] : 0);
      out[r * channels + (size_t)c] = (float)cpu_activate(p->act, y);
    }
}

void cpu_prologue(const struct cpu_program *program, const struct prologue *p, struct tensor x, struct tensor x2,
                  float *out) {
  struct norm_input in = {cpu_f32(program, x), cpu_f32(program, x2), x.c, x2.c};
  const float *gamma = cpu_f32(program, p->gamma), *beta = cpu_f32(program, p->beta);
  int channels = x.c + x2.c, regions = p->norm == NORM_GROUP ? p->groups : 1;
  size_t rows = tensor_rows(x), region_rows = p->norm == NORM_GROUP ? (size_t)x.h * (size_t)x.w : 1;
  if (p->norm == NORM_NONE) {
#pragma omp parallel for
    for (size_t r = 0; r < rows; r++)
      for (int c = 0; c < channels; c++)
        out[r * (size_t)channels + (size_t)c] = (float)cpu_activate(p->act, input_at(&in, r, c));
    return;
  }
  int width = channels / regions;
#pragma omp parallel for collapse(2)
  for (size_t r = 0; r < rows; r += region_rows)
    for (int g = 0; g < regions; g++)
      norm_region(&in, p, gamma, beta, r, region_rows, g * width, width, out);
}

static size_t prologue_bytes(struct tensor x, struct tensor x2) {
  return tensor_rows(x) * (size_t)(x.c + x2.c) * sizeof(float);
}

/* --- convolutions (OP_CONV) --- */

/* The sanitizers are off in this function, because the tests of ops would otherwise spend two thirds of their time in
 * its loop. */
__attribute__((no_sanitize("address", "undefined"))) static double dot(const float *a, const float *b, int count) {
  double sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int i = 0; i < count; i++)
    sum += (double)a[i] * (double)b[i];
  return sum;
}

struct conv_args {
  const struct op_conv *op;
  const float *a; /* the input after its prologue (norm, activation): [n, h, w, c_in] */
  const float *weight, *bias, *time, *residual;
  float *y;
};

static double conv_sum(const struct conv_args *args, int n, int oy, int ox, int channel) {
  const struct op_conv *op = args->op;
  int k = op->weight.h, c = op->weight.c, up = op->upsample;
  double sum = 0;
  for (int ky = 0; ky < k; ky++)
    for (int kx = 0; kx < k; kx++) {
      int iy = oy * op->stride + ky - op->pad, ix = ox * op->stride + kx - op->pad;
      if (iy < 0 || ix < 0 || iy >= op->x.h << up || ix >= op->x.w << up)
        continue;
      size_t pixel = ((size_t)n * (size_t)op->x.h + (size_t)(iy >> up)) * (size_t)op->x.w + (size_t)(ix >> up);
      size_t tap = ((size_t)channel * (size_t)k + (size_t)ky) * (size_t)k + (size_t)kx;
      sum += dot(args->a + pixel * (size_t)c, args->weight + tap * (size_t)c, c);
    }
  return sum;
}

static void conv_row(const struct conv_args *args, int n, int oy) {
  const struct op_conv *op = args->op;
  const float *time = args->time && op->time.n > 1 ? args->time + (size_t)n * (size_t)op->time.pitch : args->time;
  for (int ox = 0; ox < op->y.w; ox++)
    for (int o = 0; o < op->y.c; o++) {
      size_t at =
          (((size_t)n * (size_t)op->y.h + (size_t)oy) * (size_t)op->y.w + (size_t)ox) * (size_t)op->y.c + (size_t)o;
      double y = conv_sum(args, n, oy, ox, o);
      y += args->bias ? (double)args->bias[o] : 0;
      y += time ? (double)time[o] : 0;
      y += args->residual ? (double)args->residual[at] : 0;
      args->y[at] = (float)cpu_activate(op->act, y);
    }
}

static int conv_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  (void)err;
  cpu_reserve(program, prologue_bytes(node->op->conv.x, node->op->conv.x2));
  return 0;
}

static void conv_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_conv *op = &node->op->conv;
  cpu_prologue(p, &op->prologue, op->x, op->x2, p->scratch);
  struct conv_args args = {op,
                           p->scratch,
                           cpu_f32(p, op->weight),
                           cpu_f32(p, op->bias),
                           cpu_f32(p, op->time),
                           cpu_f32(p, op->residual),
                           cpu_f32(p, op->y)};
#pragma omp parallel for collapse(2)
  for (int n = 0; n < op->y.n; n++)
    for (int oy = 0; oy < op->y.h; oy++)
      conv_row(&args, n, oy);
}

/* --- linear layers (OP_LINEAR) --- */

struct linear_args {
  const struct op_linear *op;
  const float *a; /* the input after its prologue (norm, activation): rows of K values */
  const float *weight, *bias, *residual;
  float *y;
};

static double linear_sum(const struct linear_args *args, const float *a, int feature) {
  int k = args->op->weight.c;
  double sum = dot(a, args->weight + (size_t)feature * (size_t)k, k);
  return args->bias ? sum + (double)args->bias[feature] : sum;
}

static void linear_row(const struct linear_args *args, size_t row) {
  const struct op_linear *op = args->op;
  const float *a = args->a + row * (size_t)op->weight.c;
  for (int i = 0; i < op->y.c; i++) {
    size_t at = row * (size_t)op->y.c + (size_t)i;
    double y = linear_sum(args, a, i);
    if (op->act == ACT_GEGLU)
      y *= cpu_activate(ACT_GELU, linear_sum(args, a, op->y.c + i));
    else
      y = cpu_activate(op->act, y);
    args->y[at] = (float)(y + (args->residual ? (double)args->residual[at] : 0));
  }
}

static int linear_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  (void)err;
  cpu_reserve(program, prologue_bytes(node->op->linear.x, node->op->linear.x2));
  return 0;
}

static void linear_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct cpu_program *p = run->program;
  const struct op_linear *op = &node->op->linear;
  cpu_prologue(p, &op->prologue, op->x, op->x2, p->scratch);
  struct linear_args args = {
      op, p->scratch, cpu_f32(p, op->weight), cpu_f32(p, op->bias), cpu_f32(p, op->residual), cpu_f32(p, op->y)};
  size_t rows = tensor_rows(op->y);
#pragma omp parallel for
  for (size_t r = 0; r < rows; r++)
    linear_row(&args, r);
}

/* --- adding control networks' results (OP_INJECT) --- */

static void inject_row(const struct cpu_program *p, const struct op_inject *op, size_t row, float gain) {
  const float *weight = cpu_f32(p, op->weight), *bias = cpu_f32(p, op->bias);
  const float *x = cpu_f32(p, op->x) + row % tensor_rows(op->x) * (size_t)op->x.c;
  float *y = cpu_f32(p, op->y) + row * (size_t)op->y.c;
  for (int i = 0; i < op->y.c; i++) {
    double more = weight ? dot(x, weight + (size_t)i * (size_t)op->x.c, op->x.c) : (double)x[i];
    more += bias ? (double)bias[i] : 0;
    y[i] = (float)((double)y[i] + (double)gain * more);
  }
}

static void inject_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_inject *op = &node->op->inject;
  size_t rows = (size_t)op->y.h * (size_t)op->y.w;
  for (int n = 0; n < op->y.n; n++) {
    float gain = inject_gain(op, run->params, run->iteration, n);
#pragma omp parallel for
    for (size_t r = 0; r < rows; r++)
      inject_row(run->program, op, (size_t)n * rows + r, gain);
  }
}

/* --- norms as ops of their own (OP_NORM) --- */

static void norm_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_norm *op = &node->op->norm;
  cpu_prologue(run->program, &op->prologue, op->x, (struct tensor){0}, cpu_f32(run->program, op->y));
}

/* --- attention to keys and values (OP_ATTENTION) --- */

/* The keys and values of one head to which queries attend: those of this frame, or those of earlier frames (the
 * bank). */
struct segment {
  const float *k, *v;
  size_t k_pitch, v_pitch, columns;
};

/* Returns the keys and values of picture number n for one head; queries attend to the first `columns` tokens of
 * them. */
static struct segment segment_of(const struct cpu_program *p, struct tensor k, struct tensor v, size_t n,
                                 size_t columns, size_t channel) {
  size_t first = n * (size_t)k.h * (size_t)k.w;
  return (struct segment){.k = cpu_f32(p, k) + first * (size_t)k.pitch + channel,
                          .v = cpu_f32(p, v) + first * (size_t)v.pitch + channel,
                          .k_pitch = (size_t)k.pitch,
                          .v_pitch = (size_t)v.pitch,
                          .columns = columns};
}

/* Computes one row of y, for one head, from a row of q, with one softmax over all keys. segments: `count` blocks of
 * keys and values: the op's own, and one for each earlier frame. scores: scratch with a value for each key. */
static void attend_segments(const float *q, const struct segment *segments, int count, int dim, float scale,
                            double *scores, float *y) {
  double max = -INFINITY, sum = 0, *score = scores;
  for (int i = 0; i < count; i++)
    for (size_t j = 0; j < segments[i].columns; j++, score++) {
      *score = (double)scale * dot(q, segments[i].k + j * segments[i].k_pitch, dim);
      max = fmax(max, *score);
    }
  for (double *s = scores; s < score; s++)
    sum += *s = exp(*s - max);
  for (int d = 0; d < dim; d++) {
    double value = 0;
    score = scores;
    for (int i = 0; i < count; i++)
      for (size_t j = 0; j < segments[i].columns; j++)
        value += *score++ / sum * (double)segments[i].v[j * segments[i].v_pitch + (size_t)d];
    y[d] = (float)value;
  }
}

/* Computes attention for one row of q in one head. The row attends to the op's own keys, and to those of `frames`
 * earlier frames (the bank). */
static void attend_row(const struct cpu_program *p, const struct op_attention *op, size_t row, int head, int frames,
                       double *scores) {
  size_t tokens = (size_t)op->q.h * (size_t)op->q.w, n = row / tokens, t = row % tokens;
  size_t columns = (size_t)op->k.h * (size_t)op->k.w;
  int dim = op->q.c / op->heads;
  size_t channel = (size_t)head * (size_t)dim;
  struct segment segments[2];
  if (op->causal && columns > t + 1)
    columns = t + 1;
  segments[0] = segment_of(p, op->k, op->v, op->k.n == 1 ? 0 : n, columns, channel);
  if (frames)
    segments[1] = segment_of(p, op->k2, op->v2, op->k.n == 1 ? 0 : n, (size_t)frames * (size_t)op->k2.w, channel);
  attend_segments(cpu_f32(p, op->q) + row * (size_t)op->q.pitch + channel, segments, frames ? 2 : 1, dim, op->scale,
                  scores, cpu_f32(p, op->y) + row * (size_t)op->y.c + channel);
}

static size_t attention_columns(const struct op_attention *op) {
  return (size_t)op->k.h * (size_t)op->k.w + (size_t)op->k2.h * (size_t)op->k2.w;
}

/* Reserves scratch memory for a row of scores for each thread. */
static int attention_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  (void)err;
  cpu_reserve(program, (size_t)program->device->threads * attention_columns(&node->op->attention) * sizeof(double));
  return 0;
}

static void attention_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_attention *op = &node->op->attention;
  double *scores = run->program->scratch;
  size_t rows = tensor_rows(op->q), columns = attention_columns(op);
  int frames = cpu_bank_frames(run, op);
#pragma omp parallel for
  for (size_t row = 0; row < rows; row++)
    for (int head = 0; head < op->heads; head++)
      attend_row(run->program, op, row, head, frames, scores + (size_t)thread_number() * columns);
}

/* --- attention to style pictures (IP-Adapter) --- */

/* Adds the attention to one style picture, whose keys and values are in `slot`, to one row of y in one head. scores is
 * scratch with a value for each token of the style picture. */
static void add_style(const struct cpu_program *p, const struct op_style *op, size_t row, int head, size_t slot,
                      double gain, double *scores) {
  size_t tokens = (size_t)op->k.w, first = slot * tokens * (size_t)op->k.pitch;
  int dim = op->q.c / op->heads;
  const float *q = cpu_f32(p, op->q) + row * (size_t)op->q.pitch + (size_t)head * (size_t)dim;
  const float *k = cpu_f32(p, op->k) + first + (size_t)head * (size_t)dim;
  const float *v = cpu_f32(p, op->v) + first + (size_t)head * (size_t)dim;
  float *y = cpu_f32(p, op->y) + row * (size_t)op->y.c + (size_t)head * (size_t)dim;
  double max = -INFINITY, sum = 0;
  for (size_t j = 0; j < tokens; j++) {
    scores[j] = (double)op->scale * dot(q, k + j * (size_t)op->k.pitch, dim);
    max = fmax(max, scores[j]);
  }
  for (size_t j = 0; j < tokens; j++)
    sum += scores[j] = exp(scores[j] - max);
  for (int d = 0; d < dim; d++) {
    double value = 0;
    for (size_t j = 0; j < tokens; j++)
      value += scores[j] / sum * (double)v[j * (size_t)op->v.pitch + (size_t)d];
    y[d] = (float)((double)y[d] + gain * value);
  }
}

static int style_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  (void)err;
  cpu_reserve(program, (size_t)program->device->threads * (size_t)node->op->style.k.w * sizeof(double));
  return 0;
}

static void style_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_style *op = &node->op->style;
  double *scores = run->program->scratch;
  size_t rows = tensor_rows(op->q), of_picture = rows / (size_t)op->q.n;
  for (int s = 0; s < STYLES_MAX; s++) {
    const struct style_params *style = &run->params->style[s];
    double gain = (double)style_gain(style, op->part);
#pragma omp parallel for
    for (size_t row = 0; row < (gain != 0 ? rows : 0); row++)
      for (int head = 0; head < op->heads; head++)
        add_style(run->program, op, row, head, (size_t)style_slot(op, style, (int)(row / of_picture)), gain,
                  scores + (size_t)thread_number() * (size_t)op->k.w);
  }
}

const struct cpu_impl cpu_define_conv = {.prepare = conv_prepare, .run = conv_run};
const struct cpu_impl cpu_define_linear = {.prepare = linear_prepare, .run = linear_run};
const struct cpu_impl cpu_define_inject = {.run = inject_run};
const struct cpu_impl cpu_define_norm = {.run = norm_run};
const struct cpu_impl cpu_define_attention = {.prepare = attention_prepare, .run = attention_run};
const struct cpu_impl cpu_define_style = {.prepare = style_prepare, .run = style_run};
