/* Writes MP4 and MOV so that an aborted file stays playable. Their index comes last, and without it a file cannot be
 * read. So they are written in fragments that have an index each, and rewritten at the end as an ordinary file whose
 * index comes first. */
#ifndef APP_SINK_MP4_H
#define APP_SINK_MP4_H

#include <libavformat/avformat.h>
#include <stdbool.h>

#include "app/sink/muxer.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

/* Sets the options with which FFmpeg's muxer writes fragments; each ends at a muxer_flush. */
void mp4_wishes(AVDictionary **wishes);
/* Rewrites the fragmented file at path, packet by packet, as a new file that replaces it once it is complete. If that
 * fails (no room for a second copy, or not everything that was written is found again), a line is logged and path stays
 * as it is, which fewer players can play. Files that are no ordinary ones are left alone. Returns 0, or -1 with err
 * only if frames are missing in path itself. muxer: has counted the packets that were written to path. */
int mp4_settle(const char *path, const struct muxer *muxer, const struct log *log, struct error *err);

/* Cuts a fragmented file after its last complete fragment: an incomplete fragment's index makes players refuse the
 * whole file. */
void mp4_cut(const char *path);

#endif
