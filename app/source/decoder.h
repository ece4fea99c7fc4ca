/* Decodes one video: with hardware as long as that works, otherwise with FFmpeg's software decoder. If hardware does
 * not take the video at all, software decodes it from the first packet on. If it fails later, software continues at the
 * next key frame; or, unless the source is live, at the last one if that is not too far back. No picture is given out
 * twice.
 *
 * One thread at a time uses a decoder, except for decoder_hardware. */
#ifndef APP_SOURCE_DECODER_H
#define APP_SOURCE_DECODER_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"
#include "unet/base/log.h"

struct decoder;
struct hardware;

/* The parameters of a decoder. All that they point to must outlive it. */
struct decoder_params {
  const char *spec;                /* name of the source in messages */
  const AVCodec *codec;            /* FFmpeg's software decoder */
  const AVCodecParameters *video;  /* parameters of the stream, as far as they are known at opening */
  AVRational time_base;            /* unit of the times of the stream's packets, in seconds */
  bool live;                       /* true: the newest picture matters, and others may be dropped */
  bool whole;                      /* true: damaged pictures are left out; false: FFmpeg conceals the damage */
  const struct hardware *hardware; /* the hardware decoder to try first; NULL: software only */
  bool must;                       /* true: opening fails if hardware cannot decode the video */
  struct gpu gpu;                  /* the GPU that reads the pictures; gpu.impl NULL: none */
  const struct log *log;
};

/* Opens a hardware decoder if params ask for it and it can decode the video, else a software decoder; if params.must is
 * set, a hardware decoder that cannot decode the video is an error. Returns 0, or -1 with err. */
int decoder_open(struct decoder **decoder, const struct decoder_params *params, struct error *err);
/* Closes the decoder; *decoder becomes NULL; does nothing if it is NULL. */
void decoder_close(struct decoder **decoder);

/* decoder_send, decoder_receive and decoder_flush work as avcodec_send_packet, avcodec_receive_frame and
 * avcodec_flush_buffers. Pictures of hardware have the format AV_PIX_FMT_CUDA. The caller must not use the packets'
 * opaque_ref, because the decoder does. */
int decoder_send(struct decoder *decoder, AVPacket *packet);
int decoder_receive(struct decoder *decoder, AVFrame *frame);
void decoder_flush(struct decoder *decoder);
/* Announces that packets from now on are of this codec, each a complete picture. If the codec has changed, the decoder
 * first gives the remaining pictures of the old one. Only for software decoders. */
void decoder_expect(struct decoder *decoder, enum AVCodecID codec);
/* Continues with a software decoder, because the hardware's pictures cannot be read. It begins as after a failure of
 * the hardware (see the top of this file). why: the reason, for the log. Returns 0 (also if software already decodes)
 * or an FFmpeg code. */
int decoder_leave_hardware(struct decoder *decoder, const char *why);
/* True if hardware must decode (decoder_params.must) and has failed before its first picture. err, which may be NULL,
 * then gets the message. */
bool decoder_refused(const struct decoder *decoder, struct error *err);

/* Returns the name (as in --hwdec) of the hardware that decodes now; NULL: software decodes. Callable from any
 * thread. */
const char *decoder_hardware(const struct decoder *decoder);
/* Returns FFmpeg's decoder context, which the decoder owns. It may be read right after decoder_open, for the size and
 * format that FFmpeg knows by then. */
const AVCodecContext *decoder_context(const struct decoder *decoder);

#endif
