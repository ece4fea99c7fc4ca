/* How a prompt is told apart from what the picture would be without it. */
#ifndef UNET_BASE_GUIDANCE_H
#define UNET_BASE_GUIDANCE_H

enum guidance_mode {
  GUIDANCE_NONE,     /* the prompt alone */
  GUIDANCE_FULL,     /* classifier-free: the negative prompt in a row of its own in every step */
  GUIDANCE_SELF,     /* residual: away from the input's own latent; no further row */
  GUIDANCE_ONE_TIME, /* residual: away from what the negative prompt makes of the first step, which has a further row */
};

#endif
