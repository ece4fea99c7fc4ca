/* Tests which model family an adapter's file is for, as the names and shapes of its tensors show. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/adapter_rig.h"
#include "tests/rigs/fixture.h"

/* The family is recognised by the names of blocks, and by widths where several families share names. */
static void test_base(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int columns;
    const char *family;
  } cases[] = {
      {"lora_unet_down_blocks_0_attentions_0_proj_in", 320, "SD 1 or SD 2"},
      {"unet.up_blocks.3.attentions.2.transformer_blocks.0.attn1.to_q", 320, "SD 1 or SD 2"},
      {"lora_unet_output_blocks_11_1_proj_out", 320, "SD 1 or SD 2"},
      {"lora_unet_mid_block_attentions_0_transformer_blocks_0_attn2_to_k", 768, "SD 1.x"},
      {"lora_unet_mid_block_attentions_0_transformer_blocks_0_attn2_to_k", 1024, "SD 2.x"},
      {"lora_unet_mid_block_attentions_0_transformer_blocks_0_attn2_to_v", 2048, "SDXL"},
      {"diffusion_model.output_blocks.1.1.transformer_blocks.9.attn1.to_q", 1280, "SDXL"},
      {"lora_unet_input_blocks_7_1_transformer_blocks_1_ff_net_2", 5120, "SDXL"},
      {"lora_unet_up_blocks_0_attentions_0_proj_in", 1280, "SDXL"},
      {"lora_te2_text_model_encoder_layers_30_mlp_fc1", 1280, "SDXL"},
      {"lora_unet_conv_out", 320, "not to be seen"},
      {"transformer.single_transformer_blocks.1.attn.to_q", 3072, "FLUX"},
      {"transformer.transformer_blocks.18.attn.to_q", 3072, "FLUX"},
      {"transformer.transformer_blocks.59.attn.to_q", 3072, "Qwen-Image"},
      {"transformer.transformer_blocks.23.attn.to_q", 1536, "SD 3"},
      {"transformer.transformer_blocks.37.attn.to_q", 2432, "SD 3"},
      {"transformer.transformer_blocks.3.attn1.to_q", 3072, "Mochi"},
      {"transformer.transformer_blocks.3.attn1.add_k_proj", 1536, "Mochi"},
      {"blocks.3.attn.qkv_x", 3072, "Mochi"},
      {"transformer.transformer_blocks.3.attn1.to_q", 1152, "a transformer (PixArt"},
      {"transformer.blocks.3.attn1.to_q", 5120, "Wan"},
      {"transformer.blocks.3.attn2.to_k", 2048, "Wan"},
      {"transformer.blocks.3.ffn.net.0.proj", 1536, "Wan"},
      {"diffusion_model.vace_blocks.3.self_attn.q", 1536, "Wan"},
      {"transformer.layers.0.attn.to_q", 2304, "Lumina"},
      {"diffusion_model.layers.0.attention.qkv", 2304, "Lumina"},
      {"lora_unet_layers_25_feed_forward_w1", 2304, "Lumina"},
      {"lora_unet_noise_refiner_0_attention_out", 2304, "Lumina"},
      {"transformer.context_refiner.1.attn.to_k", 2304, "Lumina"},
      {"transformer.joint_transformer_blocks.0.attn.to_q", 3072, "AuraFlow"},
      {"transformer.single_transformer_blocks.3.ff.linear_1", 3072, "AuraFlow"},
      {"lora_unet_double_layers_0_attn_w1q", 3072, "AuraFlow"},
      {"unet.down_blocks.3.motion_modules.0.transformer_blocks.0.attn1.to_q", 1280, "the motion modules"},
      {"module.up_blocks.1.motion_modules.0.temporal_transformer.transformer_blocks.0.attention_blocks.0.to_v", 640,
       "the motion modules"},
      {"unet.down_blocks.0.attentions.0.temporal_transformer_blocks.0.attn1.to_q", 320, "Stable Video Diffusion"},
      {"lora_te3_encoder_block_0_layer_0_SelfAttention_q", 4096, "T5"},
      {"lora_te2_encoder_block_11_layer_1_DenseReluDense_wo", 10240, "T5"},
      {"text_encoders.t5xxl.transformer.encoder.block.0.layer.0.SelfAttention.k", 4096, "T5"},
      {"text_encoder.model.layers.3.self_attn.q_proj", 2304, "a language model"},
      {"lora_unet_double_blocks_0_img_mod_linear", 3072, "HunyuanVideo"},
      {"diffusion_model.double_blocks.3.txt_mlp.fc1", 3072, "HunyuanVideo"},
      {"lora_unet_single_blocks_39_linear1", 3072, "HunyuanVideo"},
      {"transformer.transformer_blocks.19.attn.to_q", 3072, "HunyuanVideo"},
      {"transformer.single_transformer_blocks.38.attn.to_q", 3072, "HunyuanVideo"},
      {"lora_unet_single_blocks_47_linear1", 6144, "FLUX"},
      {"lora_unet_transformer_blocks_3_txt_mod_1", 3072, "Qwen-Image"},
      {"transformer.transformer_blocks.3.attn1.to_q", 2048, "LTX-Video"},
      {"diffusion_model.transformer_blocks.3.attn2.to_k", 2048, "LTX-Video"},
      {"lora_unet_transformer_blocks_47_attn1_to_q", 4096, "LTX-Video"},
      {"lora_unet_distilled_guidance_layer_layers_0_in_layer", 64, "Chroma"},
  };
  char *folder = fixture_make(), *path = fixture_path(folder, "a.safetensors");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char down[160], up[160], line[80], *text;
    size_t length;
    struct safetensors *files;
    struct error err;
    snprintf(down, sizeof down, "%s.lora_down.weight", cases[i].name);
    snprintf(up, sizeof up, "%s.lora_up.weight", cases[i].name);
    write_adapter(folder, (struct tensor_text[]){{down, {1, cases[i].columns}}, {up, {8, 1}}, {0}}, 1);
    must(safetensors_open_file(&files, path, &err), &err);
    FILE *out = open_memstream(&text, &length);
    must(adapter_print(files, out, &err), &err);
    fclose(out);
    snprintf(line, sizeof line, "base family: %s", cases[i].family);
    if (!strstr(text, line))
      fail_msg("%s: expected %s in: %s", cases[i].name, line, text);
    free(text);
    safetensors_close(&files);
  }
  free(path);
  fixture_remove(folder);
}

/* Where families share the names of blocks, the trainer's note about the model (metadata of the file) decides. */
static void test_said(void **state) {
  (void)state;
  static const struct {
    const char *name, *metadata, *family;
  } cases[] = {
      {"lora_unet_double_blocks_0_img_attn_qkv", "\"modelspec.architecture\": \"chroma/lora\"", "Chroma"},
      {"lora_unet_double_blocks_0_img_attn_qkv", "\"ss_base_model_version\": \"hunyuan_video\"", "HunyuanVideo"},
      {"lora_unet_double_blocks_0_img_attn_qkv", "\"ss_base_model_version\": \"sdxl_base_v1-0\"", "FLUX"},
      {"lora_unet_conv_out", "\"modelspec.architecture\": \"stable-diffusion-xl-v1-base/lora\"", "SDXL"},
      {"lora_unet_input_blocks_1_1_proj_in", "\"ss_base_model_version\": \"flux1\"", "SD 1 or SD 2"},
  };
  char *folder = fixture_make(), *path = fixture_path(folder, "a.safetensors");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char header[512], line[80], *text;
    size_t length;
    struct safetensors *files;
    struct error err;
    snprintf(header, sizeof header,
             "{\"__metadata__\": {%s}, \"%s.diff\": {\"dtype\": \"F32\", \"shape\": [1], \"data_offsets\": [0, 4]}}",
             cases[i].metadata, cases[i].name);
    fixture_tensors(folder, "a.safetensors", header, -1, &(float){1}, 4);
    must(safetensors_open_file(&files, path, &err), &err);
    FILE *out = open_memstream(&text, &length);
    must(adapter_print(files, out, &err), &err);
    fclose(out);
    snprintf(line, sizeof line, "base family: %s", cases[i].family);
    if (!strstr(text, line))
      fail_msg("%s: expected %s in: %s", cases[i].metadata, line, text);
    free(text);
    safetensors_close(&files);
  }
  free(path);
  fixture_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_base), cmocka_unit_test(test_said)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
