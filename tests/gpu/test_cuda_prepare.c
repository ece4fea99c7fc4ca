/* Tests preparing a program on the CUDA device while runs go on, keeping tuning results, a submit that fails half-way,
 * and a preparation that is cancelled. Skipped without a GPU.
 *
 *   test_cuda_prepare [PATTERN]      only the tests whose names match */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/cmocka_all.h"
#include "cuda/cuda_device.h"
#include "cuda/ways/tuner.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/devices.h"
#include "tests/rigs/fixture.h"
#include "tests/gpu/cuda_rig.h"

static void test_tuning_file(void **state) {
  (void)state;
  static uint8_t a[SIDE * SIDE * 4], b[SIDE * SIDE * 4];
  char *folder = fixture_make(); /* folder of tuning results, so that both devices choose the same kernels */
  struct rig rig;
  char command[256];
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
  one_frame(&rig, 0, a);
  rig_close(&rig);
  snprintf(command, sizeof command, "test $(cat %s/tuning-*.txt | wc -l) -ge 6", folder);
  assert_int_equal(system(command), 0); /* the line of the version and five tuned products */
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
  one_frame(&rig, 0, b);
  rig_close(&rig);
  assert_memory_equal(a, b, sizeof a);
  /* Choices in the file that no kernel can execute only cost time; afterwards the file is correct again. */
  static const char *const nonsense[] = {"gemm 99", "gemm -1", "cublaslt 99", "cudnn 98", "cudnn -2"};
  for (size_t i = 0; i < sizeof nonsense / sizeof *nonsense; i++) {
    snprintf(command, sizeof command, "sed -i '2,$s/^[a-z]* [0-9]*/%s/' %s/tuning-*.txt", nonsense[i], folder);
    assert_int_equal(system(command), 0);
    rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
    one_frame(&rig, 0, b);
    rig_close(&rig);
    snprintf(command, sizeof command, "! grep -q '^%s ' %s/tuning-*.txt", nonsense[i], folder);
    assert_int_equal(system(command), 0);
  }
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = "/proc/nowhere"});
  one_frame(&rig, 0, b);
  rig_close(&rig);
  fixture_remove(folder);
}

/* --- preparing while runs go on --- */

enum { PATIENCE_MS = 60000, HOLD_MS = PATIENCE_MS / 2 };

/* Host function that keeps a stream busy until *opaque is false, at most HOLD_MS, so that the test ends in any case. */
static void CUDART_CB hold(void *opaque) {
  int64_t until = platform_now_ns() + HOLD_MS * INT64_C(1000000);
  while (atomic_load((atomic_bool *)opaque) && platform_now_ns() < until)
    ;
}

/* cudaEventRecord fails at the call that is so many calls ahead; 0: no call fails */
static int failing_record;
static bool launch_fails;             /* true: the next launch of a graph fails */
static _Atomic(cudaStream_t) hold_at; /* stream that is blocked at its next record; NULL: none */
static atomic_bool held;

/* A wrapper that the linker puts in place of CUDA's function. */
cudaError_t __real_cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream);
cudaError_t __wrap_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  if (failing_record && --failing_record == 0)
    return cudaErrorUnknown;
  if (stream == hold_at) {
    hold_at = NULL;
    cudaLaunchHostFunc(stream, hold, &held);
  }
  return __real_cudaEventRecord(event, stream);
}

cudaError_t __real_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream);
cudaError_t __wrap_cudaGraphLaunch(cudaGraphExec_t graph, cudaStream_t stream) {
  bool fails = launch_fails;
  launch_fails = false;
  return fails ? cudaErrorUnknown : __real_cudaGraphLaunch(graph, stream);
}

static int disturbances;             /* number of captures that are still to be disturbed */
static cudaError_t disturber_status; /* result of the last disturbance */

/* A thread that waits for the whole device, which breaks another thread's capture. Other libraries may do that. */
static void *wait_for_all(void *opaque) {
  (void)opaque;
  disturber_status = cudaDeviceSynchronize();
  return NULL;
}

cudaError_t __real_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode);
cudaError_t __wrap_cudaStreamBeginCapture(cudaStream_t stream, enum cudaStreamCaptureMode mode) {
  pthread_t other;
  cudaError_t status = __real_cudaStreamBeginCapture(stream, mode);
  if (disturbances > 0 && !pthread_create(&other, NULL, wait_for_all, NULL)) {
    disturbances--;
    pthread_join(other, NULL);
  }
  return status;
}

struct beside {
  struct rig *rig;
  struct program *program;
  atomic_bool done;
  int status;
  struct error err;
};

static void *prepare_beside(void *opaque) {
  struct beside *b = opaque;
  const struct program_options options = {PIXEL_RGBA};
  b->status = device_prepare(b->rig->device, &b->program, &b->rig->net.plan, &options, &b->err);
  b->done = true;
  return NULL;
}

/* Forgets tuning results, so that the next preparation times kernels again. */
static void forget_choices(struct rig *rig) {
  struct cuda_device *device = cuda_device(rig->device);
  tuner_close(device->tuner);
  must(rig, tuner_open(&device->tuner, device, NULL, &rig->err));
}

static void release_second(struct beside *b, pthread_t thread) {
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  pthread_join(thread, NULL);
  if (b->status < 0)
    fail_msg("%s", b->err.message);
  one_frame(b->rig, 1, expected);
  device_release(b->rig->device, &b->rig->program);
  b->rig->program = b->program;
  one_frame(b->rig, 1, got);
  int most = 0; /* another kernel may round differently, so small differences are allowed */
  for (size_t i = 0; i < sizeof got; i++)
    most = abs(got[i] - expected[i]) > most ? abs(got[i] - expected[i]) : most;
  assert_in_range(most, 0, 3);
}

/* While a run is blocked, a program can be prepared completely: timing kernels and capturing graphs do not wait for
 * runs, nor does allocating or freeing the memory for them. */
static void test_preparation_waits_for_no_run(void **state) {
  (void)state;
  static uint8_t picture[SIDE * SIDE * 4];
  struct rig rig;
  pthread_t thread;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 0, picture);
  forget_choices(&rig);
  struct beside b = {.rig = &rig};
  held = true;
  assert_int_equal(cudaLaunchHostFunc(cuda_device(rig.device)->queue.stream, hold, &held), cudaSuccess);
  assert_int_equal(pthread_create(&thread, NULL, prepare_beside, &b), 0);
  for (int i = 0; i < HOLD_MS / 2 && !b.done; i++)
    usleep(1000);
  bool done = b.done;
  held = false;
  release_second(&b, thread);
  assert_true(done);
  rig_close(&rig);
}

/* While the timing of a kernel is blocked, frames and changes of weights complete. Each of them has run once before,
 * because the driver may wait for the whole GPU when it loads a kernel's code. */
static void test_run_waits_for_no_preparation(void **state) {
  (void)state;
  enum { RUNS = 50 };
  static uint8_t expected[2][SIDE * SIDE * 4], picture[SIDE * SIDE * 4];
  struct rig rig;
  pthread_t thread;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  const struct weight_change same = {0, 0, 1, rig.net.weights[0]};
  must(&rig, device_update(rig.device, &same, 1, &rig.err));
  for (int i = 0; i < 2; i++)
    one_frame(&rig, i, expected[i]);
  forget_choices(&rig);
  struct beside b = {.rig = &rig};
  held = true;
  hold_at = cuda_device(rig.device)->preparing.queue.stream;
  assert_int_equal(pthread_create(&thread, NULL, prepare_beside, &b), 0);
  for (int i = 0; i < PATIENCE_MS && hold_at; i++)
    usleep(1000);
  assert_null(hold_at); /* the preparation has reached its first timed kernel */
  for (int i = 0; i < RUNS; i++) {
    must(&rig, device_update(rig.device, &same, 1, &rig.err));
    one_frame(&rig, i % 2, picture);
    assert_memory_equal(picture, expected[i % 2], sizeof picture);
  }
  bool done = b.done;
  held = false;
  release_second(&b, thread);
  assert_false(done);
  rig_close(&rig);
}

/* Choices that were timed while frames ran are used by this device only; those that were timed alone are kept in the
 * file. */
static void test_disturbed_choices_are_not_kept(void **state) {
  (void)state;
  static uint8_t picture[SIDE * SIDE * 4];
  char *folder = fixture_make(), command[256];
  struct rig rig;
  pthread_t thread;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 0, picture);
  struct cuda_device *device = cuda_device(rig.device);
  tuner_close(device->tuner);
  must(&rig, tuner_open(&device->tuner, device, folder, &rig.err));
  struct beside b = {.rig = &rig};
  submit(&rig, 0); /* this run stays in flight */
  assert_int_equal(pthread_create(&thread, NULL, prepare_beside, &b), 0);
  pthread_join(thread, NULL);
  collect(&rig, picture);
  if (b.status < 0)
    fail_msg("%s", b.err.message);
  snprintf(command, sizeof command, "! test -s %s/tuning-*.txt", folder);
  assert_int_equal(system(command), 0);
  device_release(rig.device, &b.program);
  forget_choices(&rig);
  tuner_close(device->tuner);
  must(&rig, tuner_open(&device->tuner, device, folder, &rig.err));
  assert_int_equal(pthread_create(&thread, NULL, prepare_beside, &b), 0);
  release_second(&b, thread);
  snprintf(command, sizeof command, "test $(cat %s/tuning-*.txt | wc -l) -ge 6", folder);
  assert_int_equal(system(command), 0);
  rig_close(&rig);
  fixture_remove(folder);
}

/* A capture that another thread broke is repeated. If it breaks each time, that is an error, and the next preparation
 * succeeds. */
static void test_captures_that_are_disturbed(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  const struct program_options options = {PIXEL_RGBA};
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  for (int i = 0; i < 3; i++) {
    static const int times[] = {3, 1000, 0};
    device_release(rig.device, &rig.program);
    disturbances = times[i];
    disturber_status = cudaSuccess;
    int status = device_prepare(rig.device, &rig.program, &rig.net.plan, &options, &rig.err);
    assert_int_equal(disturber_status != cudaSuccess, times[i] > 0);
    assert_int_equal(disturbances > 0, i == 1);
    assert_int_equal(status, i == 1 ? -1 : 0);
    if (i == 1)
      assert_one_line(&rig.err, "cuda:");
    else
      one_frame(&rig, 1, got);
    assert_true(i == 1 || !memcmp(got, expected, sizeof got));
  }
  rig_close(&rig);
}

/* A submit that fails before or after the launch of its graph loses only that frame; later frames have their own
 * pictures. */
static void test_failed_submit(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  /* points of failure: the launch of a frame alone, and the records after upload, begin, computing, download */
  for (int call = 0; call <= 4; call++) {
    if (call)
      submit(&rig, 1);
    struct frame frame = make_frame(2);
    failing_record = call;
    launch_fails = !call;
    assert_int_equal(device_submit(rig.device, rig.program, &params, &frame, &rig.err), -1);
    assert_one_line(&rig.err, "cuda:");
    assert_true(!failing_record && !launch_fails);
    if (call)
      collect(&rig, got);
    assert_true(!call || !memcmp(got, expected, sizeof expected));
    for (int i = 0; i < 3; i++) {
      one_frame(&rig, 3 + i, got);
      one_frame(&rig, 1, got);
      assert_memory_equal(got, expected, sizeof expected);
    }
  }
  rig_close(&rig);
}

/* A cancel function: returns true from call number *opaque on, counted from 0. */
static bool gives_up(void *opaque) {
  int *left = opaque;
  return (*left)-- <= 0;
}

/* A preparation can be cancelled anywhere: between ops, weights, timings and graphs. Afterwards the device can prepare
 * the same plan as usual. */
static void test_what_is_given_up_ends(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  const struct program_options wish = {PIXEL_RGBA};
  int left = FRAMES, asked, ops = 0, prepared = 0;
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  rig_close(&rig);
  for (asked = 0; !prepared; asked += 1 + asked / 3) {
    net_init(&rig.net);
    rig.program = NULL;
    ops = rig.net.plan.op_count;
    must(&rig, device_open(&rig.device, &rig.net.resources,
                           &(struct device_options){.name = "cuda", .gives_up = gives_up, .gives_up_opaque = &left},
                           &rig.err));
    left = asked;
    prepared = !device_prepare(rig.device, &rig.program, &rig.net.plan, &wish, &rig.err);
    assert_true(prepared == (rig.program != NULL) && (prepared || rig.err.status == STATUS_INTERRUPTED));
    left = FRAMES;
    if (!prepared)
      must(&rig, device_prepare(rig.device, &rig.program, &rig.net.plan, &wish, &rig.err));
    one_frame(&rig, 1, got);
    for (size_t i = 0; i < sizeof got; i++) /* another kernel may round differently, so small differences are allowed */
      assert_in_range(abs(got[i] - expected[i]), 0, 3);
    rig_close(&rig);
  }
  assert_true(asked > ops);
}

int main(int argc, char **argv) {
  int skipped = look_for_gpu();
  if (skipped)
    return skipped;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_tuning_file),
      cmocka_unit_test(test_preparation_waits_for_no_run),
      cmocka_unit_test(test_run_waits_for_no_preparation),
      cmocka_unit_test(test_disturbed_choices_are_not_kept),
      cmocka_unit_test(test_captures_that_are_disturbed),
      cmocka_unit_test(test_failed_submit),
      cmocka_unit_test(test_what_is_given_up_ends),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
