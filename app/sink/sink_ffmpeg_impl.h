/* Declares what the files of the FFmpeg sink share. sink_ffmpeg.c implements the sink's functions and sends frames to
 * the encoder, sink_ffmpeg_open.c opens target, encoder and muxer, sink_ffmpeg_kept.c copies the pictures of unfinished
 * files to the beginning of the output, and sink_ffmpeg_packets.c writes packets. */
#ifndef APP_SINK_SINK_FFMPEG_IMPL_H
#define APP_SINK_SINK_FFMPEG_IMPL_H

#include <libavformat/avformat.h>

#include "app/sink/encoder.h"
#include "app/sink/live_sound.h"
#include "app/sink/muxer.h"
#include "app/sink/part.h"
#include "app/sink/recorder.h"
#include "app/sink/sink.h"
#include "app/sink/side_tracks.h"
#include "app/sink/target.h"
#include "app/sink/whole_files.h"

/* GIF_LEAST: shortest time between two pictures of a GIF, in hundredths of a second. */
enum { GIF_LEAST = 100 / GIF_FPS_MOST };

struct ffmpeg_sink {
  struct sink sink;
  /* The fields of this block describe the target and when waiting for it ends. Only the sink's thread uses the struct;
   * other threads may set *stop. Fields named _ns are times of platform_now_ns. */
  struct target target;
  AVRational time_base; /* unit of frame.pts in seconds */
  const atomic_bool *stop;
  int64_t stopped_ns; /* time when `stop` was first seen to be set; 0: not yet */
  int64_t answer_ns;  /* time until which a receiver must answer; 0: no limit */
  bool unanswered;    /* true: the receiver has not answered in time */
  /* platform_now_ns at which time 0 of the output is sent, if pictures are sent at the pace at which they are shown */
  int64_t started_ns;
  const struct log *log;
  /* The fields of this block serve to encode the frames and to write the packets. */
  AVFormatContext *output;
  AVStream *stream;
  AVPacket *packet;
  /* the newest packet of video; written when the next packet comes, because the last of all packets gets another
   * duration */
  AVPacket *held;
  struct encoder encoder;
  struct muxer muxer;
  /* writes each picture file under a temporary name first; NULL: the output is no sequence of picture files */
  struct whole_files *whole_files;
  struct part part; /* the unfinished file to which the output is written; zeros: the output is written directly */
  struct recorder recorder;
  struct side_tracks *side;
  /* the unfinished file of an earlier render, which `part` replaces; its name is "" if there is none */
  struct part_left left;
  int64_t kept; /* number of pictures that were copied from unfinished files */
  bool joins;   /* true: all pictures are copied from other files */
  /* true: the unfinished file (`part`) has only pictures that are in other files, too, so it is deleted if writing the
   * output fails */
  bool spare;
  bool shard; /* true: the output is one part of a render (--shard), and its manifest stays beside it */
  /* number added to frame.pts, in its unit, for times that count from the clip's beginning even if the source begins
   * later (sink_options.shift) */
  int64_t shift;
  struct live_sound *live_sound;
  /* Times of pictures, in the encoder's time base. */
  /* base_pts: time of the whole render's first picture, from which multiples of the usual duration are counted; 0 until
   * known. is_later: this output is a later part of the render, and base_pts is known from the start */
  int64_t base_pts;
  bool is_later;
  /* first_pts, last_pts: times of the first and the newest picture; step: usual time between two pictures; all in the
   * encoder's time base */
  int64_t first_pts, last_pts, step;
  int64_t end;   /* time at which the last picture ends, in the encoder's time base; 0: it lasts as long as `step` */
  int64_t delay; /* pts minus dts of the first packet, in the encoder's time base; AV_NOPTS_VALUE before it */
  /* The newest picture. If the container cannot store how long a picture lasts, the picture is held so that it can be
   * sent again. */
  struct frame last;
  long sent, written; /* sent: number of pictures sent to the encoder; written: number of packets written to the file */
  /* The following fields say how the container stores pictures. They are set at opening, except `left_out`. */
  bool one_picture; /* true: the output is one image file, without a number placeholder in its name */
  /* file descriptor that keeps the named pipe open to which an image is written; -1: the output is no named pipe */
  int picture_pipe;
  const char *mark; /* text that is written into each PNG (sink_options.mark); NULL: none */
  bool numbered;    /* true: the output is image files whose names contain the picture's time as a number */
  /* a picture that lasts longer than this time, in the encoder's time base, is sent again after it; 0: never */
  int64_t repeat_step;
  /* gif_slots: true: frames come at more than 50 a second, which GIF cannot store, so each fiftieth of a second gets
   * one */
  bool is_gif, gif_slots;
  long left_out; /* number of frames that were dropped because GIF cannot show pictures in such quick succession */
  /* The fields of this block are the state of the output. */
  bool realtime, seekable, header, failed;
  bool broken;         /* true: pictures are missing at the end, so the unfinished file keeps its name */
  bool pipe_unblocked; /* true: standard output was set to non-blocking, which sink_close undoes */
};

/* Opens target, encoder and muxer, and writes the header. Called once, after `target` was chosen. The caller closes the
 * sink also after an error. Returns 0, or -1 with err. */
int ffmpeg_sink_prepare(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err);
/* Copies from the files options->kept, which earlier renders left, the parts that are complete (up to a key frame) to
 * the output. Called once, before the first frame. Returns 0, or -1 with err. */
int ffmpeg_sink_take_parts(struct ffmpeg_sink *to, const struct sink_options *options, struct error *err);
/* Takes over a packet of video in the encoder's time base. Writes the packet that was held before. Then holds the new
 * one or, if the output is live or frames come in real time, writes it at once. Returns 0 or an FFmpeg error code. */
int ffmpeg_sink_take(struct ffmpeg_sink *to, AVPacket *packet);
/* Writes the packet that is held, if there is one. last: true: the packet is the last of all in decoding order. Returns
 * 0 or an FFmpeg error code. */
int ffmpeg_sink_write_held(struct ffmpeg_sink *to, bool last);
/* Lists in the manifest those segments (pictures that can be decoded without the others) that are completely in the
 * file. If this output continues an earlier render's unfinished file `left`, it replaces that file once it has all of
 * its pictures. whole: true: no more packets will come. Returns 0 or an FFmpeg error code. */
int ffmpeg_sink_tell_segments(struct ffmpeg_sink *to, bool whole);
/* Marks the sink as failed, fills err with the reason why FFmpeg could not write (code: FFmpeg's error code), and
 * returns -1. */
int ffmpeg_sink_failed(struct ffmpeg_sink *to, int code, struct error *err);
/* Returns the path of the file that is written: that of the unfinished file, if there is one. */
const char *ffmpeg_sink_path(const struct ffmpeg_sink *to);

#endif
