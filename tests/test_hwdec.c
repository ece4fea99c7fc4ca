/* Tests that hardware decoders, and software decoders that write to page-locked memory, give the same bits as plain
 * software. Hardware and GPU are fakes: surfaces are in host memory that only the fake GPU may read. */
#include "tests/rigs/cmocka_all.h"

#include <pthread.h>
#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/hash_samples.h"
#include "tests/rigs/hwdec_rig.h"

static struct given plain, given;

static const struct source_options in_software;

static const char *const names[] = {"h264.mp4",  "deep.mkv", "odd.mkv",     "mpeg4.avi", "grey.mkv",
                                    "mjpeg.avi", "vp8.webm", "palette.gif", "raw.nut"};

enum {
  CLIPS = sizeof names / sizeof *names,
  ON_HARDWARE = 2 /* ON_HARDWARE: the first clips, which the hardware can decode */
};

/* Software decodes to page-locked memory, either directly or by a copy for decoders that allocate pictures themselves
 * (raw.nut, as when reading a screen); the pixels are the same. */
static void test_locked_memory(void **state) {
  (void)state;
  for (int i = 0; i < 2 * CLIPS; i++) {
    const char *name = names[i / 2];
    struct source_options options = with_gpu(), without = {.live = i % 2};
    reset();
    options.live = i % 2;
    read_clip(name, &without, 0, &plain);
    assert_false(plain.pictures[0].pinned);
    read_clip(name, &options, 0, &given);
    assert_same(&plain, &given);
    if (!given.pictures[0].pinned || !given.pictures[given.count - 1].pinned)
      fail_msg("%s: not in page-locked memory", name);
    if (gpu_state.allocated > 40)
      fail_msg("%s: %d allocations are not those of a pool", name, gpu_state.allocated);
    assert_all_freed();
  }
}

static void test_no_locked_memory(void **state) {
  (void)state;
  struct source_options options = with_gpu();
  reset();
  gpu_state.full = true;
  for (int i = 0; i < CLIPS; i++) {
    read_clip(names[i], &in_software, 0, &plain);
    read_clip(names[i], &options, 0, &given);
    assert_same(&plain, &given);
    assert_false(given.pictures[0].pinned);
  }
  assert_int_equal(gpu_state.allocated, 0);
}

static void test_surfaces(void **state) {
  (void)state;
  const struct source_options options = with_hardware();
  for (int i = 0; i < ON_HARDWARE; i++) {
    reset();
    read_clip(names[i], &in_software, 0, &plain);
    read_clip(names[i], &options, 0, &given);
    assert_same(&plain, &given);
    assert_string_equal(given.hardware, "fake");
    for (int k = 0; k < given.count; k++)
      assert_true(given.pictures[k].device && !given.pictures[k].pinned);
    assert_int_equal(gpu_state.downloads, given.count);
    assert_all_freed();
  }
}

static struct source *open_h264(void) {
  const struct source_options options = with_hardware();
  struct source *source;
  struct error err;
  reset();
  if (source_open(&source, clip("h264.mp4"), &options, &err))
    fail_msg("%s", err.message);
  return source;
}

/* Pixels are copied to the host only if somebody asks for them; pictures stay valid after their source is closed. */
static void test_not_asked_for(void **state) {
  (void)state;
  struct source *source = open_h264();
  struct frame frame;
  struct error err;
  for (int i = 0; i < 20; i++) {
    assert_int_equal(source_read(source, &frame, &err), 1);
    assert_true(frame_on_gpu(&frame, &fake_gpu.id));
    assert_non_null(frame.plane[1]);
    frame_release(&frame);
  }
  assert_int_equal(source_read(source, &frame, &err), 1);
  source_close(&source);
  assert_int_equal(gpu_state.surfaces, 1);
  assert_int_equal(gpu_state.downloads, 0);
  assert_int_equal(frame_wait(&frame, MEMORY_HOST, &err), 0);
  frame_release(&frame);
  assert_int_equal(gpu_state.downloads, 1);
  assert_all_freed();
}

/* Surfaces that the decoder needs are not held by pictures: further pictures are copies. */
static void test_held(void **state) {
  (void)state;
  struct frame frames[HARDWARE_HOLDS + 3];
  struct source *source = open_h264();
  struct error err;
  read_clip("h264.mp4", &in_software, HARDWARE_HOLDS + 3, &plain);
  for (int i = 0; i < HARDWARE_HOLDS + 3; i++) {
    assert_int_equal(source_read(source, &frames[i], &err), 1);
    assert_int_equal(frame_on_gpu(&frames[i], &fake_gpu.id), i < HARDWARE_HOLDS);
    assert_true(i < HARDWARE_HOLDS || frame_pinned(&frames[i]));
  }
  assert_int_equal(gpu_state.surfaces, HARDWARE_HOLDS);
  for (int i = 0; i < HARDWARE_HOLDS + 3; i++) {
    assert_int_equal(frame_wait(&frames[i], MEMORY_HOST, &err), 0);
    assert_true(hash_samples(&frames[i]) == plain.pictures[i].hash);
    frame_release(&frames[i]);
  }
  source_close(&source);
  assert_all_freed();
}

static void assert_shares(struct frame *frame, uint64_t hash) {
  struct error err;
  assert_int_equal(frame_wait(frame, MEMORY_SHARED, &err), 0);
  assert_int_equal(gpu_state.filling, 0);
  const struct picture *picture = frame->picture;
  const struct fake_share *share = fake_share_find(picture->share);
  assert_non_null(share);
  assert_int_equal(share->base.bytes, picture->share_bytes);
  struct frame there = *frame;
  for (int plane = 0; plane < frame_planes(frame->format); plane++)
    there.plane[plane] =
        share->memory + ((uint8_t *)picture->device_plane[plane] - (uint8_t *)picture->device_plane[0]);
  assert_true(hash_samples(&there) == hash);
}

/* Memory that OpenGL imports has the surface's pixels, nothing is copied to the host, and later pictures use the memory
 * again. */
static void test_shared(void **state) {
  (void)state;
  for (int i = 0; i < ON_HARDWARE; i++) {
    const struct source_options options = with_hardware();
    struct source *source;
    struct frame frame;
    struct error err;
    read_clip(names[i], &in_software, 20, &plain);
    reset();
    assert_int_equal(source_open(&source, clip(names[i]), &options, &err), 0);
    for (int k = 0; k < 20; k++) {
      assert_int_equal(source_read(source, &frame, &err), 1);
      assert_false(frame_ready(&frame, MEMORY_SHARED));
      for (int twice = 0; twice < 2; twice++)
        assert_shares(&frame, plain.pictures[k].hash);
      assert_true(frame_ready(&frame, MEMORY_SHARED));
      assert_int_equal(gpu_state.shared, k + 1);
      frame_release(&frame);
    }
    assert_int_equal(gpu_state.downloads, 0);
    assert_int_equal(gpu_state.shares, 1);
    source_close(&source);
    assert_all_freed();
  }
}

/* Once somebody asks for a picture in OpenGL, later pictures are copied there as soon as they are decoded, until nobody
 * has asked for a while. surface_freed (fake_hardware.c) checks that a surface is returned only after its copy. */
static void test_shared_ahead(void **state) {
  (void)state;
  enum { FIRST = 1, SECOND = 20, BROKEN = 21, LAST = 22 };
  struct source *source = open_h264();
  struct frame frame;
  struct error err;
  read_clip("h264.mp4", &in_software, LAST + 1, &plain);
  for (int i = 0; i <= LAST; i++) {
    assert_int_equal(source_read(source, &frame, &err), 1);
    if (i <= FIRST || i == SECOND)
      assert_int_equal(gpu_state.filling, 0);
    if (i == FIRST + 1 || i > SECOND)
      assert_int_equal(gpu_state.filling, 1);
    if (i == BROKEN) {
      gpu_state.broken = true;
      assert_int_equal(frame_wait(&frame, MEMORY_SHARED, &err), -1);
      assert_string_equal(err.message, "the copy failed");
      gpu_state.broken = false;
    }
    if (i == FIRST || i == SECOND || i == BROKEN)
      assert_shares(&frame, plain.pictures[i].hash);
    if (i < LAST)
      frame_release(&frame);
  }
  source_close(&source);
  frame_release(&frame); /* the copy is not complete yet */
  assert_all_freed();
}

/* If memory cannot be shared with OpenGL, the picture is copied to the host as before. */
static void test_not_shared(void **state) {
  (void)state;
  struct source *source = open_h264();
  struct frame frame;
  struct error err;
  read_clip("h264.mp4", &in_software, 1, &plain);
  assert_int_equal(source_read(source, &frame, &err), 1);
  gpu_state.full = true;
  assert_int_equal(frame_wait(&frame, MEMORY_SHARED, &err), -1);
  assert_string_equal(err.message, "no memory to share");
  assert_int_equal(frame.picture->share, -1);
  gpu_state.full = false;
  assert_int_equal(frame_wait(&frame, MEMORY_HOST, &err), 0);
  assert_true(hash_samples(&frame) == plain.pictures[0].hash);
  frame_release(&frame);
  source_close(&source);
  assert_all_freed();
}

static void *ask(void *opaque) {
  struct error err;
  return (void *)(intptr_t)frame_wait(opaque, MEMORY_HOST, &err);
}

static void test_asked_by_two(void **state) {
  (void)state;
  struct source *source = open_h264();
  struct frame frame;
  struct error err;
  read_clip("h264.mp4", &in_software, 8, &plain);
  for (int i = 0; i < 8; i++) {
    pthread_t threads[2];
    void *failed;
    assert_int_equal(source_read(source, &frame, &err), 1);
    for (int k = 0; k < 2; k++)
      assert_int_equal(pthread_create(&threads[k], NULL, ask, &frame), 0);
    for (int k = 0; k < 2; k++) {
      pthread_join(threads[k], &failed);
      assert_null(failed);
    }
    assert_int_equal(gpu_state.downloads, i + 1);
    assert_true(hash_samples(&frame) == plain.pictures[i].hash);
    frame_release(&frame);
  }
  source_close(&source);
  assert_all_freed();
}

/* Pictures that the processor has to change (mirror, rotation) are in host memory. */
static void test_changed(void **state) {
  (void)state;
  struct mirror mirror = {.wish = MIRROR_ON};
  struct source_options options = with_hardware(), software = {.mirror = &mirror};
  options.mirror = &mirror;
  reset();
  read_clip("h264.mp4", &software, 0, &plain);
  read_clip("h264.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_true(given.pictures[0].pinned && !given.pictures[0].device);
  assert_all_freed();
  options.mirror = software.mirror = NULL;
  read_clip("turned.mp4", &software, 0, &plain);
  read_clip("turned.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_true(given.pictures[0].width < given.pictures[0].height && given.pictures[0].pinned);
  assert_int_equal(hardware_state.opened, 1); /* opened for the clip before; this rotated clip is decoded in software */
  assert_all_freed();
  options.hardware_must = true;
  read_clip("turned.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_int_equal(hardware_state.opened, 2);
  assert_all_freed();
}

/* Video whose colours must be converted is decoded in software; if hardware is demanded, its pictures are copied to the
 * host. */
static void test_wide_colours(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  reset();
  read_clip("wide.mp4", &in_software, 0, &plain);
  read_clip("wide.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_int_equal(hardware_state.opened, 0);
  options.hardware_must = true;
  read_clip("wide.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_int_equal(hardware_state.opened, 1);
  assert_false(given.pictures[0].device);
  read_clip("h264.mp4", &in_software, 0, &given);
  assert_true(given.pictures[0].hash != plain.pictures[0].hash);
  assert_all_freed();
}

static int make_clips(void **state) {
  if (hwdec_rig_open(state))
    return -1;
  shell(FFMPEG "-f lavfi -i testsrc2=s=162x122:r=25:d=1 -c:v mpeg4 -bf 2 mpeg4.avi");
  shell(FFMPEG "-f lavfi -i testsrc2=s=161x91:r=25:d=0.4 -pix_fmt yuvj422p -c:v mjpeg mjpeg.avi");
  shell(FFMPEG "-f lavfi -i testsrc2=s=160x90:r=25:d=0.4 -c:v libvpx -cpu-used 8 -deadline realtime vp8.webm");
  shell(FFMPEG "-f lavfi -i testsrc2=s=100x60:r=10:d=0.5 palette.gif");
  shell(FFMPEG "-f lavfi -i testsrc2=s=64x64:r=10:d=0.5 -pix_fmt yuv420p -c:v rawvideo raw.nut");
  shell(FFMPEG "-i h264.mp4 -c copy -metadata:s:v:0 rotate=90 turned.mp4");
  shell(FFMPEG "-i h264.mp4 -c copy -bsf:v h264_metadata=colour_primaries=9:video_full_range_flag=0 wide.mp4");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locked_memory), cmocka_unit_test(test_no_locked_memory),
      cmocka_unit_test(test_surfaces),      cmocka_unit_test(test_not_asked_for),
      cmocka_unit_test(test_held),          cmocka_unit_test(test_shared),
      cmocka_unit_test(test_shared_ahead),  cmocka_unit_test(test_not_shared),
      cmocka_unit_test(test_asked_by_two),  cmocka_unit_test(test_changed),
      cmocka_unit_test(test_wide_colours),
  };
  if (!clips_open())
    return 77;
  return cmocka_run_group_tests(tests, make_clips, hwdec_rig_close);
}
