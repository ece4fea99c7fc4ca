/* Writes packets into a container. It counts them, and hands data to the system every half second of clip time, so that
 * a file whose process is killed stays playable up to there. The sink's thread makes all calls; those that return int
 * return 0 or an FFmpeg error code. */
#ifndef APP_SINK_MUXER_H
#define APP_SINK_MUXER_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct muxer_track {
  int64_t units;    /* sum of muxer_units of the packets written */
  int64_t duration; /* duration of the last packet, in the stream's time base */
  int64_t dts;      /* decoding time of the last packet of sound; AV_NOPTS_VALUE before the first */
  /* if fragments is set: a packet that is not written before the next one of its stream comes, whose time tells how
   * long this one lasts */
  AVPacket *held;
};

/* True for MP4, MOV and other formats that FFmpeg's MP4 muxer writes. */
bool muxer_is_mp4(const AVOutputFormat *container);

/* True if the container stores no times of sound. Its readers count samples from the first on, so that sound that
 * begins late or has a gap is heard too early. */
bool muxer_counts_sound(const AVOutputFormat *container);
/* True if the container stores times of none or few of its pictures. Its readers show them at a constant rate. */
bool muxer_counts_pictures(const AVOutputFormat *container);
/* True for SMPTE's MXF and GXF. Their muxer writes a picture only when it has all sound of the same time, orders
 * packets itself, and leaves out pictures after the end of the sound. */
bool muxer_needs_sound(const AVOutputFormat *container);

/* True if the container rounds times of sound to milliseconds and takes rising times only: packets that are shorter
 * than that would be heard ever later. */
bool muxer_needs_long_packets(const AVOutputFormat *container);

/* Zero-initialise to start. */
struct muxer {
  AVFormatContext *output;    /* not owned */
  struct muxer_track *tracks; /* an element for each stream of output */
  int64_t flushed;            /* clip time up to which data was handed to the system, in AV_TIME_BASE units */
  bool begun;                 /* flushed has a value */
  long refused;   /* packets of sound that the muxer refused: damaged, or of another codec than their track */
  bool fragments; /* MP4 and MOV: each flush ends a fragment, and the first one also writes the index */
};

/* Returns how much a packet counts when the packets of a written file are compared with those that were sent to the
 * muxer. Sound counts by its bytes, because some containers divide it into other packets. A packet of video or AAC
 * counts 1, because containers may change its bytes. */
int64_t muxer_units(const AVCodecParameters *codec, const AVPacket *packet);

/* Prepares for writing to output. The caller calls it after all streams were added to output and before its header is
 * written, and calls muxer_close also after an error. */
int muxer_open(struct muxer *muxer, AVFormatContext *output);
/* True if a packet of this stream, which begins and ends at these times (seconds), is to be left out because it begins
 * before the first time that the container can store. Most muxers would then shift all pictures and sound. In MPEG's
 * streams, whose times begin anywhere, a packet is kept if it ends after time 0; in containers that count sound, if
 * most of it lies there. */
bool muxer_is_too_early(const struct muxer *muxer, const AVStream *stream, double begin, double end);
/* Adds to a packet's times (in time_base) the length of the sound that begins before time 0, where the muxer does not
 * do so itself. That is the case for Opus in Matroska before FFmpeg 6. In containers that count sound, a packet that
 * begins before time 0 begins there. */
void muxer_make_room(const struct muxer *muxer, const AVStream *stream, AVPacket *packet, AVRational time_base);
/* Writes a packet and takes over its reference. If sound does not come later than the packet before it (clocks of
 * milliseconds round so) and the container takes rising times only, it is moved to one tick after that. */
int muxer_write(struct muxer *muxer, AVPacket *packet);
/* Writes the packets that are held back. The caller calls it after the last packet. */
int muxer_complete(struct muxer *muxer);

/* True if muxer_flush is to be called before this packet of video is written: half a second of clip time has passed or,
 * with fragments, it is a key frame. */
bool muxer_is_due(struct muxer *muxer, const AVPacket *packet);
/* Hands all packets that come before `packet`, held ones too, to the system. more: streams that have no packet yet may
 * still get one, so MP4's first flush, which writes the index, waits for them for up to 10 s of clip time. */
int muxer_flush(struct muxer *muxer, const AVPacket *packet, bool more);
/* True if this stream has had no packet yet. MP4's index is best written when each stream has one, because more players
 * can read it then. */
bool muxer_lacks(const struct muxer *muxer, int stream);
/* Frees what the muxer holds, but not output. Accepts zeros. */
void muxer_close(struct muxer *muxer);

#endif
