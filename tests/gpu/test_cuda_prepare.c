/* What the CUDA device prepares beside runs, and what it keeps of its choices; a submit that fails half-way; work that
 * is given up. Skipped without a GPU.
 *
 *   test_cuda_prepare [PATTERN]      the tests of such names alone */
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
  char *folder = fixture_make(); /* for tuning results, so that two devices choose alike */
  struct rig rig;
  char command[256];
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
  one_frame(&rig, 0, a);
  rig_close(&rig);
  snprintf(command, sizeof command, "test $(cat %s/tuning-*.txt | wc -l) -ge 6", folder);
  assert_int_equal(system(command), 0); /* the version and five products */
  rig_open(&rig, &(struct device_options){.name = "cuda", .cache_dir = folder});
  one_frame(&rig, 0, b);
  rig_close(&rig);
  assert_memory_equal(a, b, sizeof a);
  /* A file full of choices nobody can make costs time and nothing else, and is whole again afterwards. */
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

/* --- a preparation beside runs --- */

enum { PATIENCE_MS = 60000, HOLD_MS = PATIENCE_MS / 2 };

/* A function of the host's that keeps a stream busy until it is let go; for ever would be a test that never ends. */
static void CUDART_CB hold(void *opaque) {
  int64_t until = platform_now_ns() + HOLD_MS * INT64_C(1000000);
  while (atomic_load((atomic_bool *)opaque) && platform_now_ns() < until)
    ;
}

static int failing_record;            /* that many calls from now on fails; 0: none */
static bool launch_fails;             /* the next one */
static _Atomic(cudaStream_t) hold_at; /* held from the next record on; NULL: none is */
static atomic_bool held;

/* The linker puts this in front of CUDA's. */
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

static int disturbances;             /* so many captures to come */
static cudaError_t disturber_status; /* of the last one */

/* As another thread's library may do it. */
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

/* What is prepared next is timed again. */
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
  int most = 0; /* another choice may round otherwise */
  for (size_t i = 0; i < sizeof got; i++)
    most = abs(got[i] - expected[i]) > most ? abs(got[i] - expected[i]) : most;
  assert_in_range(most, 0, 3);
}

/* While no run can end, a program is prepared to the end: trials and capture wait for no run, nor does any memory that
 * they take and give back. */
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

/* While no trial can end, frames and changes of weights come and go. Each has been there before, because the driver may
 * wait for the whole GPU where it loads a kernel's code. */
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
  assert_null(hold_at); /* it has come to its first trial */
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

/* Choices made beside frames are for this device alone, those of a quiet time are kept in the file. */
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
  submit(&rig, 0); /* and stays in flight */
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

/* A capture that another thread ended is made again; one that is ended each time is an error, and the next one is as
 * usual. */
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

/* A submit that fails, before the graph is launched or behind it, costs that frame alone: those after it are their own.
 */
static void test_failed_submit(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  for (int call = 0; call <= 4; call++) { /* the launch of a frame alone; uploaded, begun, computed, downloaded */
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

/* Says true when it has been asked so often. */
static bool gives_up(void *opaque) {
  int *left = opaque;
  return (*left)-- <= 0;
}

/* A preparation ends wherever it is given up: between ops, weights, trials and graphs. The device can then prepare the
 * same plan, as if nothing had been. */
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
    for (size_t i = 0; i < sizeof got; i++) /* another choice may round otherwise */
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
