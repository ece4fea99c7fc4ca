#include "cuda/buffers.h"

#include <string.h>

#include "cuda/check.h"

static int aligned_pitch(enum pixel_format format, int plane, int width) {
  return (frame_row_bytes(format, plane, width) + FRAME_ALIGN - 1) / FRAME_ALIGN * FRAME_ALIGN;
}

struct coding planes_coding(enum pixel_format format, enum color_matrix matrix, enum color_range range) {
  static const float red[] = {[MATRIX_BT601] = 0.299f, [MATRIX_BT709] = 0.2126f, [MATRIX_BT2020] = 0.2627f};
  static const float blue[] = {[MATRIX_BT601] = 0.114f, [MATRIX_BT709] = 0.0722f, [MATRIX_BT2020] = 0.0593f};
  if (format == PIXEL_BGRA || format == PIXEL_RGBA)
    return (struct coding){.scale = {1 / 255.0f, 1 / 255.0f, 1 / 255.0f}};
  int depth = format == PIXEL_P010 ? 10 : 8;
  float unit = (float)(1 << (depth - 8)), most = (float)((1 << depth) - 1);
  bool full = range == RANGE_FULL;
  float luma = full ? most : 219 * unit, chroma = full ? most : 224 * unit;
  float r = red[matrix], b = blue[matrix], g = 1 - r - b, r_cr = 2 * (1 - r), b_cb = 2 * (1 - b);
  return (struct coding){.zero = {full ? 0 : 16 * unit, 128 * unit, 128 * unit},
                         .scale = {1 / luma, 1 / chroma, 1 / chroma},
                         .r = r,
                         .g = g,
                         .b = b,
                         .r_cr = r_cr,
                         .b_cb = b_cb,
                         .g_cb = -b_cb * b / g,
                         .g_cr = -r_cr * r / g};
}

size_t planes_layout(struct planes *picture, enum pixel_format format, int width, int height, uint8_t *memory) {
  size_t used = 0;
  picture->format = format;
  picture->width = width;
  picture->height = height;
  for (int i = 0; i < 3; i++) {
    bool there = i < frame_planes(format);
    picture->plane[i] = there ? memory + used : NULL;
    picture->pitch[i] = there ? aligned_pitch(format, i, width) : 0;
    if (there)
      used += (size_t)picture->pitch[i] * (size_t)frame_rows(format, i, height);
  }
  return used;
}

void output_describe(struct cuda_program *program, enum pixel_format format, int width, int height) {
  struct planes *output = &program->output;
  program->output_bytes = planes_layout(output, format, width, height, NULL);
  output->matrix = MATRIX_BT709;
  output->range = RANGE_LIMITED;
  output->coding = planes_coding(format, MATRIX_BT709, RANGE_LIMITED);
}

/* Page-locked host memory for the runs of a program. Before a run the host writes the run's order (parameters,
 * addresses, and copies to make), which the GPU reads. The GPU writes `end` when the run has ended; the waiting thread
 * reads it. */
struct run_pins {
  struct run_order order[RUNS_IN_FLIGHT];
  struct {
    /* `end` is in a cache line of its own, because the GPU writes it while the host may write `order` */
    _Alignas(128) struct run_end end;
  } of[RUNS_IN_FLIGHT];
};

/* Device memory for the runs of a program. order: a copy of the present run's order, the values that differ from run to
 * run. ring: the host addresses of the two orders in struct run_pins, one for each run that may be in flight; the GPU
 * copies the order from there. */
struct run_memory {
  struct run_order order;
  struct run_ring ring;
};

static void free_room(struct cuda_device *device, struct cuda_program *program) {
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    if (buffer->host)
      cudaFreeHost(buffer->host);
    cuda_free(device, buffer->device, program->room.device);
    buffer->host = buffer->device = NULL;
  }
  program->room = (struct buffer_room){0};
}

void buffers_free(struct cuda_device *device, struct cuda_program *program) {
  free_room(device, program);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    const struct run_buffer *buffer = &program->buffer[i];
    cudaEvent_t events[] = {buffer->uploading, buffer->uploaded, buffer->begun, buffer->computed, buffer->downloaded};
    for (int j = 0; j < 5; j++)
      if (events[j])
        cudaEventDestroy(events[j]);
  }
  if (program->pins)
    cudaFreeHost(program->pins);
  cuda_free(device, program->order, sizeof(struct run_memory));
}

int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err) {
  struct run_ring ring = {.turn = program->base.submitted};
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    ring.order[i] = program->buffer[i].order;
  return memory_copy(stream, program->ring, &ring, sizeof ring, doing, err);
}

static int make_room(struct cuda_device *device, struct run_buffer *buffer, const struct buffer_room *room,
                     struct error *err) {
  void *memory;
  if (cuda_alloc(device, &memory, room->device, "input frames", err) < 0)
    return -1;
  buffer->device = memory;
  if (!room->host)
    return 0;
  if (cuda_check(cudaHostAlloc(&memory, room->host, cudaHostAllocDefault), "pinned memory", err) < 0)
    return -1;
  buffer->host = memory;
  return 0;
}

int buffers_grow(struct cuda_device *device, struct cuda_program *program, const struct buffer_room *room,
                 struct error *err) {
  const struct buffer_room before = program->room;
  if (room->host <= before.host && room->device <= before.device)
    return 0;
  if (cuda_check(cudaStreamSynchronize(device->queue.stream), "making room for larger frames", err) < 0)
    return -1;
  free_room(device, program);
  program->room.host = room->host > before.host ? room->host : before.host;
  program->room.device = room->device > before.device ? room->device : before.device;
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    if (make_room(device, &program->buffer[i], &program->room, err) < 0) {
      free_room(device, program);
      return -1;
    }
  return 0;
}

static int create_pins(struct cuda_program *program, struct error *err) {
  void *memory;
  if (cuda_check(cudaHostAlloc(&memory, sizeof *program->pins, cudaHostAllocDefault), "pinned memory", err) < 0)
    return -1;
  program->pins = memory;
  memset(program->pins, 0, sizeof *program->pins);
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    program->buffer[i].order = &program->pins->order[i];
    program->buffer[i].end = &program->pins->of[i].end;
  }
  return 0;
}

static int create_events(const struct cuda_device *device, struct run_buffer *buffer, struct error *err) {
  unsigned flags = device->stamps ? cudaEventDefault : cudaEventDisableTiming;
  if (cuda_check(cudaEventCreateWithFlags(&buffer->uploading, flags), "event", err) < 0 ||
      cuda_check(cudaEventCreateWithFlags(&buffer->uploaded, flags), "event", err) < 0 ||
      cuda_check(cudaEventCreateWithFlags(&buffer->computed, cudaEventDisableTiming), "event", err) < 0 ||
      cuda_check(cudaEventCreate(&buffer->begun), "event", err) < 0)
    return -1;
  return cuda_check(cudaEventCreate(&buffer->downloaded), "event", err);
}

int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err) {
  static const char what[] = "run parameters";
  cudaStream_t stream = device->preparing.queue.stream;
  void *memory;
  if (cuda_alloc(device, &memory, sizeof(struct run_memory), what, err) < 0)
    return -1;
  program->order = &((struct run_memory *)memory)->order;
  program->block = &program->order->block;
  program->ring = &((struct run_memory *)memory)->ring;
  if (cuda_check(cudaMemsetAsync(memory, 0, sizeof(struct run_memory), stream), what, err) < 0 ||
      create_pins(program, err) < 0)
    return -1; /* the device memory is zeroed, because timing trials read it before any run has written it */
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    if (create_events(device, &program->buffer[i], err) < 0)
      return -1;
  return program_set_turn(stream, program, what, err);
}
