/* Packets on their way into a container: counted, and given to the system every half second of clip time, so that a
 * process that is killed leaves the rest of its file playable. */
#ifndef APP_SINK_MUXER_H
#define APP_SINK_MUXER_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct muxer_track {
  int64_t units;    /* muxer_units of what was written */
  int64_t duration; /* of the last packet, in the stream's time base */
  int64_t dts;      /* of the last packet of sound that was taken; AV_NOPTS_VALUE before the first */
  AVPacket *held;   /* in fragments, until it is known how long it lasts */
};

/* MP4, MOV and their family. */
bool muxer_is_mp4(const AVOutputFormat *container);

/* True if the container keeps no times of sound: what reads it counts samples from the first one on, and sound that
 * begins late or has a gap is heard early. */
bool muxer_counts_sound(const AVOutputFormat *container);
/* True if the container keeps no times of pictures, or those of a few alone: what reads it shows them at one rate. */
bool muxer_counts_pictures(const AVOutputFormat *container);
/* True if the container writes a picture when it has all the sound beside it (SMPTE's MXF and GXF). It orders packets
 * by itself, and leaves out the pictures behind the end of the sound. */
bool muxer_needs_sound(const AVOutputFormat *container);

/* Zero-initialise to start. */
struct muxer {
  AVFormatContext *output;    /* not owned */
  struct muxer_track *tracks; /* one for each stream of output */
  int64_t flushed;            /* clip time up to which everything was given to the system, in AV_TIME_BASE units */
  bool begun;                 /* flushed is known */
  long refused;   /* packets of sound that the container does not take: damaged, or of another codec than their track */
  bool fragments; /* MP4 and MOV: a flush ends a fragment, and the first one writes the index before it */
};

/* How much of what has to be found again packet is: bytes of sound, which some containers cut into other packets, else
 * packets, whose bytes they may change. */
int64_t muxer_units(const AVCodecParameters *codec, const AVPacket *packet);

/* After all streams were added to output and before its header is written. Returns 0 or an FFmpeg error code, as all of
 * these do. */
int muxer_open(struct muxer *muxer, AVFormatContext *output);
/* True if a packet that begins at so many seconds lies before all times that the container has: its muxer would move
 * the pictures and all the sound to make room for what nobody is to hear. */
bool muxer_is_too_early(const struct muxer *muxer, const AVStream *stream, double begin);
/* Moves a packet by what its container puts before time 0, where its muxer leaves that to others: FFmpeg's older ones
 * of Matroska do for Opus. Times are in time_base. */
void muxer_make_room(const struct muxer *muxer, const AVStream *stream, AVPacket *packet, AVRational time_base);
/* Takes what packet refers to. Sound at the time of the packet before it, as clocks of milliseconds have it, is put one
 * tick behind that where the container takes rising times alone. */
int muxer_write(struct muxer *muxer, AVPacket *packet);
/* Writes what is held back, after the last packet. */
int muxer_complete(struct muxer *muxer);

/* Whether it is time for muxer_flush before this packet of video is written. */
bool muxer_is_due(struct muxer *muxer, const AVPacket *packet);
/* Everything that comes before packet goes to the system. more: streams that lack packets may still get some. */
int muxer_flush(struct muxer *muxer, const AVPacket *packet, bool more);
/* Whether this stream has had no packet yet. The index of MP4 is better written with one of each. */
bool muxer_lacks(const struct muxer *muxer, int stream);
void muxer_close(struct muxer *muxer);

#endif
