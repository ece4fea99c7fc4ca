/* Prints how steady the pictures of each clip were (the results of bench --steadiness) as a table, as JSON and as
 * HTML. */
#ifndef APP_BENCH_STEADINESS_REPORT_H
#define APP_BENCH_STEADINESS_REPORT_H

#include <stdio.h>

#include <cjson/cJSON.h>

#include "app/bench/steadiness.h"

void steadiness_table(const struct steadiness *steadiness, FILE *out);
/* Appends an object for each clip to the JSON array. A value that could not be measured is null. */
void steadiness_json(const struct steadiness *steadiness, cJSON *clips);
/* Writes a table and a plot for each clip as HTML. */
void steadiness_html(const struct steadiness *steadiness, FILE *out);

#endif
