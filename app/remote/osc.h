/* OSC (Open Sound Control) over UDP: messages set parameters and run commands, and values and figures are sent to those
 * who subscribe. It has a thread of its own, which meets the window's thread in the hub alone. */
#ifndef APP_REMOTE_OSC_H
#define APP_REMOTE_OSC_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct osc;

struct osc_params {
  /* "PORT" at this machine's loopback address, or "HOST:PORT"; NULL: no messages are received */
  const char *listen;
  const struct parameter_choices *to; /* addresses that are sent to from the beginning; NULL: none */
  struct hub *hub;                    /* hub and log must outlive struct osc */
  const struct log *log;
  int lease_ms; /* how long a subscription lasts after the last message from its machine; 0: OSC_LEASE_S */
};

enum { OSC_LEASE_S = 60 };

/* Opens the sockets and starts the thread. If neither listen nor to is given, *osc is NULL and 0 is returned. */
int osc_start(struct osc **osc, const struct osc_params *params, struct error *err);
/* Stops the thread, waiting at most wait_ms. Returns false if it has not ended: everything stays as it is, the hub is
 * still in use, and osc_stop may be called again. Stores NULL; takes NULL. */
bool osc_stop(struct osc **osc, int wait_ms);

#endif
