/* A fake source without a file or camera, which replaces app/source/source.c when a test is linked. */
#ifndef TESTS_FAKE_SOURCE_H
#define TESTS_FAKE_SOURCE_H

#include "app/platform/app_platform.h"
#include "app/source/source.h"

/* Opening fails if reading is to begin later than this (source_options.resume), in seconds. */
enum { FAKE_LENGTH_S = 1000 };

struct fake_source_script {
  bool shapeless;     /* true: the size of the pictures is not known before the first one */
  bool realtime;      /* true: the source is a camera, which waits frame_ms before each frame; false: a file */
  int frame_ms;       /* milliseconds between frames: by the clock for a camera, in the time stamps for a file */
  long frames;        /* number of frames after which the source ends, each time it is opened */
  bool ends_in_error; /* true: there is an error in place of the end */
  int refusals;       /* number of times that opening the source fails, after it was opened once */
  bool late;          /* true: the source cannot be opened until fake_source_come is called */
  bool gated;         /* true: no frame can be read before fake_source_let_read allows it */
  long jump_at;       /* for a file: number of the frame at which time stamps begin again; 0: at none */
  /* for a file: frames whose number is a multiple of this take slow_ms milliseconds to read; 0: none does */
  long slow_every;
  int slow_ms;
  int close_ms;         /* milliseconds that closing takes */
  bool close_gated;     /* true: closing does not return before fake_source_let_close is called */
  const char *hardware; /* name of the hardware that decodes; NULL: none */
};

/* A source whose name begins with "spare" is an endless file that is always there, whatever the script says; its
 * pictures are numbered from 200 to 249, again and again. */

/* Makes sources behave as the script says. Pictures of a source whose name begins with "other" are numbered from 100
 * on. The source "missing" cannot be opened. The opening of a source whose name begins with "hanging" does not return
 * until it is interrupted. A stream whose address begins with "tcp:" never connects. */
void fake_source_begin(const struct fake_source_script *script);
/* From now on a source can be opened although the script says `late`. */
void fake_source_come(void);
/* Makes opening of every source fail until fake_source_come is called. */
void fake_source_go(void);
/* Makes opening of the source "spare" fail from now on; fake_source_spares_refused returns how often that happened. */
void fake_source_lose_spares(void);
int fake_source_spares_refused(void);
/* Allows this many more frames of each gated source to be read. */
void fake_source_let_read(long frames);
void fake_source_let_close(void);
int fake_source_openings(void); /* returns how often a source was opened successfully */
/* fake_source_attempts returns how often opening a source was tried, including failures; fake_source_open_now returns
 * how many sources are open. */
int fake_source_attempts(void);
int fake_source_open_now(void);
int fake_source_closed_here(void); /* returns how many sources the calling thread has closed */
int fake_source_aheads(void);      /* returns for how many openings the first frame was read ahead */
/* Returns the time at which reading this frame (from 0) of any opening began; 0: it was not read, or is not among the
 * first hundred frames. */
int64_t fake_source_begun_ns(long frame);
/* Returns the scheduling class of the thread that last read a frame. */
enum urgency fake_source_urgency(void);

#endif
