/* Tests values of the live window that change gradually: fades, walks through seeds, covers, sizes. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "app/control/cover.h"
#include "app/control/glide.h"
#include "app/control/keys.h"
#include "app/control/picture_size.h"
#include "tests/rigs/live_keys.h"

/* Checks the prompts' shares at that time, in hundredths. */
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

/* Each press chooses the next size of the same shape (if possible one that needs no cropping), and { and } undo each
 * other. */
static void sizes_keep_the_shape(void **unused) {
  (void)unused;
  struct live_state state = fresh_state();
  struct parameter_size *size = &state.settings.values.size;
  press(&state, '}'); /* without a size nothing happens */
  expect_size(&state, 0, 0);
  *size = (struct parameter_size){320, 180};
  expect_sizes(
      &state, "{{{}}}}}{",
      (const struct parameter_size[]){
          {256, 144}, {192, 108}, {128, 72}, {192, 108}, {256, 144}, {320, 180}, {384, 216}, {456, 256}, {384, 216}});
  assert_string_equal(state.notice, "size 384x216");
  assert_true(parameters_marked(&state.settings.values, PARAMETER_SIZE, 0));
  *size = (struct parameter_size){500, 1000}; /* the user sets another size */
  expect_sizes(&state, "{}}", (const struct parameter_size[]){{480, 960}, {500, 1000}, {544, 1088}});
  state.size_multiple = 32;
  *size = (struct parameter_size){320, 180};
  expect_sizes(&state, "{{}}}",
               (const struct parameter_size[]){{256, 144}, {170, 96}, {256, 144}, {320, 180}, {398, 224}});
  live_put_back_size(&state, 320, 180); /* the engine refused the last size */
  expect_sizes(&state, "{}", (const struct parameter_size[]){{256, 144}, {320, 180}});
  *size = (struct parameter_size){64, 64};
  press(&state, '{');
  expect_size(&state, 64, 64);
  *size = (struct parameter_size){8192, 8192};
  press(&state, '}');
  expect_size(&state, 8192, 8192);
}

/* For any size and any multiple that engines require: all sizes are even and of the same shape, and the same number of
 * presses back leads to the first one. */
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

/* Returns a number that is allowed for the parameter and is not its default. */
static double another(const struct parameter_row *row) {
  if (row->type == TYPE_SWITCH || row->type == TYPE_CHOICE)
    return row->standard > 0 ? 0 : 1;
  return row->standard == row->max ? row->min : row->max;
}

/* True if the change reaches the controls with some kind of map: each kind has parameters of its own. */
static bool reaches_controls(const struct parameters *standard, const struct parameters *changed) {
  bool reaches = false;
  for (int kind = 0; kind <= MAP_KINDS; kind++) {
    struct parameters a = *standard, b = *changed;
    a.control[0] = b.control[0] = kind;
    reaches = reaches || controls_differ(&a, &b);
  }
  return reaches;
}

/* Each parameter that applies to the next frame must change the frame's controls: a parameter that values_controls
 * leaves out would have no effect. */
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

/* A fade that is reversed, or directed to a third prompt, continues without a jump. */
static void fades_begin_where_they_are(void **unused) {
  (void)unused;
  const float one[SLOT_PRESETS] = {1}, two[SLOT_PRESETS] = {0, 1}, three[SLOT_PRESETS] = {0, 0, 1};
  int64_t start = 5 * second_ns, step = FADE_MS * 100000; /* a tenth of the fade */
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

/* Fades also begin and end at blends; changes of the shares of prompts that are shown already act at once. */
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

/* Fades of covers (black, source, frozen picture) take their time from any level, and a freeze acts at once. */
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
  expect_levels(&cover, 3000, true, 0, 0, 0.5); /* as slowly as it was fading in */
  expect_levels(&cover, 4000, false, 0, 0, 0);
  values.freeze = true;
  follow(&cover, &values, true, 5000);
  expect_levels(&cover, 5000, true, 1, 0, 0);
  expect_levels(&cover, 7000, false, 1, 1, 0);
  values.freeze = false;
  follow(&cover, &values, true, 8000);
  expect_levels(&cover, 9000, true, 0.5, 1, 0);
  cover_jump(&cover);
  expect_levels(&cover, 9000, false, 0, 1, 0);
  values.fade = 0;
  values.bypass = true;
  follow(&cover, &values, false, 9000);
  expect_levels(&cover, 9000, false, 0, 1, 0);
}

/* A walk through seeds whose speed changes: each speed applies from its own moment on. */
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

/* --- scenes --- */

struct stage {
  struct settings settings;
  struct parameters scene;
  struct glide glide;
};

static struct stage *open_stage(void) {
  static struct stage stage;
  struct parameters values;
  stage = (struct stage){.glide = {.state = GLIDE_NONE}};
  parameters_init(&values);
  for (int i = 1; i <= SLOT_PRESETS; i++) {
    char words[] = {(char)('a' + i - 1), 0};
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, words, NULL), 0);
  }
  values.strength = 0.25;
  settings_begin(&stage.settings, &values);
  parameters_init(&stage.scene);
  parameters_clear_marks(&stage.scene);
  return &stage;
}

static void give(struct stage *stage, enum parameter id, int index, double number) {
  assert_int_equal(parameters_set_number(&stage->scene, id, index, number, NULL), 0);
}

/* Starts the scene that was set up, at second 10, with a glide of this many seconds. */
static void call_scene(struct stage *stage, double seconds) {
  glide_set(&stage->glide, &stage->scene, INT64_C(10000000000), seconds);
}

static const struct parameters *at(struct stage *stage, double seconds) {
  glide_follow(&stage->glide, &stage->settings, (int64_t)(seconds * 1e9));
  return &stage->settings.values;
}

/* Returns the share of the prompt with this one-letter text in the picture, over all slots that have it. */
static double share_of(struct stage *stage, char letter, double seconds) {
  float shares[SLOT_PRESETS];
  double sum = 0;
  const struct parameters *values = at(stage, seconds);
  fade_apply(&stage->settings.fade, (int64_t)(seconds * 1e9), shares);
  for (int i = 0; i < SLOT_PRESETS; i++)
    if (*parameters_text(values, PARAMETER_PROMPT, i + 1) == letter)
      sum += (double)shares[i];
  return sum;
}

static void scenes_come_evenly(void **unused) {
  (void)unused;
  struct stage *stage = open_stage();
  give(stage, PARAMETER_STRENGTH, 0, 0.75);
  give(stage, PARAMETER_MIX, 0, 0);
  give(stage, PARAMETER_STEPS, 0, 4);
  give(stage, PARAMETER_NOISE, 0, 1);
  call_scene(stage, 4);
  assert_float_equal(at(stage, 9.999)->strength, 0.25, 0);
  assert_float_equal(at(stage, 10)->strength, 0.25, 0);
  assert_float_equal(at(stage, 11)->strength, 0.375, 1e-9);
  assert_float_equal(at(stage, 11)->mix, 0.75, 1e-9);
  /* values that cannot glide change in the middle */
  assert_true(at(stage, 11.9)->noise == 0 && at(stage, 11.9)->steps != 4);
  assert_true(at(stage, 12)->noise == 1 && at(stage, 12)->steps == 4);
  stage->settings.values.mix = 0.3; /* a value that the user sets by hand is not changed by the scene */
  stage->settings.values.noise = 0;
  assert_float_equal(at(stage, 13)->mix, 0.3, 0);
  assert_float_equal(at(stage, 13)->strength, 0.625, 1e-9);
  assert_float_equal(at(stage, 14)->strength, 0.75, 0);
  assert_true(at(stage, 99)->mix == 0.3 && at(stage, 99)->noise == 0); /* and it keeps the user's value after the end */
  assert_int_equal(stage->glide.state, GLIDE_NONE);
  assert_true(parameters_marked(&stage->settings.values, PARAMETER_STRENGTH, 0));
  assert_false(parameters_marked(&stage->settings.values, PARAMETER_GUIDANCE, 0));
}

/* Without a time, all of a scene is in the first frame at or after its moment, and nothing of it in the frame
 * before. */
static void scenes_come_on_the_beat(void **unused) {
  (void)unused;
  struct stage *stage = open_stage();
  give(stage, PARAMETER_STRENGTH, 0, 0.75);
  give(stage, PARAMETER_NOISE, 0, 1);
  call_scene(stage, 0);
  assert_true(at(stage, 9.999999999)->strength == 0.25);
  assert_true(at(stage, 10)->strength == 0.75 && at(stage, 10)->noise == 1);
  assert_int_equal(stage->glide.state, GLIDE_NONE);
}

/* Returns the controls of a frame at this time, in seconds. */
static struct controls controls_at(struct stage *stage, double seconds) {
  struct controls controls = CONTROLS_DEFAULTS;
  at(stage, seconds);
  settings_controls(&stage->settings, (int64_t)(seconds * 1e9), &controls);
  return controls;
}

/* Noise changes by seed-position if that is near, otherwise straight from one seed to the other. */
static void seeds_come(void **unused) {
  (void)unused;
  struct stage *stage = open_stage();
  stage->settings.values.seed = 5;
  stage->settings.values.seed_position = 0.25;
  give(stage, PARAMETER_SEED, 0, 6);
  give(stage, PARAMETER_SEED_POSITION, 0, 0);
  call_scene(stage, 4);
  assert_true(at(stage, 12)->seed == 5 && fabs(at(stage, 12)->seed_position - 0.625) < 1e-9);
  assert_true(at(stage, 14)->seed == 6 && at(stage, 14)->seed_position == 0);
  stage = open_stage();
  stage->settings.values.seed = 5;
  /* a quarter of a seed to 7, then straight to 601, then a quarter back to 600.75 */
  stage->settings.values.seed_position = 2.25;
  give(stage, PARAMETER_SEED, 0, 600);
  give(stage, PARAMETER_SEED_POSITION, 0, 0.75);
  call_scene(stage, 6);
  struct controls now = controls_at(stage, 10.5);
  assert_true(now.seed == 5 && fabs(now.seed_position - 2.125) < 1e-9 && now.seed_share == 0);
  now = controls_at(stage, 13);
  assert_true(now.seed + (uint64_t)now.seed_position == 7 && now.seed_to == 601 && fabs(now.seed_share - 0.5) < 1e-9);
  now = controls_at(stage, 15.5);
  assert_true(now.seed == 600 && fabs(now.seed_position - 0.875) < 1e-9 && now.seed_share == 0);
  now = controls_at(stage, 16);
  assert_true(now.seed == 600 && now.seed_position == 0.75 && now.seed_share == 0);
  stage = open_stage();
  give(stage, PARAMETER_SEED, 0, 600);
  call_scene(stage, 4);
  assert_true(controls_at(stage, 11).seed_share > 0);
  stage->settings.values.seed = 77; /* the user sets it */
  now = controls_at(stage, 12);
  assert_true(now.seed == 77 && now.seed_share == 0);
  assert_true(controls_at(stage, 99).seed == 77);
}

/* Prompts are blended. If a prompt's text is replaced, the old text stays in the picture while it fades. */
static void prompts_come(void **unused) {
  (void)unused;
  struct stage *stage = open_stage();
  for (int i = 1; i <= SLOT_PRESETS; i++) {
    char words[] = {(char)('A' + i - 1), 0};
    assert_int_equal(parameters_set_text(&stage->scene, PARAMETER_PROMPT, i, words, NULL), 0);
  }
  give(stage, PARAMETER_SHOWN_PROMPT, 0, 1); /* the same slot with another text */
  for (int i = 1; i <= SLOT_PRESETS; i++)
    give(stage, PARAMETER_BLEND, i, 0);
  call_scene(stage, 4);
  for (double now = 10; now < 16; now += 0.03125) {
    double part = fmin(1, (now - 10) / 4);
    if (fabs(share_of(stage, 'A', now) - part) > 1e-5 || fabs(share_of(stage, 'a', now) - (1 - part)) > 1e-5)
      fail_msg("%g s: %g, %g", now, share_of(stage, 'A', now), share_of(stage, 'a', now));
  }
  const struct parameters *values = at(stage, 16);
  assert_int_equal(stage->glide.state, GLIDE_NONE);
  for (int i = 1; i <= SLOT_PRESETS; i++) {
    assert_int_equal(*parameters_text(values, PARAMETER_PROMPT, i), 'A' + i - 1);
    assert_true(parameters_number(values, PARAMETER_BLEND, i) == 0);
  }
  assert_int_equal(values->shown_prompt, 1);
}

/* A scene starts in the middle of another one: all of its texts are shown in the end. Then the user chooses a prompt by
 * hand. */
static void scenes_in_a_hurry(void **unused) {
  (void)unused;
  struct stage *stage = open_stage();
  assert_int_equal(parameters_set_text(&stage->scene, PARAMETER_PROMPT, 1, "A", NULL), 0);
  call_scene(stage, 4);
  assert_float_equal(share_of(stage, 'A', 11), 0.25, 1e-5);
  parameters_init(&stage->scene);
  give(stage, PARAMETER_STRENGTH, 0, 0.75);
  glide_set(&stage->glide, &stage->scene, INT64_C(11000000000), 1);
  at(stage, 11);
  at(stage, 12);
  const struct parameters *values = at(stage, 13);
  assert_float_equal(values->strength, 0.75, 0);
  assert_string_equal(parameters_text(values, PARAMETER_PROMPT, 1), "A");
  for (int i = 2; i <= SLOT_PRESETS; i++)
    assert_int_equal(*parameters_text(values, PARAMETER_PROMPT, i), 'a' + i - 1);
  stage = open_stage();
  give(stage, PARAMETER_SHOWN_PROMPT, 0, 2);
  call_scene(stage, 4);
  at(stage, 11);
  for (int i = 1; i <= SLOT_PRESETS; i++)
    stage->settings.values.blend[i - 1] = 0;
  stage->settings.values.shown_prompt = 5;
  settings_turn(&stage->settings, INT64_C(11000000000));
  assert_float_equal(share_of(stage, 'e', 15), 1, 1e-5);
  assert_int_equal(at(stage, 16)->shown_prompt, 5);
}

/* Returns how large the share of this seed's noise is in a frame with these controls, from 0 to 1. */
static double part_of(const struct controls *now, int64_t seed) {
  int64_t whole = (int64_t)floor((double)now->seed_position), from = (int64_t)now->seed + whole;
  int64_t to = now->seed_share > 0 ? (int64_t)now->seed_to : from + 1;
  double share = now->seed_share > 0 ? now->seed_share : (double)now->seed_position - (double)whole;
  return (from == seed) * (1 - share) + (to == seed) * share;
}

/* Starts a glide to this seed at second `begin`, and fails the test unless the shares of all seeds change evenly,
 * without a jump, until second `end`. */
static void expect_even_noise(struct stage *stage, int64_t seed, double position, double begin, double end) {
  static const int64_t places[] = {0, 1, 500, 501, 9000, 9001};
  struct controls before = controls_at(stage, begin);
  const double step = 0.01, most = 0.05;
  parameters_init(&stage->scene);
  parameters_clear_marks(&stage->scene);
  give(stage, PARAMETER_SEED, 0, (double)seed);
  give(stage, PARAMETER_SEED_POSITION, 0, position);
  glide_set(&stage->glide, &stage->scene, (int64_t)(begin * 1e9), 4);
  for (double at = begin; at < end; at += step) {
    struct controls now = controls_at(stage, at);
    for (size_t i = 0; i < sizeof places / sizeof *places; i++)
      assert_true(fabs(part_of(&now, places[i]) - part_of(&before, places[i])) < most);
    before = now;
  }
}

/* A glide that begins during another one moves the noise on from where it is: to a third seed, to one of the two seeds
 * that it lies between, and back. */
static void noise_goes_on_from_scene_to_scene(void **unused) {
  (void)unused;
  static const double moments[] = {10.4, 11.5, 12.5, 13.9};
  for (size_t i = 0; i < sizeof moments / sizeof *moments; i++) {
    struct stage *stage = open_stage();
    expect_even_noise(stage, 500, 0, 10, moments[i]);
    expect_even_noise(stage, 9000, 0.25, moments[i], moments[i] + 2.5);
    expect_even_noise(stage, 500, 0, moments[i] + 2.5, moments[i] + 4);
    expect_even_noise(stage, 0, 0, moments[i] + 4, moments[i] + 9);
    struct controls now = controls_at(stage, 99);
    assert_true(now.seed == 0 && now.seed_position == 0 && now.seed_share == 0);
  }
  struct stage *stage = open_stage(); /* a change at once ends the glide before it: no share of another seed remains */
  expect_even_noise(stage, 500, 0, 10, 12);
  give(stage, PARAMETER_SEED, 0, 77);
  glide_set(&stage->glide, &stage->scene, INT64_C(12000000000), 0);
  assert_true(controls_at(stage, 12).seed == 77 && controls_at(stage, 12).seed_share == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(sizes_keep_the_shape),
      cmocka_unit_test(sizes_come_back),
      cmocka_unit_test(prompts_fade),
      cmocka_unit_test(each_value_of_a_frame_is_in_its_controls),
      cmocka_unit_test(fades_begin_where_they_are),
      cmocka_unit_test(blends_fade_and_move),
      cmocka_unit_test(scenes_come_evenly),
      cmocka_unit_test(scenes_come_on_the_beat),
      cmocka_unit_test(seeds_come),
      cmocka_unit_test(noise_goes_on_from_scene_to_scene),
      cmocka_unit_test(prompts_come),
      cmocka_unit_test(scenes_in_a_hurry),
      cmocka_unit_test(covers_fade),
      cmocka_unit_test(walks_follow_their_speed),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
