#include "app/source/surfaces.h"

#include <pthread.h>

#include <libavutil/hwcontext.h>

#include "app/source/frame_memory.h"
#include "app/source/hardware.h"
#include "unet/base/platform.h"

enum {
  PAGE = 4096,
  /* Decoded pictures are copied in advance to memory that OpenGL can read. This ends after this many copies in a row
   * that the window did not ask for; some pictures are dropped on their way, so 1 would be too few. */
  UNSHARED = 8,
};

struct surface {
  struct picture base;
  struct gpu gpu;
  AVFrame *frame;
  pthread_mutex_t lock;
  /* The following fields are protected by `lock`, except in set_up, which runs before another thread has the
   * picture. */
  /* host memory for a copy of the picture, allocated in whole pages that the system provides only when they are
   * written; NULL: none yet */
  uint8_t *host;
  size_t host_bytes;
  bool locked; /* true: the memory is page-locked, so that the GPU can copy to it */
  struct gpu_share *share;
  /* true: a copy of the surface to `share` (memory for OpenGL) has begun, and nobody has waited for its end yet */
  bool filling;
  /* This struct holds one picture after the other. For this many more of them, the copy to `share` (memory for OpenGL)
   * begins before the window asks for it. */
  int ahead;
  unsigned filled; /* the kinds of memory (enum memory, or-ed) that have the picture's pixels by now */
};

static int surface_make(void *opaque, struct picture *picture, struct error *err) {
  struct surface *surface = (struct surface *)picture;
  surface->gpu = ((const struct surfaces *)opaque)->gpu;
  picture->memory = MEMORY_HOST | MEMORY_DEVICE | MEMORY_SHARED;
  picture->gpu = surface->gpu.id;
  picture->fence = surface->gpu.impl->make_fence(&surface->gpu, err);
  if (!picture->fence)
    return -1;
  if (!(surface->frame = av_frame_alloc())) {
    surface->gpu.impl->free_fence(&surface->gpu, picture->fence);
    return error_set(err, STATUS_FAILED, "no memory for a decoded frame");
  }
  platform_lock_init(&surface->lock);
  return 0;
}

static void free_host(struct surface *surface) {
  if (surface->locked)
    surface->gpu.impl->unlock_host(&surface->gpu, surface->host);
  platform_free(surface->host);
  surface->host = NULL;
  surface->locked = false;
}

static void free_share(struct surface *surface) {
  if (surface->share)
    surface->gpu.impl->free_share(&surface->gpu, surface->share);
  surface->share = NULL;
  surface->filling = false;
  surface->base.share = -1;
}

static void surface_destroy(struct picture *picture) {
  struct surface *surface = (struct surface *)picture;
  free_host(surface);
  free_share(surface);
  av_frame_free(&surface->frame);
  surface->gpu.impl->free_fence(&surface->gpu, picture->fence);
  pthread_mutex_destroy(&surface->lock);
}

static int bring_down(struct surface *surface, struct error *err) {
  const struct gpu *gpu = &surface->gpu;
  if (!surface->locked)
    surface->locked = gpu->impl->lock_host(gpu, surface->host, surface->host_bytes);
  return gpu->impl->download(gpu, &surface->base.template, err);
}

/* Returns the number of bytes from the first plane's beginning to the last plane's end; 0: the planes are not in order,
 * or there are large gaps between them. */
static size_t find_span(const struct frame *frame) {
  uint8_t *const *plane = (uint8_t *const *)frame->picture->device_plane;
  size_t span = 0;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    if (plane[i] < plane[0] + span || (size_t)(plane[i] - plane[0]) > 2 * span)
      return 0;
    span =
        (size_t)(plane[i] - plane[0]) + (size_t)frame->pitch[i] * (size_t)frame_rows(frame->format, i, frame->height);
  }
  return span;
}

/* Allocates memory that OpenGL can import, unless the surface has enough. It is replaced only by larger memory, so
 * whoever has imported it sees by the size that it was replaced. */
static int reserve_share(struct surface *surface, size_t bytes, struct error *err) {
  struct gpu_share *larger;
  if (!surface->share || surface->share->bytes < bytes) {
    if (surface->gpu.impl->make_share(&surface->gpu, bytes, &larger, err))
      return -1;
    free_share(surface);
    surface->share = larger;
  }
  surface->base.share = surface->share->descriptor;
  surface->base.share_bytes = surface->share->bytes;
  return 0;
}

/* Begins the copy of the surface to memory that OpenGL can import, since it cannot import a decoder's own. The copy
 * stays on the GPU. */
static int begin_share(struct surface *surface, struct error *err) {
  struct picture *picture = &surface->base;
  const struct gpu *gpu = &surface->gpu;
  size_t bytes = find_span(&picture->template);
  if (!bytes)
    return error_set(err, STATUS_FAILED, "a decoder's surface is in several parts");
  if (reserve_share(surface, bytes, err) || gpu->impl->fill_share(gpu, surface->share, &picture->template, err))
    return -1;
  surface->filling = true;
  return 0;
}

static int end_share(struct surface *surface, struct error *err) {
  if (!surface->filling)
    return 0;
  surface->filling = false;
  return surface->gpu.impl->wait_share(&surface->gpu, surface->share, err);
}

static int share(struct surface *surface, struct error *err) {
  if (!surface->filling && begin_share(surface, err))
    return -1;
  surface->ahead = UNSHARED;
  return end_share(surface, err);
}

/* Begins to copy the surface for OpenGL while the engine runs, so that the copy is done when the window asks for it. If
 * that fails, the copy is tried again when the window asks, and then reports its error. */
static void share_ahead(struct surface *surface) {
  if (surface->ahead)
    surface->ahead = begin_share(surface, NULL) ? 0 : surface->ahead - 1;
}

static int surface_wait(struct picture *picture, enum memory kind, struct error *err) {
  struct surface *surface = (struct surface *)picture;
  pthread_mutex_lock(&surface->lock);
  int status = surface->filled & kind ? 0 : kind == MEMORY_HOST ? bring_down(surface, err) : share(surface, err);
  if (status == 0)
    surface->filled |= kind;
  pthread_mutex_unlock(&surface->lock);
  return status;
}

static bool surface_ready(struct picture *picture, enum memory kind) {
  struct surface *surface = (struct surface *)picture;
  pthread_mutex_lock(&surface->lock);
  bool ready = surface->filled & kind;
  pthread_mutex_unlock(&surface->lock);
  return ready;
}

static const struct picture_owner surface_owner = {.bytes = sizeof(struct surface),
                                                   .make = surface_make,
                                                   .destroy = surface_destroy,
                                                   .wait = surface_wait,
                                                   .ready = surface_ready};

bool surfaces_is_one(const AVFrame *in) {
  return in->format == AV_PIX_FMT_CUDA && in->hw_frames_ctx;
}

bool surfaces_readable(const AVFrame *in, enum pixel_format *format) {
  enum AVPixelFormat pixels = ((const AVHWFramesContext *)in->hw_frames_ctx->data)->sw_format;
  *format = pixels == AV_PIX_FMT_P010LE ? PIXEL_P010 : PIXEL_NV12;
  return pixels == AV_PIX_FMT_NV12 || pixels == AV_PIX_FMT_P010LE;
}

/* Allocates pages for the planes, in the order and with the pitches of the surface. Returns 0, or -1 with err. */
static int lay_out(struct surface *surface, struct frame *frame, struct error *err) {
  size_t bytes = 0, begin[3] = {0};
  for (int i = 0; i < frame_planes(frame->format); i++) {
    begin[i] = bytes;
    bytes += (size_t)frame->pitch[i] * (size_t)frame_rows(frame->format, i, frame->height);
    bytes = (bytes + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
  }
  bytes = (bytes + PAGE - 1) / PAGE * PAGE;
  if (surface->host_bytes != bytes)
    free_host(surface);
  if (!surface->host)
    surface->host = platform_alloc(PAGE, bytes);
  surface->host_bytes = surface->host ? bytes : 0;
  if (!surface->host)
    return error_set(err, STATUS_FAILED, "no memory for a %dx%d picture (%zu bytes)", frame->width, frame->height,
                     bytes);
  for (int i = 0; i < frame_planes(frame->format); i++)
    frame->plane[i] = surface->host + begin[i];
  return 0;
}

/* Puts the surface of `in` (a decoded picture in GPU memory) into the struct surface, and returns the former one to the
 * decoder. That takes 0.1 ms; so it is done here, and not when the picture is released, on another thread. */
static int set_up(struct surface *surface, AVFrame *in, struct frame *frame, struct error *err) {
  struct picture *picture = &surface->base;
  end_share(surface, NULL); /* waits until a copy of the former surface, if one has begun, is done */
  av_frame_unref(surface->frame);
  frame->picture = picture;
  for (int i = 0; i < frame_planes(frame->format); i++) {
    frame->pitch[i] = in->linesize[i];
    picture->device_plane[i] = in->data[i];
  }
  if (lay_out(surface, frame, err) || surface->gpu.impl->record_fence(&surface->gpu, picture->fence, err))
    return -1;
  surface->filled = MEMORY_DEVICE;
  picture->template = *frame;
  av_frame_move_ref(surface->frame, in);
  share_ahead(surface);
  return 0;
}

/* Takes a picture from the pool. Returns 1; 0: all are held; or -1 with err. */
static int take(struct surfaces *surfaces, const struct gpu *gpu, struct frame *taken, struct error *err) {
  surfaces->gpu = *gpu;
  if (!surfaces->pool && picture_pool_open(&surfaces->pool, &surface_owner, surfaces, 0, HARDWARE_HOLDS, err))
    return -1;
  return picture_pool_take(surfaces->pool, taken, err);
}

int surfaces_keep(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct frame *frame,
                  struct error *err) {
  struct frame taken;
  int got = take(surfaces, gpu, &taken, err);
  if (got != 1)
    return got;
  if (set_up((struct surface *)taken.picture, in, frame, err) == 0)
    return 1;
  frame_release(&taken);
  frame->picture = NULL;
  return -1;
}

/* Places the planes of `frame` in the surface's own GPU memory, and in its pages of the host's. */
static int set_up_own(struct surface *surface, struct frame *frame, struct error *err) {
  struct picture *picture = &surface->base;
  size_t bytes = 0, begin[3] = {0};
  for (int i = 0; i < frame_planes(frame->format); i++) {
    begin[i] = bytes;
    bytes += (size_t)frame->pitch[i] * (size_t)frame_rows(frame->format, i, frame->height);
  }
  frame->picture = picture;
  if (reserve_share(surface, bytes, err) || lay_out(surface, frame, err) ||
      surface->gpu.impl->record_fence(&surface->gpu, picture->fence, err))
    return -1;
  for (int i = 0; i < frame_planes(frame->format); i++)
    picture->device_plane[i] = (uint8_t *)surface->share->memory + begin[i];
  surface->filled = MEMORY_DEVICE | MEMORY_SHARED;
  picture->template = *frame;
  return 0;
}

int surfaces_take(struct surfaces *surfaces, const struct gpu *gpu, struct frame *frame, struct gpu_share **share,
                  struct error *err) {
  struct frame taken;
  int got = take(surfaces, gpu, &taken, err);
  if (got != 1)
    return got;
  if (set_up_own((struct surface *)taken.picture, frame, err) == 0) {
    *share = ((struct surface *)taken.picture)->share;
    return 1;
  }
  frame_release(&taken);
  frame->picture = NULL;
  return -1;
}

/* Allocates a frame in the host's memory with the surface's format, size and pitches. */
static AVFrame *make_copy(struct frame_memory *memory, const AVFrame *in) {
  AVFrame *copy = av_frame_alloc();
  if (!copy || av_frame_copy_props(copy, in) < 0) {
    av_frame_free(&copy);
    return NULL;
  }
  copy->format = ((const AVHWFramesContext *)in->hw_frames_ctx->data)->sw_format;
  copy->width = in->width;
  copy->height = in->height;
  for (int i = 0; i < 3; i++)
    copy->linesize[i] = in->linesize[i];
  if (!frame_memory_lend(memory, copy) && av_frame_get_buffer(copy, 0) < 0)
    av_frame_free(&copy);
  return copy;
}

static int download(const struct gpu *gpu, const AVFrame *in, const AVFrame *copy, struct error *err) {
  struct picture picture = {.fence = gpu->impl->make_fence(gpu, err)};
  struct frame frame = {.width = in->width, .height = in->height, .picture = &picture};
  if (!picture.fence)
    return -1;
  surfaces_readable(in, &frame.format);
  for (int i = 0; i < frame_planes(frame.format); i++) {
    picture.device_plane[i] = in->data[i];
    frame.plane[i] = copy->data[i];
    frame.pitch[i] = copy->linesize[i];
  }
  int status = gpu->impl->record_fence(gpu, picture.fence, err);
  if (status == 0)
    status = gpu->impl->download(gpu, &frame, err);
  gpu->impl->free_fence(gpu, picture.fence);
  return status;
}

int surfaces_bring_down(struct surfaces *surfaces, const struct gpu *gpu, AVFrame *in, struct error *err) {
  if (!surfaces->copies && frame_memory_open(&surfaces->copies, gpu, err))
    return -1;
  AVFrame *copy = make_copy(surfaces->copies, in);
  int status = copy ? download(gpu, in, copy, err) : error_set(err, STATUS_FAILED, "no memory for a decoded frame");
  if (status == 0) {
    av_frame_unref(in);
    av_frame_move_ref(in, copy);
  }
  av_frame_free(&copy);
  return status;
}

void surfaces_free(struct surfaces *surfaces) {
  picture_pool_close(&surfaces->pool);
  frame_memory_close(&surfaces->copies);
}
