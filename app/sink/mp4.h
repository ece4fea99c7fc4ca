/* Writes MP4 and MOV so that an aborted file stays playable. In an ordinary file the index comes last, and without the
 * index the file cannot be read. So files are written in fragments, each with an index of its own, and rewritten at the
 * end as an ordinary file whose index comes first. */
#ifndef APP_SINK_MP4_H
#define APP_SINK_MP4_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "app/sink/late_tracks.h"
#include "app/sink/muxer.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

/* Adds to *wishes the options with which FFmpeg's muxer writes fragments; each call of muxer_flush ends a fragment. */
void mp4_wishes(AVDictionary **wishes);
/* Rewrites the fragmented file at `path`, packet by packet, as an ordinary one that replaces it once complete. If that
 * fails (no room for a second copy, or a packet is not found again), logs a line and leaves the file fragmented, which
 * fewer players can play. Does nothing if `path` is no regular file. Returns 0, or -1 with err if frames are missing in
 * the file itself or memory is short. name: the output in messages. muxer: wrote the file and counted its packets.
 * late: tracks and chapters to add; NULL: none. */
int mp4_settle(const char *path, const char *name, const struct muxer *muxer, const struct late_tracks *late,
               const struct log *log, struct error *err);

/* Truncates a fragmented file after its last complete fragment, because the index of an incomplete fragment makes
 * players refuse the whole file. */
void mp4_cut(const char *path);

#endif
