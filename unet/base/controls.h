/* struct controls: all values that may change from one frame to the next without preparing the network anew. The struct
 * is plain data: engine_submit copies it. */
#ifndef UNET_BASE_CONTROLS_H
#define UNET_BASE_CONTROLS_H

#include <stdbool.h>
#include <stdint.h>

#include "unet/base/maps.h"

/* Numbers of the prompt slots, places on the device for one encoded prompt each, which engine_set_prompt fills. The
 * user selects slots 1 to 9 with the keys 1 to 9. SLOT_EMPTY is the engine's own: it holds the empty prompt, which is
 * used in place of slots that were never set. */
enum { SLOT_SCRATCH = 0, SLOT_PRESET_1 = 1, SLOT_PRESETS = 9, SLOT_NEGATIVE = 10, SLOT_EMPTY = 11, SLOTS = 12 };

enum { STEPS_MAX = 50 }; /* largest number of steps of a sampler */
enum { BATCH_MAX = 4 };  /* largest number of pictures that one execution of the network makes, as a batch */
/* largest number of calls of the U-Net for one picture: PNDM makes one call more than it has steps */
enum { CALLS_MAX = STEPS_MAX + 1 };
enum { ADAPTERS_MAX = 8 };
/* largest number of controls; a control is a map of the frame with the network that reads it */
enum { CONTROLS_MAX = 4 };
enum { STYLES_MAX = 4 }; /* largest number of style pictures for an IP-Adapter */
/* largest number of earlier frames whose keys and values are kept for self-attention (the bank) */
enum { BANK_ROOM_MAX = 4 };
/* Groups of cross-attention layers by their effect: STYLE_LOOK are those that decide colours and texture,
 * STYLE_COMPOSITION those that decide the arrangement, STYLE_OTHER the rest. */
enum style_part { STYLE_OTHER, STYLE_LOOK, STYLE_COMPOSITION, STYLE_PARTS };
/* The attention layers in which a style picture acts, by their groups (enum style_part): layers of all three groups, of
 * STYLE_LOOK alone, of STYLE_COMPOSITION alone, or of both of these but not of STYLE_OTHER. STYLE_LAYERS is the number
 * of choices. */
enum style_layers { STYLE_LAYERS_ALL, STYLE_LAYERS_LOOK, STYLE_LAYERS_COMPOSITION, STYLE_LAYERS_BOTH, STYLE_LAYERS };
enum { STYLE_WEIGHT_MAX = 2 };

/* A style picture. `weight` is its strength relative to the prompt, 0 to STYLE_WEIGHT_MAX; IP-Adapters are trained with
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
  /* factor by which the control network's output is multiplied before it is added to the U-Net; 0: the network does not
   * run */
  float weight;
  /* The part of the denoising in which the control acts, from 0 (pure noise) to 1 (the picture). If only a part of a
   * step's noise range lies in this part, the step's weight is reduced in proportion. */
  float start, end;
  /* guess mode of a control network: true: the network's output is added only to the prediction for the prompt, not to
   * that for the negative prompt, and with less weight in the outer blocks. Meant for empty prompts. */
  bool guess;
  float param[MAP_PARAMS]; /* parameters of the map: map_parameters lists them, map_standard gives their defaults */
};

struct controls {
  /* The fields `prompt` and `blend` choose the prompts that the picture shows. */
  /* number of the slot whose encoded prompt the picture shows; ignored while `blend` has a weight above 0 */
  int prompt;
  /* Weights of slots SLOT_PRESET_1 and up. If one of them is above 0, the picture shows a blend of these prompts
   * instead of the prompt of slot `prompt`. The blend is the weighted mean of the cross-attention keys and values, and
   * of the pooled text. Weights are divided by their sum, so 1 and 1 are the same as 0.5 and 0.5. Weights not above 0
   * are ignored. */
  float blend[SLOT_PRESETS];

  /* The fields from `strength` to `eta` control how the picture is denoised. */
  /* The strength: 0 returns the input and 1 starts from pure noise. In between, sampling starts from the noisy input;
   * with a model that was trained from pure noise alone, the picture is blended with the input instead. */
  float strength;
  /* Scale of classifier-free guidance. It is read only if the engine was prepared for guidance, or if the model takes
   * it as an input (LCM). */
  float guidance;
  float image_guidance; /* InstructPix2Pix: how strongly the picture follows the input picture (guidance scale) */
  /* 0 to 1: 1 scales the prediction after guidance to the standard deviation that the prediction without guidance has;
   * 0 leaves it unscaled */
  float guidance_rescale;
  /* factor of the residual prediction in residual guidance (enum guidance_mode), where this prediction takes the place
   * of the one for the negative prompt */
  float delta;
  float eta; /* 0 to 1: amount of fresh noise in each step of DDIM and TCD; below 0: the sampler's default */

  /* The fields `show`, `show_control`, `mix` and `detail` say what the output picture shows. */
  enum show show;   /* what the output shows: the generated picture, the map of one control, or both; read only if the
                     * engine has controls */
  int show_control; /* number, from 0, of the control whose map is shown */
  float mix;        /* what the output shows: 1: the generated picture; 0: the input picture; in between: a cross-fade
                     * of these two */
  /* 0 to 1: how much of the input's fine detail (structures of a few pixels) is added to the generated picture; below
   * 0: the amount follows from the styles of the prompts (engine_usual_detail) */
  float detail;

  /* The fields `adapter`, `style` and `control` say how strongly adapters, style pictures and controls act. */
  float adapter[ADAPTERS_MAX];            /* weight of each of the engine's adapters; 0: the adapter changes nothing */
  struct control_style style[STYLES_MAX]; /* weight and layers of each picture that was given to engine_set_style */
  struct control_values control[CONTROLS_MAX];

  /* The bank of earlier frames' keys and values (engine_shape.bank_room). bank: number of earlier frames to attend to,
   * at most bank_room. bank_every: every bank_every-th frame is stored in the bank; at least 1. A change of either
   * value empties the bank. */
  int bank, bank_every;

  /* The following fields choose the noise from which pictures are made. */
  uint64_t seed; /* seed of the noise; the same seed gives the same noise in every frame and on every device */
  /* Position between seeds, without limits. At 2 the noise equals that of seed + 2, to the bit. At 2.25 it lies a
   * quarter of the way from the noise of seed + 2 to that of seed + 3. The way is an arc of a circle, so that the noise
   * stays standard normal. */
  double seed_position;
  /* Another seed whose noise is blended in, and its share. seed_share 0: seed_to is ignored; 1 or more: the noise is
   * that of seed_to. In between, the noise lies on the arc from the noise of seed + floor(seed_position) to that of
   * seed_to, at the fraction seed_share of the way; the fraction of seed_position is ignored. */
  uint64_t seed_to;
  double seed_share;
  /* `carried` and `feedback` are read only if the engine was prepared for them (engine_shape.carried,
   * engine_shape.feedback). */
  bool carried;   /* true: the noise moves with the motion of the input picture */
  float feedback; /* fraction, 0 to 1, of the input frame's latent that is replaced by the last picture's latent */
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
