/* The plans of a model, which the engine runs: text (tokens to what the text encoder says), keys (that to keys and
 * values), times (time projections of a frame's steps) and frame (pixels to pixels). Also the state between them. */
#ifndef UNET_MODEL_PLANS_H
#define UNET_MODEL_PLANS_H

#include "unet/base/controls.h"
#include "unet/base/guidance.h"
#include "unet/model/control.h"
#include "unet/model/depth.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* Keys and values take 24 times the memory of a text (SD-Turbo; SDXL 81 times), so there are few of them: what one run
 * can ask for, all presets blended and the negative prompt. */
enum { KEY_SLOTS = SLOT_PRESETS + 1 };

/* What plans of one model share. Borrows checkpoint and resources. */
struct model {
  const struct checkpoint *checkpoint;
  struct resources *resources;
  struct unet unet;
  /* States. [TEXTS, 1, positions, hidden_size]: each chunk of each prompt, as each text encoder has it; [TEXTS, 1, 1,
   * projection_dim] where an encoder pools it; [KEY_SLOTS * chunks, 1, positions, text_channels] at chunks - 1: keys
   * and values of the prompts in use, so many chunks of each. Devices have those alone that a plan reads. */
  struct tensor texts[TEXT_ENCODERS_MAX], pooled, keys[PROMPT_CHUNKS_MAX];
  struct style style;                    /* of its IP-Adapter, where the caller gives it one (style_init) */
  struct control controls[CONTROLS_MAX]; /* those that were added */
  const struct depth *depth;             /* of those whose map is depth: set before one is added */
};

/* Where a chunk of a prompt slot is in texts and pooled: a slot's first is where its number says. */
enum { TEXTS = SLOTS * PROMPT_CHUNKS_MAX };
static inline int text_place(int slot, int chunk) {
  return chunk * SLOTS + slot;
}

/* What a frame plan is for. */
struct frame_shape {
  int width, height; /* of the picture */
  int steps;         /* U-Net calls */
  int noise_samples; /* for the first of them: see sampler_noise_samples */
  int earlier;       /* predictions that steps look back on: see sampler_earlier */
  enum guidance_mode guidance;
  struct guidance_rows rows; /* of the first step, of each later one: see model_rows */
  int chunks;                /* of prompts that the network attends to; 0: 1 */
  bool stream_batch;         /* see plans_frame */
  int batch;                 /* pictures of one run, of a frame each; 0: 1. More than one excludes a stream batch of
                                several steps, controls, and guidance rows where the network reads pooled texts */
  bool styles;               /* the U-Net attends to style pictures, too */
  bool text_to_image;
  unsigned controls; /* of the model's: bit i is that of controls[i] */
};

/* What a frame plan reads beside the frames, as state that the caller fills: noise, a latent [h, w, c] for each sample,
 * and a mask. */
struct frame_noise {
  struct tensor start; /* [batch, h, w, c]: OP_START's */
  struct tensor steps; /* [samples * batch, h, w, c]: OP_STEP's, one a step; none where shape.noise_samples is 0 */
  struct tensor
      kept; /* [1, height, width, 1], of inpainting models: 1 where pictures stay, 0 where they are made anew */
};

/* Two of what struct frame_noise has, one after the other: [2 * batch, h, w, c] and [2 * samples * batch, h, w, c]. */
struct noise_ends {
  struct tensor start, steps;
};

int model_init(struct model *model, const struct checkpoint *checkpoint, struct resources *resources,
               struct error *err);
void model_free(struct model *model); /* also of a zeroed one */
/* Gives the model a control: a map, and the network that reads it, which is borrowed; NULL: none. Plans made before
 * know nothing of it. On failure the model is as it was. */
int model_add_control(struct model *model, int index, enum map_kind map, const struct control_network *network,
                      struct error *err);

/* Whether frames with these controls, bit i being number i, read the run's first frame. */
bool model_reads_input(const struct model *model, bool text_to_image, unsigned controls);

/* Guidance rows of the U-Net calls: 1 where guidance needs none and for models that have it as an embedding, else 2, or
 * 3 where the U-Net sees the input picture. Row 0 is prompt and picture; 1 of 2 is the negative prompt; 1 of 3 is the
 * negative prompt with the picture; 2 of 3 is the negative prompt without the picture. */
struct guidance_rows model_rows(const struct model *model, enum guidance_mode guidance);
/* Of all that prompts leave on the device, where plans attend to one chunk of each; and what those with so many chunks
 * add. */
size_t model_prompt_elements(const struct model *model);
size_t model_keys_elements(const struct model *model, int chunks);
/* Guidance is an input of the time projections (full LCM), and acts without a second row. */
bool model_embeds_guidance(const struct model *model);

/* Pixels that width and height must be multiples of: what the autoencoder and the U-Net halve. */
int model_size_multiple(const struct model *model);
/* Pixels of the pictures it was made for. */
void model_native_size(const struct model *model, int *width, int *height);

/* Build and finish a plan, which the caller frees, also after a failure. */
/* run.tokens, of the encoder's tokenizer, -> texts[encoder] and pooled [run.slot] */
int plans_text(const struct model *model, int encoder, struct plan *plan, struct error *err);
/* All texts as run.prompt[0] has them: one chunk -> keys[chunks - 1][run.slot] */
int plans_keys(const struct model *model, int chunks, struct plan *plan, struct error *err);
/* The same -> controls[control].keys, of one that has such. */
int plans_control_keys(const struct model *model, int control, int chunks, struct plan *plan, struct error *err);
/* run.step's timesteps, and the pooled text of the slots of run.prompt where there is any, -> the frame plan's states
 * of time projections, the U-Net's and the controls': for a program beside the frame's (program_options.owner), run
 * when what it reads has changed. */
int plans_times(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err);
/* A picture's patches, in *input, which the caller fills (a state of the plan's), -> model.style.slots[run.slot]; none:
 * no picture, what guidance leads away from. Where the plan reads no patches, *input is no tensor. */
int plans_style(const struct model *model, bool none, struct plan *plan, struct tensor *input, struct error *err);
/* With stream_batch and several steps a run takes as many frames one step on, all in one U-Net call: its own is at the
 * first step, the one that came steps - 1 runs before at the last, and it is that one's picture that is made. run.step,
 * run.residual and run.mix are of the frame that each step is for. */
int plans_frame(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                struct frame_noise *noise, struct error *err);
/* *ends, which the caller fills, by run.between -> the frame plan's state of noise: for a program as that of times. */
int plans_noise(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct noise_ends *ends,
                struct error *err);

/* Refuses weights that none of the plans above would read (unused.c), but for a few that published files carry along.
 * *elements is how many numbers the weights have that they read. */
/* The same of an IP-Adapter and its encoder, once plans_style has made its plans of these resources; *elements grows.
 */
int plans_check_style_unused(const struct ip_adapter *adapter, const struct resources *resources, size_t *elements,
                             struct error *err);
int plans_check_unused(const struct checkpoint *checkpoint, size_t *elements, struct error *err);
/* The same of a control's network, which must also fit the model. */
int plans_check_control(const struct control_network *network, const struct checkpoint *checkpoint, struct error *err);

#endif
