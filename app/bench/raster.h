/* Pictures with floating-point values. Measurements of how steady pictures are (bench --steadiness) use them, because
 * small changes would be lost by rounding to 8 bits. */
#ifndef APP_BENCH_RASTER_H
#define APP_BENCH_RASTER_H

#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* A picture of floating-point values. Zeroed struct: no picture. */
struct raster {
  int width, height;
  float *rgb; /* array [height][width][3] of colours in grey levels from 0 to 255, top row first */
};

/* Allocates a black picture. The caller frees it with raster_free. Returns 0, or -1 with err and a zeroed struct. */
int raster_make(struct raster *raster, int width, int height, struct error *err);
void raster_free(struct raster *raster); /* frees the picture and zeroes the struct; accepts a zeroed struct */

static inline float *raster_at(const struct raster *raster, int x, int y) {
  return raster->rgb + 3 * ((size_t)y * raster->width + x);
}

/* Interpolates the colour at (x, y) between pixels (Catmull-Rom). At whole coordinates the result is the pixel itself.
 * Outside the picture the edge pixels are repeated. */
void raster_sample(const struct raster *raster, double x, double y, float rgb[3]);

/* raster_read copies 8-bit RGBA pixels, as many as the raster has, into the raster. raster_write copies the raster into
 * such pixels, rounds the values, and sets alpha to 255. pitch: bytes from one row of rgba to the next. */
void raster_read(struct raster *raster, const struct frame *rgba);
void raster_write(const struct raster *raster, uint8_t *rgba, int pitch);
/* Rounds each value of the picture to a whole grey level from 0 to 255. */
void raster_round(struct raster *raster);

/* Fills luma[height][width] with the luminance in grey levels, blurred by a Gaussian whose deviation is given in
 * pixels, which removes most of a camera's noise. Returns 0, or -1 with err set. */
int raster_denoise(const struct raster *raster, double deviation, float *luma, struct error *err);

#endif
