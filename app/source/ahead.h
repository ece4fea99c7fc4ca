/* A thread that reads a source's next frame while the current one waits for its time. So a file's frame that takes
 * longer than its period (because it is a key frame, the disk is slow, or the system does not run the thread) is still
 * there when it is due. It reads only one frame ahead, so that changes to a source are seen soon. */
#ifndef APP_SOURCE_AHEAD_H
#define APP_SOURCE_AHEAD_H

#include "app/source/source.h"

struct ahead;

/* Starts the thread. Only it uses the source until ahead_stop, except for source_interrupt; the source must outlive it.
 * urgent: the thread gets an urgent priority (app_platform.h) while hardware decodes, because it then only hands over
 * packets and waits. Returns 0, or -1 with err. */
int ahead_start(struct ahead **ahead, struct source *source, bool urgent, struct error *err);

/* Returns the next frame as source_read does, with the source_get_info of that moment in *info, and starts to read the
 * one after it. After the end or an error, each call returns the same again. */
int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err);

/* Ends the thread, after the frame that is being read unless the source was interrupted. A frame that was read and not
 * taken is released. Stores NULL; accepts NULL. */
void ahead_stop(struct ahead **ahead);

#endif
