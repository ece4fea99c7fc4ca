/* Tests work on a thread of its own, which the caller waits for or leaves to end by itself. */
#include "tests/rigs/cmocka_all.h"

#include <semaphore.h>
#include <stdlib.h>

#include "app/flow/errand.h"
#include "unet/base/platform.h"

static const int64_t minute_ns = 60000000000;

/* The work, with its struct errand. */
struct job {
  struct errand errand;
  sem_t let; /* posted to let the work end */
  bool worked;
};

static sem_t ended;
static int ends;
static bool all_worked;
static pthread_t ender;

static void work(void *opaque) {
  struct job *job = opaque;
  while (sem_wait(&job->let))
    ;
  job->worked = true;
}

static void end(void *opaque) {
  struct job *job = opaque;
  all_worked &= job->worked;
  sem_destroy(&job->let);
  free(job);
  ender = pthread_self();
  ends++;
  sem_post(&ended);
}

static struct job *begin(void) {
  struct error err;
  struct job *job = calloc(1, sizeof *job);
  assert_non_null(job);
  sem_init(&job->let, 0, 0);
  if (errand_start(&job->errand, work, job, "works", &err))
    fail_msg("%s", err.message);
  return job;
}

static void work_is_waited_for(void **state) {
  (void)state;
  struct job *job = begin();
  assert_true(job->errand.busy && !errand_is_done(&job->errand));
  sem_post(&job->let);
  while (!errand_is_done(&job->errand))
    platform_sleep_ns(1000000);
  errand_join(&job->errand);
  assert_true(job->worked && !job->errand.busy && !errand_is_done(&job->errand));
  end(job);
}

/* errand_leave: the worker thread itself calls the function that frees the work. */
static void work_is_left_alone(void **state) {
  (void)state;
  struct job *job = begin();
  errand_leave(&job->errand, 2000000, end);
  assert_int_equal(ends, 0);
  sem_post(&job->let);
  while (sem_wait(&ended))
    ;
  assert_true(ends == 1 && all_worked);
  assert_false(pthread_equal(ender, pthread_self()));
}

static void work_that_is_done_in_time_ends_here(void **state) {
  (void)state;
  struct job *job = begin();
  sem_post(&job->let);
  errand_leave(&job->errand, minute_ns, end);
  assert_true(ends == 1 && all_worked);
  assert_true(pthread_equal(ender, pthread_self()));
}

static int forget(void **state) {
  (void)state;
  ends = 0;
  all_worked = true;
  return sem_init(&ended, 0, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup(work_is_waited_for, forget),
      cmocka_unit_test_setup(work_is_left_alone, forget),
      cmocka_unit_test_setup(work_that_is_done_in_time_ends_here, forget),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
