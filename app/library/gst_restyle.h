/* Declares what the files of the GStreamer element reverierestyle share: gst_restyle.c is the element itself,
 * gst_caps.c negotiates formats and sizes, gst_properties.c turns the library's parameters into the element's
 * properties, and gst_cuda.c is about CUDA memory, or gst_no_cuda.c where the element is built without it. */
#ifndef APP_LIBRARY_GST_RESTYLE_H
#define APP_LIBRARY_GST_RESTYLE_H

#include <gst/base/gstbasetransform.h>
#include <gst/video/video.h>

#include "app/library/reverie.h"

/* A property of the element that sets a parameter of the library, or one instance of a parameter. */
struct restyle_row {
  GParamSpec *spec;
  char *parameter; /* the parameter's name, such as "lora[1].weight" */
  /* type of the parameter (enum reverie_type), and when a new value takes effect (enum reverie_when) */
  int type, when;
};

typedef struct {
  GstBaseTransformClass parent_class;
  /* the properties that set parameters: rows[i - 1] describes the property with id i */
  struct restyle_row *rows;
  int count; /* number of entries of `rows` */
} ReverieRestyleClass;

typedef struct {
  GstBaseTransform parent;

  /* The fields from `engine` to `frame_duration` are protected by `lock`. Only the streaming thread opens and closes
   * the engine; so it may read the pointer `engine` without the lock. */
  GMutex lock;
  struct reverie *engine; /* the open engine; NULL: no engine is open */
  /* values that the application has set, one for each property in class->rows; a GValue of type 0: the application has
   * not set that one */
  GValue *given;
  char *device;  /* name of the device as in struct reverie_config: "auto", "cpu", "cuda" or "cuda:N"; NULL: auto */
  int threads;   /* number of threads with which a CPU makes pictures; 0: one for each core */
  int in_flight; /* once this many frames are in flight, the picture of the oldest frame is collected; at least 1 */
  gboolean smooth;
  GObject *cuda;               /* the GstCudaContext of the engine's GPU; NULL: nobody has asked for it yet */
  int frames_behind;           /* by how many frames a stream batch delays a picture, as in struct reverie_info */
  GstClockTime frame_duration; /* duration of a frame of the input in ns; 0: unknown */

  /* Only the streaming thread uses the following fields. */
  int format;           /* format of the open engine's pictures, an enum reverie_format */
  gboolean in_cuda;     /* TRUE: the open engine's pictures are in CUDA memory */
  int gpu;              /* CUDA's number of the GPU that computes; -1: the CPU computes */
  GstVideoInfo in, out; /* the negotiated caps of the input and the output */
  gboolean from_cuda;   /* TRUE: the input's caps are in CUDA memory */
  gboolean failed;      /* TRUE: the model could not be opened, and is not tried again until the element stops */
  GQueue waiting;       /* for each frame whose picture has not come yet, a buffer with its times and metadata */
  /* TRUE: the next frame does not continue the frame before it, because of a discontinuity or a flush */
  gboolean restart;
} ReverieRestyle;

/* --- gst_restyle.c: the element's type, its engine and its frames --- */

GType reverie_restyle_get_type(void);

/* Posts an error or a warning of the library as a message on the pipeline's bus. */
void restyle_post(ReverieRestyle *restyle, GstMessageType type, const struct reverie_error *error);
/* Opens the engine with the model, for pictures of this format (enum reverie_format) in CUDA's or the host's memory;
 * does nothing if it is already open for both. An engine that is open for another format or memory is drained and
 * closed first. Called by the streaming thread. Returns FALSE after an error, which was posted when it occurred, by
 * this call or an earlier one. */
gboolean restyle_open(ReverieRestyle *restyle, int format, gboolean in_cuda);
/* Stores what preparing the engine or submitting a frame may have changed: which GPU computes, and by how many frames a
 * stream batch delays pictures. If the latter has changed, the pipeline is told to ask for the latency anew. */
void restyle_follow(ReverieRestyle *restyle);
/* Stores the frame duration, from which latency is computed, and makes the pipeline query the latency again. */
void restyle_set_rate(ReverieRestyle *restyle, const GstVideoInfo *in);
/* Makes and sends the pictures of all frames that were submitted; stops at the first error, which it returns. Called by
 * the streaming thread. */
GstFlowReturn restyle_drain(ReverieRestyle *restyle);

/* --- gst_caps.c: negotiation of formats and sizes --- */

/* Sets the class's pad templates and its functions that negotiate caps. */
void restyle_init_caps(ReverieRestyleClass *class);
/* Returns the enum reverie_format for a format of GStreamer; 0: the library does not have the format. */
int restyle_format(GstVideoFormat format);

/* --- gst_properties.c: the element's properties --- */

/* Installs all properties of the element's class, and fills class->rows, which has a row for each parameter of the
 * engine. */
void restyle_init_properties(ReverieRestyleClass *class);
/* Sets the engine's parameter that class->rows[row] describes to the value that the application has given. Does
 * nothing if the application has given none, or if the parameter is the size, which gst_caps.c reads. Called with
 * restyle->lock held. Returns 0, or a status of the library with error. */
int restyle_apply(ReverieRestyle *restyle, struct reverie *engine, int row, struct reverie_error *error);
/* Returns the value of the property "size" that the application has given, which the caller frees; NULL: it has given
 * none. */
char *restyle_given_size(ReverieRestyle *restyle);
/* Frees restyle->given, the list of values that the application has set for the element's properties. */
void restyle_free_given(ReverieRestyle *restyle);

/* --- gst_cuda.c: frames and pictures in CUDA memory --- */

/* the feature of caps that are in CUDA memory */
#define RESTYLE_CUDA_MEMORY "memory:CUDAMemory"

/* Returns TRUE if the element is built with gstreamer-cuda. Otherwise the following functions do nothing. */
gboolean restyle_cuda_is_built(void);
/* Returns TRUE if there is the GPU that the property device names, and a driver. */
gboolean restyle_cuda_usable(ReverieRestyle *restyle);
/* Returns the library's name of that GPU, "cuda:N", which the caller frees; NULL: the property names the CPU. Called
 * with restyle->lock held. */
char *restyle_cuda_device(ReverieRestyle *restyle);
/* Answers the query for a GstCudaContext with that of the GPU. Returns FALSE if it is another query, or if there is no
 * GPU. */
gboolean restyle_cuda_answer(ReverieRestyle *restyle, GstQuery *query);
/* Tells the pipeline the GstCudaContext, for elements that are added later. */
void restyle_cuda_announce(ReverieRestyle *restyle);
/* Gives the GstCudaContext back. What has memory of it keeps it. */
void restyle_cuda_stop(ReverieRestyle *restyle);
/* Offers a pool of buffers in CUDA memory in the answer to an allocation query for frames of these caps. */
void restyle_cuda_offer(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps);
/* Chooses the pool of the pictures' buffers, which are in memory of the engine's context. Returns FALSE after an error,
 * which it posts. */
gboolean restyle_cuda_decide(ReverieRestyle *restyle, GstQuery *query, GstCaps *caps);
/* Returns the flag with which a buffer is mapped to get its addresses on the GPU; 0: it is not in memory that the
 * engine can use there. */
GstMapFlags restyle_cuda_flags(ReverieRestyle *restyle, GstBuffer *buffer);
/* Sets where the planes of a frame are that was mapped with this flag, and what still writes them. */
void restyle_cuda_describe(ReverieRestyle *restyle, GstBuffer *buffer, struct reverie_frame *frame);
/* Keeps the buffer of such a frame, which the engine reads later, until `times` is freed. */
void restyle_cuda_keep(GstBuffer *times, GstBuffer *buffer);
/* Copies a picture in CUDA memory to a mapped buffer. flags: what restyle_cuda_flags has returned for the buffer.
 * Returns FALSE after an error, which it posts. */
gboolean restyle_cuda_copy(ReverieRestyle *restyle, const struct reverie_picture *picture, GstVideoFrame *to,
                           GstMapFlags flags);

#define RESTYLE_CLASS(object) ((ReverieRestyleClass *)G_OBJECT_GET_CLASS(object))

#endif
