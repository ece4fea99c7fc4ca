/* The definition of the ops around a network that estimates depth: cutting a picture into patches, joining tokens to
 * a picture, interpolation, and the slowly changing range of depths. Rows are divided among threads, which changes no
 * result. */
#include "unet/base/cubic.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

#include <math.h>
#include <string.h>

/* --- cutting a picture into patches, and joining tokens to a picture --- */

static double cubic_sum(const float *x, int w, const struct cubic *down, const struct cubic *across, int channel) {
  double sum = 0;
  for (int i = 0; i < CUBIC_TAPS; i++)
    for (int j = 0; j < CUBIC_TAPS; j++)
      sum += down->weight[i] * across->weight[j] *
             x[((size_t)down->at[i] * (size_t)w + (size_t)across->at[j]) * 3 + (size_t)channel];
  return sum;
}

static void make_patch(const struct op_patches *op, const float *x, int row, int column, float *y) {
  int size = op->size;
  for (int i = 0; i < size; i++) {
    struct cubic down = cubic_of(row * size + i, op->x.h, op->rows * size);
    for (int j = 0; j < size; j++) {
      struct cubic across = cubic_of(column * size + j, op->x.w, op->columns * size);
      for (int k = 0; k < 3; k++)
        *y++ = (float)(cubic_sum(x, op->x.w, &down, &across, k) * (double)op->scale[k] + (double)op->bias[k]);
    }
  }
}

static void patches_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_patches *op = &node->op->patches;
  const float *x = cpu_f32(run->program, op->x);
  float *y = cpu_f32(run->program, op->y);
  size_t c = (size_t)op->y.c;
  memset(y, 0, tensor_elements(op->y) * sizeof *y);
#pragma omp parallel for collapse(2)
  for (int row = 0; row < op->rows; row++)
    for (int column = 0; column < op->columns; column++)
      make_patch(op, x, row, column, y + (1 + (size_t)row * (size_t)op->columns + (size_t)column) * c);
}

static void unpatch_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_unpatch *op = &node->op->unpatch;
  const float *x = cpu_f32(run->program, op->x);
  float *y = cpu_f32(run->program, op->y);
  size_t c = (size_t)op->y.c;
  int size = op->size;
#pragma omp parallel for
  for (int i = 0; i < op->y.h; i++)
    for (int j = 0; j < op->y.w; j++) {
      size_t token = (size_t)op->skip + (size_t)(i / size) * (size_t)op->columns + (size_t)(j / size);
      size_t part = (size_t)(i % size) * (size_t)size + (size_t)(j % size);
      memcpy(y + ((size_t)i * (size_t)op->y.w + (size_t)j) * c, x + token * (size_t)op->x.c + part * c, c * sizeof *y);
    }
}

/* --- enlarging by linear interpolation --- */

/* The two neighbouring samples between which a value is interpolated, and the weight of the second one. */
struct between {
  int at[2];
  double share;
};

static struct between between_of(int i, int from, int to) {
  double place = to > 1 ? (double)i * (from - 1) / (to - 1) : 0;
  int first = (int)place;
  return (struct between){{first, first + 1 < from ? first + 1 : first}, place - first};
}

/* Interpolates channel k of the picture x, of width w with c channels, between two rows (`down`) and two columns
 * (`across`). */
static double mix(const float *x, int w, int c, const struct between *down, const struct between *across, int k) {
  double rows[2];
  for (int i = 0; i < 2; i++) {
    const float *row = x + (size_t)down->at[i] * (size_t)w * (size_t)c;
    double first = (double)row[(size_t)across->at[0] * (size_t)c + (size_t)k];
    rows[i] = first + across->share * ((double)row[(size_t)across->at[1] * (size_t)c + (size_t)k] - first);
  }
  return rows[0] + down->share * (rows[1] - rows[0]);
}

static void resize_row(const struct op_resize *op, const float *x, int i, const float *residual, float *y) {
  struct between down = between_of(i, op->x.h, op->y.h);
  for (int j = 0; j < op->y.w; j++) {
    struct between across = between_of(j, op->x.w, op->y.w);
    for (int k = 0; k < op->y.c; k++) {
      double added = residual ? (double)*residual++ : 0;
      *y++ = (float)(mix(x, op->x.w, op->x.c, &down, &across, k) + added);
    }
  }
}

static void resize_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_resize *op = &node->op->resize;
  const float *x = cpu_f32(run->program, op->x), *residual = cpu_f32(run->program, op->residual);
  float *y = cpu_f32(run->program, op->y);
  size_t picture = (size_t)op->x.h * (size_t)op->x.w * (size_t)op->x.c, row = (size_t)op->y.w * (size_t)op->y.c;
#pragma omp parallel for collapse(2)
  for (int n = 0; n < op->y.n; n++)
    for (int i = 0; i < op->y.h; i++) {
      size_t at = ((size_t)n * (size_t)op->y.h + (size_t)i) * row;
      resize_row(op, x + (size_t)n * picture, i, residual ? residual + at : NULL, y + at);
    }
}

/* --- the range of depths by which a map is scaled --- */

static double square_mean(const struct op_range *op, const float *x, int row, int column) {
  double sum = 0;
  for (int i = 0; i < op->size; i++)
    for (int j = 0; j < op->size; j++)
      sum += (double)x[(size_t)(row * op->size + i) * (size_t)op->x.w + (size_t)(column * op->size + j)];
  return sum / ((double)op->size * op->size);
}

/* Returns the fraction, 0 to 1, by which the stored range of depths moves towards this frame's range, `low` to `high`
 * (the formula of OP_RANGE). */
static double followed(double speed, const float range[3], double low, double high) {
  double width = fmax((double)range[1] - (double)range[0], high - low);
  double far = fmax(fabs(low - (double)range[0]), fabs(high - (double)range[1]));
  double cut = width > 0 ? fmin(fmax(4 * far / width - 1, 0), 1) : 1;
  return speed + (1 - speed) * cut;
}

static void range_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_range *op = &node->op->range;
  const float *x = cpu_f32(run->program, op->x);
  float *range = cpu_f32(run->program, op->range);
  double low = INFINITY, high = -INFINITY, sum = 0;
  for (int row = 0; row < op->x.h / op->size; row++)
    for (int column = 0; column < op->x.w / op->size; column++) {
      double mean = square_mean(op, x, row, column);
      /* this adds 0 if the mean is finite; otherwise the sum becomes NaN, so that a frame with such values is
       * ignored */
      sum += mean - mean;
      low = fmin(low, mean);
      high = fmax(high, mean);
    }
  if (sum != 0)
    return;
  if (!(range[2] > 0)) {
    range[0] = (float)low;
    range[1] = (float)high;
  } else {
    double share = followed((double)run->params->control[op->control].param[0], range, low, high);
    range[0] = (float)((double)range[0] + share * (low - (double)range[0]));
    range[1] = (float)((double)range[1] + share * (high - (double)range[1]));
  }
  range[2] = 1;
}

static void spread_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_spread *op = &node->op->spread;
  const float *x = cpu_f32(run->program, op->x), *range = cpu_f32(run->program, op->range);
  float *y = cpu_f32(run->program, op->y);
  double low = (double)range[0], width = (double)range[1] - low;
#pragma omp parallel for
  for (int i = 0; i < op->y.h; i++)
    for (int j = 0; j < op->y.w; j++) {
      struct between down = between_of(i, op->x.h, op->y.h), across = between_of(j, op->x.w, op->y.w);
      double value = width > 0 ? (mix(x, op->x.w, 1, &down, &across, 0) - low) / width : 0;
      for (size_t k = 0; k < 3; k++)
        y[((size_t)i * (size_t)op->y.w + (size_t)j) * 3 + k] = value > 0 ? (float)fmin(value, 1) : 0;
    }
}

const struct cpu_impl cpu_define_patches = {.run = patches_run};
const struct cpu_impl cpu_define_unpatch = {.run = unpatch_run};
const struct cpu_impl cpu_define_resize = {.run = resize_run};
const struct cpu_impl cpu_define_range = {.run = range_run};
const struct cpu_impl cpu_define_spread = {.run = spread_run};
