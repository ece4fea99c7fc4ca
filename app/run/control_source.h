/* The second source, which ControlNets can read instead of the frames of the main source (--control-source). A file is
 * kept in step with the main source's frame times; of a camera, screen or stream the newest frame is used. If the
 * control source ends, stalls or fails, its last frame is used on, and one log line says so; before its first frame,
 * controls see black. Only the thread that submits frames calls these functions, except where "any thread" is said. */
#ifndef APP_RUN_CONTROL_SOURCE_H
#define APP_RUN_CONTROL_SOURCE_H

#include "app/source/source.h"

struct control_source;

struct control_source_params {
  const char *spec;
  /* options of the main source; start, loop and the others that fit are applied to the control source, too */
  const struct source_options *options;
  const struct source_info *first; /* info of the main source */
  int patience_ms; /* longest wait for a frame that is not there yet, in ms; 0: do not wait, as in live */
};

/* Opens the control source. If params->spec is NULL, *control becomes NULL, which all functions accept. The caller
 * closes it with control_source_close; all that params points to must outlive it. Returns 0, or -1 with err. */
int control_source_open(struct control_source **control, const struct control_source_params *params, struct error *err);
void control_source_close(struct control_source **control); /* stores NULL; accepts a pointer to NULL */

/* Returns the control source's frame to use with this frame of the main source; it is valid until the next call. NULL:
 * controls see black. */
const struct frame *control_source_at(struct control_source *control, const struct frame *frame);
/* Returns true if the control source has a problem, and writes a description for users into line. Any thread may call
 * it. */
bool control_source_state(struct control_source *control, char *line, size_t size);
/* Returns true if what was read of the control source cannot be read again, as with a pipe. Any thread may call it. */
bool control_source_passes(const struct control_source *control);

#endif
