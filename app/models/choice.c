#include "app/models/choice.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/options/spelling.h"
#include "unet/base/text.h"
#include "unet/checkpoint/format.h"

#define WEIGHTS ".safetensors"
enum { LISTED_MAX = 6, LIST_MAX = 360 };

/* --- recognising files by their names --- */

static bool begins(const char *text, const char *start) {
  return !strncmp(text, start, strlen(start));
}

bool choice_is_weights(const char *path) {
  return text_ends(path, WEIGHTS);
}

static int find(const struct repository_list *list, const char *path) {
  for (int i = 0; i < list->count; i++)
    if (!strcmp(list->file[i].path, path))
      return i;
  return -1;
}

/* Returns the name of the file if path leads to a file directly in the folder ("" or "unet/"); NULL: the file is
 * elsewhere or in a folder below. */
static const char *in_folder(const char *path, const char *folder) {
  return begins(path, folder) && !strchr(path + strlen(folder), '/') ? path + strlen(folder) : NULL;
}

/* --- choosing files --- */

struct choosing {
  struct choice *choice;
  const struct repository_list *list;
  const char *repository;
};

static void want(struct choosing *c, int index) {
  c->choice->wanted[index] = true;
}

static bool want_path(struct choosing *c, const char *folder, const char *name) {
  char path[REPOSITORY_PATH_MAX];
  snprintf(path, sizeof path, "%s%s", folder, name);
  int index = find(c->list, path);
  if (index >= 0)
    want(c, index);
  return index >= 0;
}

/* Chooses all files of weights in the folder whose names begin with `beginning`. Returns how many there are. */
static int want_all(struct choosing *c, const char *folder, const char *beginning) {
  int count = 0;
  for (int i = 0; i < c->list->count; i++) {
    const char *name = in_folder(c->list->file[i].path, folder);
    if (!name || !begins(name, beginning) || !text_ends(name, WEIGHTS))
      continue;
    want(c, i);
    count++;
  }
  return count;
}

/* Chooses a network's weights that are stored in several files (shards), whose names begin with `beginning`, and the
 * index file that lists them. Returns false if there is no index file, or no shard. */
static bool want_shards(struct choosing *c, const char *folder, const char *basename, const char *const *indices,
                        const char *beginning) {
  char name[REPOSITORY_NAME_MAX];
  for (; *indices; indices++) {
    snprintf(name, sizeof name, "%s%s", basename, *indices);
    if (!want_path(c, folder, name))
      continue;
    snprintf(name, sizeof name, "%s%s", basename, beginning);
    return want_all(c, folder, name) > 0;
  }
  return false;
}

/* Chooses the weights of a network in the folder. The names of files are tried in the order in which the checkpoint
 * loader tries them, files in half precision first. Returns false if there are no weights. */
static bool want_weights(struct choosing *c, const char *folder, const char *basename) {
  static const char *const half[] = {WEIGHTS ".index.fp16.json", WEIGHTS ".fp16.index.json", NULL}, *const plain[] = {
                                                                                                        WEIGHTS
                                                                                                        ".index.json",
                                                                                                        NULL};
  char name[REPOSITORY_NAME_MAX];
  snprintf(name, sizeof name, "%s.fp16" WEIGHTS, basename);
  if (want_path(c, folder, name) || want_shards(c, folder, basename, half, ".fp16-"))
    return true;
  snprintf(name, sizeof name, "%s" WEIGHTS, basename);
  return want_path(c, folder, name) || want_shards(c, folder, basename, plain, "-");
}

static bool has_folder(const struct repository_list *list, const char *folder) {
  for (int i = 0; i < list->count; i++)
    if (begins(list->file[i].path, folder))
      return true;
  return false;
}

static int refuse_part(const struct choosing *c, const char *folder, struct error *err) {
  for (int i = 0; i < c->list->count; i++)
    if (in_folder(c->list->file[i].path, folder) && format_is_pickle_name(c->list->file[i].path))
      return error_set(err, STATUS_MODEL,
                       "%s: has %s as a pickle alone, which can run code when it is loaded and is never fetched; look "
                       "for a repository with safetensors",
                       c->repository, text_quote(c->list->file[i].path).text);
  return error_set(err, STATUS_MODEL, "%s: has no weights in %s", c->repository, *folder ? folder : "it");
}

/* Chooses the files of a pipeline in diffusers' layout: model_index.json, and files in the folders of its parts.
 * Returns 0, or -1 with err. */
static int choose_pipeline(struct choosing *c, struct error *err) {
  static const struct {
    const char *folder, *basename;
  } parts[] = {{"unet/", "diffusion_pytorch_model"},
               {"vae/", "diffusion_pytorch_model"},
               {"text_encoder/", "model"},
               {"text_encoder_2/", "model"}};
  static const char *const texts[] = {"model_index.json",
                                      "styles.json",
                                      "scheduler/scheduler_config.json",
                                      "tokenizer/vocab.json",
                                      "tokenizer/merges.txt",
                                      "tokenizer/tokenizer_config.json",
                                      "tokenizer/special_tokens_map.json",
                                      "tokenizer/added_tokens.json",
                                      "tokenizer/tokenizer.json",
                                      "tokenizer_2/vocab.json",
                                      "tokenizer_2/merges.txt",
                                      "tokenizer_2/tokenizer_config.json",
                                      "tokenizer_2/special_tokens_map.json",
                                      "tokenizer_2/added_tokens.json",
                                      "tokenizer_2/tokenizer.json"};
  if (!has_folder(c->list, parts[0].folder))
    return error_set(err, STATUS_MODEL, "%s: is a pipeline without a U-Net, which is not supported", c->repository);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    if (!has_folder(c->list, parts[i].folder))
      continue;
    want_path(c, parts[i].folder, "config.json");
    if (!want_weights(c, parts[i].folder, parts[i].basename))
      return refuse_part(c, parts[i].folder, err);
  }
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    want_path(c, "", texts[i]);
  return 0;
}

/* Chooses the files of a repository that contains a single network and its config. The network is one in diffusers'
 * layout (such as an autoencoder), a depth model in the layout of transformers, or a LoRA in that of PEFT. Returns
 * false if the repository has no such network. */
static bool choose_network(struct choosing *c) {
  if (want_path(c, "", "adapter_config.json"))
    return want_path(c, "", "adapter_model" WEIGHTS);
  if (find(c->list, "config.json") < 0 ||
      (!want_weights(c, "", "diffusion_pytorch_model") && !want_weights(c, "", "model")))
    return false;
  want_path(c, "", "preprocessor_config.json");
  return want_path(c, "", "config.json");
}

/* Chooses the repository's only file of weights, if choose_network has found no network with its config. Returns 0, or
 * -1 with err if there are several files of weights, or none. */
static int choose_file(struct choosing *c, struct error *err) {
  char text[LIST_MAX] = "";
  int count = 0, last = 0;
  for (int i = 0; i < c->list->count; i++) {
    const char *path = c->list->file[i].path;
    if (!text_ends(path, WEIGHTS))
      continue;
    last = i;
    size_t used = strlen(text);
    if (count++ < LISTED_MAX)
      snprintf(text + used, sizeof text - used, "%s%s", used ? ", " : "", text_quote(path).text);
  }
  if (!count)
    return refuse_part(c, "", err);
  if (count == 1) {
    want(c, last);
    return 0;
  }
  return error_set(err, STATUS_USAGE, "%s: holds %d files of weights; name those that you want: %s%s", c->repository,
                   count, text, count > LISTED_MAX ? ", ..." : "");
}

static int refuse_name(const struct choosing *c, const char *name, struct error *err) {
  const char *near = NULL;
  int best = 8;
  for (int i = 0; i < c->list->count; i++) {
    const char *path = c->list->file[i].path, *slash = strrchr(path, '/');
    int distance = spelling_distance(name, slash ? slash + 1 : path);
    near = distance < best ? path : near;
    best = distance < best ? distance : best;
  }
  return error_set(err, STATUS_USAGE, "%s: has no file %s%s%s", c->repository, text_quote(name).text,
                   near ? "; near it: " : "", near ? text_quote(near).text : "");
}

static int choose_named(struct choosing *c, const char *name, struct error *err) {
  if (format_is_pickle_name(name))
    return error_set(err, STATUS_USAGE, "%s: is a pickle, which can run code when it is loaded and is never fetched",
                     text_quote(name).text);
  return want_path(c, "", name) ? 0 : refuse_name(c, name, err);
}

static int choose(struct choosing *c, const char *const *names, int name_count, struct error *err) {
  for (int i = 0; i < name_count; i++)
    if (choose_named(c, names[i], err))
      return -1;
  if (name_count)
    return 0;
  if (find(c->list, "model_index.json") >= 0)
    return choose_pipeline(c, err);
  return choose_network(c) ? 0 : choose_file(c, err);
}

/* --- counting the chosen files and their bytes --- */

/* Adds a chosen file to the totals (number of files, bytes). Fails if Hugging Face's hub gives no size or no checksum
 * for the file. */
static int count_wanted(struct choice *choice, const struct repository_file *file, const char *repository,
                        struct error *err) {
  if (file->size < 0 || !*file->hash)
    return error_set(err, STATUS_MODEL, "%s: the hub gives no %s for %s, so it cannot be checked", repository,
                     file->size < 0 ? "size" : "checksum", text_quote(file->path).text);
  choice->count++;
  if (__builtin_add_overflow(choice->bytes, file->size, &choice->bytes))
    return error_set(err, STATUS_MODEL, "%s: its files are larger than any disk", repository);
  return 0;
}

static void count_left_out(struct choice *choice, const struct repository_file *file) {
  if (format_is_pickle_name(file->path)) {
    choice->pickles++;
  } else if (text_ends(file->path, WEIGHTS)) {
    choice->doubles++;
    choice->double_bytes += file->size > 0 && file->size < INT64_MAX / 4 - choice->double_bytes ? file->size : 0;
  } else {
    choice->others++;
  }
}

int choice_make(struct choice *choice, const struct repository_list *list, const char *const *names, int name_count,
                const char *repository, struct error *err) {
  struct choosing choosing = {choice, list, repository};
  *choice = (struct choice){.wanted = calloc((size_t)list->count + 1, sizeof *choice->wanted)};
  if (!choice->wanted)
    return error_set(err, STATUS_FAILED, "%s: out of memory", repository);
  if (choose(&choosing, names, name_count, err))
    return -1;
  for (int i = 0; i < list->count; i++)
    if (!choice->wanted[i])
      count_left_out(choice, &list->file[i]);
    else if (count_wanted(choice, &list->file[i], repository, err))
      return -1;
  return 0;
}

void choice_free(struct choice *choice) {
  free(choice->wanted);
  *choice = (struct choice){0};
}
