/* Copies to the output what an input has beside its pictures: sound, subtitles, further video tracks, chapters, covers,
 * attachments and metadata. No pictures are decoded. A file is opened a second time for this, so that pictures and the
 * rest are read at their own pace, and little is kept in memory. For a pipe or stream, the source hands over the
 * packets (side_feed.h).
 *
 * The sink's thread makes all calls; the functions on side tracks accept NULL. Order of calls: side_tracks_open, when
 * the output has the pictures' stream but no header; side_tracks_write_until before each packet of pictures;
 * side_tracks_finish after the last one; side_tracks_check when the output is complete; side_tracks_close. */
#ifndef APP_SINK_SIDE_TRACKS_H
#define APP_SINK_SIDE_TRACKS_H

#include "app/sink/muxer.h"
#include "app/sink/sink.h"

struct side_tracks;
struct late_tracks;
struct target;

/* Adds the tracks, metadata and chapters of the input options->sound to the output. Sound in a codec that the container
 * cannot hold is encoded again, and text subtitles are converted. Other tracks that it cannot hold are left out; a log
 * line names each. target: the file or stream to which output is written.
 *
 * *side becomes NULL without an error if no input is named, the container takes no sound, or the input cannot be read a
 * second time. Returns 0, or -1 with err: memory is short, or options->sound_track does not exist. */
int side_tracks_open(struct side_tracks **side, AVFormatContext *output, const struct target *target,
                     const struct sink_options *options, struct error *err);

/* Writes the packets that begin before `time`, in seconds of the output. This and the next two functions return 0 or
 * the FFmpeg error code of a failed output. */
int side_tracks_write_until(struct side_tracks *side, struct muxer *muxer, double time);

/* If no packet of a sound stream was written yet (muxer_lacks), writes the next packet of sound at once, before its
 * time. */
int side_tracks_send_ahead(struct side_tracks *side, struct muxer *muxer);
/* Writes the remaining packets up to `end`, in seconds (INFINITY: to the input's end), and the packets that encoders
 * still hold. If the container needs sound for each picture, silence follows up to pictures_end. */
int side_tracks_finish(struct side_tracks *side, struct muxer *muxer, double end, double pictures_end);
/* True if the input may still have sound that was not written yet. */
bool side_tracks_have_more(const struct side_tracks *side);
/* True if some sound is copied. */
bool side_tracks_have_sound(const struct side_tracks *side);
/* Returns the tracks and chapters to add when the file is rewritten at its end (mp4_settle); NULL: none. Owned by
 * `side`. */
const struct late_tracks *side_tracks_late(const struct side_tracks *side);
/* Checks that no packet of sound or other tracks is missing in the output. Called after the last packet was written.
 * muxer: the muxer that wrote them and counted those that it refused. Returns 0, or -1 with err (STATUS_INPUT). */
int side_tracks_check(const struct side_tracks *side, const struct muxer *muxer, struct error *err);
/* Closes the tracks; *side becomes NULL; does nothing if it is NULL. */
void side_tracks_close(struct side_tracks **side);

#endif
