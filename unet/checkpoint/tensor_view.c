/* Makes views of open sets. A view describes the tensors of other sets under other names, or with other rows or shapes;
 * no data is copied. */
#include "unet/checkpoint/tensor_view.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/checkpoint/safetensors_impl.h"

int view_open(struct safetensors **result, struct safetensors *const *sets, int count, struct error *err) {
  struct safetensors *view = safetensors_make(sets[0]->path, err);
  *result = view;
  if (!view)
    return -1;
  view->set = calloc((size_t)count, sizeof *view->set);
  if (!view->set)
    return error_set(err, STATUS_FAILED, "%s: out of memory", sets[0]->path);
  for (; view->set_count < count; view->set_count++) {
    view->set[view->set_count] = sets[view->set_count];
    sets[view->set_count]->shares++;
  }
  return 0;
}

static int refuse(const struct safetensor *t, const char *what, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: tensor %s: %s", t->file->path, text_quote(t->key).text, what);
}

/* Returns the number of elements that a shape has; -1: the shape is invalid or too large. */
static int64_t elements(const int64_t *shape, int rank) {
  int64_t product = 1;
  for (int i = 0; i < rank; i++)
    if (shape[i] < 0 || __builtin_mul_overflow(product, shape[i], &product))
      return -1;
  return product;
}

static int take_rows(struct safetensor *t, const struct view_tensor *tensor, struct error *err) {
  const struct safetensor *from = tensor->from;
  if (!tensor->rows && !tensor->first)
    return 0;
  if (from->rank < 1 || from->rank > SAFETENSOR_RANK_MAX || tensor->first < 0 || tensor->rows < 1 ||
      tensor->first >= from->shape[0] || tensor->rows > from->shape[0] - tensor->first || from->transposed)
    return refuse(from, "has not the rows that are looked for in it", err);
  size_t row = from->bytes / (size_t)from->shape[0];
  t->offset += (size_t)tensor->first * row;
  t->bytes = (size_t)tensor->rows * row;
  t->shape[0] = tensor->rows;
  return 0;
}

static int take_shape(struct safetensor *t, const struct view_tensor *tensor, struct error *err) {
  if (!tensor->rank)
    return 0;
  bool known = t->rank <= SAFETENSOR_RANK_MAX && tensor->rank <= SAFETENSOR_RANK_MAX && !t->transposed;
  int64_t count = known ? elements(t->shape, t->rank) : -1;
  if (count < 0 || elements(tensor->shape, tensor->rank) != count)
    return refuse(tensor->from, "has another size than its place in the model", err);
  t->rank = tensor->rank;
  memcpy(t->shape, tensor->shape, sizeof t->shape);
  return 0;
}

static int transpose(struct safetensor *t, const struct view_tensor *tensor, struct error *err) {
  if (!tensor->transposed)
    return 0;
  if (t->rank != 2 || tensor->rank || tensor->rows || tensor->first)
    return refuse(tensor->from, "is no matrix", err);
  int64_t rows = t->shape[0];
  t->shape[0] = t->shape[1];
  t->shape[1] = rows;
  t->transposed ^= true;
  return 0;
}

int view_add(struct safetensors *view, const struct view_tensor *tensor, struct error *err) {
  const struct safetensor *from = tensor->from;
  const char *name = tensor->name ? tensor->name : from->key;
  struct safetensor *t = safetensors_append(view, name, from->key);
  if (!t)
    return error_set(err, STATUS_FAILED, "%s: out of memory", view->path);
  name = t->name;
  const char *key = t->key;
  *t = *from;
  t->name = name;
  t->key = key;
  return take_rows(t, tensor, err) || take_shape(t, tensor, err) || transpose(t, tensor, err) ? -1 : 0;
}

static int compare_places(const void *a, const void *b) {
  const struct safetensor *x = *(const struct safetensor *const *)a, *y = *(const struct safetensor *const *)b;
  if (x->file != y->file)
    return (x->file > y->file) - (x->file < y->file);
  return (x->offset > y->offset) - (x->offset < y->offset);
}

static int check_places(const struct safetensors *view, struct error *err) {
  const struct safetensor **list = malloc((view->count + 1) * sizeof(*list));
  size_t count = 0;
  int result = 0;
  if (!list)
    return error_set(err, STATUS_FAILED, "%s: out of memory", view->path);
  for (size_t i = 0; i < view->count; i++)
    if (view->list[i].bytes)
      list[count++] = &view->list[i];
  qsort(list, count, sizeof(*list), compare_places);
  for (size_t i = 1; !result && i < count; i++)
    if (list[i]->file == list[i - 1]->file && list[i]->offset < list[i - 1]->offset + list[i - 1]->bytes)
      result =
          error_set(err, STATUS_MODEL, "%s: tensor %s: has two places in the model, %s and %s", list[i]->file->path,
                    text_quote(list[i]->key).text, text_quote(list[i - 1]->name).text, text_quote(list[i]->name).text);
  free(list);
  return result;
}

int view_finish(struct safetensors *view, struct error *err) {
  const struct safetensor *twice = safetensors_sort(view);
  if (twice)
    return error_set(err, STATUS_MODEL, "%s: tensors %s and %s are both %s in the model", twice->file->path,
                     text_quote(twice[-1].key).text, text_quote(twice->key).text, text_quote(twice->name).text);
  return check_places(view, err);
}
