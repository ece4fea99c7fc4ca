/* Chooses the size of the pictures in render's output, which may differ from the size at which the model makes them. */
#ifndef APP_RUN_OUTPUT_SIZE_H
#define APP_RUN_OUTPUT_SIZE_H

#include "app/options/options.h"
#include "app/source/source.h"

struct output_size {
  int width, height; /* width and height in pixels, which are square, of the output's pictures; 0: the size of the
                      * model's pictures */
};

/* Chooses the size of the output's pictures by --output-size. pixels: pixel format of the model's pictures. Formats
 * that store one colour for two pixels need an even width and height: a size taken from the source is rounded, and an
 * odd size that the user gave is refused. Returns 0, or -1 with err. */
int output_size_choose(struct output_size *size, const struct options *options, const struct source_info *info,
                       enum pixel_format pixels, struct error *err);

/* Returns the aspect ratio (width divided by height) of the output's pictures; 0: the output has the size of the
 * model's pictures. */
double output_size_shape(const struct output_size *size);

/* Logs one line before the render. With --output-size it gives the size at which pictures are made and the size at
 * which they are written. With neither it nor --size, it is a warning if the pictures are narrower than the input's.
 * made: the shape with which pictures are made. */
void output_size_tell(const struct output_size *size, const struct options *options, const struct source_info *info,
                      const struct engine_shape *made, const struct log *log);

#endif
