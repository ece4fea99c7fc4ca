/* Computes where the output window shows the picture: its fit, zoom, rotation and flip, and the corner pin. The corner
 * pin moves the window's four corners, so that the picture fits a surface on which a projector shines at an angle. Uses
 * no OpenGL and no window.
 *
 * An affine map takes a point of the picture to the canvas, which is the window without corner pin. A homography (a map
 * of a plane that keeps lines straight) takes the canvas to the window. Picture and canvas go from 0, 0 (top left) to
 * 1, 1 (bottom right); nothing outside the canvas is shown. Matrices have nine elements in column-major order, as in
 * OpenGL. */
#ifndef APP_CONTROL_PLACEMENT_H
#define APP_CONTROL_PLACEMENT_H

#include <stdbool.h>

enum { PLACEMENT_CORNERS = 4 };

/* How the picture fits the window: whole with bars beside it, or filling all of it and cut, or stretched. */
enum output_fit { OUTPUT_FIT, OUTPUT_FILL, OUTPUT_STRETCH };
enum output_flip { FLIP_NO, FLIP_HORIZONTAL, FLIP_VERTICAL, FLIP_BOTH };

struct placement {
  enum output_fit fit;
  enum output_flip flip; /* how the picture is mirrored after the other fields have placed it; horizontal and vertical
                          * are as the audience sees them */
  double zoom;           /* factor by which the picture is enlarged; 1: the size that `fit` gives it */
  double rotation;       /* rotation of the picture in degrees, clockwise */
  /* how far the window's corners are moved to the right and downwards, in widths and heights of the window; in the
   * order top left, top right, bottom right, bottom left */
  double corner[PLACEMENT_CORNERS][2];
};

/* Returns true if the placement changes nothing: the picture is shown whole, in the middle of the window. */
bool placement_is_plain(const struct placement *placement);

/* Stores in `at` the positions of the four moved corners, in widths and heights of the window, from its top left
 * corner. */
void placement_corners(const struct placement *placement, double at[PLACEMENT_CORNERS][2]);
/* Returns true if four corners, in this order, make a shape on which a picture can be shown: convex, not mirrored, and
 * nowhere so thin that a triangle of three corners has less than a five-hundredth of the window's area. */
bool placement_corners_good(double at[PLACEMENT_CORNERS][2]);
/* If the corners do not make a good shape (placement_corners_good), brings all of them back towards the window's own
 * corners, as little as makes the shape good. */
void placement_bound_corners(double at[PLACEMENT_CORNERS][2]);

/* Computes the homography that maps the picture's corners (0, 0), (1, 0), (1, 1) and (0, 1) to the points at[0] to
 * at[3], in this order. These must make a good shape (placement_corners_good). */
void placement_homography(double at[PLACEMENT_CORNERS][2], double matrix[9]);

/* Stores in `matrix` the map from the picture to the canvas (the window without corner pin). shape: width / height of
 * the picture; window: width / height of the window. Returns the height that the unrotated picture has, as a fraction
 * of the window's; *width gets its width, as a fraction of the window's. */
double placement_canvas(const struct placement *placement, double shape, double window, double matrix[9],
                        double *width);
/* Stores the homography of the corner pin in `matrix`. It maps positions without the corner pin, in widths and heights
 * of the window from its top left corner, to OpenGL's clip space, where 1, 1 is the top right corner. Corners that make
 * no good shape are moved first (placement_bound_corners). */
void placement_pin(const struct placement *placement, double matrix[9]);

/* Finds the point of the picture that is shown at the point x, y of the window, where x is in widths and y in heights
 * of the window from its top left corner. `canvas` (placement_canvas), then `pin` (placement_pin) map the picture to
 * the window. Stores the point in *u and *v, as fractions of the picture's sides. Returns false if there is no such
 * point. */
bool placement_locate(const double canvas[9], const double pin[9], double x, double y, double *u, double *v);

#endif
