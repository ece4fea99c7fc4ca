/* A tensor of a plan: a shape and the place of its data, but never the data. The layout is NHWC throughout; tokens [n,
 * tokens, c] are a picture of height 1. element.h describes the types of the values. */
#ifndef UNET_PLAN_TENSOR_H
#define UNET_PLAN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

enum tensor_space {
  TENSOR_NONE = 0,  /* no tensor: the operand was left out, as in a zeroed struct */
  TENSOR_TEMPORARY, /* lies in the plan's arena from its first use to its last */
  TENSOR_STATE,     /* a state of the plan, which keeps its values from one run to the next: see plan_state */
  TENSOR_RESOURCE,  /* a weight or a state that all plans of the device share: see resources.h */
};

struct tensor {
  enum tensor_space space;
  int index; /* index into plan.temporaries, plan.states or resources.list */
  int n, h, w, c;
  int offset; /* first channel of a channel slice; 0 for a whole tensor */
  int pitch;  /* channels from one pixel to the next; equals c for a whole tensor */
};

static inline bool tensor_exists(struct tensor t) {
  return t.space != TENSOR_NONE;
}

/* Returns a view of t's channels [first, first + count); no data moves. Only operands with OPERAND_VIEW take a view. */
static inline struct tensor tensor_channels(struct tensor t, int first, int count) {
  t.offset += first;
  t.c = count;
  return t;
}

/* Returns a view of t's pictures [first, first + count), where each picture is a single pixel, as in a table of time
 * projections. An op takes it as a vector. */
static inline struct tensor tensor_rows_of(struct tensor t, int first, int count) {
  t.offset += first * t.pitch;
  t.n = count;
  return t;
}

/* Returns a view of t's pictures [first, first + count); no data moves. */
static inline struct tensor tensor_pictures(struct tensor t, int first, int count) {
  t.offset += first * t.h * t.w * t.pitch;
  t.n = count;
  return t;
}

/* Returns t with the pixels of all its pictures in one row of one picture; no data moves. Attention reads the keys of a
 * ring (OP_STORE_SLOT) in this form. */
static inline struct tensor tensor_joined(struct tensor t) {
  t.w *= t.n * t.h;
  t.n = t.h = 1;
  return t;
}

/* Return the number of pixels (rows of c channels) in t, and the number of its elements. */
static inline size_t tensor_rows(struct tensor t) {
  return (size_t)t.n * (size_t)t.h * (size_t)t.w;
}
static inline size_t tensor_elements(struct tensor t) {
  return tensor_rows(t) * (size_t)t.c;
}

#endif
