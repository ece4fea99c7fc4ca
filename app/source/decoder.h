/* A decoder of one video: FFmpeg's in software, or hardware for as long as it does its work. What hardware does not
 * take at all software decodes from the first packet on; where it fails later, software goes on at the next key frame,
 * or, where every picture counts and the last one is not too far back, at that, whose pictures are not given out
 * twice. */
#ifndef APP_SOURCE_DECODER_H
#define APP_SOURCE_DECODER_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"
#include "unet/base/log.h"

struct decoder;
struct hardware;

/* All of it outlives the decoder. */
struct decoder_params {
  const char *spec;                /* for messages */
  const AVCodec *codec;            /* in software */
  const AVCodecParameters *video;  /* what is known of it */
  AVRational time_base;            /* of its packets */
  bool live;                       /* the newest picture matters, not every one */
  bool whole;                      /* a picture that is damaged is not patched up, but left out */
  const struct hardware *hardware; /* NULL: software alone */
  bool must;                       /* hardware that does not take it is an error */
  struct gpu gpu;                  /* that pictures are for; without impl: none */
  const struct log *log;
};

int decoder_open(struct decoder **decoder, const struct decoder_params *params, struct error *err);
void decoder_close(struct decoder **decoder); /* stores NULL; takes NULL */

/* As avcodec_send_packet, avcodec_receive_frame and avcodec_flush_buffers. A picture of hardware has AV_PIX_FMT_CUDA.
 * A packet's opaque_ref is the decoder's. */
int decoder_send(struct decoder *decoder, AVPacket *packet);
int decoder_receive(struct decoder *decoder, AVFrame *frame);
void decoder_flush(struct decoder *decoder);
/* Its pictures cannot be read, for this reason: software takes over. 0, or FFmpeg's code. */
int decoder_leave_hardware(struct decoder *decoder, const char *why);
/* Whether hardware that must decode it has failed: err says so. */
bool decoder_refused(const struct decoder *decoder, struct error *err);

/* What decodes now, as --hwdec names it; NULL: software. Any thread. */
const char *decoder_hardware(const struct decoder *decoder);
/* Right after opening, for what FFmpeg knows then. */
const AVCodecContext *decoder_context(const struct decoder *decoder);

#endif
