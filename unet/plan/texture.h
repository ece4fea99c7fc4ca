/* A texture that moves with the picture, in whole numbers: the functions that the definition (cpu_carry.c) and the CUDA
 * kernels (advect.cu) share, so that both compute the same field to the bit.
 *
 * The field gives each cell of the latent a place of the texture: row and column, in 1/256 of a picture's pixel. From
 * one frame to the next it is moved along the flow (texture advection: Neyret, Advected Textures, SCA 2003). It is
 * smooth where the motion is, and jumps where parts of the picture move against each other. The texture repeats after
 * as many cells as the latent has; places are wrapped after TEXTURE_PERIODS of these repetitions.
 *
 * Each place stands for an entry of one of two tables of noise (op_carry.h), each of which has an entry, the noise of
 * one cell, for every cell of the latent: entry i of the first table is number i, entry i of the second one number
 * cells + i. At first the texture's cell i is entry i. A zoom or shear changes how far apart the places of two
 * neighbours are. Once these distances differ too much from one cell in too many places (TEXTURE_STRAINED), the
 * texture is renewed: the entries that the cells show become the texture, and the field the identity. No cell shows
 * another entry because of that. */
#ifndef UNET_PLAN_TEXTURE_H
#define UNET_PLAN_TEXTURE_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __CUDACC__
#define TEXTURE_FUNCTION static __host__ __device__ __forceinline__
#else
#define TEXTURE_FUNCTION static inline
#endif

enum {
  TEXTURE_PERIODS = 16,
  /* side of the blocks of a zoomed texture, in cells: within a block neighbours show neighbouring entries */
  TEXTURE_BLOCK = 16,
  TEXTURE_REACH = 4, /* how many cells around one are looked at to see how it is scaled */
  /* Strains are in 1/256. Above TEXTURE_ZOOMED a cell reads the texture by blocks (texture_reads). A texture is renewed
   * if more than one in TEXTURE_PART cells is strained by more than TEXTURE_STRAINED. */
  TEXTURE_ZOOMED = 8,
  TEXTURE_STRAINED = 64,
  TEXTURE_PART = 16,
  /* Cells with no more strain than this keep their position between two entries when the texture is renewed. */
  TEXTURE_CALM = 16
};

/* A place of the texture, or the difference of two. */
struct texture_place {
  int32_t y, x;
};

/* The field of h x w cells. unit: a cell's side in the unit of places, 256 times its pixels. */
struct texture_field {
  int32_t h, w, unit;
  const int32_t *places; /* row and column of each cell's place */
  int32_t pitch;         /* values from one cell to the next */
};

/* The motion of the picture since the last frame (op_motion.h). */
struct texture_motion {
  const int32_t *flow, *visible; /* [h][w][2], [h][w] */
};

/* --- places and their differences --- */

TEXTURE_FUNCTION int64_t texture_floor(int64_t a, int64_t b) {
  return a / b - (a % b < 0);
}

TEXTURE_FUNCTION int32_t texture_wrap(int64_t value, int32_t period) {
  int64_t v = value % period;
  return (int32_t)(v < 0 ? v + period : v);
}

TEXTURE_FUNCTION struct texture_place texture_wrapped(const struct texture_field *f, struct texture_place p) {
  struct texture_place q = {texture_wrap(p.y, f->h * f->unit * TEXTURE_PERIODS),
                            texture_wrap(p.x, f->w * f->unit * TEXTURE_PERIODS)};
  return q;
}

TEXTURE_FUNCTION struct texture_place texture_at(const struct texture_field *f, int32_t y, int32_t x) {
  const int32_t *p = f->places + f->pitch * (y * f->w + x);
  struct texture_place q = {p[0], p[1]};
  return q;
}

/* Returns the difference that is equal to this one modulo the period and has the least absolute value. */
TEXTURE_FUNCTION int32_t texture_shortest(int64_t difference, int32_t period) {
  int32_t v = texture_wrap(difference, period);
  return v >= period - v ? v - period : v;
}

TEXTURE_FUNCTION struct texture_place texture_difference(const struct texture_field *f, struct texture_place from,
                                                         struct texture_place to) {
  struct texture_place d = {texture_shortest((int64_t)to.y - from.y, f->h * f->unit * TEXTURE_PERIODS),
                            texture_shortest((int64_t)to.x - from.x, f->w * f->unit * TEXTURE_PERIODS)};
  return d;
}

TEXTURE_FUNCTION int64_t texture_square(struct texture_place d) {
  return (int64_t)d.y * d.y + (int64_t)d.x * d.x;
}

/* Returns the whole part of the square root. */
TEXTURE_FUNCTION int64_t texture_root(int64_t square) {
  int64_t r = (int64_t)sqrt((double)square);
  while (r * r > square)
    r--;
  while ((r + 1) * (r + 1) <= square)
    r++;
  return r;
}

/* True if the distance d of two neighbours' places is between half a cell and two cells. */
TEXTURE_FUNCTION bool texture_is_usual(const struct texture_field *f, struct texture_place d) {
  int64_t square = texture_square(d), one = (int64_t)f->unit * f->unit;
  return 4 * square >= one && square <= 4 * one;
}

/* Returns d with the length of one cell: a step of slope one. */
TEXTURE_FUNCTION struct texture_place texture_step(const struct texture_field *f, struct texture_place d) {
  int64_t length = texture_root(texture_square(d));
  struct texture_place s = {(int32_t)texture_floor((int64_t)d.y * f->unit, length ? length : 1),
                            (int32_t)texture_floor((int64_t)d.x * f->unit, length ? length : 1)};
  return s;
}

/* The place of a cell, and the differences from it to the places of the cell at its right, below, and below that at its
 * right. */
struct texture_quad {
  struct texture_place at, right, below, both;
};

/* Returns the number of the row or column at which the quad of cell `at` begins: the last cell uses that of the one
 * before. */
TEXTURE_FUNCTION int32_t texture_first(int32_t at, int32_t count) {
  return count > 1 && at > count - 2 ? count - 2 : at;
}

/* Returns the quad whose first cell is (y, x). In a field of one row or column, the missing cells are those of the
 * identity. */
TEXTURE_FUNCTION struct texture_quad texture_quad_of(const struct texture_field *f, int32_t y, int32_t x) {
  bool right = x + 1 < f->w, below = y + 1 < f->h;
  struct texture_quad q = {texture_at(f, y, x), {0, f->unit}, {f->unit, 0}, {f->unit, f->unit}};
  if (right)
    q.right = texture_difference(f, q.at, texture_at(f, y, x + 1));
  if (below)
    q.below = texture_difference(f, q.at, texture_at(f, y + 1, x));
  q.both.y = q.right.y + q.below.y;
  q.both.x = q.right.x + q.below.x;
  if (right && below)
    q.both = texture_difference(f, q.at, texture_at(f, y + 1, x + 1));
  return q;
}

/* Returns the area that the quad covers in the texture. */
TEXTURE_FUNCTION int64_t texture_area(const struct texture_quad *q) {
  return (int64_t)q->right.x * q->below.y - (int64_t)q->right.y * q->below.x;
}

/* True if the field does not jump within the quad: the quad is nearly a parallelogram of usual size, and not
 * mirrored. */
TEXTURE_FUNCTION bool texture_is_smooth(const struct texture_field *f, const struct texture_quad *q) {
  int64_t y = (int64_t)q->both.y - q->right.y - q->below.y, x = (int64_t)q->both.x - q->right.x - q->below.x;
  return y <= f->unit / 4 && y >= -f->unit / 4 && x <= f->unit / 4 && x >= -f->unit / 4 &&
         texture_is_usual(f, q->right) && texture_is_usual(f, q->below) &&
         4 * texture_area(q) >= (int64_t)f->unit * f->unit;
}

/* --- the motion of the field --- */

/* Returns one coordinate of the place within a quad, (ty, tx) units from its first cell, by bilinear interpolation. */
TEXTURE_FUNCTION int32_t texture_between(int64_t right, int64_t below, int64_t both, int64_t ty, int64_t tx,
                                         int64_t unit) {
  int64_t v = right * tx * (unit - ty) + below * ty * (unit - tx) + both * tx * ty;
  return (int32_t)texture_floor(v + unit * unit / 2, unit * unit);
}

TEXTURE_FUNCTION int32_t texture_clamp(int32_t v, int32_t most) {
  return v < 0 ? 0 : v > most ? most : v;
}

/* Returns the place that the field has at (py, px) units from the middle of its first cell. Where the field jumps, the
 * nearest cell's place is continued with slope one, and so is the field beyond its border. */
TEXTURE_FUNCTION struct texture_place texture_look_up(const struct texture_field *f, int32_t py, int32_t px) {
  int32_t unit = f->unit, iy = texture_clamp(py, (f->h - 1) * unit), ix = texture_clamp(px, (f->w - 1) * unit);
  int32_t y = texture_first(iy / unit, f->h), x = texture_first(ix / unit, f->w), ty = iy - y * unit,
          tx = ix - x * unit;
  struct texture_quad q = texture_quad_of(f, y, x);
  struct texture_place down = {unit, 0}, right = {0, unit}, at;
  if (texture_is_smooth(f, &q)) {
    at.y = q.at.y + texture_between(q.right.y, q.below.y, q.both.y, ty, tx, unit);
    at.x = q.at.x + texture_between(q.right.x, q.below.x, q.both.x, ty, tx, unit);
    down = texture_step(f, q.below);
    right = texture_step(f, q.right);
  } else {
    int32_t ny = y + (2 * ty >= unit && y + 1 < f->h), nx = x + (2 * tx >= unit && x + 1 < f->w);
    at = texture_at(f, ny, nx);
    at.y += iy - ny * unit;
    at.x += ix - nx * unit;
  }
  at.y += (int32_t)texture_floor((int64_t)(py - iy) * down.y + (int64_t)(px - ix) * right.y, unit);
  at.x += (int32_t)texture_floor((int64_t)(py - iy) * down.x + (int64_t)(px - ix) * right.x, unit);
  return at;
}

TEXTURE_FUNCTION bool texture_is_seen(const struct texture_field *f, const struct texture_motion *m, int32_t y,
                                      int32_t x) {
  return y >= 0 && x >= 0 && y < f->h && x < f->w && m->visible[y * f->w + x];
}

/* Returns the place of a cell that was seen in the last frame: the one that it had there. f is the last field. */
TEXTURE_FUNCTION struct texture_place texture_follow(const struct texture_field *f, const struct texture_motion *m,
                                                     int32_t y, int32_t x) {
  const int32_t *flow = m->flow + 2 * (y * f->w + x);
  return texture_look_up(f, y * f->unit + flow[0], x * f->unit + flow[1]);
}

/* Returns the place of the cell at (y, x) - count * (dy, dx), extrapolated from cell (y, x), which was seen in the last
 * frame: from cell to cell the place changes by the length of one cell, in the direction from the place of cell
 * (y + dy, x + dx). If that cell was not seen, or the field jumps there, the direction is that of the identity. */
TEXTURE_FUNCTION struct texture_place texture_continue(const struct texture_field *f, const struct texture_motion *m,
                                                       int32_t y, int32_t x, int32_t dy, int32_t dx, int32_t count) {
  struct texture_place at = texture_follow(f, m, y, x), step = {-dy * f->unit, -dx * f->unit};
  if (texture_is_seen(f, m, y + dy, x + dx)) {
    struct texture_place last = texture_difference(f, texture_follow(f, m, y + dy, x + dx), at);
    step = texture_is_usual(f, last) ? texture_step(f, last) : step;
  }
  at.y += count * step.y;
  at.x += count * step.x;
  return at;
}

/* Returns the place of cell (y, x) in this frame. A cell that was not seen in the last frame continues the nearest one
 * in its row or column that was, or without such a cell has the identity's place. */
TEXTURE_FUNCTION struct texture_place texture_move(const struct texture_field *f, const struct texture_motion *m,
                                                   int32_t y, int32_t x) {
  struct texture_place identity = {y * f->unit, x * f->unit};
  if (texture_is_seen(f, m, y, x))
    return texture_wrapped(f, texture_follow(f, m, y, x));
  for (int32_t k = 1; k < f->h || k < f->w; k++)
    for (int32_t way = 0; way < 4; way++) {
      int32_t dy = way < 2 ? 0 : 2 * way - 5, dx = way < 2 ? 2 * way - 1 : 0; /* left, right, up, down */
      if (texture_is_seen(f, m, y + k * dy, x + k * dx))
        return texture_wrapped(f, texture_continue(f, m, y + k * dy, x + k * dx, dy, dx, k));
    }
  return identity;
}

/* --- strain --- */

/* Returns by how much a squared length differs from `one`, in 1/256: 256 times 1 minus the smaller of square / one and
 * one / square, so that growing and shrinking by the same factor give the same. */
TEXTURE_FUNCTION int32_t texture_excess(int64_t square, int64_t one) {
  return (int32_t)(square < one ? 256 * (one - square) / one : 256 * (square - one) / square);
}

/* Returns the strain at a cell, in 1/256: by how much the field scales or shears there; 0 where it jumps. Turning is no
 * strain. */
TEXTURE_FUNCTION int32_t texture_strain(const struct texture_field *f, int32_t y, int32_t x) {
  struct texture_quad q = texture_quad_of(f, texture_first(y, f->h), texture_first(x, f->w));
  int64_t one = (int64_t)f->unit * f->unit, shear = (int64_t)q.right.y * q.below.y + (int64_t)q.right.x * q.below.x;
  if (!texture_is_smooth(f, &q))
    return 0;
  int32_t s = (int32_t)(256 * (shear < 0 ? -shear : shear) / one),
          across = texture_excess(texture_square(q.right), one), along = texture_excess(texture_square(q.below), one);
  s = across > s ? across : s;
  return along > s ? along : s;
}

/* Returns the place of cell (y, x) after a renewal: the identity, plus the distance from the nearest entry to the
 * cell's place in f if its strain is at most TEXTURE_CALM. */
TEXTURE_FUNCTION struct texture_place texture_renew(const struct texture_field *f, int32_t y, int32_t x) {
  struct texture_place at = texture_at(f, y, x), new_place = {y * f->unit, x * f->unit};
  if (texture_strain(f, y, x) <= TEXTURE_CALM) {
    new_place.y += texture_wrap((int64_t)at.y + f->unit / 2, f->unit) - f->unit / 2;
    new_place.x += texture_wrap((int64_t)at.x + f->unit / 2, f->unit) - f->unit / 2;
  }
  return texture_wrapped(f, new_place);
}

/* --- entries --- */

/* The cell of the texture that a cell of the field reads. guest: 0 if it belongs to the block in which the field's
 * place is; else a number of that block, so that several blocks which read the same cell are told apart. */
struct texture_reading {
  int32_t y, x, guest;
};

/* Returns the number of the cell that is nearest to a coordinate. */
TEXTURE_FUNCTION int32_t texture_nearest(int64_t coordinate, int32_t unit) {
  return (int32_t)texture_floor(coordinate + unit / 2, unit);
}

TEXTURE_FUNCTION bool texture_is_near(const struct texture_field *f, struct texture_place a, struct texture_place b) {
  int32_t most = f->unit / TEXTURE_PART, y = a.y - b.y, x = a.x - b.x;
  return y <= most && y >= -most && x <= most && x >= -most;
}

/* Returns the mean difference of neighbours' places in the cell's row (dx 1) or column (dy 1), from TEXTURE_REACH cells
 * before it to as many behind it. The field has at least two cells there. */
TEXTURE_FUNCTION struct texture_place texture_mean(const struct texture_field *f, int32_t y, int32_t x, int32_t dy,
                                                   int32_t dx) {
  int32_t first_y = texture_clamp(y - dy * TEXTURE_REACH, f->h - 1),
          last_y = texture_clamp(y + dy * TEXTURE_REACH, f->h - 1),
          first_x = texture_clamp(x - dx * TEXTURE_REACH, f->w - 1),
          last_x = texture_clamp(x + dx * TEXTURE_REACH, f->w - 1);
  int32_t count = last_y - first_y + last_x - first_x;
  struct texture_place d = texture_difference(f, texture_at(f, first_y, first_x), texture_at(f, last_y, last_x));
  d.y = (int32_t)texture_floor(d.y, count);
  d.x = (int32_t)texture_floor(d.x, count);
  return d;
}

/* Returns by how much the field is scaled around a cell, as the length of a cell: the unit if it is not scaled, or not
 * evenly. */
TEXTURE_FUNCTION int64_t texture_scale(const struct texture_field *f, int32_t y, int32_t x) {
  struct texture_quad q = texture_quad_of(f, texture_first(y, f->h), texture_first(x, f->w));
  if (f->h < 2 || f->w < 2 || !texture_is_smooth(f, &q))
    return f->unit;
  struct texture_quad mean = q;
  mean.right = texture_mean(f, y, x, 0, 1);
  mean.below = texture_mean(f, y, x, 1, 0);
  int64_t area = texture_area(&mean);
  bool even = texture_is_near(f, mean.right, q.right) && texture_is_near(f, mean.below, q.below) && area > 0;
  return even && texture_excess(area, (int64_t)f->unit * f->unit) > TEXTURE_ZOOMED ? texture_root(area) : f->unit;
}

/* Returns the texture's cell nearest to the place of cell (y, x). Where the field is scaled, the place's distance to
 * the middle of its block is first divided by the scale, so that neighbours within a block read neighbouring cells. */
TEXTURE_FUNCTION struct texture_reading texture_reads(const struct texture_field *f, int32_t y, int32_t x) {
  struct texture_place c = texture_at(f, y, x);
  int32_t unit = f->unit;
  int64_t scale = texture_scale(f, y, x);
  struct texture_reading r = {texture_nearest(c.y, unit), texture_nearest(c.x, unit), 0};
  if (scale != unit) {
    int32_t by = r.y / TEXTURE_BLOCK, bx = r.x / TEXTURE_BLOCK;
    int64_t my = (int64_t)unit * (2 * by * TEXTURE_BLOCK + TEXTURE_BLOCK - 1) / 2,
            mx = (int64_t)unit * (2 * bx * TEXTURE_BLOCK + TEXTURE_BLOCK - 1) / 2;
    r.y = texture_nearest(my + texture_floor((c.y - my) * unit, scale), unit);
    r.x = texture_nearest(mx + texture_floor((c.x - mx) * unit, scale), unit);
    if (texture_floor(r.y, TEXTURE_BLOCK) != by || texture_floor(r.x, TEXTURE_BLOCK) != bx)
      r.guest = 1 + by * (f->w * TEXTURE_PERIODS / TEXTURE_BLOCK + 2) + bx;
  }
  r.y = texture_wrap(r.y, f->h * TEXTURE_PERIODS);
  r.x = texture_wrap(r.x, f->w * TEXTURE_PERIODS);
  return r;
}

/* Returns 1 if an odd number of cells in a row, beginning next to (y, x) at its left (dx 1) or above it (dy 1), read
 * the same as it, else 0. */
TEXTURE_FUNCTION int32_t texture_run(const struct texture_field *f, const struct texture_reading *r, int32_t y,
                                     int32_t x, int32_t dy, int32_t dx) {
  int32_t run = 0;
  for (y -= dy, x -= dx; y >= 0 && x >= 0; y -= dy, x -= dx, run ^= 1) {
    struct texture_reading other = texture_reads(f, y, x);
    if (other.y != r->y || other.x != r->x || other.guest != r->guest)
      break;
  }
  return run;
}

TEXTURE_FUNCTION uint32_t texture_stir(uint32_t h) {
  h ^= h >> 16;
  h *= 0x7FEB352Du;
  h ^= h >> 15;
  h *= 0x846CA68Bu;
  return h ^ h >> 16;
}

/* Returns the entry that cell (y, x) shows: that of the texture's cell which it reads, or one of the second table,
 * chosen by what it reads, where that entry would be shown twice: by two neighbours, by two blocks, or by another
 * repetition of a texture that was renewed. entries: [h][w] of the texture. */
TEXTURE_FUNCTION int32_t texture_entry(const struct texture_field *f, const int32_t *entries, int32_t y, int32_t x) {
  struct texture_reading r = texture_reads(f, y, x);
  int32_t cells = f->h * f->w, at = r.y % f->h * f->w + r.x % f->w, entry = entries[at];
  int32_t twin = texture_run(f, &r, y, x, 0, 1) + 2 * texture_run(f, &r, y, x, 1, 0);
  bool repeats = (r.y >= f->h || r.x >= f->w) && entry != at;
  if (!twin && !r.guest && !repeats)
    return entry;
  uint32_t h = texture_stir((uint32_t)entry * 4 + (uint32_t)twin);
  h = texture_stir(h ^ (uint32_t)r.guest);
  h = texture_stir(h ^ ((uint32_t)r.y * (uint32_t)(f->w * TEXTURE_PERIODS) + (uint32_t)r.x));
  return cells + (int32_t)(h % (uint32_t)cells);
}

/* Returns the cell of the second table whose noise sample number `sample` shows for entry `entry` of that table,
 * counted from 0. All samples share the one second table; each counts its entries from another cell, so that samples
 * show different noise for the same entry. cells: number of entries of a table. */
TEXTURE_FUNCTION int32_t texture_second(uint32_t entry, int32_t sample, int32_t cells) {
  return (int32_t)(((int64_t)entry + (int64_t)sample * (cells / 2 + cells / 8 + 1)) % cells);
}

#endif
