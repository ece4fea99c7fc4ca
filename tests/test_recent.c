/* Tests which prompts get the places of a small cache. */
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "unet/engine/recent.h"

static void test_places_are_kept(void **state) {
  (void)state;
  struct recent recent = {.count = 4};
  int places[3];
  assert_int_equal(recent_assign(&recent, (uint64_t[]){7, 7, 9}, 3, places), 5);
  assert_int_equal(places[0], places[1]);
  assert_int_not_equal(places[0], places[2]);
  int seven = places[0], nine = places[2];
  assert_int_equal(recent_assign(&recent, (uint64_t[]){9, 7}, 2, places), 0);
  assert_true(places[0] == nine && places[1] == seven);
}

static void test_oldest_gives_way(void **state) {
  (void)state;
  struct recent recent = {.count = 3};
  int places[3], first[3];
  for (uint64_t key = 1; key <= 3; key++)
    assert_int_equal(recent_assign(&recent, &key, 1, &first[key - 1]), 1);
  recent_assign(&recent, (uint64_t[]){1}, 1, places); /* so 2 is the least recently used */
  assert_int_equal(recent_assign(&recent, (uint64_t[]){4}, 1, places), 1);
  assert_int_equal(places[0], first[1]);
  assert_int_equal(recent_assign(&recent, (uint64_t[]){1, 3, 4}, 3, places), 0);
  assert_true(places[0] == first[0] && places[1] == first[2]);
}

/* A key that is requested together with a new one keeps its place, although it is the least recently used. */
static void test_nothing_asked_for_gives_way(void **state) {
  (void)state;
  struct recent recent = {.count = 2};
  int places[2], before[2];
  recent_assign(&recent, (uint64_t[]){1}, 1, &before[0]);
  recent_assign(&recent, (uint64_t[]){2}, 1, &before[1]);
  assert_int_equal(recent_assign(&recent, (uint64_t[]){3, 1}, 2, places), 1);
  assert_int_equal(places[1], before[0]);
  assert_int_equal(places[0], before[1]);
}

static void test_forgetting(void **state) {
  (void)state;
  struct recent recent = {.count = 3};
  int places[3];
  assert_int_equal(recent_assign(&recent, (uint64_t[]){1, 2, 3}, 3, places), 7);
  recent_forget_all(&recent);
  assert_int_equal(recent_assign(&recent, (uint64_t[]){1, 2}, 2, places), 3);
  int held = places[1];
  /* a free place is used before any other */
  assert_int_equal(recent_assign(&recent, (uint64_t[]){4, 2}, 2, places), 1);
  assert_int_equal(places[1], held);
  assert_int_equal(recent_assign(&recent, (uint64_t[]){1, 2, 4}, 3, places), 0);
}

/* Requests for 3 of 5 keys, with repetitions, four times in a row: each key must be in the place that was last returned
 * for it. */
static void test_all_short_walks(void **state) {
  (void)state;
  for (int walk = 0; walk < 625 * 625; walk += 7) {
    struct recent recent = {.count = 4};
    uint64_t held[4] = {0};
    int rest = walk;
    for (int step = 0; step < 4; step++) {
      uint64_t keys[3];
      int places[3];
      for (int i = 0; i < 3; i++, rest = rest / 5 + step)
        keys[i] = 1 + (uint64_t)(rest % 5);
      unsigned come = recent_assign(&recent, keys, 3, places);
      for (int i = 0; i < 3; i++) {
        assert_true(places[i] >= 0 && places[i] < 4);
        if (come >> i & 1)
          held[places[i]] = keys[i];
      }
      for (int i = 0; i < 3; i++)
        assert_true(held[places[i]] == keys[i]);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_places_are_kept),
      cmocka_unit_test(test_oldest_gives_way),
      cmocka_unit_test(test_nothing_asked_for_gives_way),
      cmocka_unit_test(test_forgetting),
      cmocka_unit_test(test_all_short_walks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
