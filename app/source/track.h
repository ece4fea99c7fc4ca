/* Measures the sound of a live source, so that each picture gets the levels of the sound at its own time. A thread
 * decodes the sound as it comes into a tap (sound_tap.h: a buffer of packets), measures its levels a hundred times a
 * second, and stores them with their positions. */
#ifndef APP_SOURCE_TRACK_H
#define APP_SOURCE_TRACK_H

#include "app/source/sound_levels.h"
#include "app/source/sound_tap.h"
#include "unet/base/frame.h"
#include "unet/base/log.h"

struct track;

/* Starts the thread that measures the sound in `tap`, a buffer of packets. `tap` and `log` must outlive the struct.
 * Returns 0, or -1 with err. */
int track_start(struct track **track, struct sound_tap *tap, const struct log *log, struct error *err);
/* Gets the levels, each from 0 to 1, for the frame that is shown at time now_ns (platform_now_ns); frame NULL: no frame
 * is shown yet. The levels are zeros if the source is silent or has no sound, and if the same frame is shown for more
 * than a second, unless track_halt is called meanwhile. One thread at a time calls track_get and track_halt. */
void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]);
/* Sets the limits of the frequency bands, and for how long SOUND_ONSET stays 1. Callable from any thread. */
void track_limit(struct track *track, const struct sound_limits *limits);
/* Returns how many onsets (beginnings of sounds) there were up to the frame of the last track_get that gave levels.
 * *at_ns becomes the time (platform_now_ns) at which the picture with the same time as the last onset was shown. The
 * count begins anew at 0 if the sound changes to another sample rate, as may happen with another source. Called by the
 * thread that calls track_get. */
long track_get_onset(const struct track *track, int64_t *at_ns);
/* Tells that the shown frame stays on purpose, as in a pause. Then track_get goes on giving the sound levels of that
 * frame. The main loop calls this in each pass as long as the frame stays. */
void track_halt(struct track *track, int64_t now_ns);
/* Ends the thread that measures the sound, and frees the track. *track becomes NULL; does nothing if it is NULL. */
void track_stop(struct track **track);

#endif
