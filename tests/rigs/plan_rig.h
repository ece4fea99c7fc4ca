/* Helpers for tests of plans. Errors fail the test. */
#ifndef TESTS_PLAN_RIG_H
#define TESTS_PLAN_RIG_H

#include "tests/rigs/cmocka_all.h"
#include "unet/plan/plan.h"

/* Returns a weight of zeros with k x k taps. */
struct tensor weight(struct resources *resources, const char *name, int out, int k, int in);
/* Fails the test unless the plan cannot be finished and the message contains what. Frees the plan. */
void expect_failure(struct plan *plan, const char *what);

#endif
