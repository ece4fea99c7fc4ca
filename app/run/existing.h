/* Finds what exists already, so that a render can skip it (--skip-existing): the output file, or pictures of a
 * sequence. */
#ifndef APP_RUN_EXISTING_H
#define APP_RUN_EXISTING_H

#include <stdatomic.h>

#include "app/options/options.h"
#include "app/source/source.h"

/* The search for existing pictures of an output that is a sequence. Zero-initialise to start. One thread at a time uses
 * it. */
struct existing {
  /* path of the output's pictures, with %d for their number; NULL: --skip-existing was not given */
  const char *pattern;
  int width, height; /* size in pixels that the pictures must have */
  /* text that existing pictures must carry, which tells with which settings they were made (mark.h) */
  const char *mark;
  /* true: an existing picture with another size or other settings is made again; false: it ends the render with an
   * error */
  bool replaces;
  const atomic_bool *stop;
  const struct log *log;
  /* if the input's frames have no numbers: number of the last picture that existing_look has searched; the next frame
   * gets this number plus 1 */
  int next;
  long count;  /* number of existing pictures that are complete, and are not made again */
  long broken; /* number of picture files that exist but are cut off; they are made again */
};

/* Checks that --skip-existing can be used with this output: it must be a file or a sequence of pictures. container:
 * name of an FFmpeg muxer or a file extension; NULL: it follows from the output's name. Returns 0, or -1 with err. */
int existing_check(const char *output, const char *container, struct error *err);
/* Returns true if the output is a sequence of pictures, one file each. container: name of an FFmpeg muxer or a file
 * extension; NULL: it follows from the output's name. */
bool existing_is_sequence(const char *output, const char *container);
/* Tests whether an output of one file already exists. It is enough that its first picture can be read, because a file
 * gets its name only when complete. The size of its pictures must be that of the options, and a manifest must be of the
 * same render. Returns 1; 0 if there is no such file, or a different one that may be overwritten (-y); or -1 with err,
 * which says what differs. */
int existing_file(const char *output, const struct options *options, const struct log *log, struct error *err);
/* Returns true if both video files can be read, and have the same number of pictures and the same size in pixels. */
bool existing_alike(const char *path, const char *other);
/* Tests whether the picture of this frame exists, and counts it in existing->count or, if incomplete, in
 * existing->broken. Called for each frame in order; a frame without a number gets the sink's next one. Returns 1 if the
 * picture is complete and has the right size and settings; 0 if it has to be made; or -1 with err, which says what
 * differs. */
int existing_look(struct existing *existing, struct frame *frame, struct error *err);
/* Logs how many pictures were skipped, and how many incomplete ones were made again. */
void existing_tell(const struct existing *existing);

#endif
