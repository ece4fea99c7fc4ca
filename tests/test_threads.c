/* Tests that exactly the chosen number of threads compute, whatever OpenMP's environment variables say, because oneDNN
 * divides its work by that number.
 *
 * Argument: wanted, limited, flat or dynamic, for the sets of variables in meson.build. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "unet/cpu/cpu_threads.h"

enum { WANTED = 4, LIMIT = 3 };

static int expected;

static void regions_have_as_many_as_chosen(void **state) {
  (void)state;
  int chosen = threads_choose(WANTED), there = 0;
  threads_set(chosen);
#pragma omp parallel
  {
#pragma omp atomic
    there++;
  }
#ifdef _OPENMP
  assert_int_equal(chosen, expected);
#endif
  assert_int_equal(there, chosen);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(regions_have_as_many_as_chosen)};
  const char *name = argc > 1 ? argv[1] : "wanted";
  expected = !strcmp(name, "limited") ? LIMIT : !strcmp(name, "flat") ? 1 : WANTED;
  return cmocka_run_group_tests_name(name, tests, NULL, NULL);
}
