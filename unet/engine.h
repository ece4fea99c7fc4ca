/* The engine: the interface through which the program uses the network, from frames of video to generated pictures.
 * Apart from this header, code that handles frames includes only unet/base/.
 *
 * An engine has all that does not depend on the size of a picture: checkpoint, device, weights and prompts. A handle
 * (struct prepared) is an engine made ready for one size, sampler and step count. Many handles may exist at once, and
 * each frame names the one that it uses. Handles share one working memory, which is as large as the largest of them
 * needs.
 *
 * Threads: one thread at a time calls an engine, with one exception: while one thread submits and collects, other
 * threads may prepare and release handles. Those threads wait for each other, and no frame waits for them; but they
 * share the processor or GPU with the frames, which may take longer meanwhile. The submitting thread may use a handle
 * once engine_prepare has returned. Before another thread releases a handle, the submitting thread must have collected
 * all its frames. Engines are independent of each other: one may be opened, used and closed on one thread while another
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
  ENGINE_PREDICTION_AUTO /* not chosen: the scheduler's config or the model's file says what the network predicts */,
  ENGINE_PREDICTION_EPSILON,
  ENGINE_PREDICTION_V,
  ENGINE_PREDICTION_SAMPLE
};

/* A setting that the user may leave to the model's files (ENGINE_AUTO), or switch on or off. */
enum engine_switch { ENGINE_AUTO, ENGINE_ON, ENGINE_OFF };

/* How the text of prompts is read. WEIGHTS: (words:1.2) changes the weight of words, and a long prompt is split into
 * chunks, each of which a text encoder reads on its own (text/syntax.h, text/prompt.h). PLAIN: as in diffusers,
 * brackets are plain text, and tokens beyond the encoder's length are left out. */
enum engine_prompt_syntax { PROMPT_SYNTAX_WEIGHTS, PROMPT_SYNTAX_PLAIN };

/* How a prompt's characters are cleaned before it is split into tokens. The values are in the order of enum text_fix,
 * which explains them (text/fix.h). */
enum engine_text_fix { ENGINE_FIX_FTFY, ENGINE_FIX_BASIC, ENGINE_FIX_FAST };

/* A control: a map of the frame (edges, depth, ...), and the network (ControlNet or T2I-Adapter) that reads it and
 * steers the picture by it. */
struct engine_control {
  enum map_kind map;
  /* folder or file of a ControlNet or T2I-Adapter; NULL: no network reads the map, which can only be shown */
  const char *model;
  /* MAP_DEPTH: folder of the network that makes the map. All controls use one such network, which the first control
   * with MAP_DEPTH must name; the folders of later ones are ignored */
  const char *depth;
  bool source; /* true: the map is made from engine_request.control_frame; false: from engine_request.frame */
};

struct engine_params {
  /* The fields from model to vocabulary name the files of the model and of its parts. */
  /* path of a folder as diffusers writes it, or of a single file with the original names of tensors */
  const char *model;
  const char *name; /* name of the model for people; NULL: the name of its folder or file */
  const char *vae;  /* folder of an autoencoder that replaces the model's own; NULL: the model's own */
  /* file of a U-Net, or folder with its config, which replaces the model's own; NULL: the model's own */
  const char *unet;
  /* folder with the configs and tokenizers for a model that is a single file; NULL: the built-in ones of its family */
  const char *config;
  const char *vocabulary; /* CLIP's BPE merges (gzip), for families whose built-in configs need them; NULL: none */

  /* The fields from prediction to snap_strength say how to interpret the model's output, prompts and the strength. */
  enum engine_prediction prediction;
  /* zero terminal SNR: ENGINE_ON: the model's noise schedule ends at pure noise; ENGINE_OFF: it does not */
  enum engine_switch zero_snr;
  /* which layer of the text encoders is read, counted from the last one, which is 1; 0: the model's default */
  int clip_skip;
  enum engine_prompt_syntax prompt_syntax;
  enum engine_text_fix text_fix;
  /* true: strength acts as in diffusers' image-to-image, for comparisons with it: it is rounded to whole steps, and on
   * every model it chooses the step at which sampling starts; false: strength acts continuously */
  bool strength_diffusers;
  /* true: strength is rounded to the timesteps on which adversarially distilled models (SD-Turbo) were trained; false:
   * it is not */
  bool snap_strength;

  /* The fields from fit to checkpoint concern the pictures, the device, and a model that the caller has opened. */
  enum fit fit;
  /* pixel format of the pictures that the engine makes, such as PIXEL_RGBA for a window, PIXEL_YUV420P for an
   * encoder */
  enum pixel_format output;
  /* options of the device and of the engine's log lines (device.log); name, cache_dir and choices are copied */
  struct device_options device;
  /* The model, with its autoencoder, if the caller has opened it already (engine_open_checkpoint). It is borrowed until
   * the engine is closed. NULL: the engine opens the model. */
  struct checkpoint *checkpoint;

  /* The fields from adapters to adapters_lenient concern adapters, controls, style pictures and the pace of frames. */
  /* files of LoRA and similar adapters, at most ADAPTERS_MAX; controls.adapter has their weights */
  const char *const *adapters;
  int adapter_count;
  /* The controls, at most CONTROLS_MAX. For each frame, controls.control has the values of control i at index i. */
  const struct engine_control *controls;
  int control_count;
  const char *ip_adapter; /* file of an IP-Adapter; NULL: none, or the model's own */
  /* true: the IP-Adapter in the model's folder is used, if there is one (engine_info.own_adapter) and ip_adapter is
   * NULL */
  bool own_adapter;
  /* folder of the CLIP vision network that the IP-Adapter needs; NULL: a folder image_encoder near the adapter's
   * file */
  const char *image_encoder;
  /* true: texts, style pictures and adapters are processed in the background, in slices of 0.3 ms after each frame
   * (engine_go_on); false: a frame that needs them waits for them */
  bool smooth;
  /* True: frames come in real time. If a run then begins half a second or more after the end of the run before, it
   * uses nothing of earlier frames (as with engine_request.restart). False: pauses between runs change no picture. */
  bool paced;
  /* true: parts of adapters that do not fit the model are left out, with a warning; false: such adapters are refused */
  bool adapters_lenient;
};

#define ENGINE_PARAMS_DEFAULTS                                                                                         \
  { .output = PIXEL_RGBA, .fit = FIT_CROP }

/* How the width and height in the request for a handle are turned into the size of the picture. */
enum sizing {
  SIZE_GIVEN, /* the picture gets the given width and height; sizes that no picture may have are refused */
  SIZE_EVEN,  /* width and height are rounded to the nearest sizes that a picture may have */
  SIZE_WHOLE  /* width and height are rounded to the nearest size at which the whole output of the networks is shown, so
               * that nothing is cropped */
};

/* Where the frame is drawn in the plane that the networks compute. CANVAS_FIXED: always at the same position, so that
 * texture stays at its place on the screen while the scene moves. CANVAS_FOLLOW: on a canvas (an endless plane) that
 * follows the camera's motion, so that texture moves with the scene. */
enum canvas_mode {
  CANVAS_FIXED,
  CANVAS_FOLLOW,
  CANVAS_AUTO /* CANVAS_FOLLOW or CANVAS_FIXED, whichever suits the model */
};

/* The request for a handle (struct prepared): the size, sampler and features for which it is made ready. */
struct engine_shape {
  /* The fields from width to guidance choose the size, the sampler and its guidance. */
  /* Size of the generated picture in pixels; 0: the model's native size. Both are even, and at least
   * engine_info.size_multiple. The networks compute the next multiple of size_multiple, and the surplus at the right
   * and bottom is cropped. */
  int width, height;
  enum sizing sizing; /* how width and height are rounded to sizes that pictures may have */
  /* aspect ratio (width / height) of the picture as it will be shown; frames are fitted to it. 0: the picture's pixels
   * are square */
  double aspect;
  enum sampler sampler; /* SAMPLER_AUTO: the sampler that the checkpoint's scheduler config names */
  enum spacing spacing; /* spacing of the timesteps; SPACING_AUTO: the one that suits sampler and checkpoint */
  /* number of the sampler's steps, 1 to 50; 0: the default of the model (1 for turbo and mini, 4 for LCM, else 20) */
  int steps;
  /* true: pictures are made from the prompt alone, and no input frame is read, except one for controls; false: from
   * frames */
  bool text_to_image;
  unsigned controls; /* which of the engine's control networks frames may use: bit i stands for control i */
  /* how the network's predictions are combined with guidance. If guidance is an input of the model (an embedding),
   * GUIDANCE_FULL uses that input, and residual guidance is refused. */
  enum guidance_mode guidance;

  /* The fields from stream_batch to own_memory say which frames one run makes, and the network's further inputs. */
  /* true: one U-Net call computes all steps, each for a different frame (engine_under_way); false: a run computes all
   * steps of its own frames */
  bool stream_batch;
  /* Number of pictures that one run makes, 1 to BATCH_MAX, each from a frame of its own; 0: 1. More than one cannot be
   * combined with a stream batch, with controls, or on SDXL with guidance by a negative prompt. */
  int batch;
  /* largest number of prompt chunks (parts of a long prompt, engine_chunks) that the network attends to, 1 to 4; 0:
   * 1 */
  int chunks;
  bool styles; /* true: frames may show style pictures (engine_set_style); false: they show none */
  /* The bank: keys and values of earlier frames, to which self-attention attends as well.
   *
   * bank_room: largest number of frames that the bank stores, up to BANK_ROOM_MAX (0: no bank). Its memory grows with
   * it. bank_layers: the layers that use the bank. Bit i stands for the layers that work at 1/2^i of the picture's
   * width and height; 0 stands for the two finest of these sizes that the model has.
   *
   * A bank cannot be combined with a stream batch, several pictures a run, or more than 8 network calls a picture. */
  int bank_room;
  unsigned bank_layers;
  /* Says whether the networks draw on a canvas that follows the camera. CANVAS_FOLLOW needs an input frame, and one
   * frame a run without a stream batch. The networks then compute more than the picture (prepared_info.drawn_width).
   * CANVAS_AUTO is taken as CANVAS_FIXED where CANVAS_FOLLOW would be refused. */
  enum canvas_mode canvas;
  /* carried: frames may have noise that moves with the picture (controls.carried). feedback: the last picture's latent
   * may replace a part of the input frame's (controls.feedback). Both need an input frame, one frame a run, no stream
   * batch, and CANVAS_FIXED (drawing at a fixed place of the screen). Feedback is refused for models that start from
   * noise alone (mini). */
  bool carried, feedback;
  /* true: the handle (prepared size and step count) has working memory of its own, in which the values of its last run
   * stay; false: it uses the working memory that all handles share, so that runs of other handles overwrite these
   * values */
  bool own_memory;
};

/* The input of an IP-Adapter's image encoder: size x size pixels, cut into square patches of `patch` x `patch`
 * pixels. */
struct style_format {
  int size, patch;
};

struct engine_info {
  /* The fields from model to gpu say which model and which device the engine uses. */
  char model[128]; /* name of the model, to be shown to users */
  char device[128], device_detail[256];
  char device_name[16]; /* name by which device_options.name opens this device again */
  /* depth: useful number of runs in flight; longest_side: longest side, in pixels, of pictures that this device makes
   * fast enough for live use (0: no limit); batch: largest useful number of pictures in a run (struct device_info) */
  int depth, longest_side, batch;
  struct gpu_id gpu; /* the GPU that computes; zeroed: the device is no GPU */

  /* The fields from native_width to prediction describe the model. */
  int native_width, native_height, size_multiple;
  /* true: the U-Net reads the input picture itself (InstructPix2Pix, inpainting, the built-in model mini), not only a
   * noisy form of it */
  bool image_conditioned;
  /* size of the picture that the IP-Adapter's image encoder reads; zeros: there is no IP-Adapter, so frames cannot show
   * style pictures */
  struct style_format style;
  /* true: the model's folder has an IP-Adapter of its own, which engine_params.own_adapter makes the engine use */
  bool own_adapter;
  /* for each group of attention layers (enum style_part): true if this model's U-Net has layers of the group */
  bool style_parts[STYLE_PARTS];
  /* true: the model is an inpainting model, which repaints the region that a mask marks (engine_set_mask) */
  bool inpaints;
  /* true: the autoencoder is an AutoencoderKL, which takes about ten times as long as a tiny autoencoder; false: a tiny
   * one */
  bool large_autoencoder;
  /* true: the model was trained without guidance, as mini (the model that comes with the program) was, so
   * engine_shape.guidance is refused */
  bool refuses_guidance;
  /* true: every frame starts from noise alone, as with mini, and the input is blended with the picture; feedback is
   * refused */
  bool starts_from_noise;
  /* true: the U-Net has self-attention, which a bank of earlier frames can extend; false: a bank is refused */
  bool takes_bank;
  /* true: guidance is an input of the U-Net (full LCM models), so that no second prediction is computed for it */
  bool has_guidance_embedding;
  const char *prediction;

  /* The fields from weight_bytes to staged are sizes of memory and counters. */
  size_t weight_bytes; /* size of the weights in the checkpoint's files, in bytes */
  size_t device_bytes, device_peak_bytes;
  /* bytes, within device_bytes, that prompts take: encoded texts, and the keys and values of prompts in use for the
   * U-Net's attention; those for controls' networks are not counted */
  size_t prompt_bytes;
  double device_energy_j; /* energy in joules that the device has used since a fixed moment; 0: unknown */
  /* numbers of memory allocations, launches of kernels and graphs, waits for the device, and captures of graphs since
   * the device was opened */
  long device_allocations, device_launches, device_waits, device_captures;
  /* bytes of pixels that were copied since the device was opened (struct device_counters) */
  size_t copied_up, copied_down, staged;
};

/* Returns how many bytes of pixels were copied for all frames so far: engine_info.copied_up + copied_down + staged. */
size_t engine_copied(const struct engine *engine);

/* The largest number of steps of a stream batch, and so of frames in it. */
enum { STREAM_BATCH_MAX = 8 };

struct prepared_info {
  /* the request for this handle (prepared size and step count), with all defaults filled in except sampler, spacing,
   * guidance and bank_layers */
  struct engine_shape shape;
  const char *sampler, *spacing;
  bool has_eta; /* true: the sampler reads controls.eta (amount of fresh noise) */
  double eta;   /* value of eta that the sampler uses by default */
  /* how many frames later the picture of a submitted frame is returned: steps - 1 with a stream batch, else 0 */
  int frames_behind;
  /* width and height, in pixels, that the networks compute; the picture is a part of that */
  int drawn_width, drawn_height;
  /* number of guidance rows (for example prompt and negative prompt) that the first U-Net call computes for each
   * latent */
  int rows;
  size_t bank_bytes; /* bytes of device memory for the bank (keys and values of earlier frames) */
  /* floating-point operations of one frame's matrix products: those of a run, divided by its number of frames */
  double flops;
};

/* Opens the checkpoint that engine_open would open with these params, so that several engines can borrow it
 * (params->checkpoint). The caller closes it with checkpoint_close. */
int engine_open_checkpoint(struct checkpoint **checkpoint, const struct engine_params *params, struct error *err);
/* Returns the default number of steps for this checkpoint with the sampler that its scheduler's file names. */
int engine_usual_steps(const struct checkpoint *checkpoint);
/* Opens the model and its device, and encodes the empty prompt. *engine is NULL after a failure. Of params, only
 * checkpoint, device.log and device.gives_up_opaque must outlive the engine. */
int engine_open(struct engine **engine, const struct engine_params *params, struct error *err);
/* Frees the engine and all of its handles (prepared sizes and step counts). *engine becomes NULL; does nothing if it is
 * NULL. */
void engine_close(struct engine **engine);
/* Fills *info with facts about the engine, its model and its device; the counters have their values of this moment. */
void engine_get_info(const struct engine *engine, struct engine_info *info);
/* Returns, as text, the choices of kernels that the device has made by measurements so far. Another engine can make the
 * same choices (device_options.choices). The text has several lines; the first names the GPU, driver and libraries for
 * which the choices hold. The caller frees *choices, which is NULL after a failure. Called on the submitting thread,
 * while no handle (prepared size and step count) is being prepared. */
int engine_get_choices(const struct engine *engine, char **choices, struct error *err);
/* Returns, as text for people, what the device is, its clocks of this moment, and how long each candidate took that it
 * has timed to make these choices. The caller frees *timings, which is NULL for a device that times nothing, and after
 * a failure. Called on the submitting thread, while no handle is prepared. */
int engine_get_timings(const struct engine *engine, char **timings, struct error *err);
/* Rounds a size to the nearest one that pictures may have, as engine_prepare does. sizing: SIZE_EVEN or SIZE_WHOLE. */
void engine_nearest_size(const struct engine *engine, enum sizing sizing, int *width, int *height);

/* Opens a further control: a map and the network that reads it. number: 0 to CONTROLS_MAX - 1, one that is still free.
 * The control stays open until the engine is closed. Handles that were prepared earlier do not use it. Any thread may
 * call this function. */
int engine_open_control(struct engine *engine, int number, const struct engine_control *control, struct error *err);

/* Makes a handle (struct prepared), with which frames of this size and step count can be submitted: builds the plan,
 * chooses algorithms, captures launches and allocates the sampling state. Loads weights that no handle has used before.
 * The engine owns the handle. If this fails, the engine is unchanged. */
int engine_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                   struct error *err);
/* Waits for the device and frees all that belongs to the handle (prepared size and step count). The submitting thread
 * may call this while pictures of the handle are still to be collected; these are lost. Any other thread may call it
 * only after all pictures were collected. *prepared becomes NULL. Does nothing if *prepared is NULL or was already
 * released. */
void engine_release(struct engine *engine, struct prepared **prepared);
/* Fills *info with facts about a handle (prepared engine). Any thread may call this while the handle exists. */
void prepared_get_info(const struct prepared *prepared, struct prepared_info *info);

/* Moves the engine, with its prompts, to the CPU after its GPU has failed. err: the GPU's error, most often that it has
 * too little memory. No handle (prepared size and step count) may exist. Returns 0 once the engine is on the CPU.
 * Returns -1 with err unchanged if the engine cannot be moved: err's status is not STATUS_DEVICE; the user has named
 * the device instead of "auto"; the device could not be opened or cannot be replaced; or weights were changed by
 * adapters or engine_update. Returns -1 with a new err if the CPU fails as well. */
int engine_fall_back(struct engine *engine, struct error *err);

/* Encodes a text into a slot (a numbered place for an encoded prompt, controls.h). Frames in flight keep the old
 * prompt. Slots that were never set hold the empty prompt. For models that want it (SDXL), an empty negative prompt is
 * encoded as zeros.
 *
 * A model may have a list of styles: words that stand for prompts (mini's styles.json). If the text names none of them,
 * the model's default style is encoded instead (see styles_prompt). One log line then says so and names the styles. */
int engine_set_prompt(struct engine *engine, int slot, const char *text, struct error *err);
/* Returns how much of the input's fine detail suits the styles of the prompts that the last submitted frame shows
 * (styles_detail): the mean by the prompts' weights. Style pictures reduce it, a picture of weight 1 to 0. Returns 0
 * for models without such styles, and before the first frame. Called on the thread that submits. */
float engine_usual_detail(const struct engine *engine);

/* About chunks: a text encoder reads a long prompt in several chunks of tokens (text/prompt.h). In a run, all prompts
 * get as many chunks as the longest of them; the missing ones are chunks of the empty prompt.
 *
 * A handle (one size and step count) is prepared for a certain number of chunks. If the prompts have more, the further
 * chunks have no effect. If they have fewer and divide the handle's number, they are repeated, which changes no
 * picture. If they do not divide it, chunks of the empty prompt are added. */

/* Returns the number of chunks (parts of a long prompt) that this text would need in this slot (place for an encoded
 * prompt), or -1 with err set. */
int engine_count_chunks(const struct engine *engine, int slot, const char *text, struct error *err);
/* Returns for how many prompt chunks a handle (one size and step count) should be prepared. now: number of chunks of
 * the current prompts; most: largest number of chunks of all known prompts. The result is chosen so that, if possible,
 * a change to another known prompt needs no new handle. */
int engine_choose_chunks(int most, int now);
/* Returns the number of prompt chunks for which a handle (one size and step count) should be prepared for these
 * controls. It is chosen by engine_choose_chunks: `now` is the number for the prompts that these controls use, and
 * `most` the largest number for any prompt in the slots. */
int engine_chunks(const struct engine *engine, const struct controls *controls);

/* Replaces the limit of device memory for all further allocations, in bytes; 0: no limit. Any thread may call this. */
void engine_limit_memory(struct engine *engine, size_t bytes);

/* Which pixels of a mask mark the region that is repainted: the white ones, or the transparent ones. */
enum mask_channel { MASK_WHITE, MASK_TRANSPARENT };

/* Sets the region that an inpainting model repaints in frames submitted from now on; the rest of the picture stays. The
 * mask is copied. It may have any size: it is fitted to the picture as frames are, but without interpolation. NULL:
 * everything is repainted, as before the first call. The frame then matters only if the strength is below 1, when
 * sampling starts from it. */
int engine_set_mask(struct engine *engine, const struct frame *mask, enum mask_channel channel, struct error *err);

/* Returns true if control `number` (from 0) would change the frame with these controls if its weight were 1. A control
 * may act only in a part of the denoising (control_values.start to end); if that part is skipped at this strength, the
 * result is false. Called on the submitting thread. */
bool engine_control_acts(const struct engine *engine, struct prepared *prepared, const struct controls *controls,
                         int number);

/* Returns true if controls.feedback (reuse of the last picture's latent) has an effect: the handle was prepared for it,
 * and at this strength the frame does not start from noise alone. Called on the submitting thread. */
bool engine_feeds_back(const struct engine *engine, struct prepared *prepared, const struct controls *controls);

/* A style picture, converted to the input of an engine's image encoder (engine_info.style). Any thread may make one;
 * for a large picture this takes longer than a frame. Of a picture in YUV, each pixel takes the nearest chroma
 * sample. */
struct engine_style;
/* Makes a style picture from a frame. The caller frees *style, which is NULL after a failure. */
int engine_read_style(const struct style_format *format, const struct frame *frame, struct engine_style **style,
                      struct error *err);
/* Frees a style picture and sets *style to NULL. Does nothing if *style is NULL. */
void engine_free_style(struct engine_style **style);
/* Sets style picture number `slot`, 0 to STYLES_MAX - 1; style is copied; NULL: no picture. Frames submitted from now
 * on show it, with the weight that their controls give it. A smooth engine encodes it in the background first
 * (engine_result.whole). */
int engine_set_style(struct engine *engine, int slot, const struct engine_style *style, struct error *err);
/* Returns true if style picture number `slot` is set. */
bool engine_has_style(const struct engine *engine, int slot);

/* New FP32 values for rows `first` to `first + rows - 1` of a weight. A row holds the weights of one output channel; in
 * a convolution it is [kh][kw][in], kernel height and width and input channels. Weights of layers that read the same
 * input are stored as one joined weight. */
struct engine_weight {
  const char *name; /* name in the form component/tensor, such as "unet/conv_in.weight" */
  size_t first, rows;
  const float *values;
};

/* Changes all these weights at once: frames submitted before this call see none of the changes, frames submitted after
 * it see all. Prompts and time projections, which depend on them, are computed again. values are copied. If this fails,
 * no weight has changed. */
int engine_update(struct engine *engine, const struct engine_weight *weights, int count, struct error *err);

/* Changes the weights of the network now: adds the adapters to them, each times its factor. Without this call, the next
 * submission does so for its controls.adapter. A frame shows all of a change or none of it; the first frame to show it
 * is the first whose controls ask for it.
 *
 * Memory: adapters take none as long as all factors are 0. Otherwise a GPU stores each changed weight twice: as the
 * checkpoint has it, and with the adapters added. While factors change it stores a third copy; a smooth engine always
 * stores the third copy. */
int engine_weigh(struct engine *engine, const float weights[ADAPTERS_MAX], struct error *err);

/* Continues the background work of a smooth engine (engine_params.smooth), which is done in slices. Returns 1 if some
 * of it is left, 0 if none is. Each submission starts one slice after its frame; this function starts another one
 * between two frames, and waits for its end if no frame is in flight.
 *
 * If a frame asks for a text that is not encoded yet, or for other weights of adapters, this frame and the next ones
 * show the texts and adapters of the frame before, until everything is ready. The first frame that shows the new ones
 * has engine_result.whole set. All other values act at once. Texts and weights that are asked for meanwhile are
 * processed afterwards.
 *
 * Some frames wait until everything is ready: all frames of engines that are not smooth, the first frame, a frame of
 * another handle with more guidance rows (predictions for each latent in a step), and a frame whose prompts do not fit
 * onto the device together with those shown. Changes of adapters are made in the background only on devices that store
 * weights twice (CUDA); on others the frame waits. */
int engine_go_on(struct engine *engine, struct error *err);
/* engine_is_busy returns true if background work is left. engine_is_behind returns true if the frame submitted last did
 * not show all that its controls ask for. If texts change with every frame, the caller should set a new text only when
 * both return false; otherwise some texts are never shown. */
bool engine_is_busy(const struct engine *engine);
bool engine_is_behind(const struct engine *engine);

/* Times and numbers of a frame, which the engine copies to the picture made from it. */
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
  /* the input frame; not read for text to image, unless controls make their maps of it */
  const struct frame *frame;
  /* the frame of which controls with engine_control.source make their maps; NULL: a black frame */
  const struct frame *control_frame;
  struct frame_identity identity; /* times and numbers of the frame, which are copied to its picture */
  /* true: the picture's pixels stay in the device's memory until frame_wait asks for them in the host's memory */
  bool on_device;
  /* True: engine_collect gives the picture without waiting for the end of its run. A GPU then still writes it, until
   * its fence (picture.fence) is reached; the run still counts as one of the two that the device can have in flight, so
   * that engine_submit may wait for it. Implies on_device. False: engine_collect waits. */
  bool early;
  /* true: the request has no frame; it only advances the frames of a stream batch by one step, to get their pictures */
  bool drain;
  /* True: nothing that earlier frames left on the device changes this frame's picture. False: the frame continues the
   * last one, with exceptions. The engine sets the field itself for a handle's first run, after a run of another
   * handle, after a request with `drain`, after engine_profile, and after a pause if the engine is paced. It also does
   * so if this frame needs motion (for moved noise or feedback) and the last run measured none. */
  bool restart;
  void *opaque; /* a pointer of the caller, which engine_collect returns with the picture */
  /* another request for the same run, up to shape.batch requests in all; NULL: none. That request has its own frame,
   * identity and opaque. Of its controls only those that choose the noise are read: seed, seed_position, seed_to,
   * seed_share. */
  const struct engine_request *next;
};

/* The times, in milliseconds, that engine_submit spent on: computing the frame's parameters (fill), starting the run
 * (launch), background work on texts or adapters (slice), and computing noise for later frames (ahead). */
struct submit_times {
  double fill, launch, slice, ahead;
};

struct engine_result {
  /* the picture, with a reference to its memory (picture.h) that stays valid after the handle and the engine are
   * gone */
  struct frame picture;
  bool pending; /* true: there is no picture yet, because the stream batch is not full; opaque is NULL */
  /* number of pictures of the same run that are still to be collected; engine_collect returns them without waiting */
  int left;
  void *opaque;
  /* true: the picture shows everything that its controls ask for; false: some text, adapter or style picture was not
   * ready */
  bool whole;
  bool restarted; /* true: nothing of earlier frames was used for the picture (engine_request.restart) */
  /* times of platform_now_ns: when engine_submit was called, and when the picture was ready, or was given out early */
  int64_t submitted_ns, finished_ns;
  /* Milliseconds of device time for this frame, by the device's own clock: the time of its run, from input planes to
   * pictures in device memory, divided by the run's frames. 0: the device (CPU) has no clock of its own, or the picture
   * was given out early. */
  double device_ms;
  /* times of the run's stages (copies to the device, computing, copies to the host) by the device's clock, if the
   * engine was opened with device_options.stamps */
  struct run_stamps stamps;
  struct submit_times submitted; /* times that engine_submit spent on starting this run */
};

/* Returns how many frames of a handle's stream batch have no picture yet; 0 without a stream batch.
 *
 * In a stream batch each run advances every frame by one step. The result of a submission is the picture of an earlier
 * frame, submitted prepared_info.frames_behind submissions before; at first there is no picture yet. Each frame keeps
 * its own strength, sampler, mix and identity. Prompts, guidance and seed of the newest frame act on all frames. To get
 * the remaining pictures after the last frame, the caller submits as many requests with `drain` as this function
 * returns. With constant controls, the pictures equal those without a stream batch, except for a GPU's rounding. */
int engine_under_way(const struct prepared *prepared);

/* Starts one run, which makes the request's picture. The controls are copied. The caller may release its frames
 * afterwards: the run holds those that it still has to read. The frame shows all of its controls, and the texts and the
 * mask that were set before. Frames submitted earlier show none of these, except those in a stream batch. With
 * request->next, the run makes a picture of each request's frame. The pictures equal those of single runs except for
 * rounding. A run with fewer frames than the handle's batch takes as long as a full one.
 *
 * At most two runs, of any handles, are in flight, each until its last picture is collected. Starts nothing and fails
 * with STATUS_HELD if callers still hold more than device_options.pictures pictures. */
int engine_submit(struct engine *engine, const struct engine_request *request, struct error *err);
/* Waits for the oldest run in flight and stores its next picture in *result, in the order of the requests. If the run
 * has failed, returns -1; *result then has no picture and no times but submitted_ns, and the run is no longer in
 * flight. If no run is in flight, returns -1 with *result zeroed. With engine_request.early it does not wait: a failure
 * of the run is then returned by a later call of engine_submit or engine_collect. */
int engine_collect(struct engine *engine, struct engine_result *result, struct error *err);
/* engine_in_flight returns the number of runs in flight. engine_unfinished returns how many runs the engine has not
 * seen to their end: those in flight, and the last ones whose pictures were given out early. Each of them needs its
 * handle and still reads its frames. */
int engine_in_flight(const struct engine *engine);
int engine_unfinished(const struct engine *engine);

/* Returns true if earlier frames affect this handle's pictures only through the motion of the input: the networks draw
 * on a canvas (an endless plane) that follows the camera, or the noise moves with the picture. For frames whose
 * pictures nobody needs, engine_follow can then be called in place of engine_submit. */
bool engine_follows(const struct prepared *prepared);
/* Measures the motion up to a request's frame, as engine_submit would, but makes no picture: the networks do not run.
 * Later frames are the same to the bit as if this frame had been submitted, unless they depend on earlier pictures
 * (bank, feedback). Of the controls only `carried` is read. Afterwards the frame may be released. Returns 0, or -1 with
 * err. Called on the submitting thread, while no run of the handle is in flight. The first call prepares a small
 * program. */
int engine_follow(struct engine *engine, const struct engine_request *request, struct error *err);

/* Measures how long each op of a frame takes, in runs with this request. No frame may be in flight. The caller frees
 * *profile, which is empty after a failure. */
int engine_profile(struct engine *engine, const struct engine_request *request,
                   const struct profile_request *profile_request, struct profile *profile, struct error *err);

#endif
