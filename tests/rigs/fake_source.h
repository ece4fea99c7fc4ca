/* A source without a file or camera, put in place of app/source/source.c when a test is linked. */
#ifndef TESTS_FAKE_SOURCE_H
#define TESTS_FAKE_SOURCE_H

#include "app/platform/app_platform.h"
#include "app/source/source.h"

struct fake_source_script {
  bool shapeless;     /* its size is not known before its first picture */
  bool realtime;      /* a camera: waits frame_ms for every frame */
  int frame_ms;       /* between frames, on the clock of a camera or in the timestamps of a file */
  long frames;        /* of each opening; then the end */
  bool ends_in_error; /* or this */
  int refusals;       /* openings after the first that fail */
  bool late;          /* openings fail, and would not later, until fake_source_come */
  bool gated;         /* no frame is there before fake_source_let_read lets it be */
  long jump_at;       /* file: timestamps start again at this frame; 0: never */
  long slow_every;    /* file: frames whose number divides by this take slow_ms to read; 0: none does */
  int slow_ms;
  const char *hardware; /* that decodes; NULL: none */
};

/* A source whose spec begins with "other" has pictures of 100 on, one of "missing" can never be opened, and a
 * stream of "tcp:" is never there. */
void fake_source_begin(const struct fake_source_script *script);
void fake_source_come(void);
/* Lets so many more frames of each gated source be there. */
void fake_source_let_read(long frames);
int fake_source_openings(void); /* that worked */
int fake_source_attempts(void);
int fake_source_open_now(void);
int fake_source_closed_here(void); /* by the calling thread, in all */
int fake_source_aheads(void);      /* whose first frame was read ahead */
/* When reading that frame began, from 0, of any opening; 0: it did not, or is not among the first hundred. */
int64_t fake_source_begun_ns(long frame);
/* What the thread was that read last. */
enum urgency fake_source_urgency(void);

#endif
