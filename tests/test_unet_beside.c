/* Tests U-Nets that replace a model's own: files in each published layout, folders, and what their names and contents
 * tell.
 *
 *   test_unet_beside GOLDENS DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rigs/models_rig.h"
#include "tests/rigs/scratch.h"
#include "unet/checkpoint/checkpoint.h"

static char **args; /* arguments of the test program */

struct told {
  char line[512];
};

static void remember_name(void *opaque, enum log_level level, const char *text) {
  struct told *told = opaque;
  (void)level;
  snprintf(told->line, sizeof told->line, "%s", text);
}

static void remember_mention(void *opaque, enum log_level level, const char *text) {
  if (level == LOG_WARNING && !strstr(text, "are left out") && !strstr(text, "device"))
    remember_name(opaque, level, text);
}

/* The same U-Net in each layout in which U-Nets are published. */
static void test_unet_alone(void **state) {
  (void)state;
  static const struct single_file_change layouts[] = {
      {.without = NULL},
      {.only = "model.diffusion_model."},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = ""},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = "diffusion_model."},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = "module."},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = "_orig_mod."},
  };
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  struct engine_params folder = default_params(&m.rig.golden, args[2]);
  uint8_t *expected = models_picture(&m, &folder);
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    single_file_write(&m.rig.golden, scratch, "unet.safetensors", &layouts[i]);
    char *unet = fixture_path(scratch, "unet.safetensors");
    struct engine_params params = folder;
    params.unet = unet;
    uint8_t *picture = models_picture(&m, &params);
    assert_memory_equal(picture, expected, picture_bytes(&m.rig));
    free(picture);
    free(unet);
  }
  struct engine_params params = folder;
  params.unet = m.unet; /* the layout of diffusers */
  assert_same(&m.rig, expected, models_picture(&m, &params));
  models_close(&m);
}

/* The replacement must fit the model's config. */
static void test_other_unet(void **state) {
  (void)state;
  struct models m, other;
  models_open(&m, args, scratch, "sd15", NULL);
  models_open(&other, args, scratch, "sd21", NULL);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  params.unet = other.unet;
  models_refuse(&m, &params, "config.json asks for");
  params.unet = m.vae; /* a folder with the config of another class */
  models_refuse(&m, &params, "config.json: ");
  params.unet = args[1]; /* a folder without a model */
  models_refuse(&m, &params, "has no config.json; --unet takes a U-Net's folder");
  char *vae = fixture_path(m.vae, "diffusion_pytorch_model.safetensors");
  params.unet = vae;
  models_refuse(&m, &params, "a tiny autoencoder alone, not a U-Net");
  params.unet = NULL;
  params.model = vae;
  models_refuse(&m, &params, "--vae");
  free(vae);
  models_close(&m);
  models_close(&other);
}

/* A folder with a U-Net and its config, or a whole model, is accepted; its own scheduler says what it predicts. */
static void test_unet_folder(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  char *unet = fixture_path(m.rig.golden.folder, "unet"), *other = fixture_path(args[1], "sd21");
  struct engine_params folder = default_params(&m.rig.golden, args[2]), params = folder;
  uint8_t *expected = models_picture(&m, &folder);
  const char *const units[] = {unet, m.rig.golden.folder};
  for (int i = 0; i < 2; i++) {
    params.unet = units[i];
    uint8_t *picture = models_picture(&m, &params);
    assert_memory_equal(picture, expected, picture_bytes(&m.rig));
    free(picture);
  }
  free(expected);
  params.unet = other;
  models_refuse(&m, &params, "cross_attention_dim");
  struct models v;
  struct checkpoint *checkpoint;
  models_open(&v, args, scratch, "sd21", NULL);
  params = default_params(&v.rig.golden, args[2]);
  params.unet = other;
  params.prediction = ENGINE_PREDICTION_AUTO;
  must(engine_open_checkpoint(&checkpoint, &params, &v.rig.err), &v.rig.err);
  assert_int_equal(checkpoint->scheduler.prediction, PREDICT_V);
  checkpoint_close(&checkpoint);
  models_close(&v);
  free(unet);
  free(other);
  models_close(&m);
}

/* Hyper-SD's one-step U-Net begins at the timestep of its training, which is recognised by the file's name. */
static void test_named_timestep(void **state) {
  (void)state;
  static const struct {
    const char *name;
    bool one;
  } cases[] = {{"Hyper-SDXL-1step-Unet.safetensors", true},
               {"hyper_sd15_1step_unet.fp16.safetensors", true},
               {"Hyper-SDXL-12steps-Unet.safetensors", false},
               {"Hyper-SDXL-8steps.safetensors", false},
               {"sdxl_lightning_1step_unet_x0.safetensors", false}};
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char *path = fixture_path(scratch, cases[i].name);
    struct told told = {0};
    const struct log log = {remember_name, &told};
    struct checkpoint *checkpoint;
    assert_int_equal(symlink(m.unet, path), 0);
    params.unet = path;
    params.device.log = &log;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    assert_int_equal(checkpoint->noisiest, cases[i].one ? 800 : 0);
    assert_int_equal(engine_usual_steps(checkpoint), cases[i].one ? 1 : 20);
    assert_int_equal(strstr(told.line, "from timestep 800") != NULL, cases[i].one);
    checkpoint_close(&checkpoint);
    free(path);
  }
  models_close(&m);
}

/* Unknown tensors in a model's file are reported also if its U-Net is not used. */
static void test_unet_beside_surplus(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd15", &(struct single_file_change){.extra = "something.else"});
  struct engine_params params = models_file_params(&m);
  params.unet = m.unet;
  models_refuse(&m, &params, "model.safetensors: has 1 tensor that this model has no place for, the first of no part");
  models_close(&m);
}

/* Two tensors of a file that would have the same name in the model. */
static void test_twice(void **state) {
  (void)state;
  const struct single_file_change layout = {
      .only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = "", .extra = "conv_in.bias"};
  struct models m;
  models_open(&m, args, scratch, "sd15", &layout);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  params.unet = m.file;
  models_refuse(&m, &params, "are both conv_in.bias");
  models_close(&m);
}

/* Signs of what a replacement U-Net predicts, in each layout, and contradictory ones. */
static void test_signs_of_unet(void **state) {
  (void)state;
  static const struct single_file_change layouts[] = {
      {.only = "model.diffusion_model.", .extra = "v_pred"},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = "", .extra = "ztsnr"},
  };
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  char *unet = fixture_path(scratch, "unet.safetensors");
  for (int i = 0; i < 2; i++) {
    struct checkpoint *checkpoint;
    single_file_write(&m.rig.golden, scratch, "unet.safetensors", &layouts[i]);
    params.unet = unet;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    assert_int_equal(checkpoint->scheduler.prediction, PREDICT_V);
    assert_int_equal(checkpoint->scheduler.zero_snr, i);
    checkpoint_close(&checkpoint);
  }
  params.unet = NULL;
  params.zero_snr = ENGINE_ON;
  models_refuse(&m, &params, "--zero-snr on: the model predicts epsilon");
  free(unet);
  models_close(&m);
}

/* Makes a model folder from a golden's parts, with another scheduler file. The caller frees the path. */
static char *make_model(const struct golden *golden, const char *name, const char *scheduler) {
  static const char *const parts[] = {"unet", "vae", "text_encoder", "tokenizer", "model_index.json"};
  char *folder = fixture_path(scratch, name), *inside = fixture_path(folder, "scheduler");
  assert_int_equal(mkdir(folder, 0700), 0);
  assert_int_equal(mkdir(inside, 0700), 0);
  fixture_text(inside, "scheduler_config.json", scheduler);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char *from = fixture_path(golden->folder, parts[i]), *whole = realpath(from, NULL),
         *to = fixture_path(folder, parts[i]);
    assert_non_null(whole);
    assert_int_equal(symlink(whole, to), 0);
    free(from);
    free(whole);
    free(to);
  }
  free(inside);
  return folder;
}

#define DDIM "{\"_class_name\": \"DDIMScheduler\", \"clip_sample\": false"
#define SAYS(value) ", \"prediction_type\": \"" value "\""
#define ZERO ", \"rescale_betas_zero_snr\": true"

/* A schedule that ends in pure noise belongs to the model whose prediction it names; a scheduler file that names none
 * is no sign, however it is given. */
static void test_schedule_of_another(void **state) {
  (void)state;
  static const struct {
    const char *model, *metadata, *yaml; /* model: the model's scheduler file; metadata, yaml: of the U-Net's file */
    bool unet;                           /* true: given with --unet; false: the file is a whole model with --config */
    enum prediction prediction;
    bool zero_snr;
    const char *says; /* text of the warning; NULL: none */
  } cases[] = {
      {DDIM SAYS("v_prediction") ZERO "}", "epsilon", NULL, true, PREDICT_EPSILON, false,
       "epsilon is followed without that config's rescale_betas_zero_snr"},
      {DDIM SAYS("v_prediction") ZERO "}", NULL, "parameterization: eps", true, PREDICT_EPSILON, false,
       "epsilon is followed without"},
      {DDIM SAYS("v_prediction") ZERO "}", NULL, "parameterization: eps", false, PREDICT_EPSILON, false,
       "epsilon is followed without"},
      {DDIM SAYS("v_prediction") ZERO "}", NULL, "parameterization: x0", true, PREDICT_SAMPLE, false,
       "sample is followed without"},
      {DDIM SAYS("v_prediction") ZERO "}", "epsilon", NULL, false, PREDICT_V, true, "v is followed"},
      {DDIM SAYS("v_prediction") ZERO "}", "v", NULL, true, PREDICT_V, true, NULL},
      {DDIM "}", "v", NULL, false, PREDICT_V, false, NULL},
      {DDIM "}", "v", NULL, true, PREDICT_V, false, NULL},
      {DDIM "}", NULL, "parameterization: v\nzero_snr: true", false, PREDICT_V, true, NULL},
      {DDIM "}", NULL, NULL, false, PREDICT_EPSILON, false, "so it is a guess: --prediction says otherwise"},
      {DDIM SAYS("epsilon") "}", "v", NULL, false, PREDICT_EPSILON, false, "says epsilon; epsilon is followed"},
      {DDIM SAYS("epsilon") ZERO "}", NULL, NULL, false, PREDICT_EPSILON, true, "--zero-snr off takes the schedule"},
      {DDIM ", \"predict_epsilon\": true}", "v", NULL, false, PREDICT_EPSILON, false, "says epsilon"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct models m;
    struct told told = {0};
    const struct log log = {remember_mention, &told};
    struct checkpoint *checkpoint;
    char name[16], metadata[64];
    snprintf(name, sizeof name, "of%zu", i);
    snprintf(metadata, sizeof metadata, "\"modelspec.prediction_type\": \"%s\"",
             cases[i].metadata ? cases[i].metadata : "");
    models_open(&m, args, scratch, "sd15",
                &(struct single_file_change){.metadata = cases[i].metadata ? metadata : NULL,
                                             .only = cases[i].unet ? "model.diffusion_model." : NULL});
    char *model = make_model(&m.rig.golden, name, cases[i].model), *yaml = fixture_path(scratch, "model.yaml");
    if (cases[i].yaml)
      fixture_text(scratch, "model.yaml", cases[i].yaml);
    struct engine_params params = cases[i].unet ? default_params(&m.rig.golden, args[2]) : models_file_params(&m);
    params.prediction = ENGINE_PREDICTION_AUTO;
    params.device.log = &log;
    params.model = cases[i].unet ? model : m.file;
    params.config = cases[i].unet ? NULL : model;
    params.unet = cases[i].unet ? m.file : NULL;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    if (checkpoint->scheduler.prediction != cases[i].prediction || checkpoint->scheduler.zero_snr != cases[i].zero_snr)
      fail_msg("case %zu: %s, %d: %s", i, prediction_name(checkpoint->scheduler.prediction),
               checkpoint->scheduler.zero_snr, told.line);
    if (cases[i].says ? !strstr(told.line, cases[i].says) : *told.line)
      fail_msg("case %zu says: %s", i, told.line);
    checkpoint_close(&checkpoint);
    remove(yaml);
    free(yaml);
    free(model);
    models_close(&m);
  }
}

/* A whole model's folder given with --unet: its scheduler's prediction counts before metadata, but only if the
 * scheduler names one. */
static void test_unet_of_silent_model(void **state) {
  (void)state;
  struct models m;
  struct checkpoint *checkpoint;
  models_open(&m, args, scratch, "sd15", NULL);
  char *v = make_model(&m.rig.golden, "whole-v", DDIM SAYS("v_prediction") ZERO "}"),
       *epsilon = make_model(&m.rig.golden, "whole-epsilon", DDIM SAYS("epsilon") "}"),
       *silent = make_model(&m.rig.golden, "whole-silent", DDIM "}");
  const struct {
    const char *unet;
    enum prediction prediction;
  } cases[] = {{epsilon, PREDICT_EPSILON}, {silent, PREDICT_V}};
  for (int i = 0; i < 2; i++) {
    struct engine_params params = default_params(&m.rig.golden, args[2]);
    params.model = v;
    params.prediction = ENGINE_PREDICTION_AUTO;
    params.unet = cases[i].unet;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    assert_int_equal(checkpoint->scheduler.prediction, cases[i].prediction);
    assert_int_equal(checkpoint->scheduler.zero_snr, cases[i].prediction == PREDICT_V);
    checkpoint_close(&checkpoint);
  }
  free(v);
  free(epsilon);
  free(silent);
  models_close(&m);
}

struct guess {
  int lines;
  enum log_level level;
};

static void remember_guess(void *opaque, enum log_level level, const char *text) {
  struct guess *guess = opaque;
  if (!strstr(text, "epsilon prediction, told by nothing but the scheduler's class"))
    return;
  guess->lines++;
  guess->level = level;
}

/* If neither the file nor the scheduler's config of another model says what is predicted, a warning tells the guess; in
 * a folder with its own config a missing field means epsilon. */
static void test_guess(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  char *silent = make_model(&m.rig.golden, "silent", DDIM "}");
  const struct {
    const char *model, *config, *unet;
    enum engine_prediction asked;
    int lines;
    enum log_level level;
  } cases[] = {{m.file, silent, NULL, ENGINE_PREDICTION_AUTO, 1, LOG_WARNING},
               {silent, NULL, m.unet, ENGINE_PREDICTION_AUTO, 1, LOG_WARNING},
               {m.rig.golden.folder, NULL, m.unet, ENGINE_PREDICTION_AUTO, 0, 0},
               {m.file, silent, NULL, ENGINE_PREDICTION_EPSILON, 0, 0},
               {silent, NULL, NULL, ENGINE_PREDICTION_AUTO, 1, LOG_INFO}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct guess guess = {0};
    struct checkpoint *checkpoint;
    const struct log log = {remember_guess, &guess};
    struct engine_params params = models_file_params(&m);
    params.model = cases[i].model;
    params.config = cases[i].config;
    params.unet = cases[i].unet;
    params.prediction = cases[i].asked;
    params.device.log = &log;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    checkpoint_close(&checkpoint);
    if (guess.lines != cases[i].lines || guess.level != cases[i].level)
      fail_msg("case %zu: %d lines of level %d", i, guess.lines, (int)guess.level);
  }
  free(silent);
  models_close(&m);
}

int main(int argc, char **argv) {
  args = argv;
  if (argc != 3)
    return 2;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unet_alone),           cmocka_unit_test(test_other_unet),
      cmocka_unit_test(test_unet_folder),          cmocka_unit_test(test_named_timestep),
      cmocka_unit_test(test_unet_beside_surplus),  cmocka_unit_test(test_twice),
      cmocka_unit_test(test_signs_of_unet),        cmocka_unit_test(test_schedule_of_another),
      cmocka_unit_test(test_unet_of_silent_model), cmocka_unit_test(test_guess),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
