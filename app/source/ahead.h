/* Reads a source on a thread of its own, one frame in advance: while one frame waits for its time, the next is read. So
 * a frame that takes longer than a frame period to read (a key frame, a slow disk, a delayed thread) is usually ready
 * when it is due. It reads only one frame ahead, so that changes to the source are seen soon. */
#ifndef APP_SOURCE_AHEAD_H
#define APP_SOURCE_AHEAD_H

#include "app/source/source.h"

struct ahead;

/* Starts the thread that reads in advance. Until ahead_stop, other threads may only call source_interrupt for the
 * source, which must outlive the thread. urgent: true: while hardware decodes, the thread gets an urgent priority
 * (app_platform.h), because it only passes packets on and waits. Returns 0, or -1 with err. */
int ahead_start(struct ahead **ahead, struct source *source, bool urgent, struct error *err);

/* Waits for the next frame, returns what source_read returned for it, and lets the thread read the following one. *info
 * gets the source's info as it was when the frame was read. After the end or an error, further calls return the same.
 * Only one thread at a time may call this. */
int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err);

/* Ends the thread and waits for its end, which comes when the frame that is being read is complete or, after
 * source_interrupt, as soon as reading is aborted. A frame that ahead_read has not returned is released. *ahead becomes
 * NULL; does nothing if it is NULL. */
void ahead_stop(struct ahead **ahead);

#endif
