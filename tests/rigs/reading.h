/* Reads a stream whose frames are told apart by their grey values. If an expected frame does not come, the test
 * fails. */
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

/* Makes a file of frames, each with its number as grey value. picture: size, rate and format, such as
 * "64x48:r=25,format=yuv420p"; output: FFmpeg's options and the name of the file. */
void make_greys(const char *picture, int frames, const char *output);

/* Starts to read the stream at scheme://127.0.0.1:port. timeout: seconds; options: FFmpeg's options for the stream, or
 * NULL. */
void reading_start(struct reading *reading, const char *scheme, int port, double timeout, const char *options);
int reading_end(struct reading *reading, struct error *err);

/* Reads frames until the one with this number or a later one has come, and returns it. (The last frames may stay in the
 * demuxer and the decoder for a while.) */
struct frame wait_for_number(struct reading *reading, int number);
/* Does the same as wait_for_number until a frame also has this width. */
struct frame wait_for_width(struct reading *reading, int number, int width);
/* Waits until the reader reports that its source is lost; *status becomes that report. */
void wait_for_loss(struct reading *reading, struct reader_status *status);

#endif
