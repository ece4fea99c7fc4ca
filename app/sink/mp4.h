/* MP4 and MOV keep their index at the end, and a file without it is lost. So they are written in fragments that each
 * carry their own, and settled into an ordinary file, with the index in front, when all is done. */
#ifndef APP_SINK_MP4_H
#define APP_SINK_MP4_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "app/sink/muxer.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

/* Muxer options for writing in fragments, which end where muxer_flush is called. */
void mp4_wishes(AVDictionary **wishes);
/* Rewrites the fragmented file at path, packet by packet, through a neighbour that takes its place once it is complete.
 * Where that fails (no room for a second copy, or not all that was written is found again), path stays as it is:
 * playable, if less widely. Special files are left alone. The one error is that path itself lacks frames. muxer: what
 * was written. */
int mp4_settle(const char *path, const struct muxer *muxer, const struct log *log, struct error *err);

/* Cuts a file in fragments behind its last whole one: half a fragment's index makes players refuse all of it. */
void mp4_cut(const char *path);

#endif
