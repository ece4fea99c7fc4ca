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

/* The rounds of a looping input. Times are in the stream's time base. */
struct rounds {
  bool sought;                     /* reading is at the start again, and no packet of video came since */
  bool unsure;                     /* the seek to the start may have landed after it */
  bool held;                       /* from->packet begins the next round, and waits until the decoder is empty */
  bool ahead;                      /* the decoder has packets of the next round, and gave no frame of it yet */
  bool timeless;                   /* a packet had no time or an absurd one */
  int64_t sent_shift, given_shift; /* offset from the file's times to the decoder's: of packets, of frames */
  int64_t begin, end;              /* decoder's times: begin of the newest round; end of all */
  int64_t lowest, last;            /* file's times: the lowest so far; the last one that is shown */
  int64_t next_shift;              /* loop_shift of the next round, as foreseen */
};

/* Forgets the times of the rounds, because the decoder was flushed. */
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
  int64_t number_time; /* time in the sequence of the picture given out last */
  /* Decoding and converting. */
  struct decoder *decoder;
  AVPacket *packet;
  AVFrame *frame;
  AVStream *stream; /* owned by input */
  AVStream *sound;  /* owned by input; NULL: there is none, or it is not wanted */
  struct convert convert;
  int32_t matrix[9];       /* FFmpeg display matrix that convert is set to */
  struct source_info info; /* state at opening */
  struct completeness completeness;
  /* Arrival of packets; arrivals' thread stores heard_ns. */
  struct arrivals *arrivals; /* takes packets of a stream; NULL: packets are read when they are decoded */
  /* `watched`: silence ends the source. `opened`: arrivals' thread, if there is one, uses input. */
  bool watched, opened;
  atomic_int silent_ms;     /* length of a silence that was too long; 0: there was none */
  _Atomic int64_t heard_ns; /* time when something came last */
  int64_t heard_bytes;      /* bytes that had come by then, while it is opened; -1: not connected yet */
  struct {
    int64_t pts, at_ns;
  } stamps[STAMPS]; /* arrival times of packets; the newest is at stamped - 1 modulo STAMPS */
  unsigned stamped;
  int64_t given_ns; /* time when a frame was given out last */
  /* The state of reading. */
  bool realtime, draining;
  bool untold;        /* a message is due when a picture has transparency, which the output will lack */
  bool animated_webp; /* an animated WebP was found, which FFmpeg may be unable to decode */
  bool gave_up;       /* too many damaged packets in a row */
  bool ended_early;   /* the part that was asked for has ended */
  bool unsure;        /* a seek may have landed too late, which its first frame will show */
  bool seeks_early;   /* a seek has landed too late, so later ones look for an earlier key frame */
  /* Times of frames, in the stream's time base. */
  int64_t origin; /* time of frame.pts 0, in the stream's time base */
  bool has_origin;
  bool reads_up;      /* the input cannot seek: it is read up to the start */
  int64_t loop_shift; /* added to timestamps, so that they rise when the file starts again */
  struct rounds rounds;
  struct frame_clock clock;
  struct list_cuts cuts;
  struct joins joins; /* joins in what is read; unused for a realtime source */
  /* The frame after `frame`, if it was decoded early because its time was needed. */
  AVFrame *ahead;
  bool looked_ahead;
  int ahead_got; /* result of decoding it; -1: see ahead_err */
  struct error ahead_err;
  /* Counts and damage. */
  uint64_t serial;
  uint64_t rewound_at; /* serial at the last return to the start */
  atomic_long damaged; /* other threads read it */
  int damage_in_a_row;
  int damage_near; /* above 0: one of the last packets of video was marked as damaged, and was counted */
  int read_error;  /* FFmpeg code of the error that ended reading; 0: none */
};

/* --- ffmpeg_input.c --- */

/* Opens the demuxer. Returns as ffmpeg_open_input does. */
int input_open(struct ffmpeg_source *from, struct error *err);
/* Finds the video, its decoder, and the sound if the options ask for it. */
int input_find_stream(struct ffmpeg_source *from, const AVCodec **codec, struct error *err);
/* True if packets are taken as they arrive (arrivals.h). */
bool input_is_stream(const struct ffmpeg_source *from);
/* True if the input sets its own pace: a device or a stream. */
bool input_paces_itself(const struct ffmpeg_source *from);
/* True if pictures must be copied at once, because they are memory of a driver that has little. */
bool input_lends_few(const struct ffmpeg_source *from);
/* True if nothing came for longer than the read timeout; then silent_ms is set. */
bool input_is_silent(struct ffmpeg_source *from);
/* Fills err with the length of the silence, and returns -1. */
int input_say_silent(const struct ffmpeg_source *from, struct error *err);

/* --- ffmpeg_about.c --- */

/* Sets convert's orientation to that of the frame or else of the file. frame NULL: before the first frame. */
void about_orientation(struct ffmpeg_source *from, const AVFrame *frame);
/* Fills the clock and the rest of info, before the first frame. */
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

/* These seek: to the place to resume at (source_options), or before it; and to the beginning of the input. They return
 * an FFmpeg code. */
int seek_resume(struct ffmpeg_source *from);
int seek_beginning(struct ffmpeg_source *from);
/* Seeks in the input only, to the first frame that was asked for or before it; the decoder is not flushed. Returns an
 * FFmpeg code. */
int seek_to_start(struct ffmpeg_source *from, bool *unsure);
/* Flushes the decoder and forgets its state after a seek. */
void seek_landed(struct ffmpeg_source *from, bool unsure);
/* True if a seek landed after the wanted frame, as its first frame's time shows. Then everything is read from the
 * beginning. */
bool seek_landed_late(struct ffmpeg_source *from, const AVFrame *frame);

/* --- ffmpeg_loop.c --- */

/* Continues at the input's start after its end, while the decoder goes on. Returns false if it cannot. */
bool ffmpeg_loop_go_on(struct ffmpeg_source *from);
/* Does the same at the end of the part that was asked for, or returns true if it was done. The decoder first gives out
 * what it has of this round. */
bool ffmpeg_loop_cut_off(struct ffmpeg_source *from);
/* Moves a packet of video to its times in the decoder. Returns false if the packet is held back (from->rounds.held). */
bool ffmpeg_loop_take_packet(struct ffmpeg_source *from, AVPacket *packet);
/* Begins a round with the packet that was held back; the decoder is empty. */
void ffmpeg_loop_flush(struct ffmpeg_source *from);
/* Returns to the start and flushes the decoder, when the input has ended and the decoder is empty. Returns false if it
 * does not loop. */
bool ffmpeg_loop_again(struct ffmpeg_source *from);
/* Gives a frame from the decoder the file's times. */
void ffmpeg_loop_take_frame(struct ffmpeg_source *from, AVFrame *frame);
/* Returns loop_shift for the packets that are read now. */
int64_t ffmpeg_loop_reading_shift(const struct ffmpeg_source *from);

#endif
