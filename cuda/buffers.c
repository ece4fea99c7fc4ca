#include "cuda/buffers.h"

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

void buffers_free(struct cuda_device *device, struct cuda_program *program) {
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    if (buffer->host)
      cudaFreeHost(buffer->host);
    cuda_free(device, buffer->device, program->room.device);
    buffer->host = buffer->device = NULL;
  }
  program->room = (struct buffer_room){0};
}

int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err) {
  struct run_ring ring = {.turn = program->base.submitted};
  for (int i = 0; i < RUNS_IN_FLIGHT; i++)
    ring.buffer[i] = program->buffer[i].device;
  return memory_copy(stream, program->ring, &ring, sizeof ring, doing, err);
}

int buffers_grow(struct cuda_device *device, cudaStream_t stream, struct cuda_program *program,
                 const struct buffer_room *room, struct error *err) {
  const struct buffer_room before = program->room;
  if (room->host <= before.host && room->device <= before.device)
    return 0;
  if (cuda_check(cudaStreamSynchronize(stream), "making room for larger frames", err) < 0)
    return -1;
  buffers_free(device, program);
  program->room.host = room->host > before.host ? room->host : before.host;
  program->room.device = room->device > before.device ? room->device : before.device;
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    if (cuda_alloc(device, (void **)&buffer->device, program->room.device, "input frames", err) < 0 ||
        cuda_check(cudaHostAlloc((void **)&buffer->host, program->room.host, cudaHostAllocDefault), "pinned memory",
                   err) < 0)
      goto fail;
  }
  if (program_set_turn(stream, program, "input frames", err) == 0)
    return 0;
fail:
  buffers_free(device, program);
  return -1;
}

int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err) {
  void *memory;
  if (cuda_alloc(device, &memory, PLANES_OFFSET + sizeof(struct run_ring), "run parameters", err) < 0)
    return -1;
  program->block = memory;
  program->ring = (struct run_ring *)((char *)memory + PLANES_OFFSET);
  if (cuda_check(cudaMemsetAsync(memory, 0, PLANES_OFFSET, device->preparing.queue.stream), "run parameters", err) < 0)
    return -1; /* trials read them before a run brings any */
  for (int i = 0; i < RUNS_IN_FLIGHT; i++) {
    struct run_buffer *buffer = &program->buffer[i];
    unsigned flags = device->stamps ? cudaEventDefault : cudaEventDisableTiming;
    if (cuda_check(cudaEventCreateWithFlags(&buffer->uploading, flags), "event", err) < 0 ||
        cuda_check(cudaEventCreateWithFlags(&buffer->uploaded, flags), "event", err) < 0 ||
        cuda_check(cudaEventCreate(&buffer->begun), "event", err) < 0 ||
        cuda_check(cudaEventCreate(&buffer->computed), "event", err) < 0 ||
        cuda_check(cudaEventCreate(&buffer->downloaded), "event", err) < 0)
      return -1;
  }
  const struct buffer_room parameters = {PLANES_OFFSET, PLANES_OFFSET};
  return buffers_grow(device, device->preparing.queue.stream, program, &parameters, err);
}
