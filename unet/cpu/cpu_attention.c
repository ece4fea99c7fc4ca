/* Attention in blocks of keys with a running softmax, so that scores stay in the cache (as in FlashAttention: Dao et
 * al., 2022). Keys are transposed first. Then both matrix products (queries with keys, and probabilities with values)
 * read contiguous rows and multiply them by single values. */
#include "unet/cpu/cpu_kernels.h"
#include "unet/cpu/cpu_simd.h"
#include "unet/cpu/cpu_threads.h"

enum {
  ROWS = 6, /* number of queries computed at a time; their results, WIDE vectors for each, fill the registers */
  WIDE = LANES == 16 ? 4 : 2, /* number of vectors of results for each query that are in registers at a time */
  GROUPS = 4,  /* number of groups of ROWS queries that use a block of keys while the block is in the cache */
  BLOCK = 256, /* number of keys in a block */
};

/* A weight of e^LEAST or less, relative to the highest, becomes 0: a million of them are below FP32's precision, but
 * their products with values could be subnormal numbers, with which processors compute ten times as slowly. */
#define LEAST (-40.0f)

static int round_up(int x, int multiple) {
  return (x + multiple - 1) / multiple * multiple;
}

/* --- packing: for each head, keys are stored as [dim][keys], values as [keys][dim], with rows padded to whole vectors
 * --- */

size_t KERNEL(cpu_attend_packed)(int keys, int dim) {
  return (size_t)dim * (size_t)round_up(keys, LANES) + (size_t)keys * (size_t)round_up(dim, LANES);
}

static int all_keys(const struct attend *a) {
  return a->keys + a->keys2;
}

static const float *packed_keys(const struct attend *a, int n, int head) {
  return a->packed + (size_t)(n * a->heads + head) * KERNEL(cpu_attend_packed)(all_keys(a), a->dim);
}

static const float *packed_values(const struct attend *a, int n, int head) {
  return packed_keys(a, n, head) + (size_t)a->dim * (size_t)round_up(all_keys(a), LANES);
}

/* Where to find the key and the value of one token, for one head. */
struct token {
  const void *k, *v;
  enum dtype k_dtype, v_dtype;
  size_t k_at, v_at; /* k_at: index in `k` of the key's first element; v_at: index in `v` of the value's first
                      * element */
};

/* Returns where to find the key and value of token number `key`. The tokens of earlier frames (k2, v2) follow those of
 * k and v. */
static struct token token_of(const struct attend *a, int n, int head, int key) {
  size_t first = (size_t)head * (size_t)a->dim;
  if (key < a->keys) {
    size_t row = (size_t)n * (size_t)a->keys + (size_t)key;
    return (struct token){
        a->k, a->v, a->k_dtype, a->v_dtype, row * (size_t)a->k_pitch + first, row * (size_t)a->v_pitch + first};
  }
  size_t row = (size_t)(key - a->keys), of_n = (size_t)n * a->n2;
  return (struct token){a->k2,
                        a->v2,
                        a->k2_dtype,
                        a->v2_dtype,
                        of_n + row * (size_t)a->k2_pitch + first,
                        of_n + row * (size_t)a->v2_pitch + first};
}

static void pack_row(const struct attend *a, int n, int head, int key) {
  float *keys = (float *)packed_keys(a, n, head), *values = (float *)packed_values(a, n, head);
  const struct token token = token_of(a, n, head, key);
  size_t pitch = (size_t)round_up(all_keys(a), LANES);
  values += (size_t)key * (size_t)round_up(a->dim, LANES);
  for (int d = 0; d < a->dim; d += LANES) {
    int count = a->dim - d < LANES ? a->dim - d : LANES;
    vec column = vec_get(token.k, token.k_dtype, token.k_at + (size_t)d, count);
    vec_store(values + d, vec_get(token.v, token.v_dtype, token.v_at + (size_t)d, count));
    for (int i = 0; i < count; i++)
      keys[(size_t)(d + i) * pitch + (size_t)key] = column[i];
  }
  /* In the last vector, the lanes after the last key are set to 0, so that they contain no NaN. */
  if (key == all_keys(a) - 1)
    for (int d = 0; d < a->dim; d++)
      for (size_t i = (size_t)all_keys(a); i < pitch; i++)
        keys[(size_t)d * pitch + i] = 0;
}

/* --- the two matrix products of attention (scores; weighted sums of values), for ROWS queries at a time --- */

/* Adds to acc[r][j], for ROWS rows r and the columns j of `wide` vectors, the sum over i < count of a[r * a_pitch + i]
 * * b[i * b_pitch + j]. */
INLINE void multiply(const float *a, size_t a_pitch, const float *b, size_t b_pitch, int count, float *acc,
                     size_t acc_pitch, const int wide) {
  vec sum[ROWS][WIDE];
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
    for (int j = 0; j < wide; j++)
      sum[r][j] = vec_load(acc + (size_t)r * acc_pitch + (size_t)(j * LANES));
  for (int i = 0; i < count; i++) {
    vec row[WIDE];
#pragma GCC unroll 8
    for (int j = 0; j < wide; j++)
      row[j] = vec_load(b + (size_t)i * b_pitch + (size_t)(j * LANES));
#pragma GCC unroll 8
    for (int r = 0; r < ROWS; r++) {
      float factor = a[(size_t)r * a_pitch + (size_t)i];
#pragma GCC unroll 8
      for (int j = 0; j < wide; j++)
        sum[r][j] += factor * row[j];
    }
  }
#pragma GCC unroll 8
  for (int r = 0; r < ROWS; r++)
#pragma GCC unroll 8
    for (int j = 0; j < wide; j++)
      vec_store(acc + (size_t)r * acc_pitch + (size_t)(j * LANES), sum[r][j]);
}

/* Does the same as `multiply`, which it calls several times. The number of columns of `b` may be any multiple of
 * LANES. */
static void multiply_all(const float *a, size_t a_pitch, const float *b, size_t b_pitch, int count, float *acc,
                         size_t acc_pitch, int columns) {
  int c = 0;
  for (; c + WIDE * LANES <= columns; c += WIDE * LANES)
    multiply(a, a_pitch, b + c, b_pitch, count, acc + c, acc_pitch, WIDE);
  for (; c < columns; c += LANES)
    multiply(a, a_pitch, b + c, b_pitch, count, acc + c, acc_pitch, 1);
}

/* --- the running softmax over blocks of keys --- */

/* The memory with which one thread computes GROUPS * ROWS queries. Queries after the last one of a picture are computed
 * but not used. */
struct tile {
  float scores[ROWS * BLOCK];
  float max[GROUPS * ROWS], sum[GROUPS * ROWS];
  /* first the queries, [GROUPS * ROWS][dim]; after them their results, [GROUPS * ROWS][round_up(dim)] */
  float data[];
};

size_t KERNEL(cpu_attend_tile)(int dim) {
  size_t data = (size_t)(GROUPS * ROWS) * (size_t)(dim + round_up(dim, LANES));
  return (size_t)round_up((int)(sizeof(struct tile) / sizeof(float) + data), 16);
}

/* Turns scores 0 to `columns` - 1 of one query into softmax weights relative to the highest score so far (*max). Scores
 * from `valid` on belong to no key and become 0. If the highest score has grown, *sum and `out`, the sums over earlier
 * blocks of keys, are scaled down to it. */
static void soften_row(float *scores, int valid, int columns, float *max, float *sum, float *out, int out_columns) {
  for (int c = valid > 0 ? valid : 0; c < columns; c++)
    scores[c] = -INFINITY;
  vec highest = vec_set(*max), total = {0};
  for (int c = 0; c < columns; c += LANES)
    highest = vec_max(highest, vec_load(scores + c));
  float top = vec_highest(highest);
  if (top == -INFINITY) /* this query has attended to no key so far: all scores are masked */
    top = 0;
  for (int c = 0; c < columns; c += LANES) {
    vec below = vec_load(scores + c) - top, weight = vec_exp(below);
    vec_store(scores + c, (vec)((vec_int)weight & ~(below <= LEAST)));
  }
  for (int c = valid > 0 ? valid : 0; c < columns; c++)
    scores[c] = 0;
  for (int c = 0; c < columns; c += LANES)
    total += vec_load(scores + c);
  float keep = *max == -INFINITY ? 0 : expf(*max - top);
  if (keep != 1)
    for (int d = 0; d < out_columns; d += LANES)
      vec_store(out + d, keep * vec_load(out + d));
  *sum = *sum * keep + vec_sum(total);
  *max = valid > 0 || *max != -INFINITY ? top : *max;
}

/* --- one tile: some queries of one head --- */

struct place {
  /* number of the tile's picture and of its head; its queries are `first` to `first` + count - 1 */
  int n, head, first, count;
};

static void load_queries(const struct attend *a, const struct place *p, float *q) {
  for (int r = 0; r < GROUPS * ROWS; r++) {
    int query = r < p->count ? p->first + r : p->first;
    size_t at =
        ((size_t)p->n * (size_t)a->queries + (size_t)query) * (size_t)a->q_pitch + (size_t)p->head * (size_t)a->dim;
    for (int d = 0; d < a->dim; d += LANES) {
      int count = a->dim - d < LANES ? a->dim - d : LANES;
      vec_put(q, DTYPE_F32, (size_t)(r * a->dim + d), count,
              a->scale * vec_get(a->q, a->q_dtype, at + (size_t)d, count));
    }
  }
}

static void store_rows(const struct attend *a, const struct place *p, const float *out, const float *sum) {
  int pitch = round_up(a->dim, LANES);
  for (int r = 0; r < p->count; r++) {
    size_t at = ((size_t)p->n * (size_t)a->queries + (size_t)(p->first + r)) * (size_t)a->y_pitch +
                (size_t)p->head * (size_t)a->dim;
    for (int d = 0; d < a->dim; d += LANES) {
      int count = a->dim - d < LANES ? a->dim - d : LANES;
      vec_put(a->y, a->y_dtype, at + (size_t)d, count, vec_load(out + r * pitch + d) / sum[r]);
    }
  }
}

/* Computes attention of ROWS queries, which are group number `group` of the tile, to keys `key` to `key` + count - 1:
 * computes the scores, and adds the values, weighted by the softmax, to the tile's `out`. */
static void attend_block(const struct attend *a, const struct place *p, struct tile *tile, int group, int key,
                         int count) {
  int out_pitch = round_up(a->dim, LANES), columns = round_up(count, LANES), row = group * ROWS;
  size_t keys_pitch = (size_t)round_up(all_keys(a), LANES);
  int n = a->k_n == 1 ? 0 : p->n;
  const float *q = tile->data + row * a->dim;
  float *out = tile->data + GROUPS * ROWS * a->dim + row * out_pitch;
  memset(tile->scores, 0, sizeof tile->scores);
  multiply_all(q, (size_t)a->dim, packed_keys(a, n, p->head) + key, keys_pitch, a->dim, tile->scores, BLOCK, columns);
  for (int r = 0; r < ROWS; r++) {
    int query = p->first + row + r, seen = a->causal && query + 1 - key < count ? query + 1 - key : count;
    soften_row(tile->scores + r * BLOCK, seen, columns, &tile->max[row + r], &tile->sum[row + r], out + r * out_pitch,
               out_pitch);
  }
  multiply_all(tile->scores, BLOCK, packed_values(a, n, p->head) + (size_t)key * (size_t)out_pitch, (size_t)out_pitch,
               count, out, (size_t)out_pitch, out_pitch);
}

static void attend_queries(const struct attend *a, const struct place *p, struct tile *tile) {
  int out_pitch = round_up(a->dim, LANES), last = p->first + p->count - 1;
  float *out = tile->data + GROUPS * ROWS * a->dim;
  load_queries(a, p, tile->data);
  memset(out, 0, (size_t)(GROUPS * ROWS * out_pitch) * sizeof *out);
  for (int r = 0; r < GROUPS * ROWS; r++)
    tile->max[r] = -INFINITY, tile->sum[r] = 0;
  for (int key = 0; key < all_keys(a) && !(a->causal && key > last); key += BLOCK) {
    int count = all_keys(a) - key < BLOCK ? all_keys(a) - key : BLOCK;
    for (int group = 0; group * ROWS < p->count; group++)
      attend_block(a, p, tile, group, key, count);
  }
  store_rows(a, p, out, tile->sum);
}

void KERNEL(cpu_attend)(const struct attend *a) {
  int keys = all_keys(a), blocks = (a->queries + GROUPS * ROWS - 1) / (GROUPS * ROWS);
#pragma omp parallel
  {
    struct tile *tile = (struct tile *)(a->tiles + (size_t)thread_number() * KERNEL(cpu_attend_tile)(a->dim));
#pragma omp for collapse(3)
    for (int n = 0; n < a->k_n; n++)
      for (int head = 0; head < a->heads; head++)
        for (int key = 0; key < keys; key++)
          pack_row(a, n, head, key);
#pragma omp for collapse(3) schedule(dynamic)
    for (int n = 0; n < a->n; n++)
      for (int head = 0; head < a->heads; head++)
        for (int block = 0; block < blocks; block++) {
          int first = block * GROUPS * ROWS, left = a->queries - first;
          struct place p = {n, head, first, left < GROUPS * ROWS ? left : GROUPS * ROWS};
          attend_queries(a, &p, tile);
        }
  }
}
