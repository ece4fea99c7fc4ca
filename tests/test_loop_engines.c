/* Tests the engine's thread with fake engines: another engine is opened while frames go on, and one that fails is
 * opened again. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

#include "app/run/loop.h"
#include "app/run/patience.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/loop_rig.h"

static void set_model(struct loop *loop, const char *model) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_MODEL, 0, model, NULL), 0);
  loop_send(loop, &changes);
}

/* rig_start checks what the status says of the engine. */
static void engines_are_counted_with_what_they_are(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.info_ms = 20}, true);
  rig_finish(&rig, 0);
}

static struct loop_status status_of(struct rig *rig) {
  struct loop_status status;
  loop_get_status(rig->loop, &status);
  return status;
}

static const char *model_of(struct rig *rig, struct settings *settings) {
  assert_true(loop_get_settings(rig->loop, settings));
  return parameters_text(&settings->values, PARAMETER_MODEL, 0);
}

static void wait_for_count(const atomic_int *count, int wanted) {
  for (int i = 0; i < PATIENCE_MS && *count < wanted; i++)
    usleep(1000);
  assert_true(*count >= wanted);
}

/* Feeds frames until one is submitted to that engine, and some more. */
static int feed_until_engine(struct rig *rig, int serial, int engine) {
  for (int i = 0; i < PATIENCE_MS && last_submit()->engine != engine; i++) {
    usleep(1000);
    put_frame(rig, serial++);
    expect_picture(rig);
  }
  return feed_frames(rig, serial, 3);
}

/* Checks that the frames of each engine are consecutive, and that engines come in this order. */
static void expect_engines(const int *engines, int count) {
  const struct fake_engine_log *log = fake_engine_log();
  int at = 0;
  assert_true(log->submitted <= FAKE_LOG);
  for (int i = 0; i < log->submitted; i++) {
    if (fake_engine_submit(i)->engine != engines[at])
      at++;
    assert_true(at < count);
    assert_int_equal(fake_engine_submit(i)->engine, engines[at]);
  }
  assert_int_equal(at, count - 1);
}

/* The old engine makes pictures as long as the new one takes to open. The new one goes on with the defaults of its
 * model and with values that were set; the old one is closed. Copied bytes of both are counted. */
static void another_engine_comes_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_open = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_prompt_text(rig.loop, 2, "the other");
  set_number(rig.loop, PARAMETER_SHOWN_PROMPT, 2);
  set_model(rig.loop, "steps 3");
  wait_for_count(&log->engines_tried, 2);
  serial = feed_frames(&rig, serial, 10);
  assert_true(status_of(&rig).opening);
  assert_int_equal(last_submit()->engine, 1);
  set_number(rig.loop, PARAMETER_SEED, 5);
  fake_engine_let_open(1);
  feed_until_engine(&rig, serial, 2);
  wait_for_count(&log->engines_closed, 1);
  assert_false(status_of(&rig).opening);
  assert_int_equal(status_of(&rig).prepared.shape.steps, 3);
  assert_string_equal(model_of(&rig, &settings), "steps 3");
  assert_int_equal(settings.values.steps, 3);
  assert_int_equal(settings.values.seed, 5);
  struct loop_status status = status_of(&rig);
  assert_true(status.frames > 13);
  assert_int_equal(status.copied, 100 * status.frames);
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 2}, 2);
  assert_int_equal(log->most_engines, 2);
  assert_int_equal(last_submit()->controls.prompt, 2);
  assert_int_equal(last_submit()->controls.seed, 5);
  assert_string_equal(fake_engine_text(2), "the other");
}

static const double pixel_flops = 1e9; /* arithmetic of a frame of the fake engines, for each pixel */

static bool is_patient(const struct loop_status *status, const struct frame_pace *pace) {
  return fabs(status->tell_ms - patience_to_tell_ms(pace)) <= 1;
}

/* Lets the engine finish one more frame, and returns its picture. */
static const struct mail *release_one(struct rig *rig, int *released) {
  fake_engine_release(1);
  ++*released;
  return expect_picture(rig);
}

/* True if a frame of another width is in flight: the loop may have made the last picture once more. */
static bool is_in_the_way(int width, int released) {
  int submitted = fake_engine_log()->submitted;
  return submitted > released && fake_engine_submit(submitted - 1)->width != width;
}

/* Waits until a frame of a handle of this width is in flight, and checks how long it may take: the first one by its
 * number of operations, although all frames before it were fast; after it, by its own time. *released: how many frames
 * the engine was allowed to finish. */
static void expect_first_frame(struct rig *rig, int width, int *released) {
  struct loop_status status = status_of(rig);
  const struct frame_pace first = {.flops = pixel_flops * width * 64};
  const struct mail *mail = NULL;
  wait_for_count(&fake_engine_log()->submitted, 1);
  /* The frame before may still be in flight, and the status about that one. */
  for (int i = 0; i < PATIENCE_MS; i++) {
    if (last_submit()->width == width && status.busy_ms > 0 && is_patient(&status, &first))
      break;
    if (is_in_the_way(width, *released))
      release_one(rig, released);
    usleep(1000);
    status = status_of(rig);
  }
  assert_int_equal(last_submit()->width, width);
  assert_true(status.busy_ms > 0);
  assert_float_equal(status.tell_ms, patience_to_tell_ms(&first), 1);
  assert_float_equal(status.leave_ms, patience_to_leave_ms(&first), 1);
  assert_true(status.leave_ms > 600000);
  while (!mail || mail->frame.width != width)
    mail = release_one(rig, released);
  const struct frame_pace known = {.frame_ms = mail->frame_ms, .flops = first.flops};
  status = status_of(rig);
  /* The next frame may have another width, and the status may be about that one. */
  for (int i = 0; i < PATIENCE_MS && !is_patient(&status, &known) && last_submit()->width == width; i++) {
    usleep(1000);
    status = status_of(rig);
  }
  assert_true(is_patient(&status, &known) || last_submit()->width != width);
}

/* How long a frame may take depends on its own size and model, not on frames before it. */
static void first_frames_have_no_history(void **state) {
  (void)state;
  struct rig rig = {0};
  struct parameters changes = {0};
  const struct fake_engine_script script = {.gated = true, .pixel_flops = pixel_flops};
  int released = 0;
  rig_start(&rig, &script, true);
  put_frame(&rig, 1);
  expect_first_frame(&rig, 64, &released);
  assert_int_equal(parameters_set_size(&changes, PARAMETER_SIZE, 0, 128, 64, NULL), 0);
  loop_send(rig.loop, &changes);
  expect_first_frame(&rig, 128, &released);
  set_model(rig.loop, "other");
  expect_first_frame(&rig, 64, &released);
  fake_engine_release(2); /* frames of the size that was set last; then the other model gets that size */
  rig_finish(&rig, 0);
}

static void patience(void **state) {
  (void)state;
  struct frame_pace quick = {.frame_ms = 10, .flops = 1e15}, slow = {.frame_ms = 3000};
  const struct frame_pace first = {.flops = 5e12}, first_on_gpu = {.flops = 5e12, .by_itself = true};
  assert_float_equal(patience_to_tell_ms(&quick), 1000, 1e-6);
  assert_float_equal(patience_to_leave_ms(&quick), 10000, 1e-6);
  assert_float_equal(patience_to_tell_ms(&slow), 12000, 1e-6);
  assert_float_equal(patience_to_leave_ms(&slow), 120000, 1e-6);
  assert_float_equal(patience_to_tell_ms(&first), 5001000, 1e-6);
  assert_float_equal(patience_to_tell_ms(&first_on_gpu), 6000, 1e-6);
  patience_note(&quick, 20);
  assert_true(quick.frame_ms > 10 && quick.frame_ms < 20);
}

/* Pictures come in the order of their frames, those of the old engine first, with two in flight. */
static void pictures_keep_their_order(void **state) {
  (void)state;
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  const struct mail *mail = NULL;
  int serial = 1, first = 0;
  uint64_t last = 0;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 5, .depth = 2}, true);
  for (; serial < PATIENCE_MS && (!first || serial < first + 10); serial++) {
    if (serial == 10)
      set_model(rig.loop, "other");
    put_frame(&rig, serial);
    if (mailbox_take(&rig.out, &mail, 2) == 1) {
      assert_true(mail->frame.serial > last || (mail->again && mail->frame.serial == last));
      last = mail->frame.serial;
    }
    if (!first && log->submitted && last_submit()->engine == 2)
      first = serial;
  }
  assert_true(first);
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 2}, 2);
}

/* An engine that could not be opened is not tried again, and the setting goes back to the old model. */
static void refused_engine_leaves_the_old(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = feed_frames(&rig, 1, 3);
  for (int wishes = 1; wishes <= 2; wishes++) {
    set_model(rig.loop, FAKE_REFUSED);
    for (int i = 0; i < PATIENCE_MS && status_of(&rig).engines_refused < wishes; i++)
      usleep(1000);
    serial = feed_frames(&rig, serial, 10);
    assert_int_equal(status_of(&rig).engines_refused, wishes);
    assert_false(status_of(&rig).opening);
    assert_null(model_of(&rig, &settings));
    assert_int_equal(log->engines_tried, 1 + wishes);
  }
  set_model(rig.loop, "other");
  feed_until_engine(&rig, serial, 4);
  rig_finish(&rig, 0);
  assert_true(rig.tellings == 2 && rig.warnings == 0);
  assert_non_null(strstr(rig.lastly, "; it stays with "));
  expect_engines((const int[]){1, 4}, 2);
}

/* If several models are set quickly, the last one is used; an engine that was opened in between makes no picture. */
static void wishes_overtake_an_engine(void **state) {
  (void)state;
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_open = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_model(rig.loop, "between");
  wait_for_count(&log->engines_tried, 2);
  set_model(rig.loop, "last");
  serial = feed_frames(&rig, serial, 3);
  fake_engine_let_open(2);
  serial = feed_until_engine(&rig, serial, 3);
  wait_for_count(&log->engines_closed, 2);
  /* The old model is set again before the other one is open. */
  set_model(rig.loop, "fourth");
  wait_for_count(&log->engines_tried, 4);
  set_model(rig.loop, "last");
  serial = feed_frames(&rig, serial, 3);
  fake_engine_let_open(1);
  wait_for_count(&log->engines_closed, 3);
  feed_frames(&rig, serial, 3);
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 3}, 2);
  assert_int_equal(log->engines_tried, 4);
  assert_int_equal(log->most_engines, 2);
}

/* Values that the user has set are kept with any model. */
static void set_values_outlast_an_engine(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_open = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_model(rig.loop, "steps 3");
  wait_for_count(&log->engines_tried, 2);
  set_number(rig.loop, PARAMETER_STEPS, 2); /* the other engine's handle was prepared for another number of steps */
  fake_engine_let_open(1);
  serial = feed_until_engine(&rig, serial, 2);
  feed_until_followed(&rig, serial, &(struct engine_shape){.steps = 2}, false);
  model_of(&rig, &settings);
  assert_int_equal(settings.values.steps, 2);
  rig_finish(&rig, 0);
  assert_int_equal(last_submit()->steps, 2);
}

/* The new engine waits until a handle that is being prepared is done. It gets the whole memory limit when the old
 * engine is closed. */
static void preparing_holds_an_engine_up(void **state) {
  (void)state;
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_prepare = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_number(rig.loop, PARAMETER_STEPS, 2);
  wait_for_handles(2);
  set_model(rig.loop, "other");
  wait_for_count(&log->engines_open, 2);
  serial = feed_frames(&rig, serial, 5);
  assert_int_equal(last_submit()->engine, 1);
  assert_int_equal(log->memory_limit, 0);
  fake_engine_let_prepare(5);
  feed_until_engine(&rig, serial, 2);
  wait_for_count(&log->engines_closed, 1);
  for (int i = 0; i < PATIENCE_MS && !log->memory_limit; i++)
    usleep(1000);
  assert_int_equal(log->memory_limit, LIMIT);
  rig_finish(&rig, 0);
}

/* To stop, the window waits at most for the call that opens an engine. */
static void stop_while_opening(void **state) {
  (void)state;
  for (int refused = 0; refused < 2; refused++) {
    struct rig rig = {0};
    rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_open = true}, true);
    feed_frames(&rig, 1, 3);
    set_model(rig.loop, refused ? FAKE_REFUSED : "other");
    wait_for_count(&fake_engine_log()->engines_tried, 2);
    loop_end(rig.loop);
    const struct mail *mail = NULL;
    fake_engine_let_open(1);
    while (mailbox_take(&rig.out, &mail, PATIENCE_MS) == 1)
      ;
    rig_finish(&rig, 0);
    assert_int_equal(fake_engine_log()->engines_open, 0);
  }
}

/* While paused, the new engine makes the last frame again. */
static void another_engine_shows_while_paused(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  set_model(rig.loop, "other");
  expect_again(&rig, 1);
  expect_nothing(&rig, 100);
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 2}, 2);
}

static void engine_failure_ends_it(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .fail_at_submit = 2}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  put_frame(&rig, 2);
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig.out, &mail, PATIENCE_MS), -1);
  rig_finish(&rig, -1);
}

static void wait_for_away(struct loop *loop, bool away) {
  struct loop_status status = {.away = !away};
  for (int i = 0; i < PATIENCE_MS && status.away != away; i++) {
    loop_get_status(loop, &status);
    usleep(1000);
  }
  assert_int_equal(status.away, away);
}

/* Two engines fail at a frame; the third one makes it, with all values that were set before and meanwhile. */
static void failed_engine_comes_again(void **state) {
  (void)state;
  struct rig rig = {.recovers = true};
  rig_start(
      &rig,
      &(struct fake_engine_script){.frame_ms = 1, .fail_at_submit = 2, .failing_engines = 2, .slow_to_open = true},
      true);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  put_frame(&rig, 1);
  expect_picture(&rig);
  put_frame(&rig, 2);
  wait_for_away(rig.loop, true);
  set_prompt_text(rig.loop, 1, "while it was away");
  fake_engine_let_open(2);
  wait_for_away(rig.loop, false);
  const struct mail *mail = expect_picture(&rig);
  assert_int_equal(mail->frame.serial, 2);
  struct loop_status status;
  struct settings settings = {0};
  loop_get_status(rig.loop, &status);
  assert_int_equal(status.engines, 3);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_true(settings.values.strength == 0.25);
  assert_string_equal(fake_engine_text(SLOT_PRESET_1), "while it was away");
  rig_finish(&rig, 0);
  assert_int_equal(rig.lefts, 2);
  const struct fake_submit *last = last_submit();
  assert_true(last->controls.strength == 0.25f);
}

/* If the loop is stopped while the engine is being opened again, or before the next attempt, the first failure is
 * returned. */
static void stop_while_the_engine_is_away(void **state) {
  (void)state;
  for (int failures = 1; failures <= 2; failures++) {
    struct rig rig = {.recovers = true};
    rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .fail_at_submit = 1, .slow_to_open = true}, true);
    put_frame(&rig, 1);
    fake_engine_let_open(failures - 1);
    wait_for_count(&rig.lefts, failures);
    loop_end(rig.loop);
    fake_engine_let_open(1);
    rig_finish(&rig, -1);
  }
}

/* After a lost device no other engine is opened; the values can be read for another process. */
static void lost_device_is_left(void **state) {
  (void)state;
  struct rig rig = {.recovers = true, .leaves_lost = true};
  struct loop_status status = {0};
  struct parameters *values = malloc(sizeof *values);
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .fail_at_submit = 2, .loses = true}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  put_frame(&rig, 2);
  wait_for_count(&rig.lefts, 1);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  loop_get_status(rig.loop, &status);
  assert_true(status.lost && status.away);
  assert_string_equal(status.why_away, "the fake device fails as told");
  assert_true(loop_get_marked(rig.loop, values));
  assert_true(values->strength == 0.25 && parameters_marked(values, PARAMETER_STRENGTH, 0));
  assert_false(parameters_marked(values, PARAMETER_SEED, 0));
  free(values);
  rig_finish(&rig, -1);
  assert_int_equal(rig.warnings, 0); /* the process that replaces this one logs it */
}

/* The first engine of a process that replaces another one is waited for in the same way. */
static void first_engine_is_waited_for(void **state) {
  (void)state;
  struct rig rig = {.recovers = true, .retries_start = true};
  struct loop_status status;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .unopened = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  loop_get_status(rig.loop, &status);
  assert_false(status.away || status.lost);
  assert_int_equal(rig.warnings, 1);
  rig_finish(&rig, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(engines_are_counted_with_what_they_are),
      cmocka_unit_test(another_engine_comes_beside_frames),
      cmocka_unit_test(first_frames_have_no_history),
      cmocka_unit_test(patience),
      cmocka_unit_test(pictures_keep_their_order),
      cmocka_unit_test(refused_engine_leaves_the_old),
      cmocka_unit_test(wishes_overtake_an_engine),
      cmocka_unit_test(set_values_outlast_an_engine),
      cmocka_unit_test(preparing_holds_an_engine_up),
      cmocka_unit_test(stop_while_opening),
      cmocka_unit_test(another_engine_shows_while_paused),
      cmocka_unit_test(engine_failure_ends_it),
      cmocka_unit_test(failed_engine_comes_again),
      cmocka_unit_test(stop_while_the_engine_is_away),
      cmocka_unit_test(lost_device_is_left),
      cmocka_unit_test(first_engine_is_waited_for),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
