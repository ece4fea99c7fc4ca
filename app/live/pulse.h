/* A thread that does nothing but wake up, at the source's frame rate and with the same urgency as the threads that a
 * picture passes through. How late it wakes is a property of the machine. A picture passes through three such threads,
 * one after the other. */
#ifndef APP_LIVE_PULSE_H
#define APP_LIVE_PULSE_H

#include "app/flow/stats.h"
#include "unet/base/error.h"

struct pulse;

/* Starts the thread. The caller ends it with pulse_stop. urgent: as for platform_be_urgent. */
int pulse_start(struct pulse **out, double fps, bool urgent, struct error *err);
/* Ends the thread, stores how late it woke each time, and sets *pointer to NULL. Does nothing if *pointer is NULL. */
void pulse_stop(struct pulse **pointer, struct stats *late);

#endif
