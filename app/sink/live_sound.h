/* Records sound together with pictures that are written at the time they are shown. Sound is decoded from what a tap
 * holds, placed at the output time at which the picture of its position was shown, with silence while the picture
 * stands still, and encoded. The sink's thread makes all calls; the functions on a sound accept NULL. */
#ifndef APP_SINK_LIVE_SOUND_H
#define APP_SINK_LIVE_SOUND_H

#include "app/sink/muxer.h"
#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct live_sound;

/* Adds a stream to output; call it before the header is written. *sound stays NULL if the tap has no sound or the
 * container takes none, which is no error.
 *
 * by_clock: the tap's positions are seconds of platform_now_ns, and pts below is in nanoseconds of it. The sound then
 * comes from an input without pictures. It may stop and begin again, with silence in between, and runs by a clock of
 * its own; its drift is corrected without a break. */
int live_sound_open(struct live_sound **sound, AVFormatContext *output, struct sound_tap *tap, bool by_clock,
                    const struct log *log, struct error *err);
/* Says that the picture of this position in the source is shown at `time` of the output, in seconds. Both rise from
 * call to call, except when another source begins. */
void live_sound_at(struct live_sound *sound, int64_t pts, double time);
/* Writes the sound up to the position told last; live_sound_finish also what the encoder holds back. Both return 0 or
 * an FFmpeg error code. */
int live_sound_write(struct live_sound *sound, struct muxer *muxer);
int live_sound_finish(struct live_sound *sound, struct muxer *muxer);
void live_sound_close(struct live_sound **sound); /* stores NULL; accepts NULL */

#endif
