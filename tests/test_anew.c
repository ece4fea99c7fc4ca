/* Tests a program that replaces itself by exec (a restart): its arguments and environment, and that requests to end
 * (signals) are not lost meanwhile.
 *
 * If the variable ROUND is set, this program is the one under test: in round 0 it starts itself as round 1, which waits
 * for the signal. */
#include "tests/rigs/cmocka_all.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "app/platform/app_platform.h"

#define ROUND "REVERIE_TEST_ROUND"

enum { ASKED = 130, NEVER_ASKED = 1, FAILED = 2, THREADS = 2, PATIENCE_MS = 60000, TRIES = 200 };

static atomic_bool stop;
static atomic_int idling;

/* Threads like a library's, which receive all signals once they run: before that they inherit blocked signals. */
static void *idle(void *opaque) {
  atomic_fetch_add(&idling, 1);
  for (;;)
    usleep(100);
  return opaque;
}

static int play(int round) {
  pthread_t thread;
  platform_catch_signals(&stop);
  for (int i = 0; i < THREADS; i++)
    pthread_create(&thread, NULL, idle, NULL);
  while (atomic_load(&idling) < THREADS)
    usleep(100);
  if (!round) {
    if (write(STDOUT_FILENO, "", 1) != 1)
      return FAILED;
    platform_begin_anew(&stop, ROUND, "1", NULL, 0);
    return atomic_load(&stop) && errno == EINTR && !strcmp(getenv(ROUND), "0") ? ASKED : FAILED;
  }
  for (int waited = 0; waited < PATIENCE_MS && !atomic_load(&stop); waited++)
    usleep(1000);
  return atomic_load(&stop) ? ASKED : NEVER_ASKED;
}

static int run(useconds_t pause_us) {
  int ready[2], status;
  char byte;
  assert_int_equal(pipe(ready), 0);
  pid_t pid = fork();
  if (!pid) {
    dup2(ready[1], STDOUT_FILENO);
    close(ready[0]);
    setenv(ROUND, "0", 1);
    execl("/proc/self/exe", "test_anew", (char *)NULL);
    _exit(FAILED);
  }
  close(ready[1]);
  assert_int_equal(read(ready[0], &byte, 1), 1);
  close(ready[0]);
  usleep(pause_us);
  kill(pid, SIGTERM);
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

/* A signal before, while or after the program is replaced is never lost; each try sends it at another moment. */
static void no_request_is_lost(void **state) {
  (void)state;
  for (int i = 0; i < TRIES; i++)
    assert_int_equal(run((useconds_t)i * 16), ASKED);
}

/* If the signal comes before the exec, the call returns; it leaves no variables in the environment, and a second signal
 * ends the program. */
static void stays_where_it_is_to_end(void **state) {
  (void)state;
  atomic_bool asked = true;
  sigset_t held;
  platform_catch_signals(&stop);
  platform_begin_anew(&asked, ROUND, "1", NULL, 0);
  assert_int_equal(errno, EINTR);
  assert_null(getenv(ROUND));
  pthread_sigmask(SIG_SETMASK, NULL, &held);
  assert_false(sigismember(&held, SIGTERM));
  assert_false(atomic_load(&stop));
  raise(SIGTERM);
  assert_true(atomic_load(&stop));
}

static void *give_up(void *unused) {
  (void)unused;
  abort();
}

/* Returns the program's status after an abort on a thread that no library has called, or in a function of cmocka's
 * name. */
static int status_of_abort(const char *library, bool on_thread) {
  const struct platform_abort how = {library, "", "", ASKED, FAILED};
  int status;
  pid_t pid = fork();
  if (!pid) {
    pthread_t thread;
    platform_catch_abort(&how);
    if (on_thread && !pthread_create(&thread, NULL, give_up, NULL))
      pthread_join(thread, NULL);
    give_up(NULL);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

static void the_library_that_gave_up_is_known(void **state) {
  (void)state;
  assert_int_equal(status_of_abort("libcmocka", false), ASKED);
  assert_int_equal(status_of_abort("libcmocka", true), FAILED);
  assert_int_equal(status_of_abort("libnosuch", false), FAILED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(no_request_is_lost),
      cmocka_unit_test(stays_where_it_is_to_end),
      cmocka_unit_test(the_library_that_gave_up_is_known),
  };
  const char *round = getenv(ROUND);
  return round ? play(atoi(round)) : cmocka_run_group_tests(tests, NULL, NULL);
}
