/* Page-locked memory that software decoders write their pictures into, and copies of surfaces lie in, so that a GPU
 * copies from it by itself. */
#ifndef APP_SOURCE_FRAME_MEMORY_H
#define APP_SOURCE_FRAME_MEMORY_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* gpu without impl: there is no such memory, and *memory is NULL. */
int frame_memory_open(struct frame_memory **memory, const struct gpu *gpu, struct error *err);
/* Stores NULL; takes NULL. Frames that are still held keep what they lie in. No decoder uses it any more. */
void frame_memory_close(struct frame_memory **memory);

/* For AVCodecContext.get_buffer2, on any thread: gives the frame such memory where the codec lets others choose and
 * there is some, else what FFmpeg gives by itself. */
int frame_memory_get(struct frame_memory *memory, AVCodecContext *context, AVFrame *frame, int flags);
/* Such memory for a frame that has its format, its size and its pitches, and that no decoder writes. Takes NULL. false:
 * there is none. */
bool frame_memory_lend(struct frame_memory *memory, AVFrame *frame);
/* Whether the frame's planes lie in it. */
bool frame_memory_holds(const AVFrame *frame);

#endif
