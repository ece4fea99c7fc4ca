/* Urgent threads. Linux' own calls: those of the C library that are meant for a thread change the process in some. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "app/platform/app_platform.h"

enum { PRIORITY = 1, NICE = -10, THREADS_MAX = 16 };
/* Of a processor, without a sleep: a picture takes a tenth, and a machine of one processor that stands still for so long
 * is still the user's. */
static const rlim_t run_most_us = 300000;

/* Signal handlers are given nothing: what they need is here. */
static struct {
  atomic_int thread[THREADS_MAX]; /* those with real-time scheduling; 0: none */
  atomic_int calmed;
} urgent;

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

/* Which of them ran on is not known. The signal has another meaning, too (RLIMIT_CPU), which it keeps. */
static void on_long_run(int number) {
  int reason = errno;
  bool any = false;
  for (int i = 0; i < THREADS_MAX; i++) {
    int thread = atomic_exchange(&urgent.thread[i], 0);
    if (!thread)
      continue;
    any = true;
    set_policy(thread, SCHED_OTHER, 0);
    atomic_fetch_add(&urgent.calmed, 1);
  }
  if (!any) {
    signal(number, SIG_DFL);
    raise(number);
  }
  errno = reason;
}

/* The kernel sends the signal, and puts the limit off each time. At the other limit it kills. */
static bool watch(void) {
  const struct sigaction action = {.sa_handler = on_long_run, .sa_flags = SA_RESTART};
  struct rlimit limit;
  if (getrlimit(RLIMIT_RTTIME, &limit) || limit.rlim_max <= run_most_us)
    return false;
  limit.rlim_cur = run_most_us;
  return !setrlimit(RLIMIT_RTTIME, &limit) && !sigaction(SIGXCPU, &action, NULL);
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

static bool is_own(void) {
  return get_policy() == (SCHED_RR | SCHED_RESET_ON_FORK) ||
         (get_policy() == (SCHED_OTHER | SCHED_RESET_ON_FORK) && get_nice() == NICE);
}

enum urgency platform_urgency(void) {
  int policy = get_policy() & ~SCHED_RESET_ON_FORK;
  if (policy == SCHED_RR || policy == SCHED_FIFO)
    return URGENCY_REAL_TIME;
  return policy == SCHED_OTHER && get_nice() < 0 ? URGENCY_NICE : URGENCY_USUAL;
}

enum urgency platform_be_urgent(bool wanted) {
  int thread = this_thread();
  if (wanted && is_as_usual() && !be_real_time(thread))
    be_nice(thread);
  if (!wanted && is_own()) {
    drop_thread(thread);
    set_policy(0, SCHED_OTHER, 0);
    setpriority(PRIO_PROCESS, (id_t)thread, 0);
  }
  return platform_urgency();
}

int platform_calmed(void) {
  return atomic_load(&urgent.calmed);
}
