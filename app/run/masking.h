/* What an inpainting model repaints, frame by frame: --mask. A picture stays for all frames; a video goes along with
 * the source's times, and its last frame stays. Used on the thread that submits. */
#ifndef APP_RUN_MASKING_H
#define APP_RUN_MASKING_H

#include "app/source/source.h"
#include "unet/engine.h"

struct masking;

/* In place of a name: where the source's own frames are transparent, they are repainted. */
#define MASKING_ALPHA "alpha"

/* Opens the picture or video. spec NULL: there is no mask, and *masking is NULL, which all functions take. */
int masking_open(struct masking **masking, const char *spec, const struct log *log, const atomic_bool *stop,
                 struct error *err);
void masking_close(struct masking **masking); /* stores NULL */

/* Refuses a mask for a model that takes none; says what a model that takes one does without. */
int masking_check(const struct masking *masking, const struct engine_info *info, const struct log *log,
                  struct error *err);
/* Gives the engine the mask of a frame that is to be submitted next, where it is another one, or another engine.
 * seconds: the frame's time. frame may be NULL. */
int masking_apply(struct masking *masking, struct engine *engine, const struct frame *frame, double seconds,
                  struct error *err);
/* Whether all frames have one mask, or none. */
bool masking_is_still(const struct masking *masking);
/* Any thread: as struct source_info has it. */
bool masking_passes(const struct masking *masking);
/* The engine was closed before there was another one. Takes NULL. */
void masking_leave(struct masking *masking);

#endif
