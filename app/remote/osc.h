/* OSC (Open Sound Control) over UDP. Received messages set parameters and run commands; changes of the parameters'
 * values and of figures (measured values) are sent to programs that subscribe. A thread of its own does this, and sets
 * and reads values only through the hub (hub.h, which passes values between the window and clients). */
#ifndef APP_REMOTE_OSC_H
#define APP_REMOTE_OSC_H

#include "app/remote/hub.h"
#include "unet/base/log.h"

struct osc;

struct osc_params {
  /* where messages are received: "PORT" (only from this machine) or "HOST:PORT"; NULL: no messages are received */
  const char *listen;
  /* hosts and ports to which changes of parameters are always sent (--osc-to); NULL: none */
  const struct parameter_choices *to;
  struct hub *hub; /* borrowed, like `log`; `hub` and `log` must outlive *osc */
  const struct log *log;
  /* milliseconds for which a subscription lasts after the last message from the subscriber's machine; 0: OSC_LEASE_S
   * seconds */
  int lease_ms;
};

enum { OSC_LEASE_S = 60 };

/* Opens the socket and starts the thread. If neither params->listen nor params->to is given, *osc becomes NULL and 0 is
 * returned. Returns 0, or -1 with err set. */
int osc_start(struct osc **osc, const struct osc_params *params, struct error *err);
/* Ends the thread, waits at most wait_ms for that, frees *osc and sets it to NULL. Returns false if the thread has not
 * ended in time: it still uses the hub, nothing is freed, and the caller may try again. Does nothing if *osc is
 * NULL. */
bool osc_stop(struct osc **osc, int wait_ms);

#endif
