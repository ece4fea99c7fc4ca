/* The element reverierestyle with CUDA memory, in GStreamer's harness: whatever memory frames come from and pictures go
 * to, the pixels are those of the host's memory. Skipped without a GPU.
 *
 * GST_PLUGIN_PATH names the folder of the plugin. */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <cmocka.h>

#define GST_USE_UNSTABLE_API
#include <gst/check/gstharness.h>
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#include <gst/video/video.h>

enum { SIDE = 128, KINDS = 4, SKIPPED = 77, BYTES_MOST = SIDE * SIDE * 4 };

static const char *const formats[] = {"RGBA", "NV12", "I420", "P010_10LE"};
enum { FORMATS = sizeof formats / sizeof *formats };

static GstCaps *caps_of(const char *format, gboolean cuda) {
  GstCaps *caps = gst_caps_new_simple("video/x-raw", "format", G_TYPE_STRING, format, "width", G_TYPE_INT, SIDE,
                                      "height", G_TYPE_INT, SIDE, "framerate", GST_TYPE_FRACTION, 10, 1, NULL);
  if (cuda)
    gst_caps_set_features_simple(caps, gst_caps_features_new(GST_CAPS_FEATURE_MEMORY_CUDA_MEMORY, NULL));
  return caps;
}

static GstHarness *begin(const char *launch, const char *format, gboolean cuda_in, gboolean cuda_out) {
  GstHarness *harness = gst_harness_new_parse(launch);
  assert_non_null(harness);
  gst_harness_set_sink_caps(harness, caps_of(format, cuda_out));
  gst_harness_set_src_caps(harness, caps_of(format, cuda_in));
  return harness;
}

/* Returns the context that the element offers, which the caller unrefs. */
static GstCudaContext *offered(GstHarness *harness) {
  GstContext *context = NULL;
  GstCudaContext *own = NULL;
  GstQuery *query = gst_query_new_context(GST_CUDA_CONTEXT_TYPE);
  assert_true(gst_pad_peer_query(harness->srcpad, query));
  gst_query_parse_context(query, &context);
  assert_true(
      gst_structure_get(gst_context_get_structure(context), GST_CUDA_CONTEXT_TYPE, GST_TYPE_CUDA_CONTEXT, &own, NULL));
  gst_query_unref(query);
  return own;
}

/* --- frames and pictures --- */

/* A buffer of the host's memory, or of a context's. */
static GstBuffer *a_buffer(const GstVideoInfo *info, GstCudaContext *context) {
  GstBuffer *buffer = NULL;
  if (!context)
    return gst_buffer_new_allocate(NULL, info->size, NULL);
  GstCaps *caps = gst_video_info_to_caps(info);
  GstBufferPool *pool = gst_cuda_buffer_pool_new(context);
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_set_params(config, caps, (guint)info->size, 0, 0);
  assert_true(gst_buffer_pool_set_config(pool, config));
  assert_true(gst_buffer_pool_set_active(pool, TRUE));
  assert_int_equal(gst_buffer_pool_acquire_buffer(pool, &buffer, NULL), GST_FLOW_OK);
  gst_object_unref(pool); /* the buffer keeps it */
  gst_caps_unref(caps);
  return buffer;
}

static GstBuffer *a_frame(const char *format, int number, GstCudaContext *context) {
  GstVideoInfo info;
  GstVideoFrame pixels;
  GstCaps *caps = caps_of(format, FALSE);
  assert_true(gst_video_info_from_caps(&info, caps));
  gst_caps_unref(caps);
  GstBuffer *buffer = a_buffer(&info, context);
  assert_true(gst_video_frame_map(&pixels, &info, buffer, GST_MAP_WRITE));
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&pixels); i++)
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&pixels, i); y++)
      for (int x = 0; x < GST_VIDEO_FRAME_COMP_WIDTH(&pixels, i) * GST_VIDEO_FRAME_COMP_PSTRIDE(&pixels, i); x++)
        ((guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&pixels, i))[y * GST_VIDEO_FRAME_PLANE_STRIDE(&pixels, i) + x] =
            (guint8)(x + 2 * y + 60 * number);
  gst_video_frame_unmap(&pixels);
  GST_BUFFER_PTS(buffer) = (GstClockTime)number * GST_SECOND / 10;
  GST_BUFFER_DURATION(buffer) = GST_SECOND / 10;
  return buffer;
}

/* Takes the next picture. Copies its pixels without padding to `to`, and returns their number of bytes. */
static gsize pulled(GstHarness *harness, const char *format, GstCudaContext *context, guint8 *to) {
  GstVideoInfo info;
  GstVideoFrame pixels;
  gsize bytes = 0;
  GstCaps *caps = caps_of(format, FALSE);
  assert_true(gst_video_info_from_caps(&info, caps));
  gst_caps_unref(caps);
  GstBuffer *buffer = gst_harness_try_pull(harness);
  assert_non_null(buffer);
  GstMemory *memory = gst_buffer_peek_memory(buffer, 0);
  assert_int_equal(gst_is_cuda_memory(memory), context != NULL);
  if (context)
    assert_ptr_equal(gst_cuda_context_get_handle(GST_CUDA_MEMORY_CAST(memory)->context),
                     gst_cuda_context_get_handle(context));
  assert_true(gst_video_frame_map(&pixels, &info, buffer, GST_MAP_READ));
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(&pixels); i++)
    for (int y = 0; y < GST_VIDEO_FRAME_COMP_HEIGHT(&pixels, i); y++) {
      gsize row = (gsize)(GST_VIDEO_FRAME_COMP_WIDTH(&pixels, i) * GST_VIDEO_FRAME_COMP_PSTRIDE(&pixels, i));
      memcpy(to + bytes,
             (guint8 *)GST_VIDEO_FRAME_PLANE_DATA(&pixels, i) + y * GST_VIDEO_FRAME_PLANE_STRIDE(&pixels, i), row);
      bytes += row;
    }
  gst_video_frame_unmap(&pixels);
  gst_buffer_unref(buffer);
  return bytes;
}

static guint8 expected[KINDS][BYTES_MOST], made[BYTES_MOST];

static gsize expect(const char *format) {
  gsize bytes = 0;
  GstHarness *harness = begin("reverierestyle device=cuda prompt-1=neon", format, FALSE, FALSE);
  for (int i = 0; i < KINDS; i++) {
    assert_int_equal(gst_harness_push(harness, a_frame(format, i, NULL)), GST_FLOW_OK);
    bytes = pulled(harness, format, NULL, expected[i]);
    assert_true(i == 0 || memcmp(expected[i], expected[i - 1], bytes));
  }
  gst_harness_teardown(harness);
  return bytes;
}

/* Makes pictures of frames in a context's memory, or in the host's, and compares them with those expected. */
static void compare(GstHarness *harness, const char *format, gsize bytes, GstCudaContext *in, GstCudaContext *out) {
  for (int i = 0; i <= KINDS; i++) {
    if (i < KINDS)
      assert_int_equal(gst_harness_push(harness, a_frame(format, i, in)), GST_FLOW_OK);
    else
      assert_true(gst_harness_push_event(harness, gst_event_new_eos()));
    if (i > 0) {
      assert_int_equal(pulled(harness, format, out, made), bytes);
      assert_memory_equal(made, expected[i - 1], bytes);
    }
  }
}

/* --- the tests --- */

static void pixels_are_the_hosts(void **state) {
  (void)state;
  for (int i = 0; i < FORMATS; i++) {
    gsize bytes = expect(formats[i]);
    for (int way = 0; way < 4; way++) {
      GstHarness *harness = begin("reverierestyle device=cuda prompt-1=neon in-flight=2", formats[i], way & 1, way & 2);
      GstCudaContext *context = offered(harness);
      compare(harness, formats[i], bytes, way & 1 ? context : NULL, way & 2 ? context : NULL);
      gst_object_unref(context);
      gst_harness_teardown(harness);
    }
  }
}

/* A context of a pipeline is not the engine's: its memory is read all the same, and pictures are in the engine's. */
static void another_context_is_read(void **state) {
  (void)state;
  GstCudaContext *other = gst_cuda_context_new(0);
  assert_non_null(other);
  for (int i = 0; i < FORMATS; i++) {
    gsize bytes = expect(formats[i]);
    GstHarness *harness = begin("reverierestyle device=cuda prompt-1=neon in-flight=2", formats[i], TRUE, TRUE);
    GstCudaContext *context = offered(harness);
    assert_ptr_not_equal(gst_cuda_context_get_handle(context), gst_cuda_context_get_handle(other));
    compare(harness, formats[i], bytes, other, context);
    gst_object_unref(context);
    gst_harness_teardown(harness);
  }
  gst_object_unref(other);
}

/* A frame that the GPU is still to read is not given back, and its own wrapping of the context makes no difference. */
static void frames_are_kept(void **state) {
  (void)state;
  GstHarness *harness = begin("reverierestyle device=cuda prompt-1=neon in-flight=2", "RGBA", TRUE, TRUE);
  GstCudaContext *context = offered(harness);
  GstCudaContext *wrapped = gst_cuda_context_new_wrapped(gst_cuda_context_get_handle(context), 0);
  GstBuffer *frame = gst_buffer_ref(a_frame("RGBA", 0, wrapped));
  assert_int_equal(gst_harness_push(harness, frame), GST_FLOW_OK);
  assert_int_equal(GST_MINI_OBJECT_REFCOUNT_VALUE(frame), 2);
  assert_int_equal(gst_harness_push(harness, a_frame("RGBA", 1, context)), GST_FLOW_OK);
  assert_int_equal(GST_MINI_OBJECT_REFCOUNT_VALUE(frame), 1);
  gst_buffer_unref(frame);
  gst_harness_teardown(harness); /* with a frame in flight */
  gst_object_unref(wrapped);
  gst_object_unref(context);
}

/* The memory of pictures outlives the element, and the context with it. */
static void pictures_outlive_the_element(void **state) {
  (void)state;
  gsize bytes = expect("RGBA");
  GstHarness *harness = begin("reverierestyle device=cuda prompt-1=neon", "RGBA", FALSE, TRUE);
  assert_int_equal(gst_harness_push(harness, a_frame("RGBA", 0, NULL)), GST_FLOW_OK);
  GstBuffer *picture = gst_harness_pull(harness);
  gst_harness_teardown(harness);
  GstMapInfo map;
  assert_true(gst_buffer_map(picture, &map, GST_MAP_READ));
  assert_int_equal(map.size, bytes); /* SIDE is a multiple of the pitch */
  assert_memory_equal(map.data, expected[0], bytes);
  gst_buffer_unmap(picture, &map);
  gst_buffer_unref(picture);
}

static gboolean has_gpu(void) {
  int count = 0;
  return gst_cuda_load_library() && CuInit(0) == CUDA_SUCCESS && CuDeviceGetCount(&count) == CUDA_SUCCESS && count;
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pixels_are_the_hosts),
      cmocka_unit_test(another_context_is_read),
      cmocka_unit_test(frames_are_kept),
      cmocka_unit_test(pictures_outlive_the_element),
  };
  gst_init(&argc, &argv);
  if (!has_gpu()) {
    print_message("skipped: there is no GPU\n");
    return SKIPPED;
  }
  gst_cuda_memory_init_once();
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  gst_deinit();
  return failed;
}
