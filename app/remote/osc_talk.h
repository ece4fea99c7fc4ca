/* Carries out OSC messages: sets values and runs commands in the hub, and makes the answers. It uses no socket; osc.c
 * passes the messages and sends the answers. */
#ifndef APP_REMOTE_OSC_TALK_H
#define APP_REMOTE_OSC_TALK_H

#include "app/remote/hub.h"
#include "app/remote/osc_names.h"
#include "app/remote/osc_packet.h"

/* A function that messages are passed to, in order to be sent. */
struct osc_sink {
  void (*put)(void *opaque, const struct osc_message *message);
  void *opaque;
};

enum osc_result { OSC_DONE, OSC_SET, OSC_REFUSED, OSC_WANTS_ALL, OSC_WANTS_NO_MORE };

/* Carries out a message. *name gets its parsed address. Returns OSC_SET if it set a parameter; OSC_REFUSED with err set
 * if it was refused, after an error message was passed to answers; OSC_WANTS_ALL or OSC_WANTS_NO_MORE if the sender
 * wants to subscribe or to end its subscription, which the caller does; OSC_DONE otherwise. */
enum osc_result osc_take(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                         struct osc_name *name, struct error *err);

/* Passes the value of an instance of a parameter to sink. */
void osc_tell_value(const struct parameters *values, enum parameter id, int index, const struct osc_sink *sink);
/* Passes each figure that differs from `before` to sink; all figures if before is NULL. */
void osc_tell_figures(const struct hub_figures *figures, const struct hub_figures *before, const struct osc_sink *sink);

#endif
