/* The CUDA device as a whole: captured graphs, frames in flight, memory, tuning results, faults. Without a GPU: that
 * the device says so in one line and "auto" goes on with the CPU; then skipped.
 *
 *   test_cuda [PATTERN]      the tests of such names alone */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "cuda/cuda_device.h"
#include "cuda/ways/tuner.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/devices.h"
#include "tests/fixture.h"

enum { SIDE = 64, SKIPPED = 77, FRAMES = 10000 };

/* A small network from pixels to pixels, with a norm, split sums and narrow convolutions in it. */
struct net {
  struct plan plan;
  struct resources resources;
  float *weights[16];
  int weight_count;
  uint32_t random;
};

static float next_value(struct net *net) {
  net->random = net->random * 1664525u + 1013904223u;
  return (float)(net->random >> 8) / (float)(1 << 23) - 1;
}

static struct tensor weight(struct net *net, int out, int k, int in) {
  char name[16];
  size_t count = (size_t)out * (size_t)k * (size_t)k * (size_t)in;
  float *data = malloc(count * sizeof *data);
  assert_non_null(data);
  net->weights[net->weight_count++] = data;
  for (size_t i = 0; i < count; i++)
    data[i] = next_value(net) * 1.7f / sqrtf((float)(k * k * in));
  snprintf(name, sizeof name, "w%d", net->weight_count);
  struct weight_part part = {data, DTYPE_F32, out};
  return resources_weight(&net->resources, name, out, k, k, in, &part, 1, NULL);
}

static struct tensor conv(struct net *net, struct tensor x, int out, enum activation act, struct tensor residual) {
  struct op_conv op = {.x = x, .weight = weight(net, out, 3, x.c), .stride = 1, .pad = 1, .act = act};
  op.residual = residual;
  if (x.c > 3)
    op.prologue = (struct prologue){.norm = NORM_GROUP, .act = ACT_SILU, .groups = 8, .eps = 1e-5f};
  return plan_conv(&net->plan, "conv", op);
}

static void net_init(struct net *net) {
  struct error err;
  struct tensor none = {0};
  *net = (struct net){.random = 1};
  plan_init(&net->plan, &net->resources);
  struct tensor pixels =
      plan_pixels_in(&net->plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = SIDE, .w = SIDE}});
  struct tensor x = conv(net, pixels, 32, ACT_RELU, none);
  x = conv(net, x, 32, ACT_RELU, x);
  x = conv(net, x, 320, ACT_NONE, none);
  struct tensor w = weight(net, 960, 1, 320);
  struct tensor qkv = plan_linear(&net->plan, "qkv", (struct op_linear){.x = x, .weight = w});
  x = plan_attention(&net->plan, "attention",
                     (struct op_attention){.q = tensor_channels(qkv, 0, 320),
                                           .k = tensor_channels(qkv, 320, 320),
                                           .v = tensor_channels(qkv, 640, 320),
                                           .heads = 5,
                                           .scale = 0.125f});
  x = conv(net, x, 3, ACT_NONE, none);
  plan_pixels_out(&net->plan, "out",
                  (struct op_pixels_out){.scale = 1, .bias = 0.5f, .x = x, .input = pixels, .input_scale = 1});
  assert_int_equal(plan_finish(&net->plan, &err), 0);
}

static void net_free(struct net *net) {
  plan_free(&net->plan);
  resources_free(&net->resources);
  for (int i = 0; i < net->weight_count; i++)
    free(net->weights[i]);
}

/* --- running it --- */

static uint8_t source[SIDE * SIDE * 4];

static struct frame make_frame(int number) {
  for (int i = 0; i < SIDE * SIDE * 4; i++)
    source[i] = (uint8_t)((i * 31 + number * 97) ^ (i >> 7));
  return (struct frame){.format = PIXEL_BGRA, .width = SIDE, .height = SIDE, .plane = {source}, .pitch = {SIDE * 4}};
}

static const struct run_params params = {.mix = 1, .geometry = {{0, 0, SIDE, SIDE, 0, 0, SIDE, SIDE}}};

struct rig {
  struct net net;
  struct device *device;
  struct program *program;
  struct error err;
};

static void must(const struct rig *rig, int status) {
  if (status < 0)
    fail_msg("%s", rig->err.message);
}

static void rig_open(struct rig *rig, const struct device_options *options) {
  net_init(&rig->net);
  rig->program = NULL;
  must(rig, device_open(&rig->device, &rig->net.resources, options, &rig->err));
  must(rig,
       device_prepare(rig->device, &rig->program, &rig->net.plan, &(struct program_options){PIXEL_RGBA}, &rig->err));
}

static void rig_close(struct rig *rig) {
  device_release(rig->device, &rig->program);
  device_close(&rig->device);
  net_free(&rig->net);
}

static void submit(struct rig *rig, int number) {
  struct frame frame = make_frame(number);
  must(rig, device_submit(rig->device, rig->program, &params, &frame, &rig->err));
  memset(source, 0, sizeof source); /* the frame was consumed */
}

static void collect(struct rig *rig, uint8_t *out) {
  struct frame picture;
  must(rig, device_collect(rig->device, rig->program, &picture, &rig->err));
  for (int y = 0; y < SIDE; y++)
    memcpy(out + (size_t)y * SIDE * 4, picture.plane[0] + (long)y * picture.pitch[0], SIDE * 4);
  frame_release(&picture);
}

static void one_frame(struct rig *rig, int number, uint8_t *out) {
  submit(rig, number);
  collect(rig, out);
}

/* --- tests --- */

static void test_replay_is_direct_execution(void **state) {
  (void)state;
  static uint8_t replayed[2][SIDE * SIDE * 4], direct[2][SIDE * SIDE * 4];
  char *folder = fixture_make(); /* for tuning results, so that two devices choose alike */
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

/* The picture is the mean of two sources; the second one grows, and there are two runs in flight. */
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
      if (depth == 1 && i == 1) /* it has room for a second frame as large as the first */
        assert_int_equal(counters[0].allocations, counters[1].allocations);
    }
    if (depth == 2)
      collect(&rig, pictures[1][RUNS - 1]);
  }
  /* the last RUNS were of sizes that had been there */
  assert_int_equal(counters[0].allocations, counters[RUNS - 1].allocations);
  for (int i = 0; i < RUNS; i++) {
    make_frame(i);
    for (int j = 0; j < SIDE * SIDE * 4; j++) { /* BGRA in, RGBA out */
      int from = j % 4 == 3 ? j : j / 4 * 4 + 2 - j % 4, mean = j % 4 == 3 ? 255 : (source[from] + 20 * i + 1) / 2;
      assert_in_range(pictures[0][i][j], mean ? mean - 1 : 0, mean);
    }
    assert_memory_equal(pictures[0][i], pictures[1][i], sizeof pictures[0][i]);
  }
  rig_close(&rig);
}

/* --- pictures that stay on the device --- */

/* Starts a run whose picture stays there. */
static struct frame stay(struct rig *rig, int number) {
  struct frame frame = make_frame(number), picture;
  struct run_params run = params;
  run.on_device = true;
  must(rig, device_submit(rig->device, rig->program, &run, &frame, &rig->err));
  must(rig, device_collect(rig->device, rig->program, &picture, &rig->err));
  return picture;
}

static void assert_shows(const struct frame *picture, const uint8_t *expected) {
  for (int y = 0; y < picture->height; y++)
    assert_memory_equal(picture->plane[0] + (long)y * picture->pitch[0], expected + (size_t)y * SIDE * 4, SIDE * 4);
}

static size_t copied_down(const struct rig *rig) {
  struct device_counters counters;
  device_get_counters(rig->device, &counters);
  return counters.copied_down;
}

static void poison_host(const struct frame *picture) {
  memset(frame_plane(picture, 0), 0xa5, (size_t)picture->pitch[0] * (size_t)picture->height);
}

/* The same pixels as without, in the device's memory at once, in the host's when somebody asks, once. */
static void test_a_picture_stays_on_the_device(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], there[SIDE * SIDE * 4];
  struct device_info info;
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  device_get_info(rig.device, &info);
  for (int i = 0; i < 6; i++) {
    one_frame(&rig, i, expected);
    size_t copied = copied_down(&rig), bytes;
    struct frame picture = stay(&rig, i);
    poison_host(&picture);
    bytes = (size_t)picture.pitch[0] * (size_t)picture.height;
    assert_true(frame_on_gpu(&picture, &info.gpu) && frame_pinned(&picture));
    assert_true(frame_ready(&picture, MEMORY_DEVICE) && !frame_ready(&picture, MEMORY_HOST));
    assert_int_equal(frame_wait(&picture, MEMORY_DEVICE, &rig.err), 0);
    assert_int_equal(copied_down(&rig), copied);
    assert_int_equal(cudaMemcpy2D(there, SIDE * 4, picture.picture->device_plane[0], (size_t)picture.pitch[0], SIDE * 4,
                                  SIDE, cudaMemcpyDeviceToHost),
                     cudaSuccess);
    assert_memory_equal(there, expected, sizeof expected);
    for (int times = 0; times < 2; times++) {
      must(&rig, frame_wait(&picture, MEMORY_HOST, &rig.err));
      assert_true(frame_ready(&picture, MEMORY_HOST));
      assert_shows(&picture, expected);
      assert_int_equal(copied_down(&rig), copied + bytes);
    }
    frame_release(&picture);
  }
  rig_close(&rig);
}

/* With two in flight, some of each kind. */
static void test_some_pictures_stay(void **state) {
  (void)state;
  enum { KINDS = 3, RUNS = 60 };
  static uint8_t expected[KINDS][SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  for (int i = 0; i < KINDS; i++)
    one_frame(&rig, i, expected[i]);
  for (int i = 0; i <= RUNS; i++) {
    struct frame frame = make_frame(i % KINDS), picture;
    struct run_params run = params;
    run.on_device = i % 5 < 3;
    if (i < RUNS)
      must(&rig, device_submit(rig.device, rig.program, &run, &frame, &rig.err));
    if (i == 0)
      continue;
    must(&rig, device_collect(rig.device, rig.program, &picture, &rig.err));
    assert_int_equal(frame_ready(&picture, MEMORY_HOST), (i - 1) % 5 >= 3);
    must(&rig, frame_wait(&picture, MEMORY_HOST, &rig.err));
    assert_shows(&picture, expected[(i - 1) % KINDS]);
    frame_release(&picture);
  }
  rig_close(&rig);
}

struct asker {
  struct frame picture;
  pthread_barrier_t *begin;
  int status;
  struct error err;
};

static void *ask_for_host(void *opaque) {
  struct asker *asker = opaque;
  pthread_barrier_wait(asker->begin);
  asker->status = frame_wait(&asker->picture, MEMORY_HOST, &asker->err);
  return NULL;
}

/* Threads that never used the GPU ask at the same time; it is copied once. */
static void test_two_threads_ask(void **state) {
  (void)state;
  enum { ASKERS = 2, TIMES = 50 };
  static uint8_t expected[SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  for (int i = 0; i < TIMES; i++) {
    struct asker askers[ASKERS];
    pthread_barrier_t begin;
    pthread_t threads[ASKERS];
    struct frame picture = stay(&rig, 1);
    poison_host(&picture);
    size_t copied = copied_down(&rig);
    pthread_barrier_init(&begin, NULL, ASKERS);
    for (int j = 0; j < ASKERS; j++) {
      askers[j] = (struct asker){.picture = frame_hold(&picture), .begin = &begin};
      assert_int_equal(pthread_create(&threads[j], NULL, ask_for_host, &askers[j]), 0);
    }
    for (int j = 0; j < ASKERS; j++) {
      pthread_join(threads[j], NULL);
      assert_int_equal(askers[j].status, 0);
      assert_shows(&askers[j].picture, expected);
      frame_release(&askers[j].picture);
    }
    assert_int_equal(copied_down(&rig), copied + (size_t)picture.pitch[0] * SIDE);
    pthread_barrier_destroy(&begin);
    frame_release(&picture);
  }
  rig_close(&rig);
}

/* Of another size, which takes the pool that the first one's picture is from. */
static void test_a_picture_outlives_a_size(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4];
  struct resources *resources;
  struct program *larger;
  struct plan plan;
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  resources = &rig.net.resources;
  one_frame(&rig, 2, expected);
  struct frame picture = stay(&rig, 2), other, frame = make_frame(3);
  poison_host(&picture);
  plan_init(&plan, resources);
  struct tensor x = plan_pixels_in(&plan, "in", (struct op_pixels_in){.scale = 1, .y = {.h = 4 * SIDE, .w = 4 * SIDE}});
  plan_pixels_out(&plan, "out", (struct op_pixels_out){.scale = 1, .x = x, .input = x, .input_scale = 1});
  must(&rig, plan_finish(&plan, &rig.err));
  must(&rig, device_prepare(rig.device, &larger, &plan, &(struct program_options){PIXEL_YUV420P}, &rig.err));
  struct run_params run = {.mix = 1, .geometry = {{0, 0, SIDE, SIDE, 0, 0, 4 * SIDE, 4 * SIDE}}, .on_device = true};
  must(&rig, device_submit(rig.device, larger, &run, &frame, &rig.err));
  must(&rig, device_collect(rig.device, larger, &other, &rig.err));
  assert_true(other.picture->number != picture.picture->number);
  for (int i = 1; i < 3; i++)
    assert_ptr_equal((uint8_t *)other.picture->device_plane[i] - (uint8_t *)other.picture->device_plane[0],
                     other.plane[i] - other.plane[0]);
  must(&rig, frame_wait(&picture, MEMORY_HOST, &rig.err));
  assert_shows(&picture, expected);
  must(&rig, frame_wait(&other, MEMORY_HOST, &rig.err));
  frame_release(&picture);
  frame_release(&other);
  one_frame(&rig, 2, expected);
  picture = stay(&rig, 2);
  must(&rig, frame_wait(&picture, MEMORY_HOST, &rig.err));
  assert_shows(&picture, expected);
  frame_release(&picture);
  device_release(rig.device, &larger);
  plan_free(&plan);
  rig_close(&rig);
}

static void test_a_picture_outlives_its_device(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 3, expected);
  struct frame picture = stay(&rig, 3);
  poison_host(&picture);
  rig_close(&rig);
  must(&rig, frame_wait(&picture, MEMORY_HOST, &rig.err));
  assert_shows(&picture, expected);
  frame_release(&picture);
}

/* Where the driver exports memory, another mapping of it shows the same bytes. */
static void test_a_picture_is_shared(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], there[SIDE * SIDE * 4];
  struct cudaExternalMemoryHandleDesc handle = {.type = cudaExternalMemoryHandleTypeOpaqueFd};
  cudaExternalMemory_t memory;
  void *mapped;
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  struct frame picture = stay(&rig, 4);
  assert_int_equal(picture.picture->share, -1);
  frame_release(&picture);
  rig_close(&rig);
  rig_open(&rig, &(struct device_options){.name = "cuda", .shares_pictures = true});
  one_frame(&rig, 4, expected);
  picture = stay(&rig, 4);
  const struct picture *shared = picture.picture;
  if (shared->share >= 0) {
    assert_true(shared->share_bytes >= (size_t)picture.pitch[0] * SIDE);
    handle.handle.fd = dup(shared->share);
    handle.size = shared->share_bytes;
    if (cudaImportExternalMemory(&memory, &handle) == cudaSuccess) {
      struct cudaExternalMemoryBufferDesc buffer = {.size = shared->share_bytes};
      assert_int_equal(cudaExternalMemoryGetMappedBuffer(&mapped, memory, &buffer), cudaSuccess);
      assert_int_equal(
          cudaMemcpy2D(there, SIDE * 4, mapped, (size_t)picture.pitch[0], SIDE * 4, SIDE, cudaMemcpyDeviceToHost),
          cudaSuccess);
      assert_memory_equal(there, expected, sizeof expected);
      cudaFree(mapped);
      cudaDestroyExternalMemory(memory);
    } else {
      printf("memory of pictures is exported, and not imported by CUDA itself\n");
      cudaGetLastError();
      close(handle.handle.fd);
    }
  } else {
    printf("memory of pictures is not exported here\n");
  }
  frame_release(&picture);
  rig_close(&rig);
}

/* Resident memory of this process in KiB. */
static long resident_kb(void) {
  char line[128];
  long kb = 0;
  FILE *file = fopen("/proc/self/status", "r");
  assert_non_null(file);
  while (fgets(line, sizeof line, file))
    if (!strncmp(line, "VmRSS:", 6))
      kb = atol(line + 6);
  fclose(file);
  return kb;
}

/* Nothing is allocated by anybody, and every picture is that of the same frame before. */
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

static void assert_one_line(const struct error *err, const char *what) {
  assert_int_equal(err->status, STATUS_DEVICE);
  assert_non_null(strstr(err->message, what));
  assert_null(strchr(err->message, '\n'));
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
  options.memory_limit = 66 << 20; /* enough to open, not for the program */
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
    assert_int_equal(after.launches - before.launches, graph ? 6 : 6 * (1 + 3 * 2) + 6 * 2 + 3);
    device_release(device, &program);
    device_close(&device);
    plan_free(&net.plan);
  }
  resources_free(&net.resources);
}

static void test_no_such_gpu(void **state) {
  (void)state;
  struct resources resources = {0};
  struct device *device;
  struct error err = {0};
  assert_int_equal(device_open(&device, &resources, &(struct device_options){.name = "cuda:99"}, &err), -1);
  assert_one_line(&err, "99");
}

/* A submit that fails, before the graph is launched or behind it, costs that frame alone: those after it are their own.
 */
static void test_failed_submit(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4], got[SIDE * SIDE * 4];
  struct rig rig;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  one_frame(&rig, 1, expected);
  for (int call = 1; call <= 4; call++) { /* uploaded, begun, computed, downloaded */
    struct frame frame = make_frame(2);
    failing_record = call;
    assert_int_equal(device_submit(rig.device, rig.program, &params, &frame, &rig.err), -1);
    assert_one_line(&rig.err, "cuda:");
    assert_int_equal(failing_record, 0);
    for (int i = 0; i < 3; i++) {
      one_frame(&rig, 3 + i, got);
      one_frame(&rig, 1, got);
      assert_memory_equal(got, expected, sizeof expected);
    }
  }
  rig_close(&rig);
}

/* Last: the GPU's context does not survive it. */
static void test_launch_error(void **state) {
  (void)state;
  struct rig rig;
  struct frame frame = make_frame(0);
  int failures = 0;
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  /* A kernel that writes where nothing is, between two frames. */
  struct pad_args bad = {
      .source = (half_t *)rig.device, .target = (half_t *)64, .rows = 1 << 20, .width = 8, .pitch = 8};
  assert_int_equal(launch_pad(&cuda_device(rig.device)->queue, &bad), cudaSuccess);
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

/* Every op and launch has its time, and frames are afterwards as they were. */
static void test_profile(void **state) {
  (void)state;
  struct rig rig;
  struct profile profile;
  const struct profile_request request = {.repeats = 12};
  struct frame frame = make_frame(1), picture;
  uint8_t before[SIDE * SIDE * 4];
  rig_open(&rig, &(struct device_options){.name = "cuda"});
  for (int i = 0; i < 4; i++) { /* whichever buffer and picture has the turn */
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

static int check_without_gpu(const struct error *refusal) {
  struct resources resources = {0};
  struct device *device;
  struct device_info info;
  struct error err = {0};
  printf("skipped: %s\n", refusal->message);
  if (refusal->status != STATUS_DEVICE || strncmp(refusal->message, "cuda: ", 6) || strchr(refusal->message, '\n'))
    return 1;
  if (device_open(&device, &resources, &(struct device_options){.name = "auto"}, &err) < 0)
    return 1;
  device_get_info(device, &info);
  device_close(&device);
  return info.depth > 1 ? 1 : SKIPPED;
}

int main(int argc, char **argv) {
  struct resources resources = {0};
  struct device *device;
  struct error err = {0};
  if (device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err) < 0)
    return check_without_gpu(&err);
  device_close(&device);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_replay_is_direct_execution),
      cmocka_unit_test(test_two_in_flight),
      cmocka_unit_test(test_two_sources),
      cmocka_unit_test(test_a_picture_stays_on_the_device),
      cmocka_unit_test(test_some_pictures_stay),
      cmocka_unit_test(test_two_threads_ask),
      cmocka_unit_test(test_a_picture_outlives_a_size),
      cmocka_unit_test(test_a_picture_outlives_its_device),
      cmocka_unit_test(test_a_picture_is_shared),
      cmocka_unit_test(test_many_frames),
      cmocka_unit_test(test_tuning_file),
      cmocka_unit_test(test_memory_limit),
      cmocka_unit_test(test_profile),
      cmocka_unit_test(test_preparation_waits_for_no_run),
      cmocka_unit_test(test_run_waits_for_no_preparation),
      cmocka_unit_test(test_disturbed_choices_are_not_kept),
      cmocka_unit_test(test_failed_submit),
      cmocka_unit_test(test_regions_follow_the_run),
      cmocka_unit_test(test_no_such_gpu),
      cmocka_unit_test(test_launch_error),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
