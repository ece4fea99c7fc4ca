#include "app/control/placement.h"

#include <math.h>
#include <string.h>

/* The positions of the window's corners if nobody has moved them: x in widths and y in heights of the window, in the
 * order of the corners in struct placement. */
static const double own[PLACEMENT_CORNERS][2] = {{0, 0}, {1, 0}, {1, 1}, {0, 1}};
/* Smallest area, as a fraction of the window's area, that three consecutive corners of the picture must span; smaller
 * ones are refused. */
static const double least_area = 1.0 / 500;

bool placement_is_plain(const struct placement *placement) {
  bool pinned = false;
  for (int i = 0; i < PLACEMENT_CORNERS; i++)
    pinned = pinned || placement->corner[i][0] != 0 || placement->corner[i][1] != 0;
  return placement->fit == OUTPUT_FIT && placement->flip == FLIP_NO && placement->zoom == 1 &&
         placement->rotation == 0 && !pinned;
}

void placement_corners(const struct placement *placement, double at[PLACEMENT_CORNERS][2]) {
  for (int i = 0; i < PLACEMENT_CORNERS; i++)
    for (int axis = 0; axis < 2; axis++)
      at[i][axis] = own[i][axis] + placement->corner[i][axis];
}

/* y points down, so the signed area of the triangle of three consecutive corners is positive if they go clockwise on
 * the screen. */
bool placement_corners_good(double at[PLACEMENT_CORNERS][2]) {
  bool good = true;
  for (int i = 0; i < PLACEMENT_CORNERS; i++) {
    const double *a = at[i], *b = at[(i + 1) % PLACEMENT_CORNERS], *c = at[(i + 2) % PLACEMENT_CORNERS];
    double area = ((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0])) / 2;
    good = good && area >= least_area;
  }
  return good;
}

void placement_bound_corners(double at[PLACEMENT_CORNERS][2]) {
  enum { STEPS = 64 };
  double asked[PLACEMENT_CORNERS][2];
  memcpy(asked, at, sizeof asked);
  for (int step = STEPS - 1; step >= 0 && !placement_corners_good(at); step--)
    for (int i = 0; i < PLACEMENT_CORNERS; i++)
      for (int axis = 0; axis < 2; axis++)
        at[i][axis] = own[i][axis] + (asked[i][axis] - own[i][axis]) * step / STEPS;
}

/* Computes the matrix that maps the unit square to the four corners p0 to p3 (`at`). It solves for the perspective
 * first: with q = p0 - p1 + p2 - p3, the two unknowns g and h of the matrix's third row (g, h, 1) satisfy g (p1 - p2) +
 * h (p3 - p2) = q. The rest of the matrix follows from the images of the square's corners. */
void placement_homography(double at[PLACEMENT_CORNERS][2], double matrix[9]) {
  const double *p0 = at[0], *p1 = at[1], *p2 = at[2], *p3 = at[3];
  double ax = p1[0] - p2[0], ay = p1[1] - p2[1], bx = p3[0] - p2[0], by = p3[1] - p2[1];
  double qx = p0[0] - p1[0] + p2[0] - p3[0], qy = p0[1] - p1[1] + p2[1] - p3[1];
  double area = ax * by - ay * bx;
  double g = (qx * by - qy * bx) / area, h = (ax * qy - ay * qx) / area;
  const double columns[9] = {p1[0] - p0[0] + g * p1[0],
                             p1[1] - p0[1] + g * p1[1],
                             g,
                             p3[0] - p0[0] + h * p3[0],
                             p3[1] - p0[1] + h * p3[1],
                             h,
                             p0[0],
                             p0[1],
                             1};
  memcpy(matrix, columns, sizeof columns);
}

/* Returns the height of a picture, in heights of the window, at which it just fits into the window (fills false) or
 * just covers it (fills true) after rotation. cosine, sine: of the rotation's angle. shape, window: width divided by
 * height of the picture and of the window. */
static double fitted_height(double shape, double window, double cosine, double sine, bool fills) {
  double c = fabs(cosine), s = fabs(sine);
  if (fills) /* the window, seen from the picture, is a rotated rectangle that has to lie inside the picture */
    return fmax((window * c + s) / shape, window * s + c);
  return fmin(window / (shape * c + s), 1 / (shape * s + c));
}

/* Returns cosine and sine of an angle in degrees; for quarter turns they are exact, so that no edge is a pixel off. */
static void turn(double degrees, double *cosine, double *sine) {
  const double pi = 3.14159265358979323846;
  double quarters = degrees / 90;
  *cosine = cos(degrees * pi / 180);
  *sine = sin(degrees * pi / 180);
  if (quarters == floor(quarters)) {
    *cosine = round(*cosine);
    *sine = round(*sine);
  }
}

double placement_canvas(const struct placement *placement, double shape, double window, double matrix[9],
                        double *width) {
  double c, s;
  turn(placement->rotation, &c, &s);
  if (placement->fit == OUTPUT_STRETCH)
    shape = fabs(c) >= fabs(s) ? window : 1 / window;
  double height = placement->zoom * fitted_height(shape, window, c, s, placement->fit == OUTPUT_FILL);
  double across = height * shape;
  double x = placement->flip == FLIP_HORIZONTAL || placement->flip == FLIP_BOTH ? -1 / window : 1 / window;
  double y = placement->flip == FLIP_VERTICAL || placement->flip == FLIP_BOTH ? -1 : 1;
  const double columns[9] = {across * c * x,
                             across * s * y,
                             0,
                             -height * s * x,
                             height * c * y,
                             0,
                             0.5 - (across * c - height * s) * x / 2,
                             0.5 - (across * s + height * c) * y / 2,
                             1};
  memcpy(matrix, columns, sizeof columns);
  *width = across / window;
  return height;
}

void placement_pin(const struct placement *placement, double matrix[9]) {
  double at[PLACEMENT_CORNERS][2];
  placement_corners(placement, at);
  placement_bound_corners(at);
  placement_homography(at, matrix);
  for (int i = 0; i < 9; i += 3) {
    matrix[i] = 2 * matrix[i] - matrix[i + 2];
    matrix[i + 1] = matrix[i + 2] - 2 * matrix[i + 1];
  }
}

static void multiply(const double a[9], const double b[9], double product[9]) {
  for (int column = 0; column < 3; column++)
    for (int row = 0; row < 3; row++)
      product[column * 3 + row] =
          a[row] * b[column * 3] + a[row + 3] * b[column * 3 + 1] + a[row + 6] * b[column * 3 + 2];
}

/* Finds the point (u, v) of the picture that is shown at the position (x, y) of the window. Solves m * (u, v, 1) = w *
 * (clip_x, clip_y, 1) by Cramer's rule. The matrix m = pin * canvas maps a point of the picture to the window, clip_x
 * and clip_y are the position in OpenGL's range from -1 to 1, and w is any number. */
bool placement_locate(const double canvas[9], const double pin[9], double x, double y, double *u, double *v) {
  double m[9], clip_x = 2 * x - 1, clip_y = 1 - 2 * y;
  multiply(pin, canvas, m);
  double a = m[0] - clip_x * m[2], b = m[3] - clip_x * m[5], e = clip_x * m[8] - m[6];
  double c = m[1] - clip_y * m[2], d = m[4] - clip_y * m[5], f = clip_y * m[8] - m[7];
  double area = a * d - b * c;
  if (fabs(area) < 1e-12)
    return false;
  *u = (e * d - b * f) / area;
  *v = (a * f - e * c) / area;
  return true;
}
