#include "tests/rigs/moving_picture.h"

#include <math.h>

static double uniform(uint64_t *state) { /* splitmix64 */
  uint64_t z = *state += 0x9e3779b97f4a7c15;
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
  z = (z ^ z >> 27) * 0x94d049bb133111eb;
  return (double)((z ^ z >> 31) >> 11) * 0x1p-53;
}

struct waves waves_make(uint64_t seed, double contrast) {
  struct waves t = {.sky = -1e9};
  double power = 0;
  for (int i = 0; i < MOVING_WAVES; i++) {
    double length = 6 * pow(20, uniform(&seed)), angle = 2 * M_PI * uniform(&seed);
    t.across[i] = 2 * M_PI * cos(angle) / length;
    t.down[i] = 2 * M_PI * sin(angle) / length;
    t.phase[i] = 2 * M_PI * uniform(&seed);
    t.height[i] = sqrt(length);
    power += length / 2;
  }
  for (int i = 0; i < MOVING_WAVES; i++)
    t.height[i] *= contrast / sqrt(power);
  return t;
}

double waves_at(const struct waves *t, double x, double y) {
  double sum = 0, strength = fmin(1, fmax(0, (y - t->sky) / 16));
  for (int i = 0; strength > 0 && i < MOVING_WAVES; i++)
    sum += t->height[i] * sin(t->across[i] * x + t->down[i] * y + t->phase[i]);
  return fmin(255, fmax(0, 128 + strength * sum));
}

double view_grey(const struct waves *t, const struct view *view, double x, double y) {
  double c = view->zoom * cos(view->turn), s = view->zoom * sin(view->turn);
  return waves_at(t, c * x - s * y + view->x, s * x + c * y + view->y);
}

void view_move(const struct view *from, const struct view *to, double *x, double *y) {
  double c = from->zoom * cos(from->turn), s = from->zoom * sin(from->turn);
  double u = c * *x - s * *y + from->x - to->x, v = s * *x + c * *y + from->y - to->y;
  c = cos(to->turn) / to->zoom, s = sin(to->turn) / to->zoom;
  *x = c * u + s * v;
  *y = c * v - s * u;
}
