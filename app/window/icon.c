#include "app/window/icon.h"

#include <math.h>

/* Sizes of the icon's shapes, in units of a drawing of 128 by 128 units whose origin is its centre. The shapes are
 * symmetric about both axes, so that one quarter describes them. */
static const float half = 64, corner = 24, iris = 24, lid = 3, slit = 1.5f, slit_half = 44;

struct colour {
  uint8_t red, green, blue;
};

static const struct colour ground = {0x12, 0x10, 0x2b}, light = {0xf4, 0xe9, 0xd8}, pink = {0xff, 0x5f, 0xa2};

static int is_in_square(float x, float y) {
  float over_x = fmaxf(x - half + corner, 0), over_y = fmaxf(y - half + corner, 0);
  return over_x * over_x + over_y * over_y <= corner * corner;
}

/* Returns the distance from the point x, y to the eyelid's outline. In a quarter of the drawing this outline is a cubic
 * curve from the corner of the eye to its top. */
static float distance_to_lid(float x, float y) {
  enum { POINTS = 24 };
  float least = half;
  for (int i = 0; i <= POINTS; i++) {
    float t = (float)i / POINTS, s = 1 - t;
    float at_x = s * s * s * 52 + 3 * s * s * t * 34 + 3 * s * t * t * 18;
    float at_y = 3 * s * s * t * 30 + 3 * s * t * t * 36 + t * t * t * 36;
    least = fminf(least, hypotf(x - at_x, y - at_y));
  }
  return least;
}

static struct colour colour_at(float x, float y) {
  float away_x = fabsf(x), away_y = fabsf(y);
  if (away_x <= slit && away_y <= slit_half)
    return ground;
  if (hypotf(x, y) <= iris)
    return x < 0 ? light : pink;
  return distance_to_lid(away_x, away_y) <= lid ? light : ground;
}

/* Computes a pixel of the icon as the mean of SAMPLES by SAMPLES points of the drawing, so that edges are smooth. */
static void draw_pixel(int column, int row, uint8_t rgba[4]) {
  enum { SAMPLES = 3 };
  int sum[3] = {0}, inside = 0;
  for (int i = 0; i < SAMPLES * SAMPLES; i++) {
    float x = ((float)column + (float)(i % SAMPLES) / SAMPLES + 0.5f / SAMPLES) * 2 * half / ICON_SIDE - half;
    float y = ((float)row + (float)(i / SAMPLES) / SAMPLES + 0.5f / SAMPLES) * 2 * half / ICON_SIDE - half;
    if (!is_in_square(fabsf(x), fabsf(y)))
      continue;
    const struct colour colour = colour_at(x, y);
    sum[0] += colour.red;
    sum[1] += colour.green;
    sum[2] += colour.blue;
    inside++;
  }
  for (int i = 0; i < 3; i++)
    rgba[i] = (uint8_t)(inside ? sum[i] / inside : 0);
  rgba[3] = (uint8_t)(inside * 255 / (SAMPLES * SAMPLES));
}

void icon_draw(uint8_t *rgba) {
  for (int row = 0; row < ICON_SIDE; row++)
    for (int column = 0; column < ICON_SIDE; column++)
      draw_pixel(column, row, rgba + 4 * (row * ICON_SIDE + column));
}
