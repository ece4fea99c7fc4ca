/* What becomes of the live window's values by and by: fades, walks, covers, sizes. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "app/control/cover.h"
#include "app/control/keys.h"
#include "app/control/picture_size.h"
#include "tests/rigs/live_keys.h"

/* What is shown at that time, in hundredths. */
static void expect_shares(const struct fade *fade, int64_t now_ns, const int expected[SLOT_PRESETS]) {
  float shares[SLOT_PRESETS];
  fade_apply(fade, now_ns, shares);
  for (int i = 0; i < SLOT_PRESETS; i++)
    assert_int_equal(lrintf(100 * shares[i]), expected[i]);
}

static void prompts_fade(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  const struct fade *fade = &state.settings.fade;
  int64_t start = 10 * second_ns;
  struct controls now;
  assert_true(commands_run(&state, '3', false, start));
  expect_shares(fade, start, SHARES(100));
  expect_shares(fade, start + FADE_MS * 250000, SHARES(75, 0, 25));
  settings_controls(&state.settings, start + FADE_MS * 250000, &now);
  assert_true(now.blend[0] == 0.75f && now.blend[2] == 0.25f);
  settings_controls(&state.settings, 11 * second_ns, &now);
  assert_int_equal(now.prompt, 3);
  for (int i = 0; i < SLOT_PRESETS; i++)
    assert_true(now.blend[i] == 0);
}

static void expect_size(const struct live_state *state, int width, int height) {
  const struct parameter_size *size = &state->settings.values.size;
  if (size->width != width || size->height != height)
    fail_msg("%dx%d in place of %dx%d", size->width, size->height, width, height);
}

static void expect_sizes(struct live_state *state, const char *keys, const struct parameter_size *sizes) {
  for (; *keys; keys++, sizes++) {
    press(state, *keys);
    expect_size(state, sizes->width, sizes->height);
  }
}

/* Each key is the next size of the same shape, with a shorter side of which nothing is cut off where that can be, and
 * larger undoes smaller. */
static void sizes_keep_the_shape(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_size *size = &state.settings.values.size;
  press(&state, '}'); /* of no size nothing follows */
  expect_size(&state, 0, 0);
  *size = (struct parameter_size){320, 180};
  expect_sizes(
      &state, "{{{}}}}}{",
      (const struct parameter_size[]){
          {256, 144}, {192, 108}, {128, 72}, {192, 108}, {256, 144}, {320, 180}, {384, 216}, {456, 256}, {384, 216}});
  assert_string_equal(state.notice, "size 384x216");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_SIZE, 0));
  *size = (struct parameter_size){500, 1000}; /* another one is asked for */
  expect_sizes(&state, "{}}", (const struct parameter_size[]){{480, 960}, {500, 1000}, {544, 1088}});
  state.size_multiple = 32;
  *size = (struct parameter_size){320, 180};
  expect_sizes(&state, "{{}}}",
               (const struct parameter_size[]){{256, 144}, {170, 96}, {256, 144}, {320, 180}, {398, 224}});
  live_put_back_size(&state, 320, 180); /* the last one was refused */
  expect_sizes(&state, "{}", (const struct parameter_size[]){{256, 144}, {320, 180}});
  *size = (struct parameter_size){64, 64};
  press(&state, '{');
  expect_size(&state, 64, 64);
  *size = (struct parameter_size){8192, 8192};
  press(&state, '}');
  expect_size(&state, 8192, 8192);
}

/* Whatever is asked for, on engines of any multiple: all sizes are even, of its shape, and undone in the same steps. */
static void sizes_come_back(void **unused) {
  (void)unused;
  static const int multiples[] = {0, 8, 32, 64};
  unsigned random = 20;
  for (int round = 0; round < 300; round++) {
    struct live_state state = fresh_state();
    struct parameter_size *size = &state.settings.values.size, way[12];
    random = random * 1664525 + 1013904223;
    const struct parameter_size asked = {64 + 2 * (int)(random >> 16 & 511), 64 + 2 * (int)(random >> 8 & 255)};
    int steps = 0, key = round & 1 ? '{' : '}', back = round & 1 ? '}' : '{';
    state.size_multiple = multiples[round / 2 % 4];
    *size = way[0] = asked;
    while (steps < 11) {
      press(&state, key);
      if (size->width == way[steps].width && size->height == way[steps].height)
        break;
      way[++steps] = *size;
      assert_true(size->width % 2 == 0 && size->height % 2 == 0);
      assert_true(size->width >= state.size_multiple && size->height >= state.size_multiple);
      assert_true((size->width > way[steps - 1].width) == (key == '}'));
      if (!picture_size_alike(&asked, size))
        fail_msg("%dx%d has not the shape of %dx%d", size->width, size->height, asked.width, asked.height);
    }
    for (; steps > 0; steps--) {
      press(&state, back);
      expect_size(&state, way[steps - 1].width, way[steps - 1].height);
    }
  }
}

static bool controls_differ(const struct parameters *a, const struct parameters *b) {
  struct controls first, second;
  memset(&first, 0, sizeof first);
  memset(&second, 0, sizeof second);
  values_controls(a, &first);
  values_controls(b, &second);
  return memcmp(&first, &second, sizeof first) != 0;
}

/* A number that the parameter may be and is not as it comes. */
static double another(const struct parameter_row *row) {
  if (row->type == TYPE_SWITCH || row->type == TYPE_CHOICE)
    return row->standard > 0 ? 0 : 1;
  return row->standard == row->max ? row->min : row->max;
}

/* With some map: each has parameters of its own. */
static bool reaches_controls(const struct parameters *standard, const struct parameters *changed) {
  bool reaches = false;
  for (int kind = 0; kind <= MAP_KINDS; kind++) {
    struct parameters a = *standard, b = *changed;
    a.control[0] = b.control[0] = kind;
    reaches = reaches || controls_differ(&a, &b);
  }
  return reaches;
}

/* What the next frame is to take, a frame's controls have: a parameter that values_controls leaves out has no effect.
 */
static void each_value_of_a_frame_is_in_its_controls(void **unused) {
  (void)unused;
  int count = 0;
  struct parameters standard;
  parameters_init(&standard);
  assert_false(controls_differ(&standard, &standard));
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    struct parameters changed = standard;
    struct error err;
    if (row->need != NEED_FRAME && row->need != NEED_ROWS)
      continue;
    assert_int_equal(parameters_set_number(&changed, id, row->first, another(row), &err), 0);
    if (!reaches_controls(&standard, &changed))
      fail_msg("%s does not reach the controls", row->name);
    count++;
  }
  assert_in_range(count, 6, PARAMETERS);
}

/* Back on the way, or on to a third: the picture is the same just before and just after. */
static void fades_begin_where_they_are(void **unused) {
  (void)unused;
  const float one[SLOT_PRESETS] = {1}, two[SLOT_PRESETS] = {0, 1}, three[SLOT_PRESETS] = {0, 0, 1};
  int64_t start = 5 * second_ns, step = FADE_MS * 100000; /* a tenth */
  struct fade fade;
  fade_begin(&fade, one);
  expect_shares(&fade, start, SHARES(100));
  fade_turn(&fade, two, start);
  expect_shares(&fade, start + 4 * step, SHARES(60, 40));
  fade_turn(&fade, one, start + 4 * step);
  expect_shares(&fade, start + 4 * step, SHARES(60, 40));
  fade_turn(&fade, three, start + 9 * step);
  expect_shares(&fade, start + 9 * step, SHARES(80, 20));
  expect_shares(&fade, start + 14 * step, SHARES(40, 10, 50));
  expect_shares(&fade, start + 19 * step, SHARES(0, 0, 100));
}

/* Between blends, too; shares of the prompts that are there already act at once. */
static void blends_fade_and_move(void **unused) {
  (void)unused;
  const float from[SLOT_PRESETS] = {0.5f, 0.5f}, to[SLOT_PRESETS] = {0, 0, 0.8f, 0.2f},
              moved[SLOT_PRESETS] = {0, 0, 0.4f, 0.6f};
  struct fade fade;
  fade_begin(&fade, from);
  fade_turn(&fade, to, second_ns);
  expect_shares(&fade, second_ns + FADE_MS * 500000, SHARES(25, 25, 40, 10));
  fade_turn(&fade, moved, second_ns + FADE_MS * 500000);
  expect_shares(&fade, second_ns + FADE_MS * 500000, SHARES(25, 25, 20, 30));
  expect_shares(&fade, 3 * second_ns, SHARES(0, 0, 40, 60));
  fade_turn(&fade, to, 3 * second_ns);
  expect_shares(&fade, 3 * second_ns, SHARES(0, 0, 80, 20));
}

static void expect_levels(const struct cover *cover, int ms, bool moving, double held, double bypass, double blackout) {
  struct cover_levels levels;
  assert_int_equal(cover_levels(cover, (int64_t)ms * 1000000, &levels), moving);
  if (fabs((double)levels.held - held) + fabs((double)levels.bypass - bypass) +
          fabs((double)levels.blackout - blackout) >
      1e-6)
    fail_msg("%d ms: %g %g %g, not %g %g %g", ms, (double)levels.held, (double)levels.bypass, (double)levels.blackout,
             held, bypass, blackout);
}

static void follow(struct cover *cover, const struct parameters *values, bool instead, int ms) {
  cover_follow(cover, values, instead, (int64_t)ms * 1000000);
}

/* Fades take their time from wherever they are; what is frozen stands at once. */
static void covers_fade(void **unused) {
  (void)unused;
  struct cover cover = {0};
  struct parameters values;
  parameters_init(&values);
  values.fade = 2;
  follow(&cover, &values, false, 500);
  expect_levels(&cover, 1000, false, 0, 0, 0);
  values.blackout = true;
  follow(&cover, &values, false, 1000);
  expect_levels(&cover, 1000, true, 0, 0, 0);
  expect_levels(&cover, 2000, true, 0, 0, 0.5);
  follow(&cover, &values, false, 2000);
  expect_levels(&cover, 2500, true, 0, 0, 0.75);
  values.blackout = false;
  follow(&cover, &values, false, 2500);
  expect_levels(&cover, 3000, true, 0, 0, 0.5); /* as fast as it came */
  expect_levels(&cover, 4000, false, 0, 0, 0);
  values.freeze = true;
  follow(&cover, &values, true, 5000);
  expect_levels(&cover, 5000, true, 1, 0, 0);
  expect_levels(&cover, 7000, false, 1, 1, 0);
  values.freeze = false;
  follow(&cover, &values, true, 8000);
  expect_levels(&cover, 9000, true, 0.5, 1, 0);
  values.fade = 0;
  values.bypass = true;
  follow(&cover, &values, false, 9000);
  expect_levels(&cover, 9000, false, 0, 1, 0);
}

/* A walk by changes of its speed: each acts from its own moment on. */
static void walks_follow_their_speed(void **unused) {
  (void)unused;
  struct settings settings;
  struct parameters values, changes;
  struct error err;
  parameters_init(&values);
  settings_begin(&settings, &values);
  settings_walk(&settings, second_ns);
  const double speeds[] = {1, -0.5, 0};
  for (int i = 0; i < 3; i++) {
    parameters_init(&changes);
    assert_int_equal(parameters_set_number(&changes, PARAMETER_SEED_WALK, 0, speeds[i], &err), 0);
    settings_apply(&settings, &changes, (2 + 2 * i) * second_ns);
  }
  settings_walk(&settings, 50 * second_ns);
  assert_float_equal(settings.values.seed_position, 2 - 1, 1e-12);
  settings.values.seed_walk = 100;
  settings_walk(&settings, INT64_MAX / 2);
  assert_true(settings.values.seed_position == parameter_row(PARAMETER_SEED_POSITION)->max);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_keep_the_shape),
      cmocka_unit_test(sizes_come_back),
      cmocka_unit_test(prompts_fade),
      cmocka_unit_test(each_value_of_a_frame_is_in_its_controls),
      cmocka_unit_test(fades_begin_where_they_are),
      cmocka_unit_test(blends_fade_and_move),
      cmocka_unit_test(covers_fade),
      cmocka_unit_test(walks_follow_their_speed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
