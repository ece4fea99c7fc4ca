/* Rendering with the built-in model: frames, timestamps, sound, interruption, memory, and the sample clip against
 * stored pictures. */
#include "tests/cmocka_all.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "tests/clips.h"
#include "tests/program.h"

#define FFMPEG "ffmpeg -nostdin -v error -y "

static void expect_same(const char *what, const char *command_one, const char *command_two) {
  char *one = (char *)shell_output(NULL, "%s", command_one), *two = (char *)shell_output(NULL, "%s", command_two);
  if (strcmp(one, two) || !*one)
    fail_msg("%s: '%s' gives\n%s'%s' gives\n%s", what, command_one, one, command_two, two);
  free(one);
  free(two);
}

/* Seconds of each frame, in the order of showing; ffprobe adds commas where a frame has side data. */
#define TIMES(file)                                                                                                    \
  "ffprobe -v error -select_streams v -show_entries frame=pts_time -of csv=p=0 " file " | tr -d ',' | grep ."
/* Times, size and checksum of each packet of sound. */
#define SOUND(file) "ffmpeg -v error -i " file " -map 0:a -c copy -f framemd5 - | grep -v '^#' | cut -d, -f2,3,5-"

/* Uneven times, B-frames, sound: each timestamp and each packet of sound as it was. */
static void test_uneven_clip_with_sound(void **state) {
  (void)state;
  static const char *const containers[] = {"mp4", "mkv", "mov"};
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=96x64:r=30:d=1.5 -f lavfi -i sine=d=1.5 "
        "-vf \"select='not(eq(mod(n\\,5)\\,2))',setpts='PTS+if(gt(N\\,12)\\,0.29\\,0)/TB'\" -fps_mode passthrough "
        "-c:v libx264 -bf 2 -c:a aac -metadata title=uneven vfr.mp4");
  shell(FFMPEG "-i vfr.mp4 -c copy vfr.mkv");
  shell(FFMPEG "-i vfr.mp4 -c copy vfr.mov");
  for (int i = 0; i < 3; i++) {
    char in[256], out[256];
    const char *extension = containers[i];
    program_expect(0, "36 frames", "render vfr.%s new.%s --size 64x64 -y", extension, extension);
    snprintf(in, sizeof in, TIMES("vfr.%s"), extension);
    snprintf(out, sizeof out, TIMES("new.%s"), extension);
    expect_same("timestamps", in, out);
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

#define GREY(input) "ffmpeg -v error " input " -frames:v 1 -pix_fmt gray -f framemd5 - | grep -v '^#' | cut -d, -f6"
/* Left of x the one grey, right of it the other. */
#define HALVES(size, x, left, right)                                                                                   \
  "-f lavfi -i nullsrc=s=" size ",format=gray,geq=lum='if(lt(X\\," x ")\\," left "\\," right ")'"

static void expect_notice(const char *wanted, const char *arguments) {
  struct outcome outcome;
  program_run(&outcome, "%s", arguments);
  if (outcome.status || !strstr(outcome.said, wanted))
    fail_msg("%s\nstatus %d, wanted '%s':\n%s", arguments, outcome.status, wanted, outcome.said);
}

/* Without a network, a map is there to be shown: whole, or beside the picture, which here is the input (strength 0). */
static void test_maps(void **state) {
  (void)state;
  shell(FFMPEG HALVES("64x64", "24", "40", "220") " -frames:v 1 halves.png");
  program_expect(0, NULL, "render halves.png map.png -y --size 64x64 --control mask --show map");
  expect_same("mask", GREY("-i map.png"), GREY(HALVES("64x64", "24", "0", "255")));
  program_expect(0, NULL,
                 "render halves.png map.png -y --size 64x64 --control mask --control-with low=0,high=50 "
                 "--show map");
  expect_same("mask of the dark", GREY("-i map.png"), GREY(HALVES("64x64", "24", "255", "0")));
  program_expect(0, NULL, "render halves.png map.png -y --size 64x64 -s 0 --control gray --control mask --show beside");
  expect_same("beside", GREY("-i map.png"),
              GREY("-f lavfi -i "
                   "nullsrc=s=64x64,format=gray,geq=lum='between(Y\\,16\\,47)*if(lt(mod(X\\,32)\\,12)\\,40\\,220)'"));
  program_expect(0, NULL, "render halves.png map.png -y --size 64x64 --control map --show map");
  expect_same("the frame as its map", GREY("-i map.png"), GREY("-i halves.png"));
  expect_notice("it makes the map alone", "render halves.png out.png -y --size 64x64 -s 0 --control canny");
  program_expect(0, NULL, "render halves.png in.png -y --size 64x64 -s 0");
  expect_same("picture", GREY("-i out.png"), GREY("-i in.png"));
  expect_notice("--show does nothing", "render halves.png out.png -y --size 64x64 --show map");
  program_expect(0, NULL,
                 "render halves.png map.png -y --size 64x64 --control depth --depth-model \"$REVERIE_GOLDENS\"/depth "
                 "--control-with speed=0.5,every=2 --show map");
  shell("ffmpeg -v error -i map.png -f rawvideo -pix_fmt gray - | od -An -v -tu1 -w1 | sort -nu >shades.txt && "
        "test $(head -n 1 shades.txt) = 0 && test $(tail -n 1 shades.txt) = 255 && test $(wc -l <shades.txt) -gt 20");
  program_expect(4, "--control depth: nobody/has-this: no file or folder",
                 "render halves.png out.png -y --size 64x64 --control depth --depth-model nobody/has-this");
  program_expect(4, "config.json", "render halves.png out.png -y --size 64x64 --control depth --depth-model .");
  expect_notice("--depth-model does nothing", "render halves.png out.png -y --size 64x64 --depth-model .");
  program_expect(2, "there is no such map", "render halves.png out.png -y --control edges");
}

/* Each frame is of the grey of its number. */
static void make_greys(const char *name, int fps, int frames) {
  shell(FFMPEG "-f lavfi -i color=black:s=32x32:r=%d,format=yuv420p,geq=lum='16+8*N':cb=128:cr=128 -frames:v %d "
               "-c:v ffv1 %s",
        fps, frames, name);
}

/* The number of frame i of `second`, as the greys of a clip's frames tell it, is second_of[i]. */
static void expect_greys(const char *name, int frames, const int *second_of) {
  size_t size;
  uint8_t *luma = shell_output(&size, "ffmpeg -v error -i %s -vf extractplanes=y,crop=1:1:30:30 -f rawvideo -", name);
  assert_int_equal(size, frames);
  for (int i = 0; i < frames; i++)
    if ((luma[i] - 16 + 4) / 8 != second_of[i])
      fail_msg("%s: frame %d is of grey %d, not of frame %d", name, i, luma[i], second_of[i]);
  free(luma);
}

/* What a control sees of a second source, frame by frame: the map that is shown is the frame itself. */
static void test_control_source(void **state) {
  (void)state;
  static const int slower[] = {0, 0, 0, 1, 1, 2, 2, 2, 3, 3}, faster[] = {0, 2, 5, 7}, later[] = {1, 1, 1, 2},
                   held[] = {0, 0, 0, 1, 1, 1, 1, 1, 1, 1};
  make_greys("first.mkv", 30, 10);
  make_greys("slow.mkv", 12, 4);
  make_greys("short.mkv", 12, 2);
  const char *map = "-y --size 64x64 -s 0 --codec ffv1 --show map --control map@source";
  program_expect(0, NULL, "@ render first.mkv out.mkv %s --control-source slow.mkv", map);
  expect_greys("out.mkv", 10, slower);
  program_expect(0, NULL, "@ render slow.mkv out.mkv %s --control-source first.mkv", map);
  expect_greys("out.mkv", 4, faster);
  program_expect(0, NULL,
                 "@ render first.mkv out.mkv %s --control-source slow.mkv --text-to-image --steps 1 --device cpu "
                 "--model \"$REVERIE_GOLDENS/turbo\"",
                 map);
  expect_greys("out.mkv", 10, slower);
  program_expect(0, NULL, "@ render first.mkv out.mkv %s --control-source slow.mkv --start 0.08 --duration 0.13", map);
  expect_greys("out.mkv", 4, later);
  struct outcome outcome;
  program_run(&outcome, "@ render first.mkv out.mkv %s --control-source short.mkv", map);
  assert_int_equal(outcome.status, 0);
  static const char notice[] = "--control-source: short.mkv has ended: its last frame is held";
  const char *told = strstr(outcome.said, notice);
  assert_true(told && !strstr(told + sizeof notice, "held"));
  expect_greys("out.mkv", 10, held);
  program_expect(0, NULL, "@ bench --frames 2 --warmup 0 --size 64x64 --control map@source --control-source slow.mkv");
}

static void test_control_source_refusals(void **state) {
  (void)state;
  static const struct {
    int status;
    const char *wanted, *arguments;
  } cases[] = {
      {2, "--control-source says which", "--control canny@source"},
      {2, "no control sees it", "--control canny --control-source first.mkv"},
      {2, "no control sees it", "--control-source first.mkv"},
      {3, "--control-source: none.mkv", "--control map@source --control-source none.mkv"},
      {3, "--control-source: text.txt", "--control map@source --control-source text.txt"},
      {2, "the same file", "--control map@source --control-source out.mkv"},
      {2, "only one of them can", "--control map@source --control-source - --mask -"},
  };
  make_greys("first.mkv", 30, 4);
  make_greys("out.mkv", 30, 4);
  shell("echo nothing >text.txt");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    program_expect(cases[i].status, cases[i].wanted, "@ render first.mkv out.mkv -y --size 64x64 %s",
                   cases[i].arguments);
}

/* A picture that comes some frames later has its own frame's map. */
static void test_maps_of_a_stream_batch(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=10:d=0.6 -c:v ffv1 six.mkv");
  for (int i = 0; i < 2; i++)
    program_expect(0, NULL,
                   "render six.mkv hash:maps%d.txt -q -y --size 64x64 --steps 3 %s --control canny --show map --model "
                   "\"$REVERIE_EXPECTED\"/../data/goldens/turbo",
                   i, i ? "--stream-batch" : "");
  expect_same("maps", "cat maps0.txt", "cat maps1.txt");
}

/* Seconds of a clip's frames, or of its first stream's packets of sound. Returns how many there are. */
static int read_times(double *times, int most, const char *name, bool sound) {
  int count = 0;
  char *text =
      (char *)shell_output(NULL, "ffprobe -v error -select_streams %s -show_entries %s=pts_time -of csv=p=0 %s",
                           sound ? "a:0" : "v", sound ? "packet" : "frame", name);
  for (char *line = strtok(text, "\n,"); line && count < most; line = strtok(NULL, "\n,"))
    if (*line != ' ' && *line)
      times[count++] = atof(line);
  free(text);
  return count;
}

/* Frames 17 to 78 ms apart, beside sound that begins with them or 0.3 s before: to the millisecond, from start on. */
static void expect_exact_times(const char *in, const char *out, double start) {
  enum { MOST = 256 };
  double was[MOST], is[MOST], sound_was[MOST], sound_is[MOST];
  int frames = read_times(was, MOST, in, false), sounds = read_times(sound_was, MOST, in, true), skip = 0, silent = 0;
  double from = fmin(was[0], sound_was[0]) + start - 1e-6;
  while (start > 0 && skip < frames && was[skip] < from)
    skip++;
  while (start > 0 && silent < sounds && sound_was[silent] < from)
    silent++;
  assert_int_equal(read_times(is, MOST, out, false), frames - skip);
  assert_int_equal(read_times(sound_is, MOST, out, true), sounds - silent);
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
    program_expect(0, NULL, "render %s %s -y --size 64x64 --start %g", cases[i].in, out, cases[i].start);
    expect_exact_times(cases[i].in, out, cases[i].start);
  }
}

/* An MP4's AAC begins before 0, which Matroska and transport streams cannot: there the pictures stay where they are,
 * and so does the sound from 0 on. */
static void test_sound_before_the_start(void **state) {
  (void)state;
  enum { MOST = 256 };
  double was[MOST], is[MOST], frames[MOST];
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -c:a aac primed.mp4");
  int count = read_times(was, MOST, "primed.mp4", true);
  assert_true(count > 40 && was[0] < -0.01);
  static const char *const outputs[] = {"primed.mkv", "primed.mov"};
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_expect(0, NULL, "render primed.mp4 %s --size 64x64", outputs[i]);
    assert_int_equal(read_times(frames, MOST, outputs[i], false), 25);
    int skip = strstr(outputs[i], ".mkv") ? 1 : 0;
    assert_int_equal(read_times(is, MOST, outputs[i], true), count - skip);
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
  assert_non_null(strstr(outcome.said, "pcm_s16le does not fit into mp4"));
  assert_int_equal(clip_count_frames("pcm.mp4"), 10);
  program_run(&outcome, "render pcm.mkv pcm.ts --size 64x64"); /* its muxer takes it, as data without a name */
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "pcm_s16le does not fit into mpegts"));
  /* Muxers that do not say beforehand what they refuse; it depends on their version what that is. */
  static const char *const cases[][2] = {{"flac", "mp4"}, {"flac", "mov"},    {"libopus", "mov"}, {"aac", "mpg"},
                                         {"aac", "ogv"},  {"libopus", "ogv"}, {"ac3", "mp4"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shell(FFMPEG "-i pcm.mkv -c:v copy -c:a %s -strict experimental other.mkv", cases[i][0]);
    program_run(&outcome, "render other.mkv other.%s -y --size 64x64", cases[i][1]);
    if (outcome.status || outcome.lines > 2 || (outcome.lines == 2 && !strstr(outcome.said, "does not fit into")))
      fail_msg("%s into %s: status %d, %s", cases[i][0], cases[i][1], outcome.status, outcome.said);
    char name[16];
    snprintf(name, sizeof name, "other.%s", cases[i][1]);
    assert_int_equal(clip_count_frames(name), 10);
  }
}

/* The AAC of transport streams has headers of its own, which files with an index do without; what is heard is the
 * same. DASH is a folder full of files, and its muxer opens them itself. */
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

/* What is there of half a clip is rendered and can be played; that the rest is missing is said even by -q. */
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
  program_expect(0, "8 frames", "render half.mp4 enough.mkv -y --size 64x64 --duration 0.8");
}

/* A part of the clip has that part's sound, and both begin at 0. */
static void test_parts(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x64:r=20:d=3 -f lavfi -i sine=d=3 -c:v libx264 -g 30 -c:a aac part.mp4");
  program_expect(0, "20 frames", "render part.mp4 cut.mkv --size 64x64 --start 1.5 --duration 1");
  expect_same("first time", "echo 0.000000", TIMES("cut.mkv") " | head -1");
  char *seconds =
      (char *)shell_output(NULL, "ffprobe -v error -select_streams a -show_entries packet=pts_time -of csv=p=0 "
                                 "cut.mkv");
  double first = atof(seconds), last = first;
  for (char *line = strtok(seconds, "\n"); line; line = strtok(NULL, "\n"))
    last = atof(line);
  assert_true(first >= 0 && first < 0.05 && last > 0.93 && last < 1.0);
  free(seconds);
  /* The container begins with the sound, whose first packet lies before 0 in the input: all times are 0.023 later. */
  program_expect(0, "7 frames", "render part.mp4 few.mkv --size 64x64 --frames 7");
  seconds = (char *)shell_output(NULL, "ffprobe -v error -select_streams a -show_entries packet=pts_time -of csv=p=0 "
                                       "few.mkv | tail -1");
  assert_true(atof(seconds) > 0.33 && atof(seconds) < 0.375);
  free(seconds);
}

/* Columns and rows of the bright part of a clip's first frame. */
static void measure_bright(const char *name, int *columns, int *rows) {
  int width, height;
  char *size = (char *)shell_output(
      NULL, "ffprobe -v error -select_streams v -show_entries stream=width,height -of csv=p=0 %s", name);
  assert_int_equal(sscanf(size, "%d,%d", &width, &height), 2);
  free(size);
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

/* PAL's wide screen: 16:9 stored as 5:4. A disc 0.6 of the height across is round in every output, and without a size
 * the shape stays 16:9; strength 0 shows what is fitted. */
static void test_anamorphic(void **state) {
  (void)state;
  static const struct {
    const char *arguments;
    int diameter; /* 0: asked to stretch */
  } cases[] = {{"", 173},
               {"--size 256x256", 154},
               {"--size 192x256", 154},
               {"--size 256x256 --fit letterbox", 86},
               {"--size 256x256 --fit stretch", 0}};
  shell(FFMPEG "-f lavfi -i \"nullsrc=s=1024x576:r=10:d=0.2,format=gray,"
               "geq=lum='if(lt(hypot(X+0.5-512\\,Y+0.5-288)\\,173)\\,235\\,16)',scale=720:576,setsar=64/45\" "
               "-c:v libx264 -crf 10 -pix_fmt yuv420p wide.mp4");
  expect_same("input's shape", "echo 16:9",
              "ffprobe -v error -show_entries stream=display_aspect_ratio -of csv=p=0 wide.mp4");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int columns, rows;
    program_expect(0, "2 frames", "render wide.mp4 round.mp4 -y --strength 0 %s", cases[i].arguments);
    measure_bright("round.mp4", &columns, &rows);
    int wide = cases[i].diameter ? cases[i].diameter : 86, high = cases[i].diameter ? cases[i].diameter : 154;
    if (abs(columns - wide) > 2 || abs(rows - high) > 2)
      fail_msg("'%s': the disc is %dx%d, not %dx%d", cases[i].arguments, columns, rows, wide, high);
    expect_same("pixels", "echo 1:1",
                "ffprobe -v error -show_entries stream=sample_aspect_ratio -of csv=p=0 round.mp4");
    if (!*cases[i].arguments)
      expect_same("shape", "echo 512,288,16:9",
                  "ffprobe -v error -show_entries stream=width,height,display_aspect_ratio -of csv=p=0 round.mp4");
  }
}

static void test_odd_containers(void **state) {
  (void)state;
  static const struct {
    const char *name, *codec;
  } outputs[] = {
      {"out.webm", "vp9"}, {"out.avi", "h264"}, {"out.gif", "gif"}, {"out.ts", "h264"}, {"out.mpg", "mpeg1video"}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=97x61:r=25:d=0.4 -c:v ffv1 -pix_fmt yuv444p10le odd.mkv");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_expect(0, "10 frames", "render odd.mkv %s --size 64x64", outputs[i].name);
    char *codec = (char *)shell_output(NULL,
                                       "ffprobe -v error -select_streams v -show_entries stream=codec_name -of "
                                       "csv=p=0 %s | head -1",
                                       outputs[i].name);
    assert_int_equal(strncmp(codec, outputs[i].codec, strlen(outputs[i].codec)), 0);
    assert_int_equal(clip_count_frames(outputs[i].name), 10);
    free(codec);
  }
  program_expect(0, "1 frame,", "render odd.mkv shot.png --size 64x64 --frames 1");
  expect_same("picture", "echo png,64,64",
              "ffprobe -v error -show_entries stream=codec_name,width,height -of csv=p=0 shot.png");
}

/* MPEG-1 knows no 10 frames a second, and the stream around it not every frame's time: MPEG-2 is taken, unless asked
 * otherwise. In Matroska each frame has its time, whatever rate the codec believes in. */
static void test_rates_of_codecs(void **state) {
  (void)state;
  program_expect(0, "10 frames", "render lavfi:testsrc2=s=96x64:r=10 ten.mpg --size 64x64 --frames 10");
  expect_same(
      "rate", "echo mpeg2video,10/1",
      "ffprobe -v error -show_entries stream=codec_name,r_frame_rate -of csv=p=0 ten.mpg | head -1 | cut -d, -f1,2");
  assert_int_equal(clip_count_frames("ten.mpg"), 10);
  program_expect(6, "mpeg1video cannot do 10 frames a second; try .mkv",
                 "render lavfi:testsrc2=s=96x64:r=10 no.mpg --size 64x64 --frames 10 -c mpeg1video");
  program_expect(6, "mpeg1video cannot do 10 frames a second",
                 "render lavfi:testsrc2=s=96x64:r=10 no.m1v --size 64x64 --frames 10");
  program_expect(6, "mpeg1video cannot do 100 frames a second", /* time would run slower */
                 "render lavfi:testsrc2=s=96x64:r=100 no.mkv --size 64x64 --frames 10 -c mpeg1video");
  shell("test ! -e no.mpg -a ! -e no.m1v -a ! -e no.mkv");
  program_expect(0, "10 frames", "render lavfi:testsrc2=s=96x64:r=10 ten.mkv --size 64x64 --frames 10 -c mpeg1video");
  char *seconds = (char *)shell_output(NULL, TIMES("ten.mkv") " | tail -1");
  assert_float_equal(atof(seconds), 0.9, 0.022);
  free(seconds);
}

/* The same every time; another seed, prompt or strength is another picture. */
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

/* A walk from seed to seed goes by the frames' times: the same every time, and at whole seeds that seed. 4 frames of
 * 0.1 s of a picture that stands still. */
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

/* A script goes by the frames' times: what it begins with is as if it had been an option, and each frame is that of an
 * unchanging film with its values. What needs another size or step count is left out by name. */
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

/* A blend of one prompt is that prompt; one of two is neither. */
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

/* Interrupted in the middle: all frames that the program says are there can be played. */
static void test_interrupted(void **state) {
  (void)state;
  static const struct {
    const char *name;
    int signal;
  } cases[] = {{"stop.mp4", SIGINT}, {"stop.mkv", SIGTERM}};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    pid_t pid = program_start("render lavfi:testsrc2=s=96x64:r=6 %s --size 64x64", cases[i].name);
    wait_for_size(cases[i].name, 3000);
    kill(pid, cases[i].signal);
    program_wait(&outcome, pid);
    assert_int_equal(outcome.status, 130);
    assert_int_equal(outcome.lines, 2);
    const char *said = strstr(outcome.said, "interrupted: ");
    assert_non_null(said);
    long frames = atol(said + strlen("interrupted: "));
    assert_true(frames > 5);
    assert_int_equal(clip_count_frames(cases[i].name), frames);
  }
}

/* What nohup and a shell's background job have ignored stays ignored. */
static void test_ignored_signal(void **state) {
  (void)state;
  program_expect(
      0, "24 frames",
      "trap '' HUP; @ render lavfi:testsrc2=s=96x64:r=6 kept.mkv --size 64x64 "
      "--frames 24 & pid=$!; while kill -0 $pid && [ ! -s kept.mkv ]; do sleep 0.02; done; kill -HUP $pid; wait $pid");
  assert_int_equal(clip_count_frames("kept.mkv"), 24);
}

/* Not even given the time to say goodbye. */
static void test_killed(void **state) {
  (void)state;
  static const char *const names[] = {"killed.mp4", "killed.mkv"};
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    pid_t pid = program_start("render lavfi:testsrc2=s=96x64:r=6 %s --size 64x64", names[i]);
    wait_for_size(names[i], 40000);
    kill(pid, SIGKILL);
    program_wait(&outcome, pid);
    assert_int_equal(outcome.status, 128 + SIGKILL);
    assert_true(clip_count_frames(names[i]) >= 12);
  }
}

/* Memory after many frames is what it was after few. */
static void test_flat_memory(void **state) {
  (void)state;
  static const int frames[] = {60, 300};
  long peak[2];
  for (int i = 0; i < 2; i++) {
    struct outcome outcome;
    /* The address sanitizer keeps freed memory for a while, up to a quarter of a gigabyte. */
    program_run(&outcome,
                "export ASAN_OPTIONS=quarantine_size_mb=1:$ASAN_OPTIONS; "
                "@ render lavfi:testsrc2=s=96x64:r=25 long.mp4 -y --size 64x64 --frames %d",
                frames[i]);
    assert_int_equal(outcome.status, 0);
    peak[i] = outcome.peak_kb;
  }
  if (peak[1] > peak[0] + 4096)
    fail_msg("%d frames take %ld KiB, %d frames %ld KiB", frames[0], peak[0], frames[1], peak[1]);
}

static double number(const cJSON *json, const char *name) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(json, name);
  if (!cJSON_IsNumber(item))
    fail_msg("%s is missing", name);
  return item->valuedouble;
}

static void test_bench(void **state) {
  (void)state;
  program_expect(0, NULL, "bench --size 64x64 --frames 6 --warmup 1 --json - >bench.json");
  char *text = (char *)shell_output(NULL, "cat bench.json");
  cJSON *json = cJSON_Parse(text);
  assert_non_null(json);
  assert_true(number(json, "width") == 64 && number(json, "flops") > 1e8 && number(json, "first_frame_ms") > 0);
  assert_true(number(json, "peak_memory_bytes") > 1e7);
  const cJSON *row, *rows = cJSON_GetObjectItemCaseSensitive(json, "rows");
  assert_int_equal(cJSON_GetArraySize(rows), 3);
  cJSON_ArrayForEach(row, rows) {
    assert_true(number(row, "frames") == 6 && number(row, "fps") > 0);
    assert_true(number(row, "min_ms") > 0 && number(row, "min_ms") <= number(row, "median_ms"));
    assert_true(number(row, "median_ms") <= number(row, "p95_ms") && number(row, "p99_ms") <= number(row, "max_ms"));
  }
  cJSON_Delete(json);
  free(text);
  program_expect(0, NULL, "bench --size 64x64 --frames 3 >table.txt");
  shell("grep -q '^compute only  *3 ' table.txt && grep -q '^end to end, overlapped  *3 ' table.txt");
  program_expect(0, NULL, "info >info.txt");
  shell("grep -q 'unet' info.txt && grep -q 'cpu ' info.txt");
}

/* At whatever moment, and with no figures of half a run. */
static void test_bench_interrupted(void **state) {
  (void)state;
  for (int ms = 50; ms <= 600; ms += 110) {
    struct outcome outcome;
    pid_t pid = program_start("bench --size 64x64 --frames 10000");
    nanosleep(&(struct timespec){0, ms * 1000000L}, NULL);
    kill(pid, SIGINT);
    program_wait(&outcome, pid);
    if (outcome.status != 130 || outcome.lines > 1)
      fail_msg("after %d ms: status %d, %s", ms, outcome.status, outcome.said);
    shell("test ! -s out.txt");
  }
}

static void test_text_to_image_is_refused(void **state) {
  (void)state;
  program_expect(2, "restyles an input picture", "render pattern null: --text-to-image --size 64x64");
}

/* Inpainting: a still mask, one that moves along with the input, and the input's own alpha. The input is 8 frames that
 * all differ; hashes of frames that are repainted as a whole are the same, since the model sees none of them. */
#define INPAINT "--model \"$REVERIE_GOLDENS/inpaint\" --device cpu --size 80x64 --steps 2 -y"
#define HASHES(name) "$(grep '^[0-9]' " name " | cut -d' ' -f3)"

static void test_inpainting(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=80x64:r=8 -frames:v 8 -pix_fmt yuv420p -c:v ffv1 in.mkv");
  shell(FFMPEG "-f lavfi -i color=black:s=160x128,drawbox=20:20:70:60:white:fill -frames:v 1 box.png");
  shell(FFMPEG "-f lavfi -i color=white:s=50x40 -frames:v 1 white.png");
  shell(FFMPEG "-loop 1 -r 8 -t 0.5 -i box.png -loop 1 -r 8 -t 0.25 -i white.png -filter_complex "
               "'[1]scale=160:128[w];[0][w]concat' -c:v ffv1 moves.mkv");
  struct outcome outcome;
  program_run(&outcome, "render in.mkv hash:none.txt " INPAINT);
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "everything is repainted"));
  program_expect(0, "8 frames", "render in.mkv hash:white.txt --mask white.png " INPAINT);
  program_expect(0, "8 frames", "render in.mkv hash:box.txt --mask box.png " INPAINT);
  program_expect(0, "8 frames", "render in.mkv hash:moves.txt --mask moves.mkv " INPAINT);
  shell("cmp none.txt white.txt && test $(echo " HASHES("none.txt") " | tr ' ' '\n' | sort -u | wc -l) = 1");
  shell("test $(echo " HASHES("box.txt") " " HASHES("none.txt") " | tr ' ' '\n' | sort -u | wc -l) = 9");
  shell("grep '^[0-3] ' box.txt > a && grep '^[0-3] ' moves.txt > b && cmp a b");
  shell("grep '^[4-7] ' none.txt > a && grep '^[4-7] ' moves.txt > b && cmp a b");
}

/* Where the input is transparent; 40 columns are. */
static void test_inpainting_alpha(void **state) {
  (void)state;
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=80x64:r=8 -frames:v 4 -vf "
        "\"format=rgba,geq=r='r(X,Y)':g='g(X,Y)':b='b(X,Y)':a='if(gt(X,39),0,255)',format=rgba\" -c:v png a.mkv");
  shell(FFMPEG "-i a.mkv -vf format=rgb24 -c:v png opaque.mkv");
  shell(FFMPEG "-f lavfi -i color=black:s=80x64,drawbox=40:0:40:64:white:fill -frames:v 1 right.png");
  program_expect(0, "4 frames", "render a.mkv hash:alpha.txt --mask alpha " INPAINT);
  program_expect(0, "4 frames", "render opaque.mkv hash:right.txt --mask right.png " INPAINT);
  shell("cmp alpha.txt right.txt");
  program_expect(3, "have no alpha", "render opaque.mkv hash:no.txt --mask alpha " INPAINT);
}

static void test_mask_refusals(void **state) {
  (void)state;
  clip_random_bytes("noise.bin", 5000);
  program_expect(2, "takes no mask", "render pattern:96x64 hash:no.txt --size 64x64 --frames 1 --mask white.png");
  program_expect(3, "nosuch.png", "render in.mkv hash:no.txt --mask nosuch.png " INPAINT);
  program_expect(3, "--mask", "render in.mkv hash:no.txt --mask noise.bin " INPAINT);
  shell("seq 500 >notes.txt");
  program_expect(3, "notes.txt: is text, no picture or video", "render in.mkv hash:no.txt --mask notes.txt " INPAINT);
  program_expect(3, "is text, no picture or video", "render notes.txt hash:no.txt");
  program_expect(2, "text alone", "render in.mkv hash:no.txt --text-to-image " INPAINT);
}

/* The sample clip, losslessly, against stored pictures (make_expected.sh): all of it, or under the slow sanitizers a
 * third. */
static void test_sample_clip(void **state) {
  (void)state;
#ifdef __SANITIZE_ADDRESS__
  enum { FRAMES = 64, STORED = 2 };
#else
  enum { FRAMES = 190, STORED = 4 };
#endif
  char frames[32], times[256];
  snprintf(frames, sizeof frames, "%d frames", FRAMES);
  snprintf(times, sizeof times, "%s | head -%d", TIMES("\"$REVERIE_ASSETS/sample.mp4\""), FRAMES);
  program_expect(0, frames,
                 "render \"$REVERIE_ASSETS/sample.mp4\" sample.mkv --frames %d $(cat \"$REVERIE_EXPECTED/arguments\")",
                 FRAMES);
  expect_same("timestamps", times, TIMES("sample.mkv"));
  char *similarity = (char *)shell_output(
      NULL,
      "ffmpeg -nostdin -v info -i sample.mkv -framerate 1 -t %d -start_number 0 -i \"$REVERIE_EXPECTED/%%d.png\" "
      "-filter_complex \"[0:v]select='not(mod(n\\,63))',setpts=N/TB,format=gbrp[a];[1:v]setpts=N/TB,format=gbrp[b];"
      "[a][b]ssim=f=ssim.txt\" -f null - 2>/dev/null && cat ssim.txt",
      STORED);
  int pictures = 0;
  for (char *line = strtok(similarity, "\n"); line; line = strtok(NULL, "\n"), pictures++) {
    const char *all = strstr(line, "All:");
    assert_non_null(all);
    if (atof(all + 4) < 0.98)
      fail_msg("picture %d: %s", pictures, line);
  }
  assert_int_equal(pictures, STORED);
  free(similarity);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_control_source),
      cmocka_unit_test(test_control_source_refusals),
      cmocka_unit_test(test_maps_of_a_stream_batch),
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
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_script),
      cmocka_unit_test(test_blends),
      cmocka_unit_test(test_seed_walk),
      cmocka_unit_test(test_interrupted),
      cmocka_unit_test(test_ignored_signal),
      cmocka_unit_test(test_killed),
      cmocka_unit_test(test_flat_memory),
      cmocka_unit_test(test_bench),
      cmocka_unit_test(test_bench_interrupted),
      cmocka_unit_test(test_text_to_image_is_refused),
      cmocka_unit_test(test_inpainting),
      cmocka_unit_test(test_inpainting_alpha),
      cmocka_unit_test(test_mask_refusals),
      cmocka_unit_test(test_sample_clip),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
