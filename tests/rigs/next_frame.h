#ifndef TESTS_NEXT_FRAME_H
#define TESTS_NEXT_FRAME_H

#include "app/source/source.h"

/* Reads a frame in the place of the one before, or of none. */
static inline int next_frame(struct source *source, struct frame *frame, struct error *err) {
  frame_release(frame);
  return source_read(source, frame, err);
}

#endif
