/* Tests rendering to many pixel formats: what the encoder gets and makes, and what is refused before rendering. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

#define CLIP_3 "lavfi:testsrc2=s=96x64:r=10:d=0.3"
/* With B-frames x265 gives the first packets of such a short clip no times, so they are turned off. */
#define X265 "--encoder-options x265-params=bframes=0"
#define STREAM(entries, file) "ffprobe -v error -select_streams v -show_entries stream=" entries " -of csv=p=0 " file

static void test_pixel_format(void **state) {
  (void)state;
  static const struct {
    const char *out, *arguments, *pixels;
  } cases[] = {{"all.mp4", "--pixel-format yuv444p", "yuv444p"},
               {"ten.mkv", "-c libx265 --pixel-format yuv420p10 " X265, "yuv420p10le"},
               {"pro.mov", "-c prores_ks --pixel-format yuv422p10le", "yuv422p10le"},
               {"gray.mkv", "-c ffv1 --pixel-format gray", "gray"},
               {"rgb.mkv", "-c ffv1 --pixel-format bgr0", "bgr0"},
               {"deep.png", "--pixel-format rgb48be --frames 1", "rgb48be"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char wanted[64], found[128];
    program_expect(0, NULL, "render " CLIP_3 " %s --size 64x64 %s", cases[i].out, cases[i].arguments);
    snprintf(wanted, sizeof wanted, "echo %s", cases[i].pixels);
    snprintf(found, sizeof found, STREAM("pix_fmt", "%s"), cases[i].out);
    expect_same("pixels", wanted, found);
  }
}

static void test_pixel_format_refused(void **state) {
  (void)state;
  static const struct {
    const char *out, *arguments, *said;
  } cases[] = {{"no.mp4", "--pixel-format rgb24", "the encoder libx264 does not take it, but yuv420p"},
               {"no.mov", "-c prores_ks --pixel-format yuv420p", "the encoder prores_ks does not take it"},
               {"no.mp4", "--pixel-format nonsense", "FFmpeg here has no such pixels"},
               {"no.mp4", "--pixel-format cuda", "FFmpeg here has no such pixels"},
               {"no.y4m", "--pixel-format rgb24", "yuv4mpegpipe does not take it"},
               {"null:", "--pixel-format yuv420p", "null: has no encoder"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    program_expect(2, cases[i].said, "render " CLIP_3 " %s --size 64x64 %s", cases[i].out, cases[i].arguments);
  shell("test ! -e no.mp4 -a ! -e no.mov -a ! -e no.y4m");
}

static void test_encoder_options(void **state) {
  (void)state;
  program_expect(0, NULL, "render " CLIP_3 " short.mp4 --size 64x64 --encoder-options g=1:bf=0");
  expect_same("key frames", "echo 3", "ffprobe -v error -show_entries packet=flags -of csv=p=0 short.mp4 | grep -c K");
  program_expect(0, NULL, "render " CLIP_3 " high.mkv --size 64x64 --encoder-options profile=baseline:level=3.1");
  expect_same("profile", "echo Constrained Baseline,31", STREAM("profile,level", "high.mkv"));
  /* DNxHD's default profile has only television sizes; DNxHR has all from 256x120 on. */
  program_expect(2, "encoder dnxhd cannot be opened", "render " CLIP_3 " no.mov --size 256x128 -c dnxhd");
  program_expect(0, NULL,
                 "render " CLIP_3 " dnx.mov --size 256x128 -c dnxhd --encoder-options profile=dnxhr_hqx "
                 "--pixel-format yuv422p10le");
  expect_same("profile", "echo dnxhd,DNXHR HQX,yuv422p10le", STREAM("codec_name,profile,pix_fmt", "dnx.mov"));
  program_expect(0, NULL, "render " CLIP_3 " pro.mov -y --size 64x64 -c prores_ks --encoder-options profile=proxy");
  expect_same("profile", "echo Proxy", STREAM("profile", "pro.mov"));
}

/* A bit rate replaces the default quality, and options for x265 do not turn its messages on. */
static void test_encoder_options_with_ours(void **state) {
  (void)state;
  program_expect(0, NULL, "render " CLIP_3 " crf.mkv --size 64x64");
  program_expect(0, NULL, "render " CLIP_3 " rate.mkv --size 64x64 --encoder-options b=200k");
  shell("grep -qa 'rc=abr' rate.mkv && grep -qa 'rc=crf' crf.mkv");
  program_expect(0, "3 frames",
                 "render " CLIP_3 " own.mkv --size 64x64 -c libx265 "
                 "--encoder-options 'x265-params=keyint=1\\:bframes=0'");
  expect_same("key frames", "echo 3", "ffprobe -v error -show_entries packet=flags -of csv=p=0 own.mkv | grep -c K");
}

static void test_encoder_options_refused(void **state) {
  (void)state;
  static const struct {
    const char *out, *options, *said;
  } cases[] = {{"no.mp4", "presett=slow", "the encoder libx264 has no option presett"},
               {"no.webm", "fun=1", "the encoder libvpx-vp9 has no option"},
               {"no.mp4", "g=many", "the encoder libx264 does not take g=many"},
               {"no.mp4", "video_size=10x10", "has no option video_size"},
               {"no.mp4", "color_range=pc", "marked as the pixels are"},
               {"no.mp4", "slow", "KEY=VALUE"},
               {"hash:-", "g=1", "hash:- has no encoder"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    program_expect(2, cases[i].said, "render " CLIP_3 " %s --size 64x64 --encoder-options %s", cases[i].out,
                   cases[i].options);
  program_expect(2, "does not take preset=fastest, but ultrafast",
                 "render " CLIP_3 " no.mp4 --size 64x64 --encoder-options preset=fastest");
  shell("test ! -e no.mp4 -a ! -e no.webm");
}

/* Returns how many different 10-bit luma values the first row of the first frame has. */
static int count_levels(const char *name, int width) {
  uint8_t *luma = shell_output(NULL, "ffmpeg -v error -i %s -frames:v 1 -pix_fmt gray10le -f rawvideo -", name),
          seen[1024] = {0};
  int levels = 0;
  for (int x = 0; x < width; x++) {
    int value = (luma[2 * x] | luma[2 * x + 1] << 8) & 1023;
    levels += !seen[value];
    seen[value] = 1;
  }
  free(luma);
  return levels;
}

/* A gradient of 64 levels of 10 bits, which are 16 levels of 8 bits. With strength 0 the output shows the precision of
 * the whole path. */
static void test_ten_bits(void **state) {
  (void)state;
  static const struct {
    const char *out, *arguments;
    int least, most;
  } cases[] = {{"sky-8.mkv", "-c ffv1 --pixel-format yuv420p", 8, 17},
               {"sky-420.mkv", "-c ffv1 --pixel-format yuv420p10", 60, 66},
               {"sky-422.mkv", "-c ffv1 --pixel-format yuv422p10", 60, 66},
               {"sky-444.mkv", "-c ffv1 --pixel-format yuv444p12", 60, 66},
               {"sky.mov", "-c prores_ks --quality 0", 40, 80}};
  shell(FFMPEG
        "-f lavfi -i \"nullsrc=s=256x64:r=10:d=0.2,format=yuv420p10le,geq=lum='600+X/4':cb=512:cr=512\" -c:v ffv1 "
        "-color_range tv -colorspace bt709 sky.mkv");
  assert_int_equal(count_levels("sky.mkv", 256), 64);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    program_expect(0, NULL, "render sky.mkv %s -y --size 256x64 --strength 0 %s", cases[i].out, cases[i].arguments);
    int levels = count_levels(cases[i].out, 256);
    if (levels < cases[i].least || levels > cases[i].most)
      fail_msg("%s: %d levels", cases[i].out, levels);
  }
}

/* Gets the mean alpha of the left and of the right half of a clip's first frame. decoder: arguments that choose one. */
static void mean_alpha(const char *decoder, const char *name, int width, int height, double *left, double *right) {
  uint8_t *alpha =
      shell_output(NULL, "ffmpeg -v error %s -i %s -frames:v 1 -vf format=rgba,alphaextract,format=gray -f rawvideo -",
                   decoder, name);
  double sum[2] = {0};
  for (int i = 0; i < width * height; i++)
    sum[i % width >= width / 2] += alpha[i];
  free(alpha);
  *left = 2 * sum[0] / (width * height);
  *right = 2 * sum[1] / (width * height);
}

/* The left half of 96x64 is opaque, the right half has a quarter of the opacity; cropping to a square keeps that. */
static void test_alpha(void **state) {
  (void)state;
  static const struct {
    const char *in, *out, *decoder, *arguments;
    int width;
    double left, right;
  } cases[] = {{"half.mov", "alpha.mov", "", "-c prores_ks", 64, 255, 64},
               {"half.mov", "alpha.mkv", "", "-c ffv1", 64, 255, 64},
               {"half.mov", "a%02d.png", "", "", 64, 255, 64},
               {"half.mov", "large.mkv", "", "-c ffv1 --output-size 128x64", 128, 255, 64},
               {"half.mov", "boxed.mkv", "", "-c ffv1 --output-size 64x64 --fit letterbox", 64, 170, 42},
               {"half.mov", "alpha.webm", "-c:v libvpx-vp9", "", 64, 255, 64},
               {"alpha.webm", "again.mov", "", "-c qtrle", 64, 255, 64}};
  shell(FFMPEG "-f lavfi -i \"color=0x806040:s=96x64:r=10:d=0.3,format=rgba,"
               "geq=r=128:g=96:b=64:a='if(lt(X\\,48)\\,255\\,64)'\" -c:v qtrle -pix_fmt argb half.mov");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double left, right;
    program_expect(0, "3 frames", "render %s %s -y --size 64x64 %s", cases[i].in, cases[i].out, cases[i].arguments);
    mean_alpha(cases[i].decoder, cases[i].out, cases[i].width, 64, &left, &right);
    if (fabs(left - cases[i].left) > 5 || fabs(right - cases[i].right) > 5)
      fail_msg("%s: alpha of %g and %g", cases[i].out, left, right);
  }
  struct outcome outcome;
  program_run(&outcome, "render half.mov none.mp4 --size 64x64");
  assert_true(outcome.status == 0 && strstr(outcome.said, "left out: transparency"));
  program_run(&outcome, "render half.mov none.mov --size 64x64 -c prores_ks --pixel-format yuv422p10le");
  assert_true(outcome.status == 0 && strstr(outcome.said, "left out: transparency"));
}

/* Parts that begin later than the clip keep its alpha, too: shards by count and by numbers, in videos and in
 * sequences. */
static void test_alpha_of_parts(void **state) {
  (void)state;
  static const struct {
    const char *in, *out, *arguments, *made, *decoder;
  } cases[] = {{"six.mov", "six.mkv", "-c ffv1 --shard 2/2", "six.mkv.shard-2-of-2", ""},
               {"six.mov", "pro.mov", "-c prores_ks --shard 3-4", "pro.mov.shard-3-4", ""},
               {"six.mov", "six.webm", "--shard 2/3", "six.webm.shard-2-of-3", "-c:v libvpx-vp9"},
               {"six%d.png", "later%d.png", "--shard 2/2", "later4.png", ""}};
  shell(FFMPEG "-f lavfi -i \"color=0x806040:s=96x64:r=10:d=0.6,format=rgba,"
               "geq=r=128:g=96:b=64:a='if(lt(X\\,48)\\,255\\,64)'\" -c:v qtrle -pix_fmt argb six.mov");
  shell(FFMPEG "-i six.mov six%%d.png");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    double left, right;
    program_expect(0, NULL, "render %s %s --size 64x64 %s", cases[i].in, cases[i].out, cases[i].arguments);
    mean_alpha(cases[i].decoder, cases[i].made, 64, 64, &left, &right);
    if (fabs(left - 255) > 5 || fabs(right - 64) > 5)
      fail_msg("%s: alpha of %g and %g", cases[i].made, left, right);
  }
}

/* Counts columns and rows of the bright area along the middle row and column of a clip's first frame. */
static void measure_disc(const char *name, int width, int height, int *columns, int *rows) {
  uint8_t *gray = shell_output(NULL, "ffmpeg -v error -i %s -frames:v 1 -pix_fmt gray -f rawvideo -", name);
  *columns = *rows = 0;
  for (int x = 0; x < width; x++)
    *columns += gray[height / 2 * width + x] > 128;
  for (int y = 0; y < height; y++)
    *rows += gray[y * width + width / 2] > 128;
  free(gray);
}

/* A disc of 60 pixels in 192x108 must be round in every shape of output, whatever shape the model's picture has. With
 * strength 0 the picture is the fitted input. */
static void test_output_size(void **state) {
  (void)state;
  static const struct {
    const char *arguments;
    int width, height, columns, rows;
  } cases[] = {{"--size 64x64 --output-size source", 192, 108, 60, 60},
               {"--size 128x64 --output-size 384x216", 384, 216, 120, 120},
               {"--size 64x64 --output-size 160x120 --fit letterbox", 160, 120, 50, 50},
               {"--size 96x64 --output-size 120x120 --fit crop", 120, 120, 67, 67},
               {"--size 96x64 --output-size 96x108 --fit stretch", 96, 108, 30, 60}};
  shell(FFMPEG "-f lavfi -i \"nullsrc=s=192x108:r=10:d=0.1,format=gray,"
               "geq=lum='if(lt(hypot(X+0.5-96\\,Y+0.5-54)\\,30)\\,235\\,16)'\" -c:v ffv1 -pix_fmt yuv420p disc.mkv");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int columns, rows;
    char last[64];
    snprintf(last, sizeof last, "1 frame, %dx%d,", cases[i].width, cases[i].height);
    program_expect(0, last, "render disc.mkv sized.mkv -y --strength 0 -c ffv1 %s", cases[i].arguments);
    struct clip_shape shape = clip_shape("sized.mkv");
    assert_true(shape.width == cases[i].width && shape.height == cases[i].height);
    measure_disc("sized.mkv", shape.width, shape.height, &columns, &rows);
    if (abs(columns - cases[i].columns) > 3 || abs(rows - cases[i].rows) > 3)
      fail_msg("'%s': the disc is %dx%d, not %dx%d", cases[i].arguments, columns, rows, cases[i].columns,
               cases[i].rows);
  }
}

/* Before rendering a line says the output's size if the user has not chosen it and it is smaller than the input. */
static void test_output_size_said(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "render lavfi:testsrc2=s=1024x64:r=10 said.mkv --frames 1");
  assert_int_equal(outcome.status, 0);
  const char *said = strstr(outcome.said, "1024x64 becomes 512x"), *end = strstr(outcome.said, "1 frame,");
  assert_true(said && end && said < end);
  program_expect(0, "1 frame,",
                 "render lavfi:testsrc=s=61x63:r=10 odd.png --size 64x64 --output-size source --frames 1");
  struct clip_shape shape = clip_shape("odd.png");
  assert_true(shape.width == 61 && shape.height == 63);
  program_expect(2, "need even sides", "render " CLIP_3 " no.mp4 --size 64x64 --output-size 61x64");
  program_expect(2, "takes the model's pictures", "render " CLIP_3 " null: --size 64x64 --output-size source");
  program_expect(2, "WIDTHxHEIGHT is needed", "render " CLIP_3 " no.mp4 --output-size half");
  shell("test ! -e no.mp4");
}

/* The colour tags of the file match its pixels. */
static void test_colour_tags(void **state) {
  (void)state;
  static const struct {
    const char *out, *arguments, *tags; /* range, matrix, curve, primaries */
  } cases[] = {{"tags.mp4", "", "tv,bt709,bt709,bt709"},
               {"tags.ts", "", "tv,bt709,bt709,bt709"},
               {"tags.mkv", "-c ffv1", "tv,bt709,bt709,bt709"},
               {"tags265.mp4", "-c libx265 --pixel-format yuv420p10 " X265, "tv,bt709,bt709,bt709"},
               {"tags.mov", "-c prores_ks", "tv,bt709,bt709,bt709"},
               {"tags.webm", "", "tv,bt709,bt709,bt709"},
               {"rgb.mkv", "-c ffv1 --pixel-format bgr0", "pc,gbr,bt709,bt709"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char wanted[64], found[256];
    program_expect(0, NULL, "render " CLIP_3 " %s -y --size 64x64 %s", cases[i].out, cases[i].arguments);
    snprintf(wanted, sizeof wanted, "echo %s", cases[i].tags);
    snprintf(found, sizeof found, STREAM("color_range,color_space,color_transfer,color_primaries", "%s") " | head -1",
             cases[i].out);
    expect_same(cases[i].out, wanted, found);
  }
  program_expect(0, NULL, "render " CLIP_3 " tags.png --size 64x64 --frames 1");
  shell("grep -qa sRGB tags.png");
}

/* EXR stores linear light: 0.502 of it is the code 188 of sRGB. */
static void test_exr(void **state) {
  (void)state;
  float light;
  shell(FFMPEG "-f lavfi -i color=0x808080:s=64x64 -frames:v 1 -pix_fmt gbrpf32le light.exr");
  program_expect(0, NULL, "render light.exr code.png --size 64x64 --strength 0");
  uint8_t *code = shell_output(NULL, "ffmpeg -v error -i code.png -pix_fmt rgb24 -f rawvideo -");
  assert_in_range(code[3 * 2000], 186, 190);
  free(code);
  program_expect(0, NULL, "render code.png back.exr --size 64x64 --strength 0");
  uint8_t *back = shell_output(NULL, "ffmpeg -v error -i back.exr -pix_fmt gbrpf32le -f rawvideo -");
  memcpy(&light, back + 2000 * sizeof light, sizeof light);
  free(back);
  if (!(light > 0.49f && light < 0.515f))
    fail_msg("the light is %g", (double)light);
}

/* --beside: the input's frame at the left, the picture at the right, each as it would be alone; also with another size,
 * rate and pixel format. */
static void test_beside(void **state) {
  (void)state;
#define RGB "-f rawvideo -pix_fmt rgb24 - | md5sum"
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.12 -pix_fmt rgb24 side%%d.png");
  program_expect(0, "128x64", "render side%%d.png pair%%d.png --size 64x64 --beside");
  program_expect(0, NULL, "render side%%d.png lone%%d.png --size 64x64 -q");
  expect_same("left", FFMPEG "-i side3.png " RGB, FFMPEG "-i pair3.png -vf crop=64:64:0:0 " RGB);
  expect_same("right", FFMPEG "-i lone3.png " RGB, FFMPEG "-i pair3.png -vf crop=64:64:64:0 " RGB);
  program_expect(0, NULL,
                 "render side%%d.png pair.mkv --size 64x64 --beside --output-size 96x64 --fit letterbox --fps 50 "
                 "-q --codec ffv1 --pixel-format yuv420p10le");
  assert_int_equal(clip_shape("pair.mkv").width, 192);
  assert_int_equal(clip_count_frames("pair.mkv"), 6);
#undef RGB
  program_expect(2, "--beside: with --text-to-image", "render side%%d.png x.mkv --size 64x64 --beside --text-to-image");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_beside),
      cmocka_unit_test(test_pixel_format),
      cmocka_unit_test(test_pixel_format_refused),
      cmocka_unit_test(test_encoder_options),
      cmocka_unit_test(test_encoder_options_with_ours),
      cmocka_unit_test(test_encoder_options_refused),
      cmocka_unit_test(test_colour_tags),
      cmocka_unit_test(test_exr),
      cmocka_unit_test(test_ten_bits),
      cmocka_unit_test(test_alpha),
      cmocka_unit_test(test_alpha_of_parts),
      cmocka_unit_test(test_output_size),
      cmocka_unit_test(test_output_size_said),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
