/* Tests picture files: sequences with gaps and damaged pictures, numbers, animated pictures. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { MOST = 64 };

/* Writes pictures of one colour each to the folder, numbered from 1 to `count`, with red 40 times the number. */
static void make_pictures(const char *folder, const char *pattern, int count) {
  shell("rm -rf %s && mkdir %s && " FFMPEG
        "-f lavfi -i \"color=s=64x36:r=25,format=gbrp,geq=r='40*(N+1)':g=10:b=10\" -frames:v %d -pix_fmt rgb24 "
        "-update 0 -f image2 -c:v %s %s/%s",
        folder, folder, count, strstr(pattern, ".jpg") ? "mjpeg -pix_fmt yuvj444p -q:v 1" : "png", folder, pattern);
}

static void expect_names(const char *folder, const char *names) {
  char command[128];
  snprintf(command, sizeof command, "ls %s | tr '\\n' ' '", folder);
  char *there = (char *)shell_output(NULL, "%s", command);
  if (strcmp(there, names) != 0)
    fail_msg("%s has %s, not %s", folder, there, names);
  free(there);
}

/* Checks the pixel in the middle of a picture, or of a clip's first frame. */
static void expect_color(const char *name, int red, int green, int blue, int tolerance) {
  size_t size;
  uint8_t *pixel =
      shell_output(&size, "ffmpeg -v error -i %s -frames:v 1 -vf format=rgb24,crop=1:1:exact=1 -f rawvideo -", name);
  assert_int_equal(size, 3);
  if (abs(pixel[0] - red) > tolerance || abs(pixel[1] - green) > tolerance || abs(pixel[2] - blue) > tolerance)
    fail_msg("%s is %d %d %d, not %d %d %d", name, pixel[0], pixel[1], pixel[2], red, green, blue);
  free(pixel);
}

#define PLAIN " --size 64x64 --strength 0"

/* In a sequence with gaps each picture is written under its own number; in a video it has the time of its number. */
static void test_gap(void **state) {
  (void)state;
  double times[MOST];
  make_pictures("gap", "f%04d.png", 6);
  shell("rm gap/f0003.png && mkdir o");
  program_expect(3, "gap/f%04d.png: missing: f0003.png\n", "render gap/f%%04d.png o/f%%04d.png" PLAIN);
  expect_names("o", "f0001.png f0002.png f0004.png f0005.png f0006.png ");
  expect_color("o/f0004.png", 160, 10, 10, 2);
  program_expect(3, "missing: f0003.png\n", "render gap/f%%04d.png gap.mkv" PLAIN);
  assert_int_equal(clip_times("gap.mkv", CLIP_FRAMES, times, MOST), 5);
  static const double expected[] = {0, 0.04, 0.12, 0.16, 0.2};
  for (int i = 0; i < 5; i++)
    assert_float_equal(times[i], expected[i], 1e-3);
  /* with a part of a sequence, the missing pictures of that part are reported */
  program_expect(0, "2 frames", "render gap/f%%04d.png hash:- --frames 2" PLAIN);
  program_expect(3, "missing: f0003.png\n", "render gap/f%%04d.png hash:- --frames 3" PLAIN);
  program_expect(0, "2 frames", "render gap/f%%04d.png hash:- --duration 0.08" PLAIN);
  program_expect(3, "missing: f0003.png\n", "render gap/f%%04d.png hash:- --duration 0.12" PLAIN);
  program_expect(3, "missing: f0003.png\n", "render gap/f%%04d.png o/a%%d.png --start 0.08 --frames 1" PLAIN);
  program_expect(0, "2 frames", "render gap/f%%04d.png o/b%%d.png --start 0.5 --input-fps 8" PLAIN);
  shell("rm o/f*");
  expect_names("o", "a4.png b5.png b6.png ");
}

/* Ranges of missing pictures in one message, numbers without leading zeros, and files that are empty, no pictures, or
 * broken links. */
static void test_many_gaps(void **state) {
  (void)state;
  make_pictures("holes", "p%d.png", 6);
  shell("cd holes && mv p6.png p112.png && mv p5.png p20.png && mv p4.png p12.png && mv p3.png p11.png && "
        ": >p9.png && ln -s nowhere p10.png && : >p8.png && echo text >p13.png && ln -s nowhere p113.png");
  shell("rm -rf o && mkdir o");
  program_expect(3,
                 "missing: p3.png to p7.png, p10.png, p14.png to p19.png, p21.png to p111.png, p113.png; "
                 "damaged: p8.png, p9.png, p13.png\n",
                 "render holes/p%%d.png o/%%03d.png" PLAIN);
  expect_names("o", "001.png 002.png 011.png 012.png 020.png 112.png ");
  expect_color("o/020.png", 200, 10, 10, 2);
  /* A glob finds existing files only, and the numbers in their names count. */
  shell("rm -rf o && mkdir o && rm holes/p113.png holes/p9.png holes/p8.png holes/p13.png");
  program_expect(3, "holes/*.png: missing: p10.png\n",
                 "render 'holes/*.png' o/%%d.png --input-options pattern_type=glob" PLAIN);
  expect_names("o", "1.png 11.png 112.png 12.png 2.png 20.png ");
  expect_color("o/2.png", 80, 10, 10, 2);
  shell("rm -rf o && mkdir o && mv holes/p1.png holes/shot-a.png && mv holes/p2.png holes/shot.png");
  program_expect(0, "2 frames", "render 'holes/s*.png' o/%%d.png --input-options pattern_type=glob" PLAIN);
  expect_names("o", "1.png 2.png ");
}

/* A picture that is cut off, or in which one bit is wrong, is reported and left out, and later ones keep their numbers.
 * This also holds for formats whose decoder would silently fill the rest with grey. */
static void test_damaged(void **state) {
  (void)state;
  static const struct {
    const char *extension, *encoder;
    bool bit; /* true: the format has a checksum that detects a single wrong bit */
  } kinds[] = {{"png", "png", true},       {"jpg", "mjpeg -q:v 1", false}, {"tiff", "tiff", false},
               {"webp", "libwebp", false}, {"bmp", "bmp", false},          {"exr", "exr", false}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *extension = kinds[i].extension;
    char wanted[64];
    shell("rm -rf cut o && mkdir cut o && " FFMPEG
          "-f lavfi -i testsrc2=s=64x64:r=25 -frames:v 5 -f image2 -c:v %s cut/c%%d.%s && cd cut && "
          "truncate -s $(($(stat -c %%s c3.%s) * 6 / 10)) c3.%s",
          kinds[i].encoder, extension, extension, extension);
    if (kinds[i].bit)
      shell("printf '\\377' | dd of=cut/c2.%s bs=1 seek=$(($(stat -c %%s cut/c2.%s) / 2)) conv=notrunc 2>/dev/null",
            extension, extension);
    snprintf(wanted, sizeof wanted, kinds[i].bit ? "damaged: c2.%s, c3.%s\n" : "damaged: c3.%s\n", extension,
             extension);
    program_expect(3, wanted, "render cut/c%%d.%s o/%%d.png" PLAIN, extension);
    expect_names("o", kinds[i].bit ? "1.png 4.png 5.png " : "1.png 2.png 4.png 5.png ");
  }
  shell("rm -rf o && mkdir o && : >cut/c1.exr");
  program_expect(3, "damaged: c1.exr, c3.exr\n",
                 /* a missing picture's size is taken from the next one */
                 "render cut/c%%d.exr o/%%d.png --strength 0");
  expect_names("o", "2.png 4.png 5.png ");
  expect_same("size", "echo 512x512", "ffprobe -v error -show_entries stream=width,height -of csv=p=0:s=x o/2.png");
}

/* Files that one part of a sequence has written do not prevent the next part. */
static void test_parts_of_a_sequence(void **state) {
  (void)state;
  make_pictures("whole", "f%03d.jpg", 6);
  shell("rm -rf o && mkdir o");
  program_expect(0, "3 frames", "render whole/f%%03d.jpg o/f%%03d.png --duration 0.12" PLAIN);
  program_expect(0, "2 frames", "render whole/f%%03d.jpg o/f%%03d.png --start 0.12 --frames 2" PLAIN);
  program_expect(6, "o/f005.png: exists already", "render whole/f%%03d.jpg o/f%%03d.png --start 0.16" PLAIN);
  program_expect(0, "1 frame", "render whole/f%%03d.jpg o/f%%03d.png --start 0.2" PLAIN);
  expect_names("o", "f001.png f002.png f003.png f004.png f005.png f006.png ");
  expect_color("o/f005.png", 200, 10, 10, 3);
  program_expect(6, " and 3 more of its kind exist",
                 "render whole/f%%03d.jpg o/f%%03d.png --input-options start_number=3" PLAIN);
}

/* An animated picture becomes one picture for each frame if the output's name has a number, otherwise an animation that
 * repeats forever. */
static void test_pictures_that_move(void **state) {
  (void)state;
  make_pictures("whole", "f%d.png", 3);
  shell("rm -rf o && mkdir o");
  program_expect(0, "3 frames", "render whole/f%%d.png o/%%d.webp" PLAIN);
  expect_names("o", "1.webp 2.webp 3.webp ");
  program_expect(0, "3 frames", "render whole/f%%d.png moving.webp" PLAIN);
  program_expect(0, "3 frames", "render whole/f%%d.png moving.apng" PLAIN);
  /* the number of repetitions in the file: 0 means forever */
  expect_same("WebP's rounds", "echo 00 00",
              "grep -abo ANIM moving.webp | head -1 | cut -d: -f1 | { read at; "
              "dd if=moving.webp bs=1 skip=$((at + 12)) count=2 2>/dev/null | od -An -tx1 | xargs; }");
  expect_same("APNG's rounds", "echo 00 00 00 00",
              "grep -abo acTL moving.apng | head -1 | cut -d: -f1 | { read at; "
              "dd if=moving.apng bs=1 skip=$((at + 8)) count=4 2>/dev/null | od -An -tx1 | xargs; }");
}

/* Returns the mean absolute difference of two pictures of this size, in 8-bit levels. */
static double distance(const char *one, const char *filter, const char *other, int width, int height) {
  size_t sizes[2], bytes = (size_t)(width * height * 3);
  uint8_t *a =
      shell_output(&sizes[0], "ffmpeg -v error -i %s -vf %s,format=rgb24 -frames:v 1 -f rawvideo -", one, filter);
  uint8_t *b = shell_output(&sizes[1], "ffmpeg -v error -i %s -vf format=rgb24 -frames:v 1 -f rawvideo -", other);
  double sum = 0;
  assert_int_equal(sizes[0], bytes);
  assert_int_equal(sizes[1], bytes);
  for (size_t i = 0; i < bytes; i++)
    sum += abs(a[i] - b[i]);
  free(a);
  free(b);
  return sum / (double)bytes;
}

/* Checks that a picture was turned by this filter. Another turn or mirror would differ by 60 to 80 levels, chroma
 * subsampling by up to 10. */
static void expect_turned(const char *upright, const char *filter, const char *turned, int width, int height) {
  double away = distance(upright, filter, turned, width, height);
  if (away > 20)
    fail_msg("%s is %.1f from %s by %s", turned, away, upright, filter);
}

#define ORIENTED "python3 -B \"$REVERIE_TESTS/rigs/oriented.py\" "

/* Finds the pixel of the file that a viewer shows at x, y for this EXIF orientation; side: the last row and column. */
static void find_stored(int orientation, int x, int y, int side, int *stored_x, int *stored_y) {
  bool swaps = orientation >= 5,
       from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8,
       from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  *stored_x = swaps ? y : x;
  *stored_y = swaps ? x : y;
  if (from_right)
    *stored_x = side - *stored_x;
  if (from_bottom)
    *stored_y = side - *stored_y;
}

/* Compares square RGB pictures in all EXIF orientations. */
static void expect_all_turned(const uint8_t *upright, const uint8_t *turned, int size, const char *kind) {
  for (int orientation = 1; orientation <= 8; orientation++) {
    long sum = 0;
    for (int y = 0; y < size; y++)
      for (int x = 0; x < size; x++) {
        int stored_x, stored_y;
        find_stored(orientation, x, y, size - 1, &stored_x, &stored_y);
        for (int i = 0; i < 3; i++)
          sum += labs(upright[(stored_y * size + stored_x) * 3 + i] - *turned++);
      }
    if (sum > 20L * size * size * 3)
      fail_msg("%s: orientation %d is %.1f away", kind, orientation, (double)sum / (size * size * 3));
  }
}

/* All EXIF orientations, in each kind of file that can have one; in a sequence each picture has its own. */
static void test_orientation_of_pictures(void **state) {
  (void)state;
  static const char *const kinds[][2] = {
      {"jpg", "mjpeg -q:v 1 -pix_fmt yuvj420p"}, {"png", "png"}, {"webp", "libwebp -lossless 1"}, {"tiff", "tiff"}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    const char *kind = kinds[i][0];
    size_t sizes[2];
    shell("rm -rf o t && mkdir o t && " FFMPEG
          "-f lavfi -i testsrc2=s=64x64 -frames:v 1 -f image2 -c:v %s up.%s && " ORIENTED "up.%s t/%%d.%s",
          kinds[i][1], kind, kind, kind);
    program_expect(0, "8 frames", "render t/%%d.%s o/%%d.png" PLAIN, kind);
    uint8_t *upright = shell_output(&sizes[0], "ffmpeg -v error -i up.%s -pix_fmt rgb24 -f rawvideo -", kind);
    uint8_t *turned = shell_output(&sizes[1], "ffmpeg -v error -i o/%%d.png -pix_fmt rgb24 -f rawvideo -");
    assert_int_equal(sizes[0], 64 * 64 * 3);
    assert_int_equal(sizes[1], 8 * 64 * 64 * 3);
    expect_all_turned(upright, turned, 64, kind);
    free(upright);
    free(turned);
  }
  /* The output has the shape that viewers show, after turning. */
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x80 -frames:v 1 -f image2 wide.jpg && " ORIENTED "wide.jpg wide%%d.jpg");
  program_expect(0, "1 frame, 320x512", "render wide6.jpg high.png --strength 0");
  expect_turned("wide.jpg", "scale=512:320,transpose=1", "high.png", 320, 512);
  program_expect(0, "1 frame, 320x512", "render - hash:- -y <wide7.jpg");
  program_expect(0, "1 frame, 512x320", "render wide3.jpg hash:- -y");
}

/* H.264 and HEVC have the orientation in a message before a picture; MP4 has a matrix, which may be inexact. */
static void test_orientation_of_video(void **state) {
  (void)state;
  static const struct {
    const char *kind, *says, *filter;
  } cases[] = {{"h264", "1 0 0", "transpose=2"},
               {"h264", "0 1 0", "hflip"},
               {"h264", "3 0 1", "vflip,transpose=1"},
               {"hevc", "1 0 0", "transpose=2"},
               {"hevc", "1 1 0", "hflip,transpose=2"}};
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:d=0.1 -c:v libx264 -crf 1 -pix_fmt yuv420p up.h264");
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:d=0.1 -c:v libx265 -x265-params log-level=none:crf=1 -pix_fmt yuv420p up.hevc");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char upright[16];
    shell(ORIENTED "up.%s says.%s %s", cases[i].kind, cases[i].kind, cases[i].says);
    program_expect(0, "1 frame", "render says.%s says.png -y --frames 1" PLAIN, cases[i].kind);
    snprintf(upright, sizeof upright, "up.%s", cases[i].kind);
    expect_turned(upright, cases[i].filter, "says.png", 64, 64);
  }
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x80:d=0.1 -c:v libx264 -crf 1 -pix_fmt yuv420p wide.mp4 && " FFMPEG
               "-i wide.mp4 -c copy -bsf:v h264_metadata=display_orientation=insert:rotate=90 high.mp4 && " FFMPEG
               "-i wide.mp4 -c copy -metadata:s:v rotate=90 turned.mp4 && " ORIENTED "turned.mp4 computed.mp4");
  program_expect(0, "1 frame, 320x512", "render high.mp4 high.png -y --frames 1 --strength 0");
  expect_turned("wide.mp4", "scale=512:320,transpose=2", "high.png", 320, 512);
  program_expect(0, "1 frame, 320x512", "render computed.mp4 high.png -y --frames 1 --strength 0");
  expect_turned("wide.mp4", "scale=512:320,transpose=2", "high.png", 320, 512);
}

/* The colour 200 60 40 as zscale converts it to wider primaries: with 10 and 8 bits, and in a picture with alpha. */
static void test_wide_colours(void **state) {
  (void)state;
  static const char *const clips[] = {
      "format=yuv420p10le,geq=lum=418:cb=417:cr=663 -c:v libx265 -x265-params log-level=none -color_primaries bt2020 "
      "-colorspace bt2020nc -color_trc bt709 2020.mp4",
      "format=yuv420p,geq=lum=98:cb=108:cr=178 -c:v libx264 -crf 1 -color_primaries smpte432 -colorspace bt709 "
      "-color_trc bt709 p3.mp4",
      "format=yuv420p,geq=lum=99:cb=107:cr=180 -c:v ffv1 -color_primaries smpte431 -colorspace bt709 -color_trc bt709 "
      "dci.mkv"};
  for (size_t i = 0; i < sizeof clips / sizeof *clips; i++) {
    shell(FFMPEG "-f lavfi -i color=s=64x64:r=25:d=0.08 -vf %s", clips[i]);
    program_expect(0, "1 frame", "render %s wide.png -y --frames 1" PLAIN, strrchr(clips[i], ' ') + 1);
    expect_color("wide.png", 200, 60, 40, 3);
  }
}

/* If a picture has transparency and the output format has none, a line says so; otherwise there is no such line. */
static void test_transparency(void **state) {
  (void)state;
  static const char *const outputs[] = {"seen.jpg", "seen.gif", "seen.mp4"};
  struct outcome outcome;
  shell(FFMPEG "-f lavfi -i color=red@0.5:s=64x64:d=0.04,format=rgba -frames:v 1 -c:v png alpha.png -c:v libvpx-vp9 "
               "-pix_fmt yuva420p alpha.webm -pix_fmt rgb24 -c:v png plain.png");
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    program_run(&outcome, "render alpha.png %s -y" PLAIN, outputs[i]);
    assert_int_equal(outcome.status, 0);
    assert_non_null(strstr(outcome.said, "alpha.png: left out: transparency\n"));
  }
  program_run(&outcome, "render alpha.webm seen.mp4 -y" PLAIN);
  assert_non_null(strstr(outcome.said, "alpha.webm: left out: transparency\n"));
  program_run(&outcome, "render alpha.png hash:- -y" PLAIN);
  assert_null(strstr(outcome.said, "left out"));
  /* formats that may or may not have transparency: a single picture of a sequence, and a palette */
  shell(FFMPEG "-i plain.png -pix_fmt rgba p1.png && cp p1.png p2.png && cp alpha.png p3.png && cp alpha.png p4.png");
  program_expect(0, "1 frame", "render p1.png seen.png -y" PLAIN);
  program_run(&outcome, "render p%%d.png hash:- -y" PLAIN);
  assert_int_equal(outcome.lines, 1);
  program_run(&outcome, "render p%%d.png seen.mp4 -y" PLAIN);
  assert_int_equal(outcome.lines, 2);
  assert_non_null(strstr(outcome.said, "p%d.png: left out: transparency\n"));
  shell(FFMPEG "-i plain.png -vf palettegen=reserve_transparent=0 palette.png && " FFMPEG
               "-i plain.png -i palette.png -lavfi paletteuse -frames:v 1 indexed.png");
  program_expect(0, "1 frame", "render indexed.png seen.png -y" PLAIN);
}

/* An animation faster than GIF allows gets 50 pictures a second at equal distances, and a line says which ones are left
 * out. */
static void test_gif_of_many_frames(void **state) {
  (void)state;
  static const struct { int rate, frames, kept; } cases[] = {{240, 120, 25}, {60, 30, 25}, {50, 25, 25}, {30, 15, 15}};
  struct outcome outcome;
  double times[MOST];
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_run(&outcome, "render lavfi:testsrc2=s=64x64:r=%d fast.gif -y --frames %d" PLAIN, cases[i].rate,
                cases[i].frames);
    char left_out[64];
    snprintf(left_out, sizeof left_out, "50 pictures a second at most: %d frames are left out\n",
             cases[i].frames - cases[i].kept);
    assert_int_equal(outcome.status, 0);
    assert_int_equal(outcome.lines, cases[i].frames > cases[i].kept ? 2 : 1);
    assert_true(cases[i].frames == cases[i].kept || strstr(outcome.said, left_out));
    assert_int_equal(clip_times("fast.gif", CLIP_FRAMES, times, MOST), cases[i].kept);
    for (int j = 0; j < cases[i].kept && cases[i].rate >= 50; j++)
      assert_float_equal(times[j], j * 0.02, 1e-6);
  }
}

static void test_what_is_not_read(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=10:d=0.3 -c:v libwebp_anim animated.webp && cp animated.webp a1.webp");
  program_expect(3, "animated.webp: animated WebP is not decoded", "render animated.webp hash:- -y" PLAIN);
  program_expect(3, "animated WebP is not decoded", "render a%%d.webp hash:- -y" PLAIN);
  program_expect(2, "no protocol c; if a file is meant, write ./c:d.mp4", "render pattern:64x64 c:d.mp4 --frames 1");
  program_expect(2, "write ./c:d%d.png", "render pattern:64x64 c:d%%d.png --frames 1");
  program_expect(3, "write ./c:d.mp4", "render c:d.mp4 hash:- -y");
  program_expect(0, "1 frame", "render pattern:64x64 ./c:d.mkv --frames 1" PLAIN);
}

/* Each picture is recognised by its content, whatever its name ends in, also in a sequence of several kinds. */
static void test_mixed_kinds(void **state) {
  (void)state;
  make_pictures("mixed", "f%04d.png", 6);
  shell("cd mixed && for i in 2 3 5; do " FFMPEG "-i f000$i.png -q:v 1 j.jpg && mv j.jpg f000$i.png; done; " FFMPEG
        "-i f0006.png b.bmp && mv b.bmp f0006.png && cp f0002.png ../jpeg1.png && cp f0003.png ../jpeg2.png");
  program_expect(0, "6 frames", "render mixed/f%%04d.png m%%d.png" PLAIN);
  for (int i = 1; i <= 6; i++) {
    char name[24];
    snprintf(name, sizeof name, "m%d.png", i);
    expect_color(name, 40 * i, 10, 10, 5);
  }
  program_expect(0, "2 frames", "render jpeg%%d.png mixed.mkv" PLAIN);
  expect_color("mixed.mkv", 80, 10, 10, 8);
  shell("printf 'no picture, but a text' >mixed/f0004.png");
  program_expect(3, "damaged: f0004.png\n", "render mixed/f%%04d.png hash:- -y" PLAIN);
}

/* A number in the output's name is filled in, or refused if all pictures go into one file. */
static void test_numbered_names(void **state) {
  (void)state;
  static const char *const refused[] = {"gif", "avif", "apng", "ico"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    program_expect(2, "is one file, whose name gets no number; for a file of each frame try .png or .webp",
                   "render pattern:64x64 n%%d.%s --frames 1" PLAIN, refused[i]);
  program_expect(0, "2 frames", "render pattern:64x64 g%%d.gif --frames 2 --output-format image2" PLAIN);
  program_expect(0, "2 frames", "render g%%d.gif hash:- -y" PLAIN);
  program_expect(2, "for a file of each frame try %04d.png", "render pattern:64x64 n%%03d.mp4 --frames 1" PLAIN);
  program_expect(2, "no encoder for such pictures", "render pattern:64x64 n%%d.svg --frames 1" PLAIN);
  program_expect(0, "1 frame", "render pattern:64x64 100%%done.mkv --frames 1" PLAIN);
  shell("test -e 100%%done.mkv && ! ls | grep '^n'");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_gap),
      cmocka_unit_test(test_many_gaps),
      cmocka_unit_test(test_damaged),
      cmocka_unit_test(test_parts_of_a_sequence),
      cmocka_unit_test(test_pictures_that_move),
      cmocka_unit_test(test_orientation_of_pictures),
      cmocka_unit_test(test_orientation_of_video),
      cmocka_unit_test(test_wide_colours),
      cmocka_unit_test(test_transparency),
      cmocka_unit_test(test_gif_of_many_frames),
      cmocka_unit_test(test_what_is_not_read),
      cmocka_unit_test(test_mixed_kinds),
      cmocka_unit_test(test_numbered_names),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
