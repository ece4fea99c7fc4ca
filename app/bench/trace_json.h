#ifndef APP_BENCH_TRACE_JSON_H
#define APP_BENCH_TRACE_JSON_H

#include "unet/base/error.h"

struct trace;

/* Writes the spans in the format of Chrome's trace viewer. path "-" means standard output. */
int trace_json(const struct trace *trace, const char *path, struct error *err);

#endif
