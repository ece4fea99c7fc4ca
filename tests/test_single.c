/* Tests models that are one file with the original tensor names: they make the same pictures as their folders. U-Nets
 * that were published alone can replace a model's own.
 *
 *   test_single GOLDENS DEVICE */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>
#include <zlib.h>

#include "tests/rigs/models_rig.h"
#include "tests/rigs/scratch.h"
#include "unet/checkpoint/checkpoint.h"

static char **args; /* arguments of the test program */

static void test_same_pictures(void **state) {
  (void)state;
  /* models with CLIP, OpenCLIP, levels of different depth, an AutoencoderKL in the file, two text encoders, SSD-1B's
   * middle block */
  static const char *const names[] = {"sd15", "sd21", "levels", "kl", "sdxl", "ssd"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct models m;
    models_open(&m, args, scratch, names[i], NULL);
    struct engine_params folder = default_params(&m.rig.golden, args[2]), file = models_file_params(&m);
    if (!strcmp(names[i], "kl"))
      file.vae = NULL;
    uint8_t *expected = models_picture(&m, &folder);
    assert_same(&m.rig, expected, models_picture(&m, &file));
    models_close(&m);
  }
}

/* Averaged copies of weights, constants of the training, and similar tensors change nothing. */
static void test_harmless(void **state) {
  (void)state;
  static const char *const names[] = {"model_ema.diffusion_modelinput_blocks00weight",
                                      "betas",
                                      "alphas_cumprod_prev",
                                      "cond_stage_model.transformer.text_model.embeddings.position_ids",
                                      "cond_stage_model.logit_scale",
                                      "first_stage_model.encoder.conv_in.weight"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    struct models m;
    struct checkpoint *checkpoint;
    models_open(&m, args, scratch, "sd15", &(struct single_file_change){.extra = names[i]});
    struct engine_params file = models_file_params(&m);
    must(engine_open_checkpoint(&checkpoint, &file, &m.rig.err), &m.rig.err);
    checkpoint_close(&checkpoint);
    free(models_picture(&m, &file));
    models_close(&m);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    struct single_file_change change;
    const char *says;
  } cases[] = {
      {{.extra = "something.else"}, "something.else"},
      {{.extra = "edm_mean"}, "is Playground 2.5, or another model of the EDM formulation, as its tensor edm_mean"},
      {{.extra = "edm_vpred.sigma_max"}, "is CosXL, or another model that predicts v in the EDM formulation"},
      {{.extra = "model.diffusion_model.input_blocks.1.2.weight"}, "model.diffusion_model.input_blocks.1.2.weight"},
      {{.extra = "model.diffusion_model.label_emb.0.0.bias"}, "model.diffusion_model.label_emb.0.0.bias"},
      {{.extra = "model.diffusion_model.output_blocks.99999999999.0.weight"}, "output_blocks.99999999999.0.weight"},
      {{.extra = "cond_stage_model.transformer.text_model.other.weight"}, "text_model.other.weight"},
      {{.without = "model.diffusion_model.middle_block.0.in_layers.2"}, "the model's mid_block.resnets.0.conv1.weight"},
      {{.without = "model.diffusion_model.input_blocks.0.0.weight"}, "text encoder"},
      {{.without = "cond_stage_model."}, "a U-Net alone, not a whole model; give it with --unet"},
      {{.extra = "conditioner.embedders.1.model.ln_final.bias"}, "conditioner.embedders.1.model.ln_final.bias"},
      {{.extra = "cond_stage_model.model.ln_final.bias"}, "cond_stage_model.model.ln_final.bias"},
      {{.only = "nothing"}, "no kind that is known"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct models m;
    models_open(&m, args, scratch, "sd15", &cases[i].change);
    struct engine_params file = models_file_params(&m);
    models_refuse(&m, &file, cases[i].says);
    assert_non_null(strstr(m.rig.err.message, "model.safetensors"));
    models_close(&m);
  }
}

/* Without the folder's configs the file must be of a known family; with a folder its own configs are used. */
static void test_configs(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  struct engine_params file = models_file_params(&m), folder = file;
  file.config = NULL;
  models_refuse(&m, &file, "--config DIR");
  folder.model = m.rig.golden.folder;
  models_refuse(&m, &folder, "--config");
  file = models_file_params(&m);
  file.vae = NULL; /* the folder has a config of a tiny autoencoder, but the file has no weights for it */
  models_refuse(&m, &file, "has no vae");
  models_close(&m);
}

/* For a file of U-Net and autoencoder only, the message says how to use it. */
static void test_no_text_encoder(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "kl", &(struct single_file_change){.without = "cond_stage_model."});
  struct engine_params params = models_file_params(&m), beside = default_params(&m.rig.golden, args[2]);
  params.vae = NULL;
  models_refuse(&m, &params, "has no text_encoder; give the file with --unet beside the --model");
  uint8_t *expected = models_picture(&m, &beside);
  beside.unet = m.file;
  assert_same(&m.rig, expected, models_picture(&m, &beside));
  models_close(&m);
}

/* A file with an autoencoder under two different names is refused, because one of them would not be read. */
static void test_two_autoencoders(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "kl", &(struct single_file_change){.extra = "vae.decoder.conv_in.bias"});
  struct engine_params params = models_file_params(&m);
  params.vae = NULL;
  models_refuse(&m, &params, "the first of a second autoencoder, vae.decoder.conv_in.bias");
  models_close(&m);
}

/* The user can say what the network predicts. */
static void test_prediction(void **state) {
  (void)state;
  static const char *const names[] = {"epsilon", "epsilon", "v", "sample"};
  struct models m;
  models_open(&m, args, scratch, "sd15", NULL);
  struct engine_params params = models_file_params(&m);
  for (int i = 0; i < 4; i++) {
    struct engine_info info;
    params.prediction = (enum engine_prediction)i;
    must(rig_engine(&m.rig, &params, &(struct engine_shape){0}), &m.rig.err);
    engine_get_info(m.rig.engine, &info);
    assert_string_equal(info.prediction, names[i]);
    assert_string_equal(info.model, "model");
    engine_close(&m.rig.engine);
  }
  models_close(&m);
}

/* A schedule that ends in pure noise is accepted with v and sample prediction, and refused with epsilon. */
static void test_prediction_at_zero_snr(void **state) {
  (void)state;
  struct models m;
  models_open(&m, args, scratch, "sd21", NULL);
  struct engine_params params = default_params(&m.rig.golden, args[2]);
  params.prediction = ENGINE_PREDICTION_SAMPLE;
  must(rig_engine(&m.rig, &params, &(struct engine_shape){0}), &m.rig.err);
  engine_close(&m.rig.engine);
  params.prediction = ENGINE_PREDICTION_EPSILON;
  models_refuse(&m, &params, "rescale_betas_zero_snr");
  models_close(&m);
}

/* --- files with the sizes of published models: names and shapes; the weights are a hole in the file --- */

static void write_published(const char *name, const char *to) {
  char path[PATH_MAX], line[512];
  snprintf(path, sizeof path, "%s/../published/%s.txt.gz", args[1], name);
  gzFile in = gzopen(path, "rb");
  char *header;
  size_t length, at = 0;
  FILE *out = open_memstream(&header, &length);
  assert_true(in && out);
  fputc('{', out);
  while (gzgets(in, line, sizeof line)) {
    char *shape = strchr(line, ' ');
    assert_non_null(shape);
    *shape++ = 0;
    shape[strcspn(shape, "\n")] = 0;
    size_t elements = 1;
    for (const char *size = shape; *size; size += strcspn(size, ","), size += *size == ',')
      elements *= strtoul(size, NULL, 10);
    fprintf(out, "%s\"%s\":{\"dtype\":\"F16\",\"shape\":[%s],\"data_offsets\":[%zu,%zu]}", at ? "," : "", line, shape,
            at, at + 2 * elements);
    at += 2 * elements;
  }
  fputc('}', out);
  assert_int_equal(fclose(out), 0);
  gzclose(in);
  fixture_tensors(scratch, to, header, -1, "", 0);
  char *file = fixture_path(scratch, to);
  assert_int_equal(truncate(file, (off_t)(8 + length + at)), 0);
  free(file);
  free(header);
}

/* Each network is built and each weight of the file has its place; then memory is too small. */
static void test_published(void **state) {
  (void)state;
  static const struct {
    const char *name, *family;
    /* number of parameters that are read, in millions: SDXL does not read the last layer of CLIP-L */
    double parameters;
  } cases[] = {
      {"sd15", "SD 1", 859.52 + 83.65 + 123.06},
      {"sd15-inpainting", "SD 1, inpainting", 859.54 + 83.65 + 123.06},
      {"sd15-pix2pix", "SD 1, InstructPix2Pix", 859.53 + 83.65 + 123.06},
      {"sd21", "SD 2", 865.91 + 83.65 + 340.39},
      {"sdxl", "SDXL", 2567.46 + 83.65 + 115.97 + 694.66},
      {"ssd-1b", "SSD-1B", 1331.33 + 83.65 + 115.97 + 694.66},
  };
  char *file = fixture_path(scratch, "published.safetensors");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct golden golden = {0};
    struct rig rig = {0};
    struct engine_params params = default_params(&golden, args[2]);
    write_published(cases[i].name, "published.safetensors");
    params.model = file;
    params.vocabulary = SOURCE_DIR "/assets/clip/bpe_simple_vocab_16e6.txt.gz";
    params.device.memory_limit = 1;
    assert_int_equal(rig_engine(&rig, &params, &(struct engine_shape){0}), -1);
    if (rig.err.status != STATUS_DEVICE)
      fail_msg("%s: %s", cases[i].name, rig.err.message);
    assert_error(&rig.err, STATUS_DEVICE, "its weights take");
    double taken = strtod(strstr(rig.err.message, "take") + 4, NULL), wanted = 4 * cases[i].parameters;
    if (!(fabs(taken - wanted) < 1e-3 * wanted))
      fail_msg("%s takes %.1f MB, not %.1f", cases[i].name, taken, wanted);

    params.zero_snr = ENGINE_ON;
    params.prediction = ENGINE_PREDICTION_V;
    must(engine_open_checkpoint(&params.checkpoint, &params, &rig.err), &rig.err);
    char *text, family[64];
    size_t length;
    FILE *out = open_memstream(&text, &length);
    checkpoint_print(params.checkpoint, false, out);
    fclose(out);
    snprintf(family, sizeof family, "family        %s; one file", cases[i].family);
    if (!strstr(text, family) || !strstr(text, "v prediction, zero terminal SNR\n") ||
        !strstr(text, cases[i].parameters > 1500 ? ", clip skip 2\n" : ", clip skip 1\n"))
      fail_msg("expected %s in: %s", family, text);
    free(text);
    checkpoint_close(&params.checkpoint);
  }
  free(file);
}

/* Returns the number of bytes that this process has read from files so far; 0 if the system does not say. */
static size_t bytes_read(void) {
  FILE *in = fopen("/proc/self/io", "r");
  size_t bytes = 0;
  if (in && fscanf(in, "rchar: %zu", &bytes) != 1)
    bytes = 0;
  if (in)
    fclose(in);
  return bytes;
}

/* For the 7 GB of SDXL the size is reported, or that memory is too small, without reading or allocating it. */
static void test_sizes_of_published(void **state) {
  (void)state;
  char *file = fixture_path(scratch, "published.safetensors");
  struct golden golden = {0};
  struct rig rig = {0};
  struct rusage before, after;
  write_published("sdxl", "published.safetensors");
  size_t read_before = bytes_read();
  getrusage(RUSAGE_SELF, &before);
  struct engine_params params = default_params(&golden, args[2]);
  params.model = file;
  params.vocabulary = SOURCE_DIR "/assets/clip/bpe_simple_vocab_16e6.txt.gz";
  params.device.sizes_only = true;
  if (rig_engine(&rig, &params, &(struct engine_shape){0}) < 0)
    assert_error(&rig.err, STATUS_DEVICE, "MB");
  else
    assert_true(info_of(&rig).device_bytes > (size_t)2 * 3461740000);
  getrusage(RUSAGE_SELF, &after);
  assert_true(bytes_read() - read_before < 30000000);
  if (strncmp(args[2], "cuda", 4)) /* with CUDA the driver also takes host memory */
    assert_true(after.ru_maxrss - before.ru_maxrss < 1000000);
  engine_close(&rig.engine);
  free(file);
}

struct told {
  char line[512];
  enum log_level level;
};

static void remember_line(void *opaque, enum log_level level, const char *text) {
  struct told *told = opaque;
  if (!strstr(text, "prediction"))
    return;
  snprintf(told->line, sizeof told->line, "%s", text);
  told->level = level;
}

/* One line says what a file is recognised as, and by which sign; a guess is reported if the user did not choose. SD 2
 * predicts velocity at 768x768. A config beside the file decides. */
static void test_told_by(void **state) {
  (void)state;
  static const struct {
    const char *published, *yaml;
    enum engine_prediction asked;
    const char *says;
    int size;
    enum log_level level;
  } cases[] = {
      {"sd21", NULL, ENGINE_PREDICTION_AUTO, "SD 2 by its tensors; epsilon prediction, told by the spread", 512,
       LOG_WARNING},
      {"sd21", NULL, ENGINE_PREDICTION_V, "SD 2 by its tensors; v prediction, told by --prediction", 768, LOG_INFO},
      {"sd21", "parameterization: v", ENGINE_PREDICTION_AUTO, "v prediction, told by published.yaml beside it", 768,
       LOG_INFO},
      {"sd15", NULL, ENGINE_PREDICTION_AUTO,
       "SD 1 by its tensors; epsilon prediction, told by nothing but its family, so it is a guess: --prediction", 512,
       LOG_WARNING},
      {"sd15", "parameterization: v", ENGINE_PREDICTION_AUTO, "v prediction, told by published.yaml beside it", 512,
       LOG_INFO},
      {"sdxl", NULL, ENGINE_PREDICTION_AUTO, "SDXL by its tensors; epsilon prediction, told by nothing", 1024,
       LOG_WARNING},
  };
  char *file = fixture_path(scratch, "published.safetensors");
  char *yaml = fixture_path(scratch, "published.yaml");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct told told = {0};
    struct error err;
    struct checkpoint *checkpoint;
    write_published(cases[i].published, "published.safetensors");
    remove(yaml);
    if (cases[i].yaml)
      fixture_text(scratch, "published.yaml", cases[i].yaml);
    const struct log log = {remember_line, &told};
    const struct engine_params params = {.model = file,
                                         .vocabulary = SOURCE_DIR "/assets/clip/bpe_simple_vocab_16e6.txt.gz",
                                         .prediction = cases[i].asked,
                                         .device.log = &log};
    must(engine_open_checkpoint(&checkpoint, &params, &err), &err);
    if (!strstr(told.line, cases[i].says))
      fail_msg("expected %s in: %s", cases[i].says, told.line);
    assert_int_equal(told.level, cases[i].level);
    assert_int_equal(checkpoint->predictors[0].config.sample_width * checkpoint->autoencoder.scale, cases[i].size);
    checkpoint_close(&checkpoint);
  }
  remove(yaml);
  free(yaml);
  free(file);
}

/* What a weight file, or the config beside it, says of the prediction goes before a scheduler config, which may belong
 * to another model; if they differ, a warning says so. */
static void test_signs(void **state) {
  (void)state;
  static const struct {
    struct single_file_change change;
    const char *yaml;
    enum engine_prediction asked;
    enum engine_switch zero_snr;
    const char *prediction, *says; /* says: text of the warning; NULL: none */
    bool ends_in_noise;
  } cases[] = {
      {{0}, NULL, 0, 0, "epsilon", NULL, false},
      {{0}, NULL, ENGINE_PREDICTION_V, ENGINE_ON, "v", NULL, true},
      {{0}, NULL, ENGINE_PREDICTION_V, 0, "v", NULL, false},
      {{.extra = "v_pred"},
       NULL,
       0,
       0,
       "v",
       "predicts v by its tensor v_pred, where the scheduler's config says epsi",
       0},
      {{.extra = "v_pred"}, NULL, ENGINE_PREDICTION_EPSILON, 0, "epsilon", NULL, false},
      {{.extra = "ztsnr"}, NULL, 0, 0, "v", "by its tensor ztsnr", true},
      {{.extra = "ztsnr"}, NULL, 0, ENGINE_OFF, "v", "by its tensor ztsnr", false},
      {{.extra = "ztsnr"}, NULL, ENGINE_PREDICTION_V, 0, "v", NULL, true},
      {{0}, "model:\n  parameterization: v\n", 0, 0, "v", "predicts v by model.yaml beside it", false},
      {{0}, "parameterization: v\nzero_snr: true", 0, 0, "v", "predicts v by model.yaml beside it", true},
      {{0}, "parameterization: eps\n", 0, 0, "epsilon", NULL, false},
      {{0},
       "target: LatentDiffusion\nparameterization: edm\n",
       0,
       0,
       "epsilon",
       "model.yaml says parameterization: edm, which is not known",
       false},
      {{.metadata = "\"modelspec.prediction_type\": \"flow\""},
       NULL,
       0,
       0,
       "epsilon",
       "its metadata's modelspec.prediction_type says flow, which is not known",
       false},
      {{.metadata = "\"modelspec.prediction_type\": \"v\""}, NULL, 0, 0, "epsilon", "epsilon is followed", false},
      {{.extra = "v_pred", .metadata = "\"modelspec.prediction_type\": \"epsilon\""}, NULL, 0, 0, "v", NULL, false},
      {{.extra = "v_pred", .metadata = "\"ss_zero_terminal_snr\": \"True\""}, NULL, 0, 0, "v", NULL, true},
      {{.metadata = "\"ss_zero_terminal_snr\": \"True\""}, NULL, 0, 0, "epsilon", NULL, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct models m;
    struct told told = {0};
    const struct log log = {remember_line, &told};
    struct checkpoint *checkpoint;
    models_open(&m, args, scratch, "sd15", &cases[i].change);
    char *yaml = fixture_path(scratch, "model.yaml");
    remove(yaml);
    if (cases[i].yaml)
      fixture_text(scratch, "model.yaml", cases[i].yaml);
    struct engine_params params = models_file_params(&m);
    params.prediction = cases[i].asked;
    params.zero_snr = cases[i].zero_snr;
    params.device.log = &log;
    must(engine_open_checkpoint(&checkpoint, &params, &m.rig.err), &m.rig.err);
    if (strcmp(prediction_name(checkpoint->scheduler.prediction), cases[i].prediction) ||
        checkpoint->scheduler.zero_snr != cases[i].ends_in_noise)
      fail_msg("case %zu: %s, %d: %s", i, prediction_name(checkpoint->scheduler.prediction),
               checkpoint->scheduler.zero_snr, told.line);
    if (cases[i].says ? !strstr(told.line, cases[i].says) : *told.line && !cases[i].change.extra)
      fail_msg("case %zu says: %s", i, told.line);
    checkpoint_close(&checkpoint);
    remove(yaml);
    free(yaml);
    models_close(&m);
  }
}

/* Without CLIP's merges file, a single file without a tokenizer is refused, and the message says what to do. */
static void test_no_vocabulary(void **state) {
  (void)state;
  char *file = fixture_path(scratch, "published.safetensors");
  struct checkpoint *checkpoint;
  struct error err = {0};
  write_published("sd15", "published.safetensors");
  assert_int_equal(engine_open_checkpoint(&checkpoint, &(struct engine_params){.model = file}, &err), -1);
  assert_error(&err, STATUS_MODEL, "--config DIR");
  free(file);
}

int main(int argc, char **argv) {
  args = argv;
  if (argc != 3)
    return 2;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_pictures),   cmocka_unit_test(test_harmless),
      cmocka_unit_test(test_refused),         cmocka_unit_test(test_configs),
      cmocka_unit_test(test_no_text_encoder), cmocka_unit_test(test_two_autoencoders),
      cmocka_unit_test(test_prediction),      cmocka_unit_test(test_prediction_at_zero_snr),
      cmocka_unit_test(test_published),       cmocka_unit_test(test_sizes_of_published),
      cmocka_unit_test(test_told_by),         cmocka_unit_test(test_signs),
      cmocka_unit_test(test_no_vocabulary),
  };
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
