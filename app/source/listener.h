/* Reads an input with sound on its own thread, and measures the sound's levels. A file is played at its own pace and
 * repeated; of a device or stream, the newest samples are measured. If the input fails, it is opened again until that
 * works, and one log line says so. */
#ifndef APP_SOURCE_LISTENER_H
#define APP_SOURCE_LISTENER_H

#include <stdint.h>

#include "app/source/sound_levels.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

struct listener;

enum { LISTENER_REASON_MAX = 160 };

struct sound_tap;

struct listener_params {
  /* a file, URL or FFmpeg device; must outlive each listener, even one whose thread listener_stop left running */
  const char *input;
  /* seconds without sound after which a stream is opened again; 0: it is never opened again for that reason */
  double read_timeout;
  const struct log *log; /* log for messages; `log` and `tap` are not used after listener_stop */
  const char *option;    /* the command-line option that error messages name; NULL: --sound */
  /* tap (buffer) that gets the input's packets of sound; the position of each is the time at which it is heard
   * (platform_now_ns in seconds); NULL: the packets are not kept */
  struct sound_tap *tap;
};

/* Starts the listener's thread, which opens the input. Returns 0, or -1 with err. */
int listener_start(struct listener **listener, const struct listener_params *params, struct error *err);
/* Sets the limits of the frequency bands, and for how long SOUND_ONSET stays 1. Callable from any thread. */
void listener_limit(struct listener *listener, const struct sound_limits *limits);
/* Returns the present sound levels; zeros while there is no sound. Callable from any thread. */
void listener_get(struct listener *listener, double values[SOUND_VALUES]);
/* Returns how many onsets (beginnings of sounds) the input had so far, and stores the last one's time
 * (platform_now_ns). For a file it is the time at which the onset is heard. For a device or stream it is computed from
 * the time at which its samples arrived. Callable from any thread. */
long listener_get_onset(struct listener *listener, int64_t *at_ns);
/* True if nothing is heard because the input has failed, has ended, or could not be opened. reason says why; "" if the
 * result is false. Callable from any thread. */
bool listener_is_away(struct listener *listener, char reason[LISTENER_REASON_MAX]);
/* Ends the listener's thread and frees the listener; *listener becomes NULL. A thread that its input blocks for more
 * than two seconds is left running. Does nothing if *listener is NULL. */
void listener_stop(struct listener **listener);

#endif
