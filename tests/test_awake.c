/* Tests threads that keep processors out of deep sleep, and how much processor time the process may use. */
#include "tests/rigs/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#include "app/platform/app_platform.h"
#include "app/platform/processor_quota.h"
#include "tests/rigs/fixture.h"

enum { PATIENCE_MS = 30000 };

/* Counts threads of this process in the idle scheduling class; each must be bound to one processor that no other of
 * them has. *processors becomes the set of those. */
static int count_idle(cpu_set_t *processors) {
  DIR *tasks = opendir("/proc/self/task");
  int count = 0;
  CPU_ZERO(processors);
  assert_non_null(tasks);
  for (const struct dirent *task; (task = readdir(tasks));) {
    cpu_set_t own;
    int thread = atoi(task->d_name);
    if (!thread || sched_getscheduler(thread) != SCHED_IDLE || sched_getaffinity(thread, sizeof own, &own))
      continue; /* the thread may have just ended */
    count++;
    assert_int_equal(CPU_COUNT(&own), 1);
    CPU_OR(processors, processors, &own);
  }
  closedir(tasks);
  return count;
}

/* Waits for a number of idle threads: each sets its class itself once it runs, and is listed for a moment after it was
 * joined. */
static int wait_for_idle(int wanted, cpu_set_t *processors) {
  int count = count_idle(processors);
  for (int i = 0; i < PATIENCE_MS && count != wanted; i++) {
    usleep(1000);
    count = count_idle(processors);
  }
  return count;
}

static void stay_awake_on(const cpu_set_t *wanted) {
  struct awake *awake;
  cpu_set_t kept;
  int status = platform_stay_awake(&awake), count = platform_count_awake(awake);
  if (status && errno == EDQUOT) {
    struct rlimit limit;
    assert_null(awake);
    assert_int_equal(getrlimit(RLIMIT_CPU, &limit), 0);
    assert_true(processor_quota("") < CPU_COUNT(wanted) || limit.rlim_cur != RLIM_INFINITY);
    print_message("this user may not use all processors here all the time\n");
    skip();
  }
  assert_int_equal(status, 0);
  assert_int_equal(count, CPU_COUNT(wanted));
  assert_int_equal(wait_for_idle(count, &kept), count);
  assert_true(CPU_EQUAL(&kept, wanted));
  platform_let_sleep(&awake);
  assert_null(awake);
  assert_int_equal(wait_for_idle(0, &kept), 0);
  platform_let_sleep(&awake);
}

static void test_each_processor_is_kept_awake(void **state) {
  (void)state;
  cpu_set_t all;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  stay_awake_on(&all);
  stay_awake_on(&all);
}

/* Processors that the process may not use, as after taskset, get no such thread. */
static void test_others_are_left_alone(void **state) {
  (void)state;
  cpu_set_t all, one;
  int first = 0;
  assert_int_equal(sched_getaffinity(0, sizeof all, &all), 0);
  while (!CPU_ISSET((size_t)first, &all))
    first++;
  CPU_ZERO(&one);
  CPU_SET((size_t)first, &one);
  assert_int_equal(sched_setaffinity(0, sizeof one, &one), 0);
  stay_awake_on(&one);
  assert_int_equal(sched_setaffinity(0, sizeof all, &all), 0);
}

/* If the process's processor time is limited, as by `ulimit -t`, no such thread runs. */
static void test_limited_time_is_not_used_up(void **state) {
  (void)state;
  struct awake *awake;
  struct rlimit before, limit;
  cpu_set_t kept;
  assert_int_equal(getrlimit(RLIMIT_CPU, &before), 0);
  limit = (struct rlimit){1000000, before.rlim_max};
  assert_int_equal(setrlimit(RLIMIT_CPU, &limit), 0);
  int status = platform_stay_awake(&awake), reason = errno;
  assert_int_equal(setrlimit(RLIMIT_CPU, &before), 0);
  assert_int_equal(status, -1);
  assert_int_equal(platform_count_awake(awake), 0);
  assert_int_equal(reason, EDQUOT);
  assert_null(awake);
  assert_int_equal(wait_for_idle(0, &kept), 0);
}

/* --- limits of processor time --- */

/* A file of /proc or /sys on a made-up system. */
struct file {
  const char *name, *text;
};

static double quota_with(const struct file *files, int count) {
  char *root = fixture_make();
  for (int i = 0; i < count; i++)
    fixture_text(root, files[i].name, files[i].text);
  double quota = processor_quota(root);
  fixture_remove(root);
  return quota;
}

#define QUOTA(...)                                                                                                     \
  quota_with((const struct file[]){__VA_ARGS__},                                                                       \
             (int)(sizeof((const struct file[]){__VA_ARGS__}) / sizeof(struct file)))

static void test_version_2(void **state) {
  (void)state;
  const struct file self = {"proc/self/cgroup", "0::/user.slice/show\n"};
  assert_true(isinf(QUOTA(self)));
  assert_true(isinf(QUOTA(self, {"sys/fs/cgroup/user.slice/show/cpu.max", "max 100000\n"})));
  assert_true(QUOTA(self, {"sys/fs/cgroup/user.slice/show/cpu.max", "150000 100000\n"}) == 1.5);
  assert_true(QUOTA(self, {"sys/fs/cgroup/user.slice/show/cpu.max", "400000 100000\n"},
                    {"sys/fs/cgroup/user.slice/cpu.max", "200000 100000\n"}) == 2);
  assert_true(QUOTA(self, {"sys/fs/cgroup/cpu.max", "50000 100000\n"}) == 0.5);
}

static void test_version_1(void **state) {
  (void)state;
  const struct file self = {"proc/self/cgroup", "5:cpuset:/other\n4:cpuacct,cpu:/docker/a\n0::/\n"};
  const struct file period = {"sys/fs/cgroup/cpu/docker/a/cpu.cfs_period_us", "100000\n"};
  const struct file other = {"sys/fs/cgroup/cpu/other/cpu.cfs_quota_us", "100\n"};
  const struct file other_period = {"sys/fs/cgroup/cpu/other/cpu.cfs_period_us", "100000\n"};
  assert_true(isinf(QUOTA(self, other, other_period)));
  assert_true(isinf(QUOTA(self, period, {"sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "-1\n"})));
  assert_true(QUOTA(self, period, {"sys/fs/cgroup/cpu/docker/a/cpu.cfs_quota_us", "300000\n"}) == 3);
}

/* Files that are missing or make no sense set no limit. */
static void test_nothing_that_makes_sense(void **state) {
  (void)state;
  assert_true(isinf(QUOTA({"proc/other", ""})));
  assert_true(isinf(QUOTA({"proc/self/cgroup", "0\n::\nx:cpu\n"}, {"sys/fs/cgroup/cpu.max", "max"})));
  assert_true(isinf(QUOTA({"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", "100000 0\n"})));
  assert_true(isinf(QUOTA({"proc/self/cgroup", "0::/\n"}, {"sys/fs/cgroup/cpu.max", ""})));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_each_processor_is_kept_awake),
      cmocka_unit_test(test_others_are_left_alone),
      cmocka_unit_test(test_limited_time_is_not_used_up),
      cmocka_unit_test(test_version_2),
      cmocka_unit_test(test_version_1),
      cmocka_unit_test(test_nothing_that_makes_sense),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
