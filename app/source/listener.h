/* Reads an input with sound on a thread of its own, and measures its levels at each moment. A file is heard at its own
 * pace and repeated; of a device or stream the levels are those of the newest samples. If the input fails, it is opened
 * again and again, and one line says so. */
#ifndef APP_SOURCE_LISTENER_H
#define APP_SOURCE_LISTENER_H

#include "app/source/sound_levels.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

struct listener;

enum { LISTENER_REASON_MAX = 160 };

struct sound_tap;

struct listener_params {
  const char *input;     /* a file, URL or FFmpeg device; must outlive each listener, even one that was left running */
  double read_timeout;   /* seconds without sound after which a stream is opened again; 0: none */
  const struct log *log; /* neither log nor tap is used after listener_stop */
  const char *option;    /* the option that messages name; NULL: --sound */
  /* gets the packets of sound, with the time at which each is heard (platform_now_ns in seconds) as position; NULL:
   * none */
  struct sound_tap *tap;
};

/* Starts the thread, which opens the input. Returns 0, or -1 with err. */
int listener_start(struct listener **listener, const struct listener_params *params, struct error *err);
/* Returns the current levels; zeros while there is no sound. Callable from any thread. */
void listener_get(struct listener *listener, double values[SOUND_VALUES]);
/* True, with the reason, if nothing is heard because the input is gone or not there yet. Callable from any thread. */
bool listener_is_away(struct listener *listener, char reason[LISTENER_REASON_MAX]);
/* Ends the thread. If its input blocks it for more than two seconds, it is left running. Stores NULL; accepts NULL. */
void listener_stop(struct listener **listener);

#endif
