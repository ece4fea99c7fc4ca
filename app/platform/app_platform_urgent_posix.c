/* Urgent threads. Linux' own calls: those of the C library that are meant for a thread change the process in some. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "app/platform/app_platform.h"

enum { PRIORITY = 1, NICE = -10, THREADS_MAX = 16 };
/* Of a processor, without a sleep: a picture takes a tenth, and a machine of one processor that stands still for so
 * long is still the user's. */
static const rlim_t run_most_us = 300000;

/* Signal handlers are given nothing: what they need is here. */
static struct {
  atomic_int thread[THREADS_MAX]; /* those with real-time scheduling; 0: none */
  atomic_int calmed;
  struct sigaction before; /* what SIGXCPU did */
  bool caught;             /* it is */
} urgent;

static _Thread_local bool given; /* by this file, to this thread */

static int this_thread(void) {
  return (int)syscall(SYS_gettid);
}

/* With SCHED_RESET_ON_FORK nothing that the thread starts has it from there; only root can take that flag away again,
 * and it does nothing to a thread that is usual. */
static int set_policy(int thread, int policy, int priority) {
  const struct sched_param param = {.sched_priority = priority};
  return (int)syscall(SYS_sched_setscheduler, thread, policy | SCHED_RESET_ON_FORK, &param);
}

static int get_policy(void) {
  return (int)syscall(SYS_sched_getscheduler, 0);
}

static int get_nice(void) {
  return getpriority(PRIO_PROCESS, (id_t)this_thread());
}

/* --- one that never sleeps --- */

static bool add_thread(int thread) {
  for (int i = 0; i < THREADS_MAX; i++) {
    int none = 0;
    if (atomic_load(&urgent.thread[i]) == thread || atomic_compare_exchange_strong(&urgent.thread[i], &none, thread))
      return true;
  }
  return false;
}

static void drop_thread(int thread) {
  for (int i = 0; i < THREADS_MAX; i++) {
    int own = thread;
    atomic_compare_exchange_strong(&urgent.thread[i], &own, 0);
  }
}

/* Which of them ran on is not known. */
static void calm_all(void) {
  for (int i = 0; i < THREADS_MAX; i++) {
    int thread = atomic_exchange(&urgent.thread[i], 0);
    if (!thread)
      continue;
    set_policy(thread, SCHED_OTHER, 0);
    atomic_fetch_add(&urgent.calmed, 1);
  }
}

/* Whether RLIMIT_CPU has been reached, by the clock that it goes by, which counts ticks of all threads. The kernel puts
 * a limit off by a second before it sends the signal. */
static bool has_used_its_time(void) {
  const clockid_t ticks = (clockid_t)(~0u << 3);
  struct timespec used;
  struct rlimit limit;
  return !getrlimit(RLIMIT_CPU, &limit) && limit.rlim_cur != RLIM_INFINITY && !clock_gettime(ticks, &used) &&
         (rlim_t)used.tv_sec + 1 >= limit.rlim_cur;
}

/* The signal has another meaning, too, which it keeps: RLIMIT_CPU, or that somebody sent it. Where it is neither, a
 * thread has run on: one of these, or one that was given its place by whoever started the program, and keeps it. */
static void on_long_run(int number, siginfo_t *info, void *context) {
  int reason = errno;
  (void)context;
  if (info->si_code == SI_KERNEL && !has_used_its_time()) {
    calm_all();
  } else if (urgent.before.sa_handler != SIG_IGN) {
    sigaction(number, &urgent.before, NULL);
    raise(number);
  }
  errno = reason;
}

static void catch_signal(void) {
  const struct sigaction action = {.sa_sigaction = on_long_run, .sa_flags = SA_RESTART | SA_SIGINFO};
  urgent.caught = !sigaction(SIGXCPU, NULL, &urgent.before) && !sigaction(SIGXCPU, &action, NULL);
}

/* The kernel sends the signal, and puts the limit off each time: then it is set again. At the other limit, which stays
 * as it is, the kernel kills. */
static bool watch(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  struct rlimit limit;
  pthread_once(&once, catch_signal);
  if (!urgent.caught || getrlimit(RLIMIT_RTTIME, &limit) || limit.rlim_max <= run_most_us)
    return false;
  if (limit.rlim_cur == run_most_us)
    return true;
  limit.rlim_cur = run_most_us;
  return !setrlimit(RLIMIT_RTTIME, &limit);
}

/* --- */

static bool be_real_time(int thread) {
  if (!watch() || !add_thread(thread))
    return false;
  if (!set_policy(0, SCHED_RR, PRIORITY))
    return true;
  drop_thread(thread);
  return false;
}

static bool be_nice(int thread) {
  return !set_policy(0, SCHED_OTHER, 0) && !setpriority(PRIO_PROCESS, (id_t)thread, NICE);
}

/* What nice or chrt have given the program stays as it is. */
static bool is_as_usual(void) {
  return (get_policy() & ~SCHED_RESET_ON_FORK) == SCHED_OTHER && !get_nice();
}

enum urgency platform_urgency(void) {
  int policy = get_policy() & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_RR || policy == SCHED_FIFO)
    return URGENCY_REAL_TIME;
  return policy == SCHED_OTHER && get_nice() < 0 ? URGENCY_NICE : URGENCY_USUAL;
}

enum urgency platform_be_urgent(bool wanted) {
  int thread = this_thread();
  if (wanted && is_as_usual())
    given = be_real_time(thread) || be_nice(thread);
  if (!wanted && given) {
    set_policy(0, SCHED_OTHER, 0);
    setpriority(PRIO_PROCESS, (id_t)thread, 0);
    drop_thread(thread); /* last: one that is real time is known at any moment */
    given = false;
  }
  return platform_urgency();
}

int platform_calmed(void) {
  return atomic_load(&urgent.calmed);
}
