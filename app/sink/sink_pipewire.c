/* The sink pipewire: or pipewire:NAME, a node that other programs of the desktop see as a camera. Its pictures are I420
 * in BT.709, all of the size in sink_options. A picture that nobody reads is dropped. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libswscale/swscale.h>

#include "app/sink/sink.h"
#include "app/source/convert.h"
#include "app/source/pipewire_spec.h"
#include "app/source/pipewire_stream.h"
#include "unet/base/platform.h"

enum { LOOK_AGAIN_MS = 20 };

struct pipewire_sink {
  struct sink sink;
  const char *spec;
  int width, height;
  struct frame scaled; /* frame into which pictures are scaled; its planes are in `pixels` */
  struct SwsContext *scaler;
  enum pixel_format from;      /* format and size for which the scaler is set up */
  int from_width, from_height; /* size of the pictures for which the scaler is set up; 0: for none */
  struct pipewire_stream stream;

  /* The following field is protected by the stream's lock. */
  uint8_t *pixels; /* the newest picture, which is sent when PipeWire asks for one */
};

static int plane_pitch(const struct pipewire_sink *to, int plane) {
  int luma = (to->width + 7) / 8 * 8;
  return plane ? luma / 2 : luma;
}

static size_t picture_bytes(const struct pipewire_sink *to) {
  size_t bytes = 0;
  for (int i = 0; i < 3; i++)
    bytes += (size_t)plane_pitch(to, i) * (size_t)frame_rows(PIXEL_YUV420P, i, to->height);
  return bytes;
}

/* --- events, on PipeWire's thread --- */

static void on_state(void *data, enum pw_stream_state old, enum pw_stream_state state, const char *message) {
  struct pipewire_sink *to = data;
  (void)old;
  pipewire_stream_note(&to->stream, state, message);
}

/* Called when the format is agreed on: tells PipeWire how much memory a picture takes. */
static void on_format(void *data, uint32_t id, const struct spa_pod *param) {
  struct pipewire_sink *to = data;
  uint8_t memory[512];
  struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
  if (id != SPA_PARAM_Format || !param)
    return;
  const struct spa_pod *buffers = spa_pod_builder_add_object(
      &builder, SPA_TYPE_OBJECT_ParamBuffers, SPA_PARAM_Buffers, SPA_PARAM_BUFFERS_buffers,
      SPA_POD_CHOICE_RANGE_Int(4, 2, 8), SPA_PARAM_BUFFERS_blocks, SPA_POD_Int(1), SPA_PARAM_BUFFERS_size,
      SPA_POD_Int((int)picture_bytes(to)), SPA_PARAM_BUFFERS_stride, SPA_POD_Int(plane_pitch(to, 0)));
  pw_stream_update_params(to->stream.stream, &buffers, 1);
}

static void on_process(void *data) {
  struct pipewire_sink *to = data;
  struct pw_buffer *buffer = pw_stream_dequeue_buffer(to->stream.stream);
  if (!buffer)
    return;
  struct spa_data *memory = &buffer->buffer->datas[0];
  size_t bytes = picture_bytes(to);
  bool fits = memory->data && memory->maxsize >= bytes;
  if (fits)
    memcpy(memory->data, to->pixels, bytes);
  memory->chunk->offset = 0;
  memory->chunk->stride = plane_pitch(to, 0);
  memory->chunk->size = fits ? (uint32_t)bytes : 0;
  pw_stream_queue_buffer(to->stream.stream, buffer);
}

static const struct pw_stream_events events = {PW_VERSION_STREAM_EVENTS, .state_changed = on_state,
                                               .param_changed = on_format, .process = on_process};

/* --- scaling pictures to the node's size --- */

static void fill_black(struct pipewire_sink *to) {
  for (int i = 0; i < 3; i++)
    memset(frame_plane(&to->scaled, i), i ? 128 : 16,
           (size_t)to->scaled.pitch[i] * (size_t)frame_rows(PIXEL_YUV420P, i, to->height));
}

/* Computes the part of the node's picture that a picture of another shape takes: the middle, between black bars. All
 * numbers are even. */
static void box_of(const struct pipewire_sink *to, const struct frame *frame, int *x, int *y, int *width, int *height) {
  double scale = fmin((double)to->width / frame->width, (double)to->height / frame->height);
  *width = (int)fmax(2, fmin(2 * lrint(frame->width * scale / 2), to->width));
  *height = (int)fmax(2, fmin(2 * lrint(frame->height * scale / 2), to->height));
  *x = (to->width - *width) / 4 * 2;
  *y = (to->height - *height) / 4 * 2;
}

static int set_scaler(struct pipewire_sink *to, const struct frame *frame, int width, int height) {
  if (to->from_width == frame->width && to->from_height == frame->height && to->from == frame->format)
    return 0;
  fill_black(to);
  sws_freeContext(to->scaler);
  to->scaler =
      sws_getContext(frame->width, frame->height, convert_to_ffmpeg(frame->format), width, height, AV_PIX_FMT_YUV420P,
                     SWS_BICUBIC | SWS_ACCURATE_RND | SWS_FULL_CHR_H_INT, NULL, NULL, NULL);
  if (!to->scaler)
    return -1;
  sws_setColorspaceDetails(to->scaler, convert_matrix(frame->matrix), frame->range == RANGE_FULL,
                           convert_matrix(MATRIX_BT709), 0, 0, 1 << 16, 1 << 16);
  to->from = frame->format;
  to->from_width = frame->width;
  to->from_height = frame->height;
  return 0;
}

/* Converts a picture to the node's format and size. Called with the lock held. */
static int scale(struct pipewire_sink *to, const struct frame *frame, struct error *err) {
  int x, y, width, height;
  uint8_t *plane[4] = {0};
  box_of(to, frame, &x, &y, &width, &height);
  if (set_scaler(to, frame, width, height))
    return error_set(err, STATUS_FAILED, "%s: no memory for scaling", to->spec);
  for (int i = 0; i < 3; i++)
    plane[i] = frame_plane(&to->scaled, i) + (ptrdiff_t)(i ? y / 2 : y) * to->scaled.pitch[i] + (i ? x / 2 : x);
  sws_scale(to->scaler, frame->plane, frame->pitch, 0, frame->height, plane, to->scaled.pitch);
  return 0;
}

/* --- the functions of the sink, on the thread that writes --- */

static bool accepts(const char *spec) {
  return pipewire_is(spec);
}

static void pipewire_close(struct sink *sink) {
  struct pipewire_sink *to = (struct pipewire_sink *)sink;
  pipewire_stream_close(&to->stream);
  sws_freeContext(to->scaler);
  free(to->pixels);
  free(to);
}

/* Builds the description of the node's pictures. */
static const struct spa_pod *offered(const struct pipewire_sink *to, double fps, struct spa_pod_builder *builder) {
  struct spa_video_info_raw info = {.format = SPA_VIDEO_FORMAT_I420,
                                    .size = SPA_RECTANGLE((uint32_t)to->width, (uint32_t)to->height),
                                    .framerate = SPA_FRACTION((uint32_t)lrint(fmax(fps, 1) * 1000), 1000),
                                    .color_range = SPA_VIDEO_COLOR_RANGE_16_235,
                                    .color_matrix = SPA_VIDEO_COLOR_MATRIX_BT709};
  return spa_format_video_raw_build(builder, SPA_PARAM_EnumFormat, &info);
}

static int connect_stream(struct pipewire_sink *to, double fps, struct error *err) {
  uint8_t memory[1024];
  struct spa_pod_builder builder = SPA_POD_BUILDER_INIT(memory, sizeof memory);
  const char *name = *pipewire_name(to->spec) ? pipewire_name(to->spec) : "reverie";
  struct pw_properties *properties = pw_properties_new(PW_KEY_MEDIA_CLASS, "Video/Source", PW_KEY_MEDIA_ROLE, "Camera",
                                                       PW_KEY_NODE_NAME, name, PW_KEY_NODE_DESCRIPTION, name, NULL);
  int flags = PW_STREAM_FLAG_DRIVER | PW_STREAM_FLAG_MAP_BUFFERS;
  return pipewire_stream_open(&to->stream, name, properties, &events, to, STATUS_OUTPUT, err) ||
         pipewire_stream_connect(&to->stream, PW_DIRECTION_OUTPUT, (enum pw_stream_flags)flags,
                                 offered(to, fps, &builder), STATUS_OUTPUT, err);
}

/* Waits until PipeWire has the node, at most options->patience seconds (0: ten seconds). Returns 0, or -1 with err. */
static int wait_for_node(struct pipewire_sink *to, const struct sink_options *options, struct error *err) {
  int64_t until = platform_now_ns() + (int64_t)(options->patience > 0 ? options->patience * 1e9 : 1e10);
  int status = 0;
  pw_thread_loop_lock(to->stream.loop);
  while (!status && pw_stream_get_state(to->stream.stream, NULL) < PW_STREAM_STATE_PAUSED) {
    if (*to->stream.failure)
      status = error_set(err, STATUS_OUTPUT, "%s: %s", to->spec, to->stream.failure);
    else if (platform_now_ns() > until || (options->stop && atomic_load(options->stop)))
      status = error_set(err, STATUS_OUTPUT, "%s: PipeWire does not answer", to->spec);
    else
      pipewire_stream_wait(&to->stream, LOOK_AGAIN_MS);
  }
  pw_thread_loop_unlock(to->stream.loop);
  return status;
}

/* Allocates the memory of a picture, and points the planes of to->scaled into it. Returns 0, or -1 if memory is
 * short. */
static int make_picture(struct pipewire_sink *to) {
  to->pixels = malloc(picture_bytes(to) + FRAME_ALIGN); /* swscale writes whole blocks of pixels, so it may write a
                                                         * little beyond the picture's end */
  uint8_t *at = to->pixels;
  for (int i = 0; i < 3 && at; i++) {
    to->scaled.plane[i] = at;
    to->scaled.pitch[i] = plane_pitch(to, i);
    at += (size_t)plane_pitch(to, i) * (size_t)frame_rows(PIXEL_YUV420P, i, to->height);
  }
  return at ? 0 : -1;
}

static int pipewire_open(struct sink **sink, const char *spec, const struct sink_options *options, struct error *err) {
  struct pipewire_sink *to = calloc(1, sizeof *to);
  if (!to)
    return error_set(err, STATUS_FAILED, "no memory for %s", spec);
  to->sink.impl = &sink_pipewire;
  to->spec = spec;
  to->width = options->width;
  to->height = options->height;
  int status = make_picture(to) ? error_set(err, STATUS_FAILED, "no memory for %s", spec)
                                : connect_stream(to, options->fps, err) || wait_for_node(to, options, err);
  if (status) {
    pipewire_close(&to->sink);
    return -1;
  }
  *sink = &to->sink;
  return 0;
}

static int pipewire_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct pipewire_sink *to = (struct pipewire_sink *)sink;
  pw_thread_loop_lock(to->stream.loop);
  int status = *to->stream.failure ? error_set(err, STATUS_OUTPUT, "%s: %s", to->spec, to->stream.failure)
                                   : scale(to, frame, err);
  if (!status && pw_stream_get_state(to->stream.stream, NULL) == PW_STREAM_STATE_STREAMING)
    pw_stream_trigger_process(to->stream.stream);
  pw_thread_loop_unlock(to->stream.loop);
  return status;
}

static int pipewire_finish(struct sink *sink, bool whole, struct error *err) {
  (void)sink, (void)whole, (void)err;
  return 0;
}

const struct sink_impl sink_pipewire = {"pipewire",     accepts,         pipewire_open,
                                        pipewire_write, pipewire_finish, pipewire_close};
