/* Tests rendering of clips of many kinds: time stamps, sound, shapes, parts, container formats, frame rates. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

/* Prints time, size and checksum of each sound packet. */
#define SOUND(file) "ffmpeg -v error -i " file " -map 0:a -c copy -f framemd5 - | grep -v '^#' | cut -d, -f2,3,5-"

enum { MOST = 256 };

/* A clip with uneven times, B-frames and sound: each time stamp and sound packet stays as it was. */
static void test_uneven_clip_with_sound(void **state) {
  (void)state;
  static const char *const containers[] = {"mp4", "mkv", "mov"};
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=96x64:r=30:d=1.5 -f lavfi -i sine=d=1.5 "
        "-vf \"select='not(eq(mod(n\\,5)\\,2))',setpts='PTS+if(gt(N\\,12)\\,0.29\\,0)/TB'\" -fps_mode passthrough "
        "-c:v libx264 -bf 2 -c:a aac -metadata title=uneven vfr.mp4");
  shell(FFMPEG "-i vfr.mp4 -c copy vfr.mkv -c copy vfr.mov");
  for (int i = 0; i < 3; i++) {
    char in[256], out[256];
    const char *extension = containers[i];
    program_expect(0, "36 frames", "render vfr.%s new.%s --size 64x64 -y", extension, extension);
    snprintf(in, sizeof in, "vfr.%s", extension);
    snprintf(out, sizeof out, "new.%s", extension);
    clip_expect_same_times(in, out, 36);
    snprintf(in, sizeof in, SOUND("vfr.%s"), extension);
    snprintf(out, sizeof out, SOUND("new.%s"), extension);
    expect_same("sound", in, out);
    snprintf(out, sizeof out, "ffprobe -v error -show_entries format_tags=title -of csv=p=0 new.%s", extension);
    expect_same("title", "echo uneven", out);
    shell("! ls -A | grep -q settling");
  }
  expect_same("stream", "echo h264,64,64,tv,bt709",
              "ffprobe -v error -select_streams v -show_entries stream=codec_name,width,height,color_range,color_space "
              "-of csv=p=0 new.mp4");
}

/* Returns half of the clip's usual frame duration in seconds: in Matroska by the rate of 25 that the encoder was given;
 * MP4 stores no rate, so FFmpeg uses the mean of the times. */
static double half_step(const char *clip) {
  return strstr(clip, ".mkv") ? 0.02 : 1427 / 30000.0 / 2;
}

/* Frames 17 to 78 ms apart, with sound that begins with them or 0.3 s before: times stay exact to the millisecond, with
 * any start. */
static void expect_exact_times(const char *in, const char *out, double start) {
  static const double packet = 1024 / 44100.0; /* duration of an AAC packet in seconds */
  double was[MOST], is[MOST], sound_was[MOST], sound_is[MOST];
  int frames = clip_times(in, CLIP_FRAMES, was, MOST), sounds = clip_times(in, CLIP_SOUND, sound_was, MOST), skip = 0,
      silent = 0;
  double from = fmin(was[0], sound_was[0]) + start - 1e-6;
  while (start > 0 && skip < frames && was[skip] < from)
    skip++;
  /* A part begins with the frame before the start if that is nearer and within half of the usual frame duration, which
   * a transport stream does not tell. */
  if (start > 0 && skip > 0 && from - was[skip - 1] < half_step(in) && !strstr(in, ".ts"))
    from = was[--skip] - 1e-6;
  while (start > 0 && silent < sounds && sound_was[silent] < from)
    silent++;
  assert_int_equal(clip_times(out, CLIP_FRAMES, is, MOST), frames - skip);
  int sounds_out = clip_times(out, CLIP_SOUND, sound_is, MOST);
  /* MP4 and MOV also keep the packet during which the first picture begins, and two packets before it, for the decoder;
   * Matroska has no times before 0. */
  while (silent > 0 && sound_was[silent - 1] + packet > from - 2 * packet && !strstr(out, ".mkv"))
    silent--;
  assert_int_equal(sounds_out, sounds - silent);
  assert_true(frames - skip > 40 && sounds - silent > 40);
  for (int i = 0; i < frames - skip; i++)
    if (fabs((was[i + skip] - was[skip]) - (is[i] - is[0])) > 1e-3)
      fail_msg("%s: frame %d at %f, in %s at %f", in, i + skip, was[i + skip], out, is[i]);
  for (int i = 0; i < sounds - silent; i++)
    if (fabs((sound_was[i + silent] - was[skip]) - (sound_is[i] - is[0])) > 1e-3)
      fail_msg("%s: sound %d %f behind the first frame, in %s %f", in, i, sound_was[i + silent] - was[skip], out,
               sound_is[i] - is[0]);
}

static void test_exact_times(void **state) {
  (void)state;
  static const struct {
    const char *in, *out;
    double start;
  } cases[] = {{"jerky.mkv", "mp4", 0}, {"jerky.mp4", "mp4", 0}, {"jerky.mp4", "mov", 0},   {"jerky.mp4", "m4v", 0},
               {"jerky.mp4", "mkv", 0}, {"late.mp4", "mp4", 0},  {"late.ts", "mp4", 0},     {"late.ts", "mkv", 0},
               {"late.ts", "mp4", 0.5}, {"late.ts", "mkv", 0.5}, {"jerky.mp4", "mp4", 0.5}, {"jerky.mkv", "mov", 0.5}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=2.4 -f lavfi -i sine=d=2.4 "
               "-vf \"settb=1/1000,setpts='if(N,PREV_OUTPTS+17+mod(N*37,62),0)'\" -fps_mode passthrough "
               "-enc_time_base 1/1000 -c:v libx264 -bf 2 -c:a aac jerky.mkv");
  shell(FFMPEG "-i jerky.mkv -c copy jerky.mp4");
  shell(FFMPEG "-itsoffset 0.3 -i jerky.mkv -i jerky.mkv -map 0:v -map 1:a -c copy late.mp4");
  shell(FFMPEG "-i late.mp4 -c copy late.ts");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char out[32];
    snprintf(out, sizeof out, "exact.%s", cases[i].out);
    program_expect(0, NULL, "render %s %s -y -q --size 64x64 --start %g", cases[i].in, out, cases[i].start);
    expect_exact_times(cases[i].in, out, cases[i].start);
  }
}

/* An MP4's AAC begins before 0, which Matroska and transport streams cannot store: there the pictures keep their times,
 * and so does the sound from 0 on. */
static void test_sound_before_the_start(void **state) {
  (void)state;
  double was[MOST], is[MOST], frames[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -c:a aac primed.mp4");
  int count = clip_times("primed.mp4", CLIP_SOUND, was, MOST);
  assert_true(count > 40 && was[0] < -0.01);
  static const char *const outputs[] = {"primed.mkv", "primed.mov"};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_expect(0, NULL, "render primed.mp4 %s --size 64x64", outputs[i]);
    assert_int_equal(clip_times(outputs[i], CLIP_FRAMES, frames, MOST), 25);
    int skip = strstr(outputs[i], ".mkv") ? 1 : 0;
    assert_int_equal(clip_times(outputs[i], CLIP_SOUND, is, MOST), count - skip);
    for (int j = 0; j < 25; j++)
      if (fabs(frames[j] - j / 25.0) > 1e-3)
        fail_msg("%s: frame %d at %f", outputs[i], j, frames[j]);
    for (int j = 0; j < count - skip; j++)
      if (fabs(is[j] - was[j + skip]) > 1e-3)
        fail_msg("%s: sound %d at %f, not %f", outputs[i], j, is[j], was[j + skip]);
  }
}

static void test_sound_that_does_not_fit(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=25:d=0.4 -f lavfi -i sine=d=0.4 -c:v libx264 -c:a pcm_s16le pcm.mkv");
  struct outcome outcome;
  program_run(&outcome, "render pcm.mkv pcm.mp4 --size 64x64");
  assert_int_equal(outcome.status, 0);
  assert_int_equal(outcome.lines, 2);
  assert_non_null(strstr(outcome.said, "pcm_s16le does not fit into mp4 and is encoded again, as aac"));
  assert_int_equal(clip_count_frames("pcm.mp4"), 10);
  /* FFmpeg's muxer accepts it, but as data without a codec */
  program_run(&outcome, "render pcm.mkv pcm.ts --size 64x64");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "pcm_s16le does not fit into mpegts and is encoded again, as aac"));
  /* Muxers that accept sound at first and refuse it later; which ones depends on FFmpeg's version. */
  static const char *const cases[][2] = {{"flac", "mp4"}, {"flac", "mov"},    {"libopus", "mov"}, {"aac", "mpg"},
                                         {"aac", "ogv"},  {"libopus", "ogv"}, {"ac3", "mp4"}};
#define OTHER(codec) "-c:v copy -strict experimental -c:a " codec " " codec ".mkv "
  shell(FFMPEG "-i pcm.mkv " OTHER("flac") OTHER("libopus") OTHER("aac") OTHER("ac3"));
#undef OTHER
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_run(&outcome, "render %s.mkv other.%s -y --size 64x64", cases[i][0], cases[i][1]);
    if (outcome.status || outcome.lines > 2 || (outcome.lines == 2 && !strstr(outcome.said, "does not fit into")))
      fail_msg("%s into %s: status %d, %s", cases[i][0], cases[i][1], outcome.status, outcome.said);
    char name[16];
    snprintf(name, sizeof name, "other.%s", cases[i][1]);
    assert_int_equal(clip_count_frames(name), 10);
  }
}

/* AAC in transport streams has headers (ADTS) that files with an index do not have; the decoded sound is the same. DASH
 * writes many files into a folder, which its muxer opens itself. */
static void test_sound_of_a_transport_stream(void **state) {
  (void)state;
  static const char *const outputs[] = {"heard.mp4", "heard.mov", "heard.mkv", "dash/heard.mpd"};
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=10:d=1 -f lavfi -i sine=d=1 -c:v libx264 -c:a aac said.ts && mkdir dash");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    char heard[128];
    program_expect(0, "10 frames", "render said.ts %s --size 64x64", outputs[i]);
    snprintf(heard, sizeof heard, "cd $(dirname %s) && ffmpeg -v error -i $(basename %s) -map 0:a:0 -f md5 -",
             outputs[i], outputs[i]);
    expect_same("sound", "ffmpeg -v error -i said.ts -map 0:a -f md5 -", heard);
  }
}

/* The existing half of a clip is rendered and can be played; a line says that the rest is missing, even with -q. */
static void test_half_input(void **state) {
  (void)state;
  static const char *const names[] = {"half.mkv", "half.mp4"};
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=96x64:r=10:d=4 -f lavfi -i sine=d=4 -c:v libx264 -g 5 -c:a aac whole.mkv && " FFMPEG
        "-i whole.mkv -c copy -movflags faststart whole.mp4");
  shell("for e in mkv mp4; do head -c $(($(stat -c %%s whole.$e) / 2)) whole.$e >half.$e; done");
  for (int i = 0; i < 2; i++) {
    char out[32];
    snprintf(out, sizeof out, "rest-of-%s", names[i]);
    program_expect(3, "cut short: its ", "render %s %s --size 64x64 -q", names[i], out);
    assert_in_range(clip_count_frames(out), 10, 30);
    shell("test ! -e %s.settling", out);
  }
  program_expect(0, "8 frames", "render half.mp4 enough.mkv --size 64x64 --frames 8");
  program_expect(0, NULL, "render half.mp4 enough.mkv -y -q --size 64x64 --duration 0.8");
  assert_int_equal(clip_count_frames("enough.mkv"), 8);
}

/* A part of the clip has the sound of that part, and both begin at 0. */
static void test_parts(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=20:d=3 -f lavfi -i sine=d=3 -c:v libx264 -g 30 -c:a aac part.mp4");
  program_expect(0, "20 frames", "render part.mp4 cut.mkv --size 64x64 --start 1.5 --duration 1");
  double frames[MOST], sounds[MOST];
  assert_int_equal(clip_times("cut.mkv", CLIP_FRAMES, frames, MOST), 20);
  assert_true(fabs(frames[0]) < 0.5e-6);
  int count = clip_times("cut.mkv", CLIP_SOUND, sounds, MOST);
  assert_in_range(count, 2, MOST);
  assert_true(sounds[0] >= 0 && sounds[0] < 0.05 && sounds[count - 1] > 0.93 && sounds[count - 1] < 1.0);
  /* The output begins with the sound, whose first packet lies before 0 in the input: all times are 0.023 s later. */
  program_expect(0, "7 frames", "render part.mp4 few.mkv --size 64x64 --frames 7");
  count = clip_times("few.mkv", CLIP_SOUND, sounds, MOST);
  assert_in_range(count, 1, MOST);
  assert_true(sounds[count - 1] > 0.33 && sounds[count - 1] < 0.375);
}

/* Counts columns and rows of the bright area in a clip's first frame, which has this size. */
static void measure_bright(const char *name, int width, int height, int *columns, int *rows) {
  uint8_t *gray = shell_output(NULL, "ffmpeg -v error -i %s -frames:v 1 -pix_fmt gray -f rawvideo -", name);
  int left = width, right = -1, top = height, bottom = -1;
  for (int i = 0; i < width * height; i++)
    if (gray[i] > 128) {
      int x = i % width, y = i / width;
      left = x < left ? x : left;
      right = x > right ? x : right;
      top = y < top ? y : top;
      bottom = y;
    }
  free(gray);
  *columns = right + 1 - left;
  *rows = bottom + 1 - top;
}

/* PAL wide screen: 16:9 stored with 5:4 pixels. A disc of 0.6 of the height must be round in every output, and without
 * --size the shape stays 16:9. With strength 0 the picture is the fitted input. */
static void test_anamorphic(void **state) {
  (void)state;
  static const struct {
    const char *arguments;
    int diameter; /* diameter of the disc in pixels; 0: not round, because the picture is stretched */
  } cases[] = {{"", 173},
               {"--size 256x256", 154},
               {"--size 192x256", 154},
               {"--size 256x256 --fit letterbox", 86},
               {"--size 256x256 --fit stretch", 0}};
  shell(FFMPEG "-f lavfi -i \"nullsrc=s=1024x576:r=10:d=0.2,format=gray,"
               "geq=lum='if(lt(hypot(X+0.5-512\\,Y+0.5-288)\\,173)\\,235\\,16)',scale=720:576,setsar=64/45\" "
               "-c:v libx264 -crf 10 -pix_fmt yuv420p wide.mp4");
  struct clip_shape wide_input = clip_shape("wide.mp4");
  assert_int_equal(wide_input.width * wide_input.pixel_width * 9, wide_input.height * wide_input.pixel_height * 16);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int columns, rows;
    struct outcome outcome; /* without --size a line says that pictures become smaller */
    program_run(&outcome, "render wide.mp4 round.mp4 -y --strength 0 %s", cases[i].arguments);
    assert_true(outcome.status == 0 && outcome.lines <= 2 && strstr(outcome.said, "2 frames"));
    struct clip_shape shape = clip_shape("round.mp4");
    assert_true(shape.pixel_width == 1 && shape.pixel_height == 1);
    if (!*cases[i].arguments)
      assert_true(shape.width == 512 && shape.height == 288);
    measure_bright("round.mp4", shape.width, shape.height, &columns, &rows);
    int wide = cases[i].diameter ? cases[i].diameter : 86, high = cases[i].diameter ? cases[i].diameter : 154;
    if (abs(columns - wide) > 2 || abs(rows - high) > 2)
      fail_msg("'%s': the disc is %dx%d, not %dx%d", cases[i].arguments, columns, rows, wide, high);
  }
}

static void test_odd_containers(void **state) {
  (void)state;
  static const struct {
    const char *name, *codec;
  } outputs[] = {{"out.webm", "vp9"},       {"out.avi", "h264"},    {"out.gif", "gif"}, {"out.ts", "h264"},
                 {"out.mpg", "mpeg1video"}, {"out.cpk", "cinepak"}, {"out.roq", "roq"}, {"out.flm", "rawvideo"}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=97x61:r=25:d=0.4 -c:v ffv1 -pix_fmt yuv444p10le odd.mkv");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_expect(0, "10 frames", "render odd.mkv %s --size 64x64", outputs[i].name);
    struct clip_shape shape = clip_shape(outputs[i].name);
    assert_string_equal(shape.codec, outputs[i].codec);
    assert_int_equal(clip_count_frames(outputs[i].name), 10);
  }
  program_expect(0, "1 frame,", "render odd.mkv shot.png --size 64x64 --frames 1");
  struct clip_shape picture = clip_shape("shot.png");
  assert_string_equal(picture.codec, "png");
  assert_true(picture.width == 64 && picture.height == 64);
}

/* MPEG-1 does not have 10 frames a second, and MPEG program streams do not store every frame's time: MPEG-2 is used
 * unless the user asks for MPEG-1. In Matroska each frame has a time, whatever rate the codec has. */
static void test_rates_of_codecs(void **state) {
  (void)state;
  program_expect(0, "10 frames", "render lavfi:testsrc2=s=96x64:r=10 ten.mpg --size 64x64 --frames 10");
  expect_same(
      "rate", "echo mpeg2video,10/1",
      "ffprobe -v error -show_entries stream=codec_name,r_frame_rate -of csv=p=0 ten.mpg | head -1 | cut -d, -f1,2");
  assert_int_equal(clip_count_frames("ten.mpg"), 10);
  program_expect(2, "mpeg with --codec mpeg1video does not take 10 frames a second at 64x64, but 23.976",
                 "render lavfi:testsrc2=s=96x64:r=10 no.mpg --size 64x64 --frames 10 -c mpeg1video");
  program_expect(2, "mpeg1video does not take 10 frames a second",
                 "render lavfi:testsrc2=s=96x64:r=10 no.m1v --size 64x64 --frames 10");
  /* refused, because the clip would play slower */
  program_expect(2, "matroska with --codec mpeg1video does not take 100 frames",
                 "render lavfi:testsrc2=s=96x64:r=100 no.mkv --size 64x64 --frames 10 -c mpeg1video");
  program_expect(2, "amv takes these pictures at no usual size and rate, or only with sound beside them",
                 "render lavfi:testsrc2=s=96x64:r=10 no.amv --size 64x64 --frames 10");
  shell("test ! -e no.mpg -a ! -e no.m1v -a ! -e no.mkv -a ! -e no.amv");
  program_expect(0, "10 frames", "render lavfi:testsrc2=s=96x64:r=10 ten.mkv --size 64x64 --frames 10 -c mpeg1video");
  double times[MOST];
  assert_int_equal(clip_times("ten.mkv", CLIP_FRAMES, times, MOST), 10);
  assert_float_equal(times[9], 0.9, 0.022);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_uneven_clip_with_sound),
      cmocka_unit_test(test_exact_times),
      cmocka_unit_test(test_sound_before_the_start),
      cmocka_unit_test(test_sound_that_does_not_fit),
      cmocka_unit_test(test_sound_of_a_transport_stream),
      cmocka_unit_test(test_half_input),
      cmocka_unit_test(test_parts),
      cmocka_unit_test(test_anamorphic),
      cmocka_unit_test(test_odd_containers),
      cmocka_unit_test(test_rates_of_codecs),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
