/* Reads a source on a thread of its own, one frame in advance: while one frame waits for its time, the next is read. So
 * a frame that takes longer to read than one frame period (because it is a key frame, the disk is slow, or the system
 * does not run the thread) is usually still there when it is due. It reads only one frame ahead, so that changes to a
 * source are seen soon. */
#ifndef APP_SOURCE_AHEAD_H
#define APP_SOURCE_AHEAD_H

#include "app/source/source.h"

struct ahead;

/* Starts the thread. Until ahead_stop no other thread may use the source, except by source_interrupt; the source must
 * outlive the thread. urgent: the thread gets an urgent priority (app_platform.h) while hardware decodes, because the
 * thread then only passes packets to the hardware and waits. Returns 0, or -1 with err. */
int ahead_start(struct ahead **ahead, struct source *source, bool urgent, struct error *err);

/* Waits for the next frame, returns as source_read does, and lets the thread read the one after it. *info gets the
 * source's info as it was when the frame had been read. After the end or an error, each call returns the same again.
 * One thread at a time calls this. */
int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err);

/* Ends the thread and waits for it: until the frame that is being read is complete, or, after source_interrupt, only
 * until that read returns. A frame that ahead_read has not returned is released. Stores NULL; accepts NULL. */
void ahead_stop(struct ahead **ahead);

#endif
