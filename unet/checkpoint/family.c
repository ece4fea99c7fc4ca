/* Recognises the family of a single file by the tensors of its U-Net, finds out what the network predicts, and provides
 * the family's configs. */
#include "unet/checkpoint/family.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/text.h"
#include "unet/checkpoint/family_files.h"

/* --- the configs with which families of models were published --- */

/* A family of models. Its configs are files in assets/families, which have only fields that differ from the defaults of
 * the classes in diffusers and transformers. */
struct family_row {
  const char *name;
  /* width of the text that the U-Net reads; number of levels of the U-Net; number of res blocks at its first level */
  int context, levels, layers;
  enum { MID_NONE, MID_RESNET, MID_CROSS } mid;
  int depth;          /* number of transformer blocks in the last attention of the down blocks */
  const char *folder; /* the folder in assets/families that has the config of the family's U-Net */
  /* folders with the configs of text encoders, scheduler and autoencoder, which several families share */
  enum { STAGES_SD1, STAGES_SD2, STAGES_SDXL } stages;
};

static const struct family_row rows[] = {
    {"SD 1", 768, 4, 2, MID_CROSS, 1, "sd1", STAGES_SD1},
    {"SD 2", 1024, 4, 2, MID_CROSS, 1, "sd2", STAGES_SD2},
    {"SDXL", 2048, 3, 2, MID_CROSS, 10, "sdxl", STAGES_SDXL},
    {"SSD-1B", 2048, 3, 2, MID_RESNET, 4, "ssd-1b", STAGES_SDXL},
    {"Segmind Vega", 2048, 3, 2, MID_RESNET, 2, "segmind-vega", STAGES_SDXL},
    {"BK-SDM base (SD 1)", 768, 4, 1, MID_CROSS, 1, "bk-sdm-base", STAGES_SD1},
    {"BK-SDM small (SD 1)", 768, 4, 1, MID_NONE, 1, "bk-sdm-small", STAGES_SD1},
    {"BK-SDM tiny (SD 1)", 768, 3, 1, MID_NONE, 1, "bk-sdm-tiny", STAGES_SD1},
    {"BK-SDM base (SD 2)", 1024, 4, 1, MID_CROSS, 1, "bk-sdm-v2-base", STAGES_SD2},
    {"BK-SDM small (SD 2)", 1024, 4, 1, MID_NONE, 1, "bk-sdm-v2-small", STAGES_SD2},
    {"BK-SDM tiny (SD 2)", 1024, 3, 1, MID_NONE, 1, "bk-sdm-v2-tiny", STAGES_SD2},
};

/* For each value of family_row.stages: the folder of assets/families with the configs of all parts of a model but the
 * U-Net. */
static const char *const stage_folders[] = {[STAGES_SD1] = "sd1", [STAGES_SD2] = "sd2", [STAGES_SDXL] = "sdxl"};

const char *family_name(const struct family *family) {
  return family->row->name;
}

static const char *find_file(const char *folder, const char *name) {
  size_t length = strlen(folder);
  const struct family_file *file = family_files;
  while (file->path &&
         (strncmp(file->path, folder, length) || file->path[length] != '/' || strcmp(file->path + length + 1, name)))
    file++;
  return file->text;
}

/* Returns a copy of a JSON object's text, with the text `fields`, such as ", \"name\": value", inserted before its last
 * bracket. The caller frees it. NULL: out of memory. */
static char *add_fields(const char *object, const char *fields) {
  char *text;
  int end = (int)(strrchr(object, '}') - object);
  return asprintf(&text, "%.*s%s}", end, object, fields) < 0 ? NULL : text;
}

static char *unet_config(const struct family *family, const char *published) {
  char fields[128];
  bool sd2 = family->row->stages == STAGES_SD2, large = sd2 && family->prediction == PREDICT_V;
  snprintf(fields, sizeof fields, ", \"in_channels\": %d%s", family->in_channels,
           !sd2    ? ""
           : large ? ", \"upcast_attention\": true, \"sample_size\": 96"
                   : ", \"sample_size\": 64");
  return add_fields(published, fields);
}

static char *scheduler_config(const struct family *family, const char *published) {
  /* A prediction that is only a guess is left out of the config: signs in other weights (--unet) then decide. */
  bool guess = family->guessed && family->prediction == PREDICT_EPSILON;
  static const char *const predictions[] = {[PREDICT_EPSILON] = ", \"prediction_type\": \"epsilon\"",
                                            [PREDICT_V] = ", \"prediction_type\": \"v_prediction\"",
                                            [PREDICT_SAMPLE] = ", \"prediction_type\": \"sample\""};
  char fields[128];
  snprintf(fields, sizeof fields, "%s%s", guess ? "" : predictions[family->prediction],
           family->zero_snr && family->prediction == PREDICT_V ? ", \"rescale_betas_zero_snr\": true" : "");
  return add_fields(published, fields);
}

char *family_config(const struct family *family, const char *name) {
  bool unet = !strcmp(name, "unet/config.json");
  const char *published = find_file(unet ? family->row->folder : stage_folders[family->row->stages], name);
  if (!published)
    return NULL;
  if (unet)
    return unet_config(family, published);
  return strcmp(name, "scheduler/scheduler_config.json") ? strdup(published) : scheduler_config(family, published);
}

/* --- signs in a file's tensors by which the model's family is recognised --- */

struct signs {
  const struct safetensors *files;
  int in, out;        /* numbers of input and output channels of the first convolution */
  int context, label; /* widths of the text, and of the vector that is added to the time embedding; 0: none */
  int levels, layers, mid, depth;
};

static const struct safetensor *find_unet(const struct signs *signs, const char *name) {
  char full[256];
  snprintf(full, sizeof full, FAMILY_UNET "%s", name);
  return safetensors_find(signs->files, full);
}

/* Returns dimension number `index` of the tensor; 0: the tensor or the dimension is missing, or the dimension is too
 * large for a network. */
static int dimension(const struct safetensor *t, int index) {
  return t && index < t->rank && index < SAFETENSOR_RANK_MAX && t->shape[index] <= 1 << 20 ? (int)t->shape[index] : 0;
}

/* Returns the width of the text that the U-Net reads, by its first cross-attention; 0: it has none. */
static int find_context(const struct safetensors *files) {
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    if (!strncmp(t->name, FAMILY_UNET, strlen(FAMILY_UNET)) && text_ends(t->name, ".attn2.to_k.weight"))
      return dimension(t, 1);
  }
  return 0;
}

/* Counts the U-Net's levels (one more than its downsampling blocks), and the res blocks at its first level (those
 * before the first downsampling block). */
static void count_levels(struct signs *signs) {
  char name[64];
  signs->levels = 1;
  for (int i = 1; i < 100; i++) {
    snprintf(name, sizeof name, "input_blocks.%d.0.op.weight", i);
    signs->levels += find_unet(signs, name) != NULL;
    snprintf(name, sizeof name, "input_blocks.%d.0.in_layers.0.weight", i);
    signs->layers += find_unet(signs, name) && signs->levels == 1;
  }
}

/* Returns the number of transformer blocks in the last attention of the down blocks. */
static int count_depth(const struct signs *signs) {
  char name[96];
  int depth = 0, last = 0;
  for (int i = 1; i < 100; i++) {
    snprintf(name, sizeof name, "input_blocks.%d.1.proj_in.weight", i);
    last = find_unet(signs, name) ? i : last;
  }
  for (;; depth++) {
    snprintf(name, sizeof name, "input_blocks.%d.1.transformer_blocks.%d.norm1.bias", last, depth);
    if (!find_unet(signs, name))
      return depth;
  }
}

static void read_signs(struct signs *signs, const struct safetensors *files) {
  *signs = (struct signs){.files = files, .context = find_context(files)};
  const struct safetensor *first = find_unet(signs, "input_blocks.0.0.weight");
  signs->out = dimension(first, 0);
  signs->in = dimension(first, 1);
  signs->label = dimension(find_unet(signs, "label_emb.0.0.weight"), 1);
  count_levels(signs);
  signs->depth = count_depth(signs);
  signs->mid = !find_unet(signs, "middle_block.0.in_layers.0.weight") ? MID_NONE
               : find_unet(signs, "middle_block.1.proj_in.weight")    ? MID_CROSS
                                                                      : MID_RESNET;
}

/* --- refusing models of families that are not supported --- */

/* Recognises models that resemble supported ones but cannot be used, such as SDXL's refiner. Returns such a model's
 * name for the error message; NULL: it is none of them. */
static const char *look_alike(const struct signs *signs) {
  if (safetensors_find(signs->files, "cc_projection.weight"))
    return "Zero123, which turns objects";
  if (signs->in == 7)
    return "the x4 upscaler";
  if (signs->in == 5)
    return "a depth-to-image model";
  if (signs->context == 1280 || signs->label == 2560)
    return "SDXL's refiner";
  if (signs->label == 768 || signs->label == 1536 || signs->label == 2048)
    return "unCLIP or Stable Video Diffusion";
  return NULL;
}

int family_refuse_edm(const struct safetensors *files, struct error *err) {
  static const struct {
    const char *tensor, *model;
  } kinds[] = {{"edm_vpred.sigma_max", "CosXL, or another model that predicts v in the EDM formulation"},
               {"edm_vpred.sigma_min", "CosXL, or another model that predicts v in the EDM formulation"},
               {"edm_mean", "Playground 2.5, or another model of the EDM formulation"},
               {"edm_std", "Playground 2.5, or another model of the EDM formulation"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (safetensors_find(files, kinds[i].tensor))
      return error_set(err, STATUS_MODEL,
                       "%s: is %s, as its tensor %s shows: no sampler here is made for that; take SDXL or a model "
                       "that was trained as it",
                       safetensors_path(files), kinds[i].model, kinds[i].tensor);
  return 0;
}

static const struct family_row *find_row(const struct signs *signs) {
  bool known = signs->out == 320 && (signs->in == 4 || signs->in == 8 || signs->in == 9);
  for (size_t i = 0; known && i < sizeof rows / sizeof *rows; i++) {
    const struct family_row *row = &rows[i];
    if (row->context == signs->context && row->levels == signs->levels && row->layers == signs->layers &&
        (int)row->mid == signs->mid && row->depth == signs->depth && (row->context == 2048) == (signs->label == 2816))
      return row;
  }
  return NULL;
}

/* --- recognising the family, and whether the network predicts noise or v --- */

/* Tells SD 2, which predicts v, from SD 2 base, which does not. The only sign in the tensors is the standard deviation
 * of a norm's trained biases. *v: true if the network predicts v. */
static int v_by_spread(const struct signs *signs, bool *v, struct error *err) {
  const struct safetensor *t = find_unet(signs, "output_blocks.11.1.transformer_blocks.0.norm1.bias");
  *v = false;
  if (!t || !t->usable || t->rank != 1 || t->shape[0] < 1 || t->shape[0] > 1 << 14)
    return 0;
  size_t count = (size_t)t->shape[0];
  float *values = malloc(2 * count * sizeof *values), *stored = values ? values + count : NULL;
  if (!values)
    return error_set(err, STATUS_FAILED, "%s: out of memory", t->file->path);
  const struct weight_part part = {
      .dtype = t->dtype, .rows = (int)count, .file = t->file, .offset = t->offset, .name = t->key};
  int result = weight_part_read(&part, 0, count, false, stored, err);
  double mean = 0, square = 0;
  if (!result)
    weights_to_f32(t->dtype, stored, count, values);
  for (size_t i = 0; !result && i < count; i++) {
    mean += (double)values[i] / (double)count;
    square += (double)values[i] * (double)values[i] / (double)count;
  }
  *v = sqrt(fmax(square - mean * mean, 0)) > 0.09;
  free(values);
  return result;
}

/* Decides what the network predicts. Signs in the file or in a config next to it come first. Without such signs,
 * v_by_spread decides for SD 2, and other families get what is usual for them. */
static int find_prediction(struct family *family, const struct signs *signs, struct error *err) {
  bool v = false;
  if (prediction_read(&family->signs, signs->files, err))
    return -1;
  family->zero_snr = family->signs.zero_snr;
  family->prediction = family->signs.first.prediction;
  memcpy(family->prediction_by, family->signs.first.by, sizeof family->prediction_by);
  if (family->signs.first.witness != WITNESS_NONE)
    return 0;
  bool spread = family->row->stages == STAGES_SD2 && signs->in == 4;
  if (spread && v_by_spread(signs, &v, err))
    return -1;
  family->prediction = v ? PREDICT_V : PREDICT_EPSILON;
  family->guessed = true;
  snprintf(family->prediction_by, sizeof family->prediction_by, "%s",
           spread ? "the spread of output_blocks.11's norm1.bias" : "nothing but its family, so it is a guess");
  return 0;
}

int family_recognise(struct family *family, const struct safetensors *files, struct error *err) {
  struct signs signs;
  *family = (struct family){0};
  read_signs(&signs, files);
  if (family_refuse_edm(files, err))
    return -1;
  const char *other = look_alike(&signs);
  if (other)
    return error_set(err, STATUS_MODEL, "%s: is %s, which is not supported", safetensors_path(files), other);
  family->row = find_row(&signs);
  family->in_channels = signs.in;
  if (!family->row)
    return error_set(
        err, STATUS_MODEL,
        "%s: is a U-Net of no published family (%d channels, text of %d, %d levels of %d layers); give its "
        "configs with --config DIR",
        safetensors_path(files), signs.out, signs.context, signs.levels, signs.layers);
  return find_prediction(family, &signs, err);
}
