/* Tests files of Depth Anything V2, valid and invalid.
 *
 *   test_depth_files GOLDENS            on the CPU
 *   test_depth_files GOLDENS cuda       on the CUDA device; skipped where there is no GPU */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/scratch.h"
#include "unet/model/depth.h"
#include "tests/rigs/depth_bench.h"

/* A copy of the golden's folder, in which its files may be changed. */
static char *copy_folder(void) {
  static const char *const names[] = {"config.json", "preprocessor_config.json", "model.safetensors"};
  char from[600];
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    size_t length;
    snprintf(from, sizeof from, "%s/depth/%s", goldens, names[i]);
    char *bytes = fixture_read(from, &length);
    assert_non_null(bytes);
    fixture_write(scratch, names[i], bytes, length);
    free(bytes);
  }
  return scratch;
}

/* Replaces every `from` by `to` in a text, in a safetensors file in its header; there must be at least one. */
static char *replaced(const char *text, const char *from, const char *to) {
  size_t count = 0;
  for (const char *at = text; (at = strstr(at, from)); at += strlen(from))
    count++;
  assert_true(count > 0);
  char *out = calloc(1, strlen(text) + count * strlen(to) + 1), *end = out;
  for (const char *at; (at = strstr(text, from)); text = at + strlen(from)) {
    memcpy(end, text, (size_t)(at - text));
    end += at - text;
    end = stpcpy(end, to);
  }
  strcpy(end, text);
  return out;
}

static void change_config(const char *name, const char *from, const char *to) {
  char *path = fixture_path(scratch, name), *text = fixture_read(path, NULL), *changed = replaced(text, from, to);
  fixture_text(scratch, name, changed);
  free(changed);
  free(text);
  free(path);
}

static void change_keys(const char *const changes[][2], size_t count) {
  char *path = fixture_path(scratch, "model.safetensors");
  size_t length, header_length = 0;
  char *bytes = fixture_read(path, &length);
  for (int i = 0; i < 8; i++)
    header_length |= (size_t)(unsigned char)bytes[i] << 8 * i;
  char *header = strndup(bytes + 8, header_length);
  for (size_t i = 0; i < count; i++) {
    char *changed = replaced(header, changes[i][0], changes[i][1]);
    free(header);
    header = changed;
  }
  fixture_tensors(scratch, "model.safetensors", header, -1, bytes + 8 + header_length, length - 8 - header_length);
  free(header);
  free(bytes);
  free(path);
}

/* Tensor names as transformers 5 writes them. */
static void test_new_keys(void **state) {
  static const char *const names[][2] = {{"attention.attention.query", "attention.q_proj"},
                                         {"attention.attention.key", "attention.k_proj"},
                                         {"attention.attention.value", "attention.v_proj"},
                                         {"attention.output.dense", "attention.o_proj"}};
  (void)state;
  char *folder = copy_folder();
  change_keys(names, sizeof names / sizeof *names);
  check_picture(folder, "square");
}

static void refuse(const char *file, const char *from, const char *to, const char *says) {
  struct depth *depth = NULL;
  struct error err = {0};
  char *folder = copy_folder();
  change_config(file, from, to);
  assert_int_equal(depth_open(&depth, folder, &err), -1);
  assert_null(depth);
  assert_int_equal(err.status, STATUS_MODEL);
  if (!strstr(err.message, file) || !strstr(err.message, says) || strchr(err.message, '\n'))
    fail_msg("expected %s in: %s", says, err.message);
}

static void test_configs(void **state) {
  (void)state;
  static const struct {
    const char *from, *to, *says;
  } cases[] = {
      {"\"relative\"", "\"metric\"", "depth_estimation_type: metric"},
      {"\"use_swiglu_ffn\": false", "\"use_swiglu_ffn\": true", "backbone_config.use_swiglu_ffn"},
      {"\"gelu\"", "\"silu\"", "backbone_config.hidden_act"},
      {"\"dinov2\"", "\"dinov2_with_registers\"", "backbone_config.model_type"},
      {"\"model_type\": \"depth_anything\"", "\"model_type\": \"dpt\"", "model_type: dpt"},
      {"\"qkv_bias\": true", "\"qkv_bias\": 3", "qkv_bias"},
      {"\"qkv_bias\": true", "\"num_register_tokens\": 4", "backbone_config.num_register_tokens"},
      {"\"max_depth\": 1", "\"something_new\": 1", "something_new"},
      {"\"head_in_index\": -1", "\"head_in_index\": 0", "head_in_index"},
      {"\"num_hidden_layers\": 5", "\"num_hidden_layers\": 4", "out_indices"},
      {"\"num_attention_heads\": 2", "\"num_attention_heads\": 3", "num_attention_heads"},
      {"\"hidden_size\": 16", "\"hidden_size\": -16", "hidden_size"},
      {"\"hidden_size\": 16", "\"hidden_size\": 1e30", "hidden_size"},
      {"\"image_size\": 56", "\"image_size\": 5", "image_size"},
      {"\"image_size\": 56", "\"image_size\": [56, 70]", "image_size"},
      {"    0.5\n", "    0.25\n", "reassemble_factors"},
      {"    0.5\n", "    \"a\"\n", "reassemble_factors"},
      {"    20\n", "    0\n", "neck_hidden_sizes"},
      {"    20\n", "    20, 20\n", "neck_hidden_sizes"},
      {"\"backbone_config\": {", "\"backbone_config\": 3, \"other\": {", "backbone_config"},
      {"\"backbone_config\": {", "\"backbone\": \"facebook/dinov2-small\", \"other\": {", "backbone"},
      {"\"fusion_hidden_size\": 8", "\"fusion_hidden_size\": 1", "fusion_hidden_size"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    refuse("config.json", cases[i].from, cases[i].to, cases[i].says);
}

static void test_preprocessors(void **state) {
  (void)state;
  static const char name[] = "preprocessor_config.json";
  refuse(name, "\"resample\": 3", "\"resample\": 2", "resample");
  refuse(name, "\"do_normalize\": true", "\"do_normalize\": false", "do_normalize");
  refuse(name, "\"do_pad\": false", "\"do_pad\": true", "do_pad");
  refuse(name, "\"ensure_multiple_of\": 14", "\"ensure_multiple_of\": 32", "ensure_multiple_of");
  refuse(name, "\"height\": 42", "\"height\": 43", "size.width");
  refuse(name, "\"height\": 42", "\"height\": 0", "size.height");
  refuse(name, "0.00392156862745098", "0.5", "rescale_factor");
  refuse(name, "0.225", "0", "image_std");
  refuse(name, "0.225", "\"a\"", "image_std");
}

/* Without preprocessor_config.json a model has the values that all published ones have. */
static void test_no_preprocessor(void **state) {
  (void)state;
  struct depth *depth = NULL;
  struct error err = {0};
  char *folder = copy_folder(), *path = fixture_path(scratch, "preprocessor_config.json");
  remove(path);
  free(path);
  if (depth_open(&depth, folder, &err))
    fail_msg("%s", err.message);
  assert_int_equal(depth->files.config.shorter_side, 518);
  assert_true(depth->files.config.mean[0] == 0.485 && depth->files.config.deviation[2] == 0.225);
  depth_close(&depth);
}

/* Wrong tensors are found when a plan is made. */
static void refuse_tensors(const char *from, const char *to, const char *says) {
  struct depth *depth = NULL;
  struct resources resources = {0};
  struct plan plan;
  struct error err = {0};
  char *folder = copy_folder();
  change_keys((const char *const[][2]){{from, to}}, 1);
  if (!depth_open(&depth, folder, &err)) {
    plan_init(&plan, &resources);
    struct tensor x = plan_input(&plan, 1, 30, 30, 3, ELEMENT_DEVICE);
    assert_false(tensor_exists(depth_map(depth, &plan, x, 1, 0, 0, (struct tensor){0})));
    assert_int_equal(plan_finish(&plan, &err), -1);
    plan_free(&plan);
    resources_free(&resources);
    depth_close(&depth);
  }
  assert_int_equal(err.status, STATUS_MODEL);
  if (!strstr(err.message, "model.safetensors") || !strstr(err.message, says))
    fail_msg("expected %s in: %s", says, err.message);
}

static void test_tensors(void **state) {
  (void)state;
  static const char *const lacking[] = {
      "backbone.embeddings.cls_token",
      "backbone.embeddings.position_embeddings",
      "backbone.embeddings.patch_embeddings.projection.weight",
      "backbone.embeddings.patch_embeddings.projection.bias",
      "backbone.encoder.layer.3.layer_scale2.lambda1",
      "backbone.encoder.layer.0.attention.output.dense.bias",
      "backbone.encoder.layer.2.mlp.fc2.weight",
      "backbone.layernorm.bias",
      "neck.reassemble_stage.layers.0.resize.weight",
      "neck.reassemble_stage.layers.1.resize.bias",
      "neck.reassemble_stage.layers.3.resize.weight",
      "neck.convs.2.weight",
      "neck.fusion_stage.layers.2.residual_layer1.convolution2.bias",
      "head.conv3.weight",
  };
  for (size_t i = 0; i < sizeof lacking / sizeof *lacking; i++)
    refuse_tensors(lacking[i], "gone", lacking[i]);
  refuse_tensors("[1,17,16]", "[1,16,17]", "backbone.embeddings.position_embeddings");
  refuse_tensors("[16,3,14,14]", "[16,14,3,14]", "patch_embeddings");
  refuse_tensors("[8,8,4,4]", "[16,4,4,4]", "layers.0.resize.weight");
}

static void test_no_folder(void **state) {
  (void)state;
  struct depth *depth = NULL;
  struct error err = {0};
  assert_int_equal(depth_open(&depth, "/nowhere/at/all", &err), -1);
  assert_non_null(strstr(err.message, "/nowhere/at/all"));
  char *folder = copy_folder(), *path = fixture_path(folder, "model.safetensors");
  assert_int_equal(depth_open(&depth, path, &err), -1); /* the weight file alone, without its folder */
  assert_non_null(strstr(err.message, "folder"));
  free(path);
}

int main(int argc, char **argv) {
  enum { SKIPPED = 77 };
  if (argc < 2) {
    fprintf(stderr, "usage: test_depth_files GOLDENS [DEVICE]\n");
    return 2;
  }
  goldens = argv[1];
  if (argc > 2)
    device_name = argv[2];
  if (!has_this_device())
    return SKIPPED;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_new_keys),        cmocka_unit_test(test_configs), cmocka_unit_test(test_preprocessors),
      cmocka_unit_test(test_no_preprocessor), cmocka_unit_test(test_tensors), cmocka_unit_test(test_no_folder),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
