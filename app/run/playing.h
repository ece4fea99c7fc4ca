/* Plays a script (parameter values over time) for the frames of render. Each frame gets the script's values for the
 * frame's time stamp. Fades also follow the time stamps and not the clock. */
#ifndef APP_RUN_PLAYING_H
#define APP_RUN_PLAYING_H

#include <stdatomic.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"
#include "unet/engine.h"

struct playing;

/* Opens a script from a file or pipe; a pipe is read to its end, or until *stop becomes true. The caller closes
 * *playing with playing_close. Returns 0, or -1 with err. */
int playing_open(struct playing **playing, const char *file, const atomic_bool *stop, const struct log *log,
                 struct error *err);
/* Copies to `values` what the script sets at time 0 and can apply to an engine and its handle (prepared size and step
 * count). Leaves out parameters that decide which engine is opened, and names of files to be read. Called before the
 * engine is opened. */
void playing_begin(const struct playing *playing, struct parameters *values);
/* Makes the script ready for the first frame. values: those with which the engine was opened; prepared: describes its
 * handle (prepared size and step count). From then on, the script changes only parameters that may differ between
 * frames; one log line names the others. */
void playing_start(struct playing *playing, const struct parameters *values, const struct prepared_info *prepared,
                   const struct log *log);
/* Fills the controls for the frame whose time in the source is `seconds`, which must not decrease from call to call.
 * Encodes the prompts that the frame needs in the engine that will make it. Frames may go to different engines; all of
 * them must stay open until playing_close. Returns 0, or -1 with err. */
int playing_controls(struct playing *playing, struct engine *engine, double seconds, struct controls *controls,
                     struct error *err);
/* Moves the script on to the time of a frame whose picture is left out, so that later frames get the same values as if
 * the picture had been made. */
void playing_pass(struct playing *playing, double seconds);
/* frees the script and all that belongs to it; *playing becomes NULL; does nothing if it is NULL */
void playing_close(struct playing **playing);

#endif
