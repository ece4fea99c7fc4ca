/* Reads a source on a thread of its own, one frame in advance: while one frame waits for its time, the next is read. So
 * a frame that takes longer to read than one frame period (because it is a key frame, the disk is slow, or the system
 * does not run the thread) is usually there when it is due. Only one frame is read ahead, so that changes to a source
 * are seen soon. */
#ifndef APP_SOURCE_AHEAD_H
#define APP_SOURCE_AHEAD_H

#include "app/source/source.h"

struct ahead;

/* Starts the thread that reads in advance. Until ahead_stop no other thread may use the source, except by
 * source_interrupt; the source must outlive the thread. urgent: while hardware decodes, the thread gets an urgent
 * priority (app_platform.h), because it then only passes packets to the hardware and waits. Returns 0, or -1 with
 * err. */
int ahead_start(struct ahead **ahead, struct source *source, bool urgent, struct error *err);

/* Waits for the next frame, returns what source_read returned for it, and lets the thread read the frame after it.
 * *info gets the source's info at the time when the frame was read. After the end or an error, each further call
 * returns the same again. One thread at a time calls this. */
int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err);

/* Ends the thread and waits for its end, which comes when the frame that is being read is complete or, after
 * source_interrupt, as soon as reading is aborted. A frame that ahead_read has not returned is released. *ahead becomes
 * NULL; does nothing if it is NULL. */
void ahead_stop(struct ahead **ahead);

#endif
