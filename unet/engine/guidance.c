/* Computes which prompts a run reads, and with which weights its guidance rows are summed. In the formulas, g is the
 * guidance scale, c, u, i and t are the predictions with the prompt, without it, with the input picture alone, and with
 * picture and prompt. */
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
  case GUIDANCE_SELF: /* delta s + g (c - delta s): the residual prediction s, times delta, stands for u */
  case GUIDANCE_ONE_TIME:
    run->row_weight[0] = g;
    run->row_weight[1] = run->virtual_weight = (1 - g) * controls->delta;
    return;
  case GUIDANCE_FULL:
    break;
  }
  run->row_weight[0] = g;
  run->row_weight[1] = rows == 3 ? image - g : 1 - g; /* u + g (c - u); with three rows see the next line */
  run->row_weight[2] = 1 - image;                     /* InstructPix2Pix (2023): u + image (i - u) + g (t - i) */
}

static double counted(float weight) {
  return weight > 0 ? (double)weight : 0;
}

/* Fills in the prompts that the picture is to show. A single prompt gets the weight 1 exactly. */
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
