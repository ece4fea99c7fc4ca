/* Tests which exit status a show ends with if several things are wrong at its end. */
#include "tests/rigs/cmocka_all.h"

#include "app/live/ending.h"

static void the_worst_counts(void **state) {
  (void)state;
  static const struct {
    struct ending ending;
    enum status status;
  } cases[] = {
      {{.interrupted = false}, STATUS_OK},
      {{.interrupted = true}, STATUS_INTERRUPTED},
      {{.failed = true, .why = STATUS_INPUT}, STATUS_INPUT},
      {{.hangs = true}, STATUS_DEVICE},
      {{.hangs = true, .interrupted = true}, STATUS_INTERRUPTED},
      {{.hangs = true, .failed = true, .why = STATUS_INPUT}, STATUS_INPUT},
      {{.interrupted = true, .failed = true, .why = STATUS_INPUT}, STATUS_INTERRUPTED},
      {{.failed = true, .why = STATUS_OUTPUT}, STATUS_OUTPUT},
      {{.hangs = true, .failed = true, .why = STATUS_OUTPUT}, STATUS_OUTPUT},
      {{.interrupted = true, .failed = true, .why = STATUS_OUTPUT}, STATUS_OUTPUT},
      {{.hangs = true, .interrupted = true, .failed = true, .why = STATUS_OUTPUT}, STATUS_OUTPUT},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(ending_status(&cases[i].ending), cases[i].status);
  assert_int_equal(STATUS_OUTPUT, 6); /* documented in the user guide */
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(the_worst_counts)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
