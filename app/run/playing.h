/* Plays a script (parameter values over time) for the frames of render: each frame gets the script's values for the
 * frame's own time, and fades follow these times and not the clock. */
#ifndef APP_RUN_PLAYING_H
#define APP_RUN_PLAYING_H

#include <stdatomic.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"
#include "unet/engine.h"

struct playing;

/* Reads the script of a file or pipe; a pipe is read to its end, or until *stop is set. The caller closes *playing with
 * playing_close. Returns 0, or -1 with err. */
int playing_open(struct playing **playing, const char *file, const atomic_bool *stop, const struct log *log,
                 struct error *err);
/* Copies the script's values at its beginning to values, as far as an engine can be prepared with them; parameters that
 * name files are left out. Called before the engine is opened. */
void playing_begin(const struct playing *playing, struct parameters *values);
/* Starts playing, with the values and the handle that the engine got after playing_begin. From then on, the script
 * changes only parameters that may differ from frame to frame; one log line names the others. */
void playing_start(struct playing *playing, const struct parameters *values, const struct prepared_info *prepared,
                   const struct log *log);
/* Fills the controls for the frame at this time of the source, which must not decrease from call to call, and encodes
 * the prompts that the frame needs. Returns 0, or -1 with err. */
int playing_controls(struct playing *playing, struct engine *engine, double seconds, struct controls *controls,
                     struct error *err);
void playing_close(struct playing **playing); /* stores NULL; accepts a pointer to NULL */

#endif
