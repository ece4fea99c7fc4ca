/* GPUs without an engine, and the device's frames that lie in GPU memory. Skipped where there is no GPU. */
#include "tests/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "unet/base/picture.h"
#include "unet/base/platform.h"
#include "unet/devices.h"

enum { SKIPPED = 77, PAGE = 4096 };

static struct gpu gpu;

static void test_names(void **state) {
  (void)state;
  const char *const names[] = {NULL, "auto", "cuda", "cuda:0"};
  struct gpu found;
  for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
    memset(&found, 1, sizeof found);
    assert_true(devices_find_gpu(names[i], &found) && found.impl == gpu.impl && gpu_same(&found.id, &gpu.id));
    assert_int_equal(found.id.ordinal, 0);
  }
  assert_false(devices_find_gpu("cuda:99", &found) || devices_find_gpu("cuda:x", &found));
}

/* The engine's device says that it computes there. */
static void test_device(void **state) {
  (void)state;
  struct resources resources = {0};
  struct device_info info;
  struct device *device;
  struct error err = {0};
  if (device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err) < 0)
    fail_msg("%s", err.message);
  device_get_info(device, &info);
  assert_true(gpu_same(&info.gpu, &gpu.id) && info.gpu.ordinal == gpu.id.ordinal);
  device_close(&device);
}

static bool is_locked(const void *memory) {
  struct cudaPointerAttributes attributes;
  return cudaPointerGetAttributes(&attributes, memory) == cudaSuccess && attributes.type == cudaMemoryTypeHost;
}

static void test_host_memory(void **state) {
  (void)state;
  const size_t bytes = 10 * PAGE;
  uint8_t *pinned = gpu.impl->alloc_host(&gpu, bytes), *own = platform_alloc(PAGE, bytes);
  assert_non_null(pinned);
  assert_int_equal((uintptr_t)pinned % PAGE, 0);
  memset(pinned, 1, bytes);
  assert_true(is_locked(pinned) && is_locked(pinned + bytes - 1) && !is_locked(own));
  assert_true(gpu.impl->lock_host(&gpu, own, bytes));
  assert_true(is_locked(own));
  assert_false(gpu.impl->lock_host(&gpu, own, bytes)); /* it is */
  gpu.impl->unlock_host(&gpu, own);
  assert_false(is_locked(own));
  assert_null(gpu.impl->alloc_host(&gpu, (size_t)1 << 60));
  assert_int_equal(cudaGetLastError(), cudaSuccess); /* nothing is left for others to stumble on */
  gpu.impl->free_host(&gpu, pinned);
  platform_free(own);
}

/* --- download --- */

/* A picture whose planes were written on the default stream, with odd pitches. */
static void test_download(void **state) {
  (void)state;
  enum { W = 37, H = 21, PITCH = 131 };
  static uint8_t pixels[PITCH * H * 2], target[PITCH * H * 2];
  struct error err = {0};
  for (size_t i = 0; i < sizeof pixels; i++)
    pixels[i] = (uint8_t)(i * 7 + (i >> 8));
  uint8_t *memory;
  void *fence = gpu.impl->make_fence(&gpu, &err);
  assert_non_null(fence);
  assert_int_equal(cudaMalloc((void **)&memory, sizeof pixels), cudaSuccess);
  assert_int_equal(cudaMemcpyAsync(memory, pixels, sizeof pixels, cudaMemcpyHostToDevice, cudaStreamLegacy), 0);
  assert_int_equal(gpu.impl->record_fence(&gpu, fence, &err), 0);
  struct picture picture = {.memory = MEMORY_HOST | MEMORY_DEVICE,
                            .device_plane = {memory, memory + PITCH * H},
                            .gpu = gpu.id,
                            .fence = fence};
  struct frame frame = {.format = PIXEL_P010,
                        .width = W,
                        .height = H,
                        .plane = {target, target + PITCH * H},
                        .pitch = {PITCH, PITCH},
                        .picture = &picture};
  for (int locked = 0; locked < 2; locked++) {
    uint8_t *pinned = gpu.impl->alloc_host(&gpu, sizeof target);
    assert_non_null(pinned);
    uint8_t *to = locked ? pinned : target;
    memset(to, 0xaa, sizeof target);
    frame.plane[0] = to, frame.plane[1] = to + PITCH * H;
    if (gpu.impl->download(&gpu, &frame, &err) < 0)
      fail_msg("%s", err.message);
    for (int plane = 0; plane < 2; plane++)
      for (int y = 0; y < frame_rows(PIXEL_P010, plane, H); y++) {
        size_t row = (size_t)(plane * H + y) * PITCH, used = (size_t)frame_row_bytes(PIXEL_P010, plane, W);
        assert_memory_equal(to + row, pixels + row, used);
        for (size_t x = used; x < PITCH; x++)
          assert_int_equal(to[row + x], 0xaa);
      }
    gpu.impl->free_host(&gpu, pinned);
  }
  gpu.impl->free_fence(&gpu, fence);
  cudaFree(memory);
}

int main(void) {
  struct error err = {0};
  struct resources resources = {0};
  struct device *device;
  if (!devices_find_gpu("cuda", &gpu)) {
    /* Then no device can be opened there. */
    int opened = device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err);
    printf("skipped: %s\n", err.message);
    return opened == 0 || gpu.impl ? 1 : SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_host_memory),
      cmocka_unit_test(test_download),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
