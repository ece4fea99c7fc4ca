/* Finds the times at which an input's frames begin and end, from its packets' times, without decoding. With these times
 * an input is divided between two frames, so that adjoining parts lose no frame and share none. Times are exact, in
 * units of frame_places_tick on the input's own clock.
 *
 * Frames are numbered from 0 in the order of showing. Pictures of a sequence have the numbers in their names or,
 * without such numbers, their index in the list. Frames that an edit list hides do not count. One thread at a time uses
 * it. Functions that return int return 1, 0 if there is no such frame, or -1 with err. */
#ifndef APP_SOURCE_FRAME_PLACES_H
#define APP_SOURCE_FRAME_PLACES_H

#include "app/source/source.h"

struct frame_places;

/* Opens the input. A source may have the same input open at the same time, and may use the same `options`; their start
 * and duration are ignored. Returns 0, or -1 with err. The caller closes *places. */
int frame_places_open(struct frame_places **places, const char *spec, const struct source_options *options,
                      struct error *err);
/* Closes the input; *places becomes NULL; does nothing if it is NULL. */
void frame_places_close(struct frame_places **places);
/* True if frame_places_open can open this input: a file, a picture sequence, a file on a server, or a lavfi graph that
 * does not set its own pace. Also true for a missing file and a folder, because frame_places_open then gives the same
 * error message as any other attempt to open them. */
bool frame_places_knows(const char *spec, const struct source_options *options);

/* Stores in *joined if the input's time stamps begin again or jump somewhere (joins.h). Reads the whole input if its
 * container allows that, as MPEG's streams do. Returns 0, or -1 with err.
 *
 * If *joined is true, times after the jump differ from the file's time stamps, and a seek by time finds the wrong
 * frames. Then the functions below read the input from its beginning, and the caller must set
 * source_options.reads_up. */
int frame_places_survey(struct frame_places *places, bool *joined, struct error *err);

/* True if the input is a picture sequence. */
bool frame_places_is_sequence(const struct frame_places *places);
/* Stores in *num and *den the unit of times, which is *num / *den seconds. The source's frame.pts has the same unit. */
void frame_places_tick(const struct frame_places *places, int64_t *num, int64_t *den);
/* Returns the input's length in seconds, as its header states it or as frame_places_survey has found it; it is counted
 * from the same time as source_options.start. 0: unknown. */
double frame_places_length(const struct frame_places *places);

/* frame_places_from_start converts source_options.start, in seconds, to a time in units of frame_places_tick.
 * frame_places_to_start converts back: a source opened with the result as source_options.start begins with the frame of
 * that time. */
int64_t frame_places_from_start(const struct frame_places *places, double start);
double frame_places_to_start(const struct frame_places *places, int64_t time);
/* Returns the time that becomes frame.pts 0 in a source that begins at `start` (source_options.start, in seconds). */
int64_t frame_places_origin(const struct frame_places *places, double start);

/* Returns the usual time from one frame to the next, in units of frame.pts (frame_places_tick). */
int64_t frame_places_step(const struct frame_places *places);
/* Finds the frame whose time is nearest to `wanted`, the later one of two that are equally near. Returns 0, with the
 * end of the last frame in *time, if that end is nearer. In a sequence, `wanted` itself is found, even if the picture
 * of this time is missing. */
int frame_places_nearest(struct frame_places *places, int64_t wanted, int64_t *time, struct error *err);
/* Finds the time of the frame with this number. In a picture sequence also finds the time of a number whose picture is
 * missing; for a number lower than the first picture's, it finds the first picture's time. */
int frame_places_number(struct frame_places *places, long number, int64_t *time, struct error *err);
/* Stores the numbers of the input's first and last frame; *last is -1 if the input has no frame. The numbers of a
 * file's frames are known only after frame_places_number has returned 0. */
void frame_places_ends(const struct frame_places *places, long *first, long *last);
/* Finds the frame that is `count` frames after the first one that is not before `from`. */
int frame_places_after(struct frame_places *places, int64_t from, long count, int64_t *time, struct error *err);
/* Finds the first frame that is not before `from`. Reads on from the frame that was found last, which must not be later
 * than `from`. */
int frame_places_at(struct frame_places *places, int64_t from, int64_t *time, struct error *err);
/* True if the options (step, step_from) ask for the picture of this time; always true if the input is no sequence. */
bool frame_places_are_wanted(const struct frame_places *places, const struct source_options *options, int64_t time);

#endif
