/* What the files of the FFmpeg source share: ffmpeg_input.c opens the input, ffmpeg_about.c knows what is in it,
 * ffmpeg_decode.c reads and decodes packets, ffmpeg_seek.c goes elsewhere in it, and source_ffmpeg.c chooses among the
 * decoded frames and gives them out. */
#ifndef APP_SOURCE_FFMPEG_SOURCE_H
#define APP_SOURCE_FFMPEG_SOURCE_H

#include <libavcodec/avcodec.h>

#include "app/source/arrivals.h"
#include "app/source/convert.h"
#include "app/source/coverage.h"
#include "app/source/decoder.h"
#include "app/source/ffmpeg_util.h"
#include "app/source/frame_clock.h"
#include "app/source/pipe_input.h"
#include "app/source/sound_tap.h"
#include "app/source/source_impl.h"

enum { STAMPS = 64 };

struct ffmpeg_source {
  struct source source;
  struct source_options options;
  char *spec;
  AVFormatContext *input;
  struct pipe_input *pipe; /* that input reads from; NULL: none */
  struct decoder *decoder;
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* belongs to input */
  AVStream *sound;  /* likewise; NULL: there is none, or nobody wants it */
  struct convert convert;
  struct source_info info; /* as it was at opening */
  struct coverage coverage;
  struct arrivals *arrivals; /* of a stream; NULL: packets are read where they are decoded */
  bool watched, opened;      /* silence ends it; input belongs to the thread of arrivals where there is one */
  atomic_int silent_ms;      /* for so long, which is too long; 0: it is not */
  _Atomic int64_t heard_ns;  /* when something came last */
  int64_t heard_bytes;       /* until then, while it is opened; -1: it is not connected yet */
  struct {
    int64_t pts, at_ns;
  } stamps[STAMPS]; /* when the packets of these times came; the newest is stamped - 1 modulo STAMPS */
  unsigned stamped;
  int64_t given_ns; /* when a frame was given out last */
  bool realtime, draining;
  bool gave_up;     /* too much damage in a row */
  bool ended_early; /* at the end of the part asked for */
  bool unsure;      /* a seek may have landed too late, and no frame has come yet to tell */
  int64_t origin;   /* of frame.pts, in the stream's time base */
  bool has_origin;
  int64_t loop_shift; /* added to timestamps, so that they go on rising when the file starts again */
  struct frame_clock clock;
  /* The frame after `frame`, decoded before its turn for the sake of its time */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* what decoding it gave; -1: ahead_err */
  struct error ahead_err;
  uint64_t serial;
  uint64_t rewound_at; /* serial when it last went back to its start */
  atomic_long damaged; /* asked for by other threads */
  int damage_in_a_row;
  int read_error; /* FFmpeg's code of what reading the input failed with; 0: nothing did */
};

/* --- ffmpeg_input.c --- */

int input_open(struct ffmpeg_source *from, struct error *err);
/* Finds the video, its decoder, and the sound where somebody wants it. */
int input_find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err);
bool input_is_stream(const struct ffmpeg_source *from);
bool input_paces_itself(const struct ffmpeg_source *from);
bool input_lends_few(const struct ffmpeg_source *from);
bool input_is_silent(struct ffmpeg_source *from);
int input_say_silent(const struct ffmpeg_source *from, struct error *err);

/* --- ffmpeg_about.c --- */

/* How the file wants to be turned, for convert. */
void about_orientation(struct ffmpeg_source *from);
/* Fills what else is known before the first frame: the clock, info. */
void about_settle(struct ffmpeg_source *from);
/* Width over height of a pixel as it is given out; frame NULL: as far as known before the first. */
double about_aspect(const struct ffmpeg_source *from, AVFrame *frame);
/* The frame's own time in the stream's time base; FRAME_TIME_NONE: it has none. */
int64_t about_time(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_decode.c --- */

int decode_open(struct ffmpeg_source *from, const AVCodec *codec, struct error *err);
/* What the decoder gives out next: 1 with frame filled, 0 at the end, -1. */
int decode_next(struct ffmpeg_source *from, AVFrame *frame, struct error *err);
/* When the packet came that became this frame. */
int64_t decode_arrival(const struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_seek.c --- */

/* To the first frame asked for or before it. FFmpeg's codes. */
int seek_start(struct ffmpeg_source *from);
int seek_resume(struct ffmpeg_source *from); /* so much further (source_options) */
int seek_beginning(struct ffmpeg_source *from);
/* At the end of a looping input: back to its start. */
bool seek_again(struct ffmpeg_source *from);
/* Whether a seek landed behind the frame asked for, which the first frame's time shows; then all is read from the
 * beginning. */
bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame);

#endif
