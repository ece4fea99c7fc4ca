/* Pictures in floating point, on which steadiness is judged: 8 bits would round away small changes and wrap around
 * differences. */
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

/* Reads the pixel at a place between pixels by Catmull-Rom interpolation. At whole coordinates it is the pixel itself.
 * The picture's edge continues outside. */
void raster_sample(const struct raster *raster, double x, double y, float rgb[3]);

/* Copy from and to 8-bit RGBA of the raster's size. raster_write rounds, and sets alpha to 255. */
void raster_read(struct raster *raster, const struct frame *rgba);
void raster_write(const struct raster *raster, uint8_t *rgba, int pitch);
/* Rounds every value to a whole grey level from 0 to 255. */
void raster_round(struct raster *raster);

/* Fills luma[height][width] with the luminance, blurred by a Gaussian of this deviation in pixels. The sensor's noise
 * is mostly gone then. */
int raster_denoise(const struct raster *raster, double deviation, float *luma, struct error *err);

#endif
