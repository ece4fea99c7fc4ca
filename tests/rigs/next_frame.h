#ifndef TESTS_NEXT_FRAME_H
#define TESTS_NEXT_FRAME_H

#include "app/source/source.h"

/* Releases the frame that *frame holds, if any, and reads the next one into it. */
static inline int next_frame(struct source *source, struct frame *frame, struct error *err) {
  frame_release(frame);
  return source_read(source, frame, err);
}

#endif
