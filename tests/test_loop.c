/* Tests the engine's thread (the loop) with a fake engine: which frames are submitted, dropped and made again, and what
 * happens when something ends. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/run/loop.h"
#include "app/source/reader.h"
#include "unet/base/platform.h"
#include "tests/rigs/fake_engine.h"
#include "tests/rigs/fake_source.h"
#include "tests/rigs/loop_rig.h"

static void wait_for_submits(int count) {
  for (int i = 0; i < PATIENCE_MS && fake_engine_log()->submitted < count; i++)
    usleep(1000);
  assert_true(fake_engine_log()->submitted >= count);
}

static void policy(void **state) {
  (void)state;
  const struct {
    struct loop_situation in;
    enum loop_action action;
  } cases[] = {
      {{.looked = true, .depth = 1, .fresh = true}, LOOP_SUBMIT_FRESH},
      {{.looked = true, .depth = 1, .fresh = true, .quiet = true, .stale = true, .ended = true}, LOOP_SUBMIT_FRESH},
      {{.looked = true, .depth = 1, .in_flight = 1, .fresh = true}, LOOP_COLLECT},
      {{.looked = true, .depth = 2, .in_flight = 1, .fresh = true}, LOOP_SUBMIT_FRESH},
      {{.looked = true, .depth = 2, .in_flight = 1}, LOOP_COLLECT},
      {{.looked = true, .depth = 2, .in_flight = 2, .fresh = true}, LOOP_COLLECT},
      {{.looked = true, .depth = 1, .in_flight = 2, .fresh = true}, LOOP_COLLECT},
      {{.looked = true, .depth = 2, .in_flight = 1, .quiet = true, .stale = true}, LOOP_COLLECT},
      {{.looked = true, .depth = 1, .quiet = true, .stale = true}, LOOP_SUBMIT_AGAIN},
      /* the last picture has old values, but a new frame will come */
      {{.looked = true, .depth = 1, .stale = true}, LOOP_WAIT},
      {{.looked = true, .depth = 1, .ended = true}, LOOP_END},
      {{.looked = true, .depth = 1, .quiet = true, .ended = true, .stale = true}, LOOP_END},
      {{.looked = true, .depth = 2, .in_flight = 1, .ended = true}, LOOP_COLLECT},
      {{.looked = true, .depth = 1}, LOOP_WAIT},
      {{.looked = true, .depth = 2, .in_flight = 1, .quiet = true, .batched = true}, LOOP_DRAIN},
      {{.looked = true, .depth = 1, .quiet = true, .batched = true, .stale = true}, LOOP_SUBMIT_AGAIN},
      {{.looked = true, .depth = 1, .quiet = true, .batched = true, .stale = true, .ended = true}, LOOP_DRAIN},
      {{.looked = true, .depth = 1, .fresh = true, .late = true}, LOOP_PASS},
      /* once this picture is collected, the frame may be in time */
      {{.looked = true, .depth = 2, .in_flight = 1, .fresh = true, .late = true}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 1}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 1, .asked = true}, LOOP_COLLECT}, /* the request is for the next frame */
      {{.depth = 1, .in_flight = 1, .fresh = true}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 1, .fresh = true}, LOOP_LOOK},
      {{.depth = 2, .in_flight = 1, .batched = true}, LOOP_LOOK},
      {{.depth = 1}, LOOP_WAIT},
      {{.depth = 1, .fresh = true}, LOOP_LOOK},
      {{.depth = 1, .asked = true}, LOOP_LOOK},
      {{.depth = 1, .quiet = true}, LOOP_LOOK},
      {{.depth = 1, .quiet = true, .ended = true}, LOOP_LOOK},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    if (loop_decide(&cases[i].in) != cases[i].action)
      fail_msg("case %zu", i);
}

/* The loop copies the current values before it submits a frame, and copies them once only. */
static void looks_once(void **state) {
  (void)state;
  for (int depth = 1; depth <= 2; depth++)
    for (unsigned bits = 0; bits < 1u << 10; bits++) {
      const struct loop_situation s = {.looked = bits & 1,
                                       .depth = depth,
                                       .in_flight = (int)(bits >> 1 & 3),
                                       .fresh = bits >> 3 & 1,
                                       .batched = bits >> 4 & 1,
                                       .asked = bits >> 5 & 1,
                                       .quiet = bits >> 6 & 1,
                                       .late = bits >> 7 & 1,
                                       .stale = bits >> 8 & 1,
                                       .ended = bits >> 9 & 1};
      enum loop_action action = loop_decide(&s);
      assert_true(s.looked ? action != LOOP_LOOK
                           : action == LOOP_LOOK || action == LOOP_COLLECT || action == LOOP_WAIT);
      assert_false(action == LOOP_COLLECT && s.in_flight == 0);
    }
}

/* A frame that cannot be ready in time is dropped, if the next one can. */
static void lateness(void **state) {
  (void)state;
  static const struct {
    struct loop_timing timing;
    bool late;
  } cases[] = {
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 5}, false},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 14}, true},
      /* every frame takes longer than the budget, so none is dropped */
      {{.budget_ms = 33, .frame_ms = 40, .waited_ms = 1}, false},
      {{.budget_ms = 33, .frame_ms = 0, .waited_ms = 100}, false}, /* no frame was timed yet */
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 1}, true},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 15}, false},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 500}, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(loop_is_late(&cases[i].timing), cases[i].late);
}

/* Of frames that arrive while the engine works, only the last is submitted. */
static void newest_frame_only(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.gated = true}, true);
  put_frame(&rig, 1);
  wait_for_submits(1);
  for (int i = 2; i <= 6; i++)
    put_frame(&rig, i);
  fake_engine_release(1);
  assert_int_equal(expect_picture(&rig)->frame.serial, 1);
  fake_engine_release(1);
  assert_int_equal(expect_picture(&rig)->frame.serial, 6);
  expect_nothing(&rig, 150);
  assert_int_equal(mailbox_count(&rig.in).dropped, 4);
  assert_int_equal(fake_engine_log()->submitted, 2);
  rig_finish(&rig, 0);
}

/* The callback for the mask and the controls' frame is called before each frame, and an error in it ends the loop. */
static void called_before_each_frame(void **state) {
  (void)state;
  struct rig rig = {.before = true, .refused = 4};
  static const uint8_t seen[1];
  rig_start(&rig, &(struct fake_engine_script){0}, true);
  rig.control.plane[0] = seen;
  for (int i = 1; i < 4; i++) {
    loop_set_on_device(rig.loop, i == 2);
    put_frame(&rig, i);
    assert_int_equal(expect_picture(&rig)->frame.serial, i);
    assert_int_equal(rig.before_serial, i);
    assert_int_equal(rig.before_on_device, i == 2);
    assert_ptr_equal(fake_engine_submit(i - 1)->control, seen);
  }
  put_frame(&rig, 4);
  const struct mail *mail;
  assert_int_equal(mailbox_take(&rig.out, &mail, PATIENCE_MS), -1);
  assert_int_equal(fake_engine_log()->submitted, 3);
  assert_int_equal(rig.befores, 4);
  struct loop_status status;
  loop_get_status(rig.loop, &status);
  assert_int_equal(status.copied, 3 * 100);
  rig_finish(&rig, -1);
}

static void stamps_rise(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 5}, true);
  for (int i = 1; i < 5; i++) {
    put_frame(&rig, i);
    const struct mail *mail = expect_picture(&rig);
    assert_true(mail->frame.captured_ns > 0);
    assert_true(mail->submitted_ns >= mail->frame.captured_ns);
    assert_true(mail->finished_ns >= mail->submitted_ns + 5000000);
    assert_true(mail->frame_ms >= 5);
    assert_false(mail->again);
  }
  rig_finish(&rig, 0);
}

/* A GPU gets its next frame while it works on one, and never a third. */
static void two_in_flight_for_a_gpu(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 30, .depth = 2}, true);
  put_frame(&rig, 1);
  wait_for_submits(1);
  uint64_t last = 0;
  for (int i = 2; i < 12; i++) {
    put_frame(&rig, i);
    const struct mail *mail = expect_picture(&rig);
    assert_true(mail->frame.serial > last);
    last = mail->frame.serial;
  }
  /* the picture of the frame before comes first, unless a busy machine made the loop drop that frame */
  while (last < 11) {
    uint64_t serial = expect_picture(&rig)->frame.serial;
    assert_true(serial > last);
    last = serial;
  }
  rig_finish(&rig, 0);
  assert_in_range(fake_engine_log()->most_in_flight, 1, 2);
}

/* If the window draws on the same GPU, the next frame is submitted only after the last picture was drawn. */
static void next_run_waits_for_the_drawing(void **state) {
  (void)state;
  struct rig rig = {.drawing_ms = 1e3 * PATIENCE_MS};
  rig_start(&rig, &(struct fake_engine_script){.gated = true, .depth = 2}, true);
  loop_set_drawn_there(rig.loop, true);
  put_frame(&rig, 1);
  fake_engine_release(1);
  assert_int_equal(expect_picture(&rig)->frame.serial, 1);
  int made = 1, early = 0;
  for (int i = 1; i < 6; i++) {
    put_frame(&rig, 10 * i);
    usleep(20000);
    assert_int_equal(fake_engine_log()->submitted, made);
    put_frame(&rig, 10 * i + 1); /* replaces the frame that is waiting */
    for (uint64_t serial = 0; serial != (uint64_t)(10 * i + 1); made++) {
      mailbox_done(&rig.out);
      fake_engine_release(1);
      serial = expect_picture(&rig)->frame.serial;
      /* the loop's thread was delayed, and submitted this frame before it could be replaced */
      early += serial == (uint64_t)(10 * i);
    }
  }
  assert_true(early < 5);
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->most_in_flight, 1);
}

/* If the window never reports that it has drawn, frames are delayed only for a limited time. */
static void next_run_waits_no_longer(void **state) {
  (void)state;
  struct rig rig = {.drawing_ms = 1};
  rig_start(&rig, &(struct fake_engine_script){.depth = 2}, true);
  loop_set_drawn_there(rig.loop, true);
  for (int i = 1; i < 6; i++) {
    put_frame(&rig, i);
    assert_int_equal(expect_picture(&rig)->frame.serial, i);
  }
  rig_finish(&rig, 0);
}

static void input_goes_with_its_picture(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2}, true);
  put_frame(&rig, 1);
  assert_null(expect_picture(&rig)->input.plane[0]);
  set_number(rig.loop, PARAMETER_SPLIT, 1);
  for (int i = 2; i < 8; i++) {
    put_frame(&rig, i);
    const struct mail *mail = expect_picture(&rig);
    while (i == 2 && !mail->input.plane[0]) /* submitted before the loop got the request for input frames */
      mail = expect_picture(&rig);
    assert_non_null(mail->input.plane[0]);
    assert_int_equal(mail->input.serial, mail->frame.serial);
    assert_int_equal(mail->input.plane[0][0], mail->frame.serial);
    bool shared = false; /* these are the pixels that the engine read */
    for (int j = 0; j < fake_engine_log()->submitted; j++)
      shared = shared || fake_engine_submit(j)->input == mail->input.plane[0];
    assert_true(shared);
  }
  rig_finish(&rig, 0);
}

/* A slow window, and one that holds on to pictures, never stops the engine: a picture that was not taken is replaced.
 * The engine reads the source's memory directly, and its own memory is shown. */
static void slow_window_starves_nobody(void **state) {
  (void)state;
  enum { FRAMES = 200 };
  struct rig rig = {0};
  struct frame held[OTHERS_HOLD];
  rig_start(&rig, &(struct fake_engine_script){.depth = 2}, true);
  for (int i = 0; i < OTHERS_HOLD; i++) {
    put_frame(&rig, i + 1);
    held[i] = frame_hold(&expect_picture(&rig)->frame);
  }
  put_frame(&rig, OTHERS_HOLD + 1);
  const struct mail *mail = expect_picture(&rig); /* this picture stays taken all the time */
  int made = fake_engine_log()->submitted;
  for (int serial = OTHERS_HOLD + 2; fake_engine_log()->submitted < made + FRAMES; serial++) {
    assert_true(serial < PATIENCE_MS);
    put_frame(&rig, serial % 256);
    usleep(1000);
  }
  const uint8_t *shown_at = mail->frame.plane[0];
  for (int i = 0; i < OTHERS_HOLD; i++) {
    assert_ptr_equal(held[i].plane[0], fake_engine_submit(i)->output);
    assert_ptr_not_equal(held[i].plane[0], shown_at);
    assert_int_equal(held[i].serial, i + 1);
  }
  assert_ptr_equal(shown_at, fake_engine_submit(OTHERS_HOLD)->output);
  rig_finish(&rig, 0);
  uint8_t rgb[3];
  for (int i = 0; i < OTHERS_HOLD; i++) { /* these holds last longer than the engine, the loop and the mailbox */
    fake_engine_color(&fake_engine_submit(i)->controls, i + 1, rgb);
    assert_memory_equal(held[i].plane[0], rgb, 3);
    frame_release(&held[i]);
  }
}

/* While nothing comes the thread sleeps without polling; a change wakes it. */
static void it_rests_where_nothing_comes(void **state) {
  (void)state;
  struct rig rig = {.files = true};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  int turns = rig.turns;
  int64_t begun_ns = platform_now_ns();
  usleep(250000);
  turns = rig.turns - turns;
  assert_true(turns < 5 + (platform_now_ns() - begun_ns) / 20000000);
  set_number(rig.loop, PARAMETER_STRENGTH, 0.25);
  expect_picture(&rig);
  rig_finish(&rig, 0);
}

/* A slow engine is not reported as one that hangs. */
static void stalls(void **state) {
  (void)state;
  struct rig rig = {0};
  struct loop_status status = {0};
  rig_start(&rig, &(struct fake_engine_script){.gated = true}, true);
  put_frame(&rig, 1);
  for (int i = 0; i < PATIENCE_MS && status.busy_ms < 20; i++) {
    loop_get_status(rig.loop, &status);
    usleep(1000);
  }
  assert_true(status.busy_ms >= 20);
  assert_false(loop_wait_end(rig.loop, 30));
  fake_engine_release(1);
  expect_picture(&rig);
  for (int i = 0; i < PATIENCE_MS && status.busy_ms > 0; i++) {
    loop_get_status(rig.loop, &status);
    usleep(1000);
  }
  assert_true(status.busy_ms <= 0);
  loop_end(rig.loop);
  assert_true(loop_wait_end(rig.loop, PATIENCE_MS));
  assert_true(loop_wait_end(NULL, 0));
  rig_finish(&rig, 0);
}

static void text_to_image(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, false);
  expect_picture(&rig);
  expect_nothing(&rig, 100);
  set_number(rig.loop, PARAMETER_SEED, 9007199254740991.0);
  expect_picture(&rig);
  expect_nothing(&rig, 100);
  rig_finish(&rig, 0);
  assert_false(fake_engine_submit(0)->has_frame);
  assert_true(fake_engine_submit(1)->controls.seed == UINT64_C(9007199254740991));
}

/* The whole path from source to pictures: after the end of the file everything ends, and every frame has become a
 * picture or is counted as dropped. */
static void whole_way(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 6, .gated = true}, true);
  fake_source_begin(&(struct fake_source_script){.frame_ms = 2, .frames = 50});
  const struct source_options options = {0};
  struct source *source = NULL;
  struct reader *reader = NULL;
  assert_int_equal(source_open(&source, "fake", &options, NULL), 0);
  assert_int_equal(reader_start(&reader, &source, "fake", &options, &rig.in, NULL), 0);
  for (int i = 0; i < PATIENCE_MS && mailbox_count(&rig.in).put < 20; i++)
    usleep(1000); /* some frames are dropped, because the engine is not done with the first */
  fake_engine_release(50);
  const struct mail *mail = NULL;
  int64_t last = -1;
  long shown = 0;
  while (mailbox_take(&rig.out, &mail, PATIENCE_MS) == 1) {
    assert_true((int64_t)mail->frame.serial > last);
    last = (int64_t)mail->frame.serial;
    shown++;
  }
  assert_int_equal(last, 49);
  struct loop_status status;
  loop_get_status(rig.loop, &status);
  assert_int_equal(shown + mailbox_count(&rig.in).dropped + status.dropped + mailbox_count(&rig.out).dropped, 50);
  assert_true(mailbox_count(&rig.in).dropped > 0);
  assert_int_equal(reader_stop(&reader, NULL), 0);
  rig_finish(&rig, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(policy),
      cmocka_unit_test(looks_once),
      cmocka_unit_test(lateness),
      cmocka_unit_test(newest_frame_only),
      cmocka_unit_test(called_before_each_frame),
      cmocka_unit_test(stamps_rise),
      cmocka_unit_test(two_in_flight_for_a_gpu),
      cmocka_unit_test(next_run_waits_for_the_drawing),
      cmocka_unit_test(next_run_waits_no_longer),
      cmocka_unit_test(input_goes_with_its_picture),
      cmocka_unit_test(slow_window_starves_nobody),
      cmocka_unit_test(it_rests_where_nothing_comes),
      cmocka_unit_test(stalls),
      cmocka_unit_test(text_to_image),
      cmocka_unit_test(whole_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
