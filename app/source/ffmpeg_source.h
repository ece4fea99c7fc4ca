/* Declares what the files of the FFmpeg source share. ffmpeg_input.c opens the input, ffmpeg_about.c describes the
 * input, ffmpeg_decode.c reads and decodes packets, ffmpeg_seek.c seeks, ffmpeg_loop.c goes from the end to the start,
 * and source_ffmpeg.c selects frames and gives them out. The source's thread makes all calls. */
#ifndef APP_SOURCE_FFMPEG_SOURCE_H
#define APP_SOURCE_FFMPEG_SOURCE_H

#include <libavcodec/avcodec.h>

#include "app/source/arrivals.h"
#include "app/source/completeness.h"
#include "app/source/convert.h"
#include "app/source/decoder.h"
#include "app/source/deinterlacer.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/frame_clock.h"
#include "app/source/joins.h"
#include "app/source/list_cuts.h"
#include "app/source/picture_files.h"
#include "app/source/pipe_input.h"
#include "app/source/side_feed.h"
#include "app/source/sound_tap.h"
#include "app/source/source_impl.h"

enum { STAMPS = 64 };

/* State of the repetitions of a looping input. A round is one pass from the start to the end. The packets that the
 * decoder gets have times that keep rising over all rounds. Times are in the stream's time base. */
struct rounds {
  bool sought; /* true: reading has gone back to the input's start, and has read no packet of video since then */
  bool unsure; /* true: the seek to the start may have led to a position after the start */
  /* true: ffmpeg_source.packet is the first packet of the next pass through the input, and waits until the decoder has
   * given out all pictures of the present pass */
  bool held;
  /* true: the decoder has got packets of the next pass through the input, but has not given a frame of it yet */
  bool ahead;
  bool timeless; /* true: a packet had no time, or an invalid one */
  /* time in the decoder minus time in the file, in the stream's time base. sent_shift: for packets that are sent to the
   * decoder now; given_shift: for frames that the decoder gives now */
  int64_t sent_shift, given_shift;
  /* packet times as sent to the decoder, in the stream's time base. begin: start of the current pass through the input;
   * end: end of all packets sent so far */
  int64_t begin, end;
  /* packet times in the file, in the stream's time base. lowest: the lowest so far; last: the highest of the packets
   * that are shown */
  int64_t lowest, last;
  /* number that will be added to the file's timestamps in the next pass through the looping input; it becomes
   * ffmpeg_source.loop_shift when that pass begins */
  int64_t next_shift;
};

/* Forgets the times of the rounds (passes through a looping input), because the decoder was flushed. */
static inline void rounds_reset(struct rounds *rounds) {
  *rounds = (struct rounds){.lowest = INT64_MAX, .last = INT64_MIN, .end = INT64_MIN};
}

/* One thread at a time uses a source, except for the fields that are atomic. */
struct ffmpeg_source {
  struct source source;
  /* The fields of this block describe the input. */
  struct source_options options;
  char *spec;
  AVFormatContext *input;
  struct pipe_input *pipe; /* the pipe that `input` reads from; NULL: none */
  /* The files of a picture sequence, which are read instead of packets of `input`; NULL: the input is no sequence. */
  struct pictures *pictures;
  /* for a picture sequence: time of the last returned picture, which is its position in the sequence, from 0 */
  int64_t number_time;
  /* The fields of this block are for decoding and converting. */
  struct decoder *decoder;
  struct deinterlacer *deinterlacer; /* deinterlacer of interlaced frames; NULL: no interlaced frame has come, or such
                                      * frames are used as they are */
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* the stream of the video, owned by `input` */
  AVStream *sound;  /* the stream of sound, owned by `input`; NULL: the input has no sound, or sound is not wanted */
  struct convert convert;
  int32_t matrix[9];       /* FFmpeg's display matrix, from which the orientation in `convert` was set */
  struct source_info info; /* what was known about the source when it was opened */
  struct completeness completeness;
  /* The fields of this block are for the arrival of packets. The thread of `arrivals` writes heard_ns. */
  struct arrivals *arrivals; /* thread that takes the packets of a stream as they arrive; NULL: packets are read when
                              * they are decoded */
  /* watched: true: the source fails if no data comes for options.read_timeout. opened: true: the input is open; from
   * then on only the thread of `arrivals` uses the input, if there is one. */
  bool watched, opened;
  /* milliseconds without data after which the input was found to be silent; 0: it never was */
  atomic_int silent_ms;
  _Atomic int64_t heard_ns; /* time (platform_now_ns) at which data came last */
  /* number of bytes received until heard_ns; used while the input is being opened; -1: not connected yet */
  int64_t heard_bytes;
  struct {
    int64_t pts, at_ns;
    /* timestamps and times of arrival (platform_now_ns) of the last packets; packet number n, from 0, is at n modulo
     * STAMPS */
  } stamps[STAMPS];
  unsigned stamped;
  int64_t given_ns; /* time (platform_now_ns) when a frame was given out last */
  /* The fields of this block are the state of reading. realtime: the input sets its own pace, as a camera or a
   * stream does; draining: the decoder was told that no more packets come. */
  bool realtime, draining;
  /* true: an interlaced frame was decoded, and a log line has said whether such frames are deinterlaced */
  bool met_fields;
  /* true: at the first picture with transparency a line must be logged, because the output will lack transparency */
  bool untold;
  bool animated_webp; /* true: the input is an animated WebP, which FFmpeg may be unable to decode */
  bool gave_up;       /* true: reading was ended because of too many damaged packets in a row */
  bool ended_early;   /* true: reading has reached the end of the part that options.duration asks for */
  /* true: the last seek may have led to a time after the wanted one; the time of the first frame after the seek will
   * tell */
  bool unsure;
  /* true: a seek has led to a time after the wanted one, so later seeks go to an earlier key frame */
  bool seeks_early;
  /* The fields of this block are for times of frames, in the stream's time base. */
  int64_t origin; /* time of frame.pts 0, in the stream's time base */
  bool has_origin;
  bool reads_up;      /* true: the input cannot seek, so its packets up to the requested start are read and dropped */
  int64_t loop_shift; /* number that is added to timestamps, so that they rise when a looping input starts again */
  struct rounds rounds;
  struct frame_clock clock;
  struct list_cuts cuts;
  /* the joins (timestamp discontinuities, joins.h) in the packets read so far; unused for a realtime source */
  struct joins joins;
  /* The next four fields are for the frame that follows `frame`. looked_ahead: true: this frame was decoded in advance,
   * because its time or its shape was needed before `frame` could be given out. */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* what decode_next returned when it decoded the frame `ahead`; if -1, ahead_err has its error */
  struct error ahead_err;
  /* The fields of this block count frames, returns to the start of the input, and damaged packets and frames. */
  uint64_t serial;
  uint64_t rewound_at; /* number of frames that had been read (`serial`) at the last return to the input's start */
  uint64_t returns;    /* number of times that reading returned to the start of the input */
  atomic_long damaged; /* number of packets and frames that were damaged; other threads read it */
  int damage_in_a_row;
  /* number of further video packets that still count as near the last damaged packet (see note_time); 0: none does */
  int damage_near;
  int read_error; /* FFmpeg code of the error that ended reading; 0: none */
};

/* --- ffmpeg_input.c: opening the input --- */

/* Opens FFmpeg's demuxer for from->spec. Returns 0, or SOURCE_NOT_YET or -1 with err, as ffmpeg_open_input does. */
int input_open(struct ffmpeg_source *from, struct error *err);
/* Finds the video, its decoder, and the sound if the options ask for it. Returns 0, or -1 with err. */
int input_find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err);
/* True for a stream or a pipe in live mode: arrivals.h takes its packets on a thread of its own as they arrive. */
bool input_is_stream(const struct ffmpeg_source *from);
/* True if the input sets its own pace: a device, a live stream, a pipe in live mode, or a lavfi graph with the filter
 * realtime. */
bool input_paces_itself(const struct ffmpeg_source *from);
/* True if pictures must be copied at once, because they are in buffers of a device's driver, which has only few
 * buffers. */
bool input_lends_few(const struct ffmpeg_source *from);
/* True if the input has sent no data for longer than options.read_timeout (five times that while connecting); then sets
 * silent_ms. FFmpeg's interrupt callback calls this on the source's thread and on that of arrivals.h. */
bool input_is_silent(struct ffmpeg_source *from);
/* Fills err with a message that says for how long the input has sent no data (silent_ms), and returns -1. */
int input_say_silent(const struct ffmpeg_source *from, struct error *err);

/* --- ffmpeg_about.c: describing the input and its frames --- */

/* Sets `convert`'s orientation to that of the frame or else of the file. `frame` NULL: before the first frame. */
void about_orientation(struct ffmpeg_source *from, const AVFrame *frame);
/* Fills from->joins, from->clock, from->origin, and the fields of from->info that depend on the opened input. Called
 * once at opening, before the first frame is given out. */
void about_settle(struct ffmpeg_source *from);
/* Fills size and shape in from->info, as far as from->decoder and from->convert know them. */
void about_shape(struct ffmpeg_source *from);
/* Returns the width of a pixel divided by its height in the source's frames. `frame` NULL: before the first frame. */
double about_aspect(const struct ffmpeg_source *from, AVFrame *frame);
/* Returns the time that the input gives for the frame, in the stream's time base; FRAME_TIME_NONE: it gives none. */
int64_t about_time(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_decode.c: reading and decoding packets --- */

/* Opens the decoder. Returns 0, or -1 with err. */
int decode_open(struct ffmpeg_source *from, const AVCodec *codec, struct error *err);
/* Returns 1 with the next decoded frame in `frame`, 0 at the end or if reading was interrupted, or -1 with err. */
int decode_next(struct ffmpeg_source *from, AVFrame *frame, struct error *err);
/* Reads on, without decoding, until options.feed has the sound up to this time, in seconds of frame.pts. Called when no
 * more frames are wanted before the input's end. */
void decode_feed_rest(struct ffmpeg_source *from, double seconds);
/* Returns the time (platform_now_ns) when the packet of this frame arrived; if that packet is not found among the last
 * ones (stamps), the time when the newest packet of video arrived. */
int64_t decode_arrival(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_seek.c: seeking --- */

/* seek_resume seeks to the position where reading begins (source_options.start plus resume) or before it;
 * seek_beginning seeks to the beginning of the input. Both flush the decoder. They return 0 or a negative FFmpeg
 * code. */
int seek_resume(struct ffmpeg_source *from);
int seek_beginning(struct ffmpeg_source *from);
/* Seeks in the input only, to the first frame that was asked for or before it; the decoder is not flushed. Returns an
 * FFmpeg code. */
int seek_to_start(struct ffmpeg_source *from, bool *unsure);
/* Flushes the decoder and resets the state of reading after a seek. unsure: the seek may have led to a time after the
 * wanted one. */
void seek_landed(struct ffmpeg_source *from, bool unsure);
/* Called with the first frame after a seek that may have gone too far. If it has, seeks again: to an earlier key frame
 * or, without an index, to the input's beginning. Returns true if that seek succeeded, and the caller drops the frame;
 * otherwise false. */
bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_loop.c: starting a looping input again at its end --- */

/* Called at the input's end: seeks to its start without flushing the decoder. Returns false if that is not possible, or
 * the input does not loop. */
bool ffmpeg_loop_go_on(struct ffmpeg_source *from);
/* Called at the end of the part that options.duration selects. If the input loops, seeks to the part's start without
 * flushing the decoder. Returns true once that seek was done; the decoder may still give frames after the part's end,
 * which the caller drops. */
bool ffmpeg_loop_cut_off(struct ffmpeg_source *from);
/* Replaces a video packet's times in the file by the times with which it is sent to the decoder, which keep rising
 * when a looping input starts again. Returns false if the packet must wait until the decoder has given out all frames;
 * then rounds.held is set. */
bool ffmpeg_loop_take_packet(struct ffmpeg_source *from, AVPacket *packet);
/* Resets the decoder after its last frame was received, so that the packet that was held back (rounds.held) can start
 * the next pass through the looped input. */
void ffmpeg_loop_flush(struct ffmpeg_source *from);
/* Seeks to the start of the input and flushes the decoder. Called when the input has ended and all frames were
 * received. Returns false if the input does not loop, or cannot be started again. */
bool ffmpeg_loop_again(struct ffmpeg_source *from);
/* Replaces the times that the decoder gives to a frame by the times in the file. The decoder's times rise from pass to
 * pass through a looping input. */
void ffmpeg_loop_take_frame(struct ffmpeg_source *from, AVFrame *frame);
/* Returns the number that is added to the timestamps of packets read now from a looping input, so that times rise from
 * pass to pass. While the decoder still gives frames of one pass (whose number is loop_shift), packets may already be
 * of the next one. */
int64_t ffmpeg_loop_reading_shift(const struct ffmpeg_source *from);

#endif
