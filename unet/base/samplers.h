/* The samplers and the spacings of their timesteps: one row each. The command line's words, the names for people and
 * the enums follow from here.
 *
 * To add a sampler, add a row: id, identifier, word, name. Its formula is struct sampler_impl sampler_IDENTIFIER
 * (unet/sample/schedule.h), and what diffusers' class of it takes where a file is silent is a row of CLASS_TABLE
 * (unet/checkpoint/config_scheduler.c). Without either it does not link, or does not compile. */
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

/* The last ones space noise levels, from which timesteps follow; the others timesteps. */
#define SPACING_TABLE(S)                                                                                               \
  S(TRAILING, "trailing", "trailing")                                                                                  \
  S(LEADING, "leading", "leading")                                                                                     \
  S(LINSPACE, "linspace", "linspace")                                                                                  \
  S(LCM, "lcm", "LCM")                                                                                                 \
  S(KARRAS, "karras", "Karras")                                                                                        \
  S(EXPONENTIAL, "exponential", "exponential")

/* SAMPLER_AUTO: what the checkpoint's scheduler names; SPACING_AUTO: what suits the two. */
#define SAMPLER_ID(ID, ...) SAMPLER_##ID,
#define SPACING_ID(ID, ...) SPACING_##ID,
enum sampler { SAMPLER_AUTO, SAMPLER_TABLE(SAMPLER_ID) SAMPLERS };
enum spacing { SPACING_AUTO, SPACING_TABLE(SPACING_ID) SPACINGS };
#undef SAMPLER_ID
#undef SPACING_ID

/* "auto|euler|...": every word, in the order of the enum. */
#define SAMPLER_WORD(ID, identifier, word, name) "|" word
#define SPACING_WORD(ID, word, name) "|" word
#define SAMPLER_WORDS "auto" SAMPLER_TABLE(SAMPLER_WORD)
#define SPACING_WORDS "auto" SPACING_TABLE(SPACING_WORD)

#endif
