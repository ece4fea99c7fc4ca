/* Opens an engine as the command line's options say: the part that the commands live, render and bench have in
 * common. */
#ifndef APP_RUN_SETUP_H
#define APP_RUN_SETUP_H

#include <stdatomic.h>

#include "app/control/settings.h"
#include "app/models/engine_wish.h"
#include "app/options/options.h"
#include "app/platform/paths.h"
#include "app/source/source.h"

/* Number of pixels of the longest side of render's pictures without --size; their aspect ratio is the input's. */
enum { SETUP_LONGEST_SIDE = 512 };

/* Initialises a log that writes to standard error what options->verbose allows; warnings are written unless -q was
 * given. */
void setup_log(struct log *log, const struct options *options);

/* Fills the source's options from the command line. live: true: the source is for the live window, in which frames may
 * be dropped. Returns 0, or -1 with err. */
int setup_source_options(struct source_options *source, const struct options *options, bool live, const struct log *log,
                         struct error *err);

/* longest time in ms for which a frame of the control source is waited for; for render and bench, which must not skip a
 * frame */
enum { SETUP_PATIENCE_MS = 5000 };
/* Returns true if the main input must be opened: always with image to image; with text to image only if there is a
 * control that makes its map from the input, not from --control-source. */
bool setup_needs_input(const struct options *options);
/* Returns -1 with err if two of the inputs that options name are the same pipe, because only one of them could read it;
 * else 0. */
int setup_check_inputs(const struct options *options, struct error *err);

/* Describes the engine that a command needs: the user's options, and what the command itself decides. */
struct setup {
  const struct options *options;
  const struct source_info *info; /* description of the input, for its aspect ratio; NULL: there is no input */
  /* longest side of the picture in pixels if --size is not given; the aspect ratio is the input's; 0: the model's usual
   * size */
  int longest;
  /* aspect ratio (width divided by height) with which the output shows the pictures, whose pixels then need not be
   * square; it replaces the input's aspect ratio. 0: the input's aspect ratio, with square pixels */
  double aspect;
  bool nearest; /* true: --size is rounded to a size that the model can make; false: any other size is refused */
  /* true: a model without an IP-Adapter of its own is opened without the style pictures that are for it; false: it is
   * refused */
  bool leaves_styles;
  bool larger; /* true: pictures become larger than `longest` if the device is fast enough and has the memory */
  /* for engine_params.smooth; true: texts and adapters are prepared in slices between frames, so that no frame is
   * late */
  bool smooth;
  /* for engine_params.paced; true: frames come in real time, so nothing of earlier frames is used after a pause */
  bool paced;
  enum pixel_format output;
  int pictures; /* largest number of the engine's pictures that the caller holds (has collected and not yet released) at
                 * a time, for device_options */
  int batch;    /* largest number of frames per run if --batch is not given; 0 means 1 */
  bool shared;  /* true: a window's OpenGL may read pictures directly in device memory */
  /* for device_options.choices: the kernels and other choices of another engine, which this engine is to adopt; NULL:
   * this engine makes its own choices */
  const char *choices;
  /* function that is called with gives_up_opaque while the engine is opened (device_options); it returns true to abort
   * the opening; NULL: never */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  const struct log *log;
};

/* Fills `params` with all that engine_wish_fill sets, with the device, and with the picture size, rounded to one that
 * the model can make. `params` points into itself, so it must not be copied or moved. Returns 0, or -1 with err. */
int setup_params(struct engine_wish *params, const struct setup *setup, struct error *err);

/* Prepares a handle of this shape (size, step count and so on), which the engine owns. If the GPU has too little memory
 * and the user did not choose the device, the engine is moved to the CPU. Returns 0, or -1 with err. */
int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err);

/* Opens the engine, prepares its first handle (one size, sampler and step count), and logs warnings about options
 * without effect. Sets the LoRA adapters' strengths, and reads the style pictures. Encodes the prompts into slots 1 to
 * prompt_count (without prompts, the default prompt into slot 1), and the negative prompt into its own slot. The caller
 * closes the engine, which frees the handle. Returns 0, or -1 with err and no engine. */
int setup_engine(struct engine **engine, struct prepared **prepared, const struct setup *setup, struct error *err);

/* Computes, without an engine, the shape (size, step count and so on) of the handle that setup_engine tries to prepare.
 * Values that the options leave to model or device are 0. Returns 0, or -1 with err. */
int setup_shape(struct engine_shape *shape, const struct setup *setup, struct error *err);
/* Prepares another handle (size, sampler and step count) in an engine that setup_engine has opened, for another input
 * with otherwise the same options. makes_do: true: if memory is short, a run may get fewer frames, or the engine may
 * move to the CPU, as in setup_engine; false: the function fails then. Returns 0, or -1 with err. */
int setup_again(struct engine *engine, struct prepared **prepared, const struct setup *setup, bool makes_do,
                struct error *err);

/* Fills the controls of a frame (all values that may change between frames) from the command line, with the first
 * prompt. */
void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared);

/* Prints by how many frames and ms a stream batch (frames at different denoising steps in one run) delays the pictures
 * at this frame rate; prints nothing without a delay. */
void setup_print_behind(FILE *out, const struct prepared_info *prepared, double fps);

/* Becomes true at the first Ctrl-C, SIGTERM or SIGHUP, which asks the command to end; the second one ends the program
 * at once. Sources check it while they wait. */
extern atomic_bool setup_stop;
/* Installs the signal handlers; called by main. */
void setup_signals(void);

#endif
