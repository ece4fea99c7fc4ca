/* What the files of the FFmpeg source share: ffmpeg_input.c opens the input, ffmpeg_about.c knows what is in it,
 * ffmpeg_decode.c reads and decodes packets, ffmpeg_seek.c goes elsewhere in it, ffmpeg_loop.c from its end to its
 * start, and source_ffmpeg.c chooses among the decoded frames and gives them out. */
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

/* Of a looping input. Times are in the stream's time base. */
struct rounds {
  bool sought;   /* reading is at the start again, and no packet of video has come from there */
  bool unsure;   /* it may be behind the start, as below */
  bool held;     /* from->packet begins the next round, and waits until the decoder has given out all */
  bool ahead;    /* the decoder has packets of the next round, and has given no frame of it */
  bool timeless; /* a packet had no time, or an absurd one */
  int64_t sent_shift, given_shift; /* added to the file's times in the decoder: of packets, of frames */
  int64_t begin, end;              /* in the decoder: of the newest round's times, and behind all of them */
  int64_t lowest, last;            /* of the file's times so far, and of those that are shown */
  int64_t next_shift;              /* loop_shift of the next round, as far as its packets can know */
};

/* The decoder has forgotten the times that are known of rounds. */
static inline void rounds_reset(struct rounds *rounds) {
  *rounds = (struct rounds){.lowest = INT64_MAX, .last = INT64_MIN, .end = INT64_MIN};
}

struct ffmpeg_source {
  struct source source;
  struct source_options options;
  char *spec;
  AVFormatContext *input;
  struct pipe_input *pipe;   /* that input reads from; NULL: none */
  struct pictures *pictures; /* of a sequence, which are read in place of input's packets; NULL: it is none */
  int64_t number_time;       /* time in the sequence of the picture that was given out last */
  struct decoder *decoder;
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* belongs to input */
  AVStream *sound;  /* likewise; NULL: there is none, or nobody wants it */
  struct convert convert;
  int32_t matrix[9];       /* that convert has: FFmpeg's display matrix */
  struct source_info info; /* as it was at opening */
  struct completeness completeness;
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
  bool untold;        /* that the output will lack transparency, once a picture has some */
  bool animated_webp; /* came, which FFmpeg may be unable to decode */
  bool gave_up;       /* too much damage in a row */
  bool ended_early;   /* at the end of the part asked for */
  bool unsure;        /* a seek may have landed too late, and no frame has come yet to tell */
  bool seeks_early;   /* it had, and an earlier key frame is looked for */
  int64_t origin;     /* of frame.pts, in the stream's time base */
  bool has_origin;
  int64_t loop_shift; /* added to timestamps, so that they go on rising when the file starts again */
  struct rounds rounds;
  struct frame_clock clock;
  struct list_cuts cuts;
  struct joins joins; /* of what is read; a source that paces itself has none */
  /* The frame after `frame`, decoded before its turn for the sake of its time */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* what decoding it gave; -1: ahead_err */
  struct error ahead_err;
  uint64_t serial;
  uint64_t rewound_at; /* serial when it last went back to its start */
  atomic_long damaged; /* asked for by other threads */
  int damage_in_a_row;
  int damage_near; /* above 0: one of the last packets of video was marked as damaged, and is counted */
  int read_error;  /* FFmpeg's code of what reading the input failed with; 0: nothing did */
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

/* How the frame wants to be turned, for convert, or where it does not say, how the file does. frame NULL: as far as
 * known before the first. */
void about_orientation(struct ffmpeg_source *from, const AVFrame *frame);
/* Fills what else is known before the first frame: the clock, info. */
void about_settle(struct ffmpeg_source *from);
/* Fills what info says of its size and shape, as far as decoder and convert know by now. */
void about_shape(struct ffmpeg_source *from);
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

/* To so much further than the first frame asked for (source_options), or before it. FFmpeg's codes. */
int seek_resume(struct ffmpeg_source *from);
int seek_beginning(struct ffmpeg_source *from);
/* To the first frame asked for or before it, of the input alone: the decoder is not flushed. FFmpeg's codes. */
int seek_to_start(struct ffmpeg_source *from, bool *unsure);
/* What comes from the input begins anew: the decoder forgets what it has. */
void seek_landed(struct ffmpeg_source *from, bool unsure);
/* Whether a seek landed behind the frame asked for, which the first frame's time shows; then all is read from the
 * beginning. */
bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_loop.c --- */

/* Where the input has ended: whether it is read from its start now, while the decoder goes on. */
bool ffmpeg_loop_go_on(struct ffmpeg_source *from);
/* Where the part asked for has ended: the same, or it is done already. What the decoder still has of this round comes
 * out first. */
bool ffmpeg_loop_cut_off(struct ffmpeg_source *from);
/* Before the decoder gets a packet of video: gives it the times that it has there. False: it is from->rounds.held. */
bool ffmpeg_loop_take_packet(struct ffmpeg_source *from, AVPacket *packet);
/* The decoder is empty: the packet that is held begins a round in it. */
void ffmpeg_loop_flush(struct ffmpeg_source *from);
/* Where the input has ended and the decoder is empty: back to the start, with a decoder that is flushed. */
bool ffmpeg_loop_again(struct ffmpeg_source *from);
/* A frame out of the decoder: gives it the file's times. */
void ffmpeg_loop_take_frame(struct ffmpeg_source *from, AVFrame *frame);
/* loop_shift for what is read now. */
int64_t ffmpeg_loop_reading_shift(const struct ffmpeg_source *from);

#endif
