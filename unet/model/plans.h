/* The plans of a model that the engine runs:
 *   text     encodes the tokens of a prompt's chunk
 *   keys     computes the attention keys and values of encoded tokens
 *   times    computes the time projections of all steps
 *   noise    interpolates between the noise of two seeds
 *   style    computes the keys and values of a style picture
 *   follow   measures the motion of a frame without making a picture
 *   frame    makes a picture: from pixels to pixels */
#ifndef UNET_MODEL_PLANS_H
#define UNET_MODEL_PLANS_H

#include "unet/model/model.h"

/* All properties, besides the model, on which a frame's plan depends. */
struct frame_shape {
  /* The fields from `width` to `aspect` are sizes of pictures. */
  /* width and height of the frame in pixels, multiples of model_size_multiple. The networks compute a picture of this
   * size. With a canvas (an endless plane that follows the camera) they compute its window instead, which is larger */
  int width, height;
  /* width and height, in pixels, of the picture, which is the top left part of the frame; 0: the whole frame */
  int picture_width, picture_height;
  double aspect; /* width divided by height of the picture as it is shown; 0: its pixels are square */

  /* The fields from `steps` to `rows` describe the sampler and its guidance. */
  int steps; /* number of calls of the U-Net (sampler_calls) */
  /* number of U-Net calls, counted from the first, whose sampler steps may add noise (sampler_noise_samples) */
  int noise_samples;
  int earlier; /* largest number of earlier predictions that a step of the sampler uses (sampler_earlier) */
  enum guidance_mode guidance;
  /* numbers of guidance rows (copies of a latent, for prompt, negative prompt, ...): `first` in the first step, `each`
   * in every later one (model_rows) */
  struct guidance_rows rows;

  /* The fields from `chunks` to `bank_levels` describe the network's other inputs and the frames of a run. */
  int chunks; /* number of chunks (parts of a long prompt) of each prompt that the network attends to; 0: 1 */
  /* true: one U-Net call computes all steps, each for another frame (plans_frame); false: the steps follow one
   * another */
  bool stream_batch;
  /* Number of pictures that one run makes, each from its own frame; 0: 1. It must be 1 with controls, and with a stream
   * batch of several steps. It must also be 1 with guidance rows (a second prediction, for the negative prompt) if the
   * network reads pooled texts. */
  int batch;
  bool styles; /* true: the U-Net also attends to style pictures, by an IP-Adapter */
  bool text_to_image;
  /* sizes of the canvas, an endless plane that follows the camera; lattice 0: there is no canvas. With a canvas a run
   * makes one picture, from an input frame, without a stream batch. */
  struct canvas_size canvas;
  /* carried: true: the noise may move with the picture; feedback: true: the latent of the last picture may replace a
   * part of the input's. With either, a run makes one picture, from an input frame, without a stream batch and without
   * a canvas. */
  bool carried, feedback;
  unsigned controls; /* bit i is set if the plan has the model's controls[i] */

  /* The bank of earlier frames' keys and values (bank.h). bank_room: number of earlier frames that it can store; 0:
   * there is no bank. bank_levels: bit i: the attention layers at level i use it. With a bank a run makes one picture,
   * without a stream batch, in at most BANK_CALLS_MAX steps. */
  int bank_room;
  unsigned bank_levels;
};

/* The tensors that a frame's plan reads and the engine writes before a run: noise, and the mask of an inpainting model.
 * A sample of noise has the shape of one latent, [h, w, c]. */
struct frame_noise {
  struct tensor start; /* noise with which sampling starts (OP_START), one sample for each picture: [batch, h, w, c] */
  /* noise that the sampler's steps add (OP_STEP), one sample for each step and picture: [samples * batch, h, w, c]; no
   * tensor if shape.noise_samples is 0 */
  struct tensor steps;
  /* A second table of noise, [1, h, w, c], for noise that moves with the picture. When cells of the latent move, two of
   * them may come to read the same entry of the first table; one of the two then reads an entry of this table. No
   * tensor if shape.carried is false */
  struct tensor second;
  /* for inpainting models: the mask [1, height, width, 1], 1 where the picture stays, 0 where it is repainted */
  struct tensor kept;
};

/* States (tensors that outlive a run) with the noise of two seeds, from which the noise between them is interpolated.
 * Each tensor is twice as large as in struct frame_noise, first for one seed and then for the other: [2 * batch, h, w,
 * c], [2 * samples * batch, h, w, c] and [2, h, w, c]. */
struct noise_ends {
  struct tensor start, steps, second;
};

/* The functions plans_text to plans_noise each initialise *plan, append its ops and finish it. The caller frees the
 * plan, even after a failure. The model must outlive the plan. */
/* Makes the plan of a text encoder. It encodes run.tokens, which must come from this encoder's tokenizer, and stores
 * the result in texts[encoder] and pooled, at index run.slot. */
int plans_text(const struct model *model, int encoder, struct plan *plan, struct error *err);
/* Makes the plan that computes a prompt's keys and values, for one chunk. run.prompt[0] gives the index of the chunk's
 * encoded text; the results are stored at index run.slot of keys[chunks - 1]. */
int plans_keys(const struct model *model, int chunks, struct plan *plan, struct error *err);
/* Makes the plan that computes a prompt's keys and values, for one chunk, for a control's network that attends to the
 * text. They are stored in model->controls[control].keys. plans_keys makes such a plan for the U-Net. */
int plans_control_keys(const struct model *model, int control, int chunks, struct plan *plan, struct error *err);
/* Makes the plan that computes the time projections of the U-Net and of the controls' networks. Its inputs are the
 * timesteps in run.step and, if the U-Net reads them, the pooled texts of run.prompt. The engine runs the plan when
 * these have changed. The projections are states of the frame's plan, so the frame's program must be the owner
 * (program_options.owner) of this plan's program. */
int plans_times(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err);
/* Makes the plan that computes a style picture's keys and values from its patches, and stores them in
 * model.style.slots[run.slot]. The caller fills *input, a state of the plan, with the patches. none: true: the result
 * stands for "no picture", which is read for the negative prompt. *input is no tensor if this plan reads no patches. */
int plans_style(const struct model *model, bool none, struct plan *plan, struct tensor *input, struct error *err);
/* Makes the frame's plan. *noise becomes those of its states (tensors that outlive a run) that the engine must fill
 * with noise and mask.
 *
 * With stream_batch and several steps, one run advances as many frames by one step each, in one U-Net call. The run's
 * own frame is at the first step; the frame of steps - 1 runs ago is at the last one, and its picture is the output.
 * The caller fills run.step and run.residual, for each step, with the values of the frame at this step, and run.mix
 * with that of the output's frame. */
int plans_frame(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                struct frame_noise *noise, struct error *err);
/* Makes the plan that measures a frame's motion and makes no picture. It updates what depends on the motion alone: the
 * frame's position on the canvas (the plane that follows the camera), and where noise has moved to. These are states of
 * the frame's plan, so the frame's program must be the owner (program_options.owner) of this plan's program. The shape
 * must have carried noise or a canvas that follows the camera. */
int plans_follow(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct error *err);
/* Makes the plan that interpolates between the noise of two seeds, with the factors in run.between. The caller fills
 * the states *ends with the noise of both; the result goes to the noise states of the frame's plan. So its program must
 * have the frame's program as its owner (program_options.owner). */
int plans_noise(const struct model *model, const struct frame_shape *shape, struct plan *plan, struct noise_ends *ends,
                struct error *err);

/* Refuses a checkpoint with weights that none of the plans above would read (unused.c); some such weights are common in
 * published files and are accepted. Stores in *elements the number of values in the weights that the plans read. */
int plans_check_unused(const struct checkpoint *checkpoint, size_t *elements, struct error *err);
/* Refuses an IP-Adapter or image encoder with weights that no plan reads. Must be called after plans_style has made its
 * plans with these resources. Adds the number of values that the plans read to *elements. */
int plans_check_style_unused(const struct ip_adapter *adapter, const struct resources *resources, size_t *elements,
                             struct error *err);
/* Refuses a control's network if it does not fit the model, or if it has weights that no plan reads. */
int plans_check_control(const struct control_network *network, const struct checkpoint *checkpoint, struct error *err);

#endif
