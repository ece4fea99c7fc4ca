/* Runs: the frames' way in and out.
 *
 *   upload stream    copy parameters + planes -> buffer i % 2
 *   compute stream           begin (buffer -> block), launches ..., pixels out -> output i % 2
 *   download stream                                                  output i % 2 -> the run's picture
 *
 * Two runs are in flight at most, so a buffer and an output are free again when their turn comes. */
#include <string.h>

#include "cuda/buffers.h"
#include "cuda/check.h"
#include "cuda/graph.h"
#include "cuda/recording.h"
#include "cuda/timing.h"
#include "unet/base/picture.h"

static const double origin_seconds = 0.5;

static void copy_plane(uint8_t *to, int to_pitch, const uint8_t *from, int from_pitch, int bytes, int rows) {
  if (to_pitch == from_pitch) {
    memcpy(to, from, (size_t)to_pitch * (size_t)(rows - 1) + (size_t)bytes);
    return;
  }
  for (int y = 0; y < rows; y++)
    memcpy(to + (size_t)y * (size_t)to_pitch, from + (size_t)y * (size_t)from_pitch, (size_t)bytes);
}

/* Room for a run's frames. A later one may be small now and large as the others in the next run. */
static int grow_for(struct cuda_device *device, struct cuda_program *program, const struct frame *frames,
                    struct error *err) {
  size_t sum = 0, most = 0;
  for (int i = 0; i < program->base.sources; i++) {
    struct planes planes;
    size_t bytes = planes_layout(&planes, frames[i].format, frames[i].width, frames[i].height, NULL);
    sum += bytes;
    most = bytes > most ? bytes : most;
  }
  most *= (size_t)program->base.sources;
  return buffers_grow(device, device->queue.stream, program, PLANES_OFFSET + (most > sum ? most : sum), err);
}

/* Copies a frame's planes into the pinned buffer, `at` bytes from its beginning, and describes them as they will be on
 * the device. Returns where they end. */
static size_t fill_planes(const struct run_buffer *buffer, size_t at, const struct frame *frame, struct planes *input) {
  uint8_t *host = (uint8_t *)buffer->host, *to = (uint8_t *)buffer->device;
  size_t bytes = planes_layout(input, frame->format, frame->width, frame->height, to + at);
  input->matrix = frame->matrix;
  input->range = frame->range;
  input->coding = planes_coding(frame->format, frame->matrix, frame->range);
  for (int i = 0; i < frame_planes(frame->format); i++)
    copy_plane(host + (input->plane[i] - to), input->pitch[i], frame->plane[i], frame->pitch[i],
               frame_row_bytes(frame->format, i, frame->width), frame_rows(frame->format, i, frame->height));
  return at + bytes;
}

/* Fills the pinned buffer: parameters, then the frames' planes. Returns the bytes to upload, 0 with err set on failure.
 */
static size_t fill_buffer(struct cuda_device *device, struct cuda_program *program, struct run_buffer *buffer,
                          const struct run_params *params, const struct frame *frames, struct error *err) {
  size_t bytes = PLANES_OFFSET;
  if (program->base.sources && grow_for(device, program, frames, err) < 0)
    return 0;
  for (int i = 0; i < program->base.sources; i++)
    if (frames[i].width > 0)
      bytes = fill_planes(buffer, bytes, &frames[i], &buffer->host->input[i]);
  buffer->host->iteration = 0;
  buffer->host->run = *params;
  buffer->host->output = program->output[program->base.submitted % RUNS_IN_FLIGHT];
  return bytes;
}

/* Of launches [first, end) those that a run has without a graph. */
static int count_stretch(const struct cuda_program *program, int first, int end, const struct run_params *params,
                         int iteration) {
  int count = end - first;
  for (int i = 0; i < program->base.plan->region_count; i++) {
    const struct plan_region *region = &program->regions[i];
    if (region->first >= first && region->end <= end && !region_runs(&region->when, params, iteration))
      count -= region->end - region->first;
  }
  return count;
}

/* Launches of a run without a graph: its beginning, the program's, and one at the end of each iteration. */
static int count_launches(const struct cuda_program *program, const struct run_params *params) {
  const struct plan_loop *loop = &program->loop;
  int count = 1 + count_stretch(program, 0, loop->first, params, 0) +
              count_stretch(program, loop->end, program->launches.count, params, 0);
  for (int i = 0; i < loop->iterations; i++)
    count += count_stretch(program, loop->first, loop->end, params, i) + 1;
  return count;
}

static const struct run_params *next_params(const struct cuda_program *program) {
  return &program->buffer[program->base.submitted % RUNS_IN_FLIGHT].host->run;
}

/* The one that leaves out most of what the run can do without. */
cudaGraphExec_t program_graph(const struct cuda_program *program, int part, bool other) {
  const struct graphs *graphs = other ? &program->other_graphs : &program->graphs;
  unsigned idle = run_idles(program->base.plan, next_params(program)), best = 0;
  for (unsigned without = 1; without <= idle; without++)
    if (!(without & ~idle) && graphs->without[without][part] && __builtin_popcount(without) > __builtin_popcount(best))
      best = without;
  return graphs->without[best][part];
}

static cudaError_t run(struct cuda_device *device, struct cuda_program *program, int part, int set) {
  bool other = set && program->doubled;
  cudaGraphExec_t graph = program_graph(program, part, other);
  const struct run_params *params = next_params(program);
  const struct recording recording = {program, other ? &program->other_launches : &program->launches, part, 0, params};
  if (graph) {
    device->counters.launches++;
    return cudaGraphLaunch(graph, device->queue.stream);
  }
  if (part == 0)
    device->counters.launches += count_launches(program, params);
  return record_part(device, &device->queue, &recording);
}

/* Relates the GPU's clock to the host's; the error is at most half of what the two calls take. The clocks drift apart
 * by some microseconds a second, so this is done again now and then, when nothing is in flight. */
static int set_origin(struct cuda_device *device, const struct cuda_program *program, struct error *err) {
  static const char doing[] = "the trace's clock";
  double begin = clock_seconds();
  bool recent = begin - 1e-9 * (double)device->origin_ns < origin_seconds;
  if (device->origin && (recent || program->base.submitted != program->base.collected))
    return 0;
  if (!device->origin && cuda_check(cudaEventCreate(&device->origin), doing, err) < 0)
    return -1;
  begin = clock_seconds();
  if (cuda_check(cudaEventRecord(device->origin, device->queue.stream), doing, err) < 0 ||
      cuda_check(cudaEventSynchronize(device->origin), doing, err) < 0)
    return -1;
  device->origin_ns = (int64_t)((begin + clock_seconds()) / 2 * 1e9);
  return 0;
}

/* 0 for an event that was not recorded. */
static int64_t stamp(const struct cuda_device *device, cudaEvent_t event) {
  float milliseconds;
  if (cudaEventElapsedTime(&milliseconds, device->origin, event) == cudaSuccess)
    return device->origin_ns + (int64_t)((double)milliseconds * 1e6);
  cudaGetLastError();
  return 0;
}

static struct run_stamps take_stamps(const struct cuda_device *device, const struct cuda_program *program,
                                     const struct run_buffer *buffer) {
  return (struct run_stamps){.upload_ns = stamp(device, buffer->uploading),
                             .uploaded_ns = stamp(device, buffer->uploaded),
                             .begun_ns = stamp(device, buffer->begun),
                             .computed_ns = stamp(device, buffer->computed),
                             .downloaded_ns = program->has_output ? stamp(device, buffer->downloaded) : 0};
}

/* Parameters and frame on their way up. */
static int start_upload(struct cuda_device *device, struct cuda_program *program, const struct run_buffer *buffer,
                        size_t bytes, struct error *err) {
  cudaStream_t compute = device->queue.stream;
  if (device->stamps && (set_origin(device, program, err) < 0 ||
                         cuda_check(cudaEventRecord(buffer->uploading, device->upload), "upload", err) < 0))
    return -1;
  if (cuda_check(cudaMemcpyAsync(buffer->device, buffer->host, bytes, cudaMemcpyHostToDevice, device->upload), "upload",
                 err) < 0 ||
      cuda_check(cudaEventRecord(buffer->uploaded, device->upload), "upload", err) < 0 ||
      cuda_check(cudaStreamWaitEvent(compute, buffer->uploaded, 0), "upload", err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(buffer->begun, compute), "starting a frame", err);
}

/* That, and the launches behind it. */
static int start_launches(struct cuda_device *device, struct cuda_program *program, const struct run_buffer *buffer,
                          size_t bytes, struct error *err) {
  if (start_upload(device, program, buffer, bytes, err) < 0)
    return -1;
  for (int part = 0; part < program->base.parts; part++)
    if (cuda_check(run(device, program, part, device->set), "starting a frame", err) < 0)
      return -1;
  return cuda_check(cudaEventRecord(buffer->computed, device->queue.stream), "starting a frame", err);
}

/* The picture has the output's layout: one copy does it. */
static int start_download(const struct cuda_device *device, struct cuda_program *program,
                          const struct run_buffer *buffer, const struct frame *picture, struct error *err) {
  const struct planes *output = &program->output[program->base.submitted % RUNS_IN_FLIGHT];
  if (!program->has_output)
    return 0;
  if (cuda_check(cudaStreamWaitEvent(device->download, buffer->computed, 0), "download", err) < 0 ||
      cuda_check(cudaMemcpyAsync(frame_plane(picture, 0), output->plane[0], program->output_bytes,
                                 cudaMemcpyDeviceToHost, device->download),
                 "download", err) < 0)
    return -1;
  return cuda_check(cudaEventRecord(buffer->downloaded, device->download), "download", err);
}

int program_submit(struct device *base, struct program *program_base, const struct run_params *params,
                   const struct frame *frames, const struct frame *picture, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program->base.submitted % RUNS_IN_FLIGHT];
  device->runs++;
  if (program->has_output)
    device->running = true;
  size_t bytes = fill_buffer(device, program, buffer, params, frames, err);
  if (!bytes)
    return -1;
  if (start_launches(device, program, buffer, bytes, err) == 0 &&
      start_download(device, program, buffer, picture, err) == 0) {
    device->pictures_in_flight += program->has_output;
    return 0;
  }
  /* If the launches were started, they have passed the turn on. It becomes this run's again. */
  program_set_turn(device->queue.stream, program, "after a failure", NULL);
  return -1;
}

/* The buffer stays the run's until its last part was started. */
int program_start_part(struct device *base, struct program *program_base, const struct run_params *params, int part,
                       bool merged, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program_base->submitted % RUNS_IN_FLIGHT];
  int set = merged ? !device->set : device->set;
  size_t bytes = part ? 0 : fill_buffer(device, program, buffer, params, NULL, err);
  if ((part == 0 && (!bytes || start_upload(device, program, buffer, bytes, err) < 0)) ||
      cuda_check(run(device, program, part, set), "starting a part", err) < 0)
    return -1;
  if (part < program_base->parts - 1)
    return 0;
  return cuda_check(cudaEventRecord(buffer->computed, device->queue.stream), "starting a part", err);
}

int program_collect(struct device *base, struct program *program_base, struct error *err) {
  static const char stopped[] = "the GPU stopped in the middle of a frame";
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  const struct run_buffer *buffer = &program->buffer[program_base->collected % RUNS_IN_FLIGHT];
  float milliseconds;
  device->counters.waits++;
  device->pictures_in_flight -= program->has_output;
  if (cuda_check(cudaEventSynchronize(program->has_output ? buffer->downloaded : buffer->computed), stopped, err) < 0 ||
      cuda_check(cudaEventElapsedTime(&milliseconds, buffer->begun, buffer->computed), stopped, err) < 0)
    return -1;
  device->counters.run_ms = (double)milliseconds;
  if (device->stamps)
    device->counters.stamps = take_stamps(device, program, buffer);
  return 0;
}

int program_poison(struct device *base, struct program *program_base, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  /* All bits set is a quiet NaN in FP16 and in FP32. */
  cudaStream_t stream = device->queue.stream;
  if (cuda_check(cudaMemsetAsync(program->arena, 0xff, program->arena_bytes, stream), "poisoning", err) < 0)
    return -1;
  return cuda_check(cudaMemsetAsync(program->scratch, 0xff, (size_t)program->lanes * program->scratch_bytes, stream),
                    "poisoning", err);
}
