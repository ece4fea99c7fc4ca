#include "app/source/source_pattern.h"

#include <math.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>

#include "app/source/marker.h"
#include "app/source/sound_tap.h"
#include "app/source/source_impl.h"
#include "unet/base/platform.h"

enum { DEFAULT_WIDTH = 640, DEFAULT_HEIGHT = 360, DEFAULT_FPS = 30, SIDE_MIN = 16, SIDE_MAX = 16384 };
#define MARKED "pattern-marked:"
/* pixels by which the pattern moves from frame to frame; even, so that luma and chroma move by whole samples */
enum { STEP_X = 4, STEP_Y = 2 };

struct pattern_source {
  struct source source;
  struct source_options options;
  int width, height;
  double fps;
  bool marked; /* true: a marker (marker.h) is drawn instead of the blocks that show the frame's number */
  uint64_t serial;
  int64_t started_ns;
  struct host_pictures tiles, pictures, others;
  /* 2x2 copies of the pattern side by side; each frame is a section of it, whose position moves from frame to frame */
  struct frame tile;
};

static bool accepts(const char *spec) {
  return !strcmp(spec, "pattern") || !strncmp(spec, "pattern:", 8) || !strncmp(spec, MARKED, strlen(MARKED));
}

static uint8_t to_byte(double value, int low, int high) {
  return (uint8_t)lrint(low + (high - low) * fmin(fmax(value, 0), 1));
}

/* Returns the brightness of the pattern: smooth waves, sharp discs and fine stripes, so that networks and encoders are
 * tested with each of these. u and v run from 0 to 1 over a period. */
static double luma_at(double u, double v) {
  const double turn = 2 * M_PI;
  double value = 0.5 + 0.18 * sin(turn * (2 * u + v)) + 0.12 * cos(turn * (3 * v - u));
  double du = fabs(u - 0.5), dv = fabs(v - 0.5);
  if (du * du * 3.2 + dv * dv < 0.05)
    value = 0.85 - 0.5 * value;
  if (v > 0.8 && v < 0.9)
    value = 0.5 + 0.4 * (sin(turn * 40 * u) > 0 ? 1 : -1);
  return value;
}

static double chroma_at(double u, double v, int plane) {
  const double turn = 2 * M_PI;
  return plane == 1 ? 0.5 + 0.35 * sin(turn * (u + 2 * v)) : 0.5 + 0.35 * cos(turn * (2 * u - v));
}

static int even(int value) {
  return (value + 1) / 2 * 2;
}

static int draw_tile(struct pattern_source *pattern, struct error *err) {
  int period_x = even(pattern->width), period_y = even(pattern->height);
  if (host_pictures_take(&pattern->tiles, PIXEL_YUV420P, 2 * period_x, 2 * period_y, &pattern->tile, err))
    return -1;
  for (int plane = 0; plane < 3; plane++) {
    int half = plane ? 2 : 1, w = period_x / half, h = period_y / half;
    uint8_t *rows = frame_plane(&pattern->tile, plane);
    size_t pitch = (size_t)pattern->tile.pitch[plane];
    for (int y = 0; y < h; y++) {
      uint8_t *row = rows + (size_t)y * pitch;
      for (int x = 0; x < w; x++) {
        double u = (x + 0.5) / w, v = (y + 0.5) / h;
        row[x] = plane ? to_byte(chroma_at(u, v, plane), 16, 240) : to_byte(luma_at(u, v), 16, 235);
      }
      memcpy(row + w, row, (size_t)w);
      memcpy(row + (size_t)h * pitch, row, 2 * (size_t)w);
    }
  }
  return 0;
}

static int parse_size(struct pattern_source *pattern, const char *spec, struct error *err) {
  pattern->width = pattern->options.width ? pattern->options.width : DEFAULT_WIDTH;
  pattern->height = pattern->options.height ? pattern->options.height : DEFAULT_HEIGHT;
  char rest;
  const char *size = strchr(spec, ':');
  pattern->marked = !strncmp(spec, MARKED, strlen(MARKED));
  if (size && sscanf(size + 1, "%5dx%5d%c", &pattern->width, &pattern->height, &rest) != 2)
    return error_set(err, STATUS_INPUT, "%s: pattern:WIDTHxHEIGHT is needed, as in pattern:640x360", spec);
  if (pattern->width < SIDE_MIN || pattern->width > SIDE_MAX || pattern->height < SIDE_MIN ||
      pattern->height > SIDE_MAX)
    return error_set(err, STATUS_INPUT, "%s: the sides of the pattern go from %d to %d", spec, SIDE_MIN, SIDE_MAX);
  return 0;
}

/* Tells options.tap, the buffer of the source's sound, that the test pattern has none. takes_over: the pattern replaces
 * another source as the tap's owner. */
static void begin_sound(struct pattern_source *pattern, bool takes_over) {
  const struct sound_origin origin = {
      .owner = pattern, .name = "pattern", .time_base = {0, 1}, .tick = 1 / pattern->fps};
  if (pattern->options.tap)
    sound_tap_begin(pattern->options.tap, &origin, takes_over);
}

static void pattern_close(struct source *source) {
  struct pattern_source *pattern = (struct pattern_source *)source;
  if (pattern->options.tap)
    sound_tap_leave(pattern->options.tap, pattern);
  frame_release(&pattern->tile);
  host_pictures_free(&pattern->tiles);
  host_pictures_free(&pattern->pictures);
  host_pictures_free(&pattern->others);
  free(pattern);
}

static int pattern_open(struct source **source, const char *spec, const struct source_options *options,
                        struct error *err) {
  struct pattern_source *pattern = calloc(1, sizeof *pattern);
  if (!pattern)
    return error_set(err, STATUS_FAILED, "no memory for the test pattern");
  pattern->source.impl = &source_pattern;
  pattern->source.stop = options->stop;
  pattern->source.cancel = options->cancel;
  pattern->options = *options;
  pattern->pictures.gpu = pattern->others.gpu = options->gpu;
  pattern->fps = options->fps > 0 ? options->fps : DEFAULT_FPS;
  if (parse_size(pattern, spec, err) || draw_tile(pattern, err)) {
    pattern_close(&pattern->source);
    return -1;
  }
  begin_sound(pattern, false);
  *source = &pattern->source;
  return 0;
}

static unsigned checksum(uint32_t number) {
  return (number ^ number >> 8 ^ number >> 16 ^ number >> 24 ^ 0xa5u) & 0xffu;
}

static void draw_number(const struct frame *frame, uint32_t number) {
  uint64_t bits = number | (uint64_t)checksum(number) << 32;
  int columns = frame->width / PATTERN_BLOCK;
  for (int i = 0; i < PATTERN_BITS; i++) {
    int x = i % columns * PATTERN_BLOCK, y = i / columns * PATTERN_BLOCK;
    for (int plane = 0; plane < 3; plane++) {
      int half = plane ? 2 : 1, value = plane ? 128 : bits >> i & 1 ? 235 : 16;
      for (int row = y / half;
           row < (y + PATTERN_BLOCK) / half && row < frame_rows(frame->format, plane, frame->height); row++)
        memset(frame_plane(frame, plane) + (size_t)row * (size_t)frame->pitch[plane] + x / half, value,
               PATTERN_BLOCK / (size_t)half);
    }
  }
}

bool pattern_read_number(const struct frame *frame, uint32_t *number) {
  uint64_t bits = 0;
  int columns = frame->width / PATTERN_BLOCK;
  if (columns < 1 || frame->height < (PATTERN_BITS + columns - 1) / columns * PATTERN_BLOCK)
    return false;
  for (int i = 0; i < PATTERN_BITS; i++) {
    int x = i % columns * PATTERN_BLOCK + PATTERN_BLOCK / 2, y = i / columns * PATTERN_BLOCK + PATTERN_BLOCK / 2;
    bits |= (uint64_t)(frame->plane[0][(ptrdiff_t)y * frame->pitch[0] + x] >= 128) << i;
  }
  *number = (uint32_t)bits;
  return bits >> 32 == checksum(*number);
}

/* Waits until a frame's time, in short steps so that an interrupt is noticed. Returns false if the source was
 * interrupted. */
static bool wait_until(struct pattern_source *pattern, int64_t due_ns) {
  for (;;) {
    int64_t left = due_ns - platform_now_ns();
    if (source_interrupted(&pattern->source))
      return false;
    if (left <= 0)
      return true;
    platform_sleep_ns(left < 20000000 ? left : 20000000);
  }
}

static void put_sample(uint8_t *row, int x, uint8_t value, bool ten_bits) {
  row[ten_bits ? 2 * x + 1 : x] = value;
  if (ten_bits)
    row[2 * x] = 0;
}

/* Converts the frame to NV12 or P010, in which the two chroma planes are interleaved in one; P010 has its ten-bit
 * samples in the upper bits of 16. */
static int pair_chroma(struct pattern_source *pattern, struct frame *frame, struct error *err) {
  struct frame from = *frame;
  bool ten_bits = pattern->options.pixels == PATTERN_P010;
  enum pixel_format format = ten_bits ? PIXEL_P010 : PIXEL_NV12;
  if (host_pictures_take(&pattern->others, format, from.width, from.height, frame, err))
    return -1;
  for (int plane = 0; plane < 3; plane++)
    for (int y = 0; y < frame_rows(PIXEL_YUV420P, plane, from.height); y++) {
      const uint8_t *samples = from.plane[plane] + (ptrdiff_t)y * from.pitch[plane];
      uint8_t *row = frame_plane(frame, plane ? 1 : 0) + (ptrdiff_t)y * frame->pitch[plane ? 1 : 0];
      for (int x = 0; x < frame_row_bytes(PIXEL_YUV420P, plane, from.width); x++)
        put_sample(row, plane ? 2 * x + plane - 1 : x, samples[x], ten_bits);
    }
  struct frame planes = *frame;
  *frame = from;
  frame->format = format;
  frame->picture = planes.picture;
  for (int i = 0; i < 3; i++) {
    frame->plane[i] = planes.plane[i];
    frame->pitch[i] = planes.pitch[i];
  }
  frame_release(&from);
  return 0;
}

static int pattern_read(struct source *source, struct frame *frame, struct error *err) {
  struct pattern_source *pattern = (struct pattern_source *)source;
  uint64_t serial = pattern->serial;
  if (source_interrupted(source) ||
      (pattern->options.duration > 0 && (double)serial >= pattern->options.duration * pattern->fps))
    return 0;
  if (!serial)
    pattern->started_ns = platform_now_ns();
  if (serial == 1)
    begin_sound(pattern, true);
  if (pattern->options.live &&
      !wait_until(pattern, pattern->started_ns + (int64_t)((double)serial * 1e9 / pattern->fps)))
    return 0;
  int shift_x = (int)(serial * STEP_X % (uint64_t)even(pattern->width));
  int shift_y = (int)(serial * STEP_Y % (uint64_t)even(pattern->height));
  struct frame window = pattern->tile;
  window.width = pattern->width;
  window.height = pattern->height;
  for (int plane = 0; plane < 3; plane++) {
    int half = plane ? 2 : 1;
    window.plane[plane] += (ptrdiff_t)(shift_y / half) * window.pitch[plane] + shift_x / half;
  }
  window.matrix = MATRIX_BT709;
  window.range = RANGE_LIMITED;
  window.pts = (int64_t)serial;
  window.serial = serial;
  if (host_pictures_copy(&pattern->pictures, &window, frame, err))
    return -1;
  frame->captured_ns = platform_now_ns();
  if (pattern->marked)
    marker_draw(frame, &(struct marker){(uint32_t)serial, frame->captured_ns / 1000});
  else
    draw_number(frame, (uint32_t)serial);
  pattern->serial++;
  return pattern->options.pixels == PATTERN_YUV420P || !pair_chroma(pattern, frame, err) ? 1 : -1;
}

static void pattern_info(const struct source *source, struct source_info *info) {
  const struct pattern_source *pattern = (const struct pattern_source *)source;
  static const char *const pixels[] = {[PATTERN_YUV420P] = "", [PATTERN_NV12] = " nv12", [PATTERN_P010] = " p010"};
  snprintf(info->description, sizeof info->description, "test pattern %dx%d%s, %g fps", pattern->width, pattern->height,
           pixels[pattern->options.pixels], pattern->fps);
  info->width = pattern->width;
  info->height = pattern->height;
  info->shape = (double)pattern->width / pattern->height;
  info->fps = pattern->fps;
  info->time_base_num = 1000;
  info->time_base_den = (int)lrint(pattern->fps * 1000);
  info->duration = pattern->options.duration;
  info->frames = (long)ceil(pattern->options.duration * pattern->fps);
  info->realtime = info->returns = pattern->options.live;
}

const struct source_impl source_pattern = {.name = "pattern",
                                           .accepts = accepts,
                                           .open = pattern_open,
                                           .read = pattern_read,
                                           .info = pattern_info,
                                           .close = pattern_close};
