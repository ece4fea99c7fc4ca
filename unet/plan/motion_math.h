/* The integer arithmetic of the ops that measure motion (op_motion.h). All devices compile these functions and so
 * compute the same bits. The file is plain C and needs no header of a device. Negative numbers shifted to the right
 * round down.
 *
 * Units: level 1 of the pyramid is the picture at half size, so one of its pixels is two pixels of the picture along
 * each axis. Fractions of vectors are in 1/512 pixel of level 1, which is 1/256 pixel of the picture. The brightness of
 * levels, and the details (a pixel's brightness minus the mean around it), are in 1/16 grey level. */
#ifndef UNET_PLAN_MOTION_MATH_H
#define UNET_PLAN_MOTION_MATH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __CUDACC__
#define MOTION_CODE static __host__ __device__ __forceinline__
#else
#define MOTION_CODE static inline
#endif

enum {
  /* number of levels of the pyramid, each half as large as the one before; level 1 is the picture at half size */
  MOTION_LEVELS = 5,
  /* longest side of a picture, in pixels, for which sums and packed numbers do not overflow */
  MOTION_SIDE_MOST = 4096,
  MOTION_BLOCK = 8, /* side, in pixels of the picture, of a block; each block has one motion vector */
  MOTION_REACH = 6, /* farthest motion that the search finds, in blocks along each axis */
  MOTION_SIDE = 2 * MOTION_REACH + 1,
  /* number of starting vectors around which the search at level 2 looks, for each block; motion_base says which these
   * are */
  MOTION_BASES = 6,
  /* side, in blocks, of a group of blocks; a cut is found where few groups look alike in this frame and the last one */
  MOTION_GROUP = 4,
  /* least weight (motion_match.weight) with which a block's match is used to fit the motion of the whole picture */
  MOTION_WEIGHT = 4096,
  MOTION_LIGHT = 250 * 16, /* least brightness, in 1/16 grey level, of a pixel that counts as overexposed */
  MOTION_NONE = 1 << 30,   /* a cost that stands for "no candidate": higher than any candidate's */
  MOTION_ONE = 1 << 24,    /* the number that stands for 1 in the matrix of a similarity (shift, turn and zoom) */
  /* largest absolute value of the numbers a and b in a similarity's matrix (struct motion_model), in units of 1 /
   * MOTION_ONE */
  MOTION_STEEPEST = 1 << 22
};

/* Widths and heights of the levels of a picture's pyramid; level 0 is the picture itself. A level has half as many
 * pixels as the one before along each axis, rounded up. Each pixel of level 3 is one block. */
struct motion_size {
  int w[MOTION_LEVELS + 1], h[MOTION_LEVELS + 1];
};

MOTION_CODE struct motion_size motion_size(int w, int h) {
  struct motion_size s;
  s.w[0] = w;
  s.h[0] = h;
  for (int i = 1; i <= MOTION_LEVELS; i++) {
    s.w[i] = (s.w[i - 1] + 1) / 2;
    s.h[i] = (s.h[i - 1] + 1) / 2;
  }
  return s;
}

MOTION_CODE int motion_pixels(const struct motion_size *s, int level) {
  return s->w[level] * s->h[level];
}

/* An array has the pixels of several levels of a picture's pyramid, one level after another, beginning with level
 * `first`. Returns the index of the first pixel of `level` in it. */
MOTION_CODE int motion_at(const struct motion_size *s, int first, int level) {
  int at = 0;
  for (int i = first; i < level; i++)
    at += motion_pixels(s, i);
  return at;
}

/* Returns the number of values that OP_PYRAMID stores for a picture: for levels 1 to 3, one level after another, each
 * pixel's detail (its brightness minus the mean around it). A last value, always 1, tells the next run that there is a
 * last frame. */
MOTION_CODE int motion_values(const struct motion_size *s) {
  return motion_at(s, 1, 4) + 1;
}

MOTION_CODE int motion_clamp(int x, int high) {
  return x < 0 ? 0 : x > high ? high : x;
}

MOTION_CODE int motion_abs(int x) {
  return x < 0 ? -x : x;
}

/* Returns a / b rounded to the nearest; b is above 0. */
MOTION_CODE int64_t motion_divide(int64_t a, int64_t b) {
  return a >= 0 ? (a + b / 2) / b : -((b / 2 - a) / b);
}

/* --- the pyramid: the picture's brightness at smaller and smaller sizes --- */

/* Returns the brightness, 0 to 255, of a pixel whose r, g and b are 0 to 255. */
MOTION_CODE int motion_grey(int r, int g, int b) {
  return (9798 * r + 19235 * g + 3735 * b + 16384) >> 15;
}

/* Returns the weight of row or column i, 0 to 3, when the picture is halved: a pixel of level 1 is the weighted mean of
 * 4x4 pixels of the picture. */
MOTION_CODE int motion_blur(int i) {
  return i == 0 || i == 3 ? 1 : 3;
}

/* Returns the brightness at the centre of pixel (x, y) of a fine level of the pyramid, as a coarser level (w x h
 * pixels) has it there, by linear interpolation. ratio: how many times more pixels the finer level has along each
 * axis. */
MOTION_CODE int motion_between(const int32_t *level, int w, int h, int x, int y, int ratio) {
  int whole = 2 * ratio, px = 2 * x + 1 + ratio, py = 2 * y + 1 + ratio;
  int u = px % whole, v = py % whole, left = px / whole - 1, top = py / whole - 1;
  int right = motion_clamp(left + 1, w - 1), low = motion_clamp(top + 1, h - 1);
  left = motion_clamp(left, w - 1), top = motion_clamp(top, h - 1);
  int a = level[top * w + left] * (whole - u) + level[top * w + right] * u;
  int b = level[low * w + left] * (whole - u) + level[low * w + right] * u;
  return (a * (whole - v) + b * v + whole * whole / 2) / (whole * whole);
}

/* Returns a pixel's detail: its brightness `level` minus the brightness around it. marks: true: the lowest bit of the
 * result is 1 if the pixel is overexposed, else 0; false: no bit is used for this. */
MOTION_CODE int motion_detail(int level, int around, bool marks) {
  int detail = level - around;
  return marks ? (detail & ~1) | (level >= MOTION_LIGHT) : detail;
}

/* A pixel's detail is its brightness minus that of its surroundings, which is taken from a coarser level of the
 * pyramid. Returns the number of this coarser level for pixels of level `level`. */
MOTION_CODE int motion_around(int level) {
  return level == 1 ? 4 : 5;
}

MOTION_CODE int motion_pixel(const int32_t *d, int w, int h, int x, int y) {
  return d[motion_clamp(y, h - 1) * w + motion_clamp(x, w - 1)];
}

/* Returns the value of d, an image of w x h pixels, at the position (x, y), by linear interpolation. The position is in
 * 1/512 pixel of d. Outside of the image it gets the value at the edge. */
MOTION_CODE int motion_sample(const int32_t *d, int w, int h, int x, int y) {
  int u = x & 511, v = y & 511;
  int left = motion_clamp(x >> 9, w - 1), right = motion_clamp((x >> 9) + 1, w - 1);
  int top = motion_clamp(y >> 9, h - 1), low = motion_clamp((y >> 9) + 1, h - 1);
  int a = d[top * w + left] * (512 - u) + d[top * w + right] * u;
  int b = d[low * w + left] * (512 - u) + d[low * w + right] * u;
  return ((a >> 2) * (512 - v) + (b >> 2) * v + 32768) >> 16;
}

/* --- the search for each block's match in the last frame, and for blocks of the last frame in the present one --- */

/* Returns the key by which candidate vectors of a block are compared in the search at level 3 of the pyramid: the
 * candidate with the lowest key is the best. Longer vectors cost a little more. sum: the sum of absolute differences
 * over 5x5 pixels; index: the candidate's number, which the key contains. */
MOTION_CODE int motion_seek_key(int sum, int index) {
  int y = index / MOTION_SIDE - MOTION_REACH, x = index % MOTION_SIDE - MOTION_REACH;
  return (sum + 16 * (motion_abs(y) + motion_abs(x))) * 256 + index;
}

/* motion_seek_y and motion_seek_x return the vector, in blocks, of the candidate for which motion_seek_key has returned
 * this key. */
MOTION_CODE int motion_seek_y(int key) {
  return (key & 255) / MOTION_SIDE - MOTION_REACH;
}

MOTION_CODE int motion_seek_x(int key) {
  return (key & 255) % MOTION_SIDE - MOTION_REACH;
}

/* Returns where starting vector number `base` of the search at level 2 of the pyramid comes from, for block (x, y): the
 * number of a block, whose vector from level 3 is used, or -1 for "no motion". The MOTION_BASES starting vectors are
 * those of the block itself and of its four neighbours, and "no motion". The block itself replaces a neighbour outside
 * the picture. */
MOTION_CODE int motion_base(const struct motion_size *s, int x, int y, int base) {
  if (base == MOTION_BASES - 1)
    return -1;
  y = motion_clamp(y + (base == 4) - (base == 1), s->h[3] - 1);
  x = motion_clamp(x + (base == 3) - (base == 2), s->w[3] - 1);
  return y * s->w[3] + x;
}

/* Returns the key by which candidate vectors at level 2 of the pyramid are compared; the lowest key is the best.
 * sum: the sum of absolute differences over 6x6 pixels; index: the candidate's number, 9 around each starting vector,
 * row by row; still: true: the candidate is "no motion", which costs less. */
MOTION_CODE int motion_middle_key(int sum, int index, bool still) {
  return (sum + (still ? 0 : 16)) * 64 + index;
}

/* Returns the key of a candidate vector at level 1; the lowest key is the best. sum: the sum of absolute differences
 * over 8x8 pixels; index: 0 to 8, row by row around the best vector of level 2. Of equal sums the middle candidate's is
 * the best. */
MOTION_CODE int motion_fine_key(int sum, int index) {
  return sum * 16 + (index == 4 ? 0 : index + 1);
}

MOTION_CODE int motion_fine_index(int key) {
  return (key & 15) ? (key & 15) - 1 : 4;
}

/* Sums over the 8x8 pixels of level 1 around a block. From them the fraction of a pixel in the block's vector is
 * computed (one step of Lucas and Kanade). xx, xy, yy: products of the brightness's slopes along x and y in this frame
 * (motion_slope). xt, yt: products of these slopes with the difference between this frame and the last one
 * (motion_change). */
struct motion_slopes {
  int xx, xy, yy, xt, yt;
};

MOTION_CODE int motion_slope(int before, int after) {
  return (after - before) >> 3;
}

MOTION_CODE int motion_change(int now, int last) {
  return (now - last) >> 2;
}

/* Adds one pixel to the sums: number i of the 8x8 pixels around block (x, y), for a block that moves by (dx, dy) pixels
 * of level 1. now and last: the details of level 1 of both frames, w x h. */
MOTION_CODE void motion_add_slopes(struct motion_slopes *s, const int32_t *now, const int32_t *last, int w, int h,
                                   int x, int y, int dx, int dy, int i) {
  int u = motion_clamp(4 * x - 2 + i % 8, w - 1), v = motion_clamp(4 * y - 2 + i / 8, h - 1);
  int across = motion_slope(motion_pixel(now, w, h, u - 1, v), motion_pixel(now, w, h, u + 1, v));
  int down = motion_slope(motion_pixel(now, w, h, u, v - 1), motion_pixel(now, w, h, u, v + 1));
  int change = motion_change(now[v * w + u], motion_pixel(last, w, h, u + dx, v + dy));
  s->xx += across * across, s->xy += across * down, s->yy += down * down;
  s->xt += across * change, s->yt += down * change;
}

struct motion_match {
  int y, x; /* the vector of the match, in 1/256 pixel */
  /* how certain the vector is: how much the block's brightness differs from that at positions nearby. About the smaller
   * eigenvalue of the matrix [xx xy; xy yy] (struct motion_slopes) */
  int weight;
};

/* Returns the match of a block: the vector (y, x), in whole pixels of level 1, plus a fraction computed from the
 * slopes. The fraction is at most one pixel. */
MOTION_CODE struct motion_match motion_solve(struct motion_slopes s, int y, int x) {
  struct motion_match match;
  int64_t xx = s.xx + 256, yy = s.yy + 256, xy = s.xy;
  int64_t determinant = xx * yy - xy * xy;
  int64_t right = motion_divide((yy * s.xt - xy * s.yt) * 512, determinant);
  int64_t down = motion_divide((xx * s.yt - xy * s.xt) * 512, determinant);
  match.x = 512 * x + (int)(right < -512 ? -512 : right > 512 ? 512 : right);
  match.y = 512 * y + (int)(down < -512 ? -512 : down > 512 ? 512 : down);
  match.weight = (int)(determinant / (xx + yy));
  return match;
}

/* --- the motion of the whole picture, fitted to the blocks' vectors --- */

/* The whole picture's motion as a similarity (shift, turn and zoom) about the picture's centre, from positions in this
 * frame to positions in the last one: x' = (1 + a) x - b y + tx, y' = b x + (1 + a) y + ty. a and b are in units of 1 /
 * MOTION_ONE, tx and ty in 1/256 pixel. */
struct motion_model {
  int a, b, ty, tx;
};

/* Returns the position of a block's centre along one axis, counted from the picture's centre, in half pixels. block:
 * the block's column or row; size: the picture's width or height. */
MOTION_CODE int motion_place(int block, int size) {
  return 2 * MOTION_BLOCK * block + MOTION_BLOCK - size;
}

/* motion_model_x and motion_model_y return the motion along x and y that the model gives to the position (x, y). The
 * motion is in 1/256 pixel; the position is in half pixels from the picture's centre. */
MOTION_CODE int motion_model_x(const struct motion_model *m, int x, int y) {
  return m->tx + (int)(((int64_t)m->a * x - (int64_t)m->b * y + 65536) >> 17);
}

MOTION_CODE int motion_model_y(const struct motion_model *m, int x, int y) {
  return m->ty + (int)(((int64_t)m->b * x + (int64_t)m->a * y + 65536) >> 17);
}

/* The first guess of the whole picture's motion is the vector near which most blocks' vectors lie. To find it, vectors
 * are counted in bins: squares of 4 x 4 pixels in which the vectors end. There are MOTION_BINS bins along each axis;
 * "no motion" is in the middle one. */
enum { MOTION_BINS = 32 };

/* Returns the number of the bin to which the vector (x, y) of a block belongs; -1: the vector lies outside all bins. x
 * and y are in 1/256 pixel. Bins are numbered row by row. */
MOTION_CODE int motion_bin(int y, int x) {
  int row = (y + 64 * 256 + 512) >> 10, column = (x + 64 * 256 + 512) >> 10;
  bool inside = row >= 0 && column >= 0 && row < MOTION_BINS && column < MOTION_BINS;
  return inside ? row * MOTION_BINS + column : -1;
}

/* Returns the key by which bins of vectors are compared; the bin with the highest key is the first guess. The key grows
 * with the number of matches in the bin and in the eight bins around it. Of equal bins, the one nearest to "no motion"
 * has the highest key. counts: the numbers of matches in all bins. */
MOTION_CODE int64_t motion_bin_key(const int *counts, int bin) {
  int row = bin / MOTION_BINS, column = bin % MOTION_BINS;
  int64_t sum = counts[bin];
  for (int y = row - 1; y <= row + 1; y++)
    for (int x = column - 1; x <= column + 1; x++)
      if (y >= 0 && x >= 0 && y < MOTION_BINS && x < MOTION_BINS)
        sum += counts[y * MOTION_BINS + x];
  int far = motion_abs(row - MOTION_BINS / 2) + motion_abs(column - MOTION_BINS / 2);
  return (sum * 64 + 63 - far) * 1024 + 1023 - bin;
}

MOTION_CODE struct motion_model motion_bin_model(int64_t key) {
  int bin = 1023 - (int)(key & 1023);
  struct motion_model m = {0, 0, 1024 * (bin / MOTION_BINS - MOTION_BINS / 2),
                           1024 * (bin % MOTION_BINS - MOTION_BINS / 2)};
  return m;
}

/* After the first guess, the model of the whole picture's motion is fitted MOTION_PASSES times by least squares. Each
 * pass uses the matches that are within motion_radius (in 1/256 pixel) of the previous pass's model; the radius shrinks
 * from pass to pass. */
enum { MOTION_PASSES = 6 };

MOTION_CODE int motion_radius(int pass) {
  return pass == 0 ? 2560 : pass == 1 ? 1280 : pass == 2 ? 768 : pass == 3 ? 384 : pass == 4 ? 256 : 192;
}

/* Sums over blocks' matches, from which a model of the whole picture's motion is fitted. Only matches near the last
 * fitted model are counted. count: number of matches; x, y: sums of positions; vx, vy: sums of motion vectors; far: sum
 * of squared distances from the picture's centre; along: sum of the scalar products x vx + y vy; across: sum of the
 * cross products x vy - y vx of position and vector. */
struct motion_sums {
  int64_t count, x, y, vx, vy, far, along, across;
};

/* Adds a block's match to the sums, if its weight is at least MOTION_WEIGHT and its vector is within `radius` of the
 * model's at this position. (x, y): the block's position; (vy, vx): its vector. */
MOTION_CODE void motion_gather(struct motion_sums *s, const struct motion_model *m, int radius, int x, int y, int vy,
                               int vx, int weight) {
  bool near = motion_abs(vy - motion_model_y(m, x, y)) <= radius && motion_abs(vx - motion_model_x(m, x, y)) <= radius;
  if (weight < MOTION_WEIGHT || !near)
    return;
  s->count++;
  s->x += x, s->y += y;
  s->vx += vx, s->vy += vy;
  s->far += (int64_t)x * x + (int64_t)y * y;
  s->along += (int64_t)x * vx + (int64_t)y * vy;
  s->across += (int64_t)x * vy - (int64_t)y * vx;
}

MOTION_CODE bool motion_is_wide(int64_t x, int shift) {
  const int64_t most = (int64_t)1 << 44;
  return (x >> shift) > most || (x >> shift) < -most;
}

/* Returns numerator * 2^17 / denominator, limited to MOTION_STEEPEST. shift: number of low bits that are first dropped
 * from both, so that the product does not overflow. */
MOTION_CODE int motion_ratio(int64_t numerator, int64_t denominator, int shift) {
  int64_t ratio = motion_divide((numerator >> shift) * 131072, (denominator >> shift) + 1);
  const int64_t most = MOTION_STEEPEST;
  return (int)(ratio < -most ? -most : ratio > most ? most : ratio);
}

/* Fits the model of the whole picture's motion to the sums, by least squares. Pass 0 fits only a shift, later passes
 * turn and zoom as well. If there are too few matches, the model stays as it is. */
MOTION_CODE void motion_fit(struct motion_model *m, const struct motion_sums *s, int pass) {
  int64_t spread = s->count * s->far - s->x * s->x - s->y * s->y;
  int64_t along = s->count * s->along - s->x * s->vx - s->y * s->vy;
  int64_t across = s->count * s->across - s->x * s->vy + s->y * s->vx;
  int shift = 0;
  if (s->count < 12 || spread <= 0)
    return;
  while (motion_is_wide(along, shift) || motion_is_wide(across, shift))
    shift++;
  m->a = pass ? motion_ratio(along, spread, shift) : 0;
  m->b = pass ? motion_ratio(across, spread, shift) : 0;
  m->tx = (int)motion_divide(s->vx * 131072 - m->a * s->x + m->b * s->y, s->count * 131072);
  m->ty = (int)motion_divide(s->vy * 131072 - m->b * s->x - m->a * s->y, s->count * 131072);
}

/* Sums over all certain matches, from which a model of the whole picture's motion is judged. still: squared distances
 * of the vectors from 0; fitted: squared distances of the vectors from the model; count: number of matches; agreeing:
 * number of matches close to the model; length: squared lengths of the model's vectors at these agreeing matches. */
struct motion_merit {
  int64_t still, fitted, count, agreeing, length;
};

MOTION_CODE void motion_weigh(struct motion_merit *s, const struct motion_model *m, int x, int y, int vy, int vx,
                              int weight) {
  const int64_t most = 512 * 512;
  if (weight < MOTION_WEIGHT)
    return;
  int64_t my = motion_model_y(m, x, y), mx = motion_model_x(m, x, y);
  int64_t still = (int64_t)vy * vy + (int64_t)vx * vx, fitted = (vy - my) * (vy - my) + (vx - mx) * (vx - mx);
  bool agrees = fitted < 192 * 192;
  s->still += still < most ? still : most;
  s->fitted += fitted < most ? fitted : most;
  s->count++;
  s->agreeing += agrees;
  s->length += agrees ? my * my + mx * mx : 0;
}

/* Returns true if the whole picture moves as the model says. Enough blocks' matches must agree with the model, its
 * motion of these blocks must be an eighth of a pixel or more, and it must explain the matches clearly better than no
 * motion. The fewer matches there are, the better it must explain them: four numbers can be fitted to the noise of a
 * few matches. */
MOTION_CODE bool motion_is_moving(const struct motion_merit *s, int blocks) {
  return s->agreeing >= 12 && s->agreeing * 5 >= s->count && s->agreeing * 32 >= blocks &&
         4 * s->fitted < 3 * s->still && 64 * s->fitted < (s->still - s->fitted) * (s->count - 2) &&
         s->length >= s->agreeing * 32 * 32;
}

MOTION_CODE bool motion_is_still(const struct motion_model *m) {
  return !m->a && !m->b && !m->ty && !m->tx;
}

/* Returns the model of the inverse motion, which leads from positions in the last frame to positions in this one. */
MOTION_CODE struct motion_model motion_inverse(const struct motion_model *m) {
  const int64_t one = MOTION_ONE;
  int64_t a = one + m->a, size = (a * a + (int64_t)m->b * m->b) >> 24;
  int64_t back = motion_divide(a * one, size), across = -motion_divide(m->b * one, size);
  struct motion_model r;
  r.a = (int)(back - one);
  r.b = (int)across;
  r.tx = -(int)motion_divide(back * m->tx - across * m->ty, one);
  r.ty = -(int)motion_divide(across * m->tx + back * m->ty, one);
  return r;
}

/* --- the choice of each block's vector: its own match, the whole picture's motion, or none --- */

/* Returns a factor that makes the details (a pixel's brightness minus the mean around it) of two frames comparable
 * after a change of the light. This frame's details are multiplied by it, the last frame's by 256 minus it. It is
 * limited to 64..192, which compensates for a change by up to a factor of 3. now and last: sums of both frames'
 * absolute details. */
MOTION_CODE int motion_gain(int now, int last) {
  int gain = now + last ? (int)(((int64_t)last * 256 + (now + last) / 2) / (now + last)) : 128;
  return gain < 64 ? 64 : gain > 192 ? 192 : gain;
}

MOTION_CODE int motion_difference(int now, int last, int gain) {
  return motion_abs(now * gain - last * (256 - gain));
}

/* Returns true if `sum`, a sum of differences, is clearly lower than `other`: by at least a quarter of `other`, and by
 * at least 0.8 grey levels a pixel. Both are sums over 8x8 pixels, in 1/2048 grey level. */
MOTION_CODE bool motion_is_clear(int sum, int other) {
  return sum + 64 * 1638 <= other && 4 * (int64_t)sum <= 3 * (int64_t)other;
}

/* A block's match is trusted if at least MOTION_SUPPORT of its eight neighbours have a vector near its own
 * (motion_is_near), and if its weight is at least half of MOTION_WEIGHT. */
enum { MOTION_SUPPORT = 3 };

MOTION_CODE bool motion_is_near(int y, int x, int other_y, int other_x) {
  return motion_abs(y - other_y) <= 384 && motion_abs(x - other_x) <= 384;
}

/* Returns true if two vectors cancel: (y, x) leads from a block to its position in the last frame, and (back_y, back_x)
 * from there back to this frame. They cancel if the block was visible in the last frame. */
MOTION_CODE bool motion_agrees(int y, int x, int back_y, int back_x) {
  int most = 256 + ((motion_abs(y) + motion_abs(x)) >> 4);
  return motion_abs(y + back_y) <= most && motion_abs(x + back_x) <= most;
}

/* Returns the number of the last frame's block to which the vector (vy, vx) of block (x, y) leads; -1: it leads out of
 * the picture. */
MOTION_CODE int motion_origin(const struct motion_size *s, int x, int y, int vy, int vx) {
  int px = 256 * MOTION_BLOCK * x + 128 * MOTION_BLOCK + vx, py = 256 * MOTION_BLOCK * y + 128 * MOTION_BLOCK + vy;
  if (px < 0 || py < 0 || px >= 256 * s->w[0] || py >= 256 * s->h[0])
    return -1;
  return py / (256 * MOTION_BLOCK) * s->w[3] + px / (256 * MOTION_BLOCK);
}

/* --- deciding whether the scene has changed (a cut) --- */

/* Sums that say how alike a group of blocks looks in this frame and in the last one. They are over those pixels of
 * level 1 that are overexposed in neither frame. both: products of the two frames' details; now, last: squared details
 * of each frame. All in squares of a quarter grey level. */
struct motion_likeness {
  int both, now, last;
};

MOTION_CODE void motion_compare(struct motion_likeness *s, int now, int last) {
  now >>= 2, last >>= 2;
  s->both += now * last;
  s->now += now * now;
  s->last += last * last;
}

/* Returns true if a group of blocks has texture: the sum of its squared details (brightness minus the mean around each
 * pixel) is greater than a camera's noise makes it. */
MOTION_CODE bool motion_has_texture(int squares) {
  return squares > 12288;
}

/* Returns true if a group of blocks looks alike in both frames: their details (brightness minus the mean around each
 * pixel) have a correlation of at least one half. */
MOTION_CODE bool motion_is_alike(const struct motion_likeness *s) {
  return s->both > 0 && 4 * (int64_t)s->both * s->both >= (int64_t)s->now * s->last;
}

/* Numbers of groups of blocks. groups: all of them; now: those with texture in this frame; both: those with texture in
 * both frames; alike: those of `both` that look alike in the two frames. */
struct motion_tally {
  int groups, now, both, alike;
};

/* Returns true if the frame has nearly no texture, as between the flashes of a strobe. Neither motion nor a cut can be
 * found from such a frame. */
MOTION_CODE bool motion_is_blank(const struct motion_tally *t) {
  return t->now * 16 < t->groups || !t->now;
}

/* Returns the value GLOBAL_BLANK (op_motion.h) for this frame: whether this frame (1), or the last one (2), has no
 * texture. blank: this frame has none; past: there is a last frame; before: the last frame's GLOBAL_BLANK, read only if
 * `past` is true. */
MOTION_CODE int32_t motion_blank(bool blank, bool past, int32_t before) {
  return blank ? 1 : past && before == 1 ? 2 : 0;
}

/* Returns true if there is a cut between the last frame and this one: too few groups of blocks have texture in both, or
 * too few of these look alike. */
MOTION_CODE bool motion_is_cut(const struct motion_tally *t) {
  return t->both * 16 < t->groups || !t->both || t->alike * 5 < t->both * 2;
}

/* Returns how many groups there are along an axis with this many blocks; a group has MOTION_GROUP blocks along each
 * axis. */
MOTION_CODE int motion_groups(int blocks) {
  return (blocks + MOTION_GROUP - 1) / MOTION_GROUP;
}

#endif
