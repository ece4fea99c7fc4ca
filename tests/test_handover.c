/* Tests what a restarted program reads from the process before it, and how often it may restart. */
#include "tests/rigs/cmocka_all.h"

#include <stdlib.h>
#include <string.h>

#include "app/live/handover.h"

static const int64_t second_ns = INT64_C(1000000000);

/* Sets every parameter to a value that is not its default, if there is one. */
static void set_all(struct parameters *values) {
  struct error err;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      if (row->type == TYPE_TEXT)
        parameters_set_text(values, id, i, i % 2 ? "a \"fox\"\n\xC3\xA9" : NULL, &err);
      else if (row->type == TYPE_SIZE)
        parameters_set_size(values, id, i, 512, 288, &err);
      else if (row->type == TYPE_REAL)
        parameters_set_number(values, id, i, row->min + (row->max - row->min) / 3, &err);
      else
        parameters_set_number(values, id, i, row->standard == row->max ? row->min : row->max, &err);
    }
  }
}

static void write_and_read(const struct handover *handover, struct handover *read) {
  struct error err = {0};
  char *text = handover_print(handover);
  assert_non_null(text);
  if (handover_read(read, text, &err))
    fail_msg("%s: %s", err.message, text);
  free(text);
}

static void assert_same_values(const struct parameters *a, const struct parameters *b) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++)
      if (!parameters_same(a, b, id, i))
        fail_msg("%s %d", row->name, i);
  }
  assert_memory_equal(a->marks, b->marks, sizeof a->marks);
}

static void values_come_to_the_bit(void **state) {
  (void)state;
  struct handover *handover = calloc(2, sizeof *handover), *read = handover + 1;
  parameters_init(&handover->values);
  write_and_read(handover, read);
  assert_same_values(&handover->values, &read->values);
  set_all(&handover->values);
  handover->values.marks[PARAMETER_STEPS] = 0; /* a number of steps that was not set by the user but by the model */
  write_and_read(handover, read);
  assert_same_values(&handover->values, &read->values);
  free(handover);
}

static void state_comes_along(void **state) {
  (void)state;
  struct error err;
  struct handover *handover = calloc(2, sizeof *handover), *read = handover + 1;
  parameters_init(&handover->values);
  assert_int_equal(playlist_insert(&handover->sources, 0, "a clip.mp4", false, &err), 0);
  assert_int_equal(playlist_insert(&handover->sources, 1, "dropped.mkv", true, &err), 0);
  handover->sources.entries[0].in_s = 1.25;
  handover->sources.entries[0].out_s = 7.5;
  handover->source = 1;
  handover->position = 1.0 / 3;
  handover->loop = true;
  handover->place = (struct window_place){-7, 8, 640, 360, true};
  handover->started_ns = 123456789012345;
  handover->shown = 4711;
  handover->walk = 0.1;
  handover->blackout = 0.3;
  handover->web = (struct web_key){8080, "0123456789abcdef0123456789abcdef"};
  strcpy(handover->why, "cuda: an illegal memory access was encountered");
  handover_note(&handover->record, 5);
  handover->record.barren = 2;
  write_and_read(handover, read);
  assert_int_equal(read->sources.count, 2);
  assert_string_equal(read->sources.entries[1].name, "dropped.mkv");
  assert_true(read->sources.entries[1].plain && !read->sources.entries[0].plain);
  assert_true(read->sources.entries[0].in_s == 1.25 && read->sources.entries[0].out_s == 7.5);
  assert_true(read->sources.entries[1].in_s == 0 && read->sources.entries[1].out_s == 0);
  assert_true(read->position == handover->position && read->walk == handover->walk);
  assert_true(read->blackout == handover->blackout);
  assert_memory_equal(&read->place.left, &handover->place.left, 4 * sizeof(int));
  assert_true(read->place.fullscreen);
  assert_true(read->loop && read->source == 1 && read->shown == 4711);
  assert_true(read->started_ns == handover->started_ns);
  assert_int_equal(read->web.port, 8080);
  assert_string_equal(read->web.token, handover->web.token);
  assert_string_equal(read->why, handover->why);
  assert_memory_equal(&read->record, &handover->record, sizeof read->record);
  handover_free(handover);
  handover_free(read);
  free(handover);
}

static void nonsense_is_refused(void **state) {
  (void)state;
  static const char *const texts[] = {"", "{}", "[1]", "{\"device\": 7}", "{\"device\": \"cpu\", \"source\": \"x\"}"};
  struct error err;
  struct handover *read = calloc(1, sizeof *read);
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
    assert_int_equal(handover_read(read, texts[i], &err), -1);
  free(read);
}

/* Three restarts in a minute are allowed; if none of them leads to a picture, the pauses become longer. */
static void there_are_few_in_a_minute(void **state) {
  (void)state;
  struct handover_record record = {0};
  for (int i = 0; i < HANDOVERS_A_MINUTE; i++) {
    assert_true(handover_due_ns(&record) <= (100 + i) * second_ns);
    handover_note(&record, (100 + i) * second_ns);
  }
  assert_int_equal(handover_due_ns(&record) / second_ns, 160);
  handover_note(&record, 160 * second_ns);
  assert_int_equal(handover_due_ns(&record) / second_ns, 161);

  record = (struct handover_record){.barren = 1};
  assert_int_equal(handover_due_ns(&record), 0);
  int64_t pause_s = 0, now_s = 1000;
  for (int i = 1; i < 12; i++) {
    record.barren = i;
    handover_note(&record, now_s * second_ns);
    int64_t next_s = handover_due_ns(&record) / second_ns - now_s;
    assert_true(next_s >= 20 && next_s >= pause_s && next_s <= 600);
    pause_s = next_s;
    now_s += next_s;
  }
  assert_int_equal(pause_s, 600);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(values_come_to_the_bit),
      cmocka_unit_test(state_comes_along),
      cmocka_unit_test(nonsense_is_refused),
      cmocka_unit_test(there_are_few_in_a_minute),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
