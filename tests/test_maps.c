/* Tests maps (images that control networks read) on a device: Canny compared with OpenCV's results in data/maps; each
 * map of simple pictures against values worked out by hand; parameters that change between runs.
 *
 *   test_maps DEVICE */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/device_there.h"
#include "unet/devices.h"
#include "unet/model/maps.h"

static const char *device_name = "cpu";

/* A plan that makes one kind of map, prepared on a device. */
struct rig {
  struct plan plan;
  struct resources resources;
  struct device *device;
  struct program *program;
  struct tensor x, y;
  struct run_params params;
  float *in, *out; /* [h, w, 3] */
  int w, h;
};

/* kept: the map is written to a state. */
static void rig_open_kept(struct rig *r, enum map_kind kind, int w, int h, bool kept) {
  struct error err = {0};
  *r = (struct rig){.w = w, .h = h};
  plan_init(&r->plan, &r->resources);
  r->x = plan_input(&r->plan, 1, h, w, 3, ELEMENT_DEVICE);
  struct tensor state = plan_state(&r->plan, "map", 1, h, w, 3, ELEMENT_DEVICE);
  r->y = map_of(&r->plan, kind, 1, r->x, 1, 0, kept ? state : (struct tensor){0});
  map_standard(kind, r->params.control[1].param);
  assert_int_equal(plan_finish(&r->plan, &err), 0);
  const struct device_options options = {.name = device_name, .threads = 2};
  if (device_open(&r->device, &r->resources, &options, &err) < 0 ||
      device_prepare(r->device, &r->program, &r->plan, &(struct program_options){0}, &err) < 0)
    fail_msg("%s", err.message);
  r->in = calloc(3 * (size_t)w * (size_t)h, sizeof *r->in);
  r->out = calloc(3 * (size_t)w * (size_t)h, sizeof *r->out);
  assert_non_null(r->in);
  assert_non_null(r->out);
}

static void rig_open(struct rig *r, enum map_kind kind, int w, int h) {
  rig_open_kept(r, kind, w, h, false);
}

static void rig_close(struct rig *r) {
  device_release(r->device, &r->program);
  device_close(&r->device);
  plan_free(&r->plan);
  resources_free(&r->resources);
  free(r->in);
  free(r->out);
}

static void rig_run(struct rig *r) {
  struct error err = {0};
  size_t count = tensor_elements(r->x);
  if (device_write(r->device, r->program, r->x, 0, r->in, count, &err) < 0 ||
      device_run(r->device, r->program, &r->params, &err) < 0 ||
      device_read(r->device, r->program, r->y, 0, r->out, count, &err) < 0)
    fail_msg("%s", err.message);
}

static void rig_set(struct rig *r, int x, int y, int red, int green, int blue) {
  const int code[3] = {red, green, blue};
  for (int c = 0; c < 3; c++)
    r->in[(y * r->w + x) * 3 + c] = (float)code[c] / 255;
}

static int rig_get(const struct rig *r, int x, int y, int c) {
  return (int)lrintf(255 * r->out[(y * r->w + x) * 3 + c]);
}

static void assert_grey(const struct rig *r, int x, int y, int code) {
  for (int c = 0; c < 3; c++)
    assert_int_equal(rig_get(r, x, y, c), code);
}

/* --- compared with OpenCV --- */

enum { PICTURES = 10, SIDE = 160, PIXELS = SIDE * SIDE };

/* Returns the data after a file's header. */
static uint8_t *read_data(const char *name, size_t bytes) {
  char path[1024];
  uint8_t *data = malloc(bytes);
  snprintf(path, sizeof path, "%s/tests/data/maps/%s", SOURCE_DIR, name);
  FILE *file = fopen(path, "rb");
  assert_non_null(file);
  assert_non_null(data);
  assert_int_equal(fseek(file, -(long)bytes, SEEK_END), 0);
  assert_int_equal(fread(data, 1, bytes, file), bytes);
  fclose(file);
  return data;
}

/* Fails the test unless nearly all edge pixels of both results are the same. */
static void compare_edges(const struct rig *r, const uint8_t *bits, const char *name, int picture) {
  int ours = 0, theirs = 0, both = 0;
  for (int i = 0; i < PIXELS; i++) {
    bool a = r->out[3 * i] > 0.5f, b = bits[i / 8] >> (7 - i % 8) & 1;
    ours += a, theirs += b, both += a && b;
  }
  if (both < 0.995 * theirs || both < 0.995 * ours || !theirs)
    fail_msg("%s, picture %d: %d edge pixels, OpenCV has %d, %d of them the same", name, picture, ours, theirs, both);
}

static void beside_opencv(void **state) {
  (void)state;
  static const struct {
    const char *name;
    float low, high;
  } files[] = {{"canny_100_200.pbm", 100, 200}, {"canny_50_150.pbm", 150, 50}};
  struct rig r;
  uint8_t *pictures = read_data("pictures.pgm", PICTURES * PIXELS);
  rig_open(&r, MAP_CANNY, SIDE, SIDE);
  for (size_t f = 0; f < sizeof files / sizeof *files; f++) {
    uint8_t *edges = read_data(files[f].name, PICTURES * PIXELS / 8);
    r.params.control[1].param[0] = files[f].low;
    r.params.control[1].param[1] = files[f].high;
    for (int p = 0; p < PICTURES; p++) {
      for (int i = 0; i < PIXELS; i++) {
        int code = pictures[p * PIXELS + i];
        rig_set(&r, i % SIDE, i / SIDE, code, code, code);
      }
      rig_run(&r);
      compare_edges(&r, edges + p * PIXELS / 8, files[f].name, p);
    }
    free(edges);
  }
  free(pictures);
  rig_close(&r);
}

/* --- values worked out by hand --- */

/* A line along the rows of a picture of four tiles is faint except for its beginning; each round of hysteresis
 * continues it through one more tile. */
static void faint_lines(void **state) {
  (void)state;
  struct rig r;
  int w = 6 * EDGE_TILE;
  rig_open(&r, MAP_CANNY, w, 9);
  for (int x = 0; x < w; x++)
    for (int y = 4; y < 9; y++)
      rig_set(&r, x, y, x < 2 ? 200 : 30, x < 2 ? 200 : 30, x < 2 ? 200 : 30);
  rig_run(&r);
  for (int x = 8; x < w; x++)
    assert_grey(&r, x, 3, x < EDGE_ROUNDS * EDGE_TILE ? 255 : 0);
  rig_close(&r);
}

static void tones(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, MAP_GRAY, 4, 1);
  rig_set(&r, 0, 0, 255, 0, 0);
  rig_set(&r, 1, 0, 0, 255, 0);
  rig_set(&r, 2, 0, 0, 0, 255);
  rig_set(&r, 3, 0, 255, 255, 255);
  rig_run(&r);
  static const int grey[4] = {76, 150, 29, 255};
  for (int i = 0; i < 4; i++)
    assert_grey(&r, i, 0, grey[i]);
  rig_close(&r);
  rig_open(&r, MAP_MASK, 4, 1);
  for (int i = 0; i < 4; i++)
    rig_set(&r, i, 0, 99 + i, 99 + i, 99 + i);
  r.params.control[1].param[0] = 100;
  r.params.control[1].param[1] = 101;
  rig_run(&r);
  for (int i = 0; i < 4; i++)
    assert_grey(&r, i, 0, i == 1 || i == 2 ? 255 : 0);
  rig_close(&r);
}

static void cells(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, MAP_COLOR, 20, 9);
  r.params.control[1].param[0] = 8;
  rig_set(&r, 3, 3, 64, 128, 255);
  rig_set(&r, 19, 8, 40, 0, 0);
  rig_run(&r);
  assert_int_equal(rig_get(&r, 0, 7, 0), 1);
  assert_int_equal(rig_get(&r, 7, 0, 1), 2);
  assert_int_equal(rig_get(&r, 7, 7, 2), 4);
  assert_grey(&r, 8, 0, 0);
  assert_int_equal(rig_get(&r, 16, 8, 0), 10); /* the last cell has four pixels */
  rig_close(&r);
  rig_open(&r, MAP_TILE, 6, 2);
  rig_set(&r, 1, 1, 7, 8, 9);
  rig_run(&r);
  for (int c = 0; c < 3; c++)
    assert_int_equal(rig_get(&r, 1, 1, c), 7 + c);
  assert_grey(&r, 2, 1, 0);
  r.params.control[1].param[0] = 2; /* three cells with the values 0, 100, 0 */
  for (int i = 0; i < 12; i++)
    rig_set(&r, i % 6, i / 6, i % 6 / 2 == 1 ? 100 : 0, 0, 0);
  rig_run(&r);
  static const int between[6] = {0, 25, 75, 75, 25, 0};
  for (int x = 0; x < 6; x++)
    assert_int_equal(rig_get(&r, x, 0, 0), between[x]);
  rig_close(&r);
}

/* One bright pixel after three box filters of width three: 1 3 6 7 6 3 1 of 27, in both directions. */
static void softened(void **state) {
  (void)state;
  struct rig r;
  static const int weight[4] = {7, 6, 3, 1};
  rig_open(&r, MAP_BLUR, 11, 11);
  r.params.control[1].param[0] = 1;
  rig_set(&r, 5, 5, 255, 255, 255);
  rig_run(&r);
  for (int y = 0; y < 11; y++)
    for (int x = 0; x < 11; x++) {
      int dx = abs(x - 5), dy = abs(y - 5);
      int along = dx < 4 ? (16 * 255 * weight[dx] + 13) / 27 : 0, both = dy < 4 ? (along * weight[dy] + 13) / 27 : 0;
      assert_grey(&r, x, y, (both + 8) / 16);
    }
  rig_close(&r);
}

/* A dark line on a bright ground becomes a bright line in the map; a bright line leaves little. */
static void lines(void **state) {
  (void)state;
  struct rig r;
  rig_open(&r, MAP_LINEART, 64, 8);
  for (int i = 0; i < 64 * 8; i++) {
    int code = i % 64 == 16 ? 60 : i % 64 == 48 ? 180 : 120;
    rig_set(&r, i % 64, i / 64, code, code, code);
  }
  rig_run(&r);
  assert_grey(&r, 16, 4, 255);
  assert_grey(&r, 14, 4, 0);
  assert_grey(&r, 48, 4, 0);
  rig_close(&r);
  rig_open(&r, MAP_SOFTEDGE, 64, 8);
  for (int i = 0; i < 64 * 8; i++)
    rig_set(&r, i % 64, i / 64, i % 64 < 32 ? 50 : 150, 80, 80);
  rig_run(&r);
  assert_true(rig_get(&r, 31, 4, 0) > 150 && rig_get(&r, 31, 4, 0) == rig_get(&r, 32, 4, 2));
  for (int x = 33; x < 64; x++)
    assert_true(rig_get(&r, x, 4, 0) <= rig_get(&r, x - 1, 4, 0));
  assert_grey(&r, 60, 4, 0);
  rig_close(&r);
}

/* The map "picture" copies its input, here also to a state. */
static void as_it_comes(void **state) {
  (void)state;
  struct rig r;
  for (int kept = 0; kept < 2; kept++) {
    rig_open_kept(&r, MAP_PICTURE, 5, 3, kept);
    rig_set(&r, 4, 2, 10, 20, 30);
    rig_run(&r);
    for (int c = 0; c < 3; c++)
      assert_int_equal(rig_get(&r, 4, 2, c), 10 * (c + 1));
    rig_close(&r);
    rig_open_kept(&r, MAP_GRAY, 5, 3, kept);
    rig_set(&r, 4, 2, 0, 255, 0);
    rig_run(&r);
    assert_grey(&r, 4, 2, 150);
    rig_close(&r);
  }
}

/* --- parameters --- */

static void out_of_bounds(void **state) {
  (void)state;
  struct rig r;
  struct error err = {0};
  rig_open(&r, MAP_BLUR, 16, 16);
  static const float wrong[] = {0, 17, NAN, INFINITY};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
    r.params.control[1].param[0] = wrong[i];
    assert_int_equal(device_run(r.device, r.program, &r.params, &err), -1);
    assert_non_null(strstr(err.message, "blur has the radius"));
    map_clamp(MAP_BLUR, r.params.control[1].param);
    assert_int_equal(device_run(r.device, r.program, &r.params, &err), 0);
  }
  rig_close(&r);
}

static void names(void **state) {
  (void)state;
  for (int kind = 0; kind < MAP_KINDS; kind++) {
    const struct map_parameter *list;
    const char *word = map_word((enum map_kind)kind);
    assert_int_equal(map_find(word, strlen(word)), kind);
    for (int i = 0, count = map_parameters((enum map_kind)kind, &list); i < count; i++)
      assert_true(list[i].least <= list[i].standard && list[i].standard <= list[i].most && list[i].step > 0);
  }
  assert_int_equal(map_find("cann", 4), MAP_KINDS);
  assert_int_equal(map_find("cannyx", 5), MAP_CANNY);
}

int main(int argc, char **argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(beside_opencv), cmocka_unit_test(faint_lines),   cmocka_unit_test(tones),
      cmocka_unit_test(cells),         cmocka_unit_test(softened),      cmocka_unit_test(lines),
      cmocka_unit_test(as_it_comes),   cmocka_unit_test(out_of_bounds), cmocka_unit_test(names),
  };
  if (argc > 1)
    device_name = argv[1];
  if (!device_is_there(&(struct device_options){.name = device_name}))
    return DEVICE_MISSING;
  return cmocka_run_group_tests(tests, NULL, NULL);
}
