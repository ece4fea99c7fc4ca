/* Compares the current report with an earlier one that was saved, row by row. */
#ifndef APP_BENCH_COMPARE_H
#define APP_BENCH_COMPARE_H

#include <stdatomic.h>
#include <stdio.h>

#include "app/bench/report.h"

struct compare;

/* Reads a report that --save or --json wrote. The caller closes it with compare_close. `path` is borrowed and must
 * outlive *compare. If `path` is a pipe, the function waits for its end, or until *stop is true. Returns 0, or -1 with
 * err. */
int compare_open(struct compare **compare, const char *path, const atomic_bool *stop, const struct log *log,
                 struct error *err);
void compare_close(struct compare **compare); /* closes the report; *compare becomes NULL; does nothing if it is NULL */

/* Prints a line for each row that both reports have, matched by name: both times, their difference, and the difference
 * that chance alone would explain. A row that only the current report has is marked as new. For the network's ops that
 * only the earlier report has, prints just their number. */
void compare_table(const struct compare *compare, const struct report *now, FILE *out);

#endif
