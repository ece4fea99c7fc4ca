/* Keeps processors from sleeping with one thread of class SCHED_IDLE on each, which is always busy but gives way at
 * once to every other thread. The alternative, /dev/cpu_dma_latency, needs root's rights. It also has no effect in a
 * virtual machine, where the host takes back a processor that sleeps. */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/resource.h>

#include "app/platform/app_platform.h"
#include "app/platform/processor_quota.h"

enum { TURNS = 1000, PROCESSORS_MOST = 8192 };

struct awake {
  atomic_bool end;
  int count;
  pthread_t thread[];
};

/* Executes a pause instruction, which leaves more of the processor core to the core's other hardware thread. */
static void idle_a_little(void) {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("yield");
#endif
}

/* The function of a thread that keeps a processor from sleeping: loops until awake->end is true. It ends at once if the
 * system refuses the class SCHED_IDLE, because in the default class the thread would take time from other threads. */
static void *keep_awake(void *opaque) {
  struct awake *awake = opaque;
  const struct sched_param none = {0};
  if (sched_setscheduler(0, SCHED_IDLE, &none))
    return NULL;
  while (!atomic_load_explicit(&awake->end, memory_order_relaxed))
    for (int i = 0; i < TURNS; i++)
      idle_a_little();
  return NULL;
}

static int start_on(struct awake *awake, int processor, size_t bytes, cpu_set_t *one) {
  pthread_attr_t attributes;
  CPU_ZERO_S(bytes, one);
  CPU_SET_S((size_t)processor, bytes, one);
  int code = pthread_attr_init(&attributes);
  if (code)
    return code;
  code = pthread_attr_setaffinity_np(&attributes, bytes, one);
  if (!code)
    code = pthread_create(&awake->thread[awake->count], &attributes, keep_awake, awake);
  awake->count += !code;
  pthread_attr_destroy(&attributes);
  return code;
}

static int start_all(struct awake *awake, const cpu_set_t *all, size_t bytes) {
  cpu_set_t *one = CPU_ALLOC(PROCESSORS_MOST);
  int code = one ? 0 : ENOMEM;
  for (int i = 0; i < PROCESSORS_MOST && !code; i++)
    if (CPU_ISSET_S((size_t)i, bytes, all))
      code = start_on(awake, i, bytes, one);
  if (one)
    CPU_FREE(one);
  return code;
}

/* True if a limit (RLIMIT_CPU or a control group) does not allow `count` processors to be busy all the time. */
static bool is_limited(int count) {
  struct rlimit limit;
  return processor_quota("") < count || (!getrlimit(RLIMIT_CPU, &limit) && limit.rlim_cur != RLIM_INFINITY);
}

static int stay_awake(struct awake **out, const cpu_set_t *all, size_t bytes) {
  int count = CPU_COUNT_S(bytes, all);
  if (is_limited(count))
    return EDQUOT;
  struct awake *awake = calloc(1, sizeof *awake + (size_t)count * sizeof *awake->thread);
  if (!awake)
    return ENOMEM;
  int code = start_all(awake, all, bytes);
  if (code)
    platform_let_sleep(&awake);
  *out = awake;
  return code;
}

int platform_stay_awake(struct awake **out) {
  size_t bytes = CPU_ALLOC_SIZE(PROCESSORS_MOST);
  cpu_set_t *all = CPU_ALLOC(PROCESSORS_MOST);
  *out = NULL;
  if (!all)
    return -1;
  CPU_ZERO_S(bytes, all);
  int code = sched_getaffinity(0, bytes, all) ? errno : stay_awake(out, all, bytes);
  CPU_FREE(all);
  errno = code;
  return code ? -1 : 0;
}

int platform_count_awake(const struct awake *awake) {
  return awake ? awake->count : 0;
}

void platform_let_sleep(struct awake **pointer) {
  struct awake *awake = *pointer;
  if (!awake)
    return;
  atomic_store(&awake->end, true);
  for (int i = 0; i < awake->count; i++)
    pthread_join(awake->thread[i], NULL);
  free(awake);
  *pointer = NULL;
}
