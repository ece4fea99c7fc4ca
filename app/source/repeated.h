/* Opens a file so that it is read several times in a row, as if it were one longer input. This uses FFmpeg's concat
 * demuxer, with a list that contains the file once for each pass, with the length of a pass. */
#ifndef APP_SOURCE_REPEATED_H
#define APP_SOURCE_REPEATED_H

#include <libavformat/avformat.h>

#include "app/source/source.h"

enum { REPEATED_MOST = 10000 };

/* If options->repeat asks for several passes, checks that the input can be repeated, and reads it once to store the
 * length of a pass in options->pass. A pass ends with the last picture; longer sound overlaps the next pass. Does
 * nothing for pictures of a sequence, which picture_files.h repeats. Returns 0, or -1 with err. */
int repeated_measure(const char *spec, struct source_options *options, struct error *err);

/* Opens the file as one demuxer, which reads the file options->repeat times. repeated_measure must have been called
 * first, to store the length of a pass in options->pass. Each pass has the file's chapters; tags, covers and
 * dispositions are those of the file. interrupt may be NULL. The caller closes *input. Returns 0, or -1 with err. */
int repeated_open(AVFormatContext **input, const char *spec, const struct source_options *options,
                  const AVIOInterruptCB *interrupt, struct error *err);

#endif
