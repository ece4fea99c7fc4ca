/* Tests views of weight files: tensors under other names, some of their rows, other shapes, transposed matrices; read
 * with the functions that networks use. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/safetensors_impl.h"
#include "unet/checkpoint/tensor_view.h"

static char *folder;

static int setup(void **state) {
  (void)state;
  folder = fixture_make();
  float values[24];
  for (int i = 0; i < 24; i++)
    values[i] = (float)i;
  fixture_tensors(folder, "a.safetensors",
                  "{\"__metadata__\": {\"kind\": \"a\", \"n\": 3},"
                  "\"in_proj\": {\"dtype\": \"F32\", \"shape\": [6, 2], \"data_offsets\": [0, 48]},"
                  "\"turned\": {\"dtype\": \"F32\", \"shape\": [2, 3], \"data_offsets\": [48, 72]},"
                  "\"bias\": {\"dtype\": \"F32\", \"shape\": [3], \"data_offsets\": [72, 84]},"
                  "\"deep\": {\"dtype\": \"F16\", \"shape\": [1, 1, 1, 1, 1, 1], \"data_offsets\": [84, 86]},"
                  "\"ids\": {\"dtype\": \"I64\", \"shape\": [1], \"data_offsets\": [86, 94]}}",
                  -1, values, 94);
  fixture_tensors(folder, "b.safetensors",
                  "{\"conv\": {\"dtype\": \"F32\", \"shape\": [2, 2, 1, 1], \"data_offsets\": [0, 16]}}", -1, values,
                  16);
  return 0;
}

static int teardown(void **state) {
  (void)state;
  fixture_remove(folder);
  return 0;
}

static struct safetensors *open_file(const char *name) {
  struct safetensors *files;
  struct error err;
  char *path = fixture_path(folder, name);
  if (safetensors_open_file(&files, path, &err))
    fail_msg("%s", err.message);
  free(path);
  return files;
}

/* Opens a view of both files, and ends the test's own references to them. */
static struct safetensors *open_view(void) {
  struct safetensors *view, *sets[] = {open_file("a.safetensors"), open_file("b.safetensors")};
  struct error err;
  if (view_open(&view, sets, 2, &err))
    fail_msg("%s", err.message);
  safetensors_close(&sets[0]);
  safetensors_close(&sets[1]);
  return view;
}

static const struct safetensor *from(const struct safetensors *view, int set, const char *name) {
  const struct safetensor *t = safetensors_find(view->set[set], name);
  assert_non_null(t);
  return t;
}

static void add(struct safetensors *view, struct view_tensor tensor) {
  struct error err;
  if (view_add(view, &tensor, &err))
    fail_msg("%s", err.message);
}

/* --- a view with one tensor of each kind --- */

static struct safetensors *one_of_each(void) {
  struct safetensors *view = open_view();
  const struct safetensor *in_proj = from(view, 0, "in_proj");
  add(view, (struct view_tensor){.name = "q", .from = in_proj, .rows = 2});
  add(view, (struct view_tensor){.name = "k", .from = in_proj, .first = 2, .rows = 2});
  add(view,
      (struct view_tensor){.name = "v", .from = in_proj, .first = 4, .rows = 2, .rank = 4, .shape = {2, 2, 1, 1}});
  add(view, (struct view_tensor){.name = "projection", .from = from(view, 0, "turned"), .transposed = true});
  add(view, (struct view_tensor){.name = "linear", .from = from(view, 1, "conv"), .rank = 2, .shape = {2, 2}});
  add(view, (struct view_tensor){.from = from(view, 0, "bias")});
  add(view, (struct view_tensor){.name = "position_ids", .from = from(view, 0, "ids")});
  add(view, (struct view_tensor){.name = "deep", .from = from(view, 0, "deep")});
  struct error err;
  if (view_finish(view, &err))
    fail_msg("%s", err.message);
  return view;
}

static void check_values(const struct resources *resources, struct tensor t, const float *expected, size_t count) {
  float values[32];
  struct error err = {0};
  assert_int_equal(t.space, TENSOR_RESOURCE);
  assert_int_equal(resource_read_f32(&resources->list[t.index], values, &err), 0);
  assert_memory_equal(values, expected, count * sizeof *values);
}

static void test_weights(void **state) {
  (void)state;
  struct component part = {.folder = folder, .name = "part", .prefix = "", .files = one_of_each()};
  struct resources resources = {0};
  struct error err = {0};
  check_values(&resources, checkpoint_matrix(&part, &resources, "k", 2, 2, &err), (float[]){4, 5, 6, 7}, 4);
  check_values(&resources, checkpoint_conv(&part, &resources, &(struct stack_part){"v", 2}, 2, 1, &err),
               (float[]){8, 9, 10, 11}, 4);
  check_values(&resources, checkpoint_matrix(&part, &resources, "projection", 3, 2, &err),
               (float[]){12, 15, 13, 16, 14, 17}, 6);
  check_values(&resources, checkpoint_matrix(&part, &resources, "linear", 2, 2, &err), (float[]){0, 1, 2, 3}, 4);
  check_values(&resources, checkpoint_vector(&part, &resources, "bias", 3, &err), (float[]){18, 19, 20}, 3);
  const struct stack_part qk[] = {{"q", 2}, {"projection", 3}};
  check_values(&resources, checkpoint_stack(&part, &resources, "stack", qk, 2, 2, &err),
               (float[]){0, 1, 2, 3, 12, 15, 13, 16, 14, 17}, 10);
  assert_int_equal(safetensors_bytes(part.files), 3 * 16 + 24 + 16 + 12 + 8 + 2);
  assert_string_equal(safetensors_metadata(part.files, "kind"), "a");
  assert_null(safetensors_metadata(part.files, "n"));
  assert_null(safetensors_metadata(part.files, "none"));
  resources_free(&resources);
  safetensors_close(&part.files);
}

/* Any range of elements of a transposed matrix equals that part of the whole. */
static void test_turned_pieces(void **state) {
  (void)state;
  enum { ROWS = 5, COLUMNS = 3, ALL = ROWS * COLUMNS };
  float stored[ALL], whole[ALL], piece[ALL];
  for (int i = 0; i < ALL; i++)
    stored[i] = (float)(i * i);
  struct weight_part part = {.data = stored, .rows = ROWS, .columns = COLUMNS};
  struct error err;
  for (int r = 0; r < ROWS; r++)
    for (int c = 0; c < COLUMNS; c++)
      whole[r * COLUMNS + c] = stored[c * ROWS + r];
  for (size_t first = 0; first < ALL; first++)
    for (size_t count = 0; count <= ALL - first; count++) {
      assert_int_equal(weight_part_read(&part, first, count, true, piece, &err), 0);
      assert_memory_equal(piece, whole + first, count * sizeof *piece);
    }
}

/* Messages about a tensor use its name in the file. */
static void test_messages(void **state) {
  (void)state;
  struct component part = {.folder = folder, .name = "part", .prefix = "", .files = one_of_each()};
  struct resources resources = {0};
  static const struct {
    const char *name, *says[3];
  } cases[] = {
      {"linear", {"b.safetensors", "conv", "[2, 2]"}},
      {"k", {"a.safetensors", "in_proj", "[2, 2]"}},
      {"projection", {"a.safetensors", "turned", "[3, 2]"}},
      {"position_ids", {"a.safetensors", "ids", "I64"}},
      {"nowhere", {"a.safetensors", "the model's nowhere", "not whole"}},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct error err = {0};
    assert_int_equal(checkpoint_matrix(&part, &resources, cases[i].name, 7, 7, &err).space, TENSOR_NONE);
    assert_int_equal(err.status, STATUS_MODEL);
    for (int k = 0; k < 3; k++)
      if (!strstr(err.message, cases[i].says[k]))
        fail_msg("%s: expected %s in: %s", cases[i].name, cases[i].says[k], err.message);
  }
  resources_free(&resources);
  safetensors_close(&part.files);
}

/* --- views that are refused --- */

static const struct {
  const char *from;
  struct view_tensor tensor;
  const char *says;
} refused[] = {
    {"in_proj", {.first = 5, .rows = 2}, "rows"},
    {"in_proj", {.first = 6, .rows = 1}, "rows"},
    {"in_proj", {.first = -1, .rows = 2}, "rows"},
    {"in_proj", {.first = 1}, "rows"},
    {"in_proj", {.first = INT64_MAX, .rows = INT64_MAX}, "rows"},
    {"in_proj", {.rows = -1}, "rows"},
    {"deep", {.rows = 1}, "rows"},
    {"in_proj", {.rank = 2, .shape = {4, 4}}, "another size"},
    {"in_proj", {.rank = 2, .shape = {-6, -2}}, "another size"},
    {"in_proj", {.rank = 3, .shape = {INT64_MAX, 4, 2}}, "another size"},
    {"in_proj", {.rank = 6, .shape = {6, 2, 1, 1, 1}}, "another size"},
    {"deep", {.rank = 1, .shape = {1}}, "another size"},
    {"bias", {.transposed = true}, "no matrix"},
    {"deep", {.transposed = true}, "no matrix"},
    {"in_proj", {.rows = 2, .transposed = true}, "no matrix"},
    {"in_proj", {.rank = 2, .shape = {3, 4}, .transposed = true}, "no matrix"},
};

static void test_refused(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    struct safetensors *view = open_view();
    struct view_tensor tensor = refused[i].tensor;
    struct error err = {0};
    tensor.from = from(view, 0, refused[i].from);
    if (!view_add(view, &tensor, &err))
      fail_msg("case %zu was accepted", i);
    assert_int_equal(err.status, STATUS_MODEL);
    assert_non_null(strstr(err.message, refused[i].says));
    assert_non_null(strstr(err.message, refused[i].from));
    safetensors_close(&view);
  }
}

static void check_unfinished(struct safetensors *view, const char *const says[3]) {
  struct error err = {0};
  assert_int_equal(view_finish(view, &err), -1);
  assert_int_equal(err.status, STATUS_MODEL);
  for (int i = 0; i < 3; i++)
    if (!strstr(err.message, says[i]))
      fail_msg("expected %s in: %s", says[i], err.message);
  safetensors_close(&view);
}

static void test_twice(void **state) {
  (void)state;
  struct safetensors *view = open_view();
  add(view, (struct view_tensor){.name = "x", .from = from(view, 0, "bias")});
  add(view, (struct view_tensor){.name = "x", .from = from(view, 1, "conv")});
  check_unfinished(view, (const char *const[]){"bias", "conv", "both x"});
  view = open_view();
  add(view, (struct view_tensor){.name = "x", .from = from(view, 0, "in_proj"), .rows = 3});
  add(view, (struct view_tensor){.name = "y", .from = from(view, 0, "in_proj"), .first = 2, .rows = 2});
  check_unfinished(view, (const char *const[]){"in_proj", "two places", "x and y"});
}

/* A view of a view can be closed in any order. */
static void test_shares(void **state) {
  (void)state;
  struct safetensors *inner = one_of_each(), *outer;
  struct error err;
  assert_int_equal(view_open(&outer, &inner, 1, &err), 0);
  add(outer, (struct view_tensor){.name = "again", .from = safetensors_find(inner, "projection"), .transposed = true});
  assert_int_equal(view_finish(outer, &err), 0);
  safetensors_close(&inner);
  assert_string_equal(safetensors_metadata(outer, "kind"), "a");
  struct component part = {.folder = folder, .name = "part", .prefix = "", .files = outer};
  struct resources resources = {0};
  check_values(&resources, checkpoint_matrix(&part, &resources, "again", 2, 3, &err), (float[]){12, 13, 14, 15, 16, 17},
               6);
  assert_string_equal(safetensors_find(outer, "again")->key, "turned");
  resources_free(&resources);
  safetensors_close(&part.files);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_weights), cmocka_unit_test(test_turned_pieces), cmocka_unit_test(test_messages),
      cmocka_unit_test(test_refused), cmocka_unit_test(test_twice),         cmocka_unit_test(test_shares),
  };
  return cmocka_run_group_tests(tests, setup, teardown);
}
