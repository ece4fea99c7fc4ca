/* Tests renders of several inputs, each of which has an output of its own. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "tests/rigs/part_clips.h"
#include "tests/rigs/program.h"

/* Each of several inputs is rendered as if alone: prompts and size of one do not apply to the next. */
static void test_several_inputs(void **state) {
  (void)state;
  static const char *const inputs[] = {"pan.mp4", "film.mp4", "late.ts"}, *const sizes[] = {"pan.mp4", "wide.mp4"};
  make_clips();
  make_pan();
  shell("printf '%%s\\n' '{\"time\":0,\"parameter\":\"prompt[1]\",\"value\":\"ink\"}' "
        "'{\"time\":0.1,\"parameter\":\"prompt[1]\",\"value\":\"neon\"}' >two.jsonl && " FFMPEG
        "-f lavfi -i testsrc2=s=96x64:r=25:d=0.2 wide.mp4 && mkdir several");
  program_expect(0, NULL,
                 "render pan.mp4 film.mp4 late.ts 'hash:several/{name}.txt' -q --size 64x64 --frames 4 "
                 "--canvas follow --script two.jsonl");
  for (int i = 0; i < 3; i++) {
    program_expect(0, NULL,
                   "render %s 'hash:{name}.txt' -y -q --size 64x64 --frames 4 --canvas follow --script two.jsonl",
                   inputs[i]);
    shell("n=%s && cmp several/${n%%.*}.txt ${n%%.*}.txt", inputs[i]);
  }
  program_expect(0, NULL,
                 "render pan.mp4 wide.mp4 pan.mp4 several/{number}-%%d.png -q --size 64x64 --frames 3 "
                 "--output-size source --device cpu,cpu");
  for (int i = 0; i < 2; i++) {
    program_expect(0, NULL, "render %s several/alone-%%d.png -y -q --size 64x64 --frames 3 --output-size source",
                   sizes[i]);
    shell("for i in 1 2 3; do cmp several/%d-$i.png several/alone-$i.png || exit 1; done", i + 1);
  }
  shell("cmp several/1-3.png several/3-3.png && ! cmp -s several/2-3.png several/3-3.png");
}

/* An input that fails does not stop the others, has a line of its own, and decides the exit status. */
static void test_one_input_fails(void **state) {
  (void)state;
  struct outcome outcome;
  make_clips();
  shell("mkdir shots shots/sea shots/sky outs && cp film.mp4 shots/a.b.mp4 && cp film.mp4 shots/c.mp4 && "
        "echo >shots/b.mp4");
  program_run(&outcome, "render 'shots/*.mp4' 'outs/{number}-{name}.mkv' --size 64x64 --frames 1 --progress percent");
  assert_int_equal(outcome.status, 3);
  assert_non_null(strstr(outcome.said, "reverie: input 2 of 3: shots/b.mp4 -> outs/2-b.mkv\n"
                                       "reverie: input 2 of 3, shots/b.mp4: "));
  assert_non_null(strstr(outcome.said, "reverie: 1 of 3 inputs failed\n"));
  shell("test \"$(echo $(ls outs))\" = '1-a.b.mkv 3-c.mkv' && tail -n 1 out.txt | grep -qx 100%%");
  program_run(&outcome, "render shots/c.mp4 outs/{name}.mkv --size 64x64 --frames 1");
  assert_int_equal(outcome.status, 0);
  program_run(&outcome, "render shots/a.b.mp4 shots/c.mp4 outs/{name}.mkv --size 64x64 --frames 1 --skip-existing "
                        "--progress openjd");
  assert_int_equal(outcome.status, 0);
  assert_non_null(strstr(outcome.said, "outs/c.mkv: is there already, and is skipped"));
  shell("tail -n 1 out.txt | grep -qx 'openjd_progress: 100.0' && test -e outs/a.b.mkv");
  program_run(&outcome, "render shots/c.mp4 shots/a.b.mp4 outs/{name}.mkv --size 64x64");
  assert_int_equal(outcome.status, 6);
  assert_non_null(strstr(outcome.said, "input 2 of 2, shots/a.b.mp4: outs/a.b.mkv: exists already"));
}

/* Combinations that make no sense are refused before anything is rendered. */
static void test_inputs_refused(void **state) {
  (void)state;
  make_clips();
  program_expect(2, "film.mp4 and late.ts would both be written to one.mkv; put {name} or {number} into OUT",
                 "render film.mp4 late.ts one.mkv");
  program_expect(2, "put {number} into OUT", "render film.mp4 ./film.mp4 {name}.mkv");
  program_expect(2, "film.mp4: is one of the inputs", "render late.ts film.mp4 jerky.mp4 {name}.mp4 -y");
  program_expect(3, "none-*.mp4: nothing matches this", "render 'none-*.mp4' {name}.mkv");
  program_expect(2, "--script -: can be read once only", "render film.mp4 late.ts {name}.mkv --script -");
  /* for sequences the glob names folders */
  shell(FFMPEG "-i film.mp4 -frames:v 2 shots/sea/%%04d.png && cp shots/sea/* shots/sky");
  program_expect(2, "shots/sea/%04d.png and shots/sky/%04d.png would both", "render 'shots/s*/%%04d.png' x-%%d.png");
  program_expect(2, "would both be written to sea-.mkv", "render shots/sea/%%04d.png shots/sea/%%d.png {name}-.mkv");
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_several_inputs),
      cmocka_unit_test(test_one_input_fails),
      cmocka_unit_test(test_inputs_refused),
  };
  return program_run_tests(argc, argv, tests, sizeof tests / sizeof *tests);
}
