/* The number types of tensors. A plan says what precision a tensor needs (enum demand). When a device prepares the
 * plan, it chooses a type for each tensor (struct element). Types of temporaries are stored in the program (the
 * prepared plan), those of states and weights beside their memory.
 *
 * Code that uses a tensor asks for its element; no code assumes a type. Code that calls a kernel fails for types that
 * the kernel does not accept. To add a type (BF16, or FP8 with a scale): its size in weights.h, its conversions in
 * element.c, the function of the device that chooses types (cpu_layout.c on the CPU), and kernels that read and write
 * it. */
#ifndef UNET_PLAN_ELEMENT_H
#define UNET_PLAN_ELEMENT_H

#include "unet/plan/weights.h"

enum demand {
  ELEMENT_DEVICE = 0, /* the type in which the device computes, which it chooses itself */
  ELEMENT_PRECISE,    /* FP32: for latents and noise, whose rounding errors the sampler would amplify */
  /* int32 on every device, for values that must be equal to the bit on all devices; operands with OPERAND_WHOLE have
   * this type, and no others do */
  ELEMENT_WHOLE,
};

/* A type of numbers and a factor: the value of an element is `scale` times the stored number. */
struct element {
  enum dtype type;
  /* the value is the stored number times this factor; 1 for types whose range is wide enough without a factor */
  float scale;
};

static inline struct element element_of(enum dtype type) {
  struct element element = {type, 1};
  return element;
}

/* Returns true if the values have this type and scale 1. For code that cannot apply a scale. */
static inline bool element_is(struct element element, enum dtype type) {
  return element.type == type && element.scale == 1;
}

static inline size_t element_size(struct element element) {
  return dtype_size(element.type);
}

/* element_load returns value number i of an array with its scale applied. element_store rounds a value to the nearest
 * number of the type (ties to even) and stores it. As int32, values beyond the type's range are clamped, and NaN
 * becomes 0. FP32 represents whole numbers up to 2^24 exactly. */
float element_load(struct element element, const void *data, size_t i);
void element_store(struct element element, void *data, size_t i, float value);

#endif
