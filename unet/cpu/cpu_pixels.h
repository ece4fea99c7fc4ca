/* Functions that the definition and the fast pixel ops share. */
#ifndef UNET_CPU_CPU_PIXELS_H
#define UNET_CPU_CPU_PIXELS_H

#include <stddef.h>

#include "unet/base/channels.h"

/* Returns the number of samples in the longest row of the frame's planes. */
size_t cpu_pixels_row(const struct frame *frame);

/* The samples that an output pixel averages in one direction: [low, high) of a channel. */
struct span {
  double low, high;
};

/* Returns the samples for one output pixel. position is the pixel's; source and source_size are the start and size of
 * the source rectangle in luma samples; dest and dest_size are the start and size of the destination in pixels; half:
 * the channel has half the luma's resolution. */
struct span pixel_span(int position, double source, double source_size, int dest, int dest_size, bool half);

#endif
