/* Control networks: ControlNets and T2I-Adapters. They read a map of the picture, such as its edges or its depth, and
 * add their outputs to those of the U-Net's blocks. A network comes from a diffusers folder or one .safetensors file. A
 * file may have diffusers' key layout, with a config.json in the same folder, or the original layout, without a config;
 * the config is then derived from the tensors.
 *
 * Ownership: struct control_network owns everything except `name`.
 *
 * Threads: an open network is never changed, so any thread may read it. */
#ifndef UNET_CHECKPOINT_CONTROL_NETWORK_H
#define UNET_CHECKPOINT_CONTROL_NETWORK_H

#include <stdio.h>

#include "unet/checkpoint/checkpoint.h"

enum control_network_type { CONTROL_CONTROLNET, CONTROL_T2I };

struct control_network {
  char *path;
  enum control_network_type type;
  struct component weights;
  union {
    struct controlnet_config controlnet;
    struct t2i_config t2i;
  };
};

/* Opens a network. `name` is borrowed; in plans the names of the network's weights begin with it, so each network of a
 * model needs a name of its own. If the network has no config, a log line says which properties are assumed. The caller
 * closes *network. Returns 0, or -1 with err of STATUS_MODEL, or of STATUS_FAILED if memory is short. */
int control_network_open(struct control_network **network, const char *path, const char *name, const struct log *log,
                         struct error *err);
/* Closes the files. *network becomes NULL; does nothing if it is NULL. */
void control_network_close(struct control_network **network);

/* Returns true if the folder's config.json names the class of a ControlNet or T2I-Adapter. */
bool control_network_is_folder(const char *path);

/* Refuses a network that was made for another family than the model's, or for other sizes. */
int control_network_check(const struct control_network *network, const struct checkpoint *checkpoint,
                          struct error *err);
/* Returns the names, for people, of the model families that the network fits: "SD 1", "SD 1 or SD 2". */
const char *control_network_family(const struct control_network *network);
/* Prints a description of the network for people. */
void control_network_print(const struct control_network *network, FILE *out);

#endif
