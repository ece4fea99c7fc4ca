/* Single files: "h" then a whole header, or "l" then lines "NAME SIZE,SIZE\n", a tensor each. What the file is, which
 * family it is of, and its parts under the names of a folder: no tensor may get lost on the way, and none may show
 * bytes that it does not have. */
#include "tests/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "unet/checkpoint/family.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/original.h"
#include "unet/checkpoint/single.h"
#include "unet/checkpoint/vae_files.h"
#include "unet/model/models.h"

#define U "model.diffusion_model."
#define C "cond_stage_model."
#define E "conditioner.embedders."
#define F "first_stage_model."

const struct fuzz_seed fuzz_seeds[] = {
    FUZZ_SEED("l",
              U "input_blocks.0.0.weight 320,4,3,3\n" U "input_blocks.1.0.in_layers.0.weight 320\n" U
                "input_blocks.1.1.transformer_blocks.0.attn2.to_k.weight 4,768\n" U "input_blocks.2.0.op.weight 2\n" U
                "input_blocks.3.1.proj_in.weight 2,2,1,1\n" U "middle_block.1.proj_in.weight 2,2\n" U
                "output_blocks.0.0.in_layers.0.weight 4\n" U "output_blocks.0.1.conv.weight 2,2,3,3\n" U
                "output_blocks.1.0.in_layers.2.weight 4\n" U "out.2.bias 4\n" U "time_embed.0.weight 2,2\n"),
    FUZZ_SEED("l", U "input_blocks.0.0.weight 320,9,3,3\n" U "label_emb.0.0.weight 2,2816\n" U
                     "input_blocks.4.1.transformer_blocks.9.attn2.to_k.weight 2,2048\n" E
                     "0.transformer.text_model.final_layer_norm.bias 2\n" E
                     "1.model.transformer.resblocks.9.attn.in_proj_weight 6,2\n" E
                     "1.model.transformer.resblocks.9.attn.in_proj_bias 6\n" E "1.model.text_projection 2,3\n"),
    FUZZ_SEED("l", U "input_blocks.0.0.weight 320,4,3,3\n" U "output_blocks.11.1.transformer_blocks.0.norm1.bias 4\n" C
                     "model.transformer.resblocks.0.attn.in_proj_weight 5,2\n" C
                     "model.transformer.resblocks.23.ln_1.weight 2\n" C "model.positional_embedding 3,2\n" C
                     "model.logit_scale\nbetas 4\nmodel_ema.decay\n"),
    FUZZ_SEED("l", U "input_blocks.0.0.weight 1\n" F "decoder.up.3.block.0.norm1.weight 2\n" F
                     "decoder.up.0.block.0.norm1.weight 2\n" F "decoder.up.0.upsample.conv.weight 2,2,3,3\n" F
                     "encoder.down.0.block.1.nin_shortcut.weight 2,2,1,1\n" F "encoder.mid.attn_1.q.weight 2,2,1,1\n" F
                     "quant_conv.bias 8\n"),
    FUZZ_SEED("l", "input_blocks.0.0.weight 320,4,3,3\ninput_blocks.99.0.op.weight 1\ninput_blocks.100.0.op.weight 1\n"
                   "input_blocks.01.0.op.weight 1\noutput_blocks.5.2.conv.bias 3\nconv_in.weight 2\n"),
    FUZZ_SEED("l", "unet.conv_in.weight 320,4,3,3\nconv_in.weight 2\nunet.mid_block.attentions.0.norm.bias 2\n"),
    FUZZ_SEED("l",
              "lora_unet_mid_block.lora_down.weight 2,2\nzero_convs.0.0.weight 2\n0.weight 2\n1.conv.0.weight 2\n"),
    FUZZ_SEED("l",
              "encoder.conv_in.weight 32,3,3,3\nencoder.conv_in.bias 32\nencoder.down.0.block.0.conv1.weight 32,2\n"
              "encoder.down.1.block.0.conv1.weight 64,2\nencoder.mid.attn_1.q.weight 2,2,1,1\n"
              "decoder.up.0.block.0.norm1.weight 32\ndecoder.up.1.block.0.norm1.weight 32\n"
              "decoder.conv_in.weight 64,4,3,3\nquant_conv.weight 8,8,1,1\nloss.logvar 1\n"),
    FUZZ_SEED("l", "encoder.conv_in.weight 32,3,3,3\nencoder.down_blocks.0.resnets.0.conv1.weight 32,32,3,3\n"
                   "decoder.conv_in.weight 32,4,3,3\ndecoder.mid_block.attentions.0.query.weight 32,32\n"
                   "decoder.mid_block.attentions.0.proj_attn.bias 32\n"),
    FUZZ_SEED("l", "encoder.0.weight 8,3,3,3\nencoder.0.bias 8\nencoder.1.conv.0.weight 8,8,3,3\n"
                   "encoder.1.pool.0.weight 32,8,1,1\nencoder.2.weight 8,8,3,3\nencoder.3.weight 4,8,3,3\n"
                   "decoder.1.weight 8,4,3,3\ndecoder.3.conv.0.weight 8,8,3,3\ndecoder.5.weight 8,8,3,3\n"
                   "decoder.6.weight 3,8,3,3\n"),
    FUZZ_SEED("l", "encoder.layers.0.weight 8,3,3,3\nencoder.layers.1.weight 4,8,3,3\n"
                   "decoder.layers.0.weight 8,4,3,3\ndecoder.layers.63.weight 3,8,3,3\n"),
    FUZZ_SEED("h", "{\"__metadata__\":{\"modelspec.prediction_type\":\"v\"},\"" U
                   "input_blocks.0.0.weight\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,2]}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

enum { DATA_MAX = 1 << 16 };

/* --- the file --- */

/* Sizes of a shape, from "320,4,3,3" on to what is none; returns its elements, at most DATA_MAX. */
static size_t write_shape(FILE *out, const char *text, size_t length) {
  size_t elements = 1, at = 0;
  for (bool first = true; at < length && text[at] >= '0' && text[at] <= '9'; first = false) {
    unsigned long long size = 0;
    for (; at < length && text[at] >= '0' && text[at] <= '9'; at++)
      size = size < 1ull << 50 ? 10 * size + (unsigned long long)(text[at] - '0') : size;
    fprintf(out, "%s%llu", first ? "" : ",", size);
    elements = size < DATA_MAX && elements * size < DATA_MAX ? elements * size : DATA_MAX;
    at += at < length && text[at] == ',';
  }
  return elements;
}

/* The header of one tensor, with data where there is room for it. */
static void write_tensor(FILE *out, const char *line, size_t length, size_t *used) {
  const char *space = memchr(line, ' ', length);
  size_t name = space ? (size_t)(space - line) : length, shape = space ? name + 1 : length;
  fprintf(out, "%s\"", ftell(out) > 1 ? "," : "");
  for (size_t i = 0; i < name; i++)
    fputc((unsigned char)line[i] < ' ' || strchr("\"\\", line[i]) ? '_' : line[i], out);
  fprintf(out, "\":{\"shape\":[");
  size_t bytes = 2 * write_shape(out, line + shape, length - shape);
  bool fits = bytes < 2 * DATA_MAX && *used + bytes <= DATA_MAX;
  fprintf(out, "],\"dtype\":\"%s\",\"data_offsets\":[%zu,", fits ? "F16" : "NONE", *used);
  *used += fits ? bytes : 0;
  fprintf(out, "%zu]}", *used);
}

static char *write_header(const uint8_t *data, size_t size, size_t *length) {
  char *header;
  size_t used = 0;
  FILE *out = open_memstream(&header, length);
  FUZZ_CHECK(out);
  fputc('{', out);
  for (size_t at = 0; at < size;) {
    const uint8_t *end = memchr(data + at, '\n', size - at);
    size_t line = end ? (size_t)(end - data) - at : size - at;
    if (line)
      write_tensor(out, (const char *)data + at, line, &used);
    at += line + 1;
  }
  fputc('}', out);
  FUZZ_CHECK(!fclose(out));
  return header;
}

static int write_file(const uint8_t *data, size_t size) {
  uint64_t length = size - 1;
  size_t made;
  char *header = data[0] == 'l' ? write_header(data + 1, size - 1, &made) : NULL;
  int fd = memfd_create("fuzz", MFD_CLOEXEC);
  FUZZ_CHECK(fd >= 0);
  length = header ? made : length;
  const void *text = header ? (const void *)header : data + 1;
  FUZZ_CHECK(write(fd, &length, sizeof length) == sizeof length && write(fd, text, length) == (ssize_t)length);
  FUZZ_CHECK(!ftruncate(fd, (off_t)(sizeof length + length + DATA_MAX)));
  free(header);
  return fd;
}

/* --- what must hold --- */

static void check_error(const struct error *err) {
  FUZZ_CHECK(err->status == STATUS_MODEL && *err->message && !strchr(err->message, '\n'));
}

static void check_tensor(const struct safetensors *view, const struct safetensor *t) {
  FUZZ_CHECK(safetensors_find(view, t->name) == t);
  FUZZ_CHECK(t->offset <= t->file->size && t->bytes <= t->file->size - t->offset);
  if (!t->usable)
    return;
  uint64_t elements = 1;
  for (int i = 0; i < t->rank; i++)
    elements *= (uint64_t)t->shape[i];
  FUZZ_CHECK(t->rank <= SAFETENSOR_RANK_MAX && elements * dtype_size(t->dtype) == t->bytes);
}

typedef int mapping(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);

/* Each tensor with the prefix is in the view with all of its bytes, and no other tensor is. */
static void check_mapping(struct safetensors *files, mapping *map, const char *prefix) {
  struct safetensors *view;
  struct error err = {0};
  size_t bytes = 0;
  FUZZ_CHECK(!view_open(&view, &files, 1, &err));
  if (map(view, files, prefix, &err) || view_finish(view, &err)) {
    check_error(&err);
  } else {
    for (size_t i = 0; i < safetensors_count(files); i++)
      if (!strncmp(safetensors_at(files, i)->name, prefix, strlen(prefix)))
        bytes += safetensors_at(files, i)->bytes;
    FUZZ_CHECK(safetensors_bytes(view) == bytes);
    for (size_t i = 0; i < safetensors_count(view); i++)
      check_tensor(view, safetensors_at(view, i));
  }
  safetensors_close(&view);
}

static void check_family(const struct safetensors *files) {
  static const char *const names[] = {
      "model_index.json",         "unet/config.json",           "vae/config.json",
      "text_encoder/config.json", "text_encoder_2/config.json", "scheduler/scheduler_config.json"};
  struct family family;
  struct error err = {0};
  if (family_recognise(&family, files, &err)) {
    check_error(&err);
    return;
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    free(family_config(&family, names[i]));
}

static void check_checkpoint(const char *path) {
  struct checkpoint *checkpoint = NULL;
  struct safetensors *unet = NULL;
  struct error err = {0};
  const struct checkpoint_sources sources = {.model = path};
  FUZZ_CHECK(checkpoint_open(&checkpoint, &sources, NULL, &err)); /* it brings no tokenizer */
  check_error(&err);
  if (single_open_unet(&unet, path, &err))
    check_error(&err);
  for (size_t i = 0; unet && i < safetensors_count(unet); i++)
    check_tensor(unet, safetensors_at(unet, i));
  safetensors_close(&unet);
}

/* An autoencoder by itself: what is accepted has sizes that its network can be made of, or is refused there. */
static void check_vae(const char *path) {
  struct autoencoder a = {.weights = {.name = "vae", .prefix = ""}};
  struct error err = {0};
  if (vae_files_open(&a, path, false, &err)) {
    check_error(&err);
  } else {
    struct resources resources = {0};
    struct plan plan;
    FUZZ_CHECK(a.type < AUTOENCODER_TYPES && a.scale >= 1 && a.latent_channels > 0 && a.scaling_factor > 0);
    for (size_t i = 0; i < safetensors_count(a.weights.files); i++)
      check_tensor(a.weights.files, safetensors_at(a.weights.files, i));
    plan_init(&plan, &resources);
    autoencoder_kind(&a)->encode(&a, &plan, plan_input(&plan, 1, 2 * a.scale, 3 * a.scale, 3, ELEMENT_DEVICE));
    autoencoder_kind(&a)->decode(&a, &plan, plan_input(&plan, 1, 2, 3, a.latent_channels, ELEMENT_PRECISE));
    if (plan_finish(&plan, &err))
      check_error(&err);
    plan_free(&plan);
    resources_free(&resources);
  }
  safetensors_close(&a.weights.files);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  int fd = write_file(data, size);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct safetensors *files = NULL;
  struct error err = {0};
  if (safetensors_open_file(&files, path, &err)) {
    check_error(&err);
  } else {
    FUZZ_CHECK(*weights_kind_name(weights_kind(files)));
    check_family(files);
    check_mapping(files, original_unet, U);
    check_mapping(files, original_unet, "");
    check_mapping(files, original_kl, F);
    check_mapping(files, original_clip, C "transformer.");
    check_mapping(files, original_open_clip, C "model.");
    check_mapping(files, original_open_clip, E "1.model.");
    check_checkpoint(path);
    check_vae(path);
    safetensors_close(&files);
  }
  close(fd);
  return 0;
}
