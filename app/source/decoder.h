/* Decodes one video: with FFmpeg's software decoder, or with hardware while that works. If hardware does not take the
 * video at all, software decodes it from the first packet on. If hardware fails later, software continues at the next
 * key frame. Unless the source is live, it begins at the last key frame instead, if that is not too far back, and
 * pictures that were given already are not given again.
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
  bool live;                       /* the newest picture matters, not each one */
  bool whole;                      /* damaged pictures are left out; else FFmpeg conceals the damage */
  const struct hardware *hardware; /* NULL: software only */
  bool must;                       /* the video must be decoded by hardware */
  struct gpu gpu;                  /* the GPU that reads the pictures; without impl: none */
  const struct log *log;
};

/* Opens hardware if params ask for it and it takes the video, else software. Returns 0, or -1 with err. */
int decoder_open(struct decoder **decoder, const struct decoder_params *params, struct error *err);
void decoder_close(struct decoder **decoder); /* stores NULL; accepts NULL */

/* These work as avcodec_send_packet, avcodec_receive_frame and avcodec_flush_buffers. Hardware gives pictures of
 * AV_PIX_FMT_CUDA. The decoder uses each packet's opaque_ref. */
int decoder_send(struct decoder *decoder, AVPacket *packet);
int decoder_receive(struct decoder *decoder, AVFrame *frame);
void decoder_flush(struct decoder *decoder);
/* Says that the packets sent from now on are of this codec, and each of them is a whole picture. If it is another than
 * before, software gives the pictures of the packets before first. Not for hardware. */
void decoder_expect(struct decoder *decoder, enum AVCodecID codec);
/* Continues in software, because the pictures that hardware gives cannot be read. Software begins as after a failure of
 * the hardware. why: the reason, for the log. Returns 0 or an FFmpeg code. */
int decoder_leave_hardware(struct decoder *decoder, const char *why);
/* True if hardware must decode and has failed; err has the message. */
bool decoder_refused(const struct decoder *decoder, struct error *err);

/* Returns the name (as in --hwdec) of the hardware that decodes now; NULL: software decodes. Callable from any
 * thread. */
const char *decoder_hardware(const struct decoder *decoder);
/* Returns FFmpeg's decoder context, which the decoder owns. It may be read right after decoder_open, for the size and
 * format that FFmpeg knows by then. */
const AVCodecContext *decoder_context(const struct decoder *decoder);

#endif
