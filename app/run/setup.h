/* Opens an engine as the command line's options say: the part that the commands live, render and bench have in
 * common. */
#ifndef APP_RUN_SETUP_H
#define APP_RUN_SETUP_H

#include <stdatomic.h>

#include "app/control/settings.h"
#include "app/options/options.h"
#include "app/platform/paths.h"
#include "app/source/source.h"

/* Initialises a log that writes to standard error, filtered by options->verbose: warnings are written unless -q was
 * given. */
void setup_log(struct log *log, const struct options *options);

/* Fills the source's options from the command line. live: the source is shown as it comes, and frames may be dropped.
 * Returns 0, or -1 with err. */
int setup_source_options(struct source_options *source, const struct options *options, bool live, const struct log *log,
                         struct error *err);

/* Longest wait in ms for a frame of the control source, in commands that must not skip one. */
enum { SETUP_PATIENCE_MS = 5000 };
/* Returns true if frames or ControlNets read the input. With text to image, either only ControlNets read it or nothing
 * does. */
bool setup_needs_input(const struct options *options);
/* Returns -1 with err if two inputs are the same pipe, which only one of them could read. */
int setup_check_inputs(const struct options *options, struct error *err);

/* What a command asks for: the user's options, and what the command itself decides. */
struct setup {
  const struct options *options;
  const struct source_info *info; /* info of the input, for its aspect ratio; NULL: there is no input */
  /* Longest side of the picture without --size, with the input's aspect ratio; 0: the model's native size. */
  int longest;
  bool nearest; /* round --size to a valid size instead of refusing it */
  bool larger;  /* make pictures larger than `longest` if the device is fast enough and has the memory */
  bool smooth;  /* engine_params.smooth */
  bool paced;   /* engine_params.paced */
  enum pixel_format output;
  int pictures; /* number of pictures that the caller may hold at a time, as in device_options */
  int batch;    /* number of frames per run at most if --batch is not given; 0: 1 */
  bool shared;  /* true: a window's OpenGL may read pictures directly in device memory */
  /* returns true if opening should be given up; called with gives_up_opaque (device_options) */
  bool (*gives_up)(void *opaque);
  void *gives_up_opaque;
  const struct log *log;
};

/* What a command asks for, as arguments of the engine's functions, with the memory that they point to. */
struct setup_params {
  struct engine_params engine; /* its pointers point into the other fields */
  struct engine_shape shape;
  const char *adapters[ADAPTERS_MAX];
  struct engine_control controls[CONTROLS_MAX];
  char model[PATHS_MAX], vae[PATHS_MAX], unet[PATHS_MAX], config[PATHS_MAX], adapter[ADAPTERS_MAX][PATHS_MAX];
  char control[CONTROLS_MAX][PATHS_MAX], depth[PATHS_MAX];
  char ip_adapter[PATHS_MAX], image_encoder[PATHS_MAX];
  char vocabulary[PATHS_MAX], cache[PATHS_MAX];
};

/* Finds the files of models by their names, chooses the size, and rounds it to a multiple that the model can make.
 * params points into itself, so it must not be copied or moved. Returns 0, or -1 with err. */
int setup_params(struct setup_params *params, const struct setup *setup, struct error *err);

/* Prepares a handle of this shape, which the engine owns. If the GPU has too little memory and the user did not choose
 * the device, the engine is moved to the CPU. Returns 0, or -1 with err. */
int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err);

/* Opens the engine, prepares its first handle, and encodes the prompts into the slots 1 to prompt_count and the
 * negative prompt into its slot. The caller closes the engine, which frees the handle. Returns 0, or -1 with err. */
int setup_engine(struct engine **engine, struct prepared **prepared, const struct setup *setup, struct error *err);

/* Stores in values the engine's size and number of steps. Also stores, unless the user has set them: the sampler's eta,
 * and strength 1 if the network reads the input picture itself or there is no input. (Otherwise strength stays 0.5,
 * which keeps the input's shapes.) */
void setup_values(struct parameters *values, const struct engine_info *info, const struct prepared_info *prepared);

/* Fills the controls of a frame from the command line, with the first prompt. */
void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared);

/* Prints by how many frames and ms a stream batch delays pictures at this rate; prints nothing if it delays none. */
void setup_print_behind(FILE *out, const struct prepared_info *prepared, double fps);

/* Becomes true at the first Ctrl-C, SIGTERM or SIGHUP; the second one ends the program at once. Sources check it while
 * they wait. */
extern atomic_bool setup_stop;
/* Installs the signal handlers; called by main. */
void setup_signals(void);

#endif
