/* Tests names of sources: forms that FFmpeg and mpv use, and short words. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/source.h"
#include "app/source/spec.h"

static void check(const char *spec, const char *wanted) {
  char out[SPEC_MAX];
  struct error err;
  if (spec_resolve(spec, out, &err))
    fail_msg("%s: %s", spec, err.message);
  if (strcmp(out, wanted))
    fail_msg("%s is '%s', not '%s'", spec, out, wanted);
}

static void test_spellings(void **state) {
  (void)state;
  check("av://lavfi:testsrc2=s=64x64", "lavfi:testsrc2=s=64x64");
  check("av://v4l2:/dev/video0", "/dev/video0");
  check("v4l2:/dev/video2", "/dev/video2");
  check("v4l2:///dev/video2", "/dev/video2");
  check("v4l2:/dev/v4l/by-id/usb-cam-index0", "/dev/v4l/by-id/usb-cam-index0");
  check("tv://", "camera");
  check("av://tv://", "camera");
  check("tv:///dev/video1", "/dev/video1");
  check(":91", "x11grab::91");
  check(":91.0", "x11grab::91.0");
  check(":91.0+100,100", "x11grab::91.0+100,100");
  check("x11grab::91.0+100,100", "x11grab::91.0+100,100");
  check("av://x11grab::91.0", "x11grab::91.0");
  check("av://:91.0", "x11grab::91.0");
}

static void test_others_stay(void **state) {
  (void)state;
  static const char *const specs[] = {
      "clip.mp4",     "camera", "pattern:64x64", "-",         "pipe:0",   "/dev/video0", ":",       ":9x",
      ":9.",          ":9+1",   ":9+1,",         ":9.0+1,1x", "rtsp://h", "desktop/",    "screens", "http://h/av://x",
      "file:a b.mp4", "v4l2:x"};
  for (size_t i = 0; i < sizeof specs / sizeof *specs; i++)
    check(specs[i], specs[i]);
}

static void test_whole_screen(void **state) {
  (void)state;
  struct error err = {0};
  char out[SPEC_MAX];
  setenv("DISPLAY", ":5.1", 1);
  check("desktop", "x11grab::5.1");
  check("screen", "x11grab::5.1");
  setenv("DISPLAY", "", 1);
  assert_int_equal(spec_resolve("screen", out, &err), -1);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "screen: there is no X display"));
  unsetenv("DISPLAY");
  assert_int_equal(spec_resolve("desktop", out, &err), -1);
  assert_non_null(strstr(err.message, "DISPLAY"));
}

static void test_long_names(void **state) {
  (void)state;
  static char spec[SPEC_MAX + 10], out[SPEC_MAX];
  struct error err = {0};
  memset(spec, 'a', sizeof spec - 1);
  assert_int_equal(spec_resolve(spec, out, &err), -1);
  assert_true(err.status == STATUS_INPUT && strlen(err.message) < 200);
  spec[SPEC_MAX - 10] = 0;
  check(spec, spec);
}

/* Opens sources by these names. */
static void test_opened(void **state) {
  (void)state;
  static const char *const specs[] = {"av://lavfi:color=s=32x16:d=1", "lavfi:color=s=32x16:d=1"};
  for (size_t i = 0; i < 2; i++) {
    struct source *source;
    struct source_info info;
    struct error err;
    if (source_open(&source, specs[i], &(struct source_options){0}, &err))
      fail_msg("%s: %s", specs[i], err.message);
    source_get_info(source, &info);
    source_close(&source);
    assert_true(info.width == 32 && info.height == 16);
  }
  struct source *source;
  struct error err;
  assert_int_equal(source_open(&source, "av://v4l2:/dev/video77", &(struct source_options){0}, &err), -1);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "/dev/video77"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_spellings),  cmocka_unit_test(test_others_stay), cmocka_unit_test(test_whole_screen),
      cmocka_unit_test(test_long_names), cmocka_unit_test(test_opened),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
