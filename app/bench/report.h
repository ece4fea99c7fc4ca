/* The results of the command bench, and functions that print them as a table and as JSON. */
#ifndef APP_BENCH_REPORT_H
#define APP_BENCH_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "app/bench/steadiness.h"
#include "app/bench/sweep.h"
#include "app/flow/stats.h"
#include "app/live/sightings.h"
#include "app/platform/app_platform.h"
#include "unet/engine.h"

struct report_row {
  const char *name, *meaning;
  double fps; /* frames per second: the number of frames divided by the elapsed time */
  struct stats_summary times;
};

enum { REPORT_ROWS_MAX = 16, REPORT_CHANGES_MAX = 2 };

/* How soon a change of a control (prompt or strength) is visible: the number of pictures presented after the change, up
 * to and including the first one that shows it. Median and largest number over all changes. */
struct report_change {
  const char *name;
  long count; /* number of changes of the control `name` that were measured */
  double median_frames, most_frames;
};

/* Results of bench --live other than the timings, which are in report_row: dropped and missed pictures, the deadline,
 * processor time. */
struct report_live {
  bool measured;
  double source_fps, shown_fps;
  /* time in ms from capture to presentation after which a picture counts as missed: the sum of the source's frame
   * interval, the median time of the row "compute only", and 1 ms */
  double deadline_ms;
  long presented, missed, dropped, repeated, unread;
  struct late_picture late[LATE_PICTURES_MAX]; /* the first of the missed pictures (presented later than deadline_ms
                                                * after their capture) */
  /* numbers of missed pictures, by where the longest delay was: before the engine, in the engine, after it */
  long missed_by[3];
  double spare_ms; /* time in ms by which the median picture was presented before its deadline (deadline_ms) */
  /* how often a thread that does nothing but wake at the frame rate has woken more than spare_ms too late; a
   * measure of the system's own delays */
  long woken_late;
  /* true: the presented image was read back from the screen; false: the drawn image was read before it was presented */
  bool is_front;
  /* processor time per picture in microseconds: engine_cpu_us of the engine's thread, window_cpu_us of the window's
   * thread */
  double engine_cpu_us, window_cpu_us;
  /* bytes of pixels per picture that were copied by the host, or between host and device: engine_bytes for the engine,
   * window_bytes for the window */
  double engine_bytes, window_bytes;
  /* shared: number of pictures that the window read from GPU memory; uploaded: number of pictures that were uploaded to
   * GPU memory */
  long shared, uploaded;
  /* median time in ms that the engine takes for a frame: engine_ms: while the window shows its pictures; compute_ms:
   * without a window */
  double engine_ms, compute_ms;
  /* median time in ms that the engine takes for a frame without a window, if frames come at the window's frame rate */
  double paced_ms;
  struct report_change change[REPORT_CHANGES_MAX];
  /* engine_urgency, window_urgency: priority of the engine's thread and of the window's thread at the start; demoted:
   * number of threads that lost their real-time priority because they ran too long without a pause */
  enum urgency engine_urgency, window_urgency;
  int demoted;
  int awake; /* number of processor cores that --awake keeps from sleeping */
};

struct report {
  struct engine_info engine;
  struct prepared_info prepared;
  double first_frame_ms; /* time in ms from the start of the process to the first picture */
  /* per frame, numbers of the device's launches (of kernels or graphs), of waits for the device, and of memory
   * allocations */
  double launches, waits, allocations;
  /* bytes of pixels per frame: up, copied to the device; down, copied from the device; staged, copied by the processor
   * on the way */
  double up, down, staged;
  double joules;      /* energy that the device used per frame, in joules; 0: unknown */
  size_t peak_bytes;  /* largest memory use of the process, in bytes */
  const char *source; /* description of the pattern or clip that was rendered */
  struct report_row rows[REPORT_ROWS_MAX];
  int row_count;
  struct report_live live;
  /* the times of a frame for several sizes, step counts or batches (--sweep); if it has no rows, these were not
   * measured */
  struct sweep sweep;
  /* how steady pictures are (--steadiness); if it has no clips, this was not measured. The owner of the report frees
   * `clips` */
  struct steadiness steadiness;
  /* times of the network's ops (--profile); without rows if they were not measured. The owner of the report frees the
   * profile */
  struct profile profile;
  /* what the device is, its clocks, and what it has timed to choose kernels, as lines of text; NULL: nothing. The owner
   * of the report frees it */
  char *timings;
};

/* Prints the report as a table for users. */
void report_table(const struct report *report, FILE *out);
/* Writes `text` and a newline to `path` ("-" means standard output), and frees `text`. Returns 0, or -1 with err; text
 * NULL fails with "out of memory". */
int report_write(const char *path, char *text, struct error *err);
/* Writes the report as JSON. path "-" means standard output. Returns 0, or -1 with err. */
int report_json(const struct report *report, const char *path, struct error *err);

#endif
