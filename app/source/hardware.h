/* What decodes in the place of FFmpeg's software decoders. */
#ifndef APP_SOURCE_HARDWARE_H
#define APP_SOURCE_HARDWARE_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* What AVCodecContext.opaque of a decoder points to. */
struct decoding {
  struct frame_memory *memory; /* for software's pictures; NULL: FFmpeg's own */
  bool refused;                /* the hardware does not decode what came */
};

/* Pictures that may be held at a time while decoding goes on: by source, thread that reads ahead and reader (3), the
 * mailbox to the engine (2), its loop (the last one and two in flight), the mailbox to the window (2), the window (1)
 * and its OpenGL (3), though hardly all at once; in render by source and reader (2), the queue to the engine (4) and
 * two runs of four. Of more, copies are made. */
enum { HARDWARE_HOLDS = 14 };

struct hardware {
  const char *name; /* as --hwdec has it */
  const char *what; /* as people do */
  /* The decoder that it has for such video; NULL: none. */
  const AVCodec *(*find)(const AVCodecParameters *video);
  /* Sets up a context, whose opaque is a struct decoding, before avcodec_open2. FFmpeg's code. */
  int (*prepare)(AVCodecContext *context, const struct gpu *gpu);
  /* As avcodec_send_packet and avcodec_receive_frame. Frames have AV_PIX_FMT_CUDA. */
  int (*send)(AVCodecContext *context, const AVPacket *packet);
  int (*receive)(AVCodecContext *context, AVFrame *frame);
};

extern const struct hardware hardware_nvdec;

#endif
