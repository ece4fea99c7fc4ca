/* U-Nets in the place of a model's own: files in each layout that they are published in, folders, what their names and
 * what lies in them says of them.
 *
 *   test_unet_beside GOLDENS DEVICE */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "models_rig.h"
#include "scratch.h"
#include "unet/checkpoint/checkpoint.h"

static char **args; /* the program's */

struct told {
  char line[512];
};

static void remember_name(void *opaque, enum log_level level, const char *text) {
  struct told *told = opaque;
  (void)level;
  snprintf(told->line, sizeof told->line, "%s", text);
}

/* The same U-Net in each layout that U-Nets are published in. */
static void test_unet_alone(void **state) {
  (void)state;
  static const struct single_file_change layouts[] = {
      {.without = NULL},
      {.only = "model.diffusion_model."},
      {.only = "model.diffusion_model.", .from = "model.diffusion_model.", .to = ""},
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
  params.unet = m.unet; /* as diffusers has it */
  assert_same(&m.rig, expected, models_picture(&m, &params));
  models_close(&m);
}

/* It takes the place of the weights, and has to fit the model's config. */
static void test_other_unet(void **state) {
  (void)state;
  struct models m, other;
  models_open(&m, args, scratch, "sd15", NULL);
  models_open(&other, args, scratch, "sd21", NULL);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  params.unet = other.unet;
  models_refuse(&m, &params, "config.json asks for");
  params.unet = m.vae; /* a folder with another class's config */
  models_refuse(&m, &params, "config.json: ");
  params.unet = args[1]; /* a folder of nothing of the kind */
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

/* A folder with a U-Net and its config, or a whole model's, serves as well; its own scheduler says what it predicts. */
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

/* Hyper-SD's U-Net of one step begins at the timestep it was trained at, which its name tells. */
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

/* What a model's file has beside its parts is looked at, also where its U-Net is not used. */
static void test_unet_beside_surplus(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd15", &(struct single_file_change){.extra = "something.else"});
  struct engine_params params = models_file_params(&m);
  params.unet = m.unet;
  models_refuse(&m, &params, "model.safetensors: has 1 tensor that this model has no place for, the first of no part");
  models_close(&m);
}

/* Two tensors of a file that would have one name in the model. */
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

/* The same of a U-Net in the place of a model's own, in each layout; and what cannot be. */
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

int main(int argc, char **argv) {
  args = argv;
  if (argc != 3)
    return 2;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_unet_alone),          cmocka_unit_test(test_other_unet),
      cmocka_unit_test(test_unet_folder),         cmocka_unit_test(test_named_timestep),
      cmocka_unit_test(test_unet_beside_surplus), cmocka_unit_test(test_twice),
      cmocka_unit_test(test_signs_of_unet),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
