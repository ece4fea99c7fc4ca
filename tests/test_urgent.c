/* Tests threads with higher scheduling priority: what the system permits, and which threads have it. Each case runs in
 * a process of its own, because rights cannot be regained. If the system permits real-time scheduling to nobody, the
 * cases that need it are skipped. */
#include "tests/rigs/cmocka_all.h"

#include <dirent.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/platform/app_platform.h"
#include "app/source/reader.h"
#include "tests/rigs/fake_source.h"
#include "tests/rigs/loop_rig.h"

enum { GOOD = 0, BAD = 1, NO_REAL_TIME = 77, PRIORITY_LOWEST = 1, NICE = -10, NICE_LIMIT = 20 - NICE };

/* Prints a condition that does not hold, and ends the case. */
#define EXPECT(what)                                                                                                   \
  do {                                                                                                                 \
    if (!(what)) {                                                                                                     \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #what);                                                       \
      _exit(BAD);                                                                                                      \
    }                                                                                                                  \
  } while (0)

/* A thread's scheduling values from the kernel; zeros if the thread has just ended. */
struct place {
  int nice, policy;
};

static struct place place_of(int thread) {
  char path[64], text[1024] = "";
  struct place place = {0};
  snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
  FILE *file = fopen(path, "r");
  bool there = file && fgets(text, sizeof text, file);
  EXPECT(there || errno == ENOENT || errno == ESRCH);
  if (file)
    fclose(file);
  char *field = there ? strrchr(text, ')') + 2 : NULL; /* the third field of the line */
  for (int number = 3; field && number <= 41; number++, field = strchr(field, ' ') ? strchr(field, ' ') + 1 : NULL) {
    if (number == 19)
      place.nice = atoi(field);
    if (number == 41)
      place.policy = atoi(field);
  }
  return place;
}

static int this_thread(void) {
  return (int)syscall(SYS_gettid);
}

static bool is_usual(int thread) {
  struct place place = place_of(thread);
  return place.policy == SCHED_OTHER && !place.nice;
}

/* True if exactly this many threads of this process have this urgency, and none has another one; usual: all are
 * usual. */
static bool so_many_are(int count, enum urgency urgency) {
  DIR *tasks = opendir("/proc/self/task");
  int real_time = 0, nice = 0;
  EXPECT(tasks);
  for (const struct dirent *task; (task = readdir(tasks));) {
    struct place place = *task->d_name != '.' ? place_of(atoi(task->d_name)) : (struct place){0};
    real_time += place.policy == SCHED_RR;
    nice += place.policy != SCHED_RR && place.nice < 0;
  }
  closedir(tasks);
  return real_time == count * (urgency == URGENCY_REAL_TIME) && nice == count * (urgency == URGENCY_NICE);
}

static bool one_is(enum urgency urgency) {
  return so_many_are(1, urgency);
}

/* Waits for that, because threads that were joined are listed for a moment more. */
static bool so_many_come_to_be(int count, enum urgency urgency) {
  for (int i = 0; i < PATIENCE_MS && !so_many_are(count, urgency); i++)
    usleep(1000);
  return so_many_are(count, urgency);
}

static bool one_comes_to_be(enum urgency urgency) {
  return so_many_come_to_be(1, urgency);
}

static void *look_at_oneself(void *opaque) {
  *(bool *)opaque = is_usual(this_thread());
  return NULL;
}

static bool new_thread_is_usual(void) {
  pthread_t thread;
  bool usual = false;
  EXPECT(!pthread_create(&thread, NULL, look_at_oneself, &usual));
  pthread_join(thread, NULL);
  return usual;
}

static bool new_process_is_usual(void) {
  int status;
  pid_t child = fork();
  if (!child)
    _exit(is_usual(this_thread()) ? GOOD : BAD);
  return waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == GOOD;
}

/* Drops all rights except these limits. Skips the case if this user may not set the limits. */
static void become_nobody(rlim_t real_time, rlim_t nice) {
  const rlim_t wanted[] = {real_time, nice};
  const int what[] = {RLIMIT_RTPRIO, RLIMIT_NICE};
  for (int i = 0; i < 2; i++)
    if (setrlimit((__rlimit_resource_t)what[i], &(struct rlimit){wanted[i], wanted[i]}))
      _exit(NO_REAL_TIME);
  if (!geteuid())
    EXPECT(!setgid(65534) && !setuid(65534));
}

/* Refuses real-time scheduling from now on, whatever rights the process has. */
static bool refuse_real_time(void) {
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_sched_setscheduler, 0, 3),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
      BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, SCHED_RR, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const struct sock_fprog program = {.len = sizeof filter / sizeof filter[0], .filter = filter};
  return !prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) && !prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0);
}

/* Permits nice values below 0, but no real-time class, as some systems do. */
static void permit_nice_alone(void) {
  if (!refuse_real_time() || setpriority(PRIO_PROCESS, 0, NICE) || setpriority(PRIO_PROCESS, 0, 0))
    _exit(NO_REAL_TIME);
}

/* --- what is asked for --- */

static void is_real_time(void) {
  if (platform_be_urgent(true) != URGENCY_REAL_TIME)
    _exit(NO_REAL_TIME);
  EXPECT(place_of(this_thread()).policy == SCHED_RR);
  EXPECT(platform_urgency() == URGENCY_REAL_TIME);
  EXPECT(new_thread_is_usual());
  EXPECT(new_process_is_usual());
  EXPECT(platform_be_urgent(true) == URGENCY_REAL_TIME); /* the thread is real-time already */
  EXPECT(one_is(URGENCY_REAL_TIME));
}

static void permitted_thread_is_real_time(void) {
  is_real_time();
  EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
  EXPECT(is_usual(this_thread()));
  is_real_time();
}

/* The scheduler's reset-on-fork flag stays set, because only root can clear it. Threads that are started later are
 * usual. */
static void limit_permits_it_again_and_again(void) {
  become_nobody(PRIORITY_LOWEST, 0);
  for (int i = 0; i < 3; i++) {
    is_real_time();
    EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
    EXPECT(is_usual(this_thread()));
  }
}

/* Executes another program, as the program does when it restarts itself: see begin_anew. */
static void successor_is_usual_and_may_be_urgent(void) {
  is_real_time();
  platform_be_urgent(false);
  execl("/proc/self/exe", "test_urgent", "successor", (char *)NULL);
  _exit(BAD);
}

static int succeed(void) {
  EXPECT(is_usual(this_thread()));
  is_real_time();
  return GOOD;
}

static void other_limit_makes_it_nice(void) {
  become_nobody(0, NICE_LIMIT);
  EXPECT(platform_be_urgent(true) == URGENCY_NICE);
  EXPECT(place_of(this_thread()).nice == NICE);
  EXPECT(new_thread_is_usual());
  EXPECT(new_process_is_usual());
  EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
  EXPECT(is_usual(this_thread()));
  EXPECT(platform_be_urgent(true) == URGENCY_NICE);
}

static void nice_is_next_to_real_time(void) {
  permit_nice_alone();
  EXPECT(platform_be_urgent(true) == URGENCY_NICE);
  EXPECT(one_is(URGENCY_NICE));
  EXPECT(new_thread_is_usual());
  EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
  EXPECT(one_is(URGENCY_USUAL));
}

static void what_is_not_permitted_changes_nothing(void) {
  become_nobody(0, 0);
  EXPECT(platform_be_urgent(true) == URGENCY_USUAL);
  EXPECT(is_usual(this_thread()));
  EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
}

/* Priorities that the user set by `nice reverie` or `chrt -b 0 reverie` are kept. */
static void what_the_user_gave_stays(void) {
  const struct sched_param none = {0};
  EXPECT(nice(3) >= 0);
  EXPECT(platform_be_urgent(true) == URGENCY_USUAL);
  EXPECT(place_of(this_thread()).nice >= 3);
  EXPECT(!sched_setscheduler(0, SCHED_BATCH, &none));
  EXPECT(platform_be_urgent(true) == URGENCY_USUAL);
  EXPECT(platform_be_urgent(false) == URGENCY_USUAL);
  EXPECT(place_of(this_thread()).policy == SCHED_BATCH);
}

/* Returns the limit on how long a thread may run in real time without sleeping. */
static struct rlimit get_limit(void) {
  struct rlimit limit;
  EXPECT(!getrlimit(RLIMIT_RTTIME, &limit));
  return limit;
}

/* Does what `chrt -R -r 1 reverie` does, which gives real time to the first thread only. */
static void become_real_time(void) {
  const struct sched_param lowest = {.sched_priority = PRIORITY_LOWEST};
  if (sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest))
    _exit(NO_REAL_TIME);
}

static void *hurry_and_rest(void *opaque) {
  *(enum urgency *)opaque = platform_be_urgent(true);
  platform_be_urgent(false);
  return NULL;
}

/* Real time that the user gave is kept, even if that thread never sleeps (other threads would lose it). */
static void real_time_that_the_user_gave_stays(void) {
  pthread_t other;
  enum urgency urgency;
  become_real_time();
  EXPECT(platform_be_urgent(true) == URGENCY_REAL_TIME);
  EXPECT(platform_be_urgent(false) == URGENCY_REAL_TIME);
  EXPECT(!pthread_create(&other, NULL, hurry_and_rest, &urgency) && !pthread_join(other, NULL));
  EXPECT(urgency == URGENCY_REAL_TIME);
  rlim_t limit = get_limit().rlim_cur;
  EXPECT(limit != RLIM_INFINITY);
  while (get_limit().rlim_cur == limit) /* the kernel sends the signal first */
    ;
  EXPECT(place_of(this_thread()).policy == SCHED_RR);
  EXPECT(!platform_count_demoted());
}

/* A thread that never sleeps loses real-time scheduling, so that the machine stays usable. */
static void thread_that_never_rests_is_demoted(void) {
  is_real_time();
  rlim_t limit = get_limit().rlim_cur;
  while (place_of(this_thread()).policy == SCHED_RR)
    ;
  EXPECT(platform_count_demoted() == 1);
  EXPECT(is_usual(this_thread()));
  is_real_time();
  EXPECT(get_limit().rlim_cur == limit); /* the second time it happens as soon */
}

/* The hard limit stays as it is, because a program that is started later may need it. */
static void limit_that_cannot_be_raised_stays(void) {
  rlim_t before = get_limit().rlim_max;
  is_real_time();
  EXPECT(get_limit().rlim_max == before);
}

static void signal_keeps_its_other_meaning(void) {
  is_real_time();
  platform_be_urgent(false);
  raise(SIGXCPU);
  _exit(BAD);
}

/* The process's processor time is limited, as by `ulimit -t`. */
static void program_that_has_used_its_time_ends(void) {
  is_real_time();
  platform_be_urgent(false);
  EXPECT(!setrlimit(RLIMIT_CPU, &(struct rlimit){1, RLIM_INFINITY}));
  for (;;)
    EXPECT(platform_thread_cpu_ns() < 30 * 1000000000ll);
}

/* --- which threads ask --- */

static void run_loop(int depth, bool wanted, enum urgency expected) {
  struct rig rig = {.urgent = wanted};
  struct loop_status status;
  rig_start(&rig, &(struct fake_engine_script){.depth = depth}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  loop_get_status(rig.loop, &status);
  EXPECT(status.wants_urgency == (expected != URGENCY_USUAL));
  EXPECT(one_comes_to_be(expected));
  EXPECT(status.urgency == expected);
  rig_finish(&rig, 0);
  EXPECT(one_comes_to_be(URGENCY_USUAL));
}

/* A loop whose engine computes on the CPU stays usual, because it would keep others from the processors. */
static void run_loops(enum urgency permitted) {
  run_loop(2, true, permitted);
  run_loop(2, false, URGENCY_USUAL);
  run_loop(1, true, URGENCY_USUAL);
}

static void loop_is_urgent_where_the_device_works_by_itself(void) {
  is_real_time();
  platform_be_urgent(false);
  run_loops(URGENCY_REAL_TIME);
}

static void loop_is_nice_where_no_more_is_permitted(void) {
  permit_nice_alone();
  run_loops(URGENCY_NICE);
}

/* Checks the urgency of the reader while it waits for a frame's time, and of the thread that decodes, which is another
 * one if frames are read ahead. */
static void read_some(const struct fake_source_script *script, bool wanted, enum urgency waits, enum urgency decodes) {
  struct mailbox mailbox;
  struct reader *reader;
  struct source *source = NULL;
  const struct source_options options = {.urgent = wanted};
  const struct mail *mail;
  fake_source_begin(script);
  mailbox_init(&mailbox);
  EXPECT(!source_open(&source, "fake", &options, NULL));
  EXPECT(!reader_start(&reader, &source, "fake", &options, &mailbox, NULL));
  for (int i = 0; i < 3; i++)
    EXPECT(mailbox_take(&mailbox, &mail, PATIENCE_MS) == 1);
  EXPECT(fake_source_urgency() == decodes);
  EXPECT(so_many_come_to_be(1 + (decodes != URGENCY_USUAL), waits));
  EXPECT(!reader_stop(&reader, NULL));
  EXPECT(one_comes_to_be(URGENCY_USUAL));
  mailbox_free(&mailbox);
}

static void run_readers(enum urgency urgent) {
  const enum urgency usual = URGENCY_USUAL;
  const struct fake_source_script file = {.frame_ms = 100, .frames = 100000};
  struct fake_source_script hardware = file, camera = file;
  hardware.hardware = "NVDEC";
  camera.realtime = true;
  read_some(&file, true, urgent, usual);
  read_some(&hardware, true, urgent, urgent);
  read_some(&camera, true, usual, usual);
  read_some(&hardware, false, usual, usual);
}

static void reader_is_urgent_where_it_does_not_decode(void) {
  is_real_time();
  platform_be_urgent(false);
  run_readers(URGENCY_REAL_TIME);
}

static void reader_is_nice_where_no_more_is_permitted(void) {
  permit_nice_alone();
  run_readers(URGENCY_NICE);
}

/* --- each case in a process of its own --- */

static void run_apart(void (*run)(void), int signal_expected) {
  int status;
  fflush(NULL);
  pid_t child = fork();
  assert_true(child >= 0);
  if (!child) {
    if (!is_usual(this_thread()) && setpriority(PRIO_PROCESS, 0, 0)) /* the tests were started by nice */
      _exit(NO_REAL_TIME);
    run();
    fflush(NULL);
    _exit(GOOD);
  }
  assert_int_equal(waitpid(child, &status, 0), child);
  if (WIFEXITED(status) && WEXITSTATUS(status) == NO_REAL_TIME) {
    print_message("this user may not be given these rights to urgent threads here\n");
    skip();
  }
  if (signal_expected)
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == signal_expected);
  else
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == GOOD);
}

struct separate {
  void (*run)(void);
  int signal;
};

static void test_apart(void **state) {
  const struct separate *test = *state;
  run_apart(test->run, test->signal);
}

#define CASE(name, signal)                                                                                             \
  {                                                                                                                    \
#name, test_apart, NULL, NULL, &(struct separate) {                                                                \
      name, signal                                                                                                     \
    }                                                                                                                  \
  }

int main(int argc, char **argv) {
  if (argc > 1 && !strcmp(argv[1], "successor"))
    return succeed();
  const struct CMUnitTest tests[] = {
      CASE(permitted_thread_is_real_time, 0),
      CASE(limit_permits_it_again_and_again, 0),
      CASE(successor_is_usual_and_may_be_urgent, 0),
      CASE(other_limit_makes_it_nice, 0),
      CASE(nice_is_next_to_real_time, 0),
      CASE(what_is_not_permitted_changes_nothing, 0),
      CASE(what_the_user_gave_stays, 0),
      CASE(real_time_that_the_user_gave_stays, 0),
      CASE(thread_that_never_rests_is_demoted, 0),
      CASE(limit_that_cannot_be_raised_stays, 0),
      CASE(signal_keeps_its_other_meaning, SIGXCPU),
      CASE(program_that_has_used_its_time_ends, SIGXCPU),
      CASE(loop_is_urgent_where_the_device_works_by_itself, 0),
      CASE(loop_is_nice_where_no_more_is_permitted, 0),
      CASE(reader_is_urgent_where_it_does_not_decode, 0),
      CASE(reader_is_nice_where_no_more_is_permitted, 0),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
