#include "app/live/sightings.h"

static double ms_between(int64_t from_ns, int64_t to_ns) {
  return (double)(to_ns - from_ns) * 1e-6;
}

/* Returns the stage (waiting for the engine, in the engine, or from there to the screen) in which a late picture lost
 * the most time. For the engine only the excess over its usual time counts. */
static enum miss_reason reason_of(const struct sightings *s, const struct late_picture *stages) {
  const double beyond[MISS_REASONS] = {
      [MISS_WAITING] = stages->waiting_ms,
      [MISS_ENGINE] = stages->engine_ms - s->engine_ms,
      [MISS_WINDOW] = stages->window_ms,
  };
  enum miss_reason most = MISS_WAITING;
  for (int i = 1; i < MISS_REASONS; i++)
    most = beyond[i] > beyond[most] ? (enum miss_reason)i : most;
  return most;
}

static void add_times(struct sightings *s, const struct sighting *sighting) {
  double latency_ms = ms_between(sighting->captured_ns, sighting->presented_ns);
  const struct late_picture stages = {
      .at_s = ms_between(s->first_ns, sighting->presented_ns) * 1e-3,
      .waiting_ms = ms_between(sighting->captured_ns, sighting->submitted_ns),
      .engine_ms = ms_between(sighting->submitted_ns, sighting->finished_ns),
      .device_ms = sighting->device_ms,
      .handed_ms = (double)sighting->late_ns * 1e-6,
      .window_ms = ms_between(sighting->finished_ns, sighting->presented_ns),
  };
  stats_add(&s->handed, stages.handed_ms);
  stats_add(&s->taken, stages.waiting_ms);
  stats_add(&s->finished, stages.engine_ms);
  stats_add(&s->shown, stages.window_ms);
  stats_add(&s->latency, latency_ms);
  if (s->deadline_ms <= 0 || latency_ms <= s->deadline_ms)
    return;
  if (s->missed < LATE_PICTURES_MAX)
    s->late[s->missed] = stages;
  s->missed++;
  s->missed_by[reason_of(s, &stages)]++;
}

void sightings_add(struct sightings *s, const struct sighting *sighting) {
  bool first = s->latency.count == 0;
  if (!s->presented++)
    s->first_ns = sighting->presented_ns;
  s->last_ns = sighting->presented_ns;
  stats_add(&s->frame, sighting->frame_ms);
  if (!sighting->read) {
    s->unread++;
    return;
  }
  if (!first && sighting->number <= s->newest) {
    s->repeated++;
    return;
  }
  if (!first)
    s->dropped += (long)(sighting->number - s->newest - 1);
  s->newest = sighting->number;
  add_times(s, sighting);
}

double sightings_rate(const struct sightings *s) {
  double seconds = (double)(s->last_ns - s->first_ns) * 1e-9;
  return seconds > 0 ? (double)(s->presented - 1) / seconds : 0;
}
