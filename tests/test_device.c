/* Tests the device interface: choice of the device, arguments, runs in flight, memory. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "unet/base/picture.h"
#include "unet/devices.h"
#include "tests/rigs/device_rig.h"

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

/* Names of other devices, and of GPUs that are not there, find no GPU. */
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

/* If a device lacks BF16, one line says so and FP32 is used. */
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
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), -1); /* none of the calls above started a run */
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
  for (int i = 0; i < 5; i++) /* none of these runs is collected */
    assert_int_equal(device_start(r->device, r->program, &good, &err), 0);
  bad = good, bad.step[2].timestep = TIMESTEPS; /* no op reads this value, so it is not checked */
  assert_int_equal(device_run(r->device, r->program, &bad, &err), 0);
  assert_int_equal(device_run(r->device, r->program, &good, &err), 0);
  rig_close(r);
}

/* The values of each of a loop's iterations are checked. */
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

/* Each run has a picture of its own, which stays unchanged until it is released. */
static void two_runs_are_in_flight(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame pictures[8];
  for (int i = 0; i < 8; i++) {
    memset(r->pixels, 10 + 10 * i, sizeof r->pixels);
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    /* the device has read the frame, so its memory belongs to the caller again */
    memset(r->pixels, 0, sizeof r->pixels);
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

/* A caller that holds no more pictures than it announced always gets one. A caller that holds more gets an error, and
 * loses no run. */
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
  assert_int_equal(device_collect(r->device, r->program, NULL, &err), -1); /* no run was started */
  for (int i = 0; i < HELD; i++)
    assert_int_equal(pictures[i].plane[0][0], 10 + i);
  frame_release(&pictures[1]);
  assert_int_equal(run_once(r, 99, &pictures[1], &err), 0);
  assert_int_equal(pictures[1].plane[0][0], 99);
  for (int i = 0; i < HELD + 2; i++)
    frame_release(&pictures[i]);
  rig_close(r);
}

/* A picture stays valid after its program and device are closed, also if a run was in flight that nobody collected. */
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
    if (i == 0) /* the first frame's size decides how much memory the source's rows take */
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

/* The device's three pictures count as memory; if a program does not fit, its pictures are freed. */
static void pictures_count_as_memory(void **state) {
  (void)state;
  const struct {
    size_t limit;
    const char *what; /* the memory that does not fit; NULL: all fits */
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

/* A cancel function for the device: returns true from call number *opaque on, counted from 0. */
static bool gives_up(void *opaque) {
  int *left = opaque;
  return (*left)-- <= 0;
}

/* Opening, preparing and submitting can be cancelled at every op. */
static void what_is_given_up_ends(void **state) {
  (void)state;
  static const char *const names[] = {"cpu", "cpu:plain"};
  for (int i = 0; i < 2; i++) {
    struct rig *r = rig_begin();
    int left = 1000, asked, prepared = 0, ran = 0;
    struct device_options options = {.name = names[i], .gives_up = gives_up, .gives_up_opaque = &left};
    const struct program_options wish = {.output = PIXEL_RGBA};
    struct device_counters before, after;
    struct error err = {0};
    rig_plan(r);
    assert_int_equal(plan_finish(&r->plan, &err), 0);
    for (asked = 0; !prepared; asked++) {
      assert_int_equal(device_open(&r->device, &r->resources, &options, &err), 0);
      left = asked;
      prepared = !device_prepare(r->device, &r->program, &r->plan, &wish, &err);
      assert_true(prepared == (r->program != NULL) && (prepared || err.status == STATUS_INTERRUPTED));
      if (!prepared)
        device_close(&r->device);
    }
    assert_true(asked > r->plan.op_count); /* cancelling is also possible between ops and at allocations */
    left = 1000;                           /* for the first frame, which allocates memory */
    assert_int_equal(device_submit(r->device, r->program, &r->params, &r->frame, &err), 0);
    assert_int_equal(device_collect(r->device, r->program, NULL, &err), 0);
    for (asked = 0; !ran; asked++) {
      left = asked;
      device_get_counters(r->device, &before);
      ran = !device_submit(r->device, r->program, &r->params, &r->frame, &err);
      device_get_counters(r->device, &after);
      assert_int_equal(after.launches - before.launches, asked);
      assert_true(ran || err.status == STATUS_INTERRUPTED);
    }
    assert_int_equal(asked, r->plan.op_count + 1);
    left = 1000;
    assert_int_equal(device_collect(r->device, r->program, NULL, &err), 0);
    rig_close(r);
  }
}

static void a_changed_weight_takes_effect(void **state) {
  (void)state;
  struct rig *r = rig_open("cpu");
  struct error err = {0};
  struct frame picture;
  int index = resources_find(&r->resources, "copy");
  float half[3 * 9 * 3] = {0}; /* layout on the device: [out][kh][kw][in] */
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
      cmocka_unit_test(a_device_is_chosen_by_name),  cmocka_unit_test(only_cuda_names_a_gpu),
      cmocka_unit_test(bfloat16_falls_back),         cmocka_unit_test(a_device_describes_itself),
      cmocka_unit_test(wrong_arguments_are_refused), cmocka_unit_test(tokens_slots_and_timesteps_are_checked),
      cmocka_unit_test(iterations_are_checked),      cmocka_unit_test(two_runs_are_in_flight),
      cmocka_unit_test(pictures_are_bounded),        cmocka_unit_test(a_picture_outlives_its_device),
      cmocka_unit_test(a_run_allocates_nothing),     cmocka_unit_test(memory_beyond_the_limit_is_refused),
      cmocka_unit_test(pictures_count_as_memory),    cmocka_unit_test(a_changed_weight_takes_effect),
      cmocka_unit_test(what_is_given_up_ends),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
