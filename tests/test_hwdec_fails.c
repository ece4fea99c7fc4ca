/* Tests hardware decoders that refuse a clip, or fail in its middle: software then has all pictures, with the same
 * bits. The hardware is a fake. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/hwdec_rig.h"
#include "tests/rigs/next_frame.h"

static struct given plain, given;

static const struct source_options in_software;

/* A clip that hardware refuses at its beginning is decoded in software from the first picture on, without a message. */
static void test_not_taken(void **state) {
  (void)state;
  const struct source_options options = with_hardware();
  read_clip("h264.mp4", &in_software, 0, &plain);
  for (int way = 0; way < 6; way++) {
    reset();
    hardware_state.absent = way == 0;
    hardware_state.cuts = way == 5;
    hardware_state.fails_from = way == 1 ? 1 : way == 2 ? 3 : 0;
    hardware_state.refuses_from = way == 3 ? 1 : way == 4 ? 2 : 0;
    read_clip("h264.mp4", &options, 0, &given);
    assert_same(&plain, &given);
    assert_int_equal(lines.warnings, 0);
    assert_non_null(strstr(lines.debug, "software"));
    assert_null(given.hardware);
    assert_true(given.pictures[0].pinned);
    assert_all_freed();
  }
  reset();
  read_clip("odd.mkv", &in_software, 0, &plain);
  read_clip("odd.mkv", &options, 0, &given);
  assert_same(&plain, &given);
}

static void refuse(const char *name, const struct source_options *options, const char *wanted) {
  struct source *source;
  struct frame frame;
  struct error err = {0};
  int status = source_open(&source, clip(name), options, &err);
  if (!status)
    status = source_read(source, &frame, &err);
  source_close(&source);
  assert_int_equal(status, -1);
  if (!strstr(err.message, wanted) || !strstr(err.message, "--hwdec auto") || !strstr(err.message, name))
    fail_msg("'%s' is not in '%s'", wanted, err.message);
}

static void test_must(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  options.hardware_must = true;
  reset();
  refuse("grey.mkv", &options, "a fake does not decode its ffv1 video");
  hardware_state.absent = true;
  refuse("h264.mp4", &options, "a fake does not decode its h264 video: ");
  hardware_state.absent = false;
  hardware_state.refuses_from = 1;
  refuse("h264.mp4", &options, "a fake does not decode its h264 video");
  assert_all_freed();
}

/* If hardware stops working anywhere, every picture comes exactly once, and one line says what happened. */
static void test_fails_later(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  read_clip("h264.mp4", &in_software, 0, &plain);
  for (int from = 6; from < 54; from += 3) {
    reset();
    hardware_state.fails_from = from;
    read_clip("h264.mp4", &options, 0, &given);
    assert_same(&plain, &given);
    assert_int_equal(lines.warnings, from <= 51);
    if (from <= 51 && !strstr(lines.warning, "any more"))
      fail_msg("%s", lines.warning);
    assert_true(given.pictures[0].device && (from > 51 || !given.pictures[given.count - 1].device));
    assert_int_equal(hardware_state.opened, 1);
    assert_all_freed();
  }
}

/* As in test_fails_later, for streams whose pictures have no times, or that are refreshed gradually instead of by key
 * frames. */
static void test_fails_oddly(void **state) {
  (void)state;
  static const char *const names[] = {"bare.h264", "bare.hevc", "old.avi", "fresh.ts"};
  const struct source_options options = with_hardware();
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    read_clip(names[i], &in_software, 0, &plain);
    for (int from = 2; from < 26; from += 1 + (from > 6)) {
      reset();
      hardware_state.fails_from = from;
      read_clip(names[i], &options, 0, &given);
      assert_same(&plain, &given);
      assert_int_equal(lines.warnings, given.pictures[0].device);
      assert_false(given.pictures[given.count - 1].device);
      assert_all_freed();
    }
  }
}

/* Checks live decoding: all pictures that the hardware gave, then those of software from the key frame `next` on. */
static void assert_goes_on(int next) {
  int at = 0;
  assert_int_equal(lines.warnings, 1);
  assert_non_null(strstr(lines.warning, "from the next key frame on"));
  assert_true(given.count >= plain.count - 16 && given.count < plain.count);
  for (int i = 0; i < given.count; i++, at++) {
    while (at < plain.count && plain.pictures[at].pts != given.pictures[i].pts)
      at++;
    assert_true(at < plain.count && given.pictures[i].hash == plain.pictures[at].hash);
    assert_int_equal(given.pictures[i].device, at < next);
  }
}

/* In live no packet is decoded twice: software goes on at the next key frame. */
static void test_fails_live(void **state) {
  (void)state;
  struct source_options options = with_hardware(), live = {.live = true};
  options.live = true;
  read_clip("h264.mp4", &live, 0, &plain);
  for (int from = 14; from <= 38; from += 12) {
    reset();
    hardware_state.fails_from = from;
    read_clip("h264.mp4", &options, 0, &given);
    assert_goes_on((from + 11) / 12 * 12);
    assert_all_freed();
  }
}

/* The GPU decodes a picture but cannot copy it. In live the source goes on; render has all pictures, or fails. */
static void test_gpu_fails(void **state) {
  (void)state;
  struct source_options options = with_hardware(), live = {.live = true};
  struct source *source;
  struct frame frame = {0};
  struct error err;
  reset();
  gpu_state.fails_from = 20;
  assert_int_equal(source_open(&source, clip("h264.mp4"), &options, &err), 0);
  for (int i = 1; i < 20; i++)
    assert_int_equal(next_frame(source, &frame, &err), 1);
  assert_int_equal(next_frame(source, &frame, &err), -1);
  assert_non_null(strstr(err.message, "the GPU failed"));
  source_close(&source);
  options.live = true;
  read_clip("h264.mp4", &live, 0, &plain);
  for (int from = 14; from <= 38; from += 12) {
    reset();
    gpu_state.fails_from = from;
    read_clip("h264.mp4", &options, 0, &given);
    assert_goes_on(from - 1);
    assert_non_null(strstr(lines.warning, "the GPU failed"));
    assert_all_freed();
  }
}

/* The file is played in a loop, with --start in it, and hardware works in both rounds, or fails in the second. */
static void test_loops(void **state) {
  (void)state;
  struct source_options options = with_hardware(), software = {.loop = true};
  options.loop = true;
  for (int way = 0; way < 4; way++) {
    options.start = software.start = way % 2 ? 0.7 : 0;
    reset();
    hardware_state.fails_from = way >= 2 ? 70 : 0;
    read_clip("h264.mp4", &software, 120, &plain);
    read_clip("h264.mp4", &options, 120, &given);
    assert_same(&plain, &given);
    assert_int_equal(lines.warnings, way >= 2);
    assert_all_freed();
  }
}

/* The size changes in mid-stream, and hardware accepts or refuses it. Two pictures of each size have the same time. */
static void test_sizes(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  read_clip("sizes.ts", &in_software, 0, &plain);
  assert_int_not_equal(plain.pictures[0].width, plain.pictures[plain.count - 1].width);
  for (int from = -1; from < 30; from++) {
    reset();
    hardware_state.refuses_from = from > 0 ? from : 0;
    options.hardware = from < 0 ? NULL : &fake_hardware;
    read_clip("sizes.ts", &options, 0, &given);
    assert_same(&plain, &given);
    assert_int_equal(given.pictures[given.count - 1].width, plain.pictures[plain.count - 1].width);
    assert_all_freed();
  }
}

/* The pixel format changes in mid-stream, and hardware refuses it: software goes on with the next picture, in live with
 * the key frame that was refused. */
static void test_formats(void **state) {
  (void)state;
  for (int live = 0; live < 2; live++) {
    struct source_options options = with_hardware(), software = {.live = live};
    options.live = live;
    reset();
    read_clip("formats.ts", &software, 0, &plain);
    read_clip("formats.ts", &options, 0, &given);
    assert_non_null(strstr(lines.first_warning, "a fake does not decode it any more"));
    assert_true(given.pictures[0].device && !given.pictures[given.count - 1].device);
    if (!live)
      assert_same(&plain, &given);
    assert_true(given.count > plain.count - 4);
    assert_true(given.pictures[given.count - 1].hash == plain.pictures[plain.count - 1].hash);
    assert_all_freed();
  }
}

/* There are more pictures between two key frames than packets are kept: software goes on at the next key frame. */
static void test_far_key_frame(void **state) {
  (void)state;
  const struct source_options options = with_hardware();
  reset();
  hardware_state.fails_from = 1060;
  read_clip("far.mkv", &in_software, 0, &plain);
  read_clip("far.mkv", &options, 0, &given);
  assert_non_null(strstr(lines.first_warning, "from the next key frame on"));
  assert_non_null(strstr(lines.warning, "are missing"));
  assert_int_equal(plain.count, 1110);
  assert_int_equal(given.count, 1059 + 10);
  for (int i = 0; i < given.count; i++)
    assert_true(given.pictures[i].hash == plain.pictures[i < 1059 ? i : i + 41].hash);
  assert_all_freed();
}

/* Live waits for a key frame only for a limited time, because there may be none. */
static void test_no_key_frame(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  options.live = true;
  reset();
  hardware_state.fails_from = 14;
  read_clip("endless.mkv", &options, 0, &given);
  assert_int_equal(given.count, 400 - 300);
  assert_true(given.pictures[12].device && !given.pictures[13].device);
  reset();
  hardware_state.fails_from = 14;
  read_clip("endless.webm", &options, 0, &given); /* a VP9 decoder gives no picture without a key frame */
  assert_int_equal(given.count, 13);
  assert_all_freed();
}

/* A damaged stream gives the same pictures as in software, and hardware goes on being used. */
static void test_damage(void **state) {
  (void)state;
  struct source_options options = with_hardware();
  reset();
  read_clip("damaged.mkv", &in_software, 0, &plain);
  read_clip("damaged.mkv", &options, 0, &given);
  assert_int_equal(plain.count, given.count);
  assert_string_equal(given.hardware, "fake");
  assert_all_freed();
}

static int make_clips(void **state) {
  if (hwdec_rig_open(state))
    return -1;
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=0.6 -c:v libx264 -bf 2 one.ts");
  shell(FFMPEG "-f lavfi -i testsrc2=s=96x160:r=25:d=0.6 -output_ts_offset 0.6 -c:v libx264 -bf 2 two.ts");
  shell("cat one.ts two.ts > sizes.ts");
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=0.6 -output_ts_offset 0.6 -c:v libx264 -bf 2 -pix_fmt yuv422p "
               "wide.ts");
  shell("cat one.ts wide.ts > formats.ts");
  shell(FFMPEG "-f lavfi -i testsrc2=s=48x32:r=25 -frames:v 1110 -c:v libx264 -preset ultrafast -g 1100 far.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=48x32:r=25 -frames:v 400 -c:v libx264 -preset ultrafast -g 600 -sc_threshold 0 "
               "endless.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=48x32:r=25 -frames:v 400 -c:v libvpx-vp9 -deadline realtime -cpu-used 8 -g 600 "
               "-auto-alt-ref 0 -lag-in-frames 0 endless.webm");
  shell(FFMPEG "-i h264.mp4 -c copy bare.h264");
  shell(FFMPEG "-i bare.h264 -c copy old.avi");
  shell(FFMPEG "-i deep.mkv -c copy bare.hevc");
  shell(FFMPEG "-f lavfi -i testsrc2=s=128x96:r=25:d=1.2 -c:v libx264 -g 8 -x264-params intra-refresh=1 fresh.ts");
  shell(FFMPEG "-i h264.mp4 -c copy -bsf:v noise=200 damaged.mkv");
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_not_taken),     cmocka_unit_test(test_must),         cmocka_unit_test(test_fails_later),
      cmocka_unit_test(test_fails_oddly),   cmocka_unit_test(test_fails_live),   cmocka_unit_test(test_gpu_fails),
      cmocka_unit_test(test_loops),         cmocka_unit_test(test_sizes),        cmocka_unit_test(test_formats),
      cmocka_unit_test(test_far_key_frame), cmocka_unit_test(test_no_key_frame), cmocka_unit_test(test_damage),
  };
  if (!clips_open())
    return 77;
  return cmocka_run_group_tests(tests, make_clips, hwdec_rig_close);
}
