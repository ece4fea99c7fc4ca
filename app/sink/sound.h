/* Sound and metadata of the input, copied packet by packet beside the new pictures. The input is opened a second time
 * for it: picture and sound are then read each at its own pace and nothing has to be held back in memory. */
#ifndef APP_SINK_SOUND_H
#define APP_SINK_SOUND_H

#include "app/sink/muxer.h"
#include "app/sink/sink.h"

struct sound;

/* Adds the sound streams of options->sound as streams of output, encoded again where its container does not take them,
 * and its metadata; call
 * it before the header is written. What cannot be copied is said in one line and left out (where there is no second way
 * in, by left_out_tell). *sound stays NULL where there is nothing to copy, which is no error. -1: out of memory. */
int sound_open(struct sound **sound, AVFormatContext *output, const struct sink_options *options, struct error *err);

/* Writes the packets that begin before time (seconds from the start of the output). Returns an FFmpeg error code of the
 * output, or 0. */
int sound_write_until(struct sound *sound, struct muxer *muxer, double time); /* takes NULL */

/* Writes the next packet already where nothing of its stream was written yet. Returns likewise. */
int sound_send_ahead(struct sound *sound, struct muxer *muxer); /* takes NULL */
/* Writes what encoders hold back, up to so many seconds, once all that begins before was written, and silence beside
 * the last pictures where the container needs sound for each. Returns likewise. */
int sound_finish(struct sound *sound, struct muxer *muxer, double end, double pictures_end); /* takes NULL */
bool sound_has_more(const struct sound *sound);                                              /* takes NULL */
/* After the last packet was written: 0, or -1 where the input could not be read to its end. */
/* refused: packets of it that the muxer did not take. */
int sound_check(const struct sound *sound, long refused, struct error *err); /* takes NULL */
void sound_close(struct sound **sound);                                      /* stores NULL; takes NULL */

#endif
