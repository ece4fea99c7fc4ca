/* The ops before and after each call of a U-Net: noise, masks, guidance, and the sampler's steps. op.h says how ops are
 * declared. */
#ifndef UNET_PLAN_OP_STEPS_H
#define UNET_PLAN_OP_STEPS_H

#include "unet/plan/operands.h"

/* Makes noise that lies between the noises a and b of two seeds: noise = run.between[i][0] * a + run.between[i][1] * b,
 * where i is the sample's number modulo `pictures`.
 *   ends   FP32 [2 samples, h, w, c]: all samples of a, then all samples of b
 *   noise  FP32 [samples, h, w, c]: a state */
#define OPERANDS_BETWEEN(T, P)                                                                                         \
  T(ends, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(noise, OPERAND_WRITE | OPERAND_STATE)
struct op_between {
  OPERANDS(BETWEEN)
  int pictures; /* number of pictures whose noise the op makes; 0 means 1 */
};

/* y = run.start_latent * z + run.start_noise * noise: the latent from which the sampler starts. With `last` (feedback),
 * z is first replaced, in each cell p, by f * last(p + flow) + (1 - f) * z: it is mixed with the latent of the last
 * picture, moved along the flow. f is run.feedback in cells that were seen in the last frame, else 0; it is 0 in all
 * cells if this frame or the last one has no texture. `last` is read by bilinear interpolation between the cells, and
 * its border is continued beyond it. Where f is 0, `last` is not read.
 *   z        [n, h, w, c]: the input's latents; left out in plans for text to image
 *   noise    FP32 [n, h, w, c]; with z, samples after the first n are not read
 *   last     FP32 [1, h, w, c], only where n is 1; then flow, visible and global must be given, too
 *   flow     int32 [1, h, w, 2]: displacement of each cell to its position in the last frame, in 1/256 pixel
 *   visible  int32 [1, h, w, 1]: not 0 if the cell was seen in the last frame
 *   global   int32 [1, 1, 1, GLOBAL_VALUES] (op_motion.h), of which GLOBAL_BLANK is read
 *   y        FP32, shape of z, or of noise without z */
#define OPERANDS_START(T, P)                                                                                           \
  T(z, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(noise, OPERAND_READ | OPERAND_STATE)                                                                               \
  T(last, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)                                                             \
  T(flow, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                             \
  T(visible, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                          \
  T(global, OPERAND_READ | OPERAND_OPTIONAL | OPERAND_WHOLE)                                                           \
  T(y, OPERAND_WRITE)
struct op_start {
  OPERANDS(START)
  int cell; /* width of a latent's cell in pixels of the picture; read only if `last` is given */
};

/* y = the picture as an inpainting network sees it: x where the mask `kept` is at least 0.5, else `value`.
 *   x     [n, H, W, c]
 *   kept  FP32 [1, H, W, 1]: the mask, 1 where the picture is to stay; the same for all pictures
 *   y     shape of x */
#define OPERANDS_MASK(T, P)                                                                                            \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE)                                                                                \
  T(y, OPERAND_WRITE)
struct op_mask {
  OPERANDS(MASK)
  float value;
};

/* y = the U-Net's input: [x | mask | image], concatenated along the channels, in several copies of each latent
 * (guidance rows). The image channels are zero in copy r of a latent if bit r of image_rows is clear. The mask is one
 * channel, and there is none if `kept` was left out. It is computed from the k x k values of `kept` that belong to a
 * pixel: 0 where the first of them is at least 0.5, else 1.
 *   x      FP32 [n, h, w, c]: the noisy latents
 *   kept   FP32 [1 or n, k h, k w, 1]: the mask, 1 where the picture is to stay
 *   image  [n, h, w, c_image]: the latents of the input picture, for inpainting and InstructPix2Pix
 *   y      [copies of all latents, h, w, c + 1 + c_image]; the caller gives the number of copies as y.n */
#define OPERANDS_UNET_INPUT(T, P)                                                                                      \
  T(x, OPERAND_READ)                                                                                                   \
  T(kept, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)                                                             \
  T(image, OPERAND_READ | OPERAND_OPTIONAL)                                                                            \
  T(y, OPERAND_WRITE)
struct op_unet_input {
  OPERANDS(UNET_INPUT)
  unsigned image_rows;
  /* y has `first` copies of the first latent, and `rows` copies of each later one (guidance rows, operands.h). rows 0:
   * there is one latent, and all of y are copies of it. first 0: the first latent has `rows` copies, as each later
   * one. */
  int rows, first;
};

/* y = the prediction after guidance, for each latent i of x. The latent is at step s = step + steps_behind(i,
 * together). Let model[r] be the prediction for its guidance row r (prompt number r). First the predictions are
 * combined:
 *   m = sum over r of run.row_weight[r] * model[r]
 * If x is given, the residual prediction is added, except in latents for which `anew` is written:
 *   m += run.virtual_weight * (p.x * x + p.reference * reference), with p = run.residual[s]
 * The sum in brackets is the prediction that would lead from x to the reference, which is zeros if left out: Kodaira et
 * al., StreamDiffusion, 2023. Last, the result is rescaled by f = run.guidance_rescale:
 *   y = m * (1 - f + f * std(model[0]) / std(m)), with std over all values of a latent
 * Lin et al., Common Diffusion Noise Schedules and Sample Steps are Flawed, 2023. If `anew` is given, latents at the
 * first step, which have two guidance rows, also write anew = p.clean_x * x + p.clean_model * model[1]: the picture to
 * which the negative prompt alone would lead. Later steps read it as their reference.
 *   model      [rows, h, w, c]: predictions, ordered as guidance rows
 *   x          FP32 [n, h, w, c]: the noisy latents; if left out there is one latent
 *   reference  [n, h, w, c]
 *   y          FP32 [n, h, w, c]
 *   anew       FP32 [n, h, w, c]; only latents at the first step are written; may be the same tensor as reference */
#define OPERANDS_GUIDE(T, P)                                                                                           \
  T(model, OPERAND_READ)                                                                                               \
  T(x, OPERAND_READ | OPERAND_OPTIONAL)                                                                                \
  T(reference, OPERAND_READ | OPERAND_OPTIONAL)                                                                        \
  T(y, OPERAND_WRITE)                                                                                                  \
  T(anew, OPERAND_WRITE | OPERAND_OPTIONAL)
struct op_guide {
  OPERANDS(GUIDE)
  int step, together;
  /* The operand `model` holds the network's predictions, one for each guidance row (operands.h). The first `first`
   * predictions belong to the first latent, and each later latent has `rows` of them. rows 0: all predictions belong to
   * one latent. first 0: the first latent has `rows` predictions, as each later one. */
  int rows, first;
};

/* One step of a sampler, in place. With s = run.step[step], x becomes
 *   s.x * x + s.model * model + sum over i of s.earlier[i] * earlier[i] + s.noise * noise[step].
 * The op also stores the step's prediction (as epsilon or as x0) for later steps: earlier[i] becomes earlier[i - 1],
 * and earlier[0] becomes s.keep_x * x + s.keep_model * model, with x as it was before the step. If both factors are 0,
 * earlier does not change. Every few-step sampler on epsilon- or v-prediction has this form, and so have multistep ones
 * (DPM-Solver++, PNDM, UniPC); unet/sample/ computes the coefficients in double. In a loop, x and earlier go from each
 * iteration to the next. Tensors whose coefficient is 0 are not read, so before the first step earlier may hold
 * anything. With several latents, latent i is at step + steps_behind(i, together) and has its own samples in earlier
 * and noise; `together` noise samples of one step are followed by those of the next step.
 *   x        FP32 [n, h, w, c]: the latents
 *   model    [n, h, w, c]: the predictions, from OP_GUIDE or the U-Net
 *   earlier  FP32 [n times 1..EARLIER_MAX, h, w, c], a temporary or a state: coefficients of further ones must be 0
 *   noise    FP32 [samples, h, w, c]; s.noise must be 0 for steps that have no sample (device_submit checks), and is
 *            not read if noise was left out */
#define OPERANDS_STEP(T, P)                                                                                            \
  T(x, OPERAND_READ | OPERAND_WRITE)                                                                                   \
  T(model, OPERAND_READ)                                                                                               \
  T(earlier, OPERAND_READ | OPERAND_WRITE | OPERAND_OPTIONAL)                                                          \
  T(noise, OPERAND_READ | OPERAND_STATE | OPERAND_OPTIONAL)
struct op_step {
  OPERANDS(STEP)
  /* number, from 0, of the U-Net's call to which the op belongs. In the plan's loop it is the number of the call in the
   * first iteration; in iteration i the call has the number step + i */
  int step;
  int together;
};

#endif
