/* Helpers for tests of plans (unet/plan/plan.h). Errors fail the test. */
#ifndef TESTS_PLAN_RIG_H
#define TESTS_PLAN_RIG_H

#include "tests/rigs/cmocka_all.h"
#include "unet/plan/plan.h"

/* Returns a weight of zeros, [out, k, k, in]. */
struct tensor weight(struct resources *resources, const char *name, int out, int k, int in);
/* Finishes the plan, and fails the test unless that fails with a message that contains the text `what`. Frees the
 * plan. */
void expect_failure(struct plan *plan, const char *what);

#endif
