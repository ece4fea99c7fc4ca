/* libreverie: restyles pictures with a diffusion network.
 *
 * A program makes a struct reverie, sets parameters by their names ("model", "prompt[1]", "strength"), opens the model,
 * submits frames and collects their pictures. LIBRARY.md shows three programs. The library prints nothing, installs no
 * signal handler, never ends the process, and keeps all its state in a struct reverie.
 *
 * Errors. A function that can fail returns 0, or one of the other values of enum reverie_status. A struct reverie_error
 * that it was given, which may be NULL, then has one sentence that says what failed, where, and what to do. Sentences
 * name a parameter as the program `reverie` names its option: --strength is the parameter strength. Nothing has
 * changed after a failure unless a function says so. One failure cannot be returned: oneDNN 2, which computes on the
 * CPU, calls abort() where it gets no memory.
 *
 * Threads. Several struct reverie are independent of each other: each may be used on a thread of its own, even on the
 * same device. Of one struct reverie, any thread may call reverie_set, reverie_set_number, reverie_get,
 * reverie_prepare and reverie_nearest_size at any time once reverie_open has returned, also while
 * another thread submits and collects. All other functions are called by one thread at a time, which need not always be
 * the same one. Any thread may release a picture.
 *
 * Structs. The first field of each struct is its size in bytes, which the program sets before a call:
 * `struct reverie_frame frame = {.size = sizeof frame}`. Later versions of the library append fields. A field that the
 * library does not know is not read and not written, a field that the program does not know counts as 0. So old
 * programs run with new libraries and new programs with old ones. A value of an enum or the name of a parameter never
 * gets another meaning. What a zeroed field means is said with the field.
 *
 * GPUs. The header needs none of CUDA's. A `void *` that is said to be a cudaStream_t or a cudaEvent_t (a CUstream or a
 * CUevent, which are the same) is one of the GPU that the engine computes on, in its primary context, which CUDA's
 * runtime uses. NULL is never CUDA's default stream: this is cudaStreamLegacy or cudaStreamPerThread. A function of a
 * struct reverie on a GPU makes this GPU the current one of the calling thread.
 *
 * Texts are UTF-8. The library copies the texts and structs that it is given; a pointer that it gives out is valid as
 * long as the comment beside it says. */
#ifndef REVERIE_H
#define REVERIE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#ifdef __GNUC__
#pragma GCC visibility push(default)
#endif

struct reverie;

/* Returns the version of the library, such as "0.2.0"; the text lives as long as the library is loaded. */
const char *reverie_version(void);

/* --- errors and log lines --- */

enum reverie_status {
  REVERIE_OK = 0,
  REVERIE_FAILED = 1, /* a failure without a status of its own, such as too little memory */
  REVERIE_USAGE = 2,  /* an argument or the value of a parameter is wrong */
  REVERIE_INPUT = 3,  /* the frame cannot be read */
  REVERIE_MODEL = 4,  /* the model cannot be found, read or used */
  REVERIE_DEVICE = 5, /* the CPU or GPU that runs the network has failed */
  /* no memory for another picture: the program holds more pictures than reverie_config.pictures says */
  REVERIE_HELD = 7
};

struct reverie_error {
  size_t size;
  int status;        /* kind of the error: a value of enum reverie_status */
  char message[516]; /* what has failed, as one sentence; "" after success */
};

enum reverie_log_level { REVERIE_LOG_WARNING = 0, REVERIE_LOG_INFO = 1, REVERIE_LOG_DEBUG = 2 };

/* --- opening and closing a model --- */

/* The formats of pixels. The library's pictures have the alpha 255; the alpha of a program's frames is not read. */
enum reverie_format {
  REVERIE_RGBA = 1, /* 8 bits for each channel, interleaved in the order R, G, B, A */
  REVERIE_BGRA = 2, /* 8 bits for each channel, interleaved in the order B, G, R, A */
  REVERIE_I420 = 3, /* 8 bit, three planes: luma, and Cb and Cr at half width and half height */
  REVERIE_NV12 = 4, /* 8 bit, two planes: luma, and CbCr interleaved at half width and half height */
  /* as REVERIE_NV12, but each sample has 16 bits, little-endian, with its 10 significant bits uppermost */
  REVERIE_P010 = 5,
  REVERIE_YUYV = 6 /* 8 bits for each sample, interleaved in the order Y0 Cb Y1 Cr */
};

enum reverie_flags {
  /* A new prompt, LoRA weight or style picture is prepared in the background. Until it is ready, pictures show the
   * prompt, weight or style before it (reverie_picture.whole is 0). Without this flag, submitting the first frame with
   * the new value waits until the value is ready. */
  REVERIE_SMOOTH = 1,
  /* Frames come in real time, as from a camera: after half a second without a frame, nothing of earlier frames is used
   * for the next one. Without this flag, a picture does not depend on when its frame is submitted. */
  REVERIE_PACED = 2,
  /* For pictures in CUDA memory: reverie_collect does not wait for the GPU. It gives the picture while the GPU is still
   * to make it, and a stream that reads it waits (reverie_picture.ready, reverie_wait_on). The memory of a frame must
   * then stay unchanged until its picture is made. A GPU that fails is noticed by a later call of reverie_submit. */
  REVERIE_EARLY = 4
};

/* Where pixels are. */
enum reverie_memory {
  REVERIE_HOST = 0, /* in the host's memory */
  REVERIE_CUDA = 1  /* in memory of a GPU that CUDA has allocated; the addresses are the GPU's */
};

struct reverie_config {
  size_t size;
  /* Called with a log line for people, which has no newline at its end, on the thread that called the library or on
   * another one. The function must not call the library. NULL: lines are dropped. */
  void (*log)(void *opaque, int level, const char *line);
  void *log_opaque;
  const char *device;  /* "auto", "cpu", "cuda" or "cuda:N"; NULL: auto, a GPU if there is one that can be used */
  int threads;         /* number of threads that a CPU uses; 0: one for each core */
  int format;          /* enum reverie_format of the pictures; 0: REVERIE_RGBA */
  int pictures;        /* largest number of collected pictures that the program holds at the same time; 0 means 1 */
  unsigned flags;      /* bits of enum reverie_flags */
  size_t memory_limit; /* largest number of bytes of the device's memory to allocate; 0: no limit */
  /* folder for a GPU's tuning results; NULL: the folder that the program `reverie` uses; "": they are not stored */
  const char *cache_dir;
  /* Value of enum reverie_memory: where the pictures are. With REVERIE_CUDA they are not copied to the host, and
   * reverie_open fails where no GPU computes. */
  int memory;
  /* 1: the memory of pictures in CUDA memory can be given to OpenGL, Vulkan or another process (reverie_export) */
  int shares;
};

/* Makes a struct reverie with all parameters at their defaults. config may be NULL: all its fields are 0. *made is NULL
 * after a failure. */
int reverie_create(struct reverie **made, const struct reverie_config *config, struct reverie_error *error);

/* Opens the model and the other files that the parameters name, and the device. If the parameter "model" is not set,
 * the model mini is opened, which comes with the library. Called once. After a failure other parameters may be set, and
 * the function may be called again. */
int reverie_open(struct reverie *reverie, struct reverie_error *error);

/* Frees the struct and all that belongs to it; frames in flight are dropped. Pictures that are held stay valid until
 * they are released. *reverie becomes NULL; does nothing if it is NULL. */
void reverie_destroy(struct reverie **reverie);

/* --- listing, setting and reading parameters --- */

enum reverie_type {
  REVERIE_REAL = 1,
  REVERIE_WHOLE = 2,
  REVERIE_SWITCH = 3, /* the value is "off" or "on", as a number 0 or 1 */
  /* the value is one of several words; as a number it is the index, from 0, of the word in the list `choices` */
  REVERIE_CHOICE = 4,
  REVERIE_SIZE = 5, /* "WIDTHxHEIGHT" */
  REVERIE_TEXT = 6
};

/* When a value takes effect. */
enum reverie_when {
  REVERIE_AT_OPENING = 1, /* reverie_open reads the value, which cannot be changed afterwards */
  /* the next frame uses the new value, but the engine has to be prepared for it first (reverie_prepare) */
  REVERIE_AT_PREPARATION = 2,
  /* the next frame uses the new value; no preparation is needed, except that a new prompt is encoded first */
  REVERIE_AT_FRAME = 3
};

/* Description of a parameter. All texts live as long as the library is loaded; a text that does not apply to the
 * parameter is NULL. */
struct reverie_parameter {
  size_t size;
  const char *name;   /* name of the parameter, for example "strength"; "prompt[]" stands for prompt[1], prompt[2] and
                       * so on */
  int type, when;     /* type: value of enum reverie_type; when: value of enum reverie_when */
  int instances;      /* number of instances of a parameter whose name has []; 0: the name has no [] */
  int decimals;       /* number of decimals with which a value of REVERIE_REAL is shown to people */
  double least, most; /* the range of a number, or of each side of a size */
  double low, high;   /* the most useful part of the range from `least` to `most`, for knobs and sliders */
  double standard;    /* default of a number, a switch (0 or 1) or a choice (its index in the list) */
  /* 1: as long as the program does not set the parameter, the value that suits the model is used instead of
   * `standard`; 0: `standard` is used */
  int by_model;
  const char *unit;    /* unit of a number */
  const char *choices; /* the words of a choice: "a|b|c" */
  const char *from;    /* the default in words, if a value alone would not explain it; otherwise NULL */
  const char *help;    /* what the parameter does, as a sentence for people */
};

/* Returns the number of parameters. */
int reverie_parameter_count(void);
/* Describes parameter `number`, from 0 to the number of parameters - 1, in an order that suits a list for people. */
int reverie_describe_parameter(int number, struct reverie_parameter *parameter, struct reverie_error *error);

/* Sets a parameter from a text: a number, a choice's word, "on" or "off", "512x512", or the text itself. text NULL:
 * sets the default again. A frame shows all values that were set before it was submitted. */
int reverie_set(struct reverie *reverie, const char *name, const char *text, struct reverie_error *error);
/* Sets a parameter that is a number, a switch or a choice. */
int reverie_set_number(struct reverie *reverie, const char *name, double number, struct reverie_error *error);
/* Writes the value of a parameter to `text`, in the form that reverie_set reads; "": a text or size that is not set.
 * Values that the model decides (reverie_parameter.by_model) are known once a frame was submitted. Fails if `size`, the
 * number of bytes of `text`, is too small. */
int reverie_get(struct reverie *reverie, const char *name, char *text, size_t size, struct reverie_error *error);

/* --- submitting frames, and collecting their pictures --- */

/* matrix between YUV and RGB, for YUV formats */
enum reverie_matrix { REVERIE_BT601 = 0, REVERIE_BT709 = 1, REVERIE_BT2020 = 2 };
enum reverie_range { REVERIE_LIMITED = 0, REVERIE_FULL = 1 }; /* range of luma in YUV formats: 16 to 235, or 0 to 255 */

/* A frame of the input. Pixels in the host's memory are read before reverie_submit returns. Pixels in CUDA memory are
 * not copied, so they must stay unchanged until the call of reverie_collect that belongs to this call of reverie_submit
 * has returned; with REVERIE_EARLY, until its picture is made. */
struct reverie_frame {
  size_t size;
  int format, matrix, range; /* format: a value of enum reverie_format; matrix: of enum reverie_matrix; range: of enum
                              * reverie_range */
  int width, height; /* size in pixels. Any size is allowed: the frame is fitted into the picture (parameter "fit") */
  const void *plane[3]; /* the pixels: one pointer for each plane of the format; not needed for text to image */
  int pitch[3];         /* number of bytes from the beginning of one row of a plane to that of the next */
  float pixel_aspect;   /* width of a pixel divided by its height when the frame is shown; 0: square */
  /* the frame's time in nanoseconds, which its picture gets; with the parameter seed-walk, the seed moves in proportion
   * to this time */
  int64_t time_ns;
  /* 1: the frame does not continue the frame before it, because of a cut, a seek or another source; 0: it does */
  int restart;
  void *opaque; /* a pointer for the program's own use, which comes back with the frame's picture */
  /* A frame of a second source. Control networks whose parameter "control[].source" asks for a second source read this
   * frame instead of the frame that is restyled. NULL: they read black. */
  const struct reverie_frame *control;
  int memory; /* value of enum reverie_memory: where the planes are. With REVERIE_CUDA, the engine has to compute on the
               * same GPU */
  int device; /* CUDA's number of the GPU whose memory the planes are in, from 0; for REVERIE_HOST it is not read */
  /* What writes the planes in CUDA memory. The GPU waits for it, the calling thread does not. event: a cudaEvent_t that
   * was recorded behind it, and may be recorded anew or destroyed once reverie_submit has returned. stream: a
   * cudaStream_t; all that it was given before reverie_submit. Both NULL: the planes are written. */
  void *event, *stream;
};

/* A picture that the network has made. The program only reads its pixels, which are valid until reverie_release. */
struct reverie_picture {
  size_t size;
  int format, matrix, range;
  int width, height;
  const void
      *plane[3]; /* plane[0] NULL: the stream batch is not full yet, so there is no picture; nothing to release */
  int pitch[3];
  int64_t time_ns; /* reverie_frame.time_ns of the frame from which the picture was made */
  void *opaque;    /* reverie_frame.opaque of the frame from which the picture was made */
  /* 1: the picture shows all values that were set before its frame was submitted; 0: some are still being prepared */
  int whole;
  int restarted;    /* 1: the picture does not depend on earlier frames; 0: it may depend on them */
  double device_ms; /* time in milliseconds for which the device computed the picture; 0: unknown, as on a CPU */
  void *hold;       /* used only by the library */
  int memory;       /* value of enum reverie_memory: where the planes are, as reverie_config.memory says */
  int device;       /* CUDA's number of the GPU whose memory the planes are in; 0 for REVERIE_HOST */
  /* A cudaEvent_t, which is reached when the planes are written, and is valid until the picture is released. NULL: they
   * are written, as always without REVERIE_EARLY. */
  void *ready;
  /* Number of the picture's memory. The library uses the same memory again and again: what a program has made of one
   * picture's memory, such as an OpenGL object, serves all later pictures of that number. */
  uint64_t number;
};

/* The largest number of frames in flight: frames that were submitted and whose pictures were not collected yet. */
enum { REVERIE_IN_FLIGHT_MOST = 2 };

/* Prepares the engine for pictures of this size and for the present parameters. Otherwise the next reverie_submit does
 * so, which takes from a fraction of a second to minutes. width and height 0: the size in the parameter "size" or, if
 * that is not set, the model's own; any other size is stored in the parameter. The engine stays prepared for the last
 * four combinations, so that returning to one takes no time. */
int reverie_prepare(struct reverie *reverie, int width, int height, struct reverie_error *error);
/* Rounds a size to the nearest one whose sides are multiples of what the model needs (reverie_info.size_multiple). */
int reverie_nearest_size(struct reverie *reverie, int *width, int *height, struct reverie_error *error);

/* Starts making a frame's picture, after preparing the engine if necessary. On a CPU the picture is finished when the
 * function returns. At most REVERIE_IN_FLIGHT_MOST frames may be in flight. If the function fails, the frame is not
 * submitted.
 *
 * frame NULL: there is no further frame, and the frames of a stream batch (parameter "stream-batch") advance by a step.
 * After the last frame, reverie_info.frames_behind such calls give the remaining pictures. */
int reverie_submit(struct reverie *reverie, const struct reverie_frame *frame, struct reverie_error *error);
/* Waits for the picture of the oldest frame in flight; the program releases it with reverie_release. If no frame is in
 * flight or picture->size is too small, the function fails and changes nothing. After any other failure the frame is no
 * longer in flight, and only picture->opaque is set. */
int reverie_collect(struct reverie *reverie, struct reverie_picture *picture, struct reverie_error *error);
/* Returns the number of frames in flight. */
int reverie_in_flight(struct reverie *reverie);
/* Gives the picture's memory back to the library; allowed even after reverie_destroy. Does nothing with a picture that
 * was never collected or was released already. */
void reverie_release(struct reverie_picture *picture);

/* --- pictures in CUDA memory --- */

/* Any thread may call these functions, also after reverie_destroy. They do not wait for the GPU, except reverie_export;
 * and after reverie_destroy, who gives memory back waits until all streams have read it. */

/* Makes a cudaStream_t wait until the picture is made; does nothing if it is (reverie_picture.ready is NULL). */
int reverie_wait_on(const struct reverie_picture *picture, void *stream, struct reverie_error *error);
/* Releases a picture that work of a cudaStream_t still reads: its memory is written again only when all is done that
 * the stream was given before this call. After a failure the picture is released as by reverie_release. */
int reverie_release_on(struct reverie_picture *picture, void *stream, struct reverie_error *error);

/* Waits until the picture is made, and stores in *descriptor a new file descriptor of its memory and in *bytes the size
 * of this memory, for OpenGL (GL_EXT_memory_object_fd, opaque), Vulkan, or CUDA in another process. The program owns
 * the descriptor: it gives it away (glImportMemoryFdEXT takes it) or closes it. The memory begins at plane[0], and the
 * offset of plane i is plane[i] - plane[0]. The memory lives as long as somebody has imported it; who reads it there
 * does so before the picture is released. OpenGL also needs glMemoryBarrier(GL_PIXEL_BUFFER_BARRIER_BIT) for each
 * picture. */
int reverie_export(const struct reverie_picture *picture, int *descriptor, size_t *bytes, struct reverie_error *error);

/* Makes a DLPack tensor of an RGBA or BGRA picture, which shares its memory: bytes, (height, width, 4). *tensor is a
 * DLManagedTensorVersioned of DLPack 1.0 if `versioned` is not 0, else a DLManagedTensor. Its deleter, which any thread
 * may call, releases the memory; the picture is released as well, before or after. stream: a cudaStream_t that uses the
 * tensor, and is not destroyed before the deleter is called: it waits for the picture, and the memory is written again
 * when all is done that the stream was given before the deleter is called. NULL: no stream waits, and none is waited
 * for. Works with pictures in the host's memory, too. */
int reverie_to_dlpack(const struct reverie_picture *picture, int versioned, void *stream, void **tensor,
                      struct reverie_error *error);

/* --- masks and style pictures, in the host's memory --- */

/* Sets the region that an inpainting model repaints in frames submitted from now on. transparent 0: the region where
 * `frame` is white; 1: where it is transparent. frame NULL: the whole picture. The pixels are copied. */
int reverie_set_mask(struct reverie *reverie, const struct reverie_frame *frame, int transparent,
                     struct reverie_error *error);
/* Sets a picture whose style an IP-Adapter reads: the one that the parameter "ip-adapter" names, or with "own" the one
 * in the model's folder. number: 1 to 4; frame NULL: none. The pixels are copied. */
int reverie_set_style(struct reverie *reverie, int number, const struct reverie_frame *frame,
                      struct reverie_error *error);

/* --- facts about the open model --- */

struct reverie_info {
  size_t size;
  char model[128], device[128];    /* names of the model and of the device, for people */
  int native_width, native_height; /* the size for which the model was trained */
  int size_multiple;               /* each side of a picture should be a multiple of this number of pixels */
  int width, height; /* size of the picture of the frame that was submitted last; 0: no frame was submitted yet */
  /* with a stream batch: number of further frames that must be submitted until a frame's picture comes; otherwise 0 */
  int frames_behind;
  /* 1: the network gets the frame itself as an input, as the model mini does; 0: it sees the frame only in the noisy
   * latent */
  int sees_frame;
  size_t device_bytes; /* number of bytes of memory that the device has allocated */
  /* A cudaStream_t of the library that nothing runs on, for who writes frames: all that it waits for is waited for by a
   * frame with this stream (reverie_frame.stream). NULL: no GPU computes. */
  void *stream;
  unsigned char gpu_uuid[16]; /* UUID of the GPU that computes, as OpenGL and Vulkan tell it; zeros: the CPU does */
  int gpu;                    /* CUDA's number of this GPU, from 0; -1: the CPU computes */
  int unused;                 /* 0 */
};

/* Fills *info. Fails if no model is open. */
int reverie_get_info(struct reverie *reverie, struct reverie_info *info, struct reverie_error *error);

#ifdef __GNUC__
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
