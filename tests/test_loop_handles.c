/* Tests the engine's thread with a fake engine: values that need another handle (prepared shape) change while frames go
 * on. */
#include "tests/rigs/cmocka_all.h"

#include <unistd.h>

#include "app/run/loop.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/loop_rig.h"

static int feed_until_steps(struct rig *rig, int serial, int steps, bool refused) {
  set_number(rig->loop, PARAMETER_STEPS, steps);
  return feed_until_followed(rig, serial, &(struct engine_shape){.steps = steps}, refused);
}

/* A shape that the engine refuses is not tried again for every frame, and frames go on with the old one. */
static void steps_change_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 5, .depth = 2, .refuse_steps = 5}, true);
  int serial = feed_until_steps(&rig, 1, 2, false);
  serial = feed_until_steps(&rig, serial, 5, true);
  feed_until_steps(&rig, serial, 3, false);
  rig_finish(&rig, 0); /* checks that no handle was released with a frame in flight */
  const struct fake_engine_log *log = fake_engine_log();
  assert_int_equal(log->handles_made, 4);
  bool two = false;
  for (int i = 0; i < log->submitted; i++) {
    two = two || fake_engine_submit(i)->steps == 2;
    assert_int_not_equal(fake_engine_submit(i)->steps, 5);
  }
  assert_true(two);
  assert_int_equal(last_submit()->steps, 3);
}

/* The bank's number of frames changes at once up to the handle's capacity. For more, another handle is prepared while
 * frames go on, with as many frames in the bank as fit meanwhile. For fewer the handle stays, unless the user sets its
 * capacity. */
static void the_bank_changes_up_to_its_room(void **state) {
  (void)state;
  static const struct {
    enum parameter id;
    int value, bank, room, handles;
  } changes[] = {{PARAMETER_BANK, 2, 2, 2, 2}, {PARAMETER_BANK, 1, 1, 2, 2},      {PARAMETER_BANK, 0, 0, 2, 2},
                 {PARAMETER_BANK, 2, 2, 2, 2}, {PARAMETER_BANK, 4, 4, 4, 3},      {PARAMETER_BANK_EVERY, 3, 4, 4, 3},
                 {PARAMETER_BANK, 1, 1, 4, 3}, {PARAMETER_BANK_ROOM, 1, 1, 1, 4}, {PARAMETER_BANK_LAYERS, 2, 1, 1, 5},
                 {PARAMETER_BANK, 0, 0, 1, 5}};
  struct rig rig = {0};
  int serial = 1;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  serial = feed_frames(&rig, serial, 2);
  assert_int_equal(last_submit()->room, 0);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    set_number(rig.loop, changes[i].id, changes[i].value);
    for (int tries = 0; tries < PATIENCE_MS && (last_submit()->room != changes[i].room || tries < 2); tries++)
      serial = feed_frames(&rig, serial, 1);
    wait_for_handles(changes[i].handles);
    assert_int_equal(last_submit()->room, changes[i].room);
    assert_int_equal(last_submit()->controls.bank, changes[i].bank);
    assert_int_equal(last_submit()->controls.bank_every, i < 5 ? 1 : 3);
  }
  rig_finish(&rig, 0);
}

static void switch_control(struct loop *loop, int number, bool on) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, PARAMETER_CONTROL_ON, number, on, NULL), 0);
  loop_send(loop, &changes);
}

/* Feeds frames until the handle in use has these controls. */
static int feed_until_controls(struct rig *rig, int serial, unsigned controls) {
  struct loop_status status = {.prepared.shape.controls = ~controls};
  const struct mail *mail;
  for (int i = 0; i < PATIENCE_MS && status.prepared.shape.controls != controls; i++) {
    put_frame(rig, serial++);
    assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
    loop_get_status(rig->loop, &status);
  }
  assert_int_equal(status.prepared.shape.controls, controls);
  return serial;
}

/* Adding or removing a control takes another handle, which is prepared while frames go on; until then the control has
 * no effect. A control that the engine does not have is ignored. */
static void controls_come_and_go(void **state) {
  (void)state;
  struct rig rig = {.controlled = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_prepare = true}, true);
  const struct fake_engine_log *log = fake_engine_log();
  int serial = feed_until_controls(&rig, 1, 1);
  assert_true(fake_engine_submit(0)->controls.control[0].weight == 1 &&
              fake_engine_submit(0)->controls.control[1].weight == 0);
  switch_control(rig.loop, 2, true);
  serial = feed_frames(&rig, serial, 3);
  fake_engine_let_prepare(1);
  serial = feed_until_controls(&rig, serial, 3);
  switch_control(rig.loop, 1, false);
  serial = feed_frames(&rig, serial, 3);
  assert_true(last_submit()->controls.control[0].weight == 0);
  fake_engine_let_prepare(1);
  serial = feed_until_controls(&rig, serial, 2);
  switch_control(rig.loop, 4, false);
  feed_frames(&rig, serial, 5);
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 3);
}

/* Feeds frames until the handle in use has this canvas. */
static int feed_until_canvas(struct rig *rig, int serial, enum canvas_mode canvas) {
  struct loop_status status = {.prepared.shape.canvas = CANVAS_AUTO};
  const struct mail *mail;
  for (int i = 0; i < PATIENCE_MS && status.prepared.shape.canvas != canvas; i++) {
    put_frame(rig, serial++);
    assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
    loop_get_status(rig->loop, &status);
  }
  assert_int_equal(status.prepared.shape.canvas, canvas);
  return serial;
}

/* A change of the canvas and back prepares other handles while frames go on. */
static void the_canvas_changes_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_prepare = true}, true);
  const struct fake_engine_log *log = fake_engine_log();
  int serial = feed_frames(&rig, 1, 2);
  for (int i = 0; i < 3; i++) {
    enum canvas_mode canvas = i % 2 ? CANVAS_FIXED : CANVAS_FOLLOW;
    set_number(rig.loop, PARAMETER_CANVAS, canvas);
    serial = feed_frames(&rig, serial, 3);
    fake_engine_let_prepare(1);
    serial = feed_until_canvas(&rig, serial, canvas);
  }
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 4);
}

static void set_size(struct loop *loop, int width, int height) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_size(&changes, PARAMETER_SIZE, 0, width, height, NULL), 0);
  loop_send(loop, &changes);
}

/* Feeds frames until pictures have that size, or it was refused. */
static int feed_until_size(struct rig *rig, int serial, int width, int height) {
  struct loop_status status = {0};
  for (int i = 0; i < PATIENCE_MS && status.prepared.shape.width != width && status.refused.width != width; i++) {
    put_frame(rig, serial++);
    usleep(1000);
    loop_get_status(rig->loop, &status);
  }
  const struct engine_shape *shape = status.refused.width == width ? &status.refused : &status.prepared.shape;
  assert_true(shape->width == width && shape->height == height);
  for (int i = 0; i < 3; i++) {
    put_frame(rig, serial++);
    expect_picture(rig);
  }
  return serial;
}

/* Pictures keep the old size until the new one is prepared. A size is rounded to even numbers, also in the settings
 * that others read, and is prepared once. If it is refused, pictures stay as they are. */
static void size_changes_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  struct loop_status status;
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_prepare = true, .refuse_width = 80},
            true);
  int serial = feed_frames(&rig, 1, 3);
  set_size(rig.loop, 97, 43);
  wait_for_handles(2);
  serial = feed_frames(&rig, serial, 10);
  for (int i = 0; i < log->submitted; i++)
    assert_true(fake_engine_submit(i)->width == 64 && fake_engine_submit(i)->height == 64);
  loop_get_status(rig.loop, &status);
  assert_true(status.preparing && !status.first);
  assert_string_equal(status.name, "98x44");
  fake_engine_let_prepare(1);
  serial = feed_until_size(&rig, serial, 98, 44);
  loop_get_status(rig.loop, &status);
  assert_true(!status.preparing && !status.first);
  assert_string_equal(status.name, "98x44");
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_true(settings.values.size.width == 98 && settings.values.size.height == 44);
  put_frame(&rig, serial++);
  const struct mail *mail = expect_picture(&rig);
  assert_true(mail->frame.width == 98 && mail->frame.height == 44);
  set_size(rig.loop, 98, 43); /* the same size after rounding */
  serial = feed_frames(&rig, serial, 3);
  assert_int_equal(log->handles_made, 2);
  fake_engine_let_prepare(1);
  set_size(rig.loop, 79, 64);
  serial = feed_until_size(&rig, serial, 80, 64);
  assert_true(rig.tellings == 1 && rig.warnings == 0);
  assert_memory_equal(rig.lastly, "80x64: refused: ", 16);
  assert_true(last_submit()->width == 98);
  fake_engine_let_prepare(1);
  set_size(rig.loop, 32, 32);
  serial = feed_until_size(&rig, serial, 32, 32);
  assert_int_equal(rig.tellings, 1);
  fake_engine_let_prepare(1);
  set_size(rig.loop, 4, 300); /* smaller than the model allows: its smallest size is used, with one warning */
  serial = feed_until_size(&rig, serial, 8, 300);
  feed_frames(&rig, serial, 3);
  assert_int_equal(rig.tellings, 2);
  assert_string_equal(rig.lastly, "size 4x300: a side of this model's pictures has at least 8 pixels; it is 8x300");
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 5);
}

/* Pictures go on with the old handle while a new one is prepared. When guidance changes from 1, a handle with rows for
 * it is prepared, and one without when it is 1 again. */
static void picture_goes_on_while_preparing(void **state) {
  (void)state;
  enum { MEANWHILE = 10 };
  static const struct engine_shape without = {.steps = 1}, with = {.steps = 1, .guidance = GUIDANCE_FULL};
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_prepare = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  for (int turn = 0; turn < 2; turn++) {
    int before = log->submitted;
    set_number(rig.loop, PARAMETER_GUIDANCE, turn ? 1 : 3);
    wait_for_handles(2 + turn);
    serial = feed_frames(&rig, serial, MEANWHILE);
    int until = log->submitted; /* pictures of earlier frames may come first */
    assert_true(until - before >= MEANWHILE / 2);
    for (int i = before; i < until; i++)
      assert_true(fake_engine_submit(i)->guidance == (turn == 1));
    fake_engine_let_prepare(1);
    serial = feed_until_followed(&rig, serial, turn ? &without : &with, false);
    assert_true(last_submit()->guidance == (turn == 0));
  }
  set_number(rig.loop, PARAMETER_GUIDANCE, 1);
  feed_frames(&rig, serial, MEANWHILE);
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 3);
}

/* Another guidance mode takes another handle. In a mode without a further row the scale may have any value, also 1;
 * scale, delta and rescale never take another handle. */
static void guidance_modes_change_beside_frames(void **state) {
  (void)state;
  static const struct {
    enum parameter id;
    double value;
    enum guidance_mode handle;
    int made; /* number of handles prepared so far */
  } changes[] = {
      {PARAMETER_GUIDANCE, 3, GUIDANCE_FULL, 2},
      {PARAMETER_GUIDANCE_MODE, GUIDANCE_SELF, GUIDANCE_SELF, 3},
      {PARAMETER_GUIDANCE, 1, GUIDANCE_SELF, 3},
      {PARAMETER_DELTA, 0.5, GUIDANCE_SELF, 3},
      {PARAMETER_GUIDANCE, 2, GUIDANCE_SELF, 3},
      {PARAMETER_GUIDANCE_MODE, GUIDANCE_ONE_TIME, GUIDANCE_ONE_TIME, 4},
      {PARAMETER_GUIDANCE_RESCALE, 0.7, GUIDANCE_ONE_TIME, 4},
      {PARAMETER_GUIDANCE_MODE, GUIDANCE_NONE, GUIDANCE_NONE, 5},
      {PARAMETER_GUIDANCE, 5, GUIDANCE_NONE, 5},
  };
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2}, true);
  int serial = feed_frames(&rig, 1, 3);
  for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
    set_number(rig.loop, changes[i].id, changes[i].value);
    const struct engine_shape wish = {.steps = 1, .guidance = changes[i].handle};
    serial = feed_until_followed(&rig, serial, &wish, false);
    assert_int_equal(log->handles_made, changes[i].made);
    assert_true(last_submit()->guidance == changes[i].handle);
  }
  rig_finish(&rig, 0);
}

/* Another sampler or spacing takes another handle; the sampler's recommended eta is used unless the user has set
 * one. */
static void samplers_change_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2}, true);
  int serial = feed_frames(&rig, 1, 3);
  static const enum sampler samplers[] = {SAMPLER_DDIM, SAMPLER_TCD, SAMPLER_AUTO};
  for (int i = 0; i < 3; i++) {
    if (i == 2)
      set_number(rig.loop, PARAMETER_ETA, 0.5);
    set_number(rig.loop, PARAMETER_SAMPLER, samplers[i]);
    for (int wait = 0; wait < PATIENCE_MS && last_submit()->sampler != samplers[i]; wait++)
      serial = feed_frames(&rig, serial, 1);
    serial = feed_frames(&rig, serial, 3);
    double eta = i == 2 ? 0.5 : FAKE_ETA * samplers[i];
    assert_float_equal(last_submit()->controls.eta, eta, 1e-6);
  }
  set_number(rig.loop, PARAMETER_SPACING, SPACING_LINSPACE);
  wait_for_handles(5);
  feed_frames(&rig, serial, 3);
  rig_finish(&rig, 0);
}

/* A longer prompt takes another handle; until that is prepared, the old one shows the beginning of the prompt. */
static void long_prompts_are_prepared_for(void **state) {
  (void)state;
  static const struct engine_shape one = {.steps = 1}, two = {.steps = 1, .chunks = 2};
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_prepare = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_prompt_text(rig.loop, 1, "long, and longer");
  put_frame(&rig, serial++);
  wait_for_handles(2);
  int before = log->submitted;
  serial = feed_frames(&rig, serial, 5);
  assert_true(log->submitted > before && last_submit()->chunks == 1);
  fake_engine_let_prepare(1);
  serial = feed_until_followed(&rig, serial, &two, false);
  assert_int_equal(last_submit()->chunks, 2);
  set_prompt_text(rig.loop, 1, "short");
  fake_engine_let_prepare(1);
  feed_until_followed(&rig, serial, &one, false);
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 3);
}

/* In a stream batch a picture comes some frames later. If no new frames come the batch is drained, and a change is
 * shown completely. Switching it off takes another handle; frames left in the batch count as dropped. */
static void stream_batch_is_drained(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2}, true);
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, PARAMETER_STEPS, 0, 4, NULL), 0);
  assert_int_equal(parameters_set_number(&changes, PARAMETER_STREAM_BATCH, 0, 1, NULL), 0);
  loop_send(rig.loop, &changes);
  int serial = feed_until_followed(&rig, 1, &(struct engine_shape){.steps = 4, .stream_batch = true}, false);
  const struct mail *mail;
  int last = 0;
  put_frame(&rig, serial++); /* its picture was not taken yet */
  while (last < serial - 1) {
    assert_int_equal(mailbox_take(&rig.out, &mail, PATIENCE_MS), 1);
    assert_true((int)mail->frame.serial >= last);
    last = (int)mail->frame.serial;
  }
  expect_nothing(&rig, 50);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  expect_again(&rig, serial - 1);
  expect_nothing(&rig, 50);
  set_number(rig.loop, PARAMETER_STREAM_BATCH, 0);
  feed_until_followed(&rig, serial, &(struct engine_shape){.steps = 4}, false);
  rig_finish(&rig, 0);
  assert_false(fake_engine_log()->overfull);
}

/* If several values are set quickly, only the last one is prepared. */
static void wishes_overtake_a_preparation(void **state) {
  (void)state;
  struct rig rig = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_prepare = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_number(rig.loop, PARAMETER_STEPS, 2);
  wait_for_handles(2);
  set_number(rig.loop, PARAMETER_STEPS, 4);
  serial = feed_frames(&rig, serial, 3);
  fake_engine_let_prepare(2);
  feed_until_followed(&rig, serial, &(struct engine_shape){.steps = 4}, false);
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 3);
  for (int i = 0; i < log->submitted; i++)
    assert_int_not_equal(fake_engine_submit(i)->steps, 2);
  assert_int_equal(last_submit()->steps, 4);
}

/* While paused, the last frame is made again with the new handle. */
static void another_handle_shows_while_paused(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  set_number(rig.loop, PARAMETER_STEPS, 2);
  expect_again(&rig, 1);
  expect_nothing(&rig, 100);
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_submit(1)->steps, 2);
}

/* Feeds frames until the governor has reduced the steps to this number or fewer, or no longer reduces them. */
static struct loop_status feed_until_governed(struct rig *rig, int *serial, bool governed, int steps) {
  struct loop_status status = {0};
  for (int i = 0; i < PATIENCE_MS; i++) {
    const struct mail *mail;
    loop_get_status(rig->loop, &status);
    if (status.governed == governed && status.prepared.shape.steps <= steps)
      return status;
    put_frame(rig, (*serial)++);
    mailbox_take(&rig->out, &mail, 10);
  }
  fail_msg("never %s", governed ? "governed" : "as wished for");
  return status;
}

/* The governor reduces steps to keep the time budget. The wished number stays in the status, and is used again when
 * there is time. */
static void budget_is_kept(void **state) {
  (void)state;
  struct rig rig = {.budget_ms = 50};
  struct settings settings = {0};
  int serial = 1;
  rig_start(&rig, &(struct fake_engine_script){.step_ms = 10}, true);
  set_number(rig.loop, PARAMETER_STEPS, 8);
  struct loop_status status = feed_until_governed(&rig, &serial, true, 7);
  assert_int_equal(status.wish.steps, 8);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_int_equal(settings.values.steps, 8);
  set_number(rig.loop, PARAMETER_STEPS, 1);
  status = feed_until_governed(&rig, &serial, false, 1);
  assert_int_equal(status.wish.steps, 1);
  rig_finish(&rig, 0);
}

/* If the governor's spare handle does not fit in memory, it does without, and no value of the user is changed for
 * that. */
static void budget_without_room(void **state) {
  (void)state;
  struct rig rig = {.budget_ms = 50};
  int serial = 1;
  rig_start(&rig, &(struct fake_engine_script){.step_ms = 10, .refuse_steps = 4}, true);
  set_number(rig.loop, PARAMETER_STEPS, 8);
  struct loop_status status = feed_until_governed(&rig, &serial, true, 3);
  assert_int_equal(status.refused.steps, 0);
  assert_int_equal(status.wish.steps, 8);
  for (int i = 0; i < PATIENCE_MS && !rig.warnings; i++) {
    const struct mail *mail;
    put_frame(&rig, serial++);
    mailbox_take(&rig.out, &mail, 10);
  }
  assert_string_equal(rig.warned, "for the budget: 4 steps do not fit");
  rig_finish(&rig, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(steps_change_beside_frames),
      cmocka_unit_test(the_bank_changes_up_to_its_room),
      cmocka_unit_test(controls_come_and_go),
      cmocka_unit_test(the_canvas_changes_beside_frames),
      cmocka_unit_test(samplers_change_beside_frames),
      cmocka_unit_test(long_prompts_are_prepared_for),
      cmocka_unit_test(size_changes_beside_frames),
      cmocka_unit_test(picture_goes_on_while_preparing),
      cmocka_unit_test(guidance_modes_change_beside_frames),
      cmocka_unit_test(stream_batch_is_drained),
      cmocka_unit_test(wishes_overtake_a_preparation),
      cmocka_unit_test(another_handle_shows_while_paused),
      cmocka_unit_test(budget_is_kept),
      cmocka_unit_test(budget_without_room),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
