/* What was seen of a source's frames in the window, and when: counts and times. */
#ifndef APP_LIVE_SIGHTINGS_H
#define APP_LIVE_SIGHTINGS_H

#include "app/flow/stats.h"
#include "app/source/marker.h"

/* One picture presented. Stamps are of platform_now_ns. */
struct sighting {
  bool read; /* there was a number to be read, and it was that of the picture's frame */
  uint32_t number;
  int64_t captured_ns, submitted_ns, finished_ns, presented_ns;
  int64_t late_ns;  /* how late the source handed it out, where it is a file */
  double frame_ms;  /* the engine's own time for it */
  double device_ms; /* of that the device's, by its own clock; 0: it has none */
};

/* Where a frame that came too late was for too long. */
enum miss_reason { MISS_WAITING, MISS_ENGINE, MISS_WINDOW, MISS_REASONS };

enum { LATE_PICTURES_MAX = 64 };

/* A picture that came too late: the time from the first one until it was presented, and how long it was in each stage.
 */
struct late_picture {
  double at_s, waiting_ms, engine_ms, window_ms;
  double handed_ms; /* how late a file's frame had been handed out, before all these */
  /* Part of engine_ms: the device's time by its own clock; 0: it has none. The rest is the host, copies and waiting for
   * the device to begin. */
  double device_ms;
};

/* Zero-initialise but for deadline_ms and engine_ms to start. */
struct sightings {
  double deadline_ms; /* from capture to presented; 0: none */
  double engine_ms;   /* what a frame takes where nothing disturbs it */
  long presented;
  long unread;
  long repeated; /* the number was there before */
  long dropped;  /* numbers that never came, from the first one seen to the last */
  long missed;   /* came after the deadline */
  long missed_by[MISS_REASONS];
  struct late_picture late[LATE_PICTURES_MAX]; /* the first of them */
  uint32_t newest;
  int64_t first_ns, last_ns;
  struct stats handed;   /* how late the source handed it out, */
  struct stats taken;    /* from capture until the engine took it, */
  struct stats finished; /* from then until the picture was done, */
  struct stats shown;    /* from then until it was presented */
  struct stats latency;  /* all of these */
  struct stats frame;    /* the engine's own time */
};

void sightings_add(struct sightings *sightings, const struct sighting *sighting);
/* Pictures a second from the first to the last; 0: there was no second one. */
double sightings_rate(const struct sightings *sightings);

#endif
