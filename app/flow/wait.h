/* Waiting on a condition until a moment of platform_now_ns, which pthreads' own default clock is not. */
#ifndef APP_FLOW_WAIT_H
#define APP_FLOW_WAIT_H

#include <pthread.h>
#include <stdint.h>
#include <time.h>

void wait_init(pthread_cond_t *condition); /* pthread_cond_destroy ends it */

/* The moment for pthread_cond_timedwait. */
struct timespec wait_deadline(int64_t at_ns);

#endif
