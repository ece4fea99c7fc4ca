/* Times attention at the shapes of diffusion networks. One captured graph holds several calls, and each reads what the
 * call before wrote, so that calls cannot overlap. The figures are medians and 99th percentiles over replays of the
 * graph, timed by events and divided by the number of calls.
 *
 *   bench_attention          prints a table of the automatic choice with and without programmatic launch, beside the
 *                            shortest possible time; then one of second segments: without the segment, and with none,
 *                            half and all of its keys
 *   bench_attention --banks  prints only the table of second segments
 *   bench_attention --all [PREFIX]  times every variant as well, or those whose name begins with PREFIX
 *   bench_attention --lines  prints lines "heads Tq Tk D median p99" in microseconds, for peers_attention.py
 *   bench_attention --apply H Tq Tk D   times nothing: reads q, k and v (dense rows of FP16) from standard input and
 *                            writes o to standard output, where peers_attention.py compares it */
#include "attention/choices.h"
#include "tests/rigs/attention_util.h"

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A replay runs CALLS calls. Where one replay takes longer than LONG_REPLAY milliseconds, only LONG_REPLAYS are timed,
 * and the 99th percentile is then the slowest of them. */
enum { SKIPPED = 77, CALLS = 20, WARM_UPS = 3, REPLAYS = 101, LONG_REPLAYS = 31, LONG_REPLAY = 2 };

/* Number of multiplications and additions of dense FP16 that one multiprocessor of compute capability 9.0 does in a
 * cycle. */
enum { HOPPER_OPERATIONS = 4096 };

struct shape {
  int H, Tq, Tk, D;
  int bank; /* how many of the Tk keys are in the second segment */
};

static const struct shape shapes[] = {
    {5, 4096, 4096, 64}, {10, 1024, 1024, 64}, {20, 256, 256, 64},   {20, 64, 64, 64},           {5, 4096, 77, 64},
    {10, 1024, 77, 64},  {20, 256, 77, 64},    {5, 9216, 9216, 64},  {5, 4096, 12288, 64, 8192}, {5, 16384, 16384, 64},
    {5, 16384, 77, 64},  {8, 4096, 4096, 40},  {8, 1024, 1024, 80},  {8, 256, 256, 160},         {8, 4096, 77, 40},
    {8, 1024, 77, 80},   {8, 256, 77, 160},    {8, 4096, 4096, 128}, {2, 4096, 4096, 64},        {2, 1024, 1024, 64},
    {3, 256, 256, 64},   {12, 77, 77, 64},     {1, 4096, 4096, 512}, {1, 1024, 1024, 512},       {1, 9216, 9216, 512},
};

/* Self-attention with a bank of earlier frames: SD-Turbo and SD 1.5 at 512x512, SDXL at 1024x1024. */
static const struct shape bank_shapes[] = {
    {5, 4096, 8192, 64, 4096}, {5, 4096, 12288, 64, 8192}, {10, 1024, 2048, 64, 1024}, {10, 1024, 3072, 64, 2048},
    {20, 256, 512, 64, 256},   {20, 256, 768, 64, 512},    {8, 4096, 8192, 40, 4096},  {8, 1024, 2048, 80, 1024},
    {8, 256, 512, 160, 256},   {10, 4096, 8192, 64, 4096}, {20, 1024, 2048, 64, 1024}, {20, 1024, 3072, 64, 2048},
};

/* Allocates device memory and fills it with normally distributed values. offset: adds to each channel one more such
 * value, the same for all rows. The output of attention is a mean of such rows and becomes the queries of the next
 * call; without the offset it would shrink from call to call. */
static void *random_rows(int rows, int channels, bool offset) {
  size_t count = (size_t)rows * channels;
  half *host = malloc(count * sizeof *host);
  double *common = calloc(channels, sizeof *common);
  for (int c = 0; offset && c < channels; c++)
    common[c] = random_normal();
  for (size_t i = 0; i < count; i++)
    host[i] = (half)(random_normal() + common[i % channels]);
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
  double flops; /* most operations of the device in a second; 0: not known */
  double bytes; /* bytes that a copy on the device reads and writes in a second */
};

/* Times of one call, in microseconds. */
struct timing {
  double median, p99;
};

static int compare(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static float time_replay(struct bench *b, cudaGraphExec_t exec, cudaEvent_t start, cudaEvent_t end) {
  float ms;
  CUDA(cudaEventRecord(start, b->stream));
  CUDA(cudaGraphLaunch(exec, b->stream));
  CUDA(cudaEventRecord(end, b->stream));
  CUDA(cudaEventSynchronize(end));
  CUDA(cudaEventElapsedTime(&ms, start, end));
  return ms;
}

static struct timing time_replays(struct bench *b, cudaGraphExec_t exec) {
  float times[REPLAYS], warm = 0;
  cudaEvent_t start, end;
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  for (int i = 0; i < WARM_UPS; i++)
    warm = time_replay(b, exec, start, end);
  int replays = warm > LONG_REPLAY ? LONG_REPLAYS : REPLAYS;
  for (int i = 0; i < replays; i++)
    times[i] = time_replay(b, exec, start, end);
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(end));
  qsort(times, replays, sizeof *times, compare);
  return (struct timing){1e3 * times[replays / 2], 1e3 * times[(99 * replays + 99) / 100 - 1]};
}

/* Ends the capture of the stream and times replays of the captured graph. */
static struct timing time_captured(struct bench *b) {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  CUDA(cudaStreamEndCapture(b->stream, &graph));
  CUDA(cudaGraphInstantiate(&exec, graph, 0));
  struct timing t = time_replays(b, exec);
  CUDA(cudaGraphExecDestroy(exec));
  CUDA(cudaGraphDestroy(graph));
  return t;
}

/* Times CALLS launches of one choice in a graph, each of which reads what the one before wrote. Returns the time of
 * one. */
static struct timing time_choice(struct bench *b, const struct attn_args *args, int choice) {
  struct attn_args call = *args;
  CUDA(cudaStreamBeginCapture(b->stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < CALLS; i++) {
    CUDA(attention_choice_launch(&b->device, &call, choice, b->workspace, b->stream));
    const void *written = call.o;
    call.o = (void *)call.q;
    call.q = written;
  }
  struct timing t = time_captured(b);
  return (struct timing){t.median / CALLS, t.p99 / CALLS};
}

static struct timing time_plain_launch(struct bench *b, const struct attn_args *args, int choice) {
  bool overlap = b->device.overlap;
  b->device.overlap = false;
  struct timing t = time_choice(b, args, choice);
  b->device.overlap = overlap;
  return t;
}

/* Copies memory much larger than the caches and returns the bytes a second of the fastest copy, those read and those
 * written together. */
static double copy_rate(struct bench *b) {
  size_t size = 512 << 20;
  float best = INFINITY;
  void *from, *to;
  cudaEvent_t start, end;
  CUDA(cudaMalloc(&from, size));
  CUDA(cudaMalloc(&to, size));
  CUDA(cudaMemset(from, 0, size));
  CUDA(cudaEventCreate(&start));
  CUDA(cudaEventCreate(&end));
  for (int i = 0; i < 8; i++) {
    float ms;
    CUDA(cudaEventRecord(start, b->stream));
    CUDA(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, b->stream));
    CUDA(cudaEventRecord(end, b->stream));
    CUDA(cudaEventSynchronize(end));
    CUDA(cudaEventElapsedTime(&ms, start, end));
    best = fminf(best, ms);
  }
  CUDA(cudaEventDestroy(start));
  CUDA(cudaEventDestroy(end));
  CUDA(cudaFree(from));
  CUDA(cudaFree(to));
  return 2.0 * size / best * 1e3;
}

static double flop_of(const struct shape *s) {
  return 4.0 * s->H * s->Tq * s->Tk * s->D;
}

/* Returns the shortest time that the device's arithmetic and memory allow, in microseconds; 0: not known. */
static double floor_of(const struct bench *b, const struct shape *s) {
  if (b->flops == 0)
    return 0;
  return 1e6 * fmax(flop_of(s) / b->flops, 2.0 * s->H * s->D * (2.0 * s->Tq + 2.0 * s->Tk) / b->bytes);
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
    a.k2 = random_rows(s->bank, 2 * C, true); /* K and V of a key side by side in one tensor */
    a.v2 = (const half *)a.k2 + C;
    a.k2_row = a.v2_row = 2 * C;
    a.Tk2 = s->bank;
    a.count2 = count2;
    CUDA(cudaMemcpy(count2, &s->bank, sizeof s->bank, cudaMemcpyHostToDevice));
  }
  return a;
}

static void free_args(const struct attn_args *a) {
  const void *all[] = {a->q, a->o, a->k, a->v, a->k2};
  for (int i = 0; i < 5; i++)
    CUDA(cudaFree((void *)all[i]));
}

static void print_head(struct bench *b) {
  struct cudaDeviceProp properties;
  int index, khz;
  CUDA(cudaGetDevice(&index));
  CUDA(cudaGetDeviceProperties(&properties, index));
  CUDA(cudaDeviceGetAttribute(&khz, cudaDevAttrClockRate, index));
  b->bytes = copy_rate(b);
  if (b->device.capability == 90)
    b->flops = 1e3 * khz * HOPPER_OPERATIONS * b->device.sms;
  printf("%s, %d multiprocessors, nominal clock %d MHz, copies %.2f TB/s\n", properties.name, b->device.sms, khz / 1000,
         b->bytes * 1e-12);
  printf(
      "Microseconds a call, in graphs of %d calls. p99: over %d replays, the slowest of %d where one takes more than "
      "%d ms.\n",
      CALLS, REPLAYS, LONG_REPLAYS, LONG_REPLAY);
  if (b->flops != 0)
    printf("floor: the longer of the arithmetic at %d operations a cycle and multiprocessor (%.0f TFLOP/s at the "
           "nominal clock,\nwhich no chip under load holds), and of q, k, v and o moved once at the rate of copies.\n",
           HOPPER_OPERATIONS, b->flops * 1e-12);
  printf("plain: without programmatic launch.\n%2s x %5s x %5s D %3s       %-20s %8s %8s %8s %8s %8s %8s\n", "H", "Tq",
         "Tk", "", "", "median", "p99", "floor", "TFLOP/s", "plain", "p99");
}

static void print_timing(const struct shape *s, const char *name, struct timing t, double floor) {
  printf("%-20s %8.2f %8.2f ", name, t.median, t.p99);
  if (floor > 0)
    printf("%8.2f", floor);
  else
    printf("%8s", "-");
  printf(" %8.1f", flop_of(s) / t.median * 1e-6);
}

/* Prints the times of one shape. every: also times all variants whose names begin with it; NULL: none of them. */
static void bench_shape(struct bench *b, const struct shape *s, int *count2, const char *every, bool lines) {
  struct attn_args a = shape_args(s, count2);
  int choice = attention_choice_auto(&b->device, &a);
  struct timing t = time_choice(b, &a, choice);
  if (lines) {
    printf("%d %d %d %d %.2f %.2f\n", s->H, s->Tq, s->Tk, s->D, t.median, t.p99);
  } else {
    struct timing plain = time_plain_launch(b, &a, choice);
    printf("%2d x %5d x %5d D %3d%s  ", s->H, s->Tq, s->Tk, s->D, s->bank ? " bank" : "     ");
    print_timing(s, attention_choice_name(choice), t, floor_of(b, s));
    printf(" %8.2f %8.2f\n", plain.median, plain.p99);
  }
  for (int c = 0; every && attention_choice_name(c); c++)
    if (strncmp(attention_choice_name(c), every, strlen(every)) == 0 && attention_choice_supported(&b->device, &a, c)) {
      printf("%31s", "");
      print_timing(s, attention_choice_name(c), time_choice(b, &a, c), floor_of(b, s));
      printf("\n");
    }
  free_args(&a);
}

static struct timing time_count(struct bench *b, const struct attn_args *args, int *count2, int count) {
  CUDA(cudaMemcpy(count2, &count, sizeof count, cudaMemcpyHostToDevice));
  return time_choice(b, args, attention_choice_auto(&b->device, args));
}

/* Times the launch without a second segment, then with none, half and all of its keys. */
static void bench_bank(struct bench *b, const struct shape *s, int *count2) {
  struct attn_args a = shape_args(s, count2), bare = a;
  bare.k2 = bare.v2 = NULL;
  struct timing t[4] = {time_choice(b, &bare, attention_choice_auto(&b->device, &bare))};
  for (int i = 0; i < 3; i++)
    t[1 + i] = time_count(b, &a, count2, s->bank / 2 * i);
  printf("%2d x %5d x %5d + %5d D %3d  %-20s", s->H, s->Tq, s->Tk - s->bank, s->bank, s->D,
         attention_choice_name(attention_choice_auto(&b->device, &a)));
  for (int i = 0; i < 4; i++)
    printf(" %8.2f %8.2f", t[i].median, t[i].p99);
  printf(" %8.2f\n", floor_of(b, s));
  free_args(&a);
}

static void bench_banks(struct bench *b, int *count2) {
  printf("\nA second segment: the launch without it, then with none, half and all of its keys; the floor is of all.\n"
         "%34s  %-20s %8s %8s %8s %8s %8s %8s %8s %8s %8s\n",
         "H, Tq, Tk, Tk2, D", "", "without", "p99", "none", "p99", "half", "p99", "all", "p99", "floor");
  for (size_t i = 0; i < sizeof bank_shapes / sizeof *bank_shapes; i++)
    bench_bank(b, &bank_shapes[i], count2);
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
  struct bench b = {0};
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
  bool applying = argc == 6 && strcmp(argv[1], "--apply") == 0, banks = argc > 1 && strcmp(argv[1], "--banks") == 0;
  if (applying)
    apply(&b, &(struct shape){atoi(argv[2]), atoi(argv[3]), atoi(argv[4]), atoi(argv[5]), 0});
  else if (!lines)
    print_head(&b);
  for (size_t i = 0; !applying && !banks && i < sizeof shapes / sizeof *shapes; i++)
    bench_shape(&b, &shapes[i], count2, every, lines);
  if (!applying && !lines && !every)
    bench_banks(&b, count2);
  CUDA(cudaStreamDestroy(b.stream));
  CUDA(cudaFree(count2));
  CUDA(cudaFree(b.workspace));
  return 0;
}
