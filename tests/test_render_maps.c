/* Tests rendering with control maps and masks, and which of them are refused. */
#include "tests/rigs/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

#define GREY(input) "ffmpeg -v error " input " -frames:v 1 -pix_fmt gray -f framemd5 - | grep -v '^#' | cut -d, -f6"
/* A picture with one grey left of x and another one right of it. */
#define HALVES(size, x, left, right)                                                                                   \
  "-f lavfi -i nullsrc=s=" size ",format=gray,geq=lum='if(lt(X\\," x ")\\," left "\\," right ")'"

static void expect_notice(const char *wanted, const char *arguments) {
  struct outcome outcome;
  program_run(&outcome, "%s", arguments);
  if (outcome.status || !strstr(outcome.said, wanted))
    fail_msg("%s\nstatus %d, wanted '%s':\n%s", arguments, outcome.status, wanted, outcome.said);
}

/* Without a control network a map can be shown, alone or beside the picture, which here is the input (strength 0). */
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

/* Makes a clip in which the grey of each frame is its number. */
static void make_greys(const char *name, int fps, int frames) {
  shell(FFMPEG "-f lavfi -i color=black:s=32x32:r=%d,format=yuv420p,geq=lum='16+8*N':cb=128:cr=128 -frames:v %d "
               "-c:v ffv1 %s",
        fps, frames, name);
}

/* Checks that frame i shows frame second_of[i] of the second clip, by its grey. */
static void expect_greys(const char *name, int frames, const int *second_of) {
  size_t size;
  uint8_t *luma = shell_output(&size, "ffmpeg -v error -i %s -vf extractplanes=y,crop=1:1:30:30 -f rawvideo -", name);
  assert_int_equal(size, frames);
  for (int i = 0; i < frames; i++)
    if ((luma[i] - 16 + 4) / 8 != second_of[i])
      fail_msg("%s: frame %d is of grey %d, not of frame %d", name, i, luma[i], second_of[i]);
  free(luma);
}

/* Which frame of a second source a control reads for each frame: the map shown is that frame itself. */
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
  program_expect(0, NULL, "@ render first.mkv out.mkv %s --control-source slow.mkv -q --start 0.08 --duration 0.13",
                 map);
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

/* A picture that comes some frames later (stream batch) is made with its own frame's map. */
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

static void test_text_to_image_is_refused(void **state) {
  (void)state;
  program_expect(2, "restyles an input picture", "render pattern null: --text-to-image --size 64x64");
}

/* Inpainting with a still mask, a mask clip in step with the input, and the input's own alpha. The input is 8 different
 * frames; frames that are repainted completely have equal hashes, because the model sees none of their pixels. */
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

/* Repaints where the input is transparent, which is in 40 columns. */
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

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_maps),
      cmocka_unit_test(test_control_source),
      cmocka_unit_test(test_control_source_refusals),
      cmocka_unit_test(test_maps_of_a_stream_batch),
      cmocka_unit_test_setup_teardown(test_text_to_image_is_refused, program_own_model, program_tiny_model),
      cmocka_unit_test(test_inpainting),
      cmocka_unit_test(test_inpainting_alpha),
      cmocka_unit_test(test_mask_refusals),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
