/* A fake source without a file or camera, which replaces app/source/source.c when a test is linked. */
#ifndef TESTS_FAKE_SOURCE_H
#define TESTS_FAKE_SOURCE_H

#include "app/platform/app_platform.h"
#include "app/source/source.h"

struct fake_source_script {
  bool shapeless;     /* the size is not known before the first picture */
  bool realtime;      /* a camera, which waits frame_ms for every frame */
  int frame_ms;       /* time between frames, by the clock of a camera or in the timestamps of a file */
  long frames;        /* frames of each opening, after which the source ends */
  bool ends_in_error; /* the end is an error instead */
  int refusals;       /* number of openings after the first one that fail */
  bool late;          /* openings fail until fake_source_come is called */
  bool gated;         /* no frame is available before fake_source_let_read allows it */
  long jump_at;       /* file: timestamps start again at this frame; 0: never */
  long slow_every;    /* file: frames whose number divides by this take slow_ms to read; 0: none does */
  int slow_ms;
  const char *hardware; /* the hardware that decodes; NULL: none */
};

/* Starts to behave as the script says. Pictures of a source whose spec begins with "other" are numbered from 100 on. A
 * source "missing" cannot be opened, and a stream of "tcp:" never comes. */
void fake_source_begin(const struct fake_source_script *script);
/* Ends the failures of a script that is late. */
void fake_source_come(void);
/* Allows so many more frames of each gated source to be read. */
void fake_source_let_read(long frames);
int fake_source_openings(void); /* successful openings */
/* All openings, including failed ones; sources that are open now. */
int fake_source_attempts(void);
int fake_source_open_now(void);
int fake_source_closed_here(void); /* sources closed by the calling thread */
int fake_source_aheads(void);      /* openings whose first frame was read ahead */
/* Returns when reading that frame (from 0) of any opening began; 0: it did not, or the frame is not among the first
 * hundred. */
int64_t fake_source_begun_ns(long frame);
/* Returns the scheduling class of the thread that read last. */
enum urgency fake_source_urgency(void);

#endif
