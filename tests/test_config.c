/* Tests config files of published networks, and fields that are refused. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "tests/rigs/config_case.h"
#include "unet/checkpoint/ip_adapter.h"

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
  /* fields that are missing have the defaults of diffusers' class, except for the text width */
  assert_memory_equal(&unet, &absent, sizeof unet);
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
  unet = good_unet("{\"_diffusers_version\": \"0.6.0\", \"sample_size\": 32}"); /* SD 1's files say 64 */
  assert_true(unet.sample_height == 64 && unet.sample_width == 64);
  unet = good_unet("{\"_diffusers_version\": \"0.9.0\", \"sample_size\": 32}");
  assert_int_equal(unet.sample_width, 32);
  unet = good_unet("{\"mid_block_type\": \"UNetMidBlock2D\"}");
  assert_true(unet.mid_block && !unet.mid_attention);
  unet = good_unet("{\"only_cross_attention\": true, \"mid_block_only_cross_attention\": true}");
  assert_true(unet.only_cross_attention[0] && unet.only_cross_attention[3]);
}

/* The published fields of SDXL, and of SSD-1B as its file writes them. */
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

/* Autoencoder configs of SD 1 and SDXL as published, and the defaults of diffusers' class. */
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
    {"dropout", "0.5", NOTHING}, /* has an effect in training only */
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
    {"mid_block_only_cross_attention", "true", NOTHING}, /* diffusers accepts this field and ignores it */
    {"cross_attention_norm", "\"layer_norm\"", REFUSED},
    {"addition_embed_type_num_heads", "32", NOTHING}, /* has an effect only with the type "text", which is refused */
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
    {"attention_dropout", "0.5", NOTHING}, /* has an effect in training only */
    {"initializer_range", "0.5", NOTHING},
    {"initializer_factor", "0.5", NOTHING},
    {"pad_token_id", "5", NOTHING}, /* padding uses the tokenizer's token */
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

enum { READERS = 9 };

/* Reads the text with config reader number `reader`. */
static int read_with(int reader, const char *text, const char *path, struct error *err) {
  union {
    struct unet_config unet;
    struct controlnet_config control;
    struct t2i_config t2i;
    struct autoencoder autoencoder;
    struct clip_config clip;
    struct depth_config depth;
    struct vision_config vision;
    struct scheduler_config scheduler;
  } out = {0};
  switch (reader) {
  case 0:
    return unet_config_parse(&out.unet, text, path, err);
  case 1:
    return controlnet_config_parse(&out.control, text, path, err);
  case 2:
    return t2i_config_parse(&out.t2i, text, path, err);
  case 3:
    return autoencoder_config_parse(&out.autoencoder, text, path, err);
  case 4:
    return clip_config_parse(&out.clip, text, path, err);
  case 5:
    return depth_config_parse(&out.depth, text, path, err);
  case 6:
    return depth_preprocessor_parse(&out.depth, text, path, err);
  case 7:
    return vision_config_parse(&out.vision, text, path, err);
  default:
    return scheduler_config_parse(&out.scheduler, text, path, NULL, err);
  }
}

/* Every reader refuses a text whose outermost JSON value is no object, even an array with elements. */
static void test_roots(void **state) {
  (void)state;
  static const char *const roots[] = {"[[\"a\", \"b\"], {}]", "[]", "1", "\"word\"", "null", "true", "", "{} {}"};
  for (size_t i = 0; i < sizeof roots / sizeof *roots; i++)
    for (int reader = 0; reader < READERS; reader++) {
      struct error err = {0};
      if (!read_with(reader, roots[i], "x/config.json", &err))
        fail_msg("reader %d takes %s", reader, roots[i]);
      check_message(&err, "x/config.json", "is not a JSON object", "");
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unet_sd15),     cmocka_unit_test(test_unet_others),  cmocka_unit_test(test_unet_sdxl),
      cmocka_unit_test(test_unet_refusals), cmocka_unit_test(test_tae),          cmocka_unit_test(test_kl),
      cmocka_unit_test(test_kl_refusals),   cmocka_unit_test(test_tae_refusals), cmocka_unit_test(test_clip),
      cmocka_unit_test(test_unet_fields),   cmocka_unit_test(test_clip_fields),  cmocka_unit_test(test_roots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
