/* Frames to packets: which FFmpeg encoder, and how it is set up. */
#ifndef APP_SINK_ENCODER_H
#define APP_SINK_ENCODER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "app/sink/sink.h"

struct SwsContext;
struct palette;

/* A picture that the encoder has by reference. */
struct lent_frame {
  struct frame frame;
  atomic_bool used;
};

/* Zero-initialise to start. It must stay where it is. */
struct encoder {
  AVCodecContext *context;
  struct lent_frame lent[SINK_HOLDS]; /* to encoders that only read, and have no need for memory of FFmpeg's */
  struct SwsContext *scaler;          /* where the encoder does not take the frames' pixels, or their size */
  enum AVPixelFormat format;          /* that the scaler makes */
  int from_width, from_height;        /* that it is for */
  struct palette *palette;            /* where the encoder takes 256 colours */
  AVFrame *scaled, *borrowed, *indexed;
  AVFrame *fitted; /* a picture of another shape, before it lies between bars; else NULL */
  bool low_delay;
};

/* The engine's format that suits what encoder_open will open: RGBA where the encoder takes RGB, so that its chroma is
 * whole, else YUV420P. codec: as options', may be NULL. */
enum pixel_format encoder_pixels(const AVOutputFormat *container, const char *path, const char *codec);

/* Whether there is such a video encoder. */
int encoder_check(const char *codec, struct error *err);
/* Likewise, and the container takes what it gives. path: of the file, for messages. */
int encoder_check_in(const char *codec, const AVOutputFormat *container, const char *path, struct error *err);

/* Opens options->codec, or the first encoder that works of: H.264, the container's own, MPEG-4, FFV1. The time base is
 * options' own where container and codec can keep it, else 1/fps. low_delay: packets come out without waiting for later
 * frames, which costs some size. */
int encoder_open(struct encoder *encoder, const AVOutputFormat *container, const char *path, bool low_delay,
                 const struct sink_options *options, struct error *err);
/* frame NULL: no more come. One of another size than options said is scaled to that, between black bars where its shape
 * is another, too. Returns 0 or an FFmpeg error code; the frame's picture may be held on. */
int encoder_send(struct encoder *encoder, const struct frame *frame, int64_t pts);
void encoder_free(struct encoder *encoder);

#endif
