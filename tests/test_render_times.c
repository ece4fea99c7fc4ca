/* Tests rendering of clips with difficult times: the duration of the last picture, timecodes, clocks that round. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { MOST = 256 };

/* Prints a file's duration in seconds, rounded to hundredths. */
#define LENGTH "ffprobe -v error -show_entries format=duration -of csv=p=0 %s | xargs printf '%%.2f\\n'"

static void expect_length(const char *name, const char *wanted) {
  char command[256], echo[64];
  snprintf(command, sizeof command, LENGTH, name);
  snprintf(echo, sizeof echo, "echo %s", wanted);
  expect_same(name, echo, command);
}

/* The last picture lasts as long as in the input, also with B-frames (as the first output has them), with a list of
 * pictures that says it, or with --duration. */
static void test_last_picture(void **state) {
  (void)state;
  static const char *const inputs[] = {"held.mp4", "out0.mp4", "held.mkv", "held.gif"};
  static const char *const outputs[] = {"mp4", "mov", "mkv", "webm", "gif"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=10:d=0.5 -c:v libx264 -bf 0 one.mp4 "
               "-c:v gif -final_delay 200 held.gif");
#define HOLD " -c copy -bsf:v setts=duration='if(eq(N\\,4)\\,2/TB\\,DURATION)' "
  shell(FFMPEG "-i one.mp4" HOLD "held.mp4 && " FFMPEG "-i held.mp4 -c copy held.mkv");
#undef HOLD
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++)
    for (size_t j = 0; j < (i ? 1 : sizeof outputs / sizeof *outputs); j++) {
      char name[32];
      snprintf(name, sizeof name, "out%zu.%s", i, outputs[j]);
      program_expect(0, NULL, "render %s %s --size 64x64 -q", inputs[i], name);
      expect_length(name, "2.40");
      assert_int_equal(clip_count_frames(name), 5);
    }
  program_expect(0, "5 frames", "render held.mp4 cut.mp4 --size 64x64 --duration 1");
  expect_length("cut.mp4", "1.00");
  program_expect(0, NULL, "render held.gif again.apng --size 64x64 --output-format apng -q");
  program_expect(0, NULL, "render again.apng back.mp4 --size 64x64 -q");
  expect_length("back.mp4", "2.40");
  shell(FFMPEG
        "-i one.mp4 p%%d.png && printf 'ffconcat version 1.0\nfile p1.png\nduration 0.4\nfile p2.png\nduration 2\n' "
        "> slides.ffconcat");
  program_expect(0, "2 frames", "render slides.ffconcat slides.mp4 --size 64x64");
  expect_length("slides.mp4", "2.40");
}

/* A timecode tag becomes a track in MP4 and MOV, whose index is at the front. */
static void test_timecode(void **state) {
  (void)state;
  static const char *const inputs[] = {"code.mxf", "code.mkv", "code.mov"};
  struct outcome outcome;
#define CODE(file)                                                                                                     \
  "ffprobe -v error -select_streams d -show_entries stream=codec_tag_string:stream_tags=timecode -of csv=p=0 " file
#define MKV_CODE(file)                                                                                                 \
  "ffprobe -v error -show_entries stream_tags=timecode:format_tags=timecode -of default=nk=1:nw=1 " file
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -c:v mpeg2video -timecode 10:00:00:00 code.mxf -c:v libx264 "
               "-metadata:s:v timecode=10:00:00:00 code.mkv -c:v libx264 -timecode 10:00:00:00 code.mov");
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    program_run(&outcome, "render %s coded.mp4 -y --size 64x64", inputs[i]);
    if (outcome.status || outcome.lines != 1)
      fail_msg("%s: status %d, %s", inputs[i], outcome.status, outcome.said);
    expect_same(inputs[i], "echo tmcd,10:00:00:00", CODE("coded.mp4"));
    expect_same("the order of boxes", "echo moov,mdat",
                "grep -abo 'moov\\|mdat' coded.mp4 | head -2 | cut -d: -f2 | paste -sd,");
    program_expect(0, NULL, "render %s later.mov -y --size 64x64 --start 0.08", inputs[i]);
    expect_same(inputs[i], "echo tmcd,10:00:00:02", CODE("later.mov"));
    program_expect(0, NULL, "render %s later.mkv -y --size 64x64 --start 0.08", inputs[i]);
    expect_same(inputs[i], "echo 10:00:00:02", MKV_CODE("later.mkv"));
  }
  static const char *const lost[] = {"code.mkv code.avi", "file.mkv code.ts", "code.mxf code.mpg", "code.mov code.ts"};
  shell(FFMPEG "-i code.mkv -c copy -map_metadata:s:v -1 -metadata timecode=10:00:00:00 file.mkv");
  for (size_t i = 0; i < sizeof lost / sizeof *lost; i++) {
    program_run(&outcome, "render %s -y --size 64x64", lost[i]);
    if (outcome.status || outcome.lines != 2 || !strstr(outcome.said, "left out: a timecode"))
      fail_msg("%s: status %d, %s", lost[i], outcome.status, outcome.said);
  }
  static const char *const kept[] = {"kept.avi", "kept.nut", "kept.flv"};
  for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
    char command[128];
    program_run(&outcome, "render file.mkv %s --size 64x64", kept[i]);
    assert_true(!outcome.status && outcome.lines == 1);
    snprintf(command, sizeof command, "ffprobe -v error -show_entries format_tags=timecode -of default=nk=1:nw=1 %s",
             kept[i]);
    expect_same(kept[i], "echo 10:00:00:00", command);
  }
  /* a first picture that is not at time 0 has the input's timecode, and is not counted from time 0 */
  static const struct {
    const char *part, *code;
  } parts[] = {{"", "10:00:00:00"},
               {"--range 0-3", "10:00:00:00"},
               {"--range 2-3", "10:00:00:02"},
               {"--start 0.1", "10:00:00:02"},
               {"--start 0.07", "10:00:00:01"}};
  shell(FFMPEG
        "-itsoffset 0.023 -i code.mkv -f lavfi -i sine=d=0.2 -map 0:v -map 1:a -c:v copy -map_metadata:s:v 0:s:v "
        "late.mkv");
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char command[32];
    program_run(&outcome, "render late.mkv later.mkv -y --size 64x64 %s", parts[i].part);
    assert_int_equal(outcome.status, 0);
    snprintf(command, sizeof command, "echo %s", parts[i].code);
    expect_same(parts[i].part, command, MKV_CODE("later.mkv"));
  }
  shell(FFMPEG "-i code.mkv -c copy -metadata:s:v timecode=noon noon.mkv");
  program_run(&outcome, "render noon.mkv noon.mp4 --size 64x64");
  assert_true(!outcome.status && strstr(outcome.said, "timecode noon is none"));
  assert_int_equal(clip_count_frames("noon.mp4"), 5);
#undef CODE
#undef MKV_CODE
}

/* Renders `input` to `output` with these options, and compares the output's timecode (""; it has none). Only a timecode
 * that is left out is told in a line of its own. */
static void expect_timecode(const char *input, const char *output, const char *options, const char *code) {
  struct outcome outcome;
  program_run(&outcome, "render %s %s -y --size 64x64 %s", input, output, options);
  if (outcome.status || outcome.lines != (*code ? 1 : 2) ||
      (!*code && !strstr(outcome.said, " is left out: there are")))
    fail_msg("%s %s: status %d: %s", output, options, outcome.status, outcome.said);
  char wanted[32], command[200];
  snprintf(wanted, sizeof wanted, "echo '%s'", code);
  snprintf(command, sizeof command,
           "ffprobe -v error -show_entries stream_tags=timecode:format_tags=timecode -of default=nk=1:nw=1 %s > code; "
           "head -1 code | grep . || echo",
           output);
  expect_same(options, wanted, command);
}

/* With --fps a timecode is converted to the same time of day at the output's rate. */
static void test_timecode_at_another_rate(void **state) {
  (void)state;
  static const char *const outputs[] = {"zone.mov", "zone.mp4", "zone.mkv", "zone.mxf"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=30:d=0.2 -c:v libx264 -timecode 10:00:00:28 tc30.mov");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.6 -c:v libx264 -timecode 10:00:00:20 tc25.mov");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=30000/1001:d=0.2 -c:v libx264 -timecode '01:00:00;15' drop30.mov");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=60000/1001:d=0.2 -c:v libx264 -timecode '01:00:59;59' drop60.mov");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    expect_timecode("tc30.mov", outputs[i], "--fps 24", "10:00:00:22");
    expect_timecode("tc30.mov", outputs[i], "--fps 30", "10:00:00:28");
    expect_timecode("drop30.mov", outputs[i], "--fps 25 --no-sound", "01:00:00:12");
    expect_timecode("drop30.mov", outputs[i], "--fps 60000/1001", "01:00:00;30");
    expect_timecode("drop60.mov", outputs[i], "--fps 29.97", "01:01:00;02");
  }
  for (size_t i = 0; i < 3; i++) {
    expect_timecode("tc25.mov", outputs[i], "--start 0.4 --fps 50", "10:00:01:10");
    expect_timecode("tc25.mov", outputs[i], "--start 0.4 --fps 30", "10:00:01:06");
    expect_timecode("tc30.mov", outputs[i], "--fps 15", "10:00:00:14");
    expect_timecode("tc30.mov", outputs[i], "--range 1-4 --fps 12", "10:00:01:00");
    expect_timecode("drop30.mov", outputs[i], "--fps 30", "01:00:00:15");
    expect_timecode("tc30.mov", outputs[i], "--fps 12.5", "");
  }
}

/* A film in a container that rounds to milliseconds gets its exact rate back; a frame that does not fit the rate keeps
 * its time. */
static void test_rounded_clock(void **state) {
  (void)state;
  double times[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=24000/1001:d=1 -c:v libx264 -bf 2 film.mkv -c:v flv1 film.flv");
  static const char *const inputs[] = {"film.mkv", "film.flv"};
  for (size_t i = 0; i < sizeof inputs / sizeof *inputs; i++) {
    program_expect(0, "24 frames", "render %s film.mp4 -y --size 64x64", inputs[i]);
    assert_int_equal(clip_times("film.mp4", CLIP_FRAMES, times, MOST), 24);
    for (int j = 1; j < 24; j++)
      if (fabs(times[j] - times[0] - j * 1001 / 24000.0) > 1e-6)
        fail_msg("%s: picture %d at %f", inputs[i], j, times[j]);
    expect_same("clock", "echo 24000/1001,1/24000",
                "ffprobe -v error -show_entries stream=avg_frame_rate,time_base -of csv=p=0 film.mp4");
  }
  /* In Matroska's nanoseconds this rate becomes 19001/317; with only three pictures no rate can be found for which the
   * timecode is valid. */
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=60000/1001:d=0.5 -c:v libx264 -bf 2 -g 12 -metadata "
               "timecode='10:00:00;00' drop.mkv");
  program_expect(0, "3 frames", "render drop.mkv drop.mov --size 64x64 --start 0.2 --frames 3");
  assert_int_equal(clip_times("drop.mov", CLIP_FRAMES, times, MOST), 3);
  for (int j = 1; j < 3; j++)
    assert_true(fabs(times[j] - times[0] - j * 1001 / 60000.0) < 1e-6);
  expect_same(
      "timecode", "echo 'tmcd,10:00:00;12'",
      "ffprobe -v error -select_streams d -show_entries stream=codec_tag_string:stream_tags=timecode -of csv=p=0 "
      "drop.mov");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=24000/1001:d=1 -vf \"setpts='PTS+if(gt(N\\,11)\\,0.017\\,0)/TB'\" "
               "-fps_mode passthrough -enc_time_base 1/1000 -c:v libx264 gap.mkv");
  program_expect(0, "24 frames", "render gap.mkv gap.mp4 --size 64x64");
  double was[MOST];
  assert_int_equal(clip_times("gap.mkv", CLIP_FRAMES, was, MOST), 24);
  assert_int_equal(clip_times("gap.mp4", CLIP_FRAMES, times, MOST), 24);
  for (int i = 0; i < 24; i++)
    assert_true(fabs(was[i] - times[i]) <= 1.001e-3);
}

/* The input's tags for its pictures are kept. */
static void test_tags(void **state) {
  (void)state;
#define TOLD(file)                                                                                                     \
  "ffprobe -v error -select_streams v -show_entries stream_tags=title,language:stream_disposition=default -of "        \
  "csv=p=0 " file
  for (int usual = 0; usual < 2; usual++) {
    shell(FFMPEG
          "-f lavfi -i testsrc2=s=64x64:r=25:d=0.2 -c:v libx264 -metadata:s:v title=Camera -metadata:s:v language=deu "
          "-disposition:v %s told.mkv",
          usual ? "default" : "0");
    program_expect(0, NULL, "render told.mkv retold.mkv -y --size 64x64");
    expect_same("tags", TOLD("told.mkv"), TOLD("retold.mkv"));
  }
#undef TOLD
}

/* AVI and ASF store decoding times only: without B-frames these are the display times, with sound that begins at the
 * same time. HEVC in MP4 and MOV has the codec tag that Apple's players accept. */
static void test_players(void **state) {
  (void)state;
  double times[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 plain.mp4");
  static const char *const without[] = {"plain.avi", "plain.wmv"};
  for (int i = 0; i < 2; i++) {
    char command[128];
    snprintf(command, sizeof command, "ffprobe -v error -show_entries frame=pict_type -of csv=p=0 %s | grep -c '^[IP]'",
             without[i]);
    program_expect(0, NULL, "render plain.mp4 %s --size 64x64 --codec h264", without[i]);
    assert_int_equal(clip_times(without[i], CLIP_FRAMES, times, MOST), 10);
    assert_true(fabs(times[0]) < 1e-6);
    expect_same(without[i], "echo 10", command);
  }
  for (int i = 0; i < 2; i++) {
    const char *extension = i ? "mov" : "mp4";
    char command[128];
    program_expect(0, NULL,
                   /* memory leaks of x265 itself are not reported */
                   "export ASAN_OPTIONS=$ASAN_OPTIONS:detect_leaks=0; "
                   "@ render plain.mp4 hevc.%s --size 64x64 --codec hevc",
                   extension);
    snprintf(command, sizeof command, "ffprobe -v error -show_entries stream=codec_tag_string -of csv=p=0 hevc.%s",
             extension);
    expect_same("tag", "echo hvc1", command);
  }
}

/* MXF's muxer orders packets itself, so it must not be flushed in the middle. */
static void test_sound_in_mxf(void **state) {
  (void)state;
  double times[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1.4 -f lavfi -i sine=r=48000:d=1.4 -c:v mpeg2video -c:a pcm_s16le "
               "sound.mkv");
  program_expect(0, NULL, "render sound.mkv sound.mxf --size 64x64");
  assert_int_equal(clip_times("sound.mxf", CLIP_FRAMES, times, MOST), 35);
  expect_same("sound", "echo audio",
              "ffprobe -v error -select_streams a -show_entries stream=codec_type -of csv=p=0 sound.mxf");
}

/* If a container refuses a rate or size, the message names those that it accepts. */
static void test_taken_rates(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=10:d=0.3 -c:v libx264 slow.mkv");
  program_expect(2, "does not take 10 frames a second at 64x64, but 23.976, 24, 25, 29.97, 30, 50, 59.94, 60",
                 "render slow.mkv slow.mxf --size 64x64");
  program_expect(2, "does not take 10 frames a second at 720x576, but 25;", "render slow.mkv slow.gxf --size 720x576");
  program_expect(2, "does not take 64x64 at 25 frames a second; --size may be 720x576",
                 "render uneven.mkv uneven.gxf --size 64x64");
  program_expect(2, "takes neither 64x64 nor 10 frames a second, but 640x480 at 29.97, 720x480 at 29.97, 720x576 at 25",
                 "render slow.mkv slow.gxf --size 64x64");
  program_expect(2, "--size may be 720x576", "render uneven.mkv uneven.dv --size 64x64");
}

/* Formats with a constant frame rate get repeated pictures, so that they stay in step with the sound: where frames are
 * missing, where the last picture lasts long, and where the first one comes after the sound. AVI can leave pictures
 * out, but refuses an hour of that. */
static void test_one_rate(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;
    int pictures;
  } cases[] = {{"uneven.mkv", "rate.mxf", 20},
               {"uneven.mkv", "rate.mpg", 20},
               {"stands.mp4", "rate.mpg", 20},
               {"behind.mkv", "rate.mxf", 25}};
  double times[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.8 -f lavfi -i sine=r=48000 -t 0.8 -vf "
               "\"select='lt(n,5)+gt(n,14)'\" -fps_mode passthrough -c:v libx264 -bf 0 -c:a pcm_s16le uneven.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 -bf 0 short.mp4 && " FFMPEG
               "-i short.mp4 -c copy -bsf:v setts=duration='if(eq(N\\,9)\\,0.44/TB\\,DURATION)' stands.mp4");
  shell(FFMPEG "-itsoffset 0.2 -i uneven.mkv -i uneven.mkv -map 0:v -map 1:a -c copy behind.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_expect(0, NULL, "render %s %s -y --size 64x64 -q", cases[i].in, cases[i].out);
    int count = clip_times(cases[i].out, CLIP_PACKETS, times, MOST);
    if (count != cases[i].pictures)
      fail_msg("%s to %s: %d pictures, not %d", cases[i].in, cases[i].out, count, cases[i].pictures);
  }
  program_expect(0, NULL, "render behind.mkv rate.avi --size 64x64 -q --codec mpeg4");
  assert_true(clip_times("rate.avi", CLIP_FRAMES, times, MOST) == 11 && times[0] == 0 && fabs(times[1] - 0.2) < 1e-6);
  shell(FFMPEG "-i uneven.mkv -map 0:v -c copy -bsf:v \"setts=ts='TS+gte(N\\,5)*3600/TB'\" hour.mkv");
  program_expect(0, "11 frames (10 made)", "render hour.mkv hour.avi --size 64x64");
  /* MP4 stores times, so that nothing has to be repeated */
  program_expect(0, "10 frames", "render hour.mkv hour.mp4 --size 64x64");
  assert_int_equal(clip_times("hour.mp4", CLIP_FRAMES, times, MOST), 10);
  assert_true(fabs(times[5] - times[4] - 3600.44) < 2e-3);
  expect_length("hour.avi", "3600.80");
}

/* Fails the test unless the output shows these frames of the input. */
static void expect_shown(const char *in, const char *fps, const char *frames) {
  char expected[256];
  snprintf(expected, sizeof expected, "printf '%%s\\n' %s", frames);
  program_expect(0, NULL, "render %s hash:shown.txt -y -q --size 64x64 --fps %s", in, fps);
  expect_same(fps, expected, "grep -v '^[#t]' shown.txt | cut -d' ' -f1");
}

/* With --fps, at each moment the output shows the frame that the input shows, also if the input's clock is rounded or
 * its frames are uneven. Length and sound stay. */
static void test_constant_rate(void **state) {
  (void)state;
  double times[MOST], sound[MOST], before[MOST];
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -f lavfi -i sine=d=0.4 -c:v libx264 -bf 2 -c:a aac even.mkv && " FFMPEG
        "-i even.mkv -an -vf \"setpts=PTS+gte(N\\,3)*0.2/TB\" -fps_mode passthrough -c:v libx264 gap.mkv && "
        "mkdir -p shown && " FFMPEG "-i even.mkv -frames:v 3 -start_number 7 shown/in%%d.png");
  expect_shown("even.mkv", "25", "0 1 2 3 4 5 6 7 8 9");
  expect_shown("even.mkv", "10", "0 2 5 7");
  expect_shown("even.mkv", "50", "0 0 1 1 2 2 3 3 4 4 5 5 6 6 7 7 8 8 9 9");
  expect_shown("even.mkv", "30", "0 0 1 2 3 4 5 5 6 7 8 9");
  expect_shown("gap.mkv", "10", "0 2 2 2 5 7");
  program_expect(0, "4 frames", "render even.mkv slow.mkv --size 64x64 --fps 10");
  clip_times("even.mkv", CLIP_FRAMES, before, MOST);
  assert_int_equal(clip_times("slow.mkv", CLIP_FRAMES, times, MOST), 4);
  for (int i = 0; i < 4; i++) /* this file's sound begins before its pictures */
    assert_float_equal(times[i], before[0] + 0.1 * i, 1.1e-3);
  int packets = clip_times("even.mkv", CLIP_SOUND, before, MOST);
  assert_int_equal(clip_times("slow.mkv", CLIP_SOUND, sound, MOST), packets);
  static const char *const films[] = {"23.976", "24000/1001"};
  for (int i = 0; i < 2; i++) {
    program_expect(0, NULL, "render even.mkv cinema.mp4 -y --size 64x64 --fps %s -q", films[i]);
    assert_int_equal(clip_times("cinema.mp4", CLIP_FRAMES, times, MOST), 10);
    assert_float_equal(times[9] - times[0], 9 * 1001 / 24000.0, 1e-9);
  }
  program_expect(0, NULL, "render shown/in%%d.png paced.mp4 --size 64x64 --input-fps 30000/1001 -q");
  expect_same("rate", "echo 30000/1001", "ffprobe -v error -show_entries stream=avg_frame_rate -of csv=p=0 paced.mp4");
  program_expect(2, "as in 24000/1001", "render even.mkv x.mkv --size 64x64 --fps 24/0");
  program_expect(0, NULL, "render shown/in%%d.png shown/out%%d.png --size 64x64 --fps 50 -q");
  expect_same("pictures", "echo out1.png out2.png out3.png out4.png out5.png out6.png",
              "cd shown && ls | grep out | xargs");
  shell("cd shown && cmp out1.png out2.png && ! cmp -s out4.png out5.png");
  program_expect(2, "--resume: needs OUT to have IN's frames", "render even.mkv x.mkv --size 64x64 --fps 9 --resume");
  program_expect(2, "--skip-existing: needs", "render even.mkv x%%d.png --size 64x64 --fps 9 --skip-existing");
}

/* Prints the hashes of all pictures in a file that the sink "hash:" wrote. */
#define HASHES "grep -v '^[#t]' %s | cut -d' ' -f3"

/* Fails the test unless each of `passes` passes has the pictures of one pass, whose hashes are in once.txt. */
static void expect_passes(const char *file, int passes) {
  char one[256] = "", several[128];
  for (int i = 0; i < passes; i++)
    snprintf(one + strlen(one), sizeof one - strlen(one), HASHES "; ", "once.txt");
  snprintf(several, sizeof several, HASHES, file);
  expect_same(file, one, several);
}

/* --repeat: an input several times in a row. Times, numbers, chapters and sound go on, a pass ends with its last
 * picture, and parts of the whole equal those of one render. */
static void test_repeat(void **state) {
  (void)state;
  double times[MOST], sound[MOST];
  shell("printf ';FFMETADATA1\\ntitle=Film\\n[CHAPTER]\\nTIMEBASE=1/1000\\nSTART=0\\nEND=160\\ntitle=one\\n' > "
        "film.txt && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=30000/1001:d=0.2 -f lavfi -i sine=r=48000:d=0.23 -i "
        "film.txt -c:v libx264 -bf 2 -c:a aac \"it's.mp4\"");
  program_expect(0, NULL, "render \"it's.mp4\" hash:once.txt -y -q --size 64x64");
  program_expect(0, NULL, "render \"it's.mp4\" thrice.mkv -q --size 64x64 -c ffv1 --repeat 3");
  assert_int_equal(clip_times("thrice.mkv", CLIP_FRAMES, times, MOST), 18);
  for (int i = 0; i < 18; i++)
    assert_float_equal(times[i], i * 1001 / 30000.0, 1e-3);
  int packets = clip_times("thrice.mkv", CLIP_SOUND, sound, MOST);
  assert_float_equal(sound[packets - 1], 2 * 6 * 1001 / 30000.0 + 0.23, 0.035);
  for (int i = 1; i < packets; i++)
    assert_true(sound[i] > sound[i - 1] && sound[i] - sound[i - 1] < 0.05);
  expect_same("chapters", "echo 0.000000 0.200000 0.400000 | xargs -n1",
              "ffprobe -v error -show_entries chapter=start_time -of csv=p=0 thrice.mkv");
  program_expect(0, NULL, "render \"it's.mp4\" hash:twice.txt -q --size 64x64 --repeat 2");
  expect_passes("twice.txt", 2);
  for (int i = 1; i < 3; i++)
    program_expect(0, NULL, "render \"it's.mp4\" joined.mkv -q --size 64x64 -c ffv1 --repeat 3 --shard %d/2", i);
  program_expect(0, NULL, "join joined.mkv -q");
#define DECODED(file) FFMPEG "-i " file " -map 0:v -map 0:a -c:v rawvideo -c:a copy -f framemd5 -"
  expect_same("joined", DECODED("thrice.mkv"), DECODED("joined.mkv"));
#undef DECODED
  program_expect(0, NULL, "render shown/in%%d.png shown/twice%%d.png --size 64x64 -q --repeat 2");
  expect_same("numbers", "echo 10 11 12 7 8 9", "cd shown && ls | sed -n 's/twice\\([0-9]*\\).*/\\1/p' | sort | xargs");
  shell("cd shown && cmp twice7.png twice10.png && cmp twice9.png twice12.png");
  static const char *const refused[] = {"- x.mkv", "lavfi:testsrc2 x.mkv", "udp://127.0.0.1:9 x.mkv", "pattern x.mkv"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    program_expect(2, "is no file, and cannot be read again", "render %s --size 64x64 --repeat 2", refused[i]);
  program_expect(3, "gone.mkv: No such file", "render gone.mkv x.mkv --size 64x64 --repeat 2");
  shell("printf \"ffconcat version 1.0\\nfile even.mkv\\n\" > list.ffconcat");
  program_expect(2, "names other files", "render list.ffconcat x.mkv --size 64x64 --repeat 2");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_last_picture),
      cmocka_unit_test(test_timecode),
      cmocka_unit_test(test_timecode_at_another_rate),
      cmocka_unit_test(test_rounded_clock),
      cmocka_unit_test(test_tags),
      cmocka_unit_test(test_players),
      cmocka_unit_test(test_sound_in_mxf),
      cmocka_unit_test(test_constant_rate),
      cmocka_unit_test(test_one_rate),
      cmocka_unit_test(test_taken_rates),
      cmocka_unit_test(test_repeat),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
