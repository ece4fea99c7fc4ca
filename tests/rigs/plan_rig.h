/* What the tests of plans share. Failures fail the test. */
#ifndef TESTS_PLAN_RIG_H
#define TESTS_PLAN_RIG_H

#include "tests/rigs/cmocka_all.h"
#include "unet/plan/plan.h"

/* Zeros, of k x k taps. */
struct tensor weight(struct resources *resources, const char *name, int out, int k, int in);
/* The plan cannot be finished, and the message says this; the plan is freed. */
void expect_failure(struct plan *plan, const char *what);

#endif
