/* Changes the scheduling classes of threads. Linux system calls are used, because the functions of some C libraries
 * apply to the whole process. */
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
/* Microseconds of processor time that a real-time thread may use without sleeping; a picture needs about a tenth of
 * this. With a single processor, no other thread runs for up to this time. */
static const rlim_t run_most_us = 300000;

/* Data of the handler of SIGXCPU. They are static because no argument can be passed to a signal handler. */
static struct {
  /* numbers of the threads that this file has given real-time scheduling; 0: the entry is unused */
  atomic_int thread[THREADS_MAX];
  atomic_int demoted;
  struct sigaction before; /* what SIGXCPU did before this file installed its handler */
  bool caught;             /* true: this file's handler of SIGXCPU is installed */
} urgent;

static _Thread_local bool given; /* true: this file has changed the calling thread's scheduling class */

static int this_thread(void) {
  return (int)syscall(SYS_gettid);
}

/* Sets the scheduling class of a thread. With SCHED_RESET_ON_FORK, threads and processes that the thread starts do not
 * get its class. Only root may clear this flag, and it has no effect on a thread in the default class. */
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

/* --- threads that run too long --- */

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

/* Moves all real-time threads to the default scheduling class. The kernel's signal that a real-time thread ran too
 * long without a pause does not tell which thread it was. */
static void demote_all(void) {
  for (int i = 0; i < THREADS_MAX; i++) {
    int thread = atomic_exchange(&urgent.thread[i], 0);
    if (!thread)
      continue;
    set_policy(thread, SCHED_OTHER, 0);
    atomic_fetch_add(&urgent.demoted, 1);
  }
}

/* Returns true if the process has reached its limit RLIMIT_CPU of processor time. This is measured with the clock that
 * the kernel itself uses for the limit, which counts ticks of all threads. The kernel raises the limit by a second
 * before it sends the signal. */
static bool has_used_its_time(void) {
  const clockid_t ticks = (clockid_t)(~0u << 3);
  struct timespec used;
  struct rlimit limit;
  return !getrlimit(RLIMIT_CPU, &limit) && limit.rlim_cur != RLIM_INFINITY && !clock_gettime(ticks, &used) &&
         (rlim_t)used.tv_sec + 1 >= limit.rlim_cur;
}

/* Handles SIGXCPU. Normally a real-time thread has run too long: all threads that this file made real-time get the
 * default class; other threads keep theirs. If a user sent the signal, or RLIMIT_CPU caused it, does what the process
 * did before this handler was installed. */
static void on_long_run(int number, siginfo_t *info, void *context) {
  int reason = errno;
  (void)context;
  if (info->si_code == SI_KERNEL && !has_used_its_time()) {
    demote_all();
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

/* Sets the processor time that a real-time thread may use without a pause; beyond it the kernel sends SIGXCPU. The
 * kernel raises this limit each time, so the function is called again then. The hard limit, at which the kernel kills
 * the process, stays. Returns false if the limit cannot be set. */
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

/* --- changing the scheduling class of threads --- */

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

/* True if the calling thread has the default scheduling class; other classes were set by nice or chrt and are kept. */
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
    /* the thread is removed from the list of real-time threads only now, after its scheduling class has changed, so
     * that every real-time thread is always in the list */
    drop_thread(thread);
    given = false;
  }
  return platform_urgency();
}

int platform_count_demoted(void) {
  return atomic_load(&urgent.demoted);
}
