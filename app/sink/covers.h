/* Copies cover pictures and attached files (fonts and so on) of an input. */
#ifndef APP_SINK_COVERS_H
#define APP_SINK_COVERS_H

#include <stdbool.h>

#include "app/sink/late_tracks.h"

/* True if the stream is a cover picture or a thumbnail, and not moving video. */
bool covers_is_one(const AVStream *stream);
/* Adds a cover or an attachment to output or, if `late` is not NULL, to the tracks that are kept until the file is
 * rewritten at the end (late_tracks.h). Called before the header is written, after all other streams were added.
 * Returns 1; 0 if the container cannot store it; or a negative FFmpeg code. */
int covers_add(AVFormatContext *output, struct late_tracks *late, const AVStream *from);

#endif
