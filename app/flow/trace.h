/* What each part of the program did when, for one frame after the other: recorded by any thread, written in the format
 * of Chrome's trace viewer (chrome://tracing, https://ui.perfetto.dev). */
#ifndef APP_FLOW_TRACE_H
#define APP_FLOW_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "unet/base/error.h"

/* Lines of the picture, in this order. */
enum trace_track { TRACK_CAPTURE, TRACK_ENGINE, TRACK_UPLOAD, TRACK_GRAPH, TRACK_DOWNLOAD, TRACK_PRESENT, TRACKS };

struct trace_span {
  enum trace_track track;
  const char *name; /* static */
  long frame;       /* from 0 */
  int64_t begin_ns, end_ns;
};

struct trace {
  struct trace_span *spans; /* owned */
  int capacity;
  atomic_int count; /* may pass capacity: later spans are left out */
};

int trace_init(struct trace *trace, int capacity, struct error *err);
void trace_free(struct trace *trace); /* also of a zeroed one */

/* From any thread. trace NULL, or a span without times: nothing is recorded. */
void trace_add(struct trace *trace, enum trace_track track, const char *name, long frame, int64_t begin_ns,
               int64_t end_ns);

const char *trace_track_name(enum trace_track track);
int trace_count(const struct trace *trace);

#endif
