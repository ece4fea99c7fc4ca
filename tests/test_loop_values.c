/* Tests the engine's thread with a fake engine: how changes of prompts and values reach frames, also while paused. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/run/loop.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/loop_rig.h"
#include "unet/base/platform.h"

/* While paused, the last frame stays; a change of a control makes its picture once more. */
static void pause_and_try_controls(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  /* The picture with another strength shows that the loop has seen the pause. */
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, PARAMETER_PAUSE, 0, 1, NULL), 0);
  assert_int_equal(parameters_set_number(&changes, PARAMETER_STRENGTH, 0, 0.75, NULL), 0);
  loop_send(rig.loop, &changes);
  expect_again(&rig, 1);
  put_frame(&rig, 2);
  expect_nothing(&rig, 100);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  expect_again(&rig, 1);
  expect_nothing(&rig, 100);
  set_number(rig.loop, PARAMETER_PAUSE, 0);
  const struct mail *mail = expect_picture(&rig);
  assert_int_equal(mail->frame.serial, 2);
  assert_false(mail->again);
  rig_finish(&rig, 0);
}

/* While paused, the first frame of another place is shown, and those that continue it are not. */
static void another_place_shows_while_paused(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, PARAMETER_PAUSE, 0, 1, NULL), 0);
  assert_int_equal(parameters_set_number(&changes, PARAMETER_STRENGTH, 0, 0.75, NULL), 0);
  loop_send(rig.loop, &changes);
  expect_again(&rig, 1);
  rig.stretch = 7;
  put_frame(&rig, 2);
  mailbox_wake(&rig.in);
  const struct mail *mail = expect_picture(&rig);
  assert_int_equal(mail->frame.serial, 2);
  put_frame(&rig, 3);
  mailbox_wake(&rig.in);
  expect_nothing(&rig, 100);
  set_number(rig.loop, PARAMETER_PAUSE, 0);
  mail = expect_picture(&rig);
  assert_int_equal(mail->frame.serial, 3);
  rig_finish(&rig, 0);
}

/* A frame that does not continue the one before is marked as a restart: the first of another stretch of the input, and
 * the first after a freeze and a bypass. */
static void a_frame_that_does_not_go_on_restarts(void **state) {
  (void)state;
  static const enum parameter covers[] = {PARAMETER_FREEZE, PARAMETER_BYPASS};
  struct rig rig = {0};
  int serial = 1;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  rig.stretch = 3;
  serial = feed_frames(&rig, serial, 1);
  assert_true(last_submit()->restart);
  serial = feed_frames(&rig, serial, 1);
  assert_false(last_submit()->restart);
  rig.stretch = 4;
  serial = feed_frames(&rig, serial, 1);
  assert_true(last_submit()->restart);
  for (int i = 0; i < 2; i++) {
    serial = feed_frames(&rig, serial, 1);
    assert_false(last_submit()->restart);
    set_number(rig.loop, covers[i], 1);
    serial = feed_frames(&rig, serial, 2);
    assert_false(last_submit()->restart);
    set_number(rig.loop, covers[i], 0);
    serial = feed_frames(&rig, serial, 1);
    assert_true(last_submit()->restart);
  }
  rig_finish(&rig, 0);
}

/* A text is encoded in the background: while paused, the loop lets the engine do that, and then shows the text. */
static void text_comes_to_a_picture_that_stands(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slices = 5}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  set_prompt_text(rig.loop, 1, "another");
  const struct mail *mail = expect_picture(&rig);
  while (!mail->whole) /* first without the new text, then with it */
    mail = expect_picture(&rig);
  assert_true(mail->again && mail->frame.serial == 1);
  expect_nothing(&rig, 100);
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->submitted, 3);
  assert_string_equal(fake_engine_text(1), "another");
  assert_true(fake_engine_log()->slices >= 4);
}

static void set_file(struct loop *loop, const char *file) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_STYLE, 1, file, NULL), 0);
  loop_send(loop, &changes);
}

static void wait_for_file(struct loop *loop, const char *file) {
  struct settings settings = {0};
  for (int i = 0; i < PATIENCE_MS; i++) {
    assert_true(loop_get_settings(loop, &settings));
    if (!strcmp(parameters_text(&settings.values, PARAMETER_STYLE, 1), file))
      return;
    platform_sleep_ns(1000000);
  }
  fail_msg("style[1] is not %s", file);
}

/* A style file chosen while the picture is paused: the paused picture is made again once the file was read; if it
 * cannot be read, the name of the former file is set again. */
static void files_come_to_a_picture_that_stands(void **state) {
  (void)state;
  struct rig rig = {.files = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  set_file(rig.loop, "one");
  expect_again(&rig, 1);
  expect_nothing(&rig, 100);
  set_file(rig.loop, "none");
  wait_for_file(rig.loop, "one");
  expect_nothing(&rig, 100);
  rig_finish(&rig, 0);
}

/* A file that cannot be read is refused once, however soon the next frames come. */
static void a_file_is_refused_once(void **state) {
  (void)state;
  struct rig rig = {.files = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = feed_frames(&rig, 1, 5);
  set_file(rig.loop, "one");
  serial = feed_frames(&rig, serial, 5);
  set_file(rig.loop, "none");
  feed_frames(&rig, serial, 20);
  wait_for_file(rig.loop, "one");
  rig_finish(&rig, 0);
  assert_int_equal(rig.refusals, 1);
}

/* If a text changes with every frame, a new one is encoded when the one before is done: those in between are skipped,
 * the last one never. */
static void texts_do_not_pile_up(void **state) {
  (void)state;
  struct rig rig = {0};
  char text[20];
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slices = 20}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  for (int i = 2; i < 22; i++) {
    snprintf(text, sizeof text, "text %d", i);
    set_prompt_text(rig.loop, 1, text);
    put_frame(&rig, i);
    expect_picture(&rig);
  }
  for (int i = 0; i < PATIENCE_MS && strcmp(fake_engine_text(1), "text 21"); i++)
    usleep(1000);
  rig_finish(&rig, 0);
  assert_string_equal(fake_engine_text(1), "text 21");
}

/* A prompt is encoded before it is used, and only once; unused prompts are encoded when there is time. */
static void prompts_are_there_when_needed(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 2}, true);
  set_number(rig.loop, PARAMETER_SHOWN_PROMPT, 3);
  for (int i = 1; i < 8; i++) {
    put_frame(&rig, i);
    expect_picture(&rig);
    usleep(5000);
  }
  for (int i = 0; i < PATIENCE_MS && !fake_engine_log()->prompts[2]; i++)
    usleep(1000); /* time to encode slot 2 as well */
  rig_finish(&rig, 0);
  const struct fake_engine_log *log = fake_engine_log();
  assert_int_equal(log->prompts[1], 1);
  assert_int_equal(log->prompts[2], 1);
  assert_int_equal(log->prompts[3], 1);
  const struct controls *last = &last_submit()->controls;
  assert_true(last->blend[2] > 0 || last->prompt == 3);
}

/* A text that changes while frames are made is encoded before the next frame that uses it, without another handle.
 * While no frames come, the last one is made again with the new text. */
static void prompts_change_while_running(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 2, .depth = 2}, true);
  int serial = 1;
  for (int change = 0; change < 4; change++) {
    char text[32];
    snprintf(text, sizeof text, "text %d", change);
    set_prompt_text(rig.loop, 1, text);
    int waited = 0;
    do { /* the loop may already have encoded the text; a frame comes in any case */
      put_frame(&rig, serial++);
      usleep(1000);
    } while (waited++ < PATIENCE_MS && fake_engine_log()->prompts[1] < change + 2);
    assert_int_equal(fake_engine_log()->prompts[1], change + 2);
    assert_string_equal(fake_engine_text(1), text);
  }
  while ((int)expect_picture(&rig)->frame.serial < serial - 1) /* until all earlier frames were shown */
    ;
  const struct mail *mail = NULL;
  /* a text that is set after the last frame is also shown, on that frame */
  while (mailbox_take(&rig.out, &mail, 300) == 1)
    ;
  int submitted = fake_engine_log()->submitted;
  set_prompt_text(rig.loop, 1, "text 3"); /* the text that the slot has already */
  expect_nothing(&rig, 150);
  assert_int_equal(fake_engine_log()->submitted, submitted);
  set_prompt_text(rig.loop, 1, "on the last frame");
  expect_again(&rig, (uint64_t)serial - 1);
  assert_string_equal(fake_engine_text(1), "on the last frame");
  set_prompt_text(rig.loop, 7, "in no use");
  for (int i = 0; i < PATIENCE_MS && !fake_engine_log()->prompts[7]; i++)
    usleep(1000);
  expect_nothing(&rig, 150);
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->prompts[1], 6);
  assert_int_equal(fake_engine_log()->prompts[7], 1);
  assert_int_equal(fake_engine_log()->handles_made, 1);
}

/* Waits until the settings have this detail, and the last frame was submitted with the detail `controls`. */
static void expect_detail(struct rig *rig, int *serial, double detail, float controls) {
  struct settings settings = {0};
  int waited = 0;
  do
    *serial = feed_frames(rig, *serial, 1);
  while (waited++ < PATIENCE_MS && !(loop_get_settings(rig->loop, &settings) && settings.values.detail == detail &&
                                     last_submit()->controls.detail == controls));
  assert_float_equal(settings.values.detail, detail, 0);
  assert_float_equal(last_submit()->controls.detail, controls, 0);
}

/* Until somebody sets detail, the engine decides it for each frame, and the settings follow the style that is shown. */
static void detail_follows_the_style(void **state) {
  (void)state;
  struct rig rig = {0};
  int serial = 1;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  set_prompt_text(rig.loop, 1, FAKE_STYLE " of a cat");
  expect_detail(&rig, &serial, (double)FAKE_DETAIL, -1);
  set_prompt_text(rig.loop, 1, "ink");
  expect_detail(&rig, &serial, 0, -1);
  set_number(rig.loop, PARAMETER_DETAIL, 0.25);
  expect_detail(&rig, &serial, 0.25, 0.25f);
  set_prompt_text(rig.loop, 1, FAKE_STYLE);
  expect_detail(&rig, &serial, 0.25, 0.25f);
  set_number(rig.loop, PARAMETER_DETAIL, 0);
  expect_detail(&rig, &serial, 0, 0);
  rig_finish(&rig, 0);
}

static void set_negative(struct loop *loop, const char *text) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_NEGATIVE, 0, text, NULL), 0);
  loop_send(loop, &changes);
}

/* A negative prompt is encoded before the next frame. Without guidance that frame does not change, and a line says
 * so. */
static void negative_changes_while_running(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_negative(rig.loop, "fog");
  put_frame(&rig, 2);
  expect_picture(&rig);
  assert_string_equal(fake_engine_text(SLOT_NEGATIVE), "fog");
  set_number(rig.loop, PARAMETER_GUIDANCE, 3);
  for (int i = 0; i < PATIENCE_MS && !last_submit()->guidance; i++) {
    put_frame(&rig, 3 + i);
    expect_picture(&rig);
  }
  set_negative(rig.loop, "rain");
  put_frame(&rig, 1000);
  while (expect_picture(&rig)->frame.serial != 1000)
    ;
  assert_string_equal(fake_engine_text(SLOT_NEGATIVE), "rain");
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->prompts[SLOT_NEGATIVE], 2);
  assert_int_equal(rig.tellings, 1);
  assert_string_equal(rig.lastly, "the negative prompt does nothing without --guidance above 1");
}

/* While the seed walks, the last frame is made again and again. */
static void a_walk_goes_on_by_itself(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_SEED_WALK, 2);
  for (int i = 0; i < 5; i++)
    expect_again(&rig, 1);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  const struct mail *mail = NULL;
  while (mailbox_take(&rig.out, &mail, 300) == 1) /* while paused the walk stops */
    ;
  set_number(rig.loop, PARAMETER_PAUSE, 0);
  expect_again(&rig, 1);
  rig_finish(&rig, 0);
  const struct fake_engine_log *log = fake_engine_log();
  for (int i = 2; i < log->submitted && log->submitted <= FAKE_LOG; i++)
    assert_true(fake_engine_submit(i)->controls.seed_position > fake_engine_submit(i - 1)->controls.seed_position);
}

/* Values that move with time are computed for each frame, however soon it follows. */
static void each_frame_has_what_moves(void **state) {
  (void)state;
  struct rig rig = {.modulated = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  set_number(rig.loop, PARAMETER_SEED_WALK, 2);
  double position = -1;
  for (int i = 1; i < 20; i++) {
    rig.offset = i / 64.0;
    feed_frames(&rig, i, 1);
    assert_true(last_submit()->controls.strength == (float)(0.5 + i / 64.0));
    assert_true(last_submit()->controls.seed_position > position);
    position = last_submit()->controls.seed_position;
  }
  rig_finish(&rig, 0);
}

/* A fade also advances with each frame, and ends with exactly its end value. */
static void each_frame_fades_on(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_number(rig.loop, PARAMETER_SHOWN_PROMPT, 3);
  float share = 0;
  for (const struct controls *now = NULL; !now || now->blend[2] > 0 || now->prompt != 3; share = now->blend[2]) {
    serial = feed_frames(&rig, serial, 1);
    now = &last_submit()->controls;
    assert_true(now->blend[2] > share || (now->prompt == 3 && now->blend[2] == 0));
  }
  feed_frames(&rig, serial, 3);
  assert_true(last_submit()->controls.prompt == 3 && last_submit()->controls.blend[0] == 0);
  rig_finish(&rig, 0);
}

/* A scene that is set for a moment is in no frame before it and in the first frame after it, also while paused. */
static void a_scene_comes_at_its_moment(void **state) {
  (void)state;
  struct rig rig = {0};
  struct parameters scene;
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = feed_frames(&rig, 1, 2);
  parameters_init(&scene);
  parameters_set_number(&scene, PARAMETER_STRENGTH, 0, 0.75, NULL);
  loop_glide(rig.loop, &scene, platform_now_ns() + INT64_C(3600000000000), 0); /* in an hour */
  serial = feed_frames(&rig, serial, 5);
  assert_true(last_submit()->controls.strength == 0.5f);
  loop_glide(rig.loop, &scene, platform_now_ns(), 0);
  serial = feed_frames(&rig, serial, 1);
  assert_true(last_submit()->controls.strength == 0.75f);
  parameters_set_number(&scene, PARAMETER_STRENGTH, 0, 0.25, NULL);
  loop_glide(rig.loop, &scene, platform_now_ns() + 50000000, 0);
  for (int i = 0; i < PATIENCE_MS && last_submit()->controls.strength != 0.25f; i++)
    expect_again(&rig, (uint64_t)serial - 1);
  assert_true(last_submit()->controls.strength == 0.25f);
  rig_finish(&rig, 0);
}

/* If no value was sent and nothing moves, frames that follow quickly have the same time. Sending an empty change does
 * not count. */
static void frames_share_a_moment(void **state) {
  (void)state;
  struct rig rig = {.modulated = true, .still = true};
  const struct parameters nothing = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = 1;
  for (int before = -1; rig.moments != before && serial < PATIENCE_MS; serial++) {
    before = rig.moments;
    loop_send(rig.loop, &nothing);
    feed_frames(&rig, serial, 1);
  }
  assert_true(serial < PATIENCE_MS);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  feed_frames(&rig, serial, 1);
  assert_true(last_submit()->controls.strength == 0.25f);
  rig_finish(&rig, 0);
}

/* While frames come and something moves their values, numbers that are sent between two frames do not wake the loop's
 * thread: it copies values once a frame, and the next frame has the newest ones. A text wakes it, and so does a number
 * when no frame has come for long. */
static void numbers_wait_for_the_next_frame(void **state) {
  (void)state;
  enum { FRAMES = 12, EACH = 10 };
  struct rig rig = {.modulated = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  int serial = feed_frames(&rig, 1, 3), before = rig.moments;
  int64_t begun_ns = platform_now_ns();
  for (int i = 0; i < FRAMES; i++, serial = feed_frames(&rig, serial, 1))
    for (int j = 1; j <= EACH; j++, usleep(1000))
      set_number(rig.loop, PARAMETER_STRENGTH, j / 16.0);
  assert_true(last_submit()->controls.strength == EACH / 16.0f);
  /* a slow machine may let the loop wait long, which looks for changes then */
  if (platform_now_ns() - begun_ns < 2 * FRAMES * EACH * INT64_C(1000000))
    assert_in_range(rig.moments - before, FRAMES, 4 * FRAMES);
  set_prompt_text(rig.loop, 1, "sent between frames");
  for (int i = 0; i < PATIENCE_MS && strcmp(fake_engine_text(1), "sent between frames") != 0; i++)
    usleep(1000);
  usleep(150000);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  expect_again(&rig, (uint64_t)serial - 1);
  for (int i = 0; i < PATIENCE_MS && last_submit()->controls.strength != 0.25f; i++)
    expect_again(&rig, (uint64_t)serial - 1);
  rig_finish(&rig, 0);
}

/* A value that modulation moves for frames is not changed in the settings, and is used again afterwards, also while
 * paused. */
static void moved_values_stay_as_set(void **state) {
  (void)state;
  struct rig rig = {.modulated = true};
  struct settings settings = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  rig.offset = 0.25;
  expect_again(&rig, 1);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_true(settings.values.strength == 0.5);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.625);
  expect_again(&rig, 1);
  expect_nothing(&rig, 200);
  rig.offset = 0;
  expect_again(&rig, 1);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_true(settings.values.strength == 0.625);
  rig_finish(&rig, 0);
  assert_int_equal(rig.moved_for, 1);
  const float wanted[] = {0.5f, 0.75f, 0.875f, 0.625f};
  assert_int_equal(fake_engine_log()->submitted, 4);
  for (int i = 0; i < 4; i++)
    assert_true(fake_engine_submit(i)->controls.strength == wanted[i]);
}

/* A text that cannot be encoded is tried once, and frames go on. */
static void refused_prompt_is_tried_once(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  set_prompt_text(rig.loop, 1, ""); /* the fake engine refuses an empty text */
  for (int i = 1; i < 6; i++) {
    put_frame(&rig, i);
    expect_picture(&rig);
  }
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->prompts[1], 1);
  assert_int_equal(fake_engine_log()->refused_prompts, 1);
  assert_true(rig.tellings == 1 && rig.warnings == 0);
}

/* Changes that are sent before the engine is open apply to its first frame. */
static void changes_wait_for_the_engine(void **state) {
  (void)state;
  struct rig rig = {.early = true};
  struct settings settings = {0};
  rig_start(&rig, &(struct fake_engine_script){.open_ms = 50}, true);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_int_equal(settings.values.seed, 77);
  assert_string_equal(parameters_text(&settings.values, PARAMETER_PROMPT, 1), "early");
  assert_string_equal(parameters_text(&settings.values, PARAMETER_PROMPT, 2), "second");
  assert_false(parameters_marked(&settings.values, PARAMETER_SEED, 0));
  put_frame(&rig, 1);
  expect_picture(&rig);
  assert_string_equal(fake_engine_text(1), "early");
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_submit(0)->controls.seed, 77);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(pause_and_try_controls),
      cmocka_unit_test(another_place_shows_while_paused),
      cmocka_unit_test(a_frame_that_does_not_go_on_restarts),
      cmocka_unit_test(text_comes_to_a_picture_that_stands),
      cmocka_unit_test(files_come_to_a_picture_that_stands),
      cmocka_unit_test(texts_do_not_pile_up),
      cmocka_unit_test(prompts_are_there_when_needed),
      cmocka_unit_test(prompts_change_while_running),
      cmocka_unit_test(detail_follows_the_style),
      cmocka_unit_test(negative_changes_while_running),
      cmocka_unit_test(each_frame_has_what_moves),
      cmocka_unit_test(a_scene_comes_at_its_moment),
      cmocka_unit_test(each_frame_fades_on),
      cmocka_unit_test(frames_share_a_moment),
      cmocka_unit_test(a_file_is_refused_once),
      cmocka_unit_test(a_walk_goes_on_by_itself),
      cmocka_unit_test(numbers_wait_for_the_next_frame),
      cmocka_unit_test(moved_values_stay_as_set),
      cmocka_unit_test(refused_prompt_is_tried_once),
      cmocka_unit_test(changes_wait_for_the_engine),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
