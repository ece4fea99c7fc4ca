/* When a file's frames are due, and when the next one is read. */
#include "cmocka_all.h"

#include "app/source/timetable.h"

static const int64_t ms = 1000000;

/* The frames of a clip, one period after the other from its beginning; begun_ns: on the clock. */
static int64_t play(struct timetable *timetable, int64_t begun_ns, int64_t period_ns, int frames, int64_t reading_ns) {
  int64_t due = 0;
  for (int i = 0; i < frames; i++) {
    timetable_note_reading(timetable, reading_ns);
    due = timetable_due(timetable, i * period_ns, begun_ns, 1e9 / (double)period_ns);
    assert_int_equal(due, begun_ns + i * period_ns);
  }
  return due;
}

static void frames_are_due_by_their_times(void **state) {
  (void)state;
  struct timetable timetable = {0};
  assert_int_equal(timetable_due(&timetable, 500 * ms, 1000 * ms, 25), 1000 * ms);
  assert_int_equal(timetable_due(&timetable, 540 * ms, 1001 * ms, 25), 1040 * ms);
  assert_int_equal(timetable_due(&timetable, 620 * ms, 1200 * ms, 25), 1120 * ms); /* late is late */
  assert_int_equal(timetable_due(&timetable, 0, 1130 * ms, 25), 1160 * ms);        /* it starts again */
  assert_int_equal(timetable_due(&timetable, 40 * ms, 1130 * ms, 25), 1200 * ms);
}

static void times_that_do_not_fit_start_anew(void **state) {
  (void)state;
  struct timetable timetable = {0};
  timetable_due(&timetable, 0, 1000 * ms, 25);
  assert_int_equal(timetable_due(&timetable, 40 * ms, 2041 * ms, 25), 2041 * ms);
  assert_int_equal(timetable_due(&timetable, 80 * ms, 2042 * ms, 25), 2081 * ms);
  assert_int_equal(timetable_due(&timetable, 20000 * ms, 2042 * ms, 25), 2042 * ms);
  timetable_due(&timetable, 20040 * ms, 2042 * ms, 25);
  timetable_follow(&timetable, 50);
  assert_int_equal(timetable_due(&timetable, 7 * ms, 2050 * ms, 50), 2102 * ms);
  timetable_follow(&timetable, 0); /* of no rate: at once */
  assert_int_equal(timetable_due(&timetable, 7 * ms, 2050 * ms, 50), 2050 * ms);
}

static void next_is_read_a_quarter_later(void **state) {
  (void)state;
  struct timetable timetable = {0};
  assert_int_equal(timetable_read_at(&timetable), 0); /* nothing is known */
  int64_t due = play(&timetable, 1000 * ms, 16 * ms, 1, 2 * ms);
  assert_int_equal(timetable_read_at(&timetable), 0); /* nor is how far frames are apart */
  due = timetable_due(&timetable, 16 * ms, 1016 * ms, 60);
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
  timetable.started = false; /* it was paused */
  assert_int_equal(timetable_read_at(&timetable), 0);
}

/* 4 ms are to be left, for what takes longer than ever before. */
static void at_once_where_time_is_short(void **state) {
  (void)state;
  struct timetable timetable = {0};
  int64_t due = play(&timetable, 1000 * ms, 16 * ms, 20, 8 * ms);
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
  timetable_note_reading(&timetable, 9 * ms);
  assert_int_equal(timetable_read_at(&timetable), 0);
  timetable_note_reading(&timetable, 2 * ms); /* which is forgotten */
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
  timetable_note_reading(&timetable, 120 * ms); /* a decoder was opened */
  for (int i = 0; i < 10; i++)
    timetable_note_reading(&timetable, 2 * ms);
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
  timetable = (struct timetable){0};
  play(&timetable, 1000 * ms, 4 * ms, 20, ms);
  assert_int_equal(timetable_read_at(&timetable), 0);
}

/* Frames that come in pairs: the second of one is not late for the pause before it. */
static void the_closest_frames_count(void **state) {
  (void)state;
  struct timetable timetable = {0};
  timetable_note_reading(&timetable, ms);
  for (int i = 0; i < 5; i++)
    for (int second = 0; second < 2; second++)
      timetable_due(&timetable, (i * 60 + second * 8) * ms, 1000 * ms, 33);
  int64_t later_ns = timetable_read_at(&timetable) - timetable.last_due_ns;
  assert_true(later_ns > 0 && later_ns <= 3 * ms);
  for (int i = 0; i < 60; i++) /* until they come one by one for long enough */
    timetable_due(&timetable, (400 + i * 60) * ms, 1300 * ms + i * 60 * ms, 16);
  assert_int_equal(timetable_read_at(&timetable), timetable.last_due_ns + 15 * ms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(frames_are_due_by_their_times), cmocka_unit_test(times_that_do_not_fit_start_anew),
      cmocka_unit_test(next_is_read_a_quarter_later),  cmocka_unit_test(at_once_where_time_is_short),
      cmocka_unit_test(the_closest_frames_count),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
