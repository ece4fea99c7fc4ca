/* A report saved earlier beside the present one: what changed, row by row. */
#ifndef APP_BENCH_COMPARE_H
#define APP_BENCH_COMPARE_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/bench/report.h"

struct compare;

/* Reads what --save or --json wrote. */
int compare_open(struct compare **compare, const char *path, const atomic_bool *stop, const struct log *log,
                 struct error *err);
void compare_close(struct compare **compare); /* stores NULL; takes NULL */

/* Prints both times of each row, the change, and the spread that chance alone gives it. Rows are matched by their
 * names; those that only one report has are named. */
void compare_table(const struct compare *compare, const struct report *now, FILE *out);

#endif
