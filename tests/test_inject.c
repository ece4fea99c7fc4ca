/* Tests the program when memory, files and threads fail: inject.c, preloaded, makes one call of a kind fail, and this
 * test tries a number of calls. The program must end with a documented status and one line that says why (never by a
 * signal, except within oneDNN), or go on without losing anything.
 *
 * Arguments: the program, libinject.so; optionally by how many times more calls are tried than usual. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { SKIPPED = 77, FRAMES = 4, SOUND_PACKETS = 31, FIRST = 2 };

static const char *shim;
static long closer = 1;

/* Which calls fail: the first few, and some spread evenly over all calls of this kind. */
struct faults {
  const char *kind, *library;
  int places;
};

struct command {
  const char *arguments;
  bool makes_file;       /* true: it writes out.mkv, with FRAMES frames and SOUND_PACKETS packets of sound */
  const char *last_line; /* a line that a successful run prints; NULL: not checked */
};

static void run(struct outcome *outcome, const struct command *command, const struct faults *faults, long at) {
  shell("rm -f out.mkv* report.txt");
  program_run(
      outcome,
      "unset DISPLAY WAYLAND_DISPLAY; export SDL_VIDEODRIVER=offscreen OMP_WAIT_POLICY=passive LD_PRELOAD='%s' "
      "REVERIE_INJECT_REPORT=report.txt REVERIE_INJECT_KIND=%s REVERIE_INJECT_IN=%s REVERIE_INJECT_AT=%ld; @ %s",
      shim, faults->kind, faults->library, at, command->arguments);
}

static char *report(void) {
  return (char *)shell_output(NULL, "cat report.txt 2>/dev/null || true");
}

/* Returns the number of calls that a run without a fault has reported. */
static long count_calls(const char *reported, const struct faults *faults) {
  char wanted[32];
  long sum = 0;
  int length = snprintf(wanted, sizeof wanted, "\n%s %s", faults->kind, faults->library);
  for (const char *at = reported; (at = strstr(at, wanted)); at += length)
    sum += atol(at + length + strcspn(at + length, " "));
  return sum;
}

static int count(const char *text, const char *word) {
  int number = 0;
  for (; (text = strstr(text, word)); text++)
    number++;
  return number;
}

/* True if out.mkv has all packets of pictures and sound. */
static bool is_whole(void) {
  return clip_times("out.mkv", CLIP_PACKETS, NULL, 0) == FRAMES &&
         clip_times("out.mkv", CLIP_SOUND, NULL, 0) == SOUND_PACKETS;
}

/* True if the abort handler has printed its line and no library has called abort: then the program itself did, or the C
 * library, which aborts without our wrapper when it finds corrupted memory. */
static bool aborted_itself(const struct outcome *outcome, const char *happened) {
  return strstr(outcome->said, " gave up, ") && !strstr(happened, "abort in lib");
}

/* Returns what is wrong with the way in which the program ended; NULL: nothing. */
static const char *judge(const struct command *command, const struct faults *faults, const struct outcome *outcome,
                         const char *happened) {
  int lines = count(outcome->said, "reverie: ");
  if (outcome->status == 128 + 14)
    return "it hangs";
  if (outcome->status > 128 && strstr(happened, "crash") && strstr(happened, " in libdnnl"))
    return NULL; /* an exception within oneDNN cannot be caught from outside */
  if (outcome->status > 6 || aborted_itself(outcome, happened))
    return "it crashed";
  if (!strcmp(faults->library, "libdnnl") && strstr(outcome->said, "a library gave up"))
    return "oneDNN gave up, and that is not known";
  bool of_files =
      !strcmp(faults->kind, "alloc") && strcmp(faults->library, "libav"); /* FFmpeg uses its own error codes for that */
  if (of_files && (strstr(outcome->said, "damaged") || strstr(outcome->said, "fetch")))
    return "want of memory is taken for a damaged file";
  if (outcome->status)
    return lines == 1 ? NULL : "not one line that says why";
  if (lines)
    return NULL; /* the program went on, and its line says what is missing */
  if (command->last_line && !strstr(outcome->said, command->last_line))
    return "frames are missing without a word";
  if (command->makes_file && !is_whole())
    return "pictures or sound are missing from the file without a word";
  return NULL;
}

static bool try_once(const struct command *command, const struct faults *faults, long at) {
  struct outcome outcome;
  run(&outcome, command, faults, at);
  char *happened = report();
  const char *wrong = judge(command, faults, &outcome, happened);
  if (wrong)
    print_error("%s\n  %s %ld of '%s': %s: status %d, said:\n%s  reported:\n%s", command->arguments, faults->kind, at,
                faults->library, wrong, outcome.status, outcome.said, happened);
  free(happened);
  return !wrong;
}

/* Tries a call. FFmpeg decodes in several threads, so another of its calls fails in each try, and its demuxer may
 * silently lose a packet when memory fails. A fault of the program itself would appear again in a second try. */
static bool try_place(const struct command *command, const struct faults *faults, long at) {
  int tries = strcmp(faults->library, "libav") ? 1 : 3;
  while (tries--)
    if (try_once(command, faults, at))
      return true;
  return false;
}

static int try_all(const struct command *command, const struct faults *faults, long calls) {
  int failed = 0, tried = 0;
  long places = faults->places * closer;
  assert_true(calls > 0);
  for (long i = 0, last = 0; i < places; i++) {
    long rest = places - FIRST, at = i < FIRST ? i + 1 : FIRST + 1 + (calls - FIRST - 1) * (i - FIRST) / (rest + !rest);
    if (at > last && at <= calls) {
      failed += !try_place(command, faults, at);
      tried++;
      last = at;
    }
  }
  print_message("  %s %s: %ld calls, %d tried, %d wrong\n", faults->kind, faults->library, calls, tried, failed);
  return failed;
}

static void go_through(const struct command *command, const struct faults *faults, size_t kinds) {
  struct outcome outcome;
  int failed = 0;
  run(&outcome, command, faults, 0);
  if (outcome.status || judge(command, faults, &outcome, ""))
    fail_msg("%s: status %d without a fault: %s", command->arguments, outcome.status, outcome.said);
  char *reported = report();
  for (size_t i = 0; i < kinds; i++)
    failed += try_all(command, &faults[i], count_calls(reported, &faults[i]));
  free(reported);
  assert_int_equal(failed, 0);
}

#define GO_THROUGH(command, faults) go_through(command, faults, sizeof(faults) / sizeof *(faults))

static void test_render(void **state) {
  (void)state;
  static const struct command command = {"render clip.mov out.mkv --size 64x64 --device cpu --threads 1", true,
                                         "4 frames"};
  static const struct faults faults[] = {
      {"alloc", "reverie", 7}, {"alloc", "libav", 7}, {"alloc", "libdnnl", 3}, {"read", "", 4},   {"write", "", 4},
      {"open", "", 4},         {"file", "", 4},       {"map", "", 3},          {"thread", "", 7},
  };
  GO_THROUGH(&command, faults);
}

/* Some decoders silently keep back a picture when memory fails, without an error or a flag. */
static void test_silent_decoder(void **state) {
  (void)state;
  static const struct command command = {"render h264.mov out.mkv --size 64x64 --device cpu --threads 1", true,
                                         "4 frames"};
  static const struct faults faults[] = {{"alloc", "libav", 12}};
  GO_THROUGH(&command, faults);
}

/* Writing fails in the middle of the film, once or from then on: status 3, one line, and what was written can be
 * played. */
static void test_disk_fails_half_way(void **state) {
  (void)state;
  static const struct faults faults = {"read", "libav", 1};
  static const struct command command = {"render long.ts out.mkv -y --size 64x64 --threads 1", false, "100 frames"};
  static const char *const all[] = {"", "export REVERIE_INJECT_ALL=1;"};
  struct outcome outcome;
  run(&outcome, &command, &faults, 0);
  assert_int_equal(outcome.status, 0);
  char *reported = report();
  long calls = count_calls(reported, &faults);
  free(reported);
  assert_true(calls > 20);
  for (int i = 0; i < 4; i++) {
    shell("rm -f out.mkv*");
    program_run(
        &outcome,
        "export LD_PRELOAD='%s' REVERIE_INJECT_KIND=read REVERIE_INJECT_IN=libav REVERIE_INJECT_AT=%ld; %s @ %s", shim,
        calls / 2 + i / 2, all[i % 2], command.arguments);
    if (outcome.status != 3 || outcome.lines > 2 || !strstr(outcome.said, "Input/output error"))
      fail_msg("read %ld: status %d, %s", calls / 2 + i / 2, outcome.status, outcome.said);
    shell("test -z \"$(ffmpeg -nostdin -v error -i out.mkv -f null - 2>&1)\"");
    assert_in_range(clip_count_frames("out.mkv"), 20, 100);
  }
}

static void test_live(void **state) {
  (void)state;
  static const struct command command = {"live clip.mov --loop --frames 3 --size 64x64 --device cpu --threads 1", false,
                                         "3 frames"};
  static const struct faults faults[] = {
      {"alloc", "reverie", 5}, {"alloc", "libav", 3}, {"read", "", 3}, {"open", "", 3}, {"thread", "", 6}};
  struct outcome outcome;
  run(&outcome, &command, faults, 0);
  if (outcome.status == 6) {
    print_message("  no window can be opened here: %s", outcome.said);
    skip();
  }
  GO_THROUGH(&command, faults);
}

static void test_info(void **state) {
  (void)state;
  static const struct command command = {"info --device cpu", false, NULL};
  static const struct faults faults[] = {{"alloc", "reverie", 5}, {"alloc", "libcjson", 5}, {"read", "", 3},
                                         {"open", "", 3},         {"file", "", 3},          {"map", "", 3}};
  GO_THROUGH(&command, faults);
}

static void test_bench(void **state) {
  (void)state;
  static const struct command command = {"bench --frames 1 --warmup 0 --size 64x64 --device cpu --threads 1", false,
                                         NULL};
  static const struct faults faults[] = {{"alloc", "", 8}, {"thread", "", 3}};
  GO_THROUGH(&command, faults);
}

/* A join that gets SIGTERM while it writes leaves no output and no temporary file, and does not change the shards. */
static void test_join_is_interrupted(void **state) {
  (void)state;
  static const struct faults first = {"write", "libav", 1};
  static const struct command render[] = {{"render clip.mov out.mkv -q --size 64x64 -c ffv1 --shard 0-1", false, NULL},
                                          {"render clip.mov out.mkv -q --size 64x64 -c ffv1 --shard 2-9", false, NULL}};
  struct outcome outcome;
  for (int i = 0; i < 2; i++) {
    program_run(&outcome, "%s", render[i].arguments);
    assert_int_equal(outcome.status, 0);
  }
  shell("cksum out.mkv.shard* >before.txt; rm -f report.txt");
  program_run(&outcome,
              "export REVERIE_INJECT_SIGNAL=1 LD_PRELOAD='%s' REVERIE_INJECT_REPORT=report.txt REVERIE_INJECT_KIND=%s "
              "REVERIE_INJECT_IN=%s REVERIE_INJECT_AT=1; @ join out.mkv --progress json",
              shim, first.kind, first.library);
  if (outcome.status != 130 || outcome.lines != 1 || !strstr(outcome.said, "interrupted"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  expect_same("files", "cat before.txt", "cksum out.mkv*");
  program_run(&outcome, "join out.mkv --progress json");
  assert_true(!outcome.status && is_whole());
  expect_same("progress", "echo 4,4",
              "tail -1 out.txt | sed 's/.*frame.:\\([0-9]*\\).*total.:\\([0-9]*\\).*/\\1,\\2/'");
  shell("rm out.mkv*");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_render),
      cmocka_unit_test(test_silent_decoder),
      cmocka_unit_test(test_join_is_interrupted),
      cmocka_unit_test(test_disk_fails_half_way),
      cmocka_unit_test(test_live),
      cmocka_unit_test_setup_teardown(test_info, program_own_model, program_tiny_model),
      cmocka_unit_test(test_bench),
  };
  if (argc < 3 || !clips_open()) {
    puts("skipped: the sanitizers bring a malloc of their own, or there is no ffmpeg");
    return SKIPPED;
  }
  shim = realpath(argv[2], NULL);
  closer = argc > 3 ? atol(argv[3]) : 1;
  program_set(argv[1]);
  shell("ffmpeg -nostdin -v error -f lavfi -i testsrc2=s=64x64:r=6 -f lavfi -i sine -t 0.7 -c:v png -c:a aac "
        "clip.mov && ffmpeg -nostdin -v error -i clip.mov -c:a copy -c:v libx264 -pix_fmt yuv420p h264.mov && "
        "ffmpeg -nostdin -v error -f lavfi -i testsrc2=s=320x240:r=25 -f lavfi -i sine -t 4 -c:v mpeg2video -q:v 2 "
        "-c:a mp2 long.ts");
  if (argc > 4)
    cmocka_set_test_filter(argv[4]);
  int failed = cmocka_run_group_tests(tests, program_tiny_model, NULL);
  clips_close();
  return failed;
}
