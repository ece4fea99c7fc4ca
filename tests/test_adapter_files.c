/* Tests adapter files: the changes of the model's weights, compared with what diffusers, peft and LyCORIS compute from
 * the same files (tests/goldens/adapters.py); which names their tensors have; what is refused.
 *
 *   test_adapter_files GOLDENS */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/adapter_rig.h"
#include "tests/rigs/fixture.h"
#include "unet/checkpoint/original.h"

static const char *goldens;

/* --- weights with the adapter added --- */

static float *read_base(const struct safetensor *t, size_t count) {
  const struct weight_part part = {
      .dtype = t->dtype, .rows = (int)t->shape[0], .file = t->file, .offset = t->offset, .name = t->name};
  struct error err = {0};
  float *values = malloc(count * sizeof *values);
  void *stored = malloc(t->bytes);
  assert_true(values && stored);
  must(weight_part_read(&part, 0, count, false, stored, &err), &err);
  weights_to_f32(t->dtype, stored, count, values);
  free(stored);
  return values;
}

/* Reorders values from [rows][channels][taps] to [rows][taps][channels], or back. */
static float *turn(float *from, size_t rows, size_t first, size_t second) {
  float *to = malloc(rows * first * second * sizeof *to), *at = to;
  assert_non_null(to);
  for (size_t r = 0; r < rows; r++)
    for (size_t j = 0; j < second; j++)
      for (size_t i = 0; i < first; i++)
        *at++ = from[(r * first + i) * second + j];
  free(from);
  return to;
}

/* Returns the tensor's values with the adapter added, in the file's order. */
static float *merge(const struct adapter *adapter, const struct safetensor *t, float weight, size_t *count) {
  size_t rows = (size_t)t->shape[0], channels = t->rank > 1 ? (size_t)t->shape[1] : 1;
  *count = t->bytes / dtype_size(t->dtype);
  size_t taps = *count / rows / channels;
  float *values = turn(read_base(t, *count), rows, channels, taps);
  float *scratch = malloc(3 * taps * channels * sizeof *scratch);
  for (int i = 0; i < adapter->place_count; i++) {
    struct blend_term term = adapter->places[i].term;
    if (adapter->places[i].tensor != t)
      continue;
    term.weight = weight;
    const struct blend blend = {&term, 1, rows, (int)taps, (int)channels};
    assert_true(blend_term_fits(&term, &blend, adapter->factor_count));
    blend_rows(&blend, 0, rows, values, values, scratch);
  }
  free(scratch);
  return turn(values, rows, taps, channels);
}

/* Returns the error of a sample of the changed weight against the golden's values. */
static double sample_error(const struct suite *suite, const char *name, const char *tensor,
                           const struct adapter *adapter, float weight) {
  const struct safetensor *t = suite_tensor(suite->checkpoint, tensor);
  assert_non_null(t);
  struct values expected = golden_values(&suite->golden, "%s:%s", name, tensor);
  size_t count;
  float *merged = merge(adapter, t, weight, &count), *sample = malloc(expected.count * sizeof *sample);
  size_t stride = count / 96 > 1 ? count / 96 : 1;
  assert_int_equal((count + stride - 1) / stride, expected.count);
  for (size_t i = 0; i < expected.count; i++)
    sample[i] = merged[i * stride];
  double error = relative_error(sample, expected.data, expected.count);
  free(sample);
  free(merged);
  free(expected.data);
  return error;
}

static struct adapter *open_adapter(struct suite *suite, const char *file) {
  struct adapter *adapter;
  char *path = case_file(suite, file);
  must(adapter_open(&adapter, path, suite->checkpoint, &(struct adapter_options){0}, &suite->err), &suite->err);
  free(path);
  return adapter;
}

static void check_merged(struct suite *suite, const cJSON *test, const char *file) {
  const char *name = json_string(test, "name", "");
  float weight = (float)json_number(test, "weight", 1);
  struct adapter *adapter = open_adapter(suite, file);
  const cJSON *tensors = cJSON_GetObjectItem(test, "tensors"), *tensor;
  assert_int_equal(adapter->place_count, cJSON_GetArraySize(tensors));
  double worst = 0;
  cJSON_ArrayForEach(tensor, tensors) {
    double error = sample_error(suite, name, tensor->valuestring, adapter, weight);
    if (!(error < 2e-6))
      fail_msg("%s: %s: %g away", file, tensor->valuestring, error);
    worst = error > worst ? error : worst;
  }
  printf("  %s: %.1e\n", file, worst);
  adapter_close(&adapter);
}

static void test_merged(void **state) {
  (void)state;
  struct suite suite;
  suite_open(&suite, goldens);
  for (const cJSON *test = cases_of(&suite); test; test = test->next) {
    const cJSON *file;
    cJSON_ArrayForEach(file, cJSON_GetObjectItem(test, "files")) check_merged(&suite, test, file->valuestring);
  }
  suite_close(&suite);
}

/* --- names --- */

struct name_pair {
  const char *original, *name;
  bool seen;
};

static int look_for(void *opaque, const char *original, const char *name) {
  for (struct name_pair *pair = opaque; pair->original; pair++)
    if (!strcmp(pair->original, original)) {
      assert_string_equal(name, pair->name);
      assert_false(pair->seen);
      pair->seen = true;
    }
  return 0;
}

/* Names as sd-scripts writes them for SD 1.5 and SDXL. */
static void test_original_names(void **state) {
  (void)state;
  struct name_pair sd[] = {{"input_blocks.0.0.", "conv_in."},
                           {"time_embed.2.", "time_embedding.linear_2."},
                           {"input_blocks.1.1.", "down_blocks.0.attentions.0."},
                           {"input_blocks.3.0.op.", "down_blocks.0.downsamplers.0.conv."},
                           {"input_blocks.5.0.emb_layers.1.", "down_blocks.1.resnets.1.time_emb_proj."},
                           {"middle_block.2.out_layers.3.", "mid_block.resnets.1.conv2."},
                           {"output_blocks.2.1.conv.", "up_blocks.0.upsamplers.0.conv."},
                           {"output_blocks.5.2.conv.", "up_blocks.1.upsamplers.0.conv."},
                           {"output_blocks.11.0.skip_connection.", "up_blocks.3.resnets.2.conv_shortcut."},
                           {"output_blocks.11.1.", "up_blocks.3.attentions.2."},
                           {"out.2.", "conv_out."},
                           {0}};
  struct name_pair xl[] = {{"input_blocks.4.1.", "down_blocks.1.attentions.0."},
                           {"input_blocks.8.1.", "down_blocks.2.attentions.1."},
                           {"label_emb.0.2.", "add_embedding.linear_2."},
                           {"middle_block.1.", "mid_block.attentions.0."},
                           {"output_blocks.0.1.", "up_blocks.0.attentions.0."},
                           {"output_blocks.5.2.conv.", "up_blocks.1.upsamplers.0.conv."},
                           {"output_blocks.8.0.in_layers.2.", "up_blocks.2.resnets.2.conv1."},
                           {0}};
  assert_int_equal(original_unet_names(4, (const int[]){2, 2, 2, 2}, look_for, sd), 0);
  assert_int_equal(original_unet_names(3, (const int[]){2, 2, 2}, look_for, xl), 0);
  for (struct name_pair *pair = sd; pair->original; pair++)
    assert_true(pair->seen);
  for (struct name_pair *pair = xl; pair->original; pair++)
    assert_true(pair->seen);
}

/* --- files that are refused --- */

#define CONV "lora_unet_down_blocks_0_resnets_0_conv1"

static void test_unmatched(void **state) {
  (void)state;
  static const struct tensor_text strange[] = {{KOHYA ".lora_down.weight", {2, 16}},
                                               {KOHYA ".lora_up.weight", {16, 2}},
                                               {"lora_unet_down_blocks_9_conv.lora_down.weight", {2, 16}},
                                               {"lora_unet_down_blocks_9_conv.lora_up.weight", {16, 2}},
                                               {"something.else", {3}},
                                               {0}};
  static const struct tensor_text nothing[] = {
      {"lora_te2_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", {2, 24}},
      {"lora_te2_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", {48, 2}},
      {0}};
  struct attempt attempt;
  struct adapter *adapter;
  attempt_begin(&attempt, goldens);
  attempt.log.line = attempt_remember;
  attempt_refused(&attempt, strange, 1, false, "3 of its 5 tensors");
  assert_non_null(strstr(attempt.suite.err.message, "something.else"));
  assert_int_equal(attempt.warnings.count, 0);
  must(attempt_open(&attempt, &adapter, strange, 1, true), &attempt.suite.err);
  assert_int_equal(adapter->place_count, 1);
  assert_int_equal(attempt.warnings.count, 1);
  assert_non_null(strstr(attempt.warnings.last, "3 of its tensors"));
  adapter_close(&adapter);
  attempt_refused(&attempt, nothing, 1, false, "is for SDXL, as names and shapes of its tensors show (lora_te2_");
  attempt_refused(&attempt, nothing, 1, true, "is for SDXL");
  attempt_end(&attempt);
}

static void test_hostile(void **state) {
  (void)state;
  static const struct {
    struct tensor_text tensors[6];
    const char *what;
  } files[] = {
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 3}}}, "asks for [16, 2]"},
      {{{KOHYA ".lora_down.weight", {2, 17}}, {KOHYA ".lora_up.weight", {16, 2}}}, "asks for [2, 16]"},
      {{{KOHYA ".lora_down.weight", {2}}, {KOHYA ".lora_up.weight", {16, 2}}}, "asks for [2, 16]"},
      {{{KOHYA ".lora_down.weight", {70000, 16}}, {KOHYA ".lora_up.weight", {16, 70000}}}, "a rank of 70000"},
      {{{KOHYA ".lora_down.weight", {2, 16}}}, "are not complete"},
      {{{KOHYA ".alpha", {1}}}, "nothing of it"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".alpha", {2}}},
       "is no number"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".hada_w1_a", {16, 2}}},
       "two kinds"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".lora_A.weight", {2, 16}}},
       "twice"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".dora_scale", {7, 1}}},
       "7 magnitudes"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".diff_b", {16}}},
       "has no bias"},
      {{{CONV ".lora_down.weight", {2, 16, 1, 1}}, {CONV ".lora_up.weight", {16, 2, 1, 1}}}, "asks for [2, 144]"},
      {{{CONV ".lora_down.weight", {2, 16, 1, 1}},
        {CONV ".lora_up.weight", {16, 2, 1, 1}},
        {CONV ".lora_mid.weight", {2, 2, 1, 1}}},
       "asks for [2, 18]"},
      {{{CONV ".diff", {16, 16, 3, 2}}}, "asks for [16, 144]"},
      {{{KOHYA ".lokr_w1", {3, 4}}, {KOHYA ".lokr_w2", {4, 4}}}, "does not divide"},
      {{{KOHYA ".lokr_w1", {4, 4}}, {KOHYA ".lokr_w2", {4, 5}}}, "asks for [4, 4]"},
      {{{KOHYA ".lokr_w1", {4, 4}},
        {KOHYA ".lokr_w1_a", {4, 2}},
        {KOHYA ".lokr_w1_b", {2, 4}},
        {KOHYA ".lokr_w2", {4, 4}}},
       "are not complete"},
      {{{KOHYA ".hada_w1_a", {16, 2}},
        {KOHYA ".hada_w1_b", {2, 16}},
        {KOHYA ".hada_w2_a", {16, 3}},
        {KOHYA ".hada_w2_b", {2, 16}}},
       "asks for [16, 2]"},
      {{{KOHYA ".oft_blocks", {4, 4, 4}}}, "is OFT"},
      {{{KOHYA ".on_input", {1}}}, "is IA3"},
      {{{KOHYA ".lora_A", {2, 16}}, {KOHYA ".lora_B", {16, 2}}, {KOHYA ".lora_E", {2, 1}}}, "is AdaLoRA"},
      {{{KOHYA ".hra_u", {16, 2}}}, "is HRA"},
      {{{"lora_transformer_single_blocks_0_x.diff", {16, 16}}}, "is for FLUX"},
      {{{"transformer.single_transformer_blocks.0.attn.to_q.diff", {16, 16}},
        {"transformer.transformer_blocks.0.attn.to_q.diff", {16, 16}}},
       "is for FLUX"},
      {{{"lora_unet_double_blocks_0_img_attn_proj.diff", {16, 16}}}, "is for FLUX"},
      {{{"transformer.transformer_blocks.3.attn.add_q_proj.diff", {16, 16}}}, "is for SD 3"},
      {{{"diffusion_model.joint_blocks.0.x_block.attn.qkv.diff", {16, 16}}}, "is for SD 3"},
      {{{"diffusion_model.blocks.0.self_attn.q.diff", {16, 16}}}, "is for Wan"},
      {{{"lora_unet_blocks_39_cross_attn_k.diff", {16, 16}}}, "is for Wan"},
      {{{"diffusion_model.transformer_blocks.0.img_mlp.net.2.diff", {16, 16}}}, "is for Qwen-Image"},
      {{{"lora_prior_unet_down_blocks_0_1_attn.diff", {16, 16}}}, "is for Stable Cascade"},
      {{{"emb_params", {4, 16}}}, "is an embedding (textual inversion"},
      {{{"bundle_emb.name.clip_l", {4, 16}}}, "is an embedding (textual inversion"},
      {{{"lora_unet_no_such_layer.lora_down.weight", {2, 16}}, {"lora_unet_no_such_layer.lora_up.weight", {16, 2}}},
       "nothing of it has a place in this model, the first of its 2 tensors is "
       "lora_unet_no_such_layer.lora_down.weight; "
       "take"},
      {{{"transformer.layers.0.attn.to_q.diff", {16, 16}}}, "is for Lumina"},
      {{{"lora_te3_encoder_block_0_layer_0_SelfAttention_q.diff", {16, 16}}}, "is for T5"},
      {{{"double_blocks.0.processor.proj_lora1.down.weight", {16, 3072}},
        {"double_blocks.0.processor.proj_lora1.up.weight", {3072, 16}}},
       "a LoRA of FLUX"},
      {{{"image_proj.proj.0.weight", {16, 16}},
        {"ip_adapter.0.to_q_lora.down.weight", {2, 16}},
        {"ip_adapter.0.to_q_lora.up.weight", {16, 2}}},
       "give it with --ip-adapter"},
  };
  struct attempt attempt;
  attempt_begin(&attempt, goldens);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    attempt_refused(&attempt, files[i].tensors, 0.5f, true, files[i].what);
  attempt_refused(&attempt, files[0].tensors, NAN, false, "asks for");
  attempt_end(&attempt);
}

/* A file with values that are not finite is refused with the tensor's name; an alpha of 0 counts as the rank. */
static void test_values(void **state) {
  (void)state;
  static const struct tensor_text whole[] = {
      {KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".alpha", {1}}, {0}};
  struct attempt attempt;
  struct adapter *adapter;
  attempt_begin(&attempt, goldens);
  attempt_refused(&attempt, whole, NAN, false, "not a number");
  attempt_refused(&attempt, whole, INFINITY, false, "infinite");
  must(attempt_open(&attempt, &adapter, whole, 0, false), &attempt.suite.err);
  assert_true(adapter->places[0].term.scale == 1);
  adapter_close(&adapter);
  must(attempt_open(&attempt, &adapter, whole, 3, false), &attempt.suite.err);
  assert_true(adapter->places[0].term.scale == 1.5f);
  adapter_close(&adapter);
  attempt_end(&attempt);
}

/* Factors of F64 act as the same values in F32, and are refused if they are beyond F32's range. */
static void test_doubles(void **state) {
  (void)state;
  static const struct tensor_text whole[] = {{KOHYA ".lora_down.weight", {40, 16}},
                                             {KOHYA ".lora_up.weight", {16, 40}},
                                             {KOHYA ".alpha", {1}},
                                             {KOHYA ".dora_scale", {16}},
                                             {0}};
  struct attempt attempt;
  struct adapter *narrow, *wide;
  attempt_begin(&attempt, goldens);
  const struct adapter_options options = {.log = &attempt.log};
  char *path = fixture_path(attempt.folder, "a.safetensors");
  must(attempt_open(&attempt, &narrow, whole, 0.375f, false), &attempt.suite.err);
  write_wide_adapter(attempt.folder, whole, 0.375);
  must(adapter_open(&wide, path, attempt.suite.checkpoint, &options, &attempt.suite.err), &attempt.suite.err);
  assert_true(wide->places[0].term.scale == narrow->places[0].term.scale);
  assert_memory_equal(wide->factors, narrow->factors, 2 * 40 * 16 * sizeof *wide->factors);
  adapter_close(&narrow);
  adapter_close(&wide);
  write_wide_adapter(attempt.folder, whole, 1e300);
  assert_int_equal(adapter_open(&wide, path, attempt.suite.checkpoint, &options, &attempt.suite.err), -1);
  assert_error(&attempt.suite.err, STATUS_MODEL, "is not finite in FP32");
  free(path);
  attempt_end(&attempt);
}

/* Without an alpha the layer's rank is used; a warning says so if the trainer usually writes an alpha. */
static void test_no_alpha(void **state) {
  (void)state;
  static const struct {
    struct tensor_text tensors[7];
    const char *says; /* text of the warning; NULL: there is none */
  } files[] = {
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}},
       "1 of its 1 layers say no alpha: their rank is taken for it"},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".alpha", {1}}}, NULL},
      {{{KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {KOHYA ".lora_alpha", {1}}}, NULL},
      {{{KOHYA ".lora_A.weight", {2, 16}}, {KOHYA ".lora_B.weight", {16, 2}}}, NULL},
      {{{KOHYA ".lora_A.weight", {2, 16}},
        {KOHYA ".lora_B.weight", {16, 2}},
        {CONV ".lora_A.weight", {2, 16, 3, 3}},
        {CONV ".lora_B.weight", {16, 2, 1, 1}},
        {CONV ".alpha", {1}}},
       "1 of its 2 layers say no alpha"},
      {{{KOHYA ".diff", {16, 16}}}, NULL},
      {{{KOHYA ".lora_A.weight", {2, 16}}, {KOHYA ".lora_B.weight", {16, 2}}, {CONV ".diff", {16, 16, 3, 3}}}, NULL},
  };
  struct attempt attempt;
  attempt_begin(&attempt, goldens);
  for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
    struct adapter *adapter;
    attempt.warnings = (struct warnings){0};
    must(attempt_open(&attempt, &adapter, files[i].tensors, 0.5f, false), &attempt.suite.err);
    assert_int_equal(attempt.warnings.count, files[i].says != NULL);
    if (files[i].says && !strstr(attempt.warnings.last, files[i].says))
      fail_msg("expected %s in: %s", files[i].says, attempt.warnings.last);
    adapter_close(&adapter);
  }
  attempt_end(&attempt);
}

/* DoRA's magnitude vectors have the same effect under each of their names. */
static void test_magnitudes(void **state) {
  (void)state;
  static const char *const names[] = {KOHYA ".dora_scale", KOHYA ".magnitude", KOHYA ".lora_magnitude_vector",
                                      KOHYA ".lora_magnitude_vector.weight", KOHYA ".lora_magnitude_vector.a.weight"};
  struct attempt attempt;
  attempt_begin(&attempt, goldens);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    const struct tensor_text tensors[] = {
        {KOHYA ".lora_down.weight", {2, 16}}, {KOHYA ".lora_up.weight", {16, 2}}, {names[i], {16}}, {0}};
    struct adapter *adapter;
    must(attempt_open(&attempt, &adapter, tensors, 0.5f, false), &attempt.suite.err);
    assert_int_equal(adapter->place_count, 1);
    assert_int_equal(adapter->summary.magnitude, 1);
    assert_int_equal(adapter->places[0].term.axis, GAIN_ROWS);
    adapter_close(&adapter);
  }
  attempt_end(&attempt);
}

/* SDXL has two text encoders, whose tensors may have the names of single files. If a file has both kinds of names,
 * those of diffusers are used. */
static void test_two_text_encoders(void **state) {
  (void)state;
  static const struct tensor_text tensors[] = {
      {"lora_te1_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", {1, 16}},
      {"lora_te1_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", {32, 1}},
      {"lora_te2_text_model_encoder_layers_0_mlp_fc1.lora_down.weight", {1, 24}},
      {"lora_te2_text_model_encoder_layers_0_mlp_fc1.lora_up.weight", {48, 1}},
      {"lora_unet_input_blocks_3_1_transformer_blocks_0_attn1_to_q.lora_down.weight", {1, 8}},
      {"lora_unet_input_blocks_3_1_transformer_blocks_0_attn1_to_q.lora_up.weight", {8, 1}},
      {"lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_q.lora_down.weight", {1, 8}},
      {"lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_q.lora_up.weight", {8, 1}},
      {"lora_unet_down_blocks_1_attentions_0_transformer_blocks_0_attn1_to_q.alpha", {1}},
      {"lora_unet_output_blocks_1_1_transformer_blocks_1_attn2_to_q.lora_down.weight", {1, 16}},
      {"lora_unet_output_blocks_1_1_transformer_blocks_1_attn2_to_q.lora_up.weight", {16, 1}},
      {"lora_unet_label_emb_0_0.lora_down.weight", {1, 64}},
      {"lora_unet_label_emb_0_0.lora_up.weight", {32, 1}},
      {0}};
  static const struct {
    const char *tensor;
    float scale;
  } places[] = {{"text_encoder/text_model.encoder.layers.0.mlp.fc1.weight", 1},
                {"text_encoder_2/text_model.encoder.layers.0.mlp.fc1.weight", 1},
                {"unet/down_blocks.1.attentions.0.transformer_blocks.0.attn1.to_q.weight", 3},
                {"unet/up_blocks.0.attentions.1.transformer_blocks.1.attn2.to_q.weight", 1},
                {"unet/add_embedding.linear_1.weight", 1}};
  struct attempt attempt;
  struct adapter *adapter;
  attempt_begin(&attempt, goldens);
  attempt_open_sdxl(&attempt, goldens);
  must(attempt_open(&attempt, &adapter, tensors, 3, false), &attempt.suite.err);
  assert_int_equal(adapter->place_count, 5);
  for (int i = 0; i < 5; i++) {
    const struct safetensor *t = suite_tensor(attempt.suite.checkpoint, places[i].tensor);
    int found = 0;
    for (int k = 0; k < adapter->place_count; k++)
      found += adapter->places[k].tensor == t && adapter->places[k].term.scale == places[i].scale;
    assert_int_equal(found, 1);
  }
  adapter_close(&adapter);
  attempt_end(&attempt);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_merged),
      cmocka_unit_test(test_original_names),
      cmocka_unit_test(test_unmatched),
      cmocka_unit_test(test_hostile),
      cmocka_unit_test(test_values),
      cmocka_unit_test(test_doubles),
      cmocka_unit_test(test_two_text_encoders),
      cmocka_unit_test(test_magnitudes),
      cmocka_unit_test(test_no_alpha),
  };
  if (argc != 2)
    return 2;
  goldens = argv[1];
  return cmocka_run_group_tests(tests, NULL, NULL);
}
