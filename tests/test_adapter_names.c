/* Tests the names of adapters' tensors: each prefix with each style of suffix, and which tensors are left out because
 * of their names.
 *
 *   test_adapter_names GOLDENS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/adapter_rig.h"
#include "tests/rigs/fixture.h"

static const char *goldens;

/* A module of each part of the model, with its names in diffusers and in single files. */
static const struct spelt {
  const char *name, *original, *tensor;
  int rows, columns;
  const char *prefixes[24];
} spelt[] = {
    {"up_blocks.0.attentions.1.transformer_blocks.1.attn2.to_q",
     "output_blocks.1.1.transformer_blocks.1.attn2.to_q",
     "unet/up_blocks.0.attentions.1.transformer_blocks.1.attn2.to_q.weight",
     16,
     16,
     {"",
      "lora_unet_",
      "lora_unet.",
      "unet.",
      "lycoris_",
      "diffusion_model.",
      "model.diffusion_model.",
      "unet.base_model.model.",
      "base_model.model.unet.",
      "base_model.model.",
      "lycoris_unet_",
      "base_model.model.diffusion_model.",
      "unet.model.diffusion_model.",
      "module.",
      "net.",
      "pipe.unet.",
      "pipeline.unet.",
      "_orig_mod.",
      "unet._orig_mod.",
      "module.unet._orig_mod.",
      "diffusion_model._orig_mod.",
      "lora_unet__",
      "LORA_UNET_",
      "Lora_UNet__"}},
    {"add_embedding.linear_1",
     "label_emb.0.0",
     "unet/add_embedding.linear_1.weight",
     32,
     64,
     {"lora_unet_", "unet.", "diffusion_model.", "model.diffusion_model.", "unet.base_model.model."}},
    {"text_model.encoder.layers.0.mlp.fc1",
     "encoder.layers.0.mlp.fc1",
     "text_encoder/text_model.encoder.layers.0.mlp.fc1.weight",
     32,
     16,
     {"lora_te1_",
      "lora_te_",
      "text_encoder.",
      "clip_l.",
      "clip_l.transformer.",
      "text_encoders.clip_l.",
      "text_encoders.clip_l.transformer.",
      "text_encoder.base_model.model.",
      "base_model.model.text_encoder.",
      "conditioner.embedders.0.transformer.",
      "lora_te1.",
      "text_encoder_1.",
      "lora_te_1_",
      "text_encoders.0.",
      "text_encoders_0.",
      "text_encoder_l.",
      "lora_text_encoder_1_",
      "pipe.text_encoder.",
      "text_encoder._orig_mod.",
      "lora_TE1_",
      "lora_te1__"}},
    {"text_model.encoder.layers.0.mlp.fc1",
     "encoder.layers.0.mlp.fc1",
     "text_encoder_2/text_model.encoder.layers.0.mlp.fc1.weight",
     48,
     24,
     {"lora_te2_", "text_encoder_2.", "clip_g.", "clip_g.transformer.", "text_encoders.clip_g.",
      "text_encoders.clip_g.transformer.", "text_encoder_2.base_model.model.", "base_model.model.text_encoder_2.",
      "lora_te_2_", "lora_TE2_", "text_encoders.1.", "text_encoders_1.", "text_encoder_g.", "pipe.text_encoder_2."}},
};

/* Suffixes of a module's two factors: the one that reads the input, and the one that writes the output. */
static const char *const spelt_styles[][2] = {
    {".lora_down.weight", ".lora_up.weight"},
    {".lora_A.weight", ".lora_B.weight"},
    {".lora_A.default.weight", ".lora_B.default.weight"},
    {".lora_A.my-style_7.weight", ".lora_B.my-style_7.weight"},
    {".lora_A.v1.2.weight", ".lora_B.v1.2.weight"},
    {"._orig_mod.lora_A.a.b.c.weight", "._orig_mod.lora_B.a.b.c.weight"},
    {".lora_A", ".lora_B"},
    {".lora.down.weight", ".lora.up.weight"},
    {".lora_linear_layer.down.weight", ".lora_linear_layer.up.weight"},
    {"_lora.down.weight", "_lora.up.weight"},
};
enum { SPELT_STYLES = sizeof spelt_styles / sizeof *spelt_styles };

static void check_spelling(struct attempt *attempt, const struct spelt *of, const char *prefix, const char *name,
                           const char *const style[2]) {
  char down[256], up[256];
  snprintf(down, sizeof down, "%s%s%s", prefix, name, style[0]);
  snprintf(up, sizeof up, "%s%s%s", prefix, name, style[1]);
  const struct tensor_text tensors[] = {{down, {1, of->columns}}, {up, {of->rows, 1}}, {0}};
  struct adapter *adapter;
  if (attempt_open(attempt, &adapter, tensors, 0.5f, false))
    fail_msg("%s: %s", down, attempt->suite.err.message);
  assert_int_equal(adapter->place_count, 1);
  if (adapter->places[0].tensor != suite_tensor(attempt->suite.checkpoint, of->tensor))
    fail_msg("%s is taken for %s", down, adapter->places[0].tensor->name);
  adapter_close(&adapter);
}

/* Every prefix can be combined with every style of suffix, names of diffusers or of single files, and dots or
 * underscores. */
static void test_spellings(void **state) {
  (void)state;
  struct attempt attempt;
  attempt_begin(&attempt, goldens);
  attempt.log.line = attempt_remember;
  attempt_open_sdxl(&attempt, goldens);
  for (const struct spelt *of = spelt; of < spelt + sizeof spelt / sizeof *spelt; of++)
    for (int i = 0; i < 24 && of->prefixes[i]; i++)
      for (int k = 0; k < 4 * SPELT_STYLES; k++) {
        char name[128];
        snprintf(name, sizeof name, "%s", k & 1 ? of->name : of->original);
        for (char *c = name; k & 2 && *c; c++)
          *c = *c == '.' ? '_' : *c;
        check_spelling(&attempt, of, of->prefixes[i], name, spelt_styles[k / 4]);
      }
  assert_int_equal(attempt.warnings.count, 0);
  attempt_end(&attempt);
}

/* Tensors of parts that this model does not use are left out with a warning; the rest acts as if they were not
 * there. */
static void test_left_out(void **state) {
  (void)state;
#define XL "lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_q"
  static const struct {
    struct tensor_text tensors[4];
    const char *says;
  } cases[] = {
      {{{"lora_te1_text_projection.lora_down.weight", {1, 16}}, {"lora_te1_text_projection.lora_up.weight", {16, 1}}},
       "2 of its tensors are for layers that this model does not have or read, and left out: lora_te1_text_projection"},
      {{{"text_encoder.text_projection.lora_A.x.weight", {1, 16}},
        {"text_encoder.text_projection.lora_B.x.weight", {16, 1}}},
       "text_encoder.text_projection"},
      {{{"lora_te1_text_model_encoder_layers_2_mlp_fc1.lora_down.weight", {1, 16}},
        {"lora_te1_text_model_encoder_layers_2_mlp_fc1.lora_up.weight", {32, 1}}},
       "layers_2"},
      {{{"lora_unet_conv_in.alpha", {1}}}, "1 of its tensors is for layers"},
      {{{"unet.conv_out.alpha", {1}}, {"lora_unet_no_such_layer.alpha", {1}}}, "2 of its tensors are for layers"},
      {{{"bundle_emb.name.clip_g", {2, 24}}, {"bundle_emb.name.clip_l", {2, 16}}}, "embeddings"},
      {{{"bundle_emb.name.string_to_param.*", {2, 16}}}, "bundle_emb.name.string_to_param.*"},
      {{{"text_encoders_0", {2, 16}}, {"text_encoders_1", {2, 24}}}, "brings embeddings for words"},
      {{{"clip_l", {2, 16}}, {"clip_g", {2, 24}}}, "brings embeddings for words of the prompt (clip_"},
      {{{"<s0>", {16}}, {"<s1>", {16}}}, "brings embeddings for words of the prompt (<s"},
      {{{"emb_params", {2, 16}}}, "brings embeddings for words of the prompt (emb_params)"},
  };
  struct attempt attempt;
  attempt_begin(&attempt, goldens);
  attempt.log.line = attempt_remember;
  attempt_open_sdxl(&attempt, goldens);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct tensor_text tensors[] = {{XL ".lora_down.weight", {1, 8}},
                                    {XL ".lora_up.weight", {8, 1}},
                                    cases[i].tensors[0],
                                    cases[i].tensors[1],
                                    {0}};
    struct adapter *adapter;
    attempt.warnings = (struct warnings){0};
    must(attempt_open(&attempt, &adapter, tensors, 0.5f, false), &attempt.suite.err);
    assert_int_equal(adapter->place_count, 1);
    assert_int_equal(attempt.warnings.count, 1);
    if (!strstr(attempt.warnings.last, cases[i].says))
      fail_msg("expected %s in: %s", cases[i].says, attempt.warnings.last);
    adapter_close(&adapter);
  }
  static const struct tensor_text beyond[] = {
      {XL ".lora_down.weight", {1, 8}},
      {XL ".lora_up.weight", {8, 1}},
      {"lora_te1_text_model_encoder_layers_9_mlp_fc1.lora_down.weight", {1, 16}},
      {"lora_te1_text_model_encoder_layers_9_mlp_fc1.lora_up.weight", {32, 1}},
      {0}};
  attempt_refused(&attempt, beyond, 1, false, "2 of its 4 tensors have no place");
  attempt_end(&attempt);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_spellings), cmocka_unit_test(test_left_out)};
  if (argc != 2)
    return 2;
  goldens = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
