/* The times of the most recent pictures, one by one, for figures and a graph. Times are of platform_now_ns. One thread
 * uses it. */
#ifndef APP_FLOW_RECENT_TIMES_H
#define APP_FLOW_RECENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_TIMES_MAX = 2048, RECENT_SECONDS = 5 };

struct recent_time {
  int64_t at_ns; /* time when the picture was shown */
  float engine_ms;
  float latency_ms; /* time from capture to the screen; negative: unknown */
  bool missed;      /* longer than the budget */
};

/* Zero-initialise to start. */
struct recent_times {
  long count; /* number of all pictures so far; the last RECENT_TIMES_MAX are stored */
  struct recent_time time[RECENT_TIMES_MAX];
};

/* Adds a picture, replacing the oldest one if there is no room. */
void recent_times_add(struct recent_times *recent, const struct recent_time *time);
/* Returns the picture that came i pictures before the last. NULL: it is not stored. */
const struct recent_time *recent_times_before(const struct recent_times *recent, long i);

/* Figures over the last RECENT_SECONDS, or over the last three pictures if fewer came. 0: unknown. */
struct recent_summary {
  double median_ms, p99_ms; /* times from capture to the screen */
};
void recent_times_summarise(const struct recent_times *recent, int64_t now_ns, struct recent_summary *summary);

/* Tells whether most pictures are late. It begins when half of the last pictures are late, and ends when fewer than a
 * quarter are, or some seconds after the last picture. Single late pictures do not count. */
struct recent_lateness {
  bool late;      /* in: the previous result; out: the current one */
  int missed, of; /* number of late pictures among the last `of` */
  double seconds; /* seconds until it ends if no picture comes; 0: it is false */
};
void recent_times_judge(const struct recent_times *recent, int64_t now_ns, struct recent_lateness *lateness);

/* Fills the columns of a graph that ends now and spans length_ns, the oldest first: the largest times of each column's
 * pictures. Negative: there is none. */
struct recent_column {
  float engine_ms, latency_ms;
  bool missed;
};
void recent_times_draw(const struct recent_times *recent, int64_t now_ns, int64_t length_ns,
                       struct recent_column *column, int columns);

#endif
