#include "app/source/frame_memory.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/imgutils.h>
#include <libavutil/pixdesc.h>

#include "unet/base/platform.h"

/* Decoders read and write up to this many bytes beyond a plane. The offset of each plane is a multiple of this
 * number. */
enum { ROOM = 128 };

struct frame_memory {
  struct gpu gpu;
  pthread_mutex_t lock;
  /* The following fields are protected by `lock`. */
  AVBufferPool *pool;
  size_t bytes; /* size in bytes of each buffer in `pool`, all of which are page-locked */
};

/* AVFrame.opaque of each frame in page-locked memory is the address of this variable, by which such frames are
 * recognised. */
static const char is_locked;

static void give_back(void *opaque, uint8_t *data) {
  struct gpu *gpu = opaque;
  gpu->impl->free_host(gpu, data);
  free(gpu);
}

/* Allocates zeroed memory, as FFmpeg does, so that what a damaged picture leaves out is black. */
static AVBufferRef *alloc_locked(void *opaque, size_t bytes) {
  struct gpu *gpu = malloc(sizeof *gpu);
  if (!gpu)
    return NULL;
  *gpu = *(const struct gpu *)opaque;
  void *data = gpu->impl->alloc_host(gpu, bytes);
  AVBufferRef *buffer = data ? av_buffer_create(data, bytes, give_back, gpu, 0) : NULL;
  if (buffer) {
    memset(data, 0, bytes);
    return buffer;
  }
  if (data)
    gpu->impl->free_host(gpu, data);
  free(gpu);
  return NULL;
}

int frame_memory_open(struct frame_memory **out, const struct gpu *gpu, struct error *err) {
  *out = NULL;
  if (!gpu->impl)
    return 0;
  struct frame_memory *memory = *out = calloc(1, sizeof *memory);
  if (!memory)
    return error_set(err, STATUS_FAILED, "no memory for decoded frames");
  memory->gpu = *gpu;
  platform_lock_init(&memory->lock);
  return 0;
}

void frame_memory_close(struct frame_memory **out) {
  struct frame_memory *memory = *out;
  *out = NULL;
  if (!memory)
    return;
  av_buffer_pool_uninit(&memory->pool);
  pthread_mutex_destroy(&memory->lock);
  free(memory);
}

static AVBufferRef *take(struct frame_memory *memory, size_t bytes) {
  pthread_mutex_lock(&memory->lock);
  if (memory->bytes != bytes) {
    av_buffer_pool_uninit(&memory->pool);
    memory->bytes = bytes;
  }
  if (!memory->pool)
    memory->pool = av_buffer_pool_init2(bytes, &memory->gpu, alloc_locked, NULL);
  AVBufferRef *buffer = memory->pool ? av_buffer_pool_get(memory->pool) : NULL;
  pthread_mutex_unlock(&memory->lock);
  return buffer;
}

/* Computes where each plane begins, from the frame's format and pitches. Returns the number of bytes of all planes; 0:
 * unknown. */
static size_t place_planes(const AVFrame *frame, int height, size_t begin[4]) {
  const ptrdiff_t pitches[4] = {frame->linesize[0], frame->linesize[1], frame->linesize[2], frame->linesize[3]};
  size_t sizes[4], bytes = 0;
  if (av_image_fill_plane_sizes(sizes, frame->format, height, pitches) < 0)
    return 0;
  for (int i = 0; i < 4; i++) {
    begin[i] = bytes;
    if (sizes[i])
      bytes += (sizes[i] + 2 * ROOM - 1) / ROOM * ROOM;
  }
  return bytes;
}

/* Sets the pitches that the codec needs, and computes where each plane begins. Returns the number of bytes of all
 * planes; 0: the format is unknown. */
static size_t lay_out(AVCodecContext *context, AVFrame *frame, size_t begin[4]) {
  int width = frame->width, height = frame->height, align[AV_NUM_DATA_POINTERS];
  bool aligned;
  avcodec_align_dimensions2(context, &width, &height, align);
  /* Planes of half the width have half the pitch, so the width is increased until the pitches of all planes are
   * aligned. */
  do {
    aligned = true;
    if (av_image_fill_linesizes(frame->linesize, frame->format, width) < 0)
      return 0;
    for (int i = 0; i < 4; i++)
      aligned &= frame->linesize[i] % align[i] == 0;
    width += width & ~(width - 1);
  } while (!aligned);
  return place_planes(frame, height, begin);
}

static bool may_choose(const AVCodecContext *context, const AVFrame *frame) {
  const AVPixFmtDescriptor *format = av_pix_fmt_desc_get(frame->format);
  return format && !(format->flags & (AV_PIX_FMT_FLAG_HWACCEL | AV_PIX_FMT_FLAG_PAL)) &&
         context->codec->capabilities & AV_CODEC_CAP_DR1;
}

static bool give(struct frame_memory *memory, AVFrame *frame, size_t bytes, const size_t begin[4]) {
  AVBufferRef *buffer = take(memory, bytes);
  if (!buffer)
    return false;
  frame->buf[0] = buffer;
  for (int i = 0; i < 4; i++)
    frame->data[i] = frame->linesize[i] ? buffer->data + begin[i] : NULL;
  frame->extended_data = frame->data;
  frame->opaque = (void *)(uintptr_t)&is_locked;
  return true;
}

int frame_memory_get(struct frame_memory *memory, AVCodecContext *context, AVFrame *frame, int flags) {
  size_t begin[4], bytes = memory && may_choose(context, frame) ? lay_out(context, frame, begin) : 0;
  return bytes && give(memory, frame, bytes, begin) ? 0 : avcodec_default_get_buffer2(context, frame, flags);
}

bool frame_memory_lend(struct frame_memory *memory, AVFrame *frame) {
  size_t begin[4], bytes = memory ? place_planes(frame, frame->height, begin) : 0;
  return bytes && give(memory, frame, bytes, begin);
}

bool frame_memory_holds(const AVFrame *frame) {
  return frame->opaque == &is_locked;
}
