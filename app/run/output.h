/* One recording or stream, with the thread that writes it. outputs.c creates and ends outputs, on the window's
 * thread. */
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
  /* Set before the output's thread starts, and not changed. */
  pthread_t thread;
  char spec[PATHS_MAX];
  enum output_kind kind;
  bool once; /* true: a failed stream is not opened again */
  /* frames per second of a stream, and ms to wait before it is opened again after the first failure */
  int fps, retry_ms;
  const char *codec;
  double quality;
  const struct log *log;
  struct sound_tap *tap;
  bool tap_by_clock;
  int number;
  /* Used by the output's thread alone. */
  struct sink *sink;
  struct cover_pixels cover_pixels;
  int descriptor;     /* descriptor of a named pipe; -1: none */
  char pipe_name[32]; /* URL by which FFmpeg writes to the named pipe */
  struct shown_picture last;
  int64_t first_ns, last_pts;
  /* time of the last recorded picture, from which its timestamp is computed; never decreases */
  int64_t recorded_ns;
  struct heard heard;
  long tries;       /* number of attempts to open the sink */
  atomic_bool stop; /* set by any thread to interrupt a wait for the network */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* Protected by `lock`. */
  /* pictures to be written, a ring that begins at `first`; a stream uses one entry */
  struct shown_picture queue[OUTPUT_QUEUE];
  int first, count;
  double interval_ns; /* smoothed time between two shown pictures, in ns; 0: unknown */
  int64_t begun_ns, shown_ns, ended_ns;
  bool ending;  /* no more pictures are accepted */
  bool through; /* the output's thread has finished its work and is about to end */
  bool failing;
  bool broken;              /* true: the recording's file is incomplete */
  char why[OUTPUT_WHY_MAX]; /* why the file is incomplete; valid if `broken` */
  char line[LINE_BYTES];    /* message for the user that was not read yet; "": none */
  enum log_level level;     /* log level of the message in `line` */
  long written, dropped;
};

/* The thread's function: opens the sink, writes the pictures of the queue, and finishes the sink. */
void *output_main(void *output);

#endif
