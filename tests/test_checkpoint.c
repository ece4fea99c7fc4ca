/* Tests opening a whole model folder, and its parts. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/fixture.h"
#include "unet/checkpoint/checkpoint.h"
#include "tests/rigs/config_case.h"

/* Makes a folder with the SDXL model of the goldens. */
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

/* Replaces `from` by `to` in a file of the folder. */
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
  /* if the field is missing, its default is true */
  edit(folder, "model_index.json", "\"force_zeros_for_empty_prompt\": false,", "");
  assert_int_equal(checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err), 0);
  assert_true(checkpoint->zero_negative);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* A file whose outermost JSON value is no object is refused with one line, whichever file it is. */
static void test_roots(void **state) {
  (void)state;
  static const char *const names[] = {
      "model_index.json",         "scheduler/scheduler_config.json", "unet/config.json",     "vae/config.json",
      "text_encoder/config.json", "text_encoder_2/config.json",      "tokenizer/vocab.json", "styles.json"};
  static const char *const roots[] = {"[{\"unet\": [1, 2]}]", "[[\"a\", \"b\"]]", "[]", "1", "\"word\"", "null", ""};
  char *folder = make_sdxl();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = fixture_path(folder, names[i]), *good = fixture_read(path, NULL);
    for (size_t k = 0; k < sizeof roots / sizeof *roots; k++) {
      struct checkpoint *checkpoint;
      struct error err = {0};
      fixture_text(folder, names[i], roots[k]);
      if (!checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err))
        fail_msg("accepted: %s in %s", roots[k], names[i]);
      check_message(&err, names[i], "", "");
    }
    if (good)
      fixture_text(folder, names[i], good);
    free(good);
    free(path);
  }
  fixture_remove(folder);
}

/* Parts that do not affect pictures do not cause a refusal. */
#define MODEL_INDEX(more)                                                                                              \
  "{\"_class_name\": \"StableDiffusionPipeline\", \"unet\": [\"diffusers\", \"UNet2DConditionModel\"],"                \
  "\"vae\": [\"diffusers\", \"AutoencoderTiny\"], \"text_encoder\": [\"transformers\", \"CLIPTextModel\"],"            \
  "\"tokenizer\": [\"transformers\", \"CLIPTokenizer\"], \"scheduler\": [\"diffusers\", \"DDIMScheduler\"],"           \
  "\"safety_checker\": [\"stable_diffusion\", \"StableDiffusionSafetyChecker\"], \"feature_extractor\": [null, null]," \
  "\"image_encoder\": [\"transformers\", \"CLIPVisionModel\"], \"motion_adapter\": [null, null],"                      \
  "\"requires_safety_checker\": true, \"_name_or_path\": [\"a\", \"b\"]" more "}"

/* A small model of valid files; each test makes one of them invalid. */
static const char *const model_files[][2] = {
    {"model_index.json", MODEL_INDEX("")},
    {"unet/config.json", "{\"cross_attention_dim\": 16, \"attention_head_dim\": 2, " LEVELS2 "}"},
    {"vae/config.json", "{\"_class_name\": \"AutoencoderTiny\"}"},
    {"text_encoder/config.json", "{\"hidden_size\": 16, \"vocab_size\": 4}"},
    {"tokenizer/vocab.json", "{\"<|startoftext|>\": 0, \"<|endoftext|>\": 1, \"a\": 2, \"a</w>\": 3}"},
    {"tokenizer/merges.txt", "#version: 0.2\n"},
    {"scheduler/scheduler_config.json", "{\"_class_name\": \"EulerDiscreteScheduler\"}"},
};

/* Writes a file whose data are the F16 values 1, 2, 1, 2, ... */
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
  static const char *const parts[] = {"unet", "vae", "text_encoder"}; /* a folder without an adapter */
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

/* Each of these files must exist and is checked. */
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
      {"styles.json", "{\"styles\": {}, \"detail\": 0.5}", "detail"},
      {"styles.json", "{\"styles\": {\"oil\": [\"oil\"]}, \"detail\": {\"ink\": 0.5}}", "detail"},
      {"styles.json", "{\"styles\": {\"oil\": [\"oil\"]}, \"detail\": {\"oil\": 1.5}}", "detail"},
      {"styles.json", "{\"styles\": {\"oil\": [\"oil\"]}, \"detail\": {\"oil\": \"all\"}}", "detail"},
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

/* Folders of another kind are refused with a message that says what they are. */
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

/* With --vae the model's own autoencoder is not read at all. */
static void test_other_vae(void **state) {
  (void)state;
  char *folder = make_model(), *other = make_model(), *path = fixture_path(folder, "vae/config.json");
  fixture_text(folder, "vae/config.json", "{\"_class_name\": \"VQModel\"}");
  char *vae = fixture_path(other, "vae");
  struct checkpoint *checkpoint = open_model(folder, vae);
  assert_string_equal(checkpoint->autoencoder.weights.folder, vae);
  checkpoint_close(&checkpoint);
  unlink(path);
  checkpoint = open_model(folder, other); /* --vae names a whole model: its autoencoder is used */
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

/* Opens a model with this U-Net and this DDIM scheduler, whose file has few fields. Returns NULL if the scheduler's
 * sampler is refused. */
static struct checkpoint *open_with_scheduler(const char *unet, const char *scheduler) {
  char *folder = make_model();
  struct checkpoint *checkpoint = NULL;
  struct error err = {0};
  fixture_text(folder, "unet/config.json", unet);
  fixture_text(folder, "scheduler/scheduler_config.json", scheduler);
  if (checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err))
    fail_msg("%s", err.message);
  if (checkpoint->scheduler.lacks) {
    assert_int_equal(checkpoint->scheduler.lacks, LACKS_SAMPLER);
    check_message(&checkpoint->scheduler_refusal, strrchr(folder, '/') + 1, "clip_sample", "true");
    checkpoint_close(&checkpoint);
  }
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
  assert_false(styles_match(styles, "oil  painting")); /* phrases in a style must match exactly */
  assert_false(styles_match(styles, ""));
  assert_true(styles_match(NULL, "anything"));
  assert_int_equal(styles_count(NULL), 0);
  assert_true(!styles_default(styles) && !styles_blends(styles) && !styles_refuses_guidance(styles));
  assert_true(!styles_default(NULL) && !styles_blends(NULL) && !styles_refuses_guidance(NULL));
  assert_true(styles_detail(NULL, "ink") == 0 && styles_detail(styles, "ink") == 0);
  expect_prompt(NULL, "a cat", "a cat");
  expect_prompt(styles, "a cat at night", "a cat at night"); /* this list has no default style */
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

/* Tests how prompts are changed by a list of styles that has a default. */
static void test_default_style(void **state) {
  (void)state;
  char *folder = make_model();
  fixture_text(
      folder, "styles.json",
      "{\"default\": \"ink\", \"strength\": \"blend\", \"guidance\": false,"
      "\"detail\": {\"ink\": 0.5, \"film\": 0.25},"
      "\"styles\": {\"oil\": [\"oil\"], \"ink\": [\"pen and ink\", \"ink\"], \"film\": [\"film\", \"ink film\"]},"
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
  static const struct {
    const char *prompt;
    float detail;
  } details[] = {{"Pen and ink, at night", 0.5f},
                 {"a film", 0.25f},
                 {"oil", 0},
                 {"an ink film", 0.25f},
                 {"film in oil", 0},
                 {"at night", 0.5f},
                 {"", 0.5f}};
  for (size_t i = 0; i < sizeof details / sizeof *details; i++)
    assert_float_equal(styles_detail(styles, details[i].prompt), details[i].detail, 0);
  assert_float_equal(styles_detail_of(styles, 2), 0.25, 0);
  checkpoint_close(&checkpoint);
  fixture_remove(folder);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pipelines_settle_schedulers),
      cmocka_unit_test(test_open),
      cmocka_unit_test(test_open_refusals),
      cmocka_unit_test(test_second_text_encoder),
      cmocka_unit_test(test_roots),
      cmocka_unit_test(test_other_vae),
      cmocka_unit_test(test_other_folders),
      cmocka_unit_test(test_image_condition),
      cmocka_unit_test(test_weights),
      cmocka_unit_test(test_styles),
      cmocka_unit_test(test_default_style),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
