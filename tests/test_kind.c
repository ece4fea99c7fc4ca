/* Tests how the kind of a weight file is recognised, and the messages about files of another kind. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/scratch.h"
#include "unet/checkpoint/kind.h"

static void check_says(const struct error *err, const char *name, const char *says) {
  assert_int_equal(err->status, STATUS_MODEL);
  if (!strstr(err->message, name) || !strstr(err->message, says) || strchr(err->message, '\n'))
    fail_msg("expected %s and %s in: %s", name, says, err->message);
}

/* --- formats --- */

static struct error check_file(const char *name, const void *bytes, size_t size, const char *says) {
  struct safetensors *files = NULL;
  struct error err = {0};
  char *path = fixture_path(scratch, name);
  fixture_write(scratch, name, bytes, size);
  assert_int_equal(safetensors_open_file(&files, path, &err), -1);
  check_says(&err, name, says);
  free(path);
  return err;
}

static void test_formats(void **state) {
  (void)state;
  static const char zip[40] = "PK\3\4", pickle[40] = "\x80\2}q", other[40] = "something else that has no known start";
  static const char *const pickles[] = {"a.ckpt", "a.pt", "a.pth", "a.bin", "a.CKPT", "a.safetensors"};
  for (size_t i = 0; i < sizeof pickles / sizeof *pickles; i++) {
    check_file(pickles[i], zip, sizeof zip, "run code");
    check_file(pickles[i], pickle, sizeof pickle, ".safetensors");
  }
  for (size_t i = 0; i < 5; i++) /* if the content cannot be recognised, the name's ending decides */
    check_file(pickles[i], other, sizeof other, "run code");
  struct error err = check_file("a.safetensors", other, sizeof other, "is no safetensors file");
  if (strstr(err.message, "fetch it again")) /* a complete file of another kind must not be reported as damaged */
    fail_msg("%s", err.message);
  check_file("a.safetensors", "GGUF\3\0\0\0\0\0\0\0", 12, "GGUF");
  check_file("a.safetensors", "version https://git-lfs.github.com/spec/v1\n", 43, "git lfs pull");
  check_file("a.safetensors", "<!DOCTYPE html><html><title>Sign in</title>", 43, "web page");
}

/* A safetensors header whose length begins with the same bytes as a pickle is not taken for one. */
static void test_length_like_pickle(void **state) {
  (void)state;
  enum { LENGTH = 0x280 };
  char header[LENGTH + 1];
  memset(header, ' ', LENGTH);
  header[LENGTH] = 0;
  memcpy(header, "{}", 2);
  fixture_tensors(scratch, "like.safetensors", header, LENGTH, "", 0);
  struct safetensors *files;
  struct error err = {0};
  char *path = fixture_path(scratch, "like.safetensors");
  if (safetensors_open_file(&files, path, &err))
    fail_msg("%s", err.message);
  safetensors_close(&files);
  free(path);
}

/* Files of other programs are refused with the name of their format, in upper or lower case; a safetensors file may
 * have any name. */
static void test_other_formats(void **state) {
  (void)state;
  static const struct {
    const char *name, *says;
  } others[] = {{"model.onnx", "is an ONNX network"},
                {"unet.ENGINE", "is an engine of TensorRT"},
                {"unet.plan", "is an engine of TensorRT"},
                {"model.msgpack", "weights of Flax"},
                {"model.h5", "weights of Keras"}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    struct safetensors *files;
    struct error err = {0};
    char *path = fixture_path(scratch, others[i].name);
    fixture_text(scratch, others[i].name, "\010\007\022\007pytorch and more than a few bytes");
    assert_int_equal(safetensors_open_file(&files, path, &err), -1);
    check_says(&err, others[i].name, others[i].says);
    fixture_tensors(scratch, others[i].name, "{}", -1, "", 0);
    if (safetensors_open_file(&files, path, &err))
      fail_msg("%s", err.message);
    safetensors_close(&files);
    free(path);
  }
}

/* Quantised weights are refused with the name of a tensor that shows it, whatever the file is. */
static void test_quantised(void **state) {
  (void)state;
  static const char *const headers[] = {
      "{\"scaled_fp8\": {\"dtype\": \"F16\", \"shape\": [0], \"data_offsets\": [0, 0]}}",
      "{\"a.weight\": {\"dtype\": \"F8_E4M3\", \"shape\": [0], \"data_offsets\": [0, 0]}}",
      "{\"a.scale_weight\": {\"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [0, 0]}}",
      "{\"a.weight.absmax\": {\"dtype\": \"F32\", \"shape\": [0], \"data_offsets\": [0, 0]}}"};
  char *path = fixture_path(scratch, "q.safetensors");
  for (size_t i = 0; i < sizeof headers / sizeof *headers; i++) {
    struct safetensors *files;
    struct error err = {0};
    fixture_tensors(scratch, "q.safetensors", headers[i], -1, "", 0);
    assert_int_equal(safetensors_open_file(&files, path, &err), 0);
    assert_int_equal(weights_refuse_quantised(files, &err), -1);
    check_says(&err, "q.safetensors", "take the same model in FP16 or BF16");
    safetensors_close(&files);
  }
  free(path);
}

/* A small file with vectors for a word, under the word's name, is a textual inversion embedding; other small files are
 * not. */
static void test_lone_embedding(void **state) {
  (void)state;
  static const struct {
    const char *shape;
    int bytes;
    enum weights_kind kind;
  } files[] = {{"[768]", 1536, WEIGHTS_EMBEDDING},
               {"[2, 1024]", 4096, WEIGHTS_EMBEDDING},
               {"[768, 768]", 768 * 1536, WEIGHTS_UNKNOWN},
               {"[3]", 6, WEIGHTS_UNKNOWN}};
  char *path = fixture_path(scratch, "e.safetensors"), *data = calloc(768, 1536);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct safetensors *opened;
    struct error err = {0};
    char header[128];
    snprintf(header, sizeof header, "{\"sksart\": {\"dtype\": \"F16\", \"shape\": %s, \"data_offsets\": [0, %d]}}",
             files[i].shape, files[i].bytes);
    fixture_tensors(scratch, "e.safetensors", header, -1, data, (size_t)files[i].bytes);
    assert_int_equal(safetensors_open_file(&opened, path, &err), 0);
    assert_int_equal(weights_kind(opened), files[i].kind);
    safetensors_close(&opened);
  }
  free(data);
  free(path);
}

/* If a part exists only as a pickle file, the message names that file. */
static void test_folder_of_pickles(void **state) {
  (void)state;
  static const char *const names[] = {"net.bin", "net.fp16.bin", "pytorch_net.bin", "net.ckpt", "net.bin.index.json"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct safetensors *files;
    struct error err = {0};
    char *path = fixture_path(scratch, names[i]);
    fixture_text(scratch, names[i], "PK");
    assert_int_equal(safetensors_open(&files, scratch, "net", &err), -1);
    check_says(&err, names[i], "run code");
    assert_int_equal(unlink(path), 0);
    free(path);
  }
}

/* --- kinds --- */

static const struct {
  enum weights_kind kind;
  const char *names[3];
} cases[] = {
    {WEIGHTS_UNKNOWN, {"something.weight"}},
    {WEIGHTS_UNKNOWN, {"xconv_in.weight", "conv_in.bias", "conv_in.weight.x"}},
    {WEIGHTS_UNET, {"model.diffusion_model.input_blocks.0.0.weight", "model_ema.decay"}},
    {WEIGHTS_MODEL, {"model.diffusion_model.input_blocks.0.0.weight", "first_stage_model.x", "x.lora_A.weight"}},
    {WEIGHTS_UNET, {"conv_in.weight", "down_blocks.0.resnets.0.conv1.weight"}},
    {WEIGHTS_UNET, {"input_blocks.0.0.weight"}},
    {WEIGHTS_UNET, {"diffusion_model.input_blocks.0.0.weight"}},
    {WEIGHTS_UNET, {"model.diffusion_model.conv_in.weight"}},
    {WEIGHTS_UNET, {"_orig_mod.conv_in.weight"}},
    /* a complete model in which a LoRA's tensor was left */
    {WEIGHTS_UNET, {"conv_in.weight", "mid_block.attn.lora_A.weight"}},
    {WEIGHTS_VAE, {"encoder.conv_in.weight", "decoder.conv_in.weight"}},
    {WEIGHTS_VAE, {"first_stage_model.encoder.conv_in.weight"}},
    {WEIGHTS_TINY, {"encoder.layers.0.weight", "decoder.layers.0.weight"}},
    {WEIGHTS_TINY, {"0.weight", "1.conv.0.weight"}},
    {WEIGHTS_TINY, {"1.weight", "3.conv.0.weight", "1.conv.0.weight"}},
    {WEIGHTS_TEXT_ENCODER, {"text_model.embeddings.token_embedding.weight"}},
    {WEIGHTS_LORA, {"lora_unet_down_blocks_0_attentions_0_proj_in.lora_down.weight"}},
    {WEIGHTS_LORA, {"unet.down_blocks.0.attn1.to_q.lora_A.weight"}},
    {WEIGHTS_LORA, {"unet.down_blocks.0.attn1.processor.to_q_lora.down.weight"}},
    {WEIGHTS_LORA, {"text_encoder.a.lora_linear_layer.up.weight"}},
    {WEIGHTS_LORA, {"lycoris_mid_block.hada_w1_a"}},
    {WEIGHTS_LORA, {"base_model.model.transformer_blocks.0.lora_A.weight"}},
    {WEIGHTS_LORA, {"mid_block.lokr_w1"}},
    {WEIGHTS_CONTROLNET, {"controlnet_cond_embedding.conv_in.weight", "conv_in.weight"}},
    {WEIGHTS_CONTROLNET, {"control_model.x", "model.diffusion_model.input_blocks.0.0.weight"}},
    {WEIGHTS_CONTROLNET, {"zero_convs.0.0.weight", "input_blocks.0.0.weight"}},
    {WEIGHTS_CONTROL_DIFFERENCE, {"difference", "control_model.x"}},
    {WEIGHTS_CONTROL_LORA, {"lora_controlnet", "input_hint_block.0.weight"}},
    {WEIGHTS_CONTROL_LLLITE, {"lllite_unet_x.down.0.weight"}},
    {WEIGHTS_CONTROL_UNION, {"task_embedding", "controlnet_cond_embedding.conv_in.weight"}},
    {WEIGHTS_CONTROL_UNION, {"control_add_embedding.linear_1.weight", "input_hint_block.0.weight"}},
    {WEIGHTS_CONTROL_TRANSFORMER, {"controlnet_blocks.0.weight", "transformer_blocks.0.attn.to_q.weight"}},
    {WEIGHTS_CONTROLNET, {"module.controlnet_cond_embedding.conv_in.weight", "module.conv_in.weight"}},
    {WEIGHTS_LANGUAGE, {"model.layers.0.self_attn.q_proj.weight"}},
    {WEIGHTS_CONTROL_XS, {"control_to_base_for_conv_in.weight", "controlnet_cond_embedding.conv_in.weight"}},
    {WEIGHTS_ADAPTER, {"adapter.body.0.resnets.0.block1.weight"}},
    {WEIGHTS_ADAPTER, {"body.0.block1.weight", "conv_in.weight"}},
    {WEIGHTS_ADAPTER_LIGHT, {"adapter.body.0.out_conv.weight", "adapter.body.0.resnets.0.block1.weight"}},
    {WEIGHTS_ADAPTER_LIGHT, {"body.0.out_conv.weight", "body.0.body.0.block1.weight"}},
    {WEIGHTS_IP_ADAPTER, {"image_proj.proj.weight", "ip_adapter.1.to_k_ip.weight"}},
    {WEIGHTS_DEPTH, {"neck.fusion_stage.layers.0.projection.weight", "backbone.embeddings.cls_token"}},
    {WEIGHTS_DEPTH_AUTHORS, {"depth_head.scratch.layer1_rn.weight", "pretrained.cls_token"}},
    {WEIGHTS_IMAGE_ENCODER, {"vision_model.embeddings.class_embedding", "visual_projection.weight"}},
    {WEIGHTS_TEXT_ENCODER, {"vision_model.embeddings.class_embedding", "text_model.embeddings.position_ids"}},
    {WEIGHTS_EMBEDDING, {"emb_params"}},
    {WEIGHTS_EMBEDDING, {"clip_g", "clip_l"}},
    {WEIGHTS_EMBEDDING, {"text_encoders_0", "text_encoders_1"}},
    {WEIGHTS_EMBEDDING, {"clip_l", "t5"}},
    {WEIGHTS_EMBEDDING, {"string_to_param.*"}},
    {WEIGHTS_EMBEDDING, {"<s0>"}},
    {WEIGHTS_IP_ADAPTER, {"ip_adapter.0.to_q_lora.down.weight", "image_proj.proj.0.weight"}},
    {WEIGHTS_LORA, {"lora_unet_x.lora_down.weight", "lora_unet_x.lora_up.weight"}},
    {WEIGHTS_MOTION, {"down_blocks.0.motion_modules.0.norm.weight"}},
    {WEIGHTS_UPSCALER, {"model.0.weight", "model.1.sub.0.RDB1.conv1.0.weight"}},
    {WEIGHTS_UPSCALER, {"conv_first.weight", "body.0.rdb1.conv1.weight"}},
    {WEIGHTS_UPSCALER, {"conv_first.weight", "layers.0.residual_group.blocks.0.attn.qkv.weight"}},
    {WEIGHTS_UPSCALER, {"body.0.weight", "body.1.weight"}},
    {WEIGHTS_FACE, {"stylegan_decoder.constant_input.weight", "conv_body_first.weight"}},
    {WEIGHTS_FACE, {"position_emb", "encoder.blocks.0.weight"}},
    {WEIGHTS_PHOTOMAKER, {"id_encoder.visual_projection.weight", "lora_weights.unet.x.lora_A.weight"}},
    {WEIGHTS_IDENTITY, {"id_adapter.latents", "id_adapter_attn_layers.0.to_k.weight"}},
    {WEIGHTS_STYLE_MODEL, {"redux_up.weight", "redux_down.weight"}},
    {WEIGHTS_GLIGEN, {"position_net.linears.0.weight", "conv_in.weight"}},
    {WEIGHTS_SEGMENTER, {"image_encoder.patch_embed.proj.weight", "mask_decoder.iou_token.weight"}},
    {WEIGHTS_CASCADE, {"clip_txt_mapper.weight", "down_blocks.0.0.depthwise.weight"}},
    {WEIGHTS_CONTROLNET, {"net.zero_convs.0.0.weight", "net.input_blocks.0.0.weight"}},
    {WEIGHTS_ADAPTER, {"module.body.0.block1.weight", "module.conv_in.weight"}},
    {WEIGHTS_FLUX, {"model.diffusion_model.double_blocks.0.img_attn.qkv.weight"}},
    {WEIGHTS_FLUX, {"double_blocks.0.img_mlp.0.weight", "single_blocks.0.linear1.weight"}},
    {WEIGHTS_FLUX, {"single_transformer_blocks.0.attn.to_q.weight", "transformer_blocks.0.attn.to_q.weight"}},
    {WEIGHTS_SD3, {"model.diffusion_model.joint_blocks.0.x_block.attn.qkv.weight", "first_stage_model.x"}},
    {WEIGHTS_WAN, {"model.diffusion_model.blocks.0.self_attn.q.weight"}},
    {WEIGHTS_WAN, {"blocks.0.cross_attn.k.weight", "patch_embedding.weight"}},
    {WEIGHTS_WAN, {"diffusion_model.blocks.0.ffn.0.weight"}},
    {WEIGHTS_QWEN, {"model.diffusion_model.transformer_blocks.0.img_mod.1.weight"}},
    {WEIGHTS_QWEN, {"transformer_blocks.0.img_mlp.net.2.weight", "transformer_blocks.0.attn.to_q.weight"}},
    {WEIGHTS_LTX, {"model.diffusion_model.patchify_proj.weight", "model.diffusion_model.transformer_blocks.0.attn1.x"}},
    {WEIGHTS_HUNYUAN, {"double_blocks.0.img_mlp.fc1.weight", "txt_in.individual_token_refiner.blocks.0.x"}},
    {WEIGHTS_CHROMA, {"model.diffusion_model.distilled_guidance_layer.in_proj.weight", "double_blocks.0.img_mlp.0.x"}},
    {WEIGHTS_AURAFLOW, {"model.double_layers.0.attn.w1q.weight"}},
    {WEIGHTS_LUMINA, {"model.diffusion_model.cap_embedder.1.weight", "model.diffusion_model.layers.0.attention.qkv.x"}},
    {WEIGHTS_TRANSFORMER, {"net.blocks.0.adaln_modulation_self_attn.1.weight"}},
    {WEIGHTS_TRANSFORMER, {"model.diffusion_model.transformer_blocks.0.attn1.to_q.weight"}},
    {WEIGHTS_T5, {"encoder.block.0.layer.0.SelfAttention.q.weight", "shared.weight"}},
    {WEIGHTS_LORA, {"x.lora_A"}},
    {WEIGHTS_LORA, {"unet.x.oft_R.weight"}},
    {WEIGHTS_LORA, {"unet.x.vera_lambda_b"}},
    {WEIGHTS_LORA, {"lora_x.diff", "lora_x.diff_b"}},
    {WEIGHTS_LORA, {"mid_block.w_norm"}},
    {WEIGHTS_EMBEDDING, {"bundle_emb.name.clip_l"}},
    {WEIGHTS_TRANSFORMER, {"transformer_blocks.0.attn.to_q.weight"}},
};

static struct safetensors *open_names(const char *const names[3]) {
  char header[1024] = "{";
  size_t used = 1;
  for (int i = 0; i < 3 && names[i]; i++)
    used += (size_t)snprintf(header + used, sizeof header - used,
                             "%s\"%s\": {\"dtype\": \"F16\", \"shape\": [0], \"data_offsets\": [0, 0]}", i ? ", " : "",
                             names[i]);
  snprintf(header + used, sizeof header - used, "}");
  fixture_tensors(scratch, "kind.safetensors", header, -1, "", 0);
  struct safetensors *files;
  struct error err;
  char *path = fixture_path(scratch, "kind.safetensors");
  if (safetensors_open_file(&files, path, &err))
    fail_msg("%s", err.message);
  free(path);
  return files;
}

static void test_kinds(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct safetensors *files = open_names(cases[i].names);
    struct error err = {0};
    enum weights_kind kind = weights_kind(files);
    if (kind != cases[i].kind)
      fail_msg("%s is taken for %s", cases[i].names[0], weights_kind_name(kind));
    assert_int_equal(weights_kind_refuse(kind, "file", WEIGHTS_LORA, &err), -1);
    check_says(&err, weights_kind_name(kind), "not a LoRA");
    safetensors_close(&files);
  }
}

/* What is said of an unrecognised file depends on the option that it was given for. */
static void test_unknown(void **state) {
  (void)state;
  static const struct {
    enum weights_kind wanted;
    const char *says;
  } places[] = {
      {WEIGHTS_MODEL, "--model takes"}, {WEIGHTS_UNET, "--unet takes"},          {WEIGHTS_VAE, "--vae takes"},
      {WEIGHTS_LORA, "--lora takes"},   {WEIGHTS_CONTROLNET, "--control takes"}, {WEIGHTS_DEPTH, "Depth Anything V2"}};
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    struct error err = {0};
    weights_kind_refuse(WEIGHTS_UNKNOWN, "file", places[i].wanted, &err);
    check_says(&err, "no kind that is known", places[i].says);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_formats),
      cmocka_unit_test(test_length_like_pickle),
      cmocka_unit_test(test_folder_of_pickles),
      cmocka_unit_test(test_other_formats),
      cmocka_unit_test(test_quantised),
      cmocka_unit_test(test_lone_embedding),
      cmocka_unit_test(test_kinds),
      cmocka_unit_test(test_unknown),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
