/* Reads a stream in which each frame has its own grey value. If an expected frame does not come, the test fails. */
#ifndef TESTS_READING_H
#define TESTS_READING_H

#include "app/source/reader.h"

enum { PATIENCE_MS = 60000 };

struct reading {
  char spec[128];
  struct source_options options;
  struct mailbox mailbox;
  struct reader *reader;
};

/* Makes a file of such frames. picture: for instance "64x48:r=25,format=yuv420p"; output: FFmpeg's options and the
 * file's name. */
void make_greys(const char *picture, int frames, const char *output);

/* Starts to read scheme://127.0.0.1:port. options: FFmpeg's options for it, or NULL. */
void reading_start(struct reading *reading, const char *scheme, int port, double timeout, const char *options);
int reading_end(struct reading *reading, struct error *err);

/* Takes frames until this one or a later one has come, because demuxer and decoder may hold the last ones back. Returns
 * it. */
struct frame wait_for_number(struct reading *reading, int number);
/* Does the same until a frame has this width. */
struct frame wait_for_width(struct reading *reading, int number, int width);
/* Waits until the reader says that its source is lost. */
void wait_for_loss(struct reading *reading, struct reader_status *status);

#endif
