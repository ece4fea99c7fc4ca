/* The element reverierestyle between two pads, in GStreamer's harness: what it negotiates, how many frames it keeps and
 * says so, what a flush drops and the end of a stream brings, and which frames are left out because they are late.
 *
 * GST_PLUGIN_PATH names the folder of the plugin. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#include <dlfcn.h>

#include <gst/check/gstharness.h>
#include <gst/video/video.h>

#include "app/library/reverie.h"

enum { SIDE = 64, FPS = 10 };
#define FRAMES "video/x-raw, format=RGBA, width=64, height=64, framerate=10/1"
static const GstClockTime duration = GST_SECOND / FPS;

/* how many of the next pictures are reported as failed to the element */
static int failures;

/* Replaces the library's function of this name and calls it, unless a failure is to be simulated. */
int reverie_collect(struct reverie *reverie, struct reverie_picture *picture, struct reverie_error *error) {
  int (*collect)(struct reverie *, struct reverie_picture *, struct reverie_error *);
  *(void **)&collect = dlsym(RTLD_NEXT, "reverie_collect");
  int status = collect(reverie, picture, error);
  if (status || !failures)
    return status;
  failures--;
  reverie_release(picture);
  error->status = REVERIE_DEVICE;
  return -1;
}

static GstHarness *begin(const char *launch, const char *caps) {
  GstHarness *harness = gst_harness_new_parse(launch);
  assert_non_null(harness);
  gst_harness_set_src_caps_str(harness, caps);
  return harness;
}

/* A frame of one colour, which the number chooses. */
static GstBuffer *a_frame(GstHarness *harness, int number) {
  GstBuffer *buffer = gst_harness_create_buffer(harness, SIDE * SIDE * 4);
  gst_buffer_memset(buffer, 0, (guint8)(40 + 50 * number), SIDE * SIDE * 4);
  GST_BUFFER_PTS(buffer) = (GstClockTime)number * duration;
  GST_BUFFER_DURATION(buffer) = duration;
  return buffer;
}

static void push(GstHarness *harness, int number) {
  assert_int_equal(gst_harness_push(harness, a_frame(harness, number)), GST_FLOW_OK);
}

/* Takes the next picture, which has to have the time of this frame; returns a value that stands for its pixels. */
static guint32 pulled(GstHarness *harness, int number) {
  GstMapInfo map;
  guint32 hash = 2166136261u;
  GstBuffer *buffer = gst_harness_try_pull(harness);
  assert_non_null(buffer);
  assert_int_equal(GST_BUFFER_PTS(buffer), (GstClockTime)number * duration);
  assert_int_equal(GST_BUFFER_DURATION(buffer), duration);
  assert_true(gst_buffer_map(buffer, &map, GST_MAP_READ));
  for (gsize i = 0; i < map.size; i++)
    hash = (hash ^ map.data[i]) * 16777619u;
  gst_buffer_unmap(buffer, &map);
  gst_buffer_unref(buffer);
  return hash;
}

static guint waiting(GstHarness *harness) {
  return gst_harness_buffers_in_queue(harness);
}

/* --- caps --- */

/* Returns the size, as width * 10000 + height, that is negotiated for these frames and these pictures. */
static int size_for(const char *launch, const char *frames, const char *pictures, const char *format) {
  GstVideoInfo info;
  GstHarness *harness = gst_harness_new_parse(launch);
  gst_harness_set_sink_caps_str(harness, pictures);
  gst_harness_set_src_caps_str(harness, frames);
  GstCaps *caps = gst_pad_get_current_caps(harness->sinkpad);
  assert_non_null(caps);
  assert_true(gst_video_info_from_caps(&info, caps));
  gst_caps_unref(caps);
  gst_harness_teardown(harness);
  assert_string_equal(gst_video_format_to_string(info.finfo->format), format);
  assert_int_equal(info.par_n, info.par_d);
  assert_int_equal(info.fps_n, FPS);
  if (GST_VIDEO_INFO_IS_YUV(&info))
    assert_true(gst_video_colorimetry_matches(&info.colorimetry, GST_VIDEO_COLORIMETRY_BT709));
  return info.width * 10000 + info.height;
}

static void negotiates(void **state) {
  (void)state;
  const char *wide = "video/x-raw, format=YUY2, width=96, height=72, pixel-aspect-ratio=4/3, framerate=10/1";
  assert_int_equal(size_for("reverierestyle size=96x64", FRAMES, "video/x-raw", "RGBA"), 960064);
  assert_int_equal(size_for("reverierestyle", FRAMES, "video/x-raw, width=128, height=64", "RGBA"), 1280064);
  assert_int_equal(
      size_for("reverierestyle", wide, "video/x-raw, format=NV12, width=[ 1, 120 ], height=[ 1, 80 ]", "NV12"),
      1200080);
  assert_int_equal(size_for("reverierestyle", wide, "video/x-raw", "RGBA"), 5120288);
}

/* A new size that is set while frames run, and frames of another size, lead to a new negotiation. */
static void negotiates_anew(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64 in-flight=2", FRAMES);
  push(harness, 0);
  gst_harness_set(harness, "reverierestyle", "size", "96x64", NULL);
  push(harness, 1);
  assert_int_equal(waiting(harness), 1); /* the picture of the first frame, which has the size of that frame */
  GstBuffer *picture = gst_harness_pull(harness);
  assert_int_equal(gst_buffer_get_size(picture), SIDE * SIDE * 4);
  gst_buffer_unref(picture);
  assert_true(gst_harness_push_event(harness, gst_event_new_eos()));
  picture = gst_harness_pull(harness);
  assert_int_equal(gst_buffer_get_size(picture), 96 * SIDE * 4);
  gst_buffer_unref(picture);
  gst_harness_teardown(harness);
}

/* Returns TRUE if some of the caps, which are freed, are in CUDA memory. */
static gboolean any_in_cuda(GstCaps *caps) {
  gboolean any = FALSE;
  for (guint i = 0; i < gst_caps_get_size(caps); i++)
    any |= gst_caps_features_contains(gst_caps_get_features(caps, i), "memory:CUDAMemory");
  gst_caps_unref(caps);
  return any;
}

/* An element that is built for CUDA memory has it in its templates. Where no GPU computes, its pads have it not. */
static void cuda_memory_needs_a_gpu(void **state) {
  (void)state;
  const char *const pads[] = {"sink", "src"};
  GstElement *element = gst_element_factory_make("reverierestyle", NULL);
  gst_object_ref_sink(element);
  g_object_set(element, "device", "cpu", NULL);
  for (int i = 0; i < 2; i++) {
    GstPad *pad = gst_element_get_static_pad(element, pads[i]);
    assert_int_equal(any_in_cuda(gst_pad_get_pad_template_caps(pad)), TAKES_CUDA);
    gst_object_unref(pad);
  }
  gst_object_unref(element);
  GstHarness *harness = begin("reverierestyle device=cpu size=64x64", FRAMES);
  assert_false(any_in_cuda(gst_pad_peer_query_caps(harness->srcpad, NULL)));
  assert_false(any_in_cuda(gst_pad_peer_query_caps(harness->sinkpad, NULL)));
  push(harness, 0);
  pulled(harness, 0);
  gst_harness_set_src_caps_str(harness,
                               "video/x-raw(memory:CUDAMemory), format=RGBA, width=64, height=64, framerate=10/1");
  assert_int_equal(gst_harness_push(harness, a_frame(harness, 1)), GST_FLOW_NOT_NEGOTIATED);
  gst_harness_teardown(harness);
}

/* Answers the question for memory with the pool `opaque`. */
static GstPadProbeReturn offer_pool(GstPad *pad, GstPadProbeInfo *info, gpointer opaque) {
  (void)pad;
  if (GST_QUERY_TYPE(info->data) != GST_QUERY_ALLOCATION)
    return GST_PAD_PROBE_OK;
  gst_query_add_allocation_pool(info->data, opaque, SIDE * SIDE * 4, 1, 0);
  return GST_PAD_PROBE_HANDLED;
}

static void pictures_are_in_the_pool_of_the_next_element(void **state) {
  (void)state;
  GstBufferPool *pool = gst_buffer_pool_new();
  GstHarness *harness = gst_harness_new_parse("reverierestyle size=64x64");
  gst_pad_add_probe(harness->sinkpad, GST_PAD_PROBE_TYPE_QUERY_DOWNSTREAM, offer_pool, pool, NULL);
  gst_harness_set_src_caps_str(harness, FRAMES);
  push(harness, 0);
  GstBuffer *picture = gst_harness_pull(harness);
  assert_ptr_equal(picture->pool, pool);
  gst_buffer_unref(picture);
  gst_harness_teardown(harness);
  gst_object_unref(pool);
}

/* --- frames in flight --- */

static void keeps_frames_and_says_so(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64", FRAMES);
  push(harness, 0);
  guint32 first = pulled(harness, 0);
  assert_int_equal(gst_harness_query_latency(harness), duration);
  gst_harness_set(harness, "reverierestyle", "in-flight", 2, NULL);
  assert_int_equal(gst_harness_query_latency(harness), 2 * duration);
  push(harness, 1);
  assert_int_equal(waiting(harness), 0);
  push(harness, 0);
  guint32 second = pulled(harness, 1);
  assert_int_equal(waiting(harness), 0);
  assert_true(gst_harness_push_event(harness, gst_event_new_eos()));
  assert_int_equal(pulled(harness, 0), first);
  assert_int_not_equal(first, second);
  gst_harness_teardown(harness);
}

/* A stream batch of three steps: each picture comes two frames later. */
static void counts_a_stream_batch(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64 steps=3 stream-batch=true", FRAMES);
  push(harness, 0);
  assert_int_equal(gst_harness_query_latency(harness), 3 * duration);
  push(harness, 1);
  assert_int_equal(waiting(harness), 0);
  push(harness, 2);
  pulled(harness, 0);
  assert_int_equal(waiting(harness), 0);
  assert_true(gst_harness_push_event(harness, gst_event_new_eos()));
  pulled(harness, 1);
  pulled(harness, 2);
  gst_harness_teardown(harness);
}

static void flush_drops(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64 in-flight=2", FRAMES);
  GstSegment segment;
  gst_segment_init(&segment, GST_FORMAT_TIME);
  push(harness, 0);
  assert_true(gst_harness_push_event(harness, gst_event_new_flush_start()));
  assert_true(gst_harness_push_event(harness, gst_event_new_flush_stop(TRUE)));
  assert_true(gst_harness_push_event(harness, gst_event_new_segment(&segment)));
  push(harness, 1);
  assert_int_equal(waiting(harness), 0);
  push(harness, 2);
  pulled(harness, 1);
  gst_harness_teardown(harness); /* with a frame in flight */
}

static void a_failure_loses_one_picture(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64 in-flight=2", FRAMES);
  push(harness, 0);
  failures = 1;
  assert_int_equal(gst_harness_push(harness, a_frame(harness, 1)), GST_FLOW_ERROR);
  push(harness, 2);
  pulled(harness, 1);
  gst_harness_teardown(harness);
}

static void leaves_late_frames_out(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle size=64x64", FRAMES);
  push(harness, 0);
  pulled(harness, 0);
  assert_true(gst_harness_push_upstream_event(
      harness, gst_event_new_qos(GST_QOS_TYPE_UNDERFLOW, 2, (GstClockTimeDiff)(5 * duration / 2), 0)));
  push(harness, 1);
  push(harness, 2);
  assert_int_equal(waiting(harness), 0);
  push(harness, 4);
  pulled(harness, 4);
  gst_harness_teardown(harness);
}

/* --- values --- */

static void values_change_while_frames_run(void **state) {
  (void)state;
  char *prompt;
  double strength;
  GstHarness *harness = begin("reverierestyle size=64x64 prompt-1=neon", FRAMES);
  push(harness, 0);
  guint32 neon = pulled(harness, 0);
  gst_harness_set(harness, "reverierestyle", "prompt-1", "watercolor", NULL);
  push(harness, 0);
  guint32 watercolor = pulled(harness, 0);
  assert_int_not_equal(watercolor, neon);
  gst_harness_get(harness, "reverierestyle", "prompt-1", &prompt, "strength", &strength, NULL);
  assert_string_equal(prompt, "watercolor");
  assert_true(strength == 1); /* the default that fits the mini model */
  g_free(prompt);
  gst_harness_set(harness, "reverierestyle", "prompt-1", "neon", NULL);
  push(harness, 0);
  assert_int_equal(pulled(harness, 0), neon);
  gst_harness_teardown(harness);
}

static void says_what_it_cannot_open(void **state) {
  (void)state;
  GError *error = NULL;
  GstHarness *harness = gst_harness_new_parse("reverierestyle model=/nowhere");
  GstElement *element = gst_harness_find_element(harness, "reverierestyle");
  GstBus *bus = gst_bus_new();
  gst_element_set_bus(element, bus);
  gst_harness_set_src_caps_str(harness, FRAMES);
  assert_int_not_equal(gst_harness_push(harness, a_frame(harness, 0)), GST_FLOW_OK);
  GstMessage *message = gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR);
  assert_non_null(message);
  gst_message_parse_error(message, &error, NULL);
  assert_true(g_error_matches(error, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_NOT_FOUND));
  assert_non_null(strstr(error->message, "/nowhere"));
  g_error_free(error);
  gst_message_unref(message);
  assert_null(gst_bus_pop_filtered(bus, GST_MESSAGE_ERROR)); /* the error is reported only once */
  gst_element_set_bus(element, NULL);
  gst_object_unref(bus);
  gst_object_unref(element);
  gst_harness_teardown(harness);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(negotiates),
      cmocka_unit_test(negotiates_anew),
      cmocka_unit_test(cuda_memory_needs_a_gpu),
      cmocka_unit_test(pictures_are_in_the_pool_of_the_next_element),
      cmocka_unit_test(keeps_frames_and_says_so),
      cmocka_unit_test(counts_a_stream_batch),
      cmocka_unit_test(flush_drops),
      cmocka_unit_test(a_failure_loses_one_picture),
      cmocka_unit_test(leaves_late_frames_out),
      cmocka_unit_test(values_change_while_frames_run),
      cmocka_unit_test(says_what_it_cannot_open),
  };
  gst_init(&argc, &argv);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gst_deinit();
  return failed;
}
