/* Tests source, engine and sink together: every frame comes once and in order, whichever of the three is slow, and the
 * pipeline ends cleanly whichever of them fails. The engine is a fake. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>
#include <time.h>

#include "app/run/pipeline.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/grey_source.h"

static void nap_ms(int ms) {
  nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000L}, NULL);
}

static int64_t pts_of(uint64_t serial) {
  return (int64_t)(serial * serial + 1000);
}

/* A sink that compares each frame with what the fake engine should make of it. */
struct checking_sink {
  struct sink sink;
  struct engine *engine; /* engine whose prompts are set, if controls change with time; NULL: they do not change */
  double refuse_time;    /* time in seconds from which on getting controls fails; 0: it never does */
  bool text_to_image;
  struct source *interrupt; /* source that is interrupted after a few frames; NULL: none */
  int nap;
  long fail_at, written, opened, finished, closed;
  bool refuse, wrong, whole;
  bool holds; /* the sink holds as many frames as a sink may */
  struct frame held[SINK_HOLDS];
};

/* Sets controls that depend on a frame's time: the strength, and every third frame another prompt, which is encoded
 * when it is used. */
static void changing_controls(double seconds, struct controls *controls) {
  double count = round(seconds * 1000 - (double)pts_of(0));
  *controls = (struct controls)CONTROLS_DEFAULTS;
  controls->strength = (float)(fmod(count, 7) / 7);
  controls->prompt = fmod(count, 3) > 0 ? 1 : 2;
}

static int give_controls(void *opaque, struct engine *engine, double seconds, struct controls *controls,
                         struct error *err) {
  struct checking_sink *to = opaque;
  (void)engine;
  if (to->refuse_time > 0 && seconds >= to->refuse_time)
    return error_set(err, STATUS_USAGE, "the script ends too early");
  *controls = (struct controls)CONTROLS_DEFAULTS;
  if (!to->engine)
    return 0;
  changing_controls(seconds, controls);
  return controls->prompt == 1 ? 0 : engine_set_prompt(to->engine, controls->prompt, "another", err);
}

/* Gives the frame itself as the frame for controls. */
static int give_itself(void *opaque, struct engine *engine, struct engine_request *request, double seconds,
                       struct error *err) {
  (void)opaque, (void)engine, (void)err;
  assert_true(fabs(seconds - (double)request->frame->pts / 1000) < 1e-9);
  request->control_frame = request->frame;
  return 0;
}

static int checking_write(struct sink *sink, const struct frame *frame, struct error *err) {
  struct checking_sink *to = (struct checking_sink *)sink;
  uint8_t rgb[3];
  struct controls controls = CONTROLS_DEFAULTS;
  if (to->engine)
    changing_controls((double)pts_of((uint64_t)to->written) / 1000, &controls);
  nap_ms(to->nap);
  if (to->written + 1 == to->fail_at)
    return error_set(err, STATUS_OUTPUT, "the disk is full");
  fake_engine_color(&controls, to->text_to_image ? 128 : grey_of((uint64_t)to->written), rgb);
  to->wrong |= frame->serial != (uint64_t)to->written || frame->pts != pts_of((uint64_t)to->written);
  to->wrong |= memcmp(frame->plane[0], rgb, 3) != 0;
  to->wrong |= frame->plane[0] != fake_engine_log()->submits[to->written].output; /* pixels were not copied */
  if (to->holds) {
    frame_release(&to->held[to->written % SINK_HOLDS]);
    to->held[to->written % SINK_HOLDS] = frame_hold(frame);
  }
  to->written++;
  if (to->interrupt && to->written == 5)
    source_interrupt(to->interrupt);
  return 0;
}

static int checking_finish(struct sink *sink, bool whole, struct error *err) {
  struct checking_sink *to = (struct checking_sink *)sink;
  (void)err;
  to->finished++;
  to->whole = whole;
  return 0;
}

static void checking_close(struct sink *sink) {
  ((struct checking_sink *)sink)->closed++;
}

static const struct sink_impl checking_impl = {"checking", NULL, NULL, checking_write, checking_finish, checking_close};

static int open_checking(void *opaque, struct sink **sink, struct error *err) {
  struct checking_sink *to = opaque;
  if (to->refuse)
    return error_set(err, STATUS_OUTPUT, "no such folder");
  to->opened++;
  *sink = &to->sink;
  return 0;
}

struct scene {
  int batched;   /* number of steps of a stream batch; 0: none */
  bool changing; /* true: controls change with time */
  struct grey_source source;
  struct checking_sink sink;
  struct fake_engine_script engine;
  struct pipeline pipeline;
  struct pipeline_result result;
  struct error err;
};

static struct scene new_scene(long frames) {
  struct scene scene = {
      .source = grey_source_of(frames), .sink = {.sink = {&checking_impl}}, .pipeline.controls_at = give_controls};
  scene.source.time_of = pts_of;
  return scene;
}

static int play(struct scene *scene) {
  struct engine *engine;
  fake_engine_begin(&scene->engine);
  const struct engine_shape shape = {.width = 32,
                                     .height = 32,
                                     .steps = scene->batched,
                                     .stream_batch = scene->batched > 0,
                                     .text_to_image = scene->sink.text_to_image};
  struct engines engines = {.count = 1};
  assert_int_equal(engine_open(&engine, &(struct engine_params){.device.pictures = pipeline_holds(1)}, &scene->err), 0);
  assert_int_equal(engine_prepare(engine, &shape, &engines.of[0].prepared, &scene->err), 0);
  assert_int_equal(engine_set_prompt(engine, SLOT_PRESET_1, "grey", &scene->err), 0);
  scene->pipeline.source = &scene->source.source;
  engines.of[0].engine = engine;
  scene->pipeline.engines = &engines;
  scene->sink.engine = scene->changing ? engine : NULL;
  scene->pipeline.open_sink = open_checking;
  scene->pipeline.opaque = &scene->sink;
  int status = pipeline_run(&scene->pipeline, &scene->result, &scene->err);
  engine_close(&engine);
  for (int i = 0; i < SINK_HOLDS; i++)
    frame_release(&scene->sink.held[i]);
  for (int i = 0; i < fake_engine_log()->submitted; i++) {
    const uint8_t *input = fake_engine_log()->submits[i].input;
    /* otherwise the stream batch is drained, also of frames that an interrupt has dropped */
    if (input || !scene->batched)
      assert_ptr_equal(input, scene->sink.text_to_image ? NULL : scene->source.given_at[i]);
  }
  assert_false(fake_engine_log()->starved);
  host_pictures_free(&scene->source.pictures);
  assert_false(fake_engine_log()->overfull);
  assert_false(scene->sink.wrong);
  assert_int_equal(scene->sink.finished, scene->sink.opened);
  assert_int_equal(scene->sink.closed, scene->sink.opened);
  assert_int_equal(scene->result.written, scene->sink.written);
  assert_int_equal(scene->result.whole, scene->sink.whole);
  return status;
}

static void test_every_frame_once(void **state) {
  (void)state;
  for (int slow = 0; slow < 4; slow++) {
    struct scene scene = new_scene(60);
    scene.source.nap_ms = slow == 1 ? 3 : 0;
    scene.engine.frame_ms = slow == 2 ? 3 : 0;
    scene.engine.depth = 1 + (slow & 1);
    scene.sink.nap = slow == 3 ? 3 : 0;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.sink.written, 60);
    assert_true(scene.result.whole);
    assert_int_equal(scene.result.frame_ms.count, 60);
    assert_int_equal(fake_engine_log()->most_in_flight, slow & 1 ? 2 : 1);
    if (slow == 2)
      assert_true(stats_quantile(&scene.result.frame_ms, 0.5) >= 2.9);
    if (slow)
      assert_true(scene.result.seconds > 0.17);
  }
}

/* A slow sink that holds as many pictures as it may does not stop the engine. */
static void test_holding_sink(void **state) {
  (void)state;
  for (int depth = 1; depth <= 2; depth++) {
    struct scene scene = new_scene(60);
    scene.engine.depth = depth;
    scene.sink.holds = true;
    scene.sink.nap = 2;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.sink.written, 60);
  }
}

static void test_few_frames(void **state) {
  (void)state;
  for (long frames = 1; frames <= 7; frames++) {
    struct scene scene = new_scene(frames);
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.sink.written, frames);
  }
}

/* The end of a stream batch is drained: every frame comes, in order and with its own time. */
static void test_stream_batch(void **state) {
  (void)state;
  for (int depth = 1; depth <= 2; depth++)
    for (long frames = 1; frames <= 9; frames++) {
      struct scene scene = new_scene(frames);
      scene.batched = 4;
      scene.engine.depth = depth;
      assert_int_equal(play(&scene), 0);
      assert_int_equal(scene.sink.written, frames);
      assert_int_equal(scene.result.frame_ms.count, frames);
      assert_int_equal(fake_engine_log()->submitted, frames + 3);
      assert_true(scene.result.whole);
    }
  struct scene scene = new_scene(30); /* frames that were begun are written after an interrupt as well */
  scene.batched = 4;
  scene.sink.interrupt = &scene.source.source;
  play(&scene);
  assert_false(scene.result.whole);
  assert_int_equal(scene.sink.written + 3, fake_engine_log()->submitted);
}

static void test_limit(void **state) {
  (void)state;
  for (long limit = 1; limit < 12; limit += 5) {
    struct scene scene = new_scene(30);
    scene.pipeline.frames = limit;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.sink.written, limit);
    assert_false(scene.result.whole);
  }
}

/* The trace has each stage of each frame, in order; spans beyond its capacity are left out. */
static void test_trace(void **state) {
  (void)state;
  enum { FRAMES = 9 };
  for (int room = 5; room <= 100; room += 95) {
    struct scene scene = new_scene(FRAMES);
    struct trace trace;
    int64_t captured[FRAMES + 1] = {0}, presented[FRAMES] = {0};
    int submits = 0;
    scene.engine.depth = 2;
    scene.pipeline.trace = &trace;
    assert_int_equal(trace_init(&trace, room, &scene.err), 0);
    assert_int_equal(play(&scene), 0);
    assert_in_range(trace_count(&trace), room < 4 * FRAMES ? room : 4 * FRAMES, room);
    for (int i = 0; i < trace_count(&trace); i++) {
      const struct trace_span *span = &trace.spans[i];
      assert_in_range(span->frame, 0, FRAMES);
      assert_true(span->begin_ns > 0 && span->begin_ns <= span->end_ns);
      submits += !strcmp(span->name, "submit");
      if (span->track == TRACK_CAPTURE)
        captured[span->frame] = span->begin_ns;
      if (span->track == TRACK_PRESENT)
        presented[span->frame] = span->begin_ns;
    }
    for (int i = 0; i < FRAMES && room > 4 * FRAMES; i++)
      assert_true(captured[i] > 0 && captured[i] < presented[i]);
    assert_true(room < 4 * FRAMES || submits == FRAMES);
    trace_free(&trace);
  }
}

/* Each frame is made with the controls of its own time, also with two frames in flight. */
static void test_controls_by_time(void **state) {
  (void)state;
  for (int depth = 1; depth <= 2; depth++) {
    struct scene scene = new_scene(40);
    scene.changing = true;
    scene.engine.depth = depth;
    assert_int_equal(play(&scene), 0);
    assert_int_equal(scene.sink.written, 40);
    assert_true(fake_engine_log()->prompts[2] > 5);
    assert_false(fake_engine_log()->unset_prompt_used);
  }
  struct scene scene = new_scene(40);
  scene.sink.refuse_time = (double)pts_of(6) / 1000;
  assert_int_equal(play(&scene), -1);
  assert_string_equal(scene.err.message, "the script ends too early");
  assert_in_range(scene.sink.written, 5, 6);
}

static void test_text_to_image_keeps_times(void **state) {
  (void)state;
  struct scene scene = new_scene(9);
  scene.sink.text_to_image = true;
  assert_int_equal(play(&scene), 0);
  assert_int_equal(scene.sink.written, 9);
  assert_false(fake_engine_log()->submits[3].has_frame);
}

static void test_source_fails(void **state) {
  (void)state;
  struct scene scene = new_scene(30);
  scene.source.fail_at = 11;
  assert_int_equal(play(&scene), -1);
  assert_int_equal(scene.err.status, STATUS_INPUT);
  assert_int_equal(scene.sink.written, 10);
  assert_false(scene.result.whole);

  scene = new_scene(30);
  scene.source.fail_at = 1;
  assert_int_equal(play(&scene), -1);
  assert_string_equal(scene.err.message, "the camera is gone");
  assert_int_equal(scene.sink.opened, 0);
}

static void test_engine_fails(void **state) {
  (void)state;
  for (long at = 1; at < 12; at += 5) {
    struct scene scene = new_scene(200);
    scene.engine.depth = at > 1 ? 2 : 1;
    scene.engine.fail_at_submit = at;
    assert_int_equal(play(&scene), -1);
    assert_int_equal(scene.err.status, STATUS_DEVICE);
    assert_in_range(scene.sink.written, at > 2 ? at - 3 : 0, at - 1);
    assert_int_equal(scene.sink.finished, 1);
  }
}

static void test_sink_fails(void **state) {
  (void)state;
  for (long at = 1; at < 12; at += 5) {
    struct scene scene = new_scene(200);
    scene.sink.fail_at = at;
    assert_int_equal(play(&scene), -1);
    assert_string_equal(scene.err.message, "the disk is full");
    assert_int_equal(scene.sink.written, at - 1);
    assert_int_equal(scene.sink.finished, 1);
    assert_true(scene.source.given < 30);
  }
  struct scene scene = new_scene(200);
  scene.sink.refuse = true;
  assert_int_equal(play(&scene), -1);
  assert_string_equal(scene.err.message, "no such folder");
}

/* After an interrupt, frames that the engine has are made and written; frames that wait in the queue, and the next one,
 * are dropped. */
static void test_interruption(void **state) {
  (void)state;
  struct scene scene = new_scene(200);
  scene.sink.interrupt = &scene.source.source;
  scene.source.nap_ms = 2;
  assert_int_equal(play(&scene), 0);
  assert_int_equal(scene.sink.written, fake_engine_log()->submitted);
  assert_in_range(scene.source.given - scene.sink.written, 0, PIPELINE_DEPTH + 1);
  assert_in_range(scene.sink.written, 5, 40);
  assert_false(scene.result.whole);
}

static void test_second_frame_comes_with_its_frame(void **state) {
  (void)state;
  struct scene scene = new_scene(20);
  scene.pipeline.before = give_itself;
  assert_int_equal(play(&scene), 0);
  assert_int_equal(fake_engine_log()->submitted, 20);
  for (int i = 0; i < 20; i++)
    assert_ptr_equal(fake_engine_log()->submits[i].control, scene.source.given_at[i]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_every_frame_once),
      cmocka_unit_test(test_holding_sink),
      cmocka_unit_test(test_few_frames),
      cmocka_unit_test(test_stream_batch),
      cmocka_unit_test(test_limit),
      cmocka_unit_test(test_trace),
      cmocka_unit_test(test_controls_by_time),
      cmocka_unit_test(test_text_to_image_keeps_times),
      cmocka_unit_test(test_source_fails),
      cmocka_unit_test(test_engine_fails),
      cmocka_unit_test(test_sink_fails),
      cmocka_unit_test(test_interruption),
      cmocka_unit_test(test_second_frame_comes_with_its_frame),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
