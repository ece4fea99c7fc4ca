/* Fast code for the slowest steps of OP_MAP, which makes maps of a picture (edges, colours, ...) for ControlNets:
 * converting the picture to 8-bit codes, and blurring these. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

enum { WIDE = 4 * LANES }; /* number of values for which sums are computed at a time */

typedef double vec_double __attribute__((vector_size(2 * VECTOR_BYTES)));

/* --- converting a picture to 8-bit codes --- */

void KERNEL(cpu_encode)(const struct encode *e) {
#pragma omp parallel
  {
    size_t low, high;
    thread_share(e->count, &low, &high);
    for (size_t i = low; i < high; i++) {
      float value = fmaf(e->x[i], e->scale, e->bias);
      value = value > 0 ? value : 0;
      e->code[i] = (uint8_t)(value < 255 ? value : 255);
    }
  }
}

/* --- blurring the picture's 8-bit codes --- */

INLINE vec_int load_wide(const uint16_t *from) {
  return __builtin_convertvector(*(const vec_half_any *)from, vec_int);
}

/* Stores sum / volume, rounded down, as 16-bit numbers. One half is first added to the sum, an integer; so the quotient
 * is never near an integer, and a rounding error cannot change the result. */
INLINE void store_quotients(const struct soften *s, vec_int sum, uint16_t *out) {
  double part = 1.0 / s->volume;
  vec_double quotient = (__builtin_convertvector(sum, vec_double) + 0.5) * part;
  *(vec_half_any *)out = __builtin_convertvector(__builtin_convertvector(quotient, vec_int), vec_half);
}

/* Blurs along rows or columns: writes WIDE values of out, from index `at` on. Each is `times` times the weighted mean
 * of 2 * reach + 1 inputs. row[reach] points to the inputs at the same positions; row[reach - k] and row[reach + k] to
 * those k pixels before and after, which have the weight weight[k]. */
static void sum_wide(const struct soften *s, const uint16_t *const *row, int at, int times, uint16_t *out) {
  int reach = s->reach;
  vec_int sum[4];
  for (int i = 0; i < 4; i++)
    sum[i] = s->weight[0] * load_wide(row[reach] + at + i * LANES);
  for (int k = 1; k <= reach; k++)
    for (int i = 0; i < 4; i++)
      sum[i] +=
          s->weight[k] * (load_wide(row[reach - k] + at + i * LANES) + load_wide(row[reach + k] + at + i * LANES));
  for (int i = 0; i < 4; i++)
    store_quotients(s, sum[i] * times + s->volume / 2, out + at + i * LANES);
}

/* Stores in `out` a row of `count` values: at each index the weighted mean of the values in rows row[0] to row[2 *
 * s->reach], multiplied by `times`. Each row, and `out`, needs memory for WIDE more values behind its end. */
static void sum_row(const struct soften *s, const uint16_t *const *row, int count, int times, uint16_t *out) {
  for (int at = 0; at < count; at += WIDE)
    sum_wide(s, row, at, times, out);
}

/* Copies a row of 8-bit codes, and repeats its first and last pixel in margins as wide as the blur's radius. */
static void extend_row(const struct soften *s, const uint8_t *code, uint16_t *wide) {
  for (int x = -s->reach; x < s->w + s->reach; x++)
    for (int c = 0; c < 3; c++)
      wide[3 * (x + s->reach) + c] = code[3 * (x < 0 ? 0 : x < s->w ? x : s->w - 1) + c];
}

static int clamp(int x, int high) {
  return x < 0 ? 0 : x > high ? high : x;
}

void KERNEL(cpu_soften)(const struct soften *s) {
  int count = 3 * s->w;
  const uint16_t *row[2 * SOFTEN_REACH + 1];
#pragma omp parallel private(row)
  {
    uint16_t *wide = s->wide + (size_t)thread_number() * s->wide_row;
#pragma omp for
    for (int y = 0; y < s->h; y++) {
      extend_row(s, s->code + (size_t)y * (size_t)count, wide);
      for (int k = 0; k <= 2 * s->reach; k++)
        row[k] = wide + 3 * k;
      sum_row(s, row, count, 16, s->along + (size_t)y * s->row);
    }
#pragma omp for
    for (int y = 0; y < s->h; y++) {
      for (int k = 0; k <= 2 * s->reach; k++)
        row[k] = s->along + (size_t)clamp(y + k - s->reach, s->h - 1) * s->row;
      sum_row(s, row, count, 1, s->soft + (size_t)y * s->row);
    }
  }
}
