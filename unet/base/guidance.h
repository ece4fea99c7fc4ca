/* The ways to strengthen a prompt: each compares the prompt's prediction with one that is made without it. */
#ifndef UNET_BASE_GUIDANCE_H
#define UNET_BASE_GUIDANCE_H

enum guidance_mode {
  GUIDANCE_NONE, /* no guidance */
  GUIDANCE_FULL, /* classifier-free guidance: every step also computes the prediction for the negative prompt */
  GUIDANCE_SELF, /* residual guidance, away from the input's own latent; needs no further prediction */
  /* residual guidance, away from the negative prompt's prediction in the first step, which needs a further row */
  GUIDANCE_ONE_TIME,
};

#endif
