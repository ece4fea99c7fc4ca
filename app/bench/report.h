/* The figures of bench, and their output as a table and as JSON. */
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
  double fps; /* frames per second of wall time */
  struct stats_summary times;
};

enum { REPORT_ROWS_MAX = 16, REPORT_CHANGES_MAX = 2 };

/* How long the picture takes to show a change of a control: the number of pictures presented since the change, up to
 * and including the first one that shows it. */
struct report_change {
  const char *name;
  long count; /* number of times that the control was changed */
  double median_frames, most_frames;
};

/* The figures of bench --live that are not in rows. */
struct report_live {
  bool measured;
  double source_fps, shown_fps;
  /* time from capture to presentation after which a picture is missed: the source's frame interval, the time of
   * "compute only", and 1 ms */
  double deadline_ms;
  long presented, missed, dropped, repeated, unread;
  struct late_picture late[LATE_PICTURES_MAX]; /* the first missed pictures */
  /* numbers of missed pictures, by the stage with the longest delay: before the engine, in the engine, after it */
  long missed_by[3];
  double spare_ms; /* time left before the deadline for the median picture */
  long woken_late; /* how often a thread that does nothing but wake at the frame rate woke later than spare_ms */
  /* true: the presented image was read back from the screen; false: the drawn image was read before it was presented */
  bool is_front;
  double engine_cpu_us, window_cpu_us; /* processor time of the two threads per picture */
  double engine_bytes, window_bytes;   /* bytes of pixels copied by the host, or between host and device, per picture */
  long shared, uploaded;        /* pictures that the window read from GPU memory; pictures that were uploaded to it */
  double engine_ms, compute_ms; /* median times of a frame: in the window, and with the engine alone */
  double paced_ms;              /* median time with the engine alone, at the window's frame rate */
  struct report_change change[REPORT_CHANGES_MAX];
  /* Scheduling of the two threads at the start, and how many threads lost it because they ran too long without
   * a pause. */
  enum urgency engine_urgency, window_urgency;
  int demoted;
  int awake; /* number of processors that --awake kept from sleeping */
};

struct report {
  struct engine_info engine;
  struct prepared_info prepared;
  double first_frame_ms; /* time from the start of the process to the first picture */
  /* number of the device's kernel or graph launches, waits and allocations per frame */
  double launches, waits, allocations;
  /* bytes of pixels per frame: copied to the device, copied from it, and copied by the processor on the way */
  double up, down, staged;
  double joules;      /* energy that the device used per frame, in joules; 0: unknown */
  size_t peak_bytes;  /* highest memory use of the process */
  const char *source; /* description of the pattern or clip that was rendered */
  struct report_row rows[REPORT_ROWS_MAX];
  int row_count;
  struct report_live live;
  struct sweep sweep;           /* no rows: not measured */
  struct steadiness steadiness; /* no clips: not measured. The owner of the report frees `clips` */
  struct profile profile;       /* no rows: not measured. The owner of the report frees it */
};

/* Prints the report as a table for people. */
void report_table(const struct report *report, FILE *out);
/* Writes text and a newline to path ("-" means standard output), and frees text. text NULL is an error: out of
 * memory. */
int report_write(const char *path, char *text, struct error *err);
/* Writes the report as JSON. path "-" means standard output. */
int report_json(const struct report *report, const char *path, struct error *err);

#endif
