/* The region that an inpainting model repaints, frame by frame (--mask). A picture is used for all frames; a video is
 * kept in step with the source's times, and its last frame is used on. The thread that submits frames uses it. */
#ifndef APP_RUN_MASKING_H
#define APP_RUN_MASKING_H

#include "app/source/source.h"
#include "unet/engine.h"

struct masking;

/* A spec: the transparent regions of the source's own frames are repainted. */
#define MASKING_ALPHA "alpha"

/* Opens the picture or video. If spec is NULL, there is no mask, and *masking becomes NULL, which all functions
 * accept. */
int masking_open(struct masking **masking, const char *spec, const struct log *log, const atomic_bool *stop,
                 struct error *err);
void masking_close(struct masking **masking); /* stores NULL */

/* Fails if the model takes no mask. Logs a warning if the model takes one and none is given. */
int masking_check(const struct masking *masking, const struct engine_info *info, const struct log *log,
                  struct error *err);
/* Gives the engine the mask of the frame that is submitted next, if the mask or the engine has changed. seconds: the
 * frame's time. frame may be NULL. */
int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err);
/* True if all frames have the same mask, or none. */
bool masking_is_still(const struct masking *masking);
/* Any thread: returns source_info.passes of the mask (what was read of it cannot be read again). */
bool masking_passes(const struct masking *masking);
/* Forgets the engine, which was closed before the next one was opened. Accepts NULL. */
void masking_leave(struct masking *masking);

#endif
