/* Writes packets into a container and counts them. After every half second of the output's time the data is handed to
 * the operating system, so that the file is playable up to there if the process is killed. The sink's thread makes all
 * calls; functions that return int return 0 or an FFmpeg error code. */
#ifndef APP_SINK_MUXER_H
#define APP_SINK_MUXER_H

#include <libavformat/avformat.h>
#include <stdbool.h>

struct muxer_track {
  int64_t units;    /* amount that was written to this stream: the sum of muxer_units of its packets */
  int64_t duration; /* duration of the last packet, in the stream's time base */
  /* decoding time of the last packet of sound, in the stream's time base; AV_NOPTS_VALUE before the first */
  int64_t dts;
  /* used if `fragments` is set: a packet that waits for the next packet of its stream, from whose time this packet's
   * duration follows */
  AVPacket *held;
};

/* True for MP4, MOV and other formats that FFmpeg's MP4 muxer writes. */
bool muxer_is_mp4(const AVOutputFormat *container);

/* Gives a track of HEVC in MP4 the tag "hvc1", the only one with which Apple's players accept it; other tracks keep
 * theirs. track->extradata must contain the decoder's configuration. */
void muxer_tag_hevc(const AVOutputFormat *container, AVCodecParameters *track);

/* True if the container stores no times of sound. Readers of such files count samples from the first on, so that sound
 * that begins late or has a gap is heard too early. */
bool muxer_counts_sound(const AVOutputFormat *container);
/* True if the container stores no times of its pictures, or times of only a few. Its readers then show them at a
 * constant rate. */
bool muxer_counts_pictures(const AVOutputFormat *container);
/* True for SMPTE's MXF and GXF. FFmpeg's muxer for them writes a picture only after all sound of the same time, orders
 * the packets itself, and leaves out pictures after the end of the sound. */
bool muxer_needs_sound(const AVOutputFormat *container);

/* True if a file of this container can be cut at a key frame and continued from that key frame on, because reading the
 * file gives the same packets that were written, one for each picture. */
bool muxer_keeps_segments(const AVOutputFormat *container);

/* True if the container rounds times of sound to milliseconds and the time of each packet must be greater than that of
 * the packet before. If packets were shorter than a millisecond, their times would run ahead, and the sound would be
 * heard later and later. */
bool muxer_needs_long_packets(const AVOutputFormat *container);

/* Writes packets into one output. Zero-initialise to start. */
struct muxer {
  AVFormatContext *output;    /* FFmpeg's context of the output; not owned */
  struct muxer_track *tracks; /* an array with an element for each stream of `output` */
  int64_t flushed;            /* time of the output up to which data was written to the file, in AV_TIME_BASE units */
  bool begun;                 /* true: the field `flushed` has a value */
  /* numbers of packets that FFmpeg's muxer refused because they are damaged or of another codec than their track: of
   * sound (`refused`), and of other tracks beside the pictures (refused_others) */
  long refused, refused_others;
  bool fragments; /* true (MP4 and MOV): each flush ends a fragment, and the first one also writes the index */
};

/* Returns how much a packet counts when the packets of a written file are compared with those that were sent to the
 * muxer. A packet of sound other than AAC counts by its bytes, because some containers divide such sound into other
 * packets. Any other packet (AAC, subtitles, video) counts 1, or 0 if it is empty, because containers may change its
 * bytes. */
int64_t muxer_units(const AVCodecParameters *codec, const AVPacket *packet);

/* Prepares the muxer for writing to `output`. Called after all streams were added to `output` and before the header is
 * written. Returns 0 or an FFmpeg error code; the caller must call muxer_close in both cases. */
int muxer_open(struct muxer *muxer, AVFormatContext *output);
/* Returns how many seconds of sound before time 0 must be written for this stream, because its decoder needs them to
 * begin (preroll.h). MP4's edit list and, for Opus, Matroska's header keep players from playing that sound. In other
 * containers players would play it; therefore the result is 0, except for MP3, if the container can store sound before
 * time 0. */
double muxer_preroll(const AVFormatContext *output, const AVStream *stream);
/* True if a packet of this stream must be left out because it begins before the first time that the container can
 * store; with such a packet most muxers would shift all pictures and sound. begin, end: the packet's times in seconds.
 * In MPEG's streams, whose times begin anywhere, a packet is kept if it ends after time 0, or if the decoder needs it.
 * In containers without times of sound (muxer_counts_sound) a packet is kept if most of it is after time 0. */
bool muxer_is_too_early(const struct muxer *muxer, const AVStream *stream, double begin, double end);
/* Adds the length of the sound before time 0 to the packet's times, in units of time_base, if FFmpeg's muxer does not
 * do so itself: for Opus in Matroska before FFmpeg 6. In containers without times of sound (muxer_counts_sound), a
 * packet that begins before time 0 is moved to time 0. */
void muxer_make_room(const struct muxer *muxer, const AVStream *stream, AVPacket *packet, AVRational time_base);
/* Writes a packet and takes over its reference. A container whose clock counts milliseconds may give a packet of sound
 * the same time as the one before it; if the container needs rising times, the packet is moved to one tick later. If
 * FFmpeg's muxer refuses the packet, the muxer counts that (refused, refused_others) and returns 0, unless the packet
 * must be one of the pictures. */
int muxer_write(struct muxer *muxer, AVPacket *packet);
/* Writes the packets (at most one for each stream) that muxer_write has kept in muxer_track.held until the next packet
 * of their stream. Called after the last packet. Returns 0 or an FFmpeg error code. */
int muxer_complete(struct muxer *muxer);

/* True if muxer_flush is to be called before this packet of video is written: half a second of clip time has passed or,
 * with fragments, the packet is a key frame. */
bool muxer_is_due(struct muxer *muxer, const AVPacket *packet);
/* Hands all packets before `packet`, including those that wait, to the operating system. Returns 1 if it did; 0 if it
 * waits for streams without a packet, or if this output is never flushed (MXF, GXF, most streams); or a negative FFmpeg
 * code. more: streams without a packet may still get one; then the first flush of MP4, which writes the index, waits
 * for them for up to 10 s of clip time. */
int muxer_flush(struct muxer *muxer, const AVPacket *packet, bool more);
/* True if no packet of this stream was written yet. MP4's index is best written when each stream has a packet, because
 * more players can read such a file. */
bool muxer_lacks(const struct muxer *muxer, int stream);
/* Frees all that the muxer holds, except `output`. Accepts a zeroed struct. */
void muxer_close(struct muxer *muxer);

#endif
