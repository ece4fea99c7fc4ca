/* A temporary folder for the tests of a program, with set-up and tear-down for a group of tests or for each test. */
#ifndef TESTS_SCRATCH_H
#define TESTS_SCRATCH_H

#include "tests/rigs/fixture.h"

static char *scratch;

static int scratch_make(void **state) {
  (void)state;
  scratch = fixture_make();
  return 0;
}

static int scratch_remove(void **state) {
  (void)state;
  fixture_remove(scratch);
  return 0;
}

#endif
