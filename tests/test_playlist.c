/* Tests lists of sources that are read from a file. test_changer.c tests how they are played. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include "app/source/playlist.h"
#include "tests/rigs/scratch.h"

static const atomic_bool never;

static void test_list_of_a_file(void **state) {
  (void)state;
  char path[512], wanted[600];
  struct playlist list = {0};
  struct error err;
  snprintf(path, sizeof path, "%s/show.m3u", scratch);
  FILE *file = fopen(path, "w");
  assert_non_null(file);
  fputs(
      "\xEF\xBB\xBF#EXTM3U\n#EXTINF:12,A clip\r\nclip one.mp4\r\n\n  /abs/still.png  \nrtsp://host/path\n/dev/video0\n"
      "camera\nsub/clip.mkv\nav://lavfi:testsrc2\n:91.0\npattern:64x64",
      file);
  fclose(file);
  assert_int_equal(playlist_insert(&list, 0, "first", false, &err), 0);
  if (playlist_read(&list, path, &never, NULL, &err))
    fail_msg("%s", err.message);
  static const char *const names[] = {"first",       "@clip one.mp4", "/abs/still.png", "rtsp://host/path",
                                      "/dev/video0", "camera",        "@sub/clip.mkv",  "av://lavfi:testsrc2",
                                      ":91.0",       "pattern:64x64"};
  assert_int_equal(list.count, sizeof names / sizeof *names);
  for (int i = 0; i < list.count; i++) {
    bool beside = names[i][0] == '@';
    snprintf(wanted, sizeof wanted, "%s%s%s", beside ? scratch : "", beside ? "/" : "", names[i] + beside);
    assert_string_equal(list.entries[i].name, wanted);
  }
  playlist_free(&list);
}

static void test_bad_lists(void **state) {
  (void)state;
  char path[512];
  struct playlist list = {0};
  struct error err;
  snprintf(path, sizeof path, "%s/bad.m3u", scratch);
  assert_int_equal(playlist_read(&list, path, &never, NULL, &err), -1);
  assert_true(err.status == STATUS_INPUT && strstr(err.message, "cannot be read"));
  FILE *file = fopen(path, "w");
  fputs("# nothing\n\n", file);
  fclose(file);
  assert_int_equal(playlist_read(&list, path, &never, NULL, &err), -1);
  assert_non_null(strstr(err.message, "names no source"));
  file = fopen(path, "w");
  fprintf(file, "%5000d", 7);
  fclose(file);
  assert_int_equal(playlist_read(&list, path, &never, NULL, &err), -1);
  assert_non_null(strstr(err.message, "too long"));
  file = fopen(path, "w");
  for (int i = 0; i <= PLAYLIST_MAX; i++)
    fputs("a\n", file);
  fclose(file);
  assert_int_equal(playlist_read(&list, path, &never, NULL, &err), -1);
  assert_non_null(strstr(err.message, "1000 sources already"));
  assert_int_equal(playlist_read(&list, scratch, &never, NULL, &err), -1);
  playlist_free(&list);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_list_of_a_file), cmocka_unit_test(test_bad_lists)};
  return cmocka_run_group_tests(tests, scratch_make, scratch_remove);
}
