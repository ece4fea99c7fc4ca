/* Control networks: those that read a map beside the model and add to what its U-Net computes. Each is a diffusers
 * folder or one .safetensors file, in diffusers' key layout (a config.json beside it is read) or in the original one,
 * whose config follows from its tensors.
 *
 * Ownership: struct control_network owns all but name. Threads: read-only once open. */
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

/* name begins the names of its weights as resources: no two networks of a model share one. What only a config could say
 * is told where there is none. Errors are STATUS_MODEL. */
int control_network_open(struct control_network **network, const char *path, const char *name, const struct log *log,
                         struct error *err);
void control_network_close(struct control_network **network); /* stores NULL; takes NULL */

/* Whether a folder holds one, by the class that its config.json names. */
bool control_network_is_folder(const char *path);

/* Refuses a network that was made for another family than the model's, or for other sizes. */
int control_network_check(const struct control_network *network, const struct checkpoint *checkpoint,
                          struct error *err);
/* "SD 1", "SD 1 or SD 2", for people. */
const char *control_network_family(const struct control_network *network);
/* Lines for people. */
void control_network_print(const struct control_network *network, FILE *out);

#endif
