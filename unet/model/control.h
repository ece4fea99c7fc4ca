/* Controls in a frame plan: a map made from the picture, and a network that reads it and adds its results to the
 * outputs of the U-Net's down and middle blocks. The map, and everything that depends on it alone, is made once a run,
 * in a region that runs if run.control[].map is set, and is stored in states. The additions of each step are in regions
 * that run if the control's gain is not 0. A plan without controls has no such ops. */
#ifndef UNET_MODEL_CONTROL_H
#define UNET_MODEL_CONTROL_H

#include "unet/base/guidance.h"
#include "unet/checkpoint/control_network.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* One of a model's controls. Borrows the network, which is NULL for a map that no network reads. */
struct control {
  bool there; /* true once the control was added to the model */
  int index;  /* index in run.control */
  enum map_kind map;
  bool source; /* the control reads the run's second frame */
  const struct control_network *network;
  struct unet body; /* the body of a ControlNet */
  /* The prompts' keys and values for a ControlNet with attention to the text; laid out as those of the model. */
  struct tensor keys[PROMPT_CHUNKS_MAX];
};

/* Initialises a control. slots is the number of prompts whose keys and values are kept. */
int control_init(struct control *control, int index, enum map_kind map, const struct control_network *network,
                 int slots, int positions, struct resources *resources, struct error *err);
void control_free(struct control *control); /* takes a zeroed control too */

bool control_is_controlnet(const struct control *control);
/* True if the control adds its mean over the picture instead, and only to the prompt's row. */
bool control_is_pooled(const struct control *control);

/* The features that a control's network computes from a frame's map: one tensor of a ControlNet, which is added to its
 * first layer's output, or one tensor for each level of a T2I-Adapter. Each has a picture for every latent in the
 * run. */
struct control_features {
  struct tensor list[LEVELS_MAX];
  int count;
};

/* Appends the ops that compute the features from map [1, H, W, 3] and store them in states of the plan. Called within
 * the map's region. */
struct control_features control_read_map(const struct control *control, struct plan *plan, struct tensor map);
/* Called after that region: in a stream batch, replaces the features by those of all frames in the batch, newest
 * first. */
void control_queue(const struct control *control, struct plan *plan, int frames, struct control_features *features);

/* A call of the U-Net to which controls add. */
struct control_place {
  struct plan *plan;
  int step; /* in a loop, the step of its first iteration */
  bool loop;
  int latents;               /* latents in the call, each one step ahead of the one before, starting at `step` */
  struct guidance_rows rows; /* rows of the first latent, and of each later one */
  struct tensor x;           /* input of ControlNets: [rows of all latents, h, w, c] */
  int beside; /* first op of the U-Net; a ControlNet's layers may run at the same time as the ops from here on */
};

/* Adds a ControlNet's results to the U-Net's skips and to the middle block's output. moment->times is the network's
 * table of time projections, of which rows [first, first + count) belong to this call; moment->keys are those of the
 * prompts. */
struct control_moment {
  struct tensor times, keys;
  int first, count;
  struct op_prompt prompt; /* rows, first and y.n are set */
};
void control_inject(const struct control *control, const struct control_place *place,
                    const struct control_features *features, const struct control_moment *moment,
                    const struct skips *skips, struct tensor mid);
/* Adds a T2I-Adapter's feature for a layer to the layer's output. */
void control_add_level(const struct control *control, const struct control_place *place,
                       const struct control_features *features, const struct unet_layer *layer, struct tensor x);

#endif
