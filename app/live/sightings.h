/* Statistics about the frames that were seen in the window, for bench --live: how many were shown, dropped or late, and
 * how long each stage took. */
#ifndef APP_LIVE_SIGHTINGS_H
#define APP_LIVE_SIGHTINGS_H

#include "app/flow/stats.h"
#include "app/source/marker.h"

/* A picture that was presented, with its times. Variables whose names end in _ns are times of platform_now_ns. */
struct sighting {
  bool read; /* the marker of the picture's frame was read from the window */
  uint32_t number;
  int64_t captured_ns, submitted_ns, finished_ns, presented_ns;
  int64_t late_ns;  /* how late the source passed the frame on, if it is a file; 0: in time */
  double frame_ms;  /* the engine's time for the frame, without waiting for the frame before it */
  double device_ms; /* part of frame_ms in which the GPU worked, by the GPU's clock; 0: unknown */
};

/* Stages in which a late frame may have lost the most time: waiting for the engine, in the engine, or from the engine
 * to the screen. */
enum miss_reason { MISS_WAITING, MISS_ENGINE, MISS_WINDOW, MISS_REASONS };

enum { LATE_PICTURES_MAX = 64 };

/* A picture that was late. at_s: seconds from the first picture until it was presented; then the ms that it spent
 * waiting for the engine, in the engine, and from the engine to the screen. */
struct late_picture {
  double at_s, waiting_ms, engine_ms, window_ms;
  double handed_ms; /* ms by which a file's frame was passed on too late, before those stages */
  /* Part of engine_ms in which the GPU worked, by the GPU's clock; 0: unknown. The rest is work of the processor,
   * copies, and waiting for the GPU to begin. */
  double device_ms;
};

/* Initialise with zeros, and set deadline_ms and engine_ms. */
struct sightings {
  double deadline_ms; /* ms from capture within which a picture must be presented; 0: no limit */
  double engine_ms;   /* usual ms of the engine for a frame; only a longer time counts as lost */
  /* number of pictures presented, and of those whose marker could not be read */
  long presented;
  long unread;
  long repeated; /* number of pictures of frames that had been seen before */
  long dropped;  /* number of frames that were never seen, between the first and the last one seen */
  long missed;   /* number of pictures presented after the deadline */
  long missed_by[MISS_REASONS];
  /* the first LATE_PICTURES_MAX of the pictures presented after the deadline */
  struct late_picture late[LATE_PICTURES_MAX];
  uint32_t newest;
  int64_t first_ns, last_ns;
  struct stats handed;   /* ms by which a file's frame was passed on too late */
  struct stats taken;    /* ms from capture until the frame was submitted to the engine */
  struct stats finished; /* ms from submitting until the picture was finished */
  struct stats shown;    /* ms from finishing until the picture was presented */
  struct stats latency;  /* ms from capture until the picture was presented */
  struct stats frame;    /* the engine's time for the frame in ms */
};

/* Adds a presented picture to the statistics. */
void sightings_add(struct sightings *sightings, const struct sighting *sighting);
/* Returns the mean rate in pictures per second from the first to the last; 0: fewer than two were presented. */
double sightings_rate(const struct sightings *sightings);

#endif
