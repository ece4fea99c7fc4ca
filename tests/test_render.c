/* Tests rendering with the built-in model: prompts and seeds that change over time, interrupts, memory, and the sample
 * clip compared with stored pictures. */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

/* Pictures are the same each time; another seed, prompt or strength gives another picture. */
static void test_same_bits(void **state) {
  (void)state;
  program_expect(0, "4 frames", "render pattern:96x64 hash:one.txt --size 64x64 --frames 4");
  program_expect(0, "4 frames", "render pattern:96x64 hash:two.txt --size 64x64 --frames 4");
  shell("cmp one.txt two.txt && grep -q '^total 4 ' one.txt && test $(grep -c '^[0-9]' one.txt) = 4");
  shell("test $(grep '^[0-9]' one.txt | cut -d' ' -f3 | sort -u | wc -l) = 4");
  static const char *const changes[] = {"--seed 2", "--prompt watercolor", "--strength 0.5"};
  for (int i = 0; i < 3; i++) {
    program_expect(0, "4 frames", "render pattern:96x64 hash:other.txt -y --size 64x64 --frames 4 %s", changes[i]);
    shell("! cmp -s one.txt other.txt");
  }
}

/* A walk through seeds depends on the frames' times: it is the same each time, and equals a seed at whole positions.
 * The clip has 4 frames of 0.1 s of a still picture. */
static void test_seed_walk(void **state) {
  (void)state;
  static const char input[] =
      "render lavfi:color=c=red:s=96x64:r=10 hash:%s.txt -y --size 64x64 --frames 4 --seed %d%s";
  program_expect(0, "4 frames", input, "walk1", 5, " --seed-walk 5");
  program_expect(0, "4 frames", input, "walk2", 5, " --seed-walk 5");
  program_expect(0, "4 frames", input, "seed5", 5, "");
  program_expect(0, "4 frames", input, "seed6", 6, "");
  program_expect(0, "4 frames", input, "back6", 8, " --seed-position=-2");
  shell("cmp walk1.txt walk2.txt && cmp seed6.txt back6.txt");
  shell("for f in walk1 seed5 seed6; do grep '^[0-9]' $f.txt | cut -d' ' -f3 > $f.sums; done");
  shell("test $(sort -u walk1.sums | wc -l) = 4 && test $(sort -u seed5.sums | wc -l) = 1");
  shell("test $(sed -n 1p walk1.sums) = $(sed -n 1p seed5.sums) && test $(sed -n 3p walk1.sums) = $(sed -n 3p "
        "seed6.sums)");
}

/* A script depends on the frames' times: its values at the beginning act like options, and each frame equals one of a
 * render with constant values. Changes of size or step count are left out with a message. */
static void test_script(void **state) {
  (void)state;
  struct outcome outcome;
  static const char input[] =
      "render lavfi:color=c=red:s=96x64:r=10 hash:%s.txt -y --frames 8 --seed 5 --size 64x64 --prompt oil %s";
  shell("printf '%%s\\n' '{\"time\":0,\"parameter\":\"strength\",\"value\":1}' "
        "'{\"time\":0.2,\"parameter\":\"strength\",\"value\":0.25}' "
        "'{\"time\":0.4,\"parameter\":\"strength\",\"value\":0.75,\"ease\":\"linear\"}' "
        "'{\"time\":0.6,\"parameter\":\"prompt[1]\",\"value\":\"neon\"}' "
        "'{\"time\":0.3,\"parameter\":\"steps\",\"value\":2}' >show.jsonl");
  program_run(&outcome, input, "show", "--script show.jsonl");
  if (outcome.status || !strstr(outcome.said, "leaves them out: steps\n"))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  program_expect(0, "8 frames", input, "all", "--strength 1");
  program_expect(0, "8 frames", input, "quarter", "--strength 0.25");
  program_expect(0, "8 frames", input, "half", "--strength 0.5");
  program_expect(0, "8 frames", input, "most", "--strength 0.75");
  program_expect(
      0, "8 frames",
      "render lavfi:color=c=red:s=96x64:r=10 hash:neon.txt -y --frames 8 --seed 5 --size 64x64 --prompt neon "
      "--strength 0.75");
  shell("for f in show all quarter half most neon; do grep '^[0-9]' $f.txt | cut -d' ' -f3 > $f.sums; done; "
        "for f in all all quarter half most most neon neon; do head -1 $f.sums; done | cmp - show.sums");
  program_expect(2, "nosuch.jsonl: No such file", input, "none", "--script nosuch.jsonl");
}

/* Each style has its own detail, also where a script changes the prompt, until the user or the script sets one. */
static void test_detail_of_styles(void **state) {
  (void)state;
  static const char input[] = "render lavfi:testsrc=s=96x64:r=10 hash:%s.txt -y --frames 4 --size 64x64 %s";
  shell("printf '%%s\\n' '{\"time\":0,\"parameter\":\"prompt[1]\",\"value\":\"oil\"}' "
        "'{\"time\":0.2,\"parameter\":\"prompt[1]\",\"value\":\"photo\"}' >styles.jsonl");
  program_expect(0, "4 frames", input, "oil", "--prompt oil");
  program_expect(0, "4 frames", input, "photo", "--prompt photo");
  program_expect(0, "4 frames", input, "half", "--prompt photo --detail 0.5");
  program_expect(0, "4 frames", input, "none", "--prompt photo --detail 0");
  program_expect(0, "4 frames", input, "scripted", "--script styles.jsonl");
  program_expect(0, "4 frames", input, "plain", "--script styles.jsonl --detail 0");
  shell("for f in oil photo half none scripted plain; do grep '^[0-9]' $f.txt > $f.sums; done; cmp photo.sums "
        "half.sums && "
        "! cmp -s photo.sums none.sums && (head -2 oil.sums; tail -2 photo.sums) | cmp - scripted.sums && "
        "(head -2 oil.sums; tail -2 none.sums) | cmp - plain.sums");
  program_expect(0, NULL, "info");
  shell("grep -q '^detail  *0.5 for photo, 0.3 for vintage$' out.txt");
}

/* Without a prompt the default prompt is used all the time, also with a script that sets none, or sets one later. */
static void test_script_without_prompt(void **state) {
  (void)state;
  static const char input[] =
      "render lavfi:color=c=red:s=96x64:r=10 hash:%s.txt -y --frames 4 --size 64x64 --strength 0.5 %s";
  shell("echo '{\"time\":0,\"parameter\":\"strength\",\"value\":0.5}' >still.jsonl");
  program_expect(0, "4 frames, 64x64, ", input, "usual", "");
  program_expect(0, "4 frames", input, "scripted", "--script still.jsonl");
  program_expect(0, "4 frames", input, "photo", "--prompt photo");
  shell("cmp usual.txt scripted.txt && ! cmp -s usual.txt photo.txt");
}

/* A blend of one prompt equals that prompt; a blend of two equals neither. */
static void test_blends(void **state) {
  (void)state;
  static const char *const blends[] = {"-p neon", "-p mosaic -p neon --blend 2:0.3", "-p mosaic",
                                       "-p mosaic -p neon --blend 1:0.5,2"};
  for (int i = 0; i < 4; i++)
    program_expect(0, "1 frame", "render pattern:96x64 hash:blend%d.txt --size 64x64 --frames 1 %s", i, blends[i]);
  shell("cmp blend0.txt blend1.txt && ! cmp -s blend0.txt blend3.txt && ! cmp -s blend2.txt blend3.txt");
  struct outcome outcome;
  program_run(&outcome, "render pattern:96x64 hash:blend0.txt -y --size 64x64 --frames 1 -p neon -p mosaic");
  assert_non_null(strstr(outcome.said, "more of them are for --blend"));
}

static void wait_for_size(const char *name, off_t size) {
  struct stat file;
  for (int i = 0; i < 6000; i++) {
    if (!stat(clip(name), &file) && file.st_size >= size)
      return;
    nanosleep(&(struct timespec){0, 100000000}, NULL);
  }
  fail_msg("%s does not grow to %ld bytes", name, (long)size);
}

/* An interrupt in the middle: the file has as many frames as the message says. */
static void test_interrupted(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int signal;
  } cases[] = {{"stop.mp4", SIGINT}, {"stop.mkv", SIGTERM}};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    char part[32];
    snprintf(part, sizeof part, "%s.part", cases[i].name);
    pid_t pid = program_start("render lavfi:testsrc2=s=96x64:r=6 %s --size 64x64", cases[i].name);
    wait_for_size(part, 3000);
    kill(pid, cases[i].signal);
    program_wait(&outcome, pid);
    assert_int_equal(outcome.status, 130);
    assert_int_equal(outcome.lines, 2);
    const char *said = strstr(outcome.said, "interrupted: ");
    assert_non_null(said);
    long frames = atol(said + strlen("interrupted: "));
    assert_true(frames > 5);
    assert_non_null(strstr(said, part));
    assert_int_equal(clip_count_frames(part), frames);
    shell("test ! -e %s", cases[i].name);
    program_expect(6, "-y begins anew", "render lavfi:testsrc2=s=96x64:r=6 %s --size 64x64", cases[i].name);
    program_expect(2, "the same file", "render %s %s -y --size 64x64", part, cases[i].name);
    program_expect(0, "8 frames", "render lavfi:testsrc2=s=96x64:r=6 %s -y --size 64x64 --frames 8", cases[i].name);
    assert_int_equal(clip_count_frames(cases[i].name), 8);
    shell("! ls | grep -q part");
  }
}

/* A named pipe without another end, as input or output, is waited for with one line until a signal, or refused with
 * advice. */
static void test_pipes_without_another_end(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *said;
  } waits[] = {
      {"render lavfi:color=s=64x64:d=1 none.mkv -y --size 64x64 --script fifo", "fifo: waiting for it to be written"},
      {"render lavfi:color=s=64x64:d=1 none.mkv -y --size 64x64 --mask fifo", "fifo: waiting for it to be written"},
      {"render fifo none.mkv -y --size 64x64", "fifo: waiting for it to be written"},
      {"bench --size 64x64 --frames 1 --compare fifo", "fifo: waiting for it to be written"},
      {"render lavfi:color=s=64x64:d=1 fifo -y --size 64x64", "fifo: waiting for it to be read"},
      {"render lavfi:color=s=64x64:d=1 pipe.png -y --size 64x64", "pipe.png: waiting for it to be read"}};
  shell("rm -f fifo && mkfifo fifo pipe.png");
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) {
    struct outcome outcome;
    shell(": >err.txt"); /* clears the output, because the program before printed the same */
    pid_t pid = program_start("%s", waits[i].arguments);
    bool said = program_comes_to_say(pid, waits[i].said, 1, PATIENCE_MS);
    kill(pid, SIGTERM);
    program_wait(&outcome, pid);
    if (!said || outcome.status != 130)
      fail_msg("%s: status %d: %s", waits[i].arguments, outcome.status, outcome.said);
  }
  program_expect(6, "start its reader first", "render lavfi:color=s=64x64:d=1 hash:fifo -y --size 64x64");
  program_expect(6, "start its reader first", "bench --size 64x64 --frames 1 --warmup 0 --json fifo -y");
}

/* A signal that was ignored when the program started (nohup, background jobs) stays ignored. */
static void test_ignored_signal(void **state) {
  (void)state;
  program_expect(0, "24 frames",
                 "trap '' HUP; @ render lavfi:testsrc2=s=96x64:r=6 kept.mkv --size 64x64 "
                 "--frames 24 & pid=$!; while kill -0 $pid && [ ! -s kept.mkv.part ]; do sleep 0.02; done; kill -HUP "
                 "$pid; wait $pid");
  assert_int_equal(clip_count_frames("kept.mkv"), 24);
}

/* The policy for OpenMP's waiting threads: the program sets it and starts itself once more for that, unless the user
 * has set it. */
static void test_threads_told(void **state) {
  (void)state;
  struct outcome outcome;
  pid_t pid = program_start("unset OMP_WAIT_POLICY GOMP_SPINCOUNT; @ render lavfi:testsrc2=s=96x64:r=6 told.mkv "
                            "--size 64x64");
  wait_for_size("told.mkv.part", 3000);
  shell("tr '\\0' '\\n' < /proc/%d/environ > told.txt; grep -qx OMP_WAIT_POLICY=passive told.txt && "
        "grep -qx GOMP_SPINCOUNT=1000 told.txt",
        (int)pid);
  kill(pid, SIGINT);
  program_wait(&outcome, pid);
  assert_int_equal(outcome.status, 130);
}

/* Ends by SIGKILL: what was written can be played. */
static void test_killed(void **state) {
  (void)state;
  static const char *const names[] = {"killed.mp4", "killed.mkv"}, *const parts[] = {"killed.mp4.part",
                                                                                     "killed.mkv.part"};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    pid_t pid = program_start("render lavfi:testsrc2=s=96x64:r=6 %s --size 64x64", names[i]);
    wait_for_size(parts[i], 40000);
    kill(pid, SIGKILL);
    program_wait(&outcome, pid);
    assert_int_equal(outcome.status, 128 + SIGKILL);
    assert_true(clip_count_frames(parts[i]) >= 12);
    shell("test ! -e %s", names[i]);
  }
}

/* Memory after many frames is the same as after few. */
static void test_flat_memory(void **state) {
  (void)state;
  static const int frames[] = {60, 300};
  long peak[2];
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    /* The address sanitizer keeps freed memory for a while, so that is limited to 1 MB. */
    program_run(&outcome,
                "export ASAN_OPTIONS=$ASAN_OPTIONS:quarantine_size_mb=1; "
                "@ render lavfi:testsrc2=s=96x64:r=25 long.mp4 -y --size 64x64 --frames %d",
                frames[i]);
    assert_int_equal(outcome.status, 0);
    peak[i] = outcome.peak_kb;
  }
  if (peak[1] > peak[0] + 4096)
    fail_msg("%d frames take %ld KiB, %d frames %ld KiB", frames[0], peak[0], frames[1], peak[1]);
}

/* The sample clip: times of all frames, and a lossless comparison of those frames for which pictures are stored
 * (make_expected.sh). */
static void test_sample_clip(void **state) {
  enum { FRAMES = 190, APART = 63, STORED = 4 };
  double was[FRAMES];
  shell("cp \"$REVERIE_ASSETS/sample.mp4\" \"$REVERIE_EXPECTED\"/*.png .");
  program_expect(0, "190 frames", "render sample.mp4 sample.mkv --size 64x64");
  clip_expect_same_times("sample.mp4", "sample.mkv", FRAMES);
  clip_times("sample.mp4", CLIP_FRAMES, was, FRAMES);
  program_own_model(state);
  for (int i = 0; i < STORED; i++) {
    char stored[16];
    snprintf(stored, sizeof stored, "%d.png", i);
    double start = was[i * APART] - was[0];
    program_expect(0, "1 frame",
                   "render sample.mp4 shown.mkv -y --frames 1 --start %f $(cat \"$REVERIE_EXPECTED/arguments\")",
                   start);
    double similar = similarity("shown.mkv", WHOLE, stored, WHOLE);
    if (similar < 0.98)
      fail_msg("picture %d: %.4f alike", i, similar);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_same_bits, program_own_model, program_tiny_model),
      cmocka_unit_test(test_script),
      cmocka_unit_test_setup_teardown(test_detail_of_styles, program_own_model, program_tiny_model),
      cmocka_unit_test_setup_teardown(test_script_without_prompt, program_own_model, program_tiny_model),
      cmocka_unit_test_setup_teardown(test_blends, program_own_model, program_tiny_model),
      cmocka_unit_test(test_seed_walk),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_pipes_without_another_end),
      cmocka_unit_test(test_ignored_signal),
      cmocka_unit_test(test_threads_told),
      cmocka_unit_test(test_killed),
      cmocka_unit_test(test_flat_memory),
      cmocka_unit_test_teardown(test_sample_clip, program_tiny_model),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
