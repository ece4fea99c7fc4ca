/* The engine behind one small interface: this and unet/base/ are what a frame sees of the network.
 *
 * An engine holds what does not depend on the size of a picture: checkpoint, device, weights, prompts. A handle (struct
 * prepared) is a size and a step count made ready to run: many may live at once, and each frame names its own. Handles
 * share one working memory, which is as large as the largest of them needs.
 *
 * Threads: one thread at a time calls an engine, but for one exception. While one thread submits and collects, others
 * may prepare and release handles; those wait for each other, and no frame waits for them. The processor or GPU is
 * shared, so that frames may take longer meanwhile. The thread that submits knows a handle when engine_prepare has
 * returned, and has collected all frames of a handle that another thread releases. Engines are independent: one may be
 * opened, used and closed on one thread while another works on another, on the same device. */
#ifndef UNET_ENGINE_H
#define UNET_ENGINE_H

#include <stdbool.h>
#include <stddef.h>

#include "unet/base/controls.h"
#include "unet/base/device_options.h"
#include "unet/base/error.h"
#include "unet/base/frame.h"
#include "unet/base/guidance.h"
#include "unet/base/log.h"
#include "unet/base/picture.h"
#include "unet/base/samplers.h"
#include "unet/plan/profile.h"

struct checkpoint;
struct engine;
struct prepared;

/* How a frame of another shape (frame_aspect) becomes a picture, whose pixels are always square. */
enum fit { FIT_CROP, FIT_LETTERBOX, FIT_STRETCH };

enum engine_prediction {
  ENGINE_PREDICTION_AUTO /* what the scheduler's config or the file says */,
  ENGINE_PREDICTION_EPSILON,
  ENGINE_PREDICTION_V,
  ENGINE_PREDICTION_SAMPLE
};

/* What may be left to the model's files. */
enum engine_switch { ENGINE_AUTO, ENGINE_ON, ENGINE_OFF };

/* How prompts are read: (words:1.2) weigh more and long ones have chunks (text/syntax.h, text/prompt.h), or as
 * diffusers reads them: as they are, as far as the model's tokens reach. */
enum engine_prompt_syntax { PROMPT_SYNTAX_WEIGHTS, PROMPT_SYNTAX_PLAIN };

/* What happens to a prompt's characters first: see text/fix.h, whose order this is. */
enum engine_text_fix { ENGINE_FIX_FTFY, ENGINE_FIX_BASIC, ENGINE_FIX_FAST };

/* A map, and the network that reads it. */
struct engine_control {
  enum map_kind map;
  const char *model; /* folder or file of a ControlNet or T2I-Adapter; NULL: the map alone */
  const char *depth; /* of MAP_DEPTH: folder of the network that makes it. The first one given serves all */
  bool source;       /* the map is made of the request's control_frame instead of the frame */
};

struct engine_params {
  const char *model;  /* diffusers folder, or a file in the original key layout */
  const char *name;   /* of the model, for people; NULL: as the folder or file is called */
  const char *vae;    /* autoencoder folder that replaces the model's own; NULL: the model's */
  const char *unet;   /* file of a U-Net, or folder with its config, in place of the model's own; NULL: the model's */
  const char *config; /* folder with the configs and tokenizers of a model that is a file; NULL: its family's */
  const char *vocabulary; /* CLIP's merges (gzip), for such a family; NULL: there are none */
  enum engine_prediction prediction;
  enum engine_switch zero_snr; /* the noise schedule ends in noise alone */
  int clip_skip; /* the layer of the text encoders that counts, from 1, the last; 0: what is usual for the model */
  enum engine_prompt_syntax prompt_syntax;
  enum engine_text_fix text_fix;
  bool strength_diffusers; /* strength as in diffusers' image-to-image, for fidelity comparisons: it is quantised, and
                              sets the starting point on every model */
  bool snap_strength;      /* strength snapped to the trained points of adversarially distilled models */
  enum fit fit;
  enum pixel_format output;     /* PIXEL_RGBA for a window, PIXEL_YUV420P for an encoder */
  struct device_options device; /* its log is the engine's, too; name and cache_dir are copied */
  /* model with vae, opened already: borrowed for as long as the engine is there. NULL: the engine opens them */
  struct checkpoint *checkpoint;
  const char *const *adapters; /* files of LoRA and its kin, at most ADAPTERS_MAX; controls.adapter has their weights */
  int adapter_count;
  const struct engine_control *controls; /* at most CONTROLS_MAX; struct controls has their values in this order */
  int control_count;
  const char *ip_adapter;    /* file of an IP-Adapter; NULL: none */
  const char *image_encoder; /* folder of its CLIP vision network; NULL: the one beside the file */
  bool smooth; /* texts, style pictures and adapters are made in the background, 0.3 ms a frame: see engine_go_on */
  bool adapters_lenient; /* what of them has no place in the model is left out with a warning, else refused */
};

#define ENGINE_PARAMS_DEFAULTS                                                                                         \
  { .output = PIXEL_RGBA, .fit = FIT_CROP }

/* What is made of a width and a height that are wished for. */
enum sizing {
  SIZE_GIVEN, /* what no picture may have is refused */
  SIZE_EVEN,  /* the nearest that a picture may have */
  SIZE_WHOLE  /* the nearest of which nothing is cut off */
};

/* What a handle is for. */
struct engine_shape {
  int width, height;           /* of the generated picture; 0: the model's native size. Even, and at least
                                  engine_info.size_multiple: networks make a multiple of that, whose end is cut off */
  enum sizing sizing;          /* of width and height */
  enum sampler sampler;        /* SAMPLER_AUTO: what the checkpoint's scheduler names */
  enum spacing spacing;        /* SPACING_AUTO: what suits the two */
  int steps;                   /* 1..50; 0: what suits the model (1 for turbo and mini, 4 for LCM, 20 else) */
  bool text_to_image;          /* no input frame, but where controls read it */
  unsigned controls;           /* of the engine's, those that frames may use: bit i is number i */
  enum guidance_mode guidance; /* see there; where the model embeds guidance, full is that, and residual is refused */
  bool stream_batch;           /* all steps in one U-Net call, each for another frame: see engine_submit */
  int batch;                   /* pictures of one run, 1 to BATCH_MAX, each of a frame of its own; 0: 1. More than one
                                  excludes a stream batch, controls, and guidance with a negative prompt on SDXL */
  int chunks;                  /* of prompts that are attended to, 1 to 4; 0: 1. See engine_chunks */
  bool styles;                 /* frames show style pictures: see engine_set_style */
  bool own_memory; /* works in memory of its own: what a run leaves there outlasts the runs of other handles */
};

/* The picture that an image encoder reads: size x size pixels, in patches. */
struct style_format {
  int size, patch;
};

struct engine_info {
  char model[128]; /* name for people */
  char device[128], device_detail[256];
  char device_name[16];           /* as device_options.name has it, which opens the same one */
  int depth, longest_side, batch; /* as device_info has them */
  struct gpu_id gpu;              /* likewise */
  int native_width, native_height, size_multiple;
  bool image_conditioned;        /* the U-Net sees the input picture itself (InstructPix2Pix, inpainting, mini) */
  struct style_format style;     /* of its image encoder; 0: it has no IP-Adapter, and frames show no style pictures */
  bool style_parts[STYLE_PARTS]; /* those that some layer of its U-Net is */
  bool inpaints;                 /* it repaints what a mask marks: see engine_set_mask */
  bool large_autoencoder;        /* AutoencoderKL: a tiny one takes a tenth of its time */
  bool refuses_guidance;         /* trained without: engine_shape.guidance is an error (mini) */
  bool has_guidance_embedding;   /* full LCM: guidance acts with no second row */
  const char *prediction;
  size_t weight_bytes; /* in the checkpoint */
  size_t device_bytes, device_peak_bytes;
  size_t prompt_bytes;    /* of these, what prompts take: texts, and keys and values of those in use */
  double device_energy_j; /* energy used since a fixed moment; 0: unknown */
  long device_allocations, device_launches, device_waits, device_captures; /* counted since start */
  size_t copied_up, copied_down, staged;                                   /* bytes, as device_counters has them */
};

/* Bytes of pixels that all its frames had copied so far: engine_info.copied_up, copied_down and staged together. */
size_t engine_copied(const struct engine *engine);

/* Frames that a stream batch works on at a time. */
enum { STREAM_BATCH_MAX = 8 };

struct prepared_info {
  struct engine_shape shape; /* as prepared: nothing is left open but sampler and spacing, which are as wished */
  const char *sampler, *spacing;
  bool has_eta;      /* the sampler reads controls.eta */
  double eta;        /* that suits it */
  int frames_behind; /* a picture comes so many frames after its own: of a stream batch the steps but one */
  int rows;          /* guidance rows of the first U-Net call */
  double flops;      /* of one frame's matrix products; of several in a run its share */
};

/* Opens the checkpoint that engine_open would, to be lent to engines by params->checkpoint. */
int engine_open_checkpoint(struct checkpoint **checkpoint, const struct engine_params *params, struct error *err);
/* Steps that suit a checkpoint, with the sampler that it names. */
int engine_usual_steps(const struct checkpoint *checkpoint);
int engine_open(struct engine **engine, const struct engine_params *params, struct error *err);
void engine_close(struct engine **engine); /* releases every handle; stores NULL; takes NULL */
void engine_get_info(const struct engine *engine, struct engine_info *info);
/* Rounds a size as engine_prepare does with this sizing, SIZE_EVEN or SIZE_WHOLE. */
void engine_nearest_size(const struct engine *engine, enum sizing sizing, int *width, int *height);

/* Opens a control later, under a number from 0 to CONTROLS_MAX - 1 that none has yet. Handles prepared before go on
 * without it. It stays until the engine is closed. As engine_prepare, on any thread. */
int engine_open_control(struct engine *engine, int number, const struct engine_control *control, struct error *err);

/* Makes a handle: plan, algorithms, captured launches, sampling state. Weights that no handle has used before are
 * loaded. On failure everything goes on as it was. The engine owns the handle. */
int engine_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                   struct error *err);
/* Waits for the device and frees all that belongs to the handle. On the thread that submits, the handle's frames in
 * flight are dropped; on another there must be none. Stores NULL; takes NULL, and a handle that was released
 * before. */
void engine_release(struct engine *engine, struct prepared **prepared);
void prepared_get_info(const struct prepared *prepared, struct prepared_info *info);

/* Moves the engine, with its prompts, to the CPU after a GPU that "auto" chose has failed for the reason in err (most
 * often it has no room). Returns 0 when the engine is on the CPU. Returns -1 with err unchanged where the user named a
 * device, where the device cannot be replaced, or where weights have changed; returns -1 with a new err where the CPU
 * fails as well. No handle may exist. */
int engine_fall_back(struct engine *engine, struct error *err);

/* Encodes text into a slot (controls.h). Slots never set hold the empty prompt; as the negative one it is zeros where
 * the model wants that (SDXL). Frames in flight keep the old prompt.
 * If the model has a list of styles it knows (mini's styles.json) and the text names none, the model's default style
 * takes its place (see styles_prompt) and one log line says so and names the styles. */
int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err);

/* A long prompt has several chunks (text/prompt.h), and in a run each prompt is as long as the longest: the empty
 * prompt's chunk fills up the others. A handle attends to as many as it was prepared for. A prompt of more shows
 * without those behind; prompts of fewer show as they are where the handle has a multiple of their chunks, else filled
 * up. */

/* Chunks of a text that is to come into a slot, or -1. */
int engine_count_chunks(const struct engine *engine, int slot, const char *text, struct error *err);
/* What a handle is best prepared for, where prompts need `now` chunks, and others that may come at most `most`: those
 * that come are then no reason to prepare another. */
int engine_choose_chunks(int most, int now);
/* The same for these controls, with what the slots hold. */
int engine_chunks(const struct engine *engine, const struct controls *controls);

/* Another limit of device memory than the engine was opened with, for what it takes from now on; 0: none. Any thread
 * may call this. */
void engine_limit_memory(struct engine *engine, size_t bytes);

/* Where a mask asks for new pixels: where it is white, or where it is transparent. */
enum mask_channel { MASK_WHITE, MASK_TRANSPARENT };

/* What an inpainting model repaints of the frames that are submitted from now on. The mask is copied; it may have any
 * size, and becomes a picture's as a frame does, but each pixel takes the nearest. Outside it the picture stays. Before
 * the first mask, and with NULL, all is repainted, and the network sees nothing of the frame but where strength below 1
 * starts from it. */
int engine_set_mask(struct engine *engine, const struct frame *mask, enum mask_channel channel, struct error *err);

/* Whether a control of weight 1 adds to any step of a frame: where it starts and ends may leave out all of the noise
 * that the strength covers. number: from 0. On the thread that submits. */
bool engine_control_acts(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         int number);

/* A picture that gives the style, as an engine's image encoder reads it (engine_info.style). Any thread may read one,
 * which takes longer than a frame where the picture is large. Chroma is taken as it is nearest. */
struct engine_style;
int engine_read_style(const struct style_format *format, const struct frame *frame, struct engine_style **style,
                      struct error *err);
void engine_free_style(struct engine_style **style); /* stores NULL; takes NULL */
/* Pictures 0 to STYLES_MAX - 1; NULL: none. It is copied. Frames submitted from now on show it as their controls weigh
 * it, those of a smooth engine when it has been made in the background (engine_result.whole). */
int engine_set_style(struct engine *engine, int slot, const struct engine_style *style, struct error *err);
bool engine_has_style(const struct engine *engine, int slot);

/* New values of rows [first, first + rows) of a weight: FP32, a convolution's row as [kh][kw][in]. Layers that read the
 * same input are one weight. */
struct engine_weight {
  const char *name; /* component/tensor: "unet/conv_in.weight" */
  size_t first, rows;
  const float *values;
};

/* Changes weights, all of them at once: frames submitted before see none of the changes, frames submitted after see
 * all. Prompts and time projections are computed again. values are copied. On failure nothing has changed. */
int engine_update(struct engine *engine, const struct engine_weight *weights, int count, struct error *err);

/* Gives each adapter its weight, as the next frame would with controls.adapter: a frame shows all of a change or
 * nothing of it, and the first is the one that has it in its controls. With no weight other than 0 the adapters cost
 * nothing; from the first other one on a GPU keeps the changed weights a second time as they are in the checkpoint, and
 * a third time while they change. A smooth engine does from the start. */
int engine_weigh(struct engine *engine, const float weights[ADAPTERS_MAX], struct error *err);

/* Of a smooth engine. Where a frame asks for a text that is not encoded yet, or for other weights of adapters, it shows
 * the texts and weights of the frame before, whole, and so do those after it until everything is there; the first frame
 * that has it says so (engine_result.whole). All other controls are the frame's own. Each frame's submission starts one
 * slice of what is left to do, behind the frame; engine_go_on does another one in the time between frames, and waits
 * for it where no frame is in flight. Returns 1 while something is left, 0 when nothing is. What frames ask for
 * meanwhile has its turn after that. The first frame waits for everything, as those of other engines do, and so does
 * one of another handle with more rows, and one that asks for more prompts than find room together with those shown.
 * Adapters are changed so where the device keeps weights twice (CUDA); elsewhere a frame waits for them. */
int engine_go_on(struct engine *engine, struct error *err);
/* Whether something is left; whether the frame that was submitted last lacks something. A caller whose texts change
 * with every frame sets one when both are false: each then comes to be shown. */
bool engine_is_busy(const struct engine *engine);
bool engine_is_behind(const struct engine *engine);

/* What a frame keeps on its way through the engine. */
struct frame_identity {
  int64_t pts, captured_ns;
  uint64_t serial;
  bool numbered;
  int number;
};

static inline struct frame_identity frame_identity(const struct frame *frame) {
  return (struct frame_identity){frame->pts, frame->captured_ns, frame->serial, frame->numbered, frame->number};
}

struct engine_request {
  struct prepared *prepared;
  const struct controls *controls;
  const struct frame *frame;         /* the input; not read for text to image without controls that see it */
  const struct frame *control_frame; /* what controls see that have a source of their own; NULL: black */
  struct frame_identity identity;    /* of the frame, which the picture gets */
  bool on_device; /* the picture stays in the device's memory until somebody waits for it in the host's (frame_wait) */
  bool drain;     /* there is no frame: those under way in a stream batch go on by one step */
  void *opaque;   /* the caller's own; comes back with the picture */
  const struct engine_request *next; /* another frame of the same run, where shape.batch has room for it: has a frame,
                                        identity and opaque of its own, and of its controls seed and seed_position */
};

/* What the thread that called engine_submit was at, in milliseconds: the frame's parameters, its launch, the slice of
 * texts or adapters that follows it, and noise for frames to come. */
struct submit_times {
  double fill, launch, slice, ahead;
};

struct engine_result {
  struct frame picture; /* held (picture.h), also beyond its handle and the engine */
  bool pending;         /* there is no picture: a stream batch has not come so far. opaque is NULL then */
  int left;             /* pictures of the same run that come next, without waiting */
  void *opaque;
  bool whole;                        /* it shows all that its controls ask for */
  int64_t submitted_ns, finished_ns; /* of platform_now_ns: when engine_submit was called, when the picture was there */
  double device_ms; /* the frame's share of the time of its run by the device's own clock, from planes in its memory to
                       the picture in its memory; 0: the device has no clock of its own (CPU) */
  struct run_stamps stamps;      /* of the run, of engines opened with stamps */
  struct submit_times submitted; /* of the run that this frame began */
};

/* Of a handle with a stream batch each frame is one step further with every frame that follows: the result of a submit
 * is the picture of the frame submitted frames_behind before, or none. Strength, sampler, mix and identity stay with
 * their frame; prompts, guidance and seed act on all that are under way. Whoever has no more frames drains the rest:
 * as many pictures come as engine_under_way says, each of the same controls as alone, but for a GPU's rounding. */
int engine_under_way(const struct prepared *prepared);

/* Starts one frame: controls and frame are copied or consumed before this returns. The frame shows all of what its
 * controls say, and of the texts and the mask that were set before, as if they had never been different; frames
 * submitted before show nothing of it, but for those under way in a stream batch. A run of several frames, request and
 * those that are next, makes a picture of each, as if they had been submitted one by one, but for rounding; one of
 * fewer frames than the handle's batch takes as long as a whole one. At most two runs are in flight, of whichever
 * handles, each until its last picture is collected. STATUS_HELD, with nothing started, where more pictures than
 * device_options.pictures are held. */
int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err);
/* Waits for the oldest run in flight and takes its next picture, in the order of the requests. After a failure *result
 * has opaque and submitted_ns, and the run is gone. */
int engine_collect(struct engine *engine, struct engine_result *result, struct error *err);
int engine_in_flight(const struct engine *engine); /* runs */

/* Measures where the time of such a frame goes. No frame may be in flight. The caller frees *profile, which is empty
 * after a failure. */
int engine_profile(struct engine *engine, const struct engine_request *request,
                   const struct profile_request *profile_request, struct profile *profile, struct error *err);

#endif
