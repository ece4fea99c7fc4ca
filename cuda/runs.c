/* Runs a program on frames: copies to the GPU, launches, and copies back. With several frames in flight, three streams
 * work at the same time:
 *
 * upload stream    copies input planes of frame i + 1 -> device buffer (i + 1) % 2 compute stream
 * kernels of frame i: begin (reads the run's order), launches ..., end (reports) download stream
 * copies the pictures of frame i - 1 -> host memory
 *
 * A frame that begins while no other picture is in flight is one launch alone, unless its planes or pictures have more
 * than CARRY_MOST bytes: its first kernels copy the input planes, and its last kernel copies the pictures to the host.
 * That is faster than copies on other streams, because a stream that waits for another one takes time
 * (cuda/kernels/transfer.h). The first kernel copies the run's parameters in any case.
 *
 * Planes in the GPU's memory are not copied; the compute stream waits for their fence. Nor are pictures that stay
 * there. At most two runs are in flight, so a run's buffer is free again when it is used the next time. */
#include <string.h>

#include "cuda/buffers.h"
#include "cuda/check.h"
#include "cuda/graph.h"
#include "cuda/pictures.h"
#include "cuda/recording.h"
#include "cuda/timing.h"
#include "unet/base/picture.h"
#include "unet/base/platform.h"

static const double origin_seconds = 0.5;
static const char stopped[] = "the GPU stopped in the middle of a frame";

/* Largest number of bytes of planes that the run's own kernels copy. Planes with more bytes are copied on the upload
 * stream. That is no faster, but the next frame's planes can then be copied while this frame is computed. */
enum { CARRY_MOST = 4 << 20 };

static void copy_plane(uint8_t *to, int to_pitch, const uint8_t *from, int from_pitch, int bytes, int rows) {
  if (to_pitch == from_pitch) {
    memcpy(to, from, (size_t)to_pitch * (size_t)(rows - 1) + (size_t)bytes);
    return;
  }
  for (int y = 0; y < rows; y++)
    memcpy(to + (size_t)y * (size_t)to_pitch, from + (size_t)y * (size_t)from_pitch, (size_t)bytes);
}

/* How a run gets at the planes of a frame. */
enum way {
  WAY_NONE,     /* there is no frame (its width is 0), so the run gets no planes */
  WAY_IN_PLACE, /* the planes are in the GPU's memory, and kernels read them at the frame's own addresses */
  WAY_PINNED,   /* the planes are in page-locked memory, from which they are copied to the run's device buffer */
  /* the planes are in ordinary memory, from which they are copied to page-locked memory, and from there to the run's
   * device buffer */
  WAY_STAGED,
};

static enum way way_of(const struct cuda_device *device, const struct frame *frame) {
  if (frame->width < 1)
    return WAY_NONE;
  if (device_reads_in_place(&device->base, frame))
    return WAY_IN_PLACE;
  return frame_pinned(frame) ? WAY_PINNED : WAY_STAGED;
}

/* Returns how many bytes of a run's buffer `count` frames need. Each frame is counted with the size of the largest one,
 * because in the next run any of them may be as large. Only frames that are copied to this buffer are counted: those
 * whose enum way is at least `least`, which is WAY_PINNED or WAY_STAGED. */
static size_t room_for(const struct cuda_device *device, int count, const struct frame *frames, enum way least) {
  size_t sum = 0, most = 0;
  for (int i = 0; i < count; i++) {
    struct planes planes;
    size_t bytes = planes_layout(&planes, frames[i].format, frames[i].width, frames[i].height, NULL);
    if (way_of(device, &frames[i]) < least)
      continue;
    sum += bytes;
    most = bytes > most ? bytes : most;
  }
  most *= (size_t)count;
  return most > sum ? most : sum;
}

/* Sets the addresses of a frame's planes in a run's device buffer, beginning at offset `at`. Returns the offset at
 * which they end. */
static size_t place_planes(const struct run_buffer *buffer, size_t at, const struct frame *frame,
                           struct planes *input) {
  return at + planes_layout(input, frame->format, frame->width, frame->height, buffer->device + at);
}

static void copy_to_buffer(const struct run_buffer *buffer, const struct frame *frame, const struct planes *input) {
  for (int i = 0; i < frame_planes(frame->format); i++)
    copy_plane(buffer->host + (input->plane[i] - buffer->device), input->pitch[i], frame->plane[i], frame->pitch[i],
               frame_row_bytes(frame->format, i, frame->width), frame_rows(frame->format, i, frame->height));
}

static void point_to_planes(const struct frame *frame, struct planes *input) {
  input->format = frame->format;
  input->width = frame->width;
  input->height = frame->height;
  for (int i = 0; i < 3; i++) {
    input->plane[i] = frame->picture->device_plane[i];
    input->pitch[i] = frame->pitch[i];
  }
}

/* Stores the addresses of all frames' planes in *buffer->order, which the GPU reads, and copies planes that are in
 * ordinary memory to the page-locked memory buffer->host. Returns how many bytes these copies take. */
static size_t fill_inputs(struct cuda_device *device, const struct cuda_program *program,
                          const struct run_buffer *buffer, const struct frame *frames) {
  struct planes *inputs = buffer->order->block.input;
  size_t staged = 0, end;
  for (int i = 0; i < program->base.frames; i++) {
    struct planes *input = &inputs[i];
    input->matrix = frames[i].matrix;
    input->range = frames[i].range;
    input->coding = planes_coding(frames[i].format, frames[i].matrix, frames[i].range);
    if (way_of(device, &frames[i]) == WAY_IN_PLACE)
      point_to_planes(&frames[i], input);
    if (way_of(device, &frames[i]) != WAY_STAGED)
      continue;
    staged = place_planes(buffer, staged, &frames[i], input);
    copy_to_buffer(buffer, &frames[i], input);
    device->counters.staged += frame_bytes(&frames[i]);
    device->counters.copied_up += frame_bytes(&frames[i]);
  }
  end = staged;
  for (int i = 0; i < program->base.frames; i++)
    if (way_of(device, &frames[i]) == WAY_PINNED) {
      end = place_planes(buffer, end, &frames[i], &inputs[i]);
      device->counters.copied_up += frame_bytes(&frames[i]);
    }
  return staged;
}

/* Fills buffer->order, the struct that tells the GPU what to do in this run: parameters, addresses, copies to make.
 * Copies the planes of frames in ordinary memory to the page-locked buffer; *staged becomes the number of bytes that
 * they take there. */
static int fill_buffer(struct cuda_device *device, struct cuda_program *program, struct run_buffer *buffer,
                       const struct run_params *params, const struct frame *frames, size_t *staged, struct error *err) {
  struct run_order *order = buffer->order;
  int count = program->base.frames;
  *staged = 0;
  if (count) {
    const struct buffer_room room = {.host = room_for(device, count, frames, WAY_STAGED),
                                     .device = room_for(device, count, frames, WAY_PINNED)};
    if (buffers_grow(device, program, &room, err) < 0)
      return -1;
    *staged = fill_inputs(device, program, buffer, frames);
  }
  order->block.iteration = 0;
  order->block.run = *params;
  order->block.changes = device_changes(&device->base);
  order->ups = order->downs = 0;
  order->end = buffer->end;
  /* the run's number has 32 bits, and must not be 0 when it has wrapped around */
  order->number = program->base.submitted + 1 ? program->base.submitted + 1 : UINT32_MAX;
  buffer->end->number = 0;
  return 0;
}

/* --- copies that the run's own kernels make --- */

static bool is_even(const void *address, int pitch, int bytes) {
  return ((uintptr_t)address | (unsigned)pitch | (unsigned)bytes) % TRANSFER_UNIT == 0;
}

/* Adds a frame's planes, which are in page-locked memory, to the copies that the run's first kernels make. Returns
 * false if the kernels cannot copy them, because an address or a size does not fit. */
static bool add_planes(struct run_order *order, const struct frame *frame, const struct planes *input) {
  for (int i = 0; i < frame_planes(frame->format); i++) {
    int bytes = frame_row_bytes(frame->format, i, frame->width);
    if (order->ups == TRANSFERS_UP || !is_even(frame->plane[i], frame->pitch[i], bytes))
      return false;
    order->up[order->ups++] =
        (struct transfer){frame->plane[i], input->plane[i], frame->pitch[i],
                          input->pitch[i], bytes,           frame_rows(frame->format, i, frame->height)};
  }
  return true;
}

/* Lets the run's first kernels copy the planes to the device. If they cannot, leaves the list of copies empty, so that
 * the planes are copied on the upload stream. */
static void carry_up(const struct cuda_device *device, const struct cuda_program *program,
                     const struct run_buffer *buffer, const struct frame *frames, size_t staged) {
  struct run_order *order = buffer->order;
  size_t bytes = staged;
  bool can = device->properties.canUseHostPointerForRegisteredMem;
  if (staged)
    order->up[order->ups++] = (struct transfer){buffer->host, buffer->device, 0, 0, (int)staged, 1};
  for (int i = 0; can && i < program->base.frames; i++)
    if (way_of(device, &frames[i]) == WAY_PINNED) {
      bytes += frame_bytes(&frames[i]);
      can = add_planes(order, &frames[i], &order->block.input[i]);
    }
  can &= bytes <= CARRY_MOST;
  if (!can)
    order->ups = 0;
}

/* Lets the run's last kernel copy the pictures to the host. Host memory has the same layout as device memory, so each
 * picture is one copy. Returns false if the kernel cannot copy them. */
static bool carry_down(const struct cuda_program *program, const struct run_buffer *buffer,
                       const struct frame *pictures) {
  struct run_order *order = buffer->order;
  size_t bytes = program->output_bytes, count = (size_t)program->base.pictures;
  if (bytes * count > CARRY_MOST || bytes % TRANSFER_UNIT)
    return false;
  for (size_t i = 0; i < count; i++)
    order->down[i] =
        (struct transfer){order->block.output[i].plane[0], frame_plane(&pictures[i], 0), 0, 0, (int)bytes, 1};
  order->downs = (int)count;
  return true;
}

/* --- starting a run on the device --- */

/* Returns how many of the launches `first` to `end - 1` are enqueued in a run without a graph. Launches in regions
 * (groups of ops that a run may skip) that this run skips are not counted. iteration: number of the loop's iteration,
 * from 0, which some conditions for skipping depend on. */
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

/* Returns how many kernels a run without a graph enqueues: those at its begin and end, the program's launches, and one
 * at the end of each iteration of the loop. */
static int count_launches(const struct cuda_program *program, const struct run_params *params) {
  const struct plan_loop *loop = &program->loop;
  int count = BEGIN_LAUNCHES + 1 + count_stretch(program, 0, loop->first, params, 0) +
              count_stretch(program, loop->end, program->launches.count, params, 0);
  for (int i = 0; i < loop->iterations; i++)
    count += count_stretch(program, loop->first, loop->end, params, i) + 1;
  return count;
}

static cudaError_t run(struct cuda_device *device, struct cuda_program *program, int part, int set) {
  bool other = set && program->doubled;
  cudaGraphExec_t graph = program_graph(program, part, other);
  const struct run_params *params = program_next_params(program);
  const struct launches *launches = other ? &program->other_launches : &program->launches;
  const struct recording recording = {.program = program, .launches = launches, .part = part, .params = params};
  if (graph) {
    device->counters.launches++;
    return cudaGraphLaunch(graph, device->queue.stream);
  }
  if (part == 0)
    device->counters.launches += count_launches(program, params);
  return record_part(device, &device->queue, &recording);
}

/* Records an event together with the host's time, so that the GPU's clock can be converted to the host's. The error is
 * at most half of the time that recording takes. The clocks drift apart by some microseconds a second, so this is
 * repeated from time to time. Recording waits for all runs; so, except for the first time, it is done only while no run
 * of this program and no picture of any program is in flight. */
static int set_origin(struct cuda_device *device, const struct cuda_program *program, struct error *err) {
  static const char doing[] = "the trace's clock";
  double begin = clock_seconds();
  bool recent = begin - 1e-9 * (double)device->origin_ns < origin_seconds;
  if (device->origin && (recent || device->pictures_in_flight || program->base.submitted != program->base.collected))
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

/* Returns the host's time, in ns, at which an event was reached; 0 if it was not recorded. */
static int64_t stamp(const struct cuda_device *device, cudaEvent_t event) {
  float milliseconds;
  if (cudaEventElapsedTime(&milliseconds, device->origin, event) == cudaSuccess)
    return device->origin_ns + (int64_t)((double)milliseconds * 1e6);
  cudaGetLastError();
  return 0;
}

static int64_t at_ns(uint32_t units) {
  return (int64_t)units * RUN_END_NS;
}

/* Returns the times at which the stages of a run began and ended. The run's own clock counts from the event `begun`,
 * which is recorded directly before the run. */
static struct run_stamps take_stamps(const struct cuda_device *device, const struct run_buffer *buffer) {
  const struct run_end *end = buffer->end;
  int64_t begun = stamp(device, buffer->begun), there = begun + at_ns(end->there);
  bool carried = buffer->order->ups > 0, copied = buffer->pixels && !carried;
  struct run_stamps stamps = {.begun_ns = there, .computed_ns = begun + at_ns(end->computed)};
  if (buffer->pixels)
    stamps.upload_ns = copied ? stamp(device, buffer->uploading) : begun;
  if (buffer->pixels)
    stamps.uploaded_ns = copied ? stamp(device, buffer->uploaded) : there;
  if (buffer->downloads || buffer->order->downs)
    stamps.downloaded_ns = buffer->downloads ? stamp(device, buffer->downloaded) : begun + at_ns(end->done);
  return stamps;
}

/* Starts to copy a frame's planes from page-locked memory to the run's device buffer, on the upload stream. */
static int upload_pinned(const struct cuda_device *device, const struct frame *frame, const struct planes *input,
                         struct error *err) {
  for (int i = 0; i < frame_planes(frame->format); i++)
    if (cuda_check(cudaMemcpy2DAsync(input->plane[i], (size_t)input->pitch[i], frame->plane[i], (size_t)frame->pitch[i],
                                     (size_t)frame_row_bytes(frame->format, i, frame->width),
                                     (size_t)frame_rows(frame->format, i, frame->height), cudaMemcpyHostToDevice,
                                     device->upload),
                   "upload", err) < 0)
      return -1;
  return 0;
}

/* Some frames are read at their own addresses in the GPU's memory. Makes the compute stream wait until their pixels are
 * complete, which an event (picture.fence) signals. */
static int wait_for_fences(const struct cuda_device *device, const struct cuda_program *program,
                           const struct frame *frames, struct error *err) {
  for (int i = 0; frames && i < program->base.frames; i++)
    if (way_of(device, &frames[i]) == WAY_IN_PLACE && frames[i].picture->fence &&
        cuda_check(cudaStreamWaitEvent(device->queue.stream, frames[i].picture->fence, 0), "a frame's fence", err) < 0)
      return -1;
  return 0;
}

static bool brings_pixels(const struct cuda_device *device, const struct cuda_program *program,
                          const struct frame *frames) {
  bool any = false;
  for (int i = 0; frames && i < program->base.frames; i++)
    any |= way_of(device, &frames[i]) > WAY_IN_PLACE;
  return any;
}

/* Starts to copy the planes of all frames on the upload stream, while earlier runs are executed. The compute stream
 * waits for these copies. */
static int start_upload(const struct cuda_device *device, const struct cuda_program *program,
                        const struct run_buffer *buffer, const struct frame *frames, size_t staged, struct error *err) {
  static const char doing[] = "upload";
  cudaStream_t stream = device->upload;
  if (device->stamps && cuda_check(cudaEventRecord(buffer->uploading, stream), doing, err) < 0)
    return -1;
  if (staged &&
      cuda_check(cudaMemcpyAsync(buffer->device, buffer->host, staged, cudaMemcpyHostToDevice, stream), doing, err) < 0)
    return -1;
  for (int i = 0; i < program->base.frames; i++)
    if (way_of(device, &frames[i]) == WAY_PINNED &&
        upload_pinned(device, &frames[i], &buffer->order->block.input[i], err) < 0)
      return -1;
  if (cuda_check(cudaEventRecord(buffer->uploaded, stream), doing, err) < 0)
    return -1;
  return cuda_check(cudaStreamWaitEvent(device->queue.stream, buffer->uploaded, 0), doing, err);
}

/* Does what must come before a run's launches. It starts to copy the frames' planes on the upload stream, unless the
 * run's own kernels copy them. If a decoder writes frames in the GPU's memory, it makes the compute stream wait for
 * them. */
static int start_run(struct cuda_device *device, const struct cuda_program *program, struct run_buffer *buffer,
                     const struct frame *frames, size_t staged, struct error *err) {
  buffer->pixels = brings_pixels(device, program, frames);
  if (device->stamps && set_origin(device, program, err) < 0)
    return -1;
  if (buffer->pixels && !buffer->order->ups && start_upload(device, program, buffer, frames, staged, err) < 0)
    return -1;
  if (wait_for_fences(device, program, frames, err) < 0)
    return -1;
  return device->stamps || buffer->downloads
             ? cuda_check(cudaEventRecord(buffer->begun, device->queue.stream), "starting a frame", err)
             : 0;
}

/* Starts all parts of a run, one after the other. */
static int start_launches(struct cuda_device *device, struct cuda_program *program, struct run_buffer *buffer,
                          const struct frame *frames, size_t staged, struct error *err) {
  if (start_run(device, program, buffer, frames, staged, err) < 0)
    return -1;
  for (int part = 0; part < program->base.parts; part++)
    if (cuda_check(run(device, program, part, device->set), "starting a frame", err) < 0)
      return -1;
  return 0;
}

/* Stores in buffer->order (the memory from which the GPU reads what to do) the addresses of the pictures that the run
 * writes. */
static void point_at(const struct cuda_program *program, struct run_buffer *buffer, const struct frame *pictures,
                     const struct run_params *params) {
  for (int i = 0; i < program->base.pictures; i++) {
    struct planes *output = &buffer->order->block.output[i];
    struct picture *picture = pictures[i].picture;
    *output = program->output;
    picture_begin(&pictures[i], program->output_bytes, params->early);
    for (int j = 0; j < frame_planes(output->format); j++)
      output->plane[j] = picture->device_plane[j];
    buffer->pictures[i] = picture;
  }
  buffer->on_device = params->on_device;
}

static int start_download(const struct cuda_device *device, const struct cuda_program *program,
                          const struct run_buffer *buffer, const struct frame *pictures, struct error *err) {
  static const char doing[] = "download";
  if (!buffer->downloads)
    return 0;
  if (cuda_check(cudaEventRecord(buffer->computed, device->queue.stream), doing, err) < 0 ||
      cuda_check(cudaStreamWaitEvent(device->download, buffer->computed, 0), doing, err) < 0)
    return -1;
  for (int i = 0; i < program->base.pictures; i++)
    if (cuda_check(cudaMemcpyAsync(frame_plane(&pictures[i], 0), buffer->order->block.output[i].plane[0],
                                   program->output_bytes, cudaMemcpyDeviceToHost, device->download),
                   doing, err) < 0)
      return -1;
  return cuda_check(cudaEventRecord(buffer->downloaded, device->download), doing, err);
}

/* Decides how the run's pixels are copied: input planes to the device, and pictures to the host. */
static void choose_ways(const struct cuda_device *device, const struct cuda_program *program, struct run_buffer *buffer,
                        const struct frame *frames, const struct frame *pictures, size_t staged) {
  bool alone = program->has_output && device->pictures_in_flight == 0;
  if (alone && brings_pixels(device, program, frames))
    carry_up(device, program, buffer, frames, staged);
  buffer->downloads = program->has_output && !buffer->on_device && !(alone && carry_down(program, buffer, pictures));
}

/* Undoes the start of a run that failed before all of its parts were started. Afterwards the device neither reads nor
 * writes the run's frames and pictures, and no copies are left to be made. The launches may have incremented the number
 * of the next run on the device; it is set back. */
static void undo_start(struct cuda_device *device, struct cuda_program *program, struct run_buffer *buffer) {
  cudaStream_t streams[] = {device->upload, device->queue.stream, device->download};
  for (int i = 0; i < 3; i++)
    cudaStreamSynchronize(streams[i]);
  buffer->order->ups = buffer->order->downs = 0;
  program_set_turn(device->queue.stream, program, "after a failure", NULL);
}

int program_submit(struct device *base, struct program *program_base, const struct run_params *params,
                   const struct frame *frames, const struct frame *pictures, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program->base.submitted % RUNS_IN_FLIGHT];
  size_t staged;
  device->runs++;
  if (program->has_output)
    device->running = true;
  if (fill_buffer(device, program, buffer, params, frames, &staged, err) < 0)
    return -1;
  if (program->has_output)
    point_at(program, buffer, pictures, params);
  choose_ways(device, program, buffer, frames, pictures, staged);
  if (pictures_follow_readers(buffer->pictures, program->base.pictures, device->queue.stream, err) == 0 &&
      start_launches(device, program, buffer, frames, staged, err) == 0 &&
      pictures_record_fences(buffer->pictures, program->base.pictures, device->queue.stream, err) == 0 &&
      start_download(device, program, buffer, pictures, err) == 0) {
    buffer->submitted_ns = platform_now_ns();
    device->pictures_in_flight += program->has_output;
    return 0;
  }
  undo_start(device, program, buffer);
  return -1;
}

/* Starts one part of a run. The run keeps its buffer until its last part was started. */
int program_start_part(struct device *base, struct program *program_base, const struct run_params *params, int part,
                       bool merged, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  struct run_buffer *buffer = &program->buffer[program_base->submitted % RUNS_IN_FLIGHT];
  int set = merged ? !device->set : device->set;
  size_t staged;
  if (part == 0 && fill_buffer(device, program, buffer, params, NULL, &staged, err) < 0)
    return -1;
  if ((part > 0 || start_run(device, program, buffer, NULL, 0, err) == 0) &&
      cuda_check(run(device, program, part, set), "starting a part", err) == 0)
    return 0;
  undo_start(device, program, buffer);
  return -1;
}

/* --- waiting for a run's end --- */

static int64_t now_ns(void *opaque) {
  (void)opaque;
  return platform_now_ns();
}

static void sleep_until(void *opaque, int64_t ns) {
  (void)opaque;
  platform_sleep_until_ns(ns);
}

/* The run that a thread waits for. since_ns: time of the first call of has_ended; 0: there was none yet. */
struct awaited {
  const struct run_buffer *buffer;
  cudaStream_t stream;
  int64_t since_ns;
};

static bool is_told(const struct run_buffer *buffer) {
  return __atomic_load_n(&buffer->end->number, __ATOMIC_ACQUIRE) == buffer->order->number;
}

/* Returns 1 if the run has ended, 0 if not yet, -1 if it never will. Normally it only reads memory, because a CUDA call
 * takes a microsecond or more on a processor that has slept. It calls CUDA if the run's pictures are copied on the
 * download stream, and if the run is late: CUDA alone can tell that a run has failed. */
static int has_ended(void *opaque) {
  static const int64_t late_ns = 300000;
  struct awaited *run = opaque;
  if (!run->buffer->downloads && is_told(run->buffer))
    return 1;
  int64_t now = platform_now_ns();
  run->since_ns = run->since_ns ? run->since_ns : now;
  if (!run->buffer->downloads && now - run->since_ns < late_ns)
    return 0;
  cudaError_t status = run->buffer->downloads ? cudaEventQuery(run->buffer->downloaded) : cudaStreamQuery(run->stream);
  if (status == cudaErrorNotReady)
    return 0;
  return status == cudaSuccess && is_told(run->buffer) ? 1 : -1;
}

static void make_timers_exact(struct cuda_device *device) {
  if (device->waited && pthread_equal(device->waits, pthread_self()))
    return;
  platform_sleep_exactly();
  device->waits = pthread_self();
  device->waited = true;
}

/* Stores in *took_ns how long the run took, from its beginning to the end of its last kernel. If pictures are copied on
 * the download stream, the time lasts until the end of that download instead. */
static int time_run(const struct run_buffer *buffer, int64_t *took_ns, struct error *err) {
  float milliseconds;
  *took_ns = at_ns(buffer->end->done);
  if (!buffer->downloads)
    return 0;
  if (cuda_check(cudaEventElapsedTime(&milliseconds, buffer->begun, buffer->downloaded), stopped, err) < 0)
    return -1;
  *took_ns = (int64_t)((double)milliseconds * 1e6);
  return 0;
}

static int wait_for_end(struct cuda_device *device, struct cuda_program *program, const struct run_buffer *buffer,
                        struct error *err) {
  struct awaited awaited = {.buffer = buffer, .stream = device->queue.stream};
  const struct wait_world world = {now_ns, sleep_until, has_ended, !buffer->downloads, &awaited};
  /* Estimates when runs end, from earlier runs. Runs without pictures have an estimate of their own (other): they come
   * between runs with pictures, and would disturb theirs. */
  struct waiter other = {0};
  struct waiter *waiter = program->has_output ? &device->waiter : &other;
  int64_t took_ns;
  make_timers_exact(device);
  if (wait_for_run(waiter, &program->durations, buffer->submitted_ns, &world) < 0) {
    cudaError_t status = cudaStreamSynchronize(device->queue.stream);
    return cuda_check(status == cudaSuccess ? cudaErrorUnknown : status, stopped, err);
  }
  if (time_run(buffer, &took_ns, err) < 0)
    return -1;
  if (program->has_output)
    wait_learn(waiter, &program->durations, took_ns);
  device->counters.run_ms = 1e-6 * (double)(at_ns(buffer->end->computed) - at_ns(buffer->end->there));
  return 0;
}

int program_collect(struct device *base, struct program *program_base, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  const struct run_buffer *buffer = &program->buffer[program_base->collected % RUNS_IN_FLIGHT];
  device->counters.waits++;
  device->pictures_in_flight -= program->has_output;
  if (wait_for_end(device, program, buffer, err) < 0)
    return -1;
  for (int i = 0; program->has_output && !buffer->on_device && i < program->base.pictures; i++)
    picture_copied(buffer->pictures[i]);
  if (device->stamps)
    device->counters.stamps = take_stamps(device, buffer);
  /* the run's order (struct run_order) must list no copies any more, because the profile launches the graph that reads
   * this order again */
  buffer->order->ups = buffer->order->downs = 0;
  return 0;
}

int program_poison(struct device *base, struct program *program_base, struct error *err) {
  struct cuda_device *device = cuda_enter(base);
  struct cuda_program *program = cuda_program(program_base);
  /* all bits 1 are a NaN in FP16 and in FP32, so tests notice if a kernel reads memory that no kernel has written */
  cudaStream_t stream = device->queue.stream;
  if (cuda_check(cudaMemsetAsync(program->arena, 0xff, program->arena_bytes, stream), "poisoning", err) < 0)
    return -1;
  return cuda_check(cudaMemsetAsync(program->scratch, 0xff, (size_t)program->lanes * program->scratch_bytes, stream),
                    "poisoning", err);
}
