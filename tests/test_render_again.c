/* Tests renders that are run again, or twice at the same time, as render farms do, and shards for which the input has
 * no picture. */
#include "tests/rigs/cmocka_all.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

static void make_clips(void) {
  shell("test -e slow.mp4 || { " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=6.4 -c:v libx264 -g 10 long.mp4 && " FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 short.mp4 && mv long.mp4 slow.mp4; }");
}

/* Starts the render, and stops its process when it has made some pictures of the file `output`. If the render comes to
 * its end before that, stopping does nothing. Returns the process's id. */
static pid_t start_and_stop(const char *render, const char *output) {
  pid_t pid = program_start("%s 2>first.txt", render);
  shell("while kill -0 %d && ! grep -q '\"picture\":3,' %s.part.json; do sleep 0.01; test -e %s && break; "
        "done 2>/dev/null; true",
        (int)pid, output, output);
  kill(pid, SIGSTOP);
  return pid;
}

/* Two processes make the same shard, and the first one is stopped meanwhile. If it came to its end before it was
 * stopped, the second one has found its file, and the outcome is the same. */
static void test_twice_at_once(void **state) {
  (void)state;
  static const char shard[] = "render slow.mp4 twice.mkv --size 64x64 -c ffv1 --shard 1/2",
                    again[] = "render slow.mp4 twice.mkv --size 64x64 -c ffv1 --shard 1/2 --skip-existing --resume";
  struct outcome outcome;
  make_clips();
  shell("rm -f twice.mkv*");
  pid_t first = start_and_stop(again, "twice.mkv.shard-1-of-2");
  program_expect(0, NULL, "%s", again);
  shell("cp twice.mkv.shard-1-of-2 kept; cp twice.mkv.shard-1-of-2.json kept.json");
  kill(first, SIGCONT);
  program_wait(&outcome, first);
  assert_int_equal(outcome.status, 0);
  shell("cmp kept twice.mkv.shard-1-of-2 && cmp kept.json twice.mkv.shard-1-of-2.json && "
        "test $(ls -d twice.mkv.shard-* | wc -l) = 2");
  /* without --skip-existing the slower one fails, and join does not take what it leaves for another shard */
  shell("rm -f twice.mkv.shard-*");
  first = start_and_stop(shard, "twice.mkv.shard-1-of-2");
  program_expect(0, NULL, "%s", again);
  kill(first, SIGCONT);
  program_wait(&outcome, first);
  if (outcome.status)
    shell("grep -q 'has been made by something else meanwhile' first.txt && test -e twice.mkv.shard-1-of-2.part.json");
  program_expect(0, NULL, "render slow.mp4 twice.mkv -q --size 64x64 -c ffv1 --shard 2/2");
  program_expect(0, "160 frames of 2 shards", "join twice.mkv");
  program_expect(0, "160 frames of 2 shards", "join -y twice.mkv twice.mkv.shard-*");
}

/* Two processes make the same whole output, and the first one is stopped meanwhile, as in test_twice_at_once. It keeps
 * its own file if the one that is there has another number of pictures, or if --skip-existing was not given. */
static void test_whole_twice_at_once(void **state) {
  (void)state;
  static const struct {
    const char *first, *second;
    int status;
  } pairs[] = {{"--skip-existing", "--skip-existing", 0},
               {"--skip-existing --resume", "--skip-existing --resume", 0},
               {"--skip-existing", "--frames 8 -y", 6},
               {"", "-y", 6}};
  struct outcome outcome;
  make_clips();
  for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
    char render[128];
    shell("rm -f all.mkv*");
    snprintf(render, sizeof render, "render slow.mp4 all.mkv --size 64x64 -c ffv1 %s", pairs[i].first);
    pid_t first = start_and_stop(render, "all.mkv");
    program_expect(0, NULL, "render slow.mp4 all.mkv -q --size 64x64 -c ffv1 %s", pairs[i].second);
    shell("cp all.mkv kept");
    kill(first, SIGCONT);
    program_wait(&outcome, first);
    if (outcome.status != pairs[i].status && !(pairs[i].status && !outcome.status))
      fail_msg("%s: status %d", render, outcome.status);
    if (!outcome.status)
      shell("test \"$(ls -d all.mkv*)\" = all.mkv");
    if (outcome.status)
      shell(
          "cmp kept all.mkv && grep -q 'has been made by something else meanwhile' first.txt && test -s all.mkv.part");
  }
}

/* An unfinished file that the render cannot go on with is refused before anything is said about going on. */
static void test_refused_resume(void **state) {
  (void)state;
  static const char *const others[] = {"--seed 7", "--encoder-options level=1"};
  static const char render[] = "render slow.mp4 full.mkv --size 64x64 --threads 1 -c ffv1";
  struct outcome outcome;
  make_clips();
  program_run(&outcome, "true; trap '' XFSZ; ulimit -f 400; @ %s", render);
  assert_int_equal(outcome.status, 6);
  shell("test -s full.mkv.part && grep -q segment full.mkv.part.json && cp full.mkv.part kept.part");
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    program_run(&outcome, "%s --resume %s", render, others[i]);
    if (outcome.status != 2 || strstr(outcome.said, "goes on") || !strstr(outcome.said, "is not of the same job"))
      fail_msg("%s: status %d: %s", others[i], outcome.status, outcome.said);
    shell("cmp full.mkv.part kept.part");
  }
  program_run(&outcome, "%s --resume", render);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "frames are in it; the render goes on from there"));
  assert_int_equal(clip_count_frames("full.mkv"), 160);
}

/* What cannot be read twice is refused at the first attempt, and not when it is to be gone on with. */
static void test_resume_of_pipe(void **state) {
  (void)state;
  make_clips();
  program_expect(2, "--resume: - cannot be read twice", "render - piped.mkv --size 64x64 --resume <short.mp4");
  shell("test -e pipe.mp4 || mkfifo pipe.mp4");
  program_expect(2, "--resume: pipe.mp4 cannot be read twice", "render pipe.mp4 piped.mkv --size 64x64 --resume");
  shell("! ls | grep piped.mkv");
}

/* A shard that a script has made is there for the same script, and not for another one. */
static void test_skipped_with_script(void **state) {
  (void)state;
  static const char render[] = "render short.mp4 played.mkv --size 64x64 --shard 1/2 --skip-existing --resume --script";
  make_clips();
  for (int i = 0; i < 2; i++)
    shell("printf '%%s\\n' '{\"time\":0,\"parameter\":\"strength\",\"value\":0.%d}' "
          "'{\"time\":0,\"parameter\":\"prompt[1]\",\"value\":\"neon\"}' >play%d.jsonl",
          i + 4, i);
  program_expect(0, NULL, "%s play0.jsonl", render);
  program_expect(0, "played.mkv.shard-1-of-2: is there already, and is skipped", "%s play0.jsonl", render);
  program_expect(2, "of another job: strength differs", "%s play1.jsonl", render);
  program_expect(0, NULL,
                 "render short.mp4 slow.mp4 'played-{name}.mkv' -q --size 64x64 --frames 2 --script play0.jsonl "
                 "--shard 1/2");
  program_expect(0, NULL,
                 "render short.mp4 slow.mp4 'played-{name}.mkv' -q --size 64x64 --frames 2 --script play0.jsonl "
                 "--shard 1/2 --skip-existing");
}

/* A shard whose pictures are all missing or damaged ends with status 3, and leaves a file without pictures, so that the
 * parts are joined as one render would have written them, with status 3, too. */
static void test_gaps_as_long_as_a_shard(void **state) {
  (void)state;
  static const char *const lacks[] = {"rm gaps/3.png", "truncate -s 60 gaps/3.png"}, *const outputs[] = {"gap.mp4",
                                                                                                         "gap.mkv"};
  static const char render[] = "render gaps/%d.png";
  struct outcome outcome;
  for (int i = 0; i < 2; i++) {
    shell("rm -rf gaps && mkdir gaps && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.24 gaps/%%d.png && %s",
          lacks[i]);
    program_expect(3, NULL, "%s whole-%s -y -q --size 64x64", render, outputs[i]);
    for (int j = 1; j <= 6; j++)
      program_expect(j == 3 ? 3 : 0, NULL, "%s %s -q --size 64x64 --shard %d-%d", render, outputs[i], j, j);
    program_expect(0, "gap.m", "%s %s --size 64x64 --shard 3-3 --skip-existing", render, outputs[i]);
    program_run(&outcome, "join %s", outputs[i]);
    assert_int_equal(outcome.status, 3);
    assert_non_null(strstr(outcome.said, "is without frames 3 to 3: the input has no picture there"));
    assert_non_null(strstr(outcome.said, "5 frames of 6 shards"));
    char whole[32];
    snprintf(whole, sizeof whole, "whole-%s", outputs[i]);
    clip_expect_same_times(whole, outputs[i], 5);
  }
  program_expect(3, NULL, "%s none.mkv -q --size 64x64 --shard 3-3", render);
  program_expect(3, "missing: frames before 3, frames from 4 on", "join none.mkv");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_twice_at_once),       cmocka_unit_test(test_whole_twice_at_once),
      cmocka_unit_test(test_refused_resume),      cmocka_unit_test(test_resume_of_pipe),
      cmocka_unit_test(test_skipped_with_script), cmocka_unit_test(test_gaps_as_long_as_a_shard),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
