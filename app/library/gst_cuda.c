/* Frames and pictures of the element in CUDA memory, by GStreamer's library gstreamer-cuda.
 *
 * The engine computes in its GPU's primary context, and a context cannot read the memory of another one. So the element
 * wraps the primary context as a GstCudaContext and offers it to the pipeline, whose elements then allocate in it. The
 * engine reads such frames where they are. Frames in memory of another context come through the host: mapping them
 * copies them. Pictures are copied, on the GPU, to buffers of a pool, because the library's memory for pictures is not
 * GStreamer's. As with GStreamer's own elements, a buffer is written when it is sent. */
#include <stdlib.h>
#include <string.h>

#include <gmodule.h>

#define GST_USE_UNSTABLE_API
#include <gst/cuda/gstcudabufferpool.h>
#include <gst/cuda/gstcudaloader.h>
#include <gst/cuda/gstcudautils.h>
#ifdef HAVE_CUDA_STREAMS
#include <gst/cuda/gstcudastream.h>
#endif

#include "app/library/gst_restyle.h"

gboolean restyle_cuda_is_built(void) {
  return TRUE;
}

/* --- the GPU --- */

/* Returns CUDA's number of the GPU that the property device names; -1: it names the CPU. Called with restyle->lock
 * held. */
static int gpu_of(const ReverieRestyle *restyle) {
  const char *device = restyle->device ? restyle->device : "auto";
  if (g_str_has_prefix(device, "cuda:"))
    return atoi(device + strlen("cuda:"));
  return strcmp(device, "auto") && strcmp(device, "cuda") ? -1 : 0;
}

char *restyle_cuda_device(ReverieRestyle *restyle) {
  int number = gpu_of(restyle);
  return number < 0 ? NULL : g_strdup_printf("cuda:%d", number);
}

static gboolean is_there(int number) {
  int count = 0;
  return number >= 0 && gst_cuda_load_library() && CuInit(0) == CUDA_SUCCESS &&
         CuDeviceGetCount(&count) == CUDA_SUCCESS && number < count;
}

gboolean restyle_cuda_usable(ReverieRestyle *restyle) {
  g_mutex_lock(&restyle->lock);
  int number = gpu_of(restyle);
  g_mutex_unlock(&restyle->lock);
  return is_there(number);
}

/* --- its primary context --- */

/* A hold on the primary context, by two functions of the driver that GStreamer's library does not load. */
struct primary {
  GModule *driver;
  __typeof__(cuDevicePrimaryCtxRetain) *retain;
  __typeof__(cuDevicePrimaryCtxRelease) *release;
  CUdevice device;
  CUcontext context; /* NULL: nothing is held */
};

static void let_go(gpointer data) {
  struct primary *primary = data;
  if (primary->context)
    primary->release(primary->device);
  if (primary->driver)
    g_module_close(primary->driver);
  g_free(primary);
}

static gboolean hold(struct primary *primary, int number) {
  primary->driver = g_module_open("libcuda.so.1", G_MODULE_BIND_LAZY);
  return primary->driver &&
         g_module_symbol(primary->driver, "cuDevicePrimaryCtxRetain", (gpointer *)&primary->retain) &&
         g_module_symbol(primary->driver, "cuDevicePrimaryCtxRelease_v2", (gpointer *)&primary->release) &&
         CuDeviceGet(&primary->device, number) == CUDA_SUCCESS &&
         primary->retain(&primary->context, primary->device) == CUDA_SUCCESS;
}

/* Returns the GPU's primary context as a GstCudaContext, which holds it as long as it is used; NULL: there is none. */
static GObject *wrap(int number) {
  struct primary *primary = g_new0(struct primary, 1);
  GstCudaContext *context = NULL;
  if (is_there(number) && hold(primary, number))
    context = gst_cuda_context_new_wrapped(primary->context, primary->device);
  if (!context) {
    let_go(primary);
    return NULL;
  }
  gst_cuda_memory_init_once();
  g_object_set_data_full(G_OBJECT(context), "reverie-primary-context", primary, let_go);
  return G_OBJECT(context);
}

static int number_of(GObject *context) {
  guint number;
  g_object_get(context, "cuda-device-id", &number, NULL);
  return (int)number;
}

/* Returns the GstCudaContext of the GPU that the property device names, which the caller unrefs; NULL: there is no such
 * GPU. */
static GstCudaContext *get_context(ReverieRestyle *restyle) {
  g_mutex_lock(&restyle->lock);
  int number = gpu_of(restyle);
  if (restyle->cuda && number_of(restyle->cuda) != number)
    g_clear_object(&restyle->cuda);
  if (!restyle->cuda)
    restyle->cuda = wrap(number);
  GObject *context = restyle->cuda ? g_object_ref(restyle->cuda) : NULL;
  g_mutex_unlock(&restyle->lock);
  return (GstCudaContext *)context;
}

gboolean restyle_cuda_answer(ReverieRestyle *restyle, GstQuery *query) {
  const char *type;
  gst_query_parse_context_type(query, &type);
  GstCudaContext *context = strcmp(type, GST_CUDA_CONTEXT_TYPE) ? NULL : get_context(restyle);
  gboolean answered = context && gst_cuda_handle_context_query(GST_ELEMENT(restyle), query, context);
  g_clear_object(&context);
  return answered;
}

void restyle_cuda_announce(ReverieRestyle *restyle) {
  GstCudaContext *context = get_context(restyle);
  if (context)
    gst_element_post_message(GST_ELEMENT(restyle),
                             gst_message_new_have_context(GST_OBJECT(restyle), gst_context_new_cuda_context(context)));
  g_clear_object(&context);
}

void restyle_cuda_stop(ReverieRestyle *restyle) {
  g_mutex_lock(&restyle->lock);
  g_clear_object(&restyle->cuda);
  g_mutex_unlock(&restyle->lock);
}

/* Returns TRUE if the two are the same context of CUDA, which several GstCudaContexts can wrap. */
static gboolean is_same(GstCudaContext *one, GstCudaContext *other) {
  return one && other && gst_cuda_context_get_handle(one) == gst_cuda_context_get_handle(other);
}

/* --- pools of buffers --- */

/* Configures the pool for these caps. *size gets the size of its buffers in bytes. */
static gboolean configure(GstBufferPool *pool, GstCaps *caps, guint *size, guint least, guint most) {
  GstVideoInfo info;
  if (!gst_video_info_from_caps(&info, caps))
    return FALSE;
  GstStructure *config = gst_buffer_pool_get_config(pool);
  gst_buffer_pool_config_add_option(config, GST_BUFFER_POOL_OPTION_VIDEO_META);
  gst_buffer_pool_config_set_params(config, caps, (guint)info.size, least, most);
  if (!gst_buffer_pool_set_config(pool, config))
    return FALSE;
  config = gst_buffer_pool_get_config(pool); /* with the size that rows of the GPU's pitch have */
  gst_buffer_pool_config_get_params(config, NULL, size, NULL, NULL);
  gst_structure_free(config);
  return TRUE;
}

void restyle_cuda_offer(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps) {
  guint size;
  GstCudaContext *context = get_context(restyle);
  GstBufferPool *pool = context ? gst_cuda_buffer_pool_new(context) : NULL;
  if (pool && configure(pool, caps, &size, 0, 0))
    gst_query_add_allocation_pool(query, pool, size, 0, 0);
  g_clear_object(&pool);
  g_clear_object(&context);
}

/* Returns the pool that the next element offers in its answer, if its memory is of this context, or else a new one. */
static GstBufferPool *choose_pool(GstCudaContext *context, GstQuery *query, guint *least, guint *most) {
  GstBufferPool *pool = NULL;
  *least = *most = 0;
  if (gst_query_get_n_allocation_pools(query))
    gst_query_parse_nth_allocation_pool(query, 0, &pool, NULL, least, most);
  if (pool && !(GST_IS_CUDA_BUFFER_POOL(pool) && is_same(GST_CUDA_BUFFER_POOL(pool)->context, context)))
    g_clear_object(&pool);
  return pool ? pool : gst_cuda_buffer_pool_new(context);
}

gboolean restyle_cuda_decide(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps) {
  guint size, least, most;
  GstCudaContext *context = get_context(restyle);
  GstBufferPool *pool = context ? choose_pool(context, query, &least, &most) : NULL;
  gboolean configured = pool && configure(pool, caps, &size, least, most);
  if (!configured)
    GST_ELEMENT_ERROR(restyle, RESOURCE, SETTINGS, ("There are no buffers in CUDA memory for the pictures."), (NULL));
  else if (gst_query_get_n_allocation_pools(query))
    gst_query_set_nth_allocation_pool(query, 0, pool, size, least, most);
  else
    gst_query_add_allocation_pool(query, pool, size, least, most);
  g_clear_object(&pool);
  g_clear_object(&context);
  return configured;
}

/* --- frames and pictures --- */

GstMapFlags restyle_cuda_flags(ReverieRestyle *restyle, GstBuffer *buffer) {
  GstMemory *memory = gst_buffer_n_memory(buffer) == 1 ? gst_buffer_peek_memory(buffer, 0) : NULL;
  if (restyle->gpu < 0 || !gst_is_cuda_memory(memory))
    return (GstMapFlags)0;
  GstCudaContext *context = get_context(restyle);
  gboolean own = context && number_of(G_OBJECT(context)) == restyle->gpu &&
                 is_same(GST_CUDA_MEMORY_CAST(memory)->context, context);
  g_clear_object(&context);
  return (GstMapFlags)(own ? GST_MAP_CUDA : 0);
}

void restyle_cuda_describe(ReverieRestyle *restyle, GstBuffer *buffer, struct reverie_frame *frame) {
  frame->memory = REVERIE_CUDA;
  frame->device = restyle->gpu;
#ifdef HAVE_CUDA_STREAMS
  GstCudaStream *stream = gst_cuda_memory_get_stream(GST_CUDA_MEMORY_CAST(gst_buffer_peek_memory(buffer, 0)));
  frame->stream = stream ? gst_cuda_stream_get_handle(stream) : NULL;
#else
  (void)buffer; /* before GStreamer 1.24, what has been sent is written */
#endif
}

void restyle_cuda_keep(GstBuffer *times, GstBuffer *buffer) {
  gst_mini_object_set_qdata(GST_MINI_OBJECT(times), g_quark_from_static_string("reverie-frame"), gst_buffer_ref(buffer),
                            (GDestroyNotify)gst_buffer_unref);
}

/* Starts copying a plane. to_host: the GstVideoFrame is in the host's memory. */
static CUresult copy_plane(const struct reverie_picture *picture, const GstVideoFrame *to, guint plane, int to_host) {
  CUDA_MEMCPY2D copy = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                        .srcDevice = (CUdeviceptr)(guintptr)picture->plane[plane],
                        .srcPitch = (size_t)picture->pitch[plane],
                        .dstMemoryType = to_host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE,
                        .dstHost = to_host ? GST_VIDEO_FRAME_PLANE_DATA(to, plane) : NULL,
                        .dstDevice = to_host ? 0 : (CUdeviceptr)(guintptr)GST_VIDEO_FRAME_PLANE_DATA(to, plane),
                        .dstPitch = (size_t)GST_VIDEO_FRAME_PLANE_STRIDE(to, plane),
                        .Height = (size_t)GST_VIDEO_FRAME_COMP_HEIGHT(to, plane)};
  copy.WidthInBytes = MIN(copy.srcPitch, copy.dstPitch);
  return CuMemcpy2DAsync(&copy, CU_STREAM_PER_THREAD);
}

gboolean restyle_cuda_copy(ReverieRestyle *restyle, const struct reverie_picture *picture, GstVideoFrame *to,
                           GstMapFlags flags) {
  GstCudaContext *context = get_context(restyle);
  gboolean entered = context && gst_cuda_context_push(context);
  CUresult status = entered ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
  for (guint i = 0; i < GST_VIDEO_FRAME_N_PLANES(to) && status == CUDA_SUCCESS; i++)
    status = copy_plane(picture, to, i, !flags);
  if (status == CUDA_SUCCESS)
    status = CuStreamSynchronize(CU_STREAM_PER_THREAD);
  if (entered)
    gst_cuda_context_pop(NULL);
  g_clear_object(&context);
  if (status != CUDA_SUCCESS)
    GST_ELEMENT_ERROR(restyle, RESOURCE, WRITE, ("A picture cannot be copied on the GPU."), ("CUresult %d", status));
  return status == CUDA_SUCCESS;
}
