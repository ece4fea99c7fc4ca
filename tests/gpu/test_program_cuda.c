/* Tests the built program on a GPU: a clip is decoded, restyled and encoded and compared with the CPU's result; bench's
 * output; the window without a screen. Skipped without a GPU.
 *
 *   test_program_cuda PROGRAM */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

enum { NO_WINDOW = 6, DEVICE_FAILED = 5, INPUT_FAILED = 3, SKIPPED = 77, FRAMES = 40 };

/* --- against the CPU --- */

/* Decodes a clip and returns its samples. */
static uint8_t *samples(const char *name, size_t *size) {
  return shell_output(size, "ffmpeg -nostdin -v error -i %s -f rawvideo -pix_fmt yuv420p -", name);
}

static double psnr(const char *one, const char *two) {
  size_t size, other;
  uint8_t *a = samples(one, &size), *b = samples(two, &other);
  double sum = 0;
  assert_true(size > 0 && size == other);
  for (size_t i = 0; i < size; i++)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  free(a);
  free(b);
  return sum > 0 ? 10 * log10(255.0 * 255.0 * (double)size / sum) : 99;
}

/* Renders FRAMES frames of the sample clip with these further arguments. What else the program says, such as the size
 * that it chose or that it was built without oneDNN, does not matter here. */
__attribute__((format(printf, 1, 2))) static void render_sample(const char *format, ...) {
  char arguments[256];
  struct outcome outcome;
  va_list args;
  va_start(args, format);
  vsnprintf(arguments, sizeof arguments, format, args);
  va_end(args);
  program_run(&outcome, "render " SAMPLE " --frames %d %s", FRAMES, arguments);
  if (outcome.status || !strstr(outcome.said, "40 frames"))
    fail_msg("render %s: status %d, and it said:\n%s", arguments, outcome.status, outcome.said);
}

static void test_like_the_cpu(void **state) {
  (void)state;
  static const char *const prompts[] = {"oil painting", "neon"};
  for (int i = 0; i < 2; i++) {
    static const char *const devices[] = {"cuda", "cpu"};
    for (int d = 0; d < 2; d++)
      render_sample("%s.mkv -y -c ffv1 --prompt '%s' --device %s --precision f32", devices[d], prompts[i], devices[d]);
    double db = psnr("cuda.mkv", "cpu.mkv");
    print_message("  %s: GPU and CPU agree to %.1f dB over %d frames\n", prompts[i], db, FRAMES);
    assert_true(db >= 40);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  static const char *const ways[] = {"", "", "--graph off"};
  for (int i = 0; i < 3; i++)
    render_sample("hash:%d.txt --device cuda %s", i, ways[i]);
  shell("cmp 0.txt 1.txt && cmp 0.txt 2.txt && test $(grep '^[0-9]' 0.txt | cut -d' ' -f3 | sort -u | wc -l) = %d",
        FRAMES);
}

/* The result has the same bits whether the GPU or the CPU decodes the clip. */
static void test_same_bits_decoded_there(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "render " SAMPLE " hash:nvdec.txt --frames %d --device cuda --hwdec nvdec", FRAMES);
  if (outcome.status == INPUT_FAILED) {
    print_message("  skipped: %s", outcome.said);
    skip();
  }
  assert_int_equal(outcome.status, 0);
  render_sample("hash:no.txt --device cuda --hwdec no");
  shell("cmp nvdec.txt no.txt");
}

static void test_whole_clip(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "render " SAMPLE " whole.mp4 --device cuda");
  assert_int_equal(outcome.status, 0);
  print_message("  H.264 in, H.264 out: %s", outcome.said);
  char *text = (char *)shell_output(NULL, "ffprobe -v error -count_frames -select_streams v -show_entries "
                                          "stream=codec_name,nb_read_frames -of csv=p=0 whole.mp4");
  assert_string_equal(text, "h264,190\n");
  free(text);
}

/* --- bench --- */

static double field(const char *name) {
  char *text = (char *)shell_output(NULL, "sed -n 's/^\\t\"%s\":\\t\\([-0-9.e+]*\\),*$/\\1/p' bench.json", name);
  if (!*text)
    fail_msg("bench's JSON has no %s", name);
  double value = atof(text);
  free(text);
  return value;
}

/* Prints a file line by line, because cmocka cuts its own messages at 1024 characters. */
static void print_file(const char *name) {
  char *text = (char *)shell_output(NULL, "cat %s", name);
  printf("%s\n", text);
  fflush(stdout);
  free(text);
}

static void test_bench(void **state) {
  (void)state;
  static const char *const words[] = {"driver [0-9]",
                                      "CUDA [0-9]",
                                      "cuDNN 9",
                                      "cuBLASLt",
                                      "MHz",
                                      ", P[0-9]",
                                      "on the device",
                                      "compute only",
                                      "end to end",
                                      "MB, [0-9]* al",
                                      "1.00 launches, 1.00 waits, 0.00 allocations"};
  program_expect(0, NULL, "bench --size 512x512 --frames 300 --device cuda >table.txt");
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    shell("grep -q '%s' table.txt || { echo 'bench says nothing of: %s'; cat table.txt; false; }", words[i], words[i]);
  print_file("table.txt");
  program_expect(0, NULL, "bench --size 512x512 --frames 300 --device cuda --graph off >table.txt");
  shell("grep -q 'no graph' table.txt && ! grep -q ' 1.00 launches' table.txt");
  print_file("table.txt");
  program_expect(0, NULL, "bench --size 256x256 --frames 20 --device cuda --report page.html");
  shell("grep -q '^clocks: SM [0-9]' page.html && grep -q '^ways .*driver [0-9]' page.html &&"
        " test $(grep -c ' splits*: [0-9.]* us$' page.html) -gt 50");
  program_expect(0, NULL, "bench --size 256x256 --frames 20 --device cuda --json - >bench.json");
  assert_true(field("launches_per_frame") == 1 && field("waits_per_frame") == 1 && field("allocations_per_frame") == 0);
  assert_true(field("copied_up_bytes_per_frame") == 640 * 360 * 3 / 2 && field("copied_down_bytes_per_frame") > 0);
  assert_true(field("device_peak_bytes") > 5e7 && field("device_captures") > 3);
}

/* --- the window --- */

static void test_window_without_a_screen(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "unset DISPLAY; export SDL_VIDEODRIVER=offscreen; "
                        "@ live " SAMPLE " --loop --frames 100 --device cuda -v");
  print_message("  %s", outcome.said);
  if (outcome.status == NO_WINDOW)
    skip();
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "100 frames, "));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_like_the_cpu),
      cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_same_bits_decoded_there),
      cmocka_unit_test(test_whole_clip),
      cmocka_unit_test(test_bench),
      cmocka_unit_test(test_window_without_a_screen),
  };
  if (argc != 2 || !clips_open())
    return SKIPPED;
  program_set(argv[1]);
  int failed = program_has_device("cuda") ? cmocka_run_group_tests(tests, NULL, NULL) : SKIPPED;
  clips_close();
  return failed;
}
