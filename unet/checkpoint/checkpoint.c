/* Opens a model: reads its index, then config and weights of each part, and checks that the parts fit each other. */
#include "unet/checkpoint/checkpoint.h"

#include <cjson/cJSON.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "unet/checkpoint/checkpoint_unet.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/single.h"
#include "unet/checkpoint/vae_files.h"
#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

/* A config file that was read. path: the file's path, for messages. own: true: the model is one file, so no config
 * exists at the path, and the text is the config with which the model's family (family.h) was published. */
struct config_file {
  char *path, *text;
  bool own;
};

/* Reads the config file `name` of the folder. For a model that is one file, and without a folder from --config, there
 * is no such file: the text is then the config with which the model's family (such as SD 1) was published. close_config
 * must be called afterwards, even after a failure. */
static int read_config(const struct checkpoint *c, struct config_file *file, const char *folder, const char *name,
                       struct error *err) {
  *file = (struct config_file){.path = text_path(folder, name)};
  if (!file->path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  int result = c->single ? single_config(c->single, file->path, &file->text, err) : 1;
  file->own = result != 1;
  return result == 1 ? text_read(file->path, CONFIG_LIMIT, &file->text, NULL, err) : result;
}

static void close_config(struct config_file *file) {
  free(file->path);
  free(file->text);
}

/* Frees the config's text. The component (part of the model) needs a path for messages: if there is a file at the
 * config's path, the component gets this path; otherwise the path is freed with the text. */
static void close_part_config(struct component *component, struct config_file *file) {
  if (!file->own) {
    component->config = file->path;
    file->path = NULL;
  }
  close_config(file);
}

/* Checks that model_index.json names this class for a part. For each part the file has [library, class], or nulls if
 * the part is missing. */
static void check_part(struct config *index, const char *key, const char *class) {
  char found[64];
  config_item(index, key, 1, found, sizeof found);
  if (strcmp(found, class))
    config_refuse(index, key, *found ? found : "its absence", class);
  config_ignore(index, (const char *const[]){key, NULL});
}

/* What model_index.json says besides the names of the classes: whether there is a second text encoder, and whether an
 * empty negative prompt is zeros. */
struct index {
  bool text_encoder_2, zero_negative;
};

static void read_second_text_encoder(struct index *out, struct config *index) {
  char class[64];
  config_item(index, "text_encoder_2", 1, class, sizeof class);
  out->text_encoder_2 = *class;
  if (!out->text_encoder_2)
    return;
  check_part(index, "text_encoder_2", "CLIPTextModelWithProjection");
  out->zero_negative = config_bool(index, "force_zeros_for_empty_prompt", true);
  config_only_null(index, (const char *const[]){"requires_aesthetics_score", "is_cosxl_edit", NULL});
}

static int parse_index(struct index *out, const struct config_file *file, struct error *err) {
  /* parts that model_index.json may name. The last three are accepted and not read: networks that check or prepare
   * pictures, or that an IP-Adapter needs */
  static const char *const known[] = {"unet", "text_encoder", "text_encoder_2", "tokenizer",      "tokenizer_2",
                                      "vae",  "scheduler",    "image_encoder",  "safety_checker", "feature_extractor",
                                      NULL};
  struct config index;
  *out = (struct index){0};
  config_start(&index, file->text, file->path);
  config_only_parts(&index, known, "pipelines of one U-Net, one or two text encoders and one autoencoder are");
  check_part(&index, "unet", "UNet2DConditionModel");
  check_part(&index, "text_encoder", "CLIPTextModel");
  read_second_text_encoder(out, &index);
  return config_finish_open(&index, err);
}

static bool has_file(const char *folder, const char *name) {
  char *path = text_path(folder, name);
  bool there = path && platform_exists(path);
  free(path);
  return there;
}

/* Fails if the folder is no model but something that users often give instead of one; the message says what it is. */
static int refuse_folder(const char *folder, struct error *err) {
  if (has_file(folder, "adapter_config.json"))
    return error_set(err, STATUS_MODEL, "%s: is a LoRA's folder, not a model's; give it with --lora beside the --model",
                     folder);
  if (has_file(folder, "config.json"))
    return error_set(
        err, STATUS_MODEL,
        "%s: is the folder of one part, not of a model; an autoencoder's goes with --vae beside a --model, a "
        "ControlNet's with --control, an image encoder's with --image-encoder",
        folder);
  return error_prefix(err, "no diffusers folder: ");
}

static int read_index(const struct checkpoint *c, struct index *index, const char *folder, struct error *err) {
  struct config_file file;
  int result = read_config(c, &file, folder, "model_index.json", err);
  result = result ? refuse_folder(folder, err) : parse_index(index, &file, err);
  close_config(&file);
  return result;
}

/* --- opening the parts of a model: U-Net, text encoders, autoencoder, scheduler, tokenizers --- */

static int name_component(struct component *component, const char *name, char *folder, struct error *err) {
  *component = (struct component){.folder = folder, .name = name, .prefix = ""};
  return folder ? 0 : error_set(err, STATUS_FAILED, "%s: out of memory", name);
}

static int open_weights(const struct checkpoint *c, struct component *component, const char *basename,
                        struct error *err) {
  return c->single ? single_weights(c->single, component, err)
                   : safetensors_open(&component->files, component->folder, basename, err);
}

/* Opens a U-Net with its config and its weights, and adds it to the predictors. unet: a file or folder whose weights
 * are used instead of the model's own; NULL: the model's own are used. */
static int add_predictor(struct checkpoint *c, const char *folder, const char *name, const char *unet,
                         struct prediction_signs *signs, struct error *err) {
  struct predictor *predictor = &c->predictors[c->predictor_count++];
  struct config_file file;
  if (name_component(&predictor->weights, name, text_path(folder, name), err))
    return -1;
  int result = read_config(c, &file, predictor->weights.folder, "config.json", err);
  result = result ? result : unet_config_parse(&predictor->config, file.text, file.path, err);
  close_part_config(&predictor->weights, &file);
  if (result || unet)
    return result ? result : checkpoint_open_unet(predictor, unet, signs, err);
  return open_weights(c, &predictor->weights, "diffusion_pytorch_model", err);
}

static int open_tokenizer(const struct checkpoint *c, struct tokenizer **tokenizer, const char *folder,
                          const char *name, struct error *err) {
  char *path = text_path(folder, name);
  if (!path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  int result = c->single ? single_tokenizer(c->single, path, tokenizer, err) : 1;
  result = result == 1 ? tokenizer_open(tokenizer, path, err) : result;
  free(path);
  return result;
}

static int add_text_encoder(struct checkpoint *c, const char *folder, const char *name, const char *tokenizer,
                            struct error *err) {
  struct text_encoder *encoder = &c->text_encoders[c->text_encoder_count++];
  struct config_file file;
  if (name_component(&encoder->weights, name, text_path(folder, name), err))
    return -1;
  int result = read_config(c, &file, encoder->weights.folder, "config.json", err);
  result = result ? result : clip_config_parse(&encoder->config, file.text, file.path, err);
  close_part_config(&encoder->weights, &file);
  if (result || open_weights(c, &encoder->weights, "model", err))
    return -1;
  if (safetensors_find(encoder->weights.files, "text_model.embeddings.token_embedding.weight"))
    encoder->weights.prefix = "text_model.";
  return open_tokenizer(c, &encoder->tokenizer, folder, tokenizer, err);
}

/* Adds the model's text encoders to the checkpoint: one, or the two of SDXL. */
static int load_text_encoders(struct checkpoint *c, const char *folder, const struct index *index, struct error *err) {
  if (add_text_encoder(c, folder, "text_encoder", "tokenizer", err))
    return -1;
  if (!index->text_encoder_2)
    return 0;
  if (add_text_encoder(c, folder, "text_encoder_2", "tokenizer_2", err))
    return -1;
  c->text_encoders[0].penultimate = c->text_encoders[1].penultimate = c->text_encoders[1].pooled = true;
  c->text_encoders[0].unread = c->text_encoders[1].unread = 1;
  c->zero_negative = index->zero_negative;
  return 0;
}

/* Returns the autoencoder's folder. vae: the folder from --vae, which is an autoencoder's own folder, or a whole
 * model's folder with the autoencoder in its folder "vae". NULL: there is no --vae, so the result is the folder "vae"
 * of the model in `folder`. The caller frees the path. Returns NULL if memory is short. */
static char *vae_folder(const char *folder, const char *vae) {
  if (!vae)
    return text_path(folder, "vae");
  char *config = text_path(vae, "config.json"), *index = text_path(vae, "model_index.json");
  bool whole = config && index && !platform_exists(config) && platform_exists(index);
  free(config);
  free(index);
  return whole ? text_path(vae, "vae") : strdup(vae);
}

static int load_autoencoder(struct checkpoint *c, const char *folder, const char *vae, struct error *err) {
  struct autoencoder *autoencoder = &c->autoencoder;
  struct config_file file;
  bool files = vae && vae_files_are(vae);
  if (name_component(&autoencoder->weights, "vae", files ? strdup(vae) : vae_folder(folder, vae), err))
    return -1;
  if (files)
    return vae_files_open(autoencoder, vae, c->predictors[0].config.added_text_dim > 0, err);
  int result = read_config(c, &file, autoencoder->weights.folder, "config.json", err);
  result = result ? result : autoencoder_config_parse(autoencoder, file.text, file.path, err);
  close_part_config(&autoencoder->weights, &file);
  if (!result && vae)
    result = safetensors_open(&autoencoder->weights.files, autoencoder->weights.folder, "diffusion_pytorch_model", err);
  else if (!result)
    result = open_weights(c, &autoencoder->weights, "diffusion_pytorch_model", err);
  return result ? result : vae_files_rename(&autoencoder->weights.files, err);
}

static int load_scheduler(struct checkpoint *c, const char *folder, const struct log *log, struct error *err) {
  struct config_file file;
  int result = read_config(c, &file, folder, "scheduler/scheduler_config.json", err);
  if (!result && scheduler_config_parse(&c->scheduler, file.text, file.path, log, &c->scheduler_refusal)) {
    result = c->scheduler.lacks ? 0 : -1;
    if (result && err)
      *err = c->scheduler_refusal;
  }
  close_config(&file);
  return result;
}

static int load_styles(struct checkpoint *c, const char *folder, struct error *err) {
  if (c->single && single_family(c->single))
    return 0;
  char *path = text_path(folder, "styles.json");
  int result = path ? styles_open(&c->styles, path, err) : error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  free(path);
  return result;
}

/* --- checks that the model's networks (U-Net, autoencoder, text encoders) fit each other --- */

static int check_latents(const struct predictor *predictor, const struct autoencoder *autoencoder, struct error *err) {
  const struct unet_config *unet = &predictor->config;
  int latent = autoencoder->latent_channels;
  if (unet->out_channels != latent)
    return error_set(err, STATUS_MODEL,
                     "%s: out_channels: %d does not fit the autoencoder %s, which has %d "
                     "latent channels; give a fitting one with --vae",
                     component_origin(&predictor->weights), unet->out_channels, autoencoder->weights.folder, latent);
  if (unet->in_channels != latent && unet->in_channels != 2 * latent && unet->in_channels != 2 * latent + 1)
    return error_set(err, STATUS_MODEL,
                     "%s: in_channels: %d is not supported (%d, %d with the input picture, and %d with "
                     "a mask and the picture are; depth models are not)",
                     component_origin(&predictor->weights), unet->in_channels, latent, 2 * latent, 2 * latent + 1);
  return 0;
}

/* Checks that encoded texts have the width that the U-Net reads. The U-Net reads the outputs of all text encoders,
 * joined along their channels. */
static int check_text(const struct checkpoint *c, const struct predictor *predictor, struct error *err) {
  int width = 0;
  for (int i = 0; i < c->text_encoder_count; i++)
    width += c->text_encoders[i].config.hidden_size;
  if (predictor->config.cross_attention_dim == width)
    return 0;
  return error_set(err, STATUS_MODEL, "%s: cross_attention_dim: %d does not fit the text encoder's hidden_size %d",
                   component_origin(&predictor->weights), predictor->config.cross_attention_dim, width);
}

/* Checks that the pooled text has the width that the U-Net reads. The U-Net adds it to the time embedding. */
static int check_pooled(const struct checkpoint *c, const struct predictor *predictor, struct error *err) {
  const struct text_encoder *last = &c->text_encoders[c->text_encoder_count - 1];
  int wanted = predictor->config.added_text_dim, given = last->pooled ? last->config.projection_dim : 0;
  if (wanted == given)
    return 0;
  if (!given)
    return error_set(err, STATUS_MODEL,
                     "%s: addition_embed_type: text_time asks for pooled text, and no text encoder gives it",
                     component_origin(&predictor->weights));
  return error_set(err, STATUS_MODEL,
                   "%s: projection_class_embeddings_input_dim: has room for a pooled text of %d beside six "
                   "sizes, and projection_dim of %s is %d",
                   component_origin(&predictor->weights), wanted, last->weights.folder, given);
}

/* Checks that both text encoders have the same number of positions, because their outputs are joined token by token. */
static int check_positions(const struct checkpoint *c, struct error *err) {
  const struct text_encoder *first = &c->text_encoders[0], *last = &c->text_encoders[c->text_encoder_count - 1];
  if (first->config.positions == last->config.positions)
    return 0;
  return error_set(err, STATUS_MODEL, "%s: max_position_embeddings: %d does not fit the %d of %s",
                   component_origin(&last->weights), last->config.positions, first->config.positions,
                   first->weights.folder);
}

static int check_vocabulary(const struct text_encoder *encoder, struct error *err) {
  int tokens = tokenizer_vocabulary(encoder->tokenizer), longest = tokenizer_longest(encoder->tokenizer);
  if (longest && longest < encoder->config.positions)
    return error_set(err, STATUS_MODEL,
                     "%s: max_position_embeddings: %d does not fit the tokenizer's model_max_length %d: "
                     "shorter texts are not supported",
                     component_origin(&encoder->weights), encoder->config.positions, longest);
  if (tokens <= encoder->config.vocab_size)
    return 0;
  int id;
  const char *beyond = tokenizer_beyond(encoder->tokenizer, encoder->config.vocab_size, &id);
  if (beyond)
    return error_set(
        err, STATUS_MODEL,
        "%s: vocab_size: %d does not fit the tokenizer, whose added token %s has the id %d: the row that it "
        "was given in training is not in this text encoder",
        component_origin(&encoder->weights), encoder->config.vocab_size, text_quote(beyond).text, id);
  return error_set(err, STATUS_MODEL, "%s: vocab_size: %d does not fit the tokenizer, which has %d tokens",
                   component_origin(&encoder->weights), encoder->config.vocab_size, tokens);
}

static int skip_layers(struct checkpoint *c, int clip_skip, struct error *err) {
  for (int i = 0; clip_skip > 0 && i < c->text_encoder_count; i++) {
    struct text_encoder *encoder = &c->text_encoders[i];
    if (clip_skip > encoder->config.layers + 1)
      return error_set(err, STATUS_MODEL, "--clip-skip %d: %s has %d layers, and %d takes what goes into the first",
                       clip_skip, encoder->weights.folder, encoder->config.layers, encoder->config.layers + 1);
    encoder->unread = clip_skip - 1;
  }
  return 0;
}

/* Warns if the text encoder has more embeddings than the tokenizer has tokens: the surplus belongs to learned words
 * that the tokenizer's files do not name. */
static void tell_unnamed_rows(const struct checkpoint *c, const struct log *log) {
  for (int i = 0; i < c->text_encoder_count; i++) {
    const struct text_encoder *encoder = &c->text_encoders[i];
    int rows = encoder->config.vocab_size - tokenizer_vocabulary(encoder->tokenizer);
    if (rows > 0)
      log_line(
          log, LOG_WARNING,
          "%s: vocab_size: %d, which is %d more than its tokenizer has ids: words that were learned for these rows "
          "are spelled out, unless an added_tokens.json in the tokenizer's folder names them",
          component_origin(&encoder->weights), encoder->config.vocab_size, rows);
  }
}

/* Returns the factor by which the autoencoder's latent of the input picture is multiplied before the U-Net reads it.
 * InstructPix2Pix models read the unscaled latent of an AutoencoderKL; a tiny autoencoder has the model's scaling
 * factor built into its weights, so that its latent must be divided by the factor. */
static float image_scale(const struct checkpoint *c) {
  const struct autoencoder *autoencoder = &c->autoencoder;
  float said = c->predictors[0].config.image_scaling_factor,
        usual = c->predictors[0].config.added_size_dim ? 0.13025f : 0.18215f;
  if (said > 0)
    return autoencoder->scaling_factor / said;
  return autoencoder->type == AUTOENCODER_TAE ? autoencoder->scaling_factor / usual : 1;
}

/* Corrects the scheduler's config as diffusers' pipelines do: fields that old files lack or have wrong. The pipelines
 * for Stable Diffusion correct all of these fields, the pipeline for inpainting only some, and those for
 * InstructPix2Pix, full LCM and SDXL none. No sampler here supports clip_sample; if it is still true, this is recorded
 * in scheduler.lacks. */
static void settle_scheduler(struct checkpoint *c) {
  const struct unet_config *unet = &c->predictors[0].config;
  bool settles = !c->image_condition && !unet->time_cond_proj_dim && !unet->added_size_dim;
  if (settles)
    c->scheduler.steps_offset = 1;
  if (settles && !c->inpainting)
    c->scheduler.clip_sample = false;
  if (!c->scheduler.clip_sample)
    return;
  if (!c->scheduler.lacks)
    error_set(&c->scheduler_refusal, STATUS_MODEL,
              "%s: the scheduler's clip_sample: true is not supported for such a model (false is, and latent diffusion "
              "wants it so)",
              c->name);
  c->scheduler.lacks |= LACKS_SAMPLER;
}

/* Returns true for the networks of SDXS-512 and SDXS-512 0.9, which know only one timestep. */
static bool has_one_timestep(const struct unet_config *unet) {
  return unet->levels == 3 && !unet->mid_block && unet->layers[0] == 1 &&
         (!unet->down_attention[0] || unet->only_cross_attention[0]);
}

static int check_fit(struct checkpoint *c, struct error *err) {
  for (int i = 0; i < c->predictor_count; i++)
    if (check_latents(&c->predictors[i], &c->autoencoder, err) || check_text(c, &c->predictors[i], err) ||
        check_pooled(c, &c->predictors[i], err))
      return -1;
  for (int i = 0; i < c->text_encoder_count; i++)
    if (check_vocabulary(&c->text_encoders[i], err))
      return -1;
  if (check_positions(c, err))
    return -1;
  c->image_condition = c->predictors[0].config.in_channels == 2 * c->autoencoder.latent_channels;
  c->image_scale = image_scale(c);
  c->inpainting = c->predictors[0].config.in_channels == 2 * c->autoencoder.latent_channels + 1;
  c->one_timestep = has_one_timestep(&c->predictors[0].config);
  settle_scheduler(c);
  return 0;
}

/* Returns the model's name: the last part of the folder's real path, or the part before it if the last one is "model";
 * or a file's name without its ending. The caller frees it. */
static char *folder_name(const char *folder) {
  char *real = platform_real_path(folder);
  if (real && strlen(real) > strlen("/model") && !strcmp(strrchr(real, '/'), "/model"))
    *strrchr(real, '/') = 0;
  const char *path = real ? real : folder, *slash = strrchr(path, '/');
  char *name = strdup(slash && slash[1] ? slash + 1 : path), *ending = name ? strstr(name, ".safetensors") : NULL;
  free(real);
  if (ending && ending > name)
    *ending = 0;
  return name;
}

/* If the model is not a folder, opens it as a single file (c->single). */
static int open_single(struct checkpoint *c, const struct checkpoint_sources *sources, const struct log *log,
                       struct error *err) {
  if (platform_can_read_file(sources->model))
    return single_open(&c->single, sources, log, err);
  if (sources->config)
    return error_set(err, STATUS_MODEL, "%s: is no file, so it has configs of its own and --config is not for it",
                     sources->model);
  return 0;
}

/* Fails if nothing exists at this path, so that a wrong name is not reported as a missing config. Does not fail if path
 * is NULL. */
static int check_there(const char *path, struct error *err) {
  return !path || platform_exists(path) ? 0
                                        : error_set(err, STATUS_MODEL, "%s: cannot be read: %s", path, strerror(errno));
}

static int load(struct checkpoint *c, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err) {
  const char *folder = sources->model;
  struct index index = {0};
  struct prediction_signs signs = {.first.witness = WITNESS_NONE, .other.witness = WITNESS_NONE};
  c->name = sources->name ? strdup(sources->name) : folder_name(folder);
  if (!c->name)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  text_clean(c->name);
  if (check_there(folder, err) || open_single(c, sources, log, err) || check_there(sources->config, err) ||
      check_there(sources->vae, err))
    return -1;
  if (c->single && sources->config)
    folder = sources->config;
  if (read_index(c, &index, folder, err) || (c->single && single_check_parts(c->single, index.text_encoder_2, err)) ||
      add_predictor(c, folder, "unet", sources->unet, &signs, err) || load_autoencoder(c, folder, sources->vae, err) ||
      load_text_encoders(c, folder, &index, err) || load_scheduler(c, folder, log, err) || load_styles(c, folder, err))
    return -1;
  if (checkpoint_settle_prediction(c, sources, folder, &signs, log, err) || check_fit(c, err) ||
      skip_layers(c, sources->clip_skip, err))
    return -1;
  c->noisiest = checkpoint_named_timestep(sources, log);
  tell_unnamed_rows(c, log);
  return 0;
}

int checkpoint_open(struct checkpoint **checkpoint, const struct checkpoint_sources *sources, const struct log *log,
                    struct error *err) {
  struct checkpoint *c = calloc(1, sizeof *c);
  if (!c)
    return error_set(err, STATUS_FAILED, "%s: out of memory", sources->model);
  if (load(c, sources, log, err)) {
    checkpoint_close(&c);
    return -1;
  }
  *checkpoint = c;
  return 0;
}

static void close_component(struct component *component) {
  safetensors_close(&component->files);
  free(component->config);
  free(component->folder);
}

void checkpoint_close(struct checkpoint **checkpoint) {
  struct checkpoint *c = *checkpoint;
  *checkpoint = NULL;
  if (!c)
    return;
  for (int i = 0; i < c->predictor_count; i++)
    close_component(&c->predictors[i].weights);
  close_component(&c->autoencoder.weights);
  for (int i = 0; i < c->text_encoder_count; i++) {
    close_component(&c->text_encoders[i].weights);
    tokenizer_close(&c->text_encoders[i].tokenizer);
  }
  styles_close(&c->styles);
  single_close(&c->single);
  free(c->name);
  free(c);
}

const struct component *checkpoint_component(const struct checkpoint *c, int index) {
  if (index < c->predictor_count)
    return &c->predictors[index].weights;
  index -= c->predictor_count;
  if (index == 0)
    return &c->autoencoder.weights;
  index -= 1;
  return index < c->text_encoder_count ? &c->text_encoders[index].weights : NULL;
}

const char *component_origin(const struct component *component) {
  return component->config ? component->config : safetensors_path(component->files);
}

size_t checkpoint_bytes(const struct checkpoint *c) {
  size_t bytes = 0;
  const struct component *component;
  for (int i = 0; (component = checkpoint_component(c, i)); i++)
    bytes += safetensors_bytes(component->files);
  return bytes;
}
