/* Every variant of the flash attention kernels against the definition in double: random and adversarial values, awkward
 * lengths, strided operands, a bank with poisoned memory behind its valid rows, poisoned outputs, captured graphs.
 *
 *   test_attention [PREFIX [quick]]   only the variants whose name begins so ("sm80", "sm90 long"), "" for all;
 *                                     quick: only small cases, for compute-sanitizer */
#include "attention/choices.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef _Float16 half;

enum { SKIPPED = 77, ROWS_SAMPLED = 48 };

/* Relative error in the norm. FP16 output alone rounds by up to this much in a single element. */
static const double tolerance = 1.0 / 2048;

enum fill {
  FILL_NORMAL,
  FILL_LARGE, /* scores of hundreds: nearly one-hot */
  FILL_HUGE, /* FP16's largest: scores beyond what attention.h promises to be right, so only finite results are asked */
  FILL_ONE_HOT, /* each row has one key that matches it, all other scores equal */
  FILL_CONSTANT,
  FILL_RISING, /* the maximum grows with every key */
  FILL_FALLING,
  FILL_V_LARGE, /* values near FP16's largest, of one sign */
  FILLS
};
static const char *const fill_names[] = {"normal",   "large",  "huge",    "one-hot",
                                         "constant", "rising", "falling", "v large"};

struct test_case {
  int B, H, Tq, Tk, D;
  int Tk2, count2; /* count2 may lie outside 0..Tk2 */
  bool causal;
  bool fused;  /* q, k and v in one tensor with odd row strides; else separate and dense */
  bool shared; /* K and V of one batch row serve all */
  enum fill fill;
};

struct operand {
  half *host;
  float *wide; /* the same values */
  void *device;
  size_t count;
};

static int failures, compared;
static const char *only = ""; /* prefix of the variants to run */
static bool quick;

#define CUDA(call)                                                                                                     \
  do {                                                                                                                 \
    cudaError_t status_ = (call);                                                                                      \
    if (status_ != cudaSuccess) {                                                                                      \
      fprintf(stderr, "test_attention: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_));      \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static uint64_t random_state = 1;

static double uniform(void) {
  random_state = random_state * 6364136223846793005u + 1442695040888963407u;
  return ((random_state >> 33) + 0.5) / 2147483648.0;
}

static double normal(void) {
  return sqrt(-2 * log(uniform())) * cos(2 * M_PI * uniform());
}

static struct operand operand_make(size_t count) {
  struct operand x = {.count = count};
  x.host = malloc(count * sizeof *x.host);
  x.wide = malloc(count * sizeof *x.wide);
  CUDA(cudaMalloc(&x.device, count * sizeof *x.host));
  for (size_t i = 0; i < count; i++)
    x.host[i] = (half)NAN;
  return x;
}

static void operand_upload(struct operand *x) {
  for (size_t i = 0; i < x->count; i++)
    x->wide[i] = x->host[i];
  CUDA(cudaMemcpy(x->device, x->host, x->count * sizeof *x->host, cudaMemcpyHostToDevice));
}

static void operand_free(struct operand *x) {
  free(x->host);
  free(x->wide);
  CUDA(cudaFree(x->device));
}

/* Element c of row t (of T) of q (part 0), k (1) or v (2), for a head dim of D. */
static double value_of(enum fill fill, int part, int t, int T, int c, int D) {
  switch (fill) {
  case FILL_LARGE:
    return part < 2 ? 12 * normal() : normal();
  case FILL_HUGE:
    return uniform() < 0.5 ? -65504 : 65504;
  case FILL_ONE_HOT: /* row t's only large channels: a signature of t */
    return part < 2 ? (((unsigned)t * 2654435761u >> (c % 29)) & 1 ? 3 : -3) : normal();
  case FILL_CONSTANT:
    return part == 2 ? 0.7 : 0.3;
  case FILL_RISING:
    return part == 0 ? 2 : part == 1 ? 16.0 * t / T - 8 : normal();
  case FILL_FALLING:
    return part == 0 ? 2 : part == 1 ? 8 - 16.0 * t / T : normal();
  case FILL_V_LARGE:
    return part == 2 ? 65504 - 100 * uniform() * (c % D) / D : normal();
  default:
    return normal();
  }
}

static int clamped_count(const struct test_case *t) {
  return t->count2 < 0 ? 0 : t->count2 > t->Tk2 ? t->Tk2 : t->count2;
}

static void fill_rows(const struct test_case *t, half *data, int part, int batches, int T, int filled, long row,
                      long batch) {
  for (int b = 0; b < batches; b++)
    for (int i = 0; i < filled; i++)
      for (int c = 0; c < t->H * t->D; c++)
        data[b * batch + i * row + c] = (half)value_of(t->fill, part, i, T, c % t->D, t->D);
}

/* The operands of a case; args hold device pointers. */
struct problem {
  struct test_case t;
  struct operand q, k, v, k2, v2, o;
  int *count2; /* device */
  struct attn_args args;
};

static void problem_make(struct problem *p, const struct test_case *t) {
  long C = (long)t->H * t->D, row = t->fused ? 3 * C + 8 : C;
  int longest = t->fused ? (t->Tq > t->Tk ? t->Tq : t->Tk) : 0, kv = t->shared ? 1 : t->B;
  *p = (struct problem){.t = *t};
  struct attn_args *a = &p->args;
  *a = (struct attn_args){.B = t->B,
                          .H = t->H,
                          .Tq = t->Tq,
                          .Tk = t->Tk,
                          .D = t->D,
                          .scale = 1 / sqrtf(t->D),
                          .causal = t->causal,
                          .q_row = row,
                          .k_row = row,
                          .v_row = row,
                          .o_row = C + 16};
  a->q_batch = row * (t->fused ? longest : t->Tq);
  a->k_batch = a->v_batch = t->shared ? 0 : row * (t->fused ? longest : t->Tk);
  a->o_batch = a->o_row * (t->Tq + 1);
  p->q = operand_make(t->B * a->q_batch);
  fill_rows(t, p->q.host, 0, t->B, t->Tq, t->Tq, row, a->q_batch);
  if (t->fused) {
    fill_rows(t, p->q.host + C, 1, t->B, t->Tk, t->Tk, row, a->k_batch);
    fill_rows(t, p->q.host + 2 * C, 2, t->B, t->Tk, t->Tk, row, a->v_batch);
  } else {
    p->k = operand_make(kv * row * t->Tk);
    p->v = operand_make(kv * row * t->Tk);
    fill_rows(t, p->k.host, 1, kv, t->Tk, t->Tk, row, a->k_batch);
    fill_rows(t, p->v.host, 2, kv, t->Tk, t->Tk, row, a->v_batch);
    operand_upload(&p->k);
    operand_upload(&p->v);
  }
  operand_upload(&p->q);
  a->q = p->q.device;
  a->k = t->fused ? (half *)p->q.device + C : p->k.device;
  a->v = t->fused ? (half *)p->q.device + 2 * C : p->v.device;
  p->o = operand_make(t->B * a->o_batch);
  a->o = p->o.device;
  if (t->Tk2) {
    p->k2 = operand_make(C * t->Tk2);
    p->v2 = operand_make(C * t->Tk2);
    fill_rows(t, p->k2.host, 1, 1, t->Tk2, clamped_count(t), C, 0);
    fill_rows(t, p->v2.host, 2, 1, t->Tk2, clamped_count(t), C, 0);
    operand_upload(&p->k2);
    operand_upload(&p->v2);
    CUDA(cudaMalloc((void **)&p->count2, sizeof *p->count2));
    CUDA(cudaMemcpy(p->count2, &t->count2, sizeof t->count2, cudaMemcpyHostToDevice));
    a->k2 = p->k2.device, a->v2 = p->v2.device, a->k2_row = a->v2_row = C, a->Tk2 = t->Tk2, a->count2 = p->count2;
  }
}

static void problem_free(struct problem *p) {
  struct operand *all[] = {&p->q, &p->k, &p->v, &p->k2, &p->v2, &p->o};
  for (int i = 0; i < 6; i++)
    operand_free(all[i]);
  CUDA(cudaFree(p->count2));
}

/* Rows first, first + step, ... of the definition, dense, [B][rows][H * D]. Sampling is a matter of strides. */
static float *reference(const struct problem *p, int first, int step, int *rows) {
  struct attn_args a = p->args;
  long C = (long)a.H * a.D;
  *rows = (a.Tq - first + step - 1) / step;
  float *out = malloc(sizeof *out * a.B * *rows * C);
  a.q = p->q.wide + first * a.q_row;
  a.k = p->t.fused ? p->q.wide + C : p->k.wide;
  a.v = p->t.fused ? p->q.wide + 2 * C : p->v.wide;
  a.o = out;
  a.q_row *= step;
  a.Tq = *rows;
  a.o_row = C;
  a.o_batch = *rows * C;
  if (a.k2) {
    a.k2 = p->k2.wide;
    a.v2 = p->v2.wide;
    a.count2 = &p->t.count2;
  }
  attention_cpu(&a);
  return out;
}

/* Everything outside the rows must still be NaN, everything inside finite. */
static bool written_exactly(const struct problem *p, const half *out) {
  const struct attn_args *a = &p->args;
  long C = (long)a->H * a->D;
  for (int b = 0; b < a->B; b++)
    for (int t = 0; t <= a->Tq; t++)
      for (long c = 0; c < a->o_row; c++) {
        float x = out[b * a->o_batch + t * a->o_row + c];
        bool inside = t < a->Tq && c < C;
        if (inside ? !isfinite(x) : !isnan(x)) {
          printf("  element %d %d %ld: %s\n", b, t, c, inside ? "not written, or not finite" : "overwritten");
          return false;
        }
      }
  return true;
}

static double relative_error(const struct problem *p, const half *out, const float *ref, int first, int step,
                             int rows) {
  const struct attn_args *a = &p->args;
  long C = (long)a->H * a->D;
  double error = 0, norm = 0;
  for (int b = 0; b < a->B; b++)
    for (int i = 0; i < rows; i++)
      for (long c = 0; c < C; c++) {
        double r = ref[(b * rows + i) * C + c], d = out[b * a->o_batch + (first + (long)i * step) * a->o_row + c] - r;
        error += d * d;
        norm += r * r;
      }
  return sqrt(error / norm);
}

static void run(const struct attn_device *device, const struct problem *p, int choice, void *workspace, half *out) {
  CUDA(cudaMemcpy(p->o.device, p->o.host, p->o.count * sizeof *out, cudaMemcpyHostToDevice));
  CUDA(attention_choice_launch(device, &p->args, choice, workspace, 0));
  CUDA(cudaDeviceSynchronize());
  CUDA(cudaMemcpy(out, p->o.device, p->o.count * sizeof *out, cudaMemcpyDeviceToHost));
}

static void describe(const struct test_case *t, const char *choice, double error, const char *verdict) {
  printf("%-20s B%d H%d %dx%d+%d/%d D%d %s%s%s%s: %.2e %s\n", choice, t->B, t->H, t->Tq, t->Tk, t->count2, t->Tk2, t->D,
         fill_names[t->fill], t->causal ? " causal" : "", t->fused ? " fused" : "", t->shared ? " shared" : "", error,
         verdict);
}

/* All variants on one case; worst[choice] collects the largest error. */
static void check_case(const struct attn_device *device, const struct test_case *t, void *workspace, double *worst) {
  struct problem p;
  if (quick && ((long)t->Tq * t->Tk > 80000 || t->H * t->D > (t->D > 200 ? 512 : 200)))
    return;
  problem_make(&p, t);
  int step = t->causal ? 1 : (t->Tq + ROWS_SAMPLED - 1) / ROWS_SAMPLED, first = (t->Tq - 1) % step, rows;
  float *ref = reference(&p, first, step, &rows);
  half *out = malloc(p.o.count * sizeof *out), *again = malloc(p.o.count * sizeof *out);
  for (int choice = 0; attention_choice_name(choice); choice++) {
    if (strncmp(attention_choice_name(choice), only, strlen(only)) != 0 ||
        !attention_choice_supported(device, &p.args, choice))
      continue;
    run(device, &p, choice, workspace, out);
    run(device, &p, choice, workspace, again);
    double error = relative_error(&p, out, ref, first, step, rows);
    bool exact = written_exactly(&p, out), same = memcmp(out, again, p.o.count * sizeof *out) == 0;
    if (!(error <= tolerance || t->fill == FILL_HUGE) || !exact || !same) {
      describe(t, attention_choice_name(choice), error, same ? "FAILED" : "FAILED: differs from run to run");
      failures++;
    }
    compared++;
    if (t->fill != FILL_HUGE && (error > worst[choice] || isnan(error)))
      worst[choice] = error;
  }
  free(ref);
  free(out);
  free(again);
  problem_free(&p);
}

/* Launches in a captured graph, each reading what the one before wrote, equal the same launches made directly; another
 * input gives another result. */
static void check_graph(const struct attn_device *device, void *workspace) {
  struct test_case t = {.B = 1, .H = 3, .Tq = 700, .Tk = 700, .D = 64};
  struct problem p;
  problem_make(&p, &t);
  struct attn_args second = p.args;
  void *o2;
  size_t bytes = p.o.count * sizeof(half);
  half *direct = malloc(bytes), *replayed = malloc(bytes);
  CUDA(cudaMalloc(&o2, bytes));
  second.q = p.args.o, second.q_row = p.args.o_row, second.q_batch = p.args.o_batch, second.o = o2;
  CUDA(cudaMemset(o2, 0xff, bytes));
  CUDA(attention_launch(device, &p.args, ATTN_AUTO, workspace, 0));
  CUDA(attention_launch(device, &second, ATTN_AUTO, workspace, 0));
  CUDA(cudaMemcpy(direct, o2, bytes, cudaMemcpyDeviceToHost));

  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUDA(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
  CUDA(attention_launch(device, &p.args, ATTN_AUTO, workspace, stream));
  CUDA(attention_launch(device, &second, ATTN_AUTO, workspace, stream));
  CUDA(cudaStreamEndCapture(stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  for (int round = 0; round < 2; round++) {
    if (round == 1) { /* another input: the queries' signs */
      for (size_t i = 0; i < p.q.count; i++)
        p.q.host[i] = -p.q.host[i];
      operand_upload(&p.q);
    }
    CUDA(cudaMemset(o2, 0xff, bytes));
    CUDA(cudaGraphLaunch(exec, stream));
    CUDA(cudaStreamSynchronize(stream));
    CUDA(cudaMemcpy(replayed, o2, bytes, cudaMemcpyDeviceToHost));
    if ((memcmp(direct, replayed, bytes) == 0) != (round == 0)) {
      printf("graph replay %s: FAILED\n", round == 0 ? "differs from direct launches" : "ignores its input");
      failures++;
    }
  }
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  CUDA(cudaStreamDestroy(stream));
  CUDA(cudaFree(o2));
  free(direct);
  free(replayed);
  problem_free(&p);
}

static void check_refusals(const struct attn_device *device) {
  half dummy[8];
  struct attn_args good = {.q = (void *)256,
                           .k = (void *)256,
                           .v = (void *)256,
                           .o = (void *)512,
                           .B = 1,
                           .H = 1,
                           .Tq = 1,
                           .Tk = 1,
                           .D = 64,
                           .q_row = 64,
                           .k_row = 64,
                           .v_row = 64,
                           .o_row = 64,
                           .scale = 1};
  struct attn_args bad[] = {good, good, good, good};
  bad[0].D = 520;
  bad[1].D = 60;
  bad[2].q = (char *)dummy + 2;
  bad[3].k2 = bad[3].v2 = (void *)256, bad[3].Tk2 = 1;
  if (!attention_supported(device, &good, ATTN_AUTO)) {
    printf("a good problem is refused: FAILED\n");
    failures++;
  }
  for (int i = 0; i < 4; i++)
    if (attention_supported(device, &bad[i], ATTN_AUTO) ||
        attention_launch(device, &bad[i], ATTN_AUTO, NULL, 0) != cudaErrorNotSupported) {
      printf("bad problem %d is accepted: FAILED\n", i);
      failures++;
    }
}

static const struct test_case special_cases[] = {
    {.B = 2, .H = 2, .Tq = 77, .Tk = 77, .D = 64, .causal = true, .fused = true},
    {.B = 1, .H = 3, .Tq = 200, .Tk = 200, .D = 80, .causal = true},
    {.B = 1, .H = 1, .Tq = 130, .Tk = 65, .D = 32, .causal = true},
    {.B = 2, .H = 3, .Tq = 256, .Tk = 256, .D = 64, .fused = true},
    {.B = 3, .H = 2, .Tq = 100, .Tk = 77, .D = 40, .shared = true},
    {.B = 2, .H = 5, .Tq = 500, .Tk = 77, .D = 64, .shared = true},
    {.B = 2, .H = 1, .Tq = 150, .Tk = 150, .D = 512, .fused = true},
    {.B = 2, .H = 2, .Tq = 150, .Tk = 77, .D = 512, .shared = true},
    {.B = 1, .H = 1, .Tq = 130, .Tk = 130, .D = 512, .causal = true},
    {.B = 1, .H = 1, .Tq = 1000, .Tk = 1000, .D = 512, .Tk2 = 600, .count2 = 345},
    {.B = 2, .H = 2, .Tq = 300, .Tk = 300, .D = 64, .Tk2 = 600, .count2 = 345},
    {.B = 1, .H = 2, .Tq = 1000, .Tk = 1000, .D = 40, .Tk2 = 600, .count2 = 345},
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .fused = true},
    {.B = 1, .H = 8, .Tq = 4096, .Tk = 4096, .D = 40, .fused = true},
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 8192, .count2 = 5000},
    {.B = 1, .H = 10, .Tq = 1024, .Tk = 1024, .D = 64, .fused = true},
    {.B = 1, .H = 1, .Tq = 4096, .Tk = 4096, .D = 512, .fused = true},
    {.B = 1, .H = 1, .Tq = 9216, .Tk = 9216, .D = 512},
};

static void check_all(const struct attn_device *device, void *workspace, double *worst) {
  static const int dims[] = {32, 40, 48, 64, 72, 80, 96, 104, 128, 160, 200, 320, 512};
  static const int main_dims[] = {40, 64, 80, 128, 160, 512};
  static const int main_lengths[][2] = {{1, 77}, {77, 113}, {113, 1}, {1023, 1023}, {64, 4097}, {4097, 113}};
  static const int lengths[][2] = {{1, 1},     {1, 77},      {64, 64},     {77, 1},    {77, 113},    {113, 77},
                                   {257, 128}, {1023, 1023}, {1024, 1024}, {64, 4097}, {4097, 1023}, {4097, 4097}};
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
      struct test_case t = {.B = 1, .H = dims[d] > 160 ? 1 : 2, .Tq = lengths[l][0], .Tk = lengths[l][1], .D = dims[d]};
      check_case(device, &t, workspace, worst);
    }
  for (int fill = FILL_LARGE; fill < FILLS; fill++)
    for (size_t d = 0; d < sizeof main_dims / sizeof *main_dims; d++)
      for (size_t l = 0; l < sizeof main_lengths / sizeof *main_lengths; l++) {
        struct test_case t = {
            .B = 1, .H = 1, .Tq = main_lengths[l][0], .Tk = main_lengths[l][1], .D = main_dims[d], .fill = fill};
        check_case(device, &t, workspace, worst);
      }
  static const int counts[] = {-1, 0, 1, 16, 63, 64, 79, 80, 81, 127, 128, 129, 159, 160, 200, 299, 300, 301};
  for (size_t d = 0; d < sizeof main_dims / sizeof *main_dims; d++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (int fill = FILL_NORMAL; fill <= FILL_LARGE; fill++) {
        struct test_case t = {
            .B = 1, .H = 1, .Tq = 130, .Tk = 77, .D = main_dims[d], .Tk2 = 300, .count2 = counts[c], .fill = fill};
        check_case(device, &t, workspace, worst);
      }
  for (size_t i = 0; i < sizeof special_cases / sizeof *special_cases; i++)
    check_case(device, &special_cases[i], workspace, worst);
}

int main(int argc, char **argv) {
  int count = 0;
  struct attn_device device;
  only = argc > 1 ? argv[1] : "";
  quick = argc > 2;
  setvbuf(stdout, NULL, _IOLBF, 0);
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    printf("test_attention: skipped: no GPU\n");
    return SKIPPED;
  }
  CUDA(attention_open(&device));
  printf("compute capability %d, %d multiprocessors, Hopper path %s\n", device.capability, device.sms,
         device.encode_tensor_map ? "on" : "off");
  if (device.capability == 90 && !device.encode_tensor_map) {
    printf("FAILED: a Hopper GPU, and no kernels for it in this program; build with -Dgpu_archs=90a\n");
    return 1;
  }
  void *workspace; /* zeroed once, shared by all launches */
  size_t bytes = 256 << 20;
  CUDA(cudaMalloc(&workspace, bytes));
  CUDA(cudaMemset(workspace, 0, bytes));
  double worst[32] = {0};
  check_refusals(&device);
  check_all(&device, workspace, worst);
  if (!*only)
    check_graph(&device, workspace);
  for (int choice = 0; attention_choice_name(choice); choice++)
    if (worst[choice] > 0)
      printf("%-20s worst relative error %.2e (limit %.2e)\n", attention_choice_name(choice), worst[choice], tolerance);
  CUDA(cudaFree(workspace));
  if (!compared) {
    printf("FAILED: nothing was compared: no variant that runs here begins with '%s'\n", only);
    return 1;
  }
  printf("%s: %d failures in %d comparisons\n", failures ? "FAILED" : "passed", failures, compared);
  return failures != 0;
}
