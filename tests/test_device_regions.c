/* Tests regions of a plan (ops that a run may skip). */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "tests/rigs/device_rig.h"

/* Appends a loop of four iterations: a region adds twice the model to x where its control is on, and a step adds the
 * model to z. */
static void append_regions(struct rig *r, struct tensor x, struct tensor z, struct tensor model) {
  plan_loop_begin(&r->plan, 4);
  plan_region_begin(&r->plan, (struct region_when){REGION_CONTROL, 2, .step = 1});
  struct tensor twice = plan_affine(&r->plan, "twice", (struct op_affine){.x = model, .scale = 2});
  plan_step(&r->plan, "add", (struct op_step){.step = 1, .x = x, .model = twice});
  plan_region_end(&r->plan);
  plan_step(&r->plan, "step", (struct op_step){.step = 1, .x = z, .model = model});
  plan_loop_end(&r->plan);
  plan_region_begin(&r->plan, (struct region_when){REGION_MAP, 3});
  plan_step(&r->plan, "map", (struct op_step){.step = 0, .x = z, .model = model});
  plan_region_end(&r->plan);
  plan_region_begin(&r->plan, (struct region_when){REGION_STYLE, 1});
  plan_step(&r->plan, "style", (struct op_step){.step = 0, .x = z, .model = model});
  plan_region_end(&r->plan);
}

static void expect_all(struct rig *r, struct tensor t, float value) {
  float data[2];
  struct error err = {0};
  assert_int_equal(device_read(r->device, r->program, t, 0, data, 2, &err), 0);
  for (int i = 0; i < 2; i++)
    if (data[i] != value)
      fail_msg("%g instead of %g", (double)data[i], (double)value);
}

static void a_region_runs_where_its_value_is_not_0(void **state) {
  (void)state;
  const struct {
    float gain[4], style;
    bool map;
    int added, more;
  } cases[] = {{{0, 0, 0, 0}, 0, false, 0, 0},
               {{0.5f, 0, -1, 0}, 0, false, 2, 0},
               {{0, 0, 0, 1e-9f}, 0, true, 1, 1},
               {{1, 1, 1, 1}, -1, false, 4, 1},
               {{0, 0, 0, 0}, 1, true, 0, 2}};
  static const char *const devices[] = {"cpu:plain", "cpu"};
  for (int d = 0; d < 2; d++) {
    struct rig *r = rig_begin();
    struct error err = {0};
    struct tensor x = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                  z = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                  model = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE);
    append_regions(r, x, z, model);
    rig_prepare(r, devices[d]);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      struct run_params params = {.control[3].map = cases[i].map, .style[1].weight = cases[i].style};
      struct device_counters before, after;
      for (int s = 0; s <= 4; s++)
        params.step[s] = (struct step_params){.x = 1, .model = 1};
      memcpy(params.control[2].gain + 1, cases[i].gain, sizeof cases[i].gain);
      assert_int_equal(device_poison(r->device, r->program, &err), 0);
      assert_int_equal(device_write(r->device, r->program, x, 0, (const float[]){3, 3}, 2, &err), 0);
      assert_int_equal(device_write(r->device, r->program, z, 0, (const float[]){0, 0}, 2, &err), 0);
      assert_int_equal(device_write(r->device, r->program, model, 0, (const float[]){1, 1}, 2, &err), 0);
      device_get_counters(r->device, &before);
      assert_int_equal(device_run(r->device, r->program, &params, &err), 0);
      device_get_counters(r->device, &after);
      expect_all(r, x, 3 + 2 * (float)cases[i].added);
      expect_all(r, z, 4 + (float)cases[i].more);
      assert_int_equal(after.launches - before.launches, 4 + 2 * cases[i].added + cases[i].more);
      unsigned idle = (cases[i].added ? 0 : IDLE_CONTROL << 2) | (cases[i].map ? 0 : IDLE_CONTROL << 3);
      assert_int_equal(run_idles(&r->plan, &params), idle | (cases[i].style != 0 ? 0 : IDLE_STYLES));
      assert_int_equal(run_is_exact(&r->plan, &params), cases[i].added == 0 || cases[i].added == 4);
    }
    rig_close(r);
  }
}

/* A region that depends on motion adds the model to x, one that depends on the bank adds it to z. */
static void motion_and_the_bank_decide_over_regions(void **state) {
  (void)state;
  static const char *const devices[] = {"cpu:plain", "cpu"};
  for (int d = 0; d < 2; d++) {
    struct rig *r = rig_begin();
    struct error err = {0};
    struct tensor x = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                  z = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                  model = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE);
    plan_region_begin(&r->plan, (struct region_when){REGION_MOTION, 0});
    plan_step(&r->plan, "motion", (struct op_step){.x = x, .model = model});
    plan_region_end(&r->plan);
    plan_region_begin(&r->plan, (struct region_when){REGION_BANK, 0});
    plan_step(&r->plan, "bank", (struct op_step){.x = z, .model = model});
    plan_region_end(&r->plan);
    rig_prepare(r, devices[d]);
    assert_int_equal(plan_may_idle(&r->plan), IDLE_BANK | IDLE_MOTION);
    assert_int_equal(device_write(r->device, r->program, model, 0, (const float[]){1, 1}, 2, &err), 0);
    for (int i = 0; i < 4; i++) {
      const bool motion = i & 1, bank = i & 2;
      struct run_params params = {.motion = motion, .bank = {.frames = bank ? 2 : 0, .every = 1}};
      params.step[0] = (struct step_params){.x = 1, .model = 1};
      assert_int_equal(device_write(r->device, r->program, x, 0, (const float[]){3, 3}, 2, &err), 0);
      assert_int_equal(device_write(r->device, r->program, z, 0, (const float[]){5, 5}, 2, &err), 0);
      assert_int_equal(device_run(r->device, r->program, &params, &err), 0);
      expect_all(r, x, 3 + (float)motion);
      expect_all(r, z, 5 + (float)bank);
      assert_int_equal(run_idles(&r->plan, &params), (motion ? 0 : IDLE_MOTION) | (bank ? 0 : IDLE_BANK));
    }
    rig_close(r);
  }
}

/* A run is exact if each control acts in all of its calls or in none. One whose map is shown while its network adds
 * nothing is not, and neither is one with a map of an earlier run. */
static void a_run_is_exact_if_it_decides_nothing(void **state) {
  (void)state;
  static const struct {
    float gain[2][2];
    bool map[2], exact;
  } cases[] = {{{{0, 0}, {0, 0}}, {false, false}, true},   {{{1, 1}, {0, 0}}, {true, false}, true},
               {{{1, 1}, {0.5f, -1}}, {true, true}, true}, {{{1, 0}, {0, 0}}, {true, false}, false},
               {{{0, 0}, {0, 0}}, {true, false}, false},   {{{1, 1}, {0, 0}}, {true, true}, false},
               {{{1, 1}, {1, 1}}, {true, false}, false},   {{{0, 1}, {1, 0}}, {true, true}, false}};
  struct rig *r = rig_begin();
  struct error err;
  struct tensor x = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                model = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE);
  for (int i = 0; i < 6; i++) {
    const struct region_when map = {REGION_MAP, i}, call = {REGION_CONTROL, i % 2, .step = i / 2 - 1};
    plan_region_begin(&r->plan, i < 2 ? map : call);
    plan_step(&r->plan, "add", (struct op_step){.x = x, .model = model});
    plan_region_end(&r->plan);
  }
  assert_int_equal(plan_finish(&r->plan, &err), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct run_params params = {0};
    for (int k = 0; k < 2; k++) {
      memcpy(params.control[k].gain, cases[i].gain[k], sizeof cases[i].gain[k]);
      params.control[k].map = cases[i].map[k];
    }
    assert_int_equal(run_is_exact(&r->plan, &params), cases[i].exact);
  }
  rig_close(r);
}

/* A style with a weight is skipped if none of the plan's layers uses its part. */
static void a_run_does_without_styles_that_add_nothing(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct tensor q = plan_input(&r->plan, 1, 1, 2, 2, ELEMENT_DEVICE),
                y = plan_input(&r->plan, 1, 1, 2, 2, ELEMENT_DEVICE);
  struct tensor kv = plan_state(&r->plan, "kv", 2, 1, 1, 4, ELEMENT_DEVICE);
  struct op_style op = {.q = q, .k = tensor_channels(kv, 0, 2), .v = tensor_channels(kv, 2, 2), .y = y};
  op.heads = 1, op.scale = 1, op.part = STYLE_LOOK;
  plan_style(&r->plan, "style", op);
  struct error err;
  assert_int_equal(plan_finish(&r->plan, &err), 0);
  assert_int_equal(plan_may_idle(&r->plan), IDLE_STYLES);
  assert_int_equal(run_idles(&r->plan, &r->params), IDLE_STYLES);
  r->params.style[3].weight = -1;
  r->params.style[3].part[STYLE_COMPOSITION] = 1;
  assert_int_equal(run_idles(&r->plan, &r->params), IDLE_STYLES);
  r->params.style[3].part[STYLE_LOOK] = 0.5f;
  assert_int_equal(run_idles(&r->plan, &r->params), 0);
  rig_close(r);
}

/* A picture in, a picture out, and a region between them: the region's ops are counted only if it runs. */
static void a_profile_counts_what_runs(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct error err = {0};
  const struct profile_request request = {.repeats = 3};
  struct profile profile;
  struct tensor x = plan_pixels_in(&r->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = H, .w = W}});
  plan_region_begin(&r->plan, (struct region_when){REGION_CONTROL, 0});
  struct tensor h = plan_norm(&r->plan, "act", (struct op_norm){.x = x, .prologue.act = ACT_RELU});
  plan_inject(&r->plan, "inject", (struct op_inject){.x = h, .y = x, .count = 1});
  plan_region_end(&r->plan);
  plan_pixels_out(&r->plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
  r->params.mix = 1;
  r->params.geometry[0] = (struct geometry){0, 0, W, H, 0, 0, W, H};
  r->frame = (struct frame){.format = PIXEL_RGBA, .width = W, .height = H, .plane = {r->pixels}, .pitch = {4 * W}};
  rig_prepare(r, "cpu");
  memset(r->pixels, 50, sizeof r->pixels);
  for (int on = 0; on < 2; on++) {
    struct frame picture;
    r->params.control[0].gain[0] = on;
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, &picture, &err), 0);
    assert_int_equal(picture.plane[0][0], on ? 100 : 50);
    frame_release(&picture);
    assert_int_equal(device_profile(r->device, r->program, &r->params, &r->frame, &request, &profile, &err), 0);
    for (int i = 0; i < 4; i++) {
      bool inner = i == 1 || i == 2;
      assert_int_equal(profile.rows[i].runs, !inner || on);
      assert_int_equal(strcmp(profile.rows[i].way, "skipped") == 0, inner && !on);
      assert_true(profile.rows[i].runs || profile.rows[i].us == 0);
    }
    profile_free(&profile);
  }
  rig_close(r);
}

/* Values are checked for each iteration and each latent; those that no region reads are not checked. */
static void values_of_regions_are_checked(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct error err = {0};
  struct tensor x = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                model = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE);
  plan_loop_begin(&r->plan, 2);
  plan_region_begin(&r->plan, (struct region_when){REGION_CONTROL, 0, .step = 1, .latents = 2});
  plan_affine(&r->plan, "op", (struct op_affine){.x = model, .scale = 1});
  plan_region_end(&r->plan);
  plan_step(&r->plan, "step", (struct op_step){.x = x, .model = model});
  plan_loop_end(&r->plan);
  plan_region_begin(&r->plan, (struct region_when){REGION_STYLE, 3});
  plan_affine(&r->plan, "op", (struct op_affine){.x = model, .scale = 1});
  plan_region_end(&r->plan);
  plan_inject(&r->plan, "inject", (struct op_inject){.x = x, .y = model, .control = 1, .step = 1, .count = 1});
  rig_prepare(r, "cpu");
  struct run_params good = {.control = {{.gain = {NAN, -1, 0, 7, NAN}}, {.gain = {NAN, 1, NAN}}},
                            .style[2].weight = NAN},
                    bad;
  assert_int_equal(device_run(r->device, r->program, &good, &err), 0);
  bad = good, bad.control[1].gain[1] = NAN;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  assert_non_null(strstr(err.message, "control 1 has a gain"));
  for (int i = 1; i <= 3; i++) {
    bad = good, bad.control[0].gain[i] = i == 2 ? INFINITY : NAN;
    assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
    assert_non_null(strstr(err.message, "control 0 has a gain"));
  }
  bad = good, bad.style[3].weight = NAN;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  assert_non_null(strstr(err.message, "style 3 has a weight"));
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(motion_and_the_bank_decide_over_regions),
      cmocka_unit_test(a_region_runs_where_its_value_is_not_0),
      cmocka_unit_test(a_run_is_exact_if_it_decides_nothing),
      cmocka_unit_test(a_run_does_without_styles_that_add_nothing),
      cmocka_unit_test(a_profile_counts_what_runs),
      cmocka_unit_test(values_of_regions_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
