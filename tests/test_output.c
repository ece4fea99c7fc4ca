/* Tests what the program writes: it never overwrites its input, never leaves out something silently, keeps colours, and
 * prints names without control characters. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

/* Makes five pictures numbered from 1001, and their checksums. */
static void make_sequence(void) {
  shell("rm -rf s && mkdir s && " FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=25 -frames:v 5 -start_number 1001 s/f%%04d.png");
  shell("md5sum s/*.png >s.md5");
}

static void expect_untouched(void) {
  shell("md5sum --quiet -c s.md5");
}

/* An output that would overwrite an input picture is refused under any spelling of its name, also with -y. */
static void test_sequence_over_itself(void **state) {
  (void)state;
  static const char *const same[] = {
      "s/f%04d.png s/f%04d.png",
      "s/f%04d.png s/f%d.png",
      "s/f%04d.png s/f%03d.png",
      "s/f%04d.png ./s/../s/f%d.png",
      "s/f%04d.png file:s/f%04d.png",
      "file:s/f%04d.png s/f1003.png",
      "s/f%04d.png hard%d.png",
      "s/f%04d.png linked/f%04d.png",
      "s/f%04d.png hash:s/f1005.png",
      "s/f1001.png s/f1001.png",
      "s/f%*.png s/f%04d.png --start 0",
      "s/f%04d.png s/f%04d.png --frames 2",
      "'s/*.png' s/f%d.png --input-format image2 --input-options pattern_type=glob",
      "s/f%04d.png s/f%04d.png --input-options start_number=1003",
  };
  make_sequence();
  shell("ln s/f1004.png hard1004.png && ln -s s linked");
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    program_expect(2, "the same file", "render %s --size 64x64 -y", same[i]);
    program_expect(2, "the same file", "render %s --size 64x64", same[i]);
    expect_untouched();
  }
  program_expect(0, "2 frames", "render s/f%%04d.png s/f%%05d.png --frames 2 --size 64x64");
  expect_untouched();
  /* a file that is read besides the input, here the mask */
  program_expect(2, "the same file", "render s/f1001.png s/f1003.png --mask s/f1003.png -y --size 64x64");
  program_expect(2, "the same file", "render s/f1001.png s/f%%04d.png --mask s/f%%04d.png -y --size 64x64");
  program_expect(2, "the same file", "render s/f1001.png s/f1003.png --style s/f1004.png --style s/f1003.png:0.5 -y");
  expect_untouched();
}

/* The output is the input clip under another name (a link). */
static void test_clip_over_itself(void **state) {
  (void)state;
  static const char *const same[] = {
      "list.txt",
      "'concat:a b.ts|b.ts'",
      "list.m3u8",
      "'lavfi:movie=b.ts'",
      "- <b.ts",
      "'lavfi:movie=b\\.ts'",
      "\"lavfi:movie=b'.'ts\"",
      "pipe:3 3<b.ts",
      "/dev/fd/3 3<b.ts",
      "pipe: <b.ts",
  };
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=10 -frames:v 5 -c:v mpeg2video b.ts && cp b.ts 'a b.ts' && cp b.ts kept.ts");
  shell("printf \"ffconcat version 1.0\\nfile 'a b.ts'\\nfile b.ts\\n\" >list.txt; "
        "printf '#EXTM3U\\n#EXT-X-TARGETDURATION:1\\n#EXTINF:0.5,\\nb.ts\\n#EXT-X-ENDLIST\\n' >list.m3u8");
  for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
    program_expect(2, "the same file", "@ render %s b.ts -y --size 64x64", same[i]);
    shell("cmp b.ts kept.ts");
  }
  program_expect(2, "the same file", "render list.txt 'a b.ts' -y --size 64x64");
  program_expect(2, "the same file", "render b.ts hash:b.ts -y --size 64x64");
  program_expect(2, "the same file", "@ render b.ts - --output-format mpegts --size 64x64 >>b.ts");
  program_expect(2, "the same file", "@ render b.ts pipe:3 --output-format mpegts --size 64x64 3>>b.ts");
  shell("cmp b.ts kept.ts && cmp 'a b.ts' kept.ts");
}

/* Existing pictures of a sequence are not overwritten without -y, and neither are the pieces that some formats write
 * beside the named file. */
static void test_nothing_is_overwritten_unasked(void **state) {
  (void)state;
  static const struct {
    const char *there, *out;
  } cases[] = {{"o1003.png", "o%04d.png"},
               {"o1001.png", "o%04d.png"},
               {"stem0.ts", "stem.m3u8"},
               {"init-stream0.m4s", "stem.mpd"},
               {"chunk-stream0-00001.m4s", "stem.mpd"}};
  make_sequence();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    shell("rm -rf o && mkdir o && echo precious >o/%s", cases[i].there);
    program_expect(6, cases[i].there, "render s/f%%04d.png o/%s --size 64x64", cases[i].out);
    shell("test \"$(cat o/%s)\" = precious", cases[i].there);
    program_expect(0, "5 frames", "render s/f%%04d.png o/%s --size 64x64 -y", cases[i].out);
  }
  shell("echo precious >o/o1006.png; rm -f o/o100[1-5].png o/o0*.png");
  program_expect(0, "5 frames", "render s/f%%04d.png o/o%%04d.png --size 64x64 --frames 5");
  shell("rm -rf o && mkdir o && echo precious >o/a1.png && echo precious >o/a2.png");
  program_expect(6, "1 more", "render pattern:64x64 o/a%%d.png --size 64x64 --frames 3");
  shell("echo precious >figures.json");
  program_expect(6, "-y", "bench --size 64x64 --frames 1 --warmup 0 --json figures.json");
  shell("test \"$(cat figures.json)\" = precious");
  program_expect(6, "-y", "bench --size 64x64 --frames 1 --warmup 0 --save figures.json");
  program_expect(6, "-y", "bench --size 64x64 --frames 1 --warmup 0 --trace figures.json");
  program_expect(6, "-y", "bench --profile --size 64x64 --frames 1 --warmup 0 --report figures.json");
  shell("test \"$(cat figures.json)\" = precious");
  program_expect(6, "folder", "bench --size 64x64 --frames 1 --warmup 0 --json o");
  program_expect(0, NULL, "bench --size 64x64 --frames 1 --warmup 0 --json figures.json -y");
  shell("grep -q '\"rows\"' figures.json");
}

/* The playlist lists all pieces; FFmpeg's default is the last five. */
static void test_playlist_names_all(void **state) {
  (void)state;
  shell("rm -rf o && mkdir o && " FFMPEG "-f lavfi -i testsrc2=s=64x64:r=2:d=20 -c:v libx264 -g 2 long.mp4");
  program_expect(0, "40 frames", "render long.mp4 o/list.m3u8 --size 64x64");
  assert_int_equal(clip_count_frames("o/list.m3u8"), 40);
}

/* A picture keeps its number, and pictures of a clip are numbered from 1. */
static void test_numbers_follow(void **state) {
  (void)state;
  make_sequence();
  shell("rm -rf o && mkdir o");
  program_expect(0, "5 frames", "render s/f%%04d.png o/a%%04d.png --size 64x64");
  program_expect(0, "2 frames", "render s/f%%04d.png o/b%%d.png --size 64x64 --frames 2 --start 0.08");
  program_expect(0, "3 frames", "render s/f%%04d.png o/c%%d.png --size 64x64 --input-options start_number=1003");
  program_expect(0, "2 frames", "render pattern:64x64 o/d%%d.png --size 64x64 --frames 2");
  program_expect(6, "none/e%d.png: there is no folder none; make it first", "render s/f%%04d.png none/e%%d.png");
  shell("ls o | tr '\\n' ' ' >names && grep -qx 'a1001.png a1002.png a1003.png a1004.png a1005.png b1003.png b1004.png "
        "c1003.png c1004.png c1005.png d1.png d2.png ' names || { cat names; false; }");
}

/* A file name with control characters: OSC; CSI as C1 in UTF-8 and as a single byte; DEL; a right-to-left override. */
#define EVIL "N=$(printf 'n\\033]0;owned\\007\\302\\233\\233\\177\\342\\200\\256.mp4'); "
#define SHOWN "n?]0;owned?????.mp4"

static void expect_clean(const char *what, const char *file) {
  size_t size;
  char *text = (char *)shell_output(&size, "cat %s", file);
  for (size_t i = 0; i < size; i++) {
    unsigned char byte = (unsigned char)text[i], next = (unsigned char)text[i + 1];
    bool alone = byte >= 0x80 && byte < 0xa0 && (i == 0 || (unsigned char)text[i - 1] < 0x80);
    if ((byte < 0x20 && byte != '\n' && byte != '\t') || byte == 0x7f || (byte == 0xc2 && next < 0xa0) || alone ||
        !strncmp(text + i, "\xe2\x80\xae", 3))
      fail_msg("%s: byte %02x of %s is %02x: %s", what, (unsigned)i, file, byte, text);
  }
  free(text);
}

/* What the program prints of such a name: `shown`; NULL: any text without control characters. */
struct evil_case {
  int status;
  const char *arguments, *shown;
};

static void expect_clean_words(const struct evil_case *evil) {
  struct outcome outcome;
  program_run(&outcome, EVIL "@ %s", evil->arguments);
  if (outcome.status != evil->status)
    fail_msg("%s: status %d, %s", evil->arguments, outcome.status, outcome.said);
  expect_clean(evil->arguments, "err.txt");
  expect_clean(evil->arguments, "out.txt");
  if (evil->shown)
    shell("grep -qF '%s' err.txt out.txt", evil->shown);
}

static void test_names_that_terminals_obey(void **state) {
  (void)state;
  static const struct evil_case cases[] = {
      {3, "render \"$N.missing\" null:", SHOWN},
      {3, "render \"folder/$N\" null:", SHOWN},
      {6, "render good.mp4 \"$N\"", SHOWN},
      {6, "render good.mp4 \"nowhere/$N\"", SHOWN},
      {2, "render good.mp4 \"$N.xyz\"", SHOWN},
      {2, "render good.mp4 x.mp4 -c \"$N\"", SHOWN},
      {2, "render good.mp4 x.mp4 --input-format \"$N\"", SHOWN},
      {2, "render good.mp4 x.mp4 \"--$N\"", NULL},
      {2, "\"$N\"", NULL},
      {4, "render good.mp4 x.mp4 --model \"$N\"", SHOWN},
      {4, "info \"folder/$N\"", SHOWN},
      {2, "bench --device \"$N\"", SHOWN},
      {6, "bench --size 64x64 --frames 1 --json \"nowhere/$N\"", SHOWN},
      {0, "render \"$N\" null: --size 64x64 -v", SHOWN},
      {0, "render \"$N\" \"new$N\" -y --size 64x64 -vv", SHOWN},
      {3, "render \"cut$N\" null: --size 64x64 -vv", SHOWN},
      {0, "info \"model$N\" -v", "model" SHOWN},
      {0, "bench --model \"model$N\" --size 64x64 --frames 1 --warmup 0 --json -", "model" SHOWN},
      {0, "bench --model \"model$N\" --size 64x64 --frames 1 --warmup 0", "model" SHOWN},
  };
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=25:d=0.4 -c:v libx264 good.mp4");
  shell(EVIL "mkdir -p folder && cp good.mp4 \"$N\" && " FFMPEG
             "-i good.mp4 -c copy -metadata title=\"$N\" -f matroska good.mkv && "
             "head -c $(($(stat -c %%s good.mkv) * 2 / 3)) good.mkv >\"cut$N\" && "
             "cp -rL \"${REVERIE_DATA_DIR:-$REVERIE_ASSETS}/mini/model\" \"model$N\"");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    expect_clean_words(&cases[i]);
}

/* The built-in model prints which prompts it does not know, without control characters. */
static void test_prompts_that_terminals_obey(void **state) {
  (void)state;
  expect_clean_words(
      &(struct evil_case){0, "render pattern:64x64 null: --size 64x64 --frames 1 --prompt \"$N\"", SHOWN});
}

/* Sixteen patches of plain colour. Only the middle of each is compared, because neighbours share chroma at the
 * borders. */
enum { PATCH = 32, SIDE = 4 * PATCH };
static const uint8_t patches[16][3] = {{0, 0, 0},       {255, 255, 255}, {255, 0, 0},    {0, 255, 0},
                                       {0, 0, 255},     {255, 255, 0},   {0, 255, 255},  {255, 0, 255},
                                       {128, 128, 128}, {64, 64, 64},    {200, 120, 60}, {60, 120, 200},
                                       {30, 90, 30},    {220, 180, 160}, {16, 16, 16},   {240, 240, 200}};

static void make_patches(void) {
  FILE *file = fopen(clip("patches.rgb"), "wb");
  assert_non_null(file);
  for (int y = 0; y < SIDE; y++)
    for (int x = 0; x < SIDE; x++)
      fwrite(patches[y / PATCH * 4 + x / PATCH], 1, 3, file);
  assert_int_equal(fclose(file), 0);
  shell(FFMPEG
        "-f rawvideo -pix_fmt rgb24 -s %dx%d -r 10 -i patches.rgb -vf loop=2:1 -c:v ffv1 -pix_fmt bgr0 patches.mkv",
        SIDE, SIDE);
}

/* Returns the mean error over the middles of the patches, in levels of 255. */
static double colour_error(const char *name) {
  size_t size;
  double sum = 0;
  uint8_t *rgb = shell_output(&size, "ffmpeg -v error -i %s -frames:v 1 -f rawvideo -pix_fmt rgb24 -", name);
  assert_int_equal(size, SIDE * SIDE * 3);
  for (int i = 0; i < 16; i++)
    for (int y = PATCH / 4; y < PATCH * 3 / 4; y++)
      for (int x = 0; x < PATCH / 2 * 3; x++) {
        int column = (i % 4 * PATCH + PATCH / 4) * 3 + x;
        sum += abs(rgb[(i / 4 * PATCH + y) * SIDE * 3 + column] - patches[i][x % 3]);
      }
  free(rgb);
  return sum / (16 * PATCH * PATCH / 4 * 3);
}

/* Colours as FFmpeg decodes them: it uses the matrix that the file and the codec name, and BT.601 if they name none. */
static void test_colours(void **state) {
  (void)state;
  static const char *const outputs[] = {"c.jpg --frames 1",
                                        "c.mjpeg",
                                        "c.avi -c mjpeg",
                                        "c.mov -c mjpeg",
                                        "c.mkv -c mjpeg",
                                        "c.webp --frames 1",
                                        "c.gif",
                                        "c.png --frames 1",
                                        "c.jp2 --frames 1",
                                        "c.tif --frames 1",
                                        "c.mp4",
                                        "c.avi -c mpeg4",
                                        "c.webm -c libvpx",
                                        "c.y4m",
                                        "c.mkv -c mpeg4"};
  make_patches();
  for (size_t i = 0; i < sizeof outputs / sizeof *outputs; i++) {
    char name[16];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(outputs[i], " "), outputs[i]);
    program_expect(0, "frame", "render patches.mkv %s -y --size %dx%d --strength 0", outputs[i], SIDE, SIDE);
    double error = colour_error(name);
    if (error > 1.5)
      fail_msg("%s: colours are off by %.2f", outputs[i], error);
  }
}

/* Pictures in RGB keep the engine's RGB values, which equal the input's at strength 0. */
static void test_whole_colours(void **state) {
  (void)state;
  static const char *const names[] = {"whole.png", "whole.bmp", "whole.tif"};
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x128 -frames:v 1 whole-in.png");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    program_expect(0, "1 frame", "render whole-in.png %s --size 128x128 --strength 0", names[i]);
    shell("for f in whole-in.png %s; do ffmpeg -nostdin -v error -i $f -f rawvideo -pix_fmt rgb24 - | md5sum; done | "
          "uniq | wc -l | grep -qx 1",
          names[i]);
  }
}

/* A lower number means better quality for every codec, and the default is good. */
static void test_quality(void **state) {
  (void)state;
  static const char *const names[] = {"q.webp", "q.jpg"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    static const char *const wishes[] = {"--quality 1", "", "--quality 30"};
    long bytes[3];
    for (int k = 0; k < 3; k++) {
      program_expect(0, "1 frame", "render lavfi:testsrc2=s=128x128 %s -y --size 128x128 --strength 0 --frames 1 %s",
                     names[i], wishes[k]);
      char *size = (char *)shell_output(NULL, "stat -c %%s %s", names[i]);
      bytes[k] = atol(size);
      free(size);
    }
    if (bytes[0] <= bytes[1] || bytes[1] < bytes[2] * 3 / 2)
      fail_msg("%s: best %ld, usual %ld, poor %ld bytes", names[i], bytes[0], bytes[1], bytes[2]);
  }
}

/* Two scenes without a common colour: each gets as many palette entries as it needs, and every frame is written. */
static void test_palette_of_each_scene(void **state) {
  (void)state;
  shell(FFMPEG
        "-f lavfi -i \"nullsrc=s=128x128:r=10:d=1,format=rgb24,"
        "geq=r='if(lt(N\\,5)\\,255\\,0)':g='X+Y':b='if(lt(N\\,5)\\,0\\,255)'\" -c:v ffv1 -pix_fmt bgr0 scenes.mkv");
  program_expect(0, "10 frames", "render scenes.mkv scenes.gif --size 128x128 --strength 0");
  assert_int_equal(clip_count_frames("scenes.gif"), 10);
  char *psnr = (char *)shell_output(
      NULL, "ffmpeg -nostdin -v info -i scenes.gif -i scenes.mkv -filter_complex "
            "\"[0]format=gbrp,setpts=N/TB[a];[1]format=gbrp,setpts=N/TB[b];[a][b]psnr\" -f null - 2>&1 | "
            "grep -o 'min:[0-9.inf]*'");
  if (atof(psnr + 4) < 36)
    fail_msg("PSNR %s", psnr);
  free(psnr);
}

/* One line names all that is left out of the output; copied tracks are not in it, and outputs that hold only pictures
 * print none. */
static void test_what_is_left_out(void **state) {
  (void)state;
  static const struct {
    const char *arguments, *said; /* NULL: nothing is left out */
  } cases[] = {
      {"render full.mkv out.mp4", "full.mkv: left out: an attachment\n"},
      {"render - out.mp4 <full.mkv", "-: left out: an attachment\n"},
      {"render - out.mp4 <time.mov", NULL},
      {"render full.mkv out.ts",
       "full.mkv: left out: 2 subtitle tracks, 2 chapter marks, a cover picture, an attachment\n"},
      {"render time.mov out.mp4", NULL},
      {"render time.mov out.mkv", NULL},
      {"render time.mov out.avi", "time.mov: left out: a timecode\n"},
      {"render alpha.mov out.mov", "alpha.mov: left out: transparency\n"},
      {"render plain.mp4 out.mp4", NULL},
      {"render - out.mkv <plain.mp4", NULL},
      {"render - - <plain.mp4", NULL},
      {"render full.mkv o%d.png", NULL},
      {"render full.mkv out.gif", NULL},
      {"render full.mkv null:", NULL},
      {"render full.mkv hash:out.hash", NULL},
      {"render hdr.mkv out.mp4", "hdr.mkv: HDR video"},
      {"render fields.mkv out.mp4", "fields.mkv: interlaced video"},
      {"render fields.mpg out.mp4", "fields.mpg: interlaced video"},
  };
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=64x64:r=10 -f lavfi -i sine -t 0.4 -c:v libx264 -c:a aac plain.mp4; "
        "printf '1\\n00:00:00,000 --> 00:00:00,300\\nwords\\n' >words.srt; "
        "printf ';FFMETADATA1\\n[CHAPTER]\\nTIMEBASE=1/10\\nSTART=0\\nEND=2\\n[CHAPTER]\\nTIMEBASE=1/10\\nSTART=2\\n"
        "END=4\\n' >chapters.txt; echo font >font.ttf; " FFMPEG "-i plain.mp4 -frames:v 1 cover.jpg");
  shell(FFMPEG "-i plain.mp4 -i words.srt -i chapters.txt -map 0:v -map 0:v -map 0:a -map 1 -map 1 -map_chapters 2 "
               "-c copy -attach font.ttf -attach cover.jpg -metadata:s:t:0 mimetype=font/ttf "
               "-metadata:s:t:1 mimetype=image/jpeg -metadata:s:t:1 filename=cover.jpg full.mkv");
  shell(FFMPEG "-i plain.mp4 -map 0:v -c copy -timecode 10:00:00:00 time.mov "
               "-map 0:v -c:v qtrle -pix_fmt argb alpha.mov -map 0:v -c:v ffv1 -color_trc smpte2084 hdr.mkv "
               "-map 0:v -vf setfield=tff -c:v libx264 -flags +ildct+ilme fields.mkv "
               "-map 0:v -vf fps=25,setfield=tff -frames:v 5 -c:v mpeg2video -flags +ildct+ilme -top 1 fields.mpg");
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct outcome outcome;
    program_run(&outcome, "@ %s -y --size 64x64", cases[i].arguments);
    int lines = 1 + (cases[i].said != NULL);
    if (outcome.status || outcome.lines != lines || (cases[i].said && !strstr(outcome.said, cases[i].said)))
      fail_msg("%s: status %d, wanted %s: %s", cases[i].arguments, outcome.status,
               cases[i].said ? cases[i].said : "nothing", outcome.said);
  }
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_sequence_over_itself),
      cmocka_unit_test(test_clip_over_itself),
      cmocka_unit_test(test_nothing_is_overwritten_unasked),
      cmocka_unit_test(test_playlist_names_all),
      cmocka_unit_test(test_numbers_follow),
      cmocka_unit_test(test_what_is_left_out),
      cmocka_unit_test(test_colours),
      cmocka_unit_test(test_whole_colours),
      cmocka_unit_test(test_quality),
      cmocka_unit_test(test_palette_of_each_scene),
      cmocka_unit_test(test_names_that_terminals_obey),
      cmocka_unit_test_setup_teardown(test_prompts_that_terminals_obey, program_own_model, program_tiny_model),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
