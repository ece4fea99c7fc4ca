/* Compares every variant of the flash attention kernels with the definition in double: random and adversarial values,
 * awkward lengths, strided operands, a bank with NaN behind its valid rows, outputs that are NaN at first, captured
 * graphs. With an empty bank all bits equal those of a launch without a bank.
 *
 *   test_attention [PREFIX [quick] [D]]
 *
 *   PREFIX  only the variants whose names begin with it ("sm80", "sm90 long"), "" for all; a Hopper GPU must have the
 *           variants for it
 *   quick   only small cases, for compute-sanitizer
 *   D       a number: only cases with this head dim */
#include "tests/gpu/attention_case.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { SKIPPED = 77, CHOICES_MAX = 64 };

/* Largest error allowed, as the norm of the difference by the norm of the result: rounding to FP16 alone can be this
 * much in one element. */
static const double tolerance = 1.0 / 2048;

/* How far a mean of values may lie outside their range, relative to the larger bound: probabilities and results are
 * FP16. */
static const float mean_tolerance = 1.0f / 512;

static int failures, compared;

/* What the command line selects. */
static const char *only = ""; /* prefix of the variants to run */
static bool quick;
static int only_dim; /* head dim of the cases; 0: all */

static bool left_out(const struct test_case *t) {
  bool large = (long)t->Tq * t->Tk > 80000 || t->H * t->D > (t->D > 200 ? 512 : 200);
  return (quick && large) || (only_dim && t->D != only_dim);
}

static bool chosen(const struct attn_device *device, const struct attn_args *args, int choice) {
  return strncmp(attention_choice_name(choice), only, strlen(only)) == 0 &&
         attention_choice_supported(device, args, choice);
}

/* ---- one variant, one case -------------------------------------------------------------------------------- */

/* True if everything outside the rows of o is still NaN, and everything inside lies between the bounds of its mean. */
static bool written_exactly(const struct problem *p, const struct expected *e, const half *out) {
  const struct attn_args *a = &p->args;
  long C = (long)a->H * a->D;
  for (int b = 0; b < a->B; b++)
    for (int t = 0; t <= a->Tq; t++)
      for (long c = 0; c < a->o_row; c++) {
        float x = out[b * a->o_batch + t * a->o_row + c];
        if (t >= a->Tq || c >= C) {
          if (isnan(x))
            continue;
          printf("  element %d %d %ld: overwritten with %g\n", b, t, c, x);
          return false;
        }
        float low = e->low[b * C + c], high = e->high[b * C + c];
        float slack = mean_tolerance * fmaxf(fabsf(low), fabsf(high));
        if (!(x >= low - slack && x <= high + slack)) {
          printf("  element %d %d %ld: %g, not written or no mean of values from %g to %g\n", b, t, c, x, low, high);
          return false;
        }
      }
  return true;
}

static double relative_error(const struct problem *p, const struct expected *e, const half *out) {
  const struct attn_args *a = &p->args;
  long C = (long)a->H * a->D;
  double error = 0, norm = 0;
  for (int b = 0; b < a->B; b++)
    for (int i = 0; i < e->count; i++)
      for (long c = 0; c < C; c++) {
        double r = e->rows[(b * e->count + i) * C + c];
        double d = out[b * a->o_batch + (e->first + (long)i * e->step) * a->o_row + c] - r;
        error += d * d;
        norm += r * r;
      }
  return sqrt(error / norm);
}

/* Bytes behind a launch's workspace, which it must not touch. */
enum { GUARD_BYTES = 4096, GUARD = 0x5a };

static void guard_set(char *workspace, size_t bytes) {
  if (bytes)
    CUDA(cudaMemset(workspace + bytes, GUARD, GUARD_BYTES));
}

static void guard_check(const char *workspace, size_t bytes, const struct test_case *t, const char *name) {
  unsigned char found[GUARD_BYTES];
  bool touched = false;
  if (!bytes)
    return;
  CUDA(cudaMemcpy(found, workspace + bytes, GUARD_BYTES, cudaMemcpyDeviceToHost));
  for (int i = 0; i < GUARD_BYTES; i++)
    touched |= found[i] != GUARD;
  if (touched) {
    test_case_print(t, name, 0, "FAILED: writes behind its workspace");
    failures++;
  }
}

/* Runs the problem with outputs that are NaN at first. choice: number of a variant; -1 - path: what attention_launch
 * chooses for that path. */
static void run_args(const struct attn_device *device, const struct problem *p, const struct attn_args *args,
                     int choice, char *workspace, half *out) {
  enum attn_path path = choice < 0 ? (enum attn_path)(-1 - choice) : ATTN_AUTO;
  size_t bytes =
      choice < 0 ? attention_workspace(device, args, path) : attention_choice_workspace(device, args, choice);
  void *used = bytes ? workspace : NULL;
  CUDA(cudaMemcpy(p->o.device, p->o.host, p->o.count * sizeof *out, cudaMemcpyHostToDevice));
  guard_set(workspace, bytes);
  CUDA(choice < 0 ? attention_launch(device, args, path, used, 0)
                  : attention_choice_launch(device, args, choice, used, 0));
  CUDA(cudaDeviceSynchronize());
  guard_check(workspace, bytes, &p->t, choice < 0 ? "automatic" : attention_choice_name(choice));
  CUDA(cudaMemcpy(out, p->o.device, p->o.count * sizeof *out, cudaMemcpyDeviceToHost));
}

static void run(const struct attn_device *device, const struct problem *p, int choice, void *workspace, half *out) {
  run_args(device, p, &p->args, choice, workspace, out);
}

/* Checks one choice. out and again have space for the results of two runs. Returns the error; 0 if only bounds are
 * known. */
static double check_choice(const struct attn_device *device, const struct problem *p, const struct expected *e,
                           int choice, void *workspace, half *out, half *again) {
  run(device, p, choice, workspace, out);
  run(device, p, choice, workspace, again);
  double error = e->rows ? relative_error(p, e, out) : 0;
  const char *verdict = NULL;
  if (!written_exactly(p, e, out))
    verdict = "FAILED";
  else if (memcmp(out, again, p->o.count * sizeof *out) != 0)
    verdict = "FAILED: differs from run to run";
  else if (!(error <= tolerance))
    verdict = "FAILED: too far from the definition";
  if (verdict) {
    test_case_print(&p->t, attention_choice_name(choice), error, verdict);
    failures++;
  }
  compared++;
  return error;
}

/* All variants on one case; worst[choice] collects the largest error. */
static void check_case(const struct attn_device *device, const struct test_case *t, void *workspace, double *worst) {
  struct problem p;
  if (left_out(t))
    return;
  problem_make(&p, t);
  struct expected e = expected_make(&p);
  half *out = malloc(p.o.count * sizeof *out), *again = malloc(p.o.count * sizeof *out);
  for (int choice = 0; attention_choice_name(choice); choice++)
    if (chosen(device, &p.args, choice)) {
      double error = check_choice(device, &p, &e, choice, workspace, out, again);
      if (error > worst[choice] || isnan(error))
        worst[choice] = error;
    }
  free(out);
  free(again);
  expected_free(&e);
  problem_free(&p);
}

/* ---- an empty bank --------------------------------------------------------------------------------------- */

static struct attn_args without_bank(const struct attn_args *args) {
  struct attn_args bare = *args;
  bare.k2 = bare.v2 = NULL;
  bare.count2 = NULL;
  bare.Tk2 = 0;
  return bare;
}

static void compare_empty(const struct attn_device *device, const struct problem *p, int choice, void *workspace,
                          half *out, half *bare_out) {
  struct attn_args bare = without_bank(&p->args);
  run_args(device, p, &p->args, choice, workspace, out);
  run_args(device, p, &bare, choice, workspace, bare_out);
  compared++;
  if (memcmp(out, bare_out, p->o.count * sizeof *out) == 0)
    return;
  test_case_print(&p->t, choice < 0 ? "automatic" : attention_choice_name(choice), 0,
                  "FAILED: with an empty bank it differs from the launch without one");
  failures++;
}

/* Checks that with an empty bank each variant and each path gives the same bits as the launch without a bank. All
 * memory of the bank is NaN. */
static void check_empty(const struct attn_device *device, const struct test_case *t, void *workspace) {
  struct problem p;
  if (left_out(t))
    return;
  problem_make(&p, t);
  half *out = malloc(p.o.count * sizeof *out), *bare = malloc(p.o.count * sizeof *bare);
  for (int choice = 0; attention_choice_name(choice); choice++)
    if (chosen(device, &p.args, choice))
      compare_empty(device, &p, choice, workspace, out, bare);
  for (int path = ATTN_AUTO; path <= ATTN_HOPPER; path++)
    if (!*only && attention_supported(device, &p.args, path))
      compare_empty(device, &p, -1 - path, workspace, out, bare);
  free(out);
  free(bare);
  problem_free(&p);
}

/* Self-attention of SD-Turbo and SDXL at 512 and 1024, of SD 1.5 with guidance, and shapes that few other cases reach.
 * Counting all keys that its bank can hold, the first one would be split over the keys; without the bank it is not. */
static const struct test_case bank_shapes[] = {
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 8192, .ring = true},
    {.B = 1, .H = 10, .Tq = 1024, .Tk = 1024, .D = 64, .Tk2 = 4096, .ring = true},
    {.B = 1, .H = 20, .Tq = 256, .Tk = 256, .D = 64, .Tk2 = 1024, .ring = true},
    {.B = 1, .H = 20, .Tq = 64, .Tk = 64, .D = 64, .Tk2 = 256, .ring = true},
    {.B = 1, .H = 10, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 4096, .ring = true},
    {.B = 1, .H = 20, .Tq = 1024, .Tk = 1024, .D = 64, .Tk2 = 4096, .ring = true},
    {.B = 2, .H = 8, .Tq = 4096, .Tk = 4096, .D = 40, .Tk2 = 4096, .ring = true},
    {.B = 2, .H = 8, .Tq = 1024, .Tk = 1024, .D = 80, .Tk2 = 4096, .ring = true},
    {.B = 2, .H = 8, .Tq = 256, .Tk = 256, .D = 160, .Tk2 = 1024, .ring = true},
    {.B = 1, .H = 8, .Tq = 2304, .Tk = 2304, .D = 128, .Tk2 = 4608},
    {.B = 1, .H = 1, .Tq = 1000, .Tk = 1000, .D = 512, .Tk2 = 3000},
    {.B = 4, .H = 20, .Tq = 256, .Tk = 256, .D = 64, .Tk2 = 1024},
    {.B = 1, .H = 2, .Tq = 130, .Tk = 77, .D = 64, .Tk2 = 300},
    {.B = 1, .H = 2, .Tq = 130, .Tk = 77, .D = 40, .Tk2 = 300},
    {.B = 1, .H = 2, .Tq = 130, .Tk = 77, .D = 160, .Tk2 = 300},
};
enum { BANK_SHAPES = sizeof bank_shapes / sizeof *bank_shapes };

static void check_empty_banks(const struct attn_device *device, void *workspace) {
  for (int i = 0; i < BANK_SHAPES; i++) {
    struct test_case t = bank_shapes[i];
    t.fused = t.H * t.D >= 320;
    t.count2 = i % 2 ? 0 : -5;
    check_empty(device, &t, workspace);
  }
}

/* Checks, without a GPU, the choice that is made for a Hopper GPU: a bank does not change the tile shape, and the
 * workspace with a bank is at least as large as without. */
static void check_bank_choice(int sms, const struct test_case *t) {
  struct attn_device device = {.capability = 90, .sms = sms, .encode_tensor_map = &device};
  struct attn_args bare = {
      .q = t, .k = t, .v = t, .o = &device, .B = t->B, .H = t->H, .Tq = t->Tq, .Tk = t->Tk, .D = t->D};
  struct attn_args with = bare;
  int count2;
  with.k2 = with.v2 = t, with.Tk2 = t->Tk2, with.count2 = &count2;
  const char *bare_name = attention_choice_name(attention_choice_auto(&device, &bare));
  const char *name = attention_choice_name(attention_choice_auto(&device, &with)), *end = strstr(name, " by count");
  size_t length = end ? (size_t)(end - name) : strlen(name);
  if (strlen(bare_name) == length && strncmp(bare_name, name, length) == 0 &&
      attention_workspace(&device, &with, ATTN_AUTO) >= attention_workspace(&device, &bare, ATTN_AUTO))
    return;
  test_case_print(t, bare_name, 0, "FAILED: a bank makes this another variant, or its workspace smaller");
  printf("  %s\n", name);
  failures++;
}

static void check_bank_choices(void) {
  static const int sms[] = {132, 114, 78, 16, 1};
  for (size_t s = 0; s < sizeof sms / sizeof *sms; s++)
    for (int i = 0; i < BANK_SHAPES; i++)
      check_bank_choice(sms[s], &bank_shapes[i]);
}

/* ---- graphs ---------------------------------------------------------------------------------------------- */

/* Two launches of one variant; the second reads the results of the first as its queries. */
struct chain {
  const struct attn_device *device;
  struct problem *p;
  struct attn_args second;
  size_t bytes; /* size of the result of one launch */
  int choice;
  void *workspace;
  cudaStream_t stream;
};

static void chain_enqueue(const struct chain *c) {
  CUDA(attention_choice_launch(c->device, &c->p->args, c->choice, c->workspace, c->stream));
  CUDA(attention_choice_launch(c->device, &c->second, c->choice, c->workspace, c->stream));
}

static cudaGraphExec_t chain_capture(const struct chain *c) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
  chain_enqueue(c);
  CUDA(cudaStreamEndCapture(c->stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  CUDA(cudaGraphDestroy(graph));
  return exec;
}

/* Runs both launches into memory that is NaN: by replaying exec, or directly if it is NULL. */
static void chain_run(const struct chain *c, cudaGraphExec_t exec, half *out) {
  CUDA(cudaMemsetAsync(c->p->args.o, 0xff, c->bytes, c->stream));
  CUDA(cudaMemsetAsync(c->second.o, 0xff, c->bytes, c->stream));
  if (exec)
    CUDA(cudaGraphLaunch(exec, c->stream));
  else
    chain_enqueue(c);
  CUDA(cudaStreamSynchronize(c->stream));
  CUDA(cudaMemcpy(out, c->second.o, c->bytes, cudaMemcpyDeviceToHost));
}

static void negate_queries(struct problem *p) {
  for (size_t i = 0; i < p->q.count; i++)
    p->q.host[i] = -p->q.host[i];
  operand_upload(&p->q);
}

static void expect_equal(const struct chain *c, const half *direct, const half *replayed, bool equal,
                         const char *otherwise) {
  compared++;
  if ((memcmp(direct, replayed, c->bytes) == 0) == equal)
    return;
  test_case_print(&c->p->t, attention_choice_name(c->choice), 0, otherwise);
  failures++;
}

/* Checks that replays equal direct launches in all bits for each count of the bank's rows, and that another input gives
 * another result. */
static void check_chain(const struct chain *c) {
  half *direct = malloc(c->bytes), *replayed = malloc(c->bytes);
  cudaGraphExec_t exec = chain_capture(c);
  struct test_case *t = &c->p->t;
  const int counts[] = {0, t->Tk2 / 2 + 1, t->Tk2};
  for (int i = t->Tk2 ? 0 : 2; i < 3; i++) {
    t->count2 = counts[i];
    if (t->Tk2)
      CUDA(cudaMemcpy(c->p->count2, &t->count2, sizeof t->count2, cudaMemcpyHostToDevice));
    chain_run(c, NULL, direct);
    chain_run(c, exec, replayed);
    expect_equal(c, direct, replayed, true, "FAILED: a graph's replay differs from direct launches");
  }
  negate_queries(c->p);
  chain_run(c, exec, replayed);
  expect_equal(c, direct, replayed, false, "FAILED: a graph's replay ignores its input");
  CUDA(cudaGraphExecDestroy(exec));
  free(direct);
  free(replayed);
}

/* The cases that are captured. Those with a bank fill all of its rows; check_chain sets how many take part. */
static const struct test_case graph_cases[] = {
    {.B = 1, .H = 3, .Tq = 700, .Tk = 700, .D = 64},
    {.B = 1, .H = 5, .Tq = 2048, .Tk = 2048, .D = 64},
    {.B = 1, .H = 2, .Tq = 130, .Tk = 77, .D = 64, .Tk2 = 300, .count2 = 300},
    {.B = 1, .H = 3, .Tq = 1000, .Tk = 1000, .D = 64, .Tk2 = 2000, .count2 = 2000},
    {.B = 1, .H = 1, .Tq = 1000, .Tk = 1000, .D = 512},
    {.B = 1, .H = 20, .Tq = 64, .Tk = 64, .D = 64},
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 77, .D = 64},
    {.B = 1, .H = 8, .Tq = 1024, .Tk = 1024, .D = 80},
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 8192, .count2 = 8192},
};

static void check_graph_case(const struct attn_device *device, const struct test_case *t, void *workspace,
                             cudaStream_t stream) {
  struct problem p;
  if (left_out(t))
    return;
  problem_make(&p, t);
  struct chain c = {device, &p, p.args, p.o.count * sizeof(half), 0, workspace, stream};
  c.second.q = p.args.o, c.second.q_row = p.args.o_row, c.second.q_batch = p.args.o_batch;
  CUDA(cudaMalloc(&c.second.o, c.bytes));
  for (; attention_choice_name(c.choice); c.choice++)
    if (chosen(device, &p.args, c.choice))
      check_chain(&c);
  CUDA(cudaFree(c.second.o));
  problem_free(&p);
}

static void check_graphs(const struct attn_device *device, void *workspace) {
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  for (size_t i = 0; i < sizeof graph_cases / sizeof *graph_cases; i++)
    check_graph_case(device, &graph_cases[i], workspace, stream);
  CUDA(cudaStreamDestroy(stream));
}

/* ---- problems that are refused --------------------------------------------------------------------------- */

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
  struct attn_args bad[] = {good, good, good, good, good, good, good, good};
  int bad_count = sizeof bad / sizeof *bad;
  bad[0].D = 520;
  bad[1].D = 60;
  bad[2].q = (char *)dummy + 2;
  bad[3].k2 = bad[3].v2 = (void *)256, bad[3].Tk2 = 1;
  bad[4].scale = 0;
  bad[5].scale = -1;
  bad[6].scale = INFINITY;
  bad[7].scale = NAN;
  if (!attention_supported(device, &good, ATTN_AUTO)) {
    printf("a good problem is refused: FAILED\n");
    failures++;
  }
  for (int i = 0; i < bad_count; i++)
    if (attention_supported(device, &bad[i], ATTN_AUTO) ||
        attention_launch(device, &bad[i], ATTN_AUTO, NULL, 0) != cudaErrorNotSupported) {
      printf("bad problem %d is accepted: FAILED\n", i);
      failures++;
    }
}

/* ---- the cases ------------------------------------------------------------------------------------------- */

static const struct test_case special_cases[] = {
    {.B = 1, .H = 1, .Tq = 100, .Tk = 300, .D = 64, .fill = FILL_HUGE_STEP, .scale = (float)M_LN2},
    {.B = 1, .H = 1, .Tq = 100, .Tk = 300, .D = 160, .fill = FILL_HUGE_STEP, .scale = (float)M_LN2},
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
    /* the smallest count at which the keys are split over thread blocks */
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 8192, .count2 = 2049, .ring = true},
    {.B = 1, .H = 5, .Tq = 4096, .Tk = 4096, .D = 64, .Tk2 = 4096, .count2 = 9000, .ring = true},
    {.B = 1, .H = 10, .Tq = 1024, .Tk = 1024, .D = 64, .Tk2 = 2048, .count2 = 1, .rows2 = 1024, .ring = true},
    {.B = 1, .H = 20, .Tq = 256, .Tk = 256, .D = 64, .Tk2 = 512, .count2 = 3, .rows2 = 256, .ring = true},
    {.B = 2, .H = 8, .Tq = 1024, .Tk = 1024, .D = 80, .Tk2 = 2048, .count2 = 1, .rows2 = 1024, .ring = true},
    {.B = 3, .H = 8, .Tq = 256, .Tk = 256, .D = 160, .Tk2 = 512, .count2 = 300, .ring = true, .fused = true},
    {.B = 2, .H = 8, .Tq = 4096, .Tk = 4096, .D = 40, .Tk2 = 4096, .count2 = 4000, .ring = true, .fused = true},
    {.B = 2, .H = 2, .Tq = 300, .Tk = 300, .D = 64, .Tk2 = 600, .count2 = 345, .ring = true},
    {.B = 2, .H = 2, .Tq = 300, .Tk = 300, .D = 64, .Tk2 = 700, .count2 = 9, .rows2 = 300, .ring = true},
    {.B = 1, .H = 2, .Tq = 77, .Tk = 77, .D = 80, .Tk2 = 231, .count2 = 2, .rows2 = 77},
    {.B = 2, .H = 1, .Tq = 150, .Tk = 150, .D = 512, .Tk2 = 700, .count2 = 650, .ring = true},
    {.B = 1, .H = 10, .Tq = 1024, .Tk = 1024, .D = 64, .fused = true},
    {.B = 1, .H = 1, .Tq = 4096, .Tk = 4096, .D = 512, .fused = true},
    {.B = 1, .H = 1, .Tq = 9216, .Tk = 9216, .D = 512},
    {.B = 1, .H = 1, .Tq = 16384, .Tk = 16384, .D = 64},
    {.B = 1, .H = 1, .Tq = 16384, .Tk = 16384, .D = 64, .fill = FILL_HUGE_RISING},
    {.B = 1, .H = 1, .Tq = 300, .Tk = 16384, .D = 40},
    {.B = 1, .H = 1, .Tq = 16384, .Tk = 77, .D = 64},
};

/* Head dims and lengths with which each kind of values is tried. */
static const int main_dims[] = {40, 64, 80, 128, 160, 512};
static const int main_lengths[][2] = {{1, 77}, {77, 113}, {113, 1}, {1023, 1023}, {64, 4097}, {4097, 113}};
enum { MAIN_DIMS = sizeof main_dims / sizeof *main_dims, MAIN_LENGTHS = sizeof main_lengths / sizeof *main_lengths };

static void check_shapes(const struct attn_device *device, void *workspace, double *worst) {
  static const int dims[] = {32, 40, 48, 64, 72, 80, 96, 104, 128, 160, 200, 320, 512};
  static const int lengths[][2] = {{1, 1},     {1, 77},      {64, 64},     {77, 1},    {77, 113},    {113, 77},
                                   {257, 128}, {1023, 1023}, {1024, 1024}, {64, 4097}, {4097, 1023}, {4097, 4097}};
  for (size_t d = 0; d < sizeof dims / sizeof *dims; d++)
    for (size_t l = 0; l < sizeof lengths / sizeof *lengths; l++) {
      struct test_case t = {.B = 1, .H = dims[d] > 160 ? 1 : 2, .Tq = lengths[l][0], .Tk = lengths[l][1], .D = dims[d]};
      check_case(device, &t, workspace, worst);
    }
}

/* scale 0: 1 / sqrt(D). */
static void check_values(const struct attn_device *device, enum fill fill, float scale, void *workspace,
                         double *worst) {
  for (int d = 0; d < MAIN_DIMS; d++)
    for (int l = 0; l < MAIN_LENGTHS; l++) {
      struct test_case t = {.B = 1, .H = 1, .Tq = main_lengths[l][0], .Tk = main_lengths[l][1], .D = main_dims[d]};
      t.fill = fill;
      t.scale = scale;
      check_case(device, &t, workspace, worst);
    }
}

/* Tries unusual scales: with some, scores that FP32 holds overflow once they are scaled, in either direction, or lie
 * far from 0 only before; one is the largest scale; with one, the next score after a huge maximum is 2^16 times as
 * likely, which must not be taken for the factor of 2^8 that probabilities may reach. */
static void check_scales(const struct attn_device *device, void *workspace, double *worst) {
  static const struct {
    enum fill fill;
    float scale;
  } scales[] = {{FILL_COARSE, 1e30f},
                {FILL_COARSE, FLT_MAX},
                {FILL_HUGE, 1e32f},
                {FILL_HUGE, 0x1p-33f},
                {FILL_HUGE_STEP, (float)M_LN2}};
  for (size_t i = 0; i < sizeof scales / sizeof *scales; i++)
    check_values(device, scales[i].fill, scales[i].scale, workspace, worst);
}

static void check_banks(const struct attn_device *device, void *workspace, double *worst) {
  static const int counts[] = {-1, 0, 1, 16, 63, 64, 79, 80, 81, 127, 128, 129, 159, 160, 200, 299, 300, 301};
  static const enum fill fills[] = {FILL_NORMAL, FILL_LARGE, FILL_HUGE_RISING};
  for (int d = 0; d < MAIN_DIMS; d++)
    for (size_t c = 0; c < sizeof counts / sizeof *counts; c++)
      for (size_t f = 0; f < sizeof fills / sizeof *fills; f++) {
        struct test_case t = {.B = 1, .H = 1, .Tq = 130, .Tk = 77, .D = main_dims[d], .Tk2 = 300, .count2 = counts[c]};
        t.fill = fills[f];
        check_case(device, &t, workspace, worst);
      }
}

static void check_all(const struct attn_device *device, void *workspace, double *worst) {
  check_refusals(device);
  check_shapes(device, workspace, worst);
  for (enum fill fill = FILL_LARGE; fill <= FILL_LARGEST; fill++)
    check_values(device, fill, 0, workspace, worst);
  check_scales(device, workspace, worst);
  check_banks(device, workspace, worst);
  for (size_t i = 0; i < sizeof special_cases / sizeof *special_cases; i++)
    check_case(device, &special_cases[i], workspace, worst);
  check_empty_banks(device, workspace);
  check_graphs(device, workspace);
}

static bool parse(int argc, char **argv) {
  only = argc > 1 ? argv[1] : "";
  for (int i = 2; i < argc; i++)
    if (strcmp(argv[i], "quick") == 0)
      quick = true;
    else if ((only_dim = atoi(argv[i])) <= 0)
      return false;
  return true;
}

int main(int argc, char **argv) {
  int count = 0;
  struct attn_device device;
  if (!parse(argc, argv)) {
    fprintf(stderr, "usage: test_attention [PREFIX [quick] [D]]\n");
    return 2;
  }
  setvbuf(stdout, NULL, _IOLBF, 0);
  check_bank_choices();
  if (failures)
    return 1;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    printf("test_attention: skipped: no GPU\n");
    return SKIPPED;
  }
  CUDA(attention_open(&device));
  printf("compute capability %d, %d multiprocessors, Hopper path %s\n", device.capability, device.sms,
         device.encode_tensor_map ? "on" : "off");
  if (device.capability == 90 && !device.encode_tensor_map && strncmp(only, "sm80", 4)) {
    printf("FAILED: a Hopper GPU, and no kernels for it in this program; build with -Dgpu_archs=90a\n");
    return 1;
  }
  void *workspace; /* zeroed once and used by all launches */
  size_t bytes = 256 << 20;
  CUDA(cudaMalloc(&workspace, bytes));
  CUDA(cudaMemset(workspace, 0, bytes));
  double worst[CHOICES_MAX] = {0};
  check_all(&device, workspace, worst);
  for (int choice = 0; attention_choice_name(choice); choice++)
    if (worst[choice] > 0)
      printf("%-20s worst relative error %.2e (limit %.2e)\n", attention_choice_name(choice), worst[choice], tolerance);
  CUDA(cudaFree(workspace));
  if (!compared) {
    printf("FAILED: nothing was compared: no variant that runs here begins with '%s', or none has that head dim\n",
           only);
    return 1;
  }
  printf("%s: %d failures in %d comparisons\n", failures ? "FAILED" : "passed", failures, compared);
  return failures != 0;
}
