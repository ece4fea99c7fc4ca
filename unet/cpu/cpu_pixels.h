/* Functions for frames that the definition (cpu_pixels.c) and the fast code (cpu_resize.c) both use. */
#ifndef UNET_CPU_CPU_PIXELS_H
#define UNET_CPU_CPU_PIXELS_H

#include <stddef.h>

#include "unet/base/channels.h"

/* Returns how many samples the longest row of any of the frame's planes has. */
size_t cpu_pixels_row(const struct frame *frame);

/* The samples that an output pixel averages in one direction: [low, high) of a channel. */
struct span {
  double low, high;
};

/* Returns the samples of a channel for the output pixel in column (or row) `position`. source and source_size are the
 * source rectangle's start and length in luma samples; dest and dest_size are the start and length of the destination
 * in pixels. half: the channel has half the luma's resolution in this direction. */
struct span pixel_span(int position, double source, double source_size, int dest, int dest_size, bool half);

#endif
