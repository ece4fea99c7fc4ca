/* One recording or stream: its thread. outputs.c keeps them for the window's thread. */
#ifndef APP_RUN_OUTPUT_H
#define APP_RUN_OUTPUT_H

#include <pthread.h>
#include <stdatomic.h>

#include "app/platform/paths.h"
#include "app/run/heard.h"
#include "app/run/outputs.h"

enum { SECOND = 1000000000, USUAL_FPS = 30, LINE_BYTES = 640 };

struct shown_picture {
  struct covered covered;
  int64_t shown_ns;
};

struct output {
  pthread_t thread;
  char spec[PATHS_MAX];
  enum output_kind kind;
  bool once;         /* what ended is not to be tried again */
  int fps, retry_ms; /* of a stream; the first pause before it is tried again */
  const char *codec;
  double quality;
  const struct log *log;
  struct sound_tap *tap;
  bool tap_by_clock;
  int number;
  /* The thread's alone */
  struct sink *sink;
  struct cover_pixels cover_pixels;
  int descriptor;     /* of a named pipe; -1: none */
  char pipe_name[32]; /* likewise, as FFmpeg knows it */
  struct shown_picture last;
  int64_t first_ns, last_pts;
  int64_t recorded_ns; /* when the last picture was recorded as shown; rises */
  struct heard heard;
  long tries;       /* to open it */
  atomic_bool stop; /* ends waiting for a network */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock */
  struct shown_picture queue[OUTPUT_QUEUE]; /* of a stream the first alone */
  int first, count;
  double interval_ns; /* from one picture shown to the next, smoothed; 0: not known */
  int64_t begun_ns, shown_ns, ended_ns;
  bool ending;  /* no more is taken in */
  bool through; /* the thread is at its end */
  bool failing;
  bool broken;              /* a recording that is not complete */
  char why[OUTPUT_WHY_MAX]; /* it is not complete */
  char line[LINE_BYTES];    /* to be told; "" nothing */
  enum log_level level;     /* of it */
  long written, dropped;
};

/* The thread: opens the sink, gives it what is in the queue, and ends with it. */
void *output_main(void *output);

#endif
