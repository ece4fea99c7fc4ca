/* A recording or stream, and its thread. outputs.c manages all of them for the window's thread. */
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
  /* Set before the thread starts, and not changed. */
  pthread_t thread;
  char spec[PATHS_MAX];
  enum output_kind kind;
  bool once;         /* do not try again after a failure */
  int fps, retry_ms; /* frame rate of a stream; first pause before another attempt */
  const char *codec;
  double quality;
  const struct log *log;
  struct sound_tap *tap;
  bool tap_by_clock;
  int number;
  /* The output's thread alone. */
  struct sink *sink;
  struct cover_pixels cover_pixels;
  int descriptor;     /* descriptor of a named pipe; -1: none */
  char pipe_name[32]; /* name of that pipe for FFmpeg */
  struct shown_picture last;
  int64_t first_ns, last_pts;
  int64_t recorded_ns; /* time of the last recorded picture; never decreases */
  struct heard heard;
  long tries;       /* number of attempts to open the sink */
  atomic_bool stop; /* any thread: ends the wait for a network */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by lock. */
  struct shown_picture queue[OUTPUT_QUEUE]; /* a stream uses one entry */
  int first, count;
  double interval_ns; /* smoothed time between shown pictures; 0: unknown */
  int64_t begun_ns, shown_ns, ended_ns;
  bool ending;  /* no more pictures are accepted */
  bool through; /* the thread is about to end */
  bool failing;
  bool broken;              /* the recording is incomplete */
  char why[OUTPUT_WHY_MAX]; /* the reason why it is incomplete */
  char line[LINE_BYTES];    /* line for the user; "": none */
  enum log_level level;     /* level of the line */
  long written, dropped;
};

/* The thread's function: opens the sink, writes the pictures of the queue, and finishes the sink. */
void *output_main(void *output);

#endif
