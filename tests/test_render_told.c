/* Tests what render tells: the last lines of --progress, also if the input breaks off, and what is wrong with encoder
 * options, codecs and containers that are refused. */
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

/* Fails the test unless the render ends with a last line that says that it is complete. It is run once for each kind of
 * progress; before: shell command that comes before each run. frames: number of frames in OUT. */
static void expect_end(long frames, const char *before, const char *arguments) {
  static const char *const kinds[][2] = {{"percent", "100%"}, {"openjd", "openjd_progress: 100.0"}};
  char wanted[64];
  snprintf(wanted, sizeof wanted, "{\"frame\":%ld,\"total\":%ld,", frames, frames);
  shell("%s", before);
  program_expect(0, NULL, "render %s --size 64x64 -q --progress json", arguments);
  shell("tail -n 1 out.txt | grep -qF '%s' && tail -n 1 out.txt | grep -q '\"left\":0}$'", wanted);
  for (int i = 0; i < 2; i++) {
    shell("%s", before);
    program_expect(0, NULL, "render %s --size 64x64 -q --progress %s", arguments, kinds[i][0]);
    shell("test \"$(tail -n 1 out.txt)\" = '%s'", kinds[i][1]);
  }
}

/* Programs are told of the end, and of the number of frames in OUT, also if nothing had to be made: a file or pictures
 * that are there, a shard without frames, and an unfinished file that has all pictures. */
static void test_nothing_to_make(void **state) {
  (void)state;
  static const char unfinish[] = "for end in '' .json; do "
                                 "mv half.mkv.shard-1-of-2$end half.mkv.shard-1-of-2.part$end; done";
  shell("mkdir -p there");
  program_expect(0, NULL, "render ten.mp4 there.mkv --size 64x64");
  expect_end(10, ":", "ten.mp4 there.mkv --skip-existing");
  program_expect(0, NULL, "render ten.mp4 there/%%04d.png --size 64x64");
  expect_end(10, ":", "ten.mp4 there/%04d.png --skip-existing");
  expect_end(10, "rm there/000[3-6].png", "ten.mp4 there/%04d.png --skip-existing");
  expect_end(0, ":", "ten.mp4 shards.mkv --shard 4/12");
  program_expect(0, "5 frames, ", "render ten.mp4 half.mkv --size 64x64 --shard 1/2");
  expect_end(5, unfinish, "ten.mp4 half.mkv --shard 1/2 --resume");
  /* of two inputs the last one is skipped */
  program_expect(0, NULL, "render ten.mp4 there.mkv 'there/{name}.mkv' --size 64x64 -q");
  expect_end(10, "rm there/ten.mkv", "ten.mp4 there.mkv 'there/{name}.mkv' --skip-existing");
}

/* The last line for people has the number of frames in OUT and, where it is another one, that of the pictures made. */
static void test_close_line(void **state) {
  (void)state;
  program_expect(0, "10 frames, 64x64, ", "render ten.mp4 closed.mp4 --size 64x64");
  program_expect(0, "20 frames (10 made), 64x64, ", "render ten.mp4 closed.mp4 --size 64x64 -y --fps 50");
  struct outcome outcome;
  program_run(&outcome, "render fast.mp4 closed.gif --size 64x64");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "\n10 frames (20 made), 64x64, "));
}

/* A scheduler is told why a command line is refused, wherever the mistake and --progress stand in it. */
static void test_told_of_options(void **state) {
  (void)state;
  static const char *const wrong[] = {
      "render ten.mp4 no.mkv --progress openjd --fps 0",
      "render ten.mp4 no.mkv --fps 0 --progress=openjd",
      "render ten.mp4 no.mkv --progress json --progress openjd --shard 5/4",
      "render ten.mp4 no.mkv --quality 99 --progress openjd",
      "render ten.mp4 no.mkv --progress openjd --prompt",
      "render ten.mp4 no.mkv --nope --progress openjd",
      "render --progress openjd ten.mp4",
      "render ten.mp4 no.mkv --progress openjd --codec nope",
      "join --progress openjd",
      "join no.mkv --progress openjd --nope",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    program_expect(2, NULL, "%s", wrong[i]);
    shell("test \"$(grep -c '^openjd_fail: .' out.txt)\" = 1 && test \"$(wc -l <out.txt)\" = 1");
  }
  program_expect(3, NULL, "join no.mkv --progress openjd");
  shell("grep -q '^openjd_fail: no.mkv: there are no shards' out.txt");
  struct outcome outcome;
  program_run(&outcome, "render ten.mp4 - --output-format nut --fps 0 --progress openjd");
  assert_int_equal(outcome.status, 2);
  assert_non_null(strstr(outcome.said, "openjd_fail: --fps"));
  shell("! test -s out.txt");
  program_expect(2, NULL, "render ten.mp4 no.mkv --fps 0 --progress json");
  shell("! test -s out.txt");
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

/* Wrong encoder options, codecs and containers are told in one line that names option, value and what is possible,
 * before anything is rendered. */
static void test_wrong_encoders(void **state) {
  (void)state;
  static const char *const cases[][2] = {
      {"o.mp4 --encoder-options preset=silly", "does not take preset=silly, but ultrafast, superfast"},
      {"o.mp4 --encoder-options tune=film,silly", "does not take tune=film,silly, but film, animation"},
      {"o.mp4 --encoder-options profile=silly", "does not take profile=silly, but baseline, main, high"},
      {"o.mp4 --encoder-options crf=20:level=99", "libx264 does not take level=99; it opens without it"},
      {"o.mp4 --encoder-options x264opts=silly=1", "libx264 does not take x264opts=silly=1; it opens without it"},
      {"o.mp4 --encoder-options x264-params=silly=1", "does not take silly=1 of x264-params"},
      {"o.mp4 --encoder-options 'x264-params=me=dia\\:crf=silly'", "does not take crf=silly of x264-params"},
      {"o.mp4 --encoder-options profile=baseline --pixel-format yuv444p",
       "profile=baseline of libx264 does not go with pixels of yuv444p, but high444"},
      {"o.mp4 --encoder-options profile=high --pixel-format yuv420p10le", "but high10, high422, high444"},
      {"o.mp4 --encoder-options profile=main --pixel-format gray", "but high, high10, high422, high444"},
      {"o.mp4 --encoder-options profile=high422:crf=0", "does not go with lossless quality, but high444"},
      {"o.mp4 --encoder-options profile=main:qp=0 --pixel-format yuv422p",
       "does not go with pixels of yuv422p and lossless quality, but high444"},
      {"o.mp4 --encoder-options profile=high422 --pixel-format yuv444p",
       "does not go with pixels of yuv444p, but high444"},
      {"o.mp4 --encoder-options profile=baseline --pixel-format yuv422p",
       "with pixels of yuv422p, but high422, high444"},
      {"o.mp4 --quality 52", "--quality 52: the encoder libx264 takes 0 to 51"},
      {"o.mp4 -c hevc --quality 60", "--quality 60: the encoder libx265 takes 0 to 51"},
      {"o.mp4 -c mpeg4 --quality 32", "--quality 32: the encoder mpeg4 takes 0 to 31"},
      {"o.mp4 --encoder-options crf=99", "libx264 does not take crf=99, but -1 to 51"},
      {"o.mp4 --encoder-options bf=99", "libx264 does not take bf=99, but -1 to 16"},
      {"o.mp4 --encoder-options g=-5", "libx264 does not take g=-5, but -1 or more"},
      {"o.mp4 --encoder-options trellis=3", "libx264 does not take trellis=3, but -1 to 2"},
      {"o.mp4 -c mpeg4 --encoder-options bf=50", "mpeg4 does not take bf=50, but -1 to 16"},
      {"o.mp4 -c hevc --encoder-options crf=52", "libx265 does not take crf=52, but -1 to 51"},
      {"o.mkv -c ffv1 --encoder-options level=9", "ffv1 does not take level=9, but 0, 1, 3, 4"},
      {"o.mp4 -c hevc --encoder-options profile=main --pixel-format yuv444p", "does not take profile=main with pixels"},
      {"o.mp4 -c hevc --encoder-options preset=silly", "libx265 does not take preset=silly, but ultrafast"},
      {"o.mp4 -c hevc --encoder-options tune=silly", "libx265 does not take tune=silly, but psnr"},
      {"o.mp4 -c hevc --encoder-options profile=silly", "libx265 does not take profile=silly"},
      {"o.webm --encoder-options deadline=silly", "does not take deadline=silly, but best, good, realtime"},
      {"o.webm --encoder-options cpu-used=99", "does not take cpu-used=99, but -"},
      {"o.mov -c prores_ks --encoder-options profile=silly", "does not take profile=silly, but auto, proxy, lt"},
      {"o.webm -c libx264", "--codec libx264: webm does not take h264, but "},
      {"o.mp4 -c ffv1", "--codec ffv1: mp4 does not take ffv1, but h264, hevc, "},
      {"o.gif -c libx264", "--codec libx264: gif does not take h264, but gif"},
      {"o.ts -c ffv1", "--codec ffv1: mpegts does not take ffv1, but h264"},
      {"o.h264 -c libx265", "--codec libx265: h264 does not take hevc, but h264"},
      {"o%02d.png -c libx264", "--codec libx264: o%02d.png does not take h264, but png"},
      {"o.xyz", "o.xyz: no container is known by this extension; try .mp4 or .mkv"},
      {"o", "o: no container is known by this extension"},
      {"- --shard 1/2", "--shard: standard output is not written in segments that fit together again; files of MP4"},
      {"pipe:1 --shard 0-4", "--shard: standard output is not written in segments"},
      {"o.png --shard 1/2", "--shard: o.png is not written in segments"},
      {"udp://127.0.0.1:9 --output-format mpegts --shard 1/2", "127.0.0.1:9 is not written in segments"},
      {"o.mp4 --range 2-8:2", "--range: a step of 2 can be taken only of a picture sequence"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    program_run(&outcome, "render ten.mp4 %s --size 64x64", cases[i][0]);
    if (outcome.status != 2 || outcome.lines != 1 || !strstr(outcome.said, cases[i][1]))
      fail_msg("render ten.mp4 %s: status %d: %s", cases[i][0], outcome.status, outcome.said);
  }
  shell("! ls o.* o0* 2>/dev/null | grep .");
  static const char *const right[] = {"o.mp4 --encoder-options 'x264-params=me=dia\\:ref=1\\:no-mbtree=1'",
                                      "o.mp4 --encoder-options profile=high10:crf=0 --pixel-format yuv420p10le",
                                      "o.mp4 --encoder-options preset=4:tune=film,fastdecode:profile=high",
                                      "o.mov -c prores_ks --encoder-options profile=hq",
                                      "o.mkv -c ffv1",
                                      "o.mkv -c ffv1 --encoder-options level=3:g=1",
                                      "o.mp4 --quality 51",
                                      "o.mp4 --encoder-options crf=51:bf=16:g=0:refs=16:subq=11:trellis=2",
                                      "o.mp4 -c hevc --quality 51",
                                      "o.webm --quality 63"};
  for (size_t i = 0; i < sizeof right / sizeof *right; i++)
    program_expect(0, "2 frames", "render ten.mp4 %s -y --size 64x64 --frames 2", right[i]);
}

/* MPEG-4 in MP4 and MOV is found again when the file is rewritten, also with the most B frames and few pictures: the
 * index is at the front, and the last line is the only one. */
static void test_mpeg4_without_fragments(void **state) {
  (void)state;
  static const char *const outputs[] = {"part2.mp4", "part2.mov"}, *const options[] = {"", "--encoder-options bf=16"};
  for (int i = 0; i < 4; i++) {
    struct outcome outcome;
    program_run(&outcome, "render ten.mp4 %s -y --size 64x64 -c mpeg4 --frames 3 %s", outputs[i % 2], options[i / 2]);
    if (outcome.status || outcome.lines != 1)
      fail_msg("%s %s: status %d: %s", outputs[i % 2], options[i / 2], outcome.status, outcome.said);
    assert_int_equal(clip_count_frames(outputs[i % 2]), 3);
    shell("! grep -aq moof %s", outputs[i % 2]);
  }
}

/* One or two pictures of x265, which reads memory that it has not set for their decoding times, are written in order.
 * The C library is told to fill that memory with a pattern. */
static void test_few_pictures_of_x265(void **state) {
  (void)state;
  struct outcome outcome;
  if (system("ffmpeg -v quiet -encoders | grep -q libx265"))
    skip();
  for (int frames = 1; frames <= 3; frames++)
    for (int byte = 85; byte <= 170; byte += 85) {
      program_run(&outcome,
                  "export MALLOC_PERTURB_=%d; @ render ten.mp4 few.mkv -y --size 64x64 -c libx265 --frames %d", byte,
                  frames);
      if (outcome.status || clip_count_frames("few.mkv") != frames)
        fail_msg("%d frames, memory of %d: status %d: %s", frames, byte, outcome.status, outcome.said);
      program_run(&outcome,
                  "export MALLOC_PERTURB_=%d; @ render ten.mp4 few.mp4 -y --size 64x64 -c libx265 --frames %d", byte,
                  frames);
      shell("ffprobe -v error -show_entries packet=pts,dts -of csv=p=0 few.mp4 | awk -F, '{ late = $1 - $2 } "
            "late < 0 || late > 2048 { wrong = 1 } END { exit wrong || NR != %d }'",
            frames);
    }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_frames_in_the_output), cmocka_unit_test(test_nothing_to_make),
      cmocka_unit_test(test_told_of_options),      cmocka_unit_test(test_close_line),
      cmocka_unit_test(test_told_at_status_3),     cmocka_unit_test(test_wrong_encoders),
      cmocka_unit_test(test_few_pictures_of_x265), cmocka_unit_test(test_mpeg4_without_fragments),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
