/* Tests the frames that a run reads: frames of two sources, and frames in a device's memory. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "unet/base/picture.h"

#include "tests/rigs/played_gpu.h"
#include "tests/rigs/device_rig.h"

/* Opens a rig whose plan has two inputs; the picture is their mean. */
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

/* Each source has its own size, format and rectangle, which may change with every run. */
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

/* A picture in the memory of a fake GPU. `device` is that memory; `host` is poisoned until somebody waits for the
 * picture. */
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

/* Takes a picture from the pool, with planes of this pitch. */
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

/* The CPU in the role of a GPU in whose memory the decoder's pictures are. */
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

/* Frames in the device's own memory, in that of another GPU, or for the CPU, also with 16-bit samples at odd addresses:
 * pictures are the same, and pixels are copied to the host only where that is needed, once. */
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

/* The caller may end its hold at once. The device's hold ends when the frame's run is collected, successful or not,
 * when the program is released, or at once if no run was started. Each run ends only its own frames' holds. */
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

/* Page-locked frames that a GPU copies from by itself are held, too; the CPU has read them when submit returns. */
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

/* An error says that a picture cannot be copied to the host; planes without host memory are not taken for host
 * memory. */
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

/* A second source that becomes available only later allocates nothing then. */
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

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test_prestate(a_run_reads_two_sources, "cpu"),
      cmocka_unit_test_prestate(the_second_source_is_checked, "cpu"),
      cmocka_unit_test_prestate(the_second_source_may_be_the_only_one, "cpu"),
      cmocka_unit_test_prestate(a_late_source_allocates_nothing, "cpu"),
      cmocka_unit_test(frames_are_read_where_they_lie),
      cmocka_unit_test_prestate(frames_are_held_until_they_are_read, "cpu"),
      cmocka_unit_test(pinned_frames_are_held_for_a_gpu),
      cmocka_unit_test(device_frames_are_checked),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
