#include "app/flow/pace.h"

#include <math.h>

/* pace_rate computes the rate from the stamps (times of pictures) of the last second. If these are fewer than FEW, up
 * to FEW stamps are used, none of them older than longest_ns. */
enum { FEW = 3 };
static const int64_t second_ns = 1000000000, longest_ns = 600 * (int64_t)1000000000;

void pace_count(struct pace *pace, long total, int64_t now_ns) {
  long before = pace->stamps ? pace->stamp[(pace->stamps - 1) % PACE_STAMPS].total : 0;
  if (total == before)
    return;
  pace->stamp[pace->stamps % PACE_STAMPS].at_ns = now_ns;
  pace->stamp[pace->stamps % PACE_STAMPS].total = total;
  pace->stamps++;
}

double pace_rate(const struct pace *pace, int64_t now_ns) {
  long oldest = -1, newest = pace->stamps - 1;
  for (long i = newest, count = 0; i >= 0 && count < PACE_STAMPS; i--, count++) {
    if (now_ns - pace->stamp[i % PACE_STAMPS].at_ns > (count < FEW ? longest_ns : second_ns))
      break;
    oldest = i;
  }
  if (oldest < 0 || oldest == newest)
    return 0;
  long from = oldest % PACE_STAMPS, to = newest % PACE_STAMPS;
  double rate = (double)(pace->stamp[to].total - pace->stamp[from].total) * 1e9 /
                (double)(pace->stamp[to].at_ns - pace->stamp[from].at_ns);
  int64_t since = now_ns - pace->stamp[to].at_ns;
  return since > second_ns ? fmin(rate, 1e9 / (double)since) : rate;
}
