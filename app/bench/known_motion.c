#include "app/bench/known_motion.h"

#include <math.h>

enum { PAN_X = 2, PAN_Y = 1, CUT_OUT_X = 3, CUT_OUT_Y = 1, MIDDLE = MOTION_FRAMES / 2 };
static const double zoom_a_frame = 1.01, turn_a_frame = 0.5 * M_PI / 180, noise_deviation = 2;

const char *motion_name(enum motion motion) {
  static const char *const names[MOTIONS] = {
      [MOTION_PAN] = "pan",     [MOTION_ZOOM] = "zoom",     [MOTION_TURN] = "turn", [MOTION_CUT_OUT] = "cut-out",
      [MOTION_NOISE] = "noise", [MOTION_GROUND] = "ground", [MOTION_CUT] = "cut",
  };
  return names[motion];
}

int motion_margin(int width, int height) {
  int longer = width > height ? width : height;
  return PAN_X * MIDDLE + longer / 32;
}

/* Maps a pixel of a frame to a position in the still picture (without the margin): centre + linear * (pixel - centre) +
 * offset. The matrix `linear` scales and rotates about the centre, the vector `offset` shifts. Shifts are whole pixels,
 * so that panned frames need no interpolation. */
struct view {
  double linear[2][2], offset[2];
};

static struct view view_of(enum motion motion, int at) {
  struct view view = {{{1, 0}, {0, 1}}, {0, 0}};
  double scale = pow(zoom_a_frame, -at), angle = turn_a_frame * (at - (MOTION_FRAMES - 1) / 2.0);
  if (motion == MOTION_PAN || motion == MOTION_CUT)
    view = (struct view){{{1, 0}, {0, 1}}, {-PAN_X * (at - MIDDLE), -PAN_Y * (at - MIDDLE)}};
  else if (motion == MOTION_ZOOM)
    view = (struct view){{{scale, 0}, {0, scale}}, {0, 0}};
  else if (motion == MOTION_TURN)
    view = (struct view){{{cos(angle), sin(angle)}, {-sin(angle), cos(angle)}}, {0, 0}};
  return view;
}

static void to_still(const struct view *view, int width, int height, const double pixel[2], double still[2]) {
  const double centre[2] = {(width - 1) / 2.0, (height - 1) / 2.0};
  double x = pixel[0] - centre[0], y = pixel[1] - centre[1];
  for (int i = 0; i < 2; i++)
    still[i] = centre[i] + view->linear[i][0] * x + view->linear[i][1] * y + view->offset[i];
}

static void to_pixel(const struct view *view, int width, int height, const double still[2], double pixel[2]) {
  const double centre[2] = {(width - 1) / 2.0, (height - 1) / 2.0};
  const double(*l)[2] = view->linear;
  double x = still[0] - view->offset[0] - centre[0], y = still[1] - view->offset[1] - centre[1];
  double determinant = l[0][0] * l[1][1] - l[0][1] * l[1][0];
  pixel[0] = centre[0] + (l[1][1] * x - l[0][1] * y) / determinant;
  pixel[1] = centre[1] + (l[0][0] * y - l[1][0] * x) / determinant;
}

/* Returns true if the ellipse that is cut out of the still picture (MOTION_CUT_OUT) covers the pixel in frame number
 * `at`. */
static bool covered(int at, int x, int y, int width, int height) {
  double dx = x - (width / 2 + CUT_OUT_X * (at - MIDDLE)), dy = y - (height / 2 + CUT_OUT_Y * (at - MIDDLE));
  return pow(dx / (width / 5.0), 2) + pow(dy / (height / 4.0), 2) <= 1;
}

/* Copies a pixel of the still picture rotated by 180 degrees, which differs nearly everywhere from the still picture
 * itself. */
static void turned_pixel(const struct raster *still, int x, int y, float rgb[3]) {
  raster_sample(still, still->width - 1 - x, still->height - 1 - y, rgb);
}

/* Returns a pseudo-random number, about normally distributed with deviation 1, that depends only on the arguments. The
 * number is a sum of twelve uniform ones. */
static double noise(uint32_t at, uint32_t x, uint32_t y, uint32_t channel) {
  uint32_t state = at * 2654435761u ^ x * 2246822519u ^ y * 3266489917u ^ channel * 668265263u;
  double sum = -6;
  for (int i = 0; i < 12; i++) {
    state = (state ^ state >> 16) * 2146121005u;
    state = (state ^ state >> 15) * 2221713035u + 374761393u;
    sum += (state >> 8) / (double)(1 << 24);
  }
  return sum;
}

static void draw_pixel(enum motion motion, const struct raster *still, const struct view *view, int at, int x, int y,
                       const struct raster *frame) {
  int width = frame->width, height = frame->height, margin = (still->width - width) / 2;
  float *rgb = raster_at(frame, x, y);
  double place[2];
  to_still(view, width, height, (double[2]){x, y}, place);
  if (motion == MOTION_CUT_OUT && covered(at, x, y, width, height))
    turned_pixel(still, x + margin - CUT_OUT_X * (at - MIDDLE), y + margin - CUT_OUT_Y * (at - MIDDLE), rgb);
  else if (motion == MOTION_CUT && at >= MOTION_CUT_AT)
    turned_pixel(still, (int)place[0] + margin, (int)place[1] + margin, rgb);
  else
    raster_sample(still, place[0] + margin, place[1] + margin, rgb);
  for (uint32_t c = 0; c < 3 && motion == MOTION_NOISE; c++)
    rgb[c] += (float)(noise_deviation * noise((uint32_t)at, (uint32_t)x, (uint32_t)y, c));
}

void motion_draw(enum motion motion, const struct raster *still, int at, struct raster *frame) {
  struct view view = view_of(motion, at);
  for (int y = 0; y < frame->height; y++)
    for (int x = 0; x < frame->width; x++)
      draw_pixel(motion, still, &view, at, x, y, frame);
  raster_round(frame);
}

static bool moved_with_cut_out(int now, int before, int x, int y, struct origins *origins, double place[2]) {
  int width = origins->width, height = origins->height;
  if (!covered(now, x, y, width, height))
    return !covered(before, x, y, width, height);
  place[0] = x - CUT_OUT_X * (now - before);
  place[1] = y - CUT_OUT_Y * (now - before);
  return true;
}

void motion_origins(enum motion motion, int now, int before, struct origins *origins) {
  int width = origins->width, height = origins->height, border = (width < height ? width : height) / 32;
  struct view now_view = view_of(motion, now), before_view = view_of(motion, before);
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      size_t i = (size_t)y * width + x;
      double still[2], place[2];
      bool seen = motion != MOTION_CUT || (now >= MOTION_CUT_AT) == (before >= MOTION_CUT_AT);
      to_still(&now_view, width, height, (double[2]){x, y}, still);
      to_pixel(&before_view, width, height, still, place);
      if (motion == MOTION_CUT_OUT)
        seen = moved_with_cut_out(now, before, x, y, origins, place);
      origins->xy[2 * i] = (float)place[0];
      origins->xy[2 * i + 1] = (float)place[1];
      origins->seen[i] = seen && place[0] >= border && place[1] >= border && place[0] <= width - 1 - border &&
                         place[1] <= height - 1 - border;
    }
  origins_leave_border(origins, border);
}

void motion_uncovered(int now, int age, int width, int height, bool *where) {
  for (int y = 0; y < height; y++)
    for (int x = 0; x < width; x++) {
      bool free = true;
      for (int at = now - age + 1; at <= now; at++)
        free = free && !covered(at, x, y, width, height);
      where[(size_t)y * width + x] = free && covered(now - age, x, y, width, height);
    }
}
