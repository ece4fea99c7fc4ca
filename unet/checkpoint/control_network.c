/* Opens ControlNets and T2I-Adapters. How a network is built follows from its config or, if it has none, from the
 * shapes of its tensors. */
#include "unet/checkpoint/control_network.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "unet/base/platform.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/original.h"
#include "unet/checkpoint/yaml.h"

enum { CHANNELS_MAX = 1 << 14, HEAD = 64, SINUSOID = 256 };
/* --- reading config.json --- */

int t2i_config_parse(struct t2i_config *t2i, const char *text, const char *path, struct error *err) {
  static const int usual[] = {320, 640, 1280, 1280};
  struct config config;
  char type[64];
  *t2i = (struct t2i_config){.levels = 4};
  memcpy(t2i->channels, usual, sizeof usual);
  config_start(&config, text, path);
  config_only_string(&config, "_class_name", "T2IAdapter");
  config_string(&config, "adapter_type", "full_adapter", type, sizeof type);
  t2i->xl = !strcmp(type, "full_adapter_xl");
  if (!t2i->xl && strcmp(type, "full_adapter"))
    config_refuse(&config, "adapter_type", type, "full_adapter and full_adapter_xl are");
  t2i->in_channels = config_int(&config, "in_channels", 3, 1, 3);
  t2i->patch = config_int(&config, "downscale_factor", 8, 1, 64);
  t2i->layers = config_int(&config, "num_res_blocks", 2, 1, LAYERS_MAX);
  if (t2i->in_channels == 2)
    config_refuse(&config, "in_channels", "2", "3 and 1 are");
  if (config_has(&config, "channels")) {
    t2i->levels = config_length(&config, "channels");
    if (t2i->levels < 1 || t2i->levels > LEVELS_MAX) {
      t2i->levels = 1;
      config_refuse(&config, "channels", "its length", "1 to 8 levels are");
    } else {
      config_ints(&config, "channels", 0, 1, CHANNELS_MAX, t2i->channels, t2i->levels);
    }
  }
  return config_finish(&config, err);
}

/* Reads the name of a network's class from the text of its config.json. */
static int read_class(char class[64], const char *text, const char *path, struct error *err) {
  struct config config;
  config_start(&config, text, path);
  config_string(&config, "_class_name", "", class, 64);
  return config_finish_open(&config, err);
}

static int parse(struct control_network *network, const char *text, const char *path, struct error *err) {
  char class[64];
  if (read_class(class, text, path, err))
    return -1;
  network->type = strcmp(class, "T2IAdapter") ? CONTROL_CONTROLNET : CONTROL_T2I;
  return network->type == CONTROL_T2I ? t2i_config_parse(&network->t2i, text, path, err)
                                      : controlnet_config_parse(&network->controlnet, text, path, err);
}

/* Reads folder/config.json, and stores its path in the network. Returns 1 if there is no such file. */
static int read_config(struct control_network *network, const char *folder, struct error *err) {
  char *path = text_path(folder, "config.json"), *text = NULL;
  if (!path)
    return error_set(err, STATUS_FAILED, "%s: out of memory", folder);
  if (!platform_exists(path)) {
    free(path);
    return 1;
  }
  network->weights.config = path;
  int result = text_read(path, CONFIG_LIMIT, &text, NULL, err);
  result = result ? result : parse(network, text, path, err);
  free(text);
  return result;
}

/* --- finding a network's config from the shapes of its tensors, for a file without config.json --- */

static int refuse(const struct control_network *network, const char *what, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: %s; give its diffusers folder", network->path, what);
}

/* Returns how many transformer blocks an attention has, from the names of its tensors. */
static int count_depth(const struct safetensors *files, const char *attention) {
  int depth = 0;
  while (depth < LAYERS_MAX &&
         safetensors_find_printed(files, "%s.transformer_blocks.%d.norm1.weight", attention, depth))
    depth++;
  return depth;
}

static void read_level(struct unet_config *body, const struct safetensors *files, int level) {
  char name[64];
  int layers = 0;
  for (;
       layers < LAYERS_MAX && safetensors_find_printed(files, "down_blocks.%d.resnets.%d.conv1.weight", level, layers);
       layers++) {
    snprintf(name, sizeof name, "down_blocks.%d.attentions.%d", level, layers);
    body->down_attention[level] |= safetensors_find_printed(files, "%s.norm.weight", name) != NULL;
    body->down_depth[level][layers] = count_depth(files, name);
  }
  body->layers[level] = layers;
}

/* Returns the width of the text to which the network attends; 0: it attends to none. */
static int text_width(const struct safetensors *files) {
  for (size_t i = 0; i < safetensors_count(files); i++)
    if (text_ends(safetensors_at(files, i)->name, ".attn2.to_k.weight"))
      return safetensor_dimension(safetensors_at(files, i), 1, CHANNELS_MAX);
  return 0;
}

/* Sets the number of attention heads as published networks have it: SD 1 has 8 at each level, the others have heads of
 * 64 channels. */
static void read_heads(struct unet_config *body) {
  for (int i = 0; i < body->levels; i++)
    body->heads[i] = body->cross_attention_dim == 768 ? 8 : body->channels[i] / HEAD;
}

static void read_hint(struct controlnet_config *net, const struct safetensors *files) {
  net->hint[0] = safetensor_dimension(safetensors_find_printed(files, "controlnet_cond_embedding.conv_in.weight"), 0,
                                      CHANNELS_MAX);
  net->hint_levels = 1;
  for (int c; net->hint_levels < LEVELS_MAX; net->hint[net->hint_levels++] = c)
    if (!(c = safetensor_dimension(
              safetensors_find_printed(files, "controlnet_cond_embedding.blocks.%d.weight", 2 * net->hint_levels - 1),
              0, CHANNELS_MAX)))
      break;
}

static int check_body(const struct control_network *network, struct error *err) {
  const struct unet_config *body = &network->controlnet.body;
  if (!body->levels || !body->in_channels || !body->time_embed_dim || !body->mid_block || !network->controlnet.hint[0])
    return refuse(network, "is no whole ControlNet", err);
  for (int i = 0; i < body->levels; i++)
    if (body->channels[i] % body->norm_num_groups || !body->heads[i] || body->channels[i] % body->heads[i])
      return refuse(network, "has other widths than those of SD 1, SD 2 and SDXL", err);
  return 0;
}

static int config_of_controlnet(struct control_network *network, struct error *err) {
  const struct safetensors *files = network->weights.files;
  struct unet_config *body = &network->controlnet.body;
  network->controlnet = (struct controlnet_config){.hint_levels = 0};
  *body = (struct unet_config){.norm_num_groups = 32, .norm_eps = 1e-5f, .flip_sin_to_cos = true};
  for (int c; body->levels < LEVELS_MAX; body->channels[body->levels++] = c) {
    if (!(c = safetensor_dimension(
              safetensors_find_printed(files, "down_blocks.%d.resnets.0.conv1.weight", body->levels), 0, CHANNELS_MAX)))
      break;
    read_level(body, files, body->levels);
  }
  body->in_channels = safetensor_dimension(safetensors_find_printed(files, "conv_in.weight"), 1, CHANNELS_MAX);
  body->time_embed_dim =
      safetensor_dimension(safetensors_find_printed(files, "time_embedding.linear_1.weight"), 0, CHANNELS_MAX);
  body->mid_block = safetensors_find_printed(files, "mid_block.resnets.0.conv1.weight");
  body->mid_attention = safetensors_find_printed(files, "mid_block.attentions.0.norm.weight");
  body->mid_depth = count_depth(files, "mid_block.attentions.0");
  body->cross_attention_dim = text_width(files);
  int added = safetensor_dimension(safetensors_find_printed(files, "add_embedding.linear_1.weight"), 1, CHANNELS_MAX);
  if (added > SIZES * SINUSOID) {
    body->added_size_dim = SINUSOID;
    body->added_text_dim = added - SIZES * SINUSOID;
  }
  read_heads(body);
  read_hint(&network->controlnet, files);
  return check_body(network, err);
}

static int config_of_t2i(struct control_network *network, struct error *err) {
  static const struct { int in, channels, patch; } kinds[] = {{192, 3, 8}, {64, 1, 8}, {768, 3, 16}, {256, 1, 16}};
  const struct safetensors *files = network->weights.files;
  struct t2i_config *t2i = &network->t2i;
  int in = safetensor_dimension(safetensors_find_printed(files, "adapter.conv_in.weight"), 1, CHANNELS_MAX);
  *t2i = (struct t2i_config){0};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (kinds[i].in == in)
      t2i->in_channels = kinds[i].channels, t2i->patch = kinds[i].patch;
  t2i->xl = t2i->patch == 16;
  for (int c; t2i->levels < LEVELS_MAX; t2i->channels[t2i->levels++] = c)
    if (!(c = safetensor_dimension(
              safetensors_find_printed(files, "adapter.body.%d.resnets.0.block1.weight", t2i->levels), 0,
              CHANNELS_MAX)))
      break;
  while (t2i->layers < LAYERS_MAX &&
         safetensors_find_printed(files, "adapter.body.0.resnets.%d.block1.weight", t2i->layers))
    t2i->layers++;
  return t2i->patch && t2i->levels && t2i->layers ? 0 : refuse(network, "is no whole T2I-Adapter", err);
}

/* --- deciding whether a network's outputs are pooled (averaged over the picture), which its tensors do not show --- */

/* Reads whether a file's network is pooled, that is, whether each of its outputs is averaged over the picture. The
 * field global_average_pooling of the config tells this; web UIs write that config next to the file, such as
 * "control_v11e_sd15_shuffle.yaml". *says: true if there is a config with this field. */
static int read_yaml(const struct control_network *network, bool *says, bool *pooled, struct error *err) {
  char *path = yaml_beside(network->path), *text = NULL;
  *says = false;
  int result = path ? text_read(path, CONFIG_LIMIT, &text, NULL, err) : 0;
  if (text)
    *says = yaml_bool(text, "global_average_pooling", pooled);
  free(text);
  free(path);
  return result;
}

static bool has_word(const char *path, const char *word) {
  const char *name = text_last_part(path);
  size_t size = strlen(word);
  for (; strlen(name) >= size; name++)
    if (!strncasecmp(name, word, size))
      return true;
  return false;
}

/* Returns true if the network's file or folder has "shuffle" in its name. For a file with the standard name of
 * diffusers, the name of the folder that contains it counts as well. */
static bool is_named_shuffle(const char *path) {
  if (has_word(path, "shuffle") || strncmp(text_last_part(path), "diffusion_pytorch_model", 23))
    return has_word(path, "shuffle");
  char *folder = text_folder(path);
  bool named = folder && has_word(folder, "shuffle");
  free(folder);
  return named;
}

/* Decides whether a network is pooled (its outputs are replaced by their mean over the picture) if its config does not
 * have the field global_pool_conditions. The network's name decides. Logs if pooling is assumed. */
static void settle_pooling(struct control_network *network, const struct log *log) {
  struct controlnet_config *net = &network->controlnet;
  if (network->type != CONTROL_CONTROLNET || net->says_pooled || !is_named_shuffle(network->path))
    return;
  net->pooled = true;
  log_line(log, LOG_WARNING,
           "%s: its config has no global_pool_conditions; its name says shuffle, so what it adds is taken as its mean "
           "over the picture (global_pool_conditions: false in the config says otherwise)",
           network->path);
}

/* Decides by its name whether a network without a config is pooled, that is, adds the mean of its output over the
 * picture. Its tensors do not show that. Of the published networks only "shuffle" is pooled. */
static int find_pooling(struct control_network *network, const struct log *log, struct error *err) {
  bool says, pooled = false;
  if (network->type != CONTROL_CONTROLNET)
    return 0;
  if (read_yaml(network, &says, &pooled, err))
    return -1;
  network->controlnet.pooled = says ? pooled : is_named_shuffle(network->path);
  if (!says)
    log_line(log, LOG_WARNING,
             network->controlnet.pooled
                 ? "%s: has no config beside it; its name says shuffle, so what it adds is taken as its mean over the "
                   "picture"
                 : "%s: has no config beside it, and is taken for a plain ControlNet, which adds to each place what it "
                   "finds there (a \"shuffle\" adds its mean over the picture, and is told by its name)",
             network->path);
  return 0;
}

/* --- opening a network from a file or a folder --- */

typedef int add_part(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);

/* Replaces network->weights.files by a view of them: the same tensors under the names that they have in a diffusers
 * folder. add: the function of original.h that translates the names of this kind of network. */
static int view_original(struct control_network *network, add_part *add, const char *prefix, struct error *err) {
  struct safetensors *files = network->weights.files, *view = NULL;
  int result = view_open(&view, &files, 1, err);
  result = result ? result : add(view, files, prefix, err);
  result = result ? result : view_finish(view, err);
  safetensors_close(&files);
  network->weights.files = view;
  return result;
}

/* Some programs put a text before all names of a network, such as "control_model." or "module.". Finds a tensor named
 * `mark`, or whose name ends with a dot and `mark`, and stores what precedes `mark` in its name: that text. */
static bool find_wrapper(const struct safetensors *files, const char *mark, char *wrapper, size_t size) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const char *name = safetensors_at(files, i)->name;
    size_t length = strlen(name), own = strlen(mark);
    bool ends = length >= own && length - own < size && !strcmp(name + length - own, mark) &&
                (length == own || name[length - own - 1] == '.');
    if (ends) {
      snprintf(wrapper, size, "%.*s", (int)(length - own), name);
      return true;
    }
  }
  return false;
}

/* Adds to the view the tensors whose names begin with `wrapper`, a text that a program has put before all names. In the
 * view the names do not have this text. */
static int add_unwrapped(struct safetensors *view, const struct safetensors *files, const char *wrapper,
                         struct error *err) {
  size_t length = strlen(wrapper);
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    if (!strncmp(t->name, wrapper, length) &&
        view_add(view, &(struct view_tensor){.name = t->name + length, .from = t}, err))
      return -1;
  }
  return 0;
}

/* Makes a view of the file in which tensors have the names of a diffusers folder; a text that stands before all names
 * is removed. Returns 0; 1 if the names, without that text, are those of diffusers already; or -1 with err. */
static int view_file(struct control_network *network, struct error *err) {
  const struct safetensors *files = network->weights.files;
  bool t2i = network->type == CONTROL_T2I;
  char wrapper[64] = "";
  if (find_wrapper(files, t2i ? "body.0.block1.weight" : "input_hint_block.0.weight", wrapper, sizeof wrapper))
    return view_original(network, t2i ? original_t2i : original_controlnet, wrapper, err);
  if (find_wrapper(files, t2i ? "adapter.body.0.resnets.0.block1.weight" : "controlnet_cond_embedding.conv_in.weight",
                   wrapper, sizeof wrapper) &&
      *wrapper)
    return view_original(network, add_unwrapped, wrapper, err) ? -1 : 1;
  return 1;
}

static int read_config_beside(struct control_network *network, struct error *err) {
  enum control_network_type type = network->type;
  char *folder = text_folder(network->path);
  int result =
      folder ? read_config(network, folder, err) : error_set(err, STATUS_FAILED, "%s: out of memory", network->path);
  free(folder);
  if (!result && network->type != type)
    return error_set(err, STATUS_MODEL, "%s: is of another network than %s beside it; put one of them elsewhere",
                     network->weights.config, network->path);
  return result;
}

static int open_file(struct control_network *network, const struct log *log, struct error *err) {
  struct safetensors **files = &network->weights.files;
  if (safetensors_open_file(files, network->path, err) || weights_refuse_quantised(*files, err))
    return -1;
  enum weights_kind kind = weights_kind(*files);
  if (kind != WEIGHTS_CONTROLNET && kind != WEIGHTS_ADAPTER)
    return weights_kind_refuse(kind, network->path, WEIGHTS_CONTROLNET, err);
  network->type = kind == WEIGHTS_ADAPTER ? CONTROL_T2I : CONTROL_CONTROLNET;
  int result = view_file(network, err);
  result = result == 1 ? read_config_beside(network, err) : result ? result : 1;
  if (!result)
    settle_pooling(network, log);
  if (result <= 0)
    return result;
  result = network->type == CONTROL_T2I ? config_of_t2i(network, err) : config_of_controlnet(network, err);
  return result ? result : find_pooling(network, log, err);
}

static int open_folder(struct control_network *network, const struct log *log, struct error *err) {
  int result = read_config(network, network->path, err);
  if (result == 1)
    return error_set(err, STATUS_MODEL,
                     "%s: has no config.json, so it is no folder of a ControlNet or T2I-Adapter as diffusers has them; "
                     "give such a folder, or a .safetensors file",
                     network->path);
  if (!result)
    settle_pooling(network, log);
  return result ? result : safetensors_open(&network->weights.files, network->path, "diffusion_pytorch_model", err);
}

bool control_network_is_folder(const char *path) {
  char class[64];
  config_peek(path, "_class_name", class, sizeof class);
  return !strcmp(class, "ControlNetModel") || !strcmp(class, "T2IAdapter");
}

int control_network_open(struct control_network **out, const char *path, const char *name, const struct log *log,
                         struct error *err) {
  struct control_network *network = calloc(1, sizeof *network);
  *out = NULL;
  if (!network)
    return error_set(err, STATUS_FAILED, "%s: out of memory", path);
  network->weights = (struct component){.name = name, .prefix = "", .folder = strdup(path)};
  network->path = strdup(path);
  int result = network->path && network->weights.folder ? 0 : error_set(err, STATUS_FAILED, "%s: out of memory", path);
  if (!result)
    result = platform_can_read_file(path) ? open_file(network, log, err) : open_folder(network, log, err);
  if (result) {
    control_network_close(&network);
    return -1;
  }
  *out = network;
  return 0;
}

void control_network_close(struct control_network **network) {
  struct control_network *n = *network;
  *network = NULL;
  if (!n)
    return;
  safetensors_close(&n->weights.files);
  free(n->weights.config);
  free(n->weights.folder);
  free(n->path);
  free(n);
}

/* --- checks that a control network fits the model --- */

static const char *type_name(const struct control_network *network) {
  return network->type == CONTROL_T2I ? "T2I-Adapter" : "ControlNet";
}

const char *control_network_family(const struct control_network *network) {
  const struct unet_config *body = &network->controlnet.body;
  if (network->type == CONTROL_T2I)
    return network->t2i.xl ? "SDXL" : "SD 1 or SD 2";
  return body->cross_attention_dim == 768                            ? "SD 1"
         : body->cross_attention_dim == 1024                         ? "SD 2"
         : body->cross_attention_dim == 2048 || body->added_text_dim ? "SDXL"
                                                                     : "a family of its own";
}

/* Returns true if the network was made for the model's family. A ControlNet that does not attend to text fits models of
 * any text width. */
static bool is_of_family(const struct control_network *network, const struct unet_config *unet) {
  const struct unet_config *body = &network->controlnet.body;
  if (network->type == CONTROL_T2I)
    return network->t2i.xl == (unet->added_size_dim > 0);
  return (!body->cross_attention_dim || body->cross_attention_dim == unet->cross_attention_dim) &&
         body->added_text_dim == unet->added_text_dim && body->added_size_dim == unet->added_size_dim;
}

/* Returns true if the ControlNet's outputs have the sizes of the U-Net's skip connections. */
static bool fits_controlnet(const struct controlnet_config *net, const struct checkpoint *c) {
  const struct unet_config *body = &net->body, *unet = &c->predictors[0].config;
  bool same = body->levels == unet->levels && unet->mid_block && body->in_channels == c->autoencoder.latent_channels &&
              1 << (net->hint_levels - 1) == c->autoencoder.scale;
  for (int i = 0; same && i < unet->levels; i++)
    same = body->channels[i] == unet->channels[i] && body->layers[i] == unet->layers[i];
  return same;
}

/* Returns true if the adapter has an output for each level of the U-Net, of that level's size. For SDXL there must be
 * one more, for the middle block. */
static bool fits_t2i(const struct t2i_config *t2i, const struct checkpoint *c) {
  const struct unet_config *unet = &c->predictors[0].config;
  int more = t2i->xl ? 1 : 0;
  bool same = t2i->levels == unet->levels + more && t2i->patch == c->autoencoder.scale << more && unet->mid_block;
  for (int i = 0; same && i < t2i->levels; i++)
    same = t2i->channels[i] == unet->channels[i < unet->levels ? i : unet->levels - 1];
  return same;
}

int control_network_check(const struct control_network *network, const struct checkpoint *checkpoint,
                          struct error *err) {
  bool fits = network->type == CONTROL_T2I ? fits_t2i(&network->t2i, checkpoint)
                                           : fits_controlnet(&network->controlnet, checkpoint);
  if (!is_of_family(network, &checkpoint->predictors[0].config))
    return error_set(err, STATUS_MODEL, "%s: is a %s for %s, and the model %s is of %s; give one that was made for it",
                     network->path, type_name(network), control_network_family(network), checkpoint->name,
                     checkpoint_family(checkpoint));
  if (!fits)
    return error_set(err, STATUS_MODEL,
                     "%s: is a %s for a U-Net of other levels, layers or widths than that of the model %s (%s); give "
                     "one that was made for it",
                     network->path, type_name(network), checkpoint->name, checkpoint_family(checkpoint));
  return 0;
}

/* --- printing a network's config --- */

static void print_list(FILE *out, const int *values, int count) {
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%d", i ? "/" : "", values[i]);
}

static void print_depths(const struct unet_config *body, FILE *out) {
  for (int i = 0; i < body->levels; i++)
    fprintf(out, "%s%d", i ? "/" : "", body->down_attention[i] ? body->down_depth[i][0] : 0);
  fprintf(out, ", mid %d", body->mid_attention ? body->mid_depth : 0);
}

void control_network_print(const struct control_network *network, FILE *out) {
  const struct t2i_config *t2i = &network->t2i;
  fprintf(out, "control       %s for %s, channels ", type_name(network), control_network_family(network));
  if (network->type == CONTROL_T2I) {
    print_list(out, t2i->channels, t2i->levels);
    fprintf(out, ", reads %s at 1/%d\n", t2i->in_channels == 1 ? "a grey map" : "a map", t2i->patch);
    return;
  }
  print_list(out, network->controlnet.body.channels, network->controlnet.body.levels);
  fprintf(out, ", transformer blocks ");
  print_depths(&network->controlnet.body, out);
  fprintf(out, "%s\n", network->controlnet.pooled ? ", adds its mean over the picture (shuffle)" : "");
}
