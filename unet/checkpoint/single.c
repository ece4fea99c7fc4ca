/* Opens a model in one file of the original key layout, or a file with a U-Net alone. */
#include "unet/checkpoint/single.h"

#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/checkpoint/family.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/original.h"

struct single {
  char *path;
  struct safetensors *files;
  char *vocabulary; /* path of CLIP's published list of byte-pair merges; NULL: none */
  bool recognised;
  struct family family;
};

/* The parts that a file may have. prefix: beginning of the part's keys; add: the function that adds its tensors to a
 * view, under the names of a diffusers folder. Of a part with several prefixes, the first one that occurs in the file
 * is used. */
typedef int add_part(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);
static const struct place {
  const char *part, *prefix;
  add_part *add;
} places[] = {
    {"unet", FAMILY_UNET, original_unet},
    {"vae", "first_stage_model.", original_kl},
    {"vae", "vae.", original_kl},
    {"text_encoder", "cond_stage_model.transformer.", original_clip},
    {"text_encoder", "conditioner.embedders.0.transformer.", original_clip},
    {"text_encoder", "cond_stage_model.model.", original_open_clip},
    {"text_encoder", "conditioner.embedders.0.model.", original_open_clip},
    {"text_encoder_2", "conditioner.embedders.1.model.", original_open_clip},
};
enum { PLACES = sizeof places / sizeof *places };

static bool begins(const char *name, const char *prefix) {
  return !strncmp(name, prefix, strlen(prefix));
}

static const struct place *find_place(const struct single *single, const char *part) {
  for (const struct place *place = places; place < places + PLACES; place++)
    for (size_t i = 0; !strcmp(place->part, part) && i < safetensors_count(single->files); i++)
      if (begins(safetensors_at(single->files, i)->name, place->prefix))
        return place;
  return NULL;
}

/* --- opening and closing a single file --- */

static int recognise(struct single *single, const struct checkpoint_sources *sources, const struct log *log,
                     struct error *err) {
  struct family *family = &single->family;
  if (family_recognise(family, single->files, err))
    return -1;
  single->recognised = true;
  if (sources_prediction(sources, &family->prediction)) {
    snprintf(family->prediction_by, sizeof family->prediction_by, "--prediction");
    family->guessed = false;
  } else
    prediction_tell(&family->signs, single->path, log);
  log_line(log, family->guessed ? LOG_WARNING : LOG_INFO, "%s: %s by its tensors; %s prediction, told by %s%s",
           single->path, family_name(family), prediction_name(family->prediction), family->prediction_by,
           family->guessed ? ": --prediction says otherwise where that is wrong" : "");
  return 0;
}

static int load(struct single *single, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err) {
  single->path = strdup(sources->model);
  single->vocabulary = sources->vocabulary ? strdup(sources->vocabulary) : NULL;
  if (!single->path || (sources->vocabulary && !single->vocabulary))
    return error_set(err, STATUS_FAILED, "%s: out of memory", sources->model);
  if (safetensors_open_file(&single->files, single->path, err) || weights_refuse_quantised(single->files, err))
    return -1;
  enum weights_kind kind = weights_kind(single->files);
  if (kind != WEIGHTS_MODEL)
    return weights_kind_refuse(kind, single->path, WEIGHTS_MODEL, err);
  if (family_refuse_edm(single->files, err))
    return -1;
  return sources->config ? 0 : recognise(single, sources, log, err);
}

int single_open(struct single **result, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err) {
  struct single *single = calloc(1, sizeof *single);
  if (!single)
    return error_set(err, STATUS_FAILED, "%s: out of memory", sources->model);
  if (load(single, sources, log, err)) {
    single_close(&single);
    return -1;
  }
  *result = single;
  return 0;
}

void single_close(struct single **single) {
  struct single *s = *single;
  *single = NULL;
  if (!s)
    return;
  safetensors_close(&s->files);
  free(s->vocabulary);
  free(s->path);
  free(s);
}

int single_prediction(const struct single *single, struct prediction_signs *signs, struct error *err) {
  return prediction_read(signs, single->files, err);
}

const char *single_family(const struct single *single) {
  return single->recognised ? family_name(&single->family) : NULL;
}

/* --- files of the diffusers folder that the single file stands for --- */

/* Returns the part of `path` after the model file's own path; NULL: `path` does not begin with the model file's path,
 * or the model's family was not recognised. */
static const char *below(const struct single *single, const char *path) {
  size_t length = strlen(single->path);
  return single->recognised && begins(path, single->path) && path[length] == '/' ? path + length + 1 : NULL;
}

int single_config(const struct single *single, const char *path, char **text, struct error *err) {
  const char *name = below(single, path);
  if (!name)
    return 1;
  *text = family_config(&single->family, name);
  return *text ? 0 : error_set(err, STATUS_FAILED, "%s: out of memory", path);
}

int single_tokenizer(const struct single *single, const char *path, struct tokenizer **tokenizer, struct error *err) {
  const char *name = below(single, path);
  if (!name)
    return 1;
  if (!single->vocabulary)
    return error_set(err, STATUS_MODEL,
                     "%s: brings no tokenizer, and CLIP's vocabulary is not installed with the program; give a folder "
                     "that has one with --config DIR",
                     single->path);
  const struct place *place = find_place(single, strcmp(name, "tokenizer_2") ? "text_encoder" : "text_encoder_2");
  return tokenizer_open_clip(tokenizer, single->vocabulary, place && place->add == original_open_clip, err);
}

/* --- the weights of a part (U-Net, text encoder, autoencoder) of the model --- */

static const struct place *place_of(const char *name) {
  for (const struct place *place = places; place < places + PLACES; place++)
    if (begins(name, place->prefix))
      return place;
  return NULL;
}

/* Sets read[i] to true for each part of the file, places[i], that the model reads. second: true if the model has two
 * text encoders. */
static void choose_places(const struct single *single, bool second, bool read[PLACES]) {
  for (int i = 0; i < PLACES; i++)
    read[i] = &places[i] == find_place(single, places[i].part) && (second || strcmp(places[i].part, "text_encoder_2"));
}

int single_check_parts(const struct single *single, bool second, struct error *err) {
  const char *first = NULL, *of = NULL;
  bool read[PLACES];
  int count = 0;
  choose_places(single, second, read);
  for (size_t i = 0; i < safetensors_count(single->files); i++) {
    const char *name = safetensors_at(single->files, i)->name;
    const struct place *place = place_of(name);
    if (original_is_harmless(name) || (place && read[place - places]) || count++)
      continue;
    first = name;
    of = !place ? "no part that is known here" : *place->part == 't' ? "a text encoder" : "a second autoencoder";
  }
  if (!count)
    return 0;
  return error_set(err, STATUS_MODEL,
                   "%s: has %d tensor%s that this model has no place for, the first of %s, %s: it is put together from "
                   "two models, or of a family that is not known",
                   single->path, count, count == 1 ? "" : "s", of, text_quote(first).text);
}

/* Fails with a message that the file lacks a part, and how the user can give the part. */
static int refuse_part(const struct single *single, const char *part, struct error *err) {
  if (!strcmp(part, "vae"))
    return error_set(err, STATUS_MODEL, "%s: has no vae; give one with --vae", single->path);
  return error_set(err, STATUS_MODEL,
                   "%s: has no %s; give the file with --unet beside the --model whose other parts it is to have",
                   single->path, part);
}

int single_weights(const struct single *single, struct component *component, struct error *err) {
  struct safetensors *files = single->files;
  const struct place *place = find_place(single, component->name);
  if (!place)
    return refuse_part(single, component->name, err);
  if (view_open(&component->files, &files, 1, err) || place->add(component->files, files, place->prefix, err))
    return -1;
  return view_finish(component->files, err);
}

/* --- files that have a U-Net and no other part of a model --- */

static int add_plain(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    const char *name = begins(t->name, prefix) ? t->name + strlen(prefix) : NULL;
    if (original_is_harmless(t->name))
      continue;
    if (view_add(view, &(struct view_tensor){.name = name, .from = t}, err))
      return -1;
  }
  return 0;
}

static int view_unet(struct safetensors **view, struct safetensors *files, struct error *err) {
  const char *prefix;
  bool original;
  if (!weights_unet_layout(files, &prefix, &original))
    return weights_kind_refuse(weights_kind(files), safetensors_path(files), WEIGHTS_UNET, err);
  add_part *add = original ? original_unet : add_plain;
  return view_open(view, &files, 1, err) || add(*view, files, prefix, err) || view_finish(*view, err) ? -1 : 0;
}

int single_open_unet(struct safetensors **result, const char *path, struct prediction_signs *signs, struct error *err) {
  struct safetensors *files = NULL, *view = NULL;
  if (safetensors_open_file(&files, path, err))
    return -1;
  enum weights_kind kind = weights_kind(files);
  bool unet = kind == WEIGHTS_UNET || kind == WEIGHTS_MODEL;
  int status = weights_refuse_quantised(files, err) || family_refuse_edm(files, err) ? -1 : 0;
  if (!status)
    status = unet ? view_unet(&view, files, err) : weights_kind_refuse(kind, path, WEIGHTS_UNET, err);
  status = status ? status : prediction_read(signs, files, err);
  safetensors_close(&files);
  if (status)
    safetensors_close(&view);
  else
    *result = view;
  return status;
}
