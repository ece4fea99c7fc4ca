/* Tests the table of parameters: each row is complete, and values are printed and parsed without loss. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "app/control/parameter_order.h"
#include "app/control/parameters.h"
#include "app/control/settings.h"
#include "unet/base/maps.h"

static struct parameters defaults(void) {
  struct parameters values;
  parameters_init(&values);
  return values;
}

static int count_choices(const char *choices) {
  int count = 1;
  for (; *choices; choices++)
    count += *choices == '|';
  return count;
}

/* Every row has a name, help, range and a default of its type, and is found by the name of each instance. */
static void rows_are_whole(void **state) {
  (void)state;
  const struct parameters values = defaults();
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    assert_non_null(row->name);
    assert_true(row->help && *row->help);
    assert_true(row->need >= 0 && row->need < NEEDS);
    assert_true(row->size > 0 && row->offset + row->size <= sizeof values);
    assert_in_range(parameter_instances(id), 1, PARAMETER_INSTANCES_MAX);
    assert_true((strstr(row->name, "[]") != NULL) == (row->count > 0));
    assert_true(!row->choices == (row->type != TYPE_CHOICE));
    if (row->type == TYPE_REAL || row->type == TYPE_WHOLE)
      assert_true(row->min < row->max && row->standard >= row->min && row->standard <= row->max);
    if (row->type == TYPE_SIZE)
      assert_true(row->min >= 1 && row->min < row->max && row->max <= INT16_MAX);
    if (row->type == TYPE_WHOLE)
      assert_true(row->max <= PARAMETER_WHOLE_MAX && row->min >= -PARAMETER_WHOLE_MAX);
    if (row->type == TYPE_CHOICE)
      assert_true(row->standard >= 0 && row->standard < count_choices(row->choices));
    if (row->type == TYPE_SWITCH)
      assert_true(row->standard == 0 || row->standard == 1);
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      char name[PARAMETER_NAME_MAX];
      enum parameter found;
      int index;
      assert_int_equal(parameter_find(parameter_name(id, i, name), &found, &index, NULL), 0);
      assert_int_equal(found, id);
      assert_int_equal(index, i);
      assert_false(parameters_marked(&values, id, i));
      if (row->type != TYPE_TEXT && row->type != TYPE_SIZE)
        assert_true(parameters_number(&values, id, i) == row->standard);
    }
    for (enum parameter other = PARAMETER_NONE + 1; other < id; other++) {
      assert_string_not_equal(parameter_row(other)->name, row->name);
      size_t end = parameter_row(other)->offset + parameter_row(other)->size * (size_t)parameter_instances(other);
      assert_true(end <= row->offset || row->offset + row->size * (size_t)parameter_instances(id) <=
                                            /* two parameters never share a field of the struct */
                                            parameter_row(other)->offset);
    }
  }
}

/* Each parameter has a label for people, different from all others and at most 22 bytes long, as bars and lists
 * require. */
static void labels_tell_parameters_apart(void **state) {
  (void)state;
  char label[PARAMETER_NAME_MAX];
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    assert_true(row->group >= 0 && row->group < PARAMETER_GROUPS);
    assert_true(*row->label && strlen(row->label) <= 22);
    assert_true((strstr(row->label, "[]") != NULL) == (row->count > 0));
    assert_null(strstr(parameter_label(id, row->first, label), "[]"));
    for (enum parameter other = PARAMETER_NONE + 1; other < id; other++)
      assert_string_not_equal(parameter_row(other)->label, row->label);
  }
  assert_string_equal(parameter_label(PARAMETER_LORA_WEIGHT, 2, label), "LoRA 2 weight");
  assert_string_equal(parameter_label(PARAMETER_STRENGTH, 0, label), "Strength");
}

/* The order of lists: each parameter once, group by group; in a group, parameters with an order of their own come
 * first. */
static void groups_follow_each_other(void **state) {
  (void)state;
  enum parameter ids[PARAMETERS];
  bool seen[PARAMETERS] = {false};
  int count = parameters_in_order(ids);
  assert_int_equal(count, PARAMETERS - 1);
  for (int i = 0; i < count; i++) {
    assert_false(seen[ids[i]]);
    seen[ids[i]] = true;
    if (!i || parameter_row(ids[i])->group != parameter_row(ids[i - 1])->group)
      continue;
    const struct parameter_row *row = parameter_row(ids[i]), *before = parameter_row(ids[i - 1]);
    assert_true(!row->order || (before->order && before->order <= row->order));
    assert_true(row->order || before->order || ids[i - 1] < ids[i]);
  }
  for (int i = 1; i < count; i++)
    assert_true(parameter_row(ids[i - 1])->group <= parameter_row(ids[i])->group);
  for (int i = 0; i < PARAMETER_GROUPS; i++)
    assert_true(parameter_group_label((enum parameter_group)i) && *parameter_group_label((enum parameter_group)i));
}

/* The list by rank begins with the strength, no two parameters have the same rank, and more than six have one. */
static void ranks_begin_with_the_strength(void **state) {
  (void)state;
  enum parameter ids[PARAMETERS];
  int count = parameters_by_rank(ids);
  assert_int_equal(ids[0], PARAMETER_STRENGTH);
  assert_true(count > 6);
  for (int i = 1; i < count; i++)
    assert_true(parameter_row(ids[i - 1])->rank < parameter_row(ids[i])->rank);
}

/* The span that knobs and sliders cover is within the parameter's range and not too wide; for whole numbers its ends
 * are whole. */
static void spans_are_a_useful_part_of_ranges(void **state) {
  (void)state;
  double low, high;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    parameter_span(id, &low, &high);
    if (row->type == TYPE_TEXT)
      continue;
    assert_true(low < high);
    if (row->type == TYPE_REAL || row->type == TYPE_WHOLE)
      assert_true(low >= row->min && high <= row->max && high - low <= 8192);
    if (row->type == TYPE_WHOLE)
      assert_true(low == trunc(low) && high == trunc(high));
    if (row->type == TYPE_CHOICE)
      assert_true(low == 0 && high == count_choices(row->choices) - 1);
  }
  parameter_span(PARAMETER_PAUSE, &low, &high);
  assert_true(low == 0 && high == 1);
  parameter_span(PARAMETER_STRENGTH, &low, &high);
  assert_true(low == 0 && high == 1);
}

/* Both ends and a value in between of every number, and a string for every text, are printed and parsed to the same
 * value. */
static void printed_is_parsed(void **state) {
  (void)state;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    double top = row->type == TYPE_CHOICE ? count_choices(row->choices) - 1 : row->type == TYPE_SWITCH ? 1 : row->max;
    const double numbers[] = {row->min, top, row->type == TYPE_REAL ? row->min + (top - row->min) / 3 : row->standard};
    for (size_t n = 0; n < 3; n++) {
      struct parameters from = defaults(), to = defaults();
      int index = row->first + parameter_instances(id) - 1;
      char text[PARAMETER_TEXT_MAX];
      struct error err;
      int set = row->type == TYPE_TEXT   ? parameters_set_text(&from, id, index, "caf\xc3\xa9, [2] = \"a\"", &err)
                : row->type == TYPE_SIZE ? parameters_set_size(&from, id, index, (int)row->min, (int)row->max, &err)
                                         : parameters_set_number(&from, id, index, numbers[n], &err);
      assert_int_equal(set, 0);
      assert_true(parameters_marked(&from, id, index));
      assert_int_equal(parameters_parse(&to, id, index, parameters_print(&from, id, index, text, sizeof text), &err),
                       0);
      assert_true(parameters_equal(&from, &to, ~0u));
    }
  }
}

static void seeds_are_whole_to_the_end(void **state) {
  (void)state;
  struct parameters values = defaults();
  char text[32];
  struct error err;
  assert_int_equal(parameters_parse(&values, PARAMETER_SEED, 0, "9007199254740991", &err), 0);
  assert_true(values.seed == INT64_C(9007199254740991));
  assert_string_equal(parameters_print(&values, PARAMETER_SEED, 0, text, sizeof text), "9007199254740991");
  assert_int_equal(parameters_set_number(&values, PARAMETER_SEED, 0, 9007199254740990.0, &err), 0);
  assert_true(values.seed == INT64_C(9007199254740990));
  assert_int_equal(parameters_parse(&values, PARAMETER_SEED, 0, "9007199254740992", &err), -1);
  assert_non_null(strstr(err.message, "from 0 to 9007199254740991"));
  assert_int_equal(parameters_parse(&values, PARAMETER_SEED, 0, "9007199254740993", &err), -1);
  assert_true(values.seed == INT64_C(9007199254740990));
}

static void expect_refusal(enum parameter id, int index, const char *text, const char *wanted) {
  struct parameters values = defaults();
  const struct parameters before = values;
  struct error err = {0};
  if (!parameters_parse(&values, id, index, text, &err))
    fail_msg("'%s' accepted for %s", text, parameter_row(id)->name);
  assert_int_equal(err.status, STATUS_USAGE);
  assert_null(strchr(err.message, '\n'));
  if (!strstr(err.message, wanted))
    fail_msg("'%s' is not in '%s'", wanted, err.message);
  assert_memory_equal(&values, &before, sizeof values);
}

static void refusals(void **state) {
  (void)state;
  static char longest[PARAMETER_TEXT_MAX + 1];
  memset(longest, 'x', PARAMETER_TEXT_MAX);
  const char *const numbers[] = {"-0.1", "1.01", "nan", "inf", "", "0.5x", " 0.5", "x", "1e400"};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
    expect_refusal(PARAMETER_STRENGTH, 0, numbers[i], "a number from 0 to 1 is needed");
  const char *const wholes[] = {"0", "51", "1.5", "-1", "0x10", " 3", "99999999999999999999"};
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++)
    expect_refusal(PARAMETER_STEPS, 0, wholes[i], "a whole number from 1 to 50 is needed");
  expect_refusal(PARAMETER_FIT, 0, "cro", "one of crop|letterbox|stretch is needed");
  expect_refusal(PARAMETER_FIT, 0, "", "one of");
  expect_refusal(PARAMETER_HUD, 0, "yes", "on or off");
  expect_refusal(PARAMETER_PROMPT, 1, longest, "prompt[1]");
  expect_refusal(PARAMETER_PROMPT, 0, "x", "there are 1 to 9");
  expect_refusal(PARAMETER_PROMPT, 10, "x", "prompt[10]: there are 1 to 9");
  expect_refusal(PARAMETER_SEED, 1, "1", "seed");
  const char *const sizes[] = {"", "512", "512x", "x512", "512x0", "512x8193", "-1x8", " 8x8", "8x8 ", "8X8", "8x8x8"};
  for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
    expect_refusal(PARAMETER_SIZE, 0, sizes[i], "WIDTHxHEIGHT is needed, each from 1 to 8192");
  expect_refusal(PARAMETER_SIZE, 1, "8x8", "size");
  struct parameters values = defaults();
  struct error err;
  assert_int_equal(parameters_set_size(&values, PARAMETER_SIZE, 0, 0, 8, &err), -1);
  assert_int_equal(parameters_set_size(&values, PARAMETER_SIZE, 0, 8, 8193, &err), -1);
  assert_int_equal(parameters_set_size(&values, PARAMETER_SEED, 0, 8, 8, &err), -1);
  assert_int_equal(parameters_set_number(&values, PARAMETER_SIZE, 0, 8, &err), -1);
  assert_int_equal(parameters_set_text(&values, PARAMETER_SIZE, 0, "8x8", &err), -1);
  assert_int_equal(parameters_set_number(&values, PARAMETER_PROMPT, 1, 1, &err), -1);
  assert_int_equal(parameters_set_text(&values, PARAMETER_SEED, 0, "1", &err), -1);
  assert_int_equal(parameters_set_number(&values, PARAMETER_STEPS, 0, 1.5, &err), -1);
  assert_int_equal(parameters_set_number(&values, PARAMETER_STRENGTH, 0, (double)NAN, &err), -1);
}

static void names_with_an_index(void **state) {
  (void)state;
  enum parameter id;
  int index;
  struct error err;
  char name[PARAMETER_NAME_MAX];
  assert_int_equal(parameter_find("prompt[3]", &id, &index, &err), 0);
  assert_true(id == PARAMETER_PROMPT && index == 3);
  assert_string_equal(parameter_name(id, index, name), "prompt[3]");
  const char *const wrong[] = {"prompt",
                               "prompt[]",
                               "prompt[0]",
                               "prompt[10]",
                               "prompt[x]",
                               "prompt[3",
                               "prompt[3]x",
                               "prompt[-1]",
                               "prompt[+3]",
                               "seed[1]",
                               "xyzzy",
                               "",
                               "prompt[99999999999999999999]"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    assert_int_equal(parameter_find(wrong[i], &id, &index, &err), -1);
    assert_null(strchr(err.message, '\n'));
  }
  assert_string_equal(err.message, "prompt[99999999999999999999]: there are 1 to 9");
  assert_true(parameter_matches("lora[].weight", "lora[2].weight", &index) && index == 2);
  assert_false(parameter_matches("lora[].weight", "lora[2]", &index));
  assert_false(parameter_matches("lora[].weight", "lora[2].weights", &index));
}

/* A difference in any one parameter is found by the comparison for its kind of effect, and by no other comparison. */
/* Checks that copying values copies this one, and that copying other values removes it. */
static void assert_copied(const struct parameters *with, const struct parameters *without, enum parameter id,
                          int index) {
  struct settings from = {.values = *with, .walked_ns = 5}, to = {.values = *without};
  settings_copy(&to, &from);
  assert_true(parameters_equal(&to.values, with, ~0u) && parameters_marked(&to.values, id, index));
  assert_true(to.walked_ns == 5);
  from = (struct settings){.values = *without};
  settings_copy(&to, &from);
  assert_true(parameters_equal(&to.values, without, ~0u) && !to.walked_ns);
}

static void equality_sees_every_parameter(void **state) {
  (void)state;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    struct parameters a = defaults(), b = defaults();
    int index = row->first + parameter_instances(id) - 1;
    struct error err;
    assert_true(parameters_equal(&a, &b, ~0u));
    double other = row->type == TYPE_SWITCH || row->type == TYPE_CHOICE ? !row->standard
                   : row->standard < row->max                           ? row->max
                                                                        : row->min;
    int set = row->type == TYPE_TEXT   ? parameters_set_text(&b, id, index, "", &err)
              : row->type == TYPE_SIZE ? parameters_set_size(&b, id, index, (int)row->min, (int)row->min, &err)
                                       : parameters_set_number(&b, id, index, other, &err);
    assert_int_equal(set, 0);
    assert_false(parameters_equal(&a, &b, ~0u));
    assert_false(parameters_equal(&a, &b, 1u << row->need));
    assert_true(parameters_equal(&a, &b, ~(1u << row->need)));
    assert_copied(&b, &a, id, index);
    parameters_apply(&a, &b); /* copies only marked values */
    assert_true(parameters_equal(&a, &b, ~0u));
    assert_true(parameters_marked(&a, id, index));
    parameters_clear_marks(&a);
    b = defaults();
    parameters_apply(&b, &a);
    assert_false(parameters_equal(&a, &b, ~0u));
  }
}

static void sizes_are_two_sides(void **state) {
  (void)state;
  struct parameters values = defaults();
  char text[16];
  struct error err;
  assert_string_equal(parameters_print(&values, PARAMETER_SIZE, 0, text, sizeof text), "");
  assert_int_equal(parameters_parse(&values, PARAMETER_SIZE, 0, "512x288", &err), 0);
  assert_true(values.size.width == 512 && values.size.height == 288);
  assert_string_equal(parameters_show(&values, PARAMETER_SIZE, 0, text, sizeof text), "512x288");
  struct parameters other = values;
  other.size.height = 512;
  assert_false(parameters_equal(&values, &other, 1u << NEED_PREPARATION));
}

/* Values that the user has not set are the model's defaults. */
static void unset_values_are_the_models(void **state) {
  (void)state;
  struct parameters values = defaults(), suited = defaults();
  struct error err;
  assert_int_equal(parameters_set_number(&values, PARAMETER_STEPS, 0, 7, &err), 0);
  values.strength = 1;
  values.size = (struct parameter_size){64, 32};
  values.seed = 3;
  parameters_leave_to_model(&values);
  assert_int_equal(values.steps, 7);
  assert_true(values.strength == 0.5);
  assert_int_equal(values.size.width, 0);
  assert_int_equal(values.seed, 3);
  suited.steps = 20;
  suited.strength = 0.75;
  suited.size = (struct parameter_size){512, 256};
  suited.seed = 4;
  parameters_follow_model(&values, &suited);
  assert_int_equal(values.steps, 7);
  assert_true(values.strength == 0.75);
  assert_int_equal(values.size.height, 256);
  assert_int_equal(values.seed, 3);
  suited = defaults();
  assert_int_equal(parameters_set_text(&suited, PARAMETER_MODEL, 0, "one", &err), 0);
  assert_int_equal(parameters_set_text(&suited, PARAMETER_LORA, 8, "two", &err), 0);
  parameters_copy(&values, &suited, 1u << NEED_ENGINE);
  assert_string_equal(parameters_text(&values, PARAMETER_MODEL, 0), "one");
  assert_string_equal(parameters_text(&values, PARAMETER_LORA, 8), "two");
  assert_false(parameters_marked(&values, PARAMETER_MODEL, 0));
  assert_int_equal(values.steps, 7);
}

/* The table says which parameters have no effect on a network without guidance rows. */
static void guidance_needs_its_rows(void **state) {
  (void)state;
  static struct moment a, b;
  const struct parameters values = defaults();
  struct parameters change = defaults();
  settings_begin(&a.settings, &values);
  b = a;
  assert_true(moment_equal(&a, &b));
  assert_int_equal(parameters_set_number(&change, PARAMETER_GUIDANCE, 0, 2, NULL), 0);
  settings_apply(&b.settings, &change, 0);
  assert_false(moment_equal(&a, &b)); /* with guidance rows the picture is another one */
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (id != PARAMETER_GUIDANCE_MODE && id != PARAMETER_DELTA)
      assert_true((parameter_row(id)->need == NEED_ROWS) == (strstr(parameter_row(id)->name, "guidance") != NULL));
  assert_true(parameter_row(PARAMETER_DELTA)->need == NEED_ROWS);
  assert_true(parameter_row(PARAMETER_GUIDANCE_MODE)->need == NEED_PREPARATION);
}

/* A scale of 1 needs no guidance rows; in a mode without a row of its own the handle does not depend on the scale. */
static void guidance_modes_choose_the_handle(void **state) {
  (void)state;
  static const struct {
    enum guidance_mode mode;
    double scale;
    enum guidance_mode handle;
    float told; /* guidance scale that the engine gets */
  } cases[] = {
      {GUIDANCE_NONE, 5, GUIDANCE_NONE, 1},         {GUIDANCE_FULL, 1, GUIDANCE_NONE, 1},
      {GUIDANCE_FULL, 5, GUIDANCE_FULL, 5},         {GUIDANCE_SELF, 1, GUIDANCE_SELF, 1},
      {GUIDANCE_SELF, 5, GUIDANCE_SELF, 5},         {GUIDANCE_ONE_TIME, 1, GUIDANCE_NONE, 1},
      {GUIDANCE_ONE_TIME, 0, GUIDANCE_ONE_TIME, 0},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct parameters values = defaults();
    struct controls controls;
    values.guidance_mode = cases[i].mode;
    values.guidance = cases[i].scale;
    values.guidance_rescale = 0.25;
    values.delta = 0.5;
    values_controls(&values, &controls);
    assert_int_equal(values_guidance(&values), cases[i].handle);
    assert_true(controls.guidance == cases[i].told && controls.guidance_rescale == 0.25f && controls.delta == 0.5f);
  }
}

static void steps_stop_at_the_ends(void **state) {
  (void)state;
  struct parameters values = defaults();
  char text[16];
  parameters_add(&values, PARAMETER_STRENGTH, 0, 0.05);
  assert_true((float)values.strength == 0.55f);
  assert_string_equal(parameters_show(&values, PARAMETER_STRENGTH, 0, text, sizeof text), "0.55");
  parameters_add(&values, PARAMETER_STRENGTH, 0, 7);
  assert_true(values.strength == 1);
  parameters_add(&values, PARAMETER_STRENGTH, 0, (double)NAN);
  assert_true(values.strength == 1);
  parameters_add(&values, PARAMETER_STEPS, 0, -1);
  assert_int_equal(values.steps, 1);
  parameters_add(&values, PARAMETER_STEPS, 0, 100);
  assert_int_equal(values.steps, STEPS_MAX);
}

/* Each value of a map is a parameter of the control, whose range includes the map's range. */
static void test_parameters_of_maps(void **state) {
  (void)state;
  for (int kind = 0; kind < MAP_KINDS; kind++) {
    const struct map_parameter *list;
    for (int i = 0, count = map_parameters((enum map_kind)kind, &list); i < count; i++) {
      char name[PARAMETER_NAME_MAX];
      enum parameter id;
      int index;
      struct error err;
      snprintf(name, sizeof name, "control[1].%s", map_value_name(list[i].value));
      if (parameter_find(name, &id, &index, &err))
        fail_msg("%s: %s", map_word((enum map_kind)kind), err.message);
      const struct parameter_row *row = parameter_row(id);
      assert_true(row->min == -1 && row->standard == -1 && row->max >= (double)list[i].most);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_parameters_of_maps),
      cmocka_unit_test(rows_are_whole),
      cmocka_unit_test(labels_tell_parameters_apart),
      cmocka_unit_test(groups_follow_each_other),
      cmocka_unit_test(ranks_begin_with_the_strength),
      cmocka_unit_test(spans_are_a_useful_part_of_ranges),
      cmocka_unit_test(printed_is_parsed),
      cmocka_unit_test(seeds_are_whole_to_the_end),
      cmocka_unit_test(refusals),
      cmocka_unit_test(names_with_an_index),
      cmocka_unit_test(equality_sees_every_parameter),
      cmocka_unit_test(sizes_are_two_sides),
      cmocka_unit_test(unset_values_are_the_models),
      cmocka_unit_test(guidance_needs_its_rows),
      cmocka_unit_test(guidance_modes_choose_the_handle),
      cmocka_unit_test(steps_stop_at_the_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
