/* Two 32-bit words make two normals by the Box-Muller transform. Its logarithm, sine and cosine are written out here
 * with operations that IEEE 754 rounds exactly one way, because two C libraries need not agree on the last bit of
 * theirs; the build forbids contraction to fused multiply-adds for this file. Their error is below 1e-14, so the
 * rounding to FP32 is all that distinguishes the result from the exact transform. */
#include "unet/sample/noise.h"

#include <math.h>
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
    k[0] += 0x9E3779B9; /* Weyl sequences of the golden ratio and of sqrt(3) - 1 */
    k[1] += 0xBB67AE85;
  }
}

/* ln x for x in (0, 1]: x = m 2^e with m in [sqrt(1/2), sqrt(2)); ln m = 2 artanh((m - 1) / (m + 1)) by its series. */
static double natural_log(double x) {
  int e;
  double m = frexp(x, &e);
  if (m < 0x1.6a09e667f3bcdp-1) {
    m *= 2;
    e--;
  }
  double s = (m - 1) / (m + 1), z = s * s, sum = 0;
  for (int k = 21; k >= 1; k -= 2) /* |s| < 0.172: the first term left out is below 1e-18 */
    sum = sum * z + 1.0 / k;
  return e * 0x1.62e42fefa39efp-1 + 2 * s * sum;
}

/* cos and sin of 2 pi word / 2^32: the top two bits are the quadrant, the rest the angle in it, taken from the
 * quadrant's middle: x in [-pi/4, pi/4), where both series are short. */
static void turn(uint32_t word, double *cosine, double *sine) {
  double x = ((double)(word & 0x3fffffff) * 0x1p-32 - 0.125) * 0x1.921fb54442d18p2, z = x * x;
  double c = 1, s = 1;
  for (int k = 18; k >= 2; k -= 2) {
    c = 1 - c * z / (k * (k - 1));
    s = 1 - s * z / (k * (k + 1));
  }
  s *= x;
  double half = 0x1.6a09e667f3bcdp-1; /* sqrt(1/2): the middle is at 45 degrees */
  double u = half * (c - s), v = half * (c + s);
  unsigned quadrant = word >> 30;
  *cosine = quadrant == 0 ? u : quadrant == 1 ? -v : quadrant == 2 ? -u : v;
  *sine = quadrant == 0 ? v : quadrant == 1 ? u : quadrant == 2 ? -v : -u;
}

/* Elements 4 block .. 4 block + 3. */
static void make_block(uint64_t seed, uint32_t sample, uint64_t block, float out[4]) {
  uint32_t counter[4] = {(uint32_t)block, (uint32_t)(block >> 32), sample, 0}, words[4];
  noise_philox(counter, (const uint32_t[2]){(uint32_t)seed, (uint32_t)(seed >> 32)}, words);
  for (int pair = 0; pair < 4; pair += 2) {
    double cosine, sine, radius = sqrt(-2 * natural_log((words[pair] + 0.5) * 0x1p-32));
    turn(words[pair + 1], &cosine, &sine);
    out[pair] = (float)(radius * cosine);
    out[pair + 1] = (float)(radius * sine);
  }
}

void noise_fill(uint64_t seed, uint32_t sample, uint64_t first, float *out, size_t count) {
  float block[4];
  for (size_t i = 0; i < count; i++) {
    uint64_t element = first + i;
    if (!i || element % 4 == 0)
      make_block(seed, sample, element / 4, block);
    out[i] = block[element % 4];
  }
}
