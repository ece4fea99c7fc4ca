/* Encodes frames: chooses an FFmpeg encoder for a container, sets it up, and converts frames to the pixels and size
 * that it takes. The sink's thread makes all calls. */
#ifndef APP_SINK_ENCODER_H
#define APP_SINK_ENCODER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "app/sink/sink.h"

struct SwsContext;
struct palette;

/* A picture that FFmpeg's encoder refers to without a copy. used: the encoder still refers to it; one of the encoder's
 * threads clears it. */
struct lent_frame {
  struct frame frame;
  atomic_bool used;
};

/* Zero-initialise to start. The struct must not move while it is open: the encoder's threads have pointers into it. */
struct encoder {
  AVCodecContext *context;
  /* Pictures lent to x264 and x265, which only read them; other encoders get copies. */
  struct lent_frame lent[SINK_HOLDS];
  struct SwsContext *scaler;   /* NULL: the encoder takes the frames' pixels and size as they are */
  enum AVPixelFormat format;   /* the pixels that the scaler makes */
  int from_width, from_height; /* size in pixels of the frames for which the scaler is set up */
  struct palette *palette;     /* NULL: the encoder does not take pictures of 256 colours */
  AVFrame *scaled, *borrowed, *indexed;
  /* the scaled picture, before black bars are added around it; NULL: there are none, as its shape is the output's */
  AVFrame *fitted;
  bool low_delay;
};

/* Returns the pixels that the engine should make for the encoder that encoder_open will choose: RGBA if the encoder
 * takes RGB, so that no chroma is lost, else YUV420P. codec: as in sink_options; may be NULL. */
enum pixel_format encoder_pixels(const AVOutputFormat *container, const char *path, const char *codec);

/* Checks that FFmpeg has a video encoder of this name. Returns 0, or -1 with err. */
int encoder_check(const char *codec, struct error *err);
/* Checks that FFmpeg has a video encoder of this name, and that the container takes what it makes. path: the output's
 * path, for messages. Returns 0, or -1 with err. */
int encoder_check_in(const char *codec, const AVOutputFormat *container, const char *path, struct error *err);

/* Opens the encoder options->codec. If that is NULL, tries H.264, the container's usual codec, MPEG-4 and FFV1 in this
 * order, and opens the first that works. The encoder's time base is that of options if container and codec can store
 * it, else 1/fps. low_delay: packets come out without waiting for later frames, which makes the file somewhat larger.
 * Returns 0, or -1 with err; the caller calls encoder_free in both cases. */
int encoder_open(struct encoder *encoder, const AVOutputFormat *container, const char *path, bool low_delay,
                 const struct sink_options *options, struct error *err);
/* Sends a frame to the encoder. frame NULL: it was the last one, and the encoder gives out what it holds back. A frame
 * whose size is not that of options is scaled to it, with black bars if its shape is another. pts: the frame's time in
 * the encoder's time base. The encoder may hold the frame's picture after the call. Returns 0 or an FFmpeg error
 * code. */
int encoder_send(struct encoder *encoder, const struct frame *frame, int64_t pts);
/* Frees what the encoder holds. Accepts zeros. */
void encoder_free(struct encoder *encoder);

#endif
