/* Fuzzes single-file checkpoints as fuzz_file.h writes them: what the file is, its model family, and its tensors under
 * the names that a folder uses. No tensor may be lost, and none may show bytes that it does not have. */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <unistd.h>

#include "tests/fuzz/fuzz_file.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/family.h"
#include "unet/checkpoint/kind.h"
#include "unet/checkpoint/original.h"
#include "unet/checkpoint/single.h"

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
    FUZZ_SEED("h", "{\"__metadata__\":{\"modelspec.prediction_type\":\"v\"},\"" U
                   "input_blocks.0.0.weight\":{\"dtype\":\"F16\",\"shape\":[1,1,1,1,1,1,1],\"data_offsets\":[0,2]}}"),
};
const size_t fuzz_seed_count = sizeof fuzz_seeds / sizeof *fuzz_seeds;

/* --- what must hold --- */

typedef int mapping(struct safetensors *view, const struct safetensors *files, const char *prefix, struct error *err);

/* True if a tensor's name belongs to a network. A file without a prefix leaves out all other names, except those of
 * OpenCLIP. */
static bool is_mapped(const char *name, mapping *map, const char *prefix) {
  bool beside = !*prefix && map != original_open_clip && original_is_harmless(name);
  return !strncmp(name, prefix, strlen(prefix)) && !beside;
}

/* Checks that each tensor with the prefix is in the view with all of its bytes, and that no other tensor is. */
static void check_mapping(struct safetensors *files, mapping *map, const char *prefix) {
  struct safetensors *view;
  struct error err = {0};
  size_t bytes = 0;
  FUZZ_CHECK(!view_open(&view, &files, 1, &err));
  if (map(view, files, prefix, &err) || view_finish(view, &err)) {
    fuzz_check_error(&err);
  } else {
    for (size_t i = 0; i < safetensors_count(files); i++)
      if (is_mapped(safetensors_at(files, i)->name, map, prefix))
        bytes += safetensors_at(files, i)->bytes;
    FUZZ_CHECK(safetensors_bytes(view) == bytes);
    for (size_t i = 0; i < safetensors_count(view); i++)
      fuzz_check_tensor(view, safetensors_at(view, i));
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
    fuzz_check_error(&err);
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
  FUZZ_CHECK(checkpoint_open(&checkpoint, &sources, NULL, &err)); /* opening must fail: the file has no tokenizer */
  fuzz_check_error(&err);
  struct prediction_signs signs;
  if (single_open_unet(&unet, path, &signs, &err))
    fuzz_check_error(&err);
  for (size_t i = 0; unet && i < safetensors_count(unet); i++)
    fuzz_check_tensor(unet, safetensors_at(unet, i));
  safetensors_close(&unet);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  if (!size)
    return 0;
  int fd = fuzz_file(data, size);
  char path[64];
  snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  struct safetensors *files = NULL;
  struct error err = {0};
  if (safetensors_open_file(&files, path, &err)) {
    fuzz_check_error(&err);
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
    safetensors_close(&files);
  }
  close(fd);
  return 0;
}
