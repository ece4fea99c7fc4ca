/* Tests plans: shapes, errors that persist until plan_finish, lifetimes of tensors, and an arena in which tensors that
 * exist at the same time do not overlap. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/plan_rig.h"

static void shapes_follow_the_convolution(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  plan_init(&plan, &resources);
  struct tensor x = plan_input(&plan, 2, 15, 9, 8, ELEMENT_DEVICE);
  struct tensor w = weight(&resources, "w", 16, 3, 8);
  struct tensor y = plan_conv(&plan, "same", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1});
  assert_int_equal(y.h, 15);
  assert_int_equal(y.w, 9);
  assert_int_equal(y.c, 16);
  y = plan_conv(&plan, "half", (struct op_conv){.x = x, .weight = w, .stride = 2, .pad = 1});
  assert_int_equal(y.h, 8);
  assert_int_equal(y.w, 5);
  y = plan_conv(&plan, "end", (struct op_conv){.x = x, .weight = w, .stride = 2, .pad_end_only = true});
  assert_int_equal(y.h, 7);
  assert_int_equal(y.w, 4);
  y = plan_conv(&plan, "up", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1, .upsample = true});
  assert_int_equal(y.h, 30);
  assert_int_equal(y.w, 18);
  struct tensor g = weight(&resources, "g", 32, 1, 8);
  y = plan_linear(&plan, "geglu", (struct op_linear){.x = x, .weight = g, .act = ACT_GEGLU});
  assert_int_equal(y.c, 16);
  struct error err = {0};
  assert_int_equal(plan_finish(&plan, &err), 0);
  plan_free(&plan);
  resources_free(&resources);
}

static void the_first_error_sticks_and_names_its_place(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  plan_init(&plan, &resources);
  struct tensor x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_DEVICE);
  struct tensor w = weight(&resources, "w", 16, 3, 12);
  size_t mark = plan_enter(&plan, "down_blocks.%d", 1);
  struct tensor y = plan_conv(&plan, "conv1", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1});
  plan_leave(&plan, mark);
  assert_false(tensor_exists(y));
  plan_norm(&plan, "later", (struct op_norm){.x = y});
  struct error err = {0};
  assert_int_equal(plan_finish(&plan, &err), -1);
  assert_int_equal(err.status, STATUS_MODEL);
  assert_non_null(strstr(err.message, "down_blocks.1: conv1: the weight's input channels"));
  plan_free(&plan);
  resources_free(&resources);
}

/* Each check that the table makes for every op, with one plan for each mistake. */
static void operands_are_checked_by_their_roles(void **state) {
  (void)state;
  struct resources resources = {0};
  struct tensor w = weight(&resources, "w", 8, 1, 8);
  for (int mistake = 0; mistake < 8; mistake++) {
    struct plan plan;
    plan_init(&plan, &resources);
    struct tensor x = plan_input(&plan, 1, 4, 4, 8, ELEMENT_DEVICE), slice = tensor_channels(x, 2, 4);
    struct tensor y = {0};
    if (mistake == 0)
      y = plan_linear(&plan, "p", (struct op_linear){.weight = w});
    else if (mistake == 1)
      y = plan_norm(&plan, "p", (struct op_norm){.x = slice});
    else if (mistake == 2)
      y = plan_linear(&plan, "p", (struct op_linear){.x = x, .weight = x});
    else if (mistake == 3)
      y = plan_start(&plan, "p", (struct op_start){.noise = x});
    else if (mistake == 4)
      y = plan_linear(&plan, "p", (struct op_linear){.x = x, .weight = w, .y = x, .residual = slice});
    else if (mistake == 5)
      y = plan_linear(&plan, "p", (struct op_linear){.x = x, .weight = w, .bias = x});
    else if (mistake == 6)
      y = plan_norm(&plan, "p", (struct op_norm){.x = x, .y = x});
    else
      y = plan_pixels_in(&plan, "p", (struct op_pixels_in){.source = SOURCES_MAX, .y = {.h = 4, .w = 4}});
    const char *const words[] = {"p: x is missing",
                                 "p: x is a slice",
                                 "p: weight is no weight",
                                 "p: noise is no state",
                                 "p: residual is a slice",
                                 "p: bias is no weight",
                                 "p: the destination is read as well",
                                 "p: there is no such source"};
    assert_false(tensor_exists(y));
    expect_failure(&plan, words[mistake]);
  }
  resources_free(&resources);
}

/* A state is declared once by its name, can be used like noise and written by any op, and is not in the arena. */
static void states_have_a_space_of_their_own(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  struct error err = {0};
  plan_init(&plan, &resources);
  struct tensor a = plan_state(&plan, "a", 2, 4, 4, 8, ELEMENT_DEVICE);
  struct tensor b = plan_state(&plan, "b", 3, 4, 4, 8, ELEMENT_PRECISE);
  struct tensor again = plan_state(&plan, "a", 2, 4, 4, 8, ELEMENT_DEVICE);
  assert_true(a.space == TENSOR_STATE && again.index == a.index && b.index != a.index);
  struct tensor x = plan_start(&plan, "start", (struct op_start){.noise = b});
  struct tensor two = plan_input(&plan, 2, 4, 4, 8, ELEMENT_DEVICE);
  plan_norm(&plan, "keep", (struct op_norm){.x = two, .y = a});
  assert_int_equal(plan_finish(&plan, &err), 0);
  assert_int_equal(plan.temporary_count, 2);
  assert_int_equal(plan_places(&plan), 4);
  assert_int_equal(plan_place(&plan, x), x.index);
  assert_int_equal(plan_place(&plan, b), 2 + b.index);
  assert_int_equal(plan_demand(&plan, plan_place(&plan, b)), ELEMENT_PRECISE);
  assert_int_equal(plan_find_state(&plan, "b"), b.index);
  assert_int_equal(plan_find_state(&plan, "c"), -1);
  plan_free(&plan);
  plan_init(&plan, &resources);
  plan_state(&plan, "a", 2, 4, 4, 8, ELEMENT_DEVICE);
  plan_state(&plan, "a", 2, 4, 4, 9, ELEMENT_DEVICE);
  expect_failure(&plan, "a: a state of two shapes");
  resources_free(&resources);
}

/* The tensors that an op reads and writes are listed in the order of its operand list, without optional ones that are
 * missing. */
static void operands_come_from_the_list(void **state) {
  (void)state;
  struct op op = {.type = OP_CONV};
  struct tensor *const fields[] = {
      &op.conv.x,    &op.conv.x2,       &op.conv.weight, &op.conv.bias, &op.conv.prologue.gamma, &op.conv.prologue.beta,
      &op.conv.time, &op.conv.residual, &op.conv.y};
  for (int i = 0; i < 9; i++)
    *fields[i] = (struct tensor){.space = TENSOR_TEMPORARY, .index = i};
  op.conv.x2.space = TENSOR_NONE;
  struct tensor list[OPERANDS_MAX];
  const int reads[] = {0, 2, 3, 4, 5, 6, 7};
  assert_int_equal(op_tensors(&op, OPERAND_READ, list), 7);
  for (int i = 0; i < 7; i++)
    assert_int_equal(list[i].index, reads[i]);
  assert_int_equal(op_tensors(&op, OPERAND_WRITE, list), 1);
  assert_int_equal(list[0].index, 8);
  assert_ptr_equal(op_y(&op), &op.conv.y);
  struct op step = {.type = OP_STEP}, out = {.type = OP_PIXELS_OUT};
  assert_null(op_y(&step));
  assert_null(op_y(&out));
}

static bool alive_together(const struct temporary *a, const struct temporary *b) {
  return a->first <= b->last && b->first <= a->last;
}

/* In random graphs with random types, temporaries that exist at the same time do not overlap and are aligned, within
 * the arena. */
static void the_arena_keeps_the_living_apart(void **state) {
  (void)state;
  unsigned seed = 7;
  for (int iteration = 0; iteration < 50; iteration++) {
    struct resources resources = {0};
    struct plan plan;
    plan_init(&plan, &resources);
    struct tensor made[64] = {plan_input(&plan, 1, 3, 5, 8, ELEMENT_DEVICE)};
    int count = 1;
    for (; count < 64; count++) {
      struct tensor x = made[rand_r(&seed) % (unsigned)count];
      int out = 1 + (int)(rand_r(&seed) % 32);
      char name[64];
      snprintf(name, sizeof name, "w%d.%d", out, x.c);
      struct tensor w = weight(&resources, name, out, 3, x.c);
      made[count] = plan_conv(
          &plan, "c", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1, .upsample = rand_r(&seed) % 8 == 0});
    }
    struct error err = {0};
    assert_int_equal(plan_finish(&plan, &err), 0);
    struct element element[64];
    for (int i = 0; i < plan.temporary_count; i++)
      element[i] = element_of(rand_r(&seed) % 2 ? DTYPE_F32 : DTYPE_BF16);
    size_t offset[64], total = plan_layout(&plan, element, 256, offset), sum = 0;
    for (int i = 0; i < plan.temporary_count; i++) {
      const struct temporary *t = &plan.temporaries[i];
      size_t bytes = (size_t)t->n * (size_t)t->h * (size_t)t->w * (size_t)t->c * element_size(element[i]);
      sum += bytes;
      assert_true(offset[i] % 256 == 0 && offset[i] + bytes <= total);
      for (int j = 0; j < i; j++) {
        const struct temporary *u = &plan.temporaries[j];
        size_t other = (size_t)u->n * (size_t)u->h * (size_t)u->w * (size_t)u->c * element_size(element[j]);
        assert_true(!alive_together(t, u) || offset[i] + bytes <= offset[j] || offset[j] + other <= offset[i]);
      }
    }
    assert_true(total <= sum + 64 * 256);
    plan_free(&plan);
    resources_free(&resources);
  }
}

static void a_chain_reuses_its_memory(void **state) {
  (void)state;
  struct resources resources = {0};
  struct plan plan;
  plan_init(&plan, &resources);
  struct tensor x = plan_input(&plan, 1, 16, 16, 8, ELEMENT_DEVICE), w = weight(&resources, "w", 8, 3, 8);
  for (int i = 0; i < 20; i++)
    x = plan_conv(&plan, "c", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1});
  struct error err = {0};
  assert_int_equal(plan_finish(&plan, &err), 0);
  size_t offset[32], one = 16 * 16 * 8 * 4;
  /* The input and the unread result exist all the time; between them two tensors alternate. */
  struct element element[32];
  for (int i = 0; i < plan.temporary_count; i++)
    element[i] = element_of(DTYPE_F32);
  assert_true(plan_layout(&plan, element, 64, offset) <= 4 * one);
  plan_free(&plan);
  resources_free(&resources);
}

static void weights_are_read_in_device_order(void **state) {
  (void)state;
  const float conv[2 * 3 * 4] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11,
                                 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}; /* [2][3][2][2] */
  struct resources resources = {0};
  struct error err = {0};
  resources_weight(&resources, "conv", 2, 2, 2, 3, &(struct weight_part){conv, DTYPE_F32, 2}, 1, &err);
  float out[24];
  assert_int_equal(resource_read_f32(&resources.list[0], out, &err), 0);
  for (int o = 0; o < 2; o++)
    for (int tap = 0; tap < 4; tap++)
      for (int i = 0; i < 3; i++)
        assert_true(out[(o * 4 + tap) * 3 + i] == conv[(o * 3 + i) * 4 + tap]);

  const uint16_t half[3] = {0x3c00, 0xc000, 0x3555}, brain[2] = {0x3f80, 0x4049};
  struct weight_part parts[2] = {{half, DTYPE_F16, 3}, {brain, DTYPE_BF16, 2}};
  resources_weight(&resources, "stacked bias", 1, 1, 1, 5, parts, 2, &err);
  assert_int_equal(resource_read_f32(&resources.list[1], out, &err), 0);
  const float expected[5] = {1.0f, -2.0f, 0.333251953125f, 1.0f, 3.140625f};
  assert_memory_equal(out, expected, sizeof expected);

  resources_weight(&resources, "one row", 1, 1, 1, 4, &(struct weight_part){conv, DTYPE_F32, 1}, 1, &err);
  assert_int_equal(resource_read_f32(&resources.list[2], out, &err), 0);
  assert_memory_equal(out, conv, 4 * sizeof *out);

  struct weight_part raised = {conv, DTYPE_F32, 1, .exponent = -2};
  resources_weight(&resources, "raised", 1, 1, 1, 4, &raised, 1, &err);
  assert_int_equal(resource_read_f32(&resources.list[3], out, &err), 0);
  assert_memory_equal(out, ((const float[]){0, 0.25f, 0.5f, 0.75f}), 4 * sizeof *out);

  struct tensor other = resources_weight(&resources, "one row", 1, 1, 1, 5, NULL, 0, &err);
  assert_false(tensor_exists(other));
  assert_int_equal(err.status, STATUS_MODEL);
  resources_free(&resources);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(shapes_follow_the_convolution),
      cmocka_unit_test(the_first_error_sticks_and_names_its_place),
      cmocka_unit_test(operands_are_checked_by_their_roles),
      cmocka_unit_test(states_have_a_space_of_their_own),
      cmocka_unit_test(operands_come_from_the_list),
      cmocka_unit_test(the_arena_keeps_the_living_apart),
      cmocka_unit_test(a_chain_reuses_its_memory),
      cmocka_unit_test(weights_are_read_in_device_order),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
