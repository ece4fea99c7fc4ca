/* Copies sound of the input, packet by packet, to the output, or encodes it again. The sink's thread makes all calls.
 * sound NULL (no sound) is allowed for all functions except sound_write. */
#ifndef APP_SINK_SOUND_H
#define APP_SINK_SOUND_H

#include "app/sink/muxer.h"
#include "app/sink/side_reader.h"
#include "app/sink/sink.h"

struct sound;

/* Where sound is read and written. All that the pointers refer to must outlive the sound. */
struct sound_params {
  struct side_reader *reader;
  AVFormatContext *output;
  int64_t origin;  /* time in the input that becomes time 0 of the output, in AV_TIME_BASE units */
  double duration; /* length of the rendered part of the input in seconds; 0: to the input's end */
  /* an element for each input stream: true if the stream has gaps, which the container cannot store */
  const bool *gaps;
  const struct sink_options *options;
};

/* True if the stream is PCM, whose samples stay exactly the same when they are encoded again. */
bool sound_is_pcm(const AVStream *stream);
/* Adds the sound streams of the reader's input to the output, encoded again if the output's container does not take
 * them. Called before the header is written. Streams that cannot be copied are left out with one line of log. *sound
 * stays NULL if there is nothing to copy, which is no error. Returns 0, or -1 with err: memory is short, or
 * options->sound_track does not exist. */
int sound_open(struct sound **sound, const struct sound_params *params, struct error *err);
/* Sound before time 0 of the output only serves to start the decoder. If the output's header must state the length of
 * such sound, stores it there. To find the length, reads the input up to the first such packet; this is done only for a
 * single track, whose packets do not come from the source's thread (side_feed.h). Called if the output begins later
 * than the input, after all tracks were requested from the reader and before the header is written. */
void sound_cut(struct sound *sound);
/* Reads the next packet to be written, unless one already waits. Returns true, with the time in seconds of the output
 * at which the packet begins; false at the end, or if packets come from the source's thread (side_feed.h) and none
 * waits there. */
bool sound_next(struct sound *sound, const struct muxer *muxer, double *begin);
/* Writes the packet that sound_next has read. sound_write and the functions below return 0, or the FFmpeg error code of
 * a failed output. */
int sound_write(struct sound *sound, struct muxer *muxer);
/* Writes silence where sound is missing up to `time`, for containers whose muxer otherwise holds back all pictures
 * until sound of their time has come. */
int sound_fill(struct sound *sound, struct muxer *muxer, double time);
/* Writes the next packet of sound at once, earlier than its time requires, if no packet of its stream was written yet
 * (muxer_lacks). */
int sound_send_ahead(struct sound *sound, struct muxer *muxer);
/* Writes the sound that encoders still hold, up to `end` in seconds. Called when all packets before `end` were written.
 * If the container needs sound for each picture, silence follows up to pictures_end. */
int sound_finish(struct sound *sound, struct muxer *muxer, double end, double pictures_end);
void sound_close(struct sound **sound); /* closes the sound; *sound becomes NULL; does nothing if it is NULL */

#endif
