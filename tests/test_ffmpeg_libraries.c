/* Tests that libavdevice and libavfilter are loaded only when they are needed, and that a message names them if they
 * are missing. Each test continues from the one before, because a loaded library stays loaded. */
#include "tests/rigs/cmocka_all.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <libavutil/log.h>
#include <libavutil/mem.h>

#include "app/sink/palette.h"
#include "app/sink/target.h"
#include "app/source/ffmpeg_libraries.h"
#include "app/source/protocols.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"

enum { SKIPPED = 77 };

static bool is_loaded(const char *library) {
  char line[4096];
  bool found = false;
  FILE *maps = fopen("/proc/self/maps", "r");
  assert_non_null(maps);
  while (fgets(line, sizeof line, maps))
    found = found || strstr(line, library);
  fclose(maps);
  return found;
}

/* Returns true if the source could be opened. */
static bool try(const char *spec, const struct source_options *options, struct error *err) {
  struct source *source;
  bool opened = !source_open(&source, spec, options, err);
  source_close(&source);
  return opened;
}

static void files_and_networks_load_neither(void **state) {
  (void)state;
  static const char *const refused[] = {"none.mkv",           "./no:ne.mkv",           "http://127.0.0.1:1/x.mkv",
                                        "rtsp://127.0.0.1:1", "rtsps://127.0.0.1:1/x", "tcp://127.0.0.1:1"};
  const struct source_options plain = {0}, named = {.input_format = "matroska"};
  char url[4096];
  struct error err;
  shell("ffmpeg -nostdin -v error -y -f lavfi -i testsrc2=s=32x32:r=5 -frames:v 2 -c:v ffv1 clip.mkv && "
        "cp clip.mkv no:device.mkv");
  snprintf(url, sizeof url, "file:%s", clip("clip.mkv"));
  assert_true(try(clip("clip.mkv"), &plain, &err));
  assert_true(try(clip("clip.mkv"), &named, &err));
  assert_true(try(clip("no:device.mkv"), &plain, &err));
  assert_true(try(url, &plain, &err));
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    assert_false(try(refused[i], &plain, &err));
  assert_false(is_loaded("libavdevice"));
  assert_false(is_loaded("libavfilter"));
}

static void palettes_load_filters(void **state) {
  (void)state;
  struct palette *palette;
  struct target target;
  struct error err;
  assert_int_equal(target_choose(&target, "out.gif", NULL, &err), 0);
  assert_false(is_loaded("libavfilter"));
  assert_int_equal(palette_open(&palette, 32, 32, (AVRational){1, 25}, &err), 0);
  palette_close(&palette);
  assert_true(is_loaded("libavfilter"));
  assert_false(is_loaded("libavdevice"));
}

static void names_of_devices_load_them(void **state) {
  (void)state;
  const struct source_options plain = {0}, lavfi = {.input_format = "lavfi"}, unknown = {.input_format = "none"};
  struct error err;
  assert_true(try("lavfi:testsrc2=s=32x32:d=1", &plain, &err));
  assert_true(is_loaded("libavdevice"));
  assert_true(try("testsrc2=s=32x32:d=1", &lavfi, &err));
  assert_false(try(clip("clip.mkv"), &unknown, &err));
  assert_int_equal(err.status, STATUS_USAGE);
  assert_string_equal(err.message, "--input-format none: FFmpeg here has no such format or device");
  assert_false(try("/dev/video99", &plain, &err));
  assert_int_equal(err.status, STATUS_INPUT);
}

/* The list of formats contains no devices, whether a device was used before or not. */
static void lists_name_no_devices(void **state) {
  (void)state;
  char *formats = protocols_formats_within(av_find_input_format("concat"));
  assert_non_null(formats);
  assert_non_null(strstr(formats, "matroska"));
  assert_non_null(av_find_input_format("lavfi"));
  assert_null(strstr(formats, "lavfi"));
  assert_null(strstr(formats, "v4l2"));
  av_free(formats);
}

static void a_missing_one_is_named(void **state) {
  (void)state;
  void *function;
  const struct ffmpeg_symbol symbol = {&function, "avdevice_none"};
  struct error err;
  assert_int_equal(ffmpeg_open_library("libavnone", "7", NULL, 0, STATUS_OUTPUT, &err), -1);
  assert_int_equal(err.status, STATUS_OUTPUT);
  assert_string_equal(err.message, "FFmpeg's libavnone is needed and cannot be loaded: libavnone.so.7: cannot open "
                                   "shared object file: No such file or directory; install it (Debian: libavnone7)");
  assert_int_equal(
      ffmpeg_open_library("libavdevice", AV_STRINGIFY(LIBAVDEVICE_VERSION_MAJOR), &symbol, 1, STATUS_INPUT, &err), -1);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "undefined symbol: avdevice_none; install it"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(files_and_networks_load_neither), cmocka_unit_test(palettes_load_filters),
      cmocka_unit_test(names_of_devices_load_them),      cmocka_unit_test(lists_name_no_devices),
      cmocka_unit_test(a_missing_one_is_named),
  };
  if (!clips_open())
    return SKIPPED;
  av_log_set_level(AV_LOG_QUIET);
  int failed = cmocka_run_group_tests_name("ffmpeg libraries", tests, NULL, NULL);
  clips_close();
  return failed;
}
