/* Compares NVDEC with decoding in software: pictures are equal in all bits, in mid-stream, after seeking, and when a
 * clip starts again.
 *
 *   test_hwdec_cuda [FOLDER [time | loops]]      FOLDER has the clips already; skipped where there is no NVDEC
 *
 * time: prints what a picture costs. loops: prints what the pictures cost with which loop.mp4 starts again, when
 * pictures
 * are taken at the clip's rate. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <libavutil/log.h>

#include "app/source/hardware.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/hash_samples.h"
#include "tests/rigs/loop_times.h"
#include "tests/rigs/next_frame.h"
#include "unet/devices.h"

enum { SKIPPED = 77, PICTURES_MOST = 120, WARM = 30, TIMED = 300 };

static const char *folder; /* folder with the clips; NULL: the test makes them */
static struct gpu gpu;
static int times_failed; /* number of log lines that report a failure of the hardware */

static void print_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  times_failed += level == LOG_WARNING && strstr(text, "NVDEC does not decode it any more");
  if (level <= LOG_DEBUG)
    fprintf(stderr, "# %s\n", text);
}

static const struct log lines = {.line = print_line};

static const char *path_of(const char *name) {
  static char path[1024];
  if (!folder)
    return clip(name);
  snprintf(path, sizeof path, "%s/%s", folder, name);
  return path;
}

static struct source *open_clip(const char *name, const struct source_options *options) {
  struct source *source;
  struct error err;
  if (source_open(&source, path_of(name), options, &err))
    fail_msg("%s", err.message);
  return source;
}

struct given {
  int count, on_gpu, pinned;
  uint64_t hash[PICTURES_MOST];
  int64_t pts[PICTURES_MOST];
};

static void read_clip(const char *name, const struct source_options *options, struct given *given) {
  struct source *source = open_clip(name, options);
  struct source_info info;
  struct frame frame = {0};
  struct error err;
  int got = 1;
  *given = (struct given){0};
  while (given->count < PICTURES_MOST && (got = next_frame(source, &frame, &err)) > 0) {
    given->on_gpu += frame_on_gpu(&frame, &gpu.id);
    given->pinned += frame_pinned(&frame);
    if (frame_wait(&frame, MEMORY_HOST, &err))
      fail_msg("%s", err.message);
    given->hash[given->count] = hash_samples(&frame);
    given->pts[given->count++] = frame.pts;
  }
  if (got < 0)
    fail_msg("%s", err.message);
  source_get_info(source, &info);
  if (given->on_gpu == given->count)
    assert_string_equal(info.hardware, "nvdec");
  frame_release(&frame);
  source_close(&source);
}

/* Compares the first pictures of the clip with those of software. taken: NVDEC is expected to decode them. */
static void compare(const char *name, struct source_options options, bool taken) {
  static struct given software, hardware;
  options.gpu = gpu;
  options.log = &lines;
  read_clip(name, &options, &software);
  options.hardware = &hardware_nvdec;
  options.hardware_must = taken;
  read_clip(name, &options, &hardware);
  assert_int_equal(software.pinned, software.count);
  assert_int_equal(hardware.on_gpu, taken ? hardware.count : 0);
  assert_true(software.count > 10);
  assert_int_equal(software.count, hardware.count);
  for (int i = 0; i < software.count; i++)
    if (software.hash[i] != hardware.hash[i] || software.pts[i] != hardware.pts[i])
      fail_msg("%s: picture %d is another", name, i);
}

static void test_same_pictures(void **state) {
  (void)state;
  compare("eight.mp4", (struct source_options){0}, true);
  compare("ten.mkv", (struct source_options){0}, true);
  compare("vp9.webm", (struct source_options){0}, true);
  compare("eight.mp4", (struct source_options){.live = true}, true);
}

/* A stream that is cropped on the left is decoded in software, because FFmpeg cannot crop a surface there. */
static void test_cut(void **state) {
  (void)state;
  compare("cut.mp4", (struct source_options){0}, false);
}

/* NVDEC cannot decode 4:2:2. If a stream changes to it, software goes on: render loses no picture; live may lose those
 * that NVDEC still had. */
static void test_refused_later(void **state) {
  (void)state;
  static struct given software, hardware;
  for (int live = 0; live < 2; live++) {
    struct source_options options = {.gpu = gpu, .live = live, .log = &lines};
    int from = 0;
    read_clip("formats.ts", &options, &software);
    assert_int_equal(software.count, 50);
    times_failed = 0;
    options.hardware = &hardware_nvdec;
    options.hardware_must = true; /* the first picture must come from the hardware */
    read_clip("formats.ts", &options, &hardware);
    assert_int_equal(times_failed, 1);
    assert_in_range(hardware.on_gpu, live ? 20 : 10, 25);
    assert_in_range(hardware.count, live ? 45 : 50, 50);
    for (int i = 0; i < hardware.count; i++, from++) {
      while (from < 50 && software.pts[from] != hardware.pts[i])
        from++;
      if (from == 50 || software.hash[from] != hardware.hash[i])
        fail_msg("picture %d is another", i);
    }
    assert_int_equal(from, 50);
  }
}

static void test_same_elsewhere(void **state) {
  (void)state;
  compare("eight.mp4", (struct source_options){.start = 0.5}, true);
  compare("eight.mp4", (struct source_options){.loop = true}, true);
  compare("ten.mkv", (struct source_options){.loop = true, .start = 0.3}, true);
}

/* The pixels of held pictures stay unchanged while decoding goes on. */
static void test_held(void **state) {
  (void)state;
  const struct source_options options = {.gpu = gpu, .hardware = &hardware_nvdec, .hardware_must = true, .log = &lines};
  static struct given software;
  struct frame frames[HARDWARE_HOLDS + 6];
  struct error err;
  read_clip("eight.mp4", &(struct source_options){.gpu = gpu, .log = &lines}, &software);
  struct source *source = open_clip("eight.mp4", &options);
  for (int i = 0; i < HARDWARE_HOLDS + 6; i++) {
    assert_int_equal(source_read(source, &frames[i], &err), 1);
    assert_int_equal(frame_on_gpu(&frames[i], &gpu.id), i < HARDWARE_HOLDS);
  }
  source_close(&source);
  for (int i = 0; i < HARDWARE_HOLDS + 6; i++) {
    if (frame_wait(&frames[i], MEMORY_HOST, &err))
      fail_msg("%s", err.message);
    assert_true(hash_samples(&frames[i]) == software.hash[i]);
    frame_release(&frames[i]);
  }
}

/* --- times --- */

static double seconds_of(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void time_clip(const char *name, const char *what, bool live, const struct hardware *hardware, bool pinned) {
  struct source_options options = {.live = live, .loop = true, .hardware = hardware, .log = &lines};
  struct frame frame = {0};
  struct error err;
  static const clockid_t clocks[] = {CLOCK_MONOTONIC, CLOCK_THREAD_CPUTIME_ID, CLOCK_PROCESS_CPUTIME_ID};
  double from[3] = {0};
  if (hardware || pinned)
    options.gpu = gpu;
  struct source *source = open_clip(name, &options);
  for (int i = 0; i < WARM + TIMED; i++) {
    for (int k = 0; k < 3 && i == WARM; k++)
      from[k] = seconds_of(clocks[k]);
    if (next_frame(source, &frame, &err) != 1)
      fail_msg("%s", err.message);
  }
  double each = 1e6 / TIMED;
  printf("%-10s %-22s %8.0f us a frame, reading thread %7.0f us of CPU, process %7.0f\n", name, what,
         (seconds_of(clocks[0]) - from[0]) * each, (seconds_of(clocks[1]) - from[1]) * each,
         (seconds_of(clocks[2]) - from[2]) * each);
  frame_release(&frame);
  source_close(&source);
}

static int time_all(void) {
  static const char *const names[] = {"hd.mp4", "uhd.mkv"};
  for (int i = 0; i < 2; i++) {
    time_clip(names[i], "software, live", true, NULL, false);
    time_clip(names[i], "software pinned, live", true, NULL, true);
    time_clip(names[i], "software, render", false, NULL, false);
    time_clip(names[i], "software pinned, render", false, NULL, true);
    time_clip(names[i], "nvdec, live", true, &hardware_nvdec, true);
    time_clip(names[i], "nvdec, render", false, &hardware_nvdec, true);
  }
  return 0;
}

static void time_loop(const char *name, double rate, const char *what, struct source_options options) {
  struct loop_times times;
  struct error err;
  options.log = &lines;
  if (loop_times_measure(path_of(name), &options, 1000 / rate, &times, &err))
    fail_msg("%s", err.message);
  loop_times_print(name, what, &times);
}

static int time_loops(void) {
  const struct hardware *nvdec = &hardware_nvdec;
  time_loop("loop.mp4", 60, "software, live", (struct source_options){.gpu = gpu, .live = true});
  time_loop("loop.mp4", 60, "nvdec, live", (struct source_options){.gpu = gpu, .live = true, .hardware = nvdec});
  time_loop("loop.mp4", 60, "nvdec, render", (struct source_options){.gpu = gpu, .hardware = nvdec});
  return 0;
}

/* --- whether NVDEC is there, and the list of tests --- */

static bool decodes(void) {
  const struct source_options options = {.gpu = gpu, .hardware = &hardware_nvdec, .hardware_must = true};
  struct source *source;
  struct frame frame = {0};
  struct error err;
  int got = source_open(&source, path_of("eight.mp4"), &options, &err) ? -1 : source_read(source, &frame, &err);
  frame_release(&frame);
  source_close(&source);
  if (got != 1)
    printf("skipped: %s\n", err.message);
  return got == 1;
}

static void make_clips(void) {
  shell(FFMPEG "-f lavfi -i testsrc2=s=352x290:r=25:d=2 -c:v libx264 -preset veryfast -bf 3 -g 15 eight.mp4");
  shell(FFMPEG "-f lavfi -i testsrc2=s=352x288:r=25:d=1 -pix_fmt yuv420p10le -c:v libx265 -x265-params "
               "log-level=none:keyint=10 ten.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=352x288:r=25:d=1 -c:v libvpx-vp9 -deadline realtime -cpu-used 8 vp9.webm");
  shell(FFMPEG "-i eight.mp4 -c copy -bsf:v h264_metadata=crop_left=40:crop_top=10 cut.mp4");
  shell(FFMPEG "-f lavfi -i testsrc2=s=352x288:r=25:d=1 -pix_fmt yuv420p -c:v libx264 -bf 2 -g 12 four.ts");
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=352x288:r=25:d=1 -pix_fmt yuv422p -c:v libx264 -bf 2 -output_ts_offset 2 two.ts");
  shell("cat four.ts two.ts > formats.ts");
}

int main(int count, char **args) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_same_pictures),  cmocka_unit_test(test_cut),  cmocka_unit_test(test_refused_later),
      cmocka_unit_test(test_same_elsewhere), cmocka_unit_test(test_held),
  };
  av_log_set_level(AV_LOG_ERROR);
  folder = count > 1 ? args[1] : NULL;
  if (!devices_find_gpu("cuda", &gpu)) {
    printf("skipped: there is no GPU\n");
    return SKIPPED;
  }
  if (!folder && !clips_open())
    return SKIPPED;
  if (!folder)
    make_clips();
  bool here = decodes();
  int status = !here                                    ? SKIPPED
               : count > 2 && !strcmp(args[2], "loops") ? time_loops()
               : count > 2                              ? time_all()
                                                        : cmocka_run_group_tests(tests, NULL, NULL);
  if (!folder)
    clips_close();
  return status;
}
