/* Records sound together with pictures that are written when they are shown. Takes the source's packets of sound from a
 * tap (a buffer, sound_tap.h), decodes them and encodes them again, so that sound and picture of the same moment are
 * together in the output. While a picture stands still, there is silence. The sink's thread makes all calls. With
 * `sound` NULL the functions do nothing. */
#ifndef APP_SINK_LIVE_SOUND_H
#define APP_SINK_LIVE_SOUND_H

#include "app/sink/muxer.h"
#include "app/source/sound_tap.h"
#include "unet/base/log.h"

struct live_sound;

/* Adds a stream of sound to `output`, whose header must not be written yet. Returns 0, or -1 with err. *sound is NULL,
 * with result 0, if there is no tap, the tap has no sound (unless by_clock), the container takes no sound, or the
 * encoder cannot be opened, which is logged.
 *
 * by_clock: the sound comes from an input without pictures, such as a microphone. The tap's positions are then
 * platform_now_ns in seconds, and live_sound_at gets platform_now_ns as pts. The sound may stop and begin again, with
 * silence in between, and the input's clock drift is corrected without interruptions. */
int live_sound_open(struct live_sound **sound, AVFormatContext *output, struct sound_tap *tap, bool by_clock,
                    const struct log *log, struct error *err);
/* Tells that the picture with this pts in the source is shown at `time` of the output, in seconds. pts and time rise
 * from call to call, except when another source begins. */
void live_sound_at(struct live_sound *sound, int64_t pts, double time);
/* live_sound_write writes the sound up to the picture of the last live_sound_at. live_sound_finish also writes the
 * packets that the encoder still holds. Both return 0 or an FFmpeg error code. */
int live_sound_write(struct live_sound *sound, struct muxer *muxer);
int live_sound_finish(struct live_sound *sound, struct muxer *muxer);
/* Closes the recording of sound; *sound becomes NULL; does nothing if it is NULL. */
void live_sound_close(struct live_sound **sound);

#endif
