/* The memory of a program's runs: parameters and input planes on the way to the GPU, and pictures on the way back. */
#ifndef CUDA_BUFFERS_H
#define CUDA_BUFFERS_H

#include "cuda/program.h"

/* Returns the numbers with which kernels convert stored samples to R, G and B and back, for ITU-R BT.601, BT.709 and
 * BT.2020 (non-constant luminance). */
struct coding planes_coding(enum pixel_format format, enum color_matrix matrix, enum color_range range);
/* Calculates addresses and pitches of a picture whose planes follow each other from `memory` on. Returns the bytes in
 * all. */
size_t planes_layout(struct planes *picture, enum pixel_format format, int width, int height, uint8_t *memory);

/* Fills in program->output, the layout of the pictures that the program's runs write. */
void output_describe(struct cuda_program *program, enum pixel_format format, int width, int height);
/* Allocates the orders of the runs (struct run_order) and creates their events; memory for planes is allocated later,
 * by buffers_grow. After a failure, program_release frees what was created. */
int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Enlarges the buffers, which happens only for a frame larger than all before. After a failure the buffers are empty,
 * and the next frame tries again. */
int buffers_grow(struct cuda_device *device, struct cuda_program *program, const struct buffer_room *room,
                 struct error *err);
void buffers_free(struct cuda_device *device, struct cuda_program *program);
/* Writes to the GPU where the two orders of the program's runs are, and which of them the next run reads. Waits until
 * that is done. doing: a noun for the error message. */
int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err);

#endif
