/* The cases of every op: shapes of real networks, and unusual ones. */
#ifndef TESTS_OP_CASES_H
#define TESTS_OP_CASES_H

#include "tests/rigs/op_test.h"

/* Runs the cases whose names begin with prefix ("" for all; "conv", "linear"...). Returns how many failed, and in
 * *count, which may be NULL, how many there were. */
int op_cases_run(const char *prefix, const struct op_test_options *options, int *count);

/* Each array is in a file of its own. The name of its last entry is NULL. */
extern const struct op_cases op_cases_layers[], op_cases_control[], op_cases_around[], op_cases_fused[],
    op_cases_pixels[], op_cases_maps[], op_cases_depth[], op_cases_canvas[], op_cases_bank[], op_cases_carry[],
    op_cases_motion[], op_cases_large[];

#endif
