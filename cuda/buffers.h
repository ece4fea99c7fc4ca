/* The memory for a program's runs: parameters and input planes on the way to the GPU, and the layout of the pictures
 * that it writes. */
#ifndef CUDA_BUFFERS_H
#define CUDA_BUFFERS_H

#include "cuda/program.h"

/* Returns the factors with which kernels convert the numbers in planes to R, G and B, and back. They depend on the
 * pixel format, on the matrix (ITU-R BT.601, BT.709, or BT.2020 with non-constant luminance) and on the range (limited
 * or full). */
struct coding planes_coding(enum pixel_format format, enum color_matrix matrix, enum color_range range);
/* Sets addresses and pitches of a picture's planes, which follow each other in memory, beginning at `memory`. Returns
 * how many bytes the planes take together. */
size_t planes_layout(struct planes *picture, enum pixel_format format, int width, int height, uint8_t *memory);

/* Sets program->output, the layout of the pictures that the program's runs write. */
void output_describe(struct cuda_program *program, enum pixel_format format, int width, int height);
/* Allocates the orders of a program's runs (struct run_order: what the GPU must do in a run) and creates the events of
 * the runs. Memory for input planes is allocated later, by buffers_grow. After a failure, buffers_free frees what was
 * created. */
int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Makes the program's buffers for input planes at least as large as `room`. The buffers are allocated anew only if a
 * frame is larger than all earlier ones. After a failure the program has no buffers, and the next frame tries again. */
int buffers_grow(struct cuda_device *device, struct cuda_program *program, const struct buffer_room *room,
                 struct error *err);
/* Frees what buffers_create and buffers_grow have allocated, also after a failure. */
void buffers_free(struct cuda_device *device, struct cuda_program *program);
/* Tells the GPU where each run finds its order (parameters, addresses and copies, struct run_order). Runs use two
 * orders in host memory in turn. Writes to device memory the addresses of both, and which of them the next run (number
 * program->base.submitted) reads; waits until that is written. doing: what the caller is doing, for the error
 * message. */
int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err);

#endif
