#include "app/flow/wait.h"

enum { SECOND = 1000000000 };

void wait_init(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

struct timespec wait_deadline(int64_t at_ns) {
  return (struct timespec){.tv_sec = at_ns / SECOND, .tv_nsec = at_ns % SECOND};
}
