/* Writes files of small moving pictures through a sink, as render does. */
#ifndef TESTS_SMALL_FILE_H
#define TESTS_SMALL_FILE_H

#include "app/sink/sink.h"

/* side of the pictures in pixels, and pictures a second */
enum { SMALL_SIDE = 64, SMALL_FPS = 25 };

/* Returns options of a sink for such pictures, whose times are in ms. source: options for the input whose sound is
 * copied, with the log of both; it must stay valid as long as the sink. */
struct sink_options small_file_options(const struct source_options *source);
/* Opens a sink that writes to clip(name). Returns 0, or -1 with err. */
int small_file_open(struct sink **sink, const char *name, const struct sink_options *options, struct error *err);
/* Writes picture number `number`, from 0 on, with a time stamp that is `late` ms after its proper one. Returns 0, or -1
 * with err. */
int small_file_frame(struct sink *sink, int number, int late, struct error *err);

#endif
