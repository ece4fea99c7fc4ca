/* Computes standard normal noise: two random 32-bit words make two normals by the Box-Muller transform. Logarithm, sine
 * and cosine are written out here, because those of two C libraries may differ in the last bit. They use only
 * operations for which IEEE 754 prescribes every bit; the build forbids fused multiply-adds in this file. Their error
 * is below 1e-14, so practically only the rounding to FP32 distinguishes the result from the exact transform. */
#include "unet/sample/noise.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

static void philox_round(uint32_t c[4], const uint32_t k[2]) {
  uint64_t p0 = (uint64_t)0xD2511F53 * c[0], p1 = (uint64_t)0xCD9E8D57 * c[2];
  uint32_t c1 = c[1], c3 = c[3];
  c[0] = (uint32_t)(p1 >> 32) ^ c1 ^ k[0];
  c[1] = (uint32_t)p1;
  c[2] = (uint32_t)(p0 >> 32) ^ c3 ^ k[1];
  c[3] = (uint32_t)p0;
}

void noise_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]) {
  uint32_t k[2] = {key[0], key[1]};
  memcpy(out, counter, 4 * sizeof *out);
  for (int round = 0; round < 10; round++) {
    philox_round(out, k);
    k[0] += 0x9E3779B9; /* Philox's increments of the key: the golden ratio and sqrt(3) - 1, as fractions of 2^32 */
    k[1] += 0xBB67AE85;
  }
}

/* Pairs of normals are computed PAIRS at a time: each is a chain of dependent divisions, and the processor can overlap
 * chains that do not depend on each other. */
enum { PAIRS = 8, PER_BLOCK = 2, BLOCKS = PAIRS / PER_BLOCK };

/* Computes ln x for x in (0, 1]: x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)) by its
 * series. */
static void natural_logs(const double x[PAIRS], double out[PAIRS]) {
  double s[PAIRS], z[PAIRS], sum[PAIRS] = {0}, exponent[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    int e;
    double m = frexp(x[i], &e);
    bool low = m < 0x1.6a09e667f3bcdp-1;
    m = low ? 2 * m : m;
    exponent[i] = e - low;
    s[i] = (m - 1) / (m + 1);
    z[i] = s[i] * s[i];
  }
  for (int k = 21; k >= 1; k -= 2) /* for |s| < 0.172 the first term of the series that is left out is below 1e-18 */
    for (int i = 0; i < PAIRS; i++)
      sum[i] = sum[i] * z[i] + 1.0 / k;
  for (int i = 0; i < PAIRS; i++)
    out[i] = exponent[i] * 0x1.62e42fefa39efp-1 + 2 * s[i] * sum[i];
}

/* Computes cos and sin of 2 pi word / 2^32. The top two bits are the quadrant, and the rest is the angle within it,
 * measured from the quadrant's middle: x in [-pi/4, pi/4), where both series are short. */
static void turns(const uint32_t word[PAIRS], double cosine[PAIRS], double sine[PAIRS]) {
  double x[PAIRS], z[PAIRS], c[PAIRS], s[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    x[i] = ((double)(word[i] & 0x3fffffff) * 0x1p-32 - 0.125) * 0x1.921fb54442d18p2;
    z[i] = x[i] * x[i];
    c[i] = s[i] = 1;
  }
  for (int k = 18; k >= 2; k -= 2)
    for (int i = 0; i < PAIRS; i++) {
      c[i] = 1 - c[i] * z[i] / (k * (k - 1));
      s[i] = 1 - s[i] * z[i] / (k * (k + 1));
    }
  for (int i = 0; i < PAIRS; i++) {
    double half = 0x1.6a09e667f3bcdp-1; /* sqrt(1/2): the sine and cosine of 45 degrees, the middle of a quadrant */
    s[i] *= x[i];
    double u = half * (c[i] - s[i]), v = half * (c[i] + s[i]);
    unsigned quadrant = word[i] >> 30;
    cosine[i] = quadrant == 0 ? u : quadrant == 1 ? -v : quadrant == 2 ? -u : v;
    sine[i] = quadrant == 0 ? v : quadrant == 1 ? u : quadrant == 2 ? -v : -u;
  }
}

/* Computes BLOCKS blocks of noise, of 4 elements each: elements 4 * block to 4 * (block + BLOCKS) - 1. */
static void make_blocks(uint64_t seed, uint32_t sample, uint64_t block, float out[2 * PAIRS]) {
  double x[PAIRS], logs[PAIRS], cosine[PAIRS], sine[PAIRS];
  uint32_t turn[PAIRS];
  for (int b = 0; b < BLOCKS; b++) {
    uint64_t at = block + (uint64_t)b;
    uint32_t counter[4] = {(uint32_t)at, (uint32_t)(at >> 32), sample, 0}, words[4];
    noise_philox(counter, (const uint32_t[2]){(uint32_t)seed, (uint32_t)(seed >> 32)}, words);
    for (int i = 0; i < PER_BLOCK; i++) {
      x[PER_BLOCK * b + i] = (words[2 * i] + 0.5) * 0x1p-32;
      turn[PER_BLOCK * b + i] = words[2 * i + 1];
    }
  }
  natural_logs(x, logs);
  turns(turn, cosine, sine);
  for (int i = 0; i < PAIRS; i++) {
    double radius = sqrt(-2 * logs[i]);
    out[2 * i] = (float)(radius * cosine[i]);
    out[2 * i + 1] = (float)(radius * sine[i]);
  }
}

void noise_fill(uint64_t seed, uint32_t sample, uint64_t first, float *out, size_t count) {
  enum { AT_ONCE = 2 * PAIRS };
  float made[AT_ONCE];
  for (size_t i = 0; i < count; i++) {
    uint64_t element = first + i, at = element % AT_ONCE;
    if (!i || at == 0)
      make_blocks(seed, sample, (element - at) / 4, made);
    out[i] = made[at];
  }
}
