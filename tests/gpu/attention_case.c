#include "tests/gpu/attention_case.h"

#include <math.h>
#include <stdint.h>

enum { ROWS_SAMPLED = 48 };

static const char *const fill_names[] = {"normal",       "large",         "one-hot",    "constant",    "rising",
                                         "falling",      "v large",       "huge",       "huge, mixed", "huge, far",
                                         "huge, rising", "huge, falling", "huge, step", "largest",     "coarse"};

/* ---- values ---------------------------------------------------------------------------------------------- */

static double sign(void) {
  return random_uniform() < 0.5 ? -1 : 1;
}

/* About huge scores: FP32 has 24 significant bits, so a score near 2^35 is in general known only to about 2^11, and a
 * softmax of such scores is noise in any kernel. Huge operands are therefore powers of two, and all partial sums of a
 * score are multiples of some 2^n below 2^(n + 23). FP32 holds such sums exactly in any order, and so do tensor cores,
 * which align products with the largest one and keep as many bits. Scores, their differences and ties are then exact;
 * only the softmax can be wrong, and the tolerance is the same as for all other values. */

static unsigned row_hash(int t) {
  unsigned x = ((unsigned)t + 1) * 2654435761u;
  x = (x ^ x >> 15) * 2246822519u;
  return x >> 8;
}

static double row_sign(int t) {
  return row_hash(t) >> 20 & 1 ? -1 : 1;
}

/* Returns how large the values of row t are. With keys of 2^15 a third of the rows have ordinary scores, a third the
 * scores of FILL_HUGE, and a third a largest |score| (in units of log2) between 2^10 and 2^31. A hash chooses, so that
 * a warp, and a sample of rows at equal distances, has rows of each kind. */
static double row_magnitude(int t) {
  unsigned hash = row_hash(t);
  return hash % 3 == 0 ? 0x1p-13 : hash % 3 == 1 ? 0x1p15 : ldexp(1, (int)(hash / 3 % 21) - 7);
}

/* Returns the large part that all scores of row t share. In two of three rows the scores differ by little beside it, so
 * a kernel that does not subtract it from all of them alike is found. */
static double far_magnitude(int t) {
  return ldexp(1, (int)(row_hash(t) % 16));
}

static double huge_query(enum fill fill, int t, int c) {
  switch (fill) {
  case FILL_HUGE_MIXED:
    return sign() * row_magnitude(t);
  case FILL_HUGE_FAR: /* the first channel is the distance from zero, the others are up to 2^22 times smaller */
    return c == 0 ? row_sign(t) * far_magnitude(t) : sign() * fmax(0x1p-13, far_magnitude(t) * 0x1p-22);
  case FILL_HUGE_RISING:
  /* some channels are 0: otherwise most sums would be powers of two, whose product with scale is exact */
  case FILL_HUGE_FALLING:
    return c % 3 == 0 ? 0 : row_sign(t) * row_magnitude(t);
  case FILL_HUGE_STEP:
    return c == 0 ? 0x1p12 : c == 1 ? 4 : 0;
  default:
    return sign() * 0x1p15;
  }
}

static double huge_key(enum fill fill, int t, int T, int c) {
  int exponent = (int)(30L * t / T) - 14; /* from -14 to 15 */
  switch (fill) {
  case FILL_HUGE_FAR:
    return c == 0 ? 0x1p15 : sign() * 0x1p15;
  case FILL_HUGE_RISING:
    return ldexp(1, exponent);
  case FILL_HUGE_FALLING:
    return ldexp(1, 1 - exponent);
  case FILL_HUGE_STEP:
    return c == 0 ? 0x1p15 : t < 128 ? 4 : 8;
  default:
    return sign() * 0x1p15;
  }
}

/* Returns values for FILL_LARGEST. Half the columns of V are near one value, so that the bounds of their mean are
 * narrow; all other values are the largest of FP16. */
static double largest_value(int part, int c) {
  return part == 2 && c % 2 == 0 ? 1 + random_uniform() / 4 : sign() * 65504;
}

/* Returns element c of row t (of T) of q (part 0), k (1) or v (2), for a head dim of D. */
static double value_of(enum fill fill, int part, int t, int T, int c, int D) {
  switch (fill) {
  case FILL_LARGE:
    return part < 2 ? 12 * random_normal() : random_normal();
  case FILL_ONE_HOT: /* signs by a hash of t, so that only row t of k matches row t of q */
    return part < 2 ? (((unsigned)t * 2654435761u >> (c % 29)) & 1 ? 3 : -3) : random_normal();
  case FILL_CONSTANT:
    return part == 2 ? 0.7 : 0.3;
  case FILL_RISING:
    return part == 0 ? 2 : part == 1 ? 16.0 * t / T - 8 : random_normal();
  case FILL_FALLING:
    return part == 0 ? 2 : part == 1 ? 8 - 16.0 * t / T : random_normal();
  case FILL_V_LARGE:
    return part == 2 ? 65504 - 100 * random_uniform() * (c % D) / D : random_normal();
  case FILL_HUGE:
  case FILL_HUGE_MIXED:
  case FILL_HUGE_FAR:
  case FILL_HUGE_RISING:
  case FILL_HUGE_FALLING:
  case FILL_HUGE_STEP:
    return part == 0 ? huge_query(fill, t, c) : part == 1 ? huge_key(fill, t, T, c) : random_normal();
  case FILL_LARGEST:
    return largest_value(part, c);
  case FILL_COARSE:
    return part < 2 ? rint(4 * random_normal()) / 4 : random_normal();
  default:
    return random_normal();
  }
}

/* ---- operands -------------------------------------------------------------------------------------------- */

static struct operand operand_make(size_t count) {
  struct operand x = {.count = count};
  x.host = malloc(count * sizeof *x.host);
  x.wide = malloc(count * sizeof *x.wide);
  CUDA(cudaMalloc(&x.device, count * sizeof *x.host));
  for (size_t i = 0; i < count; i++)
    x.host[i] = (half)NAN;
  return x;
}

void operand_upload(struct operand *x) {
  for (size_t i = 0; i < x->count; i++)
    x->wide[i] = x->host[i];
  CUDA(cudaMemcpy(x->device, x->host, x->count * sizeof *x->host, cudaMemcpyHostToDevice));
}

static void operand_free(struct operand *x) {
  free(x->host);
  free(x->wide);
  CUDA(cudaFree(x->device));
}

/* Returns how many rows of the bank take part. */
static int clamped_count(const struct test_case *t) {
  int rows = t->rows2 ? t->rows2 : 1, most = t->Tk2 / rows;
  return (t->count2 < 0 ? 0 : t->count2 > most ? most : t->count2) * rows;
}

static void fill_rows(const struct test_case *t, half *data, int part, int batches, int T, int filled, long row,
                      long batch) {
  for (int b = 0; b < batches; b++)
    for (int i = 0; i < filled; i++)
      for (int c = 0; c < t->H * t->D; c++)
        data[b * batch + i * row + c] = (half)value_of(t->fill, part, i, T, c % t->D, t->D);
}

static struct attn_args layout(const struct test_case *t) {
  long C = (long)t->H * t->D, row = t->fused ? 3 * C + 8 : C;
  int longest = t->Tq > t->Tk ? t->Tq : t->Tk;
  struct attn_args a = {.B = t->B,
                        .H = t->H,
                        .Tq = t->Tq,
                        .Tk = t->Tk,
                        .D = t->D,
                        .scale = t->scale != 0 ? t->scale : 1 / sqrtf(t->D),
                        .causal = t->causal,
                        .q_row = row,
                        .k_row = row,
                        .v_row = row,
                        .o_row = C + 16};
  a.q_batch = row * (t->fused ? longest : t->Tq);
  a.k_batch = a.v_batch = t->shared ? 0 : row * (t->fused ? longest : t->Tk);
  a.o_batch = a.o_row * (t->Tq + 1);
  return a;
}

/* Makes K, or V, of the bank as a tensor of its own, of which all batch rows use the same rows. */
static struct operand bank_part(const struct test_case *t, int part) {
  long C = (long)t->H * t->D;
  struct operand x = operand_make(C * t->Tk2);
  fill_rows(t, x.host, part, 1, t->Tk2, clamped_count(t), C, 0);
  operand_upload(&x);
  return x;
}

/* Makes the bank as a ring: rows of K and V side by side, for each batch row. */
static void make_ring(struct problem *p) {
  const struct test_case *t = &p->t;
  struct attn_args *a = &p->args;
  long C = (long)t->H * t->D, row = 2 * C, batch = row * t->Tk2;
  p->k2 = operand_make(batch * t->B);
  fill_rows(t, p->k2.host, 1, t->B, t->Tk2, clamped_count(t), row, batch);
  fill_rows(t, p->k2.host + C, 2, t->B, t->Tk2, clamped_count(t), row, batch);
  operand_upload(&p->k2);
  a->k2 = p->k2.device, a->v2 = (half *)p->k2.device + C;
  a->k2_row = a->v2_row = row, a->k2_batch = a->v2_batch = batch;
}

static void make_bank(struct problem *p) {
  const struct test_case *t = &p->t;
  struct attn_args *a = &p->args;
  if (t->ring) {
    make_ring(p);
  } else {
    p->k2 = bank_part(t, 1);
    p->v2 = bank_part(t, 2);
    a->k2 = p->k2.device, a->v2 = p->v2.device, a->k2_row = a->v2_row = (long)t->H * t->D;
  }
  CUDA(cudaMalloc((void **)&p->count2, sizeof *p->count2));
  CUDA(cudaMemcpy(p->count2, &t->count2, sizeof t->count2, cudaMemcpyHostToDevice));
  a->Tk2 = t->Tk2, a->count2 = p->count2, a->count2_rows = t->rows2;
}

void problem_make(struct problem *p, const struct test_case *t) {
  *p = (struct problem){.t = *t, .args = layout(t)};
  struct attn_args *a = &p->args;
  long C = (long)t->H * t->D;
  int kv = t->shared ? 1 : t->B;
  p->q = operand_make(t->B * a->q_batch);
  fill_rows(t, p->q.host, 0, t->B, t->Tq, t->Tq, a->q_row, a->q_batch);
  if (t->fused) {
    fill_rows(t, p->q.host + C, 1, t->B, t->Tk, t->Tk, a->k_row, a->k_batch);
    fill_rows(t, p->q.host + 2 * C, 2, t->B, t->Tk, t->Tk, a->v_row, a->v_batch);
  } else {
    p->k = operand_make(kv * a->k_row * t->Tk);
    p->v = operand_make(kv * a->v_row * t->Tk);
    fill_rows(t, p->k.host, 1, kv, t->Tk, t->Tk, a->k_row, a->k_batch);
    fill_rows(t, p->v.host, 2, kv, t->Tk, t->Tk, a->v_row, a->v_batch);
    operand_upload(&p->k);
    operand_upload(&p->v);
  }
  operand_upload(&p->q);
  a->q = p->q.device;
  a->k = t->fused ? (half *)p->q.device + C : p->k.device;
  a->v = t->fused ? (half *)p->q.device + 2 * C : p->v.device;
  p->o = operand_make(t->B * a->o_batch);
  a->o = p->o.device;
  if (t->Tk2)
    make_bank(p);
}

void problem_free(struct problem *p) {
  struct operand *all[] = {&p->q, &p->k, &p->v, &p->k2, &p->v2, &p->o};
  for (int i = 0; i < 6; i++)
    operand_free(all[i]);
  CUDA(cudaFree(p->count2));
}

/* ---- expected results ------------------------------------------------------------------------------------ */

/* Returns the arguments of the same problem with host arrays of float. */
static struct attn_args wide_args(const struct problem *p) {
  struct attn_args a = p->args;
  long C = (long)a.H * a.D;
  a.q = p->q.wide;
  a.k = p->t.fused ? p->q.wide + C : p->k.wide;
  a.v = p->t.fused ? p->q.wide + 2 * C : p->v.wide;
  if (a.k2) {
    a.k2 = p->k2.wide;
    a.v2 = p->t.ring ? p->k2.wide + C : p->v2.wide;
    a.count2 = &p->t.count2;
  }
  return a;
}

/* Computes rows first, first + step, ... of the result by the definition. Larger strides select the rows. */
static float *reference(const struct problem *p, int first, int step, int count) {
  struct attn_args a = wide_args(p);
  long C = (long)a.H * a.D;
  float *rows = malloc(sizeof *rows * a.B * count * C);
  a.q = (const float *)a.q + first * a.q_row;
  a.o = rows;
  a.q_row *= step;
  a.Tq = count;
  a.o_row = C;
  a.o_batch = count * C;
  attention_cpu(&a);
  return rows;
}

static void widen(float *low, float *high, const float *values, int rows, long row, long channels) {
  for (int t = 0; t < rows; t++)
    for (long c = 0; c < channels; c++) {
      low[c] = fminf(low[c], values[t * row + c]);
      high[c] = fmaxf(high[c], values[t * row + c]);
    }
}

static void find_bounds(const struct problem *p, struct expected *e) {
  struct attn_args a = wide_args(p);
  long C = (long)a.H * a.D;
  e->low = malloc(sizeof *e->low * a.B * C);
  e->high = malloc(sizeof *e->high * a.B * C);
  for (long i = 0; i < a.B * C; i++) {
    e->low[i] = INFINITY;
    e->high[i] = -INFINITY;
  }
  for (int b = 0; b < a.B; b++) {
    widen(e->low + b * C, e->high + b * C, (const float *)a.v + b * a.v_batch, a.Tk, a.v_row, C);
    if (a.v2)
      widen(e->low + b * C, e->high + b * C, (const float *)a.v2 + b * a.v2_batch, clamped_count(&p->t), a.v2_row, C);
  }
}

struct expected expected_make(const struct problem *p) {
  struct expected e = {.step = p->t.causal ? 1 : (p->t.Tq + ROWS_SAMPLED - 1) / ROWS_SAMPLED};
  e.first = (p->t.Tq - 1) % e.step;
  e.count = (p->t.Tq - e.first + e.step - 1) / e.step;
  find_bounds(p, &e);
  if (p->t.fill != FILL_LARGEST)
    e.rows = reference(p, e.first, e.step, e.count);
  return e;
}

void expected_free(struct expected *e) {
  free(e->rows);
  free(e->low);
  free(e->high);
}

void test_case_print(const struct test_case *t, const char *choice, double error, const char *verdict) {
  printf("%-20s B%d H%d %dx%d+%d/%d D%d %s", choice, t->B, t->H, t->Tq, t->Tk, t->count2, t->Tk2, t->D,
         fill_names[t->fill]);
  if (t->scale != 0)
    printf(" scale %g", t->scale);
  printf("%s%s%s%s: %.2e %s\n", t->causal ? " causal" : "", t->fused ? " fused" : "", t->shared ? " shared" : "",
         t->ring ? " ring" : "", error, verdict);
}
