/* Tests what render tells: the last lines of --progress, also if the input breaks off. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

/* Fails the test unless the last line of JSON says that `frames` of as many frames are in OUT. */
static void expect_last(long frames, const char *arguments) {
  char wanted[64];
  struct outcome outcome;
  program_run(&outcome, "render %s --size 64x64 -y --progress json", arguments);
  char *last = (char *)shell_output(NULL, "tail -n 1 out.txt");
  snprintf(wanted, sizeof wanted, "{\"frame\":%ld,\"total\":%ld,", frames, frames);
  if (outcome.status || strncmp(last, wanted, strlen(wanted)) != 0)
    fail_msg("render %s: status %d, %s instead of %s; %s", arguments, outcome.status, last, wanted, outcome.said);
  free(last);
}

/* The last line of JSON has the number of frames in OUT: where GIF leaves out frames, where --fps repeats some or
 * leaves some out, in a container that repeats pictures, with several inputs, for a sequence, and for a part. */
static void test_frames_in_the_output(void **state) {
  (void)state;
  shell("mkdir -p in out && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=100:d=0.2 -c:v libx264 fast.mp4 && " FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 ten.mp4 && " FFMPEG
        "-i ten.mp4 -vf \"setpts=PTS+gte(N\\,3)*0.08/TB\" -fps_mode passthrough -c:v libx264 gap.mkv && " FFMPEG
        "-i ten.mp4 in/%%04d.png");
  static const struct {
    long frames;
    const char *arguments;
  } cases[] = {
      {10, "fast.mp4 fast.gif"},
      {20, "fast.mp4 fast.webp"},
      {20, "fast.mp4 fast.apng"},
      {10, "ten.mp4 ten.gif"},
      {20, "ten.mp4 more.mp4 --fps 50"},
      {4, "ten.mp4 fewer.mp4 --fps 10"},
      {20, "ten.mp4 more.gif --fps 100"},
      {20, "ten.mp4 hash:more.txt --fps 50"},
      {12, "gap.mkv gap.mxf"},
      {20, "ten.mp4 twice.mp4 --repeat 2"},
      {10, "ten.mp4 beside.mp4 --beside"},
      {7, "ten.mp4 part.mp4 --range 2-8"},
      {10, "in/%04d.png out/%04d.png"},
      {4, "in/%04d.png out/%04d.webp --range 2-8:2"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_last(cases[i].frames, cases[i].arguments);
  program_expect(0, NULL, "render ten.mp4 fast.mp4 'out/{name}.gif' --size 64x64 --progress json -q");
  expect_same("two inputs", "echo '\"frame\":10,\"total\":10,\"input\":2,\"inputs\":2'",
              "tail -n 1 out.txt | cut -c 2-43");
  expect_same("frames", "echo 10",
              "ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 fast.gif");
}

/* Of an input that breaks off, and where a side track is lost, each kind of progress says what was done. */
static void test_told_at_status_3(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -c:v ffv1 whole.mkv && size=$(stat -c %%s whole.mkv) && "
               "head -c $((size / 2)) whole.mkv >half.mkv && " FFMPEG "-i whole.mkv -frames:v 10 -c copy ten.mkv && "
               "printf '1\\n00:00:00,040 --> 00:00:00,160\\n\\377\\376\\n' >bad.srt && " FFMPEG
               "-i ten.mkv -i bad.srt -map 0 -map 1 -c copy bad.mkv");
  static const char *const kinds[][2] = {
      {"percent", "100%"}, {"json", "{\"frame\""}, {"openjd", "openjd_progress: 100.0"}};
  for (int i = 0; i < 3; i++) {
    program_expect(3, "cut short", "render half.mkv half.mp4 -y --size 64x64 --progress %s", kinds[i][0]);
    shell("test -e half.mp4 && grep -v openjd_fail out.txt | tail -n 1 | grep -q '^%s'", kinds[i][1]);
    program_expect(3, "1 packet is left out", "render bad.mkv bad.mp4 -y --size 64x64 --progress %s", kinds[i][0]);
    shell("grep -v openjd_fail out.txt | tail -n 1 | grep -q '^%s'", kinds[i][1]);
  }
  program_expect(3, "10 frames, 64x64, ", "render bad.mkv bad.mp4 -y --size 64x64 --progress json");
  shell("tail -n 1 out.txt | grep -q '\"frame\":10,\"total\":10,'");
  program_expect(3, " frames, 64x64, ", "render half.mkv half.mp4 -y --size 64x64");
  /* without a picture there is no output and no last line */
  shell("head -c 300 whole.mkv >head.mkv");
  program_expect(3, "head.mkv", "render head.mkv head.mp4 --size 64x64 --progress percent");
  shell("test ! -e head.mp4 && ! grep -q 100 out.txt");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames_in_the_output),
      cmocka_unit_test(test_told_at_status_3),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, program_tiny_model, NULL);
  clips_close();
  return failed;
}
