/* A thread that only wakes, as often as a source has frames, as urgent as those that a picture waits for. How late it
 * wakes is the machine's doing; a picture waits for three such threads one after the other. */
#ifndef APP_LIVE_PULSE_H
#define APP_LIVE_PULSE_H

#include "app/flow/stats.h"
#include "unet/base/error.h"

struct pulse;

/* Owned by the caller, who ends it with pulse_stop. urgent: as platform_be_urgent has it. */
int pulse_start(struct pulse **out, double fps, bool urgent, struct error *err);
/* Sets how late it woke each time, if there is one, and *pointer to NULL. */
void pulse_stop(struct pulse **pointer, struct stats *late);

#endif
