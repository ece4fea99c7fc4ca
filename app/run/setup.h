/* From the options to a running engine: what live, render and bench have in common. */
#ifndef APP_RUN_SETUP_H
#define APP_RUN_SETUP_H

#include <stdatomic.h>

#include "app/control/settings.h"
#include "app/options/options.h"
#include "app/platform/paths.h"
#include "app/source/source.h"

/* A log that writes to standard error, filtered by options->verbose (warnings always, unless -q). */
void setup_log(struct log *log, const struct options *options);

/* What the command line says of a source. live as in struct source_options. */
int setup_source_options(struct source_options *source, const struct options *options, bool live, const struct log *log,
                         struct error *err);

/* For a control source's frame that is not there yet, where no frame is to be missed. */
enum { SETUP_PATIENCE_MS = 5000 };
/* Whether frames or controls see the input: with text to image there may be none, or that of the controls alone. */
bool setup_needs_input(const struct options *options);
/* Refuses two inputs that are one pipe. */
int setup_check_inputs(const struct options *options, struct error *err);

/* What a command asks for: the options, and what it knows itself. */
struct setup {
  const struct options *options;
  const struct source_info *info; /* of the input; NULL: there is none */
  /* Longest side of the picture, in the input's shape, where there is no --size; 0: the model's native size. */
  int longest;
  bool nearest; /* --size is a wish, rounded to what a picture may have */
  bool larger;  /* than longest, where the device has time for it, and room */
  bool smooth;  /* as in struct engine_params */
  enum pixel_format output;
  int pictures;                   /* as in struct device_options */
  int batch;                      /* at most so many frames a run, where --batch says nothing; 0: 1 */
  bool shared;                    /* a window may read them where they are */
  bool (*gives_up)(void *opaque); /* both as in struct device_options */
  void *gives_up_opaque;
  const struct log *log;
};

/* The same as an engine takes it. */
struct setup_params {
  struct engine_params engine; /* points at the rest */
  struct engine_shape shape;
  const char *adapters[ADAPTERS_MAX];
  struct engine_control controls[CONTROLS_MAX];
  char model[PATHS_MAX], vae[PATHS_MAX], unet[PATHS_MAX], config[PATHS_MAX], adapter[ADAPTERS_MAX][PATHS_MAX];
  char control[CONTROLS_MAX][PATHS_MAX], depth[PATHS_MAX];
  char ip_adapter[PATHS_MAX], image_encoder[PATHS_MAX];
  char vocabulary[PATHS_MAX], cache[PATHS_MAX];
};

/* Models found by their names, size chosen and rounded to the model's multiple. */
int setup_params(struct setup_params *params, const struct setup *setup, struct error *err);

/* engine_prepare, on the CPU where the choice of a device was left open and the GPU has no room. */
int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err);

/* Opens the engine and prepares its first handle, prompts encoded into slots 1..prompt_count and the negative one. */
int setup_engine(struct engine **engine, struct prepared **prepared, const struct setup *setup, struct error *err);

/* What suits the model, where values have no mark: the engine's steps, and as strength 1 where the network sees the
 * input picture itself or there is none, else 0.5, which keeps its shapes. */
void setup_values(struct parameters *values, const struct engine_info *info, const struct prepared_info *prepared);

/* The controls the command line asks for, with the first prompt. */
void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared);

/* What a stream batch adds to the latency, at the rate that was measured; nothing where it adds none. */
void setup_print_behind(FILE *out, const struct prepared_info *prepared, double fps);

/* Set by the first Ctrl-C, SIGTERM or SIGHUP; a second one ends the program at once. Sources watch it while they block.
 */
extern atomic_bool setup_stop;
/* Installs the handlers; main calls it. */
void setup_signals(void);

#endif
