#include "app/run/heard.h"

/* Limit in ns of the latencies that are averaged. A picture whose frame was captured longer ago than this is shown late
 * on purpose, for example while the video is paused. */
static const int64_t latency_most_ns = 2000000000;
static const double share = 0.05; /* weight of a new latency in the average of latencies, which is exponential */

/* Returns true if the picture's latency enters the average of latencies. Returns false if a picture of the same frame
 * was shown before, or if the latency is unknown, negative or too long. */
static bool is_fresh(const struct heard *heard, const struct frame *picture, int64_t latency_ns) {
  return picture->captured_ns > 0 && picture->captured_ns != heard->captured_ns && latency_ns >= 0 &&
         latency_ns < latency_most_ns;
}

int64_t heard_with(struct heard *heard, const struct frame *picture, int64_t shown_ns) {
  int64_t latency_ns = shown_ns - picture->captured_ns;
  if (is_fresh(heard, picture, latency_ns))
    heard->latency_ns += ((double)latency_ns - heard->latency_ns) * (heard->latency_ns > 0 ? share : 1);
  heard->captured_ns = picture->captured_ns;
  return shown_ns - (int64_t)heard->latency_ns;
}
