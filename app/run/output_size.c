#include "app/run/output_size.h"

#include <math.h>

#include "app/sink/sink.h"

/* Returns the input's size in pixels after its pixels, which need not be square, are stretched to squares. */
static struct output_size size_of_source(const struct source_info *info) {
  struct output_size size = {info->width, info->height};
  if (info->shape > 0)
    size.width = (int)lrint(info->height * info->shape);
  return size;
}

int output_size_choose(struct output_size *size, const struct options *options, const struct source_info *info,
                       enum pixel_format pixels, struct error *err) {
  bool of_source = options->output_width == OUTPUT_SIZE_SOURCE;
  *size = (struct output_size){options->output_width, options->output_height};
  if (!options->output_width)
    return 0;
  if (!sink_shows_pictures(options->output))
    return error_set(err, STATUS_USAGE, "--output-size: %s takes the model's pictures as they are; leave it out",
                     options->output);
  if (of_source && (info->width < 1 || info->height < 1))
    return error_set(err, STATUS_USAGE, "--output-size source: the input does not say its size; give WIDTHxHEIGHT");
  if (of_source)
    *size = size_of_source(info);
  bool odd = pixels != PIXEL_RGBA && (size->width % 2 || size->height % 2);
  if (odd && !of_source)
    return error_set(err, STATUS_USAGE, "--output-size %dx%d: the encoder's pixels need even sides", size->width,
                     size->height);
  if (odd) {
    size->width += size->width % 2;
    size->height += size->height % 2;
  }
  return 0;
}

double output_size_shape(const struct output_size *size) {
  return size->height ? (double)size->width / size->height : 0;
}

void output_size_tell(const struct output_size *size, const struct options *options, const struct source_info *info,
                      const struct engine_shape *made, const struct log *log) {
  const struct output_size source = size_of_source(info);
  if (size->width)
    log_line(log, LOG_INFO, "made at %dx%d, written at %dx%d", made->width, made->height, size->width, size->height);
  else if (!options->values.size.width && source.width > made->width && sink_shows_pictures(options->output))
    log_line(log, LOG_WARNING, "%dx%d becomes %dx%d; --output-size source keeps the size, --size WxH makes it larger",
             source.width, source.height, made->width, made->height);
}
