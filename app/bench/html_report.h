#ifndef APP_BENCH_HTML_REPORT_H
#define APP_BENCH_HTML_REPORT_H

#include "app/bench/report.h"

/* Writes the report as one HTML page with plots, which loads no other file. `path` "-" means standard output. Returns
 * 0, or -1 with err. */
int html_report(const struct report *report, const char *path, struct error *err);

#endif
