#include "unet/plan/element.h"

#include <math.h>

static int32_t whole(float value) {
  if (isnan(value))
    return 0;
  return value >= 0x1p31f ? INT32_MAX : value <= -0x1p31f ? INT32_MIN : (int32_t)rintf(value);
}

float element_load(struct element element, const void *data, size_t i) {
  switch (element.type) {
  case DTYPE_F16:
    return element.scale * f16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_BF16:
    return element.scale * bf16_to_f32(((const uint16_t *)data)[i]);
  case DTYPE_I32:
    return element.scale * (float)((const int32_t *)data)[i];
  default:
    return element.scale * ((const float *)data)[i];
  }
}

void element_store(struct element element, void *data, size_t i, float value) {
  value /= element.scale;
  switch (element.type) {
  case DTYPE_F16:
    ((uint16_t *)data)[i] = f32_to_f16(value);
    break;
  case DTYPE_BF16:
    ((uint16_t *)data)[i] = f32_to_bf16(value);
    break;
  case DTYPE_I32:
    ((int32_t *)data)[i] = whole(value);
    break;
  default:
    ((float *)data)[i] = value;
  }
}
