/* Tests the live window from the user's side, on an X server (Xvfb). */
#include "tests/rigs/cmocka_all.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/live_ipc.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

enum { STANDSTILL_MS = 400 };

/* Waits until two screenshots of the window are equal, because pictures in flight still appear. */
static void expect_standstill(void) {
  double similar = 0;
  for (int waited = 0; waited < PATIENCE_MS && similar < 0.9999; waited += STANDSTILL_MS) {
    grab("before.png");
    pause_ms(STANDSTILL_MS);
    grab("now.png");
    similar = similarity("before.png", BELOW_WORDS, "now.png", BELOW_WORDS);
  }
  if (similar < 0.9999)
    fail_msg("the window does not stand still");
}

static void freeze(void) {
  press("space");
  expect_standstill();
  save();
}

/* Waits until a snapshot equals the window. On a busy machine a picture that was in flight at the pause may appear
 * later, so another snapshot is taken now and then, after the message about the last one has disappeared. */
static void expect_snapshot(void) {
  enum { LOOKS = 200 };
  double similar = 0;
  for (int look = 1; look < PATIENCE_MS / LOOK_AGAIN_MS; look++) {
    grab("now.png");
    similar = similarity("now.png", BELOW_WORDS, "shot.png", BELOW_WORDS);
    if (similar >= 0.98)
      return;
    pause_ms(LOOK_AGAIN_MS);
    if (look % LOOKS == 0)
      save();
  }
  fail_msg("the window is %.4f alike to its snapshot", similar);
}

static void test_window_shows_the_snapshot(void **state) {
  (void)state;
  start_window(SAMPLE " --loop --snapshot-dir shots" PICTURE);
  /* The clip moves, so the picture in the window changes. */
  grab("first.png");
  expect_window(WHOLE, false, 0.99, "first.png", WHOLE);
  freeze();
  struct clip_shape shape = clip_shape("shot.png");
  assert_true(shape.width == 256 && shape.height == 256);
  expect_snapshot();
  press("space");
  expect_window(BELOW_WORDS, false, 0.95, "shot.png", BELOW_WORDS);
  quit_window();
}

/* Waits until the window shows a picture similar to this one. */
static void wait_shown(const char *picture, double alike) {
  double seen = 0;
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    grab("seen.png");
    seen = similarity("seen.png", WHOLE, picture, WHOLE);
    if (seen > alike)
      return;
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("the window never showed %s, but what is %.3f like it", picture, seen);
}

/* Tests bypass (the source unchanged), blackout, and the picture again. Esc does not end the program. */
static void test_stage_keys(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i color=black:s=256x256 -frames:v 1 black.png");
  start_window("still.mkv --loop --ipc ipc.sock" PICTURE);
  press("F U"); /* bypass shows the source also while the picture is frozen */
  wait_shown("still.png", 0.9);
  press("F U B");
  wait_shown("black.png", 0.99);
  press("F space");
  /* the states are all listed, though blackout covers the others */
  wait_ipc("[\"get_property\",\"figures/state\"]", "\"blackout, frozen, paused\"");
  press("F space");
  press("B Escape U");
  wait_shown("still.png", 0.9);
  press("U");
  grab("seen.png");
  for (int waited = 0; similarity("seen.png", WHOLE, "still.png", WHOLE) > 0.9 && waited < PATIENCE_MS;) {
    pause_ms(LOOK_AGAIN_MS);
    waited += LOOK_AGAIN_MS;
    grab("seen.png");
  }
  assert_true(similarity("seen.png", WHOLE, "still.png", WHOLE) < 0.9);
  quit_window();
}

/* Values that a script sets are recorded; a script with an error opens no window. */
static void test_script(void **state) {
  (void)state;
  struct outcome outcome;
  shell("printf '%%s\\n' '{\"time\": 0, \"parameter\": \"seed\", \"value\": 41}' "
        "'{\"time\": 0.2, \"parameter\": \"blackout\", \"value\": true}' >show.jsonl");
  start_window("still.mkv --loop --script show.jsonl --record-script taken.jsonl" PICTURE);
  wait_for("grep -q '\"parameter\":\"blackout\",\"value\":true' taken.jsonl");
  quit_window();
  shell("grep -q '\"parameter\":\"seed\",\"value\":41' taken.jsonl");
  program_expect(6, "exists already", "live still.mkv --record-script taken.jsonl");
  program_run(&outcome, "live still.mkv --record-script /dev/full -y --size 64x64 --loop --frames 3 -q");
  if (outcome.status != 6 || !strstr(outcome.said, "--record-script /dev/full: the script is not complete"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  program_run(&outcome, "@ live still.mkv --script taken.jsonl --record-script taken.jsonl");
  assert_int_equal(outcome.status, 2);
  shell("grep -q blackout taken.jsonl && echo '{}' >>show.jsonl");
  program_run(&outcome, "@ live still.mkv --script show.jsonl");
  if (outcome.status != 2 || !strstr(outcome.said, "show.jsonl: line 3: "))
    fail_msg("status %d: %s", outcome.status, outcome.said);
}

/* A tone mixes the source into the picture, and the value that is set does not change. Errors are reported before a
 * window opens. */
static void test_sound(void **state) {
  (void)state;
  shell("rm -rf out && mkdir out");
  start_window("still.mkv --loop --presets out/set.json --sound lavfi:sine=frequency=80 "
               "--modulate 'mix=bass*-1~0.1'" PICTURE);
  expect_window(BELOW_WORDS, true, 0.98, "still.mkv", BELOW_WORDS);
  press("S");
  wait_said("saved preset 1");
  shell("tr -d ' \t\n' <out/set.json | grep -q '\"mix\":1[,}]'");
  quit_window();
  /* Uses the sound of the source that is shown; the next source has none. */
  shell(FFMPEG "-loop 1 -r 2 -i still.png -f lavfi -i sine=f=80:r=8000 -t 60 -c:a flac -c:v libx264 -preset ultrafast "
               "-crf 6 -pix_fmt yuv420p minute.mkv && " FFMPEG
               "-stream_loop 14 -i minute.mkv -c copy hum.mkv"); /* longer than this takes on a slow machine */
  start_window("hum.mkv still.mkv --sound source --modulate 'mix=bass*-1~0.1'" PICTURE);
  expect_window(BELOW_WORDS, true, 0.98, "still.mkv", BELOW_WORDS);
  press("g");
  wait_said("--sound source: still.mkv has no sound; nothing is moved");
  expect_window(BELOW_WORDS, false, 0.9, "still.mkv", BELOW_WORDS);
  quit_window();
  program_expect(2, "text to image has no source", "live --text-to-image --sound source --modulate mix=bass*1");
  program_expect(3, "--sound nosuch.wav: No such file", "live still.mkv --sound nosuch.wav --modulate mix=bass*1");
  program_expect(3, "--sound nosuch.wav: No such file", "live still.mkv --sound nosuch.wav --tempo-from sound");
  program_expect(2, "--sound INPUT names", "live still.mkv --modulate mix=bass*1");
  program_expect(2, "behind = one of level|bass", "live still.mkv --sound x.wav --modulate mix=drum*1");
}

/* As many snapshots are written as were requested, also if the window is closed before. */
static void test_snapshots_in_a_hurry(void **state) {
  (void)state;
  struct outcome outcome;
  shell("rm -rf shots && mkdir shots");
  start_window("still.mkv --loop --snapshot-dir shots" PICTURE);
  shell("xdotool key s s s ctrl+q");
  finish(&outcome);
  assert_int_equal(outcome.status, 0);
  shell("test $(ls shots/reverie-*.png | wc -l) = 3 && for file in shots/*.png; do ffprobe -v error $file; done");
  shell("rm -rf shots");
}

/* In a window of another shape the picture is scaled and has black bars. */
static void test_window_of_another_shape(void **state) {
  (void)state;
  start_window("still.mkv --loop --snapshot-dir shots --window 640x400 --size 256x256 --seed 7 --no-hud -v");
  freeze();
  expect_window("crop=400:300:120:100,scale=256:192:flags=area", true, 0.95, "shot.png", BELOW_WORDS);
  shell(FFMPEG "-f lavfi -i color=black:s=120x400 -frames:v 1 black.png");
  expect_window("crop=120:400:520:0", true, 0.999, "black.png", WHOLE);
  quit_window();
}

static void expect_size(const char *size) {
  char *now = NULL;
  for (int waited = 0; waited < PATIENCE_MS; waited += LOOK_AGAIN_MS) {
    free(now);
    now = (char *)shell_output(NULL, "eval $(xdotool getwindowgeometry --shell $(" FIND_WINDOW ")) "
                                     "&& printf %%s ${WIDTH}x$HEIGHT");
    if (!strcmp(now, size)) {
      free(now);
      return;
    }
    pause_ms(LOOK_AGAIN_MS);
  }
  fail_msg("the window is %s, not %s", now, size);
}

/* The picture's shape, 5:3 from a source of 16:9, becomes known only after the screen was filled, and there is no
 * window manager here. */
static void test_out_of_fullscreen(void **state) {
  (void)state;
  if (!HAVE_X11)
    skip();
  start_window("lavfi:testsrc2=s=320x180:r=5 -f --threads 1 -v");
  expect_size("1920x800");
  press("f");
  expect_size("960x576");
  press("f");
  expect_size("1920x800");
  quit_window();
}

static void test_render_gives_the_same(void **state) {
  (void)state;
  start_window("still.mkv --loop --snapshot-dir shots" PICTURE);
  freeze();
  quit_window();
  /* A video would not do: the colours of its pictures have half the size. */
  program_expect(0, NULL, "render still.mkv same.png -y --size 256x256 --seed 7 --frames 1");
  double similar = similarity("shot.png", WHOLE, "same.png", WHOLE);
  if (similar < 0.99)
    fail_msg("live and render: %.4f alike", similar);
}

static void test_keys(void **state) {
  (void)state;
  start_window("still.mkv --loop --snapshot-dir shots --ipc ipc.sock" WEB PICTURE);
  freeze();
  expect_window(BELOW_WORDS, true, 0.98, "shot.png", BELOW_WORDS);
  press("2");
  expect_window(BELOW_WORDS, false, 0.9, "shot.png", BELOW_WORDS);
  press("1");
  expect_window(BELOW_WORDS, true, 0.98, "shot.png", BELOW_WORDS);
  /* Comparison: the source at the left of the line, the picture at the right. */
  press("b");
  expect_window("crop=124:192:0:64", true, 0.9, "still.mkv", "crop=124:192:0:64");
  expect_window("crop=124:192:132:64", true, 0.98, "shot.png", "crop=124:192:132:64");
  press("b");
  expect_window(BELOW_WORDS, true, 0.98, "shot.png", BELOW_WORDS);
  /* A value that another program sets is shown like one that a key sets. */
  expect_ipc("[\"get_property\",\"pause\"]", "\"data\":true");
  expect_ipc("[\"set_property\",\"mix\",0]", "success");
  expect_window(BELOW_WORDS, true, 0.9, "still.mkv", BELOW_WORDS);
  expect_ipc("[\"get_property\",\"figures/width\"]", "\"data\":256");
  /* If a value has no effect, the reason is shown on the screen, and once on the terminal. */
  expect_ipc("[\"set_property\",\"guidance\",5]", "success");
  wait_ipc("[\"get_property\",\"figures/notice\"]", "this guidance: refused: ");
  expect_ipc("[\"get_property\",\"figures/notice\"]", "trained without guidance");
  wait_ipc("[\"get_property\",\"guidance\"]", "\"data\":1}");
  expect_ipc("[\"set_property\",\"prompt[1]\",\"xyzzy\"]", "success");
  press("space"); /* ends the pause, so that the prompt is encoded */
  wait_ipc("[\"get_property\",\"figures/notice\"]",
           "\\\"xyzzy\\\" names no style that this model knows and gives photo");
  shell("test $(grep -c 'xyzzy' err.txt) = 1 && test $(grep -c 'trained without guidance' err.txt) = 1");
  if (*WEB)
    shell("python3 -c 'import sys, urllib.request; at = sys.argv[1]; page = urllib.request.urlopen(at).read(); "
          "picture = urllib.request.urlopen(at + \"picture.jpg\").read(); "
          "sys.exit(b\"reverie\" not in page or picture[:2] != bytes([255, 216]))' "
          "\"$(sed -n 's/.*the page is at //p' err.txt)\"");
  quit_window();
  shell("test ! -e ipc.sock");
}

/* While a line is edited, keys are text; the list accepts names and numbers. Both disappear from the screen. The seed
 * is printed on the terminal. */
static void test_typing(void **state) {
  (void)state;
  program_expect(0, NULL,
                 "render still.mkv typed.mkv -y -c ffv1 --size 256x256 --seed 7 --frames 1 --prompt watercolor");
  start_window("still.mkv --loop --snapshot-dir shots" PICTURE);
  press("Return ctrl+u");
  shell("xdotool type --delay 20 waterQq");
  press("Left Delete BackSpace End");
  shell("xdotool type --delay 20 color");
  press("Return");
  expect_window(WHOLE, true, 0.97, "typed.mkv", WHOLE);
  press("slash q Escape Tab slash");
  shell("xdotool type --delay 20 streng");
  press("Return 0 Return Tab r");
  wait_said("reverie: seed ");
  expect_window(WHOLE, true, 0.97, "still.mkv", WHOLE);
  quit_window();
}

/* Returns a UDP port of this machine, which stays reserved until the socket is closed. */
static int take_port(int *handle) {
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
  socklen_t size = sizeof address;
  *handle = socket(AF_INET, SOCK_DGRAM, 0);
  assert_int_equal(bind(*handle, (struct sockaddr *)&address, sizeof address), 0);
  assert_int_equal(getsockname(*handle, (struct sockaddr *)&address, &size), 0);
  return ntohs(address.sin_port);
}

/* A pad is bound already, and a knob is learnt; input comes from raw devices and pipes. */
static void test_midi(void **state) {
  (void)state;
  char *folder = (char *)shell_output(NULL, "printf %%s \"$PWD\"/config");
  shell("rm -rf config shots && mkdir -p config/reverie shots && mkfifo pipe && echo "
        "'{\"bindings\": [{\"knob\": \"note 36\", \"channel\": 10, \"sets\": \"command/snapshot\"}]}' "
        ">config/reverie/midi.json");
  const char *before = getenv("XDG_CONFIG_HOME");
  setenv("XDG_CONFIG_HOME", folder, 1);
  start_window("still.mkv --loop --snapshot-dir shots --midi=./pipe" PICTURE);
  shell("printf '\\231\\044\\100\\044\\000' >pipe");
  wait_said("saved ");
  press("minus u");
  wait_said("move what is to set strength");
  shell("test $(grep -c 'move what is' err.txt) = 1");
  shell("printf '\\260\\025\\100' >pipe");
  wait_said("cc 21 of channel 1 sets strength");
  quit_window();
  shell("grep -q 'cc 21' config/reverie/midi.json && grep -q 'note 36' config/reverie/midi.json");
  program_expect(2, "No such file", "live still.mkv --midi=/no/such/device");
  if (before)
    setenv("XDG_CONFIG_HOME", before, 1);
  else
    unsetenv("XDG_CONFIG_HOME");
  shell("rm -rf config shots pipe");
  free(folder);
}

/* Sends messages as any OSC program does. */
static void test_osc(void **state) {
  (void)state;
  char arguments[256], first[64];
  if (!HAVE_OSC)
    skip();
  int handle, port = take_port(&handle);
  shell("rm -rf shots && mkdir shots");
  program_expect(2, "another program listens there", "live still.mkv --osc %d", port);
  close(handle);
  snprintf(first, sizeof first, "exec 3>/dev/udp/127.0.0.1/%d", port);
  snprintf(arguments, sizeof arguments, "still.mkv --loop --snapshot-dir shots --osc %d" PICTURE, port);
  start_window(arguments);
  shell("bash -c '%s; printf \"/reverie/nothing\\0\\0\\0\\0,\\0\\0\\0\" >&3; printf nonsense >&3; "
        "printf \"/reverie/command/snapshot\\0\\0\\0,\\0\\0\\0\" >&3'",
        first);
  wait_said("saved ");
  wait_said("nothing: there is no parameter of that name");
  quit_window();
  shell("rm -rf shots");
}

#define GOLDEN "\"$REVERIE_GOLDENS\"/"

/* Renders a picture with this model, for comparison. */
static void render_model(const char *name, const char *options) {
  program_expect(0, NULL, "render still.mkv %s.mkv -y -c ffv1 --size 64x64 --seed 7 --frames 1 %s", name, options);
}

static void expect_model(const char *rendered) {
  expect_window(BELOW_WORDS, true, 0.9, rendered, "scale=256:256," BELOW_WORDS);
}

/* Changes the model by key; pictures go on, and if a model cannot be loaded the old one stays. */
static void test_another_model(void **state) {
  (void)state;
  render_model("first", "");
  render_model("second", "--model " GOLDEN "sd15");
  start_window("still.mkv --loop --size 64x64 --window 256x256 --seed 7 --threads 1 --no-hud -v --canvas fixed "
               "--model mini --model " GOLDEN "sd15 --model nowhere");
  wait_said("-> mini, 64x64, 1 step,");
  expect_model("first.mkv");
  press("m");
  wait_said("-> sd15, 64x64, 20 steps,");
  expect_model("second.mkv");
  press("m");
  wait_said("nowhere: no file or folder");
  expect_model("second.mkv");
  quit_window();
}

/* Changes the picture's size by key while the window keeps its size; if a size does not fit in memory the old one
 * stays. */
static void test_another_size(void **state) {
  (void)state;
  program_expect(0, NULL, "render still.mkv large.mkv -y -c ffv1 --size 128x128 --seed 7 --frames 1");
  start_window("still.mkv --loop --snapshot-dir shots --size 64x64 --window 256x256 --seed 7 --threads 1 --no-hud -v "
               "--canvas fixed "
               "--device cpu --precision f32 --memory-limit 140M");
  press("braceright");
  wait_said("the picture is 128x128 now");
  expect_model("large.mkv");
  expect_size("256x256");
  freeze();
  struct clip_shape shape = clip_shape("shot.png");
  assert_true(shape.width == 128 && shape.height == 128);
  press("space");
  shell("xdotool key --delay 20 --repeat 20 braceright");
  wait_said(" MB allowed are taken");
  quit_window();
}

/* A size that is no multiple of what the model makes: the picture is cropped from a larger one and equals render's. A
 * key changes to a size that the model makes itself. */
static void test_even_size(void **state) {
  (void)state;
  program_expect(0, NULL, "render still.mkv even.mkv -y -c ffv1 --size 80x80 --seed 7 --frames 1");
  start_window("still.mkv --loop --snapshot-dir shots --size 80x80 --window 256x256 --seed 7 --threads 1 --no-hud -v "
               "--canvas fixed "
               "--device cpu --precision f32");
  expect_model("even.mkv");
  freeze();
  shell("test $(ffprobe -v error -show_entries stream=width,height -of csv=p=0 shot.png) = 80,80");
  press("space");
  press("braceright");
  wait_said("the picture is 128x128 now");
  quit_window();
}

/* Each model fits in memory alone, but not both together. */
static void test_another_model_without_room(void **state) {
  (void)state;
  start_window("still.mkv --loop --size 64x64 --threads 1 -v --device cpu --precision f32 --memory-limit 140M "
               "--model mini --model \"$REVERIE_ASSETS/mini/model\"");
  press("m");
  wait_said("(mini runs beside it and takes ");
  quit_window();
}

/* The mask also applies to the next engine: the picture does not change. */
static void test_another_model_has_the_mask(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i color=black:s=64x64 -vf drawbox=0:0:32:64:white:fill -frames:v 1 mask.png");
  start_window("still.mkv --loop --snapshot-dir shots --mask mask.png --device cpu --strength 1 --size 64x64 --window "
               "256x256 --seed 7 --threads 1 --no-hud -v --model " GOLDEN "inpaint --model " GOLDEN "inpaint/");
  freeze();
  shell("cp shot.png first.png");
  press("m");
  wait_for("test $(grep -c -- '-> inpaint, ' err.txt) = 2");
  expect_standstill();
  save();
  double similar = similarity("shot.png", WHOLE, "first.png", WHOLE);
  if (similar < 0.999)
    fail_msg("with the same mask: %.4f alike", similar);
  quit_window();
}

static void take_as(const char *name) {
  take_snapshot();
  shell("mv out/reverie-*.png out/%s.png", name);
}

/* Saves snapshots until one equals out/first.png in all bits (alike), or differs from it. Prompts fade, so this takes a
 * while. */
static void take_until(const char *name, bool alike) {
  char path[64];
  snprintf(path, sizeof path, "out/%s.png", name);
  for (int i = 0; i < 300; i++) {
    take_as(name);
    if (clip_same_picture("out/first.png", path) == alike)
      return;
  }
  fail_msg("%s: never %s", name, alike ? "the first picture" : "another picture");
}

/* Presets restore the same picture in all bits, from the preset file and from a saved picture; values that presets may
 * not set are refused. */
static void test_presets(void **state) {
  (void)state;
  shell("rm -rf out && mkdir out && "
        "echo '{\"presets\": [{\"name\": \"x\", \"values\": {\"model\": \"/etc/passwd\"}}, {\"name\": \"two\", "
        "\"values\": {\"prompt[]\": [\"neon\", \"ink\"]}, \"source\": \"still.mkv\"}, {\"name\": \"away\", "
        "\"values\": {}, \"source\": \"/etc/passwd\"}]}' >out/set.json");
  start_window("still.mkv --loop --prompt oil --presets out/set.json --snapshot-dir out "
               "--ipc ipc.sock" PICTURE);
  press("a");
  wait_said("preset 1 (x): model: only what the command line names can be chosen");
  expect_ipc("[\"set_property\",\"prompt[9]\",\"a dog\"]", "success");
  expect_ipc("[\"set_property\",\"scene\",\"away\"]", "success");
  wait_said("preset 3 (away): source: \"passwd\" is not among the sources");
  expect_ipc("[\"set_property\",\"scene\",\"none such\"]", "there is no preset called \\\"none such");
  expect_ipc("[\"set_property\",\"scene\",\"two\"]", "success");
  wait_ipc("[\"get_property\",\"prompt[2]\"]", "\"data\":\"ink\"");
  wait_ipc("[\"get_property\",\"saved-preset\"]", "\"data\":2");
  wait_ipc("[\"get_property\",\"scene\"]", "\"data\":\"two\"");
  expect_ipc("[\"set_property\",\"cued-scene\",\"none such\"]", "cued-scene: there is no preset called \\\"none such");
  expect_ipc("[\"set_property\",\"cued-scene\",\"away\"]", "success");
  wait_ipc("[\"get_property\",\"cued-preset\"]", "\"data\":3");
  press("N"); /* after the last one the first */
  wait_ipc("[\"get_property\",\"cued-scene\"]", "\"data\":\"x\"");
  expect_ipc("[\"set_property\",\"cued-scene\",\"\"]", "success");
  wait_ipc("[\"get_property\",\"cued-preset\"]", "\"data\":0");
  expect_ipc("[\"get_property\",\"prompt[3]\"]", "\"data\":\"watercolor\""); /* as at the start */
  expect_ipc("[\"get_property\",\"prompt[9]\"]", "\"data\":\"pop art\"");
  expect_ipc("[\"set_property\",\"saved-preset\",0]", "success");
  press("minus r S");
  wait_said("saved preset 4");
  wait_for_pictures();
  take_as("first");
  press("2 plus r");
  take_until("other", false);
  press("A");
  take_until("again", true);
  press("2 plus r");
  take_until("changed", false);
  expect_ipc("[\"set_property\",\"saved-preset\",4]", "success"); /* as it is, which says that it is to be so */
  take_until("back", true);
  expect_ipc("[\"set_property\",\"clip-position\",1.5]", "success");
  wait_said("clip: 0:01 of 0:02");
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1"); /* in each round of the clip */
  press("Home");
  wait_said("clip: 0:00 of 0:02");
  expect_ipc("[\"set_property\",\"clip-time-left\",0]", "success");
  expect_ipc("[\"seek-back\",99]", "success");
  expect_ipc("[\"set_property\",\"saved-preset\",99]", "there is no number 99, but 4");
  quit_window();
  start_window("still.mkv --loop --presets out/first.png --saved-preset 1 --snapshot-dir out" PICTURE);
  take_until("picture", true);
  quit_window();
  program_expect(2, "without a preset", "live still.mkv --presets still.png");
  program_expect(2, "names the file", "live still.mkv --saved-preset 1");
}

/* If no screen shows that a source is lost, the terminal says so once. */
static void test_a_loss_is_told_once(void **state) {
  (void)state;
  struct outcome outcome;
  int handle, port = take_port(&handle);
  close(handle);
  screen.program =
      program_start("@ live still.mkv udp://127.0.0.1:%d --read-timeout 0.2 --loop --ipc ipc.sock" PICTURE, port);
  wait_for(FIND_WINDOW);
  wait_said("first picture");
  wait_ipc("[\"get_property\",\"figures/source\"]", "\"still.mkv: ");
  expect_ipc("[\"set_property\",\"source\",2]", "success");
  wait_said("nothing came for 0.2 s");
  wait_ipc("[\"get_property\",\"figures/source\"]", "\"udp://");        /* no longer what the source before it is */
  wait_ipc("[\"get_property\",\"figures\"]", "nothing came for 0.2 s"); /* the window's thread has noticed it, too */
  pause_ms(STANDSTILL_MS);
  shell("test $(grep -c 'nothing came' err.txt) = 1");
  kill(screen.program, SIGINT);
  finish(&outcome);
  assert_int_equal(outcome.status, 130);
}

static int end_program(void **state) {
  return screen_end_program(state) || program_own_model(state);
}

int main(int argc, char **argv) {
#define CASE(function) cmocka_unit_test_teardown(function, end_program)
#define TINY(function) cmocka_unit_test_setup_teardown(function, program_tiny_model, end_program)
  const struct CMUnitTest tests[] = {
      CASE(test_window_shows_the_snapshot),
      CASE(test_stage_keys),
      TINY(test_script),
      TINY(test_sound),
      TINY(test_snapshots_in_a_hurry),
      TINY(test_window_of_another_shape),
      CASE(test_out_of_fullscreen),
      CASE(test_render_gives_the_same),
      CASE(test_keys),
      CASE(test_another_model),
      CASE(test_another_size),
      CASE(test_even_size),
      CASE(test_another_model_without_room),
      CASE(test_another_model_has_the_mask),
      CASE(test_typing),
      TINY(test_osc),
      TINY(test_midi),
      TINY(test_presets),
      TINY(test_a_loss_is_told_once),
  };
  int missing = argc < 2 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
