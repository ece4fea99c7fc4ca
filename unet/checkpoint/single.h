/* A model in one file, in the original key layout: its parts as views, and its family's configs in the place of a
 * folder's.
 *
 * A path below the file's own ("model.safetensors/unet/config.json") stands for a file of the folder that it would be.
 */
#ifndef UNET_CHECKPOINT_SINGLE_H
#define UNET_CHECKPOINT_SINGLE_H

#include "unet/base/log.h"
#include "unet/checkpoint/parts.h"
#include "unet/checkpoint/prediction.h"
#include "unet/checkpoint/sources.h"

struct single;

/* Opens sources->model, which is a file. Its family is recognised, unless sources->config has configs for it. */
int single_open(struct single **single, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err);
void single_close(struct single **single); /* stores NULL; takes NULL */

/* Reads a config at such a path into *text, allocated. Returns 0; 1: the path is not below the file's own. */
int single_config(const struct single *single, const char *path, char **text, struct error *err);
/* The weights of a part: a view of the file. */
int single_weights(const struct single *single, struct component *component, struct error *err);
/* Refuses tensors of parts that nobody would read, or of none; second: the model has two text encoders. */
int single_check_parts(const struct single *single, bool second, struct error *err);
/* The tokenizer at such a path; 1: as above. */
int single_tokenizer(const struct single *single, const char *path, struct tokenizer **tokenizer, struct error *err);

/* "SD 1"; NULL: not recognised, as the configs are others'. */
const char *single_family(const struct single *single);

/* What the file and what lies beside it say of the prediction. */
int single_prediction(const struct single *single, struct prediction_signs *signs, struct error *err);

/* Opens a U-Net's file in any key layout: as diffusers has it, or the original one, each with or without prefix. signs:
 * what it says of its prediction. */
int single_open_unet(struct safetensors **files, const char *path, struct prediction_signs *signs, struct error *err);

#endif
