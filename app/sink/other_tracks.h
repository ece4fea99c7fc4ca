/* Copies subtitles and further video tracks of an input to an output. The sink's thread makes all calls; the functions
 * on other_tracks accept NULL. */
#ifndef APP_SINK_OTHER_TRACKS_H
#define APP_SINK_OTHER_TRACKS_H

#include "app/sink/late_tracks.h"
#include "app/sink/muxer.h"
#include "app/sink/side_left_out.h"
#include "app/sink/side_reader.h"

struct other_tracks;

/* Where the tracks are read and written. All that the pointers refer to must outlive the tracks. */
struct other_tracks_params {
  struct side_reader *reader;
  AVFormatContext *output;
  /* store that keeps the subtitles of an MP4 file until the file is rewritten at its end; NULL: the file is not
   * rewritten */
  struct late_tracks *late;
  int64_t origin;  /* time in the input that becomes time 0 of the output, in AV_TIME_BASE units */
  double duration; /* length of the rendered part of the input in seconds; 0: to the input's end */
};

/* Adds the tracks that the container can hold to the output; text subtitles are converted to the container's own codec.
 * Called before the header is written. Tracks that the container cannot hold are counted in left_out, by kind. *others
 * stays NULL if there is nothing to copy. Returns 0, or -1 if memory is short. */
int other_tracks_open(struct other_tracks **others, const struct other_tracks_params *params,
                      int left_out[SIDE_THINGS]);
/* Writes the packets that begin before `time`, in seconds of the output. Returns 0 or the FFmpeg error code of a failed
 * output. */
int other_tracks_write_until(struct other_tracks *others, struct muxer *muxer, double time);
/* Returns how many packets could not be written, because there was no memory for them or their text is damaged. */
long other_tracks_lost(const struct other_tracks *others);
/* Closes the tracks; *others becomes NULL; does nothing if it is NULL. */
void other_tracks_close(struct other_tracks **others);

#endif
