/* What the definition and the fast pixel ops share. */
#ifndef UNET_CPU_CPU_PIXELS_H
#define UNET_CPU_CPU_PIXELS_H

#include <stddef.h>

#include "unet/base/channels.h"

/* Samples in the longest row of any of the frame's planes. */
size_t cpu_pixels_row(const struct frame *frame);

/* What an output pixel averages in one direction: samples [low, high) of a channel. */
struct span {
  double low, high;
};

/* position: of the output pixel; source, source_size: start and size of the source rectangle in luma samples; dest,
 * dest_size: start and size of where it goes, in pixels; half: the channel has half the luma's resolution. */
struct span pixel_span(int position, double source, double source_size, int dest, int dest_size, bool half);

#endif
