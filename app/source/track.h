/* Measures the sound of a live source. A thread decodes the sound in a tap as it comes, measures its levels a hundred
 * times a second, and keeps them with their positions, so that each picture gets the levels of the sound at its own
 * time. */
#ifndef APP_SOURCE_TRACK_H
#define APP_SOURCE_TRACK_H

#include "app/source/sound_levels.h"
#include "app/source/sound_tap.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"

struct track;

/* Starts the thread. tap and log must outlive the track. Returns 0, or -1 with err. */
int track_start(struct track **track, struct sound_tap *tap, const struct log *log, struct error *err);
/* Gets the levels, each from 0 to 1, for the frame that is shown at time now_ns (platform_now_ns); frame NULL: none is
 * shown yet. They are zeros if the source is silent or has no sound, and if the same frame is shown for more than a
 * second, unless track_halt is called meanwhile. One thread at a time calls track_get and track_halt. */
void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]);
/* Says that the frame stays on purpose, as in a pause, so that it keeps its levels. The main loop calls this in each of
 * its turns as long as that is so. */
void track_halt(struct track *track, int64_t now_ns);
void track_stop(struct track **track); /* stores NULL; accepts NULL */

#endif
