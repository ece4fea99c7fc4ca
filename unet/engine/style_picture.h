/* Converts a frame to the patches that the CLIP vision network of an IP-Adapter reads. */
#ifndef UNET_ENGINE_STYLE_PICTURE_H
#define UNET_ENGINE_STYLE_PICTURE_H

#include "unet/base/frame.h"
#include "unet/engine.h"

/* Fills `patches`, [patches][3][rows][columns], with the normalised values of the frame's centre. Before normalisation
 * the values are equal to the bit to those of transformers' CLIPImageProcessor. YUV pixels take the nearest chroma
 * sample. */
int style_patches(const struct style_format *format, const struct frame *frame, float *patches, struct error *err);

#endif
