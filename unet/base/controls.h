/* Values that may change between two frames without new preparation. The struct is plain data: engine_submit copies
 * it. */
#ifndef UNET_BASE_CONTROLS_H
#define UNET_BASE_CONTROLS_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/maps.h"

/* Prompt slots: encoded prompts that the device keeps, filled by engine_set_prompt. Slots 1 to 9 belong to the keys 1
 * to 9. The last one is the engine's own: it holds the empty prompt, which is used for slots that were never set. */
enum { SLOT_SCRATCH = 0, SLOT_PRESET_1 = 1, SLOT_PRESETS = 9, SLOT_NEGATIVE = 10, SLOT_EMPTY = 11, SLOTS = 12 };

enum { STEPS_MAX = 50 }; /* largest number of steps of a sampler */
enum { BATCH_MAX = 4 };  /* largest number of pictures that one run makes */
/* largest number of calls of the network in one run: PNDM makes one call more than it has steps */
enum { CALLS_MAX = STEPS_MAX + 1 };
enum { ADAPTERS_MAX = 8 };
enum { CONTROLS_MAX = 4 };  /* largest number of controls: maps with networks that read them */
enum { STYLES_MAX = 4 };    /* largest number of style pictures for an IP-Adapter */
enum { BANK_ROOM_MAX = 4 }; /* largest number of earlier frames that the bank holds */
/* Groups of attention layers by their effect: STYLE_LOOK are those that decide colours and texture, STYLE_COMPOSITION
 * those that decide the arrangement, STYLE_OTHER the rest. */
enum style_part { STYLE_OTHER, STYLE_LOOK, STYLE_COMPOSITION, STYLE_PARTS };
/* The groups of layers in which a style picture acts. */
enum style_layers { STYLE_LAYERS_ALL, STYLE_LAYERS_LOOK, STYLE_LAYERS_COMPOSITION, STYLE_LAYERS_BOTH, STYLE_LAYERS };
enum { STYLE_WEIGHT_MAX = 2 };

/* A style picture. weight is its strength relative to the prompt, 0 to STYLE_WEIGHT_MAX; IP-Adapters are trained with
 * 1. The contributions of several pictures are added, each with its own weight (as those of several IP-Adapters in
 * diffusers). */
struct control_style {
  float weight;
  enum style_layers layers;
};

/* The output: the picture, the map of one control instead, or the two side by side. */
enum show { SHOW_PICTURE, SHOW_MAP, SHOW_BOTH };

/* The values of one control: a map that is made from the frame, and the network that reads it. */
struct control_values {
  float weight; /* factor of what the network adds; 0: the network does not run */
  /* The part of the denoising in which it acts, from 0 (pure noise) to 1 (the picture). If only a part of a step's
   * noise range lies within it, the step's weight is reduced in proportion. */
  float start, end;
  /* ControlNet: its output is added for the prompt's row only, not for the negative one, and less in outer blocks;
   * meant for empty prompts */
  bool guess;
  float param[MAP_PARAMS]; /* parameters of the map: map_parameters lists them, map_standard gives their defaults */
};

struct controls {
  /* The prompts. */
  int prompt; /* slot of the prompt */
  /* Weights of slots SLOT_PRESET_1 and up. If one of them is above 0, the weighted mean of these prompts replaces
   * `prompt`; the mean is taken of the cross-attention keys and values, and of the pooled text. Weights are divided by
   * their sum, so 1 and 1 are the same as 0.5 and 0.5, and a single one selects that prompt. Weights not above 0 are
   * ignored. */
  float blend[SLOT_PRESETS];

  /* The denoising. */
  /* 0 returns the input and 1 starts from pure noise. In between, sampling starts from the noisy input; with a model
   * that was trained from pure noise alone, the picture is blended with the input instead. */
  float strength;
  /* Scale of classifier-free guidance. It acts where guidance rows were prepared, and in LCM models that embed it. */
  float guidance;
  float image_guidance; /* InstructPix2Pix: guidance scale of the input picture */
  /* 0 to 1: how far the guided prediction's standard deviation is restored to the unguided one's */
  float guidance_rescale;
  float delta; /* residual guidance: weight of the prediction that is subtracted */
  float eta;   /* 0 to 1: amount of fresh noise in each step of DDIM and TCD; below 0: the sampler's default */

  /* The output. */
  enum show show;   /* what the output picture shows; read only if the engine has controls */
  int show_control; /* number, from 0, of the control whose map is shown */
  float mix;        /* 1: the generated picture; 0: the input picture; between: cross-fade */

  /* How strongly adapters, style pictures and controls act. */
  float adapter[ADAPTERS_MAX];            /* weight of each of the engine's adapters; 0: the adapter changes nothing */
  struct control_style style[STYLES_MAX]; /* for the pictures given to engine_set_style */
  struct control_values control[CONTROLS_MAX];

  /* The bank (engine_shape.bank_room). bank: number of earlier frames to attend to, at most bank_room. bank_every: one
   * of so many frames is kept, at least 1. A change of either empties the bank. */
  int bank, bank_every;

  /* The noise. */
  uint64_t seed; /* seed of the noise; the same seed gives the same noise in every frame and on every device */
  /* Position between seeds: at 2.25 the noise lies a quarter of the way from the noise of seed + 2 to that of seed + 3;
   * at 2 it equals that of seed + 2 to the bit. In between it follows the arc of a circle through the two, so that it
   * stays standard normal. The position may grow and shrink without limit. */
  double seed_position;
  /* The next two are read only if the handle was prepared for them (engine_shape). */
  bool carried;   /* the noise moves with the picture */
  float feedback; /* 0 to 1: how much of the last picture's latent takes the place of the input's */
};

#define CONTROL_DEFAULTS                                                                                               \
  { .weight = 1.0f, .end = 1.0f }
#define CONTROLS_DEFAULTS                                                                                              \
  {                                                                                                                    \
    .prompt = SLOT_PRESET_1, .strength = 1.0f, .guidance = 1.0f, .image_guidance = 1.5f, .delta = 1.0f, .eta = -1,     \
    .mix = 1.0f, .control = {CONTROL_DEFAULTS, CONTROL_DEFAULTS, CONTROL_DEFAULTS, CONTROL_DEFAULTS}, .seed = 1,       \
    .bank_every = 1                                                                                                    \
  }

#endif
