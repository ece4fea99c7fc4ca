/* The plans of a model that the engine runs: text (from tokens to the text encoder's output), keys (from that output to
 * keys and values of attention), times (time projections of all steps), noise (between two seeds), style (from a
 * picture to keys and values), and frame (from pixels to pixels). */
#ifndef UNET_MODEL_PLANS_H
#define UNET_MODEL_PLANS_H

#include "unet/model/model.h"

/* All that a frame plan depends on, besides the model. */
struct frame_shape {
  /* The sizes. */
  /* size of the frame, in pixels: multiples of model_size_multiple. The networks compute as much, or the canvas's
   * window */
  int width, height;
  /* size of the picture, which is the top left part of the frame; 0: all of it */
  int picture_width, picture_height;

  /* The sampler and its guidance. */
  int steps;         /* number of U-Net calls (sampler_calls) */
  int noise_samples; /* number of the first calls that add noise: see sampler_noise_samples */
  int earlier;       /* largest number of earlier predictions that a step uses: see sampler_earlier */
  enum guidance_mode guidance;
  /* how many copies of the latent the U-Net computes for guidance (prompt, negative prompt, ...): `first` of them in
   * the first step, `each` in every later one; see model_rows */
  struct guidance_rows rows;

  /* The network's inputs, and the frames of a run. */
  int chunks;        /* chunks of each prompt that the network attends to; 0: 1 */
  bool stream_batch; /* see plans_frame */
  /* Pictures of one run, each from its own frame; 0: 1. More than one excludes stream batches of several steps,
   * controls, and guidance rows if the network reads pooled texts. */
  int batch;
  bool styles; /* the U-Net also attends to the style pictures of the IP-Adapter */
  bool text_to_image;
  /* the canvas that follows the camera; its lattice is 0 without one, and else one frame is made a run, from an input
   * picture and without a stream batch */
  struct canvas_size canvas;
  /* the noise moves with the picture; the latent of the last picture is fed back. With either, one frame is made a run,
   * from an input picture, without a stream batch and without a canvas. */
  bool carried, feedback;
  unsigned controls; /* bit i is set if the plan has the model's controls[i] */

  /* The bank (bank.h): frames of its rings, 0: there is none; and the levels of the layers that have rings. With a bank
   * there is one picture in a run, no stream batch, and at most BANK_CALLS_MAX steps. */
  int bank_room;
  unsigned bank_levels;
};

/* The states that a frame plan reads and the engine writes before a run, besides the frames: noise, one latent [h, w,
 * c] for each sample, and a mask. */
struct frame_noise {
  struct tensor start; /* noise of OP_START: [batch, h, w, c] */
  /* noise of OP_STEP, one sample for each step: [samples * batch, h, w, c]; no tensor if shape.noise_samples is 0 */
  struct tensor steps;
  /* second table of noise that moves with the picture, [1, h, w, c]; no tensor without shape.carried */
  struct tensor second;
  /* for inpainting models: [1, height, width, 1], 1 where pixels are kept, 0 where they are generated */
  struct tensor kept;
};

/* The two ends between which noise is interpolated: each tensor of struct frame_noise twice, [2 * batch, h, w, c], [2 *
 * samples * batch, h, w, c] and [2, h, w, c]. */
struct noise_ends {
  struct tensor start, steps, second;
};

/* Each of the following functions initialises a plan, builds and finishes it. The caller frees the plan, even after a
 * failure. The model must outlive it. */
/* Encodes run.tokens, from the tokenizer of this encoder, into texts[encoder] and pooled, at slot run.slot. */
int plans_text(const struct model *model, int encoder, struct plan *plan, struct error *err);
/* Computes keys and values of one chunk, from the text that run.prompt[0] blends, into place run.slot of keys[chunks -
 * 1]. */
int plans_keys(const struct model *model, int chunks, struct plan *plan, struct error *err);
/* Does the same as plans_keys for a control's network with attention to the text, into
 * model->controls[control].keys. */
int plans_control_keys(const struct model *model, int control, int chunks, struct plan *plan, struct error *err);
/* Computes the time projections of the U-Net and the controls from run.step's timesteps, and from the pooled text of
 * run.prompt if there is any, into states of the frame plan. The program must have the frame's program as its owner
 * (program_options.owner), and runs when its inputs have changed. */
int plans_times(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err);
/* Computes a style's keys and values from a picture's patches into model.style.slots[run.slot]. The caller fills
 * *input, a state of the plan, with the patches. none: computes those for no picture, which rows of negative guidance
 * use; *input is no tensor if this plan reads no patches. */
int plans_style(const struct model *model, bool none, struct plan *plan, struct tensor *input, struct error *err);
/* Builds the frame's plan; *noise gets the states that the engine writes. With stream_batch and several steps, one run
 * advances as many frames by one step each, all in one U-Net call: the run's own frame is at the first step, the frame
 * of steps - 1 runs ago is at the last, and the output is that frame's picture. The caller fills each entry of run.step
 * and run.residual with the values of the frame that is at this step, and run.mix with the output's. */
int plans_frame(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                struct frame_noise *noise, struct error *err);
/* Builds the plan that interpolates *ends, states which the caller fills, by run.between into the noise of the frame
 * plan. Its program needs the frame's program as its owner (program_options.owner). */
int plans_noise(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct noise_ends *ends,
                struct error *err);

/* Refuses weights that none of the plans above would read (unused.c), except for some that are common in published
 * files. *elements is the number of values in the weights that they read. */
int plans_check_unused(const struct checkpoint *checkpoint, size_t *elements, struct error *err);
/* Refuses unused weights of an IP-Adapter and its encoder, after plans_style has made its plans with these resources;
 * increases *elements. */
int plans_check_style_unused(const struct ip_adapter *adapter, const struct resources *resources, size_t *elements,
                             struct error *err);
/* Refuses unused weights of a control's network, and a network that does not fit the model. */
int plans_check_control(const struct control_network *network, const struct checkpoint *checkpoint, struct error *err);

#endif
