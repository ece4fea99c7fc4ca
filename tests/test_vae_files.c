/* Tests autoencoder files outside of a model: a diffusers folder, the files in which autoencoders are published, and
 * files with other tensor names give the same network.
 *
 *   test_vae_files GOLDENS */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "tests/rigs/golden.h"
#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "tests/rigs/single_file.h"
#include "unet/model/models.h"
#include "unet/model/plans.h"

static char **args; /* arguments of the test program */
/* --- files made from a golden's autoencoder --- */

enum { KEY_MAX = 256 };

/* Gets the name that a tensor has in the file; returns false if the file does not have it. */
typedef bool renaming(const char *name, char key[KEY_MAX]);

static void write_file(const char *golden, const char *name, renaming *rename, int widening) {
  char folder[1024], *header, *data;
  struct safetensors *files;
  struct error err;
  size_t header_size, data_size = 0, size;
  snprintf(folder, sizeof folder, "%s/%s/vae", args[1], golden);
  must(safetensors_open(&files, folder, "diffusion_pytorch_model", &err), &err);
  FILE *text = open_memstream(&header, &header_size), *bytes = open_memstream(&data, &size);
  fprintf(text, "{");
  for (size_t i = 0; i < safetensors_count(files); i++) {
    const struct safetensor *t = safetensors_at(files, i);
    char key[KEY_MAX];
    if (!rename(t->name, key))
      continue;
    size_t count = t->bytes;
    fprintf(text, "%s\"%s\": {\"dtype\": \"%s\", \"shape\": [", data_size ? ", " : "", key, t->type);
    bool quant = strstr(key, "quant_conv");
    for (int d = 0; d < t->rank; d++) {
      bool outer = quant || d > 1 || (strstr(key, "conv_in.weight") && d == 1) || (strstr(key, "conv_out.") && d == 0);
      count *= outer ? 1 : (size_t)widening;
      fprintf(text, "%s%lld", d ? ", " : "", (long long)t->shape[d] * (outer ? 1 : widening));
    }
    fprintf(text, "], \"data_offsets\": [%zu, %zu]}", data_size, data_size + count);
    char *stored = calloc(1, count);
    if (count == t->bytes)
      must(weight_file_read(t->file, t->offset, stored, count, &err), &err);
    fwrite(stored, 1, count, bytes);
    free(stored);
    data_size += count;
  }
  fprintf(text, "}");
  fclose(text);
  fclose(bytes);
  fixture_tensors(scratch, name, header, -1, data, data_size);
  safetensors_close(&files);
  free(header);
  free(data);
}

static bool same_name(const char *name, char key[KEY_MAX]) {
  snprintf(key, KEY_MAX, "%s", name);
  return true;
}

static bool encoder_alone(const char *name, char key[KEY_MAX]) {
  return sscanf(name, "encoder.layers.%s", key) == 1;
}

static bool decoder_alone(const char *name, char key[KEY_MAX]) {
  int layer, used = 0;
  if (sscanf(name, "decoder.layers.%d%n", &layer, &used) != 1)
    return false;
  snprintf(key, KEY_MAX, "%d%s", layer + 1, name + used);
  return true;
}

static bool both_sequences(const char *name, char key[KEY_MAX]) {
  char rest[KEY_MAX];
  bool encoder = encoder_alone(name, rest);
  if (!encoder && !decoder_alone(name, rest))
    return false;
  snprintf(key, KEY_MAX, "%.7s.%.200s", encoder ? "encoder" : "decoder", rest);
  return true;
}

static bool old_names(const char *name, char key[KEY_MAX]) {
  static const char *const names[][2] = {
      {"to_q.", "query."}, {"to_k.", "key."}, {"to_v.", "value."}, {"to_out.0.", "proj_attn."}};
  snprintf(key, KEY_MAX, "%s", name);
  for (int i = 0; i < 4; i++) {
    const char *found = strstr(name, names[i][0]);
    if (found)
      snprintf(key, KEY_MAX, "%.*s%s%s", (int)(found - name), name, names[i][1], found + strlen(names[i][0]));
  }
  return true;
}

static void copy_config(const char *golden) {
  char path[1024];
  snprintf(path, sizeof path, "%s/%s/vae/config.json", args[1], golden);
  char *text = fixture_read(path, NULL);
  fixture_text(scratch, "config.json", text);
  free(text);
}

/* A decoder with an additional tensor that no layer uses. */
static bool decoder_and_more(const char *name, char key[KEY_MAX]) {
  if (!strcmp(name, "encoder.layers.0.bias"))
    return snprintf(key, KEY_MAX, "7.extra") > 0;
  return decoder_alone(name, key);
}

static bool decoder_with_gap(const char *name, char key[KEY_MAX]) {
  return !strstr(name, ".conv.2.bias") && decoder_alone(name, key);
}

static bool decoder_turned(const char *name, char key[KEY_MAX]) {
  if (!decoder_alone(name, key))
    return false;
  char *weight = strstr(key, ".conv.0.weight"), *bias = strstr(key, ".conv.0.bias");
  if (weight)
    strcpy(weight, ".conv.0.bias");
  if (bias)
    strcpy(bias, ".conv.0.weight");
  return true;
}

static bool decoder_without_end(const char *name, char key[KEY_MAX]) {
  return strstr(name, ".conv.") && decoder_alone(name, key);
}

/* --- comparing --- */

/* Opens a golden's model with this autoencoder; NULL: its own. Returns whether that succeeds. */
static bool open_with(const char *golden, const char *vae, struct checkpoint **checkpoint, struct error *err) {
  char folder[1024];
  snprintf(folder, sizeof folder, "%s/%s", args[1], golden);
  *checkpoint = NULL;
  return !checkpoint_open(checkpoint, &(struct checkpoint_sources){.model = folder, .vae = vae}, NULL, err);
}

/* Reads all weights, in the order in which encoder and decoder use them. */
static void read_weights(const struct checkpoint *checkpoint, struct resources *resources) {
  const struct autoencoder *autoencoder = &checkpoint->autoencoder;
  const struct autoencoder_kind *kind = autoencoder_kind(autoencoder);
  struct plan plan;
  struct error err;
  plan_init(&plan, resources);
  kind->encode(autoencoder, &plan, plan_input(&plan, 1, 16, 16, 3, ELEMENT_DEVICE));
  kind->decode(autoencoder, &plan, plan_input(&plan, 1, 2, 2, autoencoder->latent_channels, ELEMENT_PRECISE));
  must(plan_finish(&plan, &err), &err);
  plan_free(&plan);
}

static float *values_of(const struct resource *r, size_t *count) {
  struct error err;
  *count = (size_t)r->n * (size_t)r->h * (size_t)r->w * (size_t)r->c;
  float *values = malloc(*count * sizeof *values);
  must(resource_read_f32(r, values, &err), &err);
  return values;
}

static void expect_same_weights(const struct checkpoint *a, const struct checkpoint *b) {
  struct resources one = {0}, other = {0};
  read_weights(a, &one);
  read_weights(b, &other);
  assert_int_equal(one.count, other.count);
  for (int i = 0; i < one.count; i++) {
    size_t count, count2;
    float *x = values_of(&one.list[i], &count), *y = values_of(&other.list[i], &count2);
    assert_string_equal(one.list[i].name, other.list[i].name);
    assert_int_equal(count, count2);
    assert_memory_equal(x, y, count * sizeof *x);
    free(x);
    free(y);
  }
  resources_free(&one);
  resources_free(&other);
}

/* Checks that the network in scratch/name is the golden's own. */
static void expect_same(const char *golden, const char *name) {
  struct checkpoint *own, *given;
  struct error err;
  char *path = fixture_path(scratch, name);
  if (!open_with(golden, NULL, &own, &err) || !open_with(golden, path, &given, &err))
    fail_msg("%s: %s", golden, err.message);
  assert_int_equal(given->autoencoder.type, own->autoencoder.type);
  assert_int_equal(given->autoencoder.scale, own->autoencoder.scale);
  assert_int_equal(given->autoencoder.latent_channels, own->autoencoder.latent_channels);
  assert_true(given->autoencoder.scaling_factor == own->autoencoder.scaling_factor);
  assert_true(given->autoencoder.shift_factor == own->autoencoder.shift_factor);
  expect_same_weights(own, given);
  checkpoint_close(&own);
  checkpoint_close(&given);
  free(path);
}

static void expect_refused(const char *golden, const char *name, const char *says) {
  struct checkpoint *checkpoint;
  struct error err;
  char *path = fixture_path(scratch, name);
  if (open_with(golden, path, &checkpoint, &err))
    fail_msg("accepted %s", name);
  assert_error(&err, STATUS_MODEL, says);
  free(path);
}

/* --- tests --- */

static void test_pair(void **state) {
  (void)state;
  /* "pools" has pooling layers and latents of 6 channels */
  static const char *const goldens[] = {"sd15", "levels", "pools"};
  for (size_t i = 0; i < sizeof goldens / sizeof *goldens; i++) {
    write_file(goldens[i], "taesd_encoder.safetensors", encoder_alone, 1);
    write_file(goldens[i], "taesd_decoder.safetensors", decoder_alone, 1);
    expect_same(goldens[i], "taesd_encoder.safetensors");
    expect_same(goldens[i], "taesd_decoder.safetensors");
    expect_same(goldens[i], ".");
  }
}

static void test_whole(void **state) {
  (void)state;
  write_file("sd15", "tiny.safetensors", same_name, 1);
  expect_same("sd15", "tiny.safetensors");
  write_file("sd15", "tiny.safetensors", both_sequences, 1);
  expect_same("sd15", "tiny.safetensors");
}

static void test_pair_refusals(void **state) {
  (void)state;
  write_file("sd15", "taesd_encoder.safetensors", encoder_alone, 1);
  expect_refused("sd15", "taesd_encoder.safetensors", "taesd_decoder.safetensors, is not there");
  expect_refused("sd15", ".", "taesd_decoder.safetensors, is not there");
  write_file("sd15", "half.safetensors", decoder_alone, 1);
  expect_refused("sd15", "half.safetensors", "one half");
  write_file("sd15", "taef1_encoder.safetensors", encoder_alone, 1);
  expect_refused("sd15", ".", "holds 2 tiny autoencoders");
  write_file("levels", "taef1_encoder.safetensors", encoder_alone, 1);
  write_file("levels", "taef1_decoder.safetensors", decoder_alone, 1);
  expect_refused("sd15", "taef1_decoder.safetensors", "16 latent channels");
  write_file("sd15", "taesd_decoder.safetensors", encoder_alone, 1); /* the decoder's file contains the encoder, too */
  expect_refused("sd15", "taesd_decoder.safetensors", "taesd_");
  expect_refused("sd15", "nowhere", "nowhere");
}

/* The message names the file that is wrong, and no config that does not exist. */
static void test_blamed(void **state) {
  (void)state;
  static const struct {
    renaming *decoder;
    const char *says;
  } cases[] = {
      {decoder_and_more,
       "taesd_decoder.safetensors: has 1 tensor that the network has no place for, the first 7.extra"},
      {decoder_with_gap, "taesd_decoder.safetensors: has no tensor for the model's decoder.layers."},
      {decoder_turned, "where its place in the network asks for"},
      {decoder_without_end, "taesd_decoder.safetensors: is no whole decoder"},
  };
  char *pair = fixture_path(scratch, "taesd_encoder.safetensors");
  write_file("sd15", "taesd_encoder.safetensors", encoder_alone, 1);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct checkpoint *checkpoint;
    struct error err = {0};
    size_t elements;
    write_file("sd15", "taesd_decoder.safetensors", cases[i].decoder, 1);
    if (open_with("sd15", pair, &checkpoint, &err) && !plans_check_unused(checkpoint, &elements, &err))
      fail_msg("accepted: %s", cases[i].says);
    assert_error(&err, STATUS_MODEL, cases[i].says);
    assert_null(strstr(err.message, "config"));
    checkpoint_close(&checkpoint);
  }
  free(pair);
}

/* Tensor names of older versions of diffusers, in a folder and in a file. */
static void test_old_names(void **state) {
  (void)state;
  copy_config("klpix");
  write_file("klpix", "diffusion_pytorch_model.safetensors", old_names, 1);
  expect_same("klpix", ".");
  expect_same("klpix", "diffusion_pytorch_model.safetensors");
}

/* The original tensor names, in a whole model's file or in one of its own. */
static void test_original(void **state) {
  (void)state;
  static const struct single_file_change layouts[] = {
      {.without = NULL},
      {.only = "first_stage_model."},
      {.only = "first_stage_model.", .from = "first_stage_model.", .to = ""},
      {.only = "first_stage_model.", .from = "first_stage_model.", .to = "", .extra = "loss.logvar"},
  };
  struct golden golden;
  if (golden_open(&golden, args[1], "kl") < 0)
    fail_msg("%s", golden.missing);
  copy_config("kl");
  for (size_t i = 0; i < sizeof layouts / sizeof *layouts; i++) {
    single_file_write(&golden, scratch, "kl.safetensors", &layouts[i]);
    expect_same("kl", "kl.safetensors");
  }
  golden_close(&golden);
}

/* Without a config, sizes are read from the tensors and the scaling factor from the model. */
static void test_sizes(void **state) {
  (void)state;
  static const int channels[] = {64, 96, 96};
  struct checkpoint *checkpoint;
  struct error err;
  write_file("kl", "kl.safetensors", same_name, 8);
  char *path = fixture_path(scratch, "kl.safetensors");
  if (!open_with("sd15", path, &checkpoint, &err))
    fail_msg("%s", err.message);
  const struct autoencoder *a = &checkpoint->autoencoder;
  assert_int_equal(a->type, AUTOENCODER_KL);
  assert_int_equal(a->kl.levels, 3);
  assert_memory_equal(a->kl.channels, channels, sizeof channels);
  assert_int_equal(a->kl.layers, 3);
  assert_int_equal(a->latent_channels, 4);
  assert_true(a->kl.quant_conv && a->kl.post_quant_conv && a->kl.mid_attention && a->kl.force_upcast);
  assert_true(a->scaling_factor == 0.18215f && a->shift_factor == 0);
  checkpoint_close(&checkpoint);
  if (!open_with("sdxl", path, &checkpoint, &err))
    fail_msg("%s", err.message);
  assert_true(checkpoint->autoencoder.scaling_factor == 0.13025f);
  checkpoint_close(&checkpoint);
  free(path);
  write_file("kl", "narrow.safetensors", same_name, 1);
  expect_refused("sd15", "narrow.safetensors", "multiples of 32");
}

static void test_others(void **state) {
  (void)state;
  char unet[1024];
  struct checkpoint *checkpoint;
  struct error err;
  snprintf(unet, sizeof unet, "%s/sd15/unet/diffusion_pytorch_model.safetensors", args[1]);
  assert_false(open_with("sd15", unet, &checkpoint, &err));
  assert_error(&err, STATUS_MODEL, "not an autoencoder");
  copy_config("kl");
  write_file("sd15", "tiny.safetensors", same_name, 1);
  expect_refused("sd15", "tiny.safetensors", "another autoencoder");
}

int main(int argc, char **argv) {
  args = argv;
  if (argc != 2) {
    fprintf(stderr, "usage: test_vae_files GOLDENS\n");
    return 2;
  }
#define TEST(test) cmocka_unit_test_setup_teardown(test, scratch_make, scratch_remove)
  const struct CMUnitTest tests[] = {TEST(test_pair),   TEST(test_whole),     TEST(test_pair_refusals),
                                     TEST(test_blamed), TEST(test_old_names), TEST(test_original),
                                     TEST(test_sizes),  TEST(test_others)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
