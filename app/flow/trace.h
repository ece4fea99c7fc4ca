/* Records when each part of the program worked on which frame, for Chrome's trace viewer (chrome://tracing,
 * https://ui.perfetto.dev). Such a piece of work, from its begin to its end, is a span. Any thread may add spans. */
#ifndef APP_FLOW_TRACE_H
#define APP_FLOW_TRACE_H

#include <stdatomic.h>
#include <stdint.h>

#include "unet/base/error.h"

/* The rows of the trace viewer's diagram, from top to bottom, one for each part of the program. */
enum trace_track { TRACK_CAPTURE, TRACK_ENGINE, TRACK_UPLOAD, TRACK_GRAPH, TRACK_DOWNLOAD, TRACK_PRESENT, TRACKS };

struct trace_span {
  enum trace_track track;
  const char *name; /* what the viewer writes on the span, such as "encode"; a string constant */
  long frame;       /* number of the frame that was worked on, from 0 */
  int64_t begin_ns, end_ns;
};

struct trace {
  struct trace_span *spans; /* owned */
  int capacity;
  /* number of spans added; may be larger than capacity, because spans beyond capacity are counted but not stored */
  atomic_int count;
};

/* Allocates memory for `capacity` spans; trace_free frees it. Returns 0, or -1 with err. */
int trace_init(struct trace *trace, int capacity, struct error *err);
void trace_free(struct trace *trace); /* frees the spans; accepts a zeroed struct */

/* Stores a span: which part of the program worked on which frame, from when to when. Any thread may call it. Does
 * nothing if `trace` is NULL, begin_ns is 0 or end_ns is before begin_ns. */
void trace_add(struct trace *trace, enum trace_track track, const char *name, long frame, int64_t begin_ns,
               int64_t end_ns);

const char *trace_track_name(enum trace_track track);
/* Returns the number of spans stored. Called after the threads that add spans have ended. */
int trace_count(const struct trace *trace);

#endif
