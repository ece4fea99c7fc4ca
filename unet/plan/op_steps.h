/* The ops between two calls of a U-Net: noise, masks, guidance, steps. op.h says how ops are declared. */
#ifndef UNET_PLAN_OP_STEPS_H
#define UNET_PLAN_OP_STEPS_H

#include "unet/plan/operands.h"

/* noise = run.between[i][0] * a + run.between[i][1] * b, where `ends` holds all samples of a and then all samples of b,
 * and i is the sample's number modulo `pictures`.
 *   ends   precise [2 samples, h, w, c]
 *   noise  precise [samples, h, w, c] */
#define OPERANDS_BETWEEN(T, P)                                                                                         \
  T(ends, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(noise, OPERAND_WRITE | OPERAND_STATE)
struct op_between {
  OPERANDS(BETWEEN)
  int pictures; /* number of pictures whose noise the op makes; 0 means 1 */
};

/* y = run.start_latent * z + run.start_noise * noise: the latent from which the sampler starts. With `last`, z is first
 * mixed with the latent of the last picture, moved along the flow: f * last(p + flow) + (1 - f) * z, where f is
 * run.feedback in cells that were seen in the last frame, else 0. last is read by bilinear interpolation between the
 * cells, and continued beyond its border. With f 0, last is not read.
 *   z        [n, h, w, c]; without it the plan is for text to image
 *   noise    precise [n, h, w, c]; with z, samples after the first n are not read
 *   last     precise [1, h, w, c], only where n is 1; then flow and visible are there as well
 *   flow     whole [1, h, w, 2]: displacement of each cell to its position in the last frame, in 1/256 pixel
 *   visible  whole [1, h, w, 1]: not 0 if the cell was seen in the last frame
 *   y        precise */
#define OPERANDS_START(T, P)                                                                                           \
  T(z, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(last, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)                                                             \
  T(flow, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                             \
  T(visible, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                          \
  T(y, OPERAND_WRITE)
struct op_start {
  OPERANDS(START)
  int cell; /* pixels of a cell's side; read with `last` alone */
};

/* y = x where kept is at least 0.5, else value: the picture as an inpainting network sees it.
 *   x     [n, H, W, c]
 *   kept  precise [1, H, W, 1]: the same for all pictures */
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
  /* y has `first` copies of the first latent, and `rows` copies of each later one; rows 0 means all of y, first 0 means
   * `rows` */
  int rows, first;
};

/* y = the prediction after guidance, for each latent i of x. The latent is at step s = step + steps_behind(i,
 * together), and its predictions are model[first row of i + r]:
 *   m = sum over r of run.row_weight[r] * model[r]
 * With x, the residual is added, except for latents for which `anew` is written (see below):
 *   m += run.virtual_weight * (p.x * x + p.reference * reference), p = run.residual[s]
 * The sum in brackets is the prediction that would lead from x to the reference (zeros without one): Kodaira et al.,
 * StreamDiffusion, 2023. Then y = m * (1 - f + f * std(model[0]) / std(m)) with f = run.guidance_rescale and std over
 * all values of a latent: Lin et al., Common Diffusion Noise Schedules and Sample Steps are Flawed, 2023. With the
 * operand `anew`, latents at the first step, which have two rows, also write anew = p.clean_x * x + p.clean_model *
 * model[1]: the picture to which the negative prompt alone would lead, which later steps read as their reference.
 *   model      [rows, h, w, c]
 *   x          precise [n, h, w, c]; without it there is one latent
 *   reference  [n, h, w, c]
 *   y          precise [n, h, w, c]
 *   anew       precise [n, h, w, c]; only latents at the first step are written; may be the same tensor as reference */
#define OPERANDS_GUIDE(T, P)                                                                                           \
  T(model, OPERAND_READ)                                                                                               \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(reference, OPERAND_READ | OPERAND_OPTIONAL)                                                                        \
  T(y, OPERAND_WRITE)                                                                                                  \
  T(anew, OPERAND_WRITE | OPERAND_OPTIONAL)
struct op_guide {
  OPERANDS(GUIDE)
  int step, together;
  /* the first `first` pictures of model belong to the first latent, the next `rows` to each later one; rows 0 means all
   * of model, first 0 means `rows` */
  int rows, first;
};

/* A step of a sampler, in place: x becomes s.x * x + s.model * model + sum over i of s.earlier[i] * earlier[i] +
 * s.noise * noise[step], with s = run.step[step]. Then earlier[i] becomes earlier[i - 1], and earlier[0] becomes
 * s.keep_x * x + s.keep_model * model of the x before the step: the step's prediction, as epsilon or as x0. If both
 * factors are 0, earlier does not change. Every few-step sampler on epsilon- or v-prediction has this form, and so have
 * multistep ones (DPM-Solver++, PNDM, UniPC): unet/sample/ computes the coefficients in double. An iteration of a loop
 * gives x and earlier to the next one. Tensors whose coefficient is 0 are not read, so before the first step earlier
 * may hold anything. With several latents, latent i is at step + steps_behind(i, together) and has its own earlier and
 * noise; `together` noise samples of one step are followed by those of the next step.
 *   x      precise [n, h, w, c]
 *   model  [n, h, w, c]
 *   earlier  precise [n times 1..EARLIER_MAX, h, w, c], a temporary or a state: coefficients of more must be 0
 *   noise  precise [samples, h, w, c]: without it s.noise is not read; s.noise must be 0 for steps that have no
 *          sample (device_submit checks) */
#define OPERANDS_STEP(T, P)                                                                                            \
  T(x, OPERAND_READ | OPERAND_WRITE)                                                                                   \
  T(model, OPERAND_READ)                                                                                               \
  T(earlier, OPERAND_READ | OPERAND_WRITE | OPERAND_OPTIONAL)                                                          \
  T(noise, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)
struct op_step {
  OPERANDS(STEP)
  int step; /* number of the U-Net's call; in a loop that of the first iteration, and one more in each later one */
  int together;
};

#endif
