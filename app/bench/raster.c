#include "app/bench/raster.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { REACH_MAX = 16 };

int raster_make(struct raster *raster, int width, int height, struct error *err) {
  *raster = (struct raster){width, height, calloc((size_t)width * height, 3 * sizeof(float))};
  if (raster->rgb)
    return 0;
  *raster = (struct raster){0};
  return error_set(err, STATUS_FAILED, "no memory for a picture of %dx%d", width, height);
}

void raster_free(struct raster *raster) {
  free(raster->rgb);
  *raster = (struct raster){0};
}

static int clamp(int value, int most) {
  return value < 0 ? 0 : value > most ? most : value;
}

/* Computes the weights by which Catmull-Rom interpolation multiplies the four pixels at -1, 0, 1 and 2, for a position
 * at distance `at` (0 to 1) from pixel 0. */
static void catmull_rom(double at, double weight[4]) {
  double at2 = at * at, at3 = at2 * at;
  weight[0] = (-at3 + 2 * at2 - at) / 2;
  weight[1] = (3 * at3 - 5 * at2 + 2) / 2;
  weight[2] = (-3 * at3 + 4 * at2 + at) / 2;
  weight[3] = (at3 - at2) / 2;
}

void raster_sample(const struct raster *raster, double x, double y, float rgb[3]) {
  int left = (int)floor(x), top = (int)floor(y);
  double across[4], down[4], sum[3] = {0};
  catmull_rom(x - left, across);
  catmull_rom(y - top, down);
  for (int j = 0; j < 4; j++)
    for (int i = 0; i < 4; i++) {
      double weight = across[i] * down[j];
      if (weight == 0)
        continue;
      const float *pixel =
          raster_at(raster, clamp(left + i - 1, raster->width - 1), clamp(top + j - 1, raster->height - 1));
      for (int c = 0; c < 3; c++)
        sum[c] += weight * pixel[c];
    }
  for (int c = 0; c < 3; c++)
    rgb[c] = (float)sum[c];
}

void raster_read(struct raster *raster, const struct frame *rgba) {
  for (int y = 0; y < raster->height; y++) {
    const uint8_t *row = rgba->plane[0] + (ptrdiff_t)y * rgba->pitch[0];
    for (int x = 0; x < raster->width; x++)
      for (int c = 0; c < 3; c++)
        raster_at(raster, x, y)[c] = row[4 * x + c];
  }
}

static float level(float value) {
  return roundf(fminf(fmaxf(value, 0), 255));
}

void raster_write(const struct raster *raster, uint8_t *rgba, int pitch) {
  for (int y = 0; y < raster->height; y++) {
    uint8_t *row = rgba + (ptrdiff_t)y * pitch;
    for (int x = 0; x < raster->width; x++) {
      for (int c = 0; c < 3; c++)
        row[4 * x + c] = (uint8_t)level(raster_at(raster, x, y)[c]);
      row[4 * x + 3] = 255;
    }
  }
}

void raster_round(struct raster *raster) {
  size_t count = (size_t)raster->width * raster->height * 3;
  for (size_t i = 0; i < count; i++)
    raster->rgb[i] = level(raster->rgb[i]);
}

static float luminance(const float *rgb) {
  return 0.2126f * rgb[0] + 0.7152f * rgb[1] + 0.0722f * rgb[2];
}

/* Computes a Gaussian's weights for the distances 0 to *reach in pixels. The sum of the weights over both sides is
 * 1. */
static void gaussian(double deviation, float weight[REACH_MAX + 1], int *reach) {
  double sum = 0;
  *reach = clamp((int)ceil(3 * deviation), REACH_MAX);
  for (int i = 0; i <= *reach; i++)
    sum += (i ? 2 : 1) * (weight[i] = (float)exp(-i * i / (2 * deviation * deviation)));
  for (int i = 0; i <= *reach; i++)
    weight[i] /= (float)sum;
}

/* Blurs a line of `count` values that lie `step` floats apart. Beyond the ends, the first and last values are
 * repeated. */
static void blur_line(const float *from, float *to, int count, ptrdiff_t step, const float *weight, int reach) {
  for (int i = 0; i < count; i++) {
    float sum = weight[0] * from[i * step];
    for (int k = 1; k <= reach; k++)
      sum += weight[k] * (from[clamp(i - k, count - 1) * step] + from[clamp(i + k, count - 1) * step]);
    to[i * step] = sum;
  }
}

int raster_denoise(const struct raster *raster, double deviation, float *luma, struct error *err) {
  int width = raster->width, height = raster->height, reach;
  float weight[REACH_MAX + 1], *half = malloc((size_t)width * height * sizeof *half);
  if (!half)
    return error_set(err, STATUS_FAILED, "no memory for a picture of %dx%d", width, height);
  gaussian(deviation, weight, &reach);
  for (size_t i = 0; i < (size_t)width * height; i++)
    luma[i] = luminance(raster->rgb + 3 * i);
  for (int y = 0; y < height; y++)
    blur_line(luma + (size_t)y * width, half + (size_t)y * width, width, 1, weight, reach);
  for (int x = 0; x < width; x++)
    blur_line(half + x, luma + x, height, width, weight, reach);
  free(half);
  return 0;
}
