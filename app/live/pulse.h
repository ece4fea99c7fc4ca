/* Measures how late threads wake up on this machine, for bench --live: a thread that does nothing but wake up at the
 * source's frame rate, with the same priority as the threads that pass frames on. Each picture is passed on by three
 * threads, one after the other, which must wake up; so their delays are a part of its latency. */
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
