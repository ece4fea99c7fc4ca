/* Tests that a frame's picture has the same bits at each position in a batch, whatever the other frames are, and in an
 * engine that uses the kernels of another engine (engine_get_choices).
 *
 *   test_places GOLDENS DEVICE     skipped where there is no such device */
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/rig.h"

static char **args;

enum { SIDE_MORE = 24 };

struct place_case {
  const char *model;
  enum guidance_mode guidance;
  /* more: pixels by which the picture is larger than the golden's, so that its rows do not fill whole tiles */
  int steps, more;
};

static const struct place_case cases[] = {{"turbo", GUIDANCE_NONE, 1, 0},
                                          {"turbo", GUIDANCE_SELF, 2, SIDE_MORE},
                                          {"sd21", GUIDANCE_FULL, 1, SIDE_MORE},
                                          {"merged", GUIDANCE_NONE, 2, 0},
                                          {"inpaint", GUIDANCE_NONE, 1, SIDE_MORE}};

/* Returns how many cases are tried. The plain device is slow, and computes each picture of a run by itself. */
static int count_cases(void) {
  return !strcmp(args[2], "cpu:plain") ? 1 : sizeof cases / sizeof cases[0];
}

/* Opens an engine for batches of BATCH_MAX pictures. choices: the kernels of another engine; NULL: it chooses
 * itself. */
static void open_engine(struct rig *rig, const struct place_case *c, const char *choices) {
  rig_open(rig, args, c->model, false);
  engine_close(&rig->engine);
  struct engine_params params = default_params(&rig->golden, args[2]);
  struct engine_shape shape = default_shape(&rig->golden);
  params.device.pictures = BATCH_MAX + 1;
  params.device.choices = choices;
  shape.batch = BATCH_MAX;
  shape.steps = c->steps;
  shape.guidance = c->guidance;
  shape.width += c->more;
  shape.height += c->more;
  must(rig_engine(rig, &params, &shape), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  rig->controls.strength = 0.7f;
  rig->controls.guidance = c->guidance ? 2 : 1;
}

/* Makes frames with different pixels; number 0 is the golden's. */
static void make_frames(const struct rig *rig, struct frame frames[BATCH_MAX]) {
  const struct frame *input = &rig->golden.frame;
  size_t bytes = (size_t)input->pitch[0] * (size_t)input->height;
  for (int i = 0; i < BATCH_MAX; i++) {
    uint8_t *pixels = malloc(bytes);
    for (size_t at = 0; at < bytes; at++)
      pixels[at] = (uint8_t)(input->plane[0][at] * (BATCH_MAX + i) / (BATCH_MAX + 3 * i));
    frames[i] = *input;
    frames[i].plane[0] = pixels;
  }
}

static void free_frames(struct frame frames[BATCH_MAX]) {
  for (int i = 0; i < BATCH_MAX; i++)
    free((void *)(uintptr_t)frames[i].plane[0]);
}

/* Makes a run of `count` frames, of which number 0 is at `place`. Returns its picture, which the caller frees; the
 * pictures of the others are dropped. */
static uint8_t *make_at(struct rig *rig, const struct frame frames[BATCH_MAX], int place, int count) {
  struct engine_request requests[BATCH_MAX] = {0};
  struct engine_result made;
  uint8_t *picture = NULL;
  for (int i = 0; i < count; i++)
    requests[i] = (struct engine_request){.prepared = rig->prepared,
                                          .controls = &rig->controls,
                                          .frame = &frames[(i + BATCH_MAX - place) % BATCH_MAX],
                                          .next = i + 1 < count ? &requests[i + 1] : NULL};
  must(engine_submit(rig->engine, &requests[0], &rig->err), &rig->err);
  for (int i = 0; i < count; i++) {
    must(engine_collect(rig->engine, &made, &rig->err), &rig->err);
    if (i == place) {
      picture = malloc(frame_bytes(&made.picture));
      uint8_t *const planes[3] = {picture};
      const int pitch[3] = {frame_row_bytes(made.picture.format, 0, made.picture.width)};
      frame_copy_pixels(planes, pitch, &made.picture);
    }
    frame_release(&made.picture);
  }
  return picture;
}

static void expect_equal(const uint8_t *picture, const uint8_t *expected, size_t bytes, const char *what, int place,
                         int count) {
  size_t other = 0;
  for (size_t i = 0; i < bytes; i++)
    other += picture[i] != expected[i];
  if (other)
    fail_msg("%s: at place %d of a run of %d frames, %zu of %zu bytes are others", what, place, count, other, bytes);
}

static void test_places(void **state) {
  (void)state;
  for (int i = 0; i < count_cases(); i++) {
    struct rig rig;
    struct frame frames[BATCH_MAX];
    open_engine(&rig, &cases[i], NULL);
    make_frames(&rig, frames);
    const struct prepared_info info = shape_of(&rig);
    size_t bytes = 4 * (size_t)info.shape.width * (size_t)info.shape.height;
    uint8_t *expected = make_at(&rig, frames, 0, 1);
    for (int count = 1; count <= BATCH_MAX; count++)
      for (int place = 0; place < count; place++) {
        uint8_t *picture = make_at(&rig, frames, place, count);
        expect_equal(picture, expected, bytes, cases[i].model, place, count);
        free(picture);
      }
    free(expected);
    free_frames(frames);
    rig_close(&rig);
  }
}

/* Without the first engine's choices of kernels the second one would choose for itself, because no file stores
 * choices. */
static void test_given_choices(void **state) {
  (void)state;
  for (int i = 0; i < count_cases(); i++) {
    struct rig first, second;
    struct frame frames[BATCH_MAX];
    char *choices = NULL, *own = NULL;
    open_engine(&first, &cases[i], NULL);
    make_frames(&first, frames);
    const struct prepared_info info = shape_of(&first);
    uint8_t *expected = make_at(&first, frames, 0, BATCH_MAX);
    must(engine_get_choices(first.engine, &choices, &first.err), &first.err);
    open_engine(&second, &cases[i], choices);
    uint8_t *picture = make_at(&second, frames, 2, BATCH_MAX);
    must(engine_get_choices(second.engine, &own, &second.err), &second.err);
    expect_equal(picture, expected, 4 * (size_t)info.shape.width * (size_t)info.shape.height, cases[i].model, 2,
                 BATCH_MAX);
    assert_non_null(choices);
    assert_string_equal(own, choices);
    free(choices);
    free(own);
    free(expected);
    free(picture);
    free_frames(frames);
    rig_close(&first);
    rig_close(&second);
  }
}

/* Choices that belong to another device or version are ignored with a warning. */
static void test_choices_of_another(void **state) {
  (void)state;
  struct rig rig;
  struct warnings warnings = {0};
  const struct log log = {remember_warning, &warnings};
  rig_open(&rig, args, "turbo", false);
  engine_close(&rig.engine);
  struct engine_params params = default_params(&rig.golden, args[2]);
  const struct engine_shape shape = default_shape(&rig.golden);
  params.device.choices = "ways 0123456789abcdef, Some GPU, driver 1, cuDNN 2, cuBLASLt 3\n";
  params.device.log = &log;
  must(rig_engine(&rig, &params, &shape), &rig.err);
  assert_int_equal(warnings.count, 1);
  assert_non_null(strstr(warnings.last, "pictures differ by rounding"));
  rig_close(&rig);
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: test_places GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  unsetenv("TUNING_DIR");
  if (!golden_has_device(args[1], "turbo", args[2]))
    return 77;
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_places), cmocka_unit_test(test_given_choices),
                                     cmocka_unit_test(test_choices_of_another)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
