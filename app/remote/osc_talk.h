/* Carries out received OSC messages: sets values and runs commands through the hub (hub.h, which passes values between
 * the window and clients), and makes the answers. This part uses no socket; osc.c passes the messages to it and sends
 * the answers. */
#ifndef APP_REMOTE_OSC_TALK_H
#define APP_REMOTE_OSC_TALK_H

#include "app/remote/hub.h"
#include "app/remote/osc_names.h"
#include "app/remote/osc_packet.h"
#include "app/remote/osc_pattern.h"

/* A function that takes messages which are to be sent; `opaque` is passed as its first argument. */
struct osc_sink {
  void (*put)(void *opaque, const struct osc_message *message);
  void *opaque;
};

enum osc_result { OSC_DONE, OSC_SET, OSC_REFUSED, OSC_WANTS_ALL, OSC_WANTS_NO_MORE };

/* Carries out a received message. *name gets the message's parsed address. Returns:
 *
 *   OSC_SET            the message set a parameter
 *   OSC_REFUSED        the message was refused; err is set, and an error message was passed to answers
 *   OSC_WANTS_ALL      the sender wants to subscribe to changes; the caller subscribes it
 *   OSC_WANTS_NO_MORE  the sender wants to end its subscription; the caller ends it
 *   OSC_DONE           the message was carried out in any other way */
enum osc_result osc_take(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                         struct osc_name *name, struct error *err);

/* Carries out a message whose address is a pattern (osc_is_pattern), for each address that it matches. Addresses that
 * refuse it are left out. set(opaque, name) is called for each parameter that was set. *work limits the matching, as
 * for osc_pattern_each. Returns OSC_DONE. Returns OSC_REFUSED if the pattern is wrong, begins with OSC_ROOT and matches
 * no address, or if all addresses refuse; then err is set, and an error message was passed to answers. */
enum osc_result osc_take_pattern(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                                 long *work, void (*set)(void *opaque, const struct osc_name *name), void *opaque,
                                 struct error *err);

/* Passes to `sink` a message with the value of an instance of a parameter. */
void osc_tell_value(const struct parameters *values, enum parameter id, int index, const struct osc_sink *sink);
/* Passes to `sink` a message for each figure (measured value) that differs from its value in `before`; `before` NULL:
 * for all figures. */
void osc_tell_figures(const struct hub_figures *figures, const struct hub_figures *before, const struct osc_sink *sink);

#endif
