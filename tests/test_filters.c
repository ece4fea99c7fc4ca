/* Tests the filters that turn interlaced video and HDR into ordinary video. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/source/filter_chain.h"
#include "app/source/source.h"
#include "tests/rigs/clips.h"
#include "tests/rigs/next_frame.h"

enum { W = 96, H = 64, FRAMES = 12 };

static char said[512];
static int lines;

static void note_line(void *opaque, enum log_level level, const char *text) {
  (void)opaque;
  if (level == LOG_WARNING)
    lines += snprintf(said, sizeof said, "%s", text) > 0;
}

static const struct log quiet = {note_line, NULL};

static struct source *open_clip(const char *name, struct source_options options) {
  struct source *source;
  struct error err;
  options.log = &quiet;
  lines = 0;
  *said = 0;
  if (source_open(&source, clip(name), &options, &err))
    fail_msg("%s: %s", name, err.message);
  return source;
}

/* Returns how much each row differs from the mean of its neighbours, on average: a measure of interlacing artefacts
 * (combs). */
static double combs(const struct frame *frame) {
  double sum = 0;
  for (int y = 1; y + 1 < frame->height; y++)
    for (int x = 0; x < frame->width; x++) {
      const uint8_t *at = frame->plane[0] + (ptrdiff_t)y * frame->pitch[0] + x;
      sum += abs(2 * at[0] - at[-frame->pitch[0]] - at[frame->pitch[0]]) / 2.0;
    }
  return sum / ((double)frame->width * (frame->height - 2));
}

/* Reads all frames. Returns their number, and their mean combs and their times. */
static int read_all(struct source *source, double *mean, int64_t times[FRAMES + 1]) {
  struct frame frame = {0};
  struct error err;
  int count = 0, got;
  *mean = 0;
  while ((got = next_frame(source, &frame, &err)) > 0 && count <= FRAMES) {
    *mean += combs(&frame) / FRAMES;
    times[count++] = frame.pts;
    assert_true(frame.duration > 0);
  }
  if (got < 0)
    fail_msg("%s", err.message);
  frame_release(&frame);
  source_close(&source);
  return count;
}

static bool has_filters(const char *const *names) {
  struct filter_chain chain = {0};
  struct error err;
  bool has = !filter_chain_open(&chain, names, &err);
  if (!has)
    print_message("skipped: %s\n", err.message);
  return has;
}

/* A bar moves by 4 pixels in each field: after deinterlacing there are no combs, and each frame keeps its time. */
static void interlaced_video_is_deinterlaced(void **state) {
  (void)state;
  static const char *const needed[] = {"bwdif", NULL};
  double was, is;
  int64_t times_was[FRAMES + 1], times_is[FRAMES + 1];
  if (!has_filters(needed))
    skip();
  shell(FFMPEG "-f lavfi -i \"nullsrc=s=%dx%d:r=50:d=0.48,format=yuv420p,"
               "geq=lum='if(between(mod(X-4*N\\,96)\\,30\\,60)\\,200\\,40)':cb=128:cr=128,tinterlace=interleave_top,"
               "setfield=tff\" -c:v libx264 -crf 8 -flags +ildct+ilme fields.mkv",
        W, H);
  assert_int_equal(read_all(open_clip("fields.mkv", (struct source_options){0}), &was, times_was), FRAMES);
  assert_true(lines == 1 && strstr(said, "what moves has combs"));
  assert_int_equal(read_all(open_clip("fields.mkv", (struct source_options){.deinterlace = true}), &is, times_is),
                   FRAMES);
  assert_true(lines == 1 && strstr(said, "--deinterlace no"));
  assert_memory_equal(times_was, times_is, FRAMES * sizeof *times_is);
  if (!(was > 5 && is < was / 4))
    fail_msg("combs of %g, and %g deinterlaced", was, is);
}

/* With a start within the film, pictures equal those of the whole film from there on. */
static void deinterlaced_parts_are_of_the_whole(void **state) {
  (void)state;
  static const char *const needed[] = {"bwdif", NULL};
  struct frame whole = {0}, part = {0};
  struct error err;
  if (!has_filters(needed))
    skip();
  struct source *from_begin = open_clip("fields.mkv", (struct source_options){.deinterlace = true});
  struct source *from_start = open_clip("fields.mkv", (struct source_options){.deinterlace = true, .start = 0.2});
  for (int i = 0; i < 6; i++)
    assert_int_equal(next_frame(from_begin, &whole, &err), 1);
  assert_int_equal(next_frame(from_start, &part, &err), 1);
  for (int y = 0; y < H; y++)
    assert_memory_equal(whole.plane[0] + (ptrdiff_t)y * whole.pitch[0], part.plane[0] + (ptrdiff_t)y * part.pitch[0],
                        W);
  frame_release(&whole);
  frame_release(&part);
  source_close(&from_begin);
  source_close(&from_start);
}

static void video_that_is_not_interlaced_stays(void **state) {
  (void)state;
  double plain, filtered;
  int64_t times[FRAMES + 1];
  shell(FFMPEG "-f lavfi -i testsrc2=s=%dx%d:r=25:d=0.48 -c:v libx264 whole.mkv", W, H);
  assert_int_equal(read_all(open_clip("whole.mkv", (struct source_options){0}), &plain, times), FRAMES);
  assert_int_equal(read_all(open_clip("whole.mkv", (struct source_options){.deinterlace = true}), &filtered, times),
                   FRAMES);
  assert_int_equal(lines, 0);
  assert_true(plain == filtered);
}

/* --- HDR --- */

/* Returns the luma in the middle of the first frame, in codes of 10 bits. */
static int first_luma(const char *name, struct source_options options, int *width, int *height) {
  struct source *source = open_clip(name, options);
  struct frame frame = {0};
  struct error err;
  if (next_frame(source, &frame, &err) != 1)
    fail_msg("%s", err.message);
  assert_int_equal(frame.format, PIXEL_P010);
  const uint16_t *row =
      (const uint16_t *)(const void *)(frame.plane[0] + (ptrdiff_t)(frame.height / 2) * frame.pitch[0]);
  int luma = row[frame.width / 2] >> 6;
  *width = frame.width;
  *height = frame.height;
  assert_true(!options.tone_map || frame.matrix == MATRIX_BT709);
  frame_release(&frame);
  source_close(&source);
  return luma;
}

/* HDR greys of known brightness, by the curves of ST 2084 and ARIB STD-B67, become SDR values within bounds. */
static void hdr_is_mapped(void **state) {
  (void)state;
  static const char *const needed[] = {"zscale", "tonemap", NULL};
  static const struct {
    const char *curve;
    int code, low, high; /* code: 10-bit code of the HDR video; low, high: bounds of the SDR code */
  } greys[] = {{"smpte2084", 64, 60, 68},
               {"smpte2084", 370, 440, 590}, /* 20 nits, a fifth of SDR's white: 64 + 876 * 0.2^(1/2.4) = 512 */
               {"smpte2084", 573, 760, 930}, /* 203 nits, the reference white of HDR */
               {"smpte2084", 723, 860, 945}, /* 1000 nits */
               {"arib-std-b67", 64, 60, 68},
               {"arib-std-b67", 721, 700, 930}};
  int width, height, before = 0;
  if (!has_filters(needed))
    skip();
  for (size_t i = 0; i < sizeof greys / sizeof *greys; i++) {
    shell(FFMPEG "-f lavfi -i \"nullsrc=s=%dx%d:r=25:d=0.04,format=yuv420p10le,geq=lum=%d:cb=512:cr=512\" -c:v ffv1 "
                 "-color_trc %s -color_primaries bt2020 -colorspace bt2020nc -color_range tv hdr.mkv",
          W, H, greys[i].code, greys[i].curve);
    assert_int_equal(first_luma("hdr.mkv", (struct source_options){0}, &width, &height), greys[i].code);
    assert_non_null(strstr(said, "pale"));
    int luma = first_luma("hdr.mkv", (struct source_options){.tone_map = true}, &width, &height);
    assert_true(lines == 1 && strstr(said, "--tone-map no"));
    assert_true(width == W && height == H);
    if (luma < greys[i].low || luma > greys[i].high)
      fail_msg("%s %d becomes %d, not %d to %d", greys[i].curve, greys[i].code, luma, greys[i].low, greys[i].high);
    assert_true(i == 4 || luma > before);
    before = luma;
  }
  first_luma("hdr.mkv", (struct source_options){.tone_map = true, .tone_map_side = 32}, &width, &height);
  assert_true(width == 48 && height == 32);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(interlaced_video_is_deinterlaced),
      cmocka_unit_test(deinterlaced_parts_are_of_the_whole),
      cmocka_unit_test(video_that_is_not_interlaced_stays),
      cmocka_unit_test(hdr_is_mapped),
  };
  if (!clips_open())
    return 77;
  int failed = cmocka_run_group_tests(tests, NULL, NULL);
  clips_close();
  return failed;
}
