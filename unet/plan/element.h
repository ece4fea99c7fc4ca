/* The number types of tensors. A plan says what precision a tensor needs (enum demand); a device chooses a type for
 * each tensor when it prepares the plan (struct element). It keeps the types of temporaries in its program, and those
 * of states and weights with their memory.
 *
 * Code that uses a tensor asks for its element; no code assumes a type. To use another type (BF16, FP8 with a scale)
 * for some or all tensors, a device changes the one function that chooses types (cpu_layout.c on the CPU), and the
 * kernels that read and write this type. A kernel's caller fails for types that the kernel does not take. A new type
 * needs its size in weights.h and its conversions in element.c. */
#ifndef UNET_PLAN_ELEMENT_H
#define UNET_PLAN_ELEMENT_H

#include "unet/plan/weights.h"

enum demand {
  ELEMENT_DEVICE = 0, /* the type in which the device computes */
  ELEMENT_PRECISE,    /* FP32, for latents and noise, whose rounding errors the sampler would amplify */
  /* int32 on every device, for states and temporaries that all devices compute to the bit: only operands with
   * OPERAND_WHOLE take it, and they take nothing else */
  ELEMENT_WHOLE,
};

/* The type of a tensor's values. A value is scale times the stored number. */
struct element {
  enum dtype type;
  float scale; /* 1 where the type's range is wide enough for the values */
};

static inline struct element element_of(enum dtype type) {
  struct element element = {type, 1};
  return element;
}

/* True if the values are of this type and scale is 1: for code that multiplies by no scale. */
static inline bool element_is(struct element element, enum dtype type) {
  return element.type == type && element.scale == 1;
}

static inline size_t element_size(struct element element) {
  return dtype_size(element.type);
}

/* Read and write value number i of an array: the scale is applied, and a stored value is rounded to nearest even. As a
 * whole number, a value beyond the range of int32 is stored as the range's end, and NaN as 0; FP32 holds whole numbers
 * up to 2^24 exactly. */
float element_load(struct element element, const void *data, size_t i);
void element_store(struct element element, void *data, size_t i, float value);

#endif
