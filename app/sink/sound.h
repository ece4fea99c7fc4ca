/* Copies sound and metadata of the input, packet by packet, to the output. The input is opened a second time for it, so
 * that picture and sound are each read at their own pace and nothing is kept in memory. The sink's thread makes all
 * calls; the functions on a sound accept NULL. */
#ifndef APP_SINK_SOUND_H
#define APP_SINK_SOUND_H

#include "app/sink/muxer.h"
#include "app/sink/sink.h"

struct sound;

/* Adds the sound streams of options->sound to output, encoded again if its container does not take them, and the
 * input's metadata. Called before the header is written. Streams that cannot be copied are left out with one line of
 * log; if the input cannot be opened a second time, left_out_tell says so instead. *sound stays NULL if there is
 * nothing to copy, which is no error. Returns 0, or -1 with err: memory is short, or options->sound_track does not
 * exist. */
int sound_open(struct sound **sound, AVFormatContext *output, const struct sink_options *options, struct error *err);

/* Writes the packets that begin before `time`, in seconds of the output. This and the next two functions return 0 or
 * the FFmpeg error code of a failed output. */
int sound_write_until(struct sound *sound, struct muxer *muxer, double time);

/* Writes the next packet of sound at once, ahead of its time, if its stream has none yet (muxer_lacks). */
int sound_send_ahead(struct sound *sound, struct muxer *muxer);
/* Writes what encoders hold back, up to `end` in seconds. Called when all packets before that were written. If the
 * container needs sound for each picture, silence follows up to pictures_end. */
int sound_finish(struct sound *sound, struct muxer *muxer, double end, double pictures_end);
/* True until the input was read to its end. */
bool sound_has_more(const struct sound *sound);
/* Returns 0, or -1 with err if some of the sound is missing in the output. Called after the last packet was written.
 * refused: number of its packets that the muxer refused. */
int sound_check(const struct sound *sound, long refused, struct error *err);
void sound_close(struct sound **sound); /* stores NULL; accepts NULL */

#endif
