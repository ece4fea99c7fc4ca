/* The memory of a program's runs: parameters and input planes on their way in, pictures on their way out. */
#ifndef CUDA_BUFFERS_H
#define CUDA_BUFFERS_H

#include "cuda/program.h"

/* ITU-R BT.601, BT.709 and BT.2020 (non-constant luminance). */
struct coding planes_coding(enum pixel_format format, enum color_matrix matrix, enum color_range range);
/* Sizes and pitches of a picture whose planes follow each other from memory on; returns the bytes in all. */
size_t planes_layout(struct planes *picture, enum pixel_format format, int width, int height, uint8_t *memory);

/* What the program's runs write. */
void output_describe(struct cuda_program *program, enum pixel_format format, int width, int height);
/* What it has made before it fails, program_release frees. */
int buffers_create(struct cuda_device *device, struct cuda_program *program, struct error *err);
/* Makes the buffers hold as much, which only a larger frame than ever before needs. After a failure they hold nothing,
 * and the next frame tries again. */
int buffers_grow(struct cuda_device *device, struct cuda_program *program, const struct buffer_room *room,
                 struct error *err);
void buffers_free(struct cuda_device *device, struct cuda_program *program);
/* Tells the GPU where the orders are, and that the next turn is the next run's. */
int program_set_turn(cudaStream_t stream, struct cuda_program *program, const char *doing, struct error *err);

#endif
