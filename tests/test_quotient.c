/* Tests that divisions by multiplication and shift are exact: at each divisor's multiples and next to them, up to the
 * largest number. */
#include <limits.h>
#include <stdlib.h>

#include "tests/rigs/cmocka_all.h"
#include "cuda/kernels/quotient.h"

static void check(int of, int by) {
  int q = quotient(of, divisor_of(by));
  if (q != of / by)
    fail_msg("%d / %d: %d", of, by, q);
}

/* Checks 0, 1 and the largest number, then multiples of `by` and their neighbours, up to the last multiple. */
static void check_divisor(int by) {
  int last = INT_MAX / by, multiples[] = {1, 2, 3, last / 2, last - 1, last};
  check(0, by);
  check(1, by);
  check(INT_MAX, by);
  for (size_t i = 0; i < sizeof multiples / sizeof multiples[0]; i++)
    for (int beside = -1; beside <= 1; beside++) {
      long long of = (long long)multiples[i] * by + beside;
      if (of >= 0 && of <= INT_MAX)
        check((int)of, by);
    }
}

static void test_small_divisors(void **state) {
  (void)state;
  for (int by = 1; by < 100000; by++)
    check_divisor(by);
}

static void test_large_divisors(void **state) {
  (void)state;
  for (int by = INT_MAX; by > 100000; by -= by / 9973 + 1)
    check_divisor(by);
}

static void test_any_numbers(void **state) {
  (void)state;
  uint64_t random = 1;
  for (int i = 0; i < 1000000; i++) {
    random = random * 6364136223846793005u + 1442695040888963407u;
    check((int)(random >> 33), (int)(random >> 8 & 0x7fffffff) >> (i % 31) | 1);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_small_divisors),
      cmocka_unit_test(test_large_divisors),
      cmocka_unit_test(test_any_numbers),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
