/* Tests bench's reports: profile, comparison, trace, sweep, steadiness. Times differ from run to run, so the test
 * checks relations that must hold between them.
 *
 *   test_bench REVERIE [DEVICE]      skipped where there is no such device */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cjson/cJSON.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/program.h"
#include "unet/base/controls.h"

static const char *device = "cpu";

static char *read_text(const char *path) {
  FILE *file = fopen(clip(path), "r");
  assert_non_null(file);
  char *text = calloc(1, 8 << 20);
  assert_non_null(text);
  size_t length = fread(text, 1, (8 << 20) - 1, file);
  assert_true(length > 0);
  fclose(file);
  return text;
}

static cJSON *read_json(const char *path) {
  char *text = read_text(path);
  cJSON *json = cJSON_Parse(text);
  free(text);
  assert_non_null(json);
  return json;
}

static double number(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  if (!cJSON_IsNumber(item))
    fail_msg("%s is missing", name);
  return item->valuedouble;
}

static const char *string(const cJSON *object, const char *name) {
  const cJSON *item = cJSON_GetObjectItem(object, name);
  if (!cJSON_IsString(item))
    fail_msg("%s is missing", name);
  return item->valuestring;
}

/* Checks that the rows of each total sum up to all rows of the profile, however they are grouped. */
static void check_totals(const cJSON *profile) {
  const cJSON *grouping, *total;
  cJSON_ArrayForEach(grouping, cJSON_GetObjectItem(profile, "totals")) {
    double us = 0, flops = 0;
    cJSON_ArrayForEach(total, grouping) {
      us += number(total, "us");
      flops += number(total, "flops");
    }
    bool launches = !strcmp(grouping->string, "by launch");
    double tolerance = launches ? 0.2 : 1e-6; /* times of single launches are estimated, so their sum is less exact */
    assert_true(fabs(us - number(profile, "sum_us")) <= tolerance * number(profile, "sum_us"));
    assert_true(launches || flops > 0);
  }
}

static void test_profile(void **state) {
  (void)state;
  program_expect(
      0, NULL,
      "bench --profile --size 64x64 --steps 6 --frames 3 --input-size 320x180 --input-pixels p010 --device %s "
      "--json profile.json --save a",
      device);
  cJSON *json = read_json("profile.json"), *profile = cJSON_GetObjectItem(json, "profile");
  const cJSON *rows = cJSON_GetObjectItem(profile, "rows"), *row;
  double flops = 0, us = 0;
  bool looped = false, converted = false;
  cJSON_ArrayForEach(row, rows) {
    assert_true(*string(row, "way") && *string(row, "kind") && *string(row, "shape"));
    looped |= number(row, "runs") == 6 && !strcmp(string(row, "name"), "unet.conv_in");
    converted |= !strcmp(string(row, "shape"), "320x180 p010 to 64x64") && number(row, "us") > 0;
    flops += number(row, "flops") * number(row, "runs");
    us += number(row, "us") * number(row, "runs");
  }
  assert_true(looped && converted);
  assert_true(number(json, "copied_up_bytes_per_frame") == 0 && number(json, "staged_bytes_per_frame") == 0);
  assert_true(cJSON_GetArraySize(rows) > 100);
  assert_true(fabs(flops - number(json, "flops")) <= 1e-9 * flops);
  assert_true(us > 0 && fabs(us - number(profile, "sum_us")) <= 1e-9 * us);
  assert_true(number(profile, "frame_us") > 0);
  assert_true(number(profile, "repeats") >= 3);
  check_totals(profile);
  cJSON_Delete(json);
  char *table = read_text("out.txt");
  assert_non_null(strstr(table, "unet.conv_in"));
  assert_non_null(strstr(table, "by kind and level"));
  free(table);
}

static void test_compare(void **state) {
  (void)state;
  program_expect(0, NULL, "bench --profile --size 64x64 --frames 3 --device %s --save before.json", device);
  program_expect(0, NULL, "bench --profile --size 64x64 --frames 3 --device %s --compare before.json", device);
  char *table = read_text("out.txt");
  assert_non_null(strstr(table, "before: before.json"));
  assert_non_null(strstr(table, "the frame   "));
  assert_null(strstr(table, "is new"));
  free(table);
  program_expect(
      0, NULL, "bench --size 64x64 --frames 2 --warmup 0 --device %s --save rates.json --compare before.json", device);
  table = read_text("out.txt");
  assert_non_null(strstr(table, "it has no frame rates"));
  free(table);
  program_expect(0, NULL, "bench --size 64x64 --frames 2 --warmup 0 --device %s --compare rates.json", device);
  table = read_text("out.txt");
  assert_non_null(strstr(strstr(table, "before: rates.json"), "compute only"));
  free(table);
  shell("sed 's/\"version\":.*/\"version\": \"\\\\u001b]0;x\\\\u0007\",/' rates.json >marked.json");
  program_expect(0, NULL, "bench --size 64x64 --frames 2 --warmup 0 --device %s --compare marked.json", device);
  table = read_text("out.txt");
  assert_non_null(strstr(table, "(version ?]0;x?, "));
  free(table);
  shell("echo '{\"rows\": 3}' >odd.json; echo 'not JSON' >no.json");
  program_expect(3, "missing.json: cannot be read", "bench --compare missing.json");
  program_expect(3, "odd.json: this is no report", "bench --compare odd.json");
  program_expect(3, "no.json: this is no report", "bench --compare no.json");
  program_expect(6, "/nowhere/x: cannot be written", "bench --size 64x64 --frames 1 --device %s --save /nowhere/x",
                 device);
}

/* The spans of a frame in the trace: each stage begins after the one before. */
struct way {
  double capture, submit, graph, graph_end, present;
};

static void take_span(struct way ways[], const cJSON *span) {
  struct way *way = &ways[(int)number(cJSON_GetObjectItem(span, "args"), "frame")];
  const char *name = string(span, "name");
  double begin = number(span, "ts"), end = begin + number(span, "dur");
  assert_true(begin >= 0 && end >= begin);
  if (!strcmp(name, "capture"))
    way->capture = begin;
  else if (!strcmp(name, "submit"))
    way->submit = begin;
  else if (!strcmp(name, "present"))
    way->present = begin;
  else if (!strcmp(name, "graph")) {
    way->graph = begin;
    way->graph_end = end;
  }
}

static void test_trace(void **state) {
  (void)state;
  enum { TRACED = 6 };
  static const double slack_us = 100; /* tolerance in microseconds, because times of two clocks are compared */
  struct way ways[TRACED + 1] = {0};
  program_expect(0, NULL, "bench --size 64x64 --frames %d --warmup 0 --device %s --trace trace.json", TRACED, device);
  cJSON *json = read_json("trace.json");
  const cJSON *span;
  cJSON_ArrayForEach(span, cJSON_GetObjectItem(json, "traceEvents")) if (!strcmp(string(span, "ph"), "X"))
      take_span(ways, span);
  for (int i = 0; i < TRACED; i++) {
    const struct way *way = &ways[i];
    assert_true(way->capture < way->submit && way->submit < way->graph + slack_us);
    assert_true(way->graph < way->graph_end && way->graph_end < way->present + slack_us);
    assert_true(i == 0 || ways[i - 1].graph_end < way->graph + slack_us);
  }
  cJSON_Delete(json);
}

/* The HTML report is well-formed XML except for its first line, and refers to nothing outside itself. */
static void test_report(void **state) {
  (void)state;
  program_expect(0, NULL, "bench --profile --sweep steps --size 64x64 --frames 1 --device %s --report page.html",
                 device);
  char *page = read_text("page.html");
  assert_non_null(strstr(page, "unet.conv_in"));
  assert_non_null(strstr(page, "16 steps, "));
  assert_null(strstr(page, "http"));
  assert_null(strstr(page, "nan"));
  assert_null(strstr(page, "inf"));
  long opened = 0, closed = 0;
  for (const char *at = page; (at = strstr(at, "<svg ")); at++)
    opened++;
  for (const char *at = page; (at = strstr(at, "</svg>")); at++)
    closed++;
  assert_int_equal(opened, closed);
  assert_int_equal(opened, 6); /* the number of pictures: frame, four totals, sweep */
  free(page);
}

static void test_sweep(void **state) {
  (void)state;
  program_expect(0, NULL, "bench --sweep steps --size 64x64 --frames 1 --device %s --json sweep.json", device);
  cJSON *json = read_json("sweep.json");
  const cJSON *rows = cJSON_GetObjectItem(json, "sweep"), *row;
  double steps = 0.5, flops = 0;
  int count = 0;
  cJSON_ArrayForEach(row, rows) {
    assert_true(number(row, "steps") == 2 * steps);
    assert_true(number(row, "flops") > flops);
    assert_true(number(row, "median_ms") > 0 && number(row, "line_ms") <= number(row, "median_ms") * 1.0001);
    steps = number(row, "steps");
    flops = number(row, "flops");
    count++;
  }
  assert_int_equal(count, 5);
  assert_true(number(json, "steps") == 1);
  cJSON_Delete(json);
}

/* The arithmetic of one frame is the same for each batch size. */
static void test_sweep_batch(void **state) {
  (void)state;
  program_expect(
      0, NULL, "bench --sweep batch --size 64x64 --frames 1 --device %s --json batch.json --report batch.html", device);
  cJSON *json = read_json("batch.json");
  const cJSON *rows = cJSON_GetObjectItem(json, "sweep"), *row;
  int count = 0;
  cJSON_ArrayForEach(row, rows) {
    assert_true(number(row, "batch") == ++count);
    assert_float_equal(number(row, "flops"), number(json, "flops"), 1);
    assert_true(number(row, "median_ms") > 0 && number(row, "line_ms") <= number(row, "median_ms") * 1.0001);
  }
  assert_int_equal(count, BATCH_MAX);
  assert_true(number(json, "batch") == 1);
  cJSON_Delete(json);
  char *page = read_text("batch.html");
  assert_non_null(strstr(page, "4 a run, "));
  assert_null(strstr(page, "nan"));
  free(page);
}

static void test_bench(void **state) {
  (void)state;
  program_expect(0, NULL, "bench --size 64x64 --frames 6 --warmup 1 --device cpu --json - >bench.json");
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

/* Each frame of this model is made without earlier ones, so detail must be exactly 1 and lag exactly 0. */
static void check_motion(const cJSON *clip, const char *motion) {
  const cJSON *figures = cJSON_GetObjectItem(clip, motion);
  assert_true(number(figures, "output") > 0 && number(figures, "ends_output") > 0);
  assert_true(number(figures, "seen") > 0.5 && number(figures, "seen") < 1);
  assert_true(number(figures, "detail") == 1);
}

static void check_lag(const cJSON *clip, const char *after) {
  const cJSON *lag = cJSON_GetObjectItem(clip, after);
  assert_true(number(lag, "frames") == 0 && number(lag, "share") == 0);
}

static void check_steadiness(const cJSON *clip, int frames) {
  const char *const motions[] = {"pan", "zoom", "turn", "cut-out"};
  for (int i = 0; i < 4; i++)
    check_motion(clip, motions[i]);
  const cJSON *pan = cJSON_GetObjectItem(clip, "pan"), *noise = cJSON_GetObjectItem(clip, "noise");
  assert_true(number(pan, "input") == 0 && cJSON_IsNull(cJSON_GetObjectItem(pan, "ratio")));
  assert_true(number(noise, "output") > 0 && number(noise, "ratio") > 0);
  /* theoretically 4 / sqrt(pi); less where a colour is at a limit, so that half of the noise is clipped */
  assert_true(number(noise, "input") > 0.8 && number(noise, "input") < 2.4);
  assert_true(number(clip, "frames") == frames && number(clip, "detail") == 1);
  assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(clip, "still"), "ratio"));
  assert_non_null(cJSON_GetObjectItem(cJSON_GetObjectItem(clip, "warp"), "ratio"));
  check_lag(clip, "after_cut");
  check_lag(clip, "behind_edge");
}

/* Measures steadiness with the sample clip. */
static void test_steadiness(void **state) {
  (void)state;
  program_expect(0, NULL,
                 "bench --steadiness --size 64x64 --frames 3 --device %s --json steady.json --report steady.html",
                 device);
  cJSON *json = read_json("steady.json"), *clips = cJSON_GetObjectItem(json, "steadiness");
  assert_int_equal(cJSON_GetArraySize(clips), 1);
  check_steadiness(cJSON_GetArrayItem(clips, 0), 3);
  assert_non_null(strstr(string(cJSON_GetArrayItem(clips, 0), "name"), "sample.mp4"));
  cJSON_Delete(json);
  char *page = read_text("steady.html");
  assert_non_null(strstr(page, "pan by (2, 1) pixels"));
  assert_null(strstr(page, "nan"));
  free(page);
  shell("grep -q '^zoom by 1 %%' out.txt && grep -q '^after a cut the old picture is seen for 0 frames' out.txt");
  shell("! grep -q nan out.txt");
}

/* A single picture has no motion of its own, but bench can shift, zoom and turn it. */
static void test_steadiness_of_pictures(void **state) {
  (void)state;
  shell("ffmpeg -v error -f lavfi -i testsrc=s=80x60 -frames:v 1 one.png");
  program_expect(0, NULL, "bench --steadiness one.png one.png --size 64x64 --device %s --json two.json", device);
  cJSON *json = read_json("two.json"), *clips = cJSON_GetObjectItem(json, "steadiness");
  assert_int_equal(cJSON_GetArraySize(clips), 2);
  check_steadiness(cJSON_GetArrayItem(clips, 1), 1);
  assert_true(cJSON_IsNull(cJSON_GetObjectItem(cJSON_GetObjectItem(cJSON_GetArrayItem(clips, 1), "warp"), "output")));
  cJSON_Delete(json);
  program_expect(2, "--live goes without it", "bench --steadiness --live");
  program_expect(2, "at most 1000", "bench --steadiness --frames 1001");
  program_expect(3, "missing.mp4", "bench --steadiness missing.mp4");
}

/* An interrupt at any moment ends bench without figures of an incomplete run. */
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

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_setup_teardown(test_profile, program_own_model, program_tiny_model),
      cmocka_unit_test(test_compare),
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_sweep),
      cmocka_unit_test(test_report),
      cmocka_unit_test(test_sweep_batch),
      cmocka_unit_test_setup_teardown(test_steadiness, program_own_model, program_tiny_model),
      cmocka_unit_test(test_steadiness_of_pictures),
      cmocka_unit_test_setup_teardown(test_bench, program_own_model, program_tiny_model),
      cmocka_unit_test(test_bench_interrupted),
  };
  if (argc < 2 || !clips_open())
    return 77;
  program_set(argv[1]);
  if (argc > 2)
    device = argv[2];
  int failed = program_has_device(device) ? cmocka_run_group_tests(tests, program_tiny_model, NULL) : 77;
  clips_close();
  return failed;
}
