/* What an OSC message does to the hub, and what is answered. Knows no socket and no thread. */
#ifndef APP_REMOTE_OSC_TALK_H
#define APP_REMOTE_OSC_TALK_H

#include "app/remote/hub.h"
#include "app/remote/osc_names.h"
#include "app/remote/osc_packet.h"

/* Where messages go. */
struct osc_sink {
  void (*put)(void *opaque, const struct osc_message *message);
  void *opaque;
};

enum osc_result { OSC_DONE, OSC_SET, OSC_REFUSED, OSC_WANTS_ALL, OSC_WANTS_NO_MORE };

/* Does what the message asks for. *name: what it was about. OSC_SET: of a parameter; OSC_REFUSED: err says why, and the
 * answer has been told so; subscriptions are the caller's. */
enum osc_result osc_take(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                         struct osc_name *name, struct error *err);

/* Messages that say how things are. */
void osc_tell_value(const struct parameters *values, enum parameter id, int index, const struct osc_sink *sink);
/* What differs from the figures before (NULL: all of them). */
void osc_tell_figures(const struct hub_figures *figures, const struct hub_figures *before, const struct osc_sink *sink);

#endif
