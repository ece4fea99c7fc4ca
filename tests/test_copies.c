/* Checks that the program does not copy pixels between source and sink. What is copied for a frame is only the engine's
 * data, a small part of a picture.
 *
 * Arguments: the program, libcount_copies.so. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { SKIPPED = 77, FEW = 4, MANY = 12, NO_WINDOW = 6 };

static const char *shim;

/* Returns the bytes that a run of `frames` frames copies; -1: no window can be opened here. */
static long long copied_bytes(const char *arguments, int frames) {
  struct outcome outcome;
  program_run(&outcome,
              "unset DISPLAY WAYLAND_DISPLAY; export SDL_VIDEODRIVER=offscreen LD_PRELOAD='%s' "
              "REVERIE_COPIES=copies.txt; @ %s --frames %d",
              shim, arguments, frames);
  if (outcome.status == NO_WINDOW)
    return -1;
  if (outcome.status)
    fail_msg("%s: status %d: %s", arguments, outcome.status, outcome.said);
  char *text = (char *)shell_output(NULL, "cat copies.txt && rm copies.txt");
  long long bytes = atoll(text);
  free(text);
  return bytes;
}

/* picture_bytes: size of an output picture; input pictures are larger. */
static void expect_no_copies(const char *arguments, long long picture_bytes) {
  long long few = copied_bytes(arguments, FEW), many = few < 0 ? -1 : copied_bytes(arguments, MANY);
  if (many < 0)
    skip();
  long long each = (many - few) / (MANY - FEW);
  print_message("  %s: %lld bytes a frame\n", arguments, each);
  assert_true(few > 0); /* counting works: options and weights are copied */
  assert_true(each < picture_bytes / 2);
}

static void test_render(void **state) {
  (void)state;
  expect_no_copies("render clip.mp4 out.mkv -y -q --size 256x256 --device cpu --threads 1", 256 * 256 * 3 / 2);
}

static void test_converted(void **state) {
  (void)state;
  expect_no_copies("render turned.mp4 null: -q --size 256x256 --device cpu --threads 1", 256 * 256 * 3 / 2);
}

/* The canvas is fixed, because with one that follows the camera the CPU device copies each frame to its place. */
static void test_live(void **state) {
  (void)state;
  expect_no_copies("live clip.mp4 -q --loop --canvas fixed --size 256x256 --device cpu --threads 1", 256 * 256 * 4);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_render),
      cmocka_unit_test(test_converted),
      cmocka_unit_test(test_live),
  };
  if (argc < 3 || !clips_open()) {
    puts("skipped: the sanitizers bring a memcpy of their own, or there is no ffmpeg");
    return SKIPPED;
  }
  shim = realpath(argv[2], NULL);
  program_set(argv[1]);
  shell("ffmpeg -nostdin -v error -f lavfi -i testsrc2=s=640x480:r=25:d=1 -c:v libx264 -pix_fmt yuv420p clip.mp4 && "
        "ffmpeg -nostdin -v error -i clip.mp4 -c copy -metadata:s:v:0 rotate=90 turned.mp4");
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
