/* The definition of the ops of motion up to OP_FIT (unet/plan/op_motion.h): pyramids of brightness, the search for each
 * block's match in the other frame, and the fit of the whole picture's motion. cpu_flow.c has OP_FLOW. */
#include "unet/cpu/cpu_motion.h"
#include "unet/cpu/cpu_definition.h"
#include "unet/cpu/cpu_memory.h"

#include <math.h>
#include <string.h>

static int32_t *whole(const struct cpu_program *program, struct tensor t) {
  return cpu_data(program, t);
}

/* Returns where the details of a level, 1 to 3, begin in a pyramid. A detail is a pixel's brightness minus the mean
 * brightness around it. */
static const int32_t *details(const int32_t *pyramid, const struct motion_size *s, int level) {
  return pyramid + motion_at(s, 1, level);
}

/* --- the pyramid: the picture's brightness at smaller and smaller sizes --- */

static int code_of(const struct op_pyramid *op, float x) {
  float value = fmaf(x, 255 * op->scale, 255 * op->bias + 0.5f);
  return value > 0 ? (int)fminf(value, 255) : 0;
}

static void make_grey(const struct op_pyramid *op, const float *x, uint8_t *grey) {
#pragma omp parallel for
  for (int i = 0; i < op->x.w * op->x.h; i++)
    grey[i] = (uint8_t)motion_grey(code_of(op, x[3 * i]), code_of(op, x[3 * i + 1]), code_of(op, x[3 * i + 2]));
}

/* Makes level 1 of the picture's pyramid, at half size: each pixel is a weighted sum of the 4x4 pixels around it. */
static void make_first(const struct motion_size *s, const uint8_t *grey, int32_t *level) {
#pragma omp parallel for
  for (int y = 0; y < s->h[1]; y++)
    for (int x = 0; x < s->w[1]; x++) {
      int sum = 0;
      for (int i = 0; i < 16; i++) {
        int row = motion_clamp(2 * y - 1 + i / 4, s->h[0] - 1), column = motion_clamp(2 * x - 1 + i % 4, s->w[0] - 1);
        sum += motion_blur(i / 4) * motion_blur(i % 4) * grey[row * s->w[0] + column];
      }
      level[y * s->w[1] + x] = (sum + 2) >> 2;
    }
}

/* Makes the next level of the pyramid: each pixel is the mean of 2x2 pixels of the level before. */
static void make_half(const struct motion_size *s, int level, const int32_t *before, int32_t *out) {
  int w = s->w[level - 1], h = s->h[level - 1];
  for (int y = 0; y < s->h[level]; y++)
    for (int x = 0; x < s->w[level]; x++) {
      int right = motion_clamp(2 * x + 1, w - 1), low = motion_clamp(2 * y + 1, h - 1);
      out[y * s->w[level] + x] = (before[2 * y * w + 2 * x] + before[2 * y * w + right] + before[low * w + 2 * x] +
                                  before[low * w + right] + 2) >>
                                 2;
    }
}

static void make_details(const struct motion_size *s, const int32_t *levels, int level, int32_t *out) {
  int around = motion_around(level), w = s->w[level];
  const int32_t *own = levels + motion_at(s, 1, level), *far = levels + motion_at(s, 1, around);
#pragma omp parallel for
  for (int y = 0; y < s->h[level]; y++)
    for (int x = 0; x < w; x++) {
      int there = motion_between(far, s->w[around], s->h[around], x, y, 1 << (around - level));
      out[y * w + x] = motion_detail(own[y * w + x], there, level == 1);
    }
}

static size_t pyramid_bytes(const struct motion_size *s) {
  size_t levels = (size_t)motion_at(s, 1, MOTION_LEVELS + 1) * sizeof(int32_t);
  return levels + (size_t)motion_pixels(s, 0);
}

static int pyramid_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_pyramid *op = &node->op->pyramid;
  const struct motion_size s = motion_size(op->x.w, op->x.h);
  (void)err;
  cpu_reserve(program, pyramid_bytes(&s));
  return 0;
}

static void pyramid_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_pyramid *op = &node->op->pyramid;
  const struct motion_size s = motion_size(op->x.w, op->x.h);
  int32_t *levels = run->program->scratch, *y = whole(run->program, op->y);
  uint8_t *grey = (uint8_t *)(levels + motion_at(&s, 1, MOTION_LEVELS + 1));
  make_grey(op, cpu_f32(run->program, op->x), grey);
  make_first(&s, grey, levels);
  for (int level = 2; level <= MOTION_LEVELS; level++)
    make_half(&s, level, levels + motion_at(&s, 1, level - 1), levels + motion_at(&s, 1, level));
  for (int level = 1; level <= 3; level++)
    make_details(&s, levels, level, y + motion_at(&s, 1, level));
  y[motion_values(&s) - 1] = 1;
}

/* --- the search for each block's match in the other frame --- */

/* Returns the sum of differences between two frames at one level of their pyramids, over side x side pixels: from (x,
 * y) on in `now`, and from (x + dx, y + dy) on in `last`. */
static int differences(const struct matching *m, int level, int side, int x, int y, int dx, int dy) {
  int w = m->size.w[level], h = m->size.h[level], sum = 0;
  const int32_t *now = details(m->now, &m->size, level), *last = details(m->last, &m->size, level);
  for (int v = y; v < y + side; v++)
    for (int u = x; u < x + side; u++)
      sum += motion_abs(motion_pixel(now, w, h, u, v) - motion_pixel(last, w, h, u + dx, v + dy));
  return sum;
}

static void seek_row(const struct matching *m, int y) {
  for (int x = 0; x < m->size.w[3]; x++) {
    int best = MOTION_NONE;
    for (int i = 0; i < MOTION_SIDE * MOTION_SIDE; i++) {
      int sum = differences(m, 3, 5, x - 2, y - 2, motion_seek_x(i), motion_seek_y(i)), key = motion_seek_key(sum, i);
      best = key < best ? key : best;
    }
    m->found[y * m->size.w[3] + x] = best;
  }
}

/* Stores in *dx and *dy the vector, in pixels of the pyramid's level 2, with which block (x, y) fits best. It tries
 * the vectors around each of several starting vectors (motion_base). */
static void find_middle(const struct matching *m, int x, int y, int *dx, int *dy) {
  int best = MOTION_NONE;
  for (int i = 0; i < 9 * MOTION_BASES; i++) {
    int base = motion_base(&m->size, x, y, i / 9), found = base < 0 ? 0 : m->found[base];
    int right = (base < 0 ? 0 : 2 * motion_seek_x(found)) + i % 3 - 1;
    int down = (base < 0 ? 0 : 2 * motion_seek_y(found)) + i % 9 / 3 - 1;
    int key = motion_middle_key(differences(m, 2, 6, 2 * x - 2, 2 * y - 2, right, down), i, !right && !down);
    if (key < best)
      best = key, *dx = right, *dy = down;
  }
}

/* Improves a vector of level 2: stores in *dx and *dy the vector, in pixels of level 1, with which block (x, y) fits
 * best. It tries the vectors around twice the given one. */
static void find_fine(const struct matching *m, int x, int y, int *dx, int *dy) {
  int best = MOTION_NONE;
  for (int i = 0; i < 9; i++) {
    int sum = differences(m, 1, 8, 4 * x - 2, 4 * y - 2, 2 * *dx + i % 3 - 1, 2 * *dy + i / 3 - 1);
    int key = motion_fine_key(sum, i);
    best = key < best ? key : best;
  }
  int index = motion_fine_index(best);
  *dx = 2 * *dx + index % 3 - 1, *dy = 2 * *dy + index / 3 - 1;
}

static struct motion_match find_fraction(const struct matching *m, int x, int y, int dx, int dy) {
  const int32_t *now = details(m->now, &m->size, 1), *last = details(m->last, &m->size, 1);
  struct motion_slopes s = {0};
  for (int i = 0; i < 64; i++)
    motion_add_slopes(&s, now, last, m->size.w[1], m->size.h[1], x, y, dx, dy, i);
  return motion_solve(s, dy, dx);
}

static void match_row(const struct matching *m, int y) {
  for (int x = 0; x < m->size.w[3]; x++) {
    int dx = 0, dy = 0;
    find_middle(m, x, y, &dx, &dy);
    find_fine(m, x, y, &dx, &dy);
    struct motion_match match = find_fraction(m, x, y, dx, dy);
    int32_t *out = m->out + MATCH_VALUES * (y * m->size.w[3] + x);
    out[0] = match.y, out[1] = match.x, out[2] = match.weight;
  }
}

static int match_prepare(struct cpu_program *program, struct cpu_node *node, struct error *err) {
  const struct op_match *op = &node->op->match;
  const struct motion_size s = motion_size(op->w, op->h);
  (void)err;
  cpu_reserve(program, (size_t)motion_pixels(&s, 3) * sizeof(int32_t));
  return 0;
}

static void match_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_match *op = &node->op->match;
  struct matching m = {.size = motion_size(op->w, op->h), .found = run->program->scratch};
  int32_t *picture[2] = {whole(run->program, op->now), whole(run->program, op->last)};
  for (int direction = 0; direction < 2; direction++) {
    m.now = picture[direction];
    m.last = picture[1 - direction];
    m.out = whole(run->program, op->y) + direction * MATCH_VALUES * motion_pixels(&m.size, 3);
#pragma omp parallel for
    for (int y = 0; y < m.size.h[3]; y++)
      seek_row(&m, y);
#pragma omp parallel for
    for (int y = 0; y < m.size.h[3]; y++)
      match_row(&m, y);
  }
}

/* --- the motion of the whole picture, fitted to the blocks' vectors --- */

static struct motion_model first_model(const struct motion_size *s, const int32_t *match) {
  int counts[MOTION_BINS * MOTION_BINS] = {0};
  int64_t best = -1;
  for (int i = 0; i < motion_pixels(s, 3); i++) {
    const int32_t *one = match + MATCH_VALUES * i;
    int bin = motion_bin(one[0], one[1]);
    if (bin >= 0 && one[2] >= MOTION_WEIGHT)
      counts[bin]++;
  }
  for (int i = 0; i < MOTION_BINS * MOTION_BINS; i++) {
    int64_t key = motion_bin_key(counts, i);
    best = key > best ? key : best;
  }
  return motion_bin_model(best);
}

static void fit_run(const struct cpu_run *run, const struct cpu_node *node) {
  const struct op_fit *op = &node->op->fit;
  const struct motion_size s = motion_size(op->w, op->h);
  const int32_t *match = whole(run->program, op->match);
  int32_t *y = whole(run->program, op->y);
  int blocks = motion_pixels(&s, 3);
  struct motion_model model = first_model(&s, match);
  struct motion_merit merit = {0};
  for (int pass = 0; pass <= MOTION_PASSES; pass++) {
    struct motion_sums sums = {0};
    for (int i = 0; i < blocks; i++) {
      const int32_t *one = match + MATCH_VALUES * i;
      int u = motion_place(i % s.w[3], s.w[0]), v = motion_place(i / s.w[3], s.h[0]);
      if (pass == MOTION_PASSES)
        motion_weigh(&merit, &model, u, v, one[0], one[1], one[2]);
      else
        motion_gather(&sums, &model, motion_radius(pass), u, v, one[0], one[1], one[2]);
    }
    if (pass < MOTION_PASSES)
      motion_fit(&model, &sums, pass);
  }
  bool moving = motion_is_moving(&merit, blocks);
  y[0] = moving ? model.a : 0, y[1] = moving ? model.b : 0;
  y[2] = moving ? model.ty : 0, y[3] = moving ? model.tx : 0;
}

const struct cpu_impl cpu_define_pyramid = {.prepare = pyramid_prepare, .run = pyramid_run};
const struct cpu_impl cpu_define_match = {.prepare = match_prepare, .run = match_run};
const struct cpu_impl cpu_define_fit = {.run = fit_run};
