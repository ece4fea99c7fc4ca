/* Tests parts of a plan that do not run exactly once: loops, injections, regions, and ops in parallel with others. */
#include "tests/rigs/plan_rig.h"

#include <string.h>

/* Appends a loop of a time row, two norms and a step, with a norm before and after it. x, temporary 0, is an input. */
static struct tensor append_loop(struct plan *plan, struct tensor table, int iterations, struct tensor *before) {
  struct tensor x = plan_input(plan, 1, 4, 4, 8, ELEMENT_PRECISE);
  *before = plan_norm(plan, "before", (struct op_norm){.x = x});
  plan_loop_begin(plan, iterations);
  plan_time_row(plan, "time", (struct op_time_row){.step = 0, .table = table});
  struct tensor early = plan_norm(plan, "early", (struct op_norm){.x = *before});
  struct tensor late = plan_norm(plan, "late", (struct op_norm){.x = early});
  plan_step(plan, "step", (struct op_step){.x = x, .model = late});
  plan_loop_end(plan);
  plan_norm(plan, "behind", (struct op_norm){.x = x});
  return early;
}

static void a_loop_keeps_what_its_next_iteration_reads(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  struct error err = {0};
  struct tensor table = resources_state(&resources, "table", CALLS_MAX, 1, 1, 8, ELEMENT_DEVICE, &err), before;
  plan_init(&plan, &resources);
  struct tensor early = append_loop(&plan, table, CALLS_MAX, &before);
  assert_int_equal(plan_finish(&plan, &err), 0);
  assert_int_equal(plan.op_count, 6);
  assert_int_equal(plan.temporaries[0].first, 0);
  assert_int_equal(plan.temporaries[0].last, 5);
  assert_int_equal(plan.temporaries[before.index].first, 0);
  /* its last use is the loop's step, not the norm that reads it, because the loop repeats */
  assert_int_equal(plan.temporaries[before.index].last, 4);
  assert_int_equal(plan.temporaries[early.index].first, 2);
  assert_int_equal(plan.temporaries[early.index].last, 3);
  const int runs[6] = {1, CALLS_MAX, CALLS_MAX, CALLS_MAX, CALLS_MAX, 1};
  for (int i = 0; i < 6; i++)
    assert_int_equal(plan_op_runs(&plan, i), runs[i]);
  plan_free(&plan);
  resources_free(&resources);
}

static void loops_that_make_no_sense_are_refused(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  struct error err = {0};
  struct tensor table = resources_state(&resources, "table", CALLS_MAX, 1, 1, 8, ELEMENT_DEVICE, &err), before;
  plan_init(&plan, &resources);
  append_loop(&plan, table, CALLS_MAX + 1, &before);
  expect_failure(&plan, "iterations");
  plan_init(&plan, &resources);
  append_loop(&plan, table, 2, &before);
  plan_loop_begin(&plan, 2);
  expect_failure(&plan, "one loop");
  plan_init(&plan, &resources);
  plan_loop_end(&plan);
  expect_failure(&plan, "beginning");
  plan_init(&plan, &resources);
  plan_loop_begin(&plan, 2);
  plan_norm(&plan, "norm", (struct op_norm){.x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_DEVICE)});
  plan_loop_end(&plan);
  expect_failure(&plan, "step");
  plan_init(&plan, &resources);
  plan_loop_begin(&plan, 2);
  expect_failure(&plan, "no end");
  plan_init(&plan, &resources);
  plan_loop_begin(&plan, CALLS_MAX);
  plan_time_row(&plan, "time", (struct op_time_row){.step = 1, .table = table});
  expect_failure(&plan, "no such row");
  resources_free(&resources);
}

/* One plan for each mistake. */
static void injections_are_checked(void **state) {
  (void)state;
  struct resources resources = {0};
  const struct {
    int control, step, index, count, rows, x_n, x_c;
    bool weight, bias, self, late;
    const char *what; /* message; NULL: no mistake */
  } cases[] = {
      {0, 0, 0, 1, .x_n = 2, .x_c = 16, .weight = true, .bias = true},
      {3, CALLS_MAX - 2, 12, 13, 1, 1, 8},
      {-1, 0, 0, 1, 2, 2, 8, .what = "no such control"},
      {CONTROLS_MAX, 0, 0, 1, 2, 2, 8, .what = "no such control"},
      {0, 0, 1, 1, 2, 2, 8, .what = "no such control or injection"},
      {0, 0, -1, 1, 2, 2, 8, .what = "no such control or injection"},
      {0, CALLS_MAX - 1, 0, 1, 1, 2, 8, .what = "no such step"},
      {0, -1, 0, 1, 2, 2, 8, .what = "no such step"},
      {0, 2147483647, 0, 1, 2, 2, 8, .what = "no such step"},
      {0, CALLS_MAX - 1, 0, 1, 2, 2, 8, .late = true, .what = "no such step"},
      {0, 0, 0, 1, 4, 2, 8, .what = "guidance rows"},
      {0, 0, 0, 1, 2, 3, 8, .what = "size differs"},
      {0, 0, 0, 1, 2, 1, 16, .weight = true, .what = "size differs"},
      {0, 0, 0, 1, 2, 2, 8, .weight = true, .what = "input features"},
      {0, 0, 0, 1, 2, 2, 8, .bias = true, .what = "the bias"},
      {0, 0, 0, 1, 2, 2, 16, .what = "channels differ"},
      {0, 0, 0, 1, 2, 2, 8, .self = true, .what = "is read as well"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct error err = {0};
    struct plan plan;
    plan_init(&plan, &resources);
    struct op_inject op = {.control = cases[i].control, .step = cases[i].step, .index = cases[i].index};
    op.count = cases[i].count;
    op.rows = cases[i].rows;
    op.y = plan_input(&plan, 2, 3, 5, 8, ELEMENT_DEVICE);
    op.x = cases[i].self ? op.y : plan_input(&plan, cases[i].x_n, 3, 5, cases[i].x_c, ELEMENT_DEVICE);
    if (cases[i].weight)
      op.weight = weight(&resources, "w", 8, 1, 16);
    if (cases[i].bias)
      op.bias = resources_state(&resources, "b", 1, 1, 1, 8, ELEMENT_DEVICE, &err);
    if (cases[i].late)
      plan_loop_begin(&plan, 2);
    plan_inject(&plan, "inject", op);
    if (cases[i].what) {
      expect_failure(&plan, cases[i].what);
      continue;
    }
    assert_int_equal(plan_finish(&plan, &err), 0);
    plan_free(&plan);
  }
  resources_free(&resources);
}

/* A tensor of integers is refused by ops that compute in floating point, and no resource has integers. */
static void whole_numbers_are_for_ops_that_take_them(void **state) {
  (void)state;
  struct resources resources = {0};
  struct error err = {0};
  struct plan plan;
  plan_init(&plan, &resources);
  struct tensor whole = plan_input(&plan, 1, 4, 4, 8, ELEMENT_WHOLE);
  plan_norm(&plan, "norm", (struct op_norm){.x = whole});
  expect_failure(&plan, "norm: x holds whole numbers");
  plan_init(&plan, &resources);
  struct tensor kept = plan_state(&plan, "kept", 1, 4, 4, 8, ELEMENT_WHOLE);
  plan_norm(&plan, "norm", (struct op_norm){.x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_DEVICE), .y = kept});
  expect_failure(&plan, "norm: y holds whole numbers");
  assert_false(tensor_exists(resources_state(&resources, "whole", 1, 1, 1, 8, ELEMENT_WHOLE, &err)));
  assert_non_null(strstr(err.message, "whole: "));
  resources_free(&resources);
}

/* Appends a region: a norm of x, and a step that adds it to x. */
static struct tensor append_region(struct plan *plan, struct region_when when, struct tensor x) {
  plan_region_begin(plan, when);
  struct tensor inner = plan_norm(plan, "inner", (struct op_norm){.x = x});
  plan_step(plan, "add", (struct op_step){.x = x, .model = inner});
  plan_region_end(plan);
  return inner;
}

static void a_region_changes_what_was_there(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  struct error err = {0};
  plan_init(&plan, &resources);
  struct tensor z = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE);
  struct tensor kept = plan_state(&plan, "kept", 1, 4, 4, 8, ELEMENT_DEVICE);
  struct tensor x = plan_affine(&plan, "made", (struct op_affine){.x = z, .scale = 1, .precise = true});
  assert_true(plan_is_straight(&plan));
  append_region(&plan, (struct region_when){REGION_CONTROL, 1, .step = 2, .latents = 3}, x);
  plan_region_begin(&plan, (struct region_when){REGION_MAP, CONTROLS_MAX - 1});
  plan_norm(&plan, "keep", (struct op_norm){.x = x, .y = kept});
  plan_region_end(&plan);
  plan_norm(&plan, "behind", (struct op_norm){.x = x});
  plan_norm(&plan, "also", (struct op_norm){.x = kept});
  if (plan_finish(&plan, &err) < 0)
    fail_msg("%s", err.message);
  assert_false(plan_is_straight(&plan));
  assert_int_equal(plan.region_count, 2);
  assert_null(plan_region_of(&plan, 0));
  assert_ptr_equal(plan_region_of(&plan, 1), &plan.regions[0]);
  assert_ptr_equal(plan_region_of(&plan, 2), &plan.regions[0]);
  assert_ptr_equal(plan_region_of(&plan, 3), &plan.regions[1]);
  assert_null(plan_region_of(&plan, 4));
  assert_int_equal(plan.temporaries[x.index].first, 0);
  assert_int_equal(plan.temporaries[x.index].last, 4);
  plan_free(&plan);
  resources_free(&resources);
}

/* Regions whose condition depends on a value that the plan lacks: one plan for each mistake. */
static void regions_that_go_by_nothing_are_refused(void **state) {
  (void)state;
  struct resources resources = {0};
  const struct {
    struct region_when when;
    int runs;
    const char *what;
  } values[] = {
      {{REGION_CONTROL, -1}, 1, "no such region"},
      {{REGION_CONTROL, CONTROLS_MAX}, 1, "no such region"},
      {{REGION_STYLE, STYLES_MAX}, 1, "no such region"},
      {{REGION_MOTION, 1}, 1, "no such region"},
      {{REGION_BANK, -1}, 1, "no such region"},
      {{REGION_KINDS, 0}, 1, "no such region"},
      {{REGION_CONTROL, 0, .step = -1}, 1, "no such step"},
      {{REGION_CONTROL, 0, .step = CALLS_MAX}, 1, "no such step"},
      {{REGION_CONTROL, 0, .step = 2147483647}, 1, "no such step"},
      {{REGION_CONTROL, 0, .step = 1}, CALLS_MAX, "no such step"},
      {{REGION_CONTROL, 0, .latents = CALLS_MAX + 1}, 1, "no such step"},
      {{REGION_CONTROL, 0, .latents = -1}, 1, "no such step"},
  };
  for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
    struct plan plan;
    plan_init(&plan, &resources);
    struct tensor x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE);
    if (values[i].runs > 1)
      plan_loop_begin(&plan, values[i].runs);
    append_region(&plan, values[i].when, x);
    expect_failure(&plan, values[i].what);
  }
  resources_free(&resources);
}

/* Regions with impossible limits or contents: one plan for each mistake. */
static void regions_that_make_no_sense_are_refused(void **state) {
  (void)state;
  struct resources resources = {0};
  const struct region_when first = {REGION_CONTROL, 0};
  static const char *const words[] = {"begins in another one",
                                      "no beginning",
                                      "no ops",
                                      "region: it has no end",
                                      "loop: it begins in a region",
                                      "loop: it ends in a region",
                                      "later: x is made in a region",
                                      "add: model is made in a region",
                                      "later: x is made in a region",
                                      "out: each run makes its picture"};
  for (int mistake = 0; mistake < 10; mistake++) {
    struct plan plan;
    plan_init(&plan, &resources);
    struct tensor x = plan_input(&plan, 1, 4, 4, 3, ELEMENT_PRECISE), made;
    if (mistake == 0) {
      plan_region_begin(&plan, first);
      append_region(&plan, first, x);
    } else if (mistake == 1) {
      plan_region_end(&plan);
    } else if (mistake == 2) {
      plan_region_begin(&plan, first);
      plan_region_end(&plan);
    } else if (mistake == 3) {
      append_region(&plan, first, x);
      plan_region_begin(&plan, first);
      plan_norm(&plan, "norm", (struct op_norm){.x = x});
    } else if (mistake == 4) {
      plan_region_begin(&plan, first);
      plan_loop_begin(&plan, 2);
    } else if (mistake == 5) {
      plan_loop_begin(&plan, 2);
      plan_region_begin(&plan, first);
      made = plan_norm(&plan, "norm", (struct op_norm){.x = x});
      plan_step(&plan, "step", (struct op_step){.x = x, .model = made});
      plan_loop_end(&plan);
    } else if (mistake == 6) { /* the tensor is read after the region */
      made = append_region(&plan, first, x);
      plan_norm(&plan, "later", (struct op_norm){.x = made});
    } else if (mistake == 7) { /* the tensor is read in another region that depends on the same value */
      plan_region_begin(&plan, first);
      made = plan_norm(&plan, "norm", (struct op_norm){.x = x});
      plan_region_end(&plan);
      plan_region_begin(&plan, first);
      plan_step(&plan, "add", (struct op_step){.x = x, .model = made});
      plan_region_end(&plan);
    } else if (mistake == 8) { /* the step writes in place, but to a tensor that the region made */
      plan_region_begin(&plan, first);
      made = plan_affine(&plan, "make", (struct op_affine){.x = x, .scale = 1, .precise = true});
      plan_step(&plan, "add", (struct op_step){.x = made, .model = x});
      plan_region_end(&plan);
      plan_norm(&plan, "later", (struct op_norm){.x = made});
    } else {
      plan_region_begin(&plan, first);
      plan_pixels_out(&plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
      plan_region_end(&plan);
    }
    expect_failure(&plan, words[mistake]);
  }
  resources_free(&resources);
}

/* Ops that may run in parallel with others share no tensor with them that one of them writes. One plan for each
 * mistake; the first plan has none. */
static void what_runs_beside_others_is_apart(void **state) {
  (void)state;
  struct resources resources = {0};
  static const char *const words[] = {NULL,
                                      "inner: it cannot run beside early",
                                      "inner: it cannot run beside early",
                                      "inner: it cannot run beside step",
                                      "it cannot run beside these ops",
                                      "it cannot run beside these ops",
                                      "it cannot run beside these ops",
                                      "it has no ops that meet",
                                      "before it begins",
                                      "it has no ops that meet"};
  for (int mistake = 0; mistake < 10; mistake++) {
    struct plan plan;
    struct error err = {0};
    plan_init(&plan, &resources);
    struct tensor x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE),
                  z = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE),
                  kept = plan_state(&plan, "kept", 1, 4, 4, 8, ELEMENT_DEVICE);
    struct tensor before = plan_norm(&plan, "before", (struct op_norm){.x = x});
    plan_region_begin(&plan, (struct region_when){REGION_MAP, 0});
    plan_norm(&plan, "map", (struct op_norm){.x = x});
    plan_region_end(&plan);
    int parallel_with = plan.op_count + (mistake == 4   ? -1
                                         : mistake == 5 ? 3
                                                        /* parallel from the region's first op on, or from the op after
                                                         * the first */
                                                        : 0);
    struct tensor early =
        plan_norm(&plan, "early", (struct op_norm){.x = before, .y = mistake == 2 ? kept : (struct tensor){0}});
    if (mistake == 3)
      plan_step(&plan, "step", (struct op_step){.x = z, .model = early});
    if (mistake == 6) {
      plan_step(&plan, "step", (struct op_step){.x = z, .model = early});
      plan_loop_begin(&plan, 2);
    }
    if (mistake == 8)
      plan_region_end_parallel(&plan, parallel_with);
    plan_region_begin(&plan, (struct region_when){REGION_CONTROL, 0});
    if (mistake == 7)
      plan_region_end_parallel(&plan, parallel_with);
    struct tensor from[] = {before, early, kept, z, before, before, before, before, before, before};
    struct tensor inner = plan_norm(&plan, "inner", (struct op_norm){.x = from[mistake]});
    plan_region_end_parallel(&plan, parallel_with);
    if (mistake == 9)
      plan_region_end_parallel(&plan, parallel_with);
    plan_inject(&plan, "inject", (struct op_inject){.x = inner, .y = early, .count = 1});
    plan_region_end(&plan);
    if (words[mistake]) {
      expect_failure(&plan, words[mistake]);
      continue;
    }
    if (plan_finish(&plan, &err) < 0)
      fail_msg("%s", err.message);
    for (int i = 0; i < plan.op_count; i++)
      assert_int_equal(plan_is_parallel(&plan, i), i == 3);
    for (int i = 0; i < plan.op_count; i++) /* each op is in a part of its own */
      assert_int_equal(plan_sequence_end(&plan, i), i + 1);
    plan_free(&plan);
  }
  resources_free(&resources);
}

static void sequences_end_where_a_loop_does(void **state) {
  static const int ends[] = {2, 2, 4, 4, 6, 6};
  struct resources resources = {0};
  struct error err = {0};
  struct plan plan;
  (void)state;
  plan_init(&plan, &resources);
  struct tensor x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE), z = plan_input(&plan, 1, 4, 4, 8, ELEMENT_PRECISE);
  x = plan_norm(&plan, "first", (struct op_norm){.x = x});
  x = plan_norm(&plan, "second", (struct op_norm){.x = x});
  plan_loop_begin(&plan, 2);
  struct tensor model = plan_norm(&plan, "model", (struct op_norm){.x = x});
  plan_step(&plan, "step", (struct op_step){.x = z, .model = model});
  plan_loop_end(&plan);
  x = plan_norm(&plan, "behind", (struct op_norm){.x = z});
  plan_norm(&plan, "last", (struct op_norm){.x = x});
  if (plan_finish(&plan, &err) < 0)
    fail_msg("%s", err.message);
  assert_int_equal(plan.op_count, sizeof ends / sizeof *ends);
  for (int i = 0; i < plan.op_count; i++)
    assert_int_equal(plan_sequence_end(&plan, i), ends[i]);
  plan_free(&plan);
  resources_free(&resources);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_loop_keeps_what_its_next_iteration_reads),
      cmocka_unit_test(loops_that_make_no_sense_are_refused),
      cmocka_unit_test(injections_are_checked),
      cmocka_unit_test(whole_numbers_are_for_ops_that_take_them),
      cmocka_unit_test(a_region_changes_what_was_there),
      cmocka_unit_test(regions_that_go_by_nothing_are_refused),
      cmocka_unit_test(regions_that_make_no_sense_are_refused),
      cmocka_unit_test(what_runs_beside_others_is_apart),
      cmocka_unit_test(sequences_end_where_a_loop_does),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
