/* Says which parameters the model in use refuses, and why, so that the operator's window can show them greyed. */
#ifndef APP_CONTROL_REFUSALS_H
#define APP_CONTROL_REFUSALS_H

#include "app/control/parameters.h"
#include "unet/engine.h"

/* For each parameter the reason why the model refuses it, a string constant of a few words; NULL: the model takes it.
 * Initialise with zeros: nothing is refused. */
struct refusals {
  const char *why[PARAMETERS];
};

/* Fills *refusals for the model that `info` describes and its handle (prepared size and step count) that `prepared`
 * describes. */
void refusals_find(struct refusals *refusals, const struct engine_info *info, const struct prepared_info *prepared);

#endif
