/* Tests the web page of a running window: it has the picture that the audience sees. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/live_ipc.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

/* Gets the picture of the web page; the file is empty while there is none. */
static void fetch_page(const char *path) {
  shell("python3 -c 'import sys, urllib.request; at, to = sys.argv[1:]; "
        "open(to, \"wb\").write(urllib.request.urlopen(at + \"picture.jpg\").read())' "
        "\"$(sed -n 's/.*the page is at //p' err.txt)\" %s",
        path);
}

static double page_similarity(const char *picture) {
  fetch_page("page.jpg");
  return *shell_output(NULL, "wc -c <page.jpg") == '0' ? 0 : similarity("page.jpg", WHOLE, picture, WHOLE);
}

static void wait_page(const char *picture, bool alike) {
  double seen = 0;
  for (int looks = 0; looks < 100; looks++) { /* each try takes some milliseconds */
    seen = page_similarity(picture);
    if (alike ? seen > 0.9 : seen < 0.9)
      return;
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("the page is %.3f like %s", seen, picture);
}

/* The page shows what the audience sees, not what the engine makes meanwhile. */
static void test_page_shows_what_is_seen(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i color=black:s=256x256 -frames:v 1 black.png");
  start_window("still.mkv --loop --fade 0.1 --ipc ipc.sock --web=0" PICTURE);
  wait_page("black.png", false);
  press("F");
  wait_for_pictures();
  fetch_page("held.jpg");
  press("2");
  wait_for_pictures();
  wait_for_pictures();
  double similar = page_similarity("held.jpg");
  if (similar < 0.98)
    fail_msg("the page is %.3f like the picture that is held", similar);
  press("F");
  wait_page("held.jpg", false);
  press("B");
  wait_page("black.png", true);
  wait_for_pictures();
  assert_true(page_similarity("black.png") > 0.98);
  press("B U");
  wait_page("still.png", true);
  press("U");
  wait_page("still.png", false);
  quit_window();
}

/* The key opens the page with the desktop's browser: here a script, which writes the address to a file. */
static void test_page_is_opened_by_a_key(void **state) {
  (void)state;
  char path[4096];
  const char *before = getenv("PATH");
  shell(
      "mkdir -p bin && printf '#!/bin/sh\\necho \"$1\" >opened.part && mv opened.part opened.txt\\n' >bin/xdg-open && "
      "chmod +x bin/xdg-open");
  snprintf(path, sizeof path, "%s:%s", clip("bin"), before);
  setenv("PATH", path, true);
  start_window("still.mkv --loop --ipc ipc.sock --web=0" PICTURE);
  press("at");
  wait_for("test -s opened.txt");
  shell("grep -qx \"$(sed -n 's/.*the page is at //p' err.txt)\" opened.txt");
  press("Q");
  wait_ipc("[\"get_property\", \"page-code\"]", "true");
  wait_ipc("[\"get_property\", \"refusal-list\"]", "\"feedback\":\"starts from noise alone\"");
  quit_window();
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_teardown(test_page_shows_what_is_seen, screen_end_program),
      cmocka_unit_test_teardown(test_page_is_opened_by_a_key, screen_end_program),
  };
  int missing = argc < 2 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
