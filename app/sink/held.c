#include "app/sink/held.h"

#include <math.h>

#include "app/platform/app_platform.h"
#include "unet/base/picture.h"

void held_open(struct held *held, enum fit fit, double shape) {
  held->fit = fit;
  held->shape = shape;
  platform_lock_init(&held->lock);
}

/* Releases the frame at index `at` of the list of frames kept for later, and removes it from the list. */
static void drop(struct held *held, int at) {
  frame_release(&held->frames[at]);
  held->frames[at] = held->frames[--held->count];
}

void held_put(struct held *held, const struct frame *frame) {
  pthread_mutex_lock(&held->lock);
  if (held->count == HELD_MAX)
    drop(held, 0);
  held->frames[held->count++] = frame_hold(frame);
  pthread_mutex_unlock(&held->lock);
}

struct frame held_take(struct held *held, int64_t pts) {
  struct frame found = {0};
  pthread_mutex_lock(&held->lock);
  for (int i = held->count - 1; i >= 0; i--)
    if (held->frames[i].pts < pts)
      drop(held, i);
    else if (held->frames[i].pts == pts && !found.picture)
      found = frame_hold(&held->frames[i]);
  pthread_mutex_unlock(&held->lock);
  return found;
}

void held_close(struct held *held) {
  while (held->count)
    drop(held, 0);
  pthread_mutex_destroy(&held->lock);
}

static int at_least_one(double side) {
  int whole = (int)lrint(side);
  return whole < 1 ? 1 : whole;
}

struct held_place held_fit(const struct held *held, const struct frame *frame, int width, int height) {
  double shown = held->shape > 0 ? held->shape : (double)width / height;
  double wider = frame_aspect(frame) / shown;
  struct held_place place = {0, 0, frame->width, frame->height, 0, 0, width, height};
  if (held->fit == FIT_CROP) {
    place.from_w = wider > 1 ? at_least_one(frame->width / wider) : frame->width;
    place.from_h = wider > 1 ? frame->height : at_least_one(frame->height * wider);
    place.from_x = (frame->width - place.from_w) / 2;
    place.from_y = (frame->height - place.from_h) / 2;
  } else if (held->fit == FIT_LETTERBOX) {
    place.to_w = wider > 1 ? width : at_least_one(width * wider);
    place.to_h = wider > 1 ? at_least_one(height / wider) : height;
    place.to_x = (width - place.to_w) / 2;
    place.to_y = (height - place.to_h) / 2;
  }
  return place;
}
