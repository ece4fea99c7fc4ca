/* Makes resources (constant tensors of networks) from the weights of a checkpoint, and checks each tensor's shape. */
#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/checkpoint.h"

enum { NAME_MAX_LENGTH = 512 };

/* Prints a shape as "[320, 4, 3, 3]". */
static void print_shape(char text[128], int rank, const int64_t *shape) {
  int used = snprintf(text, 128, "[");
  for (int i = 0; i < rank && used < 100; i++)
    used += snprintf(text + used, 128 - (size_t)used, "%s%lld", i ? ", " : "", (long long)shape[i]);
  snprintf(text + used, 128 - (size_t)used, "]");
}

static bool has_shape(const struct safetensor *t, int rank, const int64_t *shape) {
  if (t->rank < rank)
    return false;
  for (int i = 0; i < t->rank; i++)
    if (t->shape[i] != (i < rank ? shape[i] : 1))
      return false;
  return true;
}

/* Finds a tensor in the file and checks its shape. The first dimension must be wanted->of or, if that is 0,
 * wanted->rows; it is also stored in shape[0]. Further dimensions below number `rank` must equal those in `shape`. All
 * others must be 1, as in a 1x1 convolution that is used as a matrix. */
static int find_part(const struct component *from, const struct stack_part *wanted, int rank, int64_t *shape,
                     struct weight_part *part, struct error *err) {
  char key[NAME_MAX_LENGTH];
  snprintf(key, sizeof key, "%s%s", from->prefix, wanted->name);
  shape[0] = wanted->of ? wanted->of : wanted->rows;
  const struct safetensor *t = safetensors_get(from->files, key, err);
  if (!t)
    return -1;
  if (!has_shape(t, rank, shape)) {
    char has[128], wants[128];
    print_shape(has, t->rank, t->shape);
    print_shape(wants, rank, shape);
    return error_set(err, STATUS_MODEL, "%s: tensor %s: has shape %s where %s asks for %s", t->file->path, t->key, has,
                     from->config ? from->config : "its place in the network", wants);
  }
  *part = (struct weight_part){.dtype = t->dtype,
                               .rows = wanted->rows,
                               .file = t->file,
                               .offset = t->offset,
                               .name = t->key,
                               .columns = t->transposed ? (int)shape[1] : 0,
                               .exponent = wanted->exponent};
  return 0;
}

int checkpoint_check(const struct component *from, const char *name, int rank, const int64_t *shape,
                     struct error *err) {
  int64_t wanted[SAFETENSOR_RANK_MAX];
  struct weight_part part;
  memcpy(wanted, shape, (size_t)rank * sizeof *wanted);
  return find_part(from, &(struct stack_part){.name = name, .rows = (int)shape[0]}, rank, wanted, &part, err);
}

int checkpoint_values(const struct component *from, const char *name, int rank, const int64_t *shape, float *out,
                      struct error *err) {
  enum { PIECE = 4096 };
  unsigned char stored[PIECE * sizeof(float)];
  int64_t wanted[SAFETENSOR_RANK_MAX];
  struct weight_part part;
  size_t count = 1;
  memcpy(wanted, shape, (size_t)rank * sizeof *wanted);
  if (find_part(from, &(struct stack_part){.name = name, .rows = (int)shape[0]}, rank, wanted, &part, err))
    return -1;
  for (int i = 0; i < rank; i++)
    count *= (size_t)shape[i];
  for (size_t first = 0; first < count; first += PIECE) {
    size_t some = count - first < PIECE ? count - first : PIECE;
    if (weight_part_read(&part, first, some, false, stored, err))
      return -1;
    weights_to_f32(part.dtype, stored, some, out + first);
  }
  return 0;
}

bool checkpoint_has(const struct component *from, const char *name) {
  char key[NAME_MAX_LENGTH];
  snprintf(key, sizeof key, "%s%s", from->prefix, name);
  return safetensors_find(from->files, key);
}

static struct tensor add(const struct component *from, struct resources *to, const char *name, const int size[4],
                         const struct weight_part *parts, int part_count, struct error *err) {
  char full[NAME_MAX_LENGTH];
  snprintf(full, sizeof full, "%s/%s", from->name, name);
  return resources_weight(to, full, size[0], size[1], size[2], size[3], parts, part_count, err);
}

struct tensor checkpoint_conv(const struct component *from, struct resources *to, const struct stack_part *part, int in,
                              int kernel, struct error *err) {
  struct weight_part found;
  if (find_part(from, part, 4, (int64_t[]){0, in, kernel, kernel}, &found, err))
    return (struct tensor){0};
  return add(from, to, part->name, (const int[]){part->rows, kernel, kernel, in}, &found, 1, err);
}

struct tensor checkpoint_matrix(const struct component *from, struct resources *to, const char *name, int rows,
                                int columns, struct error *err) {
  return checkpoint_stack(from, to, name, &(struct stack_part){.name = name, .rows = rows}, 1, columns, err);
}

struct tensor checkpoint_vector(const struct component *from, struct resources *to, const char *name, int length,
                                struct error *err) {
  return checkpoint_stack(from, to, name, &(struct stack_part){.name = name, .rows = length}, 1, 0, err);
}

struct tensor checkpoint_stack(const struct component *from, struct resources *to, const char *name,
                               const struct stack_part *parts, int part_count, int columns, struct error *err) {
  struct weight_part *found = malloc((size_t)part_count * sizeof *found);
  if (!found) {
    error_set(err, STATUS_FAILED, "%s: out of memory", name);
    return (struct tensor){0};
  }
  struct tensor tensor = {0};
  int rows = 0, i = 0;
  for (; i < part_count; i++) {
    if (find_part(from, &parts[i], columns ? 2 : 1, (int64_t[]){0, columns}, &found[i], err))
      break;
    rows += parts[i].rows;
  }
  if (i == part_count)
    tensor = columns ? add(from, to, name, (const int[]){rows, 1, 1, columns}, found, part_count, err)
                     : add(from, to, name, (const int[]){1, 1, 1, rows}, found, part_count, err);
  free(found);
  return tensor;
}
