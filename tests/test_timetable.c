/* Tests when a file's frames are due, and when the next one is read. */
#include "tests/rigs/cmocka_all.h"

#include "app/source/timetable.h"

static const int64_t ms = 1000000;

/* Reads frames of a clip, one period apart from its beginning, which is at begun_ns of the clock. */
static int64_t play(struct timetable *timetable, int64_t begun_ns, int64_t period_ns, int frames, int64_t reading_ns) {
  int64_t due = 0;
  for (int i = 0; i < frames; i++) {
    timetable_note_reading(timetable, reading_ns);
    due = timetable_due(timetable, i * period_ns, begun_ns + (i ? i - 1 : 0) * period_ns, 1e9 / (double)period_ns);
    assert_int_equal(due, begun_ns + i * period_ns);
  }
  return due;
}

static void frames_are_due_by_their_times(void **state) {
  (void)state;
  struct timetable timetable = {0};
  assert_int_equal(timetable_due(&timetable, 500 * ms, 1000 * ms, 25), 1000 * ms);
  assert_int_equal(timetable_due(&timetable, 540 * ms, 1001 * ms, 25), 1040 * ms);
  /* a late frame does not delay the due times */
  assert_int_equal(timetable_due(&timetable, 620 * ms, 1200 * ms, 25), 1120 * ms);
  assert_int_equal(timetable_due(&timetable, 0, 1130 * ms, 25), 1160 * ms); /* the clip starts again */
  assert_int_equal(timetable_due(&timetable, 40 * ms, 1130 * ms, 25), 1200 * ms);
}

/* Another speed changes the distances of frames, and the rest of the time of the one that waits. */
static void speed_changes_distances(void **state) {
  (void)state;
  struct timetable timetable = {0};
  timetable_set_speed(&timetable, 2, 900 * ms);
  assert_int_equal(timetable_due(&timetable, 0, 1000 * ms, 50), 1000 * ms);
  assert_int_equal(timetable_due(&timetable, 40 * ms, 1000 * ms, 50), 1020 * ms);
  timetable_set_speed(&timetable, 0.5,
                      1010 * ms); /* half of the 20 ms have passed; the other half takes 4 times as long */
  assert_int_equal(timetable_due(&timetable, 40 * ms, 1010 * ms, 12.5), 1050 * ms);
  assert_int_equal(timetable_due(&timetable, 80 * ms, 1050 * ms, 12.5), 1130 * ms);
  timetable_set_speed(&timetable, 1, 1140 * ms); /* the next frame was due 70 ms later, and has 35 ms to go */
  assert_int_equal(timetable_due(&timetable, 120 * ms, 1140 * ms, 25), 1175 * ms);
  timetable_set_speed(&timetable, 1, 1150 * ms);
  assert_int_equal(timetable_due(&timetable, 160 * ms, 1175 * ms, 25), 1215 * ms);
  timetable_set_speed(&timetable, 0.1, 1215 * ms); /* far ahead, but in step */
  assert_int_equal(timetable_due(&timetable, 2160 * ms, 1215 * ms, 2.5), 21215 * ms);
  timetable_follow(&timetable, 2.5);
  assert_int_equal(timetable_due(&timetable, 0, 21300 * ms, 2.5), 21615 * ms);
  assert_int_equal(timetable_due(&timetable, 10 * ms, 21615 * ms, 2.5), 21715 * ms); /* the speed stays */
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
  timetable_follow(&timetable, 0); /* without a rate, frames are due at once */
  assert_int_equal(timetable_due(&timetable, 7 * ms, 2050 * ms, 50), 2050 * ms);
}

static void next_is_read_a_quarter_later(void **state) {
  (void)state;
  struct timetable timetable = {0};
  assert_int_equal(timetable_read_at(&timetable), 0); /* nothing is known, so the next frame is read at once */
  play(&timetable, 1000 * ms, 12 * ms, 1, 120 * ms);  /* the first read is long, because a decoder was opened */
  assert_int_equal(timetable_read_at(&timetable), 0); /* the distance of frames is not known yet either */
  timetable_note_reading(&timetable, 2 * ms);
  int64_t due = timetable_due(&timetable, 12 * ms, 1012 * ms, 80);
  assert_int_equal(timetable_read_at(&timetable), due + 3 * ms);
  timetable.started = false; /* the reader was paused */
  assert_int_equal(timetable_read_at(&timetable), 0);
}

/* 4 ms are kept in reserve for reads that take longer than before. */
static void at_once_where_time_is_short(void **state) {
  (void)state;
  struct timetable timetable = {0};
  int64_t due = play(&timetable, 1000 * ms, 16 * ms, 20, 8 * ms);
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
  timetable_note_reading(&timetable, 9 * ms);
  assert_int_equal(timetable_read_at(&timetable), 0);
  timetable = (struct timetable){0};
  play(&timetable, 1000 * ms, 4 * ms, 20, ms);
  assert_int_equal(timetable_read_at(&timetable), 0);
}

/* A long read may come again, such as that of key frames two seconds apart; one that does not repeat is forgotten in
 * time. */
static void long_reads_are_kept_in_mind(void **state) {
  (void)state;
  struct timetable timetable = {0};
  int64_t due = play(&timetable, 1000 * ms, 16 * ms, 20, 2 * ms);
  timetable_note_reading(&timetable, 13 * ms);
  int frames = 0;
  while (!timetable_read_at(&timetable)) {
    timetable_note_reading(&timetable, 2 * ms);
    frames++;
  }
  assert_true(frames > 120 && frames < 600);
  assert_int_equal(timetable_read_at(&timetable), due + 4 * ms);
}

/* For frames that come in pairs, the smallest distance counts: the second one of a pair is not late because of the
 * pause before. */
static void the_closest_frames_count(void **state) {
  (void)state;
  struct timetable timetable = {0};
  play(&timetable, 900 * ms, 8 * ms, 2, ms);
  for (int i = 2; i < 12; i += 2)
    for (int second = 0; second < 2; second++)
      timetable_due(&timetable, (i * 30 + second * 8) * ms, 900 * ms, 33);
  int64_t later_ns = timetable_read_at(&timetable) - timetable.last_due_ns;
  assert_true(later_ns > 0 && later_ns <= 3 * ms);
}

/* When a picture that was still for a long time moves again, reading of the next frame begins soon. */
static void what_stood_long_goes_on_at_once(void **state) {
  (void)state;
  struct timetable timetable = {0};
  play(&timetable, 1000 * ms, 9000 * ms, 3, ms);
  assert_int_equal(timetable_read_at(&timetable), 19004 * ms);
  assert_int_equal(timetable_due(&timetable, 18016 * ms, 19006 * ms, 60), 19016 * ms);
  assert_int_equal(timetable_read_at(&timetable), 19020 * ms);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(speed_changes_distances),          cmocka_unit_test(frames_are_due_by_their_times),
      cmocka_unit_test(times_that_do_not_fit_start_anew), cmocka_unit_test(next_is_read_a_quarter_later),
      cmocka_unit_test(at_once_where_time_is_short),      cmocka_unit_test(long_reads_are_kept_in_mind),
      cmocka_unit_test(the_closest_frames_count),         cmocka_unit_test(what_stood_long_goes_on_at_once),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
