/* Provides the mask (--mask): the region of each frame that an inpainting model repaints. A picture is the mask of all
 * frames. Of a video, each frame gets the mask frame of the same time, and the last one after the video's end. Up to
 * ENGINES_MAX engines (device_names.h) may share a mask.
 *
 * One thread at a time calls these functions, except those whose comment says "any thread". */
#ifndef APP_RUN_MASKING_H
#define APP_RUN_MASKING_H

#include "app/source/source.h"
#include "unet/engine.h"

struct masking;

/* The value of --mask that takes the mask from the alpha channel of the source's frames: transparent regions are
 * repainted. */
#define MASKING_ALPHA "alpha"

/* Opens the mask's picture or video. If `spec` is NULL, there is no mask, and *masking becomes NULL, which all
 * functions accept. If *stop becomes true, waiting for the file ends with an error. Returns 0, or -1 with err; the
 * caller closes it with masking_close. */
int masking_open(struct masking **masking, const char *spec, const struct log *log, const atomic_bool *stop,
                 struct error *err);
void masking_close(struct masking **masking); /* closes the mask; *masking becomes NULL */

/* Returns 0, or -1 with err if there is a mask but the model is not made for inpainting with a mask. Logs a warning if
 * the model is made for that, but there is no mask. */
int masking_check(const struct masking *masking, const struct engine_info *info, const struct log *log,
                  struct error *err);
/* Gives the engine the mask of the frame that is submitted next, unless the engine has it already. seconds: the frame's
 * time. frame: NULL if there is no source. Returns 0, or -1 with err. */
int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err);
/* Returns true if all frames have the same mask, or there is no mask. */
bool masking_is_still(const struct masking *masking);
/* Returns true if the mask can be read only once, because it is a pipe, for example. Any thread may call it. */
bool masking_passes(const struct masking *masking);
/* Makes masking_apply give the mask to every engine again, as if none had it. Must be called after an engine is closed
 * and before the next engine is opened, because the next one may get the same address. Accepts NULL. */
void masking_leave(struct masking *masking);

#endif
