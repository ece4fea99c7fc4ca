/* A frame as the patches that a vision network reads. */
#ifndef UNET_ENGINE_STYLE_PICTURE_H
#define UNET_ENGINE_STYLE_PICTURE_H

#include "unet/base/frame.h"
#include "unet/engine.h"

/* [patches][3][rows][columns], normalised: what transformers' CLIPImageProcessor makes of its pixels, to the bit before
 * they are normalised. Of YUV each pixel takes the nearest chroma. */
int style_patches(const struct style_format *format, const struct frame *frame, float *patches, struct error *err);

#endif
