/* The interface of hardware decoders, which replace FFmpeg's software decoders. */
#ifndef APP_SOURCE_HARDWARE_H
#define APP_SOURCE_HARDWARE_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* AVCodecContext.opaque of each decoder context, of hardware or software, points to this struct. */
struct decoding {
  struct frame_memory *memory; /* memory for pictures of the software decoder; NULL: FFmpeg's own memory */
  bool refused;                /* true: the hardware has turned out to be unable to decode the video */
};

/* How many decoded surfaces may be in use before pictures are copied, so that decoding can continue. In live mode at
 * most 14 are in use: source, read-ahead thread and reader 1 each, the mailbox to the engine 2, the engine's loop 3,
 * the mailbox to the window 2, the window 1, and OpenGL 3. In render also 14: source and reader 2, the queue to the
 * engine 4, and two runs of four frames 8. */
enum { HARDWARE_HOLDS = 14 };

struct hardware {
  const char *name; /* the interface's name in the option --hwdec */
  const char *what; /* name of the hardware decoder in messages */
  /* Returns FFmpeg's decoder that decodes this video with the hardware; NULL: there is none. */
  const AVCodec *(*find)(const AVCodecParameters *video);
  /* Sets up a decoder context before avcodec_open2. The context's opaque points to a struct decoding. Returns 0 or an
   * FFmpeg code. */
  int (*prepare)(AVCodecContext *context, const struct gpu *gpu);
  /* Two functions that work as avcodec_send_packet and avcodec_receive_frame. Frames that are received have the format
   * AV_PIX_FMT_CUDA. */
  int (*send)(AVCodecContext *context, const AVPacket *packet);
  int (*receive)(AVCodecContext *context, AVFrame *frame);
};

extern const struct hardware hardware_nvdec;

#endif
