/* Carries out OSC messages: sets values and runs commands in the hub, and makes the answers. Sockets and the thread are
 * in osc.c. */
#ifndef APP_REMOTE_OSC_TALK_H
#define APP_REMOTE_OSC_TALK_H

#include "app/remote/hub.h"
#include "app/remote/osc_names.h"
#include "app/remote/osc_packet.h"

/* The receiver of messages. */
struct osc_sink {
  void (*put)(void *opaque, const struct osc_message *message);
  void *opaque;
};

enum osc_result { OSC_DONE, OSC_SET, OSC_REFUSED, OSC_WANTS_ALL, OSC_WANTS_NO_MORE };

/* Does what the message asks for. *name gets what the message is about. Returns OSC_SET if it set a parameter;
 * OSC_REFUSED with err set if it was refused, which the sender has been answered; OSC_WANTS_ALL or OSC_WANTS_NO_MORE if
 * the caller is to begin or end a subscription. */
enum osc_result osc_take(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                         struct osc_name *name, struct error *err);

/* Sends the value of an instance of a parameter. */
void osc_tell_value(const struct parameters *values, enum parameter id, int index, const struct osc_sink *sink);
/* Sends the figures that differ from those before. before NULL: all of them. */
void osc_tell_figures(const struct hub_figures *figures, const struct hub_figures *before, const struct osc_sink *sink);

#endif
