/* Resets parameters that ask for a handle which the engine could not prepare (struct prepared: the engine made ready
 * for one size, sampler and step count). */
#ifndef APP_LIVE_REFUSAL_H
#define APP_LIVE_REFUSAL_H

#include "app/control/live_state.h"
#include "unet/engine.h"

/* Called after the engine could not prepare the shape `refused`. Finds the first property in which it differs from
 * `shape`, the shape of the handle in use (see handles_first_difference), and resets that property's parameter to its
 * value in `shape`. Does nothing if the values no longer ask for the refused shape. */
void refusal_put_back(struct live_state *state, const struct engine_shape *refused, const struct engine_shape *shape);

#endif
