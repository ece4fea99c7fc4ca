/* Conversion of a frame to the patches that a CLIP vision network reads. */
#ifndef UNET_ENGINE_STYLE_PICTURE_H
#define UNET_ENGINE_STYLE_PICTURE_H

#include "unet/base/frame.h"
#include "unet/engine.h"

/* Fills patches, [patches][3][rows][columns], with normalised values as transformers' CLIPImageProcessor computes them;
 * they are equal to the bit before normalisation. Of YUV, each pixel takes the nearest chroma sample. */
int style_patches(const struct style_format *format, const struct frame *frame, float *patches, struct error *err);

#endif
