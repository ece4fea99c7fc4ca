/* Computes which prompts a run reads, and the factors with which the predictions for them are summed. Letters in the
 * formulas below: g is the guidance scale; c is the prediction with the prompt; u is that without it; i is that with
 * the input picture alone; t is that with picture and prompt. */
#include "unet/engine/engine_impl.h"

float clamp01(float x) {
  return x > 0 ? (x < 1 ? x : 1) : 0;
}

static void fill_rows(enum guidance_mode mode, int rows, const struct controls *controls, struct run_params *run) {
  float g = controls->guidance, image = controls->image_guidance;
  run->guidance_rescale = clamp01(controls->guidance_rescale);
  switch (mode) {
  case GUIDANCE_NONE:
    run->row_weight[0] = 1;
    return;
  /* residual guidance: delta s + g (c - delta s), where s is the residual prediction and delta is controls.delta; the
   * head of this file explains g and c */
  case GUIDANCE_SELF:
  case GUIDANCE_ONE_TIME:
    run->row_weight[0] = g;
    run->row_weight[1] = run->virtual_weight = (1 - g) * controls->delta;
    return;
  case GUIDANCE_FULL:
    break;
  }
  run->row_weight[0] = g;
  /* factor of row 1. With two rows, row 1 is u, the prediction for the negative prompt, and the formula is
   * classifier-free guidance, u + g (c - u). With three rows, row 1 is i in the formula below. */
  run->row_weight[1] = rows == 3 ? image - g : 1 - g;
  /* factor of row 2, which is u, for InstructPix2Pix (Brooks et al., 2023): u + image (i - u) + g (t - i), where
   * `image` is the guidance scale of the input picture. The head of this file explains the letters */
  run->row_weight[2] = 1 - image;
}

static double counted(float weight) {
  return weight > 0 ? (double)weight : 0;
}

/* Fills in the prompts that the picture is to show, with their weights. The weight of a single prompt is exactly 1. */
static void fill_prompt(const struct engine *engine, const struct controls *controls, struct prompt_params *prompt) {
  double sum = 0;
  int count = 0;
  for (int i = 0; i < SLOT_PRESETS; i++)
    sum += counted(controls->blend[i]);
  *prompt = (struct prompt_params){{prompts_slot(engine, controls->prompt)}, {1}};
  for (int i = 0; i < SLOT_PRESETS; i++) {
    float share = sum > 0 ? (float)(counted(controls->blend[i]) / sum) : 0;
    if (share > 0) {
      prompt->slot[count] = prompts_slot(engine, SLOT_PRESET_1 + i);
      prompt->weight[count++] = share;
    }
  }
}

void guidance_fill(const struct engine *engine, const struct frame_shape *shape, const struct controls *controls,
                   struct run_params *run) {
  fill_prompt(engine, controls, &run->prompt[0]);
  run->prompt[1] = run->prompt[2] =
      (struct prompt_params){{prompts_slot(engine, SLOT_NEGATIVE)}, {prompts_zero_negative(engine) ? 0 : 1}};
  fill_rows(shape->guidance, shape->rows.first, controls, run);
}
