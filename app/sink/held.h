/* Keeps input frames from the moment when the engine gets them until their pictures come to the sink; also computes in
 * which region of its picture a frame is seen. */
#ifndef APP_SINK_HELD_H
#define APP_SINK_HELD_H

#include <pthread.h>

#include "unet/base/frame.h"
#include "unet/engine.h"

/* Largest number of frames that are kept until their pictures come to the sink. The engine and the queues after it
 * never have that many frames at a time. */
enum { HELD_MAX = 256 };

/* Input frames whose pictures have not come to the sink yet. Zero-initialise to start, then call held_open. */
struct held {
  pthread_mutex_t lock;
  /* Protected by `lock`: the frames that are held, in any order. */
  struct frame frames[HELD_MAX];
  int count;
  /* How frames are seen in pictures; set by held_open. fit: how the engine fits frames into pictures. shape: width
   * divided by height at which pictures are shown; 0: their pixels are square. */
  enum fit fit;
  double shape;
};

void held_open(struct held *held, enum fit fit, double shape);
/* Takes a reference to the frame and keeps it until held_take is called for a later frame. If HELD_MAX frames are held,
 * one of them is released. Any thread may call it. */
void held_put(struct held *held, const struct frame *frame);
/* Returns the frame with this pts, which the caller releases; a frame without planes if there is none. Releases the
 * frames with an earlier pts. */
struct frame held_take(struct held *held, int64_t pts);
void held_close(struct held *held);

/* A rectangle of a frame (from_...), and the rectangle of the frame's picture in which that part of the frame is seen
 * (to_...): left, top, width and height in pixels. */
struct held_place {
  int from_x, from_y, from_w, from_h, to_x, to_y, to_w, to_h;
};
/* Computes where a frame is seen in a picture of `width` x `height`, as the engine fits it (engine.h, enum fit). */
struct held_place held_fit(const struct held *held, const struct frame *frame, int width, int height);

#endif
