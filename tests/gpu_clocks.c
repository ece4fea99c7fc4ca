/* How much of the scatter of frames' times is the clock's: each frame's time beside the number of clocks that its
 * multiprocessors counted meanwhile. */
#include "tests/gpu_clocks.h"

#include <stdlib.h>

#include "cuda/program.h"
#include "tests/gpu_rig.h"

enum { AT_BEGIN, AT_END, READINGS };
static const double step_mhz = 15; /* in which NVIDIA's clocks go up and down */

struct frame_clocks {
  double ms, clocks, mhz;
};

/* Frames one after the other, each between two readings: at [(frame * READINGS + which) * sms + multiprocessor]. */
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

/* The middle of what its multiprocessors say. Each has a counter of its own. */
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

/* Times of those frames that ran at about the same clock, for each clock that was common. */
static void print_by_clock(const struct frame_clocks *frames, int count, double *values) {
  enum { COMMON = 50 /* one of so many */ };
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

static void print_frames(const struct frame_clocks *frames, int count) {
  double *values = malloc((size_t)count * sizeof *values);
  for (int i = 0; i < count; i++)
    values[i] = frames[i].ms;
  print_spread("ms", values, count);
  for (int i = 0; i < count; i++)
    values[i] = 1e-3 * frames[i].clocks;
  print_spread("thousand clocks", values, count);
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
