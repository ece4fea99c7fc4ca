/* The times of the last pictures, one by one: for figures of late, and for a graph. Stamps are of platform_now_ns. */
#ifndef APP_FLOW_RECENT_TIMES_H
#define APP_FLOW_RECENT_TIMES_H

#include <stdbool.h>
#include <stdint.h>

enum { RECENT_TIMES_MAX = 2048, RECENT_SECONDS = 5 };

struct recent_time {
  int64_t at_ns; /* when it was shown */
  float engine_ms;
  float latency_ms; /* from capture to the screen; negative: not known */
  bool missed;      /* it took longer than the budget */
};

/* Zero-initialise to start. */
struct recent_times {
  long count; /* in all; the last RECENT_TIMES_MAX are kept */
  struct recent_time time[RECENT_TIMES_MAX];
};

void recent_times_add(struct recent_times *recent, const struct recent_time *time);
/* The i-th but last; NULL: not kept. */
const struct recent_time *recent_times_before(const struct recent_times *recent, long i);

/* Of the last RECENT_SECONDS, or the last three where they come more slowly. 0: not known. */
struct recent_summary {
  double median_ms, p99_ms; /* from capture to the screen */
};
void recent_times_summarise(const struct recent_times *recent, int64_t now_ns, struct recent_summary *summary);

/* Whether pictures are late on the whole: half of the last ones begin it, and it ends with fewer than a quarter, or
 * some seconds after the last picture. One that is late now and then does not count. */
struct recent_lateness {
  bool late;      /* before, and then now */
  int missed, of; /* so many pictures of the last ones */
  double seconds; /* until it ends where no picture comes; 0: it is not so */
};
void recent_times_judge(const struct recent_times *recent, int64_t now_ns, struct recent_lateness *lateness);

/* For a graph: of each of so many columns, the oldest first, that together are so long and end now, the largest time in
 * it; negative: none. */
struct recent_column {
  float engine_ms, latency_ms;
  bool missed;
};
void recent_times_draw(const struct recent_times *recent, int64_t now_ns, int64_t length_ns,
                       struct recent_column *column, int columns);

#endif
