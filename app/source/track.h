/* Measures the sound of a live source, so that each picture gets the sound levels of its own time. A thread decodes the
 * sound from a tap (a buffer, sound_tap.h), measures its levels a hundred times a second, and stores them with their
 * positions. */
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
 * is shown yet. The levels are zeros if the source is silent or has no sound, or if the same frame stays for more than
 * a second without a call of track_halt. Only one thread at a time may call track_get and track_halt. */
void track_get(struct track *track, const struct frame *frame, int64_t now_ns, double values[SOUND_VALUES]);
/* Sets the limits of the frequency bands, and for how long SOUND_ONSET stays 1. Callable from any thread. */
void track_limit(struct track *track, const struct sound_limits *limits);
/* Returns how many onsets (beginnings of sounds) there were up to the frame of the last track_get with levels. *at_ns
 * becomes the time (platform_now_ns) at which the last onset's picture was shown. The count starts again at 0 if the
 * sound's sample rate changes, as with another source. Called by the thread that calls track_get. */
long track_get_onset(const struct track *track, int64_t *at_ns);
/* Declares that the shown frame stays on purpose, as in a pause; track_get then still gives that frame's sound levels.
 * The main loop calls this in each pass as long as the frame stays. */
void track_halt(struct track *track, int64_t now_ns);
/* Ends the thread that measures the sound, and frees the track. *track becomes NULL; does nothing if it is NULL. */
void track_stop(struct track **track);

#endif
