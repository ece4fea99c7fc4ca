/* Measures how much of the variation of frame times is due to the clock: prints each frame's time beside the number of
 * clock cycles that its multiprocessors counted. */
#include "tests/gpu/gpu_clocks.h"

#include <stdlib.h>

#include "cuda/program.h"
#include "tests/gpu/gpu_rig.h"

enum { AT_BEGIN, AT_END, READINGS };
static const double step_mhz = 15; /* the steps in which NVIDIA's GPUs change their clock */

struct frame_clocks {
  double ms, clocks, mhz;
};

/* Runs frames one after the other and reads all clocks before and after each: at [(frame * READINGS + which) * sms +
 * multiprocessor]. */
static struct clock_reading *read_frames(struct bench *b, int frames) {
  const struct cuda_device *device = cuda_device(b->device);
  size_t sms = (size_t)device->queue.sms, bytes = (size_t)frames * READINGS * sms * sizeof(struct clock_reading);
  cudaStream_t stream = device->queue.stream;
  struct clock_reading *on_device = NULL, *readings = malloc(bytes);
  bool ok = readings && cudaMalloc((void **)&on_device, bytes) == cudaSuccess &&
            cudaMemsetAsync(on_device, 0, bytes, stream) == cudaSuccess;
  for (int i = 0; ok && i < frames; i++) {
    struct clock_reading *of_frame = on_device + (size_t)i * READINGS * sms;
    ok = launch_clocks(stream, of_frame, (int)sms) == cudaSuccess &&
         cudaGraphLaunch(program_graph(cuda_program(b->program), 0, false), stream) == cudaSuccess &&
         launch_clocks(stream, of_frame + sms, (int)sms) == cudaSuccess && cudaStreamSynchronize(stream) == cudaSuccess;
  }
  ok = ok && cudaMemcpy(readings, on_device, bytes, cudaMemcpyDeviceToHost) == cudaSuccess;
  cudaFree(on_device);
  if (ok)
    return readings;
  fprintf(stderr, "gpu_frame: clocks: %s\n", cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

/* Returns the medians over a frame's multiprocessors, each of which has a counter of its own. */
static struct frame_clocks middle(const struct clock_reading *frame, int sms) {
  double *ms = malloc((size_t)sms * sizeof *ms), *clocks = malloc((size_t)sms * sizeof *clocks);
  int count = 0;
  for (int i = 0; i < sms; i++) {
    const struct clock_reading *begin = &frame[AT_BEGIN * sms + i], *end = &frame[AT_END * sms + i];
    if (!begin->ns || !end->ns)
      continue;
    ms[count] = 1e-6 * (double)(end->ns - begin->ns);
    clocks[count++] = (double)(end->clocks - begin->clocks);
  }
  qsort(ms, (size_t)count, sizeof *ms, by_value);
  qsort(clocks, (size_t)count, sizeof *clocks, by_value);
  struct frame_clocks result = {0};
  if (count)
    result = (struct frame_clocks){ms[count / 2], clocks[count / 2], 1e-3 * clocks[count / 2] / ms[count / 2]};
  free(ms);
  free(clocks);
  return result;
}

static void print_spread(const char *what, double *values, int count) {
  qsort(values, (size_t)count, sizeof *values, by_value);
  double median = values[count / 2], p99 = values[count * 99 / 100];
  printf("%-34s least %12.3f  median %12.3f  p99 %12.3f = %.4f x the median  most %12.3f\n", what, values[0], median,
         p99, p99 / median, values[count - 1]);
}

/* Prints times of frames by their clock, for each clock that many frames ran at. */
static void print_by_clock(const struct frame_clocks *frames, int count, double *values) {
  enum { COMMON = 50 /* a clock is common if more than one frame in COMMON ran at it */ };
  for (int step = 0; step * step_mhz < 4000; step++) {
    int found = 0;
    for (int i = 0; i < count; i++)
      if ((int)(frames[i].mhz / step_mhz + 0.5) == step)
        values[found++] = frames[i].ms;
    char what[64];
    snprintf(what, sizeof what, "ms of %d frames at %.0f MHz", found, step * step_mhz);
    if (found * COMMON > count)
      print_spread(what, values, found);
  }
}

/* Prints what the distribution of the clocks looks like. Many small independent delays give a normal distribution
 * without a link between frames; one cause that comes and goes gives a tail on one side, or slow frames in a row. The
 * deviation is half of the distance between the 15.87th and the 84.13th percentile, which outliers do not affect.
 * sorted: the frames' clocks in ascending order. */
static void print_shape(const struct frame_clocks *frames, const double *sorted, int count) {
  static const double shares[] = {0.001, 0.01, 0.1, 0.9, 0.99, 0.999},
                      normal[] = {-3.09, -2.33, -1.28, 1.28, 2.33, 3.09};
  double median = sorted[count / 2];
  double deviation = 0.5 * (sorted[(int)(count * 0.8413)] - sorted[(int)(count * 0.1587)]);
  printf("deviation %.2f thousand clocks, %.4f of the median; in deviations (a normal distribution):\n", deviation,
         deviation / median);
  for (size_t i = 0; i < sizeof shares / sizeof *shares; i++)
    printf("  p%-5g %6.2f (%.2f)", 100 * shares[i], (sorted[(int)(count * shares[i])] - median) / deviation, normal[i]);
  double products = 0, squares = 0;
  for (int i = 1; i < count; i++) {
    double before = 1e-3 * frames[i - 1].clocks - median, now = 1e-3 * frames[i].clocks - median;
    products += before * now;
    squares += now * now;
  }
  printf("\n  correlation with the frame before: %.3f\n", products / squares);
}

static void print_frames(const struct frame_clocks *frames, int count) {
  double *values = malloc((size_t)count * sizeof *values);
  for (int i = 0; i < count; i++)
    values[i] = frames[i].ms;
  print_spread("ms", values, count);
  for (int i = 0; i < count; i++)
    values[i] = 1e-3 * frames[i].clocks;
  print_spread("thousand clocks", values, count);
  print_shape(frames, values, count);
  for (int i = 0; i < count; i++)
    values[i] = frames[i].mhz;
  print_spread("MHz", values, count);
  print_by_clock(frames, count, values);
  free(values);
}

void time_clocks(struct bench *b, int count) {
  int sms = cuda_device(b->device)->queue.sms;
  struct clock_reading *readings = read_frames(b, count);
  struct frame_clocks *frames = malloc((size_t)count * sizeof *frames);
  for (int i = 0; i < count; i++)
    frames[i] = middle(readings + (size_t)i * READINGS * (size_t)sms, sms);
  print_frames(frames, count);
  free(frames);
  free(readings);
}
