/* Attention in bfloat16 by matrix units (cpu_tiles.h), in blocks of keys with a running softmax, as in
 * cpu_attention.c. Scores and sums are FP32, softmax weights bfloat16. */
#include "unet/cpu/cpu_tile_ops.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

enum {
  QUERIES = 2 * TILE_ROWS, /* number of queries that a thread computes at a time */
  BLOCK = 128,             /* number of keys in a block */
  STEP = TILE_HALVES,      /* keys and dimensions are padded to multiples of it */
  ELEMENTS = TILE_ROWS * TILE_HALVES,
};

static int padded(int count) {
  return (count + STEP - 1) / STEP * STEP;
}

/* --- packing. For each head: keys as [keys / 16][dim / 32] tiles [dims / 2][keys][2], then values as [keys / 32][dim /
 * 16] tiles [keys / 2][dims][2] --- */

size_t TILES(attend_packed)(int keys, int dim) {
  return (size_t)padded(keys) * (size_t)padded(dim);
}

static int all_keys(const struct attend *a) {
  return a->keys + a->keys2;
}

static uint16_t *packed_keys(const struct attend *a, int n, int head) {
  return (uint16_t *)(a->packed + (size_t)(n * a->heads + head) * TILES(attend_packed)(all_keys(a), a->dim));
}

static uint16_t *packed_values(const struct attend *a, int n, int head) {
  return packed_keys(a, n, head) + TILES(attend_packed)(all_keys(a), a->dim);
}

/* Copies `dim` elements, from index `at` on, as bfloat16, and pads them with zeros to STEP. */
static void copy_row(const void *from, enum dtype dtype, size_t at, int dim, uint16_t *row) {
  memset(row + padded(dim) - STEP, 0, STEP * sizeof *row);
  for (int d = 0; d < dim; d += LANES) {
    int count = dim - d < LANES ? dim - d : LANES;
    vec_put(row, DTYPE_BF16, (size_t)d, count, vec_get(from, dtype, at + (size_t)d, count));
  }
}

/* Copies the key and the value of one token, for one head; zeros beyond the last token. Tokens of earlier frames (k2,
 * v2) follow those of k and v. */
static void copy_token(const struct attend *a, int n, int head, int key, uint16_t *k, uint16_t *v) {
  size_t first = (size_t)head * (size_t)a->dim;
  if (key >= all_keys(a)) {
    memset(k, 0, (size_t)padded(a->dim) * sizeof *k);
    memset(v, 0, (size_t)padded(a->dim) * sizeof *v);
  } else if (key < a->keys) {
    size_t row = (size_t)n * (size_t)a->keys + (size_t)key;
    copy_row(a->k, a->k_dtype, row * (size_t)a->k_pitch + first, a->dim, k);
    copy_row(a->v, a->v_dtype, row * (size_t)a->v_pitch + first, a->dim, v);
  } else {
    size_t row = (size_t)(key - a->keys), of_n = (size_t)n * a->n2 + first;
    copy_row(a->k2, a->k2_dtype, of_n + row * (size_t)a->k2_pitch, a->dim, k);
    copy_row(a->v2, a->v2_dtype, of_n + row * (size_t)a->v2_pitch, a->dim, v);
  }
}

/* Packs tokens `key` and `key` + 1, where `key` is even. rows: memory for four rows of padded(dim) numbers. */
static void pack_tokens(const struct attend *a, int n, int head, int key, uint16_t *rows) {
  size_t dims = (size_t)padded(a->dim);
  for (int i = 0; i < 2; i++) {
    const uint16_t *row = rows + (size_t)i * dims;
    size_t number = (size_t)(key + i);
    uint16_t *to = packed_keys(a, n, head) + number / TILE_FLOATS * TILE_FLOATS * dims + number % TILE_FLOATS * 2;
    copy_token(a, n, head, key + i, rows + (size_t)i * dims, rows + (size_t)(2 + i) * dims);
    for (size_t d = 0; d < dims; d += 2)
      memcpy(to + d / 2 * 2 * TILE_FLOATS, row + d, 2 * sizeof *to);
  }
  const uint16_t *even = rows + 2 * dims, *odd = rows + 3 * dims;
  uint16_t *to = packed_values(a, n, head) + (size_t)(key / STEP * STEP) * dims + (size_t)(key % STEP / 2 * STEP);
  for (size_t d = 0; d < dims; d += TILE_FLOATS, to += ELEMENTS)
    for (size_t i = 0; i < TILE_FLOATS; i++) {
      to[2 * i] = even[d + i];
      to[2 * i + 1] = odd[d + i];
    }
}

/* --- one thread's memory, for QUERIES queries of one head --- */

struct rows {
  float *scores, *out;   /* scores: [QUERIES][BLOCK]; out: sums of weighted values, [QUERIES][padded(dim)] */
  uint16_t *weights, *q; /* weights: [QUERIES][BLOCK]; q: queries, [QUERIES][padded(dim)] */
  float *max, *sum;      /* of each query: the highest score so far, and the sum of its weights */
};

size_t TILES(attend_tile)(int dim) {
  return (size_t)QUERIES * (BLOCK + BLOCK / 2 + 2) + (size_t)(QUERIES * padded(dim) * 3 / 2);
}

static struct rows rows_of(const struct attend *a) {
  struct rows r = {.scores = a->tiles + (size_t)thread_number() * TILES(attend_tile)(a->dim)};
  r.out = r.scores + QUERIES * BLOCK;
  r.max = r.out + QUERIES * padded(a->dim);
  r.sum = r.max + QUERIES;
  r.weights = (uint16_t *)(r.sum + QUERIES);
  r.q = r.weights + QUERIES * BLOCK;
  return r;
}

/* --- the two matrix products: scores, and sums of weighted values --- */

/* Computes the scores of all queries with `count` packed keys; count is a multiple of STEP. */
static void multiply_keys(const struct rows *r, const uint16_t *keys, int count, size_t dims) {
  size_t pitch = dims * sizeof(uint16_t), out = BLOCK * sizeof(float);
  for (int key = 0; key < count; key += STEP, keys += STEP * dims) {
    TILE_ZERO(0);
    TILE_ZERO(1);
    TILE_ZERO(2);
    TILE_ZERO(3);
    for (size_t d = 0; d < dims; d += STEP) {
      const uint16_t *tile = keys + d * TILE_FLOATS;
      TILE_LOAD(6, tile, 64);
      TILE_LOAD(4, r->q + d, pitch);
      TILE_PRODUCT(0, 4, 6);
      TILE_LOAD(7, tile + TILE_FLOATS * dims, 64);
      TILE_PRODUCT(1, 4, 7);
      TILE_LOAD(5, r->q + TILE_ROWS * dims + d, pitch);
      TILE_PRODUCT(2, 5, 6);
      TILE_PRODUCT(3, 5, 7);
    }
    TILE_STORE(0, r->scores + key, out);
    TILE_STORE(1, r->scores + key + TILE_FLOATS, out);
    TILE_STORE(2, r->scores + TILE_ROWS * BLOCK + key, out);
    TILE_STORE(3, r->scores + TILE_ROWS * BLOCK + key + TILE_FLOATS, out);
  }
}

/* Adds `count` packed values, weighted, to the sums of all queries. */
static void multiply_values(const struct rows *r, const uint16_t *values, int count, size_t dims) {
  size_t pitch = BLOCK * sizeof(uint16_t), out = dims * sizeof(float);
  for (size_t d = 0; d < dims; d += STEP) {
    float *sums = r->out + d, *below = sums + TILE_ROWS * dims;
    TILE_LOAD(0, sums, out);
    TILE_LOAD(1, sums + TILE_FLOATS, out);
    TILE_LOAD(2, below, out);
    TILE_LOAD(3, below + TILE_FLOATS, out);
    for (int key = 0; key < count; key += STEP) {
      const uint16_t *tile = values + (size_t)key * dims + d / TILE_FLOATS * ELEMENTS;
      TILE_LOAD(6, tile, 64);
      TILE_LOAD(4, r->weights + key, pitch);
      TILE_PRODUCT(0, 4, 6);
      TILE_LOAD(7, tile + ELEMENTS, 64);
      TILE_PRODUCT(1, 4, 7);
      TILE_LOAD(5, r->weights + TILE_ROWS * BLOCK + key, pitch);
      TILE_PRODUCT(2, 5, 6);
      TILE_PRODUCT(3, 5, 7);
    }
    TILE_STORE(0, sums, out);
    TILE_STORE(1, sums + TILE_FLOATS, out);
    TILE_STORE(2, below, out);
    TILE_STORE(3, below + TILE_FLOATS, out);
  }
}

/* --- the softmax --- */

/* Computes 2^x for x <= 0, with a relative error of 1e-4, a tenth of bfloat16's; at 0 it is 1. Below -126 it is
 * 2^-126. */
INLINE vec exp2_about(vec x) {
  x = vec_max(x, vec_set(-126.0f));
#if defined(__AVX512F__)
  vec share = (vec)_mm512_reduce_ps((__m512)x, 9); /* x - floor(x) */
#else
  vec share = x;
  for (int i = 0; i < LANES; i++)
    share[i] -= floorf(x[i]);
#endif
  vec power = 1.0f + share * (0.69542434f + share * (0.22630771f + share * 0.07826795f));
#if defined(__AVX512F__)
  return (vec)_mm512_scalef_ps((__m512)power, (__m512)x);
#else
  for (int i = 0; i < LANES; i++)
    power[i] = ldexpf(power[i], (int)floorf(x[i]));
  return power;
#endif
}

/* Turns `count` scores of a query into weights relative to the highest score so far, those from `valid` on into almost
 * nothing. If the highest score has grown, the sums over earlier blocks of keys are scaled down to it. factor: a score
 * times the factor is an exponent of 2. */
static void soften(const struct rows *r, int query, int valid, int count, float factor, size_t dims) {
  float *scores = r->scores + query * BLOCK, *out = r->out + (size_t)query * dims;
  uint16_t *weights = r->weights + query * BLOCK;
  for (int c = valid; c < count; c++)
    scores[c] = -INFINITY;
  vec highest = vec_set(r->max[query]), total = {0};
  for (int c = 0; c < count; c += LANES)
    highest = vec_max(highest, vec_load(scores + c));
  float top = vec_highest(highest), keep = exp2f((r->max[query] - top) * factor);
  for (int c = 0; c < count; c += LANES) {
    vec weight = exp2_about(vec_load(scores + c) * factor - top * factor);
    total += weight;
    vec_put(weights, DTYPE_BF16, (size_t)c, LANES, weight);
  }
  if (keep != 1)
    for (size_t d = 0; d < dims; d += LANES)
      vec_store(out + d, keep * vec_load(out + d));
  r->sum[query] = r->sum[query] * keep + vec_sum(total);
  r->max[query] = top;
}

/* --- the queries `first` to `first` + count - 1 of one head --- */

static void attend_queries(const struct attend *a, const struct rows *r, int n, int head, int first, int count) {
  size_t dims = (size_t)padded(a->dim), heads = (size_t)head * (size_t)a->dim;
  size_t row = (size_t)n * (size_t)a->queries + (size_t)first;
  int of = a->k_n == 1 ? 0 : n, keys = all_keys(a);
  for (int q = 0; q < QUERIES; q++) {
    if (q < count)
      copy_row(a->q, a->q_dtype, (row + (size_t)q) * (size_t)a->q_pitch + heads, a->dim, r->q + (size_t)q * dims);
    else
      memset(r->q + (size_t)q * dims, 0, dims * sizeof *r->q);
    r->max[q] = -INFINITY;
    r->sum[q] = 0;
  }
  memset(r->out, 0, QUERIES * dims * sizeof *r->out);
  for (int key = 0; key < keys; key += BLOCK) {
    int valid = keys - key < BLOCK ? keys - key : BLOCK;
    multiply_keys(r, packed_keys(a, of, head) + (size_t)key * dims, padded(valid), dims);
    for (int q = 0; q < QUERIES; q++)
      soften(r, q, valid, padded(valid), a->scale * (float)M_LOG2E, dims);
    multiply_values(r, packed_values(a, of, head) + (size_t)key * dims, padded(valid), dims);
  }
  for (int q = 0; q < count; q++) {
    size_t at = (row + (size_t)q) * (size_t)a->y_pitch + heads;
    for (int d = 0; d < a->dim; d += LANES)
      vec_put(a->y, a->y_dtype, at + (size_t)d, a->dim - d < LANES ? a->dim - d : LANES,
              vec_load(r->out + (size_t)q * dims + d) / r->sum[q]);
  }
}

void TILES(attend)(const struct attend *a) {
  int pairs = padded(all_keys(a)) / 2, blocks = (a->queries + QUERIES - 1) / QUERIES;
#pragma omp parallel
  {
    struct rows r = rows_of(a);
    tiles_begin();
#pragma omp for collapse(3)
    for (int n = 0; n < a->k_n; n++)
      for (int head = 0; head < a->heads; head++)
        for (int pair = 0; pair < pairs; pair++)
          pack_tokens(a, n, head, 2 * pair, (uint16_t *)r.scores);
#pragma omp for collapse(3) schedule(dynamic)
    for (int n = 0; n < a->n; n++)
      for (int head = 0; head < a->heads; head++)
        for (int block = 0; block < blocks; block++) {
          int first = block * QUERIES, left = a->queries - first;
          attend_queries(a, &r, n, head, first, left < QUERIES ? left : QUERIES);
        }
    tiles_end();
  }
}
