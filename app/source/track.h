/* Measures the sound of a live source. A thread takes the levels of all sound in a tap as it comes, and keeps them by
 * their positions, so that each picture gets the levels of its own time. */
#ifndef APP_SOURCE_TRACK_H
#define APP_SOURCE_TRACK_H

#include "app/source/sound_levels.h"
#include "app/source/sound_tap.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"

struct track;

/* Starts the thread. tap and log must outlive the track. Returns 0, or -1 with err. */
int track_start(struct track **track, struct sound_tap *tap, const struct log *log, struct error *err);
/* Gets the levels for the frame that is shown at time now_ns; frame NULL: none is shown yet. They are zeros if the
 * source is silent or has no sound, and if the frame stays for good; a frame that is halted keeps its levels
 * (track_halt). One thread at a time. */
void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]);
/* Says that the frame stays on purpose, as in a pause. Called each turn meanwhile; the frame then keeps its levels. */
void track_halt(struct track *track, int64_t now_ns);
void track_stop(struct track **track); /* stores NULL; accepts NULL */

#endif
