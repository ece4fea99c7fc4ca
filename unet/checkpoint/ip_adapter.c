#include "unet/checkpoint/ip_adapter.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/platform.h"
#include "unet/base/text_file.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/config.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/tensor_view.h"

enum {
  KEY_MAX = 512,
  HEAD_DIM = 64 /* channels of an attention head, in every IP-Adapter with a resampler */,
  ATTENTIONS_MAX = 1024,
  TOKENS_LIMIT = 1024,
  DIMENSION_MAX = 1 << 16
};
/* --- finding an adapter's sizes from the shapes of its tensors --- */

static int refuse(const struct safetensors *files, const char *what, struct error *err) {
  return error_set(err, STATUS_MODEL, "%s: %s", safetensors_path(files), what);
}

/* Returns true for IP-Adapters of the kind FaceID: their projection has two layers and a norm, and reads faces that
 * another network has recognised. */
static bool is_face_id(const struct safetensors *files) {
  bool norm = safetensors_find_printed(files, "image_proj.norm.weight"),
       two = safetensors_find_printed(files, "image_proj.proj.2.weight");
  return (norm && two) || safetensors_find_printed(files, "ip_adapter.0.to_q_lora.down.weight");
}

static bool has_perceiver(const struct safetensors *files) {
  for (size_t i = 0; i < safetensors_count(files); i++)
    if (strstr(safetensors_at(files, i)->name, "perceiver_resampler."))
      return true;
  return false;
}

static void read_linear(struct ip_config *c, const struct safetensors *files) {
  const struct safetensor *t = safetensors_find_printed(files, "image_proj.proj.weight");
  c->projection = IP_LINEAR;
  c->picture_width = safetensor_dimension(t, 1, DIMENSION_MAX);
  c->tokens = safetensor_dimension(t, 0, DIMENSION_MAX) % c->text_width
                  ? 0
                  : safetensor_dimension(t, 0, DIMENSION_MAX) / c->text_width;
}

static void read_mlp(struct ip_config *c, const struct safetensors *files) {
  c->projection = IP_MLP;
  c->picture_width =
      safetensor_dimension(safetensors_find_printed(files, "image_proj.proj.0.weight"), 1, DIMENSION_MAX);
}

static void read_resampler(struct ip_config *c, const struct safetensors *files) {
  const struct safetensor *latents = safetensors_find_printed(files, "image_proj.latents"),
                          *in = safetensors_find_printed(files, "image_proj.proj_in.weight");
  c->projection = IP_RESAMPLER;
  c->picture_width = safetensor_dimension(in, 1, DIMENSION_MAX);
  c->tokens = safetensor_dimension(latents, 1, DIMENSION_MAX);
  c->width = safetensor_dimension(latents, 2, DIMENSION_MAX);
  c->inner =
      safetensor_dimension(safetensors_find_printed(files, "image_proj.layers.0.0.to_q.weight"), 0, DIMENSION_MAX);
  c->heads = c->inner / HEAD_DIM;
  while (c->layers < LAYERS_MAX && safetensors_find_printed(files, "image_proj.layers.%d.0.to_q.weight", c->layers))
    c->layers++;
}

static bool is_whole(const struct ip_config *c) {
  if (!c->picture_width || !c->text_width || !c->attentions)
    return false;
  if (c->projection != IP_MLP && (c->tokens < 1 || c->tokens > TOKENS_LIMIT))
    return false;
  return c->projection != IP_RESAMPLER || (c->width && c->heads && c->inner % HEAD_DIM == 0 && c->layers);
}

int ip_config_read(struct ip_config *c, const struct safetensors *files, struct error *err) {
  *c = (struct ip_config){0};
  if (has_perceiver(files) || is_face_id(files))
    return refuse(files,
                  "is an IP-Adapter FaceID, which reads faces that another network has recognised: that is not "
                  "supported; ip-adapter, ip-adapter-plus and ip-adapter-full-face are",
                  err);
  if (weights_kind(files) != WEIGHTS_IP_ADAPTER)
    return weights_kind_refuse(weights_kind(files), safetensors_path(files), WEIGHTS_IP_ADAPTER, err);
  while (c->attentions < ATTENTIONS_MAX &&
         safetensors_find_printed(files, "ip_adapter.%d.to_k_ip.weight", 2 * c->attentions + 1))
    c->attentions++;
  c->text_width =
      safetensor_dimension(safetensors_find_printed(files, "ip_adapter.1.to_k_ip.weight"), 1, DIMENSION_MAX);
  if (c->text_width && safetensors_find_printed(files, "image_proj.proj.weight"))
    read_linear(c, files);
  else if (safetensors_find_printed(files, "image_proj.latents"))
    read_resampler(c, files);
  else
    read_mlp(c, files);
  return is_whole(c) ? 0 : refuse(files, "is no whole IP-Adapter: tensors are missing, or have no fitting shapes", err);
}

const char *ip_config_family(const struct ip_config *c) {
  return c->text_width == 768 ? "SD 1" : c->text_width == 2048 ? "SDXL" : "another model";
}

const char *ip_config_form(const struct ip_config *c) {
  static const char *const forms[] = {
      [IP_LINEAR] = "linear", [IP_RESAMPLER] = "plus (resampler)", [IP_MLP] = "full face (MLP)"};
  return forms[c->projection];
}

/* --- opening an adapter and its image encoder --- */

/* Replaces *files by a view in which the tensors with these names are matrices: checkpoint_matrix reads tensors of no
 * other rank. */
static int flatten(struct safetensors **files, const char *const names[], int count, struct error *err) {
  struct safetensors *view = NULL;
  int result = view_open(&view, files, 1, err);
  for (size_t i = 0; !result && i < safetensors_count(*files); i++) {
    const struct safetensor *t = safetensors_at(*files, i);
    struct view_tensor as = {.from = t};
    for (int n = 0; n < count; n++)
      if (!strcmp(t->name, names[n]) && t->usable && t->rank > 0 && t->rank != 2) {
        int rows = t->rank == 1 ? 0 : t->rank == 3 ? 1 : 0;
        int64_t columns = 1;
        for (int d = rows + 1; d < t->rank; d++)
          columns *= t->shape[d];
        as.rank = 2;
        as.shape[0] = t->rank == 1 ? 1 : t->shape[rows];
        as.shape[1] = t->rank == 1 ? t->shape[0] : columns;
      }
    result = view_add(view, &as, err);
  }
  result = result ? result : view_finish(view, err);
  safetensors_close(files);
  *files = view;
  return result;
}

static int open_weights(struct ip_adapter *a, const char *path, struct error *err) {
  a->weights = (struct component){.folder = strdup(path), .name = "ip_adapter", .prefix = ""};
  if (!a->weights.folder)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (safetensors_open_file(&a->weights.files, path, err) < 0 || ip_config_read(&a->config, a->weights.files, err) < 0)
    return -1;
  return flatten(&a->weights.files, (const char *const[]){"image_proj.latents"}, 1, err);
}

static int read_vision(struct ip_adapter *a, const char *folder, struct error *err) {
  char *text = NULL, *path = text_path(folder, "config.json");
  int result = path ? text_read(path, CONFIG_LIMIT, &text, NULL, err) : error_set(err, STATUS_FAILED, "out of memory");
  result = result ? result : vision_config_parse(&a->vision, text, path, err);
  free(text);
  free(path);
  return result;
}

/* Returns how many channels the adapter's projection reads from the image encoder: the width of the encoder's last
 * layer or, in the linear kind, of the picture's embedding. */
static int width_given(const struct ip_adapter *a) {
  return a->config.projection == IP_LINEAR ? a->vision.projection_dim : a->vision.hidden_size;
}

/* Looks for the image encoder in the folders where it is usually published. Returns the first folder whose encoder has
 * the width that the adapter reads; if none has, the first folder that exists; NULL: none exists. The caller frees the
 * path. */
static char *look_beside(struct ip_adapter *a, const char *path) {
  static const char *const places[] = {"image_encoder", "../image_encoder", "../models/image_encoder",
                                       "models/image_encoder", "../sdxl_models/image_encoder"};
  char *folder = text_folder(path), *first = NULL;
  for (size_t i = 0; folder && i < sizeof places / sizeof *places; i++) {
    struct error err;
    char *place = text_path(folder, places[i]), *config = place ? text_path(place, "config.json") : NULL;
    bool there = config && platform_exists(config);
    free(config);
    if (there && read_vision(a, place, &err) == 0 && width_given(a) == a->config.picture_width) {
      free(folder);
      free(first);
      return place;
    }
    if (there && !first)
      first = place;
    else
      free(place);
  }
  free(folder);
  return first;
}

static int check_encoder(const struct ip_adapter *a, struct error *err) {
  int given = width_given(a), wanted = a->config.picture_width;
  if (given == wanted)
    return 0;
  bool linear = a->config.projection == IP_LINEAR;
  const char *usual = wanted == 1024 || (wanted == 1280 && !linear) ? ": ViT-H, published in models/image_encoder"
                      : wanted == 1280 ? ": ViT-bigG, published in sdxl_models/image_encoder"
                                       : "";
  return error_set(err, STATUS_MODEL, "%s: %s of %d does not fit the IP-Adapter %s, which reads %d%s",
                   a->encoder.config, linear ? "projection_dim" : "hidden_size", given, a->weights.folder, wanted,
                   usual);
}

static int open_encoder(struct ip_adapter *a, const char *path, const char *encoder, struct error *err) {
  static const char *const flat[] = {"vision_model.embeddings.class_embedding",
                                     "vision_model.embeddings.patch_embedding.weight", "embeddings.class_embedding",
                                     "embeddings.patch_embedding.weight"};
  a->encoder = (struct component){.folder = encoder ? strdup(encoder) : look_beside(a, path), .prefix = ""};
  a->encoder.name = "image_encoder";
  if (!a->encoder.folder && !encoder)
    return error_set(err, STATUS_MODEL,
                     "%s: its image encoder is not there: no folder image_encoder is beside it; give it with "
                     "--image-encoder",
                     path);
  a->encoder.config = a->encoder.folder ? text_path(a->encoder.folder, "config.json") : NULL;
  if (!a->encoder.config)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (read_vision(a, a->encoder.folder, err) < 0 || check_encoder(a, err) < 0 ||
      safetensors_open(&a->encoder.files, a->encoder.folder, "model", err) < 0 ||
      flatten(&a->encoder.files, flat, sizeof flat / sizeof *flat, err) < 0)
    return -1;
  if (safetensors_find(a->encoder.files, "vision_model.embeddings.class_embedding"))
    a->encoder.prefix = "vision_model.";
  return 0;
}

int ip_adapter_open(struct ip_adapter **adapter, const char *path, const char *encoder, struct error *err) {
  *adapter = calloc(1, sizeof **adapter);
  if (!*adapter)
    return error_set(err, STATUS_FAILED, "out of memory");
  if (open_weights(*adapter, path, err) == 0 && open_encoder(*adapter, path, encoder, err) == 0)
    return 0;
  ip_adapter_close(adapter);
  return -1;
}

#define OWN "ip_adapter.safetensors" /* the file's name in the folder of a model that has an adapter of its own */

bool ip_adapter_is_in(const char *model) {
  char *path = text_path(model, OWN);
  bool there = path && platform_exists(path);
  free(path);
  return there;
}

int ip_adapter_open_own(struct ip_adapter **adapter, const char *model, struct error *err) {
  char *path = text_path(model, OWN), *encoder = text_path(model, "image_encoder");
  int result = path && encoder ? ip_adapter_open(adapter, path, encoder, err)
                               : error_set(err, STATUS_FAILED, "%s: out of memory", model);
  free(path);
  free(encoder);
  return result;
}

static void close_component(struct component *component) {
  safetensors_close(&component->files);
  free(component->config);
  free(component->folder);
}

void ip_adapter_close(struct ip_adapter **adapter) {
  if (*adapter) {
    close_component(&(*adapter)->weights);
    close_component(&(*adapter)->encoder);
  }
  free(*adapter);
  *adapter = NULL;
}

int ip_adapter_tokens(const struct ip_adapter *a) {
  return a->config.tokens ? a->config.tokens : vision_tokens(&a->vision);
}

static const char *unet_family(const struct unet_config *unet) {
  return unet->cross_attention_dim == 768    ? "an SD 1 model"
         : unet->cross_attention_dim == 2048 ? "an SDXL model"
                                             : "neither an SD 1 nor an SDXL model";
}

int ip_adapter_check(const struct ip_adapter *a, const char *model, const struct unet_config *unet, int attentions,
                     struct error *err) {
  const struct ip_config *c = &a->config;
  if (unet->cross_attention_dim == 1024 && c->text_width != 1024)
    return error_set(err, STATUS_MODEL,
                     "%s: is for %s, and %s is an SD 2 model (SD-Turbo is one): no IP-Adapter is published for those",
                     a->weights.folder, ip_config_family(c), model);
  if (unet->cross_attention_dim != c->text_width)
    return error_set(err, STATUS_MODEL, "%s: is for %s, whose texts are %d wide, and %s is %s: they do not go together",
                     a->weights.folder, ip_config_family(c), c->text_width, model, unet_family(unet));
  if (attentions != c->attentions)
    return error_set(
        err, STATUS_MODEL,
        "%s: is for a U-Net with %d layers of attention to the text, and %s, %s, has %d: they do not go together",
        a->weights.folder, c->attentions, model, unet_family(unet), attentions);
  return 0;
}
