/* Functions about the samples of frames that both implementations of OP_PIXELS_IN and OP_PIXELS_OUT use: the definition
 * (cpu_pixels.c) and the fast one (cpu_resize.c). */
#ifndef UNET_CPU_CPU_PIXELS_H
#define UNET_CPU_CPU_PIXELS_H

#include <stddef.h>

#include "unet/base/channels.h"

/* Returns the number of samples in the longest row of the frame's planes. */
size_t cpu_pixels_row(const struct frame *frame);

/* The samples of a channel that an output pixel averages in one direction: those from position `low` to position
 * `high`, which may be fractions. */
struct span {
  double low, high;
};

/* Returns the samples of a channel that belong to the output pixel in column (or row) `position`. source and
 * source_size: start and length of the source rectangle in luma samples; dest and dest_size: start and length of the
 * destination in pixels. half: the channel has half the luma's resolution in this direction. */
struct span pixel_span(int position, double source, double source_size, int dest, int dest_size, bool half);

#endif
