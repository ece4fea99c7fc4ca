/* Tests how the model family of a single file is recognised from names, shapes and metadata alone, and the configs that
 * follow from it. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/scratch.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/family.h"

/* Properties of a made-up U-Net file. */
struct look {
  int out, in, context, label;
  int levels, layers, middle; /* middle: 1 if the middle block has res blocks only, 2 if it has attention, too */
  int depth;                  /* number of transformer blocks of the last attention in the down blocks */
  const char *extra;          /* name of one more tensor, which has one dimension */
  const char *metadata;
  float spread; /* spread of the values of the bias by which v prediction is recognised; 0: the file has no such bias */
};

static const struct look sd1 = {320, 4, 768, 0, 4, 2, 2, 1}, sd2 = {320, 4, 1024, 0, 4, 2, 2, 1},
                         sdxl = {320, 4, 2048, 2816, 3, 2, 2, 10};

static void add(FILE *out, const char *name, const char *shape) {
  fprintf(out, ", \"model.diffusion_model.%s\": {\"dtype\": \"NONE\", \"shape\": [%s], \"data_offsets\": [0, 0]}", name,
          shape);
}

static void add_blocks(FILE *out, const struct look *look) {
  char name[96], shape[64];
  int number = 1;
  for (int level = 0; level < look->levels; level++) {
    for (int layer = 0; layer < look->layers; layer++, number++) {
      snprintf(name, sizeof name, "input_blocks.%d.0.in_layers.0.weight", number);
      add(out, name, "320");
    }
    if (level < look->levels - 1) {
      snprintf(name, sizeof name, "input_blocks.%d.0.op.weight", number++);
      add(out, name, "320, 320, 3, 3");
    }
  }
  snprintf(name, sizeof name, "input_blocks.%d.1.proj_in.weight", number - 1);
  add(out, name, "320, 320");
  for (int i = 0; i < look->depth; i++) {
    snprintf(name, sizeof name, "input_blocks.%d.1.transformer_blocks.%d.norm1.bias", number - 1, i);
    add(out, name, "320");
  }
  snprintf(name, sizeof name, "input_blocks.%d.1.transformer_blocks.0.attn2.to_k.weight", number - 1);
  snprintf(shape, sizeof shape, "320, %d", look->context);
  add(out, name, shape);
}

static struct safetensors *open_look(const struct look *look) {
  char *header, shape[64];
  size_t size;
  FILE *out = open_memstream(&header, &size);
  fprintf(out, "{\"__metadata__\": {%s}", look->metadata ? look->metadata : "");
  snprintf(shape, sizeof shape, "%d, %d, 3, 3", look->out, look->in);
  add(out, "input_blocks.0.0.weight", shape);
  snprintf(shape, sizeof shape, "1280, %d", look->label);
  if (look->label)
    add(out, "label_emb.0.0.weight", shape);
  add_blocks(out, look);
  if (look->middle)
    add(out, "middle_block.0.in_layers.0.weight", "1280");
  if (look->middle == 2)
    add(out, "middle_block.1.proj_in.weight", "1280, 1280");
  if (look->extra)
    fprintf(out, ", \"%s\": {\"dtype\": \"NONE\", \"shape\": [1], \"data_offsets\": [0, 0]}", look->extra);
  if (look->spread > 0)
    fprintf(out, ", \"model.diffusion_model.output_blocks.11.1.transformer_blocks.0.norm1.bias\":"
                 "{\"dtype\": \"F32\", \"shape\": [2], \"data_offsets\": [0, 8]}");
  fprintf(out, "}");
  assert_int_equal(fclose(out), 0);
  const float values[2] = {1 - look->spread, 1 + look->spread};
  fixture_tensors(scratch, "look.safetensors", header, -1, values, look->spread > 0 ? sizeof values : 0);
  free(header);
  struct safetensors *files;
  struct error err;
  char *path = fixture_path(scratch, "look.safetensors");
  if (safetensors_open_file(&files, path, &err))
    fail_msg("%s", err.message);
  free(path);
  return files;
}

/* --- recognised --- */

static struct family recognise(const struct look *look) {
  struct safetensors *files = open_look(look);
  struct family family;
  struct error err;
  if (family_recognise(&family, files, &err))
    fail_msg("%s", err.message);
  safetensors_close(&files);
  return family;
}

static struct look variant(const struct look *base, int in, int layers, int middle, int depth) {
  struct look look = *base;
  look.in = in, look.layers = layers, look.middle = middle, look.depth = depth;
  return look;
}

static void test_names(void **state) {
  (void)state;
  struct look tiny1 = variant(&sd1, 4, 1, 0, 1), tiny2 = variant(&sd2, 4, 1, 0, 1);
  tiny1.levels = tiny2.levels = 3;
  const struct {
    struct look look;
    const char *name;
  } cases[] = {
      {sd1, "SD 1"},
      {sd2, "SD 2"},
      {sdxl, "SDXL"},
      {variant(&sd1, 8, 2, 2, 1), "SD 1"},
      {variant(&sd1, 9, 2, 2, 1), "SD 1"},
      {variant(&sdxl, 9, 2, 2, 10), "SDXL"},
      {variant(&sdxl, 4, 2, 1, 4), "SSD-1B"},
      {variant(&sdxl, 4, 2, 1, 2), "Segmind Vega"},
      {variant(&sd1, 4, 1, 2, 1), "BK-SDM base (SD 1)"},
      {variant(&sd1, 4, 1, 0, 1), "BK-SDM small (SD 1)"},
      {tiny1, "BK-SDM tiny (SD 1)"},
      {variant(&sd2, 4, 1, 2, 1), "BK-SDM base (SD 2)"},
      {variant(&sd2, 4, 1, 0, 1), "BK-SDM small (SD 2)"},
      {tiny2, "BK-SDM tiny (SD 2)"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct family family = recognise(&cases[i].look);
    assert_string_equal(family_name(&family), cases[i].name);
    assert_int_equal(family.in_channels, cases[i].look.in);
  }
}

static void test_refused(void **state) {
  (void)state;
  struct look refiner = sdxl, wide = sd1, unclip = sd2, other = sd1, plain_xl = sdxl, zero123 = sd1, playground = sdxl;
  refiner.context = 1280, refiner.label = 2560, refiner.out = 384;
  wide.out = 64, unclip.label = 1536, other.context = 4096, plain_xl.label = 0;
  zero123.in = 8, zero123.extra = "cc_projection.weight", playground.extra = "edm_mean";
  const struct {
    struct look look;
    const char *says;
  } cases[] = {
      {refiner, "refiner"},
      {wide, "no published family (64 channels"},
      {unclip, "unCLIP"},
      {other, "text of 4096"},
      {plain_xl, "no published family"},
      {zero123, "Zero123"},
      {playground, "Playground"},
      {variant(&sd1, 5, 2, 2, 1), "depth-to-image"},
      {variant(&sd2, 7, 2, 2, 1), "upscaler"},
      {variant(&sd1, 6, 2, 2, 1), "no published family"},
      {variant(&sd1, 4, 3, 2, 1), "4 levels of 3 layers"},
      {variant(&sdxl, 4, 2, 2, 3), "no published family"},
      {variant(&sd1, 4, 2, 1, 1), "no published family"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct safetensors *files = open_look(&cases[i].look);
    struct family family;
    struct error err = {0};
    if (!family_recognise(&family, files, &err))
      fail_msg("case %zu was taken for %s", i, family_name(&family));
    assert_int_equal(err.status, STATUS_MODEL);
    if (!strstr(err.message, cases[i].says))
      fail_msg("expected %s in: %s", cases[i].says, err.message);
    safetensors_close(&files);
  }
}

/* --- prediction --- */

static struct look with(const struct look *base, const char *metadata, const char *extra, float spread) {
  struct look look = *base;
  look.metadata = metadata, look.extra = extra, look.spread = spread;
  return look;
}

#define SPEC(field, value) "\"modelspec." field "\": \"" value "\""

static void test_prediction(void **state) {
  (void)state;
  struct look inpainting = with(&sd2, NULL, NULL, 1);
  inpainting.in = 9;
  const struct {
    struct look look;
    enum prediction prediction;
    const char *by;
  } cases[] = {
      {sd1, PREDICT_EPSILON, "family"},
      {sdxl, PREDICT_EPSILON, "family"},
      {sd2, PREDICT_EPSILON, "spread"},
      {with(&sd2, NULL, NULL, 0.091f), PREDICT_V, "spread"},
      {with(&sd2, NULL, NULL, 0.089f), PREDICT_EPSILON, "spread"},
      {inpainting, PREDICT_EPSILON, "family"},
      {with(&sd2, SPEC("prediction_type", "v"), NULL, 0.01f), PREDICT_V, "prediction_type"},
      {with(&sd2, SPEC("prediction_type", "epsilon"), NULL, 1), PREDICT_EPSILON, "prediction_type"},
      {with(&sd2, SPEC("prediction_type", "?"), NULL, 1), PREDICT_V, "spread"},
      {with(&sd2, SPEC("architecture", "stable-diffusion-v2-768-v"), NULL, 0.01f), PREDICT_V, "architecture"},
      {with(&sd2, SPEC("architecture", "stable-diffusion-v2-512"), NULL, 1), PREDICT_EPSILON, "architecture"},
      {with(&sd2, SPEC("architecture", "other"), NULL, 1), PREDICT_V, "spread"},
      {with(&sdxl, NULL, "v_pred", 0), PREDICT_V, "v_pred"},
      {with(&sdxl, NULL, "ztsnr", 0), PREDICT_V, "ztsnr"},
      {with(&sd1, NULL, "v_pred", 0), PREDICT_V, "v_pred"},
      {with(&sd1, SPEC("prediction_type", "v"), NULL, 0), PREDICT_V, "prediction_type"},
      {with(&sd1, SPEC("prediction_type", "v_prediction"), NULL, 0), PREDICT_V, "prediction_type"},
      {with(&sd1, SPEC("architecture", "stable-diffusion-v1"), NULL, 0), PREDICT_EPSILON, "guess"},
      {with(&sd1, SPEC("predict_key", "v"), NULL, 0), PREDICT_V, "modelspec.predict_key"},
      {with(&sd1, "\"prediction_type\": \"v_prediction\"", NULL, 0), PREDICT_V, "prediction_type"},
      {with(&sdxl, SPEC("prediction_type", "epsilon"), "v_pred", 0), PREDICT_V, "v_pred"},
      {with(&sd1, SPEC("prediction_type", "epsilon"), "ztsnr", 0), PREDICT_V, "ztsnr"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct family family = recognise(&cases[i].look);
    if (family.prediction != cases[i].prediction || !strstr(family.prediction_by, cases[i].by))
      fail_msg("case %zu: %s by %s", i, prediction_name(family.prediction), family.prediction_by);
    bool stale = cases[i].look.extra && cases[i].look.metadata;
    assert_int_equal(family.signs.other.witness, stale ? WITNESS_METADATA : WITNESS_NONE);
    assert_int_equal(family.zero_snr, cases[i].look.extra && !strcmp(cases[i].look.extra, "ztsnr"));
  }
}

/* Settings in the config files of web UIs, in all their spellings. */
static void test_yaml(void **state) {
  (void)state;
  static const struct {
    const char *text;
    bool says;
    enum prediction prediction;
    bool zero_snr;
  } cases[] = {
      {"model:\n  params:\n    parameterization: \"v\"\n", true, PREDICT_V, false},
      {"parameterization: v", true, PREDICT_V, false},
      {"parameterization : 'v' # of SD 2\r\nother: 1\r\n", true, PREDICT_V, false},
      {"{\"model\": {\"params\": {\"parameterization\": \"v\"}}}", true, PREDICT_V, false},
      {"model: {params: {linear_start: 0.00085, parameterization: eps, x: 1}}", true, PREDICT_EPSILON, false},
      {"    parameterization: x0", true, PREDICT_SAMPLE, false},
      {"prediction_type: v_prediction\nrescale_betas_zero_snr: true\n", true, PREDICT_V, true},
      {"parameterization: v\nzsnr: False\n", true, PREDICT_V, false},
      {"zero_terminal_snr: True", true, PREDICT_V, true},
      {"parameterization: eps\nztsnr: true", true, PREDICT_EPSILON, false},
      {"  target: ldm.models.diffusion.ddpm.LatentDiffusion\n  params: {}\n", true, PREDICT_EPSILON, false},
      {"target: sgm.modules.diffusionmodules.denoiser_scaling.VScaling", true, PREDICT_V, false},
      {"target: sgm.modules.diffusionmodules.denoiser_scaling.EpsScaling", true, PREDICT_EPSILON, false},
      {"# parameterization: v", false, PREDICT_EPSILON, false},
      {"my_parameterization: v", false, PREDICT_EPSILON, false},
      {"parameterization: very", false, PREDICT_EPSILON, false},
      {"parameterization", false, PREDICT_EPSILON, false},
      {"parameterization:", false, PREDICT_EPSILON, false},
      {"PARAMETERIZATION: v", true, PREDICT_V, false},
      {"parameterization: !!str v\n", true, PREDICT_V, false},
      {"parameterization: &p \"v\"\n", true, PREDICT_V, false},
      {"  parameterization:\n    v\n", true, PREDICT_V, false},
      {"  parameterization: # of SD 2\r\n    !!str 'v'\r\n", true, PREDICT_V, false},
      {"  parameterization:\n  v: 1\n", false, PREDICT_EPSILON, false},
      {"target: ldm.LatentDiffusion\nparameterization: edm\n", false, PREDICT_EPSILON, false},
      {"target: ldm.LatentDiffusion\nparameterization: *p\n", false, PREDICT_EPSILON, false},
      {"", false, PREDICT_EPSILON, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    enum prediction prediction;
    bool zero_snr, says = prediction_parse(cases[i].text, &prediction, &zero_snr);
    if (says != cases[i].says || prediction != cases[i].prediction || zero_snr != cases[i].zero_snr)
      fail_msg("%s: %d, %s, %d", cases[i].text, says, prediction_name(prediction), zero_snr);
  }
}

/* --- configs --- */

static char *config_of(const struct family *family, const char *name) {
  char *text = family_config(family, name);
  if (!text)
    fail_msg("%s has no %s", family_name(family), name);
  return text;
}

static void check_unet(const struct family *family, const struct look *look) {
  struct unet_config unet;
  struct error err;
  char *text = config_of(family, "unet/config.json");
  if (unet_config_parse(&unet, text, "unet/config.json", &err))
    fail_msg("%s: %s", family_name(family), err.message);
  assert_int_equal(unet.in_channels, look->in);
  assert_int_equal(unet.cross_attention_dim, look->context);
  assert_int_equal(unet.levels, look->levels);
  assert_int_equal(unet.layers[0], look->layers);
  assert_int_equal(unet.mid_block + unet.mid_attention, look->middle);
  int last = unet.down_attention[unet.levels - 1] ? unet.levels - 1 : unet.levels - 2;
  assert_int_equal(unet.down_depth[last][0], look->depth);
  assert_int_equal(unet.heads[0], look->context == 768 ? 8 : 5);
  assert_int_equal(unet.sample_width, look->context == 2048                                      ? 128
                                      : look->context == 1024 && family->prediction == PREDICT_V ? 96
                                                                                                 : 64);
  free(text);
}

static void check_text(const struct family *family, const char *name, int width, int layers) {
  struct clip_config clip;
  struct error err;
  char *text = config_of(family, name);
  if (clip_config_parse(&clip, text, name, &err))
    fail_msg("%s: %s", family_name(family), err.message);
  assert_int_equal(clip.hidden_size, width);
  assert_int_equal(clip.layers, layers);
  assert_int_equal(clip.hidden_act, width == 768 ? ACT_QUICK_GELU : ACT_GELU);
  assert_int_equal(clip.vocab_size, 49408);
  free(text);
}

static void check_scheduler(const struct family *family) {
  struct scheduler_config scheduler;
  struct error err;
  char *text = config_of(family, "scheduler/scheduler_config.json");
  if (scheduler_config_parse(&scheduler, text, "scheduler_config.json", NULL, &err))
    fail_msg("%s: %s", family_name(family), err.message);
  assert_int_equal(scheduler.prediction, family->prediction);
  assert_int_equal(scheduler.beta_schedule, BETAS_SCALED_LINEAR);
  assert_int_equal(scheduler.spacing, SPACING_LEADING);
  assert_int_equal(scheduler.steps_offset, 1);
  assert_int_equal(scheduler.zero_snr, family->zero_snr && family->prediction == PREDICT_V);
  free(text);
}

static void test_configs(void **state) {
  (void)state;
  struct look tiny1 = variant(&sd1, 4, 1, 0, 1), tiny2 = variant(&sd2, 4, 1, 0, 1);
  tiny1.levels = tiny2.levels = 3;
  const struct look looks[] = {sd1,
                               sd2,
                               with(&sd2, NULL, NULL, 1),
                               sdxl,
                               with(&sdxl, NULL, "ztsnr", 0),
                               variant(&sdxl, 4, 2, 1, 4),
                               variant(&sdxl, 4, 2, 1, 2),
                               variant(&sd1, 9, 2, 2, 1),
                               variant(&sd1, 4, 1, 2, 1),
                               variant(&sd1, 4, 1, 0, 1),
                               tiny1,
                               variant(&sd2, 4, 1, 2, 1),
                               variant(&sd2, 4, 1, 0, 1),
                               tiny2};
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++) {
    struct family family = recognise(&looks[i]);
    check_unet(&family, &looks[i]);
    check_text(&family, "text_encoder/config.json", looks[i].context == 1024 ? 1024 : 768,
               looks[i].context == 1024 ? 23 : 12);
    check_scheduler(&family);
    free(config_of(&family, "model_index.json"));
    free(config_of(&family, "vae/config.json"));
    assert_null(family_config(&family, "other/config.json"));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names), cmocka_unit_test(test_refused), cmocka_unit_test(test_prediction),
      cmocka_unit_test(test_yaml),  cmocka_unit_test(test_configs),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
