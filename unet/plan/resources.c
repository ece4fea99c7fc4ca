#include "unet/plan/resources.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

int resources_find(const struct resources *resources, const char *name) {
  for (int i = 0, n = resources_count(resources); i < n; i++)
    if (!strcmp(resources->list[i].name, name))
      return i;
  return -1;
}

static struct tensor resource_tensor(const struct resource *r, int index) {
  return (struct tensor){TENSOR_RESOURCE, index, r->n, r->h, r->w, r->c, 0, r->c};
}

/* Returns an empty resource (a weight or another tensor that plans share) with this name, in the list's entry after
 * the last one. Other threads do not see it until count() adds it to resources->count. */
static struct resource *append(struct resources *resources, const char *name, struct error *err) {
  if (!resources->list)
    /* The system gives memory only to entries that are written, so this large array costs little. */
    resources->list = calloc(RESOURCES_MAX, sizeof *resources->list);
  if (!resources->list || resources->count == RESOURCES_MAX) {
    error_set(err, STATUS_FAILED, "%s: %s", name, resources->list ? "too many tensors" : "out of memory");
    return NULL;
  }
  struct resource *r = &resources->list[resources->count];
  memset(r, 0, sizeof *r);
  r->name = strdup(name);
  if (!r->name)
    error_set(err, STATUS_FAILED, "%s: out of memory", name);
  return r->name ? r : NULL;
}

/* Makes an appended resource (a weight or another tensor that plans share) visible to other threads, by adding 1 to
 * resources->count. The resource must be complete. */
static void count(struct resources *resources) {
  __atomic_store_n(&resources->count, resources->count + 1, __ATOMIC_RELEASE);
}

/* Returns the resource (a weight or another tensor that plans share) with this name. If there is none, returns a new
 * one of this shape and sets *fresh to true; the caller must then call count() when the resource is complete. */
static struct resource *find_or_append(struct resources *resources, const char *name, const int shape[4], bool *fresh,
                                       struct error *err) {
  int index = resources_find(resources, name);
  *fresh = index < 0;
  struct resource *r = *fresh ? append(resources, name, err) : &resources->list[index];
  if (!r)
    return NULL;
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
      free(r->name);
      error_set(err, STATUS_FAILED, "%s: out of memory", name);
      return (struct tensor){0};
    }
    memcpy(r->parts, parts, (size_t)part_count * sizeof *parts);
    r->part_count = part_count;
    count(resources);
  }
  return resource_tensor(r, (int)(r - resources->list));
}

struct tensor resources_state(struct resources *resources, const char *name, int n, int h, int w, int c,
                              enum demand demand, struct error *err) {
  bool fresh;
  if (demand == ELEMENT_WHOLE) {
    error_set(err, STATUS_FAILED, "%s: only states and temporaries of a plan hold whole numbers", name);
    return (struct tensor){0};
  }
  struct resource *r = find_or_append(resources, name, (int[4]){n, h, w, c}, &fresh, err);
  if (!r)
    return (struct tensor){0};
  if (fresh) {
    r->kind = RESOURCE_STATE;
    r->demand = demand;
    count(resources);
  }
  return resource_tensor(r, (int)(r - resources->list));
}

void resources_free(struct resources *resources) {
  for (int i = 0; i < resources->count; i++) {
    free(resources->list[i].name);
    free(resources->list[i].parts);
  }
  free(resources->list);
  *resources = (struct resources){0};
}

/* --- reading weights from the checkpoint --- */

size_t resource_rows(const struct resource *r) {
  size_t rows = 0;
  for (int p = 0; p < r->part_count; p++)
    rows += (size_t)r->parts[p].rows;
  return rows;
}

size_t resource_elements(const struct resource *r) {
  return (size_t)r->n * (size_t)r->h * (size_t)r->w * (size_t)r->c;
}

size_t resource_row_elements(const struct resource *r) {
  return resource_elements(r) / resource_rows(r);
}

/* Buffers for some rows of a weight: the values as they are stored in the file, and the values as FP32. */
struct piece {
  size_t rows, row; /* rows: number of rows for which there is memory; row: number of elements in one row */
  void *stored;
  float *values;
};

enum { PIECE_ELEMENTS = 1 << 14 };

static int piece_open(struct piece *piece, const struct resource *r, struct error *err) {
  *piece = (struct piece){.row = resource_row_elements(r)};
  piece->rows = piece->row < PIECE_ELEMENTS ? PIECE_ELEMENTS / piece->row : 1;
  piece->stored = malloc(piece->rows * piece->row * 4);
  piece->values = malloc(piece->rows * piece->row * 4);
  if (piece->stored && piece->values)
    return 0;
  return error_set(err, STATUS_FAILED, "%s: out of memory", r->name);
}

static void piece_close(struct piece *piece) {
  free(piece->stored);
  free(piece->values);
}

static void times_power(float *values, size_t count, int exponent) {
  float factor = ldexpf(1, exponent);
  for (size_t i = 0; exponent && i < count; i++)
    values[i] *= factor;
}

/* Reorders `count` rows of a convolution's weight, each of `row` elements, from [in][kh][kw], as in the file, to
 * [kh][kw][in], as on the device. */
static void turn_rows(const struct resource *r, const float *rows, size_t count, size_t row, float *out) {
  size_t taps = (size_t)r->h * (size_t)r->w, channels = row / taps;
  for (size_t o = 0; o < count; o++)
    for (size_t tap = 0; tap < taps; tap++) /* copies from the order [out][in][kh][kw] to [out][kh][kw][in] */
      for (size_t i = 0; i < channels; i++)
        *out++ = rows[o * row + i * taps + tap];
}

/* Reads rows `first` to `end` - 1 of a part (a tensor of the file). If `out` is NULL the values are only checked, not
 * stored. */
static int read_part(const struct resource *r, const struct weight_part *part, size_t first, size_t end,
                     struct piece *piece, bool f16, float *out, struct error *err) {
  bool turned = r->h * r->w > 1;
  while (first < end) {
    size_t count = end - first < piece->rows ? end - first : piece->rows, elements = count * piece->row;
    if (weight_part_read(part, first * piece->row, elements, f16, piece->stored, err))
      return -1;
    if (out) {
      float *values = turned ? piece->values : out;
      weights_to_f32(part->dtype, piece->stored, elements, values);
      times_power(values, elements, part->exponent);
      if (turned)
        turn_rows(r, piece->values, count, piece->row, out);
      out += elements;
    }
    first += count;
  }
  return 0;
}

static size_t clamp(size_t row, size_t first, size_t rows) {
  return row < first ? 0 : row - first < rows ? row - first : rows;
}

/* Reads rows `first` to `end` - 1 of a weight, which may lie in several parts (tensors of the file). */
static int read_rows(const struct resource *r, size_t first, size_t end, bool f16, float *out, struct error *err) {
  struct piece piece;
  int result = piece_open(&piece, r, err);
  size_t at = 0;
  for (int p = 0; !result && p < r->part_count; p++) {
    size_t rows = (size_t)r->parts[p].rows, from = clamp(first, at, rows), to = clamp(end, at, rows);
    result = read_part(r, &r->parts[p], from, to, &piece, f16, out, err);
    if (out)
      out += (to - from) * piece.row;
    at += rows;
  }
  piece_close(&piece);
  return result;
}

int resource_read_f32(const struct resource *r, float *out, struct error *err) {
  return read_rows(r, 0, resource_rows(r), false, out, err);
}

int resource_read_rows_f32(const struct resource *r, size_t first, size_t rows, float *out, struct error *err) {
  return read_rows(r, first, first + rows, false, out, err);
}

int resource_check_f16(const struct resource *r, struct error *err) {
  return r->kind == RESOURCE_WEIGHT ? read_rows(r, 0, resource_rows(r), true, NULL, err) : 0;
}
