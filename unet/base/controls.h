/* What may change between two frames without preparing anything anew. A plain value: engine_submit copies it. */
#ifndef UNET_BASE_CONTROLS_H
#define UNET_BASE_CONTROLS_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/maps.h"

/* Prompt slots: encoded prompts the device keeps, filled by engine_set_prompt. 1 to 9 belong to the keys 1 to 9. The
 * last one is the engine's own: the empty prompt, which stands in for slots never set. */
enum { SLOT_SCRATCH = 0, SLOT_PRESET_1 = 1, SLOT_PRESETS = 9, SLOT_NEGATIVE = 10, SLOT_EMPTY = 11, SLOTS = 12 };

enum { STEPS_MAX = 50 };            /* of the sampler */
enum { BATCH_MAX = 4 };             /* pictures of one run */
enum { CALLS_MAX = STEPS_MAX + 1 }; /* of the network in one run: PNDM asks once more than it has steps */
enum { ADAPTERS_MAX = 8 };
enum { CONTROLS_MAX = 4 }; /* maps, and the networks that read them */
enum { STYLES_MAX = 4 };   /* pictures of an IP-Adapter */
/* The attention layers that have something to say of it: those that decide the look, those that decide where things
 * are, all others. */
enum style_part { STYLE_OTHER, STYLE_LOOK, STYLE_COMPOSITION, STYLE_PARTS };
/* Which of them a picture acts in. */
enum style_layers { STYLE_LAYERS_ALL, STYLE_LAYERS_LOOK, STYLE_LAYERS_COMPOSITION, STYLE_LAYERS_BOTH, STYLE_LAYERS };
enum { STYLE_WEIGHT_MAX = 2 };

/* A style picture: how much it counts beside the prompt, 0 to STYLE_WEIGHT_MAX. 1 is what IP-Adapters are trained with.
 * Several are added up, each with its own weight (as several IP-Adapters are in diffusers). */
struct control_style {
  float weight;
  enum style_layers layers;
};

/* What is shown: the picture, the map of one control in its place, or both beside each other. */
enum show { SHOW_PICTURE, SHOW_MAP, SHOW_BESIDE };

/* Of a control: a map that is made of the frame, and the network that reads it. */
struct control_values {
  float weight; /* of what the network adds; 0: it does not run */
  /* Where it acts, from 0, pure noise, to 1, the picture: a step counts by the share of its noise that lies there */
  float start, end;
  bool guess;              /* the prompt's row alone is led, the less the farther from the middle: for empty prompts */
  float param[MAP_PARAMS]; /* of the map: see map_parameters, and map_standard for what they are as a rule */
};

struct controls {
  int prompt; /* slot of the prompt */
  /* Weights of slots SLOT_PRESET_1 and on, whose blend takes the place of prompt where one of them is above 0: linear
   * in the cross-attention keys and values, and in pooled text. Each counts by its share of their sum, so that 1 and 1
   * are the same as 0.5 and 0.5, and one alone is that prompt; what is not above 0 does not count */
  float blend[SLOT_PRESETS];
  float strength; /* 0 returns the input, 1 starts from pure noise; between, the start is the noisy input, or, with a
                     model trained from pure noise alone, the picture is blended with the input */
  float guidance; /* classifier-free guidance scale; acts where guidance rows were prepared, and in LCM models that
                     embed it */
  float image_guidance;   /* InstructPix2Pix: how closely the input picture is followed */
  float guidance_rescale; /* how far the guided prediction's spread is brought back to the unguided one's: 0 to 1 */
  float delta;            /* residual guidance: weight of what is led away from */
  float eta;              /* 0 to 1: fresh noise in each step of DDIM and TCD; below 0: as suits the sampler */
  enum show show;         /* of a handle with controls */
  int show_control;       /* number of the control whose map that is, from 0 */
  float mix;              /* 1: the generated picture, 0: the input picture, between: cross-fade */
  float adapter[ADAPTERS_MAX];            /* weight of each of the engine's adapters: 0 leaves the model as it is */
  struct control_style style[STYLES_MAX]; /* of the pictures that engine_set_style gave */
  struct control_values control[CONTROLS_MAX];
  uint64_t seed; /* of the noise; the same seed gives the same noise every frame and on every device */
  /* A walk from seed to seed: at 2.25 the noise lies a quarter of the way from that of seed + 2 to that of seed + 3, at
   * 2 it is that of seed + 2 to the bit. Between, it goes along the circle through the two, so that it stays standard
   * normal; it may go on for ever, and back */
  double seed_position;
};

#define CONTROL_DEFAULTS                                                                                               \
  { .weight = 1.0f, .end = 1.0f }
#define CONTROLS_DEFAULTS                                                                                              \
  {                                                                                                                    \
    .prompt = SLOT_PRESET_1, .strength = 1.0f, .guidance = 1.0f, .image_guidance = 1.5f, .delta = 1.0f, .eta = -1,     \
    .mix = 1.0f, .control = {CONTROL_DEFAULTS, CONTROL_DEFAULTS, CONTROL_DEFAULTS, CONTROL_DEFAULTS}, .seed = 1        \
  }

#endif
