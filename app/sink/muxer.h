/* Writes packets into a container and counts them. Every half second of the output, data is handed to the operating
 * system, so that the file is playable up to there if the process is killed. The sink's thread makes all calls.
 * Functions that return int return 0 or an FFmpeg error code. */
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

/* True if the container rounds times of sound to milliseconds, and each packet's time must be greater than that of the
 * packet before. Packets shorter than a millisecond would then get times that are too late, more and more so. */
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

/* Returns how much a packet counts when a written file is compared with what the muxer got. Sound other than AAC counts
 * by bytes, because some containers divide it into other packets. AAC, subtitles and video count 1 per packet, or 0 if
 * empty, because containers may change their bytes. */
int64_t muxer_units(const AVCodecParameters *codec, const AVPacket *packet);

/* Prepares the muxer for writing to `output`. Called after all streams were added to `output` and before the header is
 * written. Returns 0 or an FFmpeg error code; the caller must call muxer_close in both cases. */
int muxer_open(struct muxer *muxer, AVFormatContext *output);
/* Returns how many seconds of sound before time 0 must be written so that the decoder can begin (preroll.h). Players do
 * not play this sound in MP4 (edit list), nor Opus in Matroska (header). In other containers they would, so the result
 * is 0; except for MP3, if the container can store sound before time 0. */
double muxer_preroll(const AVFormatContext *output, const AVStream *stream);
/* True if a packet of this stream must be left out, because it begins before the first time that the container can
 * store; most muxers would otherwise shift pictures and sound. begin, end: the packet's times in seconds. MPEG's
 * streams can begin at any time: there a packet stays if it ends after time 0 or the decoder needs it. In containers
 * without times of sound (muxer_counts_sound) it stays if most of it is after time 0. */
bool muxer_is_too_early(const struct muxer *muxer, const AVStream *stream, double begin, double end);
/* Shifts the packet's times, in units of time_base, by the length of the sound before time 0, where FFmpeg's muxer does
 * not: Opus in Matroska before FFmpeg 6. In containers without times of sound (muxer_counts_sound), moves a packet that
 * begins before time 0 to time 0. */
void muxer_make_room(const struct muxer *muxer, const AVStream *stream, AVPacket *packet, AVRational time_base);
/* Writes a packet and takes over its reference. In a container with a clock in milliseconds, two packets of sound may
 * have the same time; if times must rise, the second one is moved by a tick. If FFmpeg's muxer refuses the packet,
 * counts it (refused, refused_others) and returns 0, unless it must be one of the pictures. */
int muxer_write(struct muxer *muxer, AVPacket *packet);
/* Writes the packets (at most one for each stream) that muxer_write has kept in muxer_track.held until the next packet
 * of their stream. Called after the last packet. Returns 0 or an FFmpeg error code. */
int muxer_complete(struct muxer *muxer);

/* True if muxer_flush is to be called before this packet of video is written: half a second of clip time has passed or,
 * with fragments, the packet is a key frame. */
bool muxer_is_due(struct muxer *muxer, const AVPacket *packet);
/* Hands all packets before `packet`, also held ones, to the operating system. Returns 1 if it did; 0 if it waits for
 * streams without a packet, or if this output is never flushed (MXF, GXF, most streams); or a negative FFmpeg code.
 * more: streams without a packet may still get one. The first flush of MP4, which writes the index, then waits for them
 * for up to 10 s of clip time. */
int muxer_flush(struct muxer *muxer, const AVPacket *packet, bool more);
/* True if no packet of this stream was written yet. MP4's index is best written when each stream has a packet, because
 * more players can read such a file. */
bool muxer_lacks(const struct muxer *muxer, int stream);
/* Frees all that the muxer holds, except `output`. Accepts a zeroed struct. */
void muxer_close(struct muxer *muxer);

#endif
