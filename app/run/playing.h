/* Plays a script for frames with times of their own, as render has them: each frame gets the script's values for its
 * time, and fades follow these times. */
#ifndef APP_RUN_PLAYING_H
#define APP_RUN_PLAYING_H

#include <stdatomic.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"
#include "unet/engine.h"

struct playing;

/* Reads the script; a pipe is read to its end, or until *stop is set. */
int playing_open(struct playing **playing, const char *file, const atomic_bool *stop, const struct log *log,
                 struct error *err);
/* Copies the script's initial values of parameters with which an engine is prepared, except files. */
void playing_begin(const struct playing *playing, struct parameters *values);
/* Starts playing; called after playing_begin with the values that the engine got. From then on, only parameters change
 * that may differ between frames. One log line names the others that the script changes. */
void playing_start(struct playing *playing, const struct parameters *values, const struct prepared_info *prepared,
                   const struct log *log);
/* Fills the controls of the frame at this time, which must not decrease, and sets the prompts that it needs. */
int playing_controls(struct playing *playing, struct engine *engine, double seconds, struct controls *controls,
                     struct error *err);
void playing_close(struct playing **playing); /* stores NULL; accepts NULL */

#endif
