/* Tests the live window on two displays (Xorg with its dummy driver, whose outputs xrandr switches on and off), without
 * a window manager. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

#define FIND_OPERATOR "xdotool search --name '^reverie operator$'"
/* FFmpeg filters for the areas above and below a square picture on the second display. */
#define OVER_PICTURE "crop=640:80:0:0"
#define UNDER_PICTURE "crop=640:80:0:720"
#define PICTURE_THERE "crop=640:640:0:80,scale=128:128:flags=area"

/* Shell commands that switch the second display on or off. */
#define SECOND(how) "xrandr --output DUMMY0 --mode 1280x800 --pos 0x0 --output DUMMY1 " how
#define ON SECOND("--mode 640x800 --pos 1280x0")
#define OFF SECOND("--off")
/* Shell command that prints the current alerts, as other programs read them. */
#define ALERTS                                                                                                         \
  "python3 -c 'import socket; s = socket.socket(socket.AF_UNIX); s.connect(\"ipc.sock\"); "                            \
  "s.sendall(b\"{\\\"command\\\":[\\\"get_property\\\",\\\"figures/alerts\\\"]}\\n\"); print(s.recv(9999).decode())'"

static void expect_place(const char *place) {
  char command[300];
  snprintf(command, sizeof command,
           "eval $(xdotool getwindowgeometry --shell $(" FIND_WINDOW ")) && test $X,$Y,$WIDTH,$HEIGHT = %s", place);
  wait_for(command);
}

static void expect_clean(const char *picture) {
  expect_window(PICTURE_THERE, true, 0.9, picture, "scale=128:128:flags=area");
  expect_window(OVER_PICTURE, true, 0.9999, "black.png", WHOLE);
  expect_window(UNDER_PICTURE, true, 0.9999, "black.png", WHOLE);
}

static void start_operator(const char *arguments) {
  shell(": >err.txt");
  screen.program = program_start("@ live still.mkv --loop --operator --size 128x128 --threads 1 -v %s", arguments);
  wait_said("first picture");
  wait_for(FIND_OPERATOR);
}

static void test_names(void **state) {
  (void)state;
  program_expect(2, "--display TV: none has this name; the displays here are 0 \"DUMMY0\", 1 \"DUMMY1\"",
                 "live still.mkv --display TV --frames 1");
  program_expect(2, "--display dummy: more than one has this name", "live still.mkv --display dummy --frames 1");
  program_expect(2, "--display 2: the displays here are 0 \"DUMMY0\"", "live still.mkv --display 2 --frames 1");
}

/* The audience's display shows only the picture, whatever messages, questions, typing and dragging the operator's
 * window shows. The operator's window can be closed and opened. */
static void test_operator(void **state) {
  (void)state;
  start_operator("--display my1");
  shell(FFMPEG "-f lavfi -i color=black:s=640x80 -frames:v 1 black.png");
  shell("xdotool windowmove --sync $(" FIND_OPERATOR ") 0 0 windowfocus --sync $(" FIND_OPERATOR ")");
  expect_place("1280,0,640,800");
  press("r question Tab slash");
  shell("xdotool type --delay 20 streng");
  press("Return Tab");
  /* The one row that is left, by its bar: first up, then all the way down. */
  shell("xdotool mousemove --window $(" FIND_OPERATOR ") 1000 234 mousedown 1 mousemove --window $(" FIND_OPERATOR
        ") 1040 234 mousemove --window $(" FIND_OPERATOR ") 900 260 mouseup 1");
  press("b");
  expect_clean("still.mkv");
  press("O");
  wait_for("! " FIND_OPERATOR);
  shell("xdotool windowfocus --sync $(" FIND_WINDOW ")");
  press("r");
  wait_said("reverie: seed ");
  press("b");
  expect_clean("still.mkv");
  press("O");
  wait_for(FIND_OPERATOR);
  shell("xdotool windowfocus --sync $(" FIND_OPERATOR ")");
  quit_window();
}

/* When the display is gone, the output window is hidden instead of covering the operator's window. It comes back by
 * itself, in the size of the display. Then each window is destroyed from outside: without the operator's window the
 * program goes on, and without the output window it ends normally. */
static void test_displays_come_and_go(void **state) {
  (void)state;
  struct outcome outcome;
  start_operator("--record shown.mkv -y --ipc ipc.sock");
  expect_place("1280,0,640,800");
  shell("xdotool windowfocus --sync $(" FIND_OPERATOR ")");
  press("D"); /* what the operator's picture does not show */
  wait_for(ALERTS " | grep -q '\"words\":\"test card\"'");
  press("D");
  wait_for("! " ALERTS " | grep -q 'test card'");
  shell(OFF);
  wait_said("reverie: the display DUMMY1 is gone: the output comes back with it\n");
  wait_for("! xdotool search --onlyvisible --name '^reverie$'");
  wait_for(ALERTS " | grep -q '\"words\":\"display gone\",\"reason\":\"DUMMY1\"'");
  shell(SECOND("--mode 640x480 --pos 1280x0"));
  wait_said("reverie: the output is on the display DUMMY1 again\n");
  wait_for("xdotool search --onlyvisible --name '^reverie$'");
  wait_for("! " ALERTS " | grep -q display");
  /* the keyboard focus stays with the operator's window */
  wait_for("test $(xdotool getwindowfocus) = $(" FIND_OPERATOR ")");
  expect_place("1280,0,640,480");
  shell(ON);
  expect_place("1280,0,640,800");
  /* puts one window into the other, as a window manager puts it into a frame */
  shell("xdotool windowreparent $(" FIND_OPERATOR ") $(" FIND_WINDOW ")");
  pause_ms(500);
  shell("xdotool windowclose $(" FIND_OPERATOR ")");
  wait_for("! " FIND_OPERATOR);
  shell("xdotool windowfocus --sync $(" FIND_WINDOW ")");
  press("r");
  wait_said("reverie: seed ");
  shell("xdotool windowclose $(" FIND_WINDOW ")");
  finish(&outcome);
  if (outcome.status != 6 || !strstr(outcome.said, " dropped\n") ||
      !strstr(outcome.said, "reverie: the window is gone: another program has destroyed it\n"))
    fail_msg("status %d after the window's end: %s", outcome.status, outcome.said);
  shell("ffprobe -v error shown.mkv");
}

#define LEFT_HALF "crop=320:800:0:0"
#define RIGHT_HALF "crop=320:800:320:0"
/* Drags the mouse from the first point of the screen to the second. */
#define DRAG(from, to) "xdotool mousemove " from " mousedown 1 mousemove " to " mouseup 1"

/* The right corners of the picture on the second display are dragged to its middle: the picture is drawn in the left
 * half alone; snapshots do not change. The corners are stored for this display by its name, and do not apply to the
 * other display. */
static void test_corners_are_kept(void **state) {
  (void)state;
  const char *before = getenv("XDG_CONFIG_HOME");
  char folder[300];
  snprintf(folder, sizeof folder, "%s", clip("config"));
  setenv("XDG_CONFIG_HOME", folder, 1);
  shell(FFMPEG "-f lavfi -i color=black:s=320x800 -frames:v 1 half.png");
  start_window("still.mkv --loop --size 128x128 --threads 1 --fullscreen --no-hud --display my1 -v "
               "--snapshot-dir shots");
  expect_place("1280,0,640,800");
  expect_window(RIGHT_HALF, false, 0.9, "half.png", WHOLE);
  save();
  shell("mv shot.png straight.png");
  press("X");
  shell(DRAG("1915 4", "1595 4"));
  shell(DRAG("1915 796", "1595 796"));
  press("Escape");
  expect_window(RIGHT_HALF, true, 0.999, "half.png", WHOLE);
  expect_window(LEFT_HALF, false, 0.9, "half.png", WHOLE);
  save();
  assert_true(clip_same_picture("shot.png", "straight.png"));
  quit_window();
  start_window("still.mkv --loop --size 128x128 --threads 1 --fullscreen --no-hud --display my0 -v");
  expect_place("0,0,1280,800");
  expect_window("crop=640:800:640:0,scale=320:800", false, 0.9, "half.png", WHOLE);
  quit_window();
  start_window("still.mkv --loop --size 128x128 --threads 1 --fullscreen --no-hud --display my1 -v");
  wait_said("reverie: display DUMMY1: the picture's place on it is as it was kept\n");
  expect_window(RIGHT_HALF, true, 0.999, "half.png", WHOLE);
  expect_window(LEFT_HALF, false, 0.9, "half.png", WHOLE);
  quit_window();
  if (before)
    setenv("XDG_CONFIG_HOME", before, 1);
  else
    unsetenv("XDG_CONFIG_HOME");
}

/* The picture's window is in the upper left corner, and the operator's beside or below it, within the display. */
#define APART                                                                                                          \
  "eval $(xdotool getwindowgeometry --shell $(" FIND_OPERATOR ")); left=$X top=$Y right=$((X + WIDTH)) "               \
  "bottom=$((Y + HEIGHT)); eval $(xdotool getwindowgeometry --shell $(" FIND_WINDOW ")); test $X,$Y = 0,0 && "         \
  "test $left -ge $WIDTH -o $top -ge $HEIGHT && test $right -le 1280 -a $bottom -le 800"

/* Without a window manager SDL gives the keyboard focus to a window that it shows. */
#define HAS_KEYS(find) "test $(xdotool getwindowfocus) = $(" find ")"

/* On one display, too, the operator's window never covers the audience's picture, in whatever order they open. */
static void test_one_display(void **state) {
  (void)state;
  shell(OFF " && xrandr --query >/dev/null");
  /* SDL checks this property to learn whether a window manager is there */
  shell("xprop -root -f _MOTIF_WM_HINTS 32c -set _MOTIF_WM_HINTS 0");
  start_operator("");
  wait_for(APART);
  /* the window is without a border */
  wait_for("xprop -id $(" FIND_WINDOW ") _MOTIF_WM_HINTS | grep -q '= 0x2, 0x0, 0x0'");
  shell("for window in $(" FIND_WINDOW ") $(" FIND_OPERATOR
        "); do xprop -id $window 32c _NET_WM_ICON | grep -q '= 64, 64, '; done");
  wait_for(HAS_KEYS(FIND_OPERATOR));
  quit_window();
  start_operator("--window 900x500");
  wait_for(APART);
  wait_for(HAS_KEYS(FIND_OPERATOR));
  quit_window();
  start_window("still.mkv --loop --size 128x128 --window 640x400 --threads 1 -v");
  expect_place("320,200,640,400");
  press("O");
  wait_for(FIND_OPERATOR " && " APART);
  wait_for("xprop -id $(" FIND_WINDOW ") _MOTIF_WM_HINTS | grep -q '= 0x2, 0x0, 0x0'");
  wait_for(HAS_KEYS(FIND_OPERATOR));
  press("O");
  wait_for("! " FIND_OPERATOR);
  expect_place("320,200,640,400");
  wait_for("xprop -id $(" FIND_WINDOW ") _MOTIF_WM_HINTS | grep -q '= 0x2, 0x0, 0x1'");
  shell("xdotool windowfocus --sync $(" FIND_WINDOW ")");
  wait_for(HAS_KEYS(FIND_WINDOW));
  quit_window();
}

static int two_displays(void **state) {
  (void)state;
  shell(ON " && xrandr --query >/dev/null"); /* the server knows its outputs only after they were queried */
  return 0;
}

/* The screen is as large as both displays together. */
static bool open_displays(void) {
  shell("cat >displays.conf <<end\n"
        "Section \"ServerFlags\"\nOption \"AutoAddDevices\" \"false\"\nEndSection\n"
        "Section \"Device\"\nIdentifier \"dummy\"\nDriver \"dummy\"\nVideoRam 64000\nEndSection\n"
        "Section \"Monitor\"\nIdentifier \"any\"\nHorizSync 5-200\nVertRefresh 5-200\n"
        "Modeline \"640x800\" 40 640 672 736 832 800 801 804 828\nEndSection\n"
        "Section \"Screen\"\nIdentifier \"all\"\nDevice \"dummy\"\nMonitor \"any\"\nDefaultDepth 24\n"
        "SubSection \"Display\"\nDepth 24\nVirtual 1920 800\nEndSubSection\nEndSection\nend");
  const char *const server[] = {"Xorg",     "-displayfd",  "3",         "-config",  clip("displays.conf"),
                                "-noreset", "-novtswitch", "-sharevts", "-logfile", clip("Xorg.log"),
                                NULL};
  return screen_open(server);
}

int main(int argc, char **argv) {
#define CASE(function) cmocka_unit_test_setup_teardown(function, two_displays, screen_end_program)
  const struct CMUnitTest tests[] = {
      CASE(test_names),       CASE(test_operator), CASE(test_displays_come_and_go), CASE(test_corners_are_kept),
      CASE(test_one_display),
  };
  unsetenv("WAYLAND_DISPLAY");
  unsetenv("SDL_VIDEODRIVER");
  if (geteuid()) {
    fprintf(stderr, "skipped: Xorg takes a configuration of any folder from root alone\n");
    return 77;
  }
  if (argc < 2 ||
      system("command -v xrandr xdotool xprop >/dev/null && "
             "test -e \"$(Xorg -showDefaultModulePath 2>&1 | cut -d, -f1)/drivers/dummy_drv.so\"") ||
      !clips_open())
    return 77;
  program_set(realpath(argv[1], NULL));
  int failed = 1;
  if (open_displays()) {
    shell("xrandr --addmode DUMMY1 640x800");
    screen_make_still();
    failed = cmocka_run_group_tests(tests, NULL, NULL);
  } else {
    fprintf(stderr, "Xorg does not start: %s\n", (const char *)shell_output(NULL, "tail -n 3 Xorg.log"));
  }
  screen_close();
  clips_close();
  return failed;
}
