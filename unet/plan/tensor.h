/* A tensor of a plan: its shape and the place of its data, but never the data. The layout is NHWC throughout; tokens
 * [n, tokens, c] are stored like a picture of height 1. element.h describes the types of the values. */
#ifndef UNET_PLAN_TENSOR_H
#define UNET_PLAN_TENSOR_H

#include <stdbool.h>
#include <stddef.h>

enum tensor_space {
  TENSOR_NONE = 0, /* no tensor: the operand was left out, as in a zeroed struct */
  /* an op's result within one run: its memory in the arena (working memory) is reused after the last op that reads
   * it */
  TENSOR_TEMPORARY,
  TENSOR_STATE,    /* a state of the plan: it keeps its values from one run to the next (plan_state) */
  TENSOR_RESOURCE, /* a weight, or a state that all plans of the device share (resources.h) */
};

struct tensor {
  enum tensor_space space;
  /* the tensor's number, from 0, in the list that belongs to its space: plan.temporaries, plan.states or
   * resources.list */
  int index;
  int n, h, w, c;
  /* number of values before the tensor's first value: above 0 in a view that begins at a later channel or picture of
   * the whole tensor */
  int offset;
  int pitch; /* number of values from one pixel to the next; c in a whole tensor, more in a view of some channels */
};

static inline bool tensor_exists(struct tensor t) {
  return t.space != TENSOR_NONE;
}

/* Returns a view of t's channels `first` to `first` + count - 1; no data moves. Only operands with OPERAND_VIEW may be
 * such a view. */
static inline struct tensor tensor_channels(struct tensor t, int first, int count) {
  t.offset += first;
  t.c = count;
  return t;
}

/* Returns a view of t's pictures `first` to `first` + count - 1, where each picture is a single pixel, as in a table of
 * time projections. An op uses the view as a vector. */
static inline struct tensor tensor_rows_of(struct tensor t, int first, int count) {
  t.offset += first * t.pitch;
  t.n = count;
  return t;
}

/* Returns a view of t's pictures `first` to `first` + count - 1; no data moves. */
static inline struct tensor tensor_pictures(struct tensor t, int first, int count) {
  t.offset += first * t.h * t.w * t.pitch;
  t.n = count;
  return t;
}

/* Returns a view of t in which the pixels of all pictures form one row of a single picture; no data moves. Attention
 * reads the keys of several frames this way, from a state in which each frame's keys are one picture
 * (OP_STORE_SLOT). */
static inline struct tensor tensor_joined(struct tensor t) {
  t.w *= t.n * t.h;
  t.n = t.h = 1;
  return t;
}

/* tensor_rows returns the number of t's pixels (each a row of c channels), tensor_elements the number of its values. */
static inline size_t tensor_rows(struct tensor t) {
  return (size_t)t.n * (size_t)t.h * (size_t)t.w;
}
static inline size_t tensor_elements(struct tensor t) {
  return tensor_rows(t) * (size_t)t.c;
}

#endif
