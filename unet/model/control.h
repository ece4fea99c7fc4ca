/* Controls in a frame's plan. A control is a map made from the picture, and a network (ControlNet or T2I-Adapter) that
 * reads the map and adds its outputs to those of the U-Net's down and middle blocks.
 *
 * The map, and all that depends on it alone, is computed at most once a run and stored in states. These ops are in a
 * region (ops that a run may skip) that is executed if run.control[].map is set. The ops that add results in each call
 * of the U-Net are in regions that are executed if the control's gain is not 0. A plan without controls has no such
 * ops. */
#ifndef UNET_MODEL_CONTROL_H
#define UNET_MODEL_CONTROL_H

#include "unet/base/guidance.h"
#include "unet/checkpoint/control_network.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* A control of a model: a kind of map, and the network that reads the map. The caller owns the network and must keep it
 * open; NULL: no network reads the map. */
struct control {
  bool there; /* true: control_init has succeeded for this control; false in a zeroed struct */
  int index;  /* index in run.control of the control's run parameters */
  enum map_kind map;
  bool source; /* true: the map is made from a frame of the second source; false: from the input frame */
  const struct control_network *network;
  struct unet body; /* layers of a ControlNet: those of a U-Net without up blocks */
  /* for a ControlNet that attends to the text: keys[chunks - 1] is a state, shared by all plans, with the keys and
   * values of prompts that have this many chunks. This state has the layout of `keys` in struct model */
  struct tensor keys[PROMPT_CHUNKS_MAX];
};

/* Initialises a control. slots: number of prompts whose keys and values the device stores for the network; positions:
 * number of tokens in a chunk of a prompt. */
int control_init(struct control *control, int index, enum map_kind map, const struct control_network *network,
                 int slots, int positions, struct resources *resources, struct error *err);
void control_free(struct control *control); /* frees the control's memory; accepts a zeroed control */

bool control_is_controlnet(const struct control *control);
/* Returns true for a "shuffle" ControlNet: its outputs are averaged over the picture, and added only to the prediction
 * for the prompt. */
bool control_is_pooled(const struct control *control);

/* The features that a control's network computes from a frame's map. A ControlNet has one tensor, which is added to the
 * output of its own conv_in; a T2I-Adapter has one for each level. In a stream batch (frames at different steps in one
 * run) each tensor has a picture for every frame. */
struct control_features {
  struct tensor list[LEVELS_MAX];
  int count;
};

/* Appends the ops that compute the features from `map` [1, H, W, 3] and store them in states of the plan. The caller
 * begins the map's region (ops that a run may skip) before and ends it afterwards. */
struct control_features control_read_map(const struct control *control, struct plan *plan, struct tensor map);
/* For a stream batch of `frames` frames: appends ops that store this run's features before those of earlier frames.
 * *features becomes all of them, newest first. The ops that make the map are in a region that a run may skip; these ops
 * must be appended after it and are never skipped. */
void control_queue(const struct control *control, struct plan *plan, int frames, struct control_features *features);

/* The call of the U-Net to whose tensors controls add their features. */
struct control_place {
  struct plan *plan;
  int step; /* number of the U-Net's call, from 0. In the plan's loop it is the number of the call in the first
             * iteration; in iteration i the call has the number step + i */
  bool loop;
  /* number of latents in the call. It is 1, or more with a stream batch: latent i is then in the sampler's step number
   * `step` + i */
  int latents;
  /* how many guidance rows (copies of a latent, one for each prompt) the call's first latent has, and how many each
   * later latent has */
  struct guidance_rows rows;
  struct tensor x; /* input of this call, which ControlNets read as well: [guidance rows of all latents, h, w, c] */
  /* number of the first op of this U-Net call in the plan: from this op on, a device may run the call's ops and the
   * ControlNet's layers at the same time */
  int parallel_with;
};

/* Appends a ControlNet for one call of the U-Net, and adds its outputs to the tensors of `skips` and to `mid`, in
 * place. Does nothing for other kinds of controls. moment: the inputs that differ from call to call. times: the table
 * of the network's time projections; its rows `first` to `first` + count - 1 belong to the call. keys: keys and values
 * of all prompts. prompt: the op that chooses those for the call. */
struct control_moment {
  struct tensor times, keys;
  int first, count;
  struct op_prompt prompt; /* op that chooses the call's keys and values: its fields `rows`, `first` and `y.n` are set,
                            * and control_inject sets its field `slots` */
};
void control_inject(const struct control *control, const struct control_place *place,
                    const struct control_features *features, const struct control_moment *moment,
                    const struct skips *skips, struct tensor mid);
/* Adds a T2I-Adapter's feature for this layer to the layer's output x, in place. Does nothing if the adapter has none
 * for this layer, and for other kinds of controls. */
void control_add_level(const struct control *control, const struct control_place *place,
                       const struct control_features *features, const struct unet_layer *layer, struct tensor x);

#endif
