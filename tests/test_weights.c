/* Tests weight files that are damaged, have values that the device's number type cannot hold, or disappear: one line
 * names the file and, if there is one, the tensor, and no picture is made.
 *
 *   test_weights GOLDENS DEVICE       skipped where there is no such device */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/checkpoint/checkpoint.h"

#define UNET "unet/diffusion_pytorch_model.safetensors"
#define VAE "vae/diffusion_pytorch_model.safetensors"
#define TEXT "text_encoder/model.safetensors"

static char **args; /* arguments of the test program */
static char goldens[PATH_MAX];

/* Makes a copy of the pix2pix checkpoint, which fixture_remove deletes. */
static char *make_model(const struct golden *golden) {
  static const char *const copied[] = {
      UNET, VAE, TEXT, "unet/config.json", "vae/config.json", "text_encoder/config.json"};
  static const char *const linked[] = {"tokenizer", "scheduler", "model_index.json"};
  char *folder = fixture_make();
  for (size_t i = 0; i < sizeof copied / sizeof *copied; i++) {
    size_t length;
    char *from = fixture_path(golden->folder, copied[i]), *bytes = fixture_read(from, &length);
    assert_non_null(bytes);
    fixture_write(folder, copied[i], bytes, length);
    free(bytes);
    free(from);
  }
  for (size_t i = 0; i < sizeof linked / sizeof *linked; i++) {
    char *from = fixture_path(golden->folder, linked[i]), *to = fixture_path(folder, linked[i]);
    assert_int_equal(symlink(from, to), 0);
    free(from);
    free(to);
  }
  return folder;
}

static struct golden open_golden(void) {
  struct golden golden;
  if (golden_open(&golden, goldens, "pix2pix") < 0)
    fail_msg("%s", golden.missing);
  return golden;
}

/* Overwrites the last value of an FP16 tensor. */
static void set_last(const char *folder, const char *file, const char *name, uint16_t bits) {
  char *path = fixture_path(folder, file);
  struct safetensors *files;
  struct error err = {0};
  must(safetensors_open_file(&files, path, &err), &err);
  const struct safetensor *t = safetensors_get(files, name, &err);
  assert_true(t && t->dtype == DTYPE_F16);
  FILE *f = fopen(path, "r+b");
  assert_non_null(f);
  assert_int_equal(fseek(f, (long)(t->offset + t->bytes - 2), SEEK_SET), 0);
  assert_int_equal(fwrite(&bits, 2, 1, f), 1);
  assert_int_equal(fclose(f), 0);
  safetensors_close(&files);
  free(path);
}

static void expect_refused(const struct engine_params *params, const char *file, const char *tensor) {
  struct rig rig = {0};
  if (!rig_engine(&rig, params, &(struct engine_shape){0})) {
    engine_close(&rig.engine);
    fail_msg("opened with %s of %s damaged", tensor, file);
  }
  assert_error(&rig.err, STATUS_MODEL, tensor);
  assert_error(&rig.err, STATUS_MODEL, file);
}

/* Values that are not finite are found in weights of every kind: convolutions, matrices alone and stacked, vectors,
 * tables. */
static void test_not_finite(void **state) {
  (void)state;
  static const struct {
    const char *file, *tensor;
  } places[] = {
      {UNET, "conv_in.weight"},
      {UNET, "conv_in.bias"},
      {UNET, "conv_norm_out.weight"},
      {UNET, "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_k.weight"},
      {UNET, "down_blocks.0.attentions.0.transformer_blocks.0.attn2.to_v.weight"},
      {UNET, "down_blocks.0.resnets.0.time_emb_proj.bias"},
      {UNET, "time_embedding.linear_1.weight"},
      {VAE, "decoder.layers.12.weight"},
      {VAE, "encoder.layers.0.bias"},
      {TEXT, "text_model.embeddings.token_embedding.weight"},
      {TEXT, "text_model.encoder.layers.0.mlp.fc1.weight"},
      {TEXT, "text_model.final_layer_norm.bias"},
  };
  static const uint16_t values[] = {0x7e00, 0x7c00, 0xfc00, 0xfc01};
  struct golden golden = open_golden();
  struct engine_params params = default_params(&golden, args[2]);
  for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
    char *folder = make_model(&golden);
    set_last(folder, places[i].file, places[i].tensor, values[i % 4]);
    params.model = folder;
    expect_refused(&params, places[i].file, places[i].tensor);
    fixture_remove(folder);
  }
  golden_close(&golden);
}

/* Writes a copy of an FP16 file in FP32, with `value` as a tensor's first element. */
static void widen(const char *folder, const char *file, const char *name, float value) {
  char *path = fixture_path(folder, file), *header;
  size_t used = 0, size, at = 0, total;
  struct safetensors *files;
  struct error err = {0};
  must(safetensors_open_file(&files, path, &err), &err);
  total = safetensors_bytes(files) * 2;
  FILE *text = open_memstream(&header, &size);
  float *data = malloc(total);
  assert_true(text && data);
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    uint16_t *stored = malloc(t->bytes);
    assert_non_null(stored);
    must(weight_file_read(t->file, t->offset, stored, t->bytes, &err), &err);
    weights_to_f32(t->dtype, stored, t->bytes / 2, data + at);
    if (!strcmp(t->name, name))
      data[at] = value;
    fprintf(text, "%s\"%s\":{\"dtype\":\"F32\",\"data_offsets\":[%zu,%zu],\"shape\":[", i ? "," : "{", t->name, 4 * at,
            4 * at + 2 * t->bytes);
    for (int k = 0; k < t->rank; k++)
      fprintf(text, "%s%lld", k ? "," : "", (long long)t->shape[k]);
    fprintf(text, "]}");
    at += t->bytes / 2;
    used += 2 * t->bytes;
    free(stored);
  }
  fprintf(text, "}");
  assert_int_equal(fclose(text), 0);
  assert_int_equal(used, total);
  fixture_tensors(folder, file, header, -1, data, total);
  safetensors_close(&files);
  free(header);
  free(data);
  free(path);
}

/* A device that computes in FP16 refuses values that other devices accept. */
static void test_beyond_f16(void **state) {
  (void)state;
  static const char tensor[] = "down_blocks.0.attentions.0.transformer_blocks.0.attn1.to_k.weight";
  static const float values[] = {65519, 65520, 1e30f};
  struct golden golden = open_golden();
  struct engine_params params = default_params(&golden, args[2]);
  for (int i = 0; i < 3; i++) {
    char *folder = make_model(&golden);
    widen(folder, UNET, tensor, values[i]);
    params.model = folder;
    struct rig rig = {0};
    if (i > 0 && !strncmp(args[2], "cuda", 4))
      expect_refused(&params, "FP16", tensor);
    else
      must(rig_engine(&rig, &params, &(struct engine_shape){0}), &rig.err);
    engine_close(&rig.engine);
    fixture_remove(folder);
  }
  golden_close(&golden);
}

/* Checks whether a tensor's value, multiplied by 2 to the power of exponent, is accepted. */
static void expect_limit(enum dtype dtype, uint32_t bits, int exponent, bool finite, bool fits_f16) {
  uint32_t values[9] = {0}, out[9];
  uint16_t halves[9] = {0};
  struct error err = {0};
  values[7] = bits;
  halves[7] = (uint16_t)bits;
  struct weight_part part = {.data = dtype == DTYPE_F32 ? (void *)values : halves,
                             .dtype = dtype,
                             .rows = 9,
                             .name = "limit",
                             .exponent = exponent};
  assert_int_equal(weight_part_read(&part, 0, 9, false, out, &err), finite ? 0 : -1);
  assert_int_equal(weight_part_read(&part, 0, 9, true, out, &err), fits_f16 ? 0 : -1);
  if (!fits_f16)
    assert_error(&err, STATUS_MODEL, "tensor limit: value 7 is ");
  assert_int_equal(weight_part_read(&part, 0, 7, true, out, &err), 0);
}

static void test_limits(void **state) {
  (void)state;
  expect_limit(DTYPE_F32, 0x7f800000, 0, false, false);
  expect_limit(DTYPE_F32, 0xff800000, 0, false, false);
  expect_limit(DTYPE_F32, 0x7f800001, 0, false, false);
  expect_limit(DTYPE_F32, 0x7f7fffff, 0, true, false);
  expect_limit(DTYPE_F32, 0xc77ff000, 0, true, false); /* -65520, which FP16 rounds to infinity */
  expect_limit(DTYPE_F32, 0xc77fefff, 0, true, true);
  expect_limit(DTYPE_BF16, 0x7f80, 0, false, false);
  expect_limit(DTYPE_BF16, 0xffff, 0, false, false);
  expect_limit(DTYPE_BF16, 0xff7f, 0, true, false);
  expect_limit(DTYPE_BF16, 0x4780, 0, true, false);
  expect_limit(DTYPE_BF16, 0x477f, 0, true, true);
  expect_limit(DTYPE_F16, 0x7c00, 0, false, false);
  expect_limit(DTYPE_F16, 0xfc01, 0, false, false);
  expect_limit(DTYPE_F16, 0xfbff, 0, true, true);
  expect_limit(DTYPE_F32, 0x49fff000, -5, true, false); /* 32 times 65520 */
  expect_limit(DTYPE_F32, 0xc9ffefff, -5, true, true);
  expect_limit(DTYPE_BF16, 0x4a00, -5, true, false);
  expect_limit(DTYPE_BF16, 0x49ff, -5, true, true);
  expect_limit(DTYPE_F16, 0xfbff, -5, true, true);
}

/* Every finite FP16 number, including subnormal ones. */
static void test_f16_to_f32(void **state) {
  (void)state;
  for (uint32_t bits = 0; bits < 0x10000; bits++) {
    uint16_t stored = (uint16_t)bits;
    float value, expected = f16_to_f32(stored);
    if ((bits & 0x7c00) == 0x7c00)
      continue;
    weights_to_f32(DTYPE_F16, &stored, 1, &value);
    assert_memory_equal(&value, &expected, 4);
  }
}

static void shrink(const char *folder, const char *file) {
  char *path = fixture_path(folder, file);
  assert_int_equal(truncate(path, 300), 0);
  free(path);
}

/* The file is truncated (by a download that starts again) between reading the header and loading. */
static void test_shrinks_before_loading(void **state) {
  (void)state;
  static const char *const files[] = {UNET, VAE, TEXT};
  struct golden golden = open_golden();
  for (int i = 0; i < 3; i++) {
    char *folder = make_model(&golden);
    struct engine_params params = default_params(&golden, args[2]);
    struct error err = {0};
    must(checkpoint_open(&params.checkpoint, &(struct checkpoint_sources){.model = folder}, NULL, &err), &err);
    shrink(folder, files[i]);
    expect_refused(&params, files[i], "tensor ");
    checkpoint_close(&params.checkpoint);
    fixture_remove(folder);
  }
  golden_close(&golden);
}

/* Once weights are loaded, files may disappear. A handle that needs a weight in another layout then fails and changes
 * nothing. */
static void test_shrinks_while_running(void **state) {
  (void)state;
  struct rig rig = {.controls = CONTROLS_DEFAULTS, .golden = open_golden()};
  char *folder = make_model(&rig.golden);
  struct engine_params params = default_params(&rig.golden, args[2]);
  params.model = folder;
  const struct engine_shape shape = default_shape(&rig.golden);
  must(rig_engine(&rig, &params, &shape), &rig.err);
  uint8_t *before = generate_default(&rig);
  shrink(folder, UNET);
  shrink(folder, VAE);
  shrink(folder, TEXT);
  must(engine_set_prompt(rig.engine, 2, "a cat", &rig.err), &rig.err);
  for (int i = 0; i < 2; i++) { /* the second try must not find a partly loaded state */
    if (!rig_reshape(&rig, 16, 16, 0))
      must(rig_reshape(&rig, rig.golden.frame.width, rig.golden.frame.height, 0), &rig.err);
    else
      assert_error(&rig.err, STATUS_MODEL, "tensor ");
  }
  assert_same(&rig, before, generate_default(&rig));
  rig_close(&rig);
  fixture_remove(folder);
}

int main(int argc, char **argv) {
  if (argc != 3 || !realpath(argv[1], goldens)) {
    fprintf(stderr, "usage: test_weights GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  if (!golden_has_device(goldens, "pix2pix", args[2]))
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_not_finite),
      cmocka_unit_test(test_beyond_f16),
      cmocka_unit_test(test_limits),
      cmocka_unit_test(test_f16_to_f32),
      cmocka_unit_test(test_shrinks_before_loading),
      cmocka_unit_test(test_shrinks_while_running),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
