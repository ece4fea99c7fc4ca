/* Tests changes between frames, and while frames are in flight, with the random checkpoints of the goldens.
 *
 *   test_engine_changes GOLDENS DEVICE       skipped where there is no such device */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/fixture.h"
#include "tests/rigs/rig.h"
#include "unet/model/plans.h"

static char **args; /* arguments of the test program */

/* Values that may change between frames are data: a GPU captures no graph for them, and no device allocates memory. */
static void test_changes_capture_nothing(void **state) {
  (void)state;
  /* guidance with a second row, as a part of the time projections, and with a second row of both */
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
    /* A new number of steps, however, is a new plan. */
    must(rig_reshape(&rig, 0, 0, 3), &rig.err);
    if (before.depth > 1)
      assert_true(info_of(&rig).device_captures > before.device_captures);
    rig_close(&rig);
  }
}

/* Every sampler, with few steps and in a loop: strength and eta change from frame to frame without allocations, and a
 * frame has no effect on the next one. */
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

/* Each frame uses the time projections of its own strength, whatever else is in flight. */
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

/* Checks that a prompt that is set while frames are in flight applies to later frames only. */
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
  check_prompt_in_flight("sdxl"); /* here prompts are also part of the time projections */
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

/* Checks that of two frames in flight, each shows all of the change that it was submitted with, and nothing of the next
 * one. */
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
  /* a model whose time projections depend on the text, with a sampler whose steps add noise */
  check_changes_show_whole("ssd");
}

/* --- weights that change --- */

/* Returns the golden's weight of this name multiplied by `factor`; the caller frees the values. */
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
      {"turbo", "text_encoder/embeddings.position_embedding.weight"}, /* has an effect through the prompts */
      {"turbo", "text_encoder/final_layer_norm.weight"},
      {"turbo", "unet/text_kv.weight"},
      {"turbo", "unet/time_embedding.linear_1.weight"}, /* has an effect through the time projections */
      {"lcm", "unet/time_emb_proj.bias"},
      {"sdxl", "text_encoder_2/embeddings.position_embedding.weight"},
      {"sdxl", "text_encoder_2/text_projection.weight"}, /* has an effect through both */
      {"sdxl", "unet/add_embedding.linear_1.weight"},
      {"turbo", "unet/conv_in.weight"}, /* has an effect in the frame itself */
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
    /* Compares with prompts and time projections that are computed again. */
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

/* If weights change while no frame reads a slot, the slot is computed again when a frame does; this includes slots that
 * were never set. */
static void test_changed_weights_of_idle_slots(void **state) {
  (void)state;
  static const char name[] = "text_encoder/embeddings.token_embedding.weight";
  struct rig rig;
  rig_open(&rig, args, "turbo", false);
  free(generate_default(&rig));
  change_weight(&rig, name, 2);
  free(generate_default(&rig));
  change_weight(&rig, "unet/conv_in.weight", 0.5f); /* no prompt depends on this weight */
  for (int slot = 2; slot <= 7; slot += 5) {        /* slot 7 was never set */
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

/* --- more prompts than there are slots for keys and values --- */

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

/* Sets moment number i of a sequence that uses all prompts, with blends and returns to earlier ones. Slot 0 was never
 * set, and the last moment blends all others. */
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

/* Of two frames in flight, each shows its own prompts, like an engine that makes only this frame. */
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

/* A prompt costs a run only the first time: keys and values of all presets are kept. */
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
  change_weight(&rig, "unet/text_kv.weight", 0.5f); /* only keys and values depend on it: no text is encoded again */
  assert_int_equal(launches_of_a_frame(&rig, 1), frame + change);
  assert_int_equal(launches_of_a_frame(&rig, 1), frame);
  rig_close(&rig);
}

int main(int argc, char **argv) {
  args = argv;
  int status = golden_arguments(argc, argv, "turbo");
  if (status)
    return status;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_changes_capture_nothing),
      cmocka_unit_test(test_samplers_change_live),
      cmocka_unit_test(test_two_in_flight),
      cmocka_unit_test(test_strength_in_flight),
      cmocka_unit_test(test_prompt_in_flight),
      cmocka_unit_test(test_many_prompts),
      cmocka_unit_test(test_steady_prompts_cost_nothing),
      cmocka_unit_test(test_changes_show_whole),
      cmocka_unit_test(test_changed_weights),
      cmocka_unit_test(test_changed_weights_of_idle_slots),
      cmocka_unit_test(test_weights_that_are_not_there),
  };
  char *tuning = fixture_make(); /* so that all engines choose the same kernels, and their pictures can be compared */
  setenv("TUNING_DIR", tuning, 1);
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  fixture_remove(tuning);
  return failed;
}
