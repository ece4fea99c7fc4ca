/* Opens autoencoders in files of their own. Without a config, sizes are derived from the shapes of the tensors. */
#include "unet/checkpoint/vae_files.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/original.h"
#include "unet/checkpoint/tensor_view.h"

enum { KEY_MAX = 512, PATH_LENGTH_MAX = 4096, BLOCKS_MAX = 64 };
/* --- finding an autoencoder's config from the shapes of its tensors --- */

static const struct safetensor *find(const struct safetensors *files, const char *format, int i, int j) {
  char name[KEY_MAX];
  snprintf(name, sizeof name, format, i, j);
  return safetensors_find(files, name);
}

/* Returns dimension number d of the tensor; 0: there is no such tensor, or the dimension is too large for a network. */
static int dimension(const struct safetensor *t, int d) {
  bool fits = t && t->usable && d < t->rank && t->shape[d] > 0 && t->shape[d] <= 1 << 14;
  return fits ? (int)t->shape[d] : 0;
}

static int refuse(const char *path, const char *what, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: %s; give the autoencoder's diffusers folder", path, what);
}

/* Derives the config of an AutoencoderKL from the shapes of its tensors, which have the names of a diffusers folder. */
static int read_kl(struct autoencoder *a, bool xl, struct error *err) {
  const struct safetensors *files = a->weights.files;
  struct kl_config *kl = &a->kl;
  a->type = AUTOENCODER_KL;
  *kl = (struct kl_config){.groups = 32, .force_upcast = true};
  for (int c; kl->levels < LEVELS_MAX; kl->channels[kl->levels++] = c)
    if (!(c = dimension(find(files, "encoder.down_blocks.%d.resnets.%d.conv1.weight", kl->levels, 0), 0)))
      break;
  while (kl->layers < LAYERS_MAX && find(files, "encoder.down_blocks.%d.resnets.%d.conv1.weight", 0, kl->layers))
    kl->layers++;
  kl->quant_conv = safetensors_find(files, "quant_conv.weight");
  kl->post_quant_conv = safetensors_find(files, "post_quant_conv.weight");
  kl->mid_attention = safetensors_find(files, "decoder.mid_block.attentions.0.to_q.weight");
  a->latent_channels = dimension(safetensors_find(files, "decoder.conv_in.weight"), 1);
  if (!kl->levels || !a->latent_channels)
    return refuse(safetensors_path(files), "is no whole AutoencoderKL", err);
  for (int i = 0; i < kl->levels; i++)
    if (kl->channels[i] % kl->groups)
      return refuse(safetensors_path(files), "has widths that are no multiples of 32", err);
  a->scale = 1 << (kl->levels - 1);
  a->scaling_factor = xl ? 0.13025f : 0.18215f;
  a->shift_factor = 0;
  return 0;
}

/* Counts the blocks at each level of a half of a tiny autoencoder. half: "encoder" or "decoder", the beginning of the
 * tensors' names. Each level begins and ends with a convolution. Returns the number of levels; 0: the tensors form no
 * such sequence. */
static int count_blocks(const struct safetensors *files, const char *half, int blocks[LEVELS_MAX]) {
  char block[64], conv[64];
  int level = -1;
  snprintf(block, sizeof block, "%s.layers.%%d.conv.0.weight", half);
  snprintf(conv, sizeof conv, "%s.layers.%%d.weight", half);
  for (int i = 0; i < BLOCKS_MAX; i++) {
    if (find(files, conv, i, 0))
      level++;
    else if (!find(files, block, i, 0))
      continue;
    else if (level >= 0)
      blocks[level]++;
    if (level >= LEVELS_MAX)
      return 0;
  }
  return level > 0 ? level : 0;
}

/* Returns the path of the file that has the tensors whose names begin with this prefix. */
static const char *half_path(const struct safetensors *files, const char *prefix) {
  for (size_t i = 0; i < safetensors_count(files); i++)
    if (!strncmp(safetensors_at(files, i)->name, prefix, strlen(prefix)))
      return safetensors_at(files, i)->file->path;
  return safetensors_path(files);
}

/* Derives the config of a tiny autoencoder from the shapes of its tensors. */
static int read_tiny(struct autoencoder *a, struct error *err) {
  const struct safetensors *files = a->weights.files;
  struct tae_config *tae = &a->tae;
  a->type = AUTOENCODER_TAE;
  *tae = (struct tae_config){0};
  tae->levels = count_blocks(files, "encoder", tae->encoder_blocks);
  tae->encoder_channels = dimension(safetensors_find(files, "encoder.layers.0.weight"), 0);
  tae->decoder_channels = dimension(safetensors_find(files, "decoder.layers.0.weight"), 0);
  a->latent_channels = dimension(safetensors_find(files, "decoder.layers.0.weight"), 1);
  if (!tae->levels || !tae->encoder_channels)
    return refuse(half_path(files, "encoder."), "is no whole encoder of a tiny autoencoder", err);
  if (count_blocks(files, "decoder", tae->decoder_blocks) != tae->levels || !a->latent_channels)
    return refuse(half_path(files, "decoder."), "is no whole decoder of a tiny autoencoder", err);
  a->scale = 1 << (tae->levels - 1);
  a->scaling_factor = 1;
  a->shift_factor = 0;
  return 0;
}

/* --- AutoencoderKL: renaming tensors as diffusers names them --- */

/* Replaces a name that early versions of diffusers gave to a tensor of the middle block's attention. Returns false if
 * the name needs no change. */
static bool rename_kl(const char *name, char key[KEY_MAX]) {
  static const char *const names[][2] = {
      {".query.", ".to_q."}, {".key.", ".to_k."}, {".value.", ".to_v."}, {".proj_attn.", ".to_out.0."}};
  const char *attention = strstr(name, ".attentions.0.");
  for (size_t i = 0; attention && i < sizeof names / sizeof *names; i++) {
    const char *found = strstr(attention, names[i][0]);
    if (found)
      return snprintf(key, KEY_MAX, "%.*s%s%s", (int)(found - name), name, names[i][1], found + strlen(names[i][0])) <
             KEY_MAX;
  }
  return false;
}

static int add_renamed(struct safetensors *view, const struct safetensors *files, struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    char key[KEY_MAX];
    if (view_add(view, &(struct view_tensor){.name = rename_kl(t->name, key) ? key : NULL, .from = t}, err))
      return -1;
  }
  return 0;
}

/* Finishes the view (the tensors of *files under other names or with other shapes), and puts it in place of *files. The
 * view keeps the original set open, so both are closed together. result: -1 if making the view has failed already.
 * Returns -1 after any failure. */
static int take_view(struct safetensors **files, struct safetensors *view, int result, struct error *err) {
  if (!result)
    result = view_finish(view, err);
  safetensors_close(files);
  *files = view;
  return result;
}

int vae_files_rename(struct safetensors **files, struct error *err) {
  struct safetensors *view = NULL;
  if (!safetensors_find(*files, "decoder.mid_block.attentions.0.query.weight") &&
      !safetensors_find(*files, "encoder.mid_block.attentions.0.query.weight"))
    return 0;
  int result = view_open(&view, files, 1, err);
  return take_view(files, view, result ? result : add_renamed(view, *files, err), err);
}

static int view_kl(struct autoencoder *a, struct error *err) {
  static const char *const prefixes[] = {"", "first_stage_model.", "vae."};
  struct safetensors **files = &a->weights.files, *view = NULL;
  const char *prefix = NULL;
  for (size_t i = 0; i < sizeof prefixes / sizeof *prefixes && !prefix; i++) {
    char name[KEY_MAX];
    snprintf(name, sizeof name, "%sdecoder.up.0.block.0.norm1.weight", prefixes[i]);
    prefix = safetensors_find(*files, name) ? prefixes[i] : NULL;
  }
  if (prefix) {
    int result = view_open(&view, files, 1, err);
    return take_view(files, view, result ? result : original_kl(view, *files, prefix, err), err);
  }
  return vae_files_rename(files, err);
}

/* --- tiny autoencoders: renaming tensors, and joining files that have only the encoder or only the decoder --- */

/* Translates the name of a tensor of a published tiny autoencoder, "3.conv.0.weight", to the name in a diffusers
 * folder. In diffusers the decoder's layers are numbered without the clamp, which is layer 0 of the published
 * decoder. */
static bool name_tiny(const char *half, const char *name, char key[KEY_MAX]) {
  char *end;
  if (!isdigit((unsigned char)*name))
    return false;
  long layer = strtol(name, &end, 10) - (*half == 'd');
  return *end == '.' && layer >= 0 && layer < BLOCKS_MAX &&
         snprintf(key, KEY_MAX, "%s.layers.%ld%s", half, layer, end) < KEY_MAX;
}

/* Adds the tensors of the encoder or decoder to the view. prefix: the beginning of their names in the file; "" if the
 * file has only this half. */
static int add_half(struct safetensors *view, const struct safetensors *files, const char *half, const char *prefix,
                    struct error *err) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    char key[KEY_MAX];
    bool ours = !strncmp(t->name, prefix, strlen(prefix));
    bool named = ours && name_tiny(half, t->name + strlen(prefix), key);
    if (ours && view_add(view, &(struct view_tensor){.name = named ? key : NULL, .from = t}, err))
      return -1;
  }
  return 0;
}

/* Opens a whole autoencoder, with the names of a diffusers folder or with published ones ("encoder.0.weight"). */
static int view_whole(struct autoencoder *a, struct error *err) {
  struct safetensors **files = &a->weights.files, *view = NULL;
  if (safetensors_find(*files, "decoder.layers.0.weight"))
    return 0;
  int result = view_open(&view, files, 1, err);
  result = result ? result : add_half(view, *files, "encoder", "encoder.", err);
  result = result ? result : add_half(view, *files, "decoder", "decoder.", err);
  return take_view(files, view, result, err);
}

static int view_pair(struct autoencoder *a, const char *encoder, const char *decoder, struct error *err) {
  struct safetensors *halves[2] = {NULL, NULL}, *view = NULL;
  int result = safetensors_open_file(&halves[0], encoder, err);
  result = result ? result : safetensors_open_file(&halves[1], decoder, err);
  result = result ? result : view_open(&view, halves, 2, err);
  result = result ? result : add_half(view, halves[0], "encoder", "", err);
  result = result ? result : add_half(view, halves[1], "decoder", "", err);
  result = result ? result : view_finish(view, err);
  safetensors_close(&halves[0]);
  safetensors_close(&halves[1]);
  a->weights.files = view;
  return result;
}

/* Writes the paths of the two files of a pair. path is the path of either file, such as "taesd_encoder.safetensors".
 * Returns false if the file's name contains neither "encoder" nor "decoder", or if the path is too long. */
static bool name_pair(const char *path, char encoder[PATH_LENGTH_MAX], char decoder[PATH_LENGTH_MAX]) {
  const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path, *found = NULL;
  /* a name may contain both "encoder" and "decoder"; the last of these words in it counts */
  for (const char *at = name; (at = strstr(at, "coder")); at++)
    if (at - name >= 2 && (!strncmp(at - 2, "en", 2) || !strncmp(at - 2, "de", 2)))
      found = at - 2;
  if (!found || strlen(path) >= PATH_LENGTH_MAX)
    return false;
  snprintf(encoder, PATH_LENGTH_MAX, "%.*sen%s", (int)(found - path), path, found + 2);
  snprintf(decoder, PATH_LENGTH_MAX, "%.*sde%s", (int)(found - path), path, found + 2);
  return true;
}

static int view_half(struct autoencoder *a, const char *path, struct error *err) {
  char encoder[PATH_LENGTH_MAX], decoder[PATH_LENGTH_MAX];
  safetensors_close(&a->weights.files);
  if (!name_pair(path, encoder, decoder))
    return error_set(err, STATUS_MODEL,
                     "%s: is one half of a tiny autoencoder, and its name does not tell the other's: call them "
                     "NAME_encoder.safetensors and NAME_decoder.safetensors",
                     path);
  const char *missing = !platform_exists(encoder) ? encoder : !platform_exists(decoder) ? decoder : NULL;
  if (missing)
    return error_set(err, STATUS_MODEL, "%s: is one half of a tiny autoencoder; the other, %s, is not there", path,
                     missing);
  return view_pair(a, encoder, decoder, err);
}

/* The names of the pairs of files that are published. */
static const char *const published[] = {"taesd", "taesdxl", "taesd3", "taef1", "taef2"};
enum { PUBLISHED = sizeof published / sizeof *published };

static bool has_half(const char *folder, const char *name, const char *half, char path[PATH_LENGTH_MAX]) {
  return snprintf(path, PATH_LENGTH_MAX, "%s/%s_%s.safetensors", folder, name, half) < PATH_LENGTH_MAX &&
         platform_exists(path);
}

/* Searches a folder for pairs of files NAME_encoder and NAME_decoder, the halves of a tiny autoencoder. Returns the
 * path of one half if the folder has exactly one pair; NULL: it has none, or several. *count: number of pairs. */
static const char *find_pair(const char *folder, int *count, char path[PATH_LENGTH_MAX]) {
  const char *found = NULL;
  *count = 0;
  for (int i = 0; i < PUBLISHED; i++)
    if (has_half(folder, published[i], "decoder", path) || has_half(folder, published[i], "encoder", path)) {
      found = published[i];
      (*count)++;
    }
  if (!found || *count > 1)
    return NULL;
  return has_half(folder, found, "encoder", path) || has_half(folder, found, "decoder", path) ? path : NULL;
}

/* --- opening an autoencoder of any kind --- */

bool vae_files_are(const char *path) {
  char name[PATH_LENGTH_MAX];
  int count;
  if (platform_can_read_file(path))
    return true;
  if (snprintf(name, sizeof name, "%s/config.json", path) >= (int)sizeof name || platform_exists(name))
    return false;
  find_pair(path, &count, name);
  return count > 0;
}

static bool is_half(const struct safetensors *files) {
  for (size_t i = 0; i < safetensors_count(files); i++)
    if (isdigit((unsigned char)*safetensors_at(files, i)->name))
      return true;
  return false;
}

/* Opens a file and gives its tensors the names of a diffusers folder. */
static int view_file(struct autoencoder *a, const char *path, struct error *err) {
  if (safetensors_open_file(&a->weights.files, path, err))
    return -1;
  enum weights_kind kind = weights_kind(a->weights.files);
  a->type = kind == WEIGHTS_TINY ? AUTOENCODER_TAE : AUTOENCODER_KL;
  if (kind == WEIGHTS_VAE || kind == WEIGHTS_MODEL)
    return view_kl(a, err);
  if (kind != WEIGHTS_TINY)
    return weights_kind_refuse(kind, path, WEIGHTS_VAE, err);
  return is_half(a->weights.files) ? view_half(a, path, err) : view_whole(a, err);
}

/* Reads the config.json in the folder of the file at `path`. Returns 0, or -1 with err; 1 if there is no such
 * config. */
static int read_config(struct autoencoder *a, const char *path, struct error *err) {
  const char *slash = strrchr(path, '/');
  char config[PATH_LENGTH_MAX], *text = NULL;
  int length = slash ? (int)(slash - path) + 1 : 0;
  enum autoencoder_type type = a->type;
  if (snprintf(config, sizeof config, "%.*sconfig.json", length, path) >= (int)sizeof config ||
      !platform_exists(config))
    return 1;
  int result = text_read(config, CONFIG_LIMIT, &text, NULL, err);
  result = result ? result : autoencoder_config_parse(a, text, config, err);
  free(text);
  a->weights.config = strdup(config);
  if (!a->weights.config)
    return error_set(err, STATUS_FAILED, "%s: out of memory", config);
  if (!result && a->type != type)
    return error_set(err, STATUS_MODEL, "%s: is of another autoencoder than %s beside it; put one of them elsewhere",
                     config, path);
  return result;
}

int vae_files_open(struct autoencoder *a, const char *path, bool xl, struct error *err) {
  char half[PATH_LENGTH_MAX];
  int count = 0;
  if (!platform_can_read_file(path)) {
    const char *first = find_pair(path, &count, half);
    if (!first)
      return error_set(err, STATUS_MODEL, "%s: holds %d tiny autoencoders; give a file of the one that is meant", path,
                       count);
    a->type = AUTOENCODER_TAE;
    return view_half(a, first, err) ? -1 : read_tiny(a, err);
  }
  int result = view_file(a, path, err);
  result = result ? result : read_config(a, path, err);
  if (result <= 0)
    return result;
  return a->type == AUTOENCODER_TAE ? read_tiny(a, err) : read_kl(a, xl, err);
}
