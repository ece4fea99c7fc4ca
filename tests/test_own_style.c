/* Tests models whose folder has an IP-Adapter of its own, as mini's has: pictures are those of diffusers
 * (tests/goldens/own_style.py), and nothing of it is opened until a style picture is asked for. args: the folder of
 * goldens, the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/own_model.h"
#include "tests/rigs/rig.h"
#include "tests/rigs/scratch.h"
#include "unet/checkpoint/ip_adapter.h"

#define ADAPTER "ip_adapter.safetensors"
#define ENCODER "image_encoder/model.safetensors"
#define CONFIG "image_encoder/config.json"

static char **args;                 /* arguments of the test program */
static struct golden golden, plain; /* own, whose pictures are the style pictures; pix2pix, the model */

static void remove_part(const char *name) {
  char *path = fixture_path(scratch, name);
  assert_int_equal(unlink(path), 0);
  free(path);
}

static void copy_part(const char *name) {
  size_t length;
  char *from = fixture_path(golden.folder, name), *bytes = fixture_read(from, &length);
  assert_non_null(bytes);
  fixture_write(scratch, name, bytes, length);
  free(bytes);
  free(from);
}

/* Makes the model's folder in `scratch`, with copies of the adapter's files, which tests spoil. */
static int make_model(void **state) {
  scratch_make(state);
  own_model_link(scratch, args[1]);
  remove_part(ADAPTER);
  remove_part("image_encoder");
  copy_part(ADAPTER);
  copy_part(ENCODER);
  copy_part(CONFIG);
  return 0;
}

static struct engine_params own_params(bool own_adapter) {
  struct engine_params params = default_params(&plain, args[2]);
  params.model = scratch;
  params.own_adapter = own_adapter;
  return params;
}

/* --- pictures --- */

static struct frame style_frame(int number) {
  struct values v = golden_values(&golden, "%s", number ? "second" : "input");
  uint8_t *pixels = malloc(v.count / 3 * 4);
  for (size_t i = 0; i < v.count / 3; i++)
    for (size_t c = 0; c < 4; c++)
      pixels[4 * i + c] = c == 3 ? 255 : (uint8_t)v.data[3 * i + c];
  struct frame frame = {.format = PIXEL_RGBA, .width = v.shape[2], .height = v.shape[1], .plane = {pixels}};
  frame.pitch[0] = 4 * frame.width;
  free(v.data);
  return frame;
}

static void set_style(struct engine *engine, int slot, int number) {
  struct frame frame = style_frame(number);
  struct engine_style *style;
  struct engine_info info;
  struct error err = {0};
  engine_get_info(engine, &info);
  must(engine_read_style(&info.style, &frame, &style, &err), &err);
  must(engine_set_style(engine, slot, style, &err), &err);
  engine_free_style(&style);
  free((void *)frame.plane[0]);
}

/* Opens an engine with these parameters, and prepares a handle. */
static struct rig open_rig(const struct engine_params *params, int steps, bool guided, bool styles) {
  struct rig rig = {.controls = CONTROLS_DEFAULTS};
  struct engine_shape shape = default_shape(&plain);
  shape.steps = steps;
  shape.guidance = guided ? GUIDANCE_FULL : GUIDANCE_NONE;
  shape.styles = styles;
  must(rig_engine(&rig, params, &shape), &rig.err);
  must(engine_set_prompt(rig.engine, SLOT_PRESET_1, json_string(golden.json, "prompt", ""), &rig.err), &rig.err);
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "", &rig.err), &rig.err);
  return rig;
}

static uint8_t *make(struct rig *rig) {
  return generate(rig, &plain.frame);
}

static double run_psnr(const cJSON *run) {
  const struct engine_params params = own_params(true);
  struct engine_params exact = params;
  exact.strength_diffusers = true;
  struct rig rig = open_rig(&exact, (int)json_number(run, "steps", 1), cJSON_HasObjectItem(run, "guidance"), true);
  rig.controls.strength = 1;
  rig.controls.guidance = (float)json_number(run, "guidance", 1);
  rig.controls.image_guidance = (float)json_number(run, "image_guidance", 1);
  rig.controls.seed = (uint64_t)json_number(run, "seed", 0);
  const cJSON *pictures = cJSON_GetObjectItemCaseSensitive(run, "pictures");
  const cJSON *weights = cJSON_GetObjectItemCaseSensitive(run, "weights");
  for (int i = 0; i < cJSON_GetArraySize(pictures); i++) {
    set_style(rig.engine, i, cJSON_GetArrayItem(pictures, i)->valueint);
    rig.controls.style[i].weight = (float)cJSON_GetArrayItem(weights, i)->valuedouble;
  }
  struct values expected = golden_values(&golden, "run.%s", json_string(run, "name", ""));
  uint8_t *pixels = make(&rig);
  const struct frame picture = {.format = PIXEL_RGBA,
                                .width = plain.frame.width,
                                .height = plain.frame.height,
                                .plane = {pixels},
                                .pitch = {4 * plain.frame.width}};
  double db = picture_psnr(&picture, &expected);
  free(expected.data);
  free(pixels);
  engine_close(&rig.engine);
  return db;
}

static void pictures_are_diffusers(void **state) {
  (void)state;
  const cJSON *run;
  cJSON_ArrayForEach(run, cJSON_GetObjectItemCaseSensitive(golden.json, "runs")) {
    double db = run_psnr(run);
    print_message("  %s: %.1f dB\n", json_string(run, "name", ""), db);
    if (!(db >= (strcmp(args[2], "cuda") ? 60 : 40)))
      fail_msg("%s: %.1f dB", json_string(run, "name", ""), db);
  }
}

/* A style picture takes the place of the input's fine detail, which the prompt's style would get, as far as it is on;
 * not of detail that is asked for. */
static void detail_gives_way(void **state) {
  (void)state;
  static const float weights[] = {0, 0.5f, 1, 2}, shares[] = {0.5f, 0.25f, 0, 0};
  fixture_text(scratch, "styles.json", "{\"styles\": {\"photo\": [\"photo\"]}, \"detail\": {\"photo\": 0.5}}");
  const struct engine_params params = own_params(true);
  struct rig rig = open_rig(&params, 1, false, true);
  must(engine_set_prompt(rig.engine, SLOT_PRESET_1, "photo", &rig.err), &rig.err);
  free(make(&rig));
  assert_float_equal(engine_usual_detail(rig.engine), 0.5, 0);
  set_style(rig.engine, 1, 0);
  for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
    rig.controls.style[1].weight = weights[i];
    rig.controls.detail = -1;
    uint8_t *usual = make(&rig);
    assert_float_equal(engine_usual_detail(rig.engine), shares[i], 0);
    rig.controls.detail = shares[i];
    uint8_t *asked = make(&rig);
    assert_memory_equal(usual, asked, 4 * (size_t)plain.frame.width * (size_t)plain.frame.height);
    rig.controls.detail = 1;
    uint8_t *other = make(&rig);
    assert_memory_not_equal(usual, other, 4 * (size_t)plain.frame.width * (size_t)plain.frame.height);
    free(usual);
    free(asked);
    free(other);
  }
  must(engine_set_style(rig.engine, 1, NULL, &rig.err), &rig.err);
  free(make(&rig));
  assert_float_equal(engine_usual_detail(rig.engine), 0.5, 0);
  engine_close(&rig.engine);
}

/* --- without a style picture --- */

/* Returns the picture of an engine that is opened without a style picture; *info describes it afterwards. */
static uint8_t *make_without(const char *model, struct engine_info *info) {
  struct engine_params params = own_params(false);
  params.model = model;
  struct rig rig = open_rig(&params, 1, false, false);
  uint8_t *pixels = make(&rig);
  engine_get_info(rig.engine, info);
  engine_close(&rig.engine);
  return pixels;
}

static void without_a_style_nothing_is_opened(void **state) {
  (void)state;
  struct engine_info with, without;
  free(make_without(plain.folder, &without)); /* a GPU tries its kernels for the first one */
  uint8_t *first = make_without(scratch, &with), *second = make_without(plain.folder, &without);
  assert_true(with.own_adapter && !without.own_adapter && !with.style.size);
  assert_int_equal(with.weight_bytes, without.weight_bytes);
  assert_int_equal(with.device_bytes, without.device_bytes);
  assert_int_equal(with.device_peak_bytes, without.device_peak_bytes);
  assert_int_equal(with.device_allocations, without.device_allocations);
  assert_int_equal(with.device_launches, without.device_launches);
  assert_memory_equal(first, second, 4 * (size_t)plain.frame.width * (size_t)plain.frame.height);
  const struct engine_params params = own_params(true);
  struct rig rig = open_rig(&params, 1, false, true);
  const struct engine_info own = info_of(&rig);
  assert_true(own.device_bytes > with.device_bytes && own.style.size == 16 && own.style.patch == 4);
  uint8_t *third = make(&rig);
  assert_memory_equal(first, third, 4 * (size_t)plain.frame.width * (size_t)plain.frame.height);
  engine_close(&rig.engine);
  free(first);
  free(second);
  free(third);
}

/* A model without an adapter of its own is opened as if nobody had asked for one. */
static void a_model_may_have_none(void **state) {
  (void)state;
  struct engine_params params = own_params(true);
  params.model = plain.folder;
  struct rig rig = open_rig(&params, 1, false, true);
  struct engine_style *style;
  const struct engine_info info = info_of(&rig);
  assert_int_equal(engine_read_style(&info.style, &plain.frame, &style, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "--ip-adapter");
  free(make(&rig));
  engine_close(&rig.engine);
}

/* --- files that are missing or damaged --- */

static void assert_opens(const struct engine_params *params) {
  struct engine *engine;
  struct error err = {0};
  must(engine_open(&engine, params, &err), &err);
  engine_close(&engine);
}

static void assert_refused(const char *what) {
  const struct engine_params params = own_params(true), without = own_params(false);
  struct engine *engine;
  struct error err = {0};
  assert_int_equal(engine_open(&engine, &params, &err), -1);
  assert_error(&err, STATUS_MODEL, what);
  assert_error(&err, STATUS_MODEL,
               "the model's own IP-Adapter, which style pictures need: get the model's folder anew");
  assert_error(&err, STATUS_MODEL, scratch);
  assert_opens(&without);
}

static void damaged_files_are_refused(void **state) {
  (void)state;
  static const char *const names[] = {CONFIG, ENCODER, ADAPTER};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    char *path = fixture_path(scratch, names[i]);
    if (i < 2) {
      assert_int_equal(unlink(path), 0);
      assert_refused(i ? "has no model.safetensors" : CONFIG ": cannot be read");
      copy_part(names[i]);
    }
    assert_int_equal(truncate(path, 300), 0);
    assert_refused(names[i]);
    copy_part(names[i]);
    free(path);
  }
  char *other = fixture_path(args[1], "styles/sd15-linear.safetensors"), *own = fixture_path(scratch, ADAPTER);
  char *target = realpath(other, NULL);
  remove_part(ADAPTER);
  assert_int_equal(symlink(target, own), 0);
  assert_refused("does not fit the IP-Adapter");
  free(target);
  free(own);
  free(other);
}

static void another_adapter_comes_first(void **state) {
  (void)state;
  char *own = fixture_path(scratch, ADAPTER), *given = fixture_path(golden.folder, ADAPTER);
  struct engine_params params = own_params(true);
  struct engine *engine;
  struct error err = {0};
  assert_int_equal(truncate(own, 300), 0);
  params.ip_adapter = given;
  assert_opens(&params);
  params.ip_adapter = "nowhere.safetensors";
  assert_int_equal(engine_open(&engine, &params, &err), -1);
  assert_error(&err, STATUS_MODEL, "nowhere.safetensors");
  assert_null(strstr(err.message, "own IP-Adapter"));
  free(given);
  free(own);
}

int main(int argc, char **argv) {
  int status = golden_arguments(argc, argv, "pix2pix");
  args = argv;
  if (status)
    return status;
  if (golden_open(&golden, argv[1], "own") < 0 || golden_open(&plain, argv[1], "pix2pix") < 0)
    return 1;
  char *tuning = fixture_make();
  setenv("TUNING_DIR", tuning, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(pictures_are_diffusers, make_model, scratch_remove),
      cmocka_unit_test_setup_teardown(detail_gives_way, make_model, scratch_remove),
      cmocka_unit_test_setup_teardown(without_a_style_nothing_is_opened, make_model, scratch_remove),
      cmocka_unit_test_setup_teardown(a_model_may_have_none, make_model, scratch_remove),
      cmocka_unit_test_setup_teardown(damaged_files_are_refused, make_model, scratch_remove),
      cmocka_unit_test_setup_teardown(another_adapter_comes_first, make_model, scratch_remove),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  golden_close(&golden);
  golden_close(&plain);
  return failed;
}
