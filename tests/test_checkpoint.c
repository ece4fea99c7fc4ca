/* Config files of the models that people have, fields that are refused, and a whole folder put together and taken
 * apart. */
#include "tests/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/fixture.h"
#include "unet/checkpoint/checkpoint.h"

/* The fields that matter of published configs. */
#define SD15_UNET                                                                                                      \
  "{\"_class_name\": \"UNet2DConditionModel\", \"_diffusers_version\": \"0.6.0\", \"act_fn\": \"silu\","               \
  "\"attention_head_dim\": 8, \"block_out_channels\": [320, 640, 1280, 1280], \"center_input_sample\": false,"         \
  "\"cross_attention_dim\": 768, \"down_block_types\": [\"CrossAttnDownBlock2D\", \"CrossAttnDownBlock2D\","           \
  "\"CrossAttnDownBlock2D\", \"DownBlock2D\"], \"downsample_padding\": 1, \"flip_sin_to_cos\": true,"                  \
  "\"freq_shift\": 0, \"in_channels\": 4, \"layers_per_block\": 2, \"mid_block_scale_factor\": 1,"                     \
  "\"norm_eps\": 1e-05, \"norm_num_groups\": 32, \"out_channels\": 4, \"sample_size\": 64, \"up_block_types\":"        \
  "[\"UpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\"]}"
#define SD21_EXTRA                                                                                                     \
  "\"attention_head_dim\": [5, 10, 20, 20], \"cross_attention_dim\": 1024, \"dual_cross_attention\": false,"           \
  "\"num_class_embeds\": null, \"only_cross_attention\": false, \"sample_size\": 96, \"upcast_attention\": true,"      \
  "\"use_linear_projection\": true"
#define LEVELS2                                                                                                        \
  "\"block_out_channels\": [32, 64], \"down_block_types\": [\"CrossAttnDownBlock2D\", \"DownBlock2D\"],"               \
  "\"up_block_types\": [\"UpBlock2D\", \"CrossAttnUpBlock2D\"]"

static struct unet_config good_unet(const char *text) {
  struct unet_config unet;
  struct error err;
  if (unet_config_parse(&unet, text, "unet/config.json", &err))
    fail_msg("%s", err.message);
  return unet;
}

static void test_unet_sd15(void **state) {
  (void)state;
  struct unet_config unet = good_unet(SD15_UNET), absent = good_unet("{\"cross_attention_dim\": 768}");
  assert_int_equal(unet.levels, 4);
  assert_int_equal(unet.sample_height, 64);
  for (int i = 0; i < 4; i++) {
    assert_int_equal(unet.channels[i], ((int[]){320, 640, 1280, 1280})[i]);
    assert_int_equal(unet.layers[i], 2);
    assert_int_equal(unet.heads[i], 8);
    assert_int_equal(i < 3 ? unet.down_depth[i][1] : unet.mid_depth, 1);
    assert_int_equal(unet.up_depth[i][2], i < 3);
    assert_int_equal(unet.down_attention[i], i < 3);
    assert_int_equal(unet.up_attention[i], i < 3);
  }
  assert_true(unet.mid_block && unet.mid_attention && unet.flip_sin_to_cos && !unet.use_linear_projection &&
              !unet.upcast_attention);
  assert_int_equal(unet.time_embed_dim, 1280);
  assert_int_equal(unet.time_cond_proj_dim, 0);
  assert_true(unet.norm_eps == 1e-5f && unet.freq_shift == 0);
  assert_memory_equal(&unet, &absent, sizeof unet); /* its fields have the class' defaults but for the text width */
}

static void test_unet_others(void **state) {
  (void)state;
  struct unet_config unet = good_unet("{" SD21_EXTRA "}");
  assert_int_equal(unet.heads[0], 5);
  assert_int_equal(unet.heads[3], 20);
  assert_int_equal(unet.sample_width, 96);
  assert_true(unet.use_linear_projection && unet.upcast_attention);
  unet = good_unet("{\"sample_size\": [40, 64], \"layers_per_block\": [1, 3], \"transformer_layers_per_block\": [2, 5],"
                   "\"only_cross_attention\": [true, false], \"time_cond_proj_dim\": 256, \"time_embedding_dim\": 100,"
                   "\"mid_block_type\": null, \"in_channels\": 8, \"norm_num_groups\": 16, \"norm_eps\": 1e-6,"
                   "\"flip_sin_to_cos\": false, \"freq_shift\": 1, " LEVELS2 "}");
  assert_int_equal(unet.sample_height, 40);
  assert_int_equal(unet.sample_width, 64);
  assert_int_equal(unet.layers[1], 3);
  assert_int_equal(unet.down_depth[0][0], 2);
  assert_int_equal(unet.up_depth[0][1], 2);
  assert_true(unet.only_cross_attention[0] && !unet.only_cross_attention[1]);
  assert_true(!unet.mid_block && !unet.flip_sin_to_cos && unet.freq_shift == 1 && unet.norm_eps == 1e-6f);
  assert_int_equal(unet.time_cond_proj_dim, 256);
  assert_int_equal(unet.time_embed_dim, 100);
  assert_int_equal(unet.in_channels, 8);
  unet = good_unet("{\"_diffusers_version\": \"0.6.0\", \"sample_size\": 32}"); /* SD 1's files: made for 64 */
  assert_true(unet.sample_height == 64 && unet.sample_width == 64);
  unet = good_unet("{\"_diffusers_version\": \"0.9.0\", \"sample_size\": 32}");
  assert_int_equal(unet.sample_width, 32);
  unet = good_unet("{\"mid_block_type\": \"UNetMidBlock2D\"}");
  assert_true(unet.mid_block && !unet.mid_attention);
  unet = good_unet("{\"only_cross_attention\": true, \"mid_block_only_cross_attention\": true}");
  assert_true(unet.only_cross_attention[0] && unet.only_cross_attention[3]);
}

/* The published fields of SDXL, and of SSD-1B in its own spelling. */
#define SDXL_UNET                                                                                                      \
  "{\"_class_name\": \"UNet2DConditionModel\", \"addition_embed_type\": \"text_time\","                                \
  "\"addition_embed_type_num_heads\": 64, \"addition_time_embed_dim\": 256, \"attention_head_dim\": [5, 10, 20],"      \
  "\"block_out_channels\": [320, 640, 1280], \"class_embed_type\": null, \"conv_in_kernel\": 3,"                       \
  "\"cross_attention_dim\": 2048, \"down_block_types\": [\"DownBlock2D\", \"CrossAttnDownBlock2D\","                   \
  "\"CrossAttnDownBlock2D\"], \"layers_per_block\": 2, \"mid_block_only_cross_attention\": null,"                      \
  "\"num_attention_heads\": null, \"only_cross_attention\": false, \"projection_class_embeddings_input_dim\": 2816,"   \
  "\"resnet_skip_time_act\": false, \"sample_size\": 128, \"time_embedding_type\": \"positional\","                    \
  "\"up_block_types\": [\"CrossAttnUpBlock2D\", \"CrossAttnUpBlock2D\", \"UpBlock2D\"], \"upcast_attention\": null,"   \
  "\"use_linear_projection\": true, "

static void test_unet_sdxl(void **state) {
  (void)state;
  struct unet_config unet = good_unet(SDXL_UNET "\"mid_block_type\": \"UNetMidBlock2DCrossAttn\","
                                                "\"reverse_transformer_layers_per_block\": null,"
                                                "\"transformer_layers_per_block\": [1, 2, 10]}");
  assert_int_equal(unet.added_text_dim, 1280);
  assert_int_equal(unet.added_size_dim, 256);
  assert_int_equal(unet.cross_attention_dim, 2048);
  assert_true(!unet.down_attention[0] && unet.down_attention[2] && unet.mid_attention);
  assert_true(unet.down_depth[1][1] == 2 && unet.mid_depth == 10 && unet.up_depth[2][2] == 10 &&
              unet.up_depth[1][0] == 2);
  unet = good_unet(SDXL_UNET "\"mid_block_type\": \"UNetMidBlock2D\","
                             "\"reverse_transformer_layers_per_block\": [[4, 4, 10], [2, 1, 1], 1],"
                             "\"transformer_layers_per_block\": [[1], [2, 2], [4, 4]]}");
  assert_true(unet.mid_block && !unet.mid_attention);
  assert_memory_equal(unet.down_depth[2], ((int[]){4, 4, 0}), 3 * sizeof(int));
  assert_memory_equal(unet.up_depth[2], ((int[]){4, 4, 10}), 3 * sizeof(int));
  assert_memory_equal(unet.up_depth[1], ((int[]){2, 1, 1}), 3 * sizeof(int));
}

/* A refusal names the file, the field and the value. */
static void check_message(const struct error *err, const char *path, const char *field, const char *value) {
  assert_int_equal(err->status, STATUS_MODEL);
  if (!strstr(err->message, path) || !strstr(err->message, field) || !strstr(err->message, value) ||
      strchr(err->message, '\n'))
    fail_msg("expected %s, %s and %s in: %s", path, field, value, err->message);
}

static const struct {
  const char *text, *field, *value;
} unet_refusals[] = {
    {"", "unet/config.json", "not a JSON object"},
    {"[]", "unet/config.json", "not a JSON object"},
    {"{} {}", "unet/config.json", "not a JSON object"},
    {"{\"_class_name\": \"UNet2DModel\"}", "_class_name", "UNet2DModel"},
    {"{\"act_fn\": \"gelu\"}", "act_fn", "gelu"},
    {"{\"addition_embed_type\": \"text\"}", "addition_embed_type", "text"},
    {"{\"addition_embed_type\": \"text_time\"}", "projection_class_embeddings_input_dim", "six sizes"},
    {"{\"addition_embed_type\": \"text_time\", \"addition_time_embed_dim\": 256,"
     "\"projection_class_embeddings_input_dim\": 1536}",
     "projection_class_embeddings_input_dim", "six sizes"},
    {"{\"addition_time_embed_dim\": 256}", "addition_time_embed_dim", "256"},
    {"{\"projection_class_embeddings_input_dim\": 2816}", "projection_class_embeddings_input_dim", "2816"},
    {"{\"class_embed_type\": \"timestep\"}", "class_embed_type", "timestep"},
    {"{\"center_input_sample\": true}", "center_input_sample", "true"},
    {"{\"dual_cross_attention\": true}", "dual_cross_attention", "true"},
    {"{\"encoder_hid_dim\": 4096}", "encoder_hid_dim", "4096"},
    {"{\"num_attention_heads\": 8}", "num_attention_heads", "8"},
    {"{\"num_class_embeds\": 10}", "num_class_embeds", "10"},
    {"{\"resnet_time_scale_shift\": \"scale_shift\"}", "resnet_time_scale_shift", "scale_shift"},
    {"{\"resnet_out_scale_factor\": 2}", "resnet_out_scale_factor", "2"},
    {"{\"mid_block_scale_factor\": 0.5}", "mid_block_scale_factor", "0.5"},
    {"{\"mid_block_type\": \"UNetMidBlock2DSimpleCrossAttn\"}", "mid_block_type", "SimpleCrossAttn"},
    {"{\"downsample_padding\": 0}", "downsample_padding", "0"},
    {"{\"conv_in_kernel\": 1}", "conv_in_kernel", "1"},
    {"{\"conv_out_kernel\": 5}", "conv_out_kernel", "5"},
    {"{\"attention_type\": \"gated\"}", "attention_type", "gated"},
    {"{\"time_embedding_type\": \"fourier\"}", "time_embedding_type", "fourier"},
    {"{\"time_embedding_act_fn\": \"silu\"}", "time_embedding_act_fn", "silu"},
    {"{\"timestep_post_act\": \"silu\"}", "timestep_post_act", "silu"},
    {"{\"cross_attention_norm\": \"layer_norm\"}", "cross_attention_norm", "layer_norm"},
    {"{\"reverse_transformer_layers_per_block\": [[1], [2]]}", "reverse_transformer", "[[1],[2]]"},
    {"{\"reverse_transformer_layers_per_block\": [1, 1, [2, 2], 1]}", "reverse_transformer", "for each of its layers"},
    {"{\"transformer_layers_per_block\": [1, 0, 1, 1]}", "transformer_layers_per_block", "[1,0,1,1]"},
    {"{\"transformer_layers_per_block\": [1, 1]}", "transformer_layers_per_block", "each level"},
    {"{\"transformer_layers_per_block\": \"2\"}", "transformer_layers_per_block", "2"},
    {"{\"cross_attention_dim\": [1, 1, 1, 2]}", "cross_attention_dim", "different widths"},
    {"{\"down_block_types\": [\"DownBlock2D\"]}", "down_block_types", "length"},
    {"{\"down_block_types\": [1, 2, 3, 4]}", "down_block_types", "plain or a cross-attention"},
    {"{\"down_block_types\": \"DownBlock2D\"}", "down_block_types", "length"},
    {"{\"up_block_types\": [\"A\", \"B\", \"C\", \"AttnUpBlock2D\"]}", "up_block_types", "A"},
    {"{\"block_out_channels\": []}", "block_out_channels", "length"},
    {"{\"block_out_channels\": [1, 2, 3, 4, 5, 6, 7, 8, 9]}", "block_out_channels", "length"},
    {"{\"block_out_channels\": [320, 640, 1280, 1e12]}", "block_out_channels", "whole number"},
    {"{\"block_out_channels\": [320, 640, 1280, -1280]}", "block_out_channels", "whole number"},
    {"{\"block_out_channels\": [320, 640, 1280, 1281]}", "norm_num_groups", "divide"},
    {"{\"attention_head_dim\": 7}", "attention_head_dim", "divide"},
    {"{\"attention_head_dim\": [8, 8]}", "attention_head_dim", "each level"},
    {"{\"attention_head_dim\": null}", "attention_head_dim", "null"},
    {"{\"layers_per_block\": 2.5}", "layers_per_block", "2.5"},
    {"{\"layers_per_block\": 0}", "layers_per_block", "0"},
    {"{\"transformer_layers_per_block\": [[1, 1], 1, 1, 1]}", "transformer_layers_per_block", "mirror image"},
    {"{\"only_cross_attention\": [true, 1, false, false]}", "only_cross_attention", "[true,1,false,false]"},
    {"{\"norm_eps\": \"1e-5\"}", "norm_eps", "1e-5"},
    {"{\"norm_eps\": -1}", "norm_eps", "-1"},
    {"{\"norm_num_groups\": null}", "norm_num_groups", "null"},
    {"{\"use_linear_projection\": 1}", "use_linear_projection", "1"},
    {"{\"sample_size\": 0}", "sample_size", "0"},
    {"{\"_image_scaling_factor\": 0}", "_image_scaling_factor", "0"},
    {"{\"some_new_field\": 3}", "some_new_field", "3"},
    {"{\"some_new_field\": \"x\\ny\"}", "some_new_field", "x"},
    {"{\"in_channels\": 4, \"in_channels\": 8}", "in_channels", "8"},
};

static void test_unet_refusals(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof unet_refusals / sizeof *unet_refusals; i++) {
    struct unet_config unet;
    struct error err = {0};
    if (!unet_config_parse(&unet, unet_refusals[i].text, "unet/config.json", &err))
      fail_msg("accepted: %s", unet_refusals[i].text);
    check_message(&err, "unet/config.json", unet_refusals[i].field, unet_refusals[i].value);
  }
  good_unet("{\"_anything\": 3, \"some_new_field\": null, \"other\": false, \"dropout\": 0.1}");
}

static void test_tae(void **state) {
  (void)state;
  struct autoencoder autoencoder = {.type = AUTOENCODER_TYPES};
  const struct tae_config *tae = &autoencoder.tae;
  struct error err = {0};
  assert_int_equal(
      autoencoder_config_parse(&autoencoder, "{\"_class_name\": \"AutoencoderTiny\"}", "vae/config.json", &err), 0);
  assert_int_equal(tae->levels, 4);
  assert_int_equal(autoencoder.type, AUTOENCODER_TAE);
  assert_int_equal(autoencoder.scale, 8);
  assert_true(autoencoder.scaling_factor == 1);
  assert_int_equal(tae->encoder_channels, 64);
  assert_int_equal(tae->encoder_blocks[0], 1);
  assert_int_equal(tae->decoder_blocks[3], 1);
  assert_int_equal(
      autoencoder_config_parse(&autoencoder,
                               "{\"_class_name\": \"AutoencoderTiny\", \"encoder_block_out_channels\": [32, 32],"
                               "\"decoder_block_out_channels\": [48, 48], \"num_encoder_blocks\": [0, 2],"
                               "\"num_decoder_blocks\": [3, 1], \"latent_channels\": 16, \"latent_shift\": 0.5,"
                               "\"latent_magnitude\": 3, \"scaling_factor\": 1.0, \"upsample_fn\": \"nearest\"}",
                               "vae/config.json", &err),
      0);
  assert_int_equal(autoencoder.scale, 2);
  assert_int_equal(tae->decoder_channels, 48);
  assert_int_equal(autoencoder.latent_channels, 16);
  assert_int_equal(tae->encoder_blocks[1], 2);
}

static void test_tae_refusals(void **state) {
  (void)state;
  static const struct {
    const char *fields, *field, *value;
  } cases[] = {
      {"\"_class_name\": \"VQModel\"", "VQModel", "--vae"},
      {"\"sample_size\": 512", "_class_name", "--vae"},
#define TINY "\"_class_name\": \"AutoencoderTiny\", "
      {TINY "\"act_fn\": \"silu\"", "act_fn", "silu"},
      {TINY "\"upsample_fn\": \"bilinear\"", "upsample_fn", "bilinear"},
      {TINY "\"upsampling_scaling_factor\": 3", "upsampling_scaling_factor", "3"},
      {TINY "\"scaling_factor\": 0.18215", "scaling_factor", "0.18215"},
      {TINY "\"shift_factor\": 0.1", "shift_factor", "0.1"},
      {TINY "\"in_channels\": 4", "in_channels", "4"},
      {TINY "\"encoder_block_out_channels\": [64, 64, 64]", "encoder_block_out_channels", "length"},
      {TINY "\"encoder_block_out_channels\": [64, 64, 64, 32]", "encoder_block_out_channels", "different widths"},
      {TINY "\"num_encoder_blocks\": [1, 1]", "num_encoder_blocks", "[1,1]"},
      {TINY "\"num_decoder_blocks\": [1, 1, -1, 1]", "num_decoder_blocks", "-1"},
      {TINY "\"encoder_block_out_channels\": [8, 8], \"decoder_block_out_channels\": [8, 8]", "num_encoder_blocks",
       "absence"},
      {TINY "\"quant_mode\": \"vq\"", "quant_mode", "vq"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, "{%s}", cases[i].fields);
    struct autoencoder autoencoder;
    struct error err = {0};
    if (!autoencoder_config_parse(&autoencoder, text, "vae/config.json", &err))
      fail_msg("accepted: %s", text);
    check_message(&err, "vae/config.json", cases[i].field, cases[i].value);
  }
}

/* The configs of SD 1 and of SDXL as they are published, and the class' own defaults. */
static void test_kl(void **state) {
  (void)state;
  static const char sd1[] =
      "{\"_class_name\": \"AutoencoderKL\", \"_diffusers_version\": \"0.6.0\", \"act_fn\": \"silu\","
      "\"block_out_channels\": [128, 256, 512, 512], \"down_block_types\": [\"DownEncoderBlock2D\","
      "\"DownEncoderBlock2D\", \"DownEncoderBlock2D\", \"DownEncoderBlock2D\"], \"in_channels\": 3,"
      "\"latent_channels\": 4, \"layers_per_block\": 2, \"norm_num_groups\": 32, \"out_channels\": 3,"
      "\"sample_size\": 512, \"up_block_types\": [\"UpDecoderBlock2D\", \"UpDecoderBlock2D\", \"UpDecoderBlock2D\","
      "\"UpDecoderBlock2D\"]";
  char text[1024];
  struct autoencoder a = {.type = AUTOENCODER_TYPES};
  struct error err = {0};
  snprintf(text, sizeof text, "%s}", sd1);
  assert_int_equal(autoencoder_config_parse(&a, text, "vae/config.json", &err), 0);
  assert_int_equal(a.type, AUTOENCODER_KL);
  assert_int_equal(a.scale, 8);
  assert_int_equal(a.latent_channels, 4);
  assert_true(a.scaling_factor == 0.18215f && a.shift_factor == 0);
  assert_int_equal(a.kl.levels, 4);
  assert_int_equal(a.kl.channels[3], 512);
  assert_int_equal(a.kl.layers, 2);
  assert_true(a.kl.quant_conv && a.kl.post_quant_conv && a.kl.mid_attention && a.kl.force_upcast);
  snprintf(text, sizeof text,
           "%s, \"scaling_factor\": 0.13025, \"force_upcast\": false, \"latents_mean\": null, \"shift_factor\": 0.25,"
           "\"use_quant_conv\": false, \"use_post_quant_conv\": false, \"mid_block_add_attention\": false}",
           sd1);
  assert_int_equal(autoencoder_config_parse(&a, text, "vae/config.json", &err), 0);
  assert_true(a.scaling_factor == 0.13025f && a.shift_factor == 0.25f);
  assert_false(a.kl.quant_conv || a.kl.post_quant_conv || a.kl.mid_attention || a.kl.force_upcast);
  assert_int_equal(autoencoder_config_parse(&a, "{\"_class_name\": \"AutoencoderKL\"}", "vae/config.json", &err), 0);
  assert_int_equal(a.kl.levels, 1);
  assert_int_equal(a.kl.channels[0], 64);
}

static void test_kl_refusals(void **state) {
  (void)state;
  static const struct {
    const char *fields, *field, *value;
  } cases[] = {
      {"\"latents_mean\": [0, 0, 0, 0]", "latents_mean", "[0,0,0,0]"},
      {"\"block_out_channels\": []", "block_out_channels", "length"},
      {"\"block_out_channels\": [64, 64]", "down_block_types", "length"},
      {"\"down_block_types\": [\"AttnDownEncoderBlock2D\"]", "down_block_types", "AttnDownEncoderBlock2D"},
      {"\"up_block_types\": [\"AttnUpDecoderBlock2D\"]", "up_block_types", "AttnUpDecoderBlock2D"},
      {"\"block_out_channels\": [80]", "norm_num_groups", "divide"},
      {"\"act_fn\": \"gelu\"", "act_fn", "gelu"},
      {"\"in_channels\": 4", "in_channels", "4"},
      {"\"out_channels\": 6", "out_channels", "6"},
      {"\"scaling_factor\": 0", "scaling_factor", "0"},
      {"\"batch_norm_eps\": 1e-4", "batch_norm_eps", "unknown"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[512];
    snprintf(text, sizeof text, "{\"_class_name\": \"AutoencoderKL\", %s}", cases[i].fields);
    struct autoencoder autoencoder;
    struct error err = {0};
    if (!autoencoder_config_parse(&autoencoder, text, "vae/config.json", &err))
      fail_msg("accepted: %s", text);
    check_message(&err, "vae/config.json", cases[i].field, cases[i].value);
  }
}

static void test_clip(void **state) {
  (void)state;
  struct clip_config clip;
  struct error err = {0};
  const char *sd21 = "{\"_name_or_path\": \"x\", \"architectures\": [\"CLIPTextModel\"], \"attention_dropout\": 0.0,"
                     "\"bos_token_id\": 0, \"dropout\": 0.0, \"eos_token_id\": 2, \"hidden_act\": \"gelu\","
                     "\"hidden_size\": 1024, \"initializer_factor\": 1.0, \"initializer_range\": 0.02,"
                     "\"intermediate_size\": 4096, \"layer_norm_eps\": 1e-05, \"max_position_embeddings\": 77,"
                     "\"model_type\": \"clip_text_model\", \"num_attention_heads\": 16, \"num_hidden_layers\": 23,"
                     "\"pad_token_id\": 1, \"projection_dim\": 512, \"torch_dtype\": \"float32\","
                     "\"transformers_version\": \"4.25.0.dev0\", \"vocab_size\": 49408}";
  assert_int_equal(clip_config_parse(&clip, sd21, "config.json", &err), 0);
  assert_int_equal(clip.hidden_act, ACT_GELU);
  assert_int_equal(clip.layers, 23);
  assert_int_equal(clip.heads, 16);
  assert_int_equal(clip_config_parse(&clip, "{}", "config.json", &err), 0);
  assert_int_equal(clip.hidden_act, ACT_QUICK_GELU);
  assert_int_equal(clip.hidden_size, 512);
  static const char *const bad[][3] = {
      {"{\"hidden_act\": \"relu\"}", "hidden_act", "relu"},
      {"{\"model_type\": \"clip\"}", "model_type", "clip"},
      {"{\"architectures\": [\"CLIPModel\"]}", "architectures", "CLIPModel"},
      {"{\"text_config\": {\"hidden_size\": 3}}", "text_config", "hidden_size"},
      {"{\"num_attention_heads\": 3}", "num_attention_heads", "divide"},
      {"{\"max_position_embeddings\": 100000}", "max_position_embeddings", "100000"},
      {"{\"vocab_size\": 1e30}", "vocab_size", "1e"},
      {"{\"num_hidden_layers\": 0}", "num_hidden_layers", "0"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (!clip_config_parse(&clip, bad[i][0], "config.json", &err))
      fail_msg("accepted: %s", bad[i][0]);
    check_message(&err, "config.json", bad[i][1], bad[i][2]);
  }
}

struct lines {
  int count;
  char last[512];
};

static void keep_line(void *opaque, enum log_level level, const char *text) {
  (void)level;
  struct lines *lines = opaque;
  lines->count++;
  snprintf(lines->last, sizeof lines->last, "%s", text);
}

static void test_scheduler(void **state) {
  (void)state;
  static const struct {
    const char *text;
    enum sampler sampler;
    enum spacing spacing;
    bool one;
    const char *differs; /* in what: a word of the line that says so */
  } cases[] = {
      {"{\"_class_name\": \"EulerDiscreteScheduler\", \"beta_end\": 0.012, \"beta_schedule\": \"scaled_linear\","
       "\"beta_start\": 0.00085, \"clip_sample\": false, \"interpolation_type\": \"linear\", \"num_train_timesteps\":"
       "1000, \"prediction_type\": \"epsilon\", \"sigma_max\": null, \"sigma_min\": null, \"skip_prk_steps\": true,"
       "\"set_alpha_to_one\": false, \"steps_offset\": 1, \"timestep_spacing\": \"trailing\", \"timestep_type\":"
       "\"discrete\", \"trained_betas\": null, \"use_karras_sigmas\": false}",
       SAMPLER_EULER, SPACING_TRAILING, false, NULL},
      {"{\"_class_name\": \"PNDMScheduler\", \"clip_sample\": false, \"set_alpha_to_one\": false,"
       "\"skip_prk_steps\": true, \"steps_offset\": 1}",
       SAMPLER_PNDM, SPACING_LEADING, false, NULL},
      {"{\"_class_name\": \"EulerDiscreteScheduler\"}", SAMPLER_EULER, SPACING_LINSPACE, true, NULL},
      {"{\"_class_name\": \"PNDMScheduler\"}", SAMPLER_PNDM, SPACING_LEADING, false, "skip_prk_steps"},
      {"{\"_class_name\": \"DDIMScheduler\", \"clip_sample\": false}", SAMPLER_DDIM, SPACING_LEADING, true, NULL},
      {"{\"_class_name\": \"LCMScheduler\", \"timestep_spacing\": \"leading\"}", SAMPLER_LCM, SPACING_LCM, true, NULL},
      {"{\"_class_name\": \"TCDScheduler\", \"timestep_spacing\": \"leading\"}", SAMPLER_TCD, SPACING_LCM, true, NULL},
      {"{\"_class_name\": \"UniPCMultistepScheduler\", \"solver_order\": 2, \"disable_corrector\": []}", SAMPLER_UNIPC,
       SPACING_LINSPACE, true, NULL},
      /* As diffusers 0.42 saves them */
      {"{\"_class_name\": \"UniPCMultistepScheduler\", \"_diffusers_version\": \"0.42.1\", \"beta_end\": 0.012,"
       "\"beta_schedule\": \"scaled_linear\", \"beta_start\": 0.00085, \"disable_corrector\": [],"
       "\"dynamic_thresholding_ratio\": 0.995, \"final_sigmas_type\": \"zero\", \"flow_shift\": 1.0,"
       "\"lower_order_final\": true, \"num_train_timesteps\": 1000, \"predict_x0\": true, \"prediction_type\":"
       "\"epsilon\", \"rescale_betas_zero_snr\": false, \"sample_max_value\": 1.0, \"shift_terminal\": null,"
       "\"solver_order\": 2, \"solver_p\": null, \"solver_type\": \"bh2\", \"steps_offset\": 0, \"thresholding\":"
       "false, \"time_shift_type\": \"exponential\", \"timestep_spacing\": \"linspace\", \"use_dynamic_shifting\":"
       "false, \"use_flow_sigmas\": false, \"use_karras_sigmas\": false}",
       SAMPLER_UNIPC, SPACING_LINSPACE, true, NULL},
      {"{\"_class_name\": \"DPMSolverMultistepScheduler\", \"_note\": \"\\\"-Infinity\", \"algorithm_type\":"
       "\"dpmsolver++\", \"euler_at_final\": false, \"lambda_min_clipped\": -Infinity, \"lower_order_final\": true,"
       "\"solver_type\": \"midpoint\", \"time_shift_type\": \"exponential\", \"use_lu_lambdas\": false,"
       "\"variance_type\": null, \"timestep_spacing\": \"trailing\"}",
       SAMPLER_DPM, SPACING_TRAILING, true, NULL},
      {"{\"_class_name\": \"EulerAncestralDiscreteScheduler\", \"timestep_spacing\": \"trailing\"}",
       SAMPLER_EULER_ANCESTRAL, SPACING_TRAILING, true, NULL},
      {"{\"_class_name\": \"DPMSolverMultistepScheduler\", \"algorithm_type\": \"sde-dpmsolver++\"}", SAMPLER_DPM_SDE,
       SPACING_LINSPACE, true, NULL},
      {"{\"_class_name\": \"DDPMScheduler\", \"_diffusers_version\": \"0.42.1\", \"clip_sample\": false,"
       "\"clip_sample_range\": 1.0, \"dynamic_thresholding_ratio\": 0.995, \"rescale_betas_zero_snr\": false,"
       "\"sample_max_value\": 1.0, \"steps_offset\": 0, \"thresholding\": false, \"timestep_spacing\": \"leading\","
       "\"trained_betas\": null, \"variance_type\": \"fixed_small\"}",
       SAMPLER_DDPM, SPACING_LEADING, true, NULL},
      {"{\"_class_name\": \"LMSDiscreteScheduler\", \"_diffusers_version\": \"0.42.1\", \"steps_offset\": 0,"
       "\"timestep_spacing\": \"linspace\", \"trained_betas\": null, \"use_beta_sigmas\": false,"
       "\"use_exponential_sigmas\": false, \"use_karras_sigmas\": true}",
       SAMPLER_LMS, SPACING_LINSPACE, true, NULL},
      {"{\"_class_name\": \"DEISMultistepScheduler\", \"_diffusers_version\": \"0.42.1\", \"algorithm_type\": \"deis\","
       "\"dynamic_thresholding_ratio\": 0.995, \"flow_shift\": 1.0, \"lower_order_final\": true, \"sample_max_value\":"
       "1.0, \"solver_order\": 3, \"solver_type\": \"logrho\", \"thresholding\": false, \"time_shift_type\":"
       "\"exponential\", \"use_beta_sigmas\": false, \"use_dynamic_shifting\": false, \"use_exponential_sigmas\":"
       "false, \"use_flow_sigmas\": false, \"use_karras_sigmas\": false}",
       SAMPLER_DEIS, SPACING_LINSPACE, true, NULL},
      {"{\"_class_name\": \"DPMSolverSinglestepScheduler\", \"solver_order\": 3}", SAMPLER_DDIM, SPACING_LINSPACE, true,
       "DDIM"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    struct lines lines = {0};
    struct log log = {keep_line, &lines};
    if (scheduler_config_parse(&scheduler, cases[i].text, "s.json", &log, &err))
      fail_msg("%s", err.message);
    assert_int_equal(scheduler.sampler, cases[i].sampler);
    assert_int_equal(scheduler.spacing, cases[i].spacing);
    assert_int_equal(scheduler.set_alpha_to_one, cases[i].one);
    assert_int_equal(lines.count, cases[i].differs != NULL);
    if (cases[i].differs)
      assert_non_null(strstr(lines.last, cases[i].differs));
  }
}

static void test_scheduler_refusals(void **state) {
  (void)state;
  static const char *const bad[][3] = {
      {"{}", "_class_name", "no name"},
      {"{\"_class_name\": \"FlowMatchEulerDiscreteScheduler\"}", "_class_name", "FlowMatch"},
#define EULER "{\"_class_name\": \"EulerDiscreteScheduler\", "
      {EULER "\"beta_schedule\": \"squaredcos_cap_v2\"}", "beta_schedule", "squaredcos"},
      {EULER "\"prediction_type\": \"flow\"}", "prediction_type", "flow"},
      {EULER "\"prediction_type\": \"sample\", \"rescale_betas_zero_snr\": true}", "rescale_betas_zero_snr", "true"},
      {EULER "\"timestep_spacing\": \"karras\"}", "timestep_spacing", "karras"},
      {EULER "\"use_karras_sigmas\": true, \"use_exponential_sigmas\": true}", "use_exponential_sigmas", "true"},
      {EULER "\"use_beta_sigmas\": true}", "use_beta_sigmas", "true"},
      {EULER "\"sigma_min\": -1}", "sigma_min", "-1"},
      {EULER "\"steps_offset\": 1000000000}", "steps_offset", "1000000000"},
      {"{\"_class_name\": \"DDIMScheduler\", \"use_karras_sigmas\": true}", "use_karras_sigmas", "true"},
#define UNIPC "{\"_class_name\": \"UniPCMultistepScheduler\", "
      {UNIPC "\"solver_order\": 4}", "solver_order", "4"},
      {UNIPC "\"solver_type\": \"rk\"}", "solver_type", "rk"},
      {UNIPC "\"disable_corrector\": [-1]}", "disable_corrector", "-1"},
      {UNIPC "\"predict_x0\": false}", "predict_x0", "false"},
      {UNIPC "\"use_karras_sigmas\": true, \"final_sigmas_type\": \"sigma_min\"}", "final_sigmas_type", "sigma_min"},
#define DEIS "{\"_class_name\": \"DEISMultistepScheduler\", "
      {DEIS "\"solver_order\": 4}", "solver_order", "4"},
      {DEIS "\"solver_type\": \"rk\"}", "solver_type", "rk"},
      {DEIS "\"use_beta_sigmas\": true}", "use_beta_sigmas", "true"},
      {"{\"_class_name\": \"DDPMScheduler\", \"variance_type\": \"learned\"}", "variance_type", "learned"},
      {"{\"_class_name\": \"DDPMScheduler\", \"use_karras_sigmas\": true}", "use_karras_sigmas", "true"},
#define DPM "{\"_class_name\": \"DPMSolverMultistepScheduler\", "
      {DPM "\"algorithm_type\": \"sde-dpmsolver\"}", "algorithm_type", "sde-dpmsolver"},
      {DPM "\"algorithm_type\": \"dpmsolver\"}", "algorithm_type", "dpmsolver"},
      {DPM "\"lambda_min_clipped\": 0}", "lambda_min_clipped", "0"},
      {DPM "\"variance_type\": \"learned\"}", "variance_type", "learned"},
      {DPM "\"use_lu_lambdas\": true}", "use_lu_lambdas", "true"},
      {EULER "\"thresholding\": true}", "thresholding", "true"},
      {EULER "\"trained_betas\": [0.1]}", "trained_betas", "[0.1]"},
      {EULER "\"num_train_timesteps\": 4000}", "num_train_timesteps", "4000"},
      {EULER "\"rescale_betas_zero_snr\": true}", "rescale_betas_zero_snr", "v_prediction"},
      {EULER "\"interpolation_type\": \"log_linear\"}", "interpolation_type", "log_linear"},
      {EULER "\"timestep_type\": \"continuous\"}", "timestep_type", "continuous"},
      {EULER "\"final_sigmas_type\": \"none\"}", "final_sigmas_type", "none"},
      {EULER "\"beta_start\": 0}", "beta_start", "0"},
      {EULER "\"beta_end\": 2}", "beta_end", "2"},
      {EULER "\"steps_offset\": -1}", "steps_offset", "-1"},
      {EULER "\"original_inference_steps\": 0}", "original_inference_steps", "0"},
      {EULER "\"base_shift\": 0.5}", "base_shift", "0.5"},
      {EULER "\"beta_end\": Infinity}", "beta_end", "null"},
      {EULER "\"beta_end\": NaN}", "s.json", "not a JSON object"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    struct scheduler_config scheduler;
    struct error err = {0};
    if (!scheduler_config_parse(&scheduler, bad[i][0], "s.json", NULL, &err))
      fail_msg("accepted: %s", bad[i][0]);
    check_message(&err, "s.json", bad[i][1], bad[i][2]);
  }
}

/* SDXL's golden in a folder of its own. */
static char *make_sdxl(void) {
  static const char *const files[] = {"model_index.json",
                                      "scheduler/scheduler_config.json",
                                      "unet/config.json",
                                      "unet/diffusion_pytorch_model.safetensors",
                                      "vae/config.json",
                                      "vae/diffusion_pytorch_model.safetensors",
                                      "text_encoder/config.json",
                                      "text_encoder/model.safetensors",
                                      "text_encoder_2/config.json",
                                      "text_encoder_2/model.safetensors",
                                      "tokenizer/vocab.json",
                                      "tokenizer/merges.txt",
                                      "tokenizer/tokenizer_config.json",
                                      "tokenizer_2/vocab.json",
                                      "tokenizer_2/merges.txt",
                                      "tokenizer_2/tokenizer_config.json"};
  char *folder = fixture_make();
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    size_t length;
    char *path = fixture_path(SOURCE_DIR "/tests/data/goldens/sdxl", files[i]), *bytes = fixture_read(path, &length);
    assert_non_null(bytes);
    fixture_write(folder, files[i], bytes, length);
    free(bytes);
    free(path);
  }
  return folder;
}

/* Puts `to` in the place of `from` in a file of the folder. */
static void edit(const char *folder, const char *name, const char *from, const char *to) {
  char *path = fixture_path(folder, name), *text = fixture_read(path, NULL), *at = text ? strstr(text, from) : NULL;
  assert_non_null(at);
  size_t size = strlen(text) + strlen(to) + 1;
  char *edited = malloc(size);
  snprintf(edited, size, "%.*s%s%s", (int)(at - text), text, to, at + strlen(from));
  fixture_text(folder, name, edited);
  free(edited);
  free(text);
  free(path);
}

static void test_second_text_encoder(void **state) {
  (void)state;
  static const char *const bad[][4] = {
      {"model_index.json", "CLIPTextModelWithProjection", "T5EncoderModel", "T5EncoderModel"},
      {"model_index.json", "\"force_zeros", "\"requires_aesthetics_score\": true, \"force_zeros", "aesthetics"},
      {"model_index.json", "\"text_encoder_2\": [", "\"_text_encoder_2\": [", "cross_attention_dim"},
      {"text_encoder_2/config.json", "\"projection_dim\": 16", "\"projection_dim\": 24", "projection_dim"},
      {"text_encoder_2/config.json", "\"max_position_embeddings\": 16", "\"max_position_embeddings\": 8",
       "position_embeddings"},
      {"text_encoder_2/config.json", "\"vocab_size\": 531", "\"vocab_size\": 5", "vocab_size"},
      {"unet/config.json", "\"text_time\"", "null", "addition_time_embed_dim"},
      {"unet/config.json", "\"projection_class_embeddings_input_dim\": 64",
       "\"projection_class_embeddings_input_dim\": 56", "beside six sizes"},
      {"tokenizer_2/vocab.json", "{", "[", "tokenizer_2"},
  };
  struct checkpoint *checkpoint;
  struct error err = {0};
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *folder = make_sdxl();
    edit(folder, bad[i][0], bad[i][1], bad[i][2]);
    if (!checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err))
      fail_msg("accepted: %s in %s", bad[i][2], bad[i][0]);
    check_message(&err, folder, bad[i][3], "");
    fixture_remove(folder);
  }
  char *folder = make_sdxl();
  for (int zeros = 1; zeros >= 0; zeros--) {
    assert_int_equal(checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err), 0);
    assert_int_equal(checkpoint->text_encoder_count, 2);
    assert_true(checkpoint->text_encoders[0].penultimate && !checkpoint->text_encoders[0].pooled);
    assert_true(checkpoint->text_encoders[1].penultimate && checkpoint->text_encoders[1].pooled);
    assert_int_equal(checkpoint->zero_negative, zeros);
    checkpoint_close(&checkpoint);
    edit(folder, "model_index.json", zeros ? "\"force_zeros_for_empty_prompt\": true" : "{",
         zeros ? "\"force_zeros_for_empty_prompt\": false" : "{");
  }
  edit(folder, "model_index.json", "\"force_zeros_for_empty_prompt\": false,", ""); /* then it is true */
  assert_int_equal(checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err), 0);
  assert_true(checkpoint->zero_negative);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* Parts that make no pictures are no reason to refuse. */
#define MODEL_INDEX(more)                                                                                              \
  "{\"_class_name\": \"StableDiffusionPipeline\", \"unet\": [\"diffusers\", \"UNet2DConditionModel\"],"                \
  "\"vae\": [\"diffusers\", \"AutoencoderTiny\"], \"text_encoder\": [\"transformers\", \"CLIPTextModel\"],"            \
  "\"tokenizer\": [\"transformers\", \"CLIPTokenizer\"], \"scheduler\": [\"diffusers\", \"DDIMScheduler\"],"           \
  "\"safety_checker\": [\"stable_diffusion\", \"StableDiffusionSafetyChecker\"], \"feature_extractor\": [null, null]," \
  "\"image_encoder\": [\"transformers\", \"CLIPVisionModel\"], \"motion_adapter\": [null, null],"                      \
  "\"requires_safety_checker\": true, \"_name_or_path\": [\"a\", \"b\"]" more "}"

/* --- every field of diffusers' and transformers' classes, at a value that is not its default --- */

enum effect { REFUSED, CHANGES, NOTHING /* diffusers does not act on it either, in what these pipelines do */ };

struct field {
  const char *key, *value;
  enum effect effect;
};

#define EULER_FIELDS                                                                                                   \
  {"num_train_timesteps", "500", REFUSED}, {"beta_start", "0.001", CHANGES}, {"beta_end", "0.03", CHANGES},            \
      {"beta_schedule", "\"scaled_linear\"", CHANGES}, {"beta_schedule", "\"squaredcos_cap_v2\"", REFUSED},            \
      {"trained_betas", "[0.1]", REFUSED}, {"prediction_type", "\"epsilon\"", CHANGES},                                \
      {"prediction_type", "\"flow\"", REFUSED}, {"timestep_spacing", "\"trailing\"", CHANGES},                         \
      {"timestep_spacing", "\"linspace\"", CHANGES}, {"steps_offset", "7", CHANGES}, {                                 \
    "rescale_betas_zero_snr", "true", CHANGES                                                                          \
  }
#define CLIPPING_FIELDS                                                                                                \
  {"thresholding", "true", REFUSED}, {"dynamic_thresholding_ratio", "0.5", NOTHING},                                   \
      {"clip_sample_range", "2.0", NOTHING}, {                                                                         \
    "sample_max_value", "2.0", NOTHING                                                                                 \
  }

static const struct field euler_fields[] = {EULER_FIELDS,
                                            {"interpolation_type", "\"log_linear\"", REFUSED},
                                            {"use_karras_sigmas", "true", CHANGES},
                                            {"use_exponential_sigmas", "true", CHANGES},
                                            {"use_beta_sigmas", "true", REFUSED},
                                            {"sigma_min", "0.1", NOTHING}, /* without use_karras_sigmas */
                                            {"sigma_max", "10", NOTHING},
                                            {"timestep_type", "\"continuous\"", REFUSED},
                                            {"final_sigmas_type", "\"sigma_min\"", CHANGES},
                                            {NULL}};
static const struct field ancestral_fields[] = {EULER_FIELDS, {"prediction_type", "\"sample\"", CHANGES}, {NULL}};
static const struct field ddim_fields[] = {
    EULER_FIELDS, CLIPPING_FIELDS, {"set_alpha_to_one", "false", CHANGES}, {"clip_sample", "true", CHANGES}, {NULL}};
static const struct field pndm_fields[] = {
    EULER_FIELDS, {"thresholding", "true", REFUSED}, {"set_alpha_to_one", "true", CHANGES}, {NULL}};
/* The last step is of the first order anyhow, because it leaves no noise. */
#define SOLVER_FIELDS                                                                                                  \
  {"solver_order", "1", CHANGES}, {"solver_order", "3", CHANGES}, {"solver_order", "0", REFUSED},                      \
      {"lower_order_final", "false", NOTHING}, {"use_karras_sigmas", "true", CHANGES},                                 \
      {"use_exponential_sigmas", "true", CHANGES}, {"use_beta_sigmas", "true", REFUSED},                               \
      {"use_flow_sigmas", "true", REFUSED}, {"flow_shift", "3.0", NOTHING}, {"thresholding", "true", REFUSED},         \
      {"sample_max_value", "2.0", NOTHING}, {"use_dynamic_shifting", "true", REFUSED}, {                               \
    "final_sigmas_type", "\"sigma_min\"", CHANGES                                                                      \
  }
static const struct field unipc_fields[] = {EULER_FIELDS,
                                            SOLVER_FIELDS,
                                            {"predict_x0", "false", REFUSED},
                                            {"solver_type", "\"bh1\"", CHANGES},
                                            {"solver_type", "\"midpoint\"", NOTHING},
                                            {"disable_corrector", "[0]", CHANGES},
                                            {"solver_p", "\"DDIM\"", REFUSED},
                                            {"shift_terminal", "0.1", REFUSED},
                                            {NULL}};
static const struct field dpm_fields[] = {EULER_FIELDS,
                                          SOLVER_FIELDS,
                                          {"algorithm_type", "\"sde-dpmsolver++\"", CHANGES},
                                          {"algorithm_type", "\"deis\"", NOTHING},
                                          {"solver_type", "\"heun\"", CHANGES},
                                          {"solver_type", "\"bh2\"", NOTHING},
                                          {"euler_at_final", "true", NOTHING},
                                          {"use_lu_lambdas", "true", REFUSED},
                                          {"lambda_min_clipped", "-5.1", NOTHING}, /* it is below all of them */
                                          {"lambda_min_clipped", "-1", REFUSED},
                                          {"variance_type", "\"learned\"", REFUSED},
                                          {NULL}};
/* LCM's spacing is its own, and its last step ends on the prediction. */
static const struct field lcm_fields[] = {{"num_train_timesteps", "500", REFUSED},
                                          {"beta_start", "0.001", CHANGES},
                                          {"beta_end", "0.03", CHANGES},
                                          {"beta_schedule", "\"linear\"", CHANGES},
                                          {"trained_betas", "[0.1]", REFUSED},
                                          {"prediction_type", "\"epsilon\"", CHANGES},
                                          {"timestep_spacing", "\"trailing\"", NOTHING},
                                          {"steps_offset", "7", NOTHING},
                                          {"rescale_betas_zero_snr", "true", CHANGES},
                                          {"set_alpha_to_one", "false", NOTHING},
                                          {"original_inference_steps", "100", CHANGES},
                                          {"timestep_scaling", "2.0", CHANGES},
                                          {"clip_sample", "true", CHANGES},
                                          CLIPPING_FIELDS,
                                          {NULL}};

static const struct field tcd_fields[] = {{"num_train_timesteps", "500", REFUSED},
                                          {"beta_start", "0.001", CHANGES},
                                          {"prediction_type", "\"epsilon\"", CHANGES},
                                          {"timestep_spacing", "\"trailing\"", NOTHING},
                                          {"steps_offset", "7", NOTHING},
                                          {"rescale_betas_zero_snr", "true", CHANGES},
                                          {"set_alpha_to_one", "false", NOTHING},
                                          {"original_inference_steps", "100", CHANGES},
                                          {"timestep_scaling", "2.0", NOTHING},
                                          {"thresholding", "true", REFUSED},
                                          {NULL}};

/* A file of this class with the field, in the place of one of the usual ones. */
static void write_scheduler(char *text, size_t size, const char *class, const struct field *field) {
  static const char *const usual[][2] = {
      {"clip_sample", "false"}, {"prediction_type", "\"v_prediction\""}, {"timestep_spacing", "\"leading\""}};
  int used = snprintf(text, size, "{\"_class_name\": \"%s\"", class);
  for (size_t i = 0; i < sizeof usual / sizeof *usual; i++)
    if (!field || strcmp(field->key, usual[i][0]))
      used += snprintf(text + used, size - (size_t)used, ", \"%s\": %s", usual[i][0], usual[i][1]);
  if (field)
    used += snprintf(text + used, size - (size_t)used, ", \"%s\": %s", field->key, field->value);
  snprintf(text + used, size - (size_t)used, "}");
}

/* What a scheduler's file makes of a run; false: it is refused. */
static bool scheduler_effect(const char *class, const struct field *field, struct sampler_table *table,
                             bool *clip_sample) {
  char text[400];
  struct scheduler_config config;
  struct error err = {0};
  write_scheduler(text, sizeof text, class, field);
  if (scheduler_config_parse(&config, text, "s.json", NULL, &err)) {
    assert_true(field && strstr(err.message, field->key));
    return false;
  }
  struct sampling sampling = {config.sampler,    config.spacing,         7, 1, .text_to_image = true,
                              .quantised = true, .sigmas = config.sigmas};
  memset(table, 0, sizeof *table);
  sampler_table(&config, &sampling, table);
  *clip_sample = config.clip_sample;
  return true;
}

static void check_scheduler_fields(const char *class, const struct field *fields) {
  struct sampler_table usual, table;
  bool clips, clips_now;
  assert_true(scheduler_effect(class, NULL, &usual, &clips));
  for (; fields->key; fields++) {
    enum effect effect = REFUSED;
    if (scheduler_effect(class, fields, &table, &clips_now))
      effect = clips != clips_now || memcmp(&usual, &table, sizeof table) ? CHANGES : NOTHING;
    if (effect != fields->effect)
      fail_msg("%s: %s %s: effect %d, wanted %d", class, fields->key, fields->value, effect, fields->effect);
  }
}

static void test_scheduler_fields(void **state) {
  (void)state;
  check_scheduler_fields("EulerDiscreteScheduler", euler_fields);
  check_scheduler_fields("EulerAncestralDiscreteScheduler", ancestral_fields);
  check_scheduler_fields("DDIMScheduler", ddim_fields);
  check_scheduler_fields("LCMScheduler", lcm_fields);
  check_scheduler_fields("TCDScheduler", tcd_fields);
  check_scheduler_fields("PNDMScheduler", pndm_fields);
  check_scheduler_fields("UniPCMultistepScheduler", unipc_fields);
  check_scheduler_fields("DPMSolverMultistepScheduler", dpm_fields);
}

static const struct field unet_fields[] = {
    {"sample_size", "96", CHANGES},
    {"in_channels", "8", CHANGES},
    {"out_channels", "8", CHANGES},
    {"center_input_sample", "true", REFUSED},
    {"flip_sin_to_cos", "false", CHANGES},
    {"freq_shift", "1", CHANGES},
    {"down_block_types", "[\"DownBlock2D\", \"DownBlock2D\", \"DownBlock2D\", \"DownBlock2D\"]", CHANGES},
    {"down_block_types", "[\"AttnDownBlock2D\", \"DownBlock2D\", \"DownBlock2D\", \"DownBlock2D\"]", REFUSED},
    {"mid_block_type", "\"UNetMidBlock2D\"", CHANGES},
    {"mid_block_type", "null", CHANGES},
    {"up_block_types", "[\"UpBlock2D\", \"UpBlock2D\", \"UpBlock2D\", \"UpBlock2D\"]", CHANGES},
    {"only_cross_attention", "true", CHANGES},
    {"block_out_channels", "[320, 640, 1280, 640]", CHANGES},
    {"layers_per_block", "3", CHANGES},
    {"downsample_padding", "0", REFUSED},
    {"mid_block_scale_factor", "2", REFUSED},
    {"dropout", "0.5", NOTHING}, /* acts in training */
    {"act_fn", "\"gelu\"", REFUSED},
    {"norm_num_groups", "16", CHANGES},
    {"norm_eps", "1e-6", CHANGES},
    {"cross_attention_dim", "768", CHANGES},
    {"transformer_layers_per_block", "2", CHANGES},
    {"reverse_transformer_layers_per_block", "[[1, 1, 1], [2, 2, 2], [1, 1, 1], [1, 1, 1]]", CHANGES},
    {"encoder_hid_dim", "4096", REFUSED},
    {"encoder_hid_dim_type", "\"text_proj\"", REFUSED},
    {"attention_head_dim", "16", CHANGES},
    {"num_attention_heads", "4", REFUSED},
    {"dual_cross_attention", "true", REFUSED},
    {"use_linear_projection", "true", CHANGES},
    {"class_embed_type", "\"timestep\"", REFUSED},
    {"addition_embed_type", "\"image\"", REFUSED},
    {"num_class_embeds", "10", REFUSED},
    {"upcast_attention", "true", CHANGES},
    {"resnet_time_scale_shift", "\"scale_shift\"", REFUSED},
    {"resnet_skip_time_act", "true", REFUSED},
    {"resnet_out_scale_factor", "2", REFUSED},
    {"time_embedding_type", "\"fourier\"", REFUSED},
    {"time_embedding_dim", "640", CHANGES},
    {"time_embedding_act_fn", "\"silu\"", REFUSED},
    {"timestep_post_act", "\"silu\"", REFUSED},
    {"time_cond_proj_dim", "256", CHANGES},
    {"conv_in_kernel", "1", REFUSED},
    {"conv_out_kernel", "1", REFUSED},
    {"attention_type", "\"gated\"", REFUSED},
    {"class_embeddings_concat", "true", REFUSED},
    {"mid_block_only_cross_attention", "true", NOTHING}, /* the class takes it and does not act on it */
    {"cross_attention_norm", "\"layer_norm\"", REFUSED},
    {"addition_embed_type_num_heads", "32", NOTHING}, /* of the type "text", which is refused */
};

static void test_unet_fields(void **state) {
  (void)state;
  const struct unet_config usual = good_unet("{}");
  for (size_t i = 0; i < sizeof unet_fields / sizeof *unet_fields; i++) {
    const struct field *field = &unet_fields[i];
    char text[300];
    struct unet_config unet;
    struct error err = {0};
    enum effect effect = REFUSED;
    snprintf(text, sizeof text, "{\"%s\": %s}", field->key, field->value);
    if (!unet_config_parse(&unet, text, "unet/config.json", &err))
      effect = memcmp(&unet, &usual, sizeof unet) ? CHANGES : NOTHING;
    if (effect != field->effect)
      fail_msg("%s %s: effect %d, wanted %d (%s)", field->key, field->value, effect, field->effect, err.message);
  }
}

static const struct field clip_fields[] = {
    {"vocab_size", "1000", CHANGES},
    {"hidden_size", "1024", CHANGES},
    {"intermediate_size", "4096", CHANGES},
    {"projection_dim", "768", CHANGES},
    {"num_hidden_layers", "23", CHANGES},
    {"num_attention_heads", "16", CHANGES},
    {"max_position_embeddings", "64", CHANGES},
    {"hidden_act", "\"gelu\"", CHANGES},
    {"hidden_act", "\"relu\"", REFUSED},
    {"layer_norm_eps", "1e-6", CHANGES},
    {"attention_dropout", "0.5", NOTHING}, /* acts in training */
    {"initializer_range", "0.5", NOTHING},
    {"initializer_factor", "0.5", NOTHING},
    {"pad_token_id", "5", NOTHING}, /* the tokenizer's own fills up */
    {"bos_token_id", "5", NOTHING},
    {"eos_token_id", "5", CHANGES},
    {"text_config", "{\"hidden_size\": 3}", REFUSED},
    {"is_decoder", "true", REFUSED},
};

static void test_clip_fields(void **state) {
  (void)state;
  struct clip_config usual, clip;
  struct error err = {0};
  assert_int_equal(clip_config_parse(&usual, "{}", "config.json", &err), 0);
  for (size_t i = 0; i < sizeof clip_fields / sizeof *clip_fields; i++) {
    const struct field *field = &clip_fields[i];
    char text[200];
    enum effect effect = REFUSED;
    snprintf(text, sizeof text, "{\"%s\": %s}", field->key, field->value);
    if (!clip_config_parse(&clip, text, "config.json", &err))
      effect = memcmp(&clip, &usual, sizeof clip) ? CHANGES : NOTHING;
    if (effect != field->effect)
      fail_msg("%s %s: effect %d, wanted %d", field->key, field->value, effect, field->effect);
  }
}

/* A small model. Its files are valid; the tests spoil one at a time. */
static const char *const model_files[][2] = {
    {"model_index.json", MODEL_INDEX("")},
    {"unet/config.json", "{\"cross_attention_dim\": 16, \"attention_head_dim\": 2, " LEVELS2 "}"},
    {"vae/config.json", "{\"_class_name\": \"AutoencoderTiny\"}"},
    {"text_encoder/config.json", "{\"hidden_size\": 16, \"vocab_size\": 4}"},
    {"tokenizer/vocab.json", "{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1, \"a\": 2, \"a</w>\": 3}"},
    {"tokenizer/merges.txt", "#version: 0.2\n"},
    {"scheduler/scheduler_config.json", "{\"_class_name\": \"EulerDiscreteScheduler\"}"},
};

/* A file whose data is F16 1, 2, 1, 2, ... */
static void write_tensors(const char *folder, const char *name, const char *header, size_t data_bytes) {
  uint16_t data[128];
  assert_true(data_bytes <= sizeof data);
  for (size_t i = 0; i < 128; i++)
    data[i] = i % 2 ? 0x4000 : 0x3c00;
  fixture_tensors(folder, name, header, -1, data, data_bytes);
}

static char *make_model(void) {
  char *folder = fixture_make();
  for (size_t i = 0; i < sizeof model_files / sizeof *model_files; i++)
    fixture_text(folder, model_files[i][0], model_files[i][1]);
  write_tensors(folder, "unet/diffusion_pytorch_model.safetensors",
                "{\"conv.weight\": {\"dtype\": \"F16\", \"shape\": [2, 3, 3, 3], \"data_offsets\": [0, 108]},"
                "\"q\": {\"dtype\": \"F16\", \"shape\": [2, 4], \"data_offsets\": [108, 124]},"
                "\"k\": {\"dtype\": \"F16\", \"shape\": [3, 4, 1, 1], \"data_offsets\": [124, 148]},"
                "\"bias\": {\"dtype\": \"F16\", \"shape\": [5], \"data_offsets\": [148, 158]},"
                "\"ids\": {\"dtype\": \"I64\", \"shape\": [1], \"data_offsets\": [158, 166]}}",
                166);
  write_tensors(folder, "vae/diffusion_pytorch_model.fp16.safetensors", "{}", 0);
  write_tensors(folder, "text_encoder/model.safetensors",
                "{\"text_model.embeddings.token_embedding.weight\": {\"dtype\": \"F16\", \"shape\": [4, 16],"
                "\"data_offsets\": [0, 128]}}",
                128);
  return folder;
}

static struct checkpoint *open_model(const char *folder, const char *vae) {
  struct checkpoint *checkpoint;
  struct error err;
  if (checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder, .vae = vae}, NULL, &err))
    fail_msg("%s", err.message);
  return checkpoint;
}

static void test_open(void **state) {
  (void)state;
  char *folder = make_model();
  struct checkpoint *checkpoint = open_model(folder, NULL);
  assert_string_equal(checkpoint->name, strrchr(folder, '/') + 1);
  assert_false(checkpoint->image_condition);
  assert_string_equal(checkpoint->text_encoders[0].weights.prefix, "text_model.");
  assert_int_equal(checkpoint_bytes(checkpoint), 166 + 128);
  assert_null(checkpoint->styles);
  static const char *const parts[] = {"unet", "vae", "text_encoder"}; /* and no adapter */
  for (int i = 0; i < 3; i++)
    assert_string_equal(checkpoint_component(checkpoint, i)->name, parts[i]);
  assert_null(checkpoint_component(checkpoint, 3));
  char *text = NULL;
  size_t length = 0;
  FILE *out = open_memstream(&text, &length);
  checkpoint_print(checkpoint, true, out);
  fclose(out);
  assert_non_null(strstr(text, "native size 512x512"));
  assert_non_null(strstr(text, "a family of its own"));
  assert_int_equal(checkpoint_parameters(checkpoint), 54 + 8 + 12 + 5 + 64);
  assert_non_null(strstr(text, "conv.weight"));
  assert_non_null(strstr(text, "EulerDiscreteScheduler"));
  free(text);
  checkpoint_close(&checkpoint);
  assert_null(checkpoint);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* Each of these files is needed, and each is checked. */
static void test_open_refusals(void **state) {
  (void)state;
  static const char *const bad[][3] = {
      {"model_index.json", NULL, "model_index.json"},
      {"model_index.json", "", "model_index.json"},
      {"model_index.json", "{\"unet\": [\"diffusers\", \"Kandinsky3UNet\"]}", "Kandinsky3UNet"},
      {"model_index.json", "{\"text_encoder_3\": [\"transformers\", \"T5EncoderModel\"]}", "text_encoder_3"},
      {"model_index.json", MODEL_INDEX(", \"motion_adapter\": [\"diffusers\", \"MotionAdapter\"]"), "motion_adapter"},
      {"model_index.json", MODEL_INDEX(", \"adapter\": [\"diffusers\", \"T2IAdapter\"]"), "T2IAdapter"},
      {"model_index.json", MODEL_INDEX(", \"depth_estimator\": [\"transformers\", \"DPT\"]"), "depth_estimator"},
      {"unet/config.json", NULL, "unet/config.json"},
      {"unet/config.json", "{}", "cross_attention_dim"},
      {"unet/config.json",
       "{\"cross_attention_dim\": 16, \"addition_embed_type\": \"text_time\", \"addition_time_embed_dim\": 8,"
       "\"projection_class_embeddings_input_dim\": 64}",
       "asks for pooled text"},
      {"unet/config.json", "{\"in_channels\": 7, \"cross_attention_dim\": 16}", "in_channels: 7"},
      {"unet/config.json", "{\"out_channels\": 8, \"cross_attention_dim\": 16}", "--vae"},
      {"unet/diffusion_pytorch_model.safetensors", NULL, "safetensors"},
      {"unet/diffusion_pytorch_model.safetensors", "", "0 bytes"},
      {"unet/diffusion_pytorch_model.safetensors", "random bytes that are none", "safetensors file"},
      {"vae/config.json", NULL, "vae/config.json"},
      {"vae/config.json", "{\"_class_name\": \"VQModel\"}", "--vae"},
      {"vae/diffusion_pytorch_model.fp16.safetensors", NULL, "diffusion_pytorch_model.safetensors"},
      {"text_encoder/config.json", NULL, "text_encoder/config.json"},
      {"text_encoder/config.json", "{\"hidden_size\": 16, \"vocab_size\": 3}", "vocab_size: 3"},
      {"text_encoder/model.safetensors", NULL, "model.safetensors"},
      {"tokenizer/vocab.json", NULL, "vocab.json"},
      {"tokenizer/tokenizer_config.json", "{\"model_max_length\": 64}", "model_max_length 64"},
      {"tokenizer/merges.txt", NULL, "merges.txt"},
      {"scheduler/scheduler_config.json", NULL, "scheduler_config.json"},
      {"styles.json", "{}", "styles.json"},
      {"styles.json", "{\"styles\": {\"oil\": \"oil\"}}", "styles.json"},
      {"styles.json", "{\"styles\": {\"oil\": [\"oil\"]}, \"default\": \"ink\"}", "default"},
      {"styles.json", "{\"styles\": {\"oil\": []}, \"default\": \"oil\"}", "default"},
      {"styles.json", "{\"styles\": {\"oil\": [\"oil\"]}, \"default\": 1}", "default"},
      {"styles.json", "{\"styles\": {}, \"strength\": \"other\"}", "strength"},
      {"styles.json", "{\"styles\": {}, \"strength\": true}", "strength"},
      {"styles.json", "{\"styles\": {}, \"guidance\": 1}", "guidance"},
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    char *folder = make_model(), *path = fixture_path(folder, bad[i][0]);
    unlink(path);
    if (bad[i][1])
      fixture_text(folder, bad[i][0], bad[i][1]);
    struct checkpoint *checkpoint = NULL;
    struct error err = {0};
    if (!checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err))
      fail_msg("accepted %s: %s", bad[i][0], bad[i][1]);
    check_message(&err, folder, bad[i][2], "");
    assert_null(checkpoint);
    free(path);
    fixture_remove(folder);
  }
}

/* Folders of something else are said to be what they are. */
static void test_other_folders(void **state) {
  (void)state;
  static const char *const cases[][2] = {{"adapter_config.json", "--lora"}, {"config.json", "--vae"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *folder = fixture_make();
    struct checkpoint *checkpoint = NULL;
    struct error err = {0};
    fixture_text(folder, cases[i][0], "{}");
    assert_int_equal(checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err), -1);
    check_message(&err, folder, cases[i][1], "not");
    fixture_remove(folder);
  }
}

/* With --vae the model's own autoencoder is not even looked at. */
static void test_other_vae(void **state) {
  (void)state;
  char *folder = make_model(), *other = make_model(), *path = fixture_path(folder, "vae/config.json");
  fixture_text(folder, "vae/config.json", "{\"_class_name\": \"VQModel\"}");
  char *vae = fixture_path(other, "vae");
  struct checkpoint *checkpoint = open_model(folder, vae);
  assert_string_equal(checkpoint->autoencoder.weights.folder, vae);
  checkpoint_close(&checkpoint);
  unlink(path);
  checkpoint = open_model(folder, other); /* a whole model: its autoencoder */
  assert_string_equal(checkpoint->autoencoder.weights.folder, vae);
  checkpoint_close(&checkpoint);
  free(path);
  free(vae);
  fixture_remove(folder);
  fixture_remove(other);
}

static void test_image_condition(void **state) {
  (void)state;
  char *folder = make_model();
  fixture_text(folder, "unet/config.json", "{\"in_channels\": 8, \"cross_attention_dim\": 16}");
  struct checkpoint *checkpoint = open_model(folder, NULL);
  assert_true(checkpoint->image_condition && checkpoint->image_scale == 1 / 0.18215f);
  checkpoint_close(&checkpoint);
  fixture_text(folder, "unet/config.json",
               "{\"in_channels\": 8, \"cross_attention_dim\": 16, \"_image_scaling_factor\": 0.5}");
  checkpoint = open_model(folder, NULL);
  assert_true(checkpoint->image_scale == 2 && !checkpoint->inpainting);
  checkpoint_close(&checkpoint);
  fixture_text(folder, "unet/config.json", "{\"in_channels\": 9, \"cross_attention_dim\": 16}");
  checkpoint = open_model(folder, NULL);
  assert_true(checkpoint->inpainting && !checkpoint->image_condition);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* What a model of this U-Net makes of a DDIM scheduler whose file says little; NULL: it is refused. */
static struct checkpoint *open_with_scheduler(const char *unet, const char *scheduler) {
  char *folder = make_model();
  struct checkpoint *checkpoint = NULL;
  struct error err = {0};
  fixture_text(folder, "unet/config.json", unet);
  fixture_text(folder, "scheduler/scheduler_config.json", scheduler);
  if (checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err))
    check_message(&err, strrchr(folder, '/') + 1, "clip_sample", "true");
  fixture_remove(folder);
  return checkpoint;
}

static void test_pipelines_settle_schedulers(void **state) {
  (void)state;
#define DDIM "{\"_class_name\": \"DDIMScheduler\", \"steps_offset\": 0, \"clip_sample\": "
  struct checkpoint *sd = open_with_scheduler("{\"cross_attention_dim\": 16}", DDIM "true}");
  assert_non_null(sd);
  assert_true(sd->scheduler.steps_offset == 1 && !sd->scheduler.clip_sample);
  checkpoint_close(&sd);
  struct checkpoint *pix2pix = open_with_scheduler("{\"in_channels\": 8, \"cross_attention_dim\": 16}", DDIM "false}");
  assert_non_null(pix2pix);
  assert_int_equal(pix2pix->scheduler.steps_offset, 0);
  checkpoint_close(&pix2pix);
  struct checkpoint *inpaint = open_with_scheduler("{\"in_channels\": 9, \"cross_attention_dim\": 16}", DDIM "false}");
  assert_non_null(inpaint);
  assert_int_equal(inpaint->scheduler.steps_offset, 1);
  checkpoint_close(&inpaint);
  assert_null(open_with_scheduler("{\"in_channels\": 9, \"cross_attention_dim\": 16}", DDIM "true}"));
  assert_null(open_with_scheduler("{\"in_channels\": 8, \"cross_attention_dim\": 16}", DDIM "true}"));
}

static void test_weights(void **state) {
  (void)state;
  char *folder = make_model();
  struct checkpoint *checkpoint = open_model(folder, NULL);
  const struct component *unet = &checkpoint->predictors[0].weights;
  struct resources resources = {0};
  struct error err = {0};
  struct tensor conv = checkpoint_conv(unet, &resources, &(struct stack_part){"conv.weight", 2}, 3, 3, &err);
  assert_int_equal(conv.space, TENSOR_RESOURCE);
  assert_true(conv.n == 2 && conv.h == 3 && conv.w == 3 && conv.c == 3);
  assert_string_equal(resources.list[conv.index].name, "unet/conv.weight");
  float values[54];
  assert_int_equal(resource_read_f32(&resources.list[conv.index], values, &err), 0);
  assert_true(values[0] == 1 && values[1] == 2 && values[3] == 2 && values[2] == 1);
  struct tensor stack = checkpoint_stack(unet, &resources, "qk", (struct stack_part[]){{"q", 2}, {"k", 3}}, 2, 4, &err);
  assert_true(stack.n == 5 && stack.h == 1 && stack.w == 1 && stack.c == 4);
  assert_int_equal(resources.list[stack.index].part_count, 2);
  struct tensor bias = checkpoint_vector(unet, &resources, "bias", 5, &err);
  assert_true(bias.n == 1 && bias.c == 5);
  struct tensor matrix = checkpoint_matrix(unet, &resources, "k", 3, 4, &err);
  assert_true(matrix.n == 3 && matrix.c == 4);
  assert_int_equal(checkpoint_matrix(unet, &resources, "k", 3, 4, &err).index, matrix.index);

  assert_false(tensor_exists(checkpoint_conv(unet, &resources, &(struct stack_part){"conv.weight", 2}, 4, 3, &err)));
  check_message(&err, "conv.weight", "[2, 3, 3, 3]", "[2, 4, 3, 3]");
  assert_false(tensor_exists(checkpoint_vector(unet, &resources, "q", 2, &err)));
  check_message(&err, "tensor q", "[2, 4]", "[2]");
  assert_false(tensor_exists(checkpoint_matrix(unet, &resources, "conv.weight", 2, 3, &err)));
  check_message(&err, "conv.weight", "[2, 3, 3, 3]", "[2, 3]");
  assert_false(tensor_exists(checkpoint_vector(unet, &resources, "none", 2, &err)));
  check_message(&err, folder, "none", "");
  assert_false(tensor_exists(checkpoint_vector(unet, &resources, "ids", 1, &err)));
  check_message(&err, folder, "ids", "I64");
  resources_free(&resources);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

static void expect_prompt(const struct styles *styles, const char *text, const char *expected) {
  char *prompt = styles_prompt(styles, text);
  assert_non_null(prompt);
  assert_string_equal(prompt, expected);
  free(prompt);
}

static void test_styles(void **state) {
  (void)state;
  char *folder = make_model();
  fixture_text(folder, "styles.json",
               "{\"styles\": {\"oil\": [\"oil painting\", \"impasto\"], \"ink\": [\"ink\"]},"
               "\"moods\": {\"night\": [\"at night\"]}}");
  struct checkpoint *checkpoint = open_model(folder, NULL);
  const struct styles *styles = checkpoint->styles;
  assert_int_equal(styles_count(styles), 2);
  assert_string_equal(styles_name(styles, 0), "oil");
  assert_true(styles_match(styles, "an Oil Painting of a cat"));
  assert_true(styles_match(styles, "impasto"));
  assert_true(styles_match(styles, "a town at night"));
  assert_true(styles_match(styles, "pinkish ink!"));
  assert_true(styles_match(styles, "\u201cink\u201d, \u2014impasto\u2026"));
  assert_true(styles_match(styles, "\u6c34\u3001ink\u3002"));
  assert_false(styles_match(styles, "\u00e9ink") || styles_match(styles, "ink\u0301") ||
               styles_match(styles, "\xffink"));
  assert_false(styles_match(styles, "a pink cat"));
  assert_false(styles_match(styles, "oil  painting")); /* phrases are taken as they are */
  assert_false(styles_match(styles, ""));
  assert_true(styles_match(NULL, "anything"));
  assert_int_equal(styles_count(NULL), 0);
  assert_true(!styles_default(styles) && !styles_blends(styles) && !styles_refuses_guidance(styles));
  assert_true(!styles_default(NULL) && !styles_blends(NULL) && !styles_refuses_guidance(NULL));
  expect_prompt(NULL, "a cat", "a cat");
  expect_prompt(styles, "a cat at night", "a cat at night"); /* there is no default */
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* What a style list makes of prompts where it has a default. */
static void test_default_style(void **state) {
  (void)state;
  char *folder = make_model();
  fixture_text(folder, "styles.json",
               "{\"default\": \"ink\", \"strength\": \"blend\", \"guidance\": false,"
               "\"styles\": {\"oil\": [\"oil\"], \"ink\": [\"pen and ink\", \"ink\"]},"
               "\"moods\": {\"night\": [\"night\", \"at night\"], \"snow\": [\"snowy\"]}}");
  struct checkpoint *checkpoint = open_model(folder, NULL);
  const struct styles *styles = checkpoint->styles;
  assert_string_equal(styles_default(styles), "ink");
  assert_true(styles_blends(styles) && styles_refuses_guidance(styles));
  expect_prompt(styles, "a cat in Oil at night", "a cat in Oil at night");
  expect_prompt(styles, "", "");
  expect_prompt(styles, " ... ", " ... ");
  expect_prompt(styles, "a cat", "pen and ink");
  expect_prompt(styles, "oily nights", "pen and ink");
  expect_prompt(styles, " At Night!", " At Night!");
  expect_prompt(styles, "snowy", "snowy");
  expect_prompt(styles, "a cat at NIGHT", "pen and ink, at night");
  expect_prompt(styles, "snowy, at night", "pen and ink, at night, snowy");
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unet_sd15),
      cmocka_unit_test(test_unet_others),
      cmocka_unit_test(test_unet_sdxl),
      cmocka_unit_test(test_unet_refusals),
      cmocka_unit_test(test_tae),
      cmocka_unit_test(test_kl),
      cmocka_unit_test(test_kl_refusals),
      cmocka_unit_test(test_tae_refusals),
      cmocka_unit_test(test_clip),
      cmocka_unit_test(test_scheduler),
      cmocka_unit_test(test_scheduler_refusals),
      cmocka_unit_test(test_scheduler_fields),
      cmocka_unit_test(test_unet_fields),
      cmocka_unit_test(test_clip_fields),
      cmocka_unit_test(test_pipelines_settle_schedulers),
      cmocka_unit_test(test_open),
      cmocka_unit_test(test_open_refusals),
      cmocka_unit_test(test_second_text_encoder),
      cmocka_unit_test(test_other_vae),
      cmocka_unit_test(test_other_folders),
      cmocka_unit_test(test_image_condition),
      cmocka_unit_test(test_weights),
      cmocka_unit_test(test_styles),
      cmocka_unit_test(test_default_style),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
