/* The samplers, and the ways to space their timesteps: one row each. The command line's words, the names for people and
 * the enums are made from these rows.
 *
 * A new sampler needs a row: id, identifier, word, name. Its formula is struct sampler_impl sampler_IDENTIFIER
 * (unet/sample/schedule.h), and the defaults of its class in diffusers are a row of CLASS_TABLE
 * (unet/checkpoint/config_scheduler.c). If one of them is missing, the program does not compile or link. */
#ifndef UNET_BASE_SAMPLERS_H
#define UNET_BASE_SAMPLERS_H

#define SAMPLER_TABLE(S)                                                                                               \
  S(EULER, euler, "euler", "Euler")                                                                                    \
  S(DDIM, ddim, "ddim", "DDIM")                                                                                        \
  S(LCM, lcm, "lcm", "LCM")                                                                                            \
  S(EULER_ANCESTRAL, euler_ancestral, "euler-a", "Euler ancestral")                                                    \
  S(TCD, tcd, "tcd", "TCD")                                                                                            \
  S(PNDM, pndm, "pndm", "PNDM")                                                                                        \
  S(UNIPC, unipc, "unipc", "UniPC")                                                                                    \
  S(DPM, dpm, "dpm++", "DPM++")                                                                                        \
  S(DPM_SDE, dpm_sde, "dpm++-sde", "DPM++ SDE")                                                                        \
  S(DDPM, ddpm, "ddpm", "DDPM")                                                                                        \
  S(LMS, lms, "lms", "LMS")                                                                                            \
  S(DEIS, deis, "deis", "DEIS")

/* The spacings: how the steps are distributed over the denoising. KARRAS and the rows after it divide the range of
 * noise levels, and timesteps are computed from these; the rows before KARRAS divide the range of timesteps. */
#define SPACING_TABLE(S)                                                                                               \
  S(TRAILING, "trailing", "trailing")                                                                                  \
  S(LEADING, "leading", "leading")                                                                                     \
  S(LINSPACE, "linspace", "linspace")                                                                                  \
  S(LCM, "lcm", "LCM")                                                                                                 \
  S(KARRAS, "karras", "Karras")                                                                                        \
  S(EXPONENTIAL, "exponential", "exponential")

/* SAMPLER_AUTO: the sampler that the checkpoint's scheduler names. SPACING_AUTO: the default for checkpoint and
 * sampler. */
#define SAMPLER_ID(ID, ...) SAMPLER_##ID,
#define SPACING_ID(ID, ...) SPACING_##ID,
enum sampler { SAMPLER_AUTO, SAMPLER_TABLE(SAMPLER_ID) SAMPLERS };
enum spacing { SPACING_AUTO, SPACING_TABLE(SPACING_ID) SPACINGS };
#undef SAMPLER_ID
#undef SPACING_ID

/* the text "auto|euler|...": all words, in the order of the enum */
#define SAMPLER_WORD(ID, identifier, word, name) "|" word
#define SPACING_WORD(ID, word, name) "|" word
#define SAMPLER_WORDS "auto" SAMPLER_TABLE(SAMPLER_WORD)
#define SPACING_WORDS "auto" SPACING_TABLE(SPACING_WORD)

#endif
