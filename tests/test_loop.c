/* The engine thread and the reader thread, with a fake engine and a fake source: which frames are taken, dropped and
 * done again, and what happens when something ends or breaks. */
#include "cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/run/loop.h"
#include "app/source/reader.h"
#include "unet/base/platform.h"
#include "tests/fake_engine.h"
#include "tests/fake_source.h"

enum { SIDE = 16, PATIENCE_MS = 120000, OTHERS_HOLD = 2, LIMIT = 4096 };

/* A loop with its mailboxes. */
struct rig {
  struct mailbox in, out;
  struct host_pictures frames;
  struct loop *loop;
  struct log log;
  bool early; /* changes are sent before the engine is open */
  int warnings;
  char warned[200]; /* last */
  /* What loop_params.before was called with, if it is to be: how often, the last frame's serial, and from which on it
   * fails. */
  bool before, controlled; /* controlled: the engine has two controls, of which the second is switched off */
  int befores;
  bool before_on_device;
  uint64_t before_serial, refused;
  struct frame control; /* that it gives to the request */
  double budget_ms;
  bool recovers;
  atomic_int lefts; /* calls of loop_params.left */
  bool modulated;
  _Atomic uint64_t moved_for; /* the frame that was told of with it */
  _Atomic double offset;      /* that is added to the strength, if it is */
  bool files;                 /* style pictures are followed: any but "none" can be read */
  bool refuses_file;
};

static void set_prompt_text(struct loop *loop, int index, const char *text) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_PROMPT, index, text, NULL), 0);
  loop_send(loop, &changes);
}

static void set_number(struct loop *loop, enum parameter id, double number) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, id, 0, number, NULL), 0);
  loop_send(loop, &changes);
}

/* A model's name is what it is known by, and how many steps suit it: "steps 3". */
static int open_fake(void *opaque, const struct engine_info *used, struct opened *opened, struct error *err) {
  const struct rig *rig = opaque;
  struct engine_params params = ENGINE_PARAMS_DEFAULTS;
  struct parameters *values = &opened->beginning.values;
  if (rig->controlled && !used) {
    values->control[0] = values->control[1] = MAP_CANNY + 1;
    values->control_on[1] = false;
  }
  struct engine_shape shape = {.steps = 1, .guidance = values_guidance(values), .controls = values_controls_on(values)};
  params.device.pictures = LOOP_HOLDS + OTHERS_HOLD;
  params.model = parameters_text(values, PARAMETER_MODEL, 0);
  if (params.model)
    sscanf(params.model, "steps %d", &shape.steps);
  if (parameters_marked(values, PARAMETER_STEPS, 0))
    shape.steps = (int)values->steps;
  static const char *const texts[] = {"given", "second", "third"};
  for (int i = 0; !used && i < 3; i++)
    if (parameters_set_text(values, PARAMETER_PROMPT, i + 1, texts[i], err))
      return -1;
  if (engine_open(&opened->engine, &params, err))
    return -1;
  if (engine_prepare(opened->engine, &shape, &opened->prepared, err) ||
      engine_set_prompt(opened->engine, 1, parameters_text(values, PARAMETER_PROMPT, 1), err)) {
    engine_close(&opened->engine);
    return -1;
  }
  values->steps = shape.steps;
  opened->beginning.encoded[SLOT_PRESET_1] = true;
  return 0;
}

static void note_line(void *opaque, enum log_level level, const char *text) {
  struct rig *rig = opaque;
  if (level != LOG_WARNING)
    return;
  snprintf(rig->warned, sizeof rig->warned, "%s", text);
  rig->warnings++;
}

static void set_model(struct loop *loop, const char *model) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_MODEL, 0, model, NULL), 0);
  loop_send(loop, &changes);
}

static int note_before(void *opaque, struct engine *engine, struct engine_request *request, struct error *err) {
  struct rig *rig = opaque;
  const struct frame *frame = request->frame;
  assert_non_null(engine);
  assert_int_equal(engine_in_flight(engine), 0); /* frames come one by one here */
  rig->befores++;
  rig->before_serial = frame->serial;
  rig->before_on_device = request->on_device;
  request->control_frame = &rig->control;
  return rig->refused && frame->serial >= rig->refused ? error_set(err, STATUS_INPUT, "no mask") : 0;
}

static void move_strength(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns) {
  struct rig *rig = opaque;
  assert_true(now_ns > 0);
  rig->moved_for = frame ? frame->serial : 0;
  settings->values.strength += rig->offset;
}

static int follow_file(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                       const struct frame *frame, struct error *err) {
  struct rig *rig = opaque;
  (void)frame;
  (void)err;
  assert_non_null(engine);
  bool same = parameters_same(has, wish, PARAMETER_STYLE, 1);
  rig->refuses_file = !same && !strcmp(parameters_text(wish, PARAMETER_STYLE, 1), "none");
  if (same || rig->refuses_file)
    return 0;
  parameters_take(has, wish, PARAMETER_STYLE, 1);
  return 1;
}

static void put_back_file(void *opaque, const struct parameters *has, struct parameters *values) {
  struct rig *rig = opaque;
  if (rig->refuses_file)
    parameters_take(values, has, PARAMETER_STYLE, 1);
}

static void note_left(void *opaque) {
  ((struct rig *)opaque)->lefts++;
}

static void rig_start(struct rig *rig, const struct fake_engine_script *script, bool has_frames) {
  *rig = (struct rig){.early = rig->early,
                      .before = rig->before,
                      .refused = rig->refused,
                      .files = rig->files,
                      .controlled = rig->controlled,
                      .modulated = rig->modulated,
                      .budget_ms = rig->budget_ms,
                      .recovers = rig->recovers};
  fake_engine_begin(script);
  mailbox_init(&rig->in);
  mailbox_init(&rig->out);
  rig->log = (struct log){note_line, rig};
  const struct loop_params params = {.open = open_fake,
                                     .modulate = rig->modulated ? move_strength : NULL,
                                     .before = rig->before ? note_before : NULL,
                                     .opaque = rig,
                                     .follow = rig->files ? follow_file : NULL,
                                     .put_back = put_back_file,
                                     .left = note_left,
                                     .recovers = rig->recovers,
                                     .budget_ms = rig->budget_ms,
                                     .floor_pixels = 8192 * 8192, /* so that only steps are left to do without */
                                     .memory_limit = LIMIT,
                                     .log = &rig->log};
  assert_int_equal(loop_start(&rig->loop, &params, has_frames ? &rig->in : NULL, &rig->out, NULL), 0);
  struct loop_status status = {0};
  if (rig->early) {
    set_number(rig->loop, PARAMETER_SEED, 77);
    set_prompt_text(rig->loop, 1, "early");
  }
  for (int i = 0; i < PATIENCE_MS && !status.ready; i++) {
    loop_get_status(rig->loop, &status);
    assert_int_equal(status.engines > 0, status.ready);
    usleep(1000);
  }
  assert_true(status.ready);
}

/* Everything that holds whatever happened. */
static void rig_finish(struct rig *rig, int expected) {
  struct error err = {0};
  assert_int_equal(loop_stop(&rig->loop, &err), expected);
  assert_null(rig->loop);
  mailbox_free(&rig->in);
  mailbox_free(&rig->out);
  host_pictures_free(&rig->frames);
  assert_true(fake_engine_log()->closed);
  assert_false(fake_engine_log()->overfull);
  assert_false(fake_engine_log()->starved);
  assert_false(fake_engine_log()->released_busy);
  assert_false(fake_engine_log()->unset_prompt_used);
}

static void put_frame(struct rig *rig, int serial) {
  struct mail mail = {0};
  assert_int_equal(host_pictures_take(&rig->frames, PIXEL_RGBA, SIDE, SIDE, &mail.frame, NULL), 0);
  memset(frame_plane(&mail.frame, 0), serial, (size_t)mail.frame.pitch[0] * SIDE);
  mail.frame.serial = (uint64_t)serial;
  mail.frame.captured_ns = platform_now_ns();
  mailbox_put(&rig->in, &mail);
}

static const struct mail *expect_picture(struct rig *rig) {
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
  return mail;
}

static void expect_again(struct rig *rig, uint64_t serial) {
  const struct mail *mail = expect_picture(rig);
  assert_int_equal(mail->frame.serial, serial);
  assert_true(mail->again);
}

static void expect_nothing(struct rig *rig, int ms) {
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig->out, &mail, ms), 0);
}

static void wait_for_submits(int count) {
  for (int i = 0; i < PATIENCE_MS && fake_engine_log()->submitted < count; i++)
    usleep(1000);
  assert_true(fake_engine_log()->submitted >= count);
}

/* Once there was one. */
static const struct fake_submit *last_submit(void) {
  return fake_engine_submit(fake_engine_log()->submitted - 1);
}

static void policy(void **state) {
  (void)state;
  const struct {
    struct loop_situation in;
    enum loop_action action;
  } cases[] = {
      {{.depth = 1, .fresh = true}, LOOP_SUBMIT_FRESH},
      {{.depth = 1, .fresh = true, .stale = true, .ended = true}, LOOP_SUBMIT_FRESH},
      {{.depth = 1, .in_flight = 1, .fresh = true}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 1, .fresh = true}, LOOP_SUBMIT_FRESH},
      {{.depth = 2, .in_flight = 1}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 2, .fresh = true}, LOOP_COLLECT},
      {{.depth = 1, .in_flight = 2, .fresh = true}, LOOP_COLLECT},
      {{.depth = 2, .in_flight = 1, .stale = true}, LOOP_COLLECT},
      {{.depth = 1, .stale = true}, LOOP_SUBMIT_AGAIN},
      {{.depth = 1, .ended = true}, LOOP_END},
      {{.depth = 1, .ended = true, .stale = true}, LOOP_END},
      {{.depth = 2, .in_flight = 1, .ended = true}, LOOP_COLLECT},
      {{.depth = 1}, LOOP_WAIT},
      {{.depth = 1, .fresh = true, .late = true}, LOOP_PASS},
      {{.depth = 2, .in_flight = 1, .fresh = true, .late = true}, LOOP_COLLECT}, /* it may be in time after that */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(loop_decide(&cases[i].in), cases[i].action);
}

/* Frames that arrive while the engine works: only the last of them is ever submitted. */
/* What cannot be done in time is left out, where what comes after it can. */
static void lateness(void **state) {
  (void)state;
  static const struct {
    struct loop_timing timing;
    bool late;
  } cases[] = {
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 5}, false},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 14}, true},
      {{.budget_ms = 33, .frame_ms = 40, .waited_ms = 1}, false},  /* no frame can be in time */
      {{.budget_ms = 33, .frame_ms = 0, .waited_ms = 100}, false}, /* not known yet */
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 1}, true},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 15}, false},
      {{.budget_ms = 33, .frame_ms = 20, .waited_ms = 1, .in_flight = 1, .busy_ms = 500}, false},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    assert_int_equal(loop_is_late(&cases[i].timing), cases[i].late);
}

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

/* A mask, and what controls see, come before their frame, and what is wrong with them ends the loop. */
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

/* Which rig_start looks at. */
static void engines_are_counted_with_what_they_are(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.info_ms = 20}, true);
  rig_finish(&rig, 0);
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
  while (last < 11) { /* one frame behind, unless a busy machine made the loop drop one */
    uint64_t serial = expect_picture(&rig)->frame.serial;
    assert_true(serial > last);
    last = serial;
  }
  rig_finish(&rig, 0);
  assert_in_range(fake_engine_log()->most_in_flight, 1, 2);
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
    while (i == 2 && !mail->input.plane[0]) /* submitted before the loop saw the wish */
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

/* Who is slow, and who holds on to pictures, never keeps the engine from making the next: what was not taken is
 * replaced. The engine reads pixels where the source has put them, and they are shown where it has put its own. */
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
  const struct mail *mail = expect_picture(&rig); /* and looks at this one all the time */
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
  for (int i = 0; i < OTHERS_HOLD; i++) { /* longer than engine, loop and mailbox */
    fake_engine_color(&fake_engine_submit(i)->controls, i + 1, rgb);
    assert_memory_equal(held[i].plane[0], rgb, 3);
    frame_release(&held[i]);
  }
}

/* Paused, the last frame stays; a changed control is shown on it, once. */
static void pause_and_try_controls(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  /* The picture with another strength tells that the loop has seen the pause. */
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

/* Nothing said of chunks is one. */
static bool same_wish(const struct engine_shape *wish, int steps, enum guidance_mode guidance, int chunks) {
  return steps == wish->steps && guidance == wish->guidance && chunks == (wish->chunks ? wish->chunks : 1);
}

/* Frames come until the engine has followed a wish, and some more then. */
static int feed_until_followed(struct rig *rig, int serial, const struct engine_shape *wish, bool refused) {
  struct loop_status status = {0};
  const struct mail *mail;
  bool made = false, denied = false;
  for (int i = 0; i < PATIENCE_MS && !made && !denied; i++) {
    put_frame(rig, serial++);
    usleep(1000);
    loop_get_status(rig->loop, &status);
    const struct engine_shape *shape = &status.prepared.shape;
    made = same_wish(wish, shape->steps, shape->guidance, shape->chunks) && wish->stream_batch == shape->stream_batch;
    denied = same_wish(wish, status.refused.steps, status.refused.guidance, status.refused.chunks);
  }
  assert_true(made != denied);
  assert_true(denied == refused);
  for (int i = 0; i < 3; i++) {
    put_frame(rig, serial++);
    assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
  }
  return serial;
}

static int feed_until_steps(struct rig *rig, int serial, int steps, bool refused) {
  set_number(rig->loop, PARAMETER_STEPS, steps);
  return feed_until_followed(rig, serial, &(struct engine_shape){.steps = steps}, refused);
}

/* What the engine refuses is not asked of it again for every frame, and frames go on as they were. */
static void steps_change_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 5, .depth = 2, .refuse_steps = 5}, true);
  int serial = feed_until_steps(&rig, 1, 2, false);
  serial = feed_until_steps(&rig, serial, 5, true);
  feed_until_steps(&rig, serial, 3, false);
  rig_finish(&rig, 0); /* checks that no handle went with a frame in flight */
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

static void wait_for_handles(int count) {
  for (int i = 0; i < PATIENCE_MS && fake_engine_log()->handles_made < count; i++)
    usleep(1000);
  assert_int_equal(fake_engine_log()->handles_made, count);
}

static int feed_frames(struct rig *rig, int serial, int count) {
  for (int i = 0; i < count; i++) {
    put_frame(rig, serial++);
    expect_picture(rig);
  }
  return serial;
}

static void switch_control(struct loop *loop, int number, bool on) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, PARAMETER_CONTROL_ON, number, on, NULL), 0);
  loop_send(loop, &changes);
}

/* Frames come until the handle in use has these controls. */
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

/* A control comes and goes with another handle, beside frames; until then it adds nothing. One that the engine has not
 * is none. */
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

static void set_size(struct loop *loop, int width, int height) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_size(&changes, PARAMETER_SIZE, 0, width, height, NULL), 0);
  loop_send(loop, &changes);
}

/* Frames come until pictures have that size, or it was refused. */
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

/* The picture goes on at the old size until the new one is there. A size is rounded to what the engine has, for all who
 * look at the settings, and prepared once; one that is refused leaves the picture as it is. */
static void size_changes_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_prepare = true, .refuse_width = 80},
            true);
  int serial = feed_frames(&rig, 1, 3);
  set_size(rig.loop, 97, 43);
  wait_for_handles(2);
  serial = feed_frames(&rig, serial, 10);
  for (int i = 0; i < log->submitted; i++)
    assert_true(fake_engine_submit(i)->width == 64 && fake_engine_submit(i)->height == 64);
  fake_engine_let_prepare(1);
  serial = feed_until_size(&rig, serial, 96, 40);
  assert_true(loop_get_settings(rig.loop, &settings));
  assert_true(settings.values.size.width == 96 && settings.values.size.height == 40);
  put_frame(&rig, serial++);
  const struct mail *mail = expect_picture(&rig);
  assert_true(mail->frame.width == 96 && mail->frame.height == 40);
  set_size(rig.loop, 99, 41); /* the same, rounded */
  serial = feed_frames(&rig, serial, 3);
  assert_int_equal(log->handles_made, 2);
  fake_engine_let_prepare(1);
  set_size(rig.loop, 82, 64);
  serial = feed_until_size(&rig, serial, 80, 64);
  assert_int_equal(rig.warnings, 1);
  assert_true(last_submit()->width == 96);
  fake_engine_let_prepare(1);
  set_size(rig.loop, 32, 32);
  feed_until_size(&rig, serial, 32, 32);
  rig_finish(&rig, 0);
  assert_int_equal(log->handles_made, 4);
}

/* While a handle is prepared the picture goes on with the old one. Where guidance comes to be other than 1, the handle
 * has rows for it, and has none once it is 1 again. */
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
    int until = log->submitted; /* some of the pictures that were taken may be of frames before */
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

/* Another mode of guidance is another handle. Of the one that needs no further row the scale is free, also at 1; scale,
 * delta and rescale never take another handle. */
static void guidance_modes_change_beside_frames(void **state) {
  (void)state;
  static const struct {
    enum parameter id;
    double value;
    enum guidance_mode handle;
    int made; /* handles so far */
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

/* Another sampler, or spacing, is another handle; its eta comes with it as long as nobody has set one. */
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

/* A longer prompt is another handle: until it is there, the old one shows what it can of the prompt. */
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

/* In a stream batch a picture comes so many frames later; where nothing new comes the rest is drained, and a change is
 * shown whole. Switching it off takes another handle; frames that it leaves under way count as dropped. */
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
  put_frame(&rig, serial++); /* whose picture was not taken yet */
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

/* Who changes his mind gets what he wishes for last, and nothing before. */
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

/* Also where nothing new comes: the last frame is done again with the new handle. */
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

/* A text that the engine makes beside frames: while the picture stands, the loop lets it be made, and then shows it. */
static void text_comes_to_a_picture_that_stands(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slices = 5}, true);
  put_frame(&rig, 1);
  expect_picture(&rig);
  set_number(rig.loop, PARAMETER_PAUSE, 1);
  set_prompt_text(rig.loop, 1, "another");
  const struct mail *mail = expect_picture(&rig);
  while (!mail->whole) /* as it was, before it comes with the text */
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

/* A picture that stands is made again with what was read from a file; where that cannot be read the value goes back. */
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

/* A text that changes with every frame has its turn when the one before is there: those between are left out, the last
 * is not. */
static void texts_do_not_pile_up(void **state) {
  (void)state;
  struct rig rig = {0};
  char text[16];
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

/* --- another engine --- */

static struct loop_status status_of(struct rig *rig) {
  struct loop_status status;
  loop_get_status(rig->loop, &status);
  return status;
}

static const char *model_of(struct rig *rig, struct settings *settings) {
  assert_true(loop_get_settings(rig->loop, settings));
  return parameters_text(&settings->values, PARAMETER_MODEL, 0);
}

/* Feeds frames until the handle is another one for the budget's sake, or no longer, with so many steps or fewer. */
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

/* Fewer steps than wished for keep the budget; the wish stays, is shown beside it, and comes back with the room. */
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

/* A spare handle that finds no room is done without, and no wish of the user's is taken back for it. */
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

static void wait_for_count(const atomic_int *count, int wanted) {
  for (int i = 0; i < PATIENCE_MS && *count < wanted; i++)
    usleep(1000);
  assert_true(*count >= wanted);
}

/* Frames until a picture of that engine's is submitted, and some more. */
static int feed_until_engine(struct rig *rig, int serial, int engine) {
  for (int i = 0; i < PATIENCE_MS && last_submit()->engine != engine; i++) {
    usleep(1000);
    put_frame(rig, serial++);
    expect_picture(rig);
  }
  return feed_frames(rig, serial, 3);
}

/* Each engine's frames in one piece, in this order. */
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

/* The old one goes on as long as it takes; then the new one goes on, with what suits it and what it was told, and the
 * old one is gone. */
static void another_engine_comes_beside_frames(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .depth = 2, .slow_to_open = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_prompt_text(rig.loop, 2, "the other");
  set_number(rig.loop, PARAMETER_PRESET, 2);
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
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 2}, 2);
  assert_int_equal(log->most_engines, 2);
  assert_int_equal(last_submit()->controls.prompt, 2);
  assert_int_equal(last_submit()->controls.seed, 5);
  assert_string_equal(fake_engine_text(2), "the other");
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
      assert_true(mail->frame.serial > last);
      last = mail->frame.serial;
    }
    if (!first && log->submitted && last_submit()->engine == 2)
      first = serial;
  }
  assert_true(first);
  rig_finish(&rig, 0);
  expect_engines((const int[]){1, 2}, 2);
}

/* What was refused is not tried again, and the wish is what it was before. */
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
  expect_engines((const int[]){1, 4}, 2);
}

/* Who changes his mind gets what he wished for last; an engine in between makes no picture. */
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
  /* And back before the other one is there. */
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

/* What somebody has set stays, on whatever model. */
static void set_values_outlast_an_engine(void **state) {
  (void)state;
  struct rig rig = {0};
  struct settings settings = {0};
  const struct fake_engine_log *log = fake_engine_log();
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1, .slow_to_open = true}, true);
  int serial = feed_frames(&rig, 1, 3);
  set_model(rig.loop, "steps 3");
  wait_for_count(&log->engines_tried, 2);
  set_number(rig.loop, PARAMETER_STEPS, 2); /* which the other one was not prepared for */
  fake_engine_let_open(1);
  serial = feed_until_engine(&rig, serial, 2);
  feed_until_followed(&rig, serial, &(struct engine_shape){.steps = 2}, false);
  model_of(&rig, &settings);
  assert_int_equal(settings.values.steps, 2);
  rig_finish(&rig, 0);
  assert_int_equal(last_submit()->steps, 2);
}

/* A handle that is being prepared is waited for, and the limit of memory is the new engine's when the old is closed. */
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

/* The window need not wait for more than the opening itself. */
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

/* The last frame is done again by the new engine. */
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

/* A prompt is encoded before it is used and only once; the rest are when there is time. */
static void prompts_are_there_when_needed(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 2}, true);
  set_number(rig.loop, PARAMETER_PRESET, 3);
  for (int i = 1; i < 8; i++) {
    put_frame(&rig, i);
    expect_picture(&rig);
    usleep(5000);
  }
  for (int i = 0; i < PATIENCE_MS && !fake_engine_log()->prompts[2]; i++)
    usleep(1000); /* idle: slot 2 too */
  rig_finish(&rig, 0);
  const struct fake_engine_log *log = fake_engine_log();
  assert_int_equal(log->prompts[1], 1);
  assert_int_equal(log->prompts[2], 1);
  assert_int_equal(log->prompts[3], 1);
  const struct controls *last = &last_submit()->controls;
  assert_true(last->blend[2] > 0 || last->prompt == 3);
}

static void set_negative(struct loop *loop, const char *text) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_NEGATIVE, 0, text, NULL), 0);
  loop_send(loop, &changes);
}

/* A negative prompt is encoded before the next frame. Where guidance is off that frame is as it was, and a line says
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
  assert_int_equal(rig.warnings, 1);
  assert_string_equal(rig.warned, "the negative prompt does nothing without --guidance above 1");
}

/* Pictures of the last frame come by themselves as long as the noise walks. */
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
  while (mailbox_take(&rig.out, &mail, 300) == 1) /* while paused it stands */
    ;
  set_number(rig.loop, PARAMETER_PAUSE, 0);
  expect_again(&rig, 1);
  rig_finish(&rig, 0);
  const struct fake_engine_log *log = fake_engine_log();
  for (int i = 2; i < log->submitted && log->submitted <= FAKE_LOG; i++)
    assert_true(fake_engine_submit(i)->controls.seed_position > fake_engine_submit(i - 1)->controls.seed_position);
}

/* What is moved for the frames is not what is set: the value stays, and comes back. A picture that stands follows. */
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

/* Texts that change while frames are made: encoded anew before the next frame that uses them, with nothing prepared
 * anew; a text in use shows on the last frame though nothing new comes. */
static void prompts_change_while_running(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 2, .depth = 2}, true);
  int serial = 1;
  for (int change = 0; change < 4; change++) {
    char text[32];
    snprintf(text, sizeof text, "text %d", change);
    set_prompt_text(rig.loop, 1, text);
    for (int i = 0; i < PATIENCE_MS && fake_engine_log()->prompts[1] < change + 2; i++) {
      put_frame(&rig, serial++);
      usleep(1000);
    }
    assert_int_equal(fake_engine_log()->prompts[1], change + 2);
    assert_string_equal(fake_engine_text(1), text);
  }
  while ((int)expect_picture(&rig)->frame.serial < serial - 1) /* until all that came before is shown */
    ;
  int submitted = fake_engine_log()->submitted;
  set_prompt_text(rig.loop, 1, "text 3"); /* as it is */
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

/* A text that cannot be encoded is tried once, and frames go on. */
static void refused_prompt_is_tried_once(void **state) {
  (void)state;
  struct rig rig = {0};
  rig_start(&rig, &(struct fake_engine_script){.frame_ms = 1}, true);
  set_prompt_text(rig.loop, 1, ""); /* which the fake engine refuses */
  for (int i = 1; i < 6; i++) {
    put_frame(&rig, i);
    expect_picture(&rig);
  }
  rig_finish(&rig, 0);
  assert_int_equal(fake_engine_log()->prompts[1], 1);
  assert_int_equal(fake_engine_log()->refused_prompts, 1);
}

/* What is sent before the engine is open is there from its first frame on. */
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

/* Two engines fail at a frame; the third shows it, with what was set before, and what was set while there was none. */
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

/* Ending while it is away says what failed: where it is being opened again, and before the next attempt. */
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

/* A slow engine is not a dead one. */
static void stalls(void **state) {
  (void)state;
  assert_false(loop_is_stalled(900, 10));
  assert_true(loop_is_stalled(1100, 10));
  assert_false(loop_is_stalled(3900, 1000));
  assert_true(loop_is_stalled(4100, 1000));
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

/* A reader and its mailbox. */
struct reading {
  struct mailbox mailbox;
  struct source_options options;
  struct reader *reader;
};

static void reading_start(struct reading *reading, const struct fake_source_script *script) {
  memset(reading, 0, sizeof *reading);
  fake_source_begin(script);
  mailbox_init(&reading->mailbox);
  struct source *source = NULL;
  assert_int_equal(source_open(&source, "fake", &reading->options, NULL), 0);
  assert_int_equal(reader_start(&reading->reader, &source, "fake", &reading->options, &reading->mailbox, NULL), 0);
  assert_null(source);
}

static void reading_finish(struct reading *reading, int expected, struct error *err) {
  assert_int_equal(reader_stop(&reading->reader, err), expected);
  assert_null(reading->reader);
  assert_int_equal(fake_source_open_now(), 0);
  mailbox_free(&reading->mailbox);
}

/* A file comes at its own pace, to the last frame, whose end closes the mailbox. */
static void file_is_paced(void **state) {
  (void)state;
  struct reading reading;
  int64_t before = platform_now_ns();
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 10, .frames = 12});
  const struct mail *mail = NULL;
  int count = 0;
  uint64_t last = 0;
  for (int got; (got = mailbox_take(&reading.mailbox, &mail, PATIENCE_MS)) == 1; count++) {
    assert_true(platform_now_ns() - before >= (int64_t)mail->frame.serial * 10000000);
    assert_true(platform_now_ns() - mail->frame.captured_ns >= 0);
    last = mail->frame.serial;
  }
  assert_int_equal(last, 11);
  assert_int_equal(count + mailbox_count(&reading.mailbox).dropped, 12);
  reading_finish(&reading, 0, NULL);
}

/* A clip that starts again goes on at its pace, neither at once nor never. */
static void looped_file_keeps_its_pace(void **state) {
  (void)state;
  struct reading reading;
  int64_t before = platform_now_ns();
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 10, .frames = 15, .jump_at = 5});
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  assert_true(platform_now_ns() - before >= 14 * 10000000);
  assert_int_equal(mailbox_count(&reading.mailbox).put, 15);
  reading_finish(&reading, 0, NULL);
}

static void broken_file_says_why(void **state) {
  (void)state;
  struct reading reading;
  struct error err = {0};
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 3, .ends_in_error = true});
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  reading_finish(&reading, -1, &err);
  assert_int_equal(err.status, STATUS_INPUT);
  assert_non_null(strstr(err.message, "breaks as told"));
}

static void wait_for_frames(const struct reading *reading, long frames) {
  struct reader_status status = {0};
  for (int i = 0; i < PATIENCE_MS && status.frames < frames; i++) {
    usleep(1000);
    reader_get_status(reading->reader, &status);
  }
  assert_true(status.frames >= frames);
}

/* A camera that goes away is opened again until it is back; meanwhile the status says so. */
static void lost_camera_comes_back(void **state, bool in_error) {
  (void)state;
  struct reading reading;
  struct reader_status status = {0};
  reading_start(&reading, &(struct fake_source_script){
                              .realtime = true, .frame_ms = 2, .frames = 4, .ends_in_error = in_error, .refusals = 1});
  for (int i = 0; i < PATIENCE_MS && !status.lost; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_true(status.lost);
  assert_true(strlen(status.reason) > 0);
  assert_int_equal(status.frames % 4, 0);
  wait_for_frames(&reading, status.frames + 1);
  assert_true(fake_source_openings() >= 2);
  assert_true(fake_source_attempts() >= 3);
  reading_finish(&reading, 0, NULL);
}

static void camera_that_ends(void **state) {
  lost_camera_comes_back(state, false);
}

static void camera_that_fails(void **state) {
  lost_camera_comes_back(state, true);
}

/* Stopping does not wait for the pause before the next try. */
static void stop_while_lost(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status = {0};
  reading_start(&reading, &(struct fake_source_script){.realtime = true, .frame_ms = 1, .frames = 1, .refusals = 1000});
  for (int i = 0; i < PATIENCE_MS && !status.lost; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_true(status.lost);
  reading_finish(&reading, 0, NULL);
}

/* Pauses, and sees that nothing more comes but the frame that was on its way. Returns the frames so far. */
static long pause_reading(const struct reading *reading) {
  struct reader_status before, after;
  reader_pause(reading->reader, true);
  reader_get_status(reading->reader, &before);
  usleep(90000);
  reader_get_status(reading->reader, &after);
  assert_in_range(after.frames, before.frames, before.frames + 1);
  return after.frames;
}

/* Paused, a file stands still and goes on where it was; a camera's frames are thrown away. */
static void paused_file_waits(void **state) {
  (void)state;
  struct reading reading;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 60});
  wait_for_frames(&reading, 3);
  pause_reading(&reading);
  reader_pause(reading.reader, false);
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  assert_int_equal(mailbox_count(&reading.mailbox).put, 60);
  reading_finish(&reading, 0, NULL);
}

static void paused_camera_runs_on(void **state) {
  (void)state;
  struct reading reading;
  reading_start(&reading, &(struct fake_source_script){.realtime = true, .frame_ms = 2, .frames = 100000});
  wait_for_frames(&reading, 3);
  long paused = pause_reading(&reading);
  reader_pause(reading.reader, false);
  wait_for_frames(&reading, paused + 2);
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  reading_finish(&reading, 0, NULL);
}

static void wait_for_status(const struct reading *reading, struct reader_status *status,
                            bool (*wanted)(const struct reader_status *)) {
  for (int i = 0; i < PATIENCE_MS; i++) {
    reader_get_status(reading->reader, status);
    if (wanted(status))
      return;
    usleep(1000);
  }
  fail_msg("it did not come to that: %ld frames, %s", status->frames, status->reason);
}

static bool is_opened(const struct reader_status *status) {
  return status->opened;
}

static bool is_lost(const struct reader_status *status) {
  return status->lost;
}

static bool stands(const struct reader_status *status) {
  return status->stands;
}

static bool has_second(const struct reader_status *status) {
  return status->sources == 2;
}

static void reading_start_late(struct reading *reading, const char *spec, const struct fake_source_script *script) {
  struct source *none = NULL;
  memset(reading, 0, sizeof *reading);
  fake_source_begin(script);
  mailbox_init(&reading->mailbox);
  assert_int_equal(reader_start(&reading->reader, &none, spec, &reading->options, &reading->mailbox, NULL), 0);
}

/* What sends nothing yet is tried until it does, says so meanwhile, and can be left. */
static void sender_comes_late(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  struct source_info info;
  reading_start_late(&reading, "fake", &(struct fake_source_script){.frame_ms = 1, .frames = 3, .late = true});
  wait_for_status(&reading, &status, is_lost);
  assert_false(status.opened);
  assert_non_null(strstr(status.reason, "not there yet"));
  assert_false(reader_get_info(reading.reader, &info));
  fake_source_come();
  wait_for_status(&reading, &status, is_opened);
  assert_true(reader_get_info(reading.reader, &info));
  assert_string_equal(info.description, "fake");
  const struct mail *mail = NULL;
  while (mailbox_take(&reading.mailbox, &mail, PATIENCE_MS) == 1)
    ;
  reader_get_status(reading.reader, &status);
  assert_int_equal(status.frames, 3);
  assert_false(status.lost);
  reading_finish(&reading, 0, NULL);

  reading_start_late(&reading, "fake", &(struct fake_source_script){.late = true});
  wait_for_status(&reading, &status, is_lost);
  reading_finish(&reading, 0, NULL);
}

static void mistaken_name_ends_it(void **state) {
  (void)state;
  struct reading reading;
  struct error err = {0};
  const struct mail *mail;
  reading_start_late(&reading, "missing", &(struct fake_source_script){0});
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), -1);
  assert_int_equal(fake_source_attempts(), 1);
  reading_finish(&reading, -1, &err);
  assert_non_null(strstr(err.message, "nowhere"));
}

static void switch_to_other(struct reading *reading, enum reader_when when) {
  struct source *other = NULL;
  assert_int_equal(source_open(&other, "other", &reading->options, NULL), 0);
  assert_int_equal(reader_switch(reading->reader, &other, "other", &reading->options, when, NULL), 0);
  assert_null(other);
}

/* Serials go on rising. */
static int first_byte_of_next(struct reading *reading, int64_t *serial) {
  const struct mail *mail;
  int got = mailbox_take(&reading->mailbox, &mail, PATIENCE_MS);
  if (got != 1)
    return -1;
  assert_true((int64_t)mail->frame.serial > *serial);
  *serial = (int64_t)mail->frame.serial;
  return mail->frame.plane[0][0];
}

static void switched_at_once(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  int64_t serial = -1;
  int byte, frames = 0;
  /* A camera, a file between two frames that lie far apart, and one that is paused. */
  for (int kind = 0; kind < 3; kind++) {
    reading_start(&reading,
                  &(struct fake_source_script){
                      .realtime = kind == 0, .frame_ms = kind == 1 ? 5000 : 10, .frames = 90, .gated = kind == 2});
    fake_source_let_read(1);
    wait_for_frames(&reading, 1);
    reader_pause(reading.reader, kind == 2);
    fake_source_let_read(90);
    switch_to_other(&reading, READER_NOW);
    wait_for_status(&reading, &status, has_second);
    reader_pause(reading.reader, false);
    serial = -1;
    while ((byte = first_byte_of_next(&reading, &serial)) < 100)
      frames++;
    assert_in_range(byte, 100, 190);
    assert_int_equal(fake_source_open_now(), 1);
    reading_finish(&reading, 0, NULL);
  }
  assert_in_range(frames, 0, 3 * 90);
}

static void switched_at_the_end(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  int64_t serial = -1;
  int byte, last = -1;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 5, .frames = 8, .gated = true});
  switch_to_other(&reading, READER_AT_END);
  reader_get_status(reading.reader, &status);
  assert_true(status.next);
  fake_source_let_read(8);
  while ((byte = first_byte_of_next(&reading, &serial)) >= 0)
    last = byte;
  assert_int_equal(last, 107);
  reader_get_status(reading.reader, &status);
  assert_true(status.frames == 16 && status.sources == 2 && !status.next);
  reading_finish(&reading, 0, NULL);
}

/* A list that goes on keeps the last picture of a file that ends, or breaks, until the next one comes. */
static void end_waits_for_the_next(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  for (int in_error = 0; in_error < 2; in_error++) {
    reading_start(&reading,
                  &(struct fake_source_script){.frame_ms = 1, .frames = 8, .ends_in_error = in_error, .gated = true});
    reader_go_on(reading.reader, true);
    fake_source_let_read(8);
    wait_for_status(&reading, &status, stands);
    assert_int_equal(status.frames, 8);
    switch_to_other(&reading, READER_AT_END);
    wait_for_status(&reading, &status, has_second);
    wait_for_status(&reading, &status, stands);
    assert_int_equal(status.frames, 16);
    reading_finish(&reading, 0, NULL);
  }
}

/* The next one cannot be opened: what there is goes on. */
static void switched_to_a_missing_one(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  struct source *none = NULL;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 8, .gated = true});
  reader_go_on(reading.reader, true);
  fake_source_let_read(8);
  assert_int_equal(reader_switch(reading.reader, &none, "missing", &reading.options, READER_AT_END, NULL), 0);
  wait_for_status(&reading, &status, has_second);
  wait_for_status(&reading, &status, stands);
  assert_int_equal(status.frames, 8);
  switch_to_other(&reading, READER_NOW);
  for (int i = 0; i < PATIENCE_MS && status.frames < 16; i++) {
    reader_get_status(reading.reader, &status);
    usleep(1000);
  }
  assert_int_equal(status.sources, 3);
  reading_finish(&reading, 0, NULL);
}

/* One picture stays: it is no end. */
static void still_picture_stays(void **state) {
  (void)state;
  struct reading reading;
  struct reader_status status;
  const struct mail *mail;
  reading_start(&reading, &(struct fake_source_script){.frame_ms = 1, .frames = 1});
  wait_for_status(&reading, &status, stands);
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, PATIENCE_MS), 1);
  assert_int_equal(mailbox_take(&reading.mailbox, &mail, 20), 0);
  reading_finish(&reading, 0, NULL);
}

/* From source to pictures: the end of the file ends everything, and every frame is a picture or counted. */
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
    usleep(1000); /* some of which are dropped, since the engine is not done with the first */
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
      cmocka_unit_test(lateness),
      cmocka_unit_test(newest_frame_only),
      cmocka_unit_test(called_before_each_frame),
      cmocka_unit_test(engines_are_counted_with_what_they_are),
      cmocka_unit_test(stamps_rise),
      cmocka_unit_test(two_in_flight_for_a_gpu),
      cmocka_unit_test(input_goes_with_its_picture),
      cmocka_unit_test(slow_window_starves_nobody),
      cmocka_unit_test(pause_and_try_controls),
      cmocka_unit_test(steps_change_beside_frames),
      cmocka_unit_test(controls_come_and_go),
      cmocka_unit_test(samplers_change_beside_frames),
      cmocka_unit_test(long_prompts_are_prepared_for),
      cmocka_unit_test(size_changes_beside_frames),
      cmocka_unit_test(picture_goes_on_while_preparing),
      cmocka_unit_test(guidance_modes_change_beside_frames),
      cmocka_unit_test(stream_batch_is_drained),
      cmocka_unit_test(wishes_overtake_a_preparation),
      cmocka_unit_test(another_handle_shows_while_paused),
      cmocka_unit_test(text_comes_to_a_picture_that_stands),
      cmocka_unit_test(files_come_to_a_picture_that_stands),
      cmocka_unit_test(texts_do_not_pile_up),
      cmocka_unit_test(budget_is_kept),
      cmocka_unit_test(budget_without_room),
      cmocka_unit_test(another_engine_comes_beside_frames),
      cmocka_unit_test(pictures_keep_their_order),
      cmocka_unit_test(refused_engine_leaves_the_old),
      cmocka_unit_test(wishes_overtake_an_engine),
      cmocka_unit_test(set_values_outlast_an_engine),
      cmocka_unit_test(preparing_holds_an_engine_up),
      cmocka_unit_test(stop_while_opening),
      cmocka_unit_test(another_engine_shows_while_paused),
      cmocka_unit_test(prompts_are_there_when_needed),
      cmocka_unit_test(prompts_change_while_running),
      cmocka_unit_test(negative_changes_while_running),
      cmocka_unit_test(a_walk_goes_on_by_itself),
      cmocka_unit_test(moved_values_stay_as_set),
      cmocka_unit_test(refused_prompt_is_tried_once),
      cmocka_unit_test(changes_wait_for_the_engine),
      cmocka_unit_test(engine_failure_ends_it),
      cmocka_unit_test(failed_engine_comes_again),
      cmocka_unit_test(stop_while_the_engine_is_away),
      cmocka_unit_test(stalls),
      cmocka_unit_test(text_to_image),
      cmocka_unit_test(file_is_paced),
      cmocka_unit_test(looped_file_keeps_its_pace),
      cmocka_unit_test(broken_file_says_why),
      cmocka_unit_test(camera_that_ends),
      cmocka_unit_test(camera_that_fails),
      cmocka_unit_test(stop_while_lost),
      cmocka_unit_test(paused_file_waits),
      cmocka_unit_test(paused_camera_runs_on),
      cmocka_unit_test(sender_comes_late),
      cmocka_unit_test(mistaken_name_ends_it),
      cmocka_unit_test(switched_at_once),
      cmocka_unit_test(switched_at_the_end),
      cmocka_unit_test(end_waits_for_the_next),
      cmocka_unit_test(switched_to_a_missing_one),
      cmocka_unit_test(still_picture_stays),
      cmocka_unit_test(whole_way),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
