/* Tests the kernels of cpu_tiles.h against the definitions, with plain loops in place of the matrix units, and on a
 * processor that has them with the units, too. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "unet/cpu/cpu_dnnl.h"
#include "unet/cpu/cpu_threads.h"
#include "unet/cpu/cpu_tiles.h"
#include "unet/plan/weights.h"

static const struct {
  int n, h, w, c, c_out;
  bool upsample, residual, biased;
  enum activation act;
  enum dtype out;
} cases[] = {
    {1, 5, 32, 32, 32, false, false, true, ACT_RELU, DTYPE_BF16},
    {2, 7, 33, 64, 48, false, true, true, ACT_RELU, DTYPE_BF16},
    {1, 4, 70, 32, 3, false, false, true, ACT_NONE, DTYPE_F32},
    {1, 3, 64, 96, 16, false, true, true, ACT_SILU, DTYPE_F32},
    {2, 5, 17, 32, 64, true, false, false, ACT_NONE, DTYPE_BF16},
    {1, 1, 95, 32, 33, true, true, true, ACT_TANH3, DTYPE_BF16},
    {1, 40, 40, 32, 32, false, true, false, ACT_NONE, DTYPE_BF16},
};

static float value(uint32_t *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return bf16_to_f32(f32_to_bf16((float)(*seed >> 8) / (1 << 23) - 1));
}

static double activate(enum activation act, double v) {
  return act == ACT_RELU ? fmax(v, 0) : act == ACT_SILU ? v / (1 + exp(-v)) : act == ACT_TANH3 ? 3 * tanh(v / 3) : v;
}

static void test_case(const struct cpu_tiles *tiles, size_t number) {
  int n = cases[number].n, h = cases[number].h, w = cases[number].w, c = cases[number].c, out = cases[number].c_out;
  int up = cases[number].upsample, H = h << up, W = w << up;
  size_t pixels = (size_t)n * (size_t)H * (size_t)W, elements = pixels * (size_t)out;
  uint32_t seed = (uint32_t)number;
  uint16_t *x = calloc((size_t)(n * h * w * c), sizeof *x), *residual = calloc(elements, sizeof *residual);
  float *weight = calloc((size_t)(out * 9 * c), sizeof *weight), *bias = calloc((size_t)out, sizeof *bias);
  void *y = calloc(elements + 1, sizeof(float));
  uint16_t *packed = aligned_alloc(64, (tiles->packed(out, c) * sizeof *packed + 63) / 64 * 64);
  char *scratch = aligned_alloc(64, THREADS_MOST * tiles->scratch(W, c));
  for (int i = 0; i < n * h * w * c; i++)
    x[i] = f32_to_bf16(value(&seed));
  for (size_t i = 0; i < elements; i++)
    residual[i] = f32_to_bf16(value(&seed));
  for (int i = 0; i < out * 9 * c; i++)
    weight[i] = value(&seed) / 8;
  for (int i = 0; i < out; i++)
    bias[i] = value(&seed);
  memset(scratch, 0xff, THREADS_MOST * tiles->scratch(W, c));
  tiles->pack(weight, out, c, packed);
  ((char *)y)[elements * dtype_size(cases[number].out)] = 77;
  tiles->conv(&(struct conv3x3){.x = x,
                                .x_dtype = DTYPE_BF16,
                                .n = n,
                                .h = h,
                                .w = w,
                                .c = c,
                                .upsample = up,
                                .weight = packed,
                                .bias = cases[number].biased ? bias : NULL,
                                .residual = cases[number].residual ? residual : NULL,
                                .residual_dtype = DTYPE_BF16,
                                .act = cases[number].act,
                                .y = y,
                                .y_dtype = cases[number].out,
                                .c_out = out,
                                .scratch = scratch});
  assert_int_equal(((char *)y)[elements * dtype_size(cases[number].out)], 77);
  for (size_t i = 0; i < elements; i++) {
    int o = (int)(i % (size_t)out), px = (int)(i / (size_t)out % (size_t)W), py = (int)(i / (size_t)(out * W)) % H;
    int image = (int)(i / (size_t)(out * W * H));
    double sum = cases[number].biased ? (double)bias[o] : 0;
    for (int tap = 0; tap < 9; tap++) {
      int iy = py + tap / 3 - 1, ix = px + tap % 3 - 1;
      for (int k = 0; iy >= 0 && iy < H && ix >= 0 && ix < W && k < c; k++)
        sum += (double)bf16_to_f32(x[((image * h + (iy >> up)) * w + (ix >> up)) * c + k]) *
               (double)weight[(o * 9 + tap) * c + k];
    }
    sum = activate(cases[number].act, sum + (cases[number].residual ? (double)bf16_to_f32(residual[i]) : 0));
    double got = cases[number].out == DTYPE_F32 ? (double)((float *)y)[i] : (double)bf16_to_f32(((uint16_t *)y)[i]);
    double most = cases[number].out == DTYPE_F32 ? 1e-5 : 1e-5 + fabs(sum) / 256;
    if (!(fabs(got - sum) <= most))
      fail_msg("case %zu, element %zu: %.7g instead of %.7g", number, i, got, sum);
  }
  free(x);
  free(residual);
  free(weight);
  free(bias);
  free(y);
  free(packed);
  free(scratch);
}

/* --- attention --- */

static const struct {
  int n, k_n, heads, dim, queries, keys, keys2;
  float spread; /* factor of the queries: the larger, the further scores lie apart */
  enum dtype dtype;
} attentions[] = {
    {1, 1, 2, 64, 40, 77, 0, 1, DTYPE_BF16},  {2, 2, 3, 40, 33, 300, 0, 8, DTYPE_F32},
    {2, 1, 1, 160, 5, 128, 0, 1, DTYPE_BF16}, {1, 1, 2, 32, 64, 129, 70, 200, DTYPE_BF16},
    {1, 1, 1, 64, 1, 1, 0, 1, DTYPE_F32},
};

/* An array of values that bfloat16 holds exactly. */
static void *values_of(size_t count, float factor, enum dtype dtype, uint32_t *seed) {
  void *values = calloc(count, dtype_size(dtype));
  for (size_t i = 0; i < count; i++) {
    uint16_t half = f32_to_bf16(factor * value(seed));
    if (dtype == DTYPE_BF16)
      ((uint16_t *)values)[i] = half;
    else
      ((float *)values)[i] = bf16_to_f32(half);
  }
  return values;
}

static double at(const void *values, enum dtype dtype, size_t i) {
  return (double)(dtype == DTYPE_BF16 ? bf16_to_f32(((const uint16_t *)values)[i]) : ((const float *)values)[i]);
}

static void check_query(const struct attend *a, size_t number, int n, int head, int query) {
  int keys = a->keys + a->keys2, of = a->k_n == 1 ? 0 : n, c = a->heads * a->dim;
  double *score = calloc((size_t)keys, sizeof *score), top = -INFINITY, sum = 0;
  for (int pass = 0; pass < 2; pass++)
    for (int key = 0; key < keys; key++) {
      const void *k = key < a->keys ? a->k : a->k2;
      size_t row = key < a->keys ? (size_t)(of * a->keys + key) : (size_t)(of * a->keys2 + key - a->keys);
      double dot = 0;
      for (int d = 0; d < a->dim; d++)
        dot += at(a->q, a->q_dtype, (size_t)((n * a->queries + query) * c + head * a->dim + d)) *
               at(k, a->k_dtype, row * (size_t)c + (size_t)(head * a->dim + d));
      dot *= (double)a->scale;
      if (!pass)
        top = fmax(top, dot);
      else
        sum += score[key] = exp(dot - top);
    }
  for (int d = 0; d < a->dim; d++) {
    double expected = 0;
    for (int key = 0; key < keys; key++) {
      const void *v = key < a->keys ? a->v : a->v2;
      size_t row = key < a->keys ? (size_t)(of * a->keys + key) : (size_t)(of * a->keys2 + key - a->keys);
      expected += score[key] / sum * at(v, a->v_dtype, row * (size_t)c + (size_t)(head * a->dim + d));
    }
    double got = at(a->y, a->y_dtype, (size_t)((n * a->queries + query) * c + head * a->dim + d));
    if (!(fabs(got - expected) <= 4e-3))
      fail_msg("attention %zu, query %d, dimension %d: %.7g instead of %.7g", number, query, d, got, expected);
  }
  free(score);
}

static void test_attention(const struct cpu_tiles *tiles, size_t number) {
  enum dtype dtype = attentions[number].dtype;
  int n = attentions[number].n, k_n = attentions[number].k_n, heads = attentions[number].heads;
  int dim = attentions[number].dim, queries = attentions[number].queries, c = heads * dim;
  int keys = attentions[number].keys, keys2 = attentions[number].keys2;
  uint32_t seed = (uint32_t)number;
  size_t one = tiles->attend_packed(keys + keys2, dim), tile = tiles->attend_tile(dim);
  struct attend a = {.q = values_of((size_t)(n * queries * c), attentions[number].spread, dtype, &seed),
                     .k = values_of((size_t)(k_n * keys * c), 1, dtype, &seed),
                     .v = values_of((size_t)(k_n * keys * c), 1, dtype, &seed),
                     .k2 = values_of((size_t)(k_n * keys2 * c) + 1, 1, dtype, &seed),
                     .v2 = values_of((size_t)(k_n * keys2 * c) + 1, 1, dtype, &seed),
                     .y = calloc((size_t)(n * queries * c), dtype_size(dtype)),
                     .q_dtype = dtype,
                     .k_dtype = dtype,
                     .v_dtype = dtype,
                     .y_dtype = dtype,
                     .k2_dtype = dtype,
                     .v2_dtype = dtype,
                     .q_pitch = c,
                     .k_pitch = c,
                     .v_pitch = c,
                     .y_pitch = c,
                     .k2_pitch = c,
                     .v2_pitch = c,
                     .n = n,
                     .k_n = k_n,
                     .heads = heads,
                     .dim = dim,
                     .queries = queries,
                     .keys = keys,
                     .keys2 = keys2,
                     .n2 = (size_t)(keys2 * c),
                     .scale = 1 / sqrtf((float)dim),
                     .packed = aligned_alloc(64, (size_t)(k_n * heads) * one * 4),
                     .tiles = aligned_alloc(64, THREADS_MOST * tile * 4)};
  memset(a.packed, 0xff, (size_t)(k_n * heads) * one * 4);
  memset(a.tiles, 0xff, THREADS_MOST * tile * 4);
  tiles->attend(&a);
  for (int i = 0; i < n; i++)
    for (int head = 0; head < heads; head++)
      for (int query = 0; query < queries; query++)
        check_query(&a, number, i, head, query);
  free((void *)a.q);
  free((void *)a.k);
  free((void *)a.v);
  free((void *)a.k2);
  free((void *)a.v2);
  free(a.y);
  free(a.packed);
  free(a.tiles);
}

static void test_all(const struct cpu_tiles *tiles) {
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    test_case(tiles, i);
  for (size_t i = 0; i < sizeof attentions / sizeof *attentions; i++)
    test_attention(tiles, i);
}

static void test_plain(void **state) {
  (void)state;
  test_all(&cpu_tiles_plain);
}

static void test_units(void **state) {
  (void)state;
#if HAVE_AMX
  if (cpu_dnnl_has_amx()) {
    test_all(&cpu_tiles_amx);
    return;
  }
#endif
  skip();
}

int main(void) {
  threads_set(threads_choose(0)); /* scratch memory is for THREADS_MOST threads */
  const struct CMUnitTest tests[] = {cmocka_unit_test(test_plain), cmocka_unit_test(test_units)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
