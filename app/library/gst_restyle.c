/* The GStreamer element reverierestyle, which restyles video/x-raw in the host's memory and in CUDA memory.
 *
 * Each buffer of the input is submitted to an engine of the library. Once as many frames are in flight as the property
 * in-flight says, the picture of the oldest frame is collected and sent, with the times of that frame. At the end of
 * the stream and before the caps change, the pictures of all frames in flight are sent; a flush drops them. The base
 * class drops frames that come too late (QoS), before they are submitted.
 *
 * The engine is opened when the caps are negotiated, because its pictures have the output's format, and closed when the
 * element stops. */
#include "app/library/gst_restyle.h"

GST_DEBUG_CATEGORY_STATIC(restyle_debug);
#define GST_CAT_DEFAULT restyle_debug

G_DEFINE_TYPE(ReverieRestyle, reverie_restyle, GST_TYPE_BASE_TRANSFORM)

/* --- errors and log lines of the library, given to GStreamer --- */

void restyle_post(ReverieRestyle *restyle, GstMessageType type, const struct reverie_error *error) {
  GQuark domain = error->status == REVERIE_INPUT    ? GST_STREAM_ERROR
                  : error->status == REVERIE_MODEL  ? GST_RESOURCE_ERROR
                  : error->status == REVERIE_DEVICE ? GST_RESOURCE_ERROR
                                                    : GST_LIBRARY_ERROR;
  int code = error->status == REVERIE_INPUT    ? (int)GST_STREAM_ERROR_FORMAT
             : error->status == REVERIE_MODEL  ? (int)GST_RESOURCE_ERROR_NOT_FOUND
             : error->status == REVERIE_DEVICE ? (int)GST_RESOURCE_ERROR_FAILED
             : error->status == REVERIE_USAGE  ? (int)GST_LIBRARY_ERROR_SETTINGS
                                               : (int)GST_LIBRARY_ERROR_FAILED;
  gst_element_message_full(GST_ELEMENT(restyle), type, domain, code, g_strdup(error->message), NULL, __FILE__, __func__,
                           __LINE__);
}

static void log_line(void *opaque, int level, const char *line) {
  static const GstDebugLevel levels[] = {GST_LEVEL_WARNING, GST_LEVEL_INFO, GST_LEVEL_DEBUG};
  GST_CAT_LEVEL_LOG(restyle_debug, levels[CLAMP(level, 0, 2)], opaque, "%s", line);
}

/* --- opening and closing the engine --- */

/* Gives the engine the values that the application has set. opening: true: only the parameters that are read when the
 * model is opened; false: only all others. Called with restyle->lock held. Returns 0; after a failure, -1 with
 * error. */
static int apply_all(ReverieRestyle *restyle, struct reverie *engine, gboolean opening, struct reverie_error *error) {
  const ReverieRestyleClass *class = RESTYLE_CLASS(restyle);
  for (int i = 0; i < class->count; i++)
    if ((class->rows[i].when == REVERIE_AT_OPENING) == opening && restyle_apply(restyle, engine, i, error))
      return -1;
  return 0;
}

/* Makes a struct reverie whose model is not open yet, and sets the parameters that reverie_open reads. Returns NULL
 * with error after a failure. */
static struct reverie *make_engine(ReverieRestyle *restyle, struct reverie_error *error) {
  struct reverie *engine = NULL;
  g_mutex_lock(&restyle->lock);
  char *gpu = restyle->in_cuda ? restyle_cuda_device(restyle) : NULL;
  const struct reverie_config config = {.size = sizeof config,
                                        .log = log_line,
                                        .log_opaque = restyle,
                                        .device = gpu ? gpu : restyle->device,
                                        .threads = restyle->threads,
                                        .format = restyle->format,
                                        .memory = restyle->in_cuda ? REVERIE_CUDA : REVERIE_HOST,
                                        .flags = restyle->smooth ? REVERIE_SMOOTH : 0};
  if (!reverie_create(&engine, &config, error) && apply_all(restyle, engine, TRUE, error))
    reverie_destroy(&engine);
  g_mutex_unlock(&restyle->lock);
  g_free(gpu);
  return engine;
}

static void close_engine(ReverieRestyle *restyle) {
  g_mutex_lock(&restyle->lock);
  struct reverie *engine = restyle->engine;
  restyle->engine = NULL;
  restyle->frames_behind = 0;
  restyle->gpu = -1;
  g_mutex_unlock(&restyle->lock);
  reverie_destroy(&engine);
  g_queue_clear_full(&restyle->waiting, (GDestroyNotify)gst_buffer_unref);
}

gboolean restyle_open(ReverieRestyle *restyle, int format, gboolean in_cuda) {
  struct reverie_error error = {.size = sizeof error};
  if (restyle->failed || (restyle->engine && restyle->format == format && restyle->in_cuda == in_cuda))
    return !restyle->failed;
  restyle_drain(restyle);
  close_engine(restyle);
  restyle->format = format;
  restyle->in_cuda = in_cuda;
  struct reverie *engine = make_engine(restyle, &error);
  int status = engine ? reverie_open(engine, &error) : -1;
  if (!status) {
    g_mutex_lock(&restyle->lock);
    status = apply_all(restyle, engine, FALSE, &error);
    restyle->engine = status ? NULL : engine;
    g_mutex_unlock(&restyle->lock);
  }
  if (!status)
    return TRUE;
  reverie_destroy(&engine);
  restyle->failed = TRUE;
  restyle_post(restyle, GST_MESSAGE_ERROR, &error);
  return FALSE;
}

/* --- telling the pipeline the element's latency --- */

static void tell_latency(ReverieRestyle *restyle) {
  gst_element_post_message(GST_ELEMENT(restyle), gst_message_new_latency(GST_OBJECT(restyle)));
}

void restyle_set_rate(ReverieRestyle *restyle, const GstVideoInfo *in) {
  g_mutex_lock(&restyle->lock);
  restyle->frame_duration = in->fps_n > 0 ? gst_util_uint64_scale_int(GST_SECOND, in->fps_d, in->fps_n) : 0;
  g_mutex_unlock(&restyle->lock);
  tell_latency(restyle);
}

void restyle_follow(ReverieRestyle *restyle) {
  struct reverie_info info = {.size = sizeof info, .gpu = -1};
  gboolean told = !reverie_get_info(restyle->engine, &info, NULL);
  restyle->gpu = info.gpu;
  if (!told || info.frames_behind == restyle->frames_behind)
    return;
  g_mutex_lock(&restyle->lock);
  restyle->frames_behind = info.frames_behind;
  g_mutex_unlock(&restyle->lock);
  tell_latency(restyle);
}

/* Adds the element's own latency to the answer of a latency query. The latency is one frame duration for each frame in
 * flight, if the pipeline keeps up; a stream batch adds frames_behind further frames. */
static void add_latency(ReverieRestyle *restyle, GstQuery *query) {
  gboolean live;
  GstClockTime least, most;
  gst_query_parse_latency(query, &live, &least, &most);
  g_mutex_lock(&restyle->lock);
  GstClockTime own = (GstClockTime)(restyle->in_flight + restyle->frames_behind) * restyle->frame_duration;
  g_mutex_unlock(&restyle->lock);
  gst_query_set_latency(query, live, least + own, GST_CLOCK_TIME_IS_VALID(most) ? most + own : most);
}

static gboolean handle_query(GstBaseTransform *base, GstPadDirection direction, GstQuery *query) {
  if (GST_QUERY_TYPE(query) == GST_QUERY_CONTEXT && restyle_cuda_answer((ReverieRestyle *)base, query))
    return TRUE;
  gboolean answered = GST_BASE_TRANSFORM_CLASS(reverie_restyle_parent_class)->query(base, direction, query);
  if (answered && direction == GST_PAD_SRC && GST_QUERY_TYPE(query) == GST_QUERY_LATENCY)
    add_latency((ReverieRestyle *)base, query);
  return answered;
}

/* --- submitting frames of the input to the engine --- */

static int matrix_of(const GstVideoInfo *info) {
  switch ((int)info->colorimetry.matrix) {
  case GST_VIDEO_COLOR_MATRIX_BT2020:
    return REVERIE_BT2020;
  case GST_VIDEO_COLOR_MATRIX_BT709:
  case GST_VIDEO_COLOR_MATRIX_SMPTE240M:
    return REVERIE_BT709;
  default:
    return REVERIE_BT601;
  }
}

static struct reverie_frame describe(const ReverieRestyle *restyle, const GstVideoFrame *pixels) {
  const GstVideoInfo *info = &restyle->in;
  struct reverie_frame frame = {.size = sizeof frame,
                                .format = restyle_format(info->finfo->format),
                                .matrix = matrix_of(info),
                                .range = info->colorimetry.range == GST_VIDEO_COLOR_RANGE_0_255 ? REVERIE_FULL
                                                                                                : REVERIE_LIMITED,
                                .width = info->width,
                                .height = info->height,
                                .pixel_aspect = (float)info->par_n / (float)info->par_d,
                                .restart = restyle->restart};
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(pixels) && i < 3; i++) {
    frame.plane[i] = GST_VIDEO_FRAME_PLANE_DATA(pixels, i);
    frame.pitch[i] = GST_VIDEO_FRAME_PLANE_STRIDE(pixels, i);
  }
  return frame;
}

/* Submits a buffer of the input. Appends to `waiting` an empty buffer with the input buffer's times, flags and
 * metadata, for the picture that is made of it. */
static GstFlowReturn submit(ReverieRestyle *restyle, GstBuffer *in) {
  struct reverie_error error = {.size = sizeof error};
  GstVideoFrame pixels;
  GstClockTime time = gst_segment_to_stream_time(&restyle->parent.segment, GST_FORMAT_TIME, GST_BUFFER_PTS(in));
  GstMapFlags on_gpu = restyle_cuda_flags(restyle, in);
  if (!gst_video_frame_map(&pixels, &restyle->in, in, GST_MAP_READ | on_gpu)) {
    GST_ELEMENT_ERROR(restyle, STREAM, FORMAT, ("The frame's memory does not fit its caps."), (NULL));
    return GST_FLOW_ERROR;
  }
  if (restyle->from_cuda && !on_gpu)
    GST_INFO_OBJECT(restyle, "a frame in other CUDA memory than the engine's comes through the host");
  if (GST_CLOCK_TIME_IS_VALID(time))
    gst_object_sync_values(GST_OBJECT(restyle), time);
  struct reverie_frame frame = describe(restyle, &pixels);
  frame.time_ns = GST_CLOCK_TIME_IS_VALID(time) ? (int64_t)time : 0;
  frame.opaque = restyle; /* any pointer but NULL: the engine copies it to picture.opaque, which is NULL only if there
                           * is no picture */
  if (on_gpu)
    restyle_cuda_describe(restyle, in, &frame);
  int status = reverie_submit(restyle->engine, &frame, &error);
  gst_video_frame_unmap(&pixels);
  if (status) {
    restyle_post(restyle, GST_MESSAGE_ERROR, &error);
    return GST_FLOW_ERROR;
  }
  GstBuffer *times = gst_buffer_new();
  gst_buffer_copy_into(times, in, GST_BUFFER_COPY_FLAGS | GST_BUFFER_COPY_TIMESTAMPS | GST_BUFFER_COPY_META, 0,
                       (gsize)-1);
  if (on_gpu)
    restyle_cuda_keep(times, in);
  g_queue_push_tail(&restyle->waiting, times);
  restyle->restart = FALSE;
  restyle_follow(restyle);
  return GST_FLOW_OK;
}

/* --- collecting pictures and making buffers of them --- */

/* Gets a buffer for a picture, from the pool of the downstream element if it has offered one. */
static GstFlowReturn get_buffer(ReverieRestyle *restyle, GstBuffer **buffer) {
  GstBufferPool *pool = gst_base_transform_get_buffer_pool(&restyle->parent);
  GstFlowReturn flow = GST_FLOW_OK;
  *buffer = NULL;
  if (!pool)
    *buffer = gst_buffer_new_allocate(NULL, restyle->out.size, NULL);
  else if (gst_buffer_pool_set_active(pool, TRUE))
    flow = gst_buffer_pool_acquire_buffer(pool, buffer, NULL);
  g_clear_object(&pool);
  return *buffer || flow != GST_FLOW_OK ? flow : GST_FLOW_ERROR;
}

static gboolean copy_rows(const struct reverie_picture *picture, GstVideoFrame *to) {
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(to); i++) {
    int rows = GST_VIDEO_FRAME_COMP_HEIGHT(to, i), pitch = GST_VIDEO_FRAME_PLANE_STRIDE(to, i);
    for (int y = 0; y < rows; y++)
      memcpy((char *)GST_VIDEO_FRAME_PLANE_DATA(to, i) + (ptrdiff_t)y * pitch,
             (const char *)picture->plane[i] + (ptrdiff_t)y * picture->pitch[i], (size_t)MIN(pitch, picture->pitch[i]));
  }
  return TRUE;
}

/* Copies a picture to a new buffer *out, together with the times and metadata of the buffer `times`, which stand for
 * the frame that the picture was made of. */
static GstFlowReturn copy_picture(ReverieRestyle *restyle, const struct reverie_picture *picture, GstBuffer *times,
                                  GstBuffer **out) {
  GstVideoFrame pixels;
  GstFlowReturn flow = get_buffer(restyle, out);
  if (flow != GST_FLOW_OK)
    return flow;
  GstMapFlags on_gpu = restyle_cuda_flags(restyle, *out);
  gboolean copied = FALSE;
  if (gst_video_frame_map(&pixels, &restyle->out, *out, GST_MAP_WRITE | on_gpu)) {
    copied = picture->memory == REVERIE_CUDA ? restyle_cuda_copy(restyle, picture, &pixels, on_gpu)
                                             : copy_rows(picture, &pixels);
    gst_video_frame_unmap(&pixels);
  }
  if (!copied) {
    gst_clear_buffer(out);
    return GST_FLOW_ERROR;
  }
  GST_BASE_TRANSFORM_CLASS(reverie_restyle_parent_class)->copy_metadata(&restyle->parent, times, *out);
  return GST_FLOW_OK;
}

/* Collects the picture of the oldest frame in flight as a buffer. *out is NULL after an error, or if a stream batch has
 * no finished picture yet; picture.opaque is NULL in the latter case. If a picture fails, the times of its frame are
 * dropped, so that later pictures keep their own times. */
static GstFlowReturn collect(ReverieRestyle *restyle, GstBuffer **out) {
  struct reverie_error error = {.size = sizeof error};
  struct reverie_picture picture = {.size = sizeof picture};
  GstFlowReturn flow = GST_FLOW_OK;
  *out = NULL;
  if (reverie_collect(restyle->engine, &picture, &error)) {
    if (picture.opaque)
      gst_buffer_unref(g_queue_pop_head(&restyle->waiting));
    restyle_post(restyle, GST_MESSAGE_ERROR, &error);
    return GST_FLOW_ERROR;
  }
  if (!picture.plane[0])
    return GST_FLOW_OK;
  GstBuffer *times = g_queue_pop_head(&restyle->waiting);
  flow = copy_picture(restyle, &picture, times, out);
  gst_buffer_unref(times);
  reverie_release(&picture);
  return flow;
}

static GstFlowReturn generate_output(GstBaseTransform *base, GstBuffer **out) {
  ReverieRestyle *restyle = (ReverieRestyle *)base;
  GstBuffer *in = base->queued_buf;
  base->queued_buf = NULL;
  *out = NULL;
  GstFlowReturn flow = in ? submit(restyle, in) : GST_FLOW_OK;
  gst_clear_buffer(&in);
  if (flow != GST_FLOW_OK || reverie_in_flight(restyle->engine) < restyle->in_flight)
    return flow;
  return collect(restyle, out);
}

/* Not called, since generate_output takes its place. Without it, the base class would take the element for one that
 * passes frames on, and would have no pool for the pictures' buffers. */
static GstFlowReturn transform(GstBaseTransform *base, GstBuffer *in, GstBuffer *out) {
  (void)base, (void)in, (void)out;
  return GST_FLOW_NOT_SUPPORTED;
}

static GstFlowReturn submit_input_buffer(GstBaseTransform *base, gboolean is_discont, GstBuffer *in) {
  ((ReverieRestyle *)base)->restart |= is_discont;
  return GST_BASE_TRANSFORM_CLASS(reverie_restyle_parent_class)->submit_input_buffer(base, is_discont, in);
}

/* --- events: the end of the stream, new segments, and flushes --- */

/* Collects the next picture of the frames that were submitted. If no frame is in flight, a stream batch still has
 * frames whose pictures are not finished; submitting NULL advances them by a step. */
static GstFlowReturn collect_next(ReverieRestyle *restyle, GstBuffer **out) {
  struct reverie_error error = {.size = sizeof error};
  *out = NULL;
  if (reverie_in_flight(restyle->engine) || !reverie_submit(restyle->engine, NULL, &error))
    return collect(restyle, out);
  restyle_post(restyle, GST_MESSAGE_ERROR, &error);
  return GST_FLOW_ERROR;
}

GstFlowReturn restyle_drain(ReverieRestyle *restyle) {
  GstFlowReturn flow = GST_FLOW_OK;
  GstBuffer *out;
  while (restyle->engine && flow == GST_FLOW_OK && !g_queue_is_empty(&restyle->waiting)) {
    flow = collect_next(restyle, &out);
    if (out)
      flow = gst_pad_push(GST_BASE_TRANSFORM_SRC_PAD(restyle), out);
  }
  return flow;
}

/* Makes the pictures of all frames that were submitted and drops them, because otherwise they would be sent after the
 * flush. If making one picture fails, the others are dropped all the same. */
static void drop_frames(ReverieRestyle *restyle) {
  GstBuffer *out;
  GstFlowReturn flow = GST_FLOW_OK;
  while (restyle->engine && !g_queue_is_empty(&restyle->waiting) &&
         (flow == GST_FLOW_OK || reverie_in_flight(restyle->engine))) {
    flow = collect_next(restyle, &out);
    gst_clear_buffer(&out);
  }
  g_queue_clear_full(&restyle->waiting, (GDestroyNotify)gst_buffer_unref);
  restyle->restart = TRUE;
}

static gboolean sink_event(GstBaseTransform *base, GstEvent *event) {
  ReverieRestyle *restyle = (ReverieRestyle *)base;
  if (GST_EVENT_TYPE(event) == GST_EVENT_FLUSH_STOP)
    drop_frames(restyle);
  if (GST_EVENT_TYPE(event) == GST_EVENT_EOS || GST_EVENT_TYPE(event) == GST_EVENT_SEGMENT)
    restyle_drain(restyle);
  return GST_BASE_TRANSFORM_CLASS(reverie_restyle_parent_class)->sink_event(base, event);
}

/* --- starting and stopping the element, and registering it and the plug-in --- */

static gboolean start(GstBaseTransform *base) {
  restyle_cuda_announce((ReverieRestyle *)base);
  return TRUE;
}

static gboolean stop(GstBaseTransform *base) {
  ReverieRestyle *restyle = (ReverieRestyle *)base;
  close_engine(restyle);
  restyle_cuda_stop(restyle);
  restyle->failed = FALSE;
  return TRUE;
}

static void finalize(GObject *object) {
  ReverieRestyle *restyle = (ReverieRestyle *)object;
  close_engine(restyle);
  restyle_cuda_stop(restyle);
  restyle_free_given(restyle);
  g_free(restyle->device);
  g_mutex_clear(&restyle->lock);
  G_OBJECT_CLASS(reverie_restyle_parent_class)->finalize(object);
}

static void reverie_restyle_init(ReverieRestyle *restyle) {
  g_mutex_init(&restyle->lock);
  g_queue_init(&restyle->waiting);
  restyle->given = g_new0(GValue, (gsize)RESTYLE_CLASS(restyle)->count);
  restyle->in_flight = 1;
  restyle->gpu = -1;
  gst_base_transform_set_qos_enabled(&restyle->parent, TRUE);
}

static void reverie_restyle_class_init(ReverieRestyleClass *class) {
  GstBaseTransformClass *base = GST_BASE_TRANSFORM_CLASS(class);
  G_OBJECT_CLASS(class)->finalize = finalize;
  restyle_init_properties(class);
  restyle_init_caps(class);
  gst_element_class_set_static_metadata(GST_ELEMENT_CLASS(class), "Restyle", "Filter/Effect/Video",
                                        "Restyles the picture with a diffusion network", "reverie");
  base->query = handle_query;
  base->sink_event = sink_event;
  base->submit_input_buffer = submit_input_buffer;
  base->generate_output = generate_output;
  base->transform = transform;
  base->start = start;
  base->stop = stop;
}

static gboolean register_elements(GstPlugin *plugin) {
  GST_DEBUG_CATEGORY_INIT(restyle_debug, "reverierestyle", 0, "reverie's element");
  return gst_element_register(plugin, "reverierestyle", GST_RANK_NONE, reverie_restyle_get_type());
}

#define PACKAGE "reverie"
GST_PLUGIN_DEFINE(GST_VERSION_MAJOR, GST_VERSION_MINOR, reverie, "Restyles video with a diffusion network",
                  register_elements, REVERIE_VERSION, "MIT/X11", "reverie", "reverie")
