#include "unet/checkpoint/checkpoint.h"

#include <cjson/cJSON.h>
#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/config.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

#define CONFIG_LIMIT ((size_t)1 << 20)

/* Text of a config file and its name, for messages. */
struct config_file {
  char *path, *text;
};

/* close_config must follow, also on failure. */
static int read_config(struct config_file *file, const char *folder, const char *name, struct error *err) {
  *file = (struct config_file){text_path(folder, name), NULL};
  if (!file->path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  return text_read(file->path, CONFIG_LIMIT, &file->text, NULL, err);
}

static void close_config(struct config_file *file) {
  free(file->path);
  free(file->text);
}

/* model_index.json says which classes a pipeline is made of: [library, class], or nulls for a part left out. */
static void check_part(struct config *index, const char *key, const char *class) {
  char found[64];
  config_item(index, key, 1, found, sizeof found);
  if (strcmp(found, class))
    config_refuse(index, key, *found ? found : "its absence", class);
  config_ignore(index, (const char *const[]){key, NULL});
}

/* A part that this program would have to run, and cannot. */
static void check_absent(struct config *index, const char *key) {
  char found[64];
  config_item(index, key, 1, found, sizeof found);
  if (*found)
    config_refuse(index, key, found, "pipelines of one U-Net, one text encoder and one autoencoder are");
}

static int parse_index(const struct config_file *file, struct error *err) {
  static const char *const absent[] = {"text_encoder_2", "text_encoder_3", "image_encoder",      "transformer",
                                       "controlnet",     "prior",          "image_unclip_noiser"};
  struct config index;
  config_start(&index, file->text, file->path);
  for (size_t i = 0; i < sizeof absent / sizeof *absent; i++)
    check_absent(&index, absent[i]);
  check_part(&index, "unet", "UNet2DConditionModel");
  check_part(&index, "text_encoder", "CLIPTextModel");
  return config_finish_open(&index, err);
}

static int check_index(const char *folder, struct error *err) {
  struct config_file file;
  int result = read_config(&file, folder, "model_index.json", err);
  result = result ? error_prefix(err, "no diffusers folder: ") : parse_index(&file, err);
  close_config(&file);
  return result;
}

static int load_unet_config(struct checkpoint *c, struct error *err) {
  struct config_file file;
  int result = read_config(&file, c->unet_weights.folder, "config.json", err);
  result = result ? result : unet_config_parse(&c->unet, file.text, file.path, err);
  close_config(&file);
  return result;
}

static int load_vae_config(struct checkpoint *c, struct error *err) {
  struct config_file file;
  int result = read_config(&file, c->vae_weights.folder, "config.json", err);
  result = result ? result : tae_config_parse(&c->vae, file.text, file.path, err);
  close_config(&file);
  return result;
}

static int load_text_config(struct checkpoint *c, struct error *err) {
  struct config_file file;
  int result = read_config(&file, c->text_weights.folder, "config.json", err);
  result = result ? result : clip_config_parse(&c->text, file.text, file.path, err);
  close_config(&file);
  return result;
}

static int load_scheduler(struct checkpoint *c, const char *folder, const struct log *log, struct error *err) {
  struct config_file file;
  int result = read_config(&file, folder, "scheduler/scheduler_config.json", err);
  result = result ? result : scheduler_config_parse(&c->scheduler, file.text, file.path, log, err);
  close_config(&file);
  return result;
}

static int open_weights(struct component *component, const char *basename, struct error *err) {
  return safetensors_open(&component->files, component->folder, basename, err);
}

static int load_weights(struct checkpoint *c, struct error *err) {
  if (open_weights(&c->unet_weights, "diffusion_pytorch_model", err) ||
      open_weights(&c->vae_weights, "diffusion_pytorch_model", err) || open_weights(&c->text_weights, "model", err))
    return -1;
  if (safetensors_find(c->text_weights.files, "text_model.embeddings.token_embedding.weight"))
    c->text_weights.prefix = "text_model.";
  return 0;
}

static int load_tokenizer(struct checkpoint *c, const char *folder, struct error *err) {
  char *path = text_path(folder, "tokenizer");
  int result =
      path ? tokenizer_open(&c->tokenizer, path, err) : error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  free(path);
  return result;
}

static int load_styles(struct checkpoint *c, const char *folder, struct error *err) {
  char *path = text_path(folder, "styles.json");
  int result = path ? styles_open(&c->styles, path, err) : error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  free(path);
  return result;
}

/* The networks must fit each other. */
static int check_fit(struct checkpoint *c, struct error *err) {
  const char *unet = c->unet_weights.folder;
  int latent = c->vae.latent_channels;
  if (c->unet.out_channels != latent)
    return error_set(err, STATUS_MODEL,
                     "%s/config.json: out_channels: %d does not fit the autoencoder %s, which has %d "
                     "latent channels; give a fitting one with --vae",
                     unet, c->unet.out_channels, c->vae_weights.folder, latent);
  if (c->unet.in_channels != latent && c->unet.in_channels != 2 * latent)
    return error_set(err, STATUS_MODEL,
                     "%s/config.json: in_channels: %d is not supported (%d, or %d with the input picture, is; "
                     "inpainting and depth models are not)",
                     unet, c->unet.in_channels, latent, 2 * latent);
  c->image_condition = c->unet.in_channels == 2 * latent;
  if (c->unet.cross_attention_dim != c->text.hidden_size)
    return error_set(err, STATUS_MODEL,
                     "%s/config.json: cross_attention_dim: %d does not fit the text encoder's hidden_size %d", unet,
                     c->unet.cross_attention_dim, c->text.hidden_size);
  if (tokenizer_vocabulary(c->tokenizer) > c->text.vocab_size)
    return error_set(err, STATUS_MODEL,
                     "%s/config.json: vocab_size: %d does not fit the tokenizer, which has %d tokens",
                     c->text_weights.folder, c->text.vocab_size, tokenizer_vocabulary(c->tokenizer));
  return 0;
}

/* Last part of the folder's real path, or the part before it where that says nothing ("sd-turbo/model"). */
static char *folder_name(const char *folder) {
  char *real = platform_real_path(folder);
  if (real && strlen(real) > strlen("/model") && !strcmp(strrchr(real, '/'), "/model"))
    *strrchr(real, '/') = 0;
  const char *path = real ? real : folder, *slash = strrchr(path, '/');
  char *name = strdup(slash && slash[1] ? slash + 1 : path);
  free(real);
  return name ? text_clean(name) : NULL;
}

/* The folder given with --vae, or the one inside it when it is a whole model. */
static char *vae_folder(const char *folder, const char *vae) {
  if (!vae)
    return text_path(folder, "vae");
  char *config = text_path(vae, "config.json"), *index = text_path(vae, "model_index.json");
  bool whole = config && index && !platform_exists(config) && platform_exists(index);
  free(config);
  free(index);
  return whole ? text_path(vae, "vae") : strdup(vae);
}

static struct checkpoint *make(const char *folder, const char *vae, struct error *err) {
  struct checkpoint *c = calloc(1, sizeof *c);
  if (c) {
    c->name = folder_name(folder);
    c->unet_weights = (struct component){text_path(folder, "unet"), "unet", "", NULL};
    c->vae_weights = (struct component){vae_folder(folder, vae), "vae", "", NULL};
    c->text_weights = (struct component){text_path(folder, "text_encoder"), "text_encoder", "", NULL};
    if (c->name && c->unet_weights.folder && c->vae_weights.folder && c->text_weights.folder)
      return c;
  }
  checkpoint_close(&c);
  error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  return NULL;
}

int checkpoint_open(struct checkpoint **checkpoint, const char *folder, const char *vae, const struct log *log,
                    struct error *err) {
  struct checkpoint *c = make(folder, vae, err);
  if (!c)
    return -1;
  if (check_index(folder, err) || load_unet_config(c, err) || load_vae_config(c, err) || load_text_config(c, err) ||
      load_weights(c, err) || load_tokenizer(c, folder, err) || load_scheduler(c, folder, log, err) ||
      load_styles(c, folder, err) || check_fit(c, err)) {
    checkpoint_close(&c);
    return -1;
  }
  *checkpoint = c;
  return 0;
}

static void close_component(struct component *component) {
  safetensors_close(&component->files);
  free(component->folder);
}

void checkpoint_close(struct checkpoint **checkpoint) {
  struct checkpoint *c = *checkpoint;
  *checkpoint = NULL;
  if (!c)
    return;
  close_component(&c->unet_weights);
  close_component(&c->vae_weights);
  close_component(&c->text_weights);
  tokenizer_close(&c->tokenizer);
  styles_close(&c->styles);
  free(c->name);
  free(c);
}

size_t checkpoint_bytes(const struct checkpoint *c) {
  return safetensors_bytes(c->unet_weights.files) + safetensors_bytes(c->vae_weights.files) +
         safetensors_bytes(c->text_weights.files);
}
