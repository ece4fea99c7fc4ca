#include "tests/rigs/fake_hardware.h"

#include <stdlib.h>
#include <string.h>

#include <libavutil/hwcontext.h>

#include "tests/rigs/cmocka_all.h"
#include "unet/base/mixture.h"
#include "unet/base/picture.h"

/* --- a GPU --- */

enum { SHARES = 64 };

struct gpu_state gpu_state;
static struct fake_share *shares[SHARES]; /* the index is the descriptor */

static void *fake_alloc(const struct gpu *gpu, size_t bytes) {
  (void)gpu;
  size_t whole = (bytes + 4095) / 4096 * 4096;
  void *memory = gpu_state.full ? NULL : aligned_alloc(4096, whole);
  if (!memory)
    return NULL;
  memset(memory, 0xa5, whole);
  gpu_state.memory++;
  gpu_state.allocated++;
  return memory;
}

static void fake_free(const struct gpu *gpu, void *memory) {
  (void)gpu;
  gpu_state.memory--;
  free(memory);
}

static bool fake_lock(const struct gpu *gpu, void *memory, size_t bytes) {
  (void)gpu;
  assert_int_equal((uintptr_t)memory % 4096 + bytes % 4096, 0);
  gpu_state.locked++;
  return true;
}

static void fake_unlock(const struct gpu *gpu, void *memory) {
  (void)gpu;
  (void)memory;
  gpu_state.locked--;
}

static void *fake_fence(const struct gpu *gpu, struct error *err) {
  (void)gpu;
  (void)err;
  gpu_state.fences++;
  return calloc(1, 1);
}

static int fake_record(const struct gpu *gpu, void *fence, struct error *err) {
  (void)gpu;
  if (gpu_state.fails_from && ++gpu_state.records >= gpu_state.fails_from)
    return error_set(err, STATUS_DEVICE, "the GPU failed");
  *(char *)fence = 1;
  return 0;
}

static void fake_free_fence(const struct gpu *gpu, void *fence) {
  (void)gpu;
  gpu_state.fences--;
  free(fence);
}

static int fake_download(const struct gpu *gpu, const struct frame *frame, struct error *err) {
  struct frame there = *frame;
  (void)gpu;
  (void)err;
  assert_int_equal(*(char *)frame->picture->fence, 1);
  uint8_t *const planes[3] = {frame_plane(frame, 0), frame_plane(frame, 1), frame_plane(frame, 2)};
  for (int i = 0; i < 3; i++)
    there.plane[i] = frame->picture->device_plane[i];
  frame_copy_pixels(planes, frame->pitch, &there);
  gpu_state.downloads++;
  return 0;
}

static int fake_make_share(const struct gpu *gpu, size_t bytes, struct gpu_share **out, struct error *err) {
  (void)gpu;
  int place = 0;
  while (shares[place])
    assert_true(++place < SHARES);
  if (gpu_state.full)
    return error_set(err, STATUS_DEVICE, "no memory to share");
  struct fake_share *share = calloc(1, sizeof *share);
  share->memory = malloc(bytes);
  share->base = (struct gpu_share){place, bytes, share->memory};
  memset(share->memory, 0x5a, bytes);
  shares[place] = share;
  gpu_state.shares++;
  *out = &share->base;
  return 0;
}

static int fake_fill_share(const struct gpu *gpu, struct gpu_share *base, const struct frame *frame,
                           struct error *err) {
  struct fake_share *share = (struct fake_share *)base;
  const struct picture *picture = frame->picture;
  (void)gpu;
  (void)err;
  assert_int_equal(*(char *)picture->fence, 1);
  assert_false(share->filling);
  share->filling = true;
  share->from = *frame;
  for (int i = 0; i < frame_planes(frame->format); i++)
    share->from.plane[i] = picture->device_plane[i];
  gpu_state.filling++;
  return 0;
}

static int fake_wait_share(const struct gpu *gpu, struct gpu_share *base, struct error *err) {
  struct fake_share *share = (struct fake_share *)base;
  const struct frame *from = &share->from;
  uint8_t *planes[3] = {0};
  (void)gpu;
  if (!share->filling)
    return 0;
  share->filling = false;
  gpu_state.filling--;
  if (gpu_state.broken)
    return error_set(err, STATUS_DEVICE, "the copy failed");
  for (int i = 0; i < frame_planes(from->format); i++)
    planes[i] = share->memory + (from->plane[i] - from->plane[0]);
  frame_copy_pixels(planes, from->pitch, from);
  gpu_state.shared++;
  return 0;
}

static void fake_free_share(const struct gpu *gpu, struct gpu_share *base) {
  struct fake_share *share = (struct fake_share *)base;
  (void)gpu;
  gpu_state.filling -= share->filling;
  shares[base->descriptor] = NULL;
  gpu_state.shares--;
  free(share->memory);
  free(share);
}

static int fake_mix(const struct gpu *gpu, struct gpu_share *base, const struct gpu_mixing *mixing, struct error *err) {
  uint8_t *memory = base->memory;
  (void)gpu;
  for (int i = 0; i < 2; i++)
    assert_true(!mixing->fence[i] || *(char *)mixing->fence[i] == 1);
  if (gpu_state.broken)
    return error_set(err, STATUS_DEVICE, "mixing failed");
  mixture_make(mixing->mixture, (uint8_t *const[]){memory, memory + mixing->chroma});
  gpu_state.mixed++;
  return 0;
}

const struct fake_share *fake_share_find(int descriptor) {
  return descriptor >= 0 && descriptor < SHARES ? shares[descriptor] : NULL;
}

static const struct gpu_impl fake_impl = {.alloc_host = fake_alloc,
                                          .free_host = fake_free,
                                          .lock_host = fake_lock,
                                          .unlock_host = fake_unlock,
                                          .make_fence = fake_fence,
                                          .record_fence = fake_record,
                                          .free_fence = fake_free_fence,
                                          .download = fake_download,
                                          .make_share = fake_make_share,
                                          .fill_share = fake_fill_share,
                                          .wait_share = fake_wait_share,
                                          .free_share = fake_free_share,
                                          .mix = fake_mix};
const struct gpu fake_gpu = {.impl = &fake_impl, .id = {.uuid = {1}}};

/* --- hardware --- */

struct hardware_state hardware_state;

static bool is_readable(enum AVPixelFormat format) {
  return format == AV_PIX_FMT_YUV420P || format == AV_PIX_FMT_YUV420P10LE;
}

static const AVCodec *fake_find(const AVCodecParameters *video) {
  return is_readable(video->format) ? avcodec_find_decoder(video->codec_id) : NULL;
}

/* Chooses a format when FFmpeg asks for one, like NVDEC. */
static enum AVPixelFormat choose(AVCodecContext *context, const enum AVPixelFormat *formats) {
  hardware_state.asked++;
  if (is_readable(context->sw_pix_fmt))
    return avcodec_default_get_format(context, formats);
  ((struct decoding *)context->opaque)->refused = true;
  return AV_PIX_FMT_NONE;
}

static int fake_prepare(AVCodecContext *context, const struct gpu *gpu) {
  context->get_format = choose;
  assert_ptr_equal(gpu->impl, &fake_impl);
  hardware_state.opened++;
  hardware_state.sent = 0;
  return hardware_state.absent ? AVERROR(ENODEV) : 0;
}

static int fake_send(AVCodecContext *context, const AVPacket *packet) {
  hardware_state.sent++;
  if (hardware_state.fails_from && hardware_state.sent >= hardware_state.fails_from)
    return AVERROR_EXTERNAL;
  if (hardware_state.refuses_from && hardware_state.sent >= hardware_state.refuses_from) {
    ((struct decoding *)context->opaque)->refused = true;
    return AVERROR_INVALIDDATA;
  }
  return avcodec_send_packet(context, packet);
}

static void surface_freed(void *opaque, uint8_t *data) {
  (void)opaque;
  for (int i = 0; i < SHARES; i++)
    assert_false(shares[i] && shares[i]->filling && shares[i]->from.plane[0] == data);
  gpu_state.surfaces--;
  free(data);
}

/* Copies a sample of 8 bits, or of 10 bits that are moved to the upper ones. */
static void put_sample(uint8_t *to, const uint8_t *from, int x, int to_x, bool deep) {
  if (deep)
    ((uint16_t *)to)[to_x] = (uint16_t)(((const uint16_t *)from)[x] << 6);
  else
    to[to_x] = from[x];
}

/* Turns the software decoder's picture into a surface. */
static void make_surface(AVFrame *frame) {
  bool deep = frame->format == AV_PIX_FMT_YUV420P10LE;
  AVFrame *surface = av_frame_alloc();
  int width = (frame->width + 1) / 2, height = (frame->height + 1) / 2, pitch = (frame->width + 600) / 512 * 1024;
  size_t luma = (size_t)pitch * (size_t)frame->height, bytes = luma + (size_t)pitch * (size_t)height;
  uint8_t *data = calloc(1, bytes);
  av_frame_copy_props(surface, frame);
  surface->buf[0] = av_buffer_create(data, bytes, surface_freed, NULL, 0);
  gpu_state.surfaces++;
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width; x++)
      put_sample(data + (size_t)y * (size_t)pitch, frame->data[0] + (ptrdiff_t)y * frame->linesize[0], x, x, deep);
  for (int y = 0; y < 2 * height; y++)
    for (int x = 0; x < width; x++)
      put_sample(data + luma + (size_t)(y / 2) * (size_t)pitch,
                 frame->data[1 + y % 2] + (ptrdiff_t)(y / 2) * frame->linesize[1 + y % 2], x, 2 * x + y % 2, deep);
  surface->format = AV_PIX_FMT_CUDA;
  surface->width = frame->width;
  surface->height = frame->height;
  surface->data[0] = data;
  surface->data[1] = data + luma;
  surface->linesize[0] = surface->linesize[1] = pitch;
  surface->crop_left = hardware_state.cuts ? 8 : 0;
  surface->hw_frames_ctx = av_buffer_ref(hardware_state.frames[deep]);
  av_frame_unref(frame);
  av_frame_move_ref(frame, surface);
  av_frame_free(&surface);
}

static int fake_receive(AVCodecContext *context, AVFrame *frame) {
  int code = avcodec_receive_frame(context, frame);
  if (code >= 0)
    make_surface(frame);
  return code;
}

const struct hardware fake_hardware = {"fake", "a fake", fake_find, fake_prepare, fake_send, fake_receive};

bool fake_hardware_open(void) {
  AVBufferRef *device = av_hwdevice_ctx_alloc(AV_HWDEVICE_TYPE_CUDA);
  for (int i = 0; device && i < 2; i++) {
    hardware_state.frames[i] = av_hwframe_ctx_alloc(device);
    AVHWFramesContext *frames = (AVHWFramesContext *)hardware_state.frames[i]->data;
    frames->format = AV_PIX_FMT_CUDA;
    frames->sw_format = i ? AV_PIX_FMT_P010LE : AV_PIX_FMT_NV12;
  }
  av_buffer_unref(&device);
  return hardware_state.frames[1];
}

void fake_hardware_close(void) {
  for (int i = 0; i < 2; i++)
    av_buffer_unref(&hardware_state.frames[i]);
}
