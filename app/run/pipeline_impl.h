/* What pipeline.c and pipeline_work.c share: pipeline.c reads the source, writes to the sink and gives the results,
 * pipeline_work.c has the engines make the pictures between them. */
#ifndef APP_RUN_PIPELINE_IMPL_H
#define APP_RUN_PIPELINE_IMPL_H

#include "app/flow/in_order.h"
#include "app/flow/queue.h"
#include "app/run/pipeline.h"

struct run;

/* A thread that gives frames to one engine and takes its pictures. The first worker is the thread that called
 * pipeline_run. */
struct worker {
  struct run *run;
  int index;
  struct engine *engine;
  struct prepared *prepared;
  pthread_t thread;
  bool running; /* true: `thread` was started; false: this is the first worker, or it was not started yet */
  /* The following fields are used by the worker's own thread alone. */
  int in_flight_max;
  /* controls of the last frame submitted; used again at the end, in runs without a new frame that finish the stream
   * batch */
  struct controls last;
  int64_t last_ns;   /* time when the worker's last picture was finished */
  int64_t waited_ns; /* time in ns for which the worker waited for frames, or for room in the queue before the sink */
  int64_t ended_ns;
};

struct run {
  const struct pipeline *pipeline;
  struct pipeline_result *result;
  struct queue decoded;
  struct in_order made;
  struct sink *sink;
  pthread_t reader, writer;
  bool reading, writing;
  /* The following fields are written by the thread that reads frames or by the one that writes pictures. The calling
   * thread reads them when that thread has ended. */
  struct error read_error, write_error;
  bool read_failed, write_failed, whole;
  bool interrupted; /* true: the user has interrupted the render before all wanted frames were read */
  int64_t end;      /* latest end time of the frames that were read, in units of pts; 0: unknown */
  long written;
  /* Times in ns of the thread that reads the source and of the one that writes to the sink: how long each waited for
   * the engines (..._waited_ns), and how long it ran in all. */
  int64_t read_waited_ns, read_ns, write_waited_ns, write_ns;

  /* The following fields are set before the workers begin. Then only a worker's own element of workers[] changes. */
  struct worker workers[ENGINES_MAX];
  int batch; /* number of frames that an engine takes at once, in one run */
  int64_t started_ns;
  double time_base; /* seconds per unit of pts */

  /* Lock that is held while a worker takes the frames of its next run and calls functions of struct pipeline for them;
   * protects the following fields. */
  pthread_mutex_t dealing;
  /* frame.stretch of the frame that a worker took last; the next frame has another value if it does not continue that
   * one, for example after a loop of the file */
  uint64_t stretch;
  long dealt;         /* number of frames that workers have taken so far; the next picture gets this number */
  struct frame first; /* the first frame, which was read before the workers began, until a worker takes it */
  bool has_first;

  /* Lock that is held while results are counted; protects the following fields. */
  pthread_mutex_t counting;
  long collected;
  int64_t ended_ns; /* time when the last picture was finished */
  bool failed;      /* true: an engine has failed; `error` says why */
  struct error error;
};

/* Starts a thread; *running becomes true. Returns 0, or -1 with err. */
int pipeline_start(pthread_t *thread, bool *running, void *(*function)(void *), void *opaque, struct error *err);
/* Makes all pictures. The first engine works on the calling thread. Returns 0, or -1 with err. */
int pipeline_make_pictures(struct run *run, const struct frame *first, struct error *err);

#endif
