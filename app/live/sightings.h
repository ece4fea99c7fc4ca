/* Statistics about the frames that bench --live saw in the window: how many were shown, dropped or late, and how long
 * each stage from capture to screen took. */
#ifndef APP_LIVE_SIGHTINGS_H
#define APP_LIVE_SIGHTINGS_H

#include "app/flow/stats.h"
#include "app/source/marker.h"

/* A picture that was presented, with its times. Variables whose names end in _ns are times of platform_now_ns. */
struct sighting {
  bool read; /* true: the marker (blocks with the frame's number) was read from the picture in the window */
  uint32_t number;
  int64_t captured_ns, submitted_ns, finished_ns, presented_ns;
  int64_t late_ns;  /* how late a file source gave the frame, in ns after it was due; 0: in time */
  double frame_ms;  /* time in ms that the engine took for the frame, without the time for which the frame waited for
                     * the frame before it */
  double device_ms; /* how many ms of frame_ms the GPU worked, by the GPU's clock; 0: unknown */
};

/* Stages in which a late frame may have lost time: waiting for the engine, in the engine, or from the engine to the
 * screen. */
enum miss_reason { MISS_WAITING, MISS_ENGINE, MISS_WINDOW, MISS_REASONS };

enum { LATE_PICTURES_MAX = 64 };

/* A picture that was presented after the deadline (deadline_ms after its capture). at_s: time when it was presented, in
 * seconds after the first picture. waiting_ms, engine_ms, window_ms: time in ms that its frame waited for the engine,
 * spent in the engine, and took from there to the screen. */
struct late_picture {
  double at_s, waiting_ms, engine_ms, window_ms;
  /* how late a file source gave the frame, in ms after it was due; not part of waiting_ms */
  double handed_ms;
  /* The GPU's part of engine_ms, by the GPU's clock; 0: unknown. The rest is processor work, copies, and waiting for
   * the GPU to begin. */
  double device_ms;
};

/* Counts and times of all frames that were seen in the window. Initialise with zeros, and set deadline_ms and
 * engine_ms. */
struct sightings {
  double deadline_ms; /* ms from capture within which a picture must be presented; 0: no limit */
  /* usual time in ms that the engine takes for a frame; a late picture counts as delayed in the engine only by the time
   * beyond this usual time */
  double engine_ms;
  /* presented: number of pictures that were presented; unread: number of those whose marker could not be read */
  long presented;
  long unread;
  long repeated; /* number of pictures that showed no newer frame: the window had shown their frame, or a later one,
                  * already */
  long dropped;  /* number of frames that were never seen, between the first and the last one seen */
  long missed;   /* number of pictures presented later than deadline_ms after their capture */
  long missed_by[MISS_REASONS];
  /* the first LATE_PICTURES_MAX of the pictures that were presented too late (counted in `missed`) */
  struct late_picture late[LATE_PICTURES_MAX];
  uint32_t newest;
  int64_t first_ns, last_ns;
  struct stats handed;   /* how late a file source gave a frame, in ms after it was due */
  struct stats taken;    /* ms from capture until the frame was given to the engine */
  struct stats finished; /* ms from when the frame was given to the engine until the picture was finished */
  struct stats shown;    /* ms from when the picture was finished until it was presented */
  struct stats latency;  /* ms from capture until the picture was presented */
  struct stats frame;    /* the engine's time in ms for the frame of each picture */
};

/* Adds a picture that was seen in the window to the counts and times. */
void sightings_add(struct sightings *sightings, const struct sighting *sighting);
/* Returns the mean rate in pictures per second from the first picture to the last; 0: fewer than two were presented. */
double sightings_rate(const struct sightings *sightings);

#endif
