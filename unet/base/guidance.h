/* The methods that make a picture follow its prompt more strongly: each compares the prediction for the prompt with one
 * that is made without the prompt. */
#ifndef UNET_BASE_GUIDANCE_H
#define UNET_BASE_GUIDANCE_H

enum guidance_mode {
  GUIDANCE_NONE, /* no guidance */
  GUIDANCE_FULL, /* classifier-free guidance: every step also computes the prediction for the negative prompt */
  GUIDANCE_SELF, /* residual guidance, away from the input's own latent; needs no second prediction in any step */
  /* residual guidance, away from the negative prompt's prediction; only the first step computes that second
   * prediction */
  GUIDANCE_ONE_TIME,
};

#endif
