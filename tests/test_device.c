/* The device interface: choice, arguments, runs in flight, memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "unet/devices.h"

#include "played_gpu.h"

enum { W = 24, H = 16, HELD = 3 };

/* A plan and what runs it. */
struct rig {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  uint8_t pixels[W * H * 4];
  struct frame frame;
};

/* A frame plan: pixels in, a 3x3 convolution that copies, pixels out. */
static void rig_plan(struct rig *r) {
  static float copy[3 * 3 * 9];
  struct error err = {0};
  for (int c = 0; c < 3; c++)
    copy[(c * 3 + c) * 9 + 4] = 1;
  struct weight_part part = {copy, DTYPE_F32, 3};
  struct tensor x = plan_pixels_in(&r->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = H, .w = W}});
  struct tensor w = resources_weight(&r->resources, "copy", 3, 3, 3, 3, &part, 1, &err);
  x = plan_conv(&r->plan, "conv", (struct op_conv){.x = x, .weight = w, .stride = 1, .pad = 1});
  plan_pixels_out(&r->plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
  r->params.mix = 1;
  r->params.geometry[0] = (struct geometry){0, 0, W, H, 0, 0, W, H};
  r->frame = (struct frame){.format = PIXEL_RGBA, .width = W, .height = H, .plane = {r->pixels}, .pitch = {4 * W}};
}

static struct rig *rig_begin(void) {
  struct rig *r = calloc(1, sizeof *r);
  plan_init(&r->plan, &r->resources);
  return r;
}

static void rig_prepare(struct rig *r, const char *name) {
  struct error err = {0};
  if (plan_finish(&r->plan, &err) < 0 ||
      device_open(&r->device, &r->resources, &(struct device_options){.name = name, .pictures = HELD}, &err) < 0 ||
      device_prepare(r->device, &r->program, &r->plan, &(struct program_options){PIXEL_RGBA}, &err) < 0)
    fail_msg("%s", err.message);
}

static struct rig *rig_open(const char *name) {
  struct rig *r = rig_begin();
  rig_plan(r);
  rig_prepare(r, name);
  return r;
}

static void rig_close(struct rig *r) {
  device_release(r->device, &r->program);
  device_close(&r->device);
  plan_free(&r->plan);
  resources_free(&r->resources);
  free(r);
}

static void a_device_is_chosen_by_name(void **state) {
  (void)state;
  const struct {
    const char *name;
    int status;
    enum status class;
  } list[] = {{"cpu", 0, STATUS_OK},         {"cpu:plain", 0, STATUS_OK}, {"cpu:fancy", -1, STATUS_USAGE},
              {"toaster", -1, STATUS_USAGE}, {"cpux", -1, STATUS_USAGE},  {"", -1, STATUS_USAGE},
              {"cuda:99", -1, STATUS_DEVICE}};
  struct resources resources = {0};
  for (size_t i = 0; i < sizeof list / sizeof list[0]; i++) {
    struct device *device = NULL;
    struct error err = {0};
    assert_int_equal(device_open(&device, &resources, &(struct device_options){.name = list[i].name}, &err),
                     list[i].status);
    if (list[i].status < 0) {
      assert_null(device);
      assert_int_equal(err.status, list[i].class);
      assert_true(strlen(err.message) > 10 && !strchr(err.message, '\n'));
    }
    device_close(&device);
    assert_null(device);
  }
}

/* Who asks for another device, or for a GPU that is not there, gets none. */
static void only_cuda_names_a_gpu(void **state) {
  (void)state;
  static const char *const names[] = {"cpu", "cpu:plain", "toaster", "", "cudas", "cuda:99"};
  static const struct gpu none;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    struct gpu gpu;
    memset(&gpu, 1, sizeof gpu);
    assert_false(devices_find_gpu(names[i], &gpu));
    assert_true(!gpu.impl && !memcmp(gpu.id.uuid, none.id.uuid, sizeof gpu.id.uuid));
  }
}

struct lines {
  int count;
  char last[256];
};

static void keep_line(void *opaque, enum log_level level, const char *text) {
  struct lines *lines = opaque;
  lines->count++;
  snprintf(lines->last, sizeof lines->last, "%d %s", (int)level, text);
}

/* What a device has not is said in one line, and FP32 is used. */
static void bfloat16_falls_back(void **state) {
  (void)state;
  struct lines lines = {0};
  struct log log = {keep_line, &lines};
  struct resources resources = {0};
  struct device *device = NULL;
  struct device_info info;
  struct error err = {0};
  assert_int_equal(device_open(&device, &resources,
                               &(struct device_options){.name = "cpu:plain", .precision = PRECISION_BF16, .log = &log},
                               &err),
                   0);
  assert_int_equal(lines.count, 1);
  assert_non_null(strstr(lines.last, "bfloat16"));
  device_get_info(device, &info);
  assert_non_null(strstr(info.detail, "FP32"));
  device_close(&device);
}

static void a_device_describes_itself(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct device_info info;
  device_get_info(r->device, &info);
  assert_true(info.depth == 1 && !info.longest_side && !info.replaceable && info.element == DTYPE_F32);
  assert_false(gpu_same(&info.gpu, &info.gpu));
  assert_non_null(strstr(info.name, "thread"));
  assert_true(info.memory_total > info.memory_free && info.memory_free > 0);
  rig_close(r);
}

static void wrong_arguments_are_refused(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  float value;
  assert_int_equal(device_submit(r->device, r->program, &r->params, NULL, &err), -1);
  const struct geometry wrong[] = {
      {0, 0, 0, H, 0, 0, W, H}, {0, 0, W, -1, 0, 0, W, H}, {0, 0, W, H, 0, 0, W + 1, H},     {0, 0, W, H, -1, 0, W, H},
      {0, 0, W, H, 1, 0, W, H}, {0, 0, W, H, 0, 0, 0, H},  {0, 0, W, H, 0, 2147483647, 1, 1}};
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
    struct run_params params = r->params;
    params.geometry[0] = wrong[i];
    assert_int_equal(device_submit(r->device, r->program, &params, &r->frame, &err), -1);
  }
  struct frame frame = r->frame;
  frame.pitch[0] = 4 * W - 1;
  assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), -1);
  frame = r->frame;
  frame.plane[0] = NULL;
  assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), -1);
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), -1); /* nothing was started by all that */
  struct tensor t = {TENSOR_TEMPORARY, 0, 1, H, W, 3, 0, 3};
  assert_int_equal(device_read(r->device, r->program, t, (size_t)H * W * 3, &value, 1, &err), -1);
  assert_int_equal(device_read(r->device, NULL, t, 0, &value, 1, &err), -1);
  t.index = 1000;
  assert_int_equal(device_read(r->device, r->program, t, 0, &value, 1, &err), -1);
  rig_close(r);
}

static void tokens_slots_and_timesteps_are_checked(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct error err = {0};
  float table[4 * 2] = {0};
  struct weight_part part = {table, DTYPE_F32, 4};
  struct tensor words = resources_weight(&r->resources, "words", 4, 1, 1, 2, &part, 1, &err);
  struct tensor slots = resources_state(&r->resources, "slots", 3, 1, 4, 2, ELEMENT_DEVICE, &err);
  struct tensor x = plan_embed(&r->plan, "embed", (struct op_embed){.token = words, .position = words});
  plan_store_slot(&r->plan, "store", (struct op_store_slot){.x = x, .slots = slots});
  plan_prompt(&r->plan, "prompt", (struct op_prompt){.slots = slots, .y.n = 1});
  plan_end_token(&r->plan, "end", (struct op_end_token){.x = x});
  plan_emphasis(&r->plan, "emphasis", (struct op_emphasis){.x = x});
  plan_timestep(&r->plan, "time", (struct op_timestep){.y = {.n = 4, .c = 4}, .rows = 2});
  rig_prepare(r, "cpu");
  struct run_params good = {.prompt = {{{0, 77}, {1, 0}}}}, bad;
  assert_int_equal(device_run(r->device, r->program, &good, &err), 0);
  bad = good, bad.tokens[3] = 4;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  bad = good, bad.tokens[0] = -1;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  bad = good, bad.slot = 3;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  bad = good, bad.prompt[0].weight[1] = 0.5f;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  for (int end = -1; end <= 4; end += 5) {
    bad = good, bad.end = end;
    assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
    assert_non_null(strstr(err.message, "token"));
  }
  static const float emphasis[] = {9.5f, -INFINITY, NAN};
  for (int i = 0; i < 3; i++) {
    bad = good, bad.emphasis[3] = emphasis[i];
    assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
    assert_non_null(strstr(err.message, "token 3 has a weight"));
  }
  static const float timesteps[] = {TIMESTEPS, -0.5f, NAN};
  for (int i = 0; i < 3; i++) {
    bad = good, bad.step[1].timestep = timesteps[i];
    assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
    assert_non_null(strstr(err.message, "timestep"));
  }
  assert_int_equal(device_start(r->device, r->program, &bad, &err), -1);
  for (int i = 0; i < 5; i++) /* nobody collects them */
    assert_int_equal(device_start(r->device, r->program, &good, &err), 0);
  bad = good, bad.step[2].timestep = TIMESTEPS; /* which nobody reads */
  assert_int_equal(device_run(r->device, r->program, &bad, &err), 0);
  assert_int_equal(device_run(r->device, r->program, &good, &err), 0);
  rig_close(r);
}

/* Of each of a loop's iterations. */
static void iterations_are_checked(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct error err = {0};
  struct tensor noise = resources_state(&r->resources, "noise", 2, 1, 1, 2, ELEMENT_PRECISE, &err);
  struct tensor x = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_PRECISE),
                model = plan_input(&r->plan, 1, 1, 1, 2, ELEMENT_DEVICE);
  plan_loop_begin(&r->plan, 3);
  plan_step(&r->plan, "step", (struct op_step){.step = 0, .x = x, .model = model, .noise = noise});
  plan_loop_end(&r->plan);
  rig_prepare(r, "cpu");
  struct run_params good = {.step = {[1] = {.noise = 1}, [3] = {.noise = 1, .earlier = {1}}}}, bad;
  assert_int_equal(device_run(r->device, r->program, &good, &err), 0);
  bad = good, bad.step[2].earlier[1] = 1;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  assert_non_null(strstr(err.message, "step 2 looks back on prediction 2"));
  bad = good, bad.step[2].noise = 0.5f;
  assert_int_equal(device_run(r->device, r->program, &bad, &err), -1);
  assert_non_null(strstr(err.message, "2 noise samples"));
  rig_close(r);
}

/* A loop of four iterations, in each of which a region adds twice the model to x where its control is on, and a step
 * adds the model to z. */
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
    }
    rig_close(r);
  }
}

/* A style that has a weight adds nothing where none of the plan's layers takes its part. */
static void a_run_does_without_styles_that_add_nothing(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct tensor q = plan_input(&r->plan, 1, 1, 2, 2, ELEMENT_DEVICE),
                y = plan_input(&r->plan, 1, 1, 2, 2, ELEMENT_DEVICE);
  struct tensor kv = plan_state(&r->plan, "kv", 2, 1, 1, 4, ELEMENT_DEVICE);
  struct op_style op = {.q = q, .k = tensor_channels(kv, 0, 2), .v = tensor_channels(kv, 2, 2), .y = y};
  op.heads = 1, op.scale = 1, op.part = STYLE_LOOK;
  plan_style(&r->plan, "style", op);
  assert_int_equal(plan_may_idle(&r->plan), IDLE_STYLES);
  assert_int_equal(run_idles(&r->plan, &r->params), IDLE_STYLES);
  r->params.style[3].weight = -1;
  r->params.style[3].part[STYLE_COMPOSITION] = 1;
  assert_int_equal(run_idles(&r->plan, &r->params), IDLE_STYLES);
  r->params.style[3].part[STYLE_LOOK] = 0.5f;
  assert_int_equal(run_idles(&r->plan, &r->params), 0);
  rig_close(r);
}

/* Of a picture in and out, and a region between that adds to it: its ops count where they run. */
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

/* Of each iteration and each latent; what no region asks for is free. */
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

/* Each run's picture is its own, and stays until it is released. */
static void two_runs_are_in_flight(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame pictures[8];
  for (int i = 0; i < 8; i++) {
    memset(r->pixels, 10 + 10 * i, sizeof r->pixels);
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    memset(r->pixels, 0, sizeof r->pixels); /* the frame belongs to the caller again */
    if (i == 0)
      continue;
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), -1);
    assert_int_equal(device_collect(r->device, r->program, &pictures[i - 1], &err), 0);
    for (int age = 1; age <= HELD && age <= i; age++)
      assert_int_equal(pictures[i - age].plane[0][0], 10 + 10 * (i - age));
    if (i >= HELD)
      frame_release(&pictures[i - HELD]);
  }
  for (int i = 8 - HELD; i < 7; i++)
    frame_release(&pictures[i]);
  rig_close(r);
}

static int run_once(struct rig *r, int value, struct frame *picture, struct error *err) {
  memset(r->pixels, value, sizeof r->pixels);
  return device_submit(r->device, r->program, &r->params, &r->frame, err) ||
                 device_collect(r->device, r->program, picture, err)
             ? -1
             : 0;
}

/* Who holds no more than it said always finds one; who holds more is told, and loses nothing. */
static void pictures_are_bounded(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame pictures[HELD + 2];
  for (int i = 0; i < HELD; i++)
    assert_int_equal(run_once(r, 10 + i, &pictures[i], &err), 0);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    assert_int_equal(device_collect(r->device, r->program, &pictures[HELD + i], &err), 0);
  assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), -1);
  assert_int_equal(err.status, STATUS_HELD);
  const struct profile_request request = {.repeats = 1};
  struct profile profile;
  assert_int_equal(device_profile(r->device, r->program, &r->params, &r->frame, &request, &profile, &err), -1);
  assert_int_equal(err.status, STATUS_HELD);
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), -1); /* nothing was started */
  for (int i = 0; i < HELD; i++)
    assert_int_equal(pictures[i].plane[0][0], 10 + i);
  frame_release(&pictures[1]);
  assert_int_equal(run_once(r, 99, &pictures[1], &err), 0);
  assert_int_equal(pictures[1].plane[0][0], 99);
  for (int i = 0; i < HELD + 2; i++)
    frame_release(&pictures[i]);
  rig_close(r);
}

/* Also beyond its program and its device, and with a run in flight that nobody waited for. */
static void a_picture_outlives_its_device(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame picture;
  assert_int_equal(run_once(r, 77, &picture, &err), 0);
  assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
  rig_close(r);
  assert_true(picture.width == W && picture.height == H && picture.pitch[0] >= 4 * W);
  for (int y = 0; y < H; y++)
    for (int x = 0; x < 4 * W; x++)
      assert_int_equal(picture.plane[0][y * picture.pitch[0] + x], x % 4 == 3 ? 255 : 77);
  frame_release(&picture);
}

static void a_run_allocates_nothing(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct device_counters before, after;
  for (int i = 0; i < 10; i++) {
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, NULL, &err), 0);
    if (i == 0) /* the rows of the source are sized by its first frame */
      device_get_counters(r->device, &before);
  }
  device_get_counters(r->device, &after);
  assert_int_equal(after.allocations, before.allocations);
  assert_int_equal(after.bytes, before.bytes);
  assert_int_equal(after.waits, before.waits + 9);
  device_release(r->device, &r->program);
  device_get_counters(r->device, &after);
  assert_true(after.bytes < before.bytes && after.peak_bytes == before.peak_bytes);
  rig_close(r);
}

/* Two inputs, of which the picture is the mean. */
static struct rig *rig_open_two(const char *name) {
  struct rig *r = rig_begin();
  struct tensor in[SOURCES_MAX];
  for (int i = 0; i < SOURCES_MAX; i++) {
    in[i] = plan_pixels_in(&r->plan, "in", (struct op_pixels_in){.scale = 1, .source = i, .y = {.h = H, .w = W}});
    r->params.geometry[i] = (struct geometry){0, 0, W, H, 0, 0, W, H};
  }
  plan_pixels_out(&r->plan, "out", (struct op_pixels_out){.scale = 1, .x = in[1], .input = in[0], .input_scale = 1});
  r->params.mix = 0.5f;
  r->frame = (struct frame){.format = PIXEL_RGBA, .width = W, .height = H, .plane = {r->pixels}, .pitch = {4 * W}};
  rig_prepare(r, name);
  return r;
}

/* Each source has a size, a format and a place of its own, and may change them with every run. */
static void a_run_reads_two_sources(void **state) {
  const char *name = *state;
  static uint8_t grey[200 * 300];
  struct rig *r = rig_open_two(name);
  struct error err = {0};
  const int widths[] = {1, 300, 2, 77};
  assert_int_equal(r->program->frames, 2);
  memset(r->pixels, 100, sizeof r->pixels);
  for (int i = 0; i < 4; i++) {
    int w = widths[i], level = 40 + 50 * i;
    struct frame picture, frames[SOURCES_MAX] = {r->frame};
    frames[1] = (struct frame){.format = PIXEL_NV12, .width = w, .height = 2, .range = RANGE_FULL};
    frames[1].plane[0] = grey, frames[1].plane[1] = grey + 2 * w;
    frames[1].pitch[0] = w, frames[1].pitch[1] = (w + 1) / 2 * 2;
    memset(grey, level, 2 * (size_t)w);
    memset(grey + 2 * w, 128, (size_t)w + 1);
    r->params.geometry[1] = (struct geometry){0, 0, (float)w, 2, 0, 0, W, H / 2};
    assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, &picture, &err), 0);
    assert_int_equal(picture.plane[0][0], (100 + level) / 2);
    assert_int_equal(picture.plane[0][(H - 1) * picture.pitch[0]], 50);
    frame_release(&picture);
  }
  rig_close(r);
}

static void the_second_source_is_checked(void **state) {
  const char *name = *state;
  struct rig *r = rig_open_two(name);
  struct error err = {0};
  struct frame frames[SOURCES_MAX] = {r->frame};
  assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), -1);
  assert_non_null(strstr(err.message, "the control source: "));
  frames[1] = r->frame;
  r->params.geometry[1].dest_w = W + 1;
  assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), -1);
  r->params.geometry[1].dest_w = W;
  assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), 0);
  rig_close(r);
}

static void the_second_source_may_be_the_only_one(void **state) {
  const char *name = *state;
  struct rig *r = rig_begin();
  struct error err = {0};
  struct frame picture, frames[SOURCES_MAX] = {{0}};
  struct op_pixels_in in = {.scale = 1, .source = 1, .y = {.h = H, .w = W}};
  plan_pixels_out(&r->plan, "out", (struct op_pixels_out){.scale = 1, .x = plan_pixels_in(&r->plan, "in", in)});
  r->params.mix = 1;
  r->params.geometry[1] = (struct geometry){0, 0, W, H, 0, 0, W, H};
  rig_prepare(r, name);
  memset(r->pixels, 123, sizeof r->pixels);
  frames[1] = (struct frame){.format = PIXEL_RGBA, .width = W, .height = H, .plane = {r->pixels}, .pitch = {4 * W}};
  assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), 0);
  assert_int_equal(device_collect(r->device, r->program, &picture, &err), 0);
  assert_int_equal(picture.plane[0][0], 123);
  frame_release(&picture);
  rig_close(r);
}

/* --- frames in a device's memory --- */

enum { SAME_GPU = 1, OTHER_GPU = 2, ODD = 1, PLACES = 6 };

/* A picture that a decoder left in a GPU's memory, the part of which this process's plays. What lies in the host's is
 * poison until it is waited for. */
struct decoded {
  struct picture base;
  uint8_t device[W * H * 8], host[W * H * 8];
};

static struct {
  int waits, recycled;
  bool broken;
} decoder;

static int make_decoded(void *opaque, struct picture *picture, struct error *err) {
  struct decoded *d = (struct decoded *)picture;
  (void)err;
  memset(d->host, 0xee, sizeof d->host);
  picture->memory = MEMORY_HOST | MEMORY_DEVICE;
  picture->gpu.uuid[0] = *(const uint8_t *)opaque;
  return 0;
}

static void destroy_decoded(struct picture *picture) {
  (void)picture;
}

static void recycle_decoded(struct picture *picture) {
  (void)picture;
  decoder.recycled++;
}

static int wait_decoded(struct picture *picture, enum memory kind, struct error *err) {
  struct decoded *d = (struct decoded *)picture;
  decoder.waits += kind == MEMORY_HOST;
  if (decoder.broken)
    return error_set(err, STATUS_DEVICE, "the decoder is gone");
  memcpy(d->host, d->device, sizeof d->host);
  return 0;
}

static bool ready_decoded(struct picture *picture, enum memory kind) {
  const struct decoded *d = (const struct decoded *)picture;
  return kind != MEMORY_HOST || !memcmp(d->host, d->device, sizeof d->host);
}

static const struct picture_owner decoded_owner = {.bytes = sizeof(struct decoded),
                                                   .make = make_decoded,
                                                   .recycle = recycle_decoded,
                                                   .destroy = destroy_decoded,
                                                   .wait = wait_decoded,
                                                   .ready = ready_decoded};

/* One with planes of this pitch. */
static struct frame take_decoded(struct picture_pool *pool, enum pixel_format format, int pitch, int value) {
  struct frame frame;
  assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
  struct decoded *d = (struct decoded *)frame.picture;
  frame.format = format;
  frame.range = RANGE_FULL;
  frame.width = W - 1;
  frame.height = H - 1;
  memset(d->device, 0x55, sizeof d->device);
  for (int i = 0; i < frame_planes(format); i++) {
    size_t at = (size_t)i * W * H * 4;
    for (int y = 0; y < frame_rows(format, i, H - 1); y++)
      for (int x = 0; x < frame_row_bytes(format, i, W - 1); x++)
        d->device[at + (size_t)y * (size_t)pitch + (size_t)x] = (uint8_t)(value + 3 * x + 5 * y);
    d->base.device_plane[i] = d->device + at;
    frame.plane[i] = d->host + at;
    frame.pitch[i] = pitch;
  }
  return frame;
}

static struct {
  const struct device_impl *real;
  struct device_impl impl;
  int in_place, later;
  bool fail_submit, fail_collect;
} fake;

/* The CPU, as a device whose memory is what a decoder's pictures lie in. */
static int fake_submit(struct device *device, struct program *program, const struct run_params *params,
                       const struct frame *frames, const struct frame *picture, struct error *err) {
  struct frame seen[SOURCES_MAX];
  for (int i = 0; i < program->frames; i++) {
    seen[i] = frames[i];
    fake.later += device_reads_later(device, &frames[i]);
    if (!device_reads_in_place(device, &frames[i]))
      continue;
    fake.in_place++;
    for (int j = 0; j < frame_planes(frames[i].format); j++)
      seen[i].plane[j] = frames[i].picture->device_plane[j];
  }
  if (fake.fail_submit)
    return error_set(err, STATUS_DEVICE, "no run today");
  return fake.real->submit(device, program, params, seen, picture, err);
}

static int fake_collect(struct device *device, struct program *program, struct error *err) {
  int status = fake.real->collect(device, program, err);
  return fake.fail_collect ? error_set(err, STATUS_DEVICE, "stopped in the middle") : status;
}

static int fake_profile(struct device *device, struct program *program, const struct run_params *params,
                        const struct frame *frames, const struct frame *picture, const struct profile_request *request,
                        struct profile *profile, struct error *err) {
  (void)picture, (void)request, (void)profile;
  return device_submit(device, program, params, frames, err) || device_collect(device, program, NULL, err) ? -1 : 0;
}

static void fake_gpu(struct rig *r) {
  fake.real = r->device->impl;
  fake.impl = *fake.real;
  fake.impl.submit = fake_submit;
  fake.impl.collect = fake_collect;
  fake.impl.profile = fake_profile;
  r->device->impl = &fake.impl;
  r->device->gpu.uuid[0] = SAME_GPU;
}

static void forget_fakes(void) {
  memset(&decoder, 0, sizeof decoder);
  memset(&fake, 0, sizeof fake);
}

static size_t brought_down(struct rig *r) {
  struct device_counters counters;
  device_get_counters(r->device, &counters);
  return counters.copied_down;
}

/* In its own memory, by way of the host's from another GPU or to the CPU, where 16-bit samples are on odd addresses as
 * well: the pictures are the same, and the host's part is asked for where it has to be, once. */
static void frames_are_read_where_they_lie(void **state) {
  (void)state;
  static const struct {
    uint8_t gpu;
    bool faked;
    enum pixel_format format;
    int pitch;
    bool in_place;
  } cases[PLACES] = {{SAME_GPU, false, PIXEL_NV12, 61, false}, {SAME_GPU, true, PIXEL_NV12, 61, true},
                     {OTHER_GPU, true, PIXEL_NV12, 61, false}, {SAME_GPU, false, PIXEL_P010, 94, false},
                     {SAME_GPU, true, PIXEL_P010, 94, true},   {SAME_GPU, true, PIXEL_P010, 94 + ODD, false}};
  struct frame pictures[PLACES];
  for (int i = 0; i < PLACES; i++) {
    struct rig *r = rig_open("cpu");
    struct picture_pool *pool;
    struct error err = {0};
    uint8_t gpu = cases[i].gpu;
    forget_fakes();
    if (cases[i].faked)
      fake_gpu(r);
    assert_int_equal(picture_pool_open(&pool, &decoded_owner, &gpu, 1, 1, NULL), 0);
    struct frame frame = take_decoded(pool, cases[i].format, cases[i].pitch, 40);
    r->params.geometry[0] = (struct geometry){0, 0, W - 1, H - 1, 0, 0, W, H};
    assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, &pictures[i], &err), 0);
    assert_int_equal(fake.in_place, cases[i].in_place);
    assert_int_equal(decoder.waits, !cases[i].in_place);
    assert_true(brought_down(r) == (cases[i].in_place ? 0 : frame_bytes(&frame)));
    frame_release(&frame);
    assert_int_equal(decoder.recycled, 1);
    picture_pool_close(&pool);
    rig_close(r);
    const struct frame *same = &pictures[i < 3 ? 0 : 3];
    for (int y = 0; y < H; y++)
      assert_memory_equal(pictures[i].plane[0] + y * pictures[i].pitch[0], same->plane[0] + y * same->pitch[0], 4 * W);
  }
  assert_memory_not_equal(pictures[0].plane[0], pictures[3].plane[0], 4 * W);
  for (int i = 0; i < PLACES; i++)
    frame_release(&pictures[i]);
}

/* The caller's hold may end at once: the frame goes back when its own run is collected, whether that succeeds or not,
 * when the program is released, and at once where nothing was started. Each run ends its own frames' holds. */
static void frames_are_held_until_they_are_read(void **state) {
  const char *name = *state;
  struct rig *r = rig_open_two(name);
  struct picture_pool *pool;
  struct error err = {0};
  struct profile profile;
  uint8_t gpu = SAME_GPU;
  forget_fakes();
  fake_gpu(r);
  assert_int_equal(picture_pool_open(&pool, &decoded_owner, &gpu, 0, 0, NULL), 0);
  struct frame frames[2][SOURCES_MAX];
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < SOURCES_MAX; j++)
      frames[i][j] = take_decoded(pool, PIXEL_NV12, 61, i + j);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(device_submit(r->device, r->program, &r->params, frames[i], &err), 0);
    for (int j = 0; j < SOURCES_MAX; j++)
      frame_release(&frames[i][j]);
  }
  assert_int_equal(decoder.recycled, 0);
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), 0);
  assert_int_equal(decoder.recycled, 2);
  fake.fail_collect = true;
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), -1);
  assert_int_equal(decoder.recycled, 4);
  fake.fail_collect = false;
  for (int j = 0; j < SOURCES_MAX; j++)
    frames[0][j] = take_decoded(pool, PIXEL_NV12, 61, j);
  fake.fail_submit = true;
  assert_int_equal(device_submit(r->device, r->program, &r->params, frames[0], &err), -1);
  fake.fail_submit = false;
  assert_int_equal(frames[0][0].picture->holds, 1);
  const struct profile_request request = {.repeats = 1};
  if (device_profile(r->device, r->program, &r->params, frames[0], &request, &profile, &err) < 0)
    fail_msg("%s", err.message);
  profile_free(&profile);
  assert_int_equal(frames[0][0].picture->holds, 1);
  for (int i = 0; i < 2; i++)
    assert_int_equal(device_submit(r->device, r->program, &r->params, frames[0], &err), 0);
  assert_int_equal(frames[0][1].picture->holds, 3);
  device_release(r->device, &r->program);
  assert_int_equal(frames[0][1].picture->holds, 1);
  assert_int_equal(decoder.waits, 0);
  for (int j = 0; j < SOURCES_MAX; j++)
    frame_release(&frames[0][j]);
  picture_pool_close(&pool);
  rig_close(r);
}

/* What a GPU copies by itself is held as well; the CPU has read it when submit returns. */
static void pinned_frames_are_held_for_a_gpu(void **state) {
  (void)state;
  struct host_pictures pictures = {.gpu = {.impl = &played_gpu}};
  struct error err = {0};
  struct frame frame;
  assert_int_equal(host_pictures_take(&pictures, PIXEL_RGBA, W, H, &frame, &err), 0);
  memset(frame_plane(&frame, 0), 7, (size_t)frame.pitch[0] * H);
  for (int faked = 0; faked < 2; faked++) {
    struct rig *r = rig_open("cpu");
    struct frame plain = r->frame;
    forget_fakes();
    if (faked)
      fake_gpu(r);
    assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), 0);
    assert_int_equal(frame.picture->holds, 1 + faked);
    assert_int_equal(device_submit(r->device, r->program, &r->params, &plain, &err), 0);
    assert_true(fake.later == faked && fake.in_place == 0);
    rig_close(r);
    assert_int_equal(frame.picture->holds, 1);
  }
  frame_release(&frame);
  host_pictures_free(&pictures);
}

/* A picture that cannot come to the host is said so, and planes that are missing there are none of the host's. */
static void device_frames_are_checked(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct picture_pool *pool;
  struct error err = {0};
  uint8_t gpu = SAME_GPU;
  forget_fakes();
  assert_int_equal(picture_pool_open(&pool, &decoded_owner, &gpu, 1, 1, NULL), 0);
  struct frame frame = take_decoded(pool, PIXEL_NV12, 61, 0);
  decoder.broken = true;
  assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), -1);
  assert_string_equal(err.message, "the decoder is gone");
  fake_gpu(r);
  frame.picture->device_plane[1] = NULL;
  assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), -1);
  assert_non_null(strstr(err.message, "plane 1 is missing"));
  frame.picture->device_plane[1] = frame.picture->device_plane[0];
  frame.pitch[0] = W - 2;
  assert_int_equal(device_submit(r->device, r->program, &r->params, &frame, &err), -1);
  assert_non_null(strstr(err.message, "rows of"));
  frame_release(&frame);
  picture_pool_close(&pool);
  rig_close(r);
}

/* A frame that is there only later takes no more room than the others. */
static void a_late_source_allocates_nothing(void **state) {
  const char *name = *state;
  struct rig *r = rig_open_two(name);
  struct error err = {0};
  struct device_counters before, after;
  uint8_t black[4] = {0};
  struct frame frames[SOURCES_MAX] = {r->frame,
                                      {.format = PIXEL_RGBA, .width = 1, .height = 1, .plane = {black}, .pitch = {4}}};
  for (int i = 0; i < 4; i++) {
    assert_int_equal(device_submit(r->device, r->program, &r->params, frames, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, NULL, &err), 0);
    if (i == 0)
      device_get_counters(r->device, &before);
    frames[1] = r->frame;
  }
  device_get_counters(r->device, &after);
  assert_int_equal(after.allocations, before.allocations);
  rig_close(r);
}

static void memory_beyond_the_limit_is_refused(void **state) {
  (void)state;
  struct rig *r = rig_begin();
  struct error err = {0};
  struct device_counters counters;
  rig_plan(r);
  assert_int_equal(plan_finish(&r->plan, &err), 0);
  assert_int_equal(
      device_open(&r->device, &r->resources, &(struct device_options){.name = "cpu", .memory_limit = 4096}, &err), 0);
  assert_int_equal(device_prepare(r->device, &r->program, &r->plan, &(struct program_options){PIXEL_RGBA}, &err), -1);
  assert_int_equal(err.status, STATUS_DEVICE);
  assert_null(r->program);
  device_get_counters(r->device, &counters);
  assert_true(counters.peak_bytes <= 4096);
  rig_close(r);
}

/* A plan of two 512x512 tensors, 3 MB each, whose picture is 1 MB. */
static void plan_large(struct plan *plan, struct resources *resources) {
  struct error err = {0};
  plan_init(plan, resources);
  struct tensor x = plan_pixels_in(plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = 512, .w = 512}});
  x = plan_norm(plan, "act", (struct op_norm){.x = x, .prologue.act = ACT_RELU});
  plan_pixels_out(plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
  assert_int_equal(plan_finish(plan, &err), 0);
}

/* The device's three pictures count, and those of a program that finds no room are given back. */
static void pictures_count_as_memory(void **state) {
  (void)state;
  const struct {
    size_t limit;
    const char *what; /* finds no room; NULL: nothing */
  } cases[] = {{5u << 20, "working memory"}, {8u << 20, "output pictures"}, {10u << 20, NULL}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    struct rig *r = rig_begin();
    struct device_options options = {.name = "cpu:plain", .memory_limit = cases[i].limit, .pictures = 1};
    struct program_options wish = {.output = PIXEL_RGBA};
    struct device_counters before, after;
    struct program *program;
    struct plan large;
    struct error err = {0};
    rig_plan(r);
    plan_large(&large, &r->resources);
    assert_int_equal(plan_finish(&r->plan, &err), 0);
    assert_int_equal(device_open(&r->device, &r->resources, &options, &err), 0);
    assert_int_equal(device_prepare(r->device, &r->program, &r->plan, &wish, &err), 0);
    device_get_counters(r->device, &before);
    assert_int_equal(device_prepare(r->device, &program, &large, &wish, &err), cases[i].what ? -1 : 0);
    device_get_counters(r->device, &after);
    if (cases[i].what) {
      assert_int_equal(err.status, STATUS_DEVICE);
      assert_non_null(strstr(err.message, cases[i].what));
      assert_null(program);
      assert_int_equal(after.bytes, before.bytes);
    } else {
      assert_true(after.bytes > 9u << 20 && after.bytes <= cases[i].limit);
    }
    device_release(r->device, &program);
    plan_free(&large);
    rig_close(r);
  }
}

static void a_changed_weight_takes_effect(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame picture;
  int index = resources_find(&r->resources, "copy");
  float half[3 * 9 * 3] = {0}; /* on the device: [out][kh][kw][in] */
  for (int c = 0; c < 3; c++)
    half[(c * 9 + 4) * 3 + c] = 0.5f;
  struct weight_change change = {index, 0, 3, half};
  memset(r->pixels, 200, sizeof r->pixels);
  for (int i = 0; i < 2; i++) {
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, &picture, &err), 0);
    assert_int_equal(picture.plane[0][0], i ? 100 : 200);
    frame_release(&picture);
    assert_int_equal(device_update(r->device, &change, 1, &err), 0);
  }
  rig_close(r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_device_is_chosen_by_name),
      cmocka_unit_test(only_cuda_names_a_gpu),
      cmocka_unit_test(bfloat16_falls_back),
      cmocka_unit_test(a_device_describes_itself),
      cmocka_unit_test(wrong_arguments_are_refused),
      cmocka_unit_test(tokens_slots_and_timesteps_are_checked),
      cmocka_unit_test(iterations_are_checked),
      cmocka_unit_test(a_region_runs_where_its_value_is_not_0),
      cmocka_unit_test(a_run_does_without_styles_that_add_nothing),
      cmocka_unit_test(a_profile_counts_what_runs),
      cmocka_unit_test(values_of_regions_are_checked),
      cmocka_unit_test(two_runs_are_in_flight),
      cmocka_unit_test(pictures_are_bounded),
      cmocka_unit_test(a_picture_outlives_its_device),
      cmocka_unit_test(a_run_allocates_nothing),
      cmocka_unit_test_prestate(a_run_reads_two_sources, "cpu"),
      cmocka_unit_test_prestate(the_second_source_is_checked, "cpu"),
      cmocka_unit_test_prestate(the_second_source_may_be_the_only_one, "cpu"),
      cmocka_unit_test_prestate(a_late_source_allocates_nothing, "cpu"),
      cmocka_unit_test(frames_are_read_where_they_lie),
      cmocka_unit_test_prestate(frames_are_held_until_they_are_read, "cpu"),
      cmocka_unit_test(pinned_frames_are_held_for_a_gpu),
      cmocka_unit_test(device_frames_are_checked),
      cmocka_unit_test(memory_beyond_the_limit_is_refused),
      cmocka_unit_test(pictures_count_as_memory),
      cmocka_unit_test(a_changed_weight_takes_effect),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
