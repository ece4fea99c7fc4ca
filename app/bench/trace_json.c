#include "app/bench/trace_json.h"

#include <cjson/cJSON.h>

#include "app/bench/report.h"
#include "app/flow/trace.h"

static cJSON *event(const char *phase, const char *name, int track) {
  cJSON *to = cJSON_CreateObject();
  cJSON_AddStringToObject(to, "ph", phase);
  cJSON_AddStringToObject(to, "name", name);
  cJSON_AddNumberToObject(to, "pid", 1);
  cJSON_AddNumberToObject(to, "tid", track);
  return to;
}

static void add_names(cJSON *events) {
  for (int i = 0; i < TRACKS; i++) {
    cJSON *name = event("M", "thread_name", i), *order = event("M", "thread_sort_index", i);
    cJSON_AddStringToObject(cJSON_AddObjectToObject(name, "args"), "name", trace_track_name((enum trace_track)i));
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(order, "args"), "sort_index", i);
    cJSON_AddItemToArray(events, name);
    cJSON_AddItemToArray(events, order);
  }
}

/* Appends the spans of time in which a part of the program worked on a frame, as events in Chrome's format. Times are
 * in microseconds since the beginning of the first span. */
static void add_spans(cJSON *events, const struct trace *trace) {
  int count = trace_count(trace);
  int64_t first = count ? trace->spans[0].begin_ns : 0;
  for (int i = 1; i < count; i++)
    first = trace->spans[i].begin_ns < first ? trace->spans[i].begin_ns : first;
  for (int i = 0; i < count; i++) {
    const struct trace_span *span = &trace->spans[i];
    cJSON *to = event("X", span->name, (int)span->track);
    cJSON_AddNumberToObject(to, "ts", (double)(span->begin_ns - first) * 1e-3);
    cJSON_AddNumberToObject(to, "dur", (double)(span->end_ns - span->begin_ns) * 1e-3);
    cJSON_AddNumberToObject(cJSON_AddObjectToObject(to, "args"), "frame", (double)span->frame);
    cJSON_AddItemToArray(events, to);
  }
}

int trace_json(const struct trace *trace, const char *path, struct error *err) {
  cJSON *root = cJSON_CreateObject(), *events = cJSON_AddArrayToObject(root, "traceEvents");
  add_names(events);
  add_spans(events, trace);
  cJSON_AddStringToObject(root, "displayTimeUnit", "ms");
  char *text = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return report_write(path, text, err);
}
