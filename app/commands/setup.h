/* From the options to a running engine: what live, render and bench have in common. */
#ifndef APP_COMMANDS_SETUP_H
#define APP_COMMANDS_SETUP_H

#include <stdatomic.h>

#include "app/control/settings.h"
#include "app/options/options.h"
#include "app/options/paths.h"
#include "app/source/source.h"

/* A log that writes to standard error, filtered by options->verbose (warnings always, unless -q). */
void setup_log(struct log *log, const struct options *options);

/* What the command line says of a source. live as in struct source_options. */
void setup_source_options(struct source_options *source, const struct options *options, bool live,
                          const struct log *log);

/* What the command line says of an engine. */
struct setup_params {
  struct engine_params engine; /* points at the rest */
  struct engine_shape shape;
  char model[PATHS_MAX], cache[PATHS_MAX];
};

/* Model found, size chosen: --size, else the source's shape with its longest side `longest`, rounded to the model's
 * multiple; longest 0: the model's native size. info may be NULL (no input). */
int setup_params(struct setup_params *params, const struct options *options, const struct source_info *info,
                 int longest, enum pixel_format output, const struct log *log, struct error *err);

/* engine_prepare, on the CPU where the choice of a device was left open and the GPU has no room. */
int setup_prepare(struct engine *engine, const struct engine_shape *shape, struct prepared **prepared,
                  struct error *err);

/* Opens the engine by these and prepares its first handle, prompts encoded into slots 1..prompt_count and the negative
 * one. */
int setup_engine(struct engine **engine, struct prepared **prepared, const struct options *options,
                 const struct source_info *info, int longest, enum pixel_format output, int pictures,
                 const struct log *log, struct error *err);
/* The same for live: where the device has time for a larger picture than longest, and room, it is larger. */
int setup_live_engine(struct engine **engine, struct prepared **prepared, const struct options *options,
                      const struct source_info *info, int longest, enum pixel_format output, int pictures,
                      const struct log *log, struct error *err);

/* What suits the model, where values have no mark: the engine's steps, and as strength 1 where the network sees the
 * input picture itself or there is none, else 0.5, which keeps its shapes. */
void setup_values(struct parameters *values, const struct engine_info *info, const struct prepared_info *prepared);

/* The controls the command line asks for, with the first prompt. */
void setup_controls(struct controls *controls, const struct options *options, const struct engine_info *info,
                    const struct prepared_info *prepared);

/* Set by the first Ctrl-C, SIGTERM or SIGHUP; a second one ends the program at once. Sources watch it while they block.
 */
extern atomic_bool setup_stop;
/* Installs the handlers; main calls it. */
void setup_signals(void);

#endif
