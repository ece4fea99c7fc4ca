#include "app/control/refusals.h"

/* Stores `why` as the reason for which the model refuses each of these parameters; the list ends with
 * PARAMETER_NONE. */
static void refuse(struct refusals *refusals, const char *why, const enum parameter *ids) {
  for (; *ids != PARAMETER_NONE; ids++)
    refusals->why[*ids] = why;
}

void refusals_find(struct refusals *refusals, const struct engine_info *info, const struct prepared_info *prepared) {
  static const enum parameter guided[] = {PARAMETER_GUIDANCE, PARAMETER_GUIDANCE_MODE,    PARAMETER_DELTA,
                                          PARAMETER_NEGATIVE, PARAMETER_GUIDANCE_RESCALE, PARAMETER_NONE},
                              image[] = {PARAMETER_IMAGE_GUIDANCE, PARAMETER_NONE},
                              negative[] = {PARAMETER_NEGATIVE, PARAMETER_NONE},
                              fed[] = {PARAMETER_FEEDBACK, PARAMETER_NONE},
                              banked[] = {PARAMETER_BANK, PARAMETER_BANK_ROOM, PARAMETER_BANK_EVERY,
                                          PARAMETER_BANK_LAYERS, PARAMETER_NONE},
                              fresh[] = {PARAMETER_ETA, PARAMETER_NONE},
                              styled[] = {PARAMETER_STYLE, PARAMETER_STYLE_WEIGHT, PARAMETER_STYLE_LAYERS,
                                          PARAMETER_NONE};
  *refusals = (struct refusals){0};
  if (info->refuses_guidance)
    refuse(refusals, "trained without guidance", guided);
  if (info->refuses_guidance || !info->image_conditioned || info->inpaints)
    refuse(refusals, "for InstructPix2Pix", image);
  if (info->has_guidance_embedding)
    refuse(refusals, "guidance is embedded", negative);
  if (info->starts_from_noise)
    refuse(refusals, "starts from noise alone", fed);
  if (!info->takes_bank)
    refuse(refusals, "has no self-attention", banked);
  if (!prepared->has_eta)
    refuse(refusals, "sampler adds no noise", fresh);
  if (!info->style.size && !info->own_adapter)
    refuse(refusals, "needs --ip-adapter", styled);
}
