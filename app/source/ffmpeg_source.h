/* Declares what the files of the FFmpeg source share. ffmpeg_input.c opens the input, ffmpeg_about.c describes it,
 * ffmpeg_decode.c reads and decodes packets, ffmpeg_seek.c seeks, ffmpeg_loop.c goes from the end to the start, and
 * source_ffmpeg.c selects frames and gives them out. The source's thread makes all calls. */
#ifndef APP_SOURCE_FFMPEG_SOURCE_H
#define APP_SOURCE_FFMPEG_SOURCE_H

#include <libavcodec/avcodec.h>

#include "app/source/arrivals.h"
#include "app/source/completeness.h"
#include "app/source/convert.h"
#include "app/source/decoder.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/frame_clock.h"
#include "app/source/joins.h"
#include "app/source/list_cuts.h"
#include "app/source/picture_files.h"
#include "app/source/pipe_input.h"
#include "app/source/sound_tap.h"
#include "app/source/source_impl.h"

enum { STAMPS = 64 };

/* The rounds of a looping input: one round is one pass from the start to the end. The decoder gets the packets of round
 * after round with times that keep rising. Times are in the stream's time base. */
struct rounds {
  bool sought; /* reading has returned to the start, and no packet of video has been read since */
  bool unsure; /* the seek to the start may have led to a position after the start */
  /* ffmpeg_source.packet is the first of the next round, and waits until the decoder has given out all pictures of this
   * one */
  bool held;
  /* the decoder has got packets of the next round, but has not given a frame of it yet */
  bool ahead;
  bool timeless; /* a packet had no time or an absurd one */
  /* decoder's time minus file's time: sent_shift for the packets that are sent now, given_shift for the frames that are
   * given now */
  int64_t sent_shift, given_shift;
  int64_t begin, end; /* in the decoder's times: begin of the round sent last; end of all packets sent */
  /* in the file's times: the lowest of a packet so far; the highest of a packet that is shown */
  int64_t lowest, last;
  int64_t next_shift; /* value that ffmpeg_source.loop_shift will have in the next round */
};

/* Forgets the times of the rounds (passes through a looping input), because the decoder was flushed. */
static inline void rounds_reset(struct rounds *rounds) {
  *rounds = (struct rounds){.lowest = INT64_MAX, .last = INT64_MIN, .end = INT64_MIN};
}

/* One thread at a time uses a source, except for the fields that are atomic. */
struct ffmpeg_source {
  struct source source;
  /* The input. */
  struct source_options options;
  char *spec;
  AVFormatContext *input;
  struct pipe_input *pipe; /* the pipe that input reads from; NULL: none */
  /* The files of a picture sequence, which are read instead of input's packets; NULL: the input is no sequence. */
  struct pictures *pictures;
  int64_t number_time; /* time (place in the sequence, from 0) of the picture given out last */
  /* Decoding and converting. */
  struct decoder *decoder;
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* owned by input */
  AVStream *sound;  /* owned by input; NULL: there is none, or it is not wanted */
  struct convert convert;
  int32_t matrix[9];       /* FFmpeg display matrix from which convert's orientation was set */
  struct source_info info; /* state at opening */
  struct completeness completeness;
  /* Arrival of packets; arrivals' thread stores heard_ns. */
  struct arrivals *arrivals; /* takes packets of a stream; NULL: packets are read when they are decoded */
  /* watched: the source fails if nothing comes for options.read_timeout. opened: the input is open; from then on
   * arrivals' thread alone uses it, if there is one. */
  bool watched, opened;
  /* milliseconds for which nothing had come when that was found to be too long; 0: it never was */
  atomic_int silent_ms;
  _Atomic int64_t heard_ns; /* time (platform_now_ns) at which data came last */
  int64_t heard_bytes;      /* bytes received by heard_ns; used while the input is opened; -1: not connected yet */
  struct {
    int64_t pts, at_ns;
    /* times and arrivals (platform_now_ns) of the last packets; packet number n, from 0, is at n modulo STAMPS */
  } stamps[STAMPS];
  unsigned stamped;
  int64_t given_ns; /* time when a frame was given out last */
  /* The state of reading. */
  bool realtime, draining;
  bool untold;        /* a log line is due at the first picture with transparency, as the output will lack it */
  bool animated_webp; /* an animated WebP was found, which FFmpeg may be unable to decode */
  bool gave_up;       /* too many damaged packets in a row */
  bool ended_early;   /* reading has reached the end of the part that options.duration asks for */
  /* the last seek may have led to a place after the wanted one; the first frame after it will show that */
  bool unsure;
  bool seeks_early; /* a seek did lead to a place after the wanted one, so later seeks aim at an earlier key frame */
  /* Times of frames, in the stream's time base. */
  int64_t origin; /* time of frame.pts 0, in the stream's time base */
  bool has_origin;
  bool reads_up;      /* the input cannot seek: it is read up to the start */
  int64_t loop_shift; /* added to timestamps, so that they rise when the file starts again */
  struct rounds rounds;
  struct frame_clock clock;
  struct list_cuts cuts;
  struct joins joins; /* joins found in the packets that are read (joins.h); unused for a realtime source */
  /* The frame after `frame`, if it was decoded early because its time was needed. */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* what decode_next returned when it decoded `ahead`; if -1, ahead_err has its error */
  struct error ahead_err;
  /* Numbers of frames, and how damaged the input is. */
  uint64_t serial;
  uint64_t rewound_at; /* serial at the last return to the start */
  uint64_t returns;    /* number of returns to the start */
  atomic_long damaged; /* other threads read it */
  int damage_in_a_row;
  /* packets of video for which it still counts as recent that one was marked as damaged; 0: none was */
  int damage_near;
  int read_error; /* FFmpeg code of the error that ended reading; 0: none */
};

/* --- ffmpeg_input.c --- */

/* Opens the demuxer. Returns as ffmpeg_open_input does. */
int input_open(struct ffmpeg_source *from, struct error *err);
/* Finds the video, its decoder, and the sound if the options ask for it. */
int input_find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err);
/* True for a live stream, whose packets arrivals.h takes on its thread as they arrive. */
bool input_is_stream(const struct ffmpeg_source *from);
/* True if the input sets its own pace: a device or a stream. */
bool input_paces_itself(const struct ffmpeg_source *from);
/* True if pictures must be copied at once, because they are memory of a driver that has little. */
bool input_lends_few(const struct ffmpeg_source *from);
/* True if nothing came for longer than options.read_timeout; then silent_ms is set. Called on the source's thread and,
 * by FFmpeg's interrupt callback, on arrivals' thread. */
bool input_is_silent(struct ffmpeg_source *from);
/* Fills err with a message that says for how long the input has sent no data (silent_ms), and returns -1. */
int input_say_silent(const struct ffmpeg_source *from, struct error *err);

/* --- ffmpeg_about.c --- */

/* Sets convert's orientation to that of the frame or else of the file. frame NULL: before the first frame. */
void about_orientation(struct ffmpeg_source *from, const AVFrame *frame);
/* Fills `clock`, and the rest of `info`. Called once at opening, before the first frame is given out. */
void about_settle(struct ffmpeg_source *from);
/* Fills size and shape in info, as far as decoder and convert know them. */
void about_shape(struct ffmpeg_source *from);
/* Returns the width of a pixel over its height, as it is given out. frame NULL: before the first frame. */
double about_aspect(const struct ffmpeg_source *from, AVFrame *frame);
/* Returns the frame's own time in the stream's time base; FRAME_TIME_NONE: it has none. */
int64_t about_time(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_decode.c --- */

/* Opens the decoder. Returns 0, or -1 with err. */
int decode_open(struct ffmpeg_source *from, const AVCodec *codec, struct error *err);
/* Returns 1 with the decoder's next frame in frame, 0 at the end, or -1 with err. */
int decode_next(struct ffmpeg_source *from, AVFrame *frame, struct error *err);
/* Returns when the packet of this frame arrived. */
int64_t decode_arrival(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_seek.c --- */

/* seek_resume seeks to the place where reading begins (source_options.start plus resume) or before it, seek_beginning
 * to the beginning of the input. Both flush the decoder. They return 0 or a negative FFmpeg code. */
int seek_resume(struct ffmpeg_source *from);
int seek_beginning(struct ffmpeg_source *from);
/* Seeks in the input only, to the first frame that was asked for or before it; the decoder is not flushed. Returns an
 * FFmpeg code. */
int seek_to_start(struct ffmpeg_source *from, bool *unsure);
/* Flushes the decoder and forgets its state after a seek. */
void seek_landed(struct ffmpeg_source *from, bool unsure);
/* True if the time of the first frame after a seek shows that the seek led to a place after the wanted frame. The
 * caller then reads everything from the beginning. */
bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_loop.c --- */

/* Called at the input's end: seeks to its start without flushing the decoder. Returns false if that is not possible, or
 * the input does not loop. */
bool ffmpeg_loop_go_on(struct ffmpeg_source *from);
/* Works as ffmpeg_loop_go_on at the end of the part that options.duration asks for. Returns true if the seek was done
 * now or before; the caller then drops the decoder's remaining frames of this round. */
bool ffmpeg_loop_cut_off(struct ffmpeg_source *from);
/* Changes the times of a packet of video from the file's to the decoder's. Returns false if the packet must wait until
 * the decoder is empty; then rounds.held is set. */
bool ffmpeg_loop_take_packet(struct ffmpeg_source *from, AVPacket *packet);
/* Flushes the decoder, which is empty, so that the packet that was held back can begin a round. */
void ffmpeg_loop_flush(struct ffmpeg_source *from);
/* Returns to the start and flushes the decoder, when the input has ended and the decoder is empty. Returns false if it
 * does not loop. */
bool ffmpeg_loop_again(struct ffmpeg_source *from);
/* Changes the times of a frame from the decoder's to the file's. */
void ffmpeg_loop_take_frame(struct ffmpeg_source *from, AVFrame *frame);
/* Returns the loop_shift of the round (a pass through the input) that is being read now, which may be the one after
 * that of the frames. */
int64_t ffmpeg_loop_reading_shift(const struct ffmpeg_source *from);

#endif
