/* Tests several handles (sizes and step counts made ready) of one engine: used in turn, with frames of several in
 * flight, and prepared while another runs.
 *
 *   test_handles GOLDENS DEVICE       skipped where there is no such device */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/base/platform.h"

static char **args; /* arguments of the test program */

enum { SHAPES = 3 };

static const struct engine_shape shapes[SHAPES] = {
    {.width = 32, .height = 48, .steps = 1},
    {.width = 96, .height = 64, .steps = 3, .guidance = true},
    {.width = 64, .height = 64, .steps = 2},
};

static void open_engine(struct rig *rig, const struct engine_params *params) {
  must(engine_open(&rig->engine, params, &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, 1, "an oil painting", &rig->err), &rig->err);
  must(engine_set_prompt(rig->engine, 2, "a cat at night", &rig->err), &rig->err);
}

static struct engine_params params_of(const struct rig *rig) {
  return default_params(&rig->golden, args[2]);
}

static void rig_begin(struct rig *rig, const char *name) {
  *rig = (struct rig){.controls = CONTROLS_DEFAULTS};
  if (golden_open(&rig->golden, args[1], name) < 0)
    fail_msg("%s", rig->golden.missing);
  rig->controls.strength = 0.6f;
  rig->controls.guidance = 2;
}

static void rig_begin_engine(struct rig *rig) {
  rig_begin(rig, "turbo");
  const struct engine_params params = params_of(rig);
  open_engine(rig, &params);
}

static struct prepared *prepare(struct rig *rig, const struct engine_shape *shape) {
  struct prepared *prepared;
  must(engine_prepare(rig->engine, shape, &prepared, &rig->err), &rig->err);
  return prepared;
}

static uint8_t *run(struct rig *rig, struct prepared *prepared, const struct controls *controls) {
  const struct engine_request request = {.prepared = prepared, .controls = controls, .frame = &rig->golden.frame};
  struct engine_result result;
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  return picture_copy(&result.picture);
}

static size_t bytes_of(const struct engine_shape *shape) {
  return 4 * (size_t)shape->width * (size_t)shape->height;
}

/* Returns the picture of an engine that has only this handle. */
static uint8_t *fresh_picture(const struct engine_shape *shape, uint64_t seed) {
  struct rig rig;
  rig_begin_engine(&rig);
  rig.controls.seed = seed;
  uint8_t *picture = run(&rig, prepare(&rig, shape), &rig.controls);
  rig_close(&rig);
  return picture;
}

static void expect_picture(struct rig *rig, struct prepared *prepared, const struct engine_shape *shape, uint64_t seed,
                           const uint8_t *expected) {
  struct controls controls = rig->controls;
  controls.seed = seed;
  uint8_t *picture = run(rig, prepared, &controls);
  assert_memory_equal(picture, expected, bytes_of(shape));
  free(picture);
}

/* --- handles used in turn --- */

static void expect_in_turn(bool own_memory) {
  struct rig rig;
  struct prepared *handles[SHAPES];
  uint8_t *expected[SHAPES];
  /* made first, because these engines time kernels, and the other engine then reads the results */
  for (int i = 0; i < SHAPES; i++)
    expected[i] = fresh_picture(&shapes[i], 1 + (uint64_t)i);
  rig_begin_engine(&rig);
  for (int i = 0; i < SHAPES; i++) {
    struct prepared_info info;
    struct engine_shape shape = shapes[i];
    shape.own_memory = own_memory;
    handles[i] = prepare(&rig, &shape);
    prepared_get_info(handles[i], &info);
    assert_true(info.shape.own_memory == own_memory);
    assert_int_equal(info.shape.width, shapes[i].width);
    assert_int_equal(info.shape.height, shapes[i].height);
    assert_int_equal(info.shape.steps, shapes[i].steps);
    assert_int_equal(info.rows, shapes[i].guidance ? 2 : 1);
    assert_int_equal(info.shape.batch, 1);
    assert_true(info.flops > 0);
  }
  for (int turn = 0; turn < 2; turn++)
    for (int i = 0; i < SHAPES; i++)
      expect_picture(&rig, handles[i], &shapes[i], 1 + (uint64_t)i, expected[i]);
  /* Handles are released in the middle, at the end and at the beginning; the others still work. */
  engine_release(rig.engine, &handles[1]);
  assert_null(handles[1]);
  expect_picture(&rig, handles[0], &shapes[0], 1, expected[0]);
  expect_picture(&rig, handles[2], &shapes[2], 3, expected[2]);
  handles[1] = prepare(&rig, &shapes[1]);
  engine_release(rig.engine, &handles[0]);
  expect_picture(&rig, handles[1], &shapes[1], 2, expected[1]);
  expect_picture(&rig, handles[2], &shapes[2], 3, expected[2]);
  engine_release(rig.engine, &handles[2]);
  expect_picture(&rig, handles[1], &shapes[1], 2, expected[1]);
  for (int i = 0; i < SHAPES; i++)
    free(expected[i]);
  rig_close(&rig);
}

static void test_in_turn(void **state) {
  (void)state;
  expect_in_turn(false);
}

static void test_in_turn_in_their_own_memory(void **state) {
  (void)state;
  expect_in_turn(true);
}

/* Two handles of the same shape have separate noise, coefficients and pictures. */
static void test_twins(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *a = prepare(&rig, &shapes[2]), *b = prepare(&rig, &shapes[2]);
  uint8_t *first = fresh_picture(&shapes[2], 5), *second = fresh_picture(&shapes[2], 6);
  assert_memory_not_equal(first, second, bytes_of(&shapes[2]));
  for (int i = 0; i < 2; i++) {
    expect_picture(&rig, a, &shapes[2], 5, first);
    expect_picture(&rig, b, &shapes[2], 6, second);
  }
  free(first);
  free(second);
  rig_close(&rig);
}

/* --- frames in flight --- */

/* Frames of different handles are collected in the order of submission, with the values that were submitted. */
static void test_in_flight_together(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *handles[2] = {prepare(&rig, &shapes[0]), prepare(&rig, &shapes[1])};
  int tags[2];
  assert_int_equal(engine_in_flight(rig.engine), 0);
  for (int i = 0; i < 2; i++) {
    const struct engine_request request = {
        .prepared = handles[i],
        .controls = &rig.controls,
        .frame = &rig.golden.frame,
        .identity = {.pts = 10 + i, .captured_ns = 20 + i, .serial = 30 + (uint64_t)i},
        .opaque = &tags[i]};
    must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
    assert_int_equal(engine_in_flight(rig.engine), i + 1);
  }
  int64_t before = 0;
  for (int i = 0; i < 2; i++) {
    struct engine_result result;
    must(engine_collect(rig.engine, &result, &rig.err), &rig.err);
    assert_int_equal(result.picture.width, shapes[i].width);
    assert_int_equal(result.picture.pts, 10 + i);
    assert_int_equal(result.picture.captured_ns, 20 + i);
    assert_int_equal(result.picture.serial, 30 + i);
    assert_ptr_equal(result.opaque, &tags[i]);
    frame_release(&result.picture);
    assert_true(result.submitted_ns > 0 && result.finished_ns >= result.submitted_ns && result.finished_ns >= before);
    before = result.finished_ns;
  }
  rig_close(&rig);
}

/* Submits a frame and returns its picture, which is given out early if `early` is true. */
static struct frame picture_of(struct rig *rig, struct prepared *prepared, bool early) {
  const struct engine_request request = {
      .prepared = prepared, .controls = &rig->controls, .frame = &rig->golden.frame, .early = early};
  struct engine_result result;
  must(engine_submit(rig->engine, &request, &rig->err), &rig->err);
  assert_int_equal(engine_in_flight(rig->engine), 1);
  must(engine_collect(rig->engine, &result, &rig->err), &rig->err);
  assert_int_equal(engine_in_flight(rig->engine), 0);
  return result.picture;
}

static void assert_shows(struct rig *rig, struct frame *picture, const uint8_t *expected) {
  must(frame_wait(picture, MEMORY_HOST, &rig->err), &rig->err);
  uint8_t *copy = picture_copy(picture);
  assert_memory_equal(copy, expected, (size_t)picture->width * (size_t)picture->height * 4);
  free(copy);
}

/* A picture that is given out before its run has ended is the same as others, when it is waited for. Two such runs stay
 * unfinished, whatever their handles are, and a frame that wants the end of its run sees those before it to their
 * ends. */
static void test_early_pictures(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *handles[2] = {prepare(&rig, &shapes[0]), prepare(&rig, &shapes[2])};
  uint8_t *expected[2] = {run(&rig, handles[0], &rig.controls), run(&rig, handles[1], &rig.controls)};
  assert_int_equal(engine_unfinished(rig.engine), 0);
  for (int i = 0; i < 12; i++) {
    int number = i / 3 % 2;
    struct frame picture = picture_of(&rig, handles[number], i != 7);
    assert_int_equal(engine_unfinished(rig.engine), i == 7 ? 0 : i == 0 || i == 8 ? 1 : 2);
    assert_shows(&rig, &picture, expected[number]);
  }
  const struct engine_request request = {
      .prepared = handles[0], .controls = &rig.controls, .frame = &rig.golden.frame, .early = true};
  struct frame picture = picture_of(&rig, handles[1], true);
  must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  assert_int_equal(engine_unfinished(rig.engine), 2);
  engine_release(rig.engine, &handles[1]);
  assert_true(engine_unfinished(rig.engine) == 1 && engine_in_flight(rig.engine) == 1);
  assert_shows(&rig, &picture, expected[1]);
  engine_release(rig.engine, &handles[0]);
  assert_true(engine_unfinished(rig.engine) == 0 && engine_in_flight(rig.engine) == 0);
  free(expected[0]);
  free(expected[1]);
  rig_close(&rig);
}

/* Text to image without a frame: the picture gets time and serial from the request. */
static void test_identity_without_a_frame(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct engine_shape shape = shapes[0];
  shape.text_to_image = true;
  const struct engine_request request = {.prepared = prepare(&rig, &shape),
                                         .controls = &rig.controls,
                                         .identity = {.pts = 7, .captured_ns = 8, .serial = 9}};
  struct engine_result result;
  must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  must(engine_collect(rig.engine, &result, &rig.err), &rig.err);
  assert_int_equal(result.picture.pts, 7);
  assert_int_equal(result.picture.captured_ns, 8);
  assert_int_equal(result.picture.serial, 9);
  frame_release(&result.picture);
  rig_close(&rig);
}

/* Releasing a handle drops its frames in flight; those of another handle can be collected. */
static void test_release_in_flight(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *handles[2] = {prepare(&rig, &shapes[0]), prepare(&rig, &shapes[2])};
  for (int i = 0; i < 2; i++) {
    const struct engine_request request = {
        .prepared = handles[i], .controls = &rig.controls, .frame = &rig.golden.frame};
    must(engine_submit(rig.engine, &request, &rig.err), &rig.err);
  }
  engine_release(rig.engine, &handles[0]);
  assert_int_equal(engine_in_flight(rig.engine), 1);
  struct engine_result result;
  must(engine_collect(rig.engine, &result, &rig.err), &rig.err);
  assert_int_equal(result.picture.width, shapes[2].width);
  frame_release(&result.picture);
  const struct engine_request gone = {.prepared = handles[0], .controls = &rig.controls, .frame = &rig.golden.frame};
  assert_int_equal(engine_submit(rig.engine, &gone, &rig.err), -1);
  assert_error(&rig.err, STATUS_FAILED, "engine_prepare");
  const struct engine_request last = {.prepared = handles[1], .controls = &rig.controls, .frame = &rig.golden.frame};
  must(engine_submit(rig.engine, &last, &rig.err), &rig.err);
  rig_close(&rig); /* with a frame in flight */
}

/* A copy of a pointer to a released handle is recognised: frames are refused, and releasing it does nothing. */
static void test_released_handle_is_known(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *kept = prepare(&rig, &shapes[2]), *handle = prepare(&rig, &shapes[0]), *copy = handle;
  uint8_t *expected = run(&rig, kept, &rig.controls);
  engine_release(rig.engine, &handle);
  const struct engine_request request = {.prepared = copy, .controls = &rig.controls, .frame = &rig.golden.frame};
  assert_int_equal(engine_submit(rig.engine, &request, &rig.err), -1);
  assert_error(&rig.err, STATUS_FAILED, "engine_prepare");
  engine_release(rig.engine, &copy);
  assert_null(copy);
  expect_picture(&rig, kept, &shapes[2], 1, expected);
  free(expected);
  rig_close(&rig);
}

/* --- memory --- */

static size_t device_bytes(const struct rig *rig) {
  struct engine_info info;
  engine_get_info(rig->engine, &info);
  return info.device_bytes;
}

/* A second handle of the same size shares the working memory, and releasing a handle frees its memory. */
static void test_shared_memory(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct engine_shape shape = shapes[2], alone = shapes[2];
  alone.own_memory = true;
  const struct engine_shape large = {.width = 192, .height = 192, .steps = 2};
  struct prepared *first = prepare(&rig, &shape), *second = prepare(&rig, &large);
  engine_release(rig.engine, &second); /* copies of weights for other kernels remain allocated from here on */
  size_t one = device_bytes(&rig);
  second = prepare(&rig, &shape);
  size_t shared = device_bytes(&rig) - one;
  engine_release(rig.engine, &second);
  assert_int_equal(device_bytes(&rig), one);
  second = prepare(&rig, &alone);
  size_t own = device_bytes(&rig) - one;
  assert_true(shared < own / 2);
  engine_release(rig.engine, &second);
  second = prepare(&rig, &large);
  assert_true(device_bytes(&rig) > one);
  engine_release(rig.engine, &second);
  assert_int_equal(device_bytes(&rig), one);
  engine_release(rig.engine, &first);
  assert_true(device_bytes(&rig) < one);
  rig_close(&rig);
}

/* If there is no memory for a handle, preparing it fails, and the existing handles still work. */
static void test_growth_that_fails(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *prepared = prepare(&rig, &shapes[1]), *larger;
  size_t enough = device_bytes(&rig);
  rig_close(&rig);

  rig_begin(&rig, "turbo");
  struct engine_params params = params_of(&rig);
  params.device.memory_limit = enough + enough / 4 + (4 << 20);
  open_engine(&rig, &params);
  prepared = prepare(&rig, &shapes[1]);
  uint8_t *expected = run(&rig, prepared, &rig.controls);
  size_t bytes = device_bytes(&rig);
  for (int i = 0; i < 3; i++) {
    const struct engine_shape huge = {.width = 2048, .height = 1024, .own_memory = i == 2};
    assert_int_equal(engine_prepare(rig.engine, &huge, &larger, &rig.err), -1);
    assert_null(larger);
    assert_error(&rig.err, STATUS_DEVICE, "MB");
    assert_int_equal(device_bytes(&rig), bytes);
    expect_picture(&rig, prepared, &shapes[1], 1, expected);
  }
  larger = prepare(&rig, &shapes[2]);
  engine_release(rig.engine, &larger);
  expect_picture(&rig, prepared, &shapes[1], 1, expected);
  free(expected);
  rig_close(&rig);
}

/* --- preparing while another handle runs --- */

struct preparing {
  struct rig *rig;
  struct prepared *kept[SHAPES];
  struct error err;
  atomic_int rounds, failures;
};

enum { ROUNDS = 4 };

static void *prepare_beside(void *opaque) {
  struct preparing *p = opaque;
  for (int round = 0; round < ROUNDS; round++) {
    for (int i = 1; i < SHAPES; i++)
      if (engine_prepare(p->rig->engine, &shapes[i], &p->kept[i], &p->err) < 0)
        p->failures++;
    struct prepared *refused;
    p->failures += engine_prepare(p->rig->engine, &(struct engine_shape){.steps = 99}, &refused, &p->err) == 0;
    p->rounds++;
    for (int i = SHAPES - 1; i > 0 && round + 1 < ROUNDS; i--)
      engine_release(p->rig->engine, &p->kept[i]);
  }
  return NULL;
}

/* Frames, seeds, prompts and changes of weights go on while another thread prepares and releases handles. */
static void test_prepared_while_another_runs(void **state) {
  (void)state;
  uint8_t *expected[SHAPES];
  for (int i = 0; i < SHAPES; i++)
    expected[i] = fresh_picture(&shapes[i], 1);
  uint8_t *other = fresh_picture(&shapes[0], 2);
  struct rig rig;
  rig_begin_engine(&rig);
  struct prepared *running = prepare(&rig, &shapes[0]);
  struct preparing beside = {.rig = &rig};
  struct error err = {0};
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, prepare_beside, &beside), 0);
  int frames = 0;
  int64_t longest_ns = 0;
  for (; beside.rounds < ROUNDS || frames < 8; frames++) {
    int64_t begun = platform_now_ns();
    must(engine_set_prompt(rig.engine, 2, frames % 3 ? "a cat at night" : "a dog", &err), &err);
    expect_picture(&rig, running, &shapes[0], 1 + (uint64_t)(frames % 2), frames % 2 ? other : expected[0]);
    int64_t taken = platform_now_ns() - begun;
    longest_ns = taken > longest_ns ? taken : longest_ns;
  }
  pthread_join(thread, NULL);
  print_message("  %d frames beside %d preparations, the longest %.1f ms\n", frames, ROUNDS * (SHAPES - 1),
                1e-6 * (double)longest_ns);
  if (beside.failures)
    fail_msg("%s", beside.err.message);
  for (int i = 1; i < SHAPES; i++)
    expect_picture(&rig, beside.kept[i], &shapes[i], 1, expected[i]);
  expect_picture(&rig, running, &shapes[0], 1, expected[0]);
  for (int i = 0; i < SHAPES; i++)
    free(expected[i]);
  free(other);
  rig_close(&rig);
}

/* --- engines --- */

struct opening {
  struct rig rig;
  int status;
  atomic_bool done;
};

static void *open_beside(void *opaque) {
  struct opening *o = opaque;
  const struct engine_params params = default_params(&o->rig.golden, args[2]);
  o->status = rig_engine(&o->rig, &params, &shapes[1]);
  o->done = true;
  return NULL;
}

static void *close_beside(void *opaque) {
  struct opening *o = opaque;
  engine_close(&o->rig.engine);
  o->done = true;
  return NULL;
}

static int frames_beside(void *(*beside)(void *), struct opening *opening, struct rig *rig, struct prepared *prepared,
                         const uint8_t *expected) {
  pthread_t thread;
  int frames = 0;
  opening->done = false;
  assert_int_equal(pthread_create(&thread, NULL, beside, opening), 0);
  for (; !opening->done || frames < 4; frames++)
    expect_picture(rig, prepared, &shapes[0], 1, expected);
  pthread_join(thread, NULL);
  return frames;
}

/* An engine with another model is opened, used and closed on another thread while one runs. Each makes the same
 * pictures as alone, also on a thread that did not open it. A picture stays valid after its engine was closed. */
static void test_engine_beside_another(void **state) {
  (void)state;
  struct rig rig;
  static struct opening other;
  struct engine_result kept;
  uint8_t *expected = fresh_picture(&shapes[0], 1);
  rig_begin_engine(&rig);
  rig_begin(&other.rig, "sd15");
  struct prepared *prepared = prepare(&rig, &shapes[0]);
  int frames = frames_beside(open_beside, &other, &rig, prepared, expected);
  must(other.status, &other.rig.err);
  uint8_t *first = run(&other.rig, other.rig.prepared, &other.rig.controls);
  expect_picture(&rig, prepared, &shapes[0], 1, expected);
  expect_picture(&other.rig, other.rig.prepared, &shapes[1], 1, first);
  const struct engine_request request = {
      .prepared = other.rig.prepared, .controls = &other.rig.controls, .frame = &other.rig.golden.frame};
  must(engine_submit(other.rig.engine, &request, &rig.err), &rig.err);
  must(engine_collect(other.rig.engine, &kept, &rig.err), &rig.err);
  frames += frames_beside(close_beside, &other, &rig, prepared, expected);
  print_message("  %d frames beside opening and closing\n", frames);
  uint8_t *last = picture_copy(&kept.picture);
  assert_memory_equal(last, first, bytes_of(&shapes[1]));
  free(first);
  free(last);
  free(expected);
  golden_close(&other.rig.golden);
  rig_close(&rig);
}

/* A new memory limit applies from the call of engine_limit_memory on. */
static void test_limit_that_changes(void **state) {
  (void)state;
  struct rig rig;
  struct engine_info info;
  struct prepared *prepared;
  const struct engine_shape huge = {.width = 512, .height = 512};
  rig_begin_engine(&rig);
  engine_get_info(rig.engine, &info);
  assert_string_equal(info.device_name, args[2]);
  engine_limit_memory(rig.engine, info.device_bytes + 1000);
  assert_int_equal(engine_prepare(rig.engine, &huge, &prepared, &rig.err), -1);
  assert_error(&rig.err, STATUS_DEVICE, "MB");
  engine_limit_memory(rig.engine, 0);
  prepare(&rig, &huge);
  rig_close(&rig);
}

/* --- canvas --- */

static void refuse(struct rig *rig, const struct engine_shape *shape, const char *what) {
  struct prepared *prepared;
  assert_int_equal(engine_prepare(rig->engine, shape, &prepared, &rig->err), -1);
  assert_error(&rig->err, STATUS_USAGE, what);
}

static struct prepared_info info_of_handle(const struct prepared *prepared) {
  struct prepared_info info;
  prepared_get_info(prepared, &info);
  return info;
}

/* On a canvas that follows the camera the networks compute more than the picture; the engine's other inputs are the
 * same. Such a canvas is refused for batches and for text to image. */
static void test_canvas(void **state) {
  (void)state;
  struct rig rig;
  rig_begin_engine(&rig);
  const struct engine_shape fixed = {.width = 62, .height = 48, .steps = 2}, automatic = {.canvas = CANVAS_AUTO};
  struct engine_shape follow = fixed;
  follow.canvas = CANVAS_FOLLOW;
  struct prepared *on_screen = prepare(&rig, &fixed), *on_canvas = prepare(&rig, &follow);
  struct prepared_info screen = info_of_handle(on_screen), canvas = info_of_handle(on_canvas);
  int multiple = info_of(&rig).size_multiple;
  assert_int_equal(screen.shape.canvas, CANVAS_FIXED);
  assert_int_equal(canvas.shape.canvas, CANVAS_FOLLOW);
  assert_int_equal(screen.drawn_height, 48);
  assert_int_equal(canvas.drawn_height, 48 + multiple);
  assert_int_equal(canvas.drawn_width, 64 + multiple);
  assert_int_equal(canvas.shape.width, 62);
  assert_true(canvas.flops > screen.flops);
  struct controls controls = rig.controls;
  for (int i = 0; i < 2; i++) {
    controls.mix = (float)i;
    uint8_t *a = run(&rig, on_screen, &controls), *b = run(&rig, on_canvas, &controls);
    assert_int_equal(memcmp(a, b, bytes_of(&fixed)) == 0, i == 0);
    free(a);
    free(b);
  }
  assert_int_equal(info_of_handle(prepare(&rig, &automatic)).shape.canvas, CANVAS_FIXED);
  follow.stream_batch = true;
  refuse(&rig, &follow, "stream batch");
  follow.stream_batch = false;
  follow.batch = 2;
  refuse(&rig, &follow, "one picture a run");
  follow.batch = 1;
  follow.text_to_image = true;
  refuse(&rig, &follow, "text to image");
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  char *tuning = fixture_make();
  setenv("TUNING_DIR", tuning, 1);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_in_turn),
      cmocka_unit_test(test_in_turn_in_their_own_memory),
      cmocka_unit_test(test_twins),
      cmocka_unit_test(test_in_flight_together),
      cmocka_unit_test(test_early_pictures),
      cmocka_unit_test(test_identity_without_a_frame),
      cmocka_unit_test(test_release_in_flight),
      cmocka_unit_test(test_released_handle_is_known),
      cmocka_unit_test(test_shared_memory),
      cmocka_unit_test(test_growth_that_fails),
      cmocka_unit_test(test_prepared_while_another_runs),
      cmocka_unit_test(test_engine_beside_another),
      cmocka_unit_test(test_limit_that_changes),
      cmocka_unit_test(test_canvas),
  };
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
