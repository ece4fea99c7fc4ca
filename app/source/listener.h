/* Listens to an input with sound, on a thread of its own: what the sound does at this moment. A file is heard at its
 * own pace and again at its end; of a device or stream the newest samples count. What fails is opened again, as often
 * as it takes, and one line says so. */
#ifndef APP_SOURCE_LISTENER_H
#define APP_SOURCE_LISTENER_H

#include "app/source/sound_levels.h"
#include "unet/base/error.h"
#include "unet/base/log.h"

struct listener;

enum { LISTENER_REASON_MAX = 160 };

struct sound_tap;

struct listener_params {
  const char *input;   /* a file, URL or device of FFmpeg's; outlives every listener, one that was left alone as well */
  double read_timeout; /* seconds without sound after which a stream is opened again; 0: none */
  const struct log *log; /* as the tap, it is not used after listener_stop */
  const char *option;    /* that names the input, in what is said of it; NULL: --sound */
  struct sound_tap *tap; /* gets all that is heard, at positions that are seconds of platform_now_ns; NULL: nobody */
};

/* The input opens on the thread. */
int listener_start(struct listener **listener, const struct listener_params *params, struct error *err);
/* Any thread, at any time; zeros while there is no sound. */
void listener_get(struct listener *listener, double values[SOUND_VALUES]);
/* Whether nothing is heard because the input is gone or was not there yet, and why. Any thread. */
bool listener_is_away(struct listener *listener, char reason[LISTENER_REASON_MAX]);
/* Waits two seconds at most: the thread of an input that hangs is left alone. Stores NULL; takes NULL. */
void listener_stop(struct listener **listener);

#endif
