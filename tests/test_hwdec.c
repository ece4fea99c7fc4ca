/* Decoders: pictures of hardware and of software in page-locked memory are those of plain software to the bit. The
 * hardware and the GPU are fakes: surfaces lie in memory of the host's that nobody but the fake GPU may read. */
#include "tests/cmocka_all.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include <libavutil/log.h>

#include "app/source/source.h"
#include "tests/clips.h"
#include "tests/fake_hardware.h"
#include "tests/next_frame.h"

#define FFMPEG "ffmpeg -nostdin -v error -y "

/* --- lines --- */

static struct {
  int warnings;
  char debug[512], warning[512], first_warning[512];
} lines;

static void note_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  if (level == LOG_WARNING && !lines.warnings++)
    snprintf(lines.first_warning, sizeof lines.first_warning, "%s", text);
  if (level == LOG_WARNING)
    snprintf(lines.warning, sizeof lines.warning, "%s", text);
  if (level == LOG_DEBUG)
    snprintf(lines.debug, sizeof lines.debug, "%s", text);
}

static const struct log log_here = {note_line, NULL};

static struct source_options with_gpu(void) {
  return (struct source_options){.gpu = fake_gpu, .log = &log_here};
}

static struct source_options with_hardware(void) {
  return (struct source_options){.gpu = fake_gpu, .hardware = &fake_hardware, .log = &log_here};
}

/* --- what a source gives --- */

enum { PICTURES_MOST = 1200 };

struct given {
  int count;
  struct picture_given {
    uint64_t hash;
    int64_t pts;
    int width, height;
    bool device, pinned;
  } pictures[PICTURES_MOST];
  const char *hardware;
};

static uint64_t add(uint64_t hash, unsigned value) {
  return (hash ^ value) * 0x100000001b3;
}

/* Of its samples, in whichever order of planes. */
static uint64_t hash_frame(const struct frame *frame) {
  uint64_t hash = 0xcbf29ce484222325;
  bool packed = frame->format == PIXEL_NV12 || frame->format == PIXEL_P010;
  int planes = frame_planes(frame->format), bytes = frame->format == PIXEL_P010 ? 2 : 1;
  for (int i = 0; i < (packed ? 3 : planes); i++) {
    int plane = packed && i == 2 ? 1 : i, step = packed && i ? 2 * bytes : bytes;
    int first = packed && i == 2 ? bytes : 0;
    for (int y = 0; y < frame_rows(frame->format, plane, frame->height); y++) {
      const uint8_t *row = frame->plane[plane] + (ptrdiff_t)y * frame->pitch[plane];
      for (int x = first; x < frame_row_bytes(frame->format, plane, frame->width); x += step)
        hash = add(hash, bytes == 2 ? *(const uint16_t *)(row + x) : row[x]);
    }
  }
  return hash;
}

static void note_picture(struct given *given, const struct frame *frame) {
  struct error err;
  assert_true(given->count < PICTURES_MOST);
  unsigned memory = frame->picture->memory;
  if (frame_wait(frame, MEMORY_HOST, &err))
    fail_msg("%s", err.message);
  given->pictures[given->count++] = (struct picture_given){
      hash_frame(frame), frame->pts, frame->width, frame->height, memory & MEMORY_DEVICE, memory & MEMORY_PINNED};
}

/* At most so many pictures; 0: all. */
static void read_clip(const char *name, const struct source_options *options, int most, struct given *given) {
  struct source *source;
  struct source_info info;
  struct frame frame = {0};
  struct error err = {0};
  int got = 1;
  *given = (struct given){0};
  memset(&lines, 0, sizeof lines);
  if (source_open(&source, clip(name), options, &err))
    fail_msg("%s: %s", name, err.message);
  while ((!most || given->count < most) && (got = next_frame(source, &frame, &err)) > 0)
    note_picture(given, &frame);
  if (got < 0)
    fail_msg("%s: %s", name, err.message);
  source_get_info(source, &info);
  given->hardware = info.hardware;
  frame_release(&frame);
  source_close(&source);
}

static void assert_all_freed(void) {
  assert_int_equal(gpu_state.filling, 0);
  assert_int_equal(gpu_state.memory, 0);
  assert_int_equal(gpu_state.fences, 0);
  assert_int_equal(gpu_state.locked, 0);
  assert_int_equal(gpu_state.surfaces, 0);
  assert_int_equal(gpu_state.shares, 0);
}

static void assert_same(const struct given *a, const struct given *b) {
  assert_int_equal(a->count, b->count);
  for (int i = 0; i < a->count; i++)
    if (a->pictures[i].hash != b->pictures[i].hash || a->pictures[i].pts != b->pictures[i].pts)
      fail_msg("picture %d differs", i);
  assert_true(a->count > 0);
}

static struct given plain, given;

static const struct source_options in_software;

/* --- tests --- */

static const struct {
  const char *name, *make;
} clips[] = {
    {"h264.mp4", "-f lavfi -i testsrc2=s=176x144:r=25:d=2 -c:v libx264 -preset veryfast -bf 3 -g 12 -sc_threshold 0"},
    {"deep.mkv", "-f lavfi -i testsrc2=s=176x144:r=25:d=1 -pix_fmt yuv420p10le -c:v libx265 -x265-params "
                 "log-level=none:keyint=10:pools=1"},
    {"odd.mkv", "-f lavfi -i testsrc2=s=175x99:r=25:d=0.4 -pix_fmt yuv420p -c:v ffv1"},
    {"mpeg4.avi", "-f lavfi -i testsrc2=s=162x122:r=25:d=1 -c:v mpeg4 -bf 2"},
    {"grey.mkv", "-f lavfi -i testsrc2=s=99x33:r=25:d=0.4 -pix_fmt gray -c:v ffv1"},
    {"mjpeg.avi", "-f lavfi -i testsrc2=s=161x91:r=25:d=0.4 -pix_fmt yuvj422p -c:v mjpeg"},
    {"vp8.webm", "-f lavfi -i testsrc2=s=160x90:r=25:d=0.4 -c:v libvpx -cpu-used 8 -deadline realtime"},
    {"palette.gif", "-f lavfi -i testsrc2=s=100x60:r=10:d=0.5"},
    {"raw.nut", "-f lavfi -i testsrc2=s=64x64:r=10:d=0.5 -pix_fmt yuv420p -c:v rawvideo"},
};

enum { CLIPS = sizeof clips / sizeof *clips };

static void reset(void) {
  gpu_state.allocated = gpu_state.downloads = gpu_state.shared = 0;
  gpu_state.records = gpu_state.fails_from = 0;
  gpu_state.full = false;
  hardware_state.absent = hardware_state.cuts = false;
  hardware_state.refuses_from = hardware_state.fails_from = hardware_state.opened = 0;
}

/* Software writes into page-locked memory, the decoder or who copies for one that brings its own (raw.nut, as screens
 * do), and what it writes is the same. */
static void test_locked_memory(void **state) {
  (void)state;
  for (int i = 0; i < 2 * CLIPS; i++) {
    const char *name = clips[i / 2].name;
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
    read_clip(clips[i].name, &in_software, 0, &plain);
    read_clip(clips[i].name, &options, 0, &given);
    assert_same(&plain, &given);
    assert_false(given.pictures[0].pinned);
  }
  assert_int_equal(gpu_state.allocated, 0);
}

static void test_surfaces(void **state) {
  (void)state;
  const struct source_options options = with_hardware();
  for (int i = 0; i < 2; i++) {
    reset();
    read_clip(clips[i].name, &in_software, 0, &plain);
    read_clip(clips[i].name, &options, 0, &given);
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

/* Nothing is copied that nobody asks for, and pictures outlive their source. */
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

/* Surfaces that a decoder needs are not held: further pictures are copies. */
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
    assert_true(hash_frame(&frames[i]) == plain.pictures[i].hash);
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
  assert_true(hash_frame(&there) == hash);
}

/* What OpenGL imports has the surface's pixels, nothing comes to the host, and later pictures use the memory again. */
static void test_shared(void **state) {
  (void)state;
  for (int i = 0; i < 2; i++) {
    const struct source_options options = with_hardware();
    struct source *source;
    struct frame frame;
    struct error err;
    read_clip(clips[i].name, &in_software, 20, &plain);
    reset();
    assert_int_equal(source_open(&source, clip(clips[i].name), &options, &err), 0);
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

/* Once somebody asks, the copies of later pictures begin when they are decoded, until nobody has asked for a while.
 * That a surface goes back after its copy is seen by surface_freed (fake_hardware.c). */
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
  frame_release(&frame); /* with its copy under way */
  assert_all_freed();
}

/* Where there is none, the picture comes through the host's memory as before. */
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
  assert_true(hash_frame(&frame) == plain.pictures[0].hash);
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
    assert_true(hash_frame(&frame) == plain.pictures[i].hash);
    frame_release(&frame);
  }
  source_close(&source);
  assert_all_freed();
}

/* What hardware does not take from the beginning, software decodes from the first picture on, without a word. */
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

/* Hardware that stops working wherever: every picture comes, and comes once, and one line says what happened. */
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

/* Also where pictures have no times, or are refreshed bit by bit. */
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

/* Live: of the plain pictures all that were given, from the key frame `next` on by software. */
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

/* Live nothing is decoded twice: software goes on at the next key frame. */
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

/* A GPU that decodes and then does not give the picture. Live that is no end of the source; a video that is rendered
 * has all pictures, or fails. */
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

/* The file starts again, with --start in it, while hardware works, or stops doing so in the second round. */
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

/* Another size in mid-stream, which hardware takes or not; two pictures of each have the same time. */
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

/* Another format in mid-stream, which hardware refuses as it sees it: software goes on with the picture that is due,
 * live with the key frame that was refused. */
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

/* More pictures from one key frame to the next than packets are kept: software goes on at the next. */
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

/* Live that takes too long, and there may be none. */
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
  read_clip("endless.webm", &options, 0, &given); /* VP9 has none to give without one */
  assert_int_equal(given.count, 13);
  assert_all_freed();
}

/* What the processor changes in pictures it has from the host's memory. */
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
  assert_int_equal(hardware_state.opened, 1); /* of the clip before */
  assert_all_freed();
  options.hardware_must = true;
  read_clip("turned.mp4", &options, 0, &given);
  assert_same(&plain, &given);
  assert_int_equal(hardware_state.opened, 2);
  assert_all_freed();
}

/* Damage is what it was: the same pictures, and no doubt about the hardware. */
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

static void make_clips(void) {
  for (int i = 0; i < CLIPS; i++)
    shell(FFMPEG "%s %s", clips[i].make, clips[i].name);
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
  shell(FFMPEG "-i h264.mp4 -c copy -metadata:s:v:0 rotate=90 turned.mp4");
  shell(FFMPEG "-i h264.mp4 -c copy -bsf:v noise=200 damaged.mkv");
}

static int open_all(void **state) {
  (void)state;
  make_clips();
  return fake_hardware_open() ? 0 : -1;
}

static int close_all(void **state) {
  (void)state;
  fake_hardware_close();
  clips_close();
  return 0;
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_locked_memory), cmocka_unit_test(test_no_locked_memory),
      cmocka_unit_test(test_surfaces),      cmocka_unit_test(test_not_asked_for),
      cmocka_unit_test(test_shared),        cmocka_unit_test(test_shared_ahead),
      cmocka_unit_test(test_not_shared),    cmocka_unit_test(test_held),
      cmocka_unit_test(test_asked_by_two),  cmocka_unit_test(test_not_taken),
      cmocka_unit_test(test_must),          cmocka_unit_test(test_fails_later),
      cmocka_unit_test(test_fails_live),    cmocka_unit_test(test_loops),
      cmocka_unit_test(test_sizes),         cmocka_unit_test(test_changed),
      cmocka_unit_test(test_damage),        cmocka_unit_test(test_fails_oddly),
      cmocka_unit_test(test_formats),       cmocka_unit_test(test_far_key_frame),
      cmocka_unit_test(test_no_key_frame),  cmocka_unit_test(test_gpu_fails),
  };
  av_log_set_level(AV_LOG_QUIET);
  if (!clips_open())
    return 77;
  return cmocka_run_group_tests(tests, open_all, close_all);
}
