/* Records when frames of a source were seen in the window: counts and times. */
#ifndef APP_LIVE_SIGHTINGS_H
#define APP_LIVE_SIGHTINGS_H

#include "app/flow/stats.h"
#include "app/source/marker.h"

/* A picture that was presented. All times ending in _ns are of platform_now_ns. */
struct sighting {
  bool read; /* a marker could be read, and it was that of the picture's frame */
  uint32_t number;
  int64_t captured_ns, submitted_ns, finished_ns, presented_ns;
  int64_t late_ns;  /* how late a source that is a file passed the frame on */
  double frame_ms;  /* the engine's own time for the picture */
  double device_ms; /* the device's part of it by its own clock; 0: it has none */
};

/* The stage in which a late frame lost the most time. */
enum miss_reason { MISS_WAITING, MISS_ENGINE, MISS_WINDOW, MISS_REASONS };

enum { LATE_PICTURES_MAX = 64 };

/* A picture that was late: seconds from the first picture until it was presented, and how long it was in each stage. */
struct late_picture {
  double at_s, waiting_ms, engine_ms, window_ms;
  double handed_ms; /* how late a file's frame was passed on, before these stages */
  /* Part of engine_ms: the device's time by its own clock; 0: it has none. The rest is time of the host, copies, and
   * waiting for the device to begin. */
  double device_ms;
};

/* Zero-initialise to start, except for deadline_ms and engine_ms. */
struct sightings {
  double deadline_ms; /* time from capture until the picture must be presented; 0: no limit */
  double engine_ms;   /* time that the engine takes for a frame if nothing disturbs it */
  /* pictures presented; pictures whose marker could not be read */
  long presented;
  long unread;
  long repeated; /* pictures whose number was seen before */
  long dropped;  /* numbers that were never seen, from the first one seen to the last */
  long missed;   /* pictures that came after the deadline */
  long missed_by[MISS_REASONS];
  struct late_picture late[LATE_PICTURES_MAX]; /* the first of the pictures that were late */
  uint32_t newest;
  int64_t first_ns, last_ns;
  struct stats handed;   /* how late the source passed the frame on */
  struct stats taken;    /* from capture until the engine took it */
  struct stats finished; /* from then until the picture was finished */
  struct stats shown;    /* from then until it was presented */
  struct stats latency;  /* from capture until it was presented */
  struct stats frame;    /* the engine's own time */
};

/* Adds a picture. */
void sightings_add(struct sightings *sightings, const struct sighting *sighting);
/* Returns the pictures a second from the first to the last; 0: there were less than two. */
double sightings_rate(const struct sightings *sightings);

#endif
