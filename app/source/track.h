/* What a source's own sound does at the moment of a picture: the levels of all that a tap holds are taken as it comes,
 * on a thread of its own, and kept by their positions, so that a picture is given those of its own time. */
#ifndef APP_SOURCE_TRACK_H
#define APP_SOURCE_TRACK_H

#include "app/source/sound_levels.h"
#include "app/source/sound_tap.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"

struct track;

/* tap and log outlive it. */
int track_start(struct track **track, struct sound_tap *tap, const struct log *log, struct error *err);
/* The frame is the one that is shown at time now; NULL: none yet. Zeros where the source is silent or has no sound, and
 * where the frame stands for good; a frame that is only halted keeps its own (track_halt). One thread. */
void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]);
/* The frame stands on purpose: it counts as new when it moves on. */
void track_halt(struct track *track, int64_t now_ns);
void track_stop(struct track **track); /* stores NULL; takes NULL */

#endif
