/* A table of the model's modules, sorted by name: their names in the checkpoint, and for U-Nets also those of the
 * single-file layout. */
#include "unet/adapter/modules.h"

#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/original.h"

static const char weight_ending[] = ".weight", text_prefix[] = "text_model.", text_flat[] = "text_model_";

enum { PATH_MAX_LENGTH = 512 };

/* --- making the table of a model's modules --- */

/* Allocates memory for the table: all modules, with up to four names each. */
static int reserve(struct module_table *table, const struct checkpoint *checkpoint, struct error *err) {
  size_t count = 1;
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(checkpoint, i)); i++)
    count += safetensors_count(component->files);
  table->modules = calloc(count, sizeof *table->modules);
  table->names = calloc(4 * count, sizeof *table->names);
  return table->modules && table->names ? 0 : error_set(err, STATUS_FAILED, "out of memory");
}

static void flatten(char *name) {
  for (; *name; name++)
    if (*name == '.')
      *name = '_';
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

/* Adds to the table the module that has this weight, under its name in the checkpoint. */
static int add_module(struct module_table *table, const struct component *component, const struct safetensor *weight,
                      enum part part, struct error *err) {
  bool text = part != PART_UNET && !strncmp(weight->name, text_prefix, strlen(text_prefix));
  char *name = strdup(weight->name + (text ? strlen(text_prefix) : 0));
  if (!name)
    return error_set(err, STATUS_FAILED, "out of memory");
  name[strlen(name) - strlen(weight_ending)] = 0;
  flatten(name);
  table->modules[table->module_count++] = (struct module){component, weight, find_bias(component, weight->name)};
  return add_name(table, name, part, false, err);
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

/* The arguments of add_originals, which gives the modules of one U-Net their names in the single-file layout as
 * well. */
struct originals {
  struct module_table *table;
  int first, end; /* table->names[first] to [end - 1]: the names of the U-Net's modules in diffusers' layout */
  struct error *err;
};

static int add_originals(void *opaque, const char *original, const char *name) {
  const struct originals *o = opaque;
  char beginning[PATH_MAX_LENGTH];
  /* the name of the module, without the dot at its end */
  snprintf(beginning, sizeof beginning, "%.*s", (int)strlen(name) - 1, name);
  flatten(beginning);
  size_t length = strlen(beginning);
  for (int i = o->first; i < o->end; i++) {
    const char *text = o->table->names[i].text, *rest = text + length;
    if (strncmp(text, beginning, length) || (*rest && *rest != '_'))
      continue;
    char *flat;
    if (asprintf(&flat, "%.*s%s", (int)strlen(original) - 1, original, rest) < 0)
      flat = NULL;
    else
      flatten(flat);
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

/* --- finding a module by a name in an adapter's file --- */

static void replace_end(char *path, const char *from, const char *to) {
  size_t length = strlen(path), size = strlen(from);
  if (length >= size && !strcmp(path + length - size, from))
    strcpy(path + length - size, to);
}

/* Replaces the name that older diffusers gave to a layer in an attention processor by the layer's name in the model:
 * attn1_processor_to_out becomes attn1_to_out_0, self_attn_to_out becomes self_attn_out_proj. */
static void name_processor(char path[PATH_MAX_LENGTH]) {
  static const char word[] = "_processor_";
  static const char *const text_names[][2] = {{"self_attn_to_q", "self_attn_q_proj"},
                                              {"self_attn_to_k", "self_attn_k_proj"},
                                              {"self_attn_to_v", "self_attn_v_proj"},
                                              {"self_attn_to_out", "self_attn_out_proj"}};
  char *at = strstr(path, word);
  if (at)
    memmove(at, at + strlen(word) - 1, strlen(at + strlen(word) - 1) + 1);
  for (int i = 0; i < 4; i++)
    replace_end(path, text_names[i][0], text_names[i][1]);
  replace_end(path, "_to_out", "_to_out_0");
}

/* Writes the path of a key's module as the table of modules has it: with underscores instead of dots, and for a text
 * encoder without the prefix "text_model_". Returns false if the path is too long. */
static bool name_module(const struct adapter_key *key, char path[PATH_MAX_LENGTH]) {
  if (key->length + 16 > PATH_MAX_LENGTH)
    return false;
  adapter_key_flatten(key, path, PATH_MAX_LENGTH);
  if (key->part != PART_UNET && !strncmp(path, text_flat, strlen(text_flat)))
    memmove(path, path + strlen(text_flat), strlen(path + strlen(text_flat)) + 1);
  return true;
}

/* Returns the index of the first name in the sorted table that is not less than `text`. */
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

/* Returns the index of the module with this name in this part of the model; -1: there is none, -2: there are several.
 * *original: true if the module was found by its name in the single-file layout. */
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

/* Returns the index of the module with this name; -1: there is none, -2: there are several. Only those parts of the
 * model (U-Net, text encoders) are searched that the tensor's key in the adapter's file allows. */
static int find_anywhere(const struct module_table *table, const struct adapter_key *key, const char *path,
                         bool *original) {
  int found = -1;
  for (enum part part = PART_UNET; part < PART_ANY && found == -1; part++)
    if (key->part == part || key->part == PART_ANY)
      found = find_in(table, path, part, original);
  return found;
}

int modules_find(const struct module_table *table, const struct adapter_key *key, bool *original) {
  char path[PATH_MAX_LENGTH];
  *original = false;
  if (!name_module(key, path))
    return -1;
  int found = find_anywhere(table, key, path, original);
  if (found == -1) {
    name_processor(path);
    found = find_anywhere(table, key, path, original);
  }
  return found < 0 ? -1 : found;
}

static bool has_layer(const struct module_table *table, enum part part, int layer) {
  char name[64];
  bool original;
  snprintf(name, sizeof name, "encoder_layers_%d_layer_norm1", layer);
  return find_in(table, name, part, &original) >= 0;
}

bool modules_leave_out(const struct module_table *table, const struct adapter_key *key) {
  char path[PATH_MAX_LENGTH];
  int layer;
  if ((key->part != PART_TEXT && key->part != PART_TEXT_2) || !has_layer(table, key->part, 0) ||
      !name_module(key, path))
    return false;
  if (!strcmp(path, "text_projection"))
    return true;
  return sscanf(path, "encoder_layers_%3d_", &layer) == 1 && layer > 0 && !has_layer(table, key->part, layer) &&
         has_layer(table, key->part, layer - 1);
}
