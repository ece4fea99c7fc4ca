/* Tests the live program around its window, on an X server (Xvfb): sources and outputs, the script `run`, and how the
 * program ends. */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

static const char *program, *faulty; /* faulty: the program linked with faulty_device.c */
static const char *drag;             /* path of the program that drops files on a window; NULL: none */

static void test_interrupt(void **state) {
  (void)state;
  struct outcome outcome;
  start_window("still.mkv --loop" PICTURE);
  kill(screen.program, SIGINT);
  finish(&outcome);
  if (outcome.status != 130 || !strstr(outcome.said, " skipped, ") || !strstr(outcome.said, "reverie: interrupted\n"))
    fail_msg("status %d after SIGINT: %s", outcome.status, outcome.said);
  /* A script that cannot be written gives its own exit status, however the show ends. */
  start_window("still.mkv --loop --record-script /dev/full -y" PICTURE);
  wait_said("--record-script: ");
  kill(screen.program, SIGINT);
  finish(&outcome);
  if (outcome.status != 6 || !strstr(outcome.said, "--record-script /dev/full: the script is not complete"))
    fail_msg("status %d after SIGINT: %s", outcome.status, outcome.said);
}

/* Saves pictures until one is similar to this picture (alike), or is not. */
static void save_until(const char *path, bool alike) {
  double similar = 0;
  for (int i = 0; i < 300; i++) {
    save();
    similar = similarity("shot.png", WHOLE, path, WHOLE);
    if ((similar > 0.999) == alike)
      return;
  }
  fail_msg("the picture is %.4f alike to %s", similar, path);
}

/* The map is made from the second source only; when that ends, its last frame stays and one line says so. While the
 * control is removed the picture is shown; when it is added again, the map. */
static void test_control_source(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i color=0xff8000:s=64x64:r=10 -frames:v 5 -c:v ffv1 orange.mkv; " FFMPEG
               "-i orange.mkv -frames:v 1 orange.png");
  start_window(
      "lavfi:testsrc2=s=64x64:r=20 --snapshot-dir shots --device cpu --size 64x64 --window 256x256 --threads 1 "
      "--no-hud -v --show map --control map@source --control-source orange.mkv");
  wait_said("--control-source: orange.mkv has ended: its last frame is held");
  save_until("orange.png", true);
  press("C");
  save_until("orange.png", false);
  press("C");
  save_until("orange.png", true);
  quit_window();
}

#define IPC(name)                                                                                                      \
  "import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"ipc.sock\"); "                                        \
  "s.sendall(b\"{\\\"command\\\":[\\\"get_property\\\",\\\"" name "\\\"]}\\n\"); print(s.recv(9999).decode())"
#define STATE "python3 -c '" IPC("figures/state") "'"

/* Neither the window nor the program's end waits for the engine's current frame, which lasts as long as the file `held`
 * exists. Files that were requested are saved, and figures are printed. */
static void test_slow_frame_does_not_hold_the_window(void **state) {
  (void)state;
  for (int by_signal = 0; by_signal < 2; by_signal++) {
    struct outcome outcome;
    shell("rm -rf shots && mkdir shots");
    program_set(faulty);
    setenv("REVERIE_FAULT_HOLD", clip("held"), 1);
    start_window("still.mkv --loop --snapshot-dir shots --ipc ipc.sock --device cpu" PICTURE);
    wait_for("test -e held");
    press("s");
    wait_said("saved ");
    if (by_signal) { /* while the picture is frozen the program does not restart itself */
      press("F");
      wait_for("python3 -c '" IPC("figures/alerts") "' | grep -q 'has not answered'");
    }
    if (by_signal)
      kill(screen.program, SIGINT);
    else
      shell("xdotool key s s ctrl+q");
    wait_for("! " FIND_WINDOW);
    wait_said(" skipped, ");
    wait_for(by_signal ? "test $(ls shots | wc -l) = 1" : "test $(ls shots | wc -l) = 3");
    finish(&outcome);
    shell("rm held");
    /* On a slow machine the program may have found that the engine hangs; without a signal that decides its status. */
    bool hung = strstr(outcome.said, "has not answered");
    if (outcome.status != (by_signal ? 130 : hung ? 5 : 0) || (by_signal && !strstr(outcome.said, "interrupted\n")))
      fail_msg("status %d: %s", outcome.status, outcome.said);
    shell("for file in shots/*.png; do ffprobe -v error $file || exit 1; done; rm -r shots");
  }
}

/* A message says when the first picture of another size is there, and before that what the window is waiting for. The
 * message of the key itself is not printed, because this one follows. */
static void test_slow_first_picture_is_told(void **state) {
  (void)state;
  program_set(faulty);
  setenv("REVERIE_FAULT_HOLD", clip("held"), 1);
  setenv("REVERIE_FAULT_HOLD_WIDTH", "128", 1);
  start_window("still.mkv --loop --ipc ipc.sock --size 64x64 --window 256x256 --seed 7 --no-hud -v --device cpu");
  press("F"); /* while the picture is frozen the program does not restart itself, however long this takes */
  press("braceright");
  wait_for("test -e held");
  /* On a slow machine the message may also say that the engine hangs. */
  wait_for(STATE " | grep -q 'waiting for a picture: the first of 128x128.*frozen'");
  wait_for("python3 -c '" IPC("figures/width") "' | grep -q '\"data\":64}'"); /* the size that is still shown */
  wait_for("python3 -c '" IPC("figures/alerts") "' | grep -q '\"what\":\"picture\"'");
  shell("! grep -q 'the picture is' err.txt && rm held");
  wait_said("the picture is 128x128 now");
  wait_for(STATE " | grep -q '\"data\":\"frozen'");
  quit_window();
  shell("! grep -q 'size 128x128' err.txt");
}

/* Files with any characters in their names, and several files in their order; a file that cannot be shown changes
 * nothing. */
static void test_dropped_files(void **state) {
  (void)state;
  if (!drag)
    skip();
  shell("cp still.png 'sch\u00f6n 100%%.png' && cp still.png b.png && mkdir -p folder");
  start_window("still.png" PICTURE);
#define DROP "'%s' $(" FIND_WINDOW ") "
  shell(DROP "text/uri-list file://$PWD/sch%%C3%%B6n%%20100%%25.png", drag);
  wait_said("reverie: source 2 of 2: sch\u00f6n 100%.png\n");
  shell(DROP "text/uri-list \"$(printf 'file://%%s\\r\\n' $PWD/b.png $PWD/folder $PWD/still.png)\"", drag);
  wait_said("reverie: source 3 of 5: b.png\n");
  shell(DROP "text/uri-list file://$PWD/folder", drag);
  wait_said("/folder: cannot be opened: it is a folder; pictures in one are named as in FOLDER/%04d.png\n");
  shell(DROP "text/plain words", drag);
  wait_said("reverie: what was dropped is no file of this machine\n");
  quit_window();
  shell("test $(grep -c '^reverie: source' err.txt) = 2");
}

/* If the OpenGL context is lost, everything for drawing is made again, including the frozen picture; if no new context
 * can be made, the show ends normally. */
static void test_lost_context(void **state) {
  (void)state;
  struct outcome outcome;
  program_set(faulty);
  setenv("REVERIE_FAULT_GL", "lost", 1);
  start_window("still.png --snapshot-dir shots --record kept.mkv -y" PICTURE);
  save();
  press("F 2");
  shell("touch lost");
  wait_said("reverie: the graphics driver lost the window's context, and makes no other yet\n");
  shell("rm lost");
  wait_said("reverie: the graphics driver lost the window's context: it is made again\n");
  expect_window(WHOLE, true, 0.98, "shot.png", WHOLE);
  press("F");
  expect_window(WHOLE, false, 0.9, "shot.png", WHOLE);
  shell("touch lost");
  finish(&outcome);
  if (outcome.status != 6 || !strstr(outcome.said, "kept.mkv: ") ||
      !strstr(outcome.said, "reverie: the window is gone: the graphics driver lost its context and makes no other: "))
    fail_msg("status %d without a context: %s", outcome.status, outcome.said);
  shell("ffprobe -v error kept.mkv");
}

/* Input methods get the keys only while a line is edited, otherwise they are commands. Keys that come faster than the
 * window reads them go to what was open when they were pressed. */
static void test_text_is_taken_for_a_line_alone(void **state) {
  (void)state;
  shell("rm -f set.json");
  program_set(faulty);
  setenv("REVERIE_TOLD_TEXT", "told", 1);
  start_window("still.png --presets set.json --device cpu" PICTURE);
  wait_for("test $(cat told) = off");
  shell("xdotool key --delay 0 2 Return o i l Return S");
  wait_said("saved preset 1");
  shell("tr -d ' \t\n' <set.json | grep -q '\"prompt\\[\\]\":\\[\"[^\"]*\",\"oil\"'");
  wait_for("test $(cat told) = off");
  press("Return S");
  wait_for("test $(cat told) = on");
  press("Escape S");
  wait_said("saved preset 2");
  wait_for("test $(cat told) = off");
  quit_window();
}

static void test_display_that_is_not_there(void **state) {
  (void)state;
  program_expect(2, "--display 3: there is one display here, number 0", "live still.mkv --display 3 --frames 1");
}

/* Makes a copy of the script `run` in a tree where the program is built already. */
static void make_tree(void) {
  shell("mkdir -p tree/.ci tree/build/app tree/assets && cp \"$REVERIE_ASSETS/../run\" tree && "
        "printf 'build_packages=()\\ninstall_missing() { :; }\\nbuild_in() { :; }\\n' >tree/.ci/setup.sh && "
        "ln -sf '%s' tree/build/app/reverie",
        program);
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=50:d=0.1 -c:v libx264 tree/assets/sample.mp4");
  program_set(clip("tree/run"));
}

/* `run` opens the window at once, plays the clip in a loop until the window is closed, and then writes the file. */
static void test_run_shows_then_renders(void **state) {
  (void)state;
  struct outcome outcome;
  make_tree();
  shell(": >err.txt");
  screen.program = program_start("%s", "");
  wait_for(FIND_WINDOW);
  pause_ms(2000); /* time for the clip to be played about twenty times */
  wait_for(FIND_WINDOW);
  shell("test ! -e reverie-demo.mp4 && xdotool windowfocus --sync $(" FIND_WINDOW ")");
  press("ctrl+q");
  finish(&outcome);
  if (outcome.status || strncmp(outcome.said, "The sample clip, live", 21) || !strstr(outcome.said, "\n5 frames, "))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  assert_int_equal(clip_count_frames("reverie-demo.mp4"), 5);
  shell("rm reverie-demo.mp4");
}

static void test_run_without_a_window(void **state) {
  (void)state;
  struct outcome outcome;
  make_tree();
  program_run(&outcome, "unset DISPLAY; @");
  if (outcome.status || outcome.lines != 2 || !strstr(outcome.said, "\n5 frames, "))
    fail_msg("status %d without a display: %s", outcome.status, outcome.said);
  program_run(&outcome, "export DISPLAY=:8765; @");
  if (outcome.status || !strstr(outcome.said, ":8765 cannot be reached") || !strstr(outcome.said, "\n5 frames, "))
    fail_msg("status %d without a display that works: %s", outcome.status, outcome.said);
  shell("rm reverie-demo.mp4");
}

/* Ctrl-C ends both the window and the render. */
static void test_run_interrupted(void **state) {
  (void)state;
  struct outcome outcome;
  make_tree();
  screen.program = program_start("%s", "");
  wait_for(FIND_WINDOW);
  shell("kill -INT $(" FIND_WINDOW " getwindowpid)");
  finish(&outcome);
  assert_int_equal(outcome.status, 130);
  shell("test ! -e reverie-demo.mp4");
}

/* Captures the screen, a live source that every machine has: it delivers frames by the clock, as a camera does. */
static void test_screen_as_source(void **state) {
  (void)state;
  char source[64];
  snprintf(source, sizeof source, "x11grab::%d.0", screen.number);
  program_expect(0, "5 frames, ", "live %s --input-size 256x256 --size 128x128 --frames 5", source);
  /* The size is that from the offset to the screen's edge; the address has the form that ffmpeg uses. */
  struct outcome outcome;
  program_run(&outcome, "live :%d.0+1664,600 -v --size 128x128 --frames 2", screen.number);
  if (outcome.status || !strstr(outcome.said, "rawvideo 256x200"))
    fail_msg("status %d for a part of the screen: %s", outcome.status, outcome.said);
  program_expect(0, NULL, "--list-devices");
  shell("grep -q '^cameras' out.txt && grep -q ':%d+0,0 --input-size 1920x800' out.txt && "
        "grep -q '^sound' out.txt",
        screen.number);
  /* The window shows what is on the screen: here the picture of a player. */
  pid_t player = fork();
  if (!player) {
    execl("/bin/sh", "sh", "-c", "exec ffplay -v quiet -noborder -left 0 -top 0 -loop 0 \"$1\" </dev/null", "sh",
          clip("still.png"), (char *)NULL);
    _exit(127);
  }
  wait_for("xdotool search --class ffplay");
  char arguments[256];
  snprintf(arguments, sizeof arguments, "%s --input-size 256x256 --split --snapshot-dir shots" PICTURE, source);
  start_window(arguments);
  shell("xdotool mousemove 1200 700");
  expect_window("crop=124:256:0:0", true, 0.9, "still.png", "crop=124:256:0:0");
  quit_window();
  kill(player, SIGTERM);
  waitpid(player, NULL, 0);
}

/* Several sources of other sizes and pixel formats, one after the other, in a window of one size. At strength 0 the
 * picture is the frame as the engine has read and fitted it; left of the line is the frame itself. Both are
 * mirrored. */
static void test_several_sources(void **state) {
  (void)state;
  shell("ffmpeg -nostdin -v error -y -i still.png -vf 'crop=200:120:0:0,negate,format=rgb24' -frames:v 1 wide.png");
  shell("ffmpeg -nostdin -v error -y -i still.png -vf 'hue=h=120,scale=96:144,setsar=1,format=yuv444p10' -frames:v 1 "
        "tall.mkv");
  shell("printf '#EXTM3U\nmissing.mp4\n%%s/tall.mkv\n' \"$PWD\" >list.m3u");
  static const char wide[] = "crop=120:120,scale=256:256," BELOW_WORDS;
  start_window("still.mkv wide.png --playlist list.m3u --loop --split --strength 0 --source-fade 0.3" PICTURE);
  expect_window(BELOW_WORDS, true, 0.9, "wide.png", wide); /* by itself, after still.mkv's end */
  press("g");
  expect_window(BELOW_WORDS, true, 0.9, "tall.mkv", "crop=96:96,scale=256:256," BELOW_WORDS);
  wait_said("missing.mp4");
  press("G");
  press("G");
  expect_window(BELOW_WORDS, true, 0.9, "wide.png", wide);
  press("M");
  expect_window(BELOW_WORDS, true, 0.9, "wide.png", "crop=120:120,hflip,scale=256:256," BELOW_WORDS);
  quit_window();
  /* Sources are played to the end of the list, and the program ends. */
  program_expect(0, NULL, "live missing.mp4 wide.png still.mkv --still 0.1 --size 64x64 -q");
}

static void test_no_source(void **state) {
  (void)state;
  struct outcome outcome;
  if (access("/dev/video0", F_OK) != 0) {
    program_run(&outcome, "live --frames 3 --size 128x128");
    if (outcome.status || outcome.lines != 2 || !strstr(outcome.said, "showing the sample clip") ||
        !strstr(outcome.said, "\n3 frames, "))
      fail_msg("status %d without a source: %s", outcome.status, outcome.said);
  }
  program_expect(3, "missing.mp4", "live missing.mp4 --frames 3 --size 128x128");
  program_expect(3, "gone.mp4", "live missing.mp4 gone.mp4 --frames 3 --size 128x128");
}

static void test_no_display(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "unset DISPLAY; export XDG_RUNTIME_DIR=$PWD XDG_CONFIG_HOME=$PWD/none; "
                        "@ live still.mkv --frames 3 --size 128x128");
  if (outcome.status != 6 || outcome.lines != 1 || !strstr(outcome.said, "reverie render"))
    fail_msg("status %d without a display: %s", outcome.status, outcome.said);
  shell("! test -e none"); /* looking for reverie.conf creates no folder */
  program_expect(0, "3 frames, ",
                 "unset DISPLAY; export SDL_VIDEODRIVER=offscreen; "
                 "@ live still.mkv --loop --frames 3 --size 128x128");
}

/* Errors in reverie.conf are reported once, with the file's name. */
static void test_wrong_config(void **state) {
  (void)state;
  struct outcome outcome;
  shell("mkdir -p config/reverie && head -c 1048577 /dev/zero >config/reverie/reverie.conf");
  program_run(&outcome, "unset DISPLAY; export XDG_RUNTIME_DIR=$PWD XDG_CONFIG_HOME=$PWD/config; @ live still.mkv");
  if (outcome.lines != 2 || !strstr(outcome.said, "reverie.conf: 1048577 bytes are more"))
    fail_msg("reverie.conf of a byte too many: %s", outcome.said);
  program_run(&outcome, "unset DISPLAY; export XDG_RUNTIME_DIR=$PWD XDG_CONFIG_HOME=$PWD/config; "
                        "printf '\\357\\273\\277quiet\\nno-\\000such=1\\nnone=2\\n' >config/reverie/reverie.conf; "
                        "@ live still.mkv");
  if (outcome.lines != 2 || !strstr(outcome.said, "reverie.conf:2: has a zero byte"))
    fail_msg("reverie.conf with a zero byte: %s", outcome.said);
  program_expect(2, "reverie.conf: --budget-floor: there is no --budget",
                 "export XDG_CONFIG_HOME=$PWD/config; echo budget-floor=64x64 >config/reverie/reverie.conf; "
                 "@ live still.mkv");
}

/* Pictures are recorded to a file, by --record and by the key, and written to a pipe; meanwhile an address where nobody
 * answers does not delay anything. */
static void test_records_and_sends(void **state) {
  (void)state;
  shell("rm -rf out && mkdir out && mkfifo out/pipe && (timeout 600 cat out/pipe >out/piped.mkv &)");
  start_window("still.mkv --loop --record out/first.mkv --to out/pipe --to tcp://127.0.0.1:1 "
               "--snapshot-dir out --record-sound lavfi:sine" PICTURE);
  wait_said("127.0.0.1:1: cannot be written");
  press("R");
  wait_for("grep -q 'out/first.mkv: [0-9]* picture' err.txt");
  press("R s");
  wait_said("saved ");
  wait_said(".mp4: encoded with");
  press("R");
  wait_for("grep -q '.mp4: [0-9]* picture' err.txt");
  struct outcome outcome;
  press("ctrl+q");
  finish(&outcome);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "out/pipe: "));
  shell("test $(ls out/reverie-*.mp4 | wc -l) = 1 && mv out/reverie-*.mp4 out/second.mp4 && mv out/*.png out/shot.png");
  shell("for name in first.mkv second.mp4; do grep -q \"\\(out/$name\\|reverie-.*mp4\\): $(ffprobe -v error "
        "-count_packets "
        "-show_entries stream=nb_read_packets -of csv=p=0 out/$name) pictures*, [0-9]* dropped\" err.txt || exit 1; "
        "done");
  /* The recording has the microphone's sound, because the source is silent. How much depends on timing. */
  shell("for name in first.mkv second.mp4; do ffprobe -v error -show_entries stream=codec_type out/$name | "
        "grep -q audio || exit 1; done");
  static const char *const names[] = {"out/first.mkv", "out/second.mp4", "out/piped.mkv"};
  for (int i = 0; i < 3; i++)
    if (similarity("out/shot.png", WHOLE, names[i], WHOLE) < 0.9)
      fail_msg("%s looks otherwise", names[i]);
  program_expect(6, "exists already", "live still.mkv --record out/first.mkv");
  program_expect(3, "--record-sound nosuch.wav: No such file", "live still.mkv --record-sound nosuch.wav");
  program_expect(6, "there is no such folder", "live still.mkv --snapshot-dir nowhere");
  program_expect(6, "there is no folder nowhere/", "live still.mkv --presets nowhere/show.json");
  program_expect(2, "an address of this machine is needed", "live still.mkv --web=1234:5");
  program_expect(2, "cannot be the same", "live still.mkv -y --record out/first.mkv --to out/first.mkv");
  program_expect(2, "only a file", "live still.mkv --record udp://127.0.0.1:1");
  program_expect(2, "no such video encoder", "live still.mkv --codec magic");
  program_expect(2, "mp4 does not take ffv1", "live still.mkv --codec ffv1 --record out/third.mp4");
  shell("test ! -e out/third.mp4");
  program_expect(6, "no such camera", "live still.mkv --to /dev/video4242");
  program_expect(6, "there is no folder nowhere/", "live still.mkv --record nowhere/show.mp4");
  program_expect(6, "this is a folder", "live still.mkv --to /tmp");
  program_expect(2, "has 0", "live still.mkv --presets none.json --saved-preset 9");
  program_expect(2, "same file", "live still.mkv -y --to still.mkv");
}

static void expect_server_gone(void) {
  struct outcome outcome;
  finish(&outcome);
  /* the connection may still be alive; the test checks what the program says, not how long it takes */
  kill(screen.server, SIGKILL);
  waitpid(screen.server, NULL, 0);
  screen.server = 0;
  if (outcome.status != 6 || !strstr(outcome.said, " skipped, ") ||
      !strstr(outcome.said, "reverie: the window is gone"))
    fail_msg("status %d after the X server's end: %s", outcome.status, outcome.said);
  shell("ffprobe -v error kept.mkv");
}

/* If the X server is gone, Xlib would end the program, and Mesa crashes when it draws. This is the last test on any
 * screen. */
static void test_server_gone(void **state) {
  (void)state;
  char number[16];
  start_window("still.mkv --loop --record kept.mkv -y" PICTURE);
  kill(screen.server, SIGKILL);
  expect_server_gone();
  assert_true(screen_open_xvfb());
  program_set(faulty);
  snprintf(number, sizeof number, "%d", (int)screen.server);
  /* the server ends during an early drawing, before the window has the keyboard focus */
  setenv("REVERIE_FAULT_SERVER", number, 1);
  screen.program = program_start("@ live still.mkv --loop --record kept.mkv -y" PICTURE);
  expect_server_gone();
}

/* Ends the program that a failed test has left running. */
static int end_program(void **state) {
  unsetenv("REVERIE_FAULT_HOLD");
  unsetenv("REVERIE_FAULT_HOLD_WIDTH");
  unsetenv("REVERIE_FAULT_GL");
  unsetenv("REVERIE_FAULT_SERVER");
  unsetenv("REVERIE_TOLD_TEXT");
  program_set(program);
  program_own_model(state);
  return screen_end_program(state);
}

int main(int argc, char **argv) {
#define CASE(function) cmocka_unit_test_teardown(function, end_program)
#define TINY(function) cmocka_unit_test_setup_teardown(function, program_tiny_model, end_program)
  const struct CMUnitTest tests[] = {
      TINY(test_control_source),
      TINY(test_interrupt),
      TINY(test_slow_frame_does_not_hold_the_window),
      TINY(test_slow_first_picture_is_told),
      TINY(test_dropped_files),
      CASE(test_lost_context),
      TINY(test_text_is_taken_for_a_line_alone),
      CASE(test_display_that_is_not_there),
      TINY(test_run_shows_then_renders),
      TINY(test_run_without_a_window),
      TINY(test_run_interrupted),
      TINY(test_screen_as_source),
      TINY(test_several_sources),
      TINY(test_no_source),
      CASE(test_records_and_sends),
      TINY(test_no_display),
      TINY(test_wrong_config),
      TINY(test_server_gone),
  };
  int missing = argc < 3 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  program = realpath(argv[1], NULL);
  faulty = realpath(argv[2], NULL);
  drag = argc > 3 ? realpath(argv[3], NULL) : NULL;
  program_set(program);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
