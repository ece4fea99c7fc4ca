/* Tests renders on several devices: pictures have the same bits and order as those of one device, and options that
 * depend on earlier frames are refused. The devices are engines on the CPU. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"

#define EIGHT "cpu:plain,cpu:plain,cpu:plain,cpu:plain,cpu:plain,cpu:plain,cpu:plain,cpu:plain"
#define TINY " -y --size 64x48 --threads 1 "
#define GOLDEN(model) "--model \"$REVERIE_GOLDENS\"/" model " "

static int make_clips(void **state) {
  (void)state;
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x48:r=25 -frames:v 21 -c:v ffv1 in.mkv");
  shell(FFMPEG "-f lavfi -i testsrc=s=64x48:r=10 -frames:v 9 -c:v ffv1 other.mkv");
  shell(FFMPEG "-f lavfi -i color=black:s=64x48:r=10,geq=lum='255*lt(X\\,8*N)':cb=128:cr=128 -frames:v 9 -c:v ffv1 "
               "mask.mkv");
  shell(
      "printf '{\"time\": %%s, \"parameter\": \"%%s\", \"value\": %%s}\n' 0 prompt[1] '\"ink drawing\"' 0 strength 0.4 "
      "0.3 prompt[1] '\"oil painting\"' 0.6 strength 0.9 >script.json");
  return 0;
}

/* Renders with one device and with several: the hashes must be equal, in the order of the pictures. */
static void expect_equal(const char *devices, const char *one, const char *arguments) {
  struct outcome outcome;
  program_expect(0, NULL, "@ render in.mkv hash:one.txt --device %s" TINY "%s", one, arguments);
  program_run(&outcome, "@ render in.mkv hash:many.txt --device %s" TINY "%s", devices, arguments);
  if (outcome.status)
    fail_msg("%s: status %d: %s", arguments, outcome.status, outcome.said);
  shell("cmp one.txt many.txt && test $(grep -c '^[0-9]' many.txt) = 21 && "
        "test $(grep '^[0-9]' many.txt | cut -d' ' -f3 | sort -u | wc -l) -gt 8");
}

static void test_pictures_are_those_of_one_device(void **state) {
  (void)state;
  expect_equal(EIGHT, "cpu:plain", GOLDEN("turbo") "--seed-walk 9 --batch 4");
  expect_equal("cpu:plain,cpu:plain,cpu:plain", "cpu:plain", GOLDEN("turbo") "--script script.json");
  expect_equal("cpu,cpu", "cpu", GOLDEN("inpaint") "--steps 1 --mask mask.mkv");
  expect_equal("cpu,cpu", "cpu",
               GOLDEN("turbo") "--control canny@source:\"$REVERIE_GOLDENS\"/controls/first "
                               "--control-source other.mkv");
  expect_equal("cpu,cpu", "cpu",
               GOLDEN("sd15") "--steps 1 --ip-adapter \"$REVERIE_GOLDENS\"/styles/sd15-linear.safetensors "
                              "--image-encoder \"$REVERIE_GOLDENS\"/styles/encoder80 --style other.mkv");
}

/* An output file has its pictures in order, and the last line says how many devices there were and what limited the
 * speed. */
static void test_file(void **state) {
  (void)state;
  struct outcome outcome;
  program_run(&outcome, "render in.mkv many.mkv --codec ffv1 --device cpu,cpu" TINY GOLDEN("turbo"));
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "2 x "));
  assert_non_null(strstr(outcome.said, "busy: decoder "));
  assert_non_null(strstr(outcome.said, " (the limit)"));
  program_expect(0, NULL, "render in.mkv one.mkv --codec ffv1 --device cpu" TINY GOLDEN("turbo"));
  expect_same("file", "ffmpeg -v error -i many.mkv -f framemd5 -", "ffmpeg -v error -i one.mkv -f framemd5 -");
}

static void test_names(void **state) {
  (void)state;
#define RENDER(names) "render in.mkv null: --device " names TINY
  program_expect(2, "separated by single commas", RENDER("cpu,,cpu"));
  program_expect(2, "separated by single commas", RENDER("cpu,"));
  program_expect(2, "auto is one device", RENDER("cpu,auto"));
  program_expect(2, "cuda:0 is named twice", RENDER("cuda:0,1,0"));
  program_expect(2, "cuda:0 is named twice", RENDER("cuda,cuda:0"));
  program_expect(2, "at most 16 devices", RENDER(EIGHT "," EIGHT ",cpu"));
  program_expect(2, "no device is called 'tpu'", RENDER("cpu,tpu"));
  program_expect(2, "several devices are for render", "bench --frames 1 --device cpu,cpu");
  program_expect(2, "several devices are for render", "live pattern --device cuda:all");
#undef RENDER
}

static void test_what_depends_on_earlier_frames_is_refused(void **state) {
  (void)state;
  static const char *const refused[] = {"--bank 2",
                                        "--feedback 0.3",
                                        "--noise carried",
                                        "--canvas follow",

                                        "--stream-batch --steps 2",
                                        "--control depth --depth-model \"$REVERIE_GOLDENS\"/depth"};
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    program_expect(2, "several devices make frames apart",
                   "render in.mkv null: --device cpu,cpu %s" TINY GOLDEN("turbo"), refused[i]);
  program_expect(0, NULL,
                 "render in.mkv null: --frames 2 --device cpu,cpu --control depth --depth-model "
                 "\"$REVERIE_GOLDENS\"/depth --control-with speed=1 --show map" TINY GOLDEN("turbo"));
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_pictures_are_those_of_one_device),
      cmocka_unit_test(test_file),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_what_depends_on_earlier_frames_is_refused),
  };
  if (argc != 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, make_clips, NULL);
  clips_close();
  return failed;
}
