#include "unet/adapter/modules.h"

#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/original.h"

static const char weight_ending[] = ".weight", text_prefix[] = "text_model.";

/* --- making --- */

/* Room for all: a module has a handful of names. */
static int reserve(struct module_table *table, const struct checkpoint *checkpoint, struct error *err) {
  size_t count = 1;
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(checkpoint, i)); i++)
    count += safetensors_count(component->files);
  table->modules = calloc(count, sizeof *table->modules);
  table->names = calloc(8 * count, sizeof *table->names);
  return table->modules && table->names ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

/* The same name with underscores in place of dots; NULL: out of memory. */
static char *flatten(const char *name) {
  char *flat = strdup(name);
  for (char *at = flat; at && *at; at++)
    if (*at == '.')
      *at = '_';
  return flat;
}

static int add_name(struct module_table *table, char *text, enum part part, bool original, struct error *err) {
  if (!text)
    return error_set(err, STATUS_FAILED, "out of memory");
  table->names[table->name_count++] = (struct module_name){text, part, original, table->module_count - 1};
  return 0;
}

static const struct safetensor *find_bias(const struct component *component, const char *weight) {
  size_t length = strlen(weight) - strlen(weight_ending);
  char name[512];
  if (length + sizeof ".bias" > sizeof name)
    return NULL;
  snprintf(name, sizeof name, "%.*s.bias", (int)length, weight);
  const struct safetensor *bias = safetensors_find(component->files, name);
  return bias && bias->usable ? bias : NULL;
}

/* name: of the weight in its component. */
static int add_module(struct module_table *table, const struct component *component, const struct safetensor *weight,
                      enum part part, struct error *err) {
  bool text = part != PART_UNET && !strncmp(weight->name, text_prefix, strlen(text_prefix));
  char *name = strdup(weight->name + (text ? strlen(text_prefix) : 0));
  if (!name)
    return error_set(err, STATUS_FAILED, "out of memory");
  name[strlen(name) - strlen(weight_ending)] = 0;
  table->modules[table->module_count++] = (struct module){component, weight, find_bias(component, weight->name)};
  char *flat = flatten(name);
  if (add_name(table, name, part, false, err))
    free(flat);
  else if (!add_name(table, flat, part, false, err))
    return 0;
  return -1;
}

static bool is_weight(const struct safetensor *t) {
  size_t length = strlen(t->name), ending = strlen(weight_ending);
  return t->usable && t->rank > 0 && length > ending && !strcmp(t->name + length - ending, weight_ending);
}

static int add_component(struct module_table *table, const struct component *component, enum part part,
                         struct error *err) {
  for (size_t i = 0; i < safetensors_count(component->files); i++) {
    const struct safetensor *t = safetensors_at(component->files, i);
    if (is_weight(t) && add_module(table, component, t, part, err))
      return -1;
  }
  return 0;
}

/* The names of modules that begin like this one in the layout of single files. */
struct originals {
  struct module_table *table;
  int first, end; /* names of the predictor's modules */
  struct error *err;
};

static int add_originals(void *opaque, const char *original, const char *name) {
  const struct originals *o = opaque;
  size_t length = strlen(name) - 1; /* of a whole module's name: without the last dot */
  for (int i = o->first; i < o->end; i++) {
    const char *text = o->table->names[i].text, *rest = text + length;
    if (strncmp(text, name, length) || (*rest && *rest != '.'))
      continue;
    char *flat;
    if (asprintf(&flat, "%.*s%s", (int)strlen(original) - 1, original, rest) < 0)
      flat = NULL;
    char *dots = flat;
    flat = flat ? flatten(flat) : NULL;
    free(dots);
    if (add_name(o->table, flat, PART_UNET, true, o->err))
      return -1;
    o->table->names[o->table->name_count - 1].module = o->table->names[i].module;
  }
  return 0;
}

static int add_predictor(struct module_table *table, const struct predictor *predictor, struct error *err) {
  struct originals originals = {table, table->name_count, 0, err};
  if (add_component(table, &predictor->weights, PART_UNET, err))
    return -1;
  originals.end = table->name_count;
  return original_unet_names(predictor->config.levels, predictor->config.layers, add_originals, &originals);
}

static int compare_names(const void *a, const void *b) {
  return strcmp(((const struct module_name *)a)->text, ((const struct module_name *)b)->text);
}

int modules_init(struct module_table *table, const struct checkpoint *checkpoint, struct error *err) {
  *table = (struct module_table){0};
  if (reserve(table, checkpoint, err))
    return -1;
  for (int i = 0; i < checkpoint->predictor_count; i++)
    if (add_predictor(table, &checkpoint->predictors[i], err))
      return -1;
  for (int i = 0; i < checkpoint->text_encoder_count; i++)
    if (add_component(table, &checkpoint->text_encoders[i].weights, i ? PART_TEXT_2 : PART_TEXT, err))
      return -1;
  qsort(table->names, (size_t)table->name_count, sizeof *table->names, compare_names);
  return 0;
}

void modules_free(struct module_table *table) {
  for (int i = 0; i < table->name_count; i++)
    free(table->names[i].text);
  free(table->names);
  free(table->modules);
  *table = (struct module_table){0};
}

/* --- looking up --- */

enum { PATH_MAX_LENGTH = 512 };

static void replace_end(char *path, const char *from, const char *to) {
  size_t length = strlen(path), size = strlen(from);
  if (length >= size && !strcmp(path + length - size, from))
    strcpy(path + length - size, to);
}

/* attn1.processor.to_out -> attn1.to_out.0, self_attn.to_out -> self_attn.out_proj. */
static void name_processor(char path[PATH_MAX_LENGTH]) {
  static const char word[] = ".processor.";
  static const char *const text_names[][2] = {{"self_attn.to_q", "self_attn.q_proj"},
                                              {"self_attn.to_k", "self_attn.k_proj"},
                                              {"self_attn.to_v", "self_attn.v_proj"},
                                              {"self_attn.to_out", "self_attn.out_proj"}};
  char *at = strstr(path, word);
  if (at)
    memmove(at, at + strlen(word) - 1, strlen(at + strlen(word) - 1) + 1);
  for (int i = 0; i < 4; i++)
    replace_end(path, text_names[i][0], text_names[i][1]);
  replace_end(path, ".to_out", ".to_out.0");
}

/* The module's name as the table has it. False: too long for any. */
static bool name_module(const struct adapter_key *key, char path[PATH_MAX_LENGTH]) {
  const char *from = key->path, *prefix = key->flat ? "text_model_" : text_prefix;
  size_t length = key->length;
  if (key->part != PART_UNET && length > strlen(prefix) && !strncmp(from, prefix, strlen(prefix))) {
    from += strlen(prefix);
    length -= strlen(prefix);
  }
  if (length + 16 > PATH_MAX_LENGTH)
    return false;
  memcpy(path, from, length);
  path[length] = 0;
  if (key->processor)
    name_processor(path);
  return true;
}

/* The first of that text. */
static int first_name(const struct module_table *table, const char *text) {
  int low = 0, high = table->name_count;
  while (low < high) {
    int middle = low + (high - low) / 2;
    if (strcmp(table->names[middle].text, text) < 0)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

/* Of the names that are equal to path, the module of those of one part; -1: there is none, -2: there are several. */
static int find_in(const struct module_table *table, const char *path, enum part part, bool *original) {
  int found = -1;
  for (int i = first_name(table, path); i < table->name_count && !strcmp(table->names[i].text, path); i++) {
    const struct module_name *name = &table->names[i];
    if (name->part != part || found == name->module)
      continue;
    if (found >= 0)
      return -2;
    found = name->module;
    *original = name->original;
  }
  return found;
}

int modules_find(const struct module_table *table, const struct adapter_key *key, bool *original) {
  char path[PATH_MAX_LENGTH];
  int found = -1;
  *original = false;
  if (!name_module(key, path))
    return -1;
  for (enum part part = PART_UNET; part < PART_ANY && found == -1; part++)
    if (key->part == part || key->part == PART_ANY)
      found = find_in(table, path, part, original);
  return found < 0 ? -1 : found;
}
