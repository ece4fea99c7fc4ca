/* Keeps subtitles, covers and chapters of an MP4 file in memory until the file is settled, that is, rewritten without
 * fragments (mp4.h). In a file with fragments subtitles would lose their durations, and covers and chapters would
 * become separate tracks. */
#ifndef APP_SINK_LATE_TRACKS_H
#define APP_SINK_LATE_TRACKS_H

#include <stdbool.h>

#include <libavformat/avformat.h>

struct target;

enum { LATE_TRACKS_BYTES = 64 << 20 };

struct late_tracks {
  AVFormatContext *tracks; /* a context that only holds the streams and chapters to add; no file is written with it */
  /* packets of the streams in `tracks`, in the order in which they were added, with times in their stream's time
   * base */
  AVPacket **packets;
  int count, room;
  int64_t bytes;
};

/* True if the output is an MP4 file that is written in fragments and rewritten without them at the end. */
bool late_tracks_are_due(const struct target *target);
/* Opens an empty store of late tracks (those that are added to the output when its file is rewritten at the end) for
 * `output`. Returns 0 or an FFmpeg error code. The caller closes *late. */
int late_tracks_open(struct late_tracks **late, const AVFormatContext *output);
/* Stores a packet, and takes over its reference. Returns 0; AVERROR(ENOSPC) if more than LATE_TRACKS_BYTES would be
 * stored; or AVERROR(ENOMEM). After an error the caller still owns the packet. */
int late_tracks_add(struct late_tracks *late, AVPacket *packet);
/* Writes the stored packets that begin before `time` (seconds), starting with packet number *next. Then stores in *next
 * the number of the first packet that was not written. first: index in `to` of the first stream of `late`. late may be
 * NULL. Returns 0 or an FFmpeg error code. */
int late_tracks_write(const struct late_tracks *late, AVFormatContext *to, int first, double time, int *next);
/* Frees the tracks and packets; *late becomes NULL; does nothing if it is NULL. */
void late_tracks_close(struct late_tracks **late);

#endif
