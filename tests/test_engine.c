/* The engine's promises, on the random checkpoints of the goldens.
 *
 *   test_engine GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fixture.h"
#include "hidden_picture.h"
#include "rig.h"
#include "unet/engine/engine_impl.h"
#include "unet/model/plans.h"

static char **args; /* the program's */

/* --- prompts --- */

static void check_slots(const char *golden) {
  struct rig rig;
  rig_open(&rig, args, golden, false);
  uint8_t *first = generate_default(&rig);
  rig.controls.prompt = 2;
  assert_differ(&rig, first, generate_default(&rig));

  rig.controls.prompt = 7; /* never set */
  uint8_t *unset = generate_default(&rig);
  must(engine_set_prompt(rig.engine, 7, "", &rig.err), &rig.err);
  assert_same(&rig, unset, generate_default(&rig));

  uint8_t *empty = generate_default(&rig);
  must(engine_set_prompt(rig.engine, 7, "an oil painting", &rig.err), &rig.err);
  assert_differ(&rig, empty, generate_default(&rig));
  uint8_t *seventh = generate_default(&rig);
  rig.controls.prompt = 1;
  assert_same(&rig, seventh, generate_default(&rig));

  assert_int_equal(engine_set_prompt(rig.engine, SLOT_EMPTY, "x", &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "slot");
  rig.controls.prompt = SLOTS;
  assert_int_equal(rig_submit(&rig, &rig.golden.frame), -1);
  assert_error(&rig.err, STATUS_USAGE, "slot");
  rig_close(&rig);
}

static void test_slots(void **state) {
  (void)state;
  check_slots("turbo");
  check_slots("sdxl"); /* whose prompts are part of the time projections, too */
}

static void check_blending(const char *golden) {
  struct rig rig;
  rig_open(&rig, args, golden, false);
  uint8_t *first = generate_default(&rig);
  rig.controls.prompt = 2;
  uint8_t *second = generate_default(&rig);
  float *blend = rig.controls.blend;
  rig.controls.prompt = 7;
  blend[0] = 0.3f, blend[1] = (float)NAN, blend[2] = -1; /* one prompt alone, whatever its weight */
  assert_same(&rig, first, generate_default(&rig));
  blend[0] = 0, blend[1] = 1e30f, blend[2] = 0;
  assert_same(&rig, second, generate_default(&rig));

  blend[0] = blend[1] = 1;
  uint8_t *middle = generate_default(&rig);
  blend[0] = blend[1] = 0.125f; /* the shares count, not the weights */
  uint8_t *weak = generate_default(&rig);
  assert_memory_equal(weak, middle, picture_bytes(&rig));
  free(weak);
  blend[1] = 0.25f;
  assert_differ(&rig, middle, generate_default(&rig));
  rig_close(&rig);
}

/* The same prompts and weights in other slots: the same sum, in another order. */
static void check_order(const char *golden) {
  static const char *const texts[4] = {"an oil painting", "a cat at night", "oil", ""};
  static const float weights[4] = {1, 0.5f, 0.25f, 0.75f};
  static const int orders[2][4] = {{0, 1, 2, 3}, {8, 5, 6, 2}};
  struct rig rig;
  uint8_t *pictures[2];
  rig_open(&rig, args, golden, false);
  for (int order = 0; order < 2; order++) {
    memset(rig.controls.blend, 0, sizeof rig.controls.blend);
    for (int i = 0; i < 4; i++) {
      rig.controls.blend[orders[order][i]] = weights[i];
      must(engine_set_prompt(rig.engine, SLOT_PRESET_1 + orders[order][i], texts[i], &rig.err), &rig.err);
    }
    pictures[order] = generate_default(&rig);
  }
  struct frame a = rig.golden.frame, b = rig.golden.frame;
  a.plane[0] = pictures[0];
  b.plane[0] = pictures[1];
  assert_true(frame_psnr(&a, &b) > 55);
  free(pictures[0]);
  free(pictures[1]);
  rig_close(&rig);
}

static void test_blending(void **state) {
  (void)state;
  check_blending("turbo");
  check_blending("sdxl"); /* whose prompts are part of the time projections, too */
  check_order("turbo");
  check_order("sdxl");
}

/* --- controls --- */

static void test_seed(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  uint8_t *first = generate_default(&rig);
  rig.controls.seed = 2;
  uint8_t *second = generate_default(&rig);
  assert_memory_not_equal(first, second, picture_bytes(&rig));
  free(second);
  rig.controls.seed = 1;
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* Whole positions are seeds, to the bit, from whichever side they are come to; between them is neither. */
static void check_seed_walk(const char *golden, int steps) {
  struct rig rig;
  uint8_t *seeds[4];
  rig_open(&rig, args, golden, false);
  must(rig_reshape(&rig, 0, 0, steps), &rig.err);
  for (int i = 0; i < 4; i++) {
    rig.controls.seed = 7 + (uint64_t)i;
    seeds[i] = generate_default(&rig);
  }
  rig.controls.seed = 8;
  static const double positions[] = {0.25, 1, 0.5, 0, -1, -0.75, 1.5, 2, 1.5};
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
    double whole = floor(positions[i]);
    rig.controls.seed_position = positions[i];
    uint8_t *picture = generate_default(&rig);
    bool is_seed = !memcmp(picture, seeds[1 + (int)whole], picture_bytes(&rig));
    if (is_seed != (positions[i] == whole))
      fail_msg("%s: at %g", golden, positions[i]);
    free(picture);
  }
  rig.controls.seed = 6, rig.controls.seed_position = 3.5; /* the same place, counted from another seed */
  uint8_t *same = generate_default(&rig);
  rig.controls.seed = 8, rig.controls.seed_position = 1.5;
  assert_same(&rig, same, generate_default(&rig));
  for (int i = 0; i < 4; i++)
    free(seeds[i]);
  rig_close(&rig);
}

static void test_seed_walk(void **state) {
  (void)state;
  check_seed_walk("turbo", 1);
  check_seed_walk("ssd", 3); /* whose steps add noise as well */
  check_seed_walk("lcm", 2);
}

/* Seeds and positions that are no use are no harm either. */
static void test_far_positions(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  static const double positions[] = {1e9 + 0.5, -1e9 - 0.5, 1e300, -1e300, (double)INFINITY, (double)NAN};
  rig.controls.seed = UINT64_MAX;
  for (size_t i = 0; i < sizeof positions / sizeof *positions; i++) {
    rig.controls.seed_position = positions[i];
    free(generate_default(&rig));
  }
  rig.controls.seed_position = 0.5; /* on to seed 0 */
  uint8_t *over = generate_default(&rig);
  rig.controls.seed = 0, rig.controls.seed_position = -0.5;
  assert_same(&rig, over, generate_default(&rig));
  rig_close(&rig);
}

/* Any part of the way is as normal as its ends are. */
static void test_noise_between_is_normal(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  must(rig_reshape(&rig, 512, 512, 1), &rig.err);
  struct tensor noise = rig.prepared->noise.start;
  size_t count = tensor_elements(noise);
  float *values = malloc(count * sizeof *values);
  assert_non_null(values);
  for (int part = 0; part <= 8; part++) {
    rig.controls.seed_position = part / 8.0;
    struct frame picture;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    must(rig_collect(&rig, &picture), &rig.err);
    frame_release(&picture);
    must(device_read(rig.engine->device, rig.prepared->program, noise, 0, values, count, &rig.err), &rig.err);
    double sum[5] = {0};
    for (size_t i = 0; i < count; i++)
      for (int power = 1; power < 5; power++)
        sum[power] += pow((double)values[i], power) / (double)count;
    double chance = 4 / sqrt((double)count); /* deviations */
    assert_float_equal(sum[1], 0, chance);
    assert_float_equal(sum[2], 1, chance * sqrt(2));
    assert_float_equal(sum[3], 0, chance * sqrt(15));
    assert_float_equal(sum[4], 3, chance * sqrt(96));
  }
  free(values);
  rig_close(&rig);
}

/* A walk has made the noise of the seed that it comes to before it is there, whichever way it goes, and standing, or
 * near the seed behind, it makes none. */
static void test_noise_is_made_ahead(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "ssd", false); /* whose steps add noise as well */
  must(rig_reshape(&rig, 320, 320, 2), &rig.err);
  const struct made_noise *made = &rig.prepared->made;
  size_t all = 2 * tensor_elements(rig.prepared->noise.start);
  rig.controls.seed = 7;
  static const struct {
    double from, step, to;
    uint64_t made; /* the seed */
  } walks[] = {{0.25, 0.1, 0.45, 8}, {0.5, 0.15, 0.95, 9}, {1.5, -0.15, 1.05, 7}, {0.6, 0, 0.6, 7}, {0.9, 7, 7.9, 15}};
  for (size_t i = 0; i < sizeof walks / sizeof *walks; i++) {
    int frames = walks[i].step == 0 ? 2 : (int)lrint((walks[i].to - walks[i].from) / walks[i].step);
    for (int frame = 0; frame <= frames; frame++) {
      rig.controls.seed_position = walks[i].from + frame * walks[i].step;
      free(generate_default(&rig));
    }
    assert_int_equal(made->seed, walks[i].made);
    assert_int_equal(made->elements, all);
  }
  rig_close(&rig);
}

static void test_strength(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  rig.controls.strength = 0;
  uint8_t *picture = generate_default(&rig);
  assert_memory_equal(picture, rig.golden.input, picture_bytes(&rig));
  free(picture);
  rig.controls.strength = 0.3f;
  uint8_t *weak = generate_default(&rig);
  assert_memory_not_equal(weak, rig.golden.input, picture_bytes(&rig));
  rig.controls.strength = 0.6f;
  assert_differ(&rig, weak, generate_default(&rig));
  rig.controls.mix = 0;
  picture = generate_default(&rig);
  assert_memory_equal(picture, rig.golden.input, picture_bytes(&rig));
  free(picture);
  rig_close(&rig);
}

/* A guidance scale of 1 is no guidance; others count, and the negative prompt with them. */
static void test_guidance(void **state) {
  (void)state;
  struct rig plain, guided;
  rig_open(&plain, args, "turbo", false);
  rig_open(&guided, args, "turbo", true);
  plain.controls.strength = guided.controls.strength = 0.5f;
  uint8_t *without = generate_default(&plain), *one = generate_default(&guided);
  struct frame a = plain.golden.frame, b = plain.golden.frame;
  a.plane[0] = without;
  b.plane[0] = one;
  assert_true(frame_psnr(&a, &b) > 55);
  free(without);
  guided.controls.guidance = 4;
  uint8_t *four = generate_default(&guided);
  assert_memory_not_equal(one, four, picture_bytes(&plain));
  free(one);
  must(engine_set_prompt(guided.engine, SLOT_NEGATIVE, "", &guided.err), &guided.err);
  uint8_t *empty = generate_default(&guided); /* what stands in for a negative prompt never set */
  assert_memory_equal(four, empty, picture_bytes(&plain));
  free(empty);
  must(engine_set_prompt(guided.engine, SLOT_NEGATIVE, "a cat", &guided.err), &guided.err);
  assert_differ(&guided, four, generate_default(&guided));
  rig_close(&plain);
  rig_close(&guided);
}

static struct prepared_info shape_of(const struct rig *rig) {
  struct prepared_info info;
  prepared_get_info(rig->prepared, &info);
  return info;
}

static struct engine_info info_of(const struct rig *rig) {
  struct engine_info info;
  engine_get_info(rig->engine, &info);
  return info;
}

static long frame_launches(struct rig *rig) {
  long before = info_of(rig).device_launches;
  free(generate_default(rig));
  return info_of(rig).device_launches - before;
}

/* A handle of so many steps for a mode, in the rig's place. */
static void guide(struct rig *rig, enum guidance_mode mode, int steps, bool text_to_image) {
  struct engine_shape shape = shape_of(rig).shape;
  shape.guidance = mode;
  shape.steps = steps;
  shape.text_to_image = text_to_image;
  engine_release(rig->engine, &rig->prepared);
  must(engine_prepare(rig->engine, &shape, &rig->prepared, &rig->err), &rig->err);
}

/* A picture with one control at this value. */
static uint8_t *with(struct rig *rig, float *control, float value) {
  float before = *control;
  *control = value;
  uint8_t *picture = generate_default(rig);
  *control = before;
  return picture;
}

/* Residual guidance: at a scale of 1 it is none, to the bit where it has no row of its own; scale, delta and rescale
 * count and capture nothing; the negative prompt counts where there is a row for it. */
static void test_guidance_modes(void **state) {
  (void)state;
  static const struct {
    enum guidance_mode mode;
    int steps;
    bool text_to_image;
  } cases[] = {{GUIDANCE_SELF, 2, false},
               {GUIDANCE_ONE_TIME, 3, false},
               {GUIDANCE_SELF, 6, true},
               {GUIDANCE_ONE_TIME, 6, false},
               {GUIDANCE_FULL, 2, true}};
  static const char *const names[] = {"turbo", "sdxl"};
  for (size_t i = 0; i < 2 * sizeof cases / sizeof *cases; i++) {
    struct rig rig;
    bool one_time = cases[i / 2].mode == GUIDANCE_ONE_TIME, self = cases[i / 2].mode == GUIDANCE_SELF;
    rig_open(&rig, args, names[i % 2], false);
    struct controls *c = &rig.controls;
    c->strength = 0.6f;
    guide(&rig, GUIDANCE_NONE, cases[i / 2].steps, cases[i / 2].text_to_image);
    uint8_t *none = generate_default(&rig);
    guide(&rig, cases[i / 2].mode, cases[i / 2].steps, cases[i / 2].text_to_image);
    assert_int_equal(shape_of(&rig).rows, self ? 1 : 2);
    if (self)
      assert_same(&rig, none, with(&rig, &c->guidance, 1));
    c->guidance = 3;
    uint8_t *three = generate_default(&rig);
    long captures = info_of(&rig).device_captures, steady = frame_launches(&rig);
    if (!self)
      assert_memory_not_equal(none, three, picture_bytes(&rig));
    assert_differ(&rig, with(&rig, &c->guidance, 2), with(&rig, &c->guidance, 3));
    assert_differ(&rig, with(&rig, &c->guidance_rescale, 0.7f), with(&rig, &c->guidance_rescale, 0));
    uint8_t *delta = with(&rig, &c->delta, 0.5f);
    assert_true((memcmp(delta, three, picture_bytes(&rig)) != 0) == (self || one_time));
    free(delta);
    assert_int_equal(frame_launches(&rig), steady);
    assert_int_equal(info_of(&rig).device_captures, captures);
    must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "a cat", &rig.err), &rig.err);
    uint8_t *other = generate_default(&rig);
    assert_true((memcmp(other, three, picture_bytes(&rig)) == 0) == self);
    free(other);
    free(three);
    if (!self)
      free(none);
    rig_close(&rig);
  }
}

/* Guidance that is not by a row for the negative prompt alone has no residual; what cannot be is refused in one line.
 */
static void test_guidance_refused(void **state) {
  (void)state;
  static const char *const names[] = {"lcm", "pix2pix"};
  for (int i = 0; i < 4; i++) {
    struct rig rig;
    rig_open(&rig, args, names[i % 2], false);
    struct engine_shape shape = shape_of(&rig).shape;
    shape.guidance = i < 2 ? GUIDANCE_SELF : GUIDANCE_ONE_TIME;
    struct prepared *prepared;
    assert_int_equal(engine_prepare(rig.engine, &shape, &prepared, &rig.err), -1);
    assert_error(&rig.err, STATUS_USAGE, "--guidance-mode full or none");
    rig_close(&rig);
  }
}

static void test_image_guidance(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "pix2pix", true);
  must(rig_reshape(&rig, 0, 0, 2), &rig.err);
  rig.controls.guidance = 5;
  uint8_t *first = generate_default(&rig);
  rig.controls.image_guidance = 1;
  assert_differ(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* Full LCM: guidance is in the time projections, which are made anew when it changes. */
static void test_guidance_embedding(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "lcm", true);
  struct engine_info info;
  engine_get_info(rig.engine, &info);
  assert_true(info.has_guidance_embedding);
  assert_int_equal(shape_of(&rig).rows, 1);
  rig.controls.strength = 0.5f;
  rig.controls.guidance = 8;
  uint8_t *eight = generate_default(&rig);
  rig.controls.guidance = 2;
  uint8_t *two = generate_default(&rig);
  assert_memory_not_equal(eight, two, picture_bytes(&rig));
  free(two);
  rig.controls.guidance = 8;
  assert_same(&rig, eight, generate_default(&rig));
  rig_close(&rig);
}

/* Time projections are no part of a frame: they are made when what they are made of changes, on a GPU by one launch,
 * and not while it stays. */
static void test_time_projections(void **state) {
  (void)state;
  static const char *const names[] = {"turbo", "lcm"};
  for (int i = 0; i < 2; i++) {
    struct rig rig;
    rig_open(&rig, args, names[i], false);
    rig.controls.strength = 0.5f;
    uint8_t *first = generate_default(&rig);
    long steady = frame_launches(&rig);
    rig.controls.seed = 5, rig.controls.mix = 0.5f;
    assert_int_equal(frame_launches(&rig), steady);
    rig.controls.strength = 0.8f;
    long changed = frame_launches(&rig);
    assert_true(changed > steady);
    assert_int_equal(frame_launches(&rig), steady);
    rig.controls.guidance = 3;
    assert_int_equal(frame_launches(&rig), i ? changed : steady);
    assert_int_equal(frame_launches(&rig), steady);
    if (info_of(&rig).depth > 1) {
      assert_int_equal(steady, 1);
      assert_int_equal(changed, 2);
    }
    rig.controls.strength = 0.5f, rig.controls.seed = 1, rig.controls.mix = 1, rig.controls.guidance = 1;
    assert_same(&rig, first, generate_default(&rig));
    rig_close(&rig);
  }
}

/* Pooled text makes prompts part of the time projections: of each row of guidance its own. */
static void test_pooled_text(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "sdxl", true);
  /* texts of both encoders, pooled texts, and keys and values of 48 channels outside and 256 inside, each two bytes or
   * four */
  size_t elements = TEXTS * 16 * (16 + 24) + TEXTS * 16 + KEY_SLOTS * 16 * (48 + 256),
         bytes = info_of(&rig).prompt_bytes;
  assert_true(bytes == 2 * elements || bytes == 4 * elements);
  rig.controls.guidance = 4;
  rig.controls.prompt = 2;
  free(generate_default(&rig));
  rig.controls.prompt = 1;
  uint8_t *first = generate_default(&rig);
  long steady = frame_launches(&rig);
  rig.controls.blend[0] = 0.75f, rig.controls.blend[1] = 0.25f;
  assert_true(frame_launches(&rig) > steady);
  assert_int_equal(frame_launches(&rig), steady);
  rig.controls.guidance = 5;
  assert_int_equal(frame_launches(&rig), steady);
  rig.controls.guidance = 4, rig.controls.blend[0] = rig.controls.blend[1] = 0;
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "a cat at night", &rig.err), &rig.err);
  uint8_t *other = generate_default(&rig);
  assert_differ(&rig, first, generate_default(&rig));
  must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "", &rig.err), &rig.err); /* zeros, as where it was never set */
  first = generate_default(&rig);
  assert_differ(&rig, other, generate_default(&rig));
  rig.controls.prompt = 2;
  free(generate_default(&rig));
  rig.controls.prompt = 1;
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

/* What may change while the picture runs is data: on a GPU no graph is captured anew, on no device is memory taken. */
static void test_changes_capture_nothing(void **state) {
  (void)state;
  /* guidance by a second row, by the time projections, and by a second row of both */
  static const char *const names[] = {"turbo", "lcm", "sdxl"};
  for (int i = 0; i < 3; i++) {
    struct rig rig;
    rig_open(&rig, args, names[i], true);
    free(generate_default(&rig));
    struct engine_info before = info_of(&rig);
    struct controls *c = &rig.controls;
    for (int change = 0; change < 8; change++) {
      switch (change) {
      case 0:
        c->prompt = 2;
        break;
      case 1:
        c->blend[0] = 0.3f, c->blend[1] = 0.5f, c->blend[8] = 0.1f;
        break;
      case 2:
        must(engine_set_prompt(rig.engine, 2, "a cat", &rig.err), &rig.err);
        break;
      case 3:
        must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "oil", &rig.err), &rig.err);
        break;
      case 4:
        c->strength = 0.7f;
        break;
      case 5:
        c->seed = 77;
        break;
      case 6:
        c->guidance = 3;
        break;
      default:
        c->mix = 0.5f;
      }
      free(generate_default(&rig));
    }
    struct engine_info after = info_of(&rig);
    assert_int_equal(after.device_captures, before.device_captures);
    assert_int_equal(after.device_allocations, before.device_allocations);
    /* And a new step count is a new plan. */
    must(rig_reshape(&rig, 0, 0, 3), &rig.err);
    if (before.depth > 1)
      assert_true(info_of(&rig).device_captures > before.device_captures);
    rig_close(&rig);
  }
}

/* Every sampler, at few steps and in a loop: strength and eta change from frame to frame and take nothing, and a frame
 * leaves nothing to the next. */
static void test_samplers_change_live(void **state) {
  (void)state;
  for (int sampler = SAMPLER_AUTO + 1; sampler < SAMPLERS; sampler++) {
    struct rig rig = {.controls = CONTROLS_DEFAULTS};
    assert_int_equal(golden_open(&rig.golden, args[1], "sd15"), 0);
    struct engine_params params = default_params(&rig.golden, args[2]);
    struct engine_shape shape = default_shape(&rig.golden);
    shape.sampler = (enum sampler)sampler;
    shape.steps = sampler % 2 ? 3 : 6;
    must(rig_engine(&rig, &params, &shape), &rig.err);
    must(engine_set_prompt(rig.engine, 1, "a cat", &rig.err), &rig.err);
    rig.controls.strength = 0.5f;
    uint8_t *first = generate_default(&rig);
    struct engine_info before = info_of(&rig);
    struct prepared_info own;
    prepared_get_info(rig.prepared, &own);
    rig.controls.eta = own.has_eta && own.eta == 0;
    if (own.has_eta)
      assert_differ(&rig, memcpy(malloc(picture_bytes(&rig)), first, picture_bytes(&rig)), generate_default(&rig));
    rig.controls.strength = 0.9f;
    free(generate_default(&rig));
    rig.controls.eta = -1;
    rig.controls.strength = 0.5f;
    assert_same(&rig, first, generate_default(&rig));
    assert_int_equal(info_of(&rig).device_captures, before.device_captures);
    assert_int_equal(info_of(&rig).device_allocations, before.device_allocations);
    rig_close(&rig);
  }
}

/* --- frames --- */

static void test_two_in_flight(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  size_t bytes = picture_bytes(&rig);
  uint8_t *grey = malloc(bytes);
  memset(grey, 90, bytes);
  rig.controls.strength = 0.4f;
  struct frame frames[2] = {rig.golden.frame, rig.golden.frame}, picture;
  frames[0].pts = 10, frames[0].captured_ns = 1000, frames[0].serial = 4;
  frames[1].pts = 20, frames[1].captured_ns = 2000, frames[1].serial = 5;
  frames[1].plane[0] = grey;
  uint8_t *alone[2] = {generate(&rig, &frames[0]), generate(&rig, &frames[1])};

  assert_int_equal(rig_collect(&rig, &picture), -1);
  for (int round = 0; round < 3; round++) {
    must(rig_submit(&rig, &frames[0]), &rig.err);
    must(rig_submit(&rig, &frames[1]), &rig.err);
    assert_int_equal(rig_submit(&rig, &frames[0]), -1);
    for (int i = 0; i < 2; i++) {
      must(rig_collect(&rig, &picture), &rig.err);
      assert_int_equal(picture.pts, frames[i].pts);
      assert_int_equal(picture.captured_ns, frames[i].captured_ns);
      assert_int_equal(picture.serial, frames[i].serial);
      uint8_t *copy = picture_copy(&picture);
      assert_memory_equal(copy, alone[i], bytes);
      free(copy);
    }
  }
  free(alone[0]);
  free(alone[1]);
  free(grey);
  rig_close(&rig);
}

static void collect_expected(struct rig *rig, const uint8_t *expected) {
  struct frame picture;
  must(rig_collect(rig, &picture), &rig->err);
  uint8_t *copy = picture_copy(&picture);
  assert_memory_equal(copy, expected, picture_bytes(rig));
  free(copy);
}

/* Each frame has the time projections of its own strength, whatever is in flight beside it. */
static void test_strength_in_flight(void **state) {
  (void)state;
  static const float strengths[2] = {0.4f, 0.9f};
  struct rig rig;
  uint8_t *alone[2];
  rig_open(&rig, args, "turbo", false);
  for (int i = 0; i < 2; i++) {
    rig.controls.strength = strengths[i];
    alone[i] = generate_default(&rig);
  }
  for (int i = 0; i < 8; i++) {
    rig.controls.strength = strengths[i % 2];
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    if (i > 0)
      collect_expected(&rig, alone[(i - 1) % 2]);
  }
  collect_expected(&rig, alone[1]);
  free(alone[0]);
  free(alone[1]);
  rig_close(&rig);
}

/* A prompt set while frames are in flight is for the next ones. */
static void check_prompt_in_flight(const char *golden) {
  struct rig rig;
  rig_open(&rig, args, golden, false);
  uint8_t *before = generate_default(&rig);
  struct frame picture;
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(engine_set_prompt(rig.engine, 1, "a cat at night", &rig.err), &rig.err);
  for (int i = 0; i < 2; i++) {
    must(rig_collect(&rig, &picture), &rig.err);
    uint8_t *copy = picture_copy(&picture);
    assert_memory_equal(copy, before, picture_bytes(&rig));
    free(copy);
  }
  assert_differ(&rig, before, generate_default(&rig));
  rig_close(&rig);
}

static void test_prompt_in_flight(void **state) {
  (void)state;
  check_prompt_in_flight("turbo");
  check_prompt_in_flight("sdxl"); /* whose prompts are part of the time projections, too */
}

enum { LIVE_CHANGES = 8 };

static void change_live(struct rig *rig, int change) {
  static const char *const negatives[] = {"fog", "oil"};
  struct controls *c = &rig->controls;
  switch (change % LIVE_CHANGES) {
  case 0:
    *c = (struct controls)CONTROLS_DEFAULTS;
    c->guidance = 3, c->strength = 0.5f;
    must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, "", &rig->err), &rig->err);
    break;
  case 1:
    c->blend[0] = 0.5f, c->blend[1] = 1, c->blend[4] = 0.25f;
    break;
  case 2:
  case 3:
    must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, negatives[change % 2], &rig->err), &rig->err);
    break;
  case 4:
    c->seed_position = 0.25;
    break;
  case 5:
    c->seed_position = 1.75;
    break;
  case 6:
    c->blend[1] = 0.1f;
    break;
  default:
    c->guidance = 5, c->strength = 0.75f;
  }
}

/* Of frames two in flight, each shows all of the change that it was submitted with and nothing of the next one. */
static void check_changes_show_whole(const char *golden) {
  struct rig rig;
  uint8_t *alone[LIVE_CHANGES];
  rig_open(&rig, args, golden, true);
  for (int i = 0; i < LIVE_CHANGES; i++) {
    change_live(&rig, i);
    alone[i] = generate_default(&rig);
    for (int j = 0; j < i; j++)
      assert_memory_not_equal(alone[i], alone[j], picture_bytes(&rig));
  }
  for (int i = 0; i < 2 * LIVE_CHANGES; i++) {
    change_live(&rig, i);
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    if (i)
      collect_expected(&rig, alone[(i - 1) % LIVE_CHANGES]);
  }
  collect_expected(&rig, alone[LIVE_CHANGES - 1]);
  for (int i = 0; i < LIVE_CHANGES; i++)
    free(alone[i]);
  rig_close(&rig);
}

static void test_changes_show_whole(void **state) {
  (void)state;
  check_changes_show_whole("turbo");
  check_changes_show_whole("ssd"); /* pooled text, steps that add noise */
}

/* --- the mask of inpainting models --- */

enum { MASK_WIDTH = 40, MASK_HEIGHT = 32 };

/* White in a disc, whatever the format; P010's and YUYV's chroma is grey. 1 byte a pixel for planar ones. */
static void fill_mask(struct frame *mask, uint8_t *pixels) {
  int bytes = mask->format == PIXEL_RGBA || mask->format == PIXEL_BGRA ? 4 : mask->format == PIXEL_P010 ? 2 : 1;
  bytes = mask->format == PIXEL_YUYV ? 2 : bytes;
  *mask = (struct frame){.format = mask->format, .width = MASK_WIDTH, .height = MASK_HEIGHT, .range = RANGE_LIMITED};
  mask->plane[0] = mask->plane[1] = mask->plane[2] = pixels;
  mask->pitch[0] = mask->pitch[1] = mask->pitch[2] = bytes * MASK_WIDTH;
  for (int i = 0; i < MASK_WIDTH * MASK_HEIGHT; i++) {
    int x = i % MASK_WIDTH - 22, y = i / MASK_WIDTH - 14;
    bool white = x * x + y * y < 90;
    uint8_t *p = pixels + bytes * i;
    memset(p, bytes == 4 && white ? 255 : 0, (size_t)bytes);
    if (bytes == 4)
      p[3] = white ? 0 : 255; /* transparent in the disc */
    else
      p[mask->format == PIXEL_P010] = white ? 235 : 16;
  }
}

static uint8_t *masked(struct rig *rig, enum pixel_format format, enum mask_channel channel) {
  uint8_t pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = format};
  fill_mask(&mask, pixels);
  struct frame hidden = hidden_copy(&mask);
  must(engine_set_mask(rig->engine, &hidden, channel, &rig->err), &rig->err);
  frame_release(&hidden); /* it was copied */
  return generate_default(rig);
}

static void test_mask(void **state) {
  (void)state;
  static const enum pixel_format others[] = {PIXEL_BGRA, PIXEL_NV12, PIXEL_P010, PIXEL_YUV420P, PIXEL_YUYV};
  struct rig rig;
  rig_open(&rig, args, "inpaint", false);
  uint8_t *without = generate_default(&rig), *with = masked(&rig, PIXEL_RGBA, MASK_WHITE);
  assert_true(memcmp(without, with, picture_bytes(&rig)));
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    uint8_t *same = masked(&rig, others[i], MASK_WHITE);
    assert_memory_equal(same, with, picture_bytes(&rig));
    free(same);
  }
  must(engine_set_mask(rig.engine, NULL, MASK_WHITE, &rig.err), &rig.err);
  assert_same(&rig, without, generate_default(&rig));
  assert_same(&rig, with, masked(&rig, PIXEL_BGRA, MASK_TRANSPARENT));
  rig_close(&rig);
}

/* Frames in flight keep the mask that they were submitted with; another handle begins with the newest. */
static void test_mask_in_flight(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "inpaint", false);
  uint8_t *without = generate_default(&rig), pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = PIXEL_RGBA}, picture;
  fill_mask(&mask, pixels);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(engine_set_mask(rig.engine, &mask, MASK_WHITE, &rig.err), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  collect_expected(&rig, without);
  must(rig_collect(&rig, &picture), &rig.err);
  uint8_t *with = picture_copy(&picture);
  assert_true(memcmp(without, with, picture_bytes(&rig)));
  free(without);
  must(rig_reshape(&rig, 48, 48, 0), &rig.err);
  must(rig_reshape(&rig, rig.golden.frame.width, rig.golden.frame.height, 0), &rig.err);
  assert_same(&rig, with, generate_default(&rig));
  rig_close(&rig);
}

static void test_mask_refusals(void **state) {
  (void)state;
  struct rig rig;
  uint8_t pixels[4 * MASK_WIDTH * MASK_HEIGHT];
  struct frame mask = {.format = PIXEL_NV12};
  fill_mask(&mask, pixels);
  rig_open(&rig, args, "turbo", false);
  assert_int_equal(engine_set_mask(rig.engine, &mask, MASK_WHITE, &rig.err), -1);
  assert_error(&rig.err, STATUS_USAGE, "inpainting");
  rig_close(&rig);
  rig_open(&rig, args, "inpaint", false);
  assert_int_equal(engine_set_mask(rig.engine, &mask, MASK_TRANSPARENT, &rig.err), -1);
  assert_error(&rig.err, STATUS_INPUT, "alpha");
  assert_int_equal(engine_set_mask(rig.engine, &(struct frame){.format = PIXEL_RGBA}, MASK_WHITE, &rig.err), -1);
  assert_error(&rig.err, STATUS_INPUT, "pixels");
  rig_close(&rig);
}

/* --- weights that change --- */

/* The golden's weight of this name, times factor; the caller frees the values. */
static struct engine_weight scaled_weight(const struct rig *rig, const char *name, float factor) {
  struct checkpoint *checkpoint;
  struct resources resources = {0};
  struct model model;
  struct plan text[TEXT_ENCODERS_MAX] = {0}, keys, times;
  struct frame_noise noise;
  struct plan frame;
  struct error err = {0};
  const struct frame_shape shape = {
      .width = rig->golden.frame.width, .height = rig->golden.frame.height, .steps = 1, .rows = {1, 1}};
  must(checkpoint_open(&checkpoint, &(struct checkpoint_sources){.model = rig->golden.folder}, NULL, &err), &err);
  must(model_init(&model, checkpoint, &resources, &err), &err);
  for (int i = 0; i < checkpoint->text_encoder_count; i++)
    must(plans_text(&model, i, &text[i], &err), &err);
  must(plans_keys(&model, 1, &keys, &err), &err);
  must(plans_times(&model, &shape, &times, &err), &err);
  must(plans_frame(&model, &shape, &frame, &noise, &err), &err);
  int index = resources_find(&resources, name);
  assert_true(index >= 0);
  const struct resource *r = &resources.list[index];
  size_t rows = resource_rows(r), elements = rows * resource_row_elements(r);
  float *values = malloc(elements * sizeof *values);
  assert_non_null(values);
  must(resource_read_f32(r, values, &err), &err);
  for (size_t i = 0; i < elements; i++)
    values[i] *= factor;
  for (int i = 0; i < TEXT_ENCODERS_MAX; i++)
    plan_free(&text[i]);
  plan_free(&keys);
  plan_free(&times);
  plan_free(&frame);
  model_free(&model);
  resources_free(&resources);
  checkpoint_close(&checkpoint);
  return (struct engine_weight){name, 0, rows, values};
}

static void change_weight(struct rig *rig, const char *name, float factor) {
  struct engine_weight weight = scaled_weight(rig, name, factor);
  must(engine_update(rig->engine, &weight, 1, &rig->err), &rig->err);
  free((float *)weight.values);
}

static void test_changed_weights(void **state) {
  (void)state;
  static const struct {
    const char *golden, *weight;
  } cases[] = {
      {"turbo", "text_encoder/embeddings.position_embedding.weight"}, /* seen through the prompts */
      {"turbo", "text_encoder/final_layer_norm.weight"},
      {"turbo", "unet/text_kv.weight"},
      {"turbo", "unet/time_embedding.linear_1.weight"}, /* through the time projections */
      {"lcm", "unet/time_emb_proj.bias"},
      {"sdxl", "text_encoder_2/embeddings.position_embedding.weight"},
      {"sdxl", "text_encoder_2/text_projection.weight"}, /* through both */
      {"sdxl", "unet/add_embedding.linear_1.weight"},
      {"turbo", "unet/conv_in.weight"}, /* and in the frame itself */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rig rig;
    rig_open(&rig, args, cases[i].golden, true);
    rig.controls.guidance = 3;
    rig.controls.strength = 0.7f;
    uint8_t *before = generate_default(&rig);
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    change_weight(&rig, cases[i].weight, 0.5f);
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    collect_expected(&rig, before);
    struct frame picture;
    must(rig_collect(&rig, &picture), &rig.err);
    uint8_t *after = picture_copy(&picture);
    if (!memcmp(before, after, picture_bytes(&rig)))
      fail_msg("%s was changed and the picture was not", cases[i].weight);
    /* As if the prompts and the table were made by hand. */
    must(engine_set_prompt(rig.engine, 1, "an oil painting", &rig.err), &rig.err);
    must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, "", &rig.err), &rig.err);
    rig.controls.guidance = 5;
    free(generate_default(&rig));
    rig.controls.guidance = 3;
    assert_same(&rig, after, generate_default(&rig));
    change_weight(&rig, cases[i].weight, 1);
    assert_same(&rig, before, generate_default(&rig));
    rig_close(&rig);
  }
}

/* A slot that no frame read for some changes is up to date when one does, and so is what stands for slots never set. */
static void test_changed_weights_of_idle_slots(void **state) {
  (void)state;
  static const char name[] = "text_encoder/embeddings.token_embedding.weight";
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  free(generate_default(&rig));
  change_weight(&rig, name, 2);
  free(generate_default(&rig));
  change_weight(&rig, "unet/conv_in.weight", 0.5f); /* which no prompt depends on */
  for (int slot = 2; slot <= 7; slot += 5) {        /* 7 was never set */
    rig.controls.prompt = slot;
    uint8_t *followed = generate_default(&rig);
    must(engine_set_prompt(rig.engine, slot, slot == 2 ? "a cat at night" : "", &rig.err), &rig.err);
    assert_same(&rig, followed, generate_default(&rig));
  }
  rig_close(&rig);
}

static void test_weights_that_are_not_there(void **state) {
  (void)state;
  struct rig rig;
  float value = 1;
  rig_open(&rig, args, "turbo", false);
  struct engine_weight weight = {"unet/nothing.weight", 0, 1, &value};
  assert_int_equal(engine_update(rig.engine, &weight, 1, &rig.err), -1);
  assert_error(&rig.err, STATUS_MODEL, "unet/nothing.weight");
  weight = (struct engine_weight){"unet/conv_in.bias", 1 << 20, 1, &value};
  assert_int_equal(engine_update(rig.engine, &weight, 1, &rig.err), -1);
  assert_error(&rig.err, STATUS_FAILED, "unet/conv_in.bias");
  rig_close(&rig);
}

/* --- more prompts than keys and values are kept for --- */

static const char *const many_texts[] = {
    "",     "an oil painting", "a cat at night", "a town", "watercolour", "an old map",
    "fire", "a cubist face",   "snow, ink",      "glass",  "a dog",
};
enum { MANY = 16 };

static void set_prompts(struct rig *rig, bool negative) {
  for (int slot = 1; slot <= SLOT_PRESETS; slot++)
    must(engine_set_prompt(rig->engine, slot, many_texts[slot], &rig->err), &rig->err);
  if (negative)
    must(engine_set_prompt(rig->engine, SLOT_NEGATIVE, many_texts[SLOT_NEGATIVE], &rig->err), &rig->err);
}

/* Moment number i of a walk through all prompts, with blends and steps back; slot 0 was never set, and the last moment
 * has all the others. */
static void set_moment(struct rig *rig, int i) {
  static const int prompts[MANY] = {1, 2, 3, 4, 5, 1, 6, 7, 7, 8, 9, 0, 2, 1, 2, 5};
  static const float blends[MANY] = {0, 0, 0.5f, 0, 0.25f, 1, 0, 0.75f, 0, 0.5f, 0, 0, 0, 0.5f, 0, 0.5f};
  rig->controls.prompt = prompts[i];
  memset(rig->controls.blend, 0, sizeof rig->controls.blend);
  if (blends[i] > 0) {
    rig->controls.blend[(5 * i + 3) % SLOT_PRESETS] = blends[i];
    rig->controls.blend[prompts[i] - SLOT_PRESET_1] += 1 - blends[i];
  }
  for (int slot = 0; i == MANY - 1 && slot < SLOT_PRESETS; slot++)
    rig->controls.blend[slot] = (float)(slot + 1);
}

static uint8_t *collect_copy(struct rig *rig) {
  struct frame picture;
  must(rig_collect(rig, &picture), &rig->err);
  return picture_copy(&picture);
}

/* Of frames two in flight, each has its own prompts, as an engine has that makes no other frame. */
static void test_many_prompts(void **state) {
  (void)state;
  struct rig rig;
  uint8_t *pictures[MANY];
  rig_open(&rig, args, "turbo", true);
  rig.controls.guidance = 2;
  set_prompts(&rig, false);
  for (int i = 0; i < MANY; i++) {
    if (i == MANY / 2)
      must(engine_set_prompt(rig.engine, SLOT_NEGATIVE, many_texts[SLOT_NEGATIVE], &rig.err), &rig.err);
    set_moment(&rig, i);
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    if (i > 0)
      pictures[i - 1] = collect_copy(&rig);
  }
  pictures[MANY - 1] = collect_copy(&rig);
  rig_close(&rig);
  for (int i = 0; i < MANY; i++) {
    rig_open(&rig, args, "turbo", true);
    rig.controls.guidance = 2;
    set_prompts(&rig, i >= MANY / 2);
    set_moment(&rig, i);
    uint8_t *alone = generate_default(&rig);
    if (memcmp(pictures[i], alone, picture_bytes(&rig)))
      fail_msg("picture %d is another on an engine of its own", i);
    free(alone);
    rig_close(&rig);
  }
  for (int i = 0; i < MANY; i++)
    free(pictures[i]);
}

static long launches_of_a_frame(struct rig *rig, int prompt) {
  long before = info_of(rig).device_launches;
  rig->controls.prompt = prompt;
  free(generate_default(rig));
  return info_of(rig).device_launches - before;
}

/* A prompt costs a run of its own the first time, and there alone: keys and values of all presets are kept. */
static void test_steady_prompts_cost_nothing(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  set_prompts(&rig, false);
  launches_of_a_frame(&rig, 1);
  long frame = launches_of_a_frame(&rig, 1), change = launches_of_a_frame(&rig, 2) - frame;
  assert_true(frame > 0 && change > 0);
  for (int prompt = 3; prompt <= SLOT_PRESETS; prompt++) {
    assert_int_equal(launches_of_a_frame(&rig, prompt), frame + change);
    assert_int_equal(launches_of_a_frame(&rig, prompt - 1), frame);
    assert_int_equal(launches_of_a_frame(&rig, prompt), frame);
  }
  for (int prompt = 1; prompt <= SLOT_PRESETS; prompt++)
    assert_int_equal(launches_of_a_frame(&rig, prompt), frame);
  must(engine_set_prompt(rig.engine, 1, "another", &rig.err), &rig.err);
  assert_int_equal(launches_of_a_frame(&rig, 1), frame + change);
  change_weight(&rig, "unet/text_kv.weight", 0.5f); /* of the keys and values alone: no text is encoded again */
  assert_int_equal(launches_of_a_frame(&rig, 1), frame + change);
  assert_int_equal(launches_of_a_frame(&rig, 1), frame);
  rig_close(&rig);
}

/* --- sizes --- */

/* An engine opened at the picture's size makes the same one. */
static void assert_fresh_agrees(const struct rig *rig, struct frame *picture) {
  struct rig fresh = {.controls = rig->controls};
  struct engine_params params = default_params(&rig->golden, args[2]);
  const struct engine_shape shape = shape_of(rig).shape;
  must(rig_engine(&fresh, &params, &shape), &fresh.err);
  must(engine_set_prompt(fresh.engine, 1, "an oil painting", &fresh.err), &fresh.err);
  uint8_t *ours = picture_copy(picture), *other = generate(&fresh, &rig->golden.frame);
  assert_memory_equal(ours, other, 4 * (size_t)picture->width * (size_t)picture->height);
  free(ours);
  free(other);
  engine_close(&fresh.engine);
}

static void test_shapes(void **state) {
  (void)state;
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  int width = rig.golden.frame.width, height = rig.golden.frame.height;
  uint8_t *first = generate_default(&rig);
  static const int shapes[][3] = {{16, 16, 1}, {96, 32, 3}, {0, 0, 2}};
  for (int i = 0; i < 3; i++) {
    must(rig_reshape(&rig, shapes[i][0], shapes[i][1], shapes[i][2]), &rig.err);
    struct engine_shape shape = shape_of(&rig).shape;
    assert_int_equal(shape.width, shapes[i][0] ? shapes[i][0] : shapes[i - 1][0]);
    assert_int_equal(shape.steps, shapes[i][2]);
    struct frame picture;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    must(rig_collect(&rig, &picture), &rig.err);
    assert_int_equal(picture.width, shape.width);
    assert_int_equal(picture.height, shape.height);
    assert_fresh_agrees(&rig, &picture);
  }
  must(rig_reshape(&rig, width, height, 1), &rig.err);
  assert_int_equal(rig_reshape(&rig, 50, 48, 1), -1);
  assert_error(&rig.err, STATUS_USAGE, "48 or 64");
  assert_int_equal(rig_reshape(&rig, 0, 0, 51), -1);
  assert_error(&rig.err, STATUS_USAGE, "51");
  assert_same(&rig, first, generate_default(&rig));
  rig_close(&rig);
}

static uint8_t *solid(int width, int height, uint8_t level) {
  uint8_t *pixels = malloc(4 * (size_t)width * (size_t)height);
  assert_non_null(pixels);
  memset(pixels, level, 4 * (size_t)width * (size_t)height);
  return pixels;
}

/* Strength 0 shows what the network would see of a frame five times as wide as high, however wide its pixels are. */
static void expect_fit(const struct golden *golden, int width, int height) {
  uint8_t *pixels = solid(width, height, 200);
  for (int y = 0; y < height; y++) /* a dark left end, which cropping removes */
    memset(pixels + 4 * (size_t)y * (size_t)width, 20, 4 * (size_t)width * 3 / 20);
  struct frame wide = {.format = PIXEL_RGBA,
                       .width = width,
                       .height = height,
                       .plane = {pixels},
                       .pitch = {4 * width},
                       .sample_aspect = 5.0f * (float)height / (float)width};
  assert_float_equal(frame_aspect(&wide), 5, 1e-6);
  static const struct {
    enum fit fit;
    int top, left; /* values of red at the middle of the top and the left edge */
  } cases[] = {{FIT_CROP, 200, 200}, {FIT_LETTERBOX, 0, 20}, {FIT_STRETCH, 200, 20}};
  for (int i = 0; i < 3; i++) {
    struct rig rig = {.controls = CONTROLS_DEFAULTS};
    struct engine_params params = default_params(golden, args[2]);
    params.fit = cases[i].fit;
    must(rig_engine(&rig, &params, &(struct engine_shape){.width = 64, .height = 64}), &rig.err);
    rig.controls.strength = 0;
    uint8_t *picture = generate(&rig, &wide);
    assert_int_equal(picture[4 * 32], cases[i].top);
    assert_int_equal(picture[4 * 64 * 32], cases[i].left);
    assert_int_equal(picture[4 * (64 * 32 + 40)], 200);
    free(picture);
    engine_close(&rig.engine);
  }
  free(pixels);
}

static void test_fit(void **state) {
  (void)state;
  struct golden golden;
  assert_int_equal(golden_open(&golden, args[1], "turbo"), 0);
  expect_fit(&golden, 200, 40);
  expect_fit(&golden, 100, 40);
  expect_fit(&golden, 40, 40);
  expect_fit(&golden, 200, 20);
  golden_close(&golden);
}

/* Pictures are the caller's until it releases them: with other frames, another size, and no engine any more. */
static void test_held_pictures(void **state) {
  (void)state;
  enum { HELD = 4 };
  struct rig rig;
  struct frame pictures[HELD], more[2];
  uint8_t *alone[HELD];
  rig_open(&rig, args, "turbo", false);
  struct engine_params params = default_params(&rig.golden, args[2]);
  const struct engine_shape shape = default_shape(&rig.golden);
  params.device.pictures = HELD;
  engine_release(rig.engine, &rig.prepared);
  engine_close(&rig.engine);
  must(rig_engine(&rig, &params, &shape), &rig.err);
  for (int i = 0; i < HELD; i++) {
    rig.controls.seed = (uint64_t)i;
    alone[i] = generate_default(&rig);
  }
  for (int i = 0; i < HELD; i++) { /* two in flight, as long as there are two */
    rig.controls.seed = (uint64_t)i;
    must(rig_submit(&rig, &rig.golden.frame), &rig.err);
    if (i)
      must(rig_collect(&rig, &pictures[i - 1]), &rig.err);
  }
  must(rig_collect(&rig, &pictures[HELD - 1]), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(rig_submit(&rig, &rig.golden.frame), &rig.err);
  must(rig_collect(&rig, &more[0]), &rig.err);
  must(rig_collect(&rig, &more[1]), &rig.err);
  assert_int_equal(rig_submit(&rig, &rig.golden.frame), -1); /* two more than it said */
  assert_int_equal(rig.err.status, STATUS_HELD);
  frame_release(&more[0]);
  frame_release(&more[1]);
  must(rig_reshape(&rig, 2 * rig.golden.frame.width, 0, 0), &rig.err);
  free(generate_default(&rig));
  rig_close(&rig);
  for (int i = 0; i < HELD; i++) {
    uint8_t *held = picture_copy(&pictures[i]);
    assert_memory_equal(held, alone[i], 4 * (size_t)shape.width * (size_t)shape.height);
    free(held);
    free(alone[i]);
  }
}

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: test_engine GOLDENS DEVICE\n");
    return 2;
  }
  args = argv;
  if (!golden_has_device(args[1], "turbo", args[2]))
    return 77;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_slots),
      cmocka_unit_test(test_blending),
      cmocka_unit_test(test_seed),
      cmocka_unit_test(test_seed_walk),
      cmocka_unit_test(test_far_positions),
      cmocka_unit_test(test_noise_between_is_normal),
      cmocka_unit_test(test_noise_is_made_ahead),
      cmocka_unit_test(test_strength),
      cmocka_unit_test(test_guidance),
      cmocka_unit_test(test_guidance_modes),
      cmocka_unit_test(test_guidance_refused),
      cmocka_unit_test(test_image_guidance),
      cmocka_unit_test(test_guidance_embedding),
      cmocka_unit_test(test_time_projections),
      cmocka_unit_test(test_pooled_text),
      cmocka_unit_test(test_changes_capture_nothing),
      cmocka_unit_test(test_samplers_change_live),
      cmocka_unit_test(test_two_in_flight),
      cmocka_unit_test(test_strength_in_flight),
      cmocka_unit_test(test_prompt_in_flight),
      cmocka_unit_test(test_many_prompts),
      cmocka_unit_test(test_steady_prompts_cost_nothing),
      cmocka_unit_test(test_changes_show_whole),
      cmocka_unit_test(test_mask),
      cmocka_unit_test(test_mask_in_flight),
      cmocka_unit_test(test_mask_refusals),
      cmocka_unit_test(test_changed_weights),
      cmocka_unit_test(test_changed_weights_of_idle_slots),
      cmocka_unit_test(test_weights_that_are_not_there),
      cmocka_unit_test(test_shapes),
      cmocka_unit_test(test_fit),
      cmocka_unit_test(test_held_pictures),
  };
  char *tuning = fixture_make(); /* so that all engines choose the same kernels, and their pictures can be compared */
  setenv("TUNING_DIR", tuning, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
