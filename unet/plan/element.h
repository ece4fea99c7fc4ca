/* What the elements of tensors are. A plan says what a tensor needs (enum demand). A device answers with a type for
 * each tensor when it prepares the plan (struct element): temporaries in its program, states and weights with their
 * memory.
 *
 * Whoever asks about a tensor asks for its element; nothing assumes a type. For another type (BF16, FP8 with a scale),
 * on some tensors or all, a device changes the one function in which it answers, and the kernels that are to read and
 * write the type; a kernel's caller refuses what the kernel does not take. A type that is new has its size here and its
 * conversions in element.c. */
#ifndef UNET_PLAN_ELEMENT_H
#define UNET_PLAN_ELEMENT_H

#include "unet/plan/weights.h"

enum demand {
  ELEMENT_DEVICE = 0, /* what the device computes in */
  ELEMENT_PRECISE,    /* FP32: latents and noise, whose rounding errors the sampler would amplify */
};

/* A value is scale times what is stored. */
struct element {
  enum dtype type;
  float scale; /* 1 where the type's range is wide enough */
};

static inline struct element element_of(enum dtype type) {
  struct element element = {type, 1};
  return element;
}

/* For code that knows no scales. */
static inline bool element_is(struct element element, enum dtype type) {
  return element.type == type && element.scale == 1;
}

static inline size_t element_size(struct element element) {
  return dtype_size(element.type);
}

/* Value number i of data; rounded to nearest even where it is stored. */
float element_load(struct element element, const void *data, size_t i);
void element_store(struct element element, void *data, size_t i, float value);

#endif
