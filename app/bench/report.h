/* The figures of bench: a table for people, JSON for programs. */
#ifndef APP_BENCH_REPORT_H
#define APP_BENCH_REPORT_H

#include <stddef.h>
#include <stdio.h>

#include "app/bench/sweep.h"
#include "app/flow/stats.h"
#include "app/live/sightings.h"
#include "app/platform/app_platform.h"
#include "unet/engine.h"

struct report_row {
  const char *name, *meaning;
  double fps; /* frames a second of wall time */
  struct stats_summary times;
};

enum { REPORT_ROWS_MAX = 16, REPORT_CHANGES_MAX = 2 };

/* A control that was changed, and the pictures presented until one showed it, that one among them. */
struct report_change {
  const char *name;
  long count; /* changes */
  double median_frames, most_frames;
};

/* What bench --live has beside its rows. */
struct report_live {
  bool measured;
  double source_fps, shown_fps;
  double deadline_ms; /* from capture to presented: a frame of the source, compute only, and a millisecond */
  long presented, missed, dropped, repeated, unread;
  struct late_picture late[LATE_PICTURES_MAX]; /* the first of those missed */
  long missed_by[3];                           /* waiting for the engine, in the engine, on the way to the screen */
  double spare_ms;                             /* that the median picture came before it was late */
  long woken_late;                     /* how often a thread that only wakes, and as often, was later than that */
  bool is_front;                       /* what was presented was read, not what was drawn to be presented */
  double engine_cpu_us, window_cpu_us; /* of their threads, a picture */
  double engine_bytes, window_bytes;   /* of pixels, copied by the host or between it and a device, a picture */
  long shared, uploaded;               /* pictures that the window read on the GPU; that were uploaded to it */
  double engine_ms, compute_ms;        /* medians of a frame: in the window, and alone */
  double paced_ms;                     /* likewise alone, but as often as in the window */
  struct report_change change[REPORT_CHANGES_MAX];
  /* What their threads were, and how many became usual meanwhile because they did not rest */
  enum urgency engine_urgency, window_urgency;
  int calmed;
  int awake; /* processors that were kept from sleeping */
};

struct report {
  struct engine_info engine;
  struct prepared_info prepared;
  double first_frame_ms;               /* from the start of the process to the first picture */
  double launches, waits, allocations; /* of the device, a frame */
  double up, down, staged;             /* bytes of pixels that were copied, a frame: see device_counters */
  double joules;                       /* that the device takes for a frame; 0: unknown */
  size_t peak_bytes;                   /* of the process */
  const char *source;                  /* what was rendered */
  struct report_row rows[REPORT_ROWS_MAX];
  int row_count;
  struct report_live live;
  struct sweep sweep;     /* no rows: not measured */
  struct profile profile; /* no rows: not measured; the report's user frees it */
};

void report_table(const struct report *report, FILE *out);
/* Writes text, which it frees, and a line's end; text NULL: there was no memory for it. path "-": standard output. */
int report_write(const char *path, char *text, struct error *err);
int report_json(const struct report *report, const char *path, struct error *err);

#endif
