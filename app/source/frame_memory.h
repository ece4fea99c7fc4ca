/* Page-locked memory for the pictures of software decoders and for copies of surfaces, from which a GPU copies without
 * the processor. */
#ifndef APP_SOURCE_FRAME_MEMORY_H
#define APP_SOURCE_FRAME_MEMORY_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* Opens a pool of such memory. gpu without impl: there is none, and *memory is NULL. Returns 0, or -1 with err. */
int frame_memory_open(struct frame_memory **memory, const struct gpu *gpu, struct error *err);
/* Stores NULL; accepts NULL. Frames that are still held keep their memory. No decoder may use the pool any more. */
void frame_memory_close(struct frame_memory **memory);

/* The function for AVCodecContext.get_buffer2, on any thread. The frame gets such memory if the codec allows it and
 * some is left, else FFmpeg's own. */
int frame_memory_get(struct frame_memory *memory, AVCodecContext *context, AVFrame *frame, int flags);
/* Gives such memory to a frame whose format, size and pitches are set, and into which no decoder writes. Accepts NULL.
 * Returns false if there is none. */
bool frame_memory_lend(struct frame_memory *memory, AVFrame *frame);
/* True if the frame's planes are in such memory. */
bool frame_memory_holds(const AVFrame *frame);

#endif
