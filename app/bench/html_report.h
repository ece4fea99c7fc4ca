#ifndef APP_BENCH_HTML_REPORT_H
#define APP_BENCH_HTML_REPORT_H

#include "app/bench/report.h"

/* The report as one page that needs nothing beside it, with plots. path "-": standard output. */
int html_report(const struct report *report, const char *path, struct error *err);

#endif
