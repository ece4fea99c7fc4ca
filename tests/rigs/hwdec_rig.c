#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <string.h>

#include <libavutil/log.h>

#include "tests/rigs/clips.h"
#include "tests/rigs/hash_samples.h"
#include "tests/rigs/hwdec_rig.h"
#include "tests/rigs/next_frame.h"

struct said_lines lines;

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

struct source_options with_gpu(void) {
  return (struct source_options){.gpu = fake_gpu, .log = &log_here};
}

struct source_options with_hardware(void) {
  return (struct source_options){.gpu = fake_gpu, .hardware = &fake_hardware, .log = &log_here};
}

static void note_picture(struct given *given, const struct frame *frame) {
  struct error err;
  assert_true(given->count < PICTURES_MOST);
  unsigned memory = frame->picture->memory;
  if (frame_wait(frame, MEMORY_HOST, &err))
    fail_msg("%s", err.message);
  given->pictures[given->count++] = (struct picture_given){
      hash_samples(frame), frame->pts, frame->width, frame->height, memory & MEMORY_DEVICE, memory & MEMORY_PINNED};
}

void read_clip(const char *name, const struct source_options *options, int most, struct given *given) {
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

void assert_all_freed(void) {
  assert_int_equal(gpu_state.filling, 0);
  assert_int_equal(gpu_state.memory, 0);
  assert_int_equal(gpu_state.fences, 0);
  assert_int_equal(gpu_state.locked, 0);
  assert_int_equal(gpu_state.surfaces, 0);
  assert_int_equal(gpu_state.shares, 0);
}

void assert_same(const struct given *a, const struct given *b) {
  assert_int_equal(a->count, b->count);
  for (int i = 0; i < a->count; i++)
    if (a->pictures[i].hash != b->pictures[i].hash || a->pictures[i].pts != b->pictures[i].pts)
      fail_msg("picture %d differs", i);
  assert_true(a->count > 0);
}

void reset(void) {
  gpu_state.allocated = gpu_state.downloads = gpu_state.shared = gpu_state.mixed = 0;
  gpu_state.records = gpu_state.fails_from = 0;
  gpu_state.full = false;
  hardware_state.absent = hardware_state.cuts = false;
  hardware_state.refuses_from = hardware_state.fails_from = hardware_state.opened = 0;
}

int hwdec_rig_open(void **state) {
  (void)state;
  av_log_set_level(AV_LOG_QUIET);
  shell(FFMPEG
        "-f lavfi -i testsrc2=s=176x144:r=25:d=2 -c:v libx264 -preset veryfast -bf 3 -g 12 -sc_threshold 0 h264.mp4");
  shell(FFMPEG "-f lavfi -i testsrc2=s=176x144:r=25:d=1 -pix_fmt yuv420p10le -c:v libx265 -x265-params "
               "log-level=none:keyint=10:pools=1 deep.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=175x99:r=25:d=0.4 -pix_fmt yuv420p -c:v ffv1 odd.mkv");
  shell(FFMPEG "-f lavfi -i testsrc2=s=99x33:r=25:d=0.4 -pix_fmt gray -c:v ffv1 grey.mkv");
  return fake_hardware_open() ? 0 : -1;
}

int hwdec_rig_close(void **state) {
  (void)state;
  fake_hardware_close();
  clips_close();
  return 0;
}
