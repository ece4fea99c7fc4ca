/* Tests the whole CUDA device: captured graphs, frames in flight, memory, errors. Without a GPU the test checks that
 * the device says so in one line and that "auto" uses the CPU, and is then skipped.
 *
 *   test_cuda [PATTERN]      only the tests whose names match */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/rigs/cmocka_all.h"
#include "cuda/cuda_device.h"
#include "cuda/ways/tuner.h"
#include "unet/base/picture.h"
#include "unet/devices.h"
#include "tests/rigs/fixture.h"
#include "tests/gpu/cuda_rig.h"
#include "tests/rigs/faulty_kernel.h"
#include "tests/rigs/resident.h"

static void test_replay_is_direct_execution(void **state) {
  (void)state;
  static uint8_t replayed[2][SIDE * SIDE * 4], direct[2][SIDE * SIDE * 4];
  char *folder = fixture_make(); /* folder of tuning results, so that both devices choose the same kernels */
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
  for (int i = 0; i < 2; i++)
    one_frame(&rig, i, replayed[i]);
  rig_close(&rig);
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder, .graph = GRAPH_OFF});
  for (int i = 0; i < 2; i++)
    one_frame(&rig, i, direct[i]);
  rig_close(&rig);
  fixture_remove(folder);
  assert_memory_equal(replayed[0], direct[0], sizeof direct[0]);
  assert_memory_equal(replayed[1], direct[1], sizeof direct[1]);
  assert_memory_not_equal(replayed[0], replayed[1], sizeof replayed[0]);
}

static void test_two_in_flight(void **state) {
  (void)state;
  static uint8_t alone[4][SIDE * SIDE * 4], paired[4][SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  for (int i = 0; i < 4; i++)
    one_frame(&rig, i, alone[i]);
  submit(&rig, 0);
  for (int i = 1; i < 4; i++) {
    submit(&rig, i);
    collect(&rig, paired[i - 1]);
  }
  collect(&rig, paired[3]);
  rig_close(&rig);
  for (int i = 0; i < 4; i++)
    assert_memory_equal(alone[i], paired[i], sizeof alone[i]);
}

/* A picture is the mean of two source frames, of which the second one grows, with two runs in flight. */
static void test_two_sources(void **state) {
  (void)state;
  enum { RUNS = 6, LARGEST = 2 * SIDE };
  static uint8_t pictures[2][RUNS][SIDE * SIDE * 4], second[LARGEST * LARGEST * 4];
  struct rig rig = {.net.random = 1};
  struct plan *plan = &rig.net.plan;
  struct run_params run = params;
  struct tensor in[SOURCES_MAX];
  struct device_counters counters[RUNS];
  plan_init(plan, &rig.net.resources);
  for (int i = 0; i < SOURCES_MAX; i++)
    in[i] = plan_pixels_in(plan, "in", (struct op_pixels_in){.scale = 1, .source = i, .y = {.h = SIDE, .w = SIDE}});
  plan_pixels_out(plan, "out", (struct op_pixels_out){.scale = 1, .x = in[1], .input = in[0], .input_scale = 1});
  run.mix = 0.5f;
  must(&rig, plan_finish(plan, &rig.err));
  must(&rig, device_open(&rig.device, &rig.net.resources, &(struct device_options){.name = "cuda"}, &rig.err));
  must(&rig, device_prepare(rig.device, &rig.program, plan, &(struct program_options){PIXEL_RGBA}, &rig.err));
  for (int depth = 1; depth <= 2; depth++) {
    for (int i = 0; i < RUNS; i++) {
      int side = i % 3 == 2 ? LARGEST : 1 + i;
      struct frame frames[SOURCES_MAX] = {make_frame(i)};
      memset(second, 20 * i, sizeof second);
      frames[1] =
          (struct frame){.format = PIXEL_RGBA, .width = side, .height = side, .plane = {second}, .pitch = {side * 4}};
      run.geometry[1] = (struct geometry){0, 0, (float)side, (float)side, 0, 0, SIDE, SIDE};
      must(&rig, device_submit(rig.device, rig.program, &run, frames, &rig.err));
      if (i >= depth - 1)
        collect(&rig, pictures[depth - 1][i - depth + 1]);
      device_get_counters(rig.device, &counters[i]);
      if (depth == 1 && i == 1) /* the first allocation suffices for a second frame of the same size as the first one */
        assert_int_equal(counters[0].allocations, counters[1].allocations);
    }
    if (depth == 2)
      collect(&rig, pictures[1][RUNS - 1]);
  }
  /* the last runs had sizes that were seen before, so they allocated nothing */
  assert_int_equal(counters[0].allocations, counters[RUNS - 1].allocations);
  for (int i = 0; i < RUNS; i++) {
    make_frame(i);
    for (int j = 0; j < SIDE * SIDE * 4; j++) { /* input is BGRA, output RGBA */
      int from = j % 4 == 3 ? j : j / 4 * 4 + 2 - j % 4, mean = j % 4 == 3 ? 255 : (source[from] + 20 * i + 1) / 2;
      assert_in_range(pictures[0][i][j], mean ? mean - 1 : 0, mean);
    }
    assert_memory_equal(pictures[0][i], pictures[1][i], sizeof pictures[0][i]);
  }
  rig_close(&rig);
}

/* Many frames: no run allocates memory, and equal frames give equal pictures. */
static void test_many_frames(void **state) {
  (void)state;
  enum { KINDS = 4, WARM = 200 };
  static uint8_t first[KINDS][SIDE * SIDE * 4], picture[SIDE * SIDE * 4];
  struct device_counters before = {0}, after;
  long resident = 0;
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  for (int i = 0; i < KINDS; i++)
    one_frame(&rig, i, first[i]);
  for (int i = 0; i < WARM + FRAMES; i++) {
    if (i == WARM) {
      device_get_counters(rig.device, &before);
      resident = resident_kb();
    }
    one_frame(&rig, i % KINDS, picture);
    assert_memory_equal(picture, first[i % KINDS], sizeof picture);
  }
  long grown = resident_kb() - resident;
  device_get_counters(rig.device, &after);
  rig_close(&rig);
  assert_memory_not_equal(first[0], first[1], sizeof picture);
  print_message("  %d frames: resident memory grew by %ld KiB\n", FRAMES, grown);
  assert_true(grown <= 256);
  assert_int_equal(after.allocations, before.allocations);
  assert_int_equal(after.captures, before.captures);
  assert_int_equal(after.bytes, before.bytes);
  assert_int_equal(after.launches - before.launches, FRAMES);
  assert_int_equal(after.waits - before.waits, FRAMES);
  assert_true(after.run_ms > 0 && after.run_ms < 1000);
}

static void test_memory_limit(void **state) {
  (void)state;
  struct device_options options = {.name = "cuda", .memory_limit = 8 << 20};
  struct net net;
  struct device *device;
  struct program *program;
  struct error err = {0};
  net_init(&net);
  assert_int_equal(device_open(&device, &net.resources, &options, &err), -1);
  assert_one_line(&err, "allowed");
  options.memory_limit = 66 << 20; /* enough memory to open the device, but not for the program */
  assert_int_equal(device_open(&device, &net.resources, &options, &err), 0);
  assert_int_equal(device_prepare(device, &program, &net.plan, &(struct program_options){PIXEL_RGBA}, &err), -1);
  assert_one_line(&err, "allowed");
  device_close(&device);
  net_free(&net);
}

/* A region between a network's input and output, inside a loop of three iterations and outside it: its values change
 * from run to run, and the graph stays. */
static void test_regions_follow_the_run(void **state) {
  (void)state;
  static const int cases[][4] = {{0, 0, 0, 0}, {1, 0, 1, 0}, {0, 1, 0, 1}, {1, 1, 1, 1}, {0, 0, 0, 1}, {0, 0, 0, 0}};
  struct net net = {.random = 1};
  struct device *device;
  struct program *program;
  struct error err;
  for (int graph = 0; graph < 2; graph++) {
    plan_init(&net.plan, &net.resources);
    struct tensor x = plan_input(&net.plan, 1, 8, 8, 64, ELEMENT_PRECISE),
                  model = plan_input(&net.plan, 1, 8, 8, 64, ELEMENT_PRECISE);
    plan_loop_begin(&net.plan, 3);
    plan_region_begin(&net.plan, (struct region_when){REGION_CONTROL, 3, .step = 7});
    struct tensor twice = plan_affine(&net.plan, "twice", (struct op_affine){.x = model, .scale = 2});
    plan_step(&net.plan, "add", (struct op_step){.x = x, .model = twice});
    plan_region_end(&net.plan);
    plan_step(&net.plan, "step", (struct op_step){.x = x, .model = model});
    plan_loop_end(&net.plan);
    plan_region_begin(&net.plan, (struct region_when){REGION_MAP, 1});
    plan_step(&net.plan, "map", (struct op_step){.x = x, .model = model});
    plan_region_end(&net.plan);
    assert_int_equal(plan_finish(&net.plan, &err), 0);
    const struct device_options options = {.name = "cuda", .graph = graph ? GRAPH_ON : GRAPH_OFF};
    if (device_open(&device, &net.resources, &options, &err) < 0 ||
        device_prepare(device, &program, &net.plan, &(struct program_options){PIXEL_RGBA}, &err) < 0)
      fail_msg("%s", err.message);
    struct device_counters before, after;
    device_get_counters(device, &before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
      struct run_params run = {.control[1].map = cases[i][3]};
      float value, ones[64 * 64], zeros[64 * 64] = {0}, sum = 3;
      for (int j = 0; j < 64 * 64; j++)
        ones[j] = 1;
      for (int s = 0; s < 3; s++) {
        run.step[s] = (struct step_params){.x = 1, .model = 1};
        run.control[3].gain[7 + s] = cases[i][s] ? -0.25f : 0;
        sum += 2 * (float)cases[i][s];
      }
      if (device_poison(device, program, &err) < 0 || device_write(device, program, x, 0, zeros, 64 * 64, &err) < 0 ||
          device_write(device, program, model, 0, ones, 64 * 64, &err) < 0 ||
          device_run(device, program, &run, &err) < 0 || device_read(device, program, x, 77, &value, 1, &err) < 0)
        fail_msg("%s", err.message);
      assert_true(value == sum + (float)cases[i][3]);
    }
    device_get_counters(device, &after);
    assert_int_equal(after.captures, before.captures);
    assert_int_equal(after.launches - before.launches, graph ? 6 : 6 * (3 + 3 * 2) + 6 * 2 + 3);
    device_release(device, &program);
    device_close(&device);
    plan_free(&net.plan);
  }
  resources_free(&net.resources);
}

/* --- three controls, whose ops may run at the same time as others --- */

enum { BESIDE = 3, BESIDE_CALLS = 4, BESIDE_SIZE = 64 * 64 };

struct beside_net {
  struct net net;
  struct tensor x, z, model;
};

/* Appends a call in which x gets 2^k for each control k that is on, and z gets 1. */
static void append_call(struct beside_net *b, int step) {
  struct plan *plan = &b->net.plan;
  int with = plan->op_count;
  plan_step(plan, "step", (struct op_step){.x = b->z, .model = b->model});
  for (int k = 0; k < BESIDE; k++) {
    plan_region_begin(plan, (struct region_when){REGION_CONTROL, k, .step = step});
    struct tensor more = plan_affine(plan, "more", (struct op_affine){.x = b->model, .scale = (float)(1 << k)});
    plan_region_end_parallel(plan, with);
    plan_step(plan, "add", (struct op_step){.x = b->x, .model = more});
    plan_region_end(plan);
  }
}

static void beside_init(struct beside_net *b) {
  struct plan *plan = &b->net.plan;
  struct error err;
  plan_init(plan, &b->net.resources);
  b->x = plan_input(plan, 1, 8, 8, 64, ELEMENT_PRECISE);
  b->z = plan_input(plan, 1, 8, 8, 64, ELEMENT_PRECISE);
  b->model = plan_input(plan, 1, 8, 8, 64, ELEMENT_PRECISE);
  append_call(b, 0);
  plan_loop_begin(plan, BESIDE_CALLS - 1);
  append_call(b, 1);
  plan_loop_end(plan);
  if (plan_finish(plan, &err) < 0)
    fail_msg("%s", err.message);
}

/* Runs the plan with the controls whose bits are set in on[i] in call i. */
static void beside_run(const struct beside_net *b, struct device *device, struct program *program, const int *on) {
  struct run_params run = {0};
  struct error err;
  float ones[BESIDE_SIZE], zeros[BESIDE_SIZE] = {0}, x, z, sum = 0;
  for (int i = 0; i < BESIDE_SIZE; i++)
    ones[i] = 1;
  for (int i = 0; i < BESIDE_CALLS; i++) {
    run.step[i] = (struct step_params){.x = 1, .model = 1};
    for (int k = 0; k < BESIDE; k++)
      run.control[k].gain[i] = on[i] >> k & 1 ? 0.5f : 0;
    sum += (float)on[i];
  }
  if (device_poison(device, program, &err) < 0 ||
      device_write(device, program, b->x, 0, zeros, BESIDE_SIZE, &err) < 0 ||
      device_write(device, program, b->z, 0, zeros, BESIDE_SIZE, &err) < 0 ||
      device_write(device, program, b->model, 0, ones, BESIDE_SIZE, &err) < 0 ||
      device_run(device, program, &run, &err) < 0 || device_read(device, program, b->x, 77, &x, 1, &err) < 0 ||
      device_read(device, program, b->z, 99, &z, 1, &err) < 0)
    fail_msg("%s", err.message);
  assert_true(x == sum && z == BESIDE_CALLS);
}

/* Controls that are on in all calls or in none have graphs of their own; for others the GPU decides. */
static void test_controls_run_beside(void **state) {
  (void)state;
  static const int cases[][BESIDE_CALLS] = {{7, 7, 7, 7}, {0, 0, 0, 0}, {3, 3, 3, 3}, {4, 4, 4, 4}, {1, 2, 4, 7},
                                            {7, 7, 7, 6}, {6, 6, 6, 6}, {0, 5, 5, 5}, {7, 7, 7, 7}};
  struct beside_net b = {.net.random = 1};
  struct device *device;
  struct program *program;
  struct error err;
  for (int graph = 0; graph < 2; graph++) {
    const struct device_options options = {.name = "cuda", .graph = graph ? GRAPH_ON : GRAPH_OFF};
    beside_init(&b);
    if (device_open(&device, &b.net.resources, &options, &err) < 0 ||
        device_prepare(device, &program, &b.net.plan, &(struct program_options){PIXEL_RGBA}, &err) < 0)
      fail_msg("%s", err.message);
    struct device_counters before, after;
    device_get_counters(device, &before);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
      beside_run(&b, device, program, cases[i]);
    device_get_counters(device, &after);
    assert_int_equal(after.captures, before.captures);
    device_release(device, &program);
    device_close(&device);
    plan_free(&b.net.plan);
  }
  resources_free(&b.net.resources);
}

static void test_no_such_gpu(void **state) {
  (void)state;
  struct resources resources = {0};
  struct device *device;
  struct error err = {0};
  assert_int_equal(device_open(&device, &resources, &(struct device_options){.name = "cuda:99"}, &err), -1);
  assert_one_line(&err, "99");
}

/* Runs last, because the GPU's context cannot be used after this error. */
static void test_launch_error(void **state) {
  (void)state;
  struct rig rig;
  struct frame frame = make_frame(0);
  int failures = 0;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  /* the error happens between two frames */
  assert_int_equal(launch_trap(cuda_device(rig.device)->queue.stream), cudaSuccess);
  for (int i = 0; i < 2; i++) {
    if (device_submit(rig.device, rig.program, &params, &frame, &rig.err) < 0 ||
        device_collect(rig.device, rig.program, NULL, &rig.err) < 0) {
      assert_one_line(&rig.err, "cuda:");
      failures++;
    }
  }
  assert_int_equal(failures, 2);
  rig_close(&rig);
}

/* The profile has a time for each op and launch, and frames are the same after it as before. */
static void test_profile(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  const struct profile_request request = {.repeats = 12};
  struct frame frame = make_frame(1), picture;
  uint8_t before[SIDE * SIDE * 4];
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  for (int i = 0; i < 4; i++) { /* four runs use each buffer and picture at least once */
    must(&rig, device_submit(rig.device, rig.program, &params, &frame, &rig.err));
    must(&rig, device_collect(rig.device, rig.program, &picture, &rig.err));
    if (i == 0)
      memcpy(before, picture.plane[0], sizeof before);
    assert_memory_equal(before, picture.plane[0], sizeof before);
    frame_release(&picture);
    must(&rig, device_profile(rig.device, rig.program, &params, &frame, &request, &profile, &rig.err));
    assert_int_equal(profile.repeats, 12);
    double sum = 0;
    for (int j = 0; j < profile.count; j++) {
      const struct profile_row *row = &profile.rows[j];
      assert_true(*row->way && row->launch_count > 0 && row->us > -1 && row->warm_us > 0);
      sum += row->us;
    }
    assert_true(profile.frame_us > 0 && sum > 0);
    profile_free(&profile);
  }
  rig_close(&rig);
  rig_open(&rig, &(struct device_options){.name = "cuda", .graph = GRAPH_OFF});
  assert_int_equal(device_profile(rig.device, rig.program, &params, &frame, &request, &profile, &rig.err), -1);
  assert_int_equal(rig.err.status, STATUS_USAGE);
  assert_non_null(strstr(rig.err.message, "--graph off"));
  rig_close(&rig);
}

int main(int argc, char **argv) {
  int skipped = look_for_gpu();
  if (skipped)
    return skipped;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replay_is_direct_execution),
      cmocka_unit_test(test_two_in_flight),
      cmocka_unit_test(test_two_sources),
      cmocka_unit_test(test_many_frames),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_regions_follow_the_run),
      cmocka_unit_test(test_controls_run_beside),
      cmocka_unit_test(test_no_such_gpu),
      cmocka_unit_test(test_launch_error),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
