/* Fast code for the slowest steps of measuring motion: the search for matching blocks (OP_MATCH), and how badly a block
 * fits the last picture if it is displaced by a vector (OP_FLOW). Results equal those of the definitions in
 * cpu_motion.c and cpu_flow.c. The details (a pixel's brightness minus the mean around it) are copied as 16-bit numbers
 * with a border, so that the search need not check for the picture's edge. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_motion.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

typedef int16_t vec_short __attribute__((vector_size(VECTOR_BYTES)));
typedef uint16_t vec_ushort __attribute__((vector_size(VECTOR_BYTES)));
typedef int16_t vec_short_any __attribute__((vector_size(VECTOR_BYTES), aligned(2), may_alias));
typedef int16_t eight __attribute__((vector_size(16)));
typedef uint16_t eight_unsigned __attribute__((vector_size(16)));
typedef int16_t eight_any __attribute__((vector_size(16), aligned(2), may_alias));
typedef int32_t eight_wide __attribute__((vector_size(32)));

enum { SHORTS = VECTOR_BYTES / 2 };

/* --- 16-bit copies of the details (a pixel's brightness minus the mean around it), with a border --- */

static const int16_t *at(const struct padded *p, int x, int y) {
  return p->data + (y + SEARCH_EDGE) * p->pitch + x + SEARCH_EDGE;
}

static void copy_row(const struct padded *p, const int32_t *from, int y) {
  int16_t *row = p->data + (y + SEARCH_EDGE) * p->pitch;
  const int32_t *source = from + motion_clamp(y, p->h - 1) * p->w;
  for (int x = 0; x < SEARCH_EDGE; x++)
    row[x] = (int16_t)source[0];
  for (int x = 0; x < p->w; x++)
    row[x + SEARCH_EDGE] = (int16_t)source[x];
  for (int x = p->w + SEARCH_EDGE; x < p->pitch; x++)
    row[x] = (int16_t)source[p->w - 1];
}

/* --- the search for each block's motion at level 3, the coarsest of the pyramid --- */

INLINE vec_short magnitude(vec_short v) {
  vec_short sign = v >> 15;
  return (v ^ sign) - sign;
}

/* Adds up, column by column, the absolute differences between the details of picture `now` and those of picture `last`
 * displaced by (dx, dy). sums[u], 0 <= u < count, is the sum over the 5 pixels of column u - 2 in rows y - 2 to y + 2,
 * modulo 2^16. Neighbouring windows of 5x5 pixels share these sums. */
static void sum_columns(const struct padded *now, const struct padded *last, int y, int dx, int dy, int count,
                        uint16_t *sums) {
  for (int u = 0; u < count; u += SHORTS) {
    vec_ushort sum = {0};
    for (int v = -2; v <= 2; v++)
      sum += (vec_ushort)magnitude(*(const vec_short_any *)at(now, u - 2, y + v) -
                                   *(const vec_short_any *)at(last, u - 2 + dx, y + v + dy));
    memcpy(sums + u, &sum, sizeof sum);
  }
}

static void seek_row(const struct matching *m, const struct padded *now, const struct padded *last, int y,
                     uint16_t *sums) {
  int w = m->size.w[3];
  int32_t *best = m->found + y * w;
  for (int x = 0; x < w; x++)
    best[x] = MOTION_NONE;
  for (int i = 0; i < MOTION_SIDE * MOTION_SIDE; i++) {
    int none = motion_seek_key(0, i);
    sum_columns(now, last, y, motion_seek_x(i), motion_seek_y(i), w + 4, sums);
    for (int x = 0; x < w; x++) {
      int key = (sums[x] + sums[x + 1] + sums[x + 2] + sums[x + 3] + sums[x + 4]) * 256 + none;
      best[x] = key < best[x] ? key : best[x];
    }
  }
}

/* --- the search for each block's motion at levels 2 and 1 of the pyramid --- */

/* Returns the sum of absolute differences between two blocks, which are up to eight pixels wide and `rows` pixels high.
 * mask: all bits are set in the columns that count. */
INLINE int differences(const int16_t *now, int now_pitch, const int16_t *last, int last_pitch, int rows, eight mask) {
  eight_unsigned sum = {0};
  uint16_t part[8];
  int total = 0;
  for (int v = 0; v < rows; v++) {
    eight d = *(const eight_any *)(now + v * now_pitch) - *(const eight_any *)(last + v * last_pitch);
    eight sign = d >> 15;
    sum += (eight_unsigned)(((d ^ sign) - sign) & mask);
  }
  memcpy(part, &sum, sizeof part);
  for (int i = 0; i < 8; i++)
    total += part[i];
  return total;
}

/* Two starting vectors of a block may be equal, but each should be tried only once. Returns the number of the first one
 * that is equal to number `base`; this is `base` itself if no earlier one is. */
static int first_equal(const int *right, const int *down, int base) {
  int i = 0;
  while (right[i] != right[base] || down[i] != down[base])
    i++;
  return i;
}

static void find_middle(const struct matching *m, const struct padded *now, const struct padded *last, int x, int y,
                        int *dx, int *dy) {
  const eight six = {-1, -1, -1, -1, -1, -1, 0, 0};
  int right[MOTION_BASES], down[MOTION_BASES], best = MOTION_NONE;
  for (int base = 0; base < MOTION_BASES; base++) {
    int block = motion_base(&m->size, x, y, base), found = block < 0 ? 0 : m->found[block];
    right[base] = block < 0 ? 0 : 2 * motion_seek_x(found);
    down[base] = block < 0 ? 0 : 2 * motion_seek_y(found);
    for (int i = 0; i < 9 && first_equal(right, down, base) == base; i++) {
      int u = right[base] + i % 3 - 1, v = down[base] + i / 3 - 1;
      int sum = differences(at(now, 2 * x - 2, 2 * y - 2), now->pitch, at(last, 2 * x - 2 + u, 2 * y - 2 + v),
                            last->pitch, 6, six);
      int key = motion_middle_key(sum, 9 * base + i, !u && !v);
      if (key < best)
        best = key, *dx = u, *dy = v;
    }
  }
}

static void find_fine(const struct padded *now, const struct padded *last, int x, int y, int *dx, int *dy) {
  const eight all = {-1, -1, -1, -1, -1, -1, -1, -1};
  int best = MOTION_NONE;
  for (int i = 0; i < 9; i++) {
    int u = 4 * x - 2 + 2 * *dx + i % 3 - 1, v = 4 * y - 2 + 2 * *dy + i / 3 - 1;
    int sum = differences(at(now, 4 * x - 2, 4 * y - 2), now->pitch, at(last, u, v), last->pitch, 8, all);
    int key = motion_fine_key(sum, i);
    best = key < best ? key : best;
  }
  int index = motion_fine_index(best);
  *dx = 2 * *dx + index % 3 - 1, *dy = 2 * *dy + index / 3 - 1;
}

INLINE int sum_wide(eight_wide v) {
  int total = 0;
  for (int i = 0; i < 8; i++)
    total += v[i];
  return total;
}

/* Returns the sums from which the fraction of a pixel in a block's vector is computed (struct motion_slopes). Only for
 * blocks whose 8x8 pixels all have neighbours within the picture. */
static struct motion_slopes slopes(const struct padded *now, const struct padded *last, int x, int y, int dx, int dy) {
  eight_wide xx = {0}, xy = {0}, yy = {0}, xt = {0}, yt = {0};
  for (int v = 4 * y - 2; v < 4 * y + 6; v++) {
    const int16_t *here = at(now, 4 * x - 2, v);
    eight_wide across =
        __builtin_convertvector((*(const eight_any *)(here + 1) - *(const eight_any *)(here - 1)) >> 3, eight_wide);
    eight_wide down = __builtin_convertvector(
        (*(const eight_any *)(here + now->pitch) - *(const eight_any *)(here - now->pitch)) >> 3, eight_wide);
    eight_wide change = __builtin_convertvector(
        (*(const eight_any *)here - *(const eight_any *)at(last, 4 * x - 2 + dx, v + dy)) >> 2, eight_wide);
    xx += across * across, xy += across * down, yy += down * down;
    xt += across * change, yt += down * change;
  }
  return (struct motion_slopes){sum_wide(xx), sum_wide(xy), sum_wide(yy), sum_wide(xt), sum_wide(yt)};
}

static struct motion_slopes slopes_of(const struct matching *m, const struct padded *now, const struct padded *last,
                                      int x, int y, int dx, int dy) {
  int w = m->size.w[1], h = m->size.h[1];
  if (4 * x >= 3 && 4 * y >= 3 && 4 * x + 6 < w && 4 * y + 6 < h)
    return slopes(now, last, x, y, dx, dy);
  struct motion_slopes s = {0};
  for (int i = 0; i < 64; i++)
    motion_add_slopes(&s, m->now, m->last, w, h, x, y, dx, dy, i);
  return s;
}

static void match_row(const struct matching *m, const struct padded now[4], const struct padded last[4], int y) {
  for (int x = 0; x < m->size.w[3]; x++) {
    int dx = 0, dy = 0;
    find_middle(m, &now[2], &last[2], x, y, &dx, &dy);
    find_fine(&now[1], &last[1], x, y, &dx, &dy);
    struct motion_match match = motion_solve(slopes_of(m, &now[1], &last[1], x, y, dx, dy), dy, dx);
    int32_t *out = m->out + MATCH_VALUES * (y * m->size.w[3] + x);
    out[0] = match.y, out[1] = match.x, out[2] = match.weight;
  }
}

void KERNEL(cpu_search)(const struct matching *m, const struct padded now[4], const struct padded last[4]) {
#pragma omp parallel for
  for (int y = 0; y < m->size.h[3]; y++)
    seek_row(m, &now[3], &last[3], y, m->sums + (size_t)thread_number() * m->sums_each);
#pragma omp parallel for
  for (int y = 0; y < m->size.h[3]; y++)
    match_row(m, now, last, y);
}

void KERNEL(cpu_pad)(const struct padded *p, const int32_t *from) {
#pragma omp parallel for
  for (int y = -SEARCH_EDGE; y < p->h + SEARCH_EDGE; y++)
    copy_row(p, from, y);
}

/* --- the choice of each block's motion vector --- */

int KERNEL(cpu_cost)(const struct direction *d, int x, int y, int vy, int vx) {
  enum { SIDE = 8 };
  int w = d->size.w[1], left = (512 * (4 * x - 2) + vx) >> 9, top = (512 * (4 * y - 2) + vy) >> 9;
  int u = vx & 511, v = vy & 511, now[SIDE][SIDE], last[SIDE][SIDE], all_now = 0, all_last = 0, sum = 0;
  for (int row = 0; row < SIDE; row++) {
    const int32_t *here = d->now + (4 * y - 2 + row) * w + 4 * x - 2, *high = d->last + (top + row) * w + left,
                  *low = high + w;
    for (int i = 0; i < SIDE; i++) {
      int a = high[i] * (512 - u) + high[i + 1] * u, b = low[i] * (512 - u) + low[i + 1] * u;
      now[row][i] = here[i];
      last[row][i] = ((a >> 2) * (512 - v) + (b >> 2) * v + 32768) >> 16;
      all_now += motion_abs(now[row][i]), all_last += motion_abs(last[row][i]);
    }
  }
  int gain = motion_gain(all_now, all_last);
  for (int row = 0; row < SIDE; row++)
    for (int i = 0; i < SIDE; i++)
      sum += motion_difference(now[row][i], last[row][i], gain);
  return sum;
}
