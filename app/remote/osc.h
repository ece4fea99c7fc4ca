/* OSC (Open Sound Control) over UDP. Messages set parameters and run commands; changes of values and figures are sent
 * to programs that subscribe. A thread of its own does this, and sets and reads values only through the hub. */
#ifndef APP_REMOTE_OSC_H
#define APP_REMOTE_OSC_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct osc;

struct osc_params {
  /* where messages are received: "PORT" (only from this machine) or "HOST:PORT"; NULL: no messages are received */
  const char *listen;
  const struct parameter_choices *to; /* addresses to which changes are always sent (--osc-to); NULL: none */
  struct hub *hub;                    /* hub and log are borrowed and must outlive *osc */
  const struct log *log;
  /* milliseconds for which a subscription lasts after the last message from its machine; 0: OSC_LEASE_S seconds */
  int lease_ms;
};

enum { OSC_LEASE_S = 60 };

/* Opens the sockets and starts the thread. If neither listen nor `to` is given, *osc becomes NULL and 0 is returned.
 * Returns 0, or -1 with err set. */
int osc_start(struct osc **osc, const struct osc_params *params, struct error *err);
/* Ends the thread, waiting for it at most wait_ms, and frees *osc. Returns false if the thread has not ended in time:
 * nothing is freed, the thread still uses the hub, and osc_stop may be called again. Stores NULL on success; accepts
 * NULL. */
bool osc_stop(struct osc **osc, int wait_ms);

#endif
