/* The second source that controls can read instead of the source's own frames (--control-source). A file is kept in
 * step with the times of those frames; of a camera, screen or stream the newest frame is used. If it ends, stalls or
 * fails, its last frame is used on, and one log line says so; before its first frame, controls see black. The thread
 * that submits frames uses it. */
#ifndef APP_RUN_CONTROL_SOURCE_H
#define APP_RUN_CONTROL_SOURCE_H

#include "app/source/source.h"

struct control_source;

struct control_source_params {
  const char *spec;
  /* options of the source whose frames are submitted; start, loop and others are used here, too */
  const struct source_options *options;
  const struct source_info *first; /* info of that source */
  int patience_ms; /* longest wait for a frame that is not there yet, in ms; 0: do not wait, as in live */
};

/* Opens the source. If spec is NULL, *control becomes NULL, which all functions accept. The caller closes it; all that
 * params points to must outlive it. */
int control_source_open(struct control_source **control, const struct control_source_params *params, struct error *err);
void control_source_close(struct control_source **control); /* stores NULL */

/* Returns the frame that belongs to this one, valid until the next call. NULL: black. */
const struct frame *control_source_at(struct control_source *control, const struct frame *frame);
/* Any thread: returns true if the source has a problem, and describes it in line, for users. */
bool control_source_state(struct control_source *control, char *line, size_t size);
/* Any thread: returns source_info.passes of the source (what was read of it cannot be read again). */
bool control_source_passes(const struct control_source *control);

#endif
