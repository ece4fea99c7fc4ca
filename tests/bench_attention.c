/* Times attention at the shapes of diffusion. Every call reads what the call before wrote, inside one captured graph,
 * so calls cannot overlap; figures are medians over replays, by events.
 *
 *   bench_attention          a table: the automatic choice, with and without programmatic launch
 *   bench_attention --all [PREFIX]  every variant as well (those whose name begins so)
 *   bench_attention --lines  "heads Tq Tk D microseconds" lines, for peers_attention.py
 *   bench_attention --apply H Tq Tk D   no times: reads q, k and v (dense rows of FP16) from standard input and writes
 *                            o to standard output, for peers_attention.py to compare */
#include "attention/choices.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__extension__ typedef _Float16 half;

enum { SKIPPED = 77, CALLS = 20, REPLAYS = 31 };

struct shape {
  int H, Tq, Tk, D;
  int bank; /* of the Tk keys so many are in the second segment */
};

static const struct shape shapes[] = {
    {5, 4096, 4096, 64},  {10, 1024, 1024, 64}, {20, 256, 256, 64},   {20, 64, 64, 64},           {5, 4096, 77, 64},
    {10, 1024, 77, 64},   {20, 256, 77, 64},    {5, 9216, 9216, 64},  {5, 4096, 12288, 64, 8192}, {8, 4096, 4096, 40},
    {8, 1024, 1024, 80},  {8, 256, 256, 160},   {8, 4096, 77, 40},    {8, 1024, 77, 80},          {8, 256, 77, 160},
    {8, 4096, 4096, 128}, {2, 4096, 4096, 64},  {2, 1024, 1024, 64},  {3, 256, 256, 64},          {12, 77, 77, 64},
    {1, 4096, 4096, 512}, {1, 1024, 1024, 512}, {1, 9216, 9216, 512},
};

#define CUDA(call)                                                                                                     \
  do {                                                                                                                 \
    cudaError_t status_ = (call);                                                                                      \
    if (status_ != cudaSuccess) {                                                                                      \
      fprintf(stderr, "bench_attention: %s:%d: %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(status_));     \
      exit(1);                                                                                                         \
    }                                                                                                                  \
  } while (0)

static double normal(void) {
  static uint64_t state = 7;
  double u[2];
  for (int i = 0; i < 2; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    u[i] = ((state >> 33) + 0.5) / 2147483648.0;
  }
  return sqrt(-2 * log(u[0])) * cos(2 * M_PI * u[1]);
}

/* Normal values. offset: one more normal value a channel, the same for all rows: means of such rows, which are the
 * queries of the next call, keep their size. */
static void *random_rows(int rows, int channels, bool offset) {
  size_t count = (size_t)rows * channels;
  half *host = malloc(count * sizeof *host);
  double *common = calloc(channels, sizeof *common);
  for (int c = 0; offset && c < channels; c++)
    common[c] = normal();
  for (size_t i = 0; i < count; i++)
    host[i] = (half)(normal() + common[i % channels]);
  void *device;
  CUDA(cudaMalloc(&device, count * sizeof *host));
  CUDA(cudaMemcpy(device, host, count * sizeof *host, cudaMemcpyHostToDevice));
  free(host);
  free(common);
  return device;
}

struct bench {
  struct attn_device device;
  void *workspace;
  cudaStream_t stream;
};

static int compare(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static float median_replay(struct bench *b, cudaGraphExec_t exec) {
  float times[REPLAYS];
  cudaEvent_t start, end;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  for (int i = -3; i < REPLAYS; i++) {
    CUDA(cudaEventRecord(start, b->stream));
    CUDA(cudaGraphLaunch(exec, b->stream));
    CUDA(cudaEventRecord(end, b->stream));
    CUDA(cudaEventSynchronize(end));
    if (i >= 0)
      CUDA(cudaEventElapsedTime(&times[i], start, end));
  }
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(end));
  qsort(times, REPLAYS, sizeof *times, compare);
  return times[REPLAYS / 2];
}

/* Microseconds a call. */
static double time_choice(struct bench *b, const struct attn_args *args, int choice) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  struct attn_args call = *args;
  CUDA(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < CALLS; i++) {
    CUDA(attention_choice_launch(&b->device, &call, choice, b->workspace, b->stream));
    const void *written = call.o;
    call.o = (void *)call.q;
    call.q = written;
  }
  CUDA(cudaStreamEndCapture(b->stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  double us = median_replay(b, exec) * 1000 / CALLS;
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  return us;
}

static struct attn_args shape_args(const struct shape *s, int *count2) {
  int C = s->H * s->D, Tk = s->Tk - s->bank;
  struct attn_args a = {.B = 1, .H = s->H, .Tq = s->Tq, .Tk = Tk, .D = s->D, .scale = 1 / sqrtf(s->D)};
  a.q = random_rows(s->Tq, C, true);
  a.o = random_rows(s->Tq, C, true);
  a.k = random_rows(Tk, C, false);
  a.v = random_rows(Tk, C, true);
  a.q_row = a.k_row = a.v_row = a.o_row = C;
  if (s->bank) {
    a.k2 = random_rows(s->bank, C, false);
    a.v2 = random_rows(s->bank, C, true);
    a.k2_row = a.v2_row = C;
    a.Tk2 = s->bank;
    a.count2 = count2;
    CUDA(cudaMemcpy(count2, &s->bank, sizeof s->bank, cudaMemcpyHostToDevice));
  }
  return a;
}

static void free_args(const struct attn_args *a) {
  const void *all[] = {a->q, a->o, a->k, a->v, a->k2, a->v2};
  for (int i = 0; i < 6; i++)
    CUDA(cudaFree((void *)all[i]));
}

/* every: prefix of the variants to time as well; NULL: none. */
static void bench_shape(struct bench *b, const struct shape *s, int *count2, const char *every, bool lines) {
  struct attn_args a = shape_args(s, count2);
  int choice = attention_choice_auto(&b->device, &a);
  double us = time_choice(b, &a, choice), flop = 4.0 * s->H * s->Tq * s->Tk * s->D;
  if (lines) {
    printf("%d %d %d %d %.2f\n", s->H, s->Tq, s->Tk, s->D, us);
  } else {
    bool overlap = b->device.overlap;
    b->device.overlap = false;
    double plain = time_choice(b, &a, choice);
    b->device.overlap = overlap;
    printf("%2d x %5d x %5d D %3d%s  %-20s %7.2f us  %6.1f TFLOP/s  plain launch %7.2f\n", s->H, s->Tq, s->Tk, s->D,
           s->bank ? " bank" : "     ", attention_choice_name(choice), us, flop / us * 1e-6, plain);
  }
  for (int c = 0; every && attention_choice_name(c); c++)
    if (strncmp(attention_choice_name(c), every, strlen(every)) == 0 && attention_choice_supported(&b->device, &a, c)) {
      us = time_choice(b, &a, c);
      printf("    %-20s %7.2f us  %6.1f TFLOP/s\n", attention_choice_name(c), us, flop / us * 1e-6);
    }
  free_args(&a);
}

static void *read_rows(int rows, int channels) {
  size_t bytes = (size_t)rows * channels * sizeof(half);
  void *host = malloc(bytes), *device;
  if (fread(host, 1, bytes, stdin) != bytes) {
    fprintf(stderr, "bench_attention: the input ends early; give q, k and v as dense rows of FP16\n");
    exit(1);
  }
  CUDA(cudaMalloc(&device, bytes));
  CUDA(cudaMemcpy(device, host, bytes, cudaMemcpyHostToDevice));
  free(host);
  return device;
}

static void apply(struct bench *b, const struct shape *s) {
  int C = s->H * s->D;
  size_t bytes = (size_t)s->Tq * C * sizeof(half);
  struct attn_args a = {.B = 1, .H = s->H, .Tq = s->Tq, .Tk = s->Tk, .D = s->D, .scale = 1 / sqrtf(s->D)};
  a.q_row = a.k_row = a.v_row = a.o_row = C;
  a.q = read_rows(s->Tq, C);
  a.k = read_rows(s->Tk, C);
  a.v = read_rows(s->Tk, C);
  CUDA(cudaMalloc(&a.o, bytes));
  CUDA(attention_launch(&b->device, &a, ATTN_AUTO, b->workspace, b->stream));
  CUDA(cudaStreamSynchronize(b->stream));
  void *host = malloc(bytes);
  CUDA(cudaMemcpy(host, a.o, bytes, cudaMemcpyDeviceToHost));
  fwrite(host, 1, bytes, stdout);
  free(host);
  free_args(&a);
}

int main(int argc, char **argv) {
  const char *every = argc > 1 && strcmp(argv[1], "--all") == 0 ? (argc > 2 ? argv[2] : "") : NULL;
  bool lines = argc > 1 && strcmp(argv[1], "--lines") == 0;
  int count = 0, *count2;
  struct bench b;
  if (cudaGetDeviceCount(&count) != cudaSuccess || count == 0) {
    printf("bench_attention: skipped: no GPU\n");
    return SKIPPED;
  }
  size_t bytes = 256 << 20;
  CUDA(attention_open(&b.device));
  CUDA(cudaMalloc(&b.workspace, bytes));
  CUDA(cudaMemset(b.workspace, 0, bytes));
  CUDA(cudaMalloc((void **)&count2, sizeof *count2));
  CUDA(cudaStreamCreateWithFlags(&b.stream, cudaStreamNonBlocking));
  bool applying = argc == 6 && strcmp(argv[1], "--apply") == 0;
  if (applying)
    apply(&b, &(struct shape){atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), 0});
  for (size_t i = 0; !applying && i < sizeof shapes / sizeof *shapes; i++)
    bench_shape(&b, &shapes[i], count2, every, lines);
  CUDA(cudaStreamDestroy(b.stream));
  CUDA(cudaFree(count2));
  CUDA(cudaFree(b.workspace));
  return 0;
}
