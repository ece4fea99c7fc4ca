#include "app/flow/trace.h"

#include <stdlib.h>

int trace_init(struct trace *trace, int capacity, struct error *err) {
  *trace = (struct trace){.spans = calloc((size_t)capacity, sizeof *trace->spans), .capacity = capacity};
  return trace->spans ? 0 : error_set(err, STATUS_FAILED, "no memory for a trace");
}

void trace_free(struct trace *trace) {
  free(trace->spans);
  trace->spans = NULL;
}

void trace_add(struct trace *trace, enum trace_track track, const char *name, long frame, int64_t begin_ns,
               int64_t end_ns) {
  if (!trace || !begin_ns || end_ns < begin_ns)
    return;
  int at = atomic_fetch_add(&trace->count, 1);
  if (at < trace->capacity)
    trace->spans[at] = (struct trace_span){track, name, frame, begin_ns, end_ns};
}

const char *trace_track_name(enum trace_track track) {
  static const char *const names[TRACKS] = {"capture",        "engine (host)",     "upload (device)",
                                            "graph (device)", "download (device)", "present"};
  return names[track];
}

int trace_count(const struct trace *trace) {
  int count = atomic_load(&trace->count);
  return count < trace->capacity ? count : trace->capacity;
}
