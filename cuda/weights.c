/* Makes copies of weights in the layouts that some kernels need (forms), and changes weights while frames run
 * (weights_update). */
#include "blends.h"
#include "check.h"
#include "cuda_device.h"
#include "kernels/composed_conv.h"

#include <stdlib.h>
#include <string.h>

/* How many times longer a copy that is a product of two weights takes to make than one of its size that is not. */
enum { FOLDED_WORK = 4 };

/* --- copies of weights in other layouts --- */

/* A layout that keeps the order of a weight's rows, so that single rows can be copied. Or, if `launch` is NULL, a
 * layout whose copy depends on other resources as well and is always made as a whole (`folded`). */
struct cuda_form {
  struct form form;
  /* Returns how many bytes a part of the weight r takes in this layout. elements: the part's number of elements, a
   * whole number of rows. */
  size_t (*bytes)(const struct resource *r, size_t elements);
  cudaError_t (*launch)(const struct launch_queue *queue, const struct resource *r, const void *source, void *target,
                        size_t elements);
};

static int padded_channels(const struct resource *r) {
  return (r->c + 7) / 8 * 8;
}

static size_t padded_bytes(const struct resource *r, size_t elements) {
  return elements / (size_t)r->c * (size_t)padded_channels(r) * sizeof(half_t);
}

static cudaError_t launch_padded(const struct launch_queue *queue, const struct resource *r, const void *source,
                                 void *target, size_t elements) {
  const struct pad_args pad = {source, target, elements / (size_t)r->c, r->c, padded_channels(r)};
  return launch_pad(queue, &pad);
}

static size_t quartered_bytes(const struct resource *r, size_t elements) {
  return elements / (9 * (size_t)r->c) * 16 * (size_t)padded_channels(r) * sizeof(half_t);
}

static cudaError_t launch_quartered(const struct launch_queue *queue, const struct resource *r, const void *source,
                                    void *target, size_t elements) {
  const struct pad_args pad = {source, target, elements / (9 * (size_t)r->c), r->c, padded_channels(r)};
  return launch_quarters(queue, &pad);
}

static size_t f16_bytes(const struct resource *r, size_t elements) {
  (void)r;
  return elements * sizeof(half_t);
}

static cudaError_t launch_f16_copy(const struct launch_queue *queue, const struct resource *r, const void *source,
                                   void *target, size_t elements) {
  (void)r;
  return launch_to_f16(queue, source, target, elements);
}

/* --- weights of two linear layers as one, and of two convolutions --- */

static const struct cuda_form folded, composed;

/* Returns what a copy is made of beside its resource, if it is made of two weights; else NULL. */
static const struct folded_layers *layers_of(const struct derived *copy) {
  return copy->form == &folded.form || copy->form == &composed.form ? copy->detail : NULL;
}

static bool same_layers(const void *a, const void *b) {
  const struct folded_layers *x = a, *y = b;
  return x->inner == y->inner && x->inner_bias == y->inner_bias && x->bias == y->bias && x->width == y->width;
}

/* Returns how many bytes the matrix takes that is made of an outer weight with so many elements. */
static size_t folded_matrix_bytes(const struct resource *r, size_t elements, int width) {
  size_t rows = elements / (size_t)r->c;
  return (rows * (size_t)(width + r->c) * sizeof(half_t) + 255) / 256 * 256;
}

static const void *data_of(const struct cuda_device *device, int index, int set) {
  return index < 0 ? NULL : resource_data(&device->resource[index], set);
}

static cudaError_t launch_folded(const struct cuda_device *device, const struct launch_queue *queue, int set,
                                 const struct derived *copy) {
  const struct resource *r = &device->base.resources->list[copy->resource];
  const struct folded_layers *layers = copy->detail;
  size_t elements = resource_elements(r);
  const struct fold_weights_args args = {
      .outer = data_of(device, copy->resource, set),
      .inner = data_of(device, layers->inner, set),
      .inner_bias = data_of(device, layers->inner_bias, set),
      .bias = data_of(device, layers->bias, set),
      .weight = copy->data,
      .y_bias = (float *)((char *)copy->data + folded_matrix_bytes(r, elements, layers->width)),
      .rows = (int)(elements / (size_t)r->c),
      .c = r->c,
      .width = layers->width};
  return launch_fold_weights(queue, &args);
}

static cudaError_t launch_composed_weights(const struct cuda_device *device, const struct launch_queue *queue, int set,
                                           const struct derived *copy) {
  const struct folded_layers *layers = copy->detail;
  const struct compose_args args = {.inner = data_of(device, layers->inner, set),
                                    .outer = data_of(device, copy->resource, set),
                                    .inner_bias = data_of(device, layers->inner_bias, set),
                                    .outer_bias = data_of(device, layers->bias, set),
                                    .weight = copy->data,
                                    .bias = (float *)((half_t *)copy->data + COMPOSED_WEIGHTS),
                                    .c = device->base.resources->list[copy->resource].c};
  return launch_compose(queue, &args);
}

int weights_make_form(struct cuda_device *device, const struct launch_queue *queue, int set, const struct derived *copy,
                      struct error *err) {
  const struct cuda_form *form = (const struct cuda_form *)copy->form;
  const struct resource *r = &device->base.resources->list[copy->resource];
  const void *source = resource_data(&device->resource[copy->resource], set);
  if (!form->launch)
    return cuda_check(form == &composed ? launch_composed_weights(device, queue, set, copy)
                                        : launch_folded(device, queue, set, copy),
                      r->name, err);
  return cuda_check(form->launch(queue, r, source, copy->data, resource_elements(r)), r->name, err);
}

static int make(struct device *base, const struct derived *copy, struct error *err) {
  return weights_make_form(cuda_device(base), &cuda_device(base)->loads.queue, 0, copy, err);
}

static const struct cuda_form padded = {{.make = make}, padded_bytes, launch_padded},
                              quartered = {{.make = make}, quartered_bytes, launch_quartered},
                              f16 = {{.make = make}, f16_bytes, launch_f16_copy};
static const struct cuda_form folded = {
    .form = {.detail_bytes = sizeof(struct folded_layers), .same = same_layers, .make = make}};
static const struct cuda_form composed = {
    .form = {.detail_bytes = sizeof(struct folded_layers), .same = same_layers, .make = make}};

static bool is_doubled(const struct cuda_device *device, int index) {
  return index >= 0 && device->resource[index].other;
}

/* Returns the index in device->derived, 0 or 1, of the table that has a copy in another layout. copy: its weight, form
 * and detail; set: which of the two sets of weights is meant. If both sets share one version of all that the copy
 * depends on, it is in table 0. */
static int table_of(const struct cuda_device *device, const struct derived *copy, int set) {
  const struct folded_layers *layers = layers_of(copy);
  bool doubled = is_doubled(device, copy->resource) ||
                 (layers && (is_doubled(device, layers->inner) || is_doubled(device, layers->inner_bias) ||
                             is_doubled(device, layers->bias)));
  return doubled ? set : 0;
}

bool weights_form_reads(const struct derived *copy, const bool *changed) {
  const struct folded_layers *layers = layers_of(copy);
  return changed[copy->resource] ||
         (layers && (changed[layers->inner] || (layers->inner_bias >= 0 && changed[layers->inner_bias]) ||
                     (layers->bias >= 0 && changed[layers->bias])));
}

size_t weights_form_work(const struct derived *copy) {
  return copy->bytes / sizeof(half_t) * (layers_of(copy) ? FOLDED_WORK : 1);
}

int weights_form_load(struct cuda_device *device, const struct derived *copy, struct error *err) {
  const struct folded_layers *layers = layers_of(copy);
  if (!layers)
    return resource_load(device, copy->resource, ROLE_ANY, err) ? 0 : -1;
  const int matrices[] = {copy->resource, layers->inner}, vectors[] = {layers->inner_bias, layers->bias};
  for (int i = 0; i < 2; i++)
    if (!resource_load(device, matrices[i], ROLE_MATRIX, err) ||
        (vectors[i] >= 0 && !resource_load(device, vectors[i], ROLE_VECTOR, err)))
      return -1;
  return 0;
}

/* Returns the copy of a weight in another layout. The first call makes it, from the weight's present values. wanted:
 * its weight, form, detail and number of bytes. */
static half_t *derive(struct cuda_device *device, const struct derived *wanted, int set, struct error *err) {
  const struct resource *r = &device->base.resources->list[wanted->resource];
  set = table_of(device, wanted, set);
  const struct derived *found = derived_find(&device->derived[set], wanted->resource, wanted->form, wanted->detail);
  if (found)
    return found->data;
  struct derived copy = *wanted;
  copy.version = r->version;
  if (cuda_keep_weight(device, &copy.data, copy.bytes, r->name, err) < 0 ||
      cuda_check(cudaStreamWaitEvent(device->loads.queue.stream, device->published, 0), r->name, err) < 0 ||
      weights_make_form(device, &device->loads.queue, set, &copy, err) < 0 ||
      cuda_check(cudaEventRecord(device->shadow_ready, device->loads.queue.stream), r->name, err) < 0 ||
      derived_add(&device->derived[set], &copy, err) < 0)
    return NULL;
  return copy.data;
}

/* Returns the copy of a weight in a layout that depends on nothing else. */
static half_t *derive_alone(struct cuda_device *device, int index, int set, const struct cuda_form *form,
                            struct error *err) {
  const struct resource *r = &device->base.resources->list[index];
  const struct derived wanted = {.resource = index, .form = &form->form, .bytes = form->bytes(r, resource_elements(r))};
  return derive(device, &wanted, set, err);
}

half_t *resource_padded(struct cuda_device *device, int index, int set, struct error *err) {
  return resource_load(device, index, ROLE_MATRIX, err) ? derive_alone(device, index, set, &padded, err) : NULL;
}

/* Returns a copy that was made of a weight before that was dropped; NULL: it was not dropped, or has no such copy. */
static const struct derived *find_copy_of_dropped(const struct cuda_device *device, int index, const struct form *form,
                                                  const void *detail) {
  bool dropped = !device->resource[index].data && !(device->merge && device->base.resources->list[index].adapted);
  return dropped ? derived_find(&device->derived[0], index, form, detail) : NULL;
}

half_t *resource_quartered(struct cuda_device *device, int index, int set, struct error *err) {
  const struct derived *copy = find_copy_of_dropped(device, index, &quartered.form, NULL);
  if (copy)
    return copy->data;
  return resource_load(device, index, ROLE_MATRIX, err) ? derive_alone(device, index, set, &quartered, err) : NULL;
}

/* Drops the two weights of which a copy was made as a product, if adapters change nothing of it. */
static void drop_folded(struct cuda_device *device, int index, const struct folded_layers *layers) {
  const int list[] = {index, layers->inner, layers->inner_bias, layers->bias};
  for (int i = 0; i < 4; i++) {
    const struct resource *r = list[i] < 0 ? NULL : &device->base.resources->list[list[i]];
    if (r && (r->adapted || r->version))
      return;
  }
  resource_drop(device, index);
  resource_drop(device, layers->inner);
}

half_t *resource_folded(struct cuda_device *device, int index, struct folded_layers layers, int set, float **bias,
                        struct error *err) {
  const struct resource *r = &device->base.resources->list[index];
  size_t elements = resource_elements(r), bytes = folded_matrix_bytes(r, elements, layers.width);
  const struct derived wanted = {.resource = index,
                                 .form = &folded.form,
                                 .detail = &layers,
                                 .bytes = bytes + elements / (size_t)r->c * sizeof(float)};
  const struct derived *copy = find_copy_of_dropped(device, index, &folded.form, &layers);
  half_t *matrix = copy                                           ? copy->data
                   : weights_form_load(device, &wanted, err) == 0 ? derive(device, &wanted, set, err)
                                                                  : NULL;
  *bias = matrix ? (float *)((char *)matrix + bytes) : NULL;
  if (matrix)
    drop_folded(device, index, &layers);
  return matrix;
}

half_t *resource_composed(struct cuda_device *device, int index, struct folded_layers layers, int set, float **bias,
                          struct error *err) {
  const struct derived wanted = {.resource = index,
                                 .form = &composed.form,
                                 .detail = &layers,
                                 .bytes = COMPOSED_WEIGHTS * sizeof(half_t) + COMPOSED_BIASES * sizeof(float)};
  half_t *weight = weights_form_load(device, &wanted, err) == 0 ? derive(device, &wanted, set, err) : NULL;
  *bias = weight ? (float *)(weight + COMPOSED_WEIGHTS) : NULL;
  return weight;
}

half_t *resource_f16(struct cuda_device *device, int index, int set, struct error *err) {
  if (!resource_load(device, index, ROLE_VECTOR, err))
    return NULL;
  const struct derived wanted = {.resource = index, .form = &f16.form};
  bool known = derived_find(&device->derived[table_of(device, &wanted, set)], index, &f16.form, NULL);
  if (!known && !device->base.sizes_only && resource_check_f16(&device->base.resources->list[index], err) < 0)
    return NULL;
  return derive_alone(device, index, set, &f16, err);
}

/* --- changing weights while frames run --- */

/* An update: changes of weights that take effect together. While frames run, the changed rows and their copies in other
 * layouts are made in a shadow buffer, on the stream on which weights are loaded. Then one kernel between two runs
 * copies all of them to their places. By then, weights that were being loaded for a new program have arrived. */
struct update {
  const struct weight_change *changes;
  int count;
  /* The copies to be made when the update takes effect: for each change of a weight the changed rows, then these rows
   * in each other layout. Each entry says where in the shadow buffer its data begin. */
  struct segment *segments;
  int segment_count;
  /* number of bytes that the update needs in the shadow buffer: for the changed rows and their copies, for the list of
   * the ranges to copy (segments), and for the lists of changed weights and of the adapters' terms */
  size_t bytes;
  size_t list_at, blends_at;
  struct blends blends;
};

static const float f16_limit = 65520; /* smallest FP32 value that becomes infinity in FP16 */

static int check_f16(const struct resource *r, const struct weight_change *change, struct error *err) {
  size_t row = resource_row_elements(r);
  for (size_t i = 0; i < change->rows * row; i++)
    if (change->values[i] >= f16_limit || change->values[i] <= -f16_limit)
      return error_set(err, STATUS_FAILED,
                       "%s: value %zu of row %zu is %g, beyond FP16's 65504, in which this device computes", r->name,
                       i % row, change->first + i / row, (double)change->values[i]);
  return 0;
}

static void add_segment(struct update *update, void *target, size_t bytes) {
  update->segments[update->segment_count++] = (struct segment){update->bytes, target, bytes};
  update->bytes += (bytes + 255) / 256 * 256;
}

/* Returns true if a copy is in a layout in which changed rows of this weight are copied alone. */
static bool copies_rows(const struct derived *copy, int resource) {
  return copy->resource == resource && ((const struct cuda_form *)copy->form)->launch;
}

static size_t count_forms(const struct cuda_device *device, int set, int resource) {
  size_t count = 0;
  for (int i = 0; i < device->derived[set].count; i++)
    count += copies_rows(&device->derived[set].list[i], resource);
  return count;
}

static int plan_change(struct cuda_device *device, struct update *update, const struct weight_change *change,
                       struct error *err) {
  const struct resource *r = &device->base.resources->list[change->resource];
  struct resource_memory *memory = resource_load(device, change->resource, ROLE_ANY, err);
  if (!memory || (!change->blend && check_f16(r, change, err) < 0))
    return -1;
  size_t row = resource_row_elements(r), first = change->first * row, elements = change->rows * row;
  size_t element = element_size(memory->element);
  if (change->blend && blends_add(&update->blends, device, change, (void *)update->bytes, err) < 0)
    return -1;
  add_segment(update, (char *)memory->data + first * element, elements * element);
  for (int i = 0; i < device->derived[0].count; i++) {
    const struct derived *copy = &device->derived[0].list[i];
    const struct cuda_form *form = (const struct cuda_form *)copy->form;
    if (copies_rows(copy, change->resource))
      add_segment(update, (char *)copy->data + form->bytes(r, first), form->bytes(r, elements));
  }
  return 0;
}

/* Plans the copies (struct segment) that write the rows of a change to the second set of weights, and adds them to
 * *update. first: the planned copies of these rows to the first set. The new copies read the same parts of the shadow
 * buffer. */
static void plan_other(struct cuda_device *device, struct update *update, const struct weight_change *change,
                       const struct segment *first) {
  const struct resource *r = &device->base.resources->list[change->resource];
  const struct resource_memory *memory = &device->resource[change->resource];
  size_t row = resource_row_elements(r), at = change->first * row;
  if (!memory->other)
    return;
  struct segment *to = update->segments + update->segment_count;
  *to++ = (struct segment){first->source, (char *)memory->other + at * element_size(memory->element), first->bytes};
  for (int i = 0; i < device->derived[0].count; i++) {
    const struct derived *copy = &device->derived[0].list[i], *other;
    const struct cuda_form *form = (const struct cuda_form *)copy->form;
    if (!copies_rows(copy, change->resource))
      continue;
    first++;
    if ((other = derived_find(&device->derived[1], copy->resource, copy->form, NULL)))
      *to++ = (struct segment){first->source, (char *)other->data + form->bytes(r, at), first->bytes};
  }
  update->segment_count = (int)(to - update->segments);
}

/* Calls `act` for each copy that depends on changed weights and is always made as a whole. */
static int each_whole_form(struct cuda_device *device, const struct update *update,
                           int (*act)(struct cuda_device *device, int set, const struct derived *copy,
                                      struct error *err),
                           struct error *err) {
  bool *changed = calloc(RESOURCES_MAX, sizeof *changed);
  int status = changed ? 0 : error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; status == 0 && i < update->count; i++)
    changed[update->changes[i].resource] = true;
  for (int set = 0; set < 2; set++)
    for (int i = 0; status == 0 && i < device->derived[set].count; i++) {
      const struct derived *copy = &device->derived[set].list[i];
      if (!((const struct cuda_form *)copy->form)->launch && weights_form_reads(copy, changed))
        status = act(device, set, copy, err);
    }
  free(changed);
  return status;
}

/* Loads what a copy is made of, of which something may have been dropped. */
static int load_whole_form(struct cuda_device *device, int set, const struct derived *copy, struct error *err) {
  (void)set;
  return weights_form_load(device, copy, err);
}

/* Makes a copy again, behind the copy of the changes to their places. */
static int make_whole_form(struct cuda_device *device, int set, const struct derived *copy, struct error *err) {
  return weights_make_form(device, &device->queue, set, copy, err);
}

static int plan_update(struct cuda_device *device, struct update *update, struct error *err) {
  size_t most = (size_t)update->count;
  for (int i = 0; i < update->count; i++)
    most += count_forms(device, 0, update->changes[i].resource);
  update->segments = malloc((2 * most + 1) * sizeof *update->segments);
  if (!update->segments)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (blends_init(&update->blends, update->changes, update->count, err) < 0)
    return -1;
  for (int i = 0; i < update->count; i++)
    if (plan_change(device, update, &update->changes[i], err) < 0)
      return -1;
  if (each_whole_form(device, update, load_whole_form, err) < 0)
    return -1;
  const struct segment *segment = update->segments;
  for (int i = 0; i < update->count; i++) {
    plan_other(device, update, &update->changes[i], segment);
    segment += 1 + count_forms(device, 0, update->changes[i].resource);
  }
  update->list_at = update->bytes;
  update->blends_at = (update->list_at + (size_t)update->segment_count * sizeof *update->segments + 255) / 256 * 256;
  update->bytes = update->blends_at + blends_bytes(&update->blends);
  return 0;
}

/* Enlarges the shadow buffer if it has less than `bytes` bytes, and keeps it for later changes. The shadow buffer is
 * device memory in which changed rows are prepared, before one launch copies all of them to their places. */
static int shadow_reserve(struct cuda_device *device, size_t bytes, struct error *err) {
  if (bytes <= device->shadow_bytes)
    return 0;
  if (cuda_check(cudaEventSynchronize(device->published), "changing weights", err) < 0)
    return -1;
  cuda_free(device, device->shadow, device->shadow_bytes);
  device->shadow_bytes = 0;
  if (cuda_alloc(device, &device->shadow, bytes, "changing weights", err) < 0)
    return -1;
  device->shadow_bytes = bytes;
  return 0;
}

/* Copies the changed rows of weights from the host to the shadow buffer (device memory in which changed weights are
 * prepared). Changes by adapters (weight_change.blend) are left out, because the device calculates them. */
static int fill_rows(struct cuda_device *device, const struct update *update, struct error *err) {
  const struct segment *segment = update->segments;
  for (int i = 0; i < update->count; i++) {
    const struct weight_change *change = &update->changes[i];
    const struct resource *r = &device->base.resources->list[change->resource];
    if (!change->blend && staging_send(&device->loads, (char *)device->shadow + segment->source,
                                       device->resource[change->resource].element, change->values,
                                       change->rows * resource_row_elements(r), err) < 0)
      return -1;
    segment += 1 + count_forms(device, 0, change->resource);
  }
  return 0;
}

/* Converts a weight's changed rows to all other layouts in which the device has copies of the weight. The results go to
 * the shadow buffer, where a struct segment (a range of bytes that is copied to its place later) is planned for each.
 * segment: the one of the changed rows themselves; those of the other layouts follow it in the array. Returns the
 * segment after them, which belongs to the next change; NULL with err set on failure. */
static const struct segment *fill_forms(struct cuda_device *device, const struct weight_change *change,
                                        const struct segment *segment, struct error *err) {
  const struct resource *r = &device->base.resources->list[change->resource];
  size_t elements = change->rows * resource_row_elements(r);
  char *shadow = device->shadow, *rows = shadow + segment->source;
  segment++;
  for (int i = 0; i < device->derived[0].count; i++) {
    const struct cuda_form *form = (const struct cuda_form *)device->derived[0].list[i].form;
    if (!copies_rows(&device->derived[0].list[i], change->resource))
      continue;
    if (elements && cuda_check(form->launch(&device->loads.queue, r, rows, shadow + segment->source, elements),
                               "changing weights", err) < 0)
      return NULL;
    segment++;
  }
  return segment;
}

static int fill_shadow(struct cuda_device *device, struct update *update, struct error *err) {
  const struct segment *segment = update->segments;
  if (cuda_check(cudaStreamWaitEvent(device->loads.queue.stream, device->published, 0), "changing weights", err) < 0 ||
      fill_rows(device, update, err) < 0 || blends_run(&update->blends, device, update->blends_at, err) < 0)
    return -1;
  for (int i = 0; i < update->count; i++)
    if (!(segment = fill_forms(device, &update->changes[i], segment, err)))
      return -1;
  return 0;
}

/* Enqueues the copy of all changes from the shadow buffer to their places. Some kernels read weights before they wait
 * for the preceding kernel in the stream (mainloop_sm90.cuh, norm.cuh). This is safe nevertheless: each run begins with
 * a kernel that reads no weights and waits for this copy (launch_begin). */
static int publish(struct cuda_device *device, const struct update *update, struct error *err) {
  static const char doing[] = "changing weights";
  char *list = (char *)device->shadow + update->list_at;
  if (staging_copy(&device->loads, list, update->segments, (size_t)update->segment_count * sizeof *update->segments,
                   err) < 0 ||
      cuda_check(cudaEventRecord(device->shadow_ready, device->loads.queue.stream), doing, err) < 0 ||
      cuda_check(cudaStreamWaitEvent(device->queue.stream, device->shadow_ready, 0), doing, err) < 0 ||
      cuda_check(launch_publish(&device->queue, device->shadow, (const struct segment *)list, update->segment_count),
                 doing, err) < 0 ||
      each_whole_form(device, update, make_whole_form, err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(device->published, device->queue.stream), doing, err);
}

static void mark_copies(struct cuda_device *device, const struct update *update, uint64_t version) {
  for (int i = 0; i < device->derived[0].count; i++)
    for (int j = 0; j < update->count; j++)
      if (device->derived[0].list[i].resource == update->changes[j].resource)
        device->derived[0].list[i].version = version;
}

int weights_update(struct device *base, const struct weight_change *changes, int count, uint64_t version,
                   struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct update update = {.changes = changes, .count = count};
  int status = plan_update(device, &update, err);
  if (status == 0 && update.segment_count > 0) {
    status = shadow_reserve(device, update.bytes, err);
    if (status == 0)
      status = fill_shadow(device, &update, err);
    if (status == 0)
      status = publish(device, &update, err);
  }
  if (status == 0)
    mark_copies(device, &update, version);
  blends_free(&update.blends);
  free(update.segments);
  return status;
}
