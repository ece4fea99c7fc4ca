/* The second input (--control-source), whose frames ControlNets read instead of the main source's. Of a file, the frame
 * with the same time stamp as the main source's is used; of a camera, screen or stream, the newest one. If the control
 * source ends, stalls or fails, its last frame stays in use, and one line is logged. Before its first frame,
 * ControlNets get black.
 *
 * Only the thread that submits frames calls these functions, except those whose comment says "any thread". */
#ifndef APP_RUN_CONTROL_SOURCE_H
#define APP_RUN_CONTROL_SOURCE_H

#include "app/source/source.h"

struct control_source;

struct control_source_params {
  const char *spec;
  /* options of the main source; those that make sense for the control source (start, loop and others) are applied to
   * it, too */
  const struct source_options *options;
  const struct source_info *first; /* description of the main source, as source_open gave it */
  /* longest wait for a frame that the control source does not have yet, in ms; 0: no wait, as in live */
  int patience_ms;
  double earlier; /* time in seconds from options->start to the main source's first frame */
};

/* Opens the control source (the input that ControlNets read). If params->spec is NULL, *control becomes NULL, which
 * all functions accept. The caller closes it with control_source_close; all that params points to must outlive it.
 * Returns 0, or -1 with err. */
int control_source_open(struct control_source **control, const struct control_source_params *params, struct error *err);
/* closes the control source; *control becomes NULL; does nothing if it is NULL */
void control_source_close(struct control_source **control);

/* Sets the time stamp, in seconds, at which the main source begins, if that is not 0. If the control source begins
 * within one frame period of it, the first frames of both are paired. Called before the first frame. */
void control_source_begin(struct control_source *control, double seconds);
/* Returns the control source's frame to use with this frame of the main source; it is valid until the next call. NULL:
 * there is none yet, and ControlNets get black. */
const struct frame *control_source_at(struct control_source *control, const struct frame *frame);
/* Returns true if the control source has a problem, and writes a description for users into line. Any thread may call
 * it. */
bool control_source_state(struct control_source *control, char *line, size_t size);
/* Returns true if a live control source can be read only once, because it is a pipe, for example; always false for a
 * file that is read in step with the main source. Any thread may call it. */
bool control_source_passes(const struct control_source *control);

#endif
