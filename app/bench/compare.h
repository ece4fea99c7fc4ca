/* Compares the current report with an earlier one that was saved, row by row. */
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

/* Prints a line for each row that both reports have, matched by name: both times, their difference, and the difference
 * that chance alone would explain. Rows that only one of them has are listed by name. */
void compare_table(const struct compare *compare, const struct report *now, FILE *out);

#endif
