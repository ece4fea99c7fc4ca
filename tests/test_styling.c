/* A frame that runs as style picture: it is read on a thread of its own, and goes on to another engine. args: the
 * folder of goldens, the device. */
#include <stdio.h>

#include "app/run/styling.h"
#include "rig.h"
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

/* Until the errand is done, which takes a moment. */
static void apply_until_style(struct styling *styling, struct engine *engine, const struct frame *frame) {
  struct error err = {0};
  for (int i = 0; i < 10000 && !engine_has_style(engine, 0); i++) {
    must(styling_apply(styling, engine, frame, &err), &err);
    platform_sleep_ns(1000000);
  }
  assert_true(engine_has_style(engine, 0));
}

static void a_frame_becomes_the_style(void **state) {
  (void)state;
  struct golden golden;
  struct styling styling = {0};
  struct error err = {0};
  assert_int_equal(golden_open(&golden, arguments[1], "sd15"), 0);
  struct engine *first = open_engine(&golden, true), *second = open_engine(&golden, true),
                *third = open_engine(&golden, false);
  must(styling_apply(&styling, first, &golden.frame, &err), &err);
  assert_false(engine_has_style(first, 0));
  styling_ask(&styling);
  must(styling_apply(&styling, first, NULL, &err), &err); /* there is no frame yet */
  assert_false(styling.errand.busy);
  apply_until_style(&styling, first, &golden.frame);
  assert_false(engine_has_style(first, 1));
  must(styling_apply(&styling, second, &golden.frame, &err), &err);
  assert_true(engine_has_style(second, 0));
  must(styling_apply(&styling, third, &golden.frame, &err), &err); /* it has no adapter */
  assert_false(engine_has_style(third, 0));
  styling_ask(&styling);
  must(styling_apply(&styling, third, &golden.frame, &err), &err);
  assert_false(styling.errand.busy);
  styling_ask(&styling); /* and what is under way at the end is waited for */
  must(styling_apply(&styling, first, &golden.frame, &err), &err);
  styling_finish(&styling);
  engine_close(&first);
  engine_close(&second);
  engine_close(&third);
  golden_close(&golden);
}

int main(int argc, char **argv) {
  if (argc < 3)
    return 2;
  arguments = argv;
  const struct CMUnitTest tests[] = {cmocka_unit_test(a_frame_becomes_the_style)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
