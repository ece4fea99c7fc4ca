/* Helps to wait on a condition variable until a time on the clock of platform_now_ns; pthread_cond_timedwait uses
 * another clock by default. */
#ifndef APP_FLOW_WAIT_H
#define APP_FLOW_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

/* Initialises a condition variable so that threads can wait on it until a time that wait_deadline returns. The caller
 * destroys it with pthread_cond_destroy. */
void wait_init(pthread_cond_t *condition);

/* Returns the time at_ns (platform_now_ns) in the form that pthread_cond_timedwait takes. */
struct timespec wait_deadline(int64_t at_ns);

#endif
