/* Interface of hardware that decodes instead of FFmpeg's software decoders. */
#ifndef APP_SOURCE_HARDWARE_H
#define APP_SOURCE_HARDWARE_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* The struct that AVCodecContext.opaque of each decoder points to. */
struct decoding {
  struct frame_memory *memory; /* memory for software's pictures; NULL: FFmpeg's own */
  bool refused;                /* the hardware cannot decode what came */
};

/* Pictures that may be held while decoding goes on: by source, thread that reads ahead and reader (3), the mailbox to
 * the engine (2), its loop (the last one and two in progress), the mailbox to the window (2), the window (1) and its
 * OpenGL (3), though hardly all at once; in render by source and reader (2), the queue to the engine (4) and two runs
 * of four. If more are held, copies are made. */
enum { HARDWARE_HOLDS = 14 };

struct hardware {
  const char *name; /* for --hwdec */
  const char *what; /* for messages */
  /* Returns the decoder for this video; NULL: there is none. */
  const AVCodec *(*find)(const AVCodecParameters *video);
  /* Sets up a context before avcodec_open2; its opaque is a struct decoding. Returns 0 or an FFmpeg code. */
  int (*prepare)(AVCodecContext *context, const struct gpu *gpu);
  /* These work as avcodec_send_packet and avcodec_receive_frame. Frames have AV_PIX_FMT_CUDA. */
  int (*send)(AVCodecContext *context, const AVPacket *packet);
  int (*receive)(AVCodecContext *context, AVFrame *frame);
};

extern const struct hardware hardware_nvdec;

#endif
