/* Controls in a frame plan. A control is a map made from the picture, and a network (ControlNet or T2I-Adapter) that
 * reads the map and adds its outputs to those of the U-Net's down and middle blocks. The map, and everything that
 * depends on it alone, is computed once a run, in a region that runs if run.control[].map is set, and is stored in
 * states. What is added in each call of the U-Net is in regions that run if the control's gain is not 0. A plan without
 * controls has no such ops. */
#ifndef UNET_MODEL_CONTROL_H
#define UNET_MODEL_CONTROL_H

#include "unet/base/guidance.h"
#include "unet/checkpoint/control_network.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* A control of a model. The caller owns the network and must keep it open; NULL: no network reads the map. */
struct control {
  bool there; /* false in a zeroed struct, true once control_init has succeeded */
  int index;  /* index in run.control */
  enum map_kind map;
  bool source; /* the map is made from the second source's frame instead of the input */
  const struct control_network *network;
  struct unet body; /* ControlNet: the U-Net without up blocks whose layers it has */
  /* ControlNet with attention to the text: the states of the prompts' keys and values, laid out as model.keys. */
  struct tensor keys[PROMPT_CHUNKS_MAX];
};

/* Initialises a control. slots is the number of prompts whose keys and values are kept. */
int control_init(struct control *control, int index, enum map_kind map, const struct control_network *network,
                 int slots, int positions, struct resources *resources, struct error *err);
void control_free(struct control *control); /* takes a zeroed control too */

bool control_is_controlnet(const struct control *control);
/* True if the control is a ControlNet that adds the mean of each of its outputs over the picture in place of the
 * output, and only to the prompt's row. */
bool control_is_pooled(const struct control *control);

/* The features that a control's network computes from a frame's map: a ControlNet makes one tensor, which is added to
 * the output of its own conv_in; a T2I-Adapter one tensor for each level. In a stream batch each tensor has a picture
 * for every frame. */
struct control_features {
  struct tensor list[LEVELS_MAX];
  int count;
};

/* Appends the ops that compute the features from map [1, H, W, 3] and store them in states of the plan. The caller has
 * begun the map's region and ends it. */
struct control_features control_read_map(const struct control *control, struct plan *plan, struct tensor map);
/* Called after the map's region has ended, in a stream batch of `frames` frames: stores this run's features before
 * those of earlier frames, and replaces *features by all of them, newest first. */
void control_queue(const struct control *control, struct plan *plan, int frames, struct control_features *features);

/* The call of the U-Net to whose tensors controls add. */
struct control_place {
  struct plan *plan;
  int step; /* number of the call; in a loop that of the first iteration */
  bool loop;
  int latents;               /* number of latents in the call; latent i is at step + i */
  struct guidance_rows rows; /* rows of the first latent, and of each later one */
  struct tensor x;           /* input of ControlNets: [rows of all latents, h, w, c] */
  /* number of the U-Net's first op in the plan: a ControlNet's layers may run at the same time as the ops from it on */
  int parallel_with;
};

/* Appends a ControlNet for this call and adds its outputs to the tensors of skips and to mid, in place. It does nothing
 * for other controls. moment has what depends on the call: times, the network's table of time projections, of which
 * rows [first, first + count) belong to the call; keys, the keys and values of all prompts; prompt, the op that chooses
 * those of the call. */
struct control_moment {
  struct tensor times, keys;
  int first, count;
  struct op_prompt prompt; /* fields rows, first and y.n are set; slots is not */
};
void control_inject(const struct control *control, const struct control_place *place,
                    const struct control_features *features, const struct control_moment *moment,
                    const struct skips *skips, struct tensor mid);
/* Adds a T2I-Adapter's feature of the layer's level, if the layer has one, to the layer's output x in place. It does
 * nothing for other controls. */
void control_add_level(const struct control *control, const struct control_place *place,
                       const struct control_features *features, const struct unet_layer *layer, struct tensor x);

#endif
