/* A pool of page-locked memory, from which a GPU copies without the processor. The pool is for the pictures of software
 * decoders and for copies of a hardware decoder's surfaces. */
#ifndef APP_SOURCE_FRAME_MEMORY_H
#define APP_SOURCE_FRAME_MEMORY_H

#include <libavcodec/avcodec.h>

#include "unet/base/gpu.h"

struct frame_memory;

/* Opens a pool of page-locked memory. If gpu->impl is NULL, there is no GPU, and *memory is NULL. Returns 0, or -1 with
 * err. */
int frame_memory_open(struct frame_memory **memory, const struct gpu *gpu, struct error *err);
/* Closes the pool; *memory becomes NULL; does nothing if it is NULL. Frames that are still held keep their memory. No
 * decoder may use the pool any more. */
void frame_memory_close(struct frame_memory **memory);

/* Does the work of AVCodecContext.get_buffer2, with the same arguments; may be called on any thread. Gives the frame
 * page-locked memory if the codec allows it and some is left, else FFmpeg's own. Returns 0 or an FFmpeg code. */
int frame_memory_get(struct frame_memory *memory, AVCodecContext *context, AVFrame *frame, int flags);
/* Gives page-locked memory to a frame whose format, size and pitches are set, and into which no decoder writes. Returns
 * false if the pool has no memory left, or if there is no pool (memory NULL). */
bool frame_memory_lend(struct frame_memory *memory, AVFrame *frame);
/* True if the frame's planes are in page-locked memory of a pool. */
bool frame_memory_holds(const AVFrame *frame);

#endif
