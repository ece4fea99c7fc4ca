/* Tests which time stamps are used as they are, and which are corrected. */
#include "tests/rigs/cmocka_all.h"

#include "app/source/frame_clock.h"

enum { FRAMES = 8, NONE = -1 };

/* Passes the times of frames through the clock, with the next frame's time where the clock asks for it. */
static void settle_all(const int *times, int *given) {
  struct frame_clock clock = {.last = FRAME_TIME_NONE, .step = 40, .second = 1000};
  for (int i = 0; i < FRAMES; i++) {
    int64_t time = times[i] == NONE ? FRAME_TIME_NONE : times[i], next = FRAME_TIME_NONE;
    if (frame_clock_doubts(&clock, time) && i + 1 < FRAMES && times[i + 1] != NONE)
      next = times[i + 1];
    clock.last = frame_clock_settle(&clock, time, next);
    given[i] = (int)clock.last;
  }
}

static void test_times(void **state) {
  (void)state;
  static const struct {
    const char *what;
    int times[FRAMES], wanted[FRAMES];
  } cases[] = {
      {"even", {0, 40, 80, 120, 160, 200, 240, 280}, {0, 40, 80, 120, 160, 200, 240, 280}},
      {"uneven", {0, 17, 95, 112, 190, 230, 231, 300}, {0, 17, 95, 112, 190, 230, 231, 300}},
      {"a gap", {0, 40, 80, 9000, 9040, 9080, 9120, 9160}, {0, 40, 80, 9000, 9040, 9080, 9120, 9160}},
      {"begins late",
       {9000, 9040, 9080, 9120, 9160, 9200, 9240, 9280},
       {9000, 9040, 9080, 9120, 9160, 9200, 9240, 9280}},
      {"wild ahead", {0, 40, 80, 8600, 160, 200, 240, 280}, {0, 40, 80, 120, 160, 200, 240, 280}},
      {"wild behind", {1000, 1040, 1080, 3, 1160, 1200, 1240, 1280}, {1000, 1040, 1080, 1120, 1160, 1200, 1240, 1280}},
      {"wild at first", {8600, 40, 80, 120, 160, 200, 240, 280}, {0, 40, 80, 120, 160, 200, 240, 280}},
      {"wild before a gap", {0, 40, 8600, 5000, 5040, 5080, 5120, 5160}, {0, 40, 80, 5000, 5040, 5080, 5120, 5160}},
      {"wild in slow motion", {0, 10, 20, 8600, 40, 50, 60, 70}, {0, 10, 20, 30, 40, 50, 60, 70}},
      {"the last", {0, 40, 80, 120, 160, 200, 240, 8600}, {0, 40, 80, 120, 160, 200, 240, 8600}},
      {"missing", {NONE, NONE, 80, NONE, 160, 200, NONE, 280}, {0, 40, 80, 120, 160, 200, 240, 280}},
      {"set back", {5000, 5040, 5080, 0, 33, 90, 120, 160}, {5000, 5040, 5080, 5120, 5153, 5210, 5240, 5280}},
      {"twice the same", {0, 40, 40, 80, 120, 120, 160, 200}, {0, 40, 60, 80, 120, 140, 160, 200}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    int given[FRAMES];
    settle_all(cases[i].times, given);
    for (int j = 0; j < FRAMES; j++)
      if (given[j] != cases[i].wanted[j])
        fail_msg("%s: frame %d is given out at %d, not %d", cases[i].what, j, given[j], cases[i].wanted[j]);
  }
}

/* Time stamps in the order of decoding instead of display: the corrected times rise, and do not drift. */
static void test_zigzag(void **state) {
  (void)state;
  static const int order[] = {0, 4, 2, 1, 3};
  struct frame_clock clock = {.last = FRAME_TIME_NONE, .step = 40, .second = 1000};
  for (int i = 0; i < 1000; i++) {
    int64_t time = (i / 5 * 5 + order[i % 5]) * 40, next = ((i + 1) / 5 * 5 + order[(i + 1) % 5]) * 40;
    int64_t given = frame_clock_settle(&clock, time, frame_clock_doubts(&clock, time) ? next : FRAME_TIME_NONE);
    assert_true(given > clock.last && given > (i - 5) * 40 && given < (i + 5) * 40);
    clock.last = given;
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_times), cmocka_unit_test(test_zigzag)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
