/* The test cases of every op: shapes of real networks, and unusual ones. */
#ifndef TESTS_OP_CASES_H
#define TESTS_OP_CASES_H

#include "tests/rigs/op_test.h"

/* Runs the cases whose names begin with `prefix`, such as "conv" ("": all). Returns how many have failed; *count, if
 * not NULL, becomes the number of cases. */
int op_cases_run(const char *prefix, const struct op_test_options *options, int *count);

/* Each of these arrays is in a file of its own. They end with an entry whose name is NULL. */
extern const struct op_cases op_cases_layers[], op_cases_chains[], op_cases_control[], op_cases_around[],
    op_cases_fused[], op_cases_pixels[], op_cases_maps[], op_cases_depth[], op_cases_canvas[], op_cases_bank[],
    op_cases_carry[], op_cases_motion[], op_cases_sums[], op_cases_large[], op_cases_fused_large[];

#endif
