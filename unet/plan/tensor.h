/* A tensor as the plan sees it: a shape and where its data will be, never the data. Layout is NHWC throughout: a row of
 * tokens [n, tokens, c] is a picture of height 1. Types are element.h's matter. */
#ifndef UNET_PLAN_TENSOR_H
#define UNET_PLAN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

enum tensor_space {
  TENSOR_NONE = 0,  /* an operand left out; what a zeroed struct says */
  TENSOR_TEMPORARY, /* lives in the plan's arena between its first and its last use */
  TENSOR_STATE,     /* a plan's state: what a run leaves there the next one finds, see plan_state */
  TENSOR_RESOURCE,  /* a weight or a state that the device keeps across plans: see resources.h */
};

struct tensor {
  enum tensor_space space;
  int index; /* into plan.temporaries, plan.states or resources.list */
  int n, h, w, c;
  int offset; /* first channel of a channel slice; 0 for a whole tensor */
  int pitch;  /* channels from one pixel to the next; equals c for a whole tensor */
};

static inline bool tensor_exists(struct tensor t) {
  return t.space != TENSOR_NONE;
}

/* Channels [first, first + count) of t: a view, no data moves. Only operands documented as [view] take one. */
static inline struct tensor tensor_channels(struct tensor t, int first, int count) {
  t.offset += first;
  t.c = count;
  return t;
}

/* Pictures [first, first + count) of t, which have one pixel each, as vectors. */
static inline struct tensor tensor_rows_of(struct tensor t, int first, int count) {
  t.offset += first * t.pitch;
  t.n = count;
  return t;
}

/* Pictures [first, first + count) of t: likewise. */
static inline struct tensor tensor_pictures(struct tensor t, int first, int count) {
  t.offset += first * t.h * t.w * t.pitch;
  t.n = count;
  return t;
}

/* All of t's pictures after each other as one row of pixels: the keys of a ring (OP_STORE_SLOT), for attention. */
static inline struct tensor tensor_joined(struct tensor t) {
  t.w *= t.n * t.h;
  t.n = t.h = 1;
  return t;
}

/* Pixels (rows of c channels) in t, and elements. */
static inline size_t tensor_rows(struct tensor t) {
  return (size_t)t.n * (size_t)t.h * (size_t)t.w;
}
static inline size_t tensor_elements(struct tensor t) {
  return tensor_rows(t) * (size_t)t.c;
}

#endif
