/* Tests that threads share the number of malloc's arenas that was asked for. The process is this test alone, because
 * the limit counts only for arenas that are not there yet. */
#include "tests/rigs/cmocka_all.h"

#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "app/platform/app_platform.h"

enum { MOST = 2, THREADS = 8, BYTES = 3000 };

static void *take_memory(void *opaque) {
  pthread_barrier_t *all_have = opaque;
  char *volatile bytes = malloc(BYTES);
  pthread_barrier_wait(all_have);
  free(bytes);
  return NULL;
}

/* Returns how many arenas malloc_info tells of. */
static int count_arenas(void) {
  char *told = NULL;
  size_t size = 0;
  int count = 0;
  FILE *out = open_memstream(&told, &size);
  assert_non_null(out);
  assert_int_equal(malloc_info(0, out), 0);
  fclose(out);
  for (const char *at = told; (at = strstr(at, "<heap nr=")); at++)
    count++;
  free(told);
  return count;
}

static void threads_share_arenas(void **state) {
  (void)state;
  pthread_t thread[THREADS];
  pthread_barrier_t all_have;
  platform_limit_arenas(MOST);
  assert_int_equal(pthread_barrier_init(&all_have, NULL, THREADS + 1), 0);
  for (int i = 0; i < THREADS; i++)
    assert_int_equal(pthread_create(&thread[i], NULL, take_memory, &all_have), 0);
  pthread_barrier_wait(&all_have);
  for (int i = 0; i < THREADS; i++)
    pthread_join(thread[i], NULL);
  pthread_barrier_destroy(&all_have);
  assert_in_range(count_arenas(), 1, MOST);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(threads_share_arenas)};
  unsetenv("MALLOC_ARENA_MAX");
  unsetenv("GLIBC_TUNABLES");
  return cmocka_run_group_tests(tests, NULL, NULL);
}
