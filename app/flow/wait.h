/* Waiting on a condition until a time of platform_now_ns, which is not the default clock of pthread_cond_timedwait. */
#ifndef APP_FLOW_WAIT_H
#define APP_FLOW_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

void wait_init(pthread_cond_t *condition); /* pthread_cond_destroy frees it */

/* Returns the time in the form that pthread_cond_timedwait takes. */
struct timespec wait_deadline(int64_t at_ns);

#endif
