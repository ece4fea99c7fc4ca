/* Tests what the engine reports about itself, and what it refuses to open.
 *
 *   test_engine_open GOLDENS DEVICE */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/checkpoint/checkpoint.h"

static char **args; /* arguments of the test program */

static void test_info(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "levels", false);
  struct engine_info info;
  engine_get_info(rig.engine, &info);
  assert_string_equal(info.model, "levels");
  assert_true(!strncmp(args[2], "cuda", 4) == (info.depth == 2) && info.device[0]);
  assert_int_equal(info.native_width, 32);
  assert_int_equal(info.native_height, 48);
  assert_int_equal(info.size_multiple, 16);
  struct prepared_info own;
  prepared_get_info(rig.prepared, &own);
  assert_int_equal(own.shape.steps, 1);
  assert_true(info.image_conditioned && !info.has_guidance_embedding && !info.large_autoencoder);
  assert_int_equal(own.rows, 1);
  assert_string_equal(own.sampler, "Euler");
  assert_string_equal(own.spacing, "trailing");
  assert_string_equal(info.prediction, "v");
  assert_true(own.flops > 1e7 && info.weight_bytes > 100000 && info.device_peak_bytes >= info.device_bytes);
  double flops = own.flops;
  must(rig_reshape(&rig, 0, 0, 2), &rig.err);
  prepared_get_info(rig.prepared, &own);
  assert_true(own.flops > 1.1 * flops && own.flops < 2 * flops);
  rig_close(&rig);
}

/* Checks that opening the engine, or preparing a picture of the model's own size, fails. */
static void open_fails(const struct engine_params *params, enum status status, const char *what) {
  struct rig rig = {0};
  assert_int_equal(rig_engine(&rig, params, &(struct engine_shape){0}), -1);
  assert_null(rig.engine);
  assert_error(&rig.err, status, what);
}

static void prepare_fails(struct engine *engine, const struct engine_shape *shape, const char *what) {
  struct prepared *prepared;
  struct error err = {0};
  assert_int_equal(engine_prepare(engine, shape, &prepared, &err), -1);
  assert_null(prepared);
  assert_error(&err, STATUS_USAGE, what);
}

static void expect_size(struct rig *rig, const struct engine_shape *wish, enum sizing sizing, int width) {
  struct engine_shape shape = *wish;
  struct prepared *prepared;
  struct prepared_info info;
  shape.sizing = sizing;
  must(engine_prepare(rig->engine, &shape, &prepared, &rig->err), &rig->err);
  prepared_get_info(prepared, &info);
  assert_int_equal(info.shape.width, width);
  engine_release(rig->engine, &prepared);
  assert_null(prepared);
}

static void test_refused_shapes(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "levels", false);
  const struct engine_shape good = default_shape(&rig.golden);
  struct engine_shape shape = good;
  shape.width = 41;
  prepare_fails(rig.engine, &shape, "40 or 42");
  struct prepared *prepared = NULL;
  expect_size(&rig, &shape, SIZE_EVEN, 42);
  expect_size(&rig, &shape, SIZE_WHOLE, 48);
  shape.width = 3;
  expect_size(&rig, &shape, SIZE_EVEN, 16);
  expect_size(&rig, &shape, SIZE_WHOLE, 16);
  engine_release(rig.engine, &prepared);

  shape = good;
  shape.text_to_image = true;
  prepare_fails(rig.engine, &shape, "picture");
  shape = good;
  shape.steps = 51;
  prepare_fails(rig.engine, &shape, "51");
  shape = good;
  shape.batch = BATCH_MAX + 1;
  prepare_fails(rig.engine, &shape, "batch of 5");
  rig_close(&rig);
}

static void test_refusals(void **state) {
  (void)state;
  struct golden golden;
  assert_int_equal(golden_open(&golden, args[1], "levels"), 0);
  const struct engine_params good = default_params(&golden, args[2]);
  struct engine_params params = good;
  params.model = "/nowhere";
  open_fails(&params, STATUS_MODEL, "/nowhere: cannot be read: No such file");
  params = good;
  params.vae = "/nowhere";
  open_fails(&params, STATUS_MODEL, "/nowhere: cannot be read: No such file");
  params = good;
  params.device.name = "abacus";
  open_fails(&params, STATUS_USAGE, "abacus");
  params = good;
  char vae[1024];
  snprintf(vae, sizeof vae, "%s/sd15/vae", args[1]);
  params.vae = vae;
  open_fails(&params, STATUS_MODEL, "channels");
  golden_close(&golden);
}

/* If memory is too small for the weights, an error with the numbers comes before any weight is read; the weights of
 * this model could not even be read. */
static void test_no_room(void **state) {
  (void)state;
  struct golden golden;
  assert_int_equal(golden_open(&golden, args[1], "sd15"), 0);
  struct engine_params params = default_params(&golden, args[2]);
  params.device.memory_limit = 100000;
  open_fails(&params, STATUS_DEVICE, "more than the 0.1 MB allowed");
  open_fails(&params, STATUS_DEVICE, "sd15: its weights take");
  open_fails(&params, STATUS_DEVICE, "--memory-limit");
  golden_close(&golden);
}

/* --- sizes only --- */

static void link_into(const char *folder, const char *to, const char *name) {
  char from[1024], target[1024];
  snprintf(target, sizeof target, "%s/%s", to, name);
  snprintf(from, sizeof from, "%s/%s", folder, name);
  assert_int_equal(symlink(from, target), 0);
}

/* Opens an engine with one handle and returns its info. */
static struct engine_info open_info(const struct engine_params *params, const struct engine_shape *shape) {
  struct rig rig = {0};
  must(rig_engine(&rig, params, shape), &rig.err);
  struct engine_info info = info_of(&rig);
  engine_close(&rig.engine);
  return info;
}

/* Checks memory sizes. A GPU also keeps copies of some weights for the fastest kernels, and allocates in chunks of 32
 * MB. On a CPU both figures are equal. */
static void expect_bytes(size_t told, size_t taken) {
  const double chunk = 32 << 20;
  bool gpu = !strncmp(args[2], "cuda", 4);
  if (fabs((double)told - (double)taken) > (gpu ? 0.1 * (double)taken + 2 * chunk : 0))
    fail_msg("%zu bytes were told, and %zu are taken", told, taken);
}

/* Checks that one byte less than is needed is refused, with the same message as when weights are read. */
static void expect_same_limit(struct engine_params params, const struct engine_shape *shape, size_t bytes) {
  struct rig rig[2] = {0};
  params.device.memory_limit = bytes - 1;
  for (int i = 0; i < 2; i++) {
    params.device.sizes_only = i;
    assert_int_equal(rig_engine(&rig[i], &params, shape), -1);
    assert_int_equal(rig[i].err.status, STATUS_DEVICE);
  }
  assert_string_equal(rig[0].err.message, rig[1].err.message);
}

/* The memory that a model needs is known without reading weights, at its usual size and at others. */
static void test_sizes_only(void **state) {
  (void)state;
  static const char *const names[] = {"levels", "sd15", "sdxl", "klwide", "sd21", "lcm", "ssd"};
  static const struct engine_shape shapes[] = {{.steps = 0}, {.width = 96, .height = 64, .steps = 3}};
  for (size_t i = 0; i < sizeof names / sizeof *names * 2; i++) {
    struct golden golden;
    assert_int_equal(golden_open(&golden, args[1], names[i / 2]), 0);
    struct engine_params params = default_params(&golden, args[2]);
    params.device.sizes_only = true;
    struct engine_info told = open_info(&params, &shapes[i % 2]);
    params.device.sizes_only = false;
    struct engine_info taken = open_info(&params, &shapes[i % 2]);
    assert_true(told.device_bytes > 0 && told.prompt_bytes == taken.prompt_bytes);
    expect_bytes(told.device_bytes, taken.device_bytes);
    if (!strcmp(args[2], "cpu")) {
      assert_int_equal(told.device_peak_bytes, taken.device_peak_bytes);
      expect_same_limit(params, &shapes[i % 2], taken.device_peak_bytes);
    }
    golden_close(&golden);
  }
}

/* Copies a weight file and makes all its values invalid, so that reading them is refused. */
static void spoil_weights(const char *folder, const char *original, const char *name) {
  char *path = fixture_path(original, name);
  size_t size, header = 0;
  char *bytes = fixture_read(path, &size);
  assert_non_null(bytes);
  for (int i = 0; i < 8; i++)
    header |= (size_t)(unsigned char)bytes[i] << 8 * i;
  memset(bytes + 8 + header, 0xff, size - 8 - header);
  fixture_write(folder, name, bytes, size);
  free(bytes);
  free(path);
}

/* A model whose weights are NaN: its sizes are known, reading the weights fails, and no frame can be made. */
static void test_sizes_of_unread_weights(void **state) {
  (void)state;
  static const char unet[] = "unet/diffusion_pytorch_model.safetensors", text[] = "text_encoder/model.safetensors";
  static const char *const linked[] = {
      "vae", "tokenizer", "scheduler", "model_index.json", "unet/config.json", "text_encoder/config.json"};
  char whole[PATH_MAX], *folder = fixture_make();
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  assert_non_null(realpath(args[1], whole));
  assert_int_equal(golden_open(&rig.golden, whole, "sd15"), 0);
  spoil_weights(folder, rig.golden.folder, unet);
  spoil_weights(folder, rig.golden.folder, text);
  for (size_t i = 0; i < sizeof linked / sizeof *linked; i++)
    link_into(rig.golden.folder, folder, linked[i]);
  struct engine_params params = default_params(&rig.golden, args[2]);
  struct engine_info good = open_info(&params, &(struct engine_shape){0});
  params.model = folder;
  open_fails(&params, STATUS_MODEL, "safetensors");
  params.device.sizes_only = true;
  must(rig_engine(&rig, &params, &(struct engine_shape){0}), &rig.err);
  expect_bytes(info_of(&rig).device_bytes, good.device_bytes);
  assert_int_equal(rig_submit(&rig, &rig.golden.frame), -1);
  assert_error(&rig.err, STATUS_FAILED, "opened for sizes only");
  rig_close(&rig);
  fixture_remove(folder);
}

/* A checkpoint that was opened once can be used by several engines in turn; pictures equal those of an engine that
 * opens the folder itself. */
static void test_lent_checkpoint(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "levels", false);
  rig.controls.prompt = 0;
  uint8_t *own = generate_default(&rig);
  struct engine_params params = default_params(&rig.golden, args[2]);
  const struct engine_shape shape = default_shape(&rig.golden);
  must(checkpoint_open(&params.checkpoint, &(struct checkpoint_sources){.model = params.model}, NULL, &rig.err),
       &rig.err);
  params.model = "/nowhere";
  for (int i = 0; i < 2; i++) {
    engine_close(&rig.engine);
    must(rig_engine(&rig, &params, &shape), &rig.err);
    uint8_t *lent = generate_default(&rig);
    assert_memory_equal(lent, own, picture_bytes(&rig));
    free(lent);
  }
  free(own);
  rig_close(&rig);
  checkpoint_close(&params.checkpoint);
}

/* --- copies of a model folder with one changed file --- */

/* Writes folder/unet/config.json: the original with one string replaced. */
static void change_config(const char *folder, const char *original, const char *old, const char *new) {
  char *path = fixture_path(original, "unet/config.json"), *text = fixture_read(path, NULL), *changed;
  assert_non_null(text);
  char *at = strstr(text, old);
  assert_non_null(at);
  assert_true(asprintf(&changed, "%.*s%s%s", (int)(at - text), text, new, at + strlen(old)) > 0);
  fixture_text(folder, "unet/config.json", changed);
  free(changed);
  free(text);
  free(path);
}

static const char *const linked[] = {"vae",       "text_encoder",     "tokenizer",
                                     "scheduler", "model_index.json", "unet/diffusion_pytorch_model.safetensors"};
enum { LINKED = sizeof linked / sizeof linked[0] };

/* Makes a folder with links to everything in `original` except unet/config.json; fixture_remove deletes it. */
static char *make_model(const char *original) {
  char *folder = fixture_make(), *unet = fixture_path(folder, "unet");
  assert_int_equal(mkdir(unet, 0700), 0);
  for (int i = 0; i < LINKED; i++)
    link_into(original, folder, linked[i]);
  free(unet);
  return folder;
}

/* A config that asks for weights which the files do not have is refused. */
static void test_wrong_weights(void **state) {
  (void)state;
  static const struct {
    const char *old, *new, *named;
  } cases[] = {{"\"layers_per_block\": 1", "\"layers_per_block\": 2", "down_blocks.0.attentions.1"},
               {"\"cross_attention_dim\": 16", "\"time_embedding_dim\": 40, \"cross_attention_dim\": 16", "time_emb"}};
  char whole[PATH_MAX];
  assert_non_null(realpath(args[1], whole));
  struct golden golden;
  assert_int_equal(golden_open(&golden, whole, "pix2pix"), 0);
  for (int i = 0; i < 2; i++) {
    char *folder = make_model(golden.folder);
    change_config(folder, golden.folder, cases[i].old, cases[i].new);
    struct engine_params params = default_params(&golden, args[2]);
    params.model = folder;
    open_fails(&params, STATUS_MODEL, cases[i].named);
    fixture_remove(folder);
  }
  golden_close(&golden);
}

/* --- weights that no network reads --- */

/* Copies a file of `original` to the folder, and adds tensors of these names at its end. */
static void add_tensors(const char *folder, const char *original, const char *name, const char *const names[],
                        int count) {
  char *path = fixture_path(original, name), *header = NULL;
  size_t size, header_size = 0, printed;
  char *bytes = fixture_read(path, &size);
  assert_non_null(bytes);
  for (int i = 0; i < 8; i++)
    header_size |= (size_t)(unsigned char)bytes[i] << 8 * i;
  size_t data = size - 8 - header_size, more = 4 * (size_t)count; /* each added tensor has two zeros */
  bytes = realloc(bytes, size + more);
  memset(bytes + size, 0, more);
  FILE *out = open_memstream(&header, &printed);
  *(char *)memrchr(bytes + 8, '}', header_size) = 0;
  fputs(bytes + 8, out);
  for (int i = 0; i < count; i++)
    fprintf(out, ",\"%s\":{\"dtype\":\"F16\",\"shape\":[2],\"data_offsets\":[%zu,%zu]}", names[i], data + 4 * (size_t)i,
            data + 4 * (size_t)(i + 1));
  fputs("}", out);
  fclose(out);
  fixture_tensors(folder, name, header, -1, bytes + 8 + header_size, data + more);
  free(header);
  free(bytes);
  free(path);
}

/* Returns a copy of the model in which a component has additional tensors. */
static char *model_with_tensors(const char *original, const char *component, const char *basename,
                                const char *const names[], int count) {
  static const char *const parts[] = {"unet", "vae", "text_encoder", "tokenizer", "scheduler", "model_index.json"};
  char *folder = fixture_make(), config[64], weights[64];
  snprintf(config, sizeof config, "%s/config.json", component);
  snprintf(weights, sizeof weights, "%s/%s.safetensors", component, basename);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
    if (strcmp(parts[i], component))
      link_into(original, folder, parts[i]);
  add_tensors(folder, original, weights, names, count);
  link_into(original, folder, config);
  return folder;
}

/* Opens a copy of pix2pix in which a component has additional tensors. */
static int open_with_tensors(const char *component, const char *basename, const char *const names[], int count,
                             struct error *err) {
  char whole[PATH_MAX];
  assert_non_null(realpath(args[1], whole));
  struct golden golden;
  assert_int_equal(golden_open(&golden, whole, "pix2pix"), 0);
  char *folder = model_with_tensors(golden.folder, component, basename, names, count);
  struct engine_params params = default_params(&golden, args[2]);
  params.model = folder;
  struct engine *engine;
  int result = engine_open(&engine, &params, err);
  engine_close(&engine);
  fixture_remove(folder);
  golden_close(&golden);
  return result;
}

#define UNET_FILE "diffusion_pytorch_model"

/* Weights that the network has no place for are refused: they belong to another network, and pictures would be wrong
 * without a message. */
static void test_weights_without_place(void **state) {
  (void)state;
  static const struct {
    const char *component, *basename, *names[2], *said;
  } cases[] = {
      {"unet",
       UNET_FILE,
       {"down_blocks.0.attentions.0.proj_in.lora_B.weight", "down_blocks.0.attentions.0.proj_in.lora_A.weight"},
       "/config.json has no place for, the first "
       "down_blocks.0.attentions.0.proj_in.lora_A"},
      {"unet", UNET_FILE, {"add_embedding.linear_1.bias"}, "1 tensor that"},
      {"vae", UNET_FILE, {"decoder.layers.3.pool.0.weight"}, "decoder.layers.3.pool.0.weight"},
      {"vae", UNET_FILE, {"encoder.layers.99.weight"}, "encoder.layers.99.weight"},
      {"text_encoder", "model", {"text_model.encoder.layers.1.adapter.bias"}, "layers.1.adapter"},
      {"text_encoder", "model", {"text_model.encoder.layers.", "text_model.encoder.layers.1"}, "2 tensors"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct error err = {0};
    int count = cases[i].names[1] ? 2 : 1;
    assert_int_equal(open_with_tensors(cases[i].component, cases[i].basename, cases[i].names, count, &err), -1);
    assert_error(&err, STATUS_MODEL, cases[i].said);
  }
}

/* Tensors that published files contain and no pipeline reads are ignored. */
static void test_weights_that_may_stay(void **state) {
  (void)state;
  static const char *const names[] = {"text_model.embeddings.position_ids", "logit_scale", "text_projection.weight",
                                      "text_model.encoder.layers.2.mlp.fc1.bias",
                                      "text_model.encoder.layers.11.mlp.fc1.bias"};
  struct error err = {0};
  must(open_with_tensors("text_encoder", "model", names, sizeof names / sizeof *names, &err), &err);
}

static void open_with(struct rig *rig, const struct engine_params *params, const struct engine_shape *shape) {
  must(rig_engine(rig, params, shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
}

/* Another autoencoder replaces the model's own, whose files are not opened: here they are invalid. */
static void test_other_autoencoder(void **state) {
  (void)state;
  char whole[PATH_MAX], own[PATH_MAX], unet[PATH_MAX], nonsense[PATH_MAX];
  assert_non_null(realpath(args[1], whole));
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  assert_int_equal(golden_open(&rig.golden, whole, "pix2pix"), 0);
  char *folder = make_model(rig.golden.folder);
  change_config(folder, rig.golden.folder, "{", "{");
  snprintf(own, sizeof own, "%s/vae", rig.golden.folder);
  snprintf(unet, sizeof unet, "%s/unet", rig.golden.folder);
  snprintf(nonsense, sizeof nonsense, "%s/vae", folder);
  assert_int_equal(unlink(nonsense) || symlink(unet, nonsense), 0);

  struct engine_params params = default_params(&rig.golden, args[2]);
  const struct engine_shape shape = default_shape(&rig.golden);
  open_with(&rig, &params, &shape);
  uint8_t *picture = generate_default(&rig);
  engine_close(&rig.engine);
  params.model = folder;
  open_fails(&params, STATUS_MODEL, "vae");
  params.vae = own;
  open_with(&rig, &params, &shape);
  assert_same(&rig, picture, generate_default(&rig));
  rig_close(&rig);
  fixture_remove(folder);
}

/* A prompt that names no style of the model's list, and one that is too long, each give one warning. */
static void test_prompt_warnings(void **state) {
  (void)state;
  char whole[PATH_MAX];
  assert_non_null(realpath(args[1], whole));
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  assert_int_equal(golden_open(&rig.golden, whole, "pix2pix"), 0);
  char *folder = make_model(rig.golden.folder);
  change_config(folder, rig.golden.folder, "{", "{");
  fixture_text(folder, "styles.json",
               "{\"styles\": {\"oil painting\": [\"oil painting\", \"oil\"], \"ink\": [\"ink\"]}}");
  struct warnings said = {0};
  struct log log = {remember_warning, &said};
  struct engine_params params = default_params(&rig.golden, args[2]);
  params.model = folder;
  params.device.log = &log;
  params.prompt_syntax = PROMPT_SYNTAX_PLAIN;
  must(engine_open(&rig.engine, &params, &rig.err), &rig.err);
  must(engine_set_prompt(rig.engine, 1, "An Oil painting", &rig.err), &rig.err);
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "a dog", &rig.err), &rig.err);
  assert_int_equal(said.count, 0);
  must(engine_set_prompt(rig.engine, 1, "a dog", &rig.err), &rig.err);
  assert_int_equal(said.count, 1);
  assert_non_null(strstr(said.last, "oil painting, ink"));
  must(engine_set_prompt(rig.engine, 1, "ink ink ink ink ink ink ink ink ink ink ink ink ink", &rig.err), &rig.err);
  assert_int_equal(said.count, 2);
  assert_non_null(strstr(said.last, "14 are read"));
  rig_close(&rig);
  fixture_remove(folder);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: test_engine_open GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_info),
      cmocka_unit_test(test_refusals),
      cmocka_unit_test(test_refused_shapes),
      cmocka_unit_test(test_no_room),
      cmocka_unit_test(test_sizes_only),
      cmocka_unit_test(test_sizes_of_unread_weights),
      cmocka_unit_test(test_lent_checkpoint),
      cmocka_unit_test(test_wrong_weights),
      cmocka_unit_test(test_weights_without_place),
      cmocka_unit_test(test_weights_that_may_stay),
      cmocka_unit_test(test_other_autoencoder),
      cmocka_unit_test(test_prompt_warnings),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
