/* Tests `bench --live`, on an X server (Xvfb), and --awake, with which it may measure.
 *
 *   test_live_bench PROGRAM MARKED_CLIP */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cjson/cJSON.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "tests/rigs/screen.h"

static const char *marked_clip; /* makes clips with markers */

static double figure(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  if (!cJSON_IsNumber(item))
    fail_msg("%s is missing", name);
  return item->valuedouble;
}

static const cJSON *row_of(const cJSON *json, const char *name) {
  const cJSON *row;
  cJSON_ArrayForEach(row, cJSON_GetObjectItem(json, "rows")) {
    if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItem(row, "name")), name))
      return row;
  }
  fail_msg("there is no row %s", name);
  return NULL;
}

/* Times vary, so this checks relations: each picture has its frame's number, the stages sum up to the whole, and every
 * picture is counted. */
static void test_bench(void **state) {
  (void)state;
  enum { FRAMES = 15 };
  program_expect(0, NULL,
                 "bench --live --size 64x96 --frames %d --warmup 2 --threads 1 --window 200x300 -y --json l.json",
                 FRAMES);
  char *text = (char *)shell_output(NULL, "cat l.json");
  cJSON *json = cJSON_Parse(text);
  free(text);
  const cJSON *live = cJSON_GetObjectItem(json, "live"), *all = row_of(json, "capture to presented"), *change;
  double presented = figure(live, "presented"), repeated = figure(live, "repeated"), sum = 0;
  static const char *const stages[] = {"capture to engine", "engine to picture", "picture to presented"};
  for (int i = 0; i < 3; i++)
    sum += figure(row_of(json, stages[i]), "mean_ms");
  assert_true(presented >= FRAMES && figure(live, "unread") == 0);
  assert_true(figure(all, "frames") == presented - repeated && figure(live, "missed") <= presented);
  assert_true(figure(all, "min_ms") > 0 && fabs(sum - figure(all, "mean_ms")) < 1e-3);
  assert_true(figure(row_of(json, "engine, in the window"), "frames") == presented);
  assert_true(figure(row_of(json, "waking alone"), "frames") > 0 && figure(live, "woken_late") >= 0);
  assert_true(figure(row_of(json, "compute only"), "frames") == FRAMES);
  assert_true(figure(live, "engine_cpu_us") > 0 && figure(live, "window_cpu_us") > 0);
  assert_true(figure(live, "processors_awake") == 0);
  double missed = figure(live, "missed");
  assert_int_equal(cJSON_GetArraySize(cJSON_GetObjectItem(live, "late")), missed < 64 ? (int)missed : 64);
  cJSON_ArrayForEach(change, cJSON_GetObjectItem(live, "changes")) {
    assert_true(figure(change, "count") == 4 && figure(change, "median_frames") >= 1);
    assert_true(figure(change, "most_frames") >= figure(change, "median_frames"));
  }
  cJSON_Delete(json);
  program_expect(2, "bench --live", "bench --input-fps 30");
  program_expect(2, "bench --live", "bench --awake");
  program_expect(2, "--lfo is for bench --live", "@ bench --lfo strength=sine*0.1@1s");
  program_expect(2, "--web is for bench --live", "bench --web");
  program_expect(2, "go without it", "bench --live --sweep size");
  program_expect(6, "no window", "unset DISPLAY; @ bench --live --size 64x64 --frames 1 --warmup 0 --threads 1");
}

/* The frames' numbers are read from the output while an operator's window shows more, and waves move values. */
static void test_bench_with_more(void **state) {
  (void)state;
  program_expect(
      0, NULL,
      "@ bench --live --operator --lfo 'strength=sine*0.1@1s' --size 64x96 --frames 15 --warmup 2 --threads 1 "
      "--window 200x300 -y --json more.json");
  char *text = (char *)shell_output(NULL, "cat more.json");
  cJSON *json = cJSON_Parse(text);
  free(text);
  const cJSON *live = cJSON_GetObjectItem(json, "live");
  assert_true(figure(live, "presented") >= 15 && figure(live, "unread") == 0);
  cJSON_Delete(json);
}

/* All processors are kept awake, or none if the user's processor time is limited, which is reported. */
static void test_processors_awake(void **state) {
  (void)state;
  static const char limit[] = "--awake: a limit of processor time";
  struct outcome outcome;
  program_run(&outcome, "ulimit -S -t 1000000; @ live still.mkv --awake --frames 1 --size 64x64");
  if (outcome.status || !strstr(outcome.said, limit))
    fail_msg("status %d: %s", outcome.status, outcome.said);
  program_run(&outcome, "bench --live --awake -v --size 64x64 --frames 3 --warmup 0 --threads 1 -y --json awake.json");
  assert_int_equal(outcome.status, 0);
  char *text = (char *)shell_output(NULL, "cat awake.json"), said[64];
  cJSON *json = cJSON_Parse(text);
  free(text);
  int awake = (int)figure(cJSON_GetObjectItem(json, "live"), "processors_awake");
  cJSON_Delete(json);
  snprintf(said, sizeof said, "processors: %d kept from sleeping", awake);
  if (!strstr(outcome.said, awake ? said : limit))
    fail_msg("%d processors: %s", awake, outcome.said);
  char *all = (char *)shell_output(NULL, "nproc");
  assert_true(!awake || awake == atoi(all));
  free(all);
}

/* The clip lasts 3 s, so that also slow machines make several of its frames. */
enum { MARKED_FRAMES = 60, MARKED_FPS = 20 };

/* Makes a clip of marked frames at MARKED_FPS frames a second, whose markers say that there are `said`. */
static void make_marked(const char *name, int said) {
  shell("'%s' 256 144 %d %d | " FFMPEG
        "-f rawvideo -pix_fmt yuv420p -s 256x144 -r %d -i - -c:v libx264 -preset ultrafast %s",
        marked_clip, MARKED_FPS, MARKED_FRAMES, said, name);
}

static cJSON *bench_clip(int frames, const char *name) {
  program_expect(0, NULL,
                 "bench --live --size 64x64 --frames %d --warmup 2 --threads 1 --window 200x200 -y --json c.json %s",
                 frames, name);
  char *text = (char *)shell_output(NULL, "cat c.json");
  cJSON *json = cJSON_Parse(text);
  free(text);
  assert_non_null(json);
  return json;
}

/* bench --live identifies a clip's frames by their markers, also when the clip starts again. A marker that does not
 * match the frame that the program reports is not counted; a clip without markers is an error. */
static void test_bench_clip(void **state) {
  (void)state;
  enum { FRAMES = 70 };
  make_marked("marked.mp4", MARKED_FPS);
  make_marked("fast.mp4", 2 * MARKED_FPS);
  shell(FFMPEG "-f lavfi -i testsrc2=s=256x144:r=20 -frames:v 30 -c:v ffv1 unmarked.mkv");
  cJSON *json = bench_clip(FRAMES, "marked.mp4");
  const cJSON *live = cJSON_GetObjectItem(json, "live"), *all = row_of(json, "capture to presented");
  double presented = figure(live, "presented"), repeated = figure(live, "repeated");
  assert_true(presented >= FRAMES && figure(live, "unread") == 0 && figure(live, "source_fps") == MARKED_FPS);
  assert_true(figure(all, "frames") == presented - repeated && figure(all, "min_ms") > 0);
  assert_true(figure(row_of(json, "of that for the marker"), "frames") == presented);
  assert_true(figure(row_of(json, "handed out late"), "frames") == presented - repeated);
  assert_true(figure(row_of(json, "handed out late"), "min_ms") >= 0);
  assert_true(figure(row_of(json, "handed out late"), "max_ms") > 0);
  assert_true(figure(all, "frames") > MARKED_FRAMES); /* the numbers of frames go on when the clip starts again */
  cJSON_Delete(json);
  json = bench_clip(FRAMES, "fast.mp4");
  live = cJSON_GetObjectItem(json, "live");
  assert_true(figure(live, "unread") > figure(live, "presented") / 2);
  cJSON_Delete(json);
  struct outcome outcome; /* bench also ignores the user's key bindings, so that all measurements are comparable */
  shell("mkdir -p bound/reverie && echo no-such-key freeze >bound/reverie/keys.conf");
  program_run(&outcome, "export XDG_CONFIG_HOME=$PWD/bound; "
                        "@ bench --live --size 64x64 --threads 1 --frames 3 --warmup 0 unmarked.mkv");
  if (outcome.status != 6 || !strstr(outcome.said, "no frame's number") || strstr(outcome.said, "keys.conf"))
    fail_msg("status %d of a clip without markers: %s", outcome.status, outcome.said);
  program_expect(3, "No such file", "bench --live missing.mp4");
  program_expect(3, "known length", "bench --live pattern");
  program_expect(2, "a clip has its own", "bench --live marked.mp4 --input-fps 30");
  program_expect(2, "is not decoded", "bench --live --hwdec no");
}

static int end_program(void **state) {
  program_own_model(state);
  return screen_end_program(state);
}

int main(int argc, char **argv) {
#define TINY(function) cmocka_unit_test_setup_teardown(function, program_tiny_model, end_program)
  const struct CMUnitTest tests[] = {
      TINY(test_bench),
      TINY(test_bench_with_more),
      TINY(test_processors_awake),
      TINY(test_bench_clip),
  };
  int missing = argc < 3 ? SCREEN_MISSING : screen_begin();
  if (missing)
    return missing;
  marked_clip = realpath(argv[2], NULL);
  program_set(argv[1]);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  screen_end();
  return failed;
}
