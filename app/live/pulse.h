/* Measures how late threads wake up on this machine, for bench --live. A thread does nothing but wake up at the
 * source's frame rate, with the priority of the threads that pass frames on. Three such threads wake up one after the
 * other for each picture, so these delays are part of its latency. */
#ifndef APP_LIVE_PULSE_H
#define APP_LIVE_PULSE_H

#include "app/flow/stats.h"
#include "unet/base/error.h"

struct pulse;

/* Starts the thread, with fps wake-ups per second. urgent: with real-time priority. The caller ends it with pulse_stop.
 * Returns 0, or -1 with err. */
int pulse_start(struct pulse **out, double fps, bool urgent, struct error *err);
/* Ends the thread, stores in *late how late the thread woke up each time, and sets *pointer to NULL. Does nothing if
 * *pointer is NULL. */
void pulse_stop(struct pulse **pointer, struct stats *late);

#endif
