#include "unet/model/depth_weights.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/cubic.h"

enum { KEY_MAX = 256, NAME_LENGTH = KEY_MAX + 64 };

/* A weight that was computed from tensors of the file. It belongs to struct depth, and depth_close frees it. */
struct depth_values {
  struct depth_values *next;
  char name[KEY_MAX];
  float values[];
};

void depth_values_free(struct depth_values *values) {
  while (values) {
    struct depth_values *next = values->next;
    free(values);
    values = next;
  }
}

/* --- weights that are computed from those in the file: finding those that exist already, and adding new ones ---
 * */

/* Writes to out the name under which a weight that is computed from the file's weights is listed: "depth/", NAME,
 * and SUFFIX. */
static void name_of(char out[NAME_LENGTH], const char *name, const char *suffix) {
  snprintf(out, NAME_LENGTH, "depth/%s%s", name, suffix);
}

static bool is_known(const struct net *net, const char *name, const char *suffix) {
  char full[NAME_LENGTH];
  name_of(full, name, suffix);
  return resources_find(net->plan->resources, full) >= 0;
}

/* Allocates the values of a weight, which the depth model owns. If memory runs out, the plan fails and NULL is
 * returned. */
static struct depth_values *reserve(const struct depth *depth, const struct net *net, const char *name,
                                    const char *suffix, size_t count) {
  struct error err;
  struct depth_values *own = calloc(1, sizeof *own + count * sizeof(float));
  if (!own) {
    error_set(&err, STATUS_FAILED, "%s%s: out of memory", name, suffix);
    net_fail(net, &err);
    return NULL;
  }
  snprintf(own->name, sizeof own->name, "%s%s", name, suffix);
  own->next = *depth->values;
  *depth->values = own;
  return own;
}

/* Adds a resource (a weight or another tensor that plans share), a matrix of n rows or a vector, and returns its
 * tensor. own: its values; NULL: the resource exists already, or the plan has failed. */
static struct tensor add(const struct net *net, const char *name, const char *suffix, int n, int c,
                         const struct depth_values *own) {
  char full[NAME_LENGTH];
  struct error err = {0};
  struct weight_part part = {.dtype = DTYPE_F32, .rows = n == 1 ? c : n};
  if (net->plan->failed)
    return (struct tensor){0};
  if (own) {
    part.data = own->values;
    part.name = own->name;
  }
  name_of(full, name, suffix);
  struct tensor t = resources_weight(net->plan->resources, full, n, 1, 1, c, &part, 1, &err);
  if (!tensor_exists(t))
    net_fail(net, &err);
  return t;
}

/* Reads a tensor of the file into memory that the caller frees. On failure the plan fails and NULL is returned. The
 * tensor's size is checked before memory is allocated. */
static float *read_new(const struct depth *depth, const struct net *net, const char *key, int rank,
                       const int64_t *shape) {
  const struct component *from = &depth->files.weights;
  struct error err = {0};
  float *values = NULL;
  size_t count = 1;
  for (int i = 0; i < rank; i++)
    count *= (size_t)shape[i];
  int result = net->plan->failed ? -1 : checkpoint_check(from, key, rank, shape, &err);
  if (!result && !(values = malloc(count * sizeof *values)))
    result = error_set(&err, STATUS_FAILED, "%s: out of memory", key);
  if (!result)
    result = checkpoint_values(from, key, rank, shape, values, &err);
  if (!result)
    return values;
  net_fail(net, &err);
  free(values);
  return NULL;
}

/* --- computing the values of each kind of weight --- */

static void scale_rows(const float *from, const float *scale, size_t rows, size_t columns, float *to) {
  for (size_t r = 0; r < rows; r++)
    for (size_t c = 0; c < columns; c++)
      to[r * columns + c] = from[r * columns + c] * scale[r];
}

/* Returns weights [out][in], or a bias [out], with each output's row multiplied by its entry of the vector `scale`. */
static struct tensor scaled(const struct depth *depth, const struct net *net, const char *name, const char *suffix,
                            const float *scale, int in, int out) {
  char key[KEY_MAX];
  const int64_t shape[2] = {out, in};
  int rank = in ? 2 : 1;
  size_t columns = in ? (size_t)in : 1;
  struct depth_values *own = NULL;
  float *read = NULL;
  snprintf(key, sizeof key, "%s%s", name, suffix);
  if (scale && (read = read_new(depth, net, key, rank, shape)) &&
      (own = reserve(depth, net, name, suffix, (size_t)out * columns)))
    scale_rows(read, scale, (size_t)out, columns, own->values);
  free(read);
  return add(net, name, suffix, in ? out : 1, in ? in : out, own);
}

struct depth_linear depth_scaled(const struct depth *depth, const struct net *net, const char *name, const char *scale,
                                 int in, int out) {
  float *factors = NULL;
  struct depth_linear linear = {0};
  if (net->plan->failed)
    return linear;
  if (!is_known(net, name, ".weight") && !(factors = read_new(depth, net, scale, 1, (const int64_t[]){out})))
    return linear;
  linear.weight = scaled(depth, net, name, ".weight", factors, in, out);
  linear.bias = scaled(depth, net, name, ".bias", factors, 0, out);
  free(factors);
  return linear;
}

#define PATCHES "backbone.embeddings.patch_embeddings.projection"

/* Reorders convolution weights [out][3][patch][patch] to rows [out][patch][patch][3], each followed by zeros up to
 * `columns` values. */
static void turn_patches(const float *from, int out, int patch, int columns, float *to) {
  size_t pixels = (size_t)patch * (size_t)patch;
  for (size_t o = 0; o < (size_t)out; o++)
    for (size_t p = 0; p < pixels; p++)
      for (size_t k = 0; k < 3; k++)
        to[o * (size_t)columns + p * 3 + k] = from[(o * 3 + k) * pixels + p];
}

struct depth_linear depth_patches(const struct depth *depth, const struct net *net, int columns) {
  const struct depth_config *config = &depth->files.config;
  int out = config->hidden_size, patch = config->patch;
  struct depth_linear linear = {0};
  struct error err = {0};
  struct depth_values *own = NULL;
  float *read = NULL;
  if (net->plan->failed)
    return linear;
  if (!is_known(net, PATCHES, ".weight") &&
      (read = read_new(depth, net, PATCHES ".weight", 4, (const int64_t[]){out, 3, patch, patch})) &&
      (own = reserve(depth, net, PATCHES, ".weight", (size_t)out * (size_t)columns)))
    turn_patches(read, out, patch, columns, own->values);
  free(read);
  linear.weight = add(net, PATCHES, ".weight", out, columns, own);
  linear.bias = checkpoint_vector(&depth->files.weights, net->plan->resources, PATCHES ".bias", out, &err);
  if (!tensor_exists(linear.bias))
    net_fail(net, &err);
  return linear;
}

/* Resizes a table of side x side vectors with c values each to the grid's numbers of rows and columns. */
static void resize_table(const float *table, int side, int c, struct depth_grid grid, float *out) {
  for (int i = 0; i < grid.rows; i++)
    for (int j = 0; j < grid.columns; j++) {
      struct cubic down = cubic_of(i, side, grid.rows), across = cubic_of(j, side, grid.columns);
      for (int k = 0; k < c; k++) {
        double sum = 0;
        for (int a = 0; a < CUBIC_TAPS * CUBIC_TAPS; a++) {
          size_t row = (size_t)down.at[a / CUBIC_TAPS] * (size_t)side + (size_t)across.at[a % CUBIC_TAPS];
          sum +=
              down.weight[a / CUBIC_TAPS] * across.weight[a % CUBIC_TAPS] * (double)table[row * (size_t)c + (size_t)k];
        }
        *out++ = (float)sum;
      }
    }
}

/* Computes the table of position embeddings for this grid; the first row is the class token's. */
static void make_positions(const struct depth *depth, const struct net *net, struct depth_grid grid, float *out) {
  const struct depth_config *config = &depth->files.config;
  int c = config->hidden_size, side = config->side;
  float *table = read_new(depth, net, "backbone.embeddings.position_embeddings", 3,
                          (const int64_t[]){1, (int64_t)side * side + 1, c});
  float *class = table ? read_new(depth, net, "backbone.embeddings.cls_token", 3, (const int64_t[]){1, 1, c}) : NULL;
  float *bias = class ? read_new(depth, net, PATCHES ".bias", 1, (const int64_t[]){c}) : NULL;
  if (bias) {
    for (int k = 0; k < c; k++)
      out[k] = class[k] + table[k] - bias[k];
    resize_table(table + c, side, c, grid, out + c);
  }
  free(bias);
  free(class);
  free(table);
}

struct tensor depth_positions(const struct depth *depth, const struct net *net, struct depth_grid grid) {
  int c = depth->files.config.hidden_size, rows = 1 + grid.rows * grid.columns;
  char name[KEY_MAX];
  struct depth_values *own = NULL;
  if (net->plan->failed)
    return (struct tensor){0};
  snprintf(name, sizeof name, "backbone.embeddings.position_embeddings %dx%d", grid.columns, grid.rows);
  if (!is_known(net, name, "") && (own = reserve(depth, net, name, "", (size_t)rows * (size_t)c)))
    make_positions(depth, net, grid, own->values);
  return add(net, name, "", rows, c, own);
}

/* Reorders a transposed convolution's weights from [in][out][stride][stride] to [stride][stride][out][in]. */
static void turn_transposed(const float *from, int channels, int stride, float *to) {
  size_t c = (size_t)channels, taps = (size_t)stride * (size_t)stride;
  for (size_t i = 0; i < c; i++)
    for (size_t o = 0; o < c; o++)
      for (size_t t = 0; t < taps; t++)
        to[(t * c + o) * c + i] = from[(i * c + o) * taps + t];
}

static struct tensor transposed_bias(const struct depth *depth, const struct net *net, const char *name, int channels,
                                     int taps) {
  char key[KEY_MAX];
  float *read = NULL;
  struct depth_values *own = NULL;
  size_t c = (size_t)channels;
  snprintf(key, sizeof key, "%s.bias", name);
  if (!is_known(net, name, ".bias") && (read = read_new(depth, net, key, 1, (const int64_t[]){channels})) &&
      (own = reserve(depth, net, name, ".bias", c * (size_t)taps)))
    for (size_t t = 0; t < (size_t)taps; t++)
      memcpy(own->values + t * c, read, c * sizeof *read);
  free(read);
  return add(net, name, ".bias", 1, channels * taps, own);
}

struct depth_linear depth_transposed(const struct depth *depth, const struct net *net, const char *name, int channels,
                                     int stride) {
  int taps = stride * stride;
  size_t c = (size_t)channels;
  char key[KEY_MAX];
  struct depth_linear linear = {0};
  struct depth_values *own = NULL;
  float *read = NULL;
  if (net->plan->failed)
    return linear;
  snprintf(key, sizeof key, "%s.weight", name);
  if (!is_known(net, name, ".weight") &&
      (read = read_new(depth, net, key, 4, (const int64_t[]){channels, channels, stride, stride})) &&
      (own = reserve(depth, net, name, ".weight", c * c * (size_t)taps)))
    turn_transposed(read, channels, stride, own->values);
  free(read);
  linear.weight = add(net, name, ".weight", channels * taps, channels, own);
  if (!net->plan->failed)
    linear.bias = transposed_bias(depth, net, name, channels, taps);
  return linear;
}
