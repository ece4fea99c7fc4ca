#ifndef APP_BENCH_TRACE_JSON_H
#define APP_BENCH_TRACE_JSON_H

#include "unet/base/error.h"

struct trace;

/* Writes the trace (in which span of time each part of the program worked on which frame) in the format of Chrome's
 * trace viewer. path "-" means standard output. Returns 0, or -1 with err. */
int trace_json(const struct trace *trace, const char *path, struct error *err);

#endif
