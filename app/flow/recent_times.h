/* Stores the times of the most recent pictures, from which the figures and the graph in the window are computed. Times
 * are on the clock of platform_now_ns. Used by the window's thread. */
#ifndef APP_FLOW_RECENT_TIMES_H
#define APP_FLOW_RECENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_TIMES_MAX = 2048, RECENT_SECONDS = 5 };

struct recent_time {
  int64_t at_ns; /* time when the picture was shown */
  float engine_ms;
  float latency_ms; /* time from capture to the screen; negative: unknown */
  bool missed;      /* the picture took longer than the budget */
};

/* A ring of pictures. Initialise with zeros. */
struct recent_times {
  long count; /* number of all pictures since the start; the ring has the last RECENT_TIMES_MAX of them */
  struct recent_time time[RECENT_TIMES_MAX];
};

/* Adds a picture, replacing the oldest one if there is no room. */
void recent_times_add(struct recent_times *recent, const struct recent_time *time);
/* Returns the picture that came i pictures before the last one (0: the last one). NULL: the ring does not have it. */
const struct recent_time *recent_times_before(const struct recent_times *recent, long i);

/* Figures of the last RECENT_SECONDS seconds, or of the last three pictures if fewer came in that time. 0: unknown. */
struct recent_summary {
  double median_ms, p99_ms; /* times from capture to the screen */
};
void recent_times_summarise(const struct recent_times *recent, int64_t now_ns, struct recent_summary *summary);

/* Tells if many pictures are late (longer than the budget). `late` becomes true when half of the last pictures are
 * late; it becomes false when fewer than a quarter are, or some seconds after the last picture. Single late pictures do
 * not count. */
struct recent_lateness {
  bool late; /* true: many pictures are late; recent_times_judge reads the last answer here and stores the new one */
  int missed, of; /* number of late pictures among the last `of` */
  double seconds; /* seconds after which `late` becomes false if no further picture comes; 0: it is false */
};
void recent_times_judge(const struct recent_times *recent, int64_t now_ns, struct recent_lateness *lateness);

/* Fills `columns` columns of a graph, the oldest first. Together they span length_ns and end at now_ns. Each has the
 * largest times of the pictures in its part of the time; negative: no picture came then. */
struct recent_column {
  float engine_ms, latency_ms;
  bool missed;
};
void recent_times_draw(const struct recent_times *recent, int64_t now_ns, int64_t length_ns,
                       struct recent_column *column, int columns);

#endif
