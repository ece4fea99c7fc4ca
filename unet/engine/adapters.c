#include "unet/engine/adapters.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- opening the adapters' files --- */

static int compare_tensors(const void *a, const void *b) {
  const struct changed_tensor *x = a, *y = b;
  if (x->file != y->file)
    return (x->file > y->file) - (x->file < y->file);
  if (x->offset != y->offset)
    return (x->offset > y->offset) - (x->offset < y->offset);
  return x->adapter - y->adapter;
}

static int list_changed(struct adapters *a, struct error *err) {
  size_t count = 0;
  for (int i = 0; i < a->count; i++)
    count += (size_t)a->list[i]->place_count;
  a->changed = malloc((count + 1) * sizeof *a->changed);
  if (!a->changed)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < a->count; i++)
    for (int j = 0; j < a->list[i]->place_count; j++) {
      const struct adapter_place *place = &a->list[i]->places[j];
      a->changed[a->changed_count++] = (struct changed_tensor){place->tensor->file, place->tensor->offset, i, place};
    }
  qsort(a->changed, (size_t)a->changed_count, sizeof *a->changed, compare_tensors);
  return 0;
}

static int add_store(struct adapters *a, int index, struct resources *resources, struct error *err) {
  struct adapter *adapter = a->list[index];
  char name[32];
  snprintf(name, sizeof name, "lora[%d]", index + 1);
  const struct weight_part part = {
      .data = adapter->factors, .dtype = DTYPE_F32, .rows = (int)adapter->factor_count, .name = name};
  struct tensor t = resources_weight(resources, name, 1, 1, 1, (int)adapter->factor_count, &part, 1, err);
  if (!tensor_exists(t))
    return -1;
  resources->list[t.index].parts[0].name = resources->list[t.index].name;
  a->store[index] = t.index;
  return 0;
}

int adapters_open(struct adapters *a, const char *const *paths, int count, const struct checkpoint *checkpoint,
                  const struct adapter_options *options, struct resources *resources, struct error *err) {
  a->log = options->log;
  if (count > ADAPTERS_MAX)
    return error_set(err, STATUS_USAGE, "%d adapters: at most %d are supported", count, ADAPTERS_MAX);
  for (int i = 0; i < count; i++, a->count++) {
    char text[256];
    if (adapter_open(&a->list[i], paths[i], checkpoint, options, err) || add_store(a, i, resources, err)) {
      adapter_close(&a->list[i]);
      return -1;
    }
    adapter_describe(&a->list[i]->summary, text, sizeof text);
    log_line(options->log, LOG_INFO, "%s: %s; its factors take %.1f MB", paths[i], text,
             4e-6 * (double)a->list[i]->factor_count);
  }
  return list_changed(a, err);
}

static void drop_changing(struct adapters *a);

void adapters_free(struct adapters *a) {
  drop_changing(a);
  for (int i = 0; i < a->count; i++)
    adapter_close(&a->list[i]);
  free(a->changed);
  free(a->bound);
  *a = (struct adapters){0};
}

/* --- binding: which rows of which weights each adapter changes, found from the tensors in the adapters' files --- */

/* Finds by binary search where the changes to a tensor of the checkpoint are listed: returns the first entry of
 * a->changed for this tensor, or, if no adapter changes it, where such an entry would be. Entries for other adapters
 * follow the first. */
static const struct changed_tensor *find_changed(const struct adapters *a, const struct weight_part *part) {
  const struct changed_tensor key = {.file = part->file, .offset = part->offset, .adapter = -1};
  int low = 0, high = a->changed_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (compare_tensors(&a->changed[middle], &key) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return a->changed + low;
}

static int bind(struct adapters *a, const struct bound *bound, struct error *err) {
  if (a->bound_count == a->bound_room) {
    int room = a->bound_room ? 2 * a->bound_room : 256;
    struct bound *list = realloc(a->bound, (size_t)room * sizeof *list);
    if (!list)
      return error_set(err, STATUS_FAILED, "out of memory");
    a->bound = list;
    a->bound_room = room;
  }
  a->bound[a->bound_count++] = *bound;
  return 0;
}

/* Returns true if an adapter changes some rows of this weight. */
static bool is_adapted(const struct adapters *a, const struct resource *r) {
  for (int i = 0; i < r->part_count; i++) {
    const struct weight_part *part = &r->parts[i];
    const struct changed_tensor *t = find_changed(a, part);
    if (part->file && t < a->changed + a->changed_count && t->file == part->file && t->offset == part->offset)
      return true;
  }
  return false;
}

void adapters_mark(const struct adapters *a, struct resources *resources) {
  for (int i = 0, count = resources_count(resources); a->count && i < count; i++)
    if (!__atomic_load_n(&resources->list[i].adapted, __ATOMIC_RELAXED) && is_adapted(a, &resources->list[i]))
      __atomic_store_n(&resources->list[i].adapted, true, __ATOMIC_RELAXED);
}

static int bind_part(struct adapters *a, int resource, const struct weight_part *part, size_t first,
                     struct error *err) {
  const struct changed_tensor *t = find_changed(a, part), *end = a->changed + a->changed_count;
  for (; part->file && t < end && t->file == part->file && t->offset == part->offset; t++) {
    const struct bound bound = {resource, t->adapter, first, (size_t)part->rows, t->place};
    if (bind(a, &bound, err))
      return -1;
  }
  return 0;
}

/* Appends an element to a->bound for each adapter and each tensor of the weight that it changes. On failure none of
 * these entries remains, so that the caller can try again. */
static int bind_resource(struct adapters *a, const struct resource *r, int index, struct error *err) {
  int before = a->bound_count;
  size_t first = 0;
  for (int i = 0; i < r->part_count; i++) {
    if (bind_part(a, index, &r->parts[i], first, err)) {
      a->bound_count = before;
      return -1;
    }
    first += (size_t)r->parts[i].rows;
  }
  return 0;
}

static int bind_new(struct adapters *a, const struct resources *resources, struct error *err) {
  for (int count = resources_count(resources); a->seen < count; a->seen++)
    if (bind_resource(a, &resources->list[a->seen], a->seen, err))
      return -1;
  return 0;
}

/* --- collecting the changes of all weights for new factors of the adapters --- */

/* A change of weights that is being computed. For each changed weight i, changes[i] is the change, and blends[i] lists
 * the terms that are added to the checkpoint's values. `terms` is the memory of all these terms. */
struct changing {
  struct weight_change *changes;
  struct blend *blends;
  struct blend_term *terms;
  int count, term_count;
  float weights[ADAPTERS_MAX];
  int bound_count; /* number of entries of adapters.bound, from the first, whose changes are in the new weights */
};

static bool same_rows(const struct bound *a, const struct bound *b) {
  return a->resource == b->resource && a->first == b->first;
}

/* Returns true if the change a->bound[index] must be computed again: weights[] gives its adapter another strength than
 * the one with which at least one of the device's two sets of weights (a->sets) was computed. */
static bool has_changed(const struct adapters *a, int index, const float *weights) {
  int adapter = a->bound[index].adapter;
  for (int i = 0; i < 2; i++)
    if (weights[adapter] != (index < a->sets[i].fresh ? a->sets[i].weights[adapter] : 0))
      return true;
  return false;
}

static void add_change(struct changing *c, const struct adapters *a, const struct resource *r, int from, int to,
                       const float *weights) {
  const struct bound *bound = &a->bound[from];
  struct blend *blend = &c->blends[c->count];
  int taps = r->h * r->w, channels = (int)(resource_row_elements(r) / (size_t)taps);
  *blend = (struct blend){&c->terms[c->term_count], to - from, bound->rows, taps, channels};
  for (int i = from; i < to; i++) {
    struct blend_term *term = &c->terms[c->term_count++];
    *term = a->bound[i].place->term;
    term->weight = weights[a->bound[i].adapter];
    term->store = a->store[a->bound[i].adapter];
  }
  c->changes[c->count++] =
      (struct weight_change){.resource = bound->resource, .first = bound->first, .rows = bound->rows, .blend = blend};
}

static void collect_changes(struct changing *c, const struct adapters *a, const struct resources *resources,
                            const float *weights) {
  for (int from = 0, to; from < a->bound_count; from = to) {
    bool changed = false;
    for (to = from; to < a->bound_count && same_rows(&a->bound[from], &a->bound[to]); to++)
      changed |= has_changed(a, to, weights);
    if (changed)
      add_change(c, a, &resources->list[a->bound[from].resource], from, to, weights);
  }
}

/* An error message begins with a tensor's name. Returns true if this adapter changes that tensor, with a weight other
 * than 0. */
static bool is_blamed(const struct adapters *a, int adapter, const struct resources *resources, const float *weights,
                      const char *message) {
  for (int i = 0; weights[adapter] != 0 && i < a->bound_count; i++) {
    const char *name = resources->list[a->bound[i].resource].name;
    if (a->bound[i].adapter == adapter && !strncmp(message, name, strlen(name)) && message[strlen(name)] == ':')
      return true;
  }
  return false;
}

/* Puts text before the error message about a weight: the name of each adapter that changes the weight, with the advice
 * to use it with a lower weight. weights: the adapters' weights with which the error occurred. */
static void name_adapters(const struct adapters *a, const struct resources *resources, const float *weights,
                          struct error *err) {
  const struct error told = *err;
  for (int i = a->count - 1; i >= 0; i--)
    if (is_blamed(a, i, resources, weights, told.message))
      error_prefix(err, "%s: give it less weight: ", a->list[i]->path);
}

static void free_changing(struct changing *c) {
  if (c) {
    free(c->changes);
    free(c->blends);
    free(c->terms);
  }
  free(c);
}

static void drop_changing(struct adapters *a) {
  free_changing(a->changing);
  a->changing = NULL;
}

/* Collects the changes that the device's weights need to contain the adapters with these strengths (values of
 * controls.adapter). The caller frees the result with free_changing. Returns NULL with err set if memory runs out. */
static struct changing *make_changing(const struct adapters *a, const struct resources *resources, const float *weights,
                                      struct error *err) {
  size_t room = (size_t)a->bound_count + 1;
  struct changing *c = calloc(1, sizeof *c);
  if (c) {
    memcpy(c->weights, weights, sizeof c->weights);
    c->bound_count = a->bound_count;
    c->changes = malloc(room * sizeof *c->changes);
    c->blends = malloc(room * sizeof *c->blends);
    c->terms = malloc(room * sizeof *c->terms);
  }
  if (c && c->changes && c->blends && c->terms) {
    collect_changes(c, a, resources, weights);
    return c;
  }
  free_changing(c);
  error_set(err, STATUS_FAILED, "out of memory");
  return NULL;
}

static bool set_has(const struct adapters *a, int set, const float *weights) {
  return a->sets[set].fresh == a->bound_count &&
         !memcmp(a->sets[set].weights, weights, (size_t)a->count * sizeof *weights);
}

/* Records what set number `set` (0 or 1) of the device's weights contains after change `c`: with which strengths of the
 * adapters it was made, and from which entries of a->bound. */
static void note_set(struct adapters *a, int set, const struct changing *c) {
  memcpy(a->sets[set].weights, c->weights, sizeof c->weights);
  a->sets[set].fresh = c->bound_count;
}

bool adapters_are(const struct adapters *a, const struct device *device, const float weights[ADAPTERS_MAX]) {
  return !a->count || (a->seen == resources_count(device->resources) && set_has(a, a->set, weights));
}

/* --- changing weights in the background, in slices between frames --- */

int adapters_begin(struct adapters *a, struct device *device, const float weights[ADAPTERS_MAX], struct error *err) {
  drop_changing(a);
  if (bind_new(a, device->resources, err))
    return -1;
  adapters_mark(a, device->resources);
  a->changing = make_changing(a, device->resources, weights, err);
  if (!a->changing || device_merge_begin(device, a->changing->changes, a->changing->count, err)) {
    drop_changing(a);
    return -1;
  }
  return 0;
}

int adapters_go_on(struct adapters *a, struct device *device, bool all, struct error *err) {
  int status = device_merge_go_on(device, all, err);
  if (status < 0) {
    if (err && err->status == STATUS_MODEL)
      name_adapters(a, device->resources, a->changing->weights, err);
    for (int i = 0; i < ADAPTERS_MAX; i++)
      a->sets[!a->set].weights[i] = NAN;
    a->sets[!a->set].fresh = a->changing->bound_count;
    drop_changing(a);
  }
  return status;
}

void adapters_made(struct adapters *a, struct device *device) {
  device_merge_made(device, a->changing->changes, a->changing->count);
  note_set(a, !a->set, a->changing);
}

void adapters_show(struct adapters *a, struct device *device) {
  device_merge_show(device);
  a->set = !a->set;
  drop_changing(a);
}

int adapters_load(struct adapters *a, struct device *device, struct error *err) {
  struct device_info info;
  device_get_info(device, &info);
  a->two_sets = info.two_sets;
  for (int i = 0; i < a->count; i++) {
    const struct resource *r = &device->resources->list[a->store[i]];
    const struct tensor t = {TENSOR_RESOURCE, a->store[i], r->n, r->h, r->w, r->c, 0, r->c};
    if (device_read(device, NULL, t, 0, NULL, 0, err) < 0)
      return -1;
  }
  return 0;
}

/* --- changing weights at once, while frames wait --- */

static int change_one_set(struct adapters *a, struct device *device, const float *weights, struct error *err) {
  struct changing *c = make_changing(a, device->resources, weights, err);
  int status = c && (!c->count || device_update(device, c->changes, c->count, err) == 0) ? 0 : -1;
  for (int set = 0; set < 2 && status == 0; set++)
    note_set(a, set, c);
  if (c && status && err && err->status == STATUS_MODEL)
    name_adapters(a, device->resources, weights, err);
  free_changing(c);
  return status;
}

static int change(struct adapters *a, struct device *device, const float *weights, struct error *err) {
  if (!a->two_sets)
    return change_one_set(a, device, weights, err);
  if (adapters_begin(a, device, weights, err) || adapters_go_on(a, device, true, err) < 0)
    return -1;
  adapters_made(a, device);
  adapters_show(a, device);
  return 0;
}

/* Changes the device's weights by adapters for the first time, and logs how much device memory this has taken. The
 * memory stays taken as long as the engine is open. */
static int change_first(struct adapters *a, struct device *device, const float *weights, struct error *err) {
  struct device_counters before, after;
  device_get_counters(device, &before);
  if (change(a, device, weights, err))
    return -1;
  device_get_counters(device, &after);
  a->told = after.bytes > before.bytes;
  if (a->told)
    log_line(a->log, LOG_INFO, "adapters take %.0f MB of device memory, so that their weights can change",
             1e-6 * (double)(after.bytes - before.bytes));
  return 0;
}

int adapters_apply(struct adapters *a, struct device *device, const float weights[ADAPTERS_MAX], struct error *err) {
  if (!a->count || bind_new(a, device->resources, err))
    return a->count ? -1 : 0;
  if (set_has(a, a->set, weights))
    return 0;
  return (a->told ? change : change_first)(a, device, weights, err);
}
