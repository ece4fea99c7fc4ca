/* Tests style pictures that change while frames run: files are read on a thread of its own. args: the folder of
 * goldens, the device. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/run/styling.h"
#include "tests/rigs/fixture.h"
#include "tests/rigs/own_model.h"
#include "tests/rigs/rig.h"
#include "unet/base/platform.h"

static char **arguments;

static struct engine *open_engine(const struct golden *golden, bool adapter) {
  char file[1024], encoder[1024];
  struct engine_params params = default_params(golden, arguments[2]);
  struct engine *engine;
  struct error err = {0};
  snprintf(file, sizeof file, "%s/styles/sd15-linear.safetensors", arguments[1]);
  snprintf(encoder, sizeof encoder, "%s/styles/encoder80", arguments[1]);
  if (adapter)
    params.ip_adapter = file, params.image_encoder = encoder;
  must(engine_open(&engine, &params, &err), &err);
  return engine;
}

/* The engine's styles, and the values that ask for styles. */
struct scene {
  struct golden golden;
  struct engine *engine;
  struct styling styling;
  struct parameters has, wish;
  struct warnings warnings;
  struct log log;
  char *folder;
};

static void begin(struct scene *scene) {
  *scene = (struct scene){.folder = fixture_make()};
  scene->log = (struct log){remember_warning, &scene->warnings};
  scene->styling.log = &scene->log;
  parameters_init(&scene->has);
  parameters_init(&scene->wish);
  assert_int_equal(golden_open(&scene->golden, arguments[1], "sd15"), 0);
  scene->engine = open_engine(&scene->golden, true);
}

static void finish(struct scene *scene) {
  styling_finish(&scene->styling);
  engine_close(&scene->engine);
  golden_close(&scene->golden);
  fixture_remove(scene->folder);
}

static int follow(struct scene *scene, struct engine *engine, const struct frame *frame) {
  struct error err = {0};
  int came = styling_follow(&scene->styling, engine, &scene->has, &scene->wish, frame, &err);
  must(came, &err);
  styling_put_back(&scene->styling, &scene->has, &scene->wish);
  return came;
}

/* Waits until the style that was asked for is set or refused. Returns how often the engine got a style. */
static int settle(struct scene *scene, const struct frame *frame) {
  int given = follow(scene, scene->engine, frame);
  for (int i = 0; i < 10000 && scene->styling.errand.busy; i++) {
    platform_sleep_ns(1000000);
    given += follow(scene, scene->engine, frame);
  }
  assert_false(scene->styling.errand.busy);
  return given;
}

static void set_file(struct scene *scene, int slot, const char *file) {
  struct error err;
  must(parameters_set_text(&scene->wish, PARAMETER_STYLE, slot, file, &err), &err);
}

static void expect_file(const struct scene *scene, int slot, const char *file) {
  const char *has = parameters_text(&scene->has, PARAMETER_STYLE, slot);
  const char *wish = parameters_text(&scene->wish, PARAMETER_STYLE, slot);
  assert_true(!file == !has && !file == !wish);
  if (file) {
    assert_string_equal(has, file);
    assert_string_equal(wish, file);
  }
}

static char *make_picture(const struct scene *scene, const char *name) {
  fixture_text(scene->folder, name, "P6 4 4 255\n0123456789abcdef0123456789abcdef0123456789abcdef");
  return fixture_path(scene->folder, name);
}

static void a_frame_becomes_the_style(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  struct styling *styling = &scene.styling;
  const struct frame *frame = &scene.golden.frame;
  struct engine *second = open_engine(&scene.golden, true), *third = open_engine(&scene.golden, false);
  assert_int_equal(follow(&scene, scene.engine, frame), 0);
  assert_false(engine_has_style(scene.engine, 0));
  styling_ask(styling);
  assert_int_equal(follow(&scene, scene.engine, NULL), 0); /* there is no frame yet to take as a style */
  assert_false(styling->errand.busy);
  assert_int_equal(settle(&scene, frame), 1);
  assert_true(engine_has_style(scene.engine, 0));
  assert_false(engine_has_style(scene.engine, 1));
  assert_int_equal(follow(&scene, second, frame), 1);
  assert_true(engine_has_style(second, 0));
  assert_int_equal(follow(&scene, third, frame), 0); /* this engine has no adapter */
  assert_false(engine_has_style(third, 0));
  styling_ask(styling);
  follow(&scene, third, frame);
  assert_false(styling->errand.busy);
  styling_ask(styling); /* a reading that is in progress at the end is waited for */
  follow(&scene, scene.engine, frame);
  assert_true(styling->errand.busy);
  finish(&scene);
  engine_close(&second);
  engine_close(&third);
}

/* Each slot gets the file that its value names; if the file cannot be read, the slot does not change. */
static void files_become_styles(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  char *one = make_picture(&scene, "one.ppm"), *two = make_picture(&scene, "two.ppm");
  set_file(&scene, STYLES_MAX, one);
  assert_int_equal(settle(&scene, NULL), 1);
  assert_true(engine_has_style(scene.engine, STYLES_MAX - 1));
  assert_false(engine_has_style(scene.engine, 0));
  set_file(&scene, 1, one);
  settle(&scene, NULL);
  set_file(&scene, 1, two);
  assert_int_equal(settle(&scene, NULL), 1);
  expect_file(&scene, 1, two);
  assert_int_equal(settle(&scene, NULL), 0);
  for (int i = 1; i <= 2; i++) { /* reading is tried each time that it is asked for */
    set_file(&scene, 1, "nowhere.png");
    assert_int_equal(settle(&scene, NULL), 0);
    expect_file(&scene, 1, two);
    assert_int_equal(scene.styling.refused, i);
    assert_int_equal(scene.warnings.count, i);
  }
  assert_non_null(strstr(scene.warnings.last, "style[1]: nowhere.png"));
  assert_true(engine_has_style(scene.engine, 0));
  set_file(&scene, 1, NULL);
  assert_int_equal(settle(&scene, NULL), 1);
  assert_false(engine_has_style(scene.engine, 0));
  expect_file(&scene, 1, NULL);
  expect_file(&scene, STYLES_MAX, one);
  free(one);
  free(two);
  finish(&scene);
}

/* The value changes while a file is being read that turns out to be invalid: the new value stays. */
static void a_later_wish_stays(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  char *one = make_picture(&scene, "one.ppm");
  set_file(&scene, 1, "nowhere.png");
  follow(&scene, scene.engine, NULL);
  set_file(&scene, 1, one);
  settle(&scene, NULL);
  settle(&scene, NULL);
  expect_file(&scene, 1, one);
  free(one);
  finish(&scene);
}

/* A file replaces a frame that was taken as a style: another engine gets the file, not the frame. */
static void a_file_follows_a_frame(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  char *one = make_picture(&scene, "one.ppm");
  struct engine *second = open_engine(&scene.golden, true);
  styling_ask(&scene.styling);
  assert_int_equal(settle(&scene, &scene.golden.frame), 1);
  set_file(&scene, 1, one);
  assert_int_equal(settle(&scene, &scene.golden.frame), 1);
  assert_int_equal(follow(&scene, second, NULL), 0);
  assert_false(engine_has_style(second, 0));
  free(one);
  finish(&scene);
  engine_close(&second);
}

/* Without an adapter a style file is refused, unless an engine with an adapter is being opened. */
static void without_an_adapter(void **state) {
  (void)state;
  struct scene scene;
  struct error err;
  begin(&scene);
  struct engine *plain = open_engine(&scene.golden, false);
  set_file(&scene, 2, "one.ppm");
  assert_int_equal(follow(&scene, plain, NULL), 0);
  expect_file(&scene, 2, NULL);
  assert_non_null(strstr(scene.warnings.last, "style[2]: one.ppm: an IP-Adapter reads"));
  char *one = make_picture(&scene, "one.ppm");
  set_file(&scene, 2, one);
  must(parameters_set_text(&scene.wish, PARAMETER_IP_ADAPTER, 0, "adapter", &err), &err);
  assert_int_equal(follow(&scene, plain, NULL), 0);
  assert_int_equal(scene.warnings.count, 1);
  assert_int_equal(settle(&scene, NULL), 1);
  expect_file(&scene, 2, one);
  free(one);
  finish(&scene);
  engine_close(&plain);
}

/* A preset may bring a model and a style picture at once: the picture waits for that model, with its own adapter. */
static void another_model_is_waited_for(void **state) {
  (void)state;
  struct scene scene;
  struct error err;
  begin(&scene);
  struct engine *plain = open_engine(&scene.golden, false);
  char *one = make_picture(&scene, "one.ppm");
  set_file(&scene, 1, one);
  must(parameters_set_text(&scene.wish, PARAMETER_MODEL, 0, "other", &err), &err);
  assert_int_equal(follow(&scene, plain, NULL), 0);
  assert_int_equal(scene.warnings.count, 0);
  assert_string_equal(parameters_text(&scene.wish, PARAMETER_IP_ADAPTER, 0), PARAMETER_IP_ADAPTER_OWN);
  assert_int_equal(follow(&scene, plain, NULL), 0);
  assert_int_equal(scene.warnings.count, 0);
  parameters_take(&scene.has, &scene.wish, PARAMETER_MODEL, 0);
  parameters_take(&scene.has, &scene.wish, PARAMETER_IP_ADAPTER, 0);
  assert_int_equal(settle(&scene, NULL), 1);
  expect_file(&scene, 1, one);
  free(one);
  finish(&scene);
  engine_close(&plain);
}

/* An engine whose model has an adapter of its own: the first style picture asks for an engine with it. */
static void the_models_own_adapter_is_opened(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  own_model_link(scene.folder, arguments[1]);
  struct engine_params params = default_params(&scene.golden, arguments[2]);
  struct engine *plain, *own;
  struct error err;
  params.model = scene.folder;
  must(engine_open(&plain, &params, &err), &err);
  params.own_adapter = true;
  must(engine_open(&own, &params, &err), &err);
  char *one = make_picture(&scene, "one.ppm");
  set_file(&scene, 2, one);
  assert_int_equal(follow(&scene, plain, NULL), 0);
  assert_string_equal(parameters_text(&scene.wish, PARAMETER_IP_ADAPTER, 0), PARAMETER_IP_ADAPTER_OWN);
  assert_true(parameters_marked(&scene.wish, PARAMETER_IP_ADAPTER, 0));
  assert_int_equal(follow(&scene, plain, NULL), 0); /* it is being opened */
  parameters_take(&scene.has, &scene.wish, PARAMETER_IP_ADAPTER, 0);
  engine_close(&scene.engine);
  scene.engine = own;
  assert_int_equal(settle(&scene, NULL), 1);
  expect_file(&scene, 2, one);
  assert_int_equal(scene.warnings.count, 0);
  free(one);
  finish(&scene);
  engine_close(&plain);
}

/* A frame that is to be the style waits for the model's own adapter. If that is refused, so is a file. */
static void the_models_own_adapter_may_be_refused(void **state) {
  (void)state;
  struct scene scene;
  begin(&scene);
  own_model_link(scene.folder, arguments[1]);
  struct engine_params params = default_params(&scene.golden, arguments[2]);
  struct error err;
  params.model = scene.folder;
  engine_close(&scene.engine);
  must(engine_open(&scene.engine, &params, &err), &err);
  const struct frame *frame = &scene.golden.frame;
  styling_ask(&scene.styling);
  for (int turn = 0; turn < 2; turn++) {
    assert_int_equal(follow(&scene, scene.engine, frame), 0);
    assert_string_equal(parameters_text(&scene.wish, PARAMETER_IP_ADAPTER, 0), PARAMETER_IP_ADAPTER_OWN);
    parameters_take(&scene.wish, &scene.has, PARAMETER_IP_ADAPTER, 0);
    assert_int_equal(follow(&scene, scene.engine, frame), 0);
    assert_null(parameters_text(&scene.wish, PARAMETER_IP_ADAPTER, 0));
    assert_int_equal(scene.warnings.count, turn);
    assert_int_equal(follow(&scene, scene.engine, frame), 0); /* it is not asked for again */
    assert_null(parameters_text(&scene.wish, PARAMETER_IP_ADAPTER, 0));
    if (!turn)
      set_file(&scene, 1, "one.ppm");
  }
  expect_file(&scene, 1, NULL);
  finish(&scene);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  arguments = argv;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_frame_becomes_the_style),
      cmocka_unit_test(files_become_styles),
      cmocka_unit_test(a_later_wish_stays),
      cmocka_unit_test(a_file_follows_a_frame),
      cmocka_unit_test(without_an_adapter),
      cmocka_unit_test(another_model_is_waited_for),
      cmocka_unit_test(the_models_own_adapter_is_opened),
      cmocka_unit_test(the_models_own_adapter_may_be_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
