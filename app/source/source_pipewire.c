/* The source pipewire: or pipewire:NAME, video that another program or a camera offers through PipeWire. PipeWire's
 * thread copies each frame, and reading takes the newest. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/pipewire_planes.h"
#include "app/source/pipewire_spec.h"
#include "app/source/pipewire_stream.h"
#include "app/source/source_impl.h"
#include "unet/base/platform.h"

enum { FIRST_FRAME_MS = 5000, LOOK_AGAIN_MS = 20, USUAL_FPS = 30, SIDE_MOST = 8192 };

struct pipewire_source {
  struct source source;
  struct source_options options;
  const char *name; /* name of the node to read, a part of `spec`; "": PipeWire chooses one */
  char spec[192];
  struct pipewire_stream stream;

  /* The following fields are protected by the stream's lock. */
  struct spa_video_info_raw format; /* format that PipeWire has agreed with the node; width 0: no format is agreed on
                                     * yet */
  struct host_pictures pictures;
  struct frame newest; /* the newest frame that was not read yet; `picture` NULL: there is none */
  uint64_t serial;
  int64_t first_ns; /* time (platform_now_ns) when the first frame came */
  bool ended;       /* true: the node that was read is gone */
};

/* --- the pixel formats and sizes that the source accepts --- */

static const struct {
  uint32_t theirs;
  enum pixel_format ours;
} formats[] = {
    {SPA_VIDEO_FORMAT_I420, PIXEL_YUV420P}, {SPA_VIDEO_FORMAT_NV12, PIXEL_NV12}, {SPA_VIDEO_FORMAT_YUY2, PIXEL_YUYV},
    {SPA_VIDEO_FORMAT_RGBA, PIXEL_RGBA},    {SPA_VIDEO_FORMAT_RGBx, PIXEL_RGBA}, {SPA_VIDEO_FORMAT_BGRA, PIXEL_BGRA},
    {SPA_VIDEO_FORMAT_BGRx, PIXEL_BGRA},
};
enum { FORMATS = sizeof formats / sizeof *formats };

static enum pixel_format pixels_of(uint32_t theirs) {
  int i = 0;
  while (i < FORMATS - 1 && formats[i].theirs != theirs)
    i++;
  return formats[i].ours;
}

/* Builds the description of all frames that this source takes; the wished size and rate are preferred. */
static const struct spa_pod *accepted(const struct source_options *options, struct spa_pod_builder *builder) {
  int width = options->width ? options->width : 1280, height = options->height ? options->height : 720;
  unsigned fps = options->fps >= 1 ? (unsigned)options->fps : USUAL_FPS;
  return spa_pod_builder_add_object(
      builder, SPA_TYPE_OBJECT_Format, SPA_PARAM_EnumFormat, SPA_FORMAT_mediaType, SPA_POD_Id(SPA_MEDIA_TYPE_video),
      SPA_FORMAT_mediaSubtype, SPA_POD_Id(SPA_MEDIA_SUBTYPE_raw), SPA_FORMAT_VIDEO_format,
      SPA_POD_CHOICE_ENUM_Id(8, formats[0].theirs, formats[0].theirs, formats[1].theirs, formats[2].theirs,
                             formats[3].theirs, formats[4].theirs, formats[5].theirs, formats[6].theirs),
      SPA_FORMAT_VIDEO_size,
      SPA_POD_CHOICE_RANGE_Rectangle(&SPA_RECTANGLE((uint32_t)width, (uint32_t)height), &SPA_RECTANGLE(1, 1),
                                     &SPA_RECTANGLE(SIDE_MOST, SIDE_MOST)),
      SPA_FORMAT_VIDEO_framerate,
      SPA_POD_CHOICE_RANGE_Fraction(&SPA_FRACTION(fps, 1), &SPA_FRACTION(0, 1), &SPA_FRACTION(1000, 1)));
}

/* --- events, on PipeWire's thread --- */

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *message) {
  struct pipewire_source *from = data;
  /* a stream stops streaming when the node that was read is gone */
  from->ended |= old == PW_STREAM_STATE_STREAMING && state < PW_STREAM_STATE_STREAMING;
  pipewire_stream_note(&from->stream, state, message);
}

static void on_format(void *data, uint32_t id, const struct spa_pod *param) {
  struct pipewire_source *from = data;
  struct spa_video_info_raw format = {0};
  if (id != SPA_PARAM_Format || !param || spa_format_video_raw_parse(param, &format) < 0)
    return;
  from->format = format;
  pw_thread_loop_signal(from->stream.loop, false);
}

/* Points a frame at the planes of a buffer. Returns false if the buffer is too small or not in memory. */
static bool point(const struct pipewire_source *from, const struct spa_buffer *buffer, struct frame *frame) {
  const struct spa_data *data = &buffer->datas[0];
  *frame = (struct frame){.format = pixels_of(from->format.format),
                          .matrix = from->format.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT709    ? MATRIX_BT709
                                    : from->format.color_matrix == SPA_VIDEO_COLOR_MATRIX_BT2020 ? MATRIX_BT2020
                                                                                                 : MATRIX_BT601,
                          .range = from->format.color_range == SPA_VIDEO_COLOR_RANGE_0_255 ? RANGE_FULL : RANGE_LIMITED,
                          .width = (int)from->format.size.width,
                          .height = (int)from->format.size.height};
  return data->data && data->chunk->size && frame->width > 0 && frame->height > 0 &&
         pipewire_planes(frame, data->data, data->maxsize, data->chunk->offset, data->chunk->stride);
}

/* Makes a copy of a buffer's pixels the newest frame. The newest frame before that is released, even if nobody has read
 * it. */
static void keep(struct pipewire_source *from, const struct spa_buffer *buffer) {
  struct frame pixels, frame;
  struct error err;
  if (!point(from, buffer, &pixels) || host_pictures_copy(&from->pictures, &pixels, &frame, &err))
    return;
  frame.captured_ns = platform_now_ns();
  if (!from->serial)
    from->first_ns = frame.captured_ns;
  frame.pts = (frame.captured_ns - from->first_ns) / 1000;
  frame.serial = from->serial++;
  frame_release(&from->newest);
  from->newest = frame;
  pw_thread_loop_signal(from->stream.loop, false);
}

static void on_process(void *data) {
  struct pipewire_source *from = data;
  struct pw_buffer *buffer = NULL, *next;
  while ((next = pw_stream_dequeue_buffer(from->stream.stream))) {
    if (buffer)
      pw_stream_queue_buffer(from->stream.stream, buffer);
    buffer = next;
  }
  if (!buffer)
    return;
  keep(from, buffer->buffer);
  pw_stream_queue_buffer(from->stream.stream, buffer);
}

static const struct pw_stream_events events = {PW_VERSION_STREAM_EVENTS, .state_changed = on_state,
                                               .param_changed = on_format, .process = on_process};

/* --- the functions of the source, on the thread that reads it --- */

static bool accepts(const char *spec) {
  return pipewire_is(spec);
}

static void pipewire_close(struct source *source) {
  struct pipewire_source *from = (struct pipewire_source *)source;
  pipewire_stream_close(&from->stream);
  frame_release(&from->newest);
  host_pictures_free(&from->pictures);
  free(from);
}

/* Waits, with the lock held, until a new frame has come. Returns 1, 0 if the source was interrupted or has ended, or -1
 * with err. patience_ms 0: no limit. */
static int wait_for_frame(struct pipewire_source *from, int64_t patience_ms, struct error *err) {
  int64_t until = platform_now_ns() + patience_ms * 1000000;
  while (!from->newest.picture) {
    if (source_interrupted(&from->source))
      return 0;
    if (*from->stream.failure)
      return error_set(err, STATUS_INPUT, "%s: %s", from->spec, from->stream.failure);
    if (from->ended)
      return 0;
    if (patience_ms && platform_now_ns() > until)
      return error_set(err, STATUS_INPUT, "%s: no frame has come; `pw-cli ls Node` lists what PipeWire has",
                       from->spec);
    pipewire_stream_wait(&from->stream, LOOK_AGAIN_MS);
  }
  return 1;
}

static int connect_stream(struct pipewire_source *from, struct error *err) {
  uint8_t memory[1024];
  struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
  struct pw_properties *properties = pw_properties_new(PW_KEY_MEDIA_TYPE, "Video", PW_KEY_MEDIA_CATEGORY, "Capture",
                                                       PW_KEY_MEDIA_ROLE, "Camera", NULL);
  if (properties && *from->name)
    pw_properties_set(properties, PW_KEY_TARGET_OBJECT, from->name);
  /* with DONT_RECONNECT PipeWire connects to no other node if the named one is missing or goes away */
  int flags = PW_STREAM_FLAG_AUTOCONNECT | PW_STREAM_FLAG_MAP_BUFFERS | PW_STREAM_FLAG_DONT_RECONNECT;
  return pipewire_stream_open(&from->stream, "reverie input", properties, &events, from, STATUS_INPUT, err) ||
         pipewire_stream_connect(&from->stream, PW_DIRECTION_INPUT, (enum pw_stream_flags)flags,
                                 accepted(&from->options, &builder), STATUS_INPUT, err);
}

static int pipewire_open(struct source **source, const char *spec, const struct source_options *options,
                         struct error *err) {
  struct pipewire_source *from = calloc(1, sizeof *from);
  if (!from)
    return error_set(err, STATUS_FAILED, "no memory for %s", spec);
  from->source.impl = &source_pipewire;
  from->source.stop = options->stop;
  from->source.cancel = options->cancel;
  from->options = *options;
  from->pictures.gpu = options->gpu;
  snprintf(from->spec, sizeof from->spec, "%s", spec);
  from->name = pipewire_name(from->spec);
  int status = connect_stream(from, err);
  if (!status) {
    pw_thread_loop_lock(from->stream.loop);
    status = wait_for_frame(from, FIRST_FRAME_MS, err) < 0;
    pw_thread_loop_unlock(from->stream.loop);
  }
  if (status) {
    pipewire_close(&from->source);
    return -1;
  }
  *source = &from->source;
  return 0;
}

static int pipewire_read(struct source *source, struct frame *frame, struct error *err) {
  struct pipewire_source *from = (struct pipewire_source *)source;
  pw_thread_loop_lock(from->stream.loop);
  int got = wait_for_frame(from, 0, err);
  if (got == 1) {
    *frame = from->newest;
    from->newest = (struct frame){0};
  }
  pw_thread_loop_unlock(from->stream.loop);
  double duration = from->options.duration;
  if (got == 1 && duration > 0 && (double)frame->pts >= duration * 1e6) {
    frame_release(frame);
    return 0;
  }
  return got;
}

static void pipewire_info(const struct source *source, struct source_info *info) {
  const struct pipewire_source *from = (const struct pipewire_source *)source;
  pw_thread_loop_lock(from->stream.loop);
  struct spa_rectangle size = from->format.size;
  struct spa_fraction rate = from->format.framerate;
  pw_thread_loop_unlock(from->stream.loop);
  info->width = (int)size.width;
  info->height = (int)size.height;
  info->shape = info->height ? (double)info->width / info->height : 0;
  info->fps = rate.num && rate.denom ? (double)rate.num / rate.denom : 0;
  info->time_base_num = 1;
  info->time_base_den = 1000000;
  info->duration = from->options.duration;
  info->realtime = info->returns = true;
  snprintf(info->name, sizeof info->name, "%.100s", from->spec);
  source_describe(info);
}

const struct source_impl source_pipewire = {.name = "pipewire",
                                            .accepts = accepts,
                                            .open = pipewire_open,
                                            .read = pipewire_read,
                                            .info = pipewire_info,
                                            .close = pipewire_close};
