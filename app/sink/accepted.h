/* Finds out which frame rates and sizes a container takes, for a message after it refused others. */
#ifndef APP_SINK_ACCEPTED_H
#define APP_SINK_ACCEPTED_H

#include "app/sink/sink.h"
#include "app/sink/target.h"

/* Called after target's container or its encoder refused the pictures of options. Tries usual frame rates at the same
 * size, then usual sizes at the same rate, then both, by writing headers into memory. Returns true, and fills err, if
 * some of them are taken. */
bool accepted_say(const struct target *target, const struct sink_options *options, struct error *err);

#endif
