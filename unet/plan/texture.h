/* A texture of noise that moves with the picture, so that the grain of the output does not stand still on moving
 * things. The functions compute in whole numbers. The plain definition of the ops (cpu_carry.c) and the CUDA kernels
 * (advect.cu) both use them, so that both compute the same to the bit.
 *
 * The field gives each cell of the latent a position in the texture: row and column, in 1/256 of a picture's pixel.
 * From one frame to the next the field is moved along the flow (texture advection: Neyret, Advected Textures, SCA
 * 2003). The field is smooth where the motion is smooth, and jumps where parts of the picture move against each other.
 * The texture repeats after as many cells as the latent has; positions wrap around after TEXTURE_PERIODS of these
 * repetitions.
 *
 * The noise values are in two tables (op_carry.h). Each has an entry, the noise of one cell, for every cell of the
 * latent. Entries are numbered: those of the first table from 0, those of the second table from `cells`, the number of
 * the latent's cells. Each cell of the texture stands for one entry; at first cell i stands for entry i.
 *
 * A zoom or shear changes the distances between the positions of neighbouring cells. If in too many cells they differ
 * too much from the width of a cell (TEXTURE_STRAINED), the texture is renewed: the entries that the cells show at that
 * moment become the texture, and each cell gets the position that it has in the latent. So each cell goes on showing
 * the same entry. */
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
  /* side, in cells of the latent, of the blocks into which the texture of noise is divided where the picture is
   * zoomed; within a block, neighbouring cells of the latent show neighbouring cells of the texture */
  TEXTURE_BLOCK = 16,
  TEXTURE_REACH = 4, /* texture_mean measures how far apart neighbouring cells of the latent lie in the texture, over
                      * this many cells before and after a cell, in its row and its column */
  /* The strain of a cell says how far a zoom or shear has changed distances at this cell, in 1/256. A cell with more
   * strain than TEXTURE_ZOOMED reads the texture by blocks (texture_reads). The texture is renewed if more than one in
   * TEXTURE_PART cells has more strain than TEXTURE_STRAINED. */
  TEXTURE_ZOOMED = 8,
  TEXTURE_STRAINED = 64,
  TEXTURE_PART = 16,
  /* Used when the texture is renewed: the strain of a cell (how far a zoom or shear has changed distances) up to which
   * the cell keeps the fractional part of its position in the texture. With more strain, its position becomes the
   * middle of the nearest cell of the texture. */
  TEXTURE_CALM = 16
};

/* A position in the texture, or the difference between two positions: row and column, in 1/256 of a picture's pixel. */
struct texture_place {
  int32_t y, x;
};

/* Says for each of the latent's h x w cells from which position in the endless texture of noise its noise is read.
 * unit: width of a latent's cell in 1/256 of a picture's pixel. */
struct texture_field {
  int32_t h, w, unit;
  const int32_t *places; /* for each cell of the latent, its position in the texture: row and column, in 1/256 pixel */
  int32_t pitch;         /* number of int32 values in `places` from the position of one cell to that of the next cell */
};

/* The motion of the picture since the last frame, from OP_FLOW. */
struct texture_motion {
  /* flow: displacement of each cell to its position in the last frame, [h][w][2], in 1/256 pixel; visible: not 0 if the
   * cell was seen in the last frame, [h][w] */
  const int32_t *flow, *visible;
};

/* --- positions in the texture, which wrap around, and their differences --- */

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

/* Returns the shortest way around: the number nearest to 0 that equals `difference` modulo the period. */
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

/* Returns the square root of `square`, rounded down. */
TEXTURE_FUNCTION int64_t texture_root(int64_t square) {
  int64_t r = (int64_t)sqrt((double)square);
  while (r * r > square)
    r--;
  while ((r + 1) * (r + 1) <= square)
    r++;
  return r;
}

/* Returns true if d is between half a cell and two cells long. d: difference between the positions in the noise texture
 * of two neighbouring cells of the latent; a longer or shorter difference means that the field jumps between them. */
TEXTURE_FUNCTION bool texture_is_usual(const struct texture_field *f, struct texture_place d) {
  int64_t square = texture_square(d), one = (int64_t)f->unit * f->unit;
  return 4 * square >= one && square <= 4 * one;
}

/* Returns a vector as long as the width of one cell of the latent, with the direction of d. */
TEXTURE_FUNCTION struct texture_place texture_step(const struct texture_field *f, struct texture_place d) {
  int64_t length = texture_root(texture_square(d));
  struct texture_place s = {(int32_t)texture_floor((int64_t)d.y * f->unit, length ? length : 1),
                            (int32_t)texture_floor((int64_t)d.x * f->unit, length ? length : 1)};
  return s;
}

/* The positions in the noise texture of a quad: 2x2 neighbouring cells of the latent. at: the position of the first
 * cell; right, below, both: differences from `at` to the positions of the cells at its right, below it, and below at
 * its right. */
struct texture_quad {
  struct texture_place at, right, below, both;
};

/* Returns where the quad (2x2 cells) for cell number `at` begins, along one axis: at `at` itself, or one cell before if
 * `at` is the last of `count`. */
TEXTURE_FUNCTION int32_t texture_first(int32_t at, int32_t count) {
  return count > 1 && at > count - 2 ? count - 2 : at;
}

/* Returns the quad (2x2 neighbouring cells of the latent) whose first cell is (y, x), with the positions of its cells
 * in the noise texture. A cell beyond the field's edge is assumed to lie one cell's width from its neighbour. */
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

/* Returns the area of the parallelogram that a quad (2x2 neighbouring cells of the latent) covers in the texture. The
 * area is negative if the quad is mirrored in the texture. */
TEXTURE_FUNCTION int64_t texture_area(const struct texture_quad *q) {
  return (int64_t)q->right.x * q->below.y - (int64_t)q->right.y * q->below.x;
}

/* Returns true if the four cells of a quad (2x2 neighbouring cells) have neighbouring positions in the noise texture,
 * so that positions between them may be interpolated. The positions must nearly form a parallelogram of usual size that
 * is not mirrored. */
TEXTURE_FUNCTION bool texture_is_smooth(const struct texture_field *f, const struct texture_quad *q) {
  int64_t y = (int64_t)q->both.y - q->right.y - q->below.y, x = (int64_t)q->both.x - q->right.x - q->below.x;
  return y <= f->unit / 4 && y >= -f->unit / 4 && x <= f->unit / 4 && x >= -f->unit / 4 &&
         texture_is_usual(f, q->right) && texture_is_usual(f, q->below) &&
         4 * texture_area(q) >= (int64_t)f->unit * f->unit;
}

/* --- how the field (each latent cell's position in the texture of noise) follows the picture's motion --- */

/* Interpolates bilinearly between the four cells of a quad (2x2 neighbouring cells). It does so for one coordinate of
 * their positions in the texture, y or x. right, below, both: this coordinate of three cells, relative to the first one
 * (struct texture_quad). (ty, tx): the point in the picture, from the first cell's middle; unit: width of a cell; both
 * in 1/256 pixel. The result is relative to the first cell, too. */
TEXTURE_FUNCTION int32_t texture_between(int64_t right, int64_t below, int64_t both, int64_t ty, int64_t tx,
                                         int64_t unit) {
  int64_t v = right * tx * (unit - ty) + below * ty * (unit - tx) + both * tx * ty;
  return (int32_t)texture_floor(v + unit * unit / 2, unit * unit);
}

TEXTURE_FUNCTION int32_t texture_clamp(int32_t v, int32_t most) {
  return v < 0 ? 0 : v > most ? most : v;
}

/* Returns the position in the texture that belongs to the point (py, px) of the picture, in 1/256 pixel from the middle
 * of the first cell. Between the middles of cells, their positions in the field are interpolated. Where the field
 * jumps, the result is the position of the nearest cell plus the point's distance from it. Beyond the picture's border,
 * the field continues with the same change from cell to cell as at the border. */
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

/* Returns the new position in the texture of noise of a latent's cell that was seen in the last frame: the position
 * that the last frame's field f has at the point where the cell was. */
TEXTURE_FUNCTION struct texture_place texture_follow(const struct texture_field *f, const struct texture_motion *m,
                                                     int32_t y, int32_t x) {
  const int32_t *flow = m->flow + 2 * (y * f->w + x);
  return texture_look_up(f, y * f->unit + flow[0], x * f->unit + flow[1]);
}

/* Returns the position in the texture of noise for cell (y, x) - count * (dy, dx) of the latent, which was not seen in
 * the last frame. It is extrapolated from cell (y, x), which was seen: the position changes by one cell's length from
 * cell to cell. The direction is that from cell (y + dy, x + dx) to cell (y, x) in the texture. If cell (y + dy, x +
 * dx) was not seen, or the field jumps between these two cells, it is -(dy, dx), as in a latent that has not moved. */
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

/* Returns the position in the texture of noise for cell (y, x) of the latent in this frame. If the cell was not seen in
 * the last frame, the position is extrapolated from the nearest cell of its row or column that was seen. If there is
 * none, it is the cell's own position, as in a latent that has not moved. */
TEXTURE_FUNCTION struct texture_place texture_move(const struct texture_field *f, const struct texture_motion *m,
                                                   int32_t y, int32_t x) {
  struct texture_place identity = {y * f->unit, x * f->unit};
  if (texture_is_seen(f, m, y, x))
    return texture_wrapped(f, texture_follow(f, m, y, x));
  for (int32_t k = 1; k < f->h || k < f->w; k++)
    for (int32_t way = 0; way < 4; way++) {
      /* the direction (dy, dx) is left, right, up or down */
      int32_t dy = way < 2 ? 0 : 2 * way - 5, dx = way < 2 ? 2 * way - 1 : 0;
      if (texture_is_seen(f, m, y + k * dy, x + k * dx))
        return texture_wrapped(f, texture_continue(f, m, y + k * dy, x + k * dx, dy, dx, k));
    }
  return identity;
}

/* --- strain: how far the field (each cell's position in the texture of noise) stretches the texture --- */

/* Returns by how much a squared length differs from `one`, in 1/256: 256 * (1 - r), where r is the smaller of `square`
 * / `one` and `one` / `square`. So growing and shrinking by the same factor give the same number. */
TEXTURE_FUNCTION int32_t texture_excess(int64_t square, int64_t one) {
  return (int32_t)(square < one ? 256 * (one - square) / one : 256 * (square - one) / square);
}

/* Returns the strain at a cell of the latent, in 1/256: how much the field (each cell's position in the texture of
 * noise) scales or shears the texture there. It is 0 where the field only turns the texture, and where the field
 * jumps. */
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

/* Renews the texture of noise for one cell: returns the new position in the texture of the latent's cell (y, x); f has
 * the old positions. The new position lies in the texture's cell (y, x). If the cell's strain in f (how far a zoom or
 * shear has changed distances) is more than TEXTURE_CALM, it is the middle of that cell. Otherwise it keeps the offset
 * that the old position had from the middle of the nearest texture cell. */
TEXTURE_FUNCTION struct texture_place texture_renew(const struct texture_field *f, int32_t y, int32_t x) {
  struct texture_place at = texture_at(f, y, x), new_place = {y * f->unit, x * f->unit};
  if (texture_strain(f, y, x) <= TEXTURE_CALM) {
    new_place.y += texture_wrap((int64_t)at.y + f->unit / 2, f->unit) - f->unit / 2;
    new_place.x += texture_wrap((int64_t)at.x + f->unit / 2, f->unit) - f->unit / 2;
  }
  return texture_wrapped(f, new_place);
}

/* --- which entry of the noise tables (the noise of one cell) a cell of the latent shows --- */

/* The cell (y, x) of the noise texture from which a cell of the latent takes its noise. The texture is divided into
 * blocks. Where the picture is zoomed in, the distance from the block's middle is enlarged (texture_reads), so cell (y,
 * x) may lie outside the block of the latent cell's position. guest is then the number of that block, from 1; otherwise
 * 0. It distinguishes latent cells of different blocks that read the same cell of the texture. */
struct texture_reading {
  int32_t y, x, guest;
};

/* Returns the number of the row or column of cells whose middle is nearest to a coordinate. The coordinate is counted
 * from the middle of cell 0. unit: width of a cell, in the coordinate's unit. */
TEXTURE_FUNCTION int32_t texture_nearest(int64_t coordinate, int32_t unit) {
  return (int32_t)texture_floor(coordinate + unit / 2, unit);
}

TEXTURE_FUNCTION bool texture_is_near(const struct texture_field *f, struct texture_place a, struct texture_place b) {
  int32_t most = f->unit / TEXTURE_PART, y = a.y - b.y, x = a.x - b.x;
  return y <= most && y >= -most && x <= most && x >= -most;
}

/* Returns how far apart, in y and x, neighbouring cells of the latent lie in the texture of noise. It is the mean from
 * TEXTURE_REACH cells before cell (y, x) to as many after it, along its row (dx 1) or its column (dy 1). The field must
 * have at least two cells in this direction. */
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

/* Returns how wide the latent's cells around cell (y, x) are in the texture of noise, in 1/256 pixel. f->unit is the
 * width without a zoom. It is also the result where the picture is hardly zoomed, or not evenly. */
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

/* Returns the cell of the texture whose noise the latent's cell (y, x) shows: the one nearest to the latent cell's
 * position in the texture. Where the picture is zoomed, the position is first scaled about the middle of its block of
 * the texture, by f->unit / the width of a latent cell in the texture (texture_scale). So neighbouring cells of the
 * latent read neighbouring cells of the block. */
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

/* Where the picture is zoomed in, several neighbouring cells of the latent read the same cell of the texture. So that
 * they do not all show the same noise, every second one shows another entry of the noise tables. Returns 1 for such a
 * cell: if an odd number of cells directly before (y, x) read the same cell as it does, else 0. dx 1, dy 0: before
 * means at the left; dx 0, dy 1: above. */
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

/* Returns the number of the entry (noise of one cell, in one of the two tables) that cell (y, x) of the latent shows.
 * It is the entry of the texture's cell that this cell reads. But if another cell of the latent shows this entry
 * already, the result is an entry of the second table, chosen by a hash. This happens for neighbours, for cells of
 * different blocks, and for repetitions of a renewed texture. entries: the texture, [h][w]. */
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

/* Returns an index in the second table of noise: that of the noise which sample number `sample` shows for entry
 * `entry`. All samples share the table, but each begins at another index, so that samples show different noise for the
 * same entry. cells: number of entries of the table. */
TEXTURE_FUNCTION int32_t texture_second(uint32_t entry, int32_t sample, int32_t cells) {
  return (int32_t)(((int64_t)entry + (int64_t)sample * (cells / 2 + cells / 8 + 1)) % cells);
}

#endif
