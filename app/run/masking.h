/* The region that an inpainting model repaints, frame by frame (--mask). A picture is used for all frames; a video is
 * kept in step with the source's times, and its last frame is used after its end. Only the thread that submits frames
 * calls these functions, except where "any thread" is said. */
#ifndef APP_RUN_MASKING_H
#define APP_RUN_MASKING_H

#include "app/source/source.h"
#include "unet/engine.h"

struct masking;

/* The value of --mask with which the transparent regions of the source's own frames are repainted. */
#define MASKING_ALPHA "alpha"

/* Opens the mask's picture or video. If spec is NULL, there is no mask, and *masking becomes NULL, which all functions
 * accept. *stop set to true ends a wait for the file. Returns 0, or -1 with err; the caller closes it with
 * masking_close. */
int masking_open(struct masking **masking, const char *spec, const struct log *log, const atomic_bool *stop,
                 struct error *err);
void masking_close(struct masking **masking); /* stores NULL */

/* Returns -1 with err if there is a mask but the model takes none. Logs a warning if the model takes a mask and there
 * is none. */
int masking_check(const struct masking *masking, const struct engine_info *info, const struct log *log,
                  struct error *err);
/* Gives the engine the mask of the frame that is submitted next, unless the engine has it already. seconds: the frame's
 * time. frame: NULL without a source. Returns 0, or -1 with err. */
int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err);
/* Returns true if all frames have the same mask, or there is no mask. */
bool masking_is_still(const struct masking *masking);
/* Returns true if what was read of the mask cannot be read again, as with a pipe. Any thread may call it. */
bool masking_passes(const struct masking *masking);
/* Forgets which engine has the mask. Must be called when an engine is closed before the next is opened, which may get
 * the same address. Accepts NULL. */
void masking_leave(struct masking *masking);

#endif
