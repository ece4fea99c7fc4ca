/* Controls as part of a frame plan: a map made of the picture, and a network that reads it and adds to what the U-Net's
 * way down and middle give. The map and all that depends on it alone is made once a run, in a region that runs where
 * run.control[].map says so, and is left in states; what is added in each step is in regions that run where the control
 * has a gain. A plan without controls has nothing of all this. */
#ifndef UNET_MODEL_CONTROL_H
#define UNET_MODEL_CONTROL_H

#include "unet/base/guidance.h"
#include "unet/checkpoint/control_network.h"
#include "unet/model/models.h"
#include "unet/text/prompt.h"

/* One of a model's controls. Borrows the network, which is NULL where there is the map alone. */
struct control {
  bool there; /* it was added to the model */
  int index;  /* in the run's parameters */
  enum map_kind map;
  bool source; /* it sees the run's second frame */
  const struct control_network *network;
  struct unet body; /* of a ControlNet */
  /* Of a ControlNet that attends to the text: as the model's. */
  struct tensor keys[PROMPT_CHUNKS_MAX];
};

/* slots: prompts whose keys and values find room. */
int control_init(struct control *control, int index, enum map_kind map, const struct control_network *network,
                 int slots, int positions, struct resources *resources, struct error *err);
void control_free(struct control *control); /* also of a zeroed one */

bool control_is_controlnet(const struct control *control);
/* True if what it adds is its mean over the picture, to the prompt's row alone. */
bool control_is_pooled(const struct control *control);

/* What it makes of a frame's picture: a ControlNet one tensor that is added to its first layer's output, a T2I-Adapter
 * one for each level. Each has as many pictures as latents are under way. */
struct control_features {
  struct tensor list[LEVELS_MAX];
  int count;
};

/* Appends them to a plan: map [1, H, W, 3] -> states of the plan. For the region of the map. */
struct control_features control_read_map(const struct control *control, struct plan *plan, struct tensor map);
/* Behind that region: the same for the frames of a stream batch, the newest first. */
void control_queue(const struct control *control, struct plan *plan, int frames, struct control_features *features);

/* A call of the U-Net to which controls add. */
struct control_place {
  struct plan *plan;
  int step; /* in a loop that of its first iteration */
  bool loop;
  int latents;               /* under way, each at a step of its own from `step` on */
  struct guidance_rows rows; /* of the first latent, of each later one */
  struct tensor x;           /* what ControlNets see: [rows of all latents, h, w, c] */
  int beside;                /* the op from which on their layers may run: the U-Net's first */
};

/* Adds what a ControlNet makes of the call to the U-Net's skips and its middle block's output. times: its table of time
 * projections, of which `first` is the call's first row, of as many as times_rows; keys: of the prompts. */
struct control_moment {
  struct tensor times, keys;
  int first, count;
  struct op_prompt prompt; /* rows, first, y.n */
};
void control_inject(const struct control *control, const struct control_place *place,
                    const struct control_features *features, const struct control_moment *moment,
                    const struct skips *skips, struct tensor mid);
/* Adds what a T2I-Adapter has for a layer to its output. */
void control_add_level(const struct control *control, const struct control_place *place,
                       const struct control_features *features, const struct unet_layer *layer, struct tensor x);

#endif
