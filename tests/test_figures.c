/* Tests messages about speed: the window's figures for given times of pictures, and the lines of a render's
 * progress. */
#include "tests/rigs/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "app/window/hud_text.h"
#include "app/live/figures.h"
#include "app/run/progress.h"
#include "unet/base/platform.h"

static const int64_t ms_ns = 1000000, start_ns = 5000 * (int64_t)1000000;

/* Shows pictures at an even pace from the start; returns the time of the last one in ns. */
static int64_t show(struct live_figures *figures, int count, int64_t every_ms) {
  const struct mail mail = {.frame_ms = 1};
  for (int i = 0; i < count; i++)
    live_figures_shown(figures, &mail, start_ns + i * every_ms * ms_ns);
  return start_ns + (count - 1) * every_ms * ms_ns;
}

/* The frame rate is right at any pace, just after a picture as well as just before the next one. */
static void fps_at_any_pace(void **state) {
  (void)state;
  static const int every_ms[] = {2, 40, 300, 700, 999, 1000, 1001, 2100, 9000, 29000, 150000};
  for (size_t i = 0; i < sizeof every_ms / sizeof *every_ms; i++) {
    struct live_figures figures = {0};
    int64_t last_ns = show(&figures, 300, every_ms[i]);
    double wanted = 1000.0 / every_ms[i];
    assert_float_equal(pace_rate(&figures.pace, last_ns), wanted, wanted * 0.001);
    assert_float_equal(pace_rate(&figures.pace, last_ns + (every_ms[i] - 1) * ms_ns), wanted, wanted * 0.001);
  }
}

/* A new pace is shown within a second or three pictures, and so is a stop. */
static void fps_follows(void **state) {
  (void)state;
  const struct mail mail = {.frame_ms = 1};
  struct live_figures figures = {0};
  assert_true(pace_rate(&figures.pace, start_ns) == 0);
  int64_t last_ns = show(&figures, 1, 40);
  assert_true(pace_rate(&figures.pace, last_ns) == 0);
  last_ns = show(&figures, 100, 40);
  assert_float_equal(pace_rate(&figures.pace, last_ns + 500 * ms_ns), 25, 0.1);
  assert_float_equal(pace_rate(&figures.pace, last_ns + 4000 * ms_ns), 0.25, 0.01);
  assert_float_equal(pace_rate(&figures.pace, last_ns + 100000 * ms_ns), 0.01, 0.001);
  assert_true(pace_rate(&figures.pace, last_ns + 700000 * ms_ns) == 0);
  for (int i = 0; i < 3; i++)
    live_figures_shown(&figures, &mail, last_ns += 2000 * ms_ns);
  assert_float_equal(pace_rate(&figures.pace, last_ns), 0.5, 0.001);
}

static void fps_text(void **state) {
  (void)state;
  static const struct {
    double fps;
    const char *wanted;
  } cases[] = {{144.26, "144.3"}, {24.83, "24.8"},  {1, " 1.0"},       {0.476, "0.48"}, {0.11, "0.11"},
               {0.997, " 1.0"},   {0.0996, "0.10"}, {0.0072, "0.007"}, {0, "   -"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[HUD_TEXT_MAX];
    const struct hud_content content = {.figures = true, .running = true, .fps = cases[i].fps};
    hud_figures_text(text, &content);
    const char *at = strstr(text, "fps ");
    assert_non_null(at);
    /* the expected text follows a byte that marks the colour */
    assert_memory_equal(at + 5, cases[i].wanted, strlen(cases[i].wanted));
  }
}

/* Returns the text without the bytes that mark colours. */
static char *unmarked(char *text) {
  char *to = text;
  for (const char *from = text; *from; from++)
    if (*from == '\n' || (unsigned char)*from >= ' ')
      *to++ = *from;
  *to = 0;
  return text;
}

static void beat_text(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  struct hud_content content = {.figures = true, .running = true, .tempo = 127.96, .beat = 2, .bar_beats = 4};
  hud_figures_text(text, &content);
  assert_non_null(strstr(unmarked(text), "\ntempo 128.0  beat . . 3 .\n"));
  content.tempo = 0;
  hud_figures_text(text, &content);
  assert_null(strstr(text, "beat"));
}

/* The panel's rows of sound levels, and of values that sound changes, with the range over which they move. */
static void meter_text(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  struct meter meter = {.heard = true,
                        .values = {[SOUND_LEVEL] = 1, [SOUND_BASS] = 0.5, [SOUND_ONSET] = 1},
                        .row = {{PARAMETER_STRENGTH, 0, 0.5, 0.625}, {PARAMETER_LORA_WEIGHT, 2, 1, 0.75}},
                        .count = 2};
  const struct hud_content content = {.figures = true, .running = true, .meter = &meter};
  hud_figures_text(text, &content);
  unmarked(text);
  assert_non_null(strstr(text, "\nsound  level ########  bass ####....  mid ........  treble ........  onset\n"));
  assert_non_null(strstr(text, "\nstrength 0.50 +0.12  lora[2].weight 1.00 -0.25\n"));
  meter.heard = false;
  meter.count = 0;
  hud_figures_text(text, &content);
  assert_true(!strstr(text, "sound") && !strstr(text, "strength"));
}

/* The rate is right for a source of which several frames come between two counts. */
static void pace_of_many(void **state) {
  (void)state;
  struct pace pace = {0};
  for (int i = 0; i <= 100; i++)
    pace_count(&pace, 1 + i / 2 * 3, start_ns + i * 20 * ms_ns);
  assert_float_equal(pace_rate(&pace, start_ns + 2000 * ms_ns), 75, 0.01);
}

/* For a slow engine the time of the last frame is shown, for a fast one a smoothed time. */
static void frame_time_of_slow_engines(void **state) {
  (void)state;
  struct live_figures figures = {.budget_ms = 30};
  show(&figures, 20, 40);
  live_figures_shown(&figures, &(struct mail){.frame_ms = 21}, figures.last_ns + 40 * ms_ns);
  assert_float_equal(figures.frame_ms_now, 3, 1e-9);
  assert_int_equal(figures.missed, 0);
  live_figures_shown(&figures, &(struct mail){.frame_ms = 9000}, figures.last_ns + 9000 * ms_ns);
  assert_float_equal(figures.frame_ms_now, 9000, 1e-9);
  assert_int_equal(figures.missed, 1);
}

static void latency_of_late(void **state) {
  (void)state;
  static struct recent_times recent;
  struct recent_summary summary;
  struct recent_column column[10];
  recent_times_summarise(&recent, start_ns, &summary);
  assert_true(summary.median_ms == 0 && summary.p99_ms == 0);
  for (int i = 0; i < 3000; i++) /* for 30 seconds: the first 500 ms, then 1 to 100 */
    recent_times_add(
        &recent, &(struct recent_time){start_ns + i * 10 * ms_ns, 7, i < 1000 ? 500 : (float)(i % 100 + 1), i == 2995});
  int64_t now_ns = start_ns + 2999 * 10 * ms_ns;
  recent_times_summarise(&recent, now_ns, &summary);
  assert_float_equal(summary.median_ms, 50, 1);
  assert_float_equal(summary.p99_ms, 99, 1);
  recent_times_summarise(&recent, now_ns + 60000 * ms_ns, &summary); /* the last three times: 98, 99, 100 */
  assert_float_equal(summary.median_ms, 99, 1e-3);
  recent_times_draw(&recent, now_ns, 1000 * ms_ns, column, 10);
  assert_true(column[9].missed && !column[8].missed);
  assert_float_equal(column[9].latency_ms, 100, 1e-3);
  assert_float_equal(column[0].latency_ms, 10, 1e-3);
  assert_float_equal(column[0].engine_ms, 7, 1e-3);
  recent_times_draw(&recent, now_ns + 500 * ms_ns, 1000 * ms_ns, column, 10);
  assert_true(column[9].engine_ms < 0 && column[4].engine_ms > 0);
}

static struct recent_lateness judge(const struct recent_times *recent, int64_t now_ns, bool before) {
  struct recent_lateness lateness = {.late = before};
  recent_times_judge(recent, now_ns, &lateness);
  return lateness;
}

/* One late picture causes no alert, many in a row do. The alert ends when most pictures come in time again, or when no
 * more come. */
static void late_on_the_whole(void **state) {
  (void)state;
  static struct recent_times recent;
  int64_t now_ns = start_ns;
  assert_false(judge(&recent, now_ns, true).late);
  recent_times_add(&recent, &(struct recent_time){now_ns, 7, -1, true});
  assert_false(judge(&recent, now_ns, false).late);
  for (int i = 0; i < 40; i++)
    recent_times_add(&recent, &(struct recent_time){now_ns += 40 * ms_ns, 7, -1, i % 16 == 0});
  assert_false(judge(&recent, now_ns, false).late);
  assert_false(judge(&recent, now_ns, true).late);
  for (int i = 0; i < 8; i++)
    recent_times_add(&recent, &(struct recent_time){now_ns += 40 * ms_ns, 7, -1, true});
  const struct recent_lateness late = judge(&recent, now_ns, false);
  assert_true(late.late && late.missed >= 8 && late.of == 16);
  assert_float_equal(late.seconds, 10, 1e-6);
  for (int i = 0; i < 9; i++)
    recent_times_add(&recent, &(struct recent_time){now_ns += 40 * ms_ns, 7, -1, false});
  assert_false(judge(&recent, now_ns, false).late);
  assert_true(judge(&recent, now_ns, true).late);
  assert_float_equal(judge(&recent, now_ns + 4000 * ms_ns, true).seconds, 6, 1e-6);
  assert_false(judge(&recent, now_ns + 10700 * ms_ns, true).late);
  for (int i = 0; i < 5; i++)
    recent_times_add(&recent, &(struct recent_time){now_ns += 40 * ms_ns, 7, -1, false});
  assert_false(judge(&recent, now_ns, true).late);
}

static void way_text(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  struct hud_content content = {.figures = true,
                                .running = true,
                                .fps = 0.5,
                                .source_fps = 30,
                                .hardware = "nvdec",
                                .latency_ms = 31.24,
                                .latency_p99_ms = 45,
                                .budget_ms = 40,
                                .missed = 2};
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "30.0"));
  assert_non_null(strstr(text, " nvdec"));
  assert_non_null(strstr(text, "31.2"));
  assert_non_null(strstr(text, "45.0"));
  assert_non_null(strstr(text, "missed "));
  content = (struct hud_content){.figures = true, .running = true, .fps = 0.5};
  hud_figures_text(text, &content);
  assert_null(strstr(text, "capture to screen"));
  assert_null(strstr(text, "missed"));
  assert_null(strstr(text, "nvdec"));
}

/* Text that the audience must not see is not drawn. */
static void nothing_without_figures(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  struct alerts alerts = {0};
  alerts_raise(&alerts, ALERT_SOURCE, start_ns, "source lost", "unplugged");
  struct hud_content content = {.running = true, .state = "loading the model", .alerts = &alerts, .notice = "seed 7"};
  hud_figures_text(text, &content);
  assert_string_equal(text, "");
  assert_int_equal(hud_alerts_text(text, &content, 80, 9), 0);
  assert_string_equal(text, "");
  hud_notice_text(text, &content);
  assert_string_equal(text, "");
  content.figures = true;
  hud_notice_text(text, &content);
  assert_non_null(strstr(text, "seed 7"));
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "loading the model"));
  assert_int_equal(hud_alerts_text(text, &content, 80, 9), 1);
  assert_non_null(strstr(text, "unplugged"));
}

/* In a narrow window a figure that does not fit in a line goes to the next line as a whole. */
static void no_figure_is_cut(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  struct hud_content content = {.figures = true,
                                .running = true,
                                .fps = 25,
                                .source_fps = 25,
                                .latency_ms = 28.6,
                                .latency_p99_ms = 112.9,
                                .budget_ms = 40};
  hud_figures_text(text, &content);
  hud_text_fold_figures(text, 80);
  assert_non_null(strstr(text, " ms\x02  p99 \x01"
                               "112.9\x02  missed"));
  hud_text_fold_figures(text, 45);
  assert_non_null(strstr(text, " ms\n\x02 p99 \x01"
                               "112.9\x02  missed"));
  for (int columns = 40; columns >= 24; columns--) {
    int lines, widest;
    hud_figures_text(text, &content);
    hud_text_fold_figures(text, columns);
    hud_text_measure(text, &lines, &widest);
    assert_true(lines > 3 && widest <= columns + 4); /* spaces at the end of a line do not count */
    assert_non_null(strstr(text, "112.9"));
  }
  content.latency_ms = 128.6;
  hud_figures_text(text, &content);
  hud_text_fold_figures(text, 23);
  assert_non_null(strstr(text, " capture to screen\n\x01"
                               "128.6\x02 ms\x02  p99 \x01"));
  content.state = "2048x2048 is being prepared";
  hud_figures_text(text, &content);
  hud_text_fold_figures(text, 24);
  assert_non_null(strstr(text, "2048x2048 is being\nprepared\n"));
}

/* A notice is broken between words at the window's width. */
static void notices_are_folded(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  int lines, columns;
  struct hud_content content = {.figures = true, .notice = "9000x9000: refused: it needs more memory than there is"};
  hud_notice_text(text, &content);
  hud_text_fold(text, 80);
  hud_text_measure(text, &lines, &columns);
  assert_int_equal(lines, 1);
  hud_text_fold(text, 20);
  hud_text_measure(text, &lines, &columns);
  assert_true(lines == 3 && columns <= 20);
  assert_string_equal(text + 1, "9000x9000: refused:\nit needs more memory\nthan there is\n");
  content.notice = "\xe4\xbd\xa0\xe5\xa5\xbd \xe4\xb8\x96 onewordthatislongerthanthat";
  hud_notice_text(text, &content);
  hud_text_fold(text, 7);
  assert_string_equal(text + 1, "\xe4\xbd\xa0\xe5\xa5\xbd \xe4\xb8\x96\nonewordthatislongerthanthat\n");
}

static struct alerts raise_all(void) {
  struct alerts alerts = {0};
  for (int i = 0; i < ALERTS; i++)
    alerts_raise(&alerts, (enum alert_kind)i, start_ns + i * 1000 * ms_ns, alert_name((enum alert_kind)i), "why\nnot");
  return alerts;
}

/* In any size of window each alert is at least named, and none hides another one. */
static void no_alert_is_left_out(void **state) {
  (void)state;
  char text[HUD_TEXT_MAX];
  const struct alerts alerts = raise_all();
  const struct hud_content content = {.layout = HUD_OPERATOR, .alerts = &alerts, .now_ns = start_ns + 75000 * ms_ns};
  for (int columns = 1; columns < 200; columns += 7)
    for (int lines = 0; lines < 16; lines += 3) {
      int height, width, taken = hud_alerts_text(text, &content, columns, lines);
      for (int i = 0; i < ALERTS; i++)
        assert_non_null(strstr(text, alert_name((enum alert_kind)i)));
      hud_text_measure(text, &height, &width);
      assert_int_equal(taken, height);
      assert_true(width <= columns || columns < 40);
      assert_true(taken <= lines || taken <= ALERTS);
    }
  assert_int_equal(hud_alerts_text(text, &content, 80, ALERTS), ALERTS);
  assert_non_null(strstr(text, "source 1:15: why?not")); /* line breaks in texts from outside are replaced */
  assert_true(hud_alerts_text(text, &content, 80, ALERTS - 1) < ALERTS);
  assert_non_null(strstr(text, "source 1:15"));
  assert_null(strstr(text, "why"));
}

/* An alert lasts as long as its cause, and a new one begins if the cause returns. */
static void alerts_last_as_long(void **state) {
  (void)state;
  struct alerts alerts = {0}, before = {0};
  char text[64] = "";
  assert_true(alerts_equal(&alerts, &before) && alerts_count(&alerts) == 0);
  alerts_raise(&alerts, ALERT_LATE, 5, "late", NULL);
  alerts_raise(&alerts, ALERT_LATE, 9, "late", "3 of 4");
  assert_int_equal(alerts.entry[ALERT_LATE].since_ns, 5);
  assert_false(alerts_equal(&alerts, &before));
  alerts_raise(&alerts, ALERT_BLACKOUT, 9, "blackout", NULL);
  alerts_describe(&alerts, text, sizeof text);
  assert_string_equal(text, "blackout, late: 3 of 4");
  alerts_describe(&alerts, text, 10); /* what does not fit is cut */
  assert_string_equal(text, "blackout, late: 3 of 4");
  alerts_end(&alerts, ALERT_BLACKOUT);
  alerts_end(&alerts, ALERT_LATE);
  assert_true(alerts_equal(&alerts, &before) && alerts_count(&alerts) == 0);
  alerts_raise(&alerts, ALERT_LATE, 70, "late", NULL);
  assert_int_equal(alerts.entry[ALERT_LATE].since_ns, 70);
  assert_string_equal(alerts.entry[ALERT_LATE].reason, "");
}

/* A time budget that comes from the display's rate is no whole number of ms. */
static void budget_text(void **state) {
  (void)state;
  static const struct {
    double ms;
    const char *wanted;
  } cases[] = {{1000.0 / 85, " of 11.8"}, {40, " of 40"}, {1000.0 / 60, " of 16.7"}, {16.0001, " of 16"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    char text[HUD_TEXT_MAX];
    const struct hud_content content = {.figures = true, .running = true, .budget_ms = cases[i].ms};
    hud_figures_text(text, &content);
    const char *at = strstr(text, " of ");
    assert_non_null(at);
    size_t length = strlen(cases[i].wanted);
    assert_memory_equal(at, cases[i].wanted, length);
    assert_true((unsigned char)at[length] < TONES);
  }
}

static void expect_progress(long total, long frames, double seconds, const char *wanted) {
  char text[PROGRESS_TEXT_MAX];
  progress_text(text, total, frames, seconds);
  assert_string_equal(text, wanted);
}

static void progress_in_words(void **state) {
  (void)state;
  expect_progress(190, 57, 30, "57 of 190 frames, 1.9 fps, 0:01:10 left");
  expect_progress(190, 190, 100, "190 of 190 frames, 1.9 fps, 0:00:00 left");
  expect_progress(10, 12, 6, "12 of 12 frames, 2.0 fps, 0:00:00 left"); /* more frames than the container announced */
  expect_progress(190, 3, 30, "3 of 190 frames, 0.10 fps, 0:31:10 left");
  expect_progress(100000, 3, 30, "3 of 100000 frames, 0.10 fps, 277:46:10 left");
  expect_progress(190, 0, 0, "0 of 190 frames");
  expect_progress(0, 57, 30, "57 frames so far, 1.9 fps");
}

/* In a file or a pipe a progress line is written once a minute, and none for shorter renders; on a terminal at once. */
static void progress_now_and_then(void **state) {
  (void)state;
  struct progress file, terminal, quiet;
  progress_begin(&file, PROGRESS_AUTO, stderr, 190, false, start_ns);
  progress_begin(&terminal, PROGRESS_AUTO, stderr, 190, true, start_ns);
  progress_begin(&quiet, PROGRESS_NONE, stderr, 190, true, start_ns);
  int lines = 0, bars = 0;
  assert_true(progress_is_due(&terminal, start_ns));
  for (int ms = 10; ms <= 300000; ms += 10) {
    bool due = progress_is_due(&file, start_ns + ms * ms_ns);
    assert_false(due && ms < 60000);
    lines += due;
    bars += progress_is_due(&terminal, start_ns + ms * ms_ns);
    assert_false(progress_is_due(&quiet, start_ns + ms * ms_ns));
  }
  assert_int_equal(lines, 5);
  assert_in_range(bars, 2000, 3000);
}

static void expect_line(enum progress_kind kind, long total, long frames, const char *wanted) {
  struct progress progress;
  char line[PROGRESS_TEXT_MAX];
  progress_begin(&progress, kind, stdout, total, false, start_ns);
  progress_line(&progress, line, frames, 30);
  assert_string_equal(line, wanted);
}

/* Progress for programs does not report 100 % before the render is complete. */
static void progress_for_programs(void **state) {
  (void)state;
  expect_line(PROGRESS_PERCENT, 190, 57, "30%\n");
  expect_line(PROGRESS_PERCENT, 190, 190, "99%\n");
  expect_line(PROGRESS_PERCENT, 0, 57, "");
  expect_line(PROGRESS_OPENJD, 190, 57, "openjd_progress: 30.0\n");
  expect_line(PROGRESS_OPENJD, 190, 200, "openjd_progress: 99.9\n");
  expect_line(PROGRESS_JSON, 190, 57, "{\"frame\":57,\"total\":190,\"seconds\":30.000,\"fps\":1.900,\"left\":70}\n");
  expect_line(PROGRESS_JSON, 0, 57, "{\"frame\":57,\"seconds\":30.000,\"fps\":1.900}\n");
  expect_line(PROGRESS_JSON, 50, 57, "{\"frame\":57,\"total\":57,\"seconds\":30.000,\"fps\":1.900,\"left\":0}\n");
}

/* Returns the progress lines of a render of ten frames, of which `total` were expected. The caller frees it. */
static char *told(enum progress_kind kind, long total, bool whole, struct progress_place place) {
  struct progress progress;
  char *text;
  size_t size;
  FILE *out = open_memstream(&text, &size);
  progress_begin(&progress, kind, out, total, false, platform_now_ns());
  progress.place = place;
  for (int frame = 1; frame <= 10; frame++)
    progress_update(&progress, frame, 0.1 * frame);
  progress_end(&progress, whole, 10, 1);
  fclose(out);
  return text;
}

static void expect_told(enum progress_kind kind, long total, bool whole, const char *wanted) {
  char *text = told(kind, total, whole, (struct progress_place){1, 1, -1});
  assert_string_equal(text, wanted);
  free(text);
}

/* Expects this text for one of two inputs: the first one ends at half of the total. */
static void expect_told_of_two(enum progress_kind kind, int input, const char *wanted) {
  char *text = told(kind, 10, true, (struct progress_place){input, 2, input == 1 ? -1 : 50});
  assert_string_equal(text, wanted);
  free(text);
}

/* Each whole percentage is written once, and the end if it is known. */
static void progress_ends(void **state) {
  (void)state;
  expect_told(PROGRESS_PERCENT, 10, true, "10%\n20%\n30%\n40%\n50%\n60%\n70%\n80%\n90%\n99%\n100%\n");
  expect_told(PROGRESS_PERCENT, 1000, false, "0%\n1%\n");
  expect_told(PROGRESS_PERCENT, 0, true, "100%\n");
  expect_told(PROGRESS_JSON, 12, true, "{\"frame\":10,\"total\":10,\"seconds\":1.000,\"fps\":10.000,\"left\":0}\n");
  expect_told(PROGRESS_OPENJD, 12, true, "openjd_progress: 100.0\n");
  expect_told(PROGRESS_OPENJD, 12, false, "");
  expect_told(PROGRESS_NONE, 12, true, "");
  expect_told_of_two(PROGRESS_PERCENT, 1, "5%\n10%\n15%\n20%\n25%\n30%\n35%\n40%\n45%\n50%\n");
  expect_told_of_two(PROGRESS_PERCENT, 2, "55%\n60%\n65%\n70%\n75%\n80%\n85%\n90%\n95%\n99%\n100%\n");
  expect_told_of_two(PROGRESS_OPENJD, 1, "");
  expect_told_of_two(PROGRESS_OPENJD, 2, "openjd_progress: 100.0\n");
  expect_told_of_two(PROGRESS_JSON, 1,
                     "{\"frame\":10,\"total\":10,\"input\":1,\"inputs\":2,\"seconds\":1.000,\"fps\":10.000,"
                     "\"left\":0}\n");
  assert_ptr_equal(progress_stream(PROGRESS_JSON, "out.mp4"), stdout);
  assert_ptr_equal(progress_stream(PROGRESS_JSON, "-"), stderr);
  assert_ptr_equal(progress_stream(PROGRESS_JSON, "hash:-"), stderr);
  assert_ptr_equal(progress_stream(PROGRESS_AUTO, "out.mp4"), stderr);
}

static void figures_text(void **unused) {
  (void)unused;
  char text[HUD_TEXT_MAX];
  struct parameters values;
  parameters_init(&values);
  values.strength = 0.85;
  values.steps = 2;
  struct hud_content content = {.figures = true,
                                .running = true,
                                .fps = 24.83,
                                .frame_ms = 41.2,
                                .budget_ms = 40,
                                .governed = "512x512, governed to 448x448",
                                .dropped = 12,
                                .prompts = {{"oil\npainting\x02\xc2\x9b\xe2\x80\xae", 0.625f}, {"neon", 0.375f}},
                                .prompt_count = 2,
                                .values = &values};
  hud_figures_text(text, &content);
  const char late[] = {TONE_ALERT, 0};
  assert_non_null(strstr(text, "24.8"));
  assert_non_null(strstr(text, "41.2"));
  assert_non_null(strstr(text, "of 40"));
  assert_non_null(strstr(text, "512x512, governed to 448x448"));
  assert_non_null(strstr(text, late));
  /* texts from outside can contain no line break and no colour mark */
  assert_non_null(strstr(text, "oil?painting???"));
  assert_non_null(strstr(text, "neon"));
  assert_non_null(strstr(text, " 38% "));
  assert_non_null(strstr(text, "0.85"));
  const char shown[] = {TONE_DIM, 's', 't', 'e', 'p', 's', ' ', TONE_PLAIN, '2', ' ', 0};
  assert_non_null(strstr(text, shown));
  assert_null(strstr(text, "model"));
  content.frame_ms = 39;
  content.model = "one";
  hud_figures_text(text, &content);
  assert_null(strstr(text, late));
  assert_non_null(strstr(text, "model "));
  assert_non_null(strstr(text, "one"));
  assert_null(strstr(text, "loading"));
  content.loading = "an\nother";
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "loading "));
  assert_non_null(strstr(text, "an?other"));
  content.figures = false;
  hud_figures_text(text, &content);
  assert_string_equal(text, "");
  content = (struct hud_content){.figures = true, .state = "opening a camera"};
  hud_figures_text(text, &content);
  assert_non_null(strstr(text, "opening a camera"));
}

/* Words of any length are shortened to fit. */
static void long_words_are_cut(void **unused) {
  (void)unused;
  static char words[5000], text[HUD_TEXT_MAX + 1];
  memset(words, 'x', sizeof words - 1);
  text[HUD_TEXT_MAX] = 77;
  struct hud_content content = {
      .figures = true, .running = true, .prompt_count = SLOT_PRESETS, .state = words, .notice = words};
  for (int i = 0; i < SLOT_PRESETS; i++)
    content.prompts[i] = (struct hud_prompt){words, 0.1f};
  hud_figures_text(text, &content);
  assert_true(strlen(text) < HUD_TEXT_MAX);
  hud_notice_text(text, &content);
  assert_true(strlen(text) < HUD_TEXT_MAX && text[HUD_TEXT_MAX] == 77);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(fps_at_any_pace),
      cmocka_unit_test(fps_follows),
      cmocka_unit_test(fps_text),
      cmocka_unit_test(beat_text),
      cmocka_unit_test(meter_text),
      cmocka_unit_test(pace_of_many),
      cmocka_unit_test(frame_time_of_slow_engines),
      cmocka_unit_test(latency_of_late),
      cmocka_unit_test(late_on_the_whole),
      cmocka_unit_test(way_text),
      cmocka_unit_test(nothing_without_figures),
      cmocka_unit_test(no_figure_is_cut),
      cmocka_unit_test(notices_are_folded),
      cmocka_unit_test(no_alert_is_left_out),
      cmocka_unit_test(alerts_last_as_long),
      cmocka_unit_test(budget_text),
      cmocka_unit_test(progress_in_words),
      cmocka_unit_test(progress_now_and_then),
      cmocka_unit_test(progress_for_programs),
      cmocka_unit_test(progress_ends),
      cmocka_unit_test(figures_text),
      cmocka_unit_test(long_words_are_cut),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
