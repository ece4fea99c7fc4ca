/* Tests the list of GPUs without an engine, and frames of a device that lie in GPU memory. Skipped without a GPU. */
#include "tests/rigs/cmocka_all.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cuda_runtime_api.h>

#include "cuda/program.h"
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

/* The engine's device computes on the GPU that was named. */
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
  assert_false(gpu.impl->lock_host(&gpu, own, bytes)); /* the memory was locked before */
  gpu.impl->unlock_host(&gpu, own);
  assert_false(is_locked(own));
  assert_null(gpu.impl->alloc_host(&gpu, (size_t)1 << 60));
  assert_int_equal(cudaGetLastError(), cudaSuccess); /* the error is cleared, so that later calls do not report it */
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

/* --- frames --- */

enum { W = 64, H = 48, ODD_W = 197, ODD_H = 131, SURFACE = 1 << 18 };

/* Where the planes of a frame are before the device gets them. */
enum place { PLACE_HOST, PLACE_PINNED, PLACE_DEVICE, PLACE_ELSEWHERE /* memory of another GPU */, PLACES };

/* A decoder's picture: planes in device memory, in page-locked host memory or in both, with the row pitches of that
 * frame. */
struct surface {
  struct picture base;
  enum place place;
  uint8_t *device, *host;
  int waits;
};

static int surface_make(void *opaque, struct picture *picture, struct error *err) {
  struct surface *surface = (struct surface *)picture;
  surface->place = *(const enum place *)opaque;
  bool on_device = surface->place >= PLACE_DEVICE;
  picture->memory = MEMORY_HOST | (on_device ? MEMORY_DEVICE : surface->place == PLACE_PINNED ? MEMORY_PINNED : 0u);
  picture->gpu = gpu.id;
  picture->gpu.uuid[0] ^= surface->place == PLACE_ELSEWHERE;
  surface->host = gpu.impl->alloc_host(&gpu, SURFACE);
  if (!surface->host || (on_device && (cudaMalloc((void **)&surface->device, SURFACE) != cudaSuccess ||
                                       !(picture->fence = gpu.impl->make_fence(&gpu, err)))))
    return error_set(err, STATUS_DEVICE, "no surface");
  return 0;
}

static void surface_destroy(struct picture *picture) {
  const struct surface *surface = (struct surface *)picture;
  cudaFree(surface->device);
  gpu.impl->free_host(&gpu, surface->host);
  if (picture->fence)
    gpu.impl->free_fence(&gpu, picture->fence);
}

static int surface_wait(struct picture *picture, enum memory kind, struct error *err) {
  struct surface *surface = (struct surface *)picture;
  if (surface->place < PLACE_DEVICE || kind != MEMORY_HOST)
    return 0;
  surface->waits++;
  return gpu.impl->download(&gpu, &picture->template, err);
}

static bool surface_ready(struct picture *picture, enum memory kind) {
  return ((struct surface *)picture)->place < PLACE_DEVICE || kind != MEMORY_HOST;
}

static const struct picture_owner surface_owner = {.bytes = sizeof(struct surface),
                                                   .make = surface_make,
                                                   .destroy = surface_destroy,
                                                   .wait = surface_wait,
                                                   .ready = surface_ready};

/* Fills a surface on the default stream, as a decoder does: pixels from `seed`, and fixed bytes as padding. */
static void surface_fill(struct frame *frame, unsigned seed) {
  static uint8_t pixels[SURFACE];
  struct surface *surface = (struct surface *)frame->picture;
  bool on_device = surface->place >= PLACE_DEVICE;
  uint8_t *to = on_device ? surface->device : surface->host;
  if (on_device) {
    assert_int_equal(cudaMemsetAsync(surface->device, 0xee, SURFACE, cudaStreamLegacy), 0);
    memset(surface->host, 0xaa, SURFACE);
  } else {
    memset(surface->host, 0xee, SURFACE);
  }
  for (int plane = 0; plane < frame_planes(frame->format); plane++) {
    size_t bytes = (size_t)frame_row_bytes(frame->format, plane, frame->width),
           rows = (size_t)frame_rows(frame->format, plane, frame->height);
    ptrdiff_t at = frame->plane[plane] - surface->host;
    for (size_t i = 0; i < bytes * rows; i++)
      pixels[i] = (uint8_t)((seed = seed * 1664525u + 1013904223u) >> 24);
    assert_int_equal(cudaMemcpy2D(to + at, (size_t)frame->pitch[plane], pixels, bytes, bytes, rows, cudaMemcpyDefault),
                     cudaSuccess);
    if (on_device)
      frame->picture->device_plane[plane] = surface->device + at;
  }
  frame->picture->template = *frame;
  if (on_device)
    assert_int_equal(gpu.impl->record_fence(&gpu, frame->picture->fence, NULL), 0);
}

/* Takes a surface from the pool. Its rows are padded by `more` bytes, so that planes have odd pitches. */
static struct frame surface_take(struct picture_pool *pool, enum pixel_format format, int width, int height, int more,
                                 unsigned seed) {
  struct frame frame;
  assert_int_equal(picture_pool_take(pool, &frame, NULL), 1);
  struct picture *picture = frame.picture;
  frame = (struct frame){.format = format, .range = RANGE_LIMITED, .width = width, .height = height};
  frame.picture = picture;
  size_t at = 0;
  for (int i = 0; i < frame_planes(format); i++) {
    frame.plane[i] = ((struct surface *)picture)->host + at;
    frame.pitch[i] = frame_row_bytes(format, i, width) + more;
    at += (size_t)frame.pitch[i] * (size_t)frame_rows(format, i, height);
  }
  assert_true(at <= SURFACE);
  surface_fill(&frame, seed);
  return frame;
}

/* A plan whose picture is the mean of two source frames. */
struct rig {
  struct resources resources;
  struct plan plan;
  struct device *device;
  struct program *program;
  struct run_params params;
  struct picture_pool *pools[PLACES];
  struct error err;
};

static void must(const struct rig *rig, int status) {
  if (status < 0)
    fail_msg("%s", rig->err.message);
}

static void rig_open(struct rig *rig, enum graph_use graph) {
  static const enum place places[PLACES] = {PLACE_HOST, PLACE_PINNED, PLACE_DEVICE, PLACE_ELSEWHERE};
  const struct device_options options = {.name = "cuda", .graph = graph, .stamps = true, .pictures = 2};
  struct tensor in[SOURCES_MAX];
  *rig = (struct rig){.params = {.mix = 0.5f}};
  plan_init(&rig->plan, &rig->resources);
  for (int i = 0; i < SOURCES_MAX; i++)
    in[i] = plan_pixels_in(&rig->plan, "in", (struct op_pixels_in){.scale = 1, .source = i, .y = {.h = H, .w = W}});
  plan_pixels_out(&rig->plan, "out", (struct op_pixels_out){.scale = 1, .x = in[1], .input = in[0], .input_scale = 1});
  must(rig, plan_finish(&rig->plan, &rig->err));
  must(rig, device_open(&rig->device, &rig->resources, &options, &rig->err));
  must(rig, device_prepare(rig->device, &rig->program, &rig->plan, &(struct program_options){PIXEL_RGBA}, &rig->err));
  for (int i = 0; i < PLACES; i++)
    must(rig, picture_pool_open(&rig->pools[i], &surface_owner, (void *)(uintptr_t)&places[i], 2, 0, &rig->err));
}

static void rig_close(struct rig *rig) {
  device_release(rig->device, &rig->program);
  device_close(&rig->device);
  plan_free(&rig->plan);
  resources_free(&rig->resources);
  for (int i = 0; i < PLACES; i++)
    picture_pool_close(&rig->pools[i]);
}

/* Submits the frames and ends their holds. */
static void submit(struct rig *rig, struct frame frames[SOURCES_MAX]) {
  for (int i = 0; i < SOURCES_MAX; i++)
    rig->params.geometry[i] = (struct geometry){0, 0, (float)frames[i].width, (float)frames[i].height, 0, 0, W, H};
  must(rig, device_submit(rig->device, rig->program, &rig->params, frames, &rig->err));
  for (int i = 0; i < SOURCES_MAX; i++)
    frame_release(&frames[i]);
}

static void collect(struct rig *rig, uint8_t *out) {
  struct frame picture;
  must(rig, device_collect(rig->device, rig->program, &picture, &rig->err));
  must(rig, frame_wait(&picture, MEMORY_HOST, &rig->err));
  for (int y = 0; y < H; y++)
    memcpy(out + (size_t)y * W * 4, picture.plane[0] + (long)y * picture.pitch[0], W * 4);
  frame_release(&picture);
}

static struct device_counters counters(struct rig *rig) {
  struct device_counters now;
  device_get_counters(rig->device, &now);
  return now;
}

/* The same samples give the same picture in all bits wherever they lie, and the counters say how many bytes were
 * copied. */
static void test_places(void **state) {
  (void)state;
  static uint8_t pictures[PLACES][W * H * 4];
  static const enum pixel_format formats[] = {PIXEL_NV12, PIXEL_P010, PIXEL_YUV420P, PIXEL_YUYV, PIXEL_BGRA};
  struct rig rig;
  rig_open(&rig, GRAPH_ON);
  for (size_t i = 0; i < 2 * sizeof formats / sizeof formats[0]; i++) {
    enum pixel_format format = formats[i / 2];
    /* the host repacks planes of 16-bit samples whose pitch is odd */
    int more = i % 2 ? 29 : 32, odd = format == PIXEL_P010 && more % 2;
    for (int place = 0; place < PLACES; place++) {
      struct frame frames[SOURCES_MAX] = {
          surface_take(rig.pools[place], format, ODD_W, ODD_H, more, (unsigned)i),
          surface_take(rig.pools[place], PIXEL_NV12, ODD_W / 4, ODD_H / 4, 3, (unsigned)i + 99)};
      const struct surface *first = (struct surface *)frames[0].picture;
      size_t one = frame_bytes(&frames[0]), two = frame_bytes(&frames[1]);
      int waits = first->waits;
      const struct device_counters before = counters(&rig);
      submit(&rig, frames);
      collect(&rig, pictures[place]);
      const struct device_counters after = counters(&rig);
      bool by_host = place == PLACE_ELSEWHERE || (place == PLACE_DEVICE && odd);
      assert_int_equal(first->waits - waits, by_host);
      size_t staged = place == PLACE_PINNED ? 0 : place == PLACE_DEVICE ? (odd ? one : 0) : one + two;
      size_t up = place == PLACE_PINNED ? one + two : staged;
      assert_true(after.staged - before.staged == staged && after.copied_up - before.copied_up == up);
      assert_true(after.copied_down - before.copied_down == W * H * 4 + (place == PLACE_ELSEWHERE ? one + two
                                                                         : by_host                ? one
                                                                                                  : 0));
      assert_true((after.stamps.upload_ns != 0) == (up != 0) && after.stamps.begun_ns && after.stamps.computed_ns);
      assert_memory_equal(pictures[place], pictures[0], sizeof pictures[0]);
    }
  }
  rig_close(&rig);
}

/* One source frame is uploaded and its picture downloaded by the graph; of two frames in flight by separate copies.
 * Both give the same bits. */
static void test_alone_and_beside(void **state) {
  (void)state;
  enum { EVEN_W = 192, EVEN_H = 131 };
  static uint8_t first[W * H * 4], alone[W * H * 4], beside[W * H * 4];
  static const enum pixel_format formats[] = {PIXEL_NV12, PIXEL_P010, PIXEL_YUV420P, PIXEL_YUYV, PIXEL_BGRA};
  struct rig rig;
  rig_open(&rig, GRAPH_ON);
  for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
    for (int place = 0; place < PLACES; place++) {
      for (int both = 0; both < 2; both++) {
        for (int j = 0; j <= both; j++) {
          struct frame frames[SOURCES_MAX] = {
              surface_take(rig.pools[place], formats[i], EVEN_W, EVEN_H, 32, (unsigned)(i + 7 * (j < both))),
              surface_take(rig.pools[place], PIXEL_YUV420P, EVEN_W / 2, 30, 16, (unsigned)i + 99)};
          submit(&rig, frames);
          const struct run_buffer *buffer = &cuda_program(rig.program)->buffer[(rig.program->submitted - 1) % 2];
          int carried = place == PLACE_PINNED ? frame_planes(formats[i]) + 3 : place == PLACE_DEVICE ? 0 : 1;
          assert_int_equal(buffer->order->ups, j ? 0 : carried);
          assert_true(buffer->downloads == j && buffer->order->downs == !j);
        }
        for (int j = 0; j <= both; j++)
          collect(&rig, j < both ? first : both ? beside : alone);
        assert_true(counters(&rig).stamps.downloaded_ns >= counters(&rig).stamps.computed_ns);
      }
      assert_memory_equal(alone, beside, sizeof alone);
      assert_memory_not_equal(alone, first, sizeof alone);
    }
  rig_close(&rig);
}

/* Frames lie in all kinds of memory in turn, with changing sizes, two runs in flight, and no graph. */
static void test_turns(void **state) {
  enum { RUNS = 24 };
  static uint8_t pictures[PLACES + 1][RUNS][W * H * 4];
  struct rig rig;
  rig_open(&rig, *(const enum graph_use *)*state);
  for (int turn = 0; turn <= PLACES; turn++) {
    for (int i = 0; i < RUNS; i++) {
      int one = turn < PLACES ? turn : i * 7 % PLACES, two = turn < PLACES ? turn : i / 2 % PLACES;
      struct frame frames[SOURCES_MAX] = {
          surface_take(rig.pools[one], i % 3 ? PIXEL_NV12 : PIXEL_P010, ODD_W - 8 * i, ODD_H - i, 2, (unsigned)i),
          surface_take(rig.pools[two], PIXEL_RGBA, 1 + i, 2 + i, 4, (unsigned)i)};
      submit(&rig, frames);
      if (i)
        collect(&rig, pictures[turn][i - 1]);
    }
    collect(&rig, pictures[turn][RUNS - 1]);
    for (int i = 0; i < RUNS; i++)
      assert_memory_equal(pictures[turn][i], pictures[0][i], sizeof pictures[0][i]);
  }
  assert_memory_not_equal(pictures[0][0], pictures[0][1], sizeof pictures[0][0]);
  rig_close(&rig);
}

static atomic_bool held;

static void CUDART_CB hold(void *opaque) {
  (void)opaque;
  while (atomic_load(&held))
    platform_sleep_ns(100000);
}

/* A frame that the decoder is still writing delays only its own run; an earlier run can be collected meanwhile. The
 * picture shows what the decoder wrote at last. */
static void test_fence(void **state) {
  (void)state;
  static uint8_t expected[2][W * H * 4], got[2][W * H * 4];
  struct rig rig;
  rig_open(&rig, GRAPH_ON);
  uint8_t *kept;
  assert_int_equal(cudaMalloc((void **)&kept, SURFACE), 0);
  for (int late = 0; late < 2; late++) {
    struct frame frames[2][SOURCES_MAX];
    for (int i = 0; i < 2; i++)
      for (int j = 0; j < SOURCES_MAX; j++)
        frames[i][j] = surface_take(rig.pools[PLACE_DEVICE], PIXEL_NV12, ODD_W, ODD_H, 9, (unsigned)(2 * i + j));
    cudaDeviceSynchronize();
    if (late) { /* the second frame is written only when the blocked stream continues */
      struct surface *surface = (struct surface *)frames[1][0].picture;
      assert_int_equal(cudaMemcpy(kept, surface->device, SURFACE, cudaMemcpyDeviceToDevice), 0);
      assert_int_equal(cudaMemset(surface->device, 0, SURFACE), 0);
      cudaDeviceSynchronize();
      atomic_store(&held, true);
      assert_int_equal(cudaLaunchHostFunc(cudaStreamLegacy, hold, NULL), 0);
      assert_int_equal(cudaMemcpyAsync(surface->device, kept, SURFACE, cudaMemcpyDeviceToDevice, cudaStreamLegacy), 0);
      assert_int_equal(gpu.impl->record_fence(&gpu, surface->base.fence, NULL), 0);
    }
    submit(&rig, frames[0]);
    submit(&rig, frames[1]);
    collect(&rig, (late ? got : expected)[0]);
    atomic_store(&held, false);
    collect(&rig, (late ? got : expected)[1]);
  }
  assert_memory_equal(got[0], expected[0], sizeof got[0]);
  assert_memory_equal(got[1], expected[1], sizeof got[1]);
  assert_memory_not_equal(got[0], got[1], sizeof got[0]);
  cudaFree(kept);
  rig_close(&rig);
}

/* Frames in device memory add no launches and no allocations, whatever their size. */
static void test_device_frames_cost_nothing(void **state) {
  (void)state;
  static uint8_t picture[W * H * 4];
  struct rig rig;
  rig_open(&rig, GRAPH_ON);
  const struct device_counters before = counters(&rig);
  for (int i = 0; i < 4; i++) {
    struct frame frames[SOURCES_MAX] = {surface_take(rig.pools[PLACE_DEVICE], PIXEL_P010, 256, 160, 64, 1),
                                        surface_take(rig.pools[PLACE_DEVICE], PIXEL_NV12, 128, 96, 64, 2)};
    submit(&rig, frames);
    collect(&rig, picture);
  }
  const struct device_counters after = counters(&rig);
  assert_true(after.bytes == before.bytes && after.allocations == before.allocations);
  assert_true(after.launches == before.launches + 4 && after.copied_up == 0 && after.staged == 0);
  rig_close(&rig);
}

int main(void) {
  static const enum graph_use with_graph = GRAPH_ON, without_graph = GRAPH_OFF;
  struct error err = {0};
  struct resources resources = {0};
  struct device *device;
  if (!devices_find_gpu("cuda", &gpu)) {
    /* if an error were left, no device could be opened after it */
    int opened = device_open(&device, &resources, &(struct device_options){.name = "cuda"}, &err);
    printf("skipped: %s\n", err.message);
    return opened == 0 || gpu.impl ? 1 : SKIPPED;
  }
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_device),
      cmocka_unit_test(test_host_memory),
      cmocka_unit_test(test_download),
      cmocka_unit_test(test_places),
      cmocka_unit_test(test_alone_and_beside),
      cmocka_unit_test_prestate(test_turns, (void *)(uintptr_t)&with_graph),
      cmocka_unit_test_prestate(test_turns, (void *)(uintptr_t)&without_graph),
      cmocka_unit_test(test_fence),
      cmocka_unit_test(test_device_frames_cost_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
