#include "tests/rigs/plan_rig.h"

#include <string.h>

struct tensor weight(struct resources *resources, const char *name, int out, int k, int in) {
  static const float zeros[64 * 9 * 128];
  struct weight_part part = {zeros, DTYPE_F32, out};
  struct error err = {0};
  struct tensor t = resources_weight(resources, name, out, k, k, in, &part, 1, &err);
  assert_true(tensor_exists(t));
  return t;
}

void expect_failure(struct plan *plan, const char *what) {
  struct error err = {0};
  assert_int_equal(plan_finish(plan, &err), -1);
  if (!strstr(err.message, what))
    fail_msg("'%s' does not mention '%s'", err.message, what);
  plan_free(plan);
}
