/* The ops between two calls of a U-Net: noise, masks, guidance, steps (op.h). */
#ifndef UNET_PLAN_OP_STEPS_H
#define UNET_PLAN_OP_STEPS_H

#include "unet/plan/operands.h"

/* noise = run.between[i][0] * a + run.between[i][1] * b, where ends is a and then b, and i a sample's number modulo
 * pictures.
 *   ends   precise [2 samples, h, w, c]
 *   noise  precise [samples, h, w, c] */
#define OPERANDS_BETWEEN(T, P)                                                                                         \
  T(ends, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(noise, OPERAND_WRITE | OPERAND_STATE)
struct op_between {
  OPERANDS(BETWEEN)
  int pictures; /* 0: 1 */
};

/* y = run.start_latent * z + run.start_noise * noise: what the sampler starts from.
 *   z      [n, h, w, c]: without it, text to image
 *   noise  precise [n, h, w, c]; with z those behind the first n are not read
 *   y      precise */
#define OPERANDS_START(T, P)                                                                                           \
  T(z, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(y, OPERAND_WRITE)
struct op_start {
  OPERANDS(START)
};

/* y = x where kept is at least 0.5, else value: what an inpainting network sees of the picture.
 *   x     [n, H, W, c]
 *   kept  precise [1, H, W, 1]: of all pictures */
#define OPERANDS_MASK(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(y, OPERAND_WRITE)
struct op_mask {
  OPERANDS(MASK)
  float value;
};

/* y = [x | mask | image], the U-Net's input, in several copies of each latent. Where bit r of image_rows is clear, the
 * image part of a latent's copy r is zero. The mask is one channel and is there only with kept: 0 where the first of
 * the pixel's k x k values of kept is at least 0.5, else 1.
 *   x      precise [n, h, w, c]
 *   kept   precise [1 or n, k h, k w, 1]
 *   image  [n, h, w, c_image]
 *   y      [copies of all latents, h, w, c + 1 + c_image]; the number of copies is given as y.n */
#define OPERANDS_UNET_INPUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)                                                             \
  T(image, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(y, OPERAND_WRITE)
struct op_unet_input {
  OPERANDS(UNET_INPUT)
  unsigned image_rows;
  int rows, first; /* copies of each latent, of the first one; 0: y.n, and as many as of each */
};

/* What guidance makes of a U-Net's predictions, for each latent i of x, which is at s = step + steps_behind(i,
 * together), with rows model[first row of i + r]:
 *   m = sum over r of run.row_weight[r] * model[r]
 * and, where the op has an x that it compares with reference and no anew of its own for the latent,
 *   m += run.virtual_weight * (p.x * x + p.reference * reference), p = run.residual[s]
 * which is the prediction that would lead from x to the reference (zeros where there is none): Kodaira et al.,
 * StreamDiffusion, 2023. Then y = m * (1 - f + f * std(model[0]) / std(m)), f = run.guidance_rescale, std over all of a
 * latent: Lin et al., Common Diffusion Noise Schedules and Sample Steps are Flawed, 2023.
 * anew: of the latents at the first step, which have two rows, it becomes p.clean_x * x + p.clean_model * model[1]: the
 * picture that the negative prompt alone would lead to.
 *   model      [rows, h, w, c]
 *   x          precise [n, h, w, c]; without it there is one latent
 *   reference  [n, h, w, c]
 *   y          precise [n, h, w, c]
 *   anew       precise [n, h, w, c], of which that of these is written; may be reference */
#define OPERANDS_GUIDE(T, P)                                                                                           \
  T(model, OPERAND_READ)                                                                                               \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(reference, OPERAND_READ | OPERAND_OPTIONAL)                                                                        \
  T(y, OPERAND_WRITE)                                                                                                  \
  T(anew, OPERAND_WRITE | OPERAND_OPTIONAL)
struct op_guide {
  OPERANDS(GUIDE)
  int step, together;
  int rows, first; /* of each latent, of the first one; 0: all there are, as many as of each */
};

/* x becomes s.x * x + s.model * model + sum over i of s.earlier[i] * earlier[i] + s.noise * noise[step], with
 * s = run.step[step]. Then earlier[i] becomes earlier[i - 1], and earlier[0] s.keep_x * x + s.keep_model * model, of
 * the x before: what the step knew, as epsilon or as x0. A step that keeps nothing, both factors 0, leaves earlier as
 * it is. Every few-step sampler on epsilon- or v-prediction is of this form, and so are multistep ones (DPM-Solver++,
 * PNDM, UniPC): unet/sample/ makes the coefficients in double. In place: x and earlier are what one iteration hands on.
 * What has the coefficient 0 is not read: before the first step, earlier may hold anything. Of several latents latent i
 * is at step + steps_behind(i, together), with an earlier and a noise of its own: samples are those of a step after
 * those of the step before, as many as are together.
 *   x      precise [n, h, w, c]
 *   model  [n, h, w, c]
 *   earlier  precise [n times 1..EARLIER_MAX, h, w, c], a temporary or a state: coefficients behind them must be 0
 *   noise  precise [samples, h, w, c]: without it s.noise is not read, and it must be 0 for steps from samples on
 *          (device_submit checks) */
#define OPERANDS_STEP(T, P)                                                                                            \
  T(x, OPERAND_READ | OPERAND_WRITE)                                                                                   \
  T(model, OPERAND_READ)                                                                                               \
  T(earlier, OPERAND_READ | OPERAND_WRITE | OPERAND_OPTIONAL)                                                          \
  T(noise, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)
struct op_step {
  OPERANDS(STEP)
  int step; /* as OP_TIME_ROW's */
  int together;
};

#endif
