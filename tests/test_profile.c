/* Tests profiles: values computed from a plan's shapes, estimates from measurements, and measurements of the CPU
 * device. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <string.h>

#include "unet/base/picture.h"
#include "unet/devices.h"

enum { W = 24, H = 16, C = 8, TEMPORARIES = 16 };

static bool near(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b));
}

struct rig {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  uint8_t pixels[W * H * 4];
  struct frame frame;
  struct error err;
};

static struct tensor weight(struct rig *rig, const char *name, int out, int k, int in) {
  static float data[3 * 3 * 16 * 16];
  struct weight_part part = {data, DTYPE_F32, out};
  return resources_weight(&rig->resources, name, out, k, k, in, &part, 1, &rig->err);
}

/* A plan: pixels in, a 3x3 convolution, a linear layer in a loop of three iterations, pixels out. */
static void rig_open(struct rig *rig, const char *device) {
  *rig = (struct rig){.params = {.mix = 1, .geometry = {{0, 0, W, H, 0, 0, W, H}}},
                      .frame = {.format = PIXEL_RGBA, .width = W, .height = H, .pitch = {4 * W}}};
  struct plan *plan = &rig->plan;
  plan_init(plan, &rig->resources);
  struct tensor x = plan_pixels_in(plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = H, .w = W}});
  struct tensor noise = resources_state(&rig->resources, "noise", 5, H, W, C, ELEMENT_PRECISE, &rig->err);
  x = plan_conv(plan, "vae.conv",
                (struct op_conv){.x = x, .weight = weight(rig, "conv", C, 3, 3), .stride = 1, .pad = 1});
  x = plan_start(plan, "start", (struct op_start){.z = x, .noise = noise});
  plan_loop_begin(plan, 3);
  struct tensor input = plan_unet_input(plan, "input", (struct op_unet_input){.x = x, .y.n = 1});
  struct tensor y = plan_linear(plan, "unet.fc", (struct op_linear){.x = input, .weight = weight(rig, "fc", C, 1, C)});
  plan_step(plan, "step", (struct op_step){.x = x, .model = y, .noise = noise});
  plan_loop_end(plan);
  x = plan_conv(plan, "vae.out", (struct op_conv){.x = x, .weight = weight(rig, "out", 3, 1, C), .stride = 1});
  plan_pixels_out(plan, "out", (struct op_pixels_out){.scale = 1, .x = x});
  if (plan_finish(plan, &rig->err) < 0 ||
      device_open(&rig->device, &rig->resources, &(struct device_options){.name = device}, &rig->err) < 0 ||
      device_prepare(rig->device, &rig->program, plan, &(struct program_options){PIXEL_RGBA}, &rig->err) < 0)
    fail_msg("%s", rig->err.message);
  rig->frame.plane[0] = rig->pixels;
}

static void rig_close(struct rig *rig) {
  device_release(rig->device, &rig->program);
  device_close(&rig->device);
  plan_free(&rig->plan);
  resources_free(&rig->resources);
}

static const struct profile_row *find(const struct profile *profile, const char *name) {
  for (int i = 0; i < profile->count; i++)
    if (!strcmp(profile->rows[i].name, name))
      return &profile->rows[i];
  fail_msg("there is no row %s", name);
  return NULL;
}

static void the_middle_forgets_outliers(void **state) {
  (void)state;
  double values[] = {1e6, 10, 11, 9, 12, 8, 10, -1e6}, one[] = {7}, spread;
  assert_true(near(profile_middle(values, 8, &spread), 10));
  assert_true(near(spread, 2 / sqrt(8)));
  assert_true(near(profile_middle(one, 1, NULL), 7));
  assert_true(profile_middle(NULL, 0, &spread) == 0 && spread == 0);
}

/* Returns the element types of a device that computes in this type. */
static const struct element *elements_of(const struct plan *plan, enum dtype type, struct element *temporaries) {
  assert_true(plan->temporary_count <= TEMPORARIES);
  for (int i = 0; i < plan->temporary_count; i++)
    temporaries[i] = element_of(plan->temporaries[i].demand == ELEMENT_PRECISE ? DTYPE_F32 : type);
  return temporaries;
}

/* The shortest possible time of an op is the largest of the times for arithmetic, weights and activations. */
static void rows_follow_from_the_plan(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  struct element temporaries[TEMPORARIES];
  rig_open(&rig, "cpu");
  assert_int_equal(profile_init(&profile, rig.plan.op_count), 0);
  profile.roof = (struct profile_roof){.flops = 1e12, .memory = 1e9, .cache = 1e12, .element = 2};
  profile_describe(&profile, &rig.plan, elements_of(&rig.plan, DTYPE_F16, temporaries));
  const struct profile_row *conv = find(&profile, "vae.conv"), *fc = find(&profile, "unet.fc");
  assert_string_equal(conv->kind, "conv3x3");
  assert_string_equal(conv->part, "vae");
  assert_string_equal(find(&profile, "in")->part, "frame");
  assert_string_equal(conv->shape, "16x24x3 to 8");
  assert_string_equal(fc->shape, "384 x 8 to 8");
  assert_int_equal(conv->level, W * H);
  assert_int_equal(conv->runs, 1);
  assert_int_equal(fc->runs, 3);
  assert_true(near(conv->flops, 2.0 * W * H * C * 27));
  assert_true(near(conv->weight_bytes, 2.0 * C * 27));
  assert_true(near(conv->activation_bytes, 2.0 * W * H * (3 + C)));
  assert_true(near(conv->floor_us, conv->weight_bytes / 1e9 * 1e6)); /* memory is slow here, so the weights decide */
  /* Of five noise samples one is read; latents are FP32 in every precision. */
  assert_true(near(find(&profile, "start")->weight_bytes, 2.0 * W * H * C));
  assert_true(near(find(&profile, "step")->activation_bytes, (2.0 + 4 + 4) * W * H * C));
  profile.roof = (struct profile_roof){.flops = 1e9, .memory = 1e12, .cache = 1e12, .element = 4};
  profile_describe(&profile, &rig.plan, elements_of(&rig.plan, DTYPE_F32, temporaries));
  assert_true(near(conv->floor_us, conv->flops / 1e9 * 1e6));
  assert_true(near(conv->weight_bytes, 4.0 * C * 27));
  profile.roof = (struct profile_roof){.element = 4};
  profile_describe(&profile, &rig.plan, temporaries);
  assert_true(conv->floor_us == 0);
  profile_free(&profile);
  rig_close(&rig);
}

static void check_measured(const struct rig *rig, const struct profile *profile, int repeats) {
  double sum = 0;
  assert_int_equal(profile->count, rig->plan.op_count);
  assert_int_equal(profile->repeats, repeats);
  for (int i = 0; i < profile->count; i++) {
    const struct profile_row *row = &profile->rows[i];
    assert_string_equal(row->name, rig->plan.ops[i].name);
    assert_true(row->us >= 0 && row->us < 1e7 && row->spread_us >= 0);
    assert_true(*row->way && row->launch_count == 1);
    assert_true(row->launches[0].us == row->us);
    sum += row->us;
  }
  assert_true(sum > 0 && profile->frame_us > 0);
}

static void the_cpu_measures_each_op(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  const struct profile_request request = {.repeats = 4};
  rig_open(&rig, "cpu:plain");
  struct run_params bad = rig.params;
  bad.geometry[0].dest_w = W + 1;
  assert_int_equal(device_profile(rig.device, rig.program, &bad, &rig.frame, &request, &profile, &rig.err), -1);
  assert_null(profile.rows);
  assert_int_equal(device_profile(rig.device, rig.program, &rig.params, &rig.frame, &request, &profile, &rig.err), 0);
  check_measured(&rig, &profile, 4);
  assert_string_equal(profile.rows[0].way, "plain");
  assert_string_equal(find(&profile, "in")->shape, "24x16 rgba to 24x16");
  profile_free(&profile);
  /* A frame of another format and larger size, of which the middle third is used. */
  static uint8_t samples[6 * W * H];
  rig.frame = (struct frame){.format = PIXEL_P010,
                             .width = 2 * W,
                             .height = H,
                             .plane = {samples, samples + 4 * W * H},
                             .pitch = {4 * W, 4 * W}};
  struct geometry *g = &rig.params.geometry[0];
  g->source_x = g->source_w = 2 * W / 3;
  assert_int_equal(device_profile(rig.device, rig.program, &rig.params, &rig.frame, &request, &profile, &rig.err), 0);
  assert_string_equal(find(&profile, "in")->shape, "48x16 p010 to 24x16");
  assert_true(near(find(&profile, "in")->activation_bytes, 6.0 * W * H / 3 + 4.0 * 3 * W * H));
  profile_free(&profile);
  rig_close(&rig);
}

/* After a profile frames are made as before. */
static void a_profile_leaves_the_program_as_it_was(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  struct frame picture;
  rig_open(&rig, "cpu");
  for (int i = 0; i < W * H * 4; i++)
    rig.pixels[i] = (uint8_t)(i * 7);
  const struct profile_request request = {.repeats = 3};
  for (int i = 0; i < 3; i++) {
    static uint8_t first[W * 4];
    assert_int_equal(device_submit(rig.device, rig.program, &rig.params, &rig.frame, &rig.err), 0);
    assert_int_equal(device_profile(rig.device, rig.program, &rig.params, &rig.frame, &request, &profile, &rig.err),
                     -1); /* refused while a run is in flight */
    assert_int_equal(device_collect(rig.device, rig.program, &picture, &rig.err), 0);
    if (i == 0)
      memcpy(first, picture.plane[0], sizeof first);
    assert_memory_equal(first, picture.plane[0], sizeof first);
    frame_release(&picture);
    assert_int_equal(device_profile(rig.device, rig.program, &rig.params, &rig.frame, &request, &profile, &rig.err), 0);
    profile_free(&profile);
  }
  rig_close(&rig);
}

static bool always(void) {
  return true;
}

static void a_profile_can_be_stopped(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  const struct profile_request request = {.seconds = 1000, .stop = always};
  rig_open(&rig, "cpu");
  assert_int_equal(device_profile(rig.device, rig.program, &rig.params, &rig.frame, &request, &profile, &rig.err), -1);
  assert_int_equal(rig.err.status, STATUS_INTERRUPTED);
  assert_null(profile.rows);
  rig_close(&rig);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(the_middle_forgets_outliers), cmocka_unit_test(rows_follow_from_the_plan),
      cmocka_unit_test(the_cpu_measures_each_op),    cmocka_unit_test(a_profile_leaves_the_program_as_it_was),
      cmocka_unit_test(a_profile_can_be_stopped),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
