/* The engine: the interface through which the program uses the network. Apart from this header, code that handles
 * frames includes only unet/base/.
 *
 * An engine holds all that does not depend on the size of a picture: checkpoint, device, weights and prompts. A handle
 * (struct prepared) is an engine made ready for one size, sampler and step count. Many handles may exist at once, and
 * each frame names the one that it uses. Handles share one working memory, which is as large as the largest of them
 * needs.
 *
 * Threads: one thread at a time calls an engine, with one exception: while one thread submits and collects, other
 * threads may prepare and release handles. These wait for each other, and no frame waits for them; but they share the
 * processor or GPU with the frames, which may take longer meanwhile. The submitting thread may use a handle once
 * engine_prepare has returned. Before another thread releases a handle, the submitting thread must have collected all
 * its frames. Engines are independent of each other: one may be opened, used and closed on one thread while another
 * works on a second thread, even on the same device. */
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

/* How a frame whose aspect ratio (frame_aspect) differs from the picture's is fitted into the picture, whose pixels are
 * always square. */
enum fit { FIT_CROP, FIT_LETTERBOX, FIT_STRETCH };

enum engine_prediction {
  ENGINE_PREDICTION_AUTO /* follows the scheduler's config or the model file */,
  ENGINE_PREDICTION_EPSILON,
  ENGINE_PREDICTION_V,
  ENGINE_PREDICTION_SAMPLE
};

/* A setting that may be left to the model's files (ENGINE_AUTO). */
enum engine_switch { ENGINE_AUTO, ENGINE_ON, ENGINE_OFF };

/* How prompts are read. WEIGHTS: (words:1.2) changes the weight of words, and a long prompt is split into chunks
 * (text/syntax.h, text/prompt.h). PLAIN: as in diffusers, brackets are plain text, and tokens beyond the encoder's
 * length are left out. */
enum engine_prompt_syntax { PROMPT_SYNTAX_WEIGHTS, PROMPT_SYNTAX_PLAIN };

/* How a prompt's characters are cleaned first. The values are in the order of enum text_fix (text/fix.h). */
enum engine_text_fix { ENGINE_FIX_FTFY, ENGINE_FIX_BASIC, ENGINE_FIX_FAST };

/* A control: a map, and the network that reads it. */
struct engine_control {
  enum map_kind map;
  const char *model; /* folder or file of a ControlNet or T2I-Adapter; NULL: the map alone */
  /* MAP_DEPTH: folder of the network that makes the map; all controls use the first one that is given */
  const char *depth;
  bool source; /* the map is made from the request's control_frame instead of its frame */
};

struct engine_params {
  /* The files of the model. */
  const char *model; /* diffusers folder, or a file in the original key layout */
  const char *name;  /* name of the model for people; NULL: the name of its folder or file */
  const char *vae;   /* folder of an autoencoder that replaces the model's own; NULL: the model's own */
  /* file of a U-Net, or folder with its config, which replaces the model's own; NULL: the model's own */
  const char *unet;
  /* folder with the configs and tokenizers of a model that is a single file; NULL: those of its family */
  const char *config;
  const char *vocabulary; /* CLIP's BPE merges (gzip), for families whose built-in configs need them; NULL: none */

  /* The way in which the model, prompts and strength are read. */
  enum engine_prediction prediction;
  enum engine_switch zero_snr; /* the noise schedule ends at pure noise (zero terminal SNR) */
  /* which layer of the text encoders is read, counted from the last one, which is 1; 0: the model's default */
  int clip_skip;
  enum engine_prompt_syntax prompt_syntax;
  enum engine_text_fix text_fix;
  /* strength as in diffusers' image-to-image, for comparisons with it: rounded to whole steps, and it sets the step to
   * start from on every model */
  bool strength_diffusers;
  bool snap_strength; /* strength is rounded to the trained timesteps of adversarially distilled models */

  /* The pictures, the device, and a checkpoint that is open. */
  enum fit fit;
  enum pixel_format output;     /* PIXEL_RGBA for a window, PIXEL_YUV420P for an encoder */
  struct device_options device; /* also sets the engine's log; name and cache_dir are copied */
  /* The model with its vae if the caller has opened them already; borrowed until the engine is closed. NULL: the engine
   * opens them. */
  struct checkpoint *checkpoint;

  /* Adapters, controls and style pictures. */
  /* files of LoRA and similar adapters, at most ADAPTERS_MAX; controls.adapter has their weights */
  const char *const *adapters;
  int adapter_count;
  const struct engine_control *controls; /* at most CONTROLS_MAX; struct controls has their values in the same order */
  int control_count;
  const char *ip_adapter;    /* file of an IP-Adapter; NULL: none */
  const char *image_encoder; /* folder of its CLIP vision network; NULL: a folder image_encoder near the file */
  /* texts, style pictures and adapters are made in the background, 0.3 ms after each frame: see engine_go_on */
  bool smooth;
  /* Frames come at the pace of the clock: a run that begins half a second after the one before it has ended has no past
   * (engine_request.restart). Without it pauses between runs change no picture. */
  bool paced;
  /* parts of adapters that do not fit the model are left out with a warning instead of refused */
  bool adapters_lenient;
};

#define ENGINE_PARAMS_DEFAULTS                                                                                         \
  { .output = PIXEL_RGBA, .fit = FIT_CROP }

/* How a requested width and height are treated. */
enum sizing {
  SIZE_GIVEN, /* sizes that no picture may have are refused */
  SIZE_EVEN,  /* rounded to the nearest size that a picture may have */
  SIZE_WHOLE  /* rounded to the nearest size at which the networks' output is not cropped */
};

/* Where the networks draw the frame. CANVAS_FIXED: always at the same place, so that texture stays on the screen while
 * the scene moves. CANVAS_FOLLOW: on a canvas that follows the camera's motion, so that it stays on the scene. */
enum canvas_mode { CANVAS_FIXED, CANVAS_FOLLOW, CANVAS_AUTO /* what suits the model */ };

/* The properties of a handle. */
struct engine_shape {
  /* The size, the sampler and its guidance. */
  /* Size of the generated picture; 0: the model's native size. Both are even, and at least engine_info.size_multiple.
   * Networks compute the next multiple of that, and the surplus at the right and bottom is cropped. */
  int width, height;
  enum sizing sizing;   /* how width and height are treated */
  enum sampler sampler; /* SAMPLER_AUTO: the one that the checkpoint's scheduler names */
  enum spacing spacing; /* SPACING_AUTO: the one that suits sampler and checkpoint */
  int steps;            /* 1 to 50; 0: the default of the model (1 for turbo and mini, 4 for LCM, else 20) */
  bool text_to_image;   /* there is no input frame, except one that controls read */
  unsigned controls;    /* the engine's controls that frames may use: bit i stands for control i */
  /* See enum guidance_mode. If the model embeds guidance, GUIDANCE_FULL uses its embedding, and residual guidance is
   * refused. */
  enum guidance_mode guidance;

  /* The frames of a run, and further inputs of the network. */
  bool stream_batch; /* all steps in one U-Net call, each for a different frame: see engine_submit */
  /* Pictures of one run, 1 to BATCH_MAX, each made from a frame of its own; 0: 1. More than one cannot be combined with
   * a stream batch, with controls, or on SDXL with guidance by a negative prompt. */
  int batch;
  int chunks;  /* number of prompt chunks that the network attends to, 1 to 4; 0: 1. See engine_chunks */
  bool styles; /* frames show style pictures: see engine_set_style */
  /* The bank: keys and values of earlier frames, to which self-attention attends as well. bank_room: largest number of
   * frames, up to BANK_ROOM_MAX, which decides the memory; 0: there is no bank. bank_layers: the layers with a bank.
   * Bit i stands for those at 1/2^i of the picture's sides; 0 stands for the two finest that the model has. A bank
   * cannot be combined with a stream batch, several pictures a run, or more than 8 calls of the network. */
  int bank_room;
  unsigned bank_layers;
  /* CANVAS_FOLLOW needs an input frame, and one frame a run without a stream batch. The networks then compute more than
   * the picture: see prepared_info.drawn_width. CANVAS_AUTO is CANVAS_FIXED where CANVAS_FOLLOW would be refused. */
  enum canvas_mode canvas;
  /* carried: frames may have noise that moves with the picture (controls.carried). feedback: the last picture's latent
   * may take the place of the input's (controls.feedback). Both need an input frame, one frame a run, no stream
   * batch and no canvas that follows the camera. Models that start from noise alone (mini) are refused feedback. */
  bool carried, feedback;
  /* the handle has working memory of its own, so that runs of other handles do not overwrite what its runs leave
   * there */
  bool own_memory;
};

/* The input of an image encoder: size x size pixels, cut into square patches of `patch` x `patch` pixels. */
struct style_format {
  int size, patch;
};

struct engine_info {
  /* The names, and the device. */
  char model[128]; /* name for people */
  char device[128], device_detail[256];
  char device_name[16];           /* value of device_options.name that opens this device again */
  int depth, longest_side, batch; /* see device_info */
  struct gpu_id gpu;              /* see device_info */

  /* The model. */
  int native_width, native_height, size_multiple;
  bool image_conditioned; /* the U-Net sees the input picture itself (InstructPix2Pix, inpainting, mini) */
  /* input of the image encoder; 0: there is no IP-Adapter, so frames cannot show style pictures */
  struct style_format style;
  bool style_parts[STYLE_PARTS]; /* parts to which some layer of this model's U-Net belongs */
  bool inpaints;                 /* the model repaints the region that a mask marks: see engine_set_mask */
  bool large_autoencoder;        /* AutoencoderKL, which takes about ten times as long as a tiny autoencoder */
  bool refuses_guidance;         /* the model was trained without guidance: engine_shape.guidance is an error (mini) */
  bool has_guidance_embedding;   /* full LCM: guidance is an input of the U-Net and needs no second row */
  const char *prediction;

  /* Memory and counters. */
  size_t weight_bytes; /* bytes of the weights in the checkpoint */
  size_t device_bytes, device_peak_bytes;
  /* the part of device_bytes that prompts take: encoded texts, and the keys and values of those in use */
  size_t prompt_bytes;
  double device_energy_j; /* energy used since a fixed moment; 0: unknown */
  long device_allocations, device_launches, device_waits, device_captures; /* counted since the device was opened */
  size_t copied_up, copied_down, staged;                                   /* bytes of pixels: see device_counters */
};

/* Returns how many bytes of pixels were copied for all frames so far: engine_info.copied_up + copied_down + staged. */
size_t engine_copied(const struct engine *engine);

/* The most steps of a stream batch, and so the most frames in it. */
enum { STREAM_BATCH_MAX = 8 };

struct prepared_info {
  struct engine_shape shape; /* the shape that was asked for, with all defaults filled in except sampler and spacing */
  const char *sampler, *spacing;
  bool has_eta; /* the sampler reads controls.eta */
  double eta;   /* the sampler's default eta */
  /* number of frames by which a picture comes later than its own frame: with a stream batch the steps minus 1, else
   * 0 */
  int frames_behind;
  int drawn_width, drawn_height; /* size that the networks compute, in pixels */
  int rows;                      /* guidance rows of the first U-Net call */
  size_t bank_bytes;             /* memory of the bank */
  double flops; /* floating-point operations of one frame's matrix products: its share of those of the run */
};

/* Opens the checkpoint that engine_open would open, so that several engines can borrow it (params->checkpoint). The
 * caller closes it with checkpoint_close. */
int engine_open_checkpoint(struct checkpoint **checkpoint, const struct engine_params *params, struct error *err);
/* Returns the default number of steps for a checkpoint with the sampler that it names. */
int engine_usual_steps(const struct checkpoint *checkpoint);
/* Opens the model and its device, and encodes the empty prompt. *engine is NULL after a failure. Of params, only
 * checkpoint, device.log and device.gives_up_opaque must outlive the engine. */
int engine_open(struct engine **engine, const struct engine_params *params, struct error *err);
void engine_close(struct engine **engine); /* Releases every handle and frees the engine. Stores NULL; takes NULL. */
/* Describes the engine, its model and its device, with the counters as they are now. */
void engine_get_info(const struct engine *engine, struct engine_info *info);
/* Rounds a size as engine_prepare does with this sizing, which is SIZE_EVEN or SIZE_WHOLE. */
void engine_nearest_size(const struct engine *engine, enum sizing sizing, int *width, int *height);

/* Opens a further control, under a number from 0 to CONTROLS_MAX - 1 that is still free. It stays open until the engine
 * is closed. Handles that were prepared before do not use it. Any thread may call this, as it may engine_prepare. */
int engine_open_control(struct engine *engine, int number, const struct engine_control *control, struct error *err);

/* Makes a handle: builds the plan, chooses algorithms, captures launches and allocates the sampling state. Loads
 * weights that no handle has used before. The engine owns the handle. If this fails, the engine is unchanged. */
int engine_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                   struct error *err);
/* Waits for the device and frees all that belongs to the handle. On the submitting thread, the handle's frames in
 * flight are dropped; on another thread it must have none. Stores NULL; takes NULL, and a handle that was already
 * released. */
void engine_release(struct engine *engine, struct prepared **prepared);
/* Describes a handle. Any thread may call this while the handle exists. */
void prepared_get_info(const struct prepared *prepared, struct prepared_info *info);

/* Moves the engine, with its prompts, to the CPU after a GPU that "auto" chose has failed for the reason in err (most
 * often too little memory). No handle may exist. Returns 0 once the engine is on the CPU. Returns -1 with err unchanged
 * if the user named a device, the device cannot be replaced, or weights have changed; returns -1 with a new err if the
 * CPU fails as well. */
int engine_fall_back(struct engine *engine, struct error *err);

/* Encodes a text into a slot (controls.h). Frames in flight keep the old prompt. Slots that were never set hold the
 * empty prompt; if the negative slot is empty, its encoding is zeros for models that want that (SDXL).
 *
 * A model may come with a list of styles (mini's styles.json). If the text names none of them, the model's default
 * style is encoded instead (see styles_prompt), and one log line says so and names the styles. */
int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err);

/* Chunks. A long prompt has several chunks (text/prompt.h). All prompts of a run have as many as the longest of them:
 * the empty prompt's chunk fills up the others. A handle is prepared for a number of chunks. Of a prompt with more, the
 * rest is not shown. Prompts with fewer are repeated if the handle's number is a multiple of theirs, which changes no
 * picture, and else filled up. */

/* Returns the number of chunks that this text would need in this slot, or -1. */
int engine_count_chunks(const struct engine *engine, int slot, const char *text, struct error *err);
/* Returns the number of chunks for which a handle should be prepared if the current prompts need `now` chunks and other
 * known prompts need at most `most`. Changing to one of those prompts then needs no new handle where this is
 * possible. */
int engine_choose_chunks(int most, int now);
/* Returns engine_choose_chunks for the prompts that these controls use, among all prompts that the slots hold. */
int engine_chunks(const struct engine *engine, const struct controls *controls);

/* Replaces the limit of device memory for all further allocations, in bytes; 0: no limit. Any thread may call this. */
void engine_limit_memory(struct engine *engine, size_t bytes);

/* Which pixels of a mask ask for new content: the white ones, or the transparent ones. */
enum mask_channel { MASK_WHITE, MASK_TRANSPARENT };

/* Sets the region that an inpainting model repaints in frames submitted from now on; the rest of the picture stays. The
 * mask is copied. It may have any size: it is fitted to the picture as frames are, but without interpolation. NULL, and
 * before the first mask: everything is repainted, and the network sees the frame only as the starting point of a
 * strength below 1. */
int engine_set_mask(struct engine *engine, const struct frame *mask, enum mask_channel channel, struct error *err);

/* Returns true if a control of weight 1 would add anything in any step of a frame. It adds nothing if the part of the
 * denoising between its start and end lies outside the part that strength leaves. number: the control, from 0. Called
 * on the submitting thread. */
bool engine_control_acts(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         int number);

/* Returns true if controls.feedback has an effect: the handle was prepared for it, and at this strength the frame does
 * not start from noise alone. Called on the submitting thread. */
bool engine_feeds_back(const struct engine *engine, struct prepared *prepared, const struct controls *controls);

/* A style picture in the form that an engine's image encoder reads (engine_info.style). Any thread may make one; for a
 * large picture that takes longer than a frame. Of YUV, each pixel takes the nearest chroma sample. */
struct engine_style;
/* Makes a style picture from a frame. The caller frees *style, which is NULL after a failure. */
int engine_read_style(const struct style_format *format, const struct frame *frame, struct engine_style **style,
                      struct error *err);
void engine_free_style(struct engine_style **style); /* Stores NULL; takes NULL. */
/* Sets style picture number `slot`, 0 to STYLES_MAX - 1; NULL: none. style is copied. Frames submitted from now on show
 * it with the weight of their controls; those of a smooth engine do once it has been made in the background
 * (engine_result.whole). */
int engine_set_style(struct engine *engine, int slot, const struct engine_style *style, struct error *err);
/* Returns true if a picture is set in this slot. */
bool engine_has_style(const struct engine *engine, int slot);

/* New values for rows first to first + rows - 1 of a weight, in FP32. A row of a convolution is [kh][kw][in]. Layers
 * that read the same input are joined to one weight. */
struct engine_weight {
  const char *name; /* component/tensor: "unet/conv_in.weight" */
  size_t first, rows;
  const float *values;
};

/* Changes all these weights at once: frames submitted before see none of the changes, frames submitted after it see
 * all. Prompts and time projections are computed again. values are copied. If this fails, no weight has changed. */
int engine_update(struct engine *engine, const struct engine_weight *weights, int count, struct error *err);

/* Gives each adapter its weight now instead of with the next frame's controls.adapter. A frame shows either all of a
 * change or nothing of it, and the first to show it is the first whose controls ask for it. Adapters cost nothing as
 * long as all weights are 0. From the first other weight on, a GPU keeps the affected weights twice, once as they are
 * in the checkpoint, and a third time while they change; with a smooth engine it does so from the start. */
int engine_weigh(struct engine *engine, const float weights[ADAPTERS_MAX], struct error *err);

/* Continues the background work of a smooth engine; returns 1 while some is left, 0 if none is. The work is done in
 * slices. Each submission starts one after its frame; this starts another in the time between two frames, and waits
 * for it if no frame is in flight.
 *
 * If a frame asks for a text that is not encoded yet, or for other weights of adapters, it and the frames after it show
 * all texts and weights of the frame before, until everything is ready. The first frame with the new ones says so
 * (engine_result.whole). All other controls act at once. Requests that come meanwhile are served afterwards.
 *
 * Some frames wait until everything is ready: those of engines that are not smooth, the first frame, a frame of another
 * handle with more rows, and a frame whose prompts do not fit onto the device together with those shown. Changes of
 * adapters are made in the background only on devices that keep weights twice (CUDA); on others the frame waits. */
int engine_go_on(struct engine *engine, struct error *err);
/* engine_is_busy returns true if background work is left, and engine_is_behind if the frame submitted last did not show
 * all that it asked for. If texts change with every frame, set a new one only when both are false, so that each is
 * shown. */
bool engine_is_busy(const struct engine *engine);
bool engine_is_behind(const struct engine *engine);

/* The times and numbers of a frame, which its picture gets. */
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
  const struct frame *frame;         /* the input; not read for text to image, unless controls read it */
  const struct frame *control_frame; /* the frame that controls with `source` read; NULL: black */
  struct frame_identity identity;    /* identity of the frame, which the picture gets */
  /* the picture stays in the device's memory until someone waits for it in the host's memory (frame_wait) */
  bool on_device;
  bool drain; /* there is no frame: the frames in a stream batch advance by one step */
  /* The frame does not go on from the last one, so the run has no past: nothing that earlier frames left on the device
   * changes its picture. The engine sets this itself for a handle's first run, after a run of another handle, after a
   * drain and a profile, and after a pause if the engine is paced. */
  bool restart;
  void *opaque; /* given back with the picture */
  /* Another frame of the same run, up to shape.batch in all; NULL: none. It has its own frame, identity and opaque, and
   * of its controls only seed and seed_position are read. */
  const struct engine_request *next;
};

/* Milliseconds that the thread which called engine_submit spent in its parts: parameters of the frame (fill), start of
 * the run (launch), background work on texts or adapters (slice), and noise for later frames (ahead). */
struct submit_times {
  double fill, launch, slice, ahead;
};

struct engine_result {
  struct frame picture; /* a hold (picture.h), which may outlive the handle and the engine */
  bool pending;         /* there is no picture yet, because the stream batch is not full; opaque is NULL */
  int left;             /* pictures of the same run that engine_collect still returns, without waiting */
  void *opaque;
  bool whole;     /* the picture shows all that its controls ask for */
  bool restarted; /* the run had no past: see engine_request.restart */
  /* by platform_now_ns: when engine_submit was called, and when the picture was ready */
  int64_t submitted_ns, finished_ns;
  /* The frame's share of its run's time by the device's own clock, from input planes in its memory to the picture in
   * its memory; 0: the device has no such clock (CPU). */
  double device_ms;
  struct run_stamps stamps;      /* stamps of the run, if the engine was opened with device_options.stamps */
  struct submit_times submitted; /* times of the submission that started this run */
};

/* Returns the number of frames in the stream batch of a handle; 0 without one. In a stream batch each run advances
 * every frame by one step: the result of a submission is the picture of the frame submitted frames_behind before it, or
 * no picture. Strength, sampler, mix and identity are those of each frame; prompts, guidance and seed of the newest
 * frame act on all of them. After the last frame, the caller submits this number of requests with `drain` to get the
 * remaining pictures. With constant controls, the pictures equal those without a stream batch, except for a GPU's
 * rounding. */
int engine_under_way(const struct prepared *prepared);

/* Starts one run. controls and frames are copied or read before this returns. The frame shows all of its controls, and
 * the texts and the mask that were set before; frames submitted earlier show none of it, except those in a stream
 * batch. With request->next the run makes a picture of each frame, equal to those of single runs except for rounding; a
 * run with fewer frames than the handle's batch takes as long as a full one. At most two runs, of any handles, are in
 * flight, each until its last picture is collected. Fails with STATUS_HELD, and starts nothing, if more than
 * device_options.pictures pictures are held. */
int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err);
/* Waits for the oldest run in flight and returns its next picture, in the order of the requests. After a failure
 * *result holds only opaque and submitted_ns, and the run is no longer in flight. */
int engine_collect(struct engine *engine, struct engine_result *result, struct error *err);
int engine_in_flight(const struct engine *engine); /* Returns the number of runs in flight. */

/* Measures where the time of such a frame goes. No frame may be in flight. The caller frees *profile, which is empty
 * after a failure. */
int engine_profile(struct engine *engine, const struct engine_request *request,
                   const struct profile_request *profile_request, struct profile *profile, struct error *err);

#endif
