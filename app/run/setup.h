/* From the options to an open engine: the part that live, render and bench have in common. */
#ifndef APP_RUN_SETUP_H
#define APP_RUN_SETUP_H

#include <stdatomic.h>

#include "app/control/settings.h"
#include "app/options/options.h"
#include "app/platform/paths.h"
#include "app/source/source.h"

/* Makes a log that writes to standard error. options->verbose filters it: warnings are written unless -q is given. */
void setup_log(struct log *log, const struct options *options);

/* Fills the source's options from the command line. live: as in struct source_options. */
int setup_source_options(struct source_options *source, const struct options *options, bool live, const struct log *log,
                         struct error *err);

/* Longest wait for a control source's frame in commands that must not skip one. */
enum { SETUP_PATIENCE_MS = 5000 };
/* True if frames or controls read the input. With text to image nothing may read it, or controls alone. */
bool setup_needs_input(const struct options *options);
/* Fails if two inputs read the same pipe. */
int setup_check_inputs(const struct options *options, struct error *err);

/* The request of a command: the options, and what the command decides itself. */
struct setup {
  const struct options *options;
  const struct source_info *info; /* info of the input; NULL: there is none */
  /* Longest side of the picture without --size, with the input's aspect ratio; 0: the model's native size. */
  int longest;
  bool nearest; /* round --size to a valid size instead of refusing it */
  bool larger;  /* use more than `longest` if the device is fast enough and has the memory */
  bool smooth;  /* see struct engine_params */
  enum pixel_format output;
  int pictures;                   /* see struct device_options */
  int batch;                      /* most frames per run if --batch is not given; 0: 1 */
  bool shared;                    /* a window may read pictures in device memory */
  bool (*gives_up)(void *opaque); /* gives_up and its opaque are as in struct device_options */
  void *gives_up_opaque;
  const struct log *log;
};

/* The request in the engine's form. */
struct setup_params {
  struct engine_params engine; /* points into the other fields */
  struct engine_shape shape;
  const char *adapters[ADAPTERS_MAX];
  struct engine_control controls[CONTROLS_MAX];
  char model[PATHS_MAX], vae[PATHS_MAX], unet[PATHS_MAX], config[PATHS_MAX], adapter[ADAPTERS_MAX][PATHS_MAX];
  char control[CONTROLS_MAX][PATHS_MAX], depth[PATHS_MAX];
  char ip_adapter[PATHS_MAX], image_encoder[PATHS_MAX];
  char vocabulary[PATHS_MAX], cache[PATHS_MAX];
};

/* Finds models by their names, chooses the size, and rounds it to the model's multiple. params must not be moved. */
int setup_params(struct setup_params *params, const struct setup *setup, struct error *err);

/* Prepares a handle. If the GPU has too little memory and the device was chosen automatically, the CPU is used
 * instead. */
int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err);

/* Opens the engine, prepares its first handle, and encodes the prompts into slots 1 to prompt_count and the negative
 * one. */
int setup_engine(struct engine **engine, struct prepared **prepared, const struct setup *setup, struct error *err);

/* Completes values with what the engine has: its size and steps, and where they have no mark eta, and strength 1 if the
 * network reads the input picture itself or there is none. (Otherwise strength stays 0.5, which keeps the input's
 * shapes.) */
void setup_values(struct parameters *values, const struct engine_info *info, const struct prepared_info *prepared);

/* Fills the controls from the command line, with the first prompt. */
void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared);

/* Prints the latency that a stream batch adds at the measured rate; nothing if it adds none. */
void setup_print_behind(FILE *out, const struct prepared_info *prepared, double fps);

/* Set by the first Ctrl-C, SIGTERM or SIGHUP; a second one ends the program at once. Sources check it while they
 * wait. */
extern atomic_bool setup_stop;
/* Installs the signal handlers; called by main. */
void setup_signals(void);

#endif
