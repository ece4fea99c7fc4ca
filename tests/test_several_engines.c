/* Tests several engines between one source and one sink: whichever is slow or fails, every frame is made once by one of
 * them, and pictures come out in order. The engines are fakes with a different time for every frame. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "app/flow/in_order.h"
#include "app/run/pipeline.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/grey_source.h"
#include "unet/base/platform.h"

enum { EIGHT = 8, RUNS_MAX = 1000 };

/* --- the queue --- */

struct putting {
  struct in_order *queue;
  long first, count, step;
  unsigned random;
  atomic_long *refused;
  struct host_pictures pictures;
};

static void nap(unsigned *random) {
  *random = *random * 1664525u + 1013904223u;
  platform_sleep_ns((*random >> 16) % 300 * 1000);
}

static void *put_numbers(void *opaque) {
  struct putting *putting = opaque;
  for (long i = 0; i < putting->count; i++) {
    struct frame frame;
    long number = putting->first + i * putting->step;
    assert_int_equal(host_pictures_take(&putting->pictures, PIXEL_RGBA, 4, 4, &frame, NULL), 0);
    frame.pts = number;
    nap(&putting->random);
    *putting->refused += !in_order_put(putting->queue, number, &frame);
  }
  return NULL;
}

/* Takes up to `count` pictures that three threads put in the queue, and ends the queue at number `end` when `end_after`
 * were taken. Returns how many came. */
static long take_numbers(long count, long end, long end_after, long *refused) {
  enum { THREADS = 3 };
  struct putting putting[THREADS] = {0};
  pthread_t threads[THREADS];
  struct in_order queue;
  struct frame frame;
  atomic_long left = 0;
  long taken = 0;
  in_order_init(&queue, 5);
  for (int i = 0; i < THREADS; i++) {
    putting[i].queue = &queue;
    putting[i].first = i;
    putting[i].count = count / THREADS;
    putting[i].step = THREADS;
    putting[i].random = (unsigned)i + 1;
    putting[i].refused = &left;
    assert_int_equal(pthread_create(&threads[i], NULL, put_numbers, &putting[i]), 0);
  }
  while (taken < count && in_order_take(&queue, &frame)) {
    assert_int_equal(frame.pts, taken++);
    frame_release(&frame);
    if (taken == end_after)
      in_order_end(&queue, end);
  }
  for (int i = 0; i < THREADS; i++)
    pthread_join(threads[i], NULL);
  in_order_free(&queue);
  for (int i = 0; i < THREADS; i++)
    host_pictures_free(&putting[i].pictures);
  *refused = left;
  return taken;
}

static void test_numbers_come_in_order(void **state) {
  (void)state;
  long refused;
  assert_int_equal(take_numbers(300, 0, -1, &refused), 300);
  assert_int_equal(refused, 0);
}

/* Pictures before the end still come, none after it, and no thread waits forever. */
static void test_queue_ends(void **state) {
  (void)state;
  long refused;
  assert_int_equal(take_numbers(300, 102, 100, &refused), 102);
  assert_true(refused > 180 && refused <= 198);
  assert_int_equal(take_numbers(300, 0, 100, &refused), 100);
  assert_true(refused > 190);
}

/* --- the pipeline --- */

struct scene {
  struct grey_source source;
  struct sink sink;
  struct fake_engine_script script;
  struct source *interrupt; /* source that is interrupted after a few pictures; NULL: none */
  bool batched;             /* true: runs have BATCH_MAX frames */
  int engine_count;
  long written, fail_at;
  long step; /* only pictures of every step-th frame are made; 0: all */
  bool wrong, whole;
  double asked;      /* time of the frame for which controls were given last, in seconds */
  atomic_int asking; /* number of calls of the pipeline's callbacks in progress */
  bool asked_out_of_order, asked_at_once;
  struct pipeline_result result;
  struct error err;
};

static void changing_controls(double seconds, struct controls *controls) {
  double count = round(seconds * 1000);
  *controls = (struct controls)CONTROLS_DEFAULTS;
  controls->strength = (float)(fmod(count, 7) / 7);
  controls->prompt = fmod(count, 3) > 0 ? 1 : 2;
}

/* Sets the prompts that this engine's next frames need. */
static int give_controls(void *opaque, struct engine *engine, double seconds, struct controls *controls,
                         struct error *err) {
  struct scene *scene = opaque;
  scene->asked_at_once |= ++scene->asking > 1;
  scene->asked_out_of_order |= seconds < scene->asked;
  scene->asked = seconds;
  changing_controls(seconds, controls);
  int status = engine_set_prompt(engine, controls->prompt, "a prompt", err);
  scene->asking--;
  return status;
}

static int skip_some(void *opaque, struct frame *frame, struct error *err) {
  const struct scene *scene = opaque;
  (void)err;
  return frame->serial % (uint64_t)scene->step != 0;
}

static int scene_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct scene *scene = (struct scene *)((char *)sink - offsetof(struct scene, sink));
  struct controls controls;
  uint8_t rgb[3];
  if (scene->written + 1 == scene->fail_at)
    return error_set(err, STATUS_OUTPUT, "the disk is full");
  long serial = scene->written * (scene->step ? scene->step : 1);
  changing_controls((double)serial / 1000, &controls);
  fake_engine_color(&controls, grey_of((uint64_t)serial), rgb);
  scene->wrong |= frame->serial != (uint64_t)serial || frame->pts != serial;
  scene->wrong |= memcmp(frame->plane[0], rgb, 3) != 0;
  scene->written++;
  if (scene->interrupt && scene->written == 5)
    source_interrupt(scene->interrupt);
  return 0;
}

static int scene_finish(struct sink *sink, bool whole, struct error *err) {
  (void)err;
  ((struct scene *)((char *)sink - offsetof(struct scene, sink)))->whole = whole;
  return 0;
}

static void scene_close(struct sink *sink) {
  (void)sink;
}

static const struct sink_impl scene_impl = {"scene", NULL, NULL, scene_write, scene_finish, scene_close};

static int open_scene(void *opaque, struct sink **sink, struct error *err) {
  (void)err;
  *sink = &((struct scene *)opaque)->sink;
  return 0;
}

static struct scene new_scene(long frames, int engines) {
  return (struct scene){.source = grey_source_of(frames), .sink = {&scene_impl}, .engine_count = engines};
}

static void open_engines(const struct scene *scene, struct engines *engines, struct error *err) {
  const struct engine_shape shape = {.width = 32, .height = 32, .steps = 1, .batch = scene->batched ? BATCH_MAX : 1};
  const struct engine_params params = {.device.pictures = pipeline_holds(scene->engine_count)};
  *engines = (struct engines){.count = scene->engine_count};
  for (int i = 0; i < engines->count; i++) {
    snprintf(engines->names.name[i], sizeof engines->names.name[i], "fake:%d", i);
    assert_int_equal(engine_open(&engines->of[i].engine, &params, err), 0);
    assert_int_equal(engine_prepare(engines->of[i].engine, &shape, &engines->of[i].prepared, err), 0);
  }
}

static int play(struct scene *scene) {
  struct engines engines;
  fake_engine_begin(&scene->script);
  open_engines(scene, &engines, &scene->err);
  const struct pipeline pipeline = {.source = &scene->source.source,
                                    .engines = &engines,
                                    .open_sink = open_scene,
                                    .controls_at = give_controls,
                                    .skips = scene->step ? skip_some : NULL,
                                    .opaque = scene};
  int status = pipeline_run(&pipeline, &scene->result, &scene->err);
  for (int i = 0; i < engines.count; i++)
    engine_close(&engines.of[i].engine);
  host_pictures_free(&scene->source.pictures);
  assert_false(scene->wrong || scene->asked_out_of_order || scene->asked_at_once);
  assert_false(fake_engine_log()->starved || fake_engine_log()->overfull || fake_engine_log()->unset_prompt_used);
  assert_int_equal(scene->result.written, scene->written);
  assert_int_equal(scene->result.whole, scene->whole);
  return status;
}

/* Counts each engine's runs, and checks that each run has consecutive frames in one engine. */
static void count_runs(int batch, int runs[EIGHT]) {
  memset(runs, 0, EIGHT * sizeof *runs);
  int by_serial[RUNS_MAX] = {0};
  for (int i = 0; i < fake_engine_log()->submitted; i++)
    by_serial[fake_engine_submit(i)->serial] = fake_engine_submit(i)->engine;
  for (int i = 0; i < fake_engine_log()->submitted; i++) {
    assert_in_range(by_serial[i], 1, EIGHT);
    runs[by_serial[i] - 1] += i % batch == 0;
    assert_int_equal(by_serial[i], by_serial[i - i % batch]);
  }
}

/* Eight engines whose frames take random times: pictures come in order, each engine makes some, and runs are
 * complete. */
static void test_random_delays(void **state) {
  (void)state;
  for (int turn = 0; turn < 4; turn++) {
    struct scene scene = new_scene(turn % 2 ? 330 : 203, EIGHT);
    int runs[EIGHT];
    scene.script.depth = 1 + turn / 2;
    scene.script.most_random_ms = 6;
    scene.batched = turn % 2;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.written, scene.source.frames);
    assert_true(scene.result.whole);
    assert_int_equal(scene.result.frame_ms.count, scene.source.frames);
    assert_int_equal(fake_engine_log()->submitted, scene.source.frames);
    count_runs(scene.batched ? BATCH_MAX : 1, runs);
    for (int i = 0; i < EIGHT; i++)
      assert_true(runs[i] > 1);
    assert_true(scene.result.busy[STAGE_ENGINES] > scene.result.busy[STAGE_DECODER]);
    assert_true(scene.result.busy[STAGE_ENGINES] > scene.result.busy[STAGE_ENCODER]);
    assert_int_equal(pipeline_limit(&scene.result), STAGE_ENGINES);
  }
}

/* An input with fewer frames than engines, or than a run has, is rendered completely. */
static void test_few_frames(void **state) {
  (void)state;
  for (long frames = 1; frames < 20; frames += 3)
    for (int batched = 0; batched < 2; batched++) {
      struct scene scene = new_scene(frames, EIGHT);
      scene.script.most_random_ms = 2;
      scene.batched = batched;
      assert_int_equal(play(&scene), 0);
      assert_int_equal(scene.written, frames);
    }
}

/* Skipped frames are given to no engine, runs are filled with the others, and values are requested in order. */
static void test_skipped_frames(void **state) {
  (void)state;
  for (int batched = 0; batched < 2; batched++) {
    struct scene scene = new_scene(3 * 50 + 1, 1 + 3 * batched);
    scene.step = 3;
    scene.batched = batched;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.written, 51);
    assert_int_equal(scene.result.skipped, 100);
    assert_int_equal(fake_engine_log()->submitted, 51);
    assert_float_equal(scene.asked, 0.150, 1e-9);
  }
}

/* One engine fails at submitting or at collecting: all pictures before its frames are there, the others stop, and the
 * message names the engine. */
static void test_one_engine_fails(void **state) {
  (void)state;
  for (int turn = 0; turn < 8; turn++) {
    struct scene scene = new_scene(500, 4);
    scene.script.depth = 1 + turn % 2;
    scene.script.most_random_ms = 4;
    scene.script.failing_engine = 1 + turn % 4;
    scene.script.fail_at_submit = 5;
    scene.script.fails_late = turn / 4;
    scene.batched = turn % 3 == 0;
    assert_int_equal(play(&scene), -1);
    assert_int_equal(scene.err.status, STATUS_DEVICE);
    assert_non_null(strstr(scene.err.message, "the fake device fails as told"));
    char name[32];
    snprintf(name, sizeof name, "fake:%d", scene.script.failing_engine - 1);
    assert_non_null(strstr(scene.err.message, name));
    assert_false(scene.result.whole);
    assert_in_range(scene.written, 4, 450);
    if (scene.script.fails_late) /* the first missing picture is one of the failing engine's */
      for (int i = 0; i < fake_engine_log()->submitted; i++)
        if (fake_engine_submit(i)->serial == (uint64_t)scene.written)
          assert_int_equal(fake_engine_submit(i)->engine, scene.script.failing_engine);
  }
}

/* The sink fails while the source delivers no more frames: no engine waits for them. */
static void test_sink_fails(void **state) {
  (void)state;
  for (long at = 1; at < 60; at += 28) {
    struct scene scene = new_scene(70, EIGHT);
    scene.source.endless = true;
    scene.script.most_random_ms = 3;
    scene.fail_at = at;
    assert_int_equal(play(&scene), -1);
    assert_string_equal(scene.err.message, "the disk is full");
    assert_int_equal(scene.written, at - 1);
  }
}

/* Frames that the engines have begun are written; the rest is dropped. */
static void test_interruption(void **state) {
  (void)state;
  struct scene scene = new_scene(100000, EIGHT);
  scene.interrupt = &scene.source.source;
  scene.script.depth = 2;
  scene.script.most_random_ms = 3;
  assert_int_equal(play(&scene), 0);
  assert_int_equal(scene.written, fake_engine_log()->submitted);
  assert_in_range(scene.written, 5, 400);
  assert_false(scene.result.whole);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_numbers_come_in_order),
      cmocka_unit_test(test_queue_ends),
      cmocka_unit_test(test_random_delays),
      cmocka_unit_test(test_few_frames),
      cmocka_unit_test(test_skipped_frames),
      cmocka_unit_test(test_one_engine_fails),
      cmocka_unit_test(test_sink_fails),
      cmocka_unit_test(test_interruption),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
