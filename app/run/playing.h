/* A script played for frames that have times of their own, as render's have: each frame gets the values of its time,
 * and fades and walks go by those times. */
#ifndef APP_RUN_PLAYING_H
#define APP_RUN_PLAYING_H

#include <stdatomic.h>

#include "app/control/parameters.h"
#include "unet/base/log.h"
#include "unet/engine.h"

struct playing;

/* Reads the script; a pipe to its end, until *stop. */
int playing_open(struct playing **playing, const char *file, const atomic_bool *stop, const struct log *log,
                 struct error *err);
/* What the script says for the beginning: whatever an engine is opened or prepared with, files apart. */
void playing_begin(const struct playing *playing, struct parameters *values);
/* After that, with what the engine has got: from now on only what acts from frame to frame changes. One line names what
 * the script changes beside that. */
void playing_start(struct playing *playing, const struct parameters *values, const struct prepared_info *prepared,
                   const struct log *log);
/* The controls of the frame at this time, which rises; sets the prompts that it needs. */
int playing_controls(struct playing *playing, struct engine *engine, double seconds, struct controls *controls,
                     struct error *err);
void playing_close(struct playing **playing); /* stores NULL; takes NULL */

#endif
