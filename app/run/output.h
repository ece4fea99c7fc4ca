/* One output of the live window (a recording or a stream), and the thread that writes it. outputs.c creates and ends
 * outputs, on the window's thread. */
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
  /* The following fields are set before the output's thread starts, and not changed afterwards. */
  pthread_t thread;
  char spec[PATHS_MAX];
  enum output_kind kind;
  bool once; /* true: if a stream fails, it ends; false: it is opened again */
  /* fps: frames per second of a stream; retry_ms: ms after the first failure until a stream is opened again */
  int fps, retry_ms;
  const char *codec;
  double quality;
  const char *pixel_format, *encoder_options;
  const struct log *log;
  struct sound_tap *tap;
  bool tap_by_clock;
  int number;
  /* The following fields are used by the output's thread alone. */
  struct sink *sink;
  struct cover_pixels cover_pixels;
  int descriptor;     /* file descriptor of the named pipe that the output is written to; -1: it is no named pipe */
  char pipe_name[32]; /* URL by which FFmpeg writes to `descriptor`, such as "pipe:5" */
  struct shown_picture last;
  int64_t first_ns, last_pts;
  /* time (platform_now_ns) from which the last recorded picture's time stamp was computed: when it was shown, or the
   * same value for the picture before it if that is later, because time stamps must not decrease */
  int64_t recorded_ns;
  struct heard heard;
  long tries;       /* number of attempts to open the sink so far */
  atomic_bool stop; /* set to true by any thread to interrupt a wait for the network */

  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`, because the window's thread and the output's thread use them. */
  /* pictures to be written: a ring buffer whose oldest entry is at `first`; a stream uses one entry */
  struct shown_picture queue[OUTPUT_QUEUE];
  int first, count;
  double interval_ns; /* smoothed time from one shown picture to the next, in ns; 0: unknown */
  int64_t begun_ns, shown_ns, ended_ns;
  bool ending;  /* true: the output has to end, and takes no more pictures into the queue */
  bool through; /* true: the output's thread has finished its work, and can be joined without waiting */
  bool failing;
  bool broken;              /* true: the recording's file is incomplete */
  char why[OUTPUT_WHY_MAX]; /* why the recording's file is incomplete; valid if `broken` is true */
  char line[LINE_BYTES];    /* message for the user that the window's thread has not fetched yet; "": none */
  enum log_level level;     /* log level of the message in `line` */
  long written, dropped;
};

/* The function of the output's thread: opens the sink, writes the pictures of the queue, and finishes the sink. */
void *output_main(void *output);

#endif
