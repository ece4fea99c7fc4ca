#include "tests/rigs/op_cases.h"

#include <string.h>

int op_cases_run(const char *prefix, const struct op_test_options *options, int *count) {
  const struct op_cases *const lists[] = {op_cases_layers, op_cases_chains, op_cases_control,    op_cases_fused,
                                          op_cases_around, op_cases_pixels, op_cases_maps,       op_cases_depth,
                                          op_cases_canvas, op_cases_bank,   op_cases_carry,      op_cases_motion,
                                          op_cases_sums,   op_cases_large,  op_cases_fused_large};
  int failed = 0, run = 0, at = 0, apart = options->apart ? options->apart : 1;
  size_t end = sizeof lists / sizeof lists[0] - (options->large ? 0 : 2);
  for (size_t i = 0; i < end; i++)
    for (const struct op_cases *cases = lists[i]; cases->name; cases++)
      for (int c = 0; c < cases->count && !strncmp(cases->name, prefix, strlen(prefix)); c++)
        if (at++ % apart == options->first) {
          failed += op_test_run(cases, c, options) < 0;
          run++;
        }
  if (count)
    *count = run;
  return failed;
}
