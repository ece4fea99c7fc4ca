/* Declarations shared by the reader's two files: reader.c has the functions of its thread, reader_calls.c those that
 * other threads call. */
#ifndef APP_SOURCE_READER_IMPL_H
#define APP_SOURCE_READER_IMPL_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/source/ahead.h"
#include "app/source/closer.h"
#include "app/source/origin.h"
#include "app/source/outlet.h"
#include "app/source/reader.h"
#include "app/source/extra_reader.h"
#include "app/source/timetable.h"

/* first pause before a lost source is opened again, in milliseconds (reader.retry_ms) */
enum { RETRY_FIRST_MS = 250 };

struct reader {
  /* Only the reader's thread uses the following fields, with these exceptions: `thread` belongs to the caller of start
   * and stop; info and the pointer now.source are written under lock, and other threads read them under it; failed and
   * err are read after the thread's end. */
  pthread_t thread;
  struct origin now;
  /* reads the frames of now.source in advance, on another thread; NULL: the reader's thread reads each frame when it is
   * needed */
  struct ahead *ahead;
  struct source_info info;
  struct outlet outlet;
  struct timetable timetable;
  /* pause before a lost source is opened again; doubles up to RETRY_MOST_MS, until the source gives a frame */
  int retry_ms;
  long from_here;  /* number of frames that the present source has given so far, also dropped ones */
  uint64_t serial; /* number that the next frame gets, counted over all sources */
  /* A stretch is a sequence of frames without a gap in time (frame.h). stretch: number of the last frame's stretch,
   * counted over all sources; own_stretch: its number within the source. opened: true: a source was opened or reopened
   * since the last frame. */
  uint64_t stretch, own_stretch;
  bool opened;
  int64_t round_pts; /* pts of the first frame of the present pass through a source that loops, in its time base */
  bool urgent;       /* true: the reader's thread runs at an urgent priority */
  bool refused;      /* true: the system does not permit an urgent priority */
  bool failed;
  struct error err; /* why the last source failed, if `failed` is true */

  /* The following two fields are flags by which other threads signal to the reader's thread. */
  /* stop: the thread is to end. away: the thread is to leave the current source, because it is to end or to begin with
   * the source in `next`. cut: a source that this thread opens, or has opened, is interrupted; not set if the thread
   * leaves a source that is read on while it fades out. All are set under lock. */
  atomic_bool stop, away, cut;
  /* since when the reader's thread has been reading a frame (platform_now_ns); 0: it does something else */
  _Atomic int64_t reading_ns;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. knows: info is complete. ended: the thread has ended. */
  /* next: the source that reader_switch handed over and that has not begun yet. replaced: an earlier one that never
   * began, because `next` replaced it; the thread closes it. */
  struct origin next, replaced;
  enum reader_when next_when;
  bool has_next, goes_on, paused, knows, ended;
  /* speed: playing speed of files, 1: normal. until: position in the present file, in seconds, at which it ends, 0: at
   * its own end. rounds: the source may repeat itself, if source_options.loop says so. */
  double speed, until;
  bool rounds;
  /* leaving: reads the previous source during its fade-out, while the present one fades in (mixer.h). given: true: at
   * least one frame of the present source was read. */
  struct extra_reader leaving;
  bool given;
  struct closer closer; /* closes files that have ended, were left or never began */
  struct reader_status status;
};

/* The function of the reader's thread. opaque: the struct reader. */
void *reader_main(void *opaque);
/* True if a new source fades in, so that the previous source is still read until the fade ends. */
bool reader_fades(const struct reader *reader);

#endif
