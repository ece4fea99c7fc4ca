/* Pictures with floating-point values, in which steadiness is measured. With 8-bit values small changes would be lost
 * by rounding. */
#ifndef APP_BENCH_RASTER_H
#define APP_BENCH_RASTER_H

#include <stdint.h>

#include "unet/base/error.h"
#include "unet/base/frame.h"

/* Zeros: no picture. */
struct raster {
  int width, height;
  float *rgb; /* [height][width][3], grey levels from 0 to 255, top row first */
};

/* Allocates a black picture. The caller frees it with raster_free. */
int raster_make(struct raster *raster, int width, int height, struct error *err);
void raster_free(struct raster *raster); /* leaves zeros; accepts zeros */

static inline float *raster_at(const struct raster *raster, int x, int y) {
  return raster->rgb + 3 * ((size_t)y * raster->width + x);
}

/* Interpolates the colour at (x, y) between pixels (Catmull-Rom). At whole coordinates it is the pixel itself. Outside
 * the picture its edge pixels are repeated. */
void raster_sample(const struct raster *raster, double x, double y, float rgb[3]);

/* Copy from or to 8-bit RGBA pixels of the raster's size. raster_write rounds the values, and sets alpha to 255. pitch:
 * bytes from one row to the next. */
void raster_read(struct raster *raster, const struct frame *rgba);
void raster_write(const struct raster *raster, uint8_t *rgba, int pitch);
/* Rounds every value to a whole grey level from 0 to 255. */
void raster_round(struct raster *raster);

/* Fills luma[height][width] with the luminance in grey levels, blurred by a Gaussian whose deviation is given in
 * pixels, which removes most of a camera's noise. Returns 0, or -1 with err set. */
int raster_denoise(const struct raster *raster, double deviation, float *luma, struct error *err);

#endif
