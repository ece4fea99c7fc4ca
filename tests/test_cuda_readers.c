/* Tests the threads that read pieces of a weight: each piece is read once, by several threads at a time, and a job is
 * over when all of its pieces are. */
#include "tests/rigs/cmocka_all.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "cuda/readers.h"
#include "unet/base/platform.h"

enum { JOBS = 500 };

struct job {
  atomic_int reads[READERS_MAX];
  atomic_int waiting; /* pieces that are being read */
  int together;       /* each piece waits until so many are being read */
};

static void count_piece(void *opaque, int piece) {
  struct job *job = opaque;
  atomic_fetch_add(&job->reads[piece], 1);
}

static void assert_read_once(const struct job *job, int pieces) {
  for (int i = 0; i < READERS_MAX; i++)
    assert_int_equal(job->reads[i], i < pieces);
}

/* Many short jobs, one after the other: pieces of the next job are not taken for those of the last one. */
static void each_piece_is_read_once(void **state) {
  (void)state;
  struct readers *readers = readers_open();
  for (int i = 0; i < JOBS; i++) {
    struct job job = {0};
    readers_run(readers, i % (READERS_MAX + 1), count_piece, &job);
    assert_read_once(&job, i % (READERS_MAX + 1));
  }
  readers_close(readers);
}

static void meet(void *opaque, int piece) {
  struct job *job = opaque;
  atomic_fetch_add(&job->waiting, 1);
  for (int i = 0; job->waiting < job->together && i < 10000; i++)
    platform_sleep_ns(1000000);
  count_piece(opaque, piece);
}

static void pieces_are_read_at_the_same_time(void **state) {
  (void)state;
  struct readers *readers = readers_open();
  struct job job = {.together = readers_count(readers)};
  assert_true(job.together >= 1 && job.together <= READERS_MAX);
  assert_true(platform_processors() == 1 || job.together > 1);
  readers_run(readers, job.together, meet, &job);
  assert_int_equal(job.waiting, job.together);
  assert_read_once(&job, job.together);
  readers_close(readers);
}

static void without_threads_the_caller_reads(void **state) {
  (void)state;
  struct job job = {0};
  assert_int_equal(readers_count(NULL), 1);
  readers_run(NULL, READERS_MAX, count_piece, &job);
  assert_read_once(&job, READERS_MAX);
  readers_close(NULL);
}

static void threads_that_did_nothing_end(void **state) {
  (void)state;
  for (int i = 0; i < 20; i++)
    readers_close(readers_open());
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(each_piece_is_read_once),
      cmocka_unit_test(pieces_are_read_at_the_same_time),
      cmocka_unit_test(without_threads_the_caller_reads),
      cmocka_unit_test(threads_that_did_nothing_end),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
