/* Stores the times of the most recent pictures, from which the window's overlay computes the latencies and the graph
 * that it shows. Times are on the clock of platform_now_ns. Used by the window's thread. */
#ifndef APP_FLOW_RECENT_TIMES_H
#define APP_FLOW_RECENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_TIMES_MAX = 2048, RECENT_SECONDS = 5 };

struct recent_time {
  int64_t at_ns; /* time when the picture was shown (platform_now_ns) */
  float engine_ms;
  float latency_ms; /* time in ms from capture to the screen; negative: unknown */
  bool missed;      /* true: the picture took longer than the time budget */
};

/* A ring of the last pictures' times. Initialise with zeros. */
struct recent_times {
  long count; /* number of all pictures since the start; the ring has the last RECENT_TIMES_MAX of them */
  struct recent_time time[RECENT_TIMES_MAX];
};

/* Adds the times of a picture; if the ring is full, they replace those of the oldest picture. */
void recent_times_add(struct recent_times *recent, const struct recent_time *time);
/* Returns the times of the picture that came i pictures before the last one (0: of the last one). NULL: the ring has no
 * such picture. */
const struct recent_time *recent_times_before(const struct recent_times *recent, long i);

/* Latency of the pictures of the last RECENT_SECONDS seconds, or of the last three pictures if fewer came in that time.
 * 0: unknown. */
struct recent_summary {
  double median_ms, p99_ms; /* median and 99th percentile of the times from capture to the screen, in ms */
};
void recent_times_summarise(const struct recent_times *recent, int64_t now_ns, struct recent_summary *summary);

/* Tells if many pictures are late (took longer than the time budget). `late` becomes true when half of the last
 * pictures are late; it becomes false when fewer than a quarter are, or some seconds after the last picture. Single
 * late pictures do not count. */
struct recent_lateness {
  /* true: many pictures are late; recent_times_judge reads its previous result here and stores the new one */
  bool late;
  int missed, of; /* missed: number of late pictures among the last `of` pictures */
  double seconds; /* in how many seconds `late` becomes false if no further picture comes; 0: `late` is false already */
};
void recent_times_judge(const struct recent_times *recent, int64_t now_ns, struct recent_lateness *lateness);

/* One column of the graph: the largest times, in ms, of the pictures that were shown during the column's span of time;
 * negative: no picture was shown in it. recent_times_draw fills `columns` columns of equal span, the oldest first;
 * together they cover the length_ns nanoseconds before now_ns. */
struct recent_column {
  float engine_ms, latency_ms;
  bool missed;
};
void recent_times_draw(const struct recent_times *recent, int64_t now_ns, int64_t length_ns,
                       struct recent_column *column, int columns);

#endif
