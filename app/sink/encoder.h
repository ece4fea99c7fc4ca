/* Encodes frames: chooses and sets up an FFmpeg encoder for a container, and converts frames to the pixel format and
 * size that the encoder takes. The sink's thread makes all calls. */
#ifndef APP_SINK_ENCODER_H
#define APP_SINK_ENCODER_H

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>

#include "app/sink/sink.h"

struct SwsContext;
struct palette;

/* A picture that FFmpeg's encoder reads in place, without a copy. used: true while the encoder needs the picture; one
 * of the encoder's threads sets it to false. */
struct lent_frame {
  struct frame frame;
  atomic_bool used;
};

/* Zero-initialise to start. The struct must not move while the encoder is open: the encoder's threads have pointers
 * into the struct. */
struct encoder {
  AVCodecContext *context;
  /* Pictures lent to x264 and x265, which only read them; other encoders get copies. */
  struct lent_frame lent[SINK_HOLDS];
  struct SwsContext *scaler;   /* converter of frames to the encoder's pixel format and size; NULL: no conversion is
                              * needed */
  enum AVPixelFormat format;   /* pixel format that the scaler makes */
  int from_width, from_height; /* size in pixels of the frames for which the scaler is set up */
  struct palette *palette;     /* converter to pictures of 256 colours; NULL: the encoder takes more colours */
  AVFrame *scaled, *borrowed, *indexed;
  /* the scaled picture before black bars are added around it; NULL: no bars are needed, because the picture has the
   * output's shape */
  AVFrame *fitted;
  bool low_delay;
  /* true: frames of another shape are stretched to the encoder's size; false: such frames get black bars */
  bool stretched;
  /* the alpha of the input's frames (sink_options.alpha); NULL: there is none, or the encoder does not take it */
  struct alpha *alpha;
  AVFrame *blended; /* copy of a picture that has the input frame's alpha, for the encoder */
  long given;       /* number of frames that encoder_send got */
  bool ended;       /* true: encoder_send was told that there are no more frames */
};

/* Returns the pixel format that the engine should make for the encoder that encoder_open will choose: P010 if the
 * encoder gets more than 8 bits; else RGBA if it gets full-resolution colour; else YUV420P. codec, pixel_format: as in
 * sink_options; may be NULL. */
enum pixel_format encoder_pixels(const AVOutputFormat *container, const char *path, const char *codec,
                                 const char *pixel_format);
/* True if the encoder that encoder_open will choose gets pixels with alpha, provided that the frames have alpha. */
bool encoder_keeps_alpha(const AVOutputFormat *container, const char *path, const char *codec,
                         const char *pixel_format);

/* Checks that FFmpeg has a video encoder of this name. Returns 0, or -1 with err. */
int encoder_check(const char *codec, struct error *err);
/* Checks that FFmpeg has a video encoder of this name, and that the container takes this encoder's codec. path: the
 * output's path, for messages. Returns 0, or -1 with err. */
int encoder_check_in(const char *codec, const AVOutputFormat *container, const char *path, struct error *err);
/* Returns the encoder that encoder_open tries first; NULL: there is none. codec: as in sink_options; may be NULL. */
const AVCodec *encoder_first(const AVOutputFormat *container, const char *path, const char *codec);

/* Opens the encoder options->codec. If that is NULL, tries H.264, the container's usual codec, MPEG-4 and FFV1, and
 * uses the first that works; if options name a pixel format or encoder options, only the first is tried.
 *
 * encoder->context->time_base becomes the time base in options, or one in which times are exact or that the codec can
 * store; 1/fps if container or codec stores no times. low_delay: packets come out without waiting for later frames, and
 * the file becomes somewhat larger. Returns 0, or -1 with err; the caller calls encoder_free in both cases. */
int encoder_open(struct encoder *encoder, const AVOutputFormat *container, const char *path, bool low_delay,
                 const struct sink_options *options, struct error *err);
/* Sends a frame to the encoder. frame NULL: there are no more frames, and the encoder returns its remaining packets. A
 * frame of another size than options.width x height is scaled to that size, with black bars if its shape differs and
 * options.stretched is false. pts: the frame's time in the encoder's time base. The encoder may hold the frame's
 * picture after the call. Returns 0 or an FFmpeg error code. */
int encoder_send(struct encoder *encoder, const struct frame *frame, int64_t pts);
/* Corrects the decoding time of a packet that the encoder gave out, where FFmpeg's libx265 has set a random one. */
void encoder_mend_time(const struct encoder *encoder, AVPacket *packet);
/* Frees all that the encoder holds. Accepts a zeroed struct. */
void encoder_free(struct encoder *encoder);

#endif
