/* OSC (Open Sound Control) over UDP: parameters set and commands run by messages, and how things are sent to those who
 * asked for it. A thread of its own; it meets the window's thread in the hub alone. */
#ifndef APP_REMOTE_OSC_H
#define APP_REMOTE_OSC_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct osc;

struct osc_params {
  const char *listen;                 /* "PORT", of this machine alone, or "HOST:PORT"; NULL: nobody is listened to */
  const struct parameter_choices *to; /* who is sent to from the beginning; NULL: nobody */
  struct hub *hub;                    /* outlives it, as does the log */
  const struct log *log;
  int lease_ms; /* for so long somebody who asked for it is sent to after a message of theirs; 0: OSC_LEASE_S */
};

enum { OSC_LEASE_S = 60 };

/* Does nothing where neither is given. */
int osc_start(struct osc **osc, const struct osc_params *params, struct error *err);
/* Waits so long at most for its thread. Returns false where that does not come back, which leaves all as it is: the
 * hub is still in use, and this may be called once more. Stores NULL; takes NULL. */
bool osc_stop(struct osc **osc, int wait_ms);

#endif
