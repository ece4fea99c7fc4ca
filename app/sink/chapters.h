/* Copies the chapters of an input. */
#ifndef APP_SINK_CHAPTERS_H
#define APP_SINK_CHAPTERS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

/* True if files of this container can keep chapters. */
bool chapters_are_kept(const AVOutputFormat *container);
/* Adds chapters of the input to output: those in the part that begins at `origin` (AV_TIME_BASE units of the input) and
 * lasts `duration` seconds (0: to the end). They are cut at the part's ends, and their times count from its beginning.
 * Called before the header is written. Returns 0, or -1 if memory is short. */
int chapters_copy(AVFormatContext *output, const AVFormatContext *input, int64_t origin, double duration);

#endif
