/* Tests the in and out points of the live program's files, what follows at their ends, and saved shows, on an X server
 * (Xvfb). */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/live_ipc.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

static void make_clips(void) {
  shell(FFMPEG "-i still.mkv -t 0.5 -c copy -y short.mkv; cp still.mkv twice.mkv");
}

static void set_points(const char *source, const char *in, const char *out) {
  char command[100], answer[40];
  snprintf(command, sizeof command, "[\"set_property\",\"source\",%s]", source);
  snprintf(answer, sizeof answer, "\"data\":%s", source);
  expect_ipc(command, "success");
  wait_ipc("[\"get_property\",\"source\"]", answer);
  wait_ipc("[\"get_property\",\"clip-out\"]", "\"data\":0");
  snprintf(command, sizeof command, "[\"set_property\",\"clip-in\",%s]", in);
  expect_ipc(command, "success");
  snprintf(command, sizeof command, "[\"set_property\",\"clip-out\",%s]", out);
  expect_ipc(command, "success");
  wait_ipc("[\"get_property\",\"clip-time-left\"]", "\"data\":0."); /* before another source is asked for */
}

static void expect_points(const char *source, const char *in, const char *out) {
  char command[100];
  snprintf(command, sizeof command, "[\"set_property\",\"source\",%s]", source);
  expect_ipc(command, "success");
  wait_ipc("[\"get_property\",\"clip-in\"]", in);
  wait_ipc("[\"get_property\",\"clip-out\"]", out);
}

/* A file keeps its points, and what follows it has its own, when a shorter file or a picture follows at its end. */
static void test_points_stay_with_their_file(void **state) {
  (void)state;
  make_clips();
  start_window("still.mkv short.mkv twice.mkv still.png --still 0.2s --loop --clip-loop loop --ipc ipc.sock" PICTURE);
  set_points("3", "1.5", "1.875");
  set_points("1", "1.25", "1.75");
  expect_ipc("[\"set_property\",\"clip-loop\",\"list\"]", "success");
  wait_said("source 2 of 4: short.mkv");
  wait_said("source 3 of 4: twice.mkv");
  wait_said("source 4 of 4: still.png");
  expect_ipc("[\"set_property\",\"clip-loop\",\"loop\"]", "success");
  expect_points("2", "\"data\":0", "\"data\":0");
  expect_points("1", "\"data\":1.25", "\"data\":1.75");
  expect_points("3", "\"data\":1.5", "\"data\":1.875");
  quit_window();
}

/* The show file keeps the points of all sources, also of those that are not shown when it is saved. */
static void test_points_come_back_with_the_show(void **state) {
  (void)state;
  struct outcome outcome;
  make_clips();
  shell("rm -f show.json");
  start_window("still.mkv twice.mkv --loop --clip-loop loop --show-file show.json --ipc ipc.sock" PICTURE);
  set_points("2", "1.5", "1.875");
  set_points("1", "1.25", "1.75");
  wait_for_pictures(); /* points that are set together with another source are that source's */
  expect_points("2", "\"data\":1.5", "\"data\":1.875");
  wait_for_pictures();
  expect_ipc("[\"save-show\"]", "success");
  wait_for("grep -q 1.75 show.json");
  kill(screen.program, SIGKILL);
  finish(&outcome);
  start_window("--show-file show.json --trust-show --ipc ipc.sock" PICTURE);
  expect_points("1", "\"data\":1.25", "\"data\":1.75");
  expect_points("2", "\"data\":1.5", "\"data\":1.875");
  quit_window();
}

/* From the last frame of a file the list goes on, as it does from any other place in the file. */
static void test_list_goes_on_from_the_last_frame(void **state) {
  (void)state;
  make_clips();
  start_window("still.mkv twice.mkv --loop --clip-loop loop --ipc ipc.sock" PICTURE);
  expect_ipc("[\"set_property\",\"clip-in\",1.95]", "success"); /* one frame, again and again */
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1.9");
  expect_ipc("[\"set_property\",\"clip-in\",0]", "success");
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1");
  expect_ipc("[\"set_property\",\"clip-speed\",0.1]", "success");
  expect_ipc("[\"set_property\",\"clip-loop\",\"list\"]", "success");
  expect_ipc("[\"set_property\",\"clip-time-left\",0]", "success");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":2");
  quit_window();
}

/* While a last picture stays, its place and the time left are told, whatever the speed was. */
static void test_place_of_a_last_picture(void **state) {
  (void)state;
  start_window("still.mkv --clip-loop hold --clip-speed 4 --ipc ipc.sock" PICTURE);
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1.9");
  wait_ipc("[\"get_property\",\"clip-time-left\"]", "\"data\":0}");
  quit_window();
}

/* That a source has no sound is told once, however often it comes back. */
static void test_no_sound_is_told_once(void **state) {
  (void)state;
  make_clips();
  shell(FFMPEG "-i short.mkv -f lavfi -i sine=f=80:r=8000 -t 0.5 -c:v copy -c:a flac -y loud.mkv");
  start_window("short.mkv loud.mkv --loop --sound source --modulate 'mix=bass*-1~0.1'" PICTURE);
  if (!program_comes_to_say(screen.program, "source 1 of 2: short.mkv", 3, PATIENCE_MS))
    fail_msg("the list does not begin anew");
  shell("test $(grep -c 'short.mkv has no sound' err.txt) = 1");
  quit_window();
}

/* A client may choose a source as soon as the socket is there, before the window is open. */
static void test_source_before_the_window(void **state) {
  (void)state;
  make_clips();
  shell("rm -f ipc.sock answer.txt; cat >early.py <<'PYTHON'\n"
        "import socket, time\n"
        "client = socket.socket(socket.AF_UNIX)\n"
        "while client.connect_ex('ipc.sock'):\n"
        "    time.sleep(0.001)\n"
        "client.sendall(b'{\"command\":[\"set_property\",\"source\",2]}\\n')\n"
        "open('answer.txt', 'w').write(client.makefile().readline())\n"
        "PYTHON\n"
        "timeout 60 python3 early.py &");
  start_window("still.mkv twice.mkv --loop --clip-loop loop --ipc ipc.sock" PICTURE);
  shell("cat answer.txt && grep -q success answer.txt");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":2");
  quit_window();
}

/* A pipe that nobody writes keeps no other source out while it is opened, and an alert tells of it until then. */
static void test_pipe_that_nobody_writes(void **state) {
  (void)state;
  make_clips();
  shell("rm -f silent.fifo; mkfifo silent.fifo");
  start_window("still.mkv silent.fifo twice.mkv --loop --clip-loop loop --ipc ipc.sock" PICTURE);
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":0.");
  expect_ipc("[\"set_property\",\"source\",2]", "success");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":2");
  wait_ipc("[\"get_property\",\"figures/alerts\"]", "\"what\":\"opening\",\"words\":\"a source does not open\","
                                                    "\"reason\":\"silent.fifo\"");
  expect_ipc("[\"set_property\",\"source\",3]", "success");
  wait_said("source 3 of 3: twice.mkv");
  wait_ipc("[\"get_property\",\"figures/alerts\"]", "\"data\":[]");
  expect_ipc("[\"set_property\",\"source\",2]", "success");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":2");
  quit_window();
}

/* A part of a file is played again and again at another speed; the source that is cued follows at its end; its own in
 * point is that of the preset that names it. At the out point the last picture stays, and a seek in a pause is seen. */
static void test_clip(void **state) {
  (void)state;
  shell("rm -rf out && mkdir out && "
        "echo '{\"presets\": [{\"name\": \"part\", \"values\": {\"clip-in\": 0.5, \"clip-loop\": \"hold\"}, "
        "\"source\": \"thrice.mkv\"}]}' >out/set.json; cp still.mkv twice.mkv; cp still.mkv thrice.mkv");
  start_window("still.mkv twice.mkv thrice.mkv --clip-loop loop --presets out/set.json --ipc ipc.sock" PICTURE);
  expect_ipc("[\"set_property\",\"clip-in\",1.25]", "success");
  expect_ipc("[\"set_property\",\"clip-out\",1.75]", "success");
  expect_ipc("[\"set_property\",\"clip-speed\",0.25]", "success");
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1");
  expect_ipc("[\"set_property\",\"clip-out\",99]", "success"); /* the file's end is nearer */
  wait_ipc("[\"get_property\",\"clip-out\"]", "\"data\":2");
  expect_ipc("[\"set_property\",\"cued-source\",4]", "cued-source: there is no number 4, but 3");
  expect_ipc("[\"cue-source\"]", "success");
  expect_ipc("[\"set_property\",\"clip-speed\",1]", "success");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":2");
  wait_ipc("[\"get_property\",\"clip-in\"]", "\"data\":0");
  wait_ipc("[\"get_property\",\"cued-source\"]", "\"data\":0");
  expect_ipc("[\"set_property\",\"source\",1]", "success");
  wait_ipc("[\"get_property\",\"clip-in\"]", "\"data\":1.25");
  press("backslash");
  wait_ipc("[\"get_property\",\"clip-in\"]", "\"data\":0");
  expect_ipc("[\"set_property\",\"scene\",\"part\"]", "success");
  wait_said("source 3 of 3: thrice.mkv");
  wait_ipc("[\"get_property\",\"source\"]", "\"data\":3");
  wait_ipc("[\"get_property\",\"clip-in\"]", "\"data\":0.5");
  wait_ipc("[\"get_property\",\"clip-loop\"]", "hold");
  wait_ipc("[\"get_property\",\"clip-position\"]", "\"data\":1");
  press("quotedbl"); /* ends here, and stays */
  wait_said("the clip is 0.50 to ");
  press("space");
  wait_ipc("[\"get_property\",\"pause\"]", "\"data\":true");
  expect_ipc("[\"set_property\",\"clip-position\",0]", "success");
  wait_said("clip: 0:00 of 0:02");
  quit_window();
}

/* A show is saved for its owner alone, comes back by its file, and what a crash leaves is offered again. */
static void test_show(void **state) {
  (void)state;
  struct outcome outcome;
  shell("rm -rf out && mkdir out");
  start_window("still.mkv --loop --prompt oil --show-file out/show.json --ipc ipc.sock" PICTURE);
  press("V");
  wait_said("saved the show: out/show.json");
  shell("test $(stat -c %%a out/show.json) = 600 && grep -q /still.mkv out/show.json");
  expect_ipc("[\"set_property\",\"strength\",0.125]", "success");
  wait_for("grep -q 0.125 out/show.json.unsaved");
  kill(screen.program, SIGKILL);
  finish(&outcome);
  start_window("--show-file out/show.json --trust-show -v");
  wait_said("the show ended in a crash: J brings back what was set");
  wait_ipc("[\"get_property\",\"prompt[1]\"]", "\"data\":\"oil\"");
  press("J");
  wait_ipc("[\"get_property\",\"strength\"]", "\"data\":0.125");
  quit_window();
  shell("test ! -e out/show.json.unsaved");
  start_window("still.mkv --show-file out/show.json" PICTURE); /* the source that the file names is left out */
  press("V");
  wait_said("the show is not saved: it would lose what was left out");
  quit_window();
  shell("grep -q /still.mkv out/show.json");
}

static int end_program(void **state) {
  return screen_end_program(state) || program_own_model(state);
}

int main(int argc, char **argv) {
#define TINY(function) cmocka_unit_test_setup_teardown(function, program_tiny_model, end_program)
  const struct CMUnitTest tests[] = {
      TINY(test_points_stay_with_their_file),
      TINY(test_points_come_back_with_the_show),
      TINY(test_list_goes_on_from_the_last_frame),
      TINY(test_place_of_a_last_picture),
      TINY(test_no_sound_is_told_once),
      TINY(test_source_before_the_window),
      TINY(test_pipe_that_nobody_writes),
      TINY(test_clip),
      TINY(test_show),
  };
  int missing = argc < 2 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
