/* Tests parts of an input, which are cut between two frames, so that adjoining parts together have each frame once. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/part_clips.h"
#include "tests/rigs/program.h"

/* Prints the hash of each picture in a file that the sink "hash:" wrote. */
#define HASHES(file) "grep -v '^[#t]' " file " | cut -d' ' -f3"

enum { MOST = 256 };

/* Clips of 29.97 frames a second with B-frames, of uneven times, and of times that do not begin at 0. */
static const char *const clips_of_time[] = {"film.mp4", "jerky.mp4", "late.ts"};
enum { CLIPS_OF_TIME = sizeof clips_of_time / sizeof *clips_of_time };

/* Renders the clip once as a whole and once in the parts that the options name, and compares all pictures in order. */
static void expect_parts_equal(const char *in, const char *common, const char *const *parts, int count) {
  char command[256];
  program_expect(0, NULL, "@ render %s hash:whole.txt -y -q --size 64x64 %s", in, common);
  shell("rm -f parts.txt");
  for (int i = 0; i < count; i++) {
    program_expect(0, NULL, "@ render %s hash:part.txt -y -q --size 64x64 %s %s", in, common, parts[i]);
    shell("cat part.txt >>parts.txt");
  }
  snprintf(command, sizeof command, "%s", HASHES("whole.txt"));
  expect_same(in, command, HASHES("parts.txt"));
}

static void test_ranges(void **state) {
  (void)state;
  static const char *const parts[] = {"--range 0-6", "--range 7", "--range 8-20", "--range 21-"};
  make_clips();
  for (int i = 0; i < CLIPS_OF_TIME; i++)
    expect_parts_equal(clips_of_time[i], "", parts, 4);
  program_expect(3, "--range 30-40: none of these is there: the frames of film.mp4 have the numbers 0 to 29",
                 "render film.mp4 hash:no.txt --size 64x64 --range 30-40");
  struct outcome outcome;
  program_run(&outcome, "render film.mp4 hash:part.txt -y --size 64x64 --range 20-99");
  assert_true(!outcome.status &&
              strstr(outcome.said, "--range 20-99: only 20 to 29 are there: the frames of film.mp4"));
  program_expect(0, "10 frames", "render film.mp4 hash:part.txt -y --size 64x64 --range 20-29");
  program_expect(3, "not one picture", "render film.mp4 hash:no.txt --size 64x64 --start 100 --shard 1/2");
  program_expect(2, "--start and --duration", "render film.mp4 hash:no.txt --size 64x64 --range 3-4 --start 1");
  program_expect(2, "only of a picture sequence", "render film.mp4 hash:no.txt --size 64x64 --range 3-9:2");
  program_expect(2, "cannot be read twice", "render - hash:no.txt --size 64x64 --range 3-9");
  program_expect(2, "cannot be read twice",
                 "render 'udp://127.0.0.1:9?timeout=1' hash:no.txt --size 64x64 --range 3-9");
  program_expect(2, "cannot be read twice", "render camera hash:no.txt --size 64x64 --range 3-9");
  program_expect(2, "cannot be read twice", "render pattern hash:no.txt --size 64x64 --range 3-9");
  program_expect(2, "cannot be read twice", "render none hash:no.txt --size 64x64 --range 3-9 --input-format v4l2");
  program_expect(2, "numbers of pictures or frames", "render film.mp4 hash:no.txt --size 64x64 --range 9-3");
  /* an input that is missing is told as without these options */
  static const char *const missing[] = {"none.mp4", "none/%04d.png", "file:none.mp4", "none.ts --input-format mpegts",
                                        "."};
  static const char *const choosing[] = {"--range 3-9", "--shard 1/2", "--shard 3-9", "--start 3", "--resume"};
  for (size_t i = 0; i < sizeof missing / sizeof *missing; i++)
    for (size_t j = 0; j < sizeof choosing / sizeof *choosing; j++)
      program_expect(3, "cannot be opened: ", "render %s no.mkv --size 64x64 %s", missing[i], choosing[j]);
}

/* Frame 7 is at 0.233567 s, between two milliseconds. */
static void test_rounding(void **state) {
  (void)state;
  static const char *const parts[] = {"--duration 0.2336", "--start 0.2336 --duration 0.1001",
                                      "--start 0.3337 --duration 0.2", "--start 0.5337"};
  make_clips();
  expect_parts_equal("film.mp4", "", parts, 4);
  expect_parts_equal("jerky.mp4", "", parts, 4);
  struct outcome outcome;
  program_run(&outcome, "render film.mp4 hash:part.txt -y --size 64x64 --start 0.2336 --duration 0.1");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "begins at 0.233566 s, with the frame nearest to --start 0.233600"));
  assert_non_null(strstr(outcome.said, "lasts 0.100100 s, to the end of a frame, in place of 0.100000 s"));
  expect_same("frames", "echo 3", HASHES("part.txt") " | wc -l");
}

/* A cut has the sound of its part, and begins at 0. */
static void test_cut_with_sound(void **state) {
  (void)state;
  double times[MOST], sound[MOST];
  make_clips();
  program_expect(0, "10 frames", "render film.mp4 cut.mp4 -y --size 64x64 --range 10-19");
  assert_int_equal(clip_times("cut.mp4", CLIP_FRAMES, times, MOST), 10);
  assert_float_equal(times[0], 0, 1e-6);
  assert_float_equal(times[9], 9 * 1001 / 30000.0, 1e-6);
  int packets = clip_times("cut.mp4", CLIP_SOUND, sound, MOST);
  assert_true(packets >= 14 && packets <= 17); /* 0.33 s of AAC packets */
}

/* Shards use times of the whole job: a seed walk, a fade, and a second source. */
static void test_shards(void **state) {
  (void)state;
  static const char *const quarters[] = {"--shard 1/4", "--shard 2/4", "--shard 3/4", "--shard 4/4"},
                           *const ranges[] = {"--shard 5-9", "--shard 10-10", "--shard 11-24"};
  make_clips();
  shell("printf '%%s\\n' '{\"time\":0,\"parameter\":\"seed-walk\",\"value\":2}' "
        "'{\"time\":0,\"parameter\":\"strength\",\"value\":0.4}' "
        "'{\"time\":0.3,\"parameter\":\"prompt[1]\",\"value\":\"neon\"}' "
        "'{\"time\":0.7,\"parameter\":\"strength\",\"value\":0.9,\"ease\":\"smooth\"}' >show.jsonl");
  expect_parts_equal("film.mp4", "--script show.jsonl", quarters, 4);
  expect_parts_equal("jerky.mp4", "--script show.jsonl", quarters, 4);
  expect_parts_equal("late.ts", "--seed-walk 3 --start 0.31 --frames 14", quarters, 4);
  expect_parts_equal("film.mp4", "--seed-walk 3 --range 5-24", ranges, 3);
  expect_parts_equal("film.mp4", "--control map@source --control-source jerky.mp4 --show map --frames 12", quarters, 4);
  /* jerky.mp4 has fewer different pictures */
  expect_same("pictures differ", "echo 8", HASHES("whole.txt") " | sort -u | wc -l");
}

/* A canvas that follows the camera: for frames before a part only the motion is measured, without running the
 * network. */
static void test_followed_motion(void **state) {
  (void)state;
  static const char *const halves[] = {"--shard 1/2", "--shard 2/2"};
  make_pan();
  expect_parts_equal("pan.mp4", "--size 128x128 --canvas follow", halves, 2);
  shell("cp whole.txt followed.txt");
  program_expect(0, NULL, "render pan.mp4 hash:whole.txt -y -q --size 128x128");
  shell("! cmp -s whole.txt followed.txt");
  struct outcome outcome;
  program_run(&outcome, "render film.mp4 hash:part.txt -y --size 64x64 --feedback 0.3 --shard 3-4");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--feedback: a part is equal to the whole render only from the next cut on"));
  program_run(&outcome, "render film.mp4 hash:part.txt -y --size 64x64 --shard 3-4 --control depth --show map "
                        "--depth-model \"$REVERIE_GOLDENS\"/depth");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "--control depth: a part is equal to the whole render only from the next"));
}

/* A shard's file has no sound, times of the whole render, and its manifest beside it. */
static void test_names_of_shards(void **state) {
  (void)state;
  double times[2];
  make_clips();
  program_expect(0, NULL, "render film.mp4 part.mp4 -q --size 64x64 --shard 2/3 --range 3-11");
  program_expect(0, NULL, "render film.mp4 part.mkv -q --size 64x64 --shard 4-5");
  shell("test ! -e part.mp4 -a ! -e part.mkv");
  assert_int_equal(clip_count_frames("part.mp4.shard-2-of-3"), 3);
  assert_int_equal(clip_count_frames("part.mkv.shard-4-5"), 2);
  assert_int_equal(clip_times("part.mkv.shard-4-5", CLIP_FRAMES, times, 2), 2);
  assert_float_equal(times[0], 4 * 1001 / 30000.0, 1e-3); /* times are rounded to milliseconds by Matroska */
  shell("grep -q '\"end\"' part.mkv.shard-4-5.json && test ! -e part.mkv.shard-4-5.part.json");
  program_expect(2, "is not written in segments", "render film.mp4 part.gif --size 64x64 --shard 1/2");
  expect_same("tracks", "echo video",
              "ffprobe -v error -show_entries stream=codec_type -of csv=p=0 part.mp4.shard-2-of-3");
  program_expect(6, "part.mkv.shard-4-5: exists already", "render film.mp4 part.mkv --size 64x64 --shard 4-5");
  program_expect(2, "IN's frames have no numbers", "render film.mp4 part-%%d.png --size 64x64 --shard 1/2");
  program_expect(2, "as in 1/4 to 4/4", "render film.mp4 part.mp4 --size 64x64 --shard 0/4");
}

/* A part of which the input has no frame is nothing to do, and the other parts are the whole. */
static void test_empty_shards(void **state) {
  (void)state;
  make_clips();
  static const char render[] = "render film.mp4 few.mkv --size 64x64 -c ffv1";
  program_expect(0, "--shard 40-59: there is nothing to do: the frames of film.mp4 have the numbers 0 to 29",
                 "%s --shard 40-59", render);
  program_expect(0, "there is nothing to do: no frame of the job is in it", "%s --shard 9-12 --range 3-8", render);
  shell("! ls | grep few.mkv");
  program_expect(0, NULL, "%s -q --shard 0-19", render);
  program_expect(0, NULL, "%s -q --shard 20-39", render);
  program_expect(0, "30 frames of 2 shards", "join few.mkv");
  shell("rm few.mkv*");
  /* A shard that has all frames keeps its manifest. */
  static const char *const all[] = {"1/1", "0-40"};
  for (int i = 0; i < 2; i++) {
    program_expect(0, NULL, "%s -q --shard %s", render, all[i]);
    program_expect(0, "30 frames of 1 shard", "join few.mkv");
    shell("rm few.mkv*");
  }
  for (int i = 1; i <= 7; i++)
    program_expect(0, i % 2 ? "there is nothing to do: there are fewer frames than shards" : NULL,
                   "%s --range 26-28 --shard %d/7", render, i);
  program_expect(0, "3 frames of 3 shards", "join few.mkv");
  program_expect(0, NULL, "render film.mp4 whole.mkv -q --size 64x64 -c ffv1 --range 26-28");
  expect_same("pictures", FFMPEG "-i few.mkv -map 0:v -f framemd5 -", FFMPEG "-i whole.mkv -map 0:v -f framemd5 -");
}

/* Recordings put together, whose clock jumps forward or is set back, are divided on the clock on which their frames
 * follow each other, and each part finds its frames. They are longer than the distance by which a seek in a stream goes
 * back (ffmpeg_seek_blindly). */
static void test_recordings_put_together(void **state) {
  (void)state;
  static const char *const clips[] = {"forward.ts", "back.ts"};
  static const char *const thirds[] = {"--shard 1/3", "--shard 2/3", "--shard 3/3"};
  static const char *const ranges[] = {"--shard 0-99", "--shard 100-119", "--shard 120-300"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=5:d=14 -c:v libx264 -g 10 -bf 2 day.ts && " FFMPEG
               "-f lavfi -i testsrc2=s=64x64:r=5:d=14,negate -c:v libx264 -g 10 -bf 2 night.ts && " FFMPEG
               "-i night.ts -c copy -output_ts_offset 100 later.ts && cat day.ts later.ts >forward.ts && "
               "cat day.ts night.ts day.ts >back.ts");
  for (int i = 0; i < 2; i++) {
    expect_parts_equal(clips[i], "", thirds, 3);
    expect_parts_equal(clips[i], "", ranges, 3);
  }
  for (int i = 1; i <= 3; i++)
    program_expect(0, NULL, "render forward.ts jumps.mkv -q --size 64x64 -c ffv1 --shard %d/3", i);
  program_expect(0, "140 frames of 3 shards", "join jumps.mkv");
}

/* Prints times, hashes and sound of a file. */
#define CONTENT(file)                                                                                                  \
  "ffprobe -v error -show_entries packet=stream_index,pts_time,dts_time " file " -of csv && " FFMPEG "-i " file        \
  " -map 0:v -f framemd5 - && " FFMPEG "-i " file " -map 0:a -c copy -f md5 -"

#define KEY "5ec2e75ec2e75ec2e75ec2e75ec2e75e"

/* Shards with a script and a seed walk are joined and equal one render. */
static void test_joined(void **state) {
  (void)state;
  make_clips();
  shell("printf '%%s\n' '{\"time\":0,\"parameter\":\"strength\",\"value\":0.4}' "
        "'{\"time\":0.7,\"parameter\":\"strength\",\"value\":0.9,\"ease\":\"smooth\"}' >fade.jsonl");
  static const char film[] = "render film.mp4 %s -q --size 64x64 -c ffv1 --script fade.jsonl --seed-walk 2 %s";
  program_expect(0, NULL, film, "one.mkv", "");
  for (int i = 1; i <= 4; i++) {
    char shard[32];
    snprintf(shard, sizeof shard, "--shard %d/4", i);
    program_expect(0, NULL, film, "four.mkv", shard);
    if (i == 3)
      program_expect(3, "missing: shard 4 of 4 (0.734 s to the end)", "join four.mkv");
  }
  /* files in the shell's order, including the manifests */
  program_expect(0, NULL, "join four.mkv -q four.mkv.shard-*");
  expect_same("joined film", CONTENT("one.mkv"), CONTENT("four.mkv"));
  static const char jerky[] = "render jerky.mp4 %s -q --size 64x64 --seed-walk 3 --start 0.2 --duration 0.7 %s";
  program_expect(0, NULL, jerky, "one.mp4", "");
  /* A decryption key in the input's options is not written to manifests, so join must be given it again. */
  program_expect(0, NULL, jerky, "two.mp4", "--shard 1/2 --input-options decryption_key=" KEY);
  program_expect(0, NULL, jerky, "two.mp4", "--shard 2/2 --input-options decryption_key=" KEY);
  shell("test -e two.mp4.shard-1-of-2.json && ! grep -q " KEY " two.mp4.shard*");
  program_expect(2, "which their manifests do not keep", "join two.mp4 -q");
  program_expect(2, "rendered with another value", "join two.mp4 -q --input-options decryption_key=00");
  program_expect(0, NULL, "join two.mp4 -q --input-options decryption_key=" KEY);
  clip_expect_same_times("one.mp4", "two.mp4", (int)clip_count_frames("one.mp4"));
  /* Times that the input rounds to milliseconds, with a first time that is no multiple of a frame's duration. */
  shell(FFMPEG "-itsoffset 0.021 -i film.mp4 -i film.mp4 -map 0:v -map 1:a -c copy rounded.mkv");
  program_expect(0, NULL, "render rounded.mkv one.mov -q --size 64x64");
  for (int i = 1; i <= 3; i++)
    program_expect(0, NULL, "render rounded.mkv three.mov -q --size 64x64 --shard %d/3", i);
  program_expect(0, NULL, "join three.mov -q");
  clip_expect_same_times("one.mov", "three.mov", 30);
  expect_same("sound", FFMPEG "-i one.mp4 -map 0:a -c copy -f md5 -", FFMPEG "-i two.mp4 -map 0:a -c copy -f md5 -");
  /* A transport stream's clock begins with the first decoding time, which depends on the times of the first
   * pictures. */
  program_expect(0, NULL, "render jerky.mp4 one.ts -q --size 64x64 --frames 8");
  for (int i = 1; i <= 2; i++)
    program_expect(0, NULL, "render jerky.mp4 two.ts -q --size 64x64 --frames 8 --shard %d/2", i);
  program_expect(0, NULL, "join two.ts -q");
#define BEGIN(file)                                                                                                    \
  "ffprobe -v error -show_entries packet=stream_index,pts,dts -of csv=p=0 " file " | sort -u -t, -k1,1"
  expect_same("clock", BEGIN("one.ts"), BEGIN("two.ts"));
#undef BEGIN
}

/* A shard that was killed after its first segment and then resumed is still the part that the whole render needs. If
 * the shard's end comes before the kill, there is nothing to resume, and it is joined as well. */
static void test_resumed_shard_is_joined(void **state) {
  (void)state;
  static const char first[] = "render slow.mp4 resumed.mkv -q --size 64x64 -c ffv1 --shard 1/2 --skip-existing";
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=20 -c:v libx264 -g 10 slow.mp4");
  shell("rm -f resumed.mkv*");
  struct outcome outcome;
  program_run(
      &outcome,
      "true; @ %s & pid=$!; while kill -0 $pid && ! grep -q '\"segment\":50' resumed.mkv.shard-1-of-2.part.json; do "
      "sleep 0.01; done; kill -KILL $pid; wait $pid",
      first);
  program_expect(0, NULL, "%s --resume", first);
  program_expect(0, NULL, "render slow.mp4 resumed.mkv -q --size 64x64 -c ffv1 --shard 2/2");
  program_expect(0, "500 frames of 2 shards", "join resumed.mkv");
  assert_int_equal(clip_count_frames("resumed.mkv"), 500);
}

/* All shards use the choices of the shard that began first (here its number of threads), also if several begin at
 * once. */
static void test_shared_choices(void **state) {
  (void)state;
  static const char render[] = "render film.mp4 kin.mkv -q --size 64x64 -c ffv1 --shard",
                    threads[] = "grep -ho '[0-9] threads.n' ";
  char of_all[128], of_one[128];
  make_clips();
  program_expect(0, NULL, "%s 0-9 --threads 1", render);
  program_expect(0, NULL, "%s 10-19 --threads 2", render);
  shell("grep -q ' 1 threads.n' kin.mkv.shards.json && grep -q ' 1 threads.n' kin.mkv.shard-10-19.json");
  struct outcome outcome;
  program_run(&outcome, "render film.mp4 kin.mkv --size 64x64 -c ffv1 --shard 20-29 --threads 2 --seed 7");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "kin.mkv.shards.json: is of another render, and is made anew: seed differs"));
  shell("rm kin.mkv.shard*");
  const pid_t both[] = {program_start("%s 0-9 --threads 1", render), program_start("%s 10-19 --threads 2", render)};
  for (int i = 0; i < 2; i++)
    program_wait(&outcome, both[i]);
  snprintf(of_all, sizeof of_all, "%s kin.mkv.shards.json", threads);
  for (int i = 0; i < 2; i++) {
    snprintf(of_one, sizeof of_one, "%s kin.mkv.shard-%s.json", threads, i ? "10-19" : "0-9");
    expect_same("choices", of_all, of_one);
  }
}

/* Of a render that was divided in several ways, shards that adjoin are joined, and the others are left out. */
static void test_several_divisions(void **state) {
  (void)state;
  static const char *const parts[] = {"0-9", "5-19", "20-29", "10-24", "1/2", "2/2"};
  struct outcome outcome;
  make_clips();
  for (int i = 0; i < 6; i++)
    program_expect(0, NULL, "render film.mp4 ways.mkv -q --size 64x64 -c ffv1 --shard %s", parts[i]);
  program_run(&outcome, "join ways.mkv");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, " is of another division, whose shards are left out"));
  assert_non_null(strstr(outcome.said, "frames of 2 shards"));
  program_expect(0, NULL, "render film.mp4 no_ways.mkv -q --size 64x64 -c ffv1");
  expect_same("joined shards", CONTENT("no_ways.mkv"), CONTENT("ways.mkv"));
  shell("rm ways.mkv.shard-1-of-2*");
  program_expect(2, "have frames in common", "join -y ways.mkv");
  program_expect(0, NULL, "render film.mp4 ways.mkv -q --size 64x64 -c ffv1 --shard 10-19");
  shell("rm ways.mkv");
  program_run(&outcome, "join -y ways.mkv ways.mkv.shard-*");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "frames of 3 shards"));
  expect_same("joined shards", CONTENT("no_ways.mkv"), CONTENT("ways.mkv"));
}

/* Shards that do not fit together, and missing ones, are named in a line, and nothing is written. */
static void test_not_joined(void **state) {
  (void)state;
  make_clips();
  static const char render[] = "render film.mp4 %s -q --size 64x64 -c ffv1 --shard %s %s";
  program_expect(0, NULL, render, "set.mkv", "0-9", "");
  program_expect(0, NULL, render, "set.mkv", "20-29", "");
  program_expect(3, "missing: frames 10 to 19", "join set.mkv");
  program_expect(0, NULL, render, "other.mkv", "10-19", "--seed 7");
  program_expect(2, "seed differs: ", "join set.mkv set.mkv.shard-* other.mkv.shard-*");
  program_expect(0, NULL, render, "set.mkv", "10-25", "");
  program_expect(2, "have frames in common", "join set.mkv");
  shell("rm set.mkv.shard-20-29*");
  program_expect(3, "missing: frames from 26 on", "join set.mkv");
  program_expect(0, NULL, render, "set.mkv", "26-99", "");
  program_expect(2, "give OUT a name that ends in .mkv", "join set.gif set.mkv.shard-*");
  program_expect(2, "pictures of a sequence need no joining", "join out/%%04d.png set.mkv.shard-*");
  program_expect(2, "is one of the shards", "join -y set.mkv.shard-0-9 set.mkv.shard-*");
  program_expect(2, "or their manifests",
                 "join -y set.mkv.shard-0-9.json set.mkv.shard-0-9 set.mkv.shard-10-25 "
                 "set.mkv.shard-26-99");
  program_expect(2, "hash:-: join writes a file", "join hash:- set.mkv.shard-0-9");
  program_expect(2, "is not the input", "join set.mkv --input jerky.mp4");
  program_expect(3, "there are no shards", "join none.mkv");
  program_expect(3, "has no manifest film.mp4.json", "join set.mkv film.mp4");
  shell("mv film.mp4 moved.mp4");
  program_expect(3, "--input IN says where it is", "join set.mkv");
  program_expect(0, NULL, "join -q set.mkv --input moved.mp4");
  shell("mv moved.mp4 film.mp4 && printf x >>set.mkv.shard-0-9");
  program_expect(3, "copy or render it again", "join -y set.mkv");
  /* a manifest edited in the same way in all shards, and one whose file is damaged */
  shell(
      "truncate -s -1 set.mkv.shard-0-9 && mkdir edited && cp set.mkv.shard* edited && cd edited && ! grep -q quality "
      "set.mkv.shard-0-9.json");
  static const char *const edits[][2] = {{"s/.width.:64/\"width\":66/", "has 64x64 pixels, and 66x64 by its manifest"},
                                         {"s/yuv420p\"/yuv444p\"/", "has pixels of yuv420p, and of yuv444p by its"}};
  for (int i = 0; i < 2; i++) {
    shell("cp set.mkv.shard*.json edited && sed -i '%s' edited/*.json", edits[i][0]);
    program_expect(3, edits[i][1], "join edited/set.mkv");
  }
  shell("cp set.mkv.shard*.json edited && cd edited && rm set.mkv.shard-0-9.json && mkfifo set.mkv.shard-0-9.json");
  program_expect(3, "missing: ", "join edited/set.mkv");
  shell("cd edited && rm set.mkv.shard-0-9.json && mkdir set.mkv.shard-0-9.json");
  program_expect(3, "missing: ", "join edited/set.mkv");
  assert_int_equal(clip_count_frames("set.mkv"), 30);
}

static void test_sequences(void **state) {
  (void)state;
  struct outcome outcome;
  shell("mkdir -p in out && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.48 -start_number 101 in/%%04d.png");
  program_expect(0, "4 frames", "render in/%%04d.png out/%%04d.png --size 64x64 --range 102-111:3");
  expect_same("numbers", "echo 0102.png 0105.png 0108.png 0111.png", "cd out && echo *");
  program_expect(0, "3 frames", "render in/%%04d.png out/%%04d.png --size 64x64 --range 103-111:3");
  program_expect(6, "and 3 more of its kind exist already",
                 "render in/%%04d.png out/%%04d.png --size 64x64 --range 102-111:3");
  shell("rm out/*.png in/0106.png");
  program_expect(3, "missing: 0106.png", "render in/%%04d.png out/%%04d.png --size 64x64 --range 104-108:2");
  program_expect(0, "2 frames", "render in/%%04d.png out/%%04d.png -y --size 64x64 --range 105-108:2");
  shell("rm out/*.png; mkdir whole");
  program_expect(3, NULL, "render in/%%04d.png whole/%%04d.png -q --size 64x64 --seed-walk 2");
  for (int i = 1; i <= 3; i++)
    program_expect(i == 2 ? 3 : 0, NULL, "render in/%%04d.png out/%%04d.png -q --size 64x64 --seed-walk 2 --shard %d/3",
                   i);
  shell("diff -r out whole && test $(ls out | wc -l) = 11");
  static const char numbers[] = "the pictures of in/%04d.png have the numbers 101 to 112",
                    render[] = "render in/%04d.png none/%04d.png --size 64x64";
  shell("mkdir none");
  program_expect(3, numbers, "%s --range 200-", render);
  program_expect(3, numbers, "%s --range 1-50", render);
  program_expect(0, numbers, "%s --shard 90-100", render);
  program_expect(0, numbers, "%s --shard 113-130 --skip-existing", render);
  program_expect(3, "--range 106-106: in/%04d.png has no picture with one of these", "%s --range 106-106", render);
  program_expect(3, "--shard 106-106: in/%04d.png has no picture with one of these", "%s --shard 106-106", render);
  program_run(&outcome, "%s --range 93-101:4", render);
  assert_true(outcome.status == 0 && strstr(outcome.said, "--range 93-101:4: only 101 to 101 are there"));
  program_run(&outcome, "%s --range 110-", render);
  assert_true(outcome.status == 0 && outcome.lines == 1);
  program_run(&outcome, "%s --shard 90-102 -y", render);
  assert_true(outcome.status == 0 && strstr(outcome.said, "--shard 90-102: only 101 to 102 are there"));
  expect_same("pictures", "echo 0101.png 0102.png 0110.png 0111.png 0112.png", "cd none && echo *");
}

/* Existing pictures are kept; missing or incomplete ones are made as in one run; if settings differ, the render
 * ends. */
static void test_skipped_pictures(void **state) {
  (void)state;
  shell("mkdir six all some && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.24 -start_number 11 six/%%04d.png");
  program_expect(0, NULL, "render six/%%04d.png all/%%04d.png -q --size 64x64 --seed-walk 2");
  shell("cp all/* some && cd some && rm 0012.png 0014.png && truncate -s -9 0015.png && touch -d @1 0*");
  struct outcome outcome;
  program_run(&outcome, "render six/%%04d.png some/%%04d.png --size 64x64 --seed-walk 2 --skip-existing "
                        "--progress json");
  assert_int_equal(outcome.status, 0);
  assert_non_null(
      strstr(outcome.said, "3 pictures were there already, and are left; 1 that was not whole is made again"));
  shell("diff -r some all && test $(find some -newermt @1 -name '*.png' | wc -l) = 3 && tail -n 1 out.txt | grep -q "
        "'\"frame\":6,\"total\":6,'");
  program_expect(2, "0011.png: is there already, made with other values: seed-walk differs",
                 "render six/%%04d.png some/%%04d.png --size 64x64 --skip-existing --seed-walk 1");
  program_expect(2, "0011.png: is there already and has 64x64 pixels in place of 96x64",
                 "render six/%%04d.png some/%%04d.png --size 96x64 --skip-existing");
  shell("mkdir taken && mkfifo taken/0011.png");
  program_expect(6, "taken/0011.png: is there already and is no file",
                 "render six/%%04d.png taken/%%04d.png --size 64x64 --skip-existing");
  program_expect(0, "1 frame,", "render six/%%04d.png some/%%04d.png --size 96x64 --skip-existing -y --frames 1");
  assert_int_equal(clip_shape("some/0011.png").width, 96);
}

/* For these formats FFmpeg fills in what is missing, without an error. */
static void test_cut_pictures(void **state) {
  (void)state;
  static const char *const kinds[] = {"jpg", "exr", "exr -c exr --encoder-options compression=zip16"};
  struct outcome outcome;
  shell("mkdir cuts");
  for (int i = 0; i < 3; i++) {
    program_expect(0, NULL, "render six/%%04d.png cuts/%%d.%s -q -y --size 64x64", kinds[i]);
    shell("mkdir was && cp cuts/* was && cd cuts && for n in 1 2 3; do f=$(ls 1$n.*); "
          "truncate -s $(($(stat -c %%s $f) * n / 4)) $f; done && truncate -s -1 14.*");
    program_run(&outcome, "render six/%%04d.png cuts/%%d.%s --size 64x64 --skip-existing", kinds[i]);
    assert_int_equal(outcome.status, 0);
    assert_non_null(
        strstr(outcome.said, "2 pictures were there already, and are left; 4 that were not whole are made again"));
    shell("diff -r cuts was && rm -r was cuts/*");
  }
}

/* The motion of existing pictures is measured, and pictures of a clip have the numbers of one run. */
static void test_skipped_motion(void **state) {
  (void)state;
  static const char render[] = "render pan.mp4 moved/%03d.png --size 128x128 --canvas follow";
  make_pan();
  shell("mkdir moved kept");
  program_expect(0, NULL, "%s -q", render);
  shell("mv moved/* kept && cp kept/* moved && rm moved/003.png moved/004.png moved/007.png");
  struct outcome outcome;
  program_run(&outcome, "%s --skip-existing", render);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "5 pictures were there already, and are left"));
  shell("diff -r moved kept");
}

/* An existing output file is kept. */
static void test_skipped_files(void **state) {
  (void)state;
  make_clips();
  program_expect(0, NULL, "render film.mp4 there.mkv -q --size 64x64 --shard 4-4");
  program_expect(0, "there.mkv.shard-4-4: is there already, and is skipped",
                 "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing");
  program_expect(2, "of another job: strength differs",
                 "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing --strength 0.2");
  /* The model's strength is 1, though the parameter's own default is 0.5. */
  program_expect(2, "of another job: strength differs",
                 "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing --strength 0.5");
  program_expect(2, "has 64x64 pixels in place of 96x64",
                 "render film.mp4 there.mkv --size 96x64 --shard 4-4 --skip-existing");
  shell("cp there.mkv.shard-4-4 kept.mkv && printf x >>there.mkv.shard-4-4");
  program_expect(2, "is not the file that its manifest tells",
                 "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing");
  shell("mv kept.mkv there.mkv.shard-4-4 && sed -i '$ d' there.mkv.shard-4-4.json");
  program_expect(2, "has no whole manifest there.mkv.shard-4-4.json",
                 "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing");
  program_expect(3, "there.mkv.shard-4-4.json is cut off", "join there.mkv");
  program_expect(0, NULL, "render film.mp4 there.mkv -q --size 64x64 --shard 4-4 --skip-existing -y");
  shell("rm there.mkv.shard-4-4.json");
  program_expect(2, "has no whole manifest", "render film.mp4 there.mkv --size 64x64 --shard 4-4 --skip-existing");
  shell("echo mine >note.mkv");
  program_expect(2, "no picture of it can be read", "render film.mp4 note.mkv --size 64x64 --skip-existing");
  program_expect(2, "keeps nothing that could be skipped", "render film.mp4 null: --size 64x64 --skip-existing");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_ranges),
      cmocka_unit_test(test_rounding),
      cmocka_unit_test(test_cut_with_sound),
      cmocka_unit_test(test_shards),
      cmocka_unit_test(test_followed_motion),
      cmocka_unit_test(test_names_of_shards),
      cmocka_unit_test(test_sequences),
      cmocka_unit_test(test_skipped_pictures),
      cmocka_unit_test(test_cut_pictures),
      cmocka_unit_test(test_skipped_motion),
      cmocka_unit_test(test_skipped_files),
      cmocka_unit_test(test_joined),
      cmocka_unit_test(test_several_divisions),
      cmocka_unit_test(test_not_joined),
      cmocka_unit_test(test_shared_choices),
      cmocka_unit_test(test_resumed_shard_is_joined),
      cmocka_unit_test(test_empty_shards),
      cmocka_unit_test(test_recordings_put_together),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
