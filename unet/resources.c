#include "resources.h"

#include <stdlib.h>
#include <string.h>

int resources_find(const struct resources *resources, const char *name) {
  for (int i = 0; i < resources->count; i++)
    if (!strcmp(resources->list[i].name, name))
      return i;
  return -1;
}

static struct tensor resource_tensor(const struct resource *r, int index) {
  return (struct tensor){TENSOR_RESOURCE, index, r->n, r->h, r->w, r->c, 0, r->c};
}

/* Adds an empty resource; NULL when memory is short. */
static struct resource *append(struct resources *resources, const char *name) {
  if (resources->count == resources->capacity) {
    int capacity = resources->capacity ? 2 * resources->capacity : 256;
    struct resource *list = realloc(resources->list, (size_t)capacity * sizeof *list);
    if (!list)
      return NULL;
    resources->list = list;
    resources->capacity = capacity;
  }
  struct resource *r = &resources->list[resources->count];
  memset(r, 0, sizeof *r);
  r->name = strdup(name);
  if (!r->name)
    return NULL;
  resources->count++;
  return r;
}

/* The resource already there under this name, or a new one with this shape. *fresh tells which. */
static struct resource *find_or_append(struct resources *resources, const char *name, const int shape[4], bool *fresh,
                                       struct error *err) {
  int index = resources_find(resources, name);
  *fresh = index < 0;
  struct resource *r = *fresh ? append(resources, name) : &resources->list[index];
  if (!r) {
    error_set(err, STATUS_FAILED, "%s: out of memory", name);
    return NULL;
  }
  if (*fresh) {
    r->n = shape[0], r->h = shape[1], r->w = shape[2], r->c = shape[3];
  } else if (r->n != shape[0] || r->h != shape[1] || r->w != shape[2] || r->c != shape[3]) {
    error_set(err, STATUS_MODEL, "%s: used with shapes [%d, %d, %d, %d] and [%d, %d, %d, %d]", name, r->n, r->h, r->w,
              r->c, shape[0], shape[1], shape[2], shape[3]);
    return NULL;
  }
  return r;
}

struct tensor resources_weight(struct resources *resources, const char *name, int n, int h, int w, int c,
                               const struct weight_part *parts, int part_count, struct error *err) {
  bool fresh;
  struct resource *r = find_or_append(resources, name, (int[4]){n, h, w, c}, &fresh, err);
  if (!r)
    return (struct tensor){0};
  if (fresh) {
    r->kind = RESOURCE_WEIGHT;
    r->parts = malloc((size_t)part_count * sizeof *parts);
    if (!r->parts) {
      error_set(err, STATUS_FAILED, "%s: out of memory", name);
      return (struct tensor){0};
    }
    memcpy(r->parts, parts, (size_t)part_count * sizeof *parts);
    r->part_count = part_count;
  }
  return resource_tensor(r, (int)(r - resources->list));
}

struct tensor resources_state(struct resources *resources, const char *name, int n, int h, int w, int c, bool wide,
                              struct error *err) {
  bool fresh;
  struct resource *r = find_or_append(resources, name, (int[4]){n, h, w, c}, &fresh, err);
  if (!r)
    return (struct tensor){0};
  r->kind = RESOURCE_STATE;
  r->wide = wide;
  return resource_tensor(r, (int)(r - resources->list));
}

void resources_finish(struct resources *resources) {
  for (int i = 0; i < resources->count; i++) {
    free(resources->list[i].name);
    free(resources->list[i].parts);
  }
  free(resources->list);
  *resources = (struct resources){0};
}

static float part_value(const struct weight_part *part, size_t i) {
  const unsigned char *bytes = part->data;
  if (part->dtype == DTYPE_F32) {
    float value;
    memcpy(&value, bytes + 4 * i, 4);
    return value;
  }
  uint16_t bits;
  memcpy(&bits, bytes + 2 * i, 2);
  return part->dtype == DTYPE_F16 ? f16_to_f32(bits) : bf16_to_f32(bits);
}

void resource_read_f32(const struct resource *r, float *out) {
  size_t taps = (size_t)r->h * (size_t)r->w, channels = (size_t)r->c, total = 0;
  for (int p = 0; p < r->part_count; p++)
    total += (size_t)r->parts[p].rows;
  size_t row = (size_t)r->n * taps * channels / total; /* elements of a checkpoint row; 1 for a vector */
  for (int p = 0; p < r->part_count; p++) {
    const struct weight_part *part = &r->parts[p];
    size_t rows = (size_t)part->rows;
    for (size_t o = 0; o < rows; o++) {
      if (taps == 1) {
        for (size_t i = 0; i < row; i++)
          *out++ = part_value(part, o * row + i);
        continue;
      }
      for (size_t tap = 0; tap < taps; tap++) /* OIHW to OHWI */
        for (size_t i = 0; i < channels; i++)
          *out++ = part_value(part, o * row + i * taps + tap);
    }
  }
}

float bf16_to_f32(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

uint16_t f32_to_bf16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  if ((bits & 0x7fffffff) > 0x7f800000)
    return (uint16_t)(bits >> 16 | 0x40); /* stay a NaN when the payload is cut */
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float f16_to_f32(uint16_t bits) {
  uint32_t sign = (uint32_t)(bits & 0x8000) << 16, exponent = bits >> 10 & 31, mantissa = bits & 1023, wide;
  if (exponent == 31) {
    wide = sign | 0x7f800000 | mantissa << 13;
  } else if (exponent) {
    wide = sign | (exponent + 112) << 23 | mantissa << 13;
  } else { /* subnormal: mantissa * 2^-24 is exact in FP32 */
    float value = (float)mantissa * 0x1p-24f;
    return sign ? -value : value;
  }
  float value;
  memcpy(&value, &wide, 4);
  return value;
}

uint16_t f32_to_f16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, 4);
  uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
  bits &= 0x7fffffff;
  if (bits > 0x7f800000)
    return sign | 0x7e00;
  if (bits >= 0x477ff000) /* rounds to 65536 or more */
    return sign | 0x7c00;
  if (bits < 0x38800000) { /* below 2^-14: let FP32 addition round to multiples of 2^-24 */
    float magnitude;
    memcpy(&magnitude, &bits, 4);
    magnitude += 0.5f;
    memcpy(&bits, &magnitude, 4);
    return sign | (uint16_t)(bits & 0x7ff);
  }
  return sign | (uint16_t)((bits + 0xfff + (bits >> 13 & 1) - 0x38000000) >> 13);
}
