/* Opens an adapter: reads the file's tensors, finds the module of the model that each group of tensors changes, and
 * reads the factors of the changes. Several threads read them. */
#include "unet/adapter/adapter_impl.h"

#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/checkpoint/kind.h"

enum { READERS_MAX = 16 };

/* Data that are needed only while an adapter is opened. */
struct opening {
  struct adapter *adapter;
  const struct adapter_options *options;
  const struct checkpoint *checkpoint;
  struct safetensors *files;
  struct groups groups;
  struct module_table table;
  struct peft peft;
  struct recipe *recipes;
  int recipe_count;
};

/* --- opening the adapter's file --- */

/* Returns the path of the adapter's file: `path` itself, or the file that PEFT or diffusers saved in the folder `path`.
 * The caller frees it. NULL: out of memory. */
static char *find_file(const char *path) {
  static const char *const names[] = {"adapter_model.safetensors", "pytorch_lora_weights.safetensors"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *inside;
    if (asprintf(&inside, "%s/%s", path, names[i]) < 0)
      return NULL;
    if (platform_exists(inside))
      return inside;
    free(inside);
  }
  return strdup(path);
}

/* Opens an adapter's file. path: the file or folder that the user has named; file: the adapter's file in that folder,
 * or `path` itself. Fails with a message of its own if `path` is a folder without an adapter's file. */
static int open_found(struct opening *o, const char *path, const char *file, struct error *err) {
  if (!strcmp(path, file) && platform_exists(file) && !platform_can_read_file(file))
    return error_set(err, STATUS_MODEL,
                     "%s: is no file, nor a folder with adapter_model.safetensors or pytorch_lora_weights.safetensors "
                     "in it; give --lora the LoRA's file",
                     path);
  return safetensors_open_file(&o->files, file, err);
}

static int open_file(struct opening *o, const char *path, struct error *err) {
  char *file = find_file(path);
  int result = file ? open_found(o, path, file, err) : error_set(err, STATUS_FAILED, "out of memory");
  /* a FaceID file has a LoRA besides its IP-Adapter, but this program cannot use it as an adapter */
  if (!result && (!adapter_recognise(o->files) || weights_kind(o->files) == WEIGHTS_IP_ADAPTER))
    result = weights_kind_refuse(weights_kind(o->files), file, WEIGHTS_LORA, err);
  if (!result)
    result = groups_init(&o->groups, o->files, err) || peft_open(&o->peft, o->files, file, err) ? -1 : 0;
  free(file);
  return result;
}

/* --- matching the file's tensors with modules (layers) of the model --- */

/* Counts the tensors that fit no module of the model, and keeps the name of the first one for the message. */
struct unmatched {
  int count;
  const char *first;
};

static void add_unmatched(struct unmatched *unmatched, const struct group *group) {
  for (int i = 0; i < PIECES; i++)
    if (group->piece[i]) {
      if (!unmatched->count++)
        unmatched->first = group->piece[i]->name;
    }
}

/* Explains why the file is refused: it is for another family of models, or none or only some of its tensors fit the
 * model. found: number of modules that fit. */
static int refuse_unmatched(const struct opening *o, const struct unmatched *unmatched, int found, struct error *err) {
  const char *path = safetensors_path(o->files), *first = unmatched->first;
  enum adapter_base base = groups_base(&o->groups), own = base_of_checkpoint(o->checkpoint);
  const char *model = own == BASE_SD ? "of another family" : base_name(own);
  struct quoted name = text_quote(first);
  if (!base_fits(base, own))
    return error_set(
        err, STATUS_MODEL, "%s: is for %s, as %s (%s), and this model is %s; take a LoRA that was made for it", path,
        base_name(base),
        groups_base_by_names(&o->groups) == base ? "names and shapes of its tensors show" : "its metadata says",
        name.text, model);
  if (!found)
    return error_set(
        err, STATUS_MODEL,
        "%s: nothing of it has a place in this model, the first of its %zu tensors is %s; take a LoRA that "
        "was made for %s",
        path, safetensors_count(o->files), name.text, own == BASE_SD ? "it" : base_name(own));
  return error_set(err, STATUS_MODEL,
                   "%s: %d of its %zu tensors have no place in this model, the first is %s; --lora-lenient leaves them "
                   "out",
                   path, unmatched->count, safetensors_count(o->files), name.text);
}

static int report_unmatched(const struct opening *o, const struct unmatched *unmatched, int found, struct error *err) {
  if (!unmatched->count)
    return 0;
  if (!o->options->lenient || !found)
    return refuse_unmatched(o, unmatched, found, err);
  log_line(o->options->log, LOG_WARNING, "%s: %d of its tensors have no place in this model and are left out: %s ...",
           safetensors_path(o->files), unmatched->count, text_quote(unmatched->first).text);
  return 0;
}

/* Logs that some layers have no alpha, so that their rank is taken as alpha. That is usual for files of diffusers and
 * PEFT, which never have alphas. The rank is only a guess if other layers of the file have an alpha, or if the tensors
 * are named by kohya's trainer, which always writes alphas; the line is then a warning. */
static void report_scaleless(const struct opening *o) {
  int without = 0, with = 0, kohya = 0;
  for (int i = 0; i < o->recipe_count; i++) {
    const struct group *group = o->recipes[i].group;
    bool silent = group_is_scaleless(group) && !peft_scale(&o->peft, &group->key, group_rank(group), &(double){0});
    without += silent;
    kohya += silent && group->key.kohya;
    with += group->piece[PIECE_ALPHA] != NULL;
  }
  bool guessed = without && (kohya || with);
  if (without)
    log_line(o->options->log, guessed ? LOG_WARNING : LOG_INFO,
             "%s: %d of its %d layers say no alpha: their rank is taken for it, so that each acts in full (as alpha / "
             "rank = 1)%s",
             safetensors_path(o->files), without, o->recipe_count,
             guessed ? "; --lora FILE:WEIGHT makes it weaker where that is too much" : "");
}

/* Warns of tensors in the file that have no effect: those of layers that this model does not have or read, embeddings,
 * and alphas without factors. */
static void report_left_out(const struct opening *o, const struct unmatched *unused) {
  const char *path = safetensors_path(o->files);
  if (unused->count)
    log_line(o->options->log, LOG_WARNING,
             "%s: %d of its tensors %s for layers that this model does not have or read, and left out: %s%s", path,
             unused->count, unused->count == 1 ? "is" : "are", text_quote(unused->first).text,
             unused->count > 1 ? " ..." : "");
  if (o->groups.embeddings)
    log_line(
        o->options->log, LOG_WARNING,
        "%s: brings embeddings for words of the prompt (%s%s), which are not supported: they are left out, and the "
        "words are read as plain text",
        path, text_quote(o->groups.first_embedding).text, o->groups.embeddings > 1 ? " ..." : "");
}

static int find_modules(struct opening *o, struct error *err) {
  struct unmatched unmatched = {o->groups.strange, o->groups.first_strange};
  struct unmatched unused = {o->groups.left_out, o->groups.first_left_out};
  int found = 0;
  for (int i = 0; i < o->groups.count; i++) {
    struct group *group = &o->groups.list[i];
    group->module = modules_find(&o->table, &group->key, &group->original);
    found += group->module >= 0;
    if (group->module < 0)
      add_unmatched(modules_leave_out(&o->table, &group->key) ? &unused : &unmatched, group);
  }
  if (report_unmatched(o, &unmatched, found, err))
    return -1;
  if (!found)
    return error_set(err, STATUS_MODEL, "%s: nothing of it has a place in this model: it is no adapter for it",
                     safetensors_path(o->files));
  report_left_out(o, &unused);
  return 0;
}

/* Leaves out tensors that change a module (layer) a second time. A file may name a module both in the layout of single
 * files and in that of diffusers; the tensors with diffusers' names are then used. Two sets of tensors in one layout
 * are an error. */
static int choose_names(struct opening *o, struct error *err) {
  struct group **of_module = calloc((size_t)o->table.module_count + 1, sizeof(*of_module));
  int result = of_module ? 0 : error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; !result && i < o->groups.count; i++) {
    struct group *group = &o->groups.list[i];
    if (group->module < 0)
      continue;
    struct group **first = &of_module[group->module], *drop = *first && (*first)->original ? *first : group;
    if (*first && group->original == (*first)->original)
      result = error_set(err, STATUS_MODEL, "%s: has two adapters for %s", safetensors_path(o->files),
                         o->table.modules[group->module].weight->name);
    else if (*first)
      drop->module = -1;
    if (drop == *first || !*first)
      *first = group;
  }
  free(of_module);
  return result;
}

/* --- computing the factors (matrices and scales) by which adapters change weights --- */

static int plan(struct opening *o, struct error *err) {
  struct adapter *adapter = o->adapter;
  size_t most = (size_t)o->groups.count;
  o->recipes = calloc(most + 1, sizeof *o->recipes);
  adapter->places = calloc(2 * most + 1, sizeof *adapter->places);
  if (!o->recipes || !adapter->places)
    return error_set(err, STATUS_FAILED, "out of memory");
  for (int i = 0; i < o->groups.count; i++) {
    const struct group *group = &o->groups.list[i];
    if (group->module < 0)
      continue;
    struct recipe *recipe = &o->recipes[o->recipe_count++];
    *recipe = (struct recipe){.group = group, .module = &o->table.modules[group->module]};
    if (recipe_plan(recipe, &o->peft, adapter, &adapter->factor_count, err))
      return -1;
  }
  if (adapter->factor_count > INT_MAX)
    return error_set(err, STATUS_MODEL, "%s: takes %.1f GB as factors, which is not supported (8.5 GB is)",
                     adapter->path, 4e-9 * (double)adapter->factor_count);
  return 0;
}

/* What the threads that read factors share. Each thread takes the next recipe (how a group of tensors changes its
 * module) until none is left. */
struct filling {
  struct opening *opening;
  int next;
  pthread_mutex_t lock;
  bool failed;
  struct error error;
};

static const struct recipe *next_recipe(struct filling *filling) {
  const struct opening *o = filling->opening;
  pthread_mutex_lock(&filling->lock);
  bool left = !filling->failed && filling->next < o->recipe_count;
  const struct recipe *recipe = left ? &o->recipes[filling->next++] : NULL;
  pthread_mutex_unlock(&filling->lock);
  return recipe;
}

static void *fill_some(void *opaque) {
  struct filling *filling = opaque;
  const struct recipe *recipe;
  struct error err;
  while ((recipe = next_recipe(filling)))
    if (recipe_fill(recipe, filling->opening->adapter, &err)) {
      pthread_mutex_lock(&filling->lock);
      filling->failed = true;
      filling->error = err;
      pthread_mutex_unlock(&filling->lock);
    }
  return NULL;
}

static int fill(struct opening *o, struct error *err) {
  struct adapter *adapter = o->adapter;
  struct filling filling = {.opening = o};
  pthread_t threads[READERS_MAX];
  int wanted = platform_processors() - 1, started = 0;
  adapter->factors = malloc(adapter->factor_count * sizeof *adapter->factors + 1);
  if (!adapter->factors)
    return error_set(err, STATUS_FAILED, "%s: out of memory", adapter->path);
  pthread_mutex_init(&filling.lock, NULL);
  while (started < wanted && started < READERS_MAX && started + 1 < o->recipe_count &&
         !pthread_create(&threads[started], NULL, fill_some, &filling))
    started++;
  fill_some(&filling);
  while (started > 0)
    pthread_join(threads[--started], NULL);
  pthread_mutex_destroy(&filling.lock);
  if (filling.failed)
    *err = filling.error;
  return filling.failed ? -1 : 0;
}

static int read_all(struct opening *o, const char *path, const struct checkpoint *checkpoint, struct error *err) {
  struct adapter *adapter = o->adapter;
  if (open_file(o, path, err) || modules_init(&o->table, checkpoint, err) || find_modules(o, err) ||
      choose_names(o, err) || plan(o, err) || fill(o, err))
    return -1;
  report_scaleless(o);
  groups_summarise(&o->groups, &adapter->summary);
  adapter->summary.bytes = safetensors_bytes(o->files);
  for (int i = 0; i < adapter->place_count; i++)
    adapter->places[i].term.factors = adapter->factors;
  return 0;
}

int adapter_open(struct adapter **result, const char *path, const struct checkpoint *checkpoint,
                 const struct adapter_options *options, struct error *err) {
  struct adapter *adapter = calloc(1, sizeof *adapter);
  struct opening opening = {.adapter = adapter, .options = options, .checkpoint = checkpoint};
  *result = NULL;
  if (adapter)
    adapter->path = strdup(path);
  if (!adapter || !adapter->path) {
    adapter_close(&adapter);
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  }
  int status = read_all(&opening, path, checkpoint, err);
  free(opening.recipes);
  groups_free(&opening.groups);
  modules_free(&opening.table);
  peft_close(&opening.peft);
  safetensors_close(&opening.files);
  if (status)
    adapter_close(&adapter);
  *result = adapter;
  return status;
}

void adapter_close(struct adapter **adapter) {
  struct adapter *a = *adapter;
  *adapter = NULL;
  if (!a)
    return;
  free(a->path);
  free(a->places);
  free(a->factors);
  free(a);
}
