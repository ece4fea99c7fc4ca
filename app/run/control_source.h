/* What controls see instead of the source's own frames: --control-source. A file goes along with the times of those
 * frames; of a camera, a screen or a stream there is the newest frame. Where it ends, stalls or breaks, its last frame
 * is held, and one line says so; before the first one it is black. Used on the thread that submits. */
#ifndef APP_RUN_CONTROL_SOURCE_H
#define APP_RUN_CONTROL_SOURCE_H

#include "app/source/source.h"

struct control_source;

struct control_source_params {
  const char *spec;
  const struct source_options *options; /* of the frames' own source: start, loop and the like are the same here */
  const struct source_info *first;      /* that source */
  int patience_ms;                      /* for a frame that is not there yet. 0: none is waited for, as in live */
};

/* spec NULL: there is none, and *control is NULL, which all functions take. What params points to outlives it. */
int control_source_open(struct control_source **control, const struct control_source_params *params, struct error *err);
void control_source_close(struct control_source **control); /* stores NULL */

/* The frame that belongs to this one; valid until the next call. NULL: black. */
const struct frame *control_source_at(struct control_source *control, const struct frame *frame);
/* Any thread: whether something is wrong with it, and what, for people. */
bool control_source_state(struct control_source *control, char *line, size_t size);
/* Any thread: as struct source_info has it. */
bool control_source_passes(const struct control_source *control);

#endif
