/* Tests pictures that stay in the CUDA device's memory. Skipped without a GPU.
 *
 *   test_cuda_pictures [PATTERN]      only the tests whose names match */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/rigs/cmocka_all.h"
#include "unet/base/picture.h"
#include "unet/devices.h"
#include "tests/gpu/cuda_rig.h"

/* Starts a run whose picture stays in the device's memory. */
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

/* Checks a plane in the device's memory. */
static void assert_plane(const void *plane, int pitch, const uint8_t *expected, int row_bytes, int rows) {
  static uint8_t there[SIDE * SIDE * 4];
  assert_int_equal(cudaMemcpy2D(there, (size_t)row_bytes, plane, (size_t)pitch, (size_t)row_bytes, (size_t)rows,
                                cudaMemcpyDeviceToHost),
                   cudaSuccess);
  assert_memory_equal(there, expected, (size_t)row_bytes * (size_t)rows);
}

static size_t copied_down(const struct rig *rig) {
  struct device_counters counters;
  device_get_counters(rig->device, &counters);
  return counters.copied_down;
}

static void poison_host(const struct frame *picture) {
  memset(frame_plane(picture, 0), 0xa5, (size_t)picture->pitch[0] * (size_t)picture->height);
}

/* A picture that stays has the same pixels as one that is copied to the host. They are in device memory at once, and
 * are copied to the host when somebody first asks for them, only once. */
static void test_a_picture_stays_on_the_device(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4];
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
    assert_plane(picture.picture->device_plane[0], picture.pitch[0], expected, SIDE * 4, SIDE);
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

/* With two runs in flight, some pictures stay on the device and some do not. */
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

/* Two threads that never used the GPU ask for a picture at the same time; it is copied once. */
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

/* A run of another size replaces the pool of pictures while a picture of the old pool is still held. */
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

/* Another mapping of memory that the driver exported. */
struct mapping {
  cudaExternalMemory_t memory;
  void *bytes;
};

static bool map_share(int descriptor, size_t bytes, struct mapping *mapping) {
  const struct cudaExternalMemoryHandleDesc handle = {
      .type = cudaExternalMemoryHandleTypeOpaqueFd, .handle.fd = dup(descriptor), .size = bytes};
  const struct cudaExternalMemoryBufferDesc buffer = {.size = bytes};
  if (cudaImportExternalMemory(&mapping->memory, &handle) != cudaSuccess) {
    printf("memory is exported, and not imported by CUDA itself\n");
    cudaGetLastError();
    close(handle.handle.fd);
    return false;
  }
  assert_int_equal(cudaExternalMemoryGetMappedBuffer(&mapping->bytes, mapping->memory, &buffer), cudaSuccess);
  return true;
}

static void unmap_share(struct mapping *mapping) {
  cudaFree(mapping->bytes);
  cudaDestroyExternalMemory(mapping->memory);
}

/* Where the driver can export memory, a second mapping of it shows the same bytes. */
static void test_a_picture_is_shared(void **state) {
  (void)state;
  static uint8_t expected[SIDE * SIDE * 4];
  struct mapping other;
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
    if (map_share(shared->share, shared->share_bytes, &other)) {
      assert_plane(other.bytes, picture.pitch[0], expected, SIDE * 4, SIDE);
      unmap_share(&other);
    }
  } else {
    printf("memory of pictures is not exported here\n");
  }
  frame_release(&picture);
  rig_close(&rig);
}

/* Two planes in one block of memory, as a decoder's surface has them; their copy may be enqueued before they are
 * written. */
static void test_planes_are_shared(void **state) {
  (void)state;
  enum { PITCH = SIDE + 192, ROWS = SIDE / 2 * 3, TIMES = 50 };
  static uint8_t pixels[ROWS * PITCH], luma[SIDE * SIDE], chroma[SIDE * SIDE / 2];
  struct gpu gpu;
  struct gpu_share *share;
  struct mapping other;
  struct error err;
  uint8_t *surface;
  assert_true(devices_find_gpu("cuda", &gpu));
  if (gpu.impl->make_share(&gpu, sizeof pixels, &share, &err)) {
    printf("%s\n", err.message);
    return;
  }
  struct picture picture = {.fence = gpu.impl->make_fence(&gpu, &err)};
  struct frame frame = {
      .format = PIXEL_NV12, .width = SIDE, .height = SIDE, .pitch = {PITCH, PITCH}, .picture = &picture};
  assert_non_null(picture.fence);
  assert_int_equal(cudaMalloc((void **)&surface, sizeof pixels), cudaSuccess);
  picture.device_plane[0] = surface;
  picture.device_plane[1] = surface + SIDE * PITCH;
  bool mapped = map_share(share->descriptor, share->bytes, &other);
  for (int i = 0; i < TIMES; i++) {
    for (size_t k = 0; k < sizeof pixels; k++)
      pixels[k] = (uint8_t)rand();
    for (int y = 0; y < ROWS; y++)
      memcpy(y < SIDE ? luma + y * SIDE : chroma + (y - SIDE) * SIDE, pixels + y * PITCH, SIDE);
    assert_int_equal(cudaMemcpyAsync(surface, pixels, sizeof pixels, cudaMemcpyHostToDevice, cudaStreamLegacy),
                     cudaSuccess);
    assert_int_equal(gpu.impl->record_fence(&gpu, picture.fence, &err), 0);
    assert_int_equal(gpu.impl->fill_share(&gpu, share, &frame, &err), 0);
    assert_int_equal(gpu.impl->wait_share(&gpu, share, &err), 0);
    if (mapped) {
      assert_plane(other.bytes, PITCH, luma, SIDE, SIDE);
      assert_plane((uint8_t *)other.bytes + SIDE * PITCH, PITCH, chroma, SIDE, SIDE / 2);
    }
  }
  if (mapped)
    unmap_share(&other);
  /* this share is filled, and nobody waits for it */
  assert_int_equal(gpu.impl->fill_share(&gpu, share, &frame, &err), 0);
  gpu.impl->free_share(&gpu, share);
  gpu.impl->free_fence(&gpu, picture.fence);
  cudaFree(surface);
}

int main(int argc, char **argv) {
  int skipped = look_for_gpu();
  if (skipped)
    return skipped;
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_a_picture_stays_on_the_device),
      cmocka_unit_test(test_some_pictures_stay),
      cmocka_unit_test(test_two_threads_ask),
      cmocka_unit_test(test_a_picture_outlives_a_size),
      cmocka_unit_test(test_a_picture_outlives_its_device),
      cmocka_unit_test(test_a_picture_is_shared),
      cmocka_unit_test(test_planes_are_shared),
  };
  if (argc > 1)
    cmocka_set_test_filter(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}
