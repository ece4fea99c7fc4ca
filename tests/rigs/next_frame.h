#ifndef TESTS_NEXT_FRAME_H
#define TESTS_NEXT_FRAME_H

#include "app/source/source.h"

/* Reads the next frame. Releases the one that *frame had, if any. */
static inline int next_frame(struct source *source, struct frame *frame, struct error *err) {
  frame_release(frame);
  return source_read(source, frame, err);
}

#endif
