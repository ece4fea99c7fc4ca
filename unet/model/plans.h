/* The plans of a model, which the engine runs: text (tokens to what the text encoder says), keys (that to keys and
 * values), times (time projections of a frame's steps), noise and frame (pixels to pixels). */
#ifndef UNET_MODEL_PLANS_H
#define UNET_MODEL_PLANS_H

#include "unet/model/model.h"

/* What a frame plan is for. */
struct frame_shape {
  int width, height;                 /* of what the networks make: multiples of model_size_multiple */
  int picture_width, picture_height; /* the part of it that the picture is, from its first pixel on; 0: all */
  int steps;                         /* U-Net calls */
  int noise_samples;                 /* for the first of them: see sampler_noise_samples */
  int earlier;                       /* predictions that steps look back on: see sampler_earlier */
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
  struct tensor kept;  /* [1, height, width, 1], of inpainting models: 1 where pictures stay, 0 where they are made */
};

/* Two of what struct frame_noise has, one after the other: [2 * batch, h, w, c] and [2 * samples * batch, h, w, c]. */
struct noise_ends {
  struct tensor start, steps;
};

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
int plans_check_unused(const struct checkpoint *checkpoint, size_t *elements, struct error *err);
/* The same of an IP-Adapter and its encoder, once plans_style has made its plans of these resources; *elements grows.
 */
int plans_check_style_unused(const struct ip_adapter *adapter, const struct resources *resources, size_t *elements,
                             struct error *err);
/* The same of a control's network, which must also fit the model. */
int plans_check_control(const struct control_network *network, const struct checkpoint *checkpoint, struct error *err);

#endif
