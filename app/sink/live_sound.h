/* Records sound together with pictures that are written at the time they are shown. Takes sound from a tap
 * (sound_tap.h), decodes it, and encodes it so that it is heard in the output when the picture of the same position is
 * shown; while a picture stands still, there is silence. The sink's thread makes all calls; the functions on a sound
 * accept NULL. */
#ifndef APP_SINK_LIVE_SOUND_H
#define APP_SINK_LIVE_SOUND_H

#include "app/sink/muxer.h"
#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct live_sound;

/* Adds a stream of sound to output; the caller calls this before it writes the header. *sound stays NULL if the tap has
 * no sound or the container takes none, which is no error.
 *
 * by_clock: the tap's positions are seconds of platform_now_ns, and the pts that live_sound_at gets is in nanoseconds
 * of it. The sound then comes from an input without pictures. It may stop and begin again, with silence in between, and
 * runs by a clock of its own; its drift is corrected without a break. */
int live_sound_open(struct live_sound **sound, AVFormatContext *output, struct sound_tap *tap, bool by_clock,
                    const struct log *log, struct error *err);
/* Says that the picture of this position in the source is shown at `time` of the output, in seconds. Both rise from
 * call to call, except when another source begins. */
void live_sound_at(struct live_sound *sound, int64_t pts, double time);
/* live_sound_write writes the sound up to the position that live_sound_at got last. live_sound_finish also writes what
 * the encoder holds back. Both return 0 or an FFmpeg error code. */
int live_sound_write(struct live_sound *sound, struct muxer *muxer);
int live_sound_finish(struct live_sound *sound, struct muxer *muxer);
void live_sound_close(struct live_sound **sound); /* stores NULL; accepts NULL */

#endif
