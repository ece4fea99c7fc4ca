/* Compares an earlier, saved report with the current one, row by row. */
#ifndef APP_BENCH_COMPARE_H
#define APP_BENCH_COMPARE_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/bench/report.h"

struct compare;

/* Reads a report that --save or --json wrote. The caller closes it with compare_close. path is borrowed and must
 * outlive it. A set *stop ends the wait for a pipe. */
int compare_open(struct compare **compare, const char *path, const atomic_bool *stop, const struct log *log,
                 struct error *err);
void compare_close(struct compare **compare); /* stores NULL; accepts NULL */

/* Prints both times of each row, their difference, and the spread that is expected from chance alone. Rows are matched
 * by name; rows that are in one report alone are mentioned. */
void compare_table(const struct compare *compare, const struct report *now, FILE *out);

#endif
