#include "app/control/picture_size.h"

#include <math.h>

enum { COARSE_GRID = 64, LARGE = 4 * COARSE_GRID };

/* The size with the lowest cost is used. The cost is the sum of: the relative difference of the size's longer side from
 * the target; off_shape times the difference of the logarithms of the aspect ratios; cut_off if the shorter side is no
 * multiple of wish->multiple; off_grid if the size is large and its shorter side is no multiple of COARSE_GRID. */
static const double cut_off = 0.2, off_grid = 0.07, off_shape = 10;

static bool is_grid_of_large(const struct picture_size_wish *wish, int longer) {
  return longer >= LARGE && (wish->multiple <= 1 || COARSE_GRID % wish->multiple == 0);
}

static double judge(const struct picture_size_wish *wish, int longer, int shorter, double shape, double target) {
  double cost = fabs(longer / target - 1) + off_shape * fabs(log((double)longer / shorter / shape));
  if (wish->multiple > 1 && shorter % wish->multiple)
    cost += cut_off;
  if (is_grid_of_large(wish, (int)(longer / wish->scale)) && shorter % COARSE_GRID)
    cost += off_grid;
  return cost;
}

static int round_even(double side) {
  return 2 * (int)lrint(side / 2);
}

bool picture_size_find(const struct picture_size_wish *wish, struct parameter_size *found) {
  bool wide = wish->asked.width >= wish->asked.height;
  int longest = wide ? wish->asked.width : wish->asked.height, least = wish->multiple > 2 ? wish->multiple : 2;
  double shape = (double)longest / (wide ? wish->asked.height : wish->asked.width), best = INFINITY;
  double target = longest * wish->scale, most = target * (1 + wish->reach);
  for (int shorter = least + least % 2; shorter <= most / shape + 1; shorter += 2) {
    int longer = round_even(shorter * shape);
    double cost = judge(wish, longer, shorter, shape, target);
    if (longer == longest || longer > most || longer < target * (1 - wish->reach) || cost >= best ||
        (double)longer * shorter < wish->floor_pixels)
      continue;
    best = cost;
    *found = wide ? (struct parameter_size){longer, shorter} : (struct parameter_size){shorter, longer};
  }
  return best < INFINITY;
}

static bool fits(int side, int other, double its, double its_other) {
  return fabs(side - other * its / its_other) <= 1.001;
}

bool picture_size_alike(const struct parameter_size *a, const struct parameter_size *b) {
  const struct parameter_size *small = a->width < b->width ? a : b, *large = small == a ? b : a;
  if (small->width <= 0 || small->height <= 0 || large->height <= 0)
    return false;
  return fits(small->width, small->height, large->width, large->height) ||
         fits(small->height, small->width, large->height, large->width);
}
