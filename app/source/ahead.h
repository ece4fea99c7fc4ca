/* A thread that reads a source's next frame while the one before waits for its time: a file's frame that takes longer
 * than its period, because it is a key frame, the disk is slow or the system lets the thread wait, is still there when
 * it is due. One frame, and no more: what changes a source is to be seen soon. */
#ifndef APP_SOURCE_AHEAD_H
#define APP_SOURCE_AHEAD_H

#include "app/source/source.h"

struct ahead;

/* The source is the thread's alone until ahead_stop, but for source_interrupt, and outlives it. urgent: the thread is
 * (app_platform.h) where hardware decodes, which is only handed packets and waited for. */
int ahead_start(struct ahead **ahead, struct source *source, bool urgent, struct error *err);

/* As source_read; *info is what source_get_info said then. Begins to read the next. After the end, or an error, it
 * gives that again. */
int ahead_read(struct ahead *ahead, struct frame *frame, struct source_info *info, struct error *err);

/* Waits for the frame that is being read, unless the source was interrupted. What was read and not taken is dropped.
 * Stores NULL; takes NULL. */
void ahead_stop(struct ahead **ahead);

#endif
