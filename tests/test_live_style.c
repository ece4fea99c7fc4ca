/* Tests style pictures in a running window, of a model with an IP-Adapter of its own: the first one opens it. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/live_ipc.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

#define FRAME "--size 64x64 --seed 7 --guidance 5 --steps 2 --prompt photo "
#define WINDOW "still.mkv --loop " FRAME "--window 256x256 --threads 1 --no-hud -v --canvas fixed --ipc ipc.sock "

static int link_models(void **state) {
  (void)state;
  shell("mkdir own; ln -s \"$REVERIE_GOLDENS\"/pix2pix/* \"$REVERIE_GOLDENS\"/own/i* own");
  return 0;
}

static int end_program(void **state) {
  screen_end_program(state);
  shell("rm -r own");
  return 0;
}

static void render(const char *name, const char *options) {
  program_expect(0, NULL, "render still.mkv %s -y --frames 1 --model own " FRAME "%s", name, options);
}

static void expect_picture(const char *rendered) {
  expect_window(BELOW_WORDS, true, 0.9, rendered, "scale=256:256:flags=bilinear," BELOW_WORDS);
}

/* A key brings a file's style, then the frame's own, then another model and back; each time pictures are those of
 * `render`. */
static void a_key_opens_the_adapter(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64 -frames:v 1 other.png");
  render("without.png", "");
  render("with.png", "--style other.png");
  assert_true(similarity("without.png", WHOLE, "with.png", WHOLE) < 0.9);
  start_window(WINDOW "--model own --model \"$REVERIE_GOLDENS\"/pix2pix --spare-style other.png");
  wait_said("-> own, 64x64, 2 steps,");
  expect_picture("without.png");
  expect_ipc("[\"get_property\", \"ip-adapter\"]", "\"data\":null");
  press("Y");
  wait_ipc("[\"get_property\", \"ip-adapter\"]", "\"data\":\"own\"");
  expect_picture("with.png");
  press("m");
  wait_said("-> pix2pix, 64x64, 2 steps,");
  expect_picture("without.png");
  press("m");
  expect_picture("with.png");
  expect_ipc("[\"set_property\", \"style[1]\", null]", "success");
  expect_picture("without.png");
  quit_window();
}

/* An adapter that is not whole is told once, and the picture stays. */
static void a_damaged_adapter_is_told(void **state) {
  (void)state;
  shell("rm own/image_encoder");
  render("without.png", "");
  start_window(WINDOW "--model own");
  wait_said("-> own, 64x64, 2 steps,");
  press("y");
  wait_said("image_encoder/config.json: cannot be read: No such file or directory: this is the model's own IP-Adapter");
  wait_ipc("[\"get_property\", \"ip-adapter\"]", "\"data\":null");
  wait_for_pictures();
  expect_picture("without.png");
  shell("test $(grep -c \"own IP-Adapter\" err.txt) = 1");
  quit_window();
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(a_key_opens_the_adapter, link_models, end_program),
      cmocka_unit_test_setup_teardown(a_damaged_adapter_is_told, link_models, end_program),
  };
  int missing = argc < 2 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
