/* Sound beside pictures that come when they are shown: decoded from what a tap holds, put to the time at which the
 * picture of its position was shown, with silence where the pictures stood, and encoded. */
#ifndef APP_SINK_LIVE_SOUND_H
#define APP_SINK_LIVE_SOUND_H

#include "app/sink/muxer.h"
#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct live_sound;

/* Adds a stream to output, before its header is written. *sound stays NULL where the tap has none, or the container
 * takes none, which is no error.
 *
 * by_clock: positions are seconds of platform_now_ns, and pts below nanoseconds of it. The sound is no source's: it may
 * come and go, with silence meanwhile, and has a clock of its own, which is followed without a break. */
int live_sound_open(struct live_sound **sound, AVFormatContext *output, struct sound_tap *tap, bool by_clock,
                    const struct log *log, struct error *err);
/* The picture of this position is at this time of the output, in seconds; both rise. */
void live_sound_at(struct live_sound *sound, int64_t pts, double time); /* takes NULL */
/* Writes what is known up to the position told last. Returns 0 or an FFmpeg error code, as does the next. */
int live_sound_write(struct live_sound *sound, struct muxer *muxer);  /* takes NULL */
int live_sound_finish(struct live_sound *sound, struct muxer *muxer); /* takes NULL */
void live_sound_close(struct live_sound **sound);                     /* stores NULL; takes NULL */

#endif
