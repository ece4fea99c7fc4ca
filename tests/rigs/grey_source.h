/* A source of grey frames of GREY_SIDE x GREY_SIDE pixels, each with another grey value. Only one thread at a time may
 * use it; source_interrupt may be called by any thread. */
#ifndef TESTS_GREY_SOURCE_H
#define TESTS_GREY_SOURCE_H

#include "app/source/source.h"

enum { GREY_SIDE = 16, GREY_FRAMES_MAX = 256 };

/* A source, made by grey_source_of. The caller frees its pictures at last, by host_pictures_free(&pictures). */
struct grey_source {
  struct source source;
  long frames, given; /* frames: number of frames of the source; given: how many were read so far */
  long fail_at;       /* number of the frame that cannot be read, from 1; 0: all can */
  int nap_ms;         /* milliseconds that reading each frame takes */
  bool endless; /* true: after the last frame, reading waits until the source is interrupted; false: the source ends */
  /* returns the time stamp (frame.pts) of a frame in ms; NULL: it is the serial number */
  int64_t (*time_of)(uint64_t serial);
  struct host_pictures pictures;
  const uint8_t *given_at[GREY_FRAMES_MAX]; /* addresses of the pixels of the last GREY_FRAMES_MAX frames */
};

/* Returns a source of this many frames. */
struct grey_source grey_source_of(long frames);
/* Returns the value that all pixels of the frame with this serial number have. */
int grey_of(uint64_t serial);

#endif
