#include "tests/rigs/loop_rig.h"

#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "app/run/loop.h"
#include "unet/base/platform.h"
#include "tests/rigs/fake_engine.h"

void set_prompt_text(struct loop *loop, int index, const char *text) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_text(&changes, PARAMETER_PROMPT, index, text, NULL), 0);
  loop_send(loop, &changes);
}

void set_number(struct loop *loop, enum parameter id, double number) {
  struct parameters changes = {0};
  assert_int_equal(parameters_set_number(&changes, id, 0, number, NULL), 0);
  loop_send(loop, &changes);
}

/* Opens a fake engine. A model's name tells how many steps suit it: "steps 3". */
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

static void note_told(void *opaque, enum log_level level, const char *text) {
  struct rig *rig = opaque;
  assert_int_equal(level, LOG_WARNING);
  snprintf(rig->lastly, sizeof rig->lastly, "%s", text);
  rig->tellings++;
}

static int note_before(void *opaque, struct engine *engine, struct engine_request *request, struct error *err) {
  struct rig *rig = opaque;
  const struct frame *frame = request->frame;
  assert_non_null(engine);
  assert_int_equal(engine_in_flight(engine), 0); /* the tests submit one frame at a time */
  rig->befores++;
  rig->before_serial = frame->serial;
  rig->before_on_device = request->on_device;
  request->control_frame = &rig->control;
  return rig->refused && frame->serial >= rig->refused ? error_set(err, STATUS_INPUT, "no mask") : 0;
}

static bool move_strength(void *opaque, struct settings *settings, const struct frame *frame, int64_t now_ns) {
  struct rig *rig = opaque;
  assert_true(now_ns > 0);
  rig->moved_for = frame ? frame->serial : 0;
  settings->values.strength += rig->offset;
  rig->moments++;
  return !rig->still;
}

static int follow_file(void *opaque, struct engine *engine, struct parameters *has, const struct parameters *wish,
                       const struct frame *frame, struct error *err) {
  struct rig *rig = opaque;
  (void)frame;
  (void)err;
  assert_non_null(engine);
  rig->turns++;
  bool same = parameters_same(has, wish, PARAMETER_STYLE, 1);
  rig->refuses_file = !same && !strcmp(parameters_text(wish, PARAMETER_STYLE, 1), "none");
  rig->refusals += rig->refuses_file;
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

void rig_start(struct rig *rig, const struct fake_engine_script *script, bool has_frames) {
  *rig = (struct rig){.early = rig->early,
                      .before = rig->before,
                      .refused = rig->refused,
                      .files = rig->files,
                      .controlled = rig->controlled,
                      .modulated = rig->modulated,
                      .still = rig->still,
                      .budget_ms = rig->budget_ms,
                      .recovers = rig->recovers,
                      .retries_start = rig->retries_start,
                      .leaves_lost = rig->leaves_lost,
                      .drawing_ms = rig->drawing_ms,
                      .urgent = rig->urgent};
  fake_engine_begin(script);
  mailbox_init(&rig->in);
  mailbox_init(&rig->out);
  rig->log = (struct log){note_line, rig};
  rig->told = (struct log){note_told, rig};
  const struct loop_params params = {.open = open_fake,
                                     .urgent = rig->urgent,
                                     .modulate = rig->modulated ? move_strength : NULL,
                                     .before = rig->before ? note_before : NULL,
                                     .opaque = rig,
                                     .read_files = rig->files ? follow_file : NULL,
                                     .put_back = put_back_file,
                                     .left = note_left,
                                     .recovers = rig->recovers,
                                     .retries_start = rig->retries_start,
                                     .leaves_lost = rig->leaves_lost,
                                     .drawing_ms = rig->drawing_ms,
                                     .budget_ms = rig->budget_ms,
                                     .floor_pixels = 8192 * 8192, /* only steps can be reduced */
                                     .memory_limit = LIMIT,
                                     .log = &rig->log,
                                     .told = &rig->told};
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

void rig_finish(struct rig *rig, int expected) {
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

void put_frame(struct rig *rig, int serial) {
  struct mail mail = {0};
  assert_int_equal(host_pictures_take(&rig->frames, PIXEL_RGBA, SIDE, SIDE, &mail.frame, NULL), 0);
  memset(frame_plane(&mail.frame, 0), serial, (size_t)mail.frame.pitch[0] * SIDE);
  mail.frame.serial = (uint64_t)serial;
  mail.frame.stretch = rig->stretch;
  mail.frame.captured_ns = platform_now_ns();
  mailbox_put(&rig->in, &mail);
}

const struct mail *expect_picture(struct rig *rig) {
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig->out, &mail, PATIENCE_MS), 1);
  return mail;
}

void expect_again(struct rig *rig, uint64_t serial) {
  const struct mail *mail = expect_picture(rig);
  assert_int_equal(mail->frame.serial, serial);
  assert_true(mail->again);
}

void expect_nothing(struct rig *rig, int ms) {
  const struct mail *mail = NULL;
  assert_int_equal(mailbox_take(&rig->out, &mail, ms), 0);
}

const struct fake_submit *last_submit(void) {
  return fake_engine_submit(fake_engine_log()->submitted - 1);
}

/* Returns true if the wish has these values; its chunks 0 count as 1. */
static bool same_wish(const struct engine_shape *wish, int steps, enum guidance_mode guidance, int chunks) {
  return steps == wish->steps && guidance == wish->guidance && chunks == (wish->chunks ? wish->chunks : 1);
}

int feed_until_followed(struct rig *rig, int serial, const struct engine_shape *wish, bool refused) {
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

void wait_for_handles(int count) {
  for (int i = 0; i < PATIENCE_MS && fake_engine_log()->handles_made < count; i++)
    usleep(1000);
  assert_int_equal(fake_engine_log()->handles_made, count);
}

int feed_frames(struct rig *rig, int serial, int count) {
  for (int i = 0; i < count; i++) {
    put_frame(rig, serial);
    while (expect_picture(rig)->frame.serial != (uint64_t)serial)
      ;
    serial++;
  }
  return serial;
}
