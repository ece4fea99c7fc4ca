/* Counter-based noise: known answers of Philox, exact bits of the normals, and their statistics. */
#include "tests/rigs/cmocka_all.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/sample/noise.h"

enum { COUNT = 1 << 18 };

/* The known results for philox4x32 with 10 rounds, from the authors' library Random123. */
static void test_philox(void **state) {
  (void)state;
  static const struct {
    uint32_t counter[4], key[2], out[4];
  } known[] = {
      {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xa4093822, 0x299f31d0},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
    uint32_t out[4];
    noise_philox(known[i].counter, known[i].key, out);
    assert_memory_equal(out, known[i].out, sizeof out);
  }
}

static float *fill(uint64_t seed, uint32_t sample) {
  float *x = malloc(COUNT * sizeof *x);
  assert_non_null(x);
  noise_fill(seed, sample, 0, x, COUNT);
  return x;
}

/* Computes Box-Muller in double with the functions of the C library. */
static double exact(uint64_t seed, uint32_t sample, uint64_t element) {
  uint64_t block = element / 4;
  uint32_t words[4], pair = element % 4 / 2 * 2;
  noise_philox((const uint32_t[]){(uint32_t)block, (uint32_t)(block >> 32), sample, 0},
               (const uint32_t[]){(uint32_t)seed, (uint32_t)(seed >> 32)}, words);
  double radius = sqrt(-2 * log((words[pair] + 0.5) / 4294967296.0)),
         angle = 2 * M_PI * (words[pair + 1] / 4294967296.0);
  return radius * (element % 2 ? sin(angle) : cos(angle));
}

/* The program's own logarithm, sine and cosine are accurate to the last bits of FP32. */
static void test_transform(void **state) {
  (void)state;
  float *x = fill(7, 3);
  double worst = 0;
  for (uint64_t i = 0; i < COUNT; i++) {
    double wanted = exact(7, 3, i), error = fabs(x[i] - wanted) / fmax(fabs(wanted), 1e-4);
    worst = fmax(worst, error);
  }
  free(x);
  print_message("largest relative error %.2g\n", worst);
  assert_true(worst < 6.0e-8); /* half a unit in the last place is 5.96e-8 */
}

/* An FNV-1a hash of the bits: they must be the same on every machine, because a seed's pictures depend on them. */
static void test_same_bits(void **state) {
  (void)state;
  float *x = fill(1, 0);
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < COUNT; i++) {
    uint32_t bits;
    memcpy(&bits, &x[i], 4);
    for (int b = 0; b < 4; b++)
      hash = (hash ^ (bits >> 8 * b & 255)) * 0x100000001b3;
  }
  free(x);
  if (hash != UINT64_C(0xdd5bc7cec823b04b))
    fail_msg("hash is %016llx", (unsigned long long)hash);
}

/* Generating from any index on gives the same values as generating all. */
static void test_counter(void **state) {
  (void)state;
  float whole[64], part[13];
  noise_fill(5, 2, 1000, whole, 64);
  for (int first = 0; first < 50; first++) {
    noise_fill(5, 2, 1000 + (uint64_t)first, part, 13);
    assert_memory_equal(part, whole + first, sizeof part);
  }
  noise_fill(5, 2, UINT64_C(1) << 40, part, 13); /* elements at very high indices differ from those at low ones */
  noise_fill(5, 2, 0, whole, 13);
  assert_memory_not_equal(part, whole, sizeof part);
}

/* Checks the moments of n normals. Their standard deviations are 1, sqrt 2, sqrt 6 and sqrt 24 (mean, variance,
 * skewness, kurtosis) divided by sqrt n. The bound is six of them, which chance does not exceed. */
static void check_moments(const float *x, size_t n) {
  double sums[5] = {0}, root = sqrt((double)n);
  for (size_t i = 0; i < n; i++)
    for (int p = 1; p < 5; p++)
      sums[p] += pow(x[i], p);
  double mean = sums[1] / (double)n, variance = sums[2] / (double)n, skew = sums[3] / (double)n,
         kurtosis = sums[4] / (double)n;
  assert_true(fabs(mean) < 6 / root);
  assert_true(fabs(variance - 1) < 6 * sqrt(2) / root);
  assert_true(fabs(skew) < 6 * sqrt(15) / root); /* moments about zero instead of the mean: variances 15 and 96 */
  assert_true(fabs(kurtosis - 3) < 6 * sqrt(96) / root);
}

static double correlation(const float *x, const float *y, size_t n) {
  double sum = 0;
  for (size_t i = 0; i < n; i++)
    sum += (double)x[i] * y[i];
  return sum / (double)n;
}

static void test_moments(void **state) {
  (void)state;
  for (uint64_t seed = 0; seed < 3; seed++) {
    float *x = fill(seed << 31, (uint32_t)seed);
    check_moments(x, COUNT);
    for (size_t lag = 1; lag < 9; lag++) /* correlation of neighbours, and within the four values of one block */
      assert_true(fabs(correlation(x, x + lag, COUNT - lag)) < 6 / sqrt(COUNT));
    free(x);
  }
}

/* Seeds and noise samples that differ in one bit give unrelated noise. */
static void test_independence(void **state) {
  (void)state;
  float *base = fill(1, 0);
  static const struct {
    uint64_t seed;
    uint32_t sample;
  } others[] = {{0, 0}, {2, 0}, {3, 0}, {UINT64_C(1) << 32 | 1, 0}, {1, 1}, {1, 2}, {1, 1U << 31}, {0, 1}};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    float *x = fill(others[i].seed, others[i].sample);
    assert_true(fabs(correlation(base, x, COUNT)) < 6 / sqrt(COUNT));
    free(x);
  }
  free(base);
}

/* Chi-squared over 64 cells of equal probability: 63 degrees of freedom, so beyond 130 once in a million. */
static void test_distribution(void **state) {
  (void)state;
  enum { CELLS = 64 };
  int counts[CELLS] = {0};
  float *x = fill(11, 4);
  for (size_t i = 0; i < COUNT; i++) {
    int cell = (int)(CELLS * 0.5 * erfc(-x[i] / M_SQRT2));
    counts[cell < CELLS ? cell : CELLS - 1]++;
  }
  free(x);
  double expected = (double)COUNT / CELLS, chi = 0;
  for (int i = 0; i < CELLS; i++)
    chi += (counts[i] - expected) * (counts[i] - expected) / expected;
  print_message("chi-squared %.1f\n", chi);
  assert_true(chi < 130 && chi > 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_philox),       cmocka_unit_test(test_transform), cmocka_unit_test(test_same_bits),
      cmocka_unit_test(test_counter),      cmocka_unit_test(test_moments),   cmocka_unit_test(test_independence),
      cmocka_unit_test(test_distribution),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
