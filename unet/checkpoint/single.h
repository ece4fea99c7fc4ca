/* A model in one file of the original key layout. Its parts are views of the file, and the configs of its family take
 * the place of a folder's.
 *
 * A path below the file's own path, such as "model.safetensors/unet/config.json", stands for a file of the folder that
 * the model would be. */
#ifndef UNET_CHECKPOINT_SINGLE_H
#define UNET_CHECKPOINT_SINGLE_H

#include "unet/base/log.h"
#include "unet/checkpoint/parts.h"
#include "unet/checkpoint/prediction.h"
#include "unet/checkpoint/sources.h"

struct single;

/* Opens sources->model, which is a file. Recognises its family, unless sources->config has configs for it. The caller
 * closes *single. */
int single_open(struct single **single, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err);
void single_close(struct single **single); /* Closes the file. Stores NULL; takes NULL. */

/* Reads the config for a path below the file's own, such as "model.safetensors/unet/config.json". The caller frees
 * *text. Returns 1 if the path is not below the file's own, or if --config gives the configs. */
int single_config(const struct single *single, const char *path, char **text, struct error *err);
/* Opens the weights of a part as a view of the file. */
int single_weights(const struct single *single, struct component *component, struct error *err);
/* Refuses tensors of parts that the model would not read, and tensors of no part. second: the model has two text
 * encoders. */
int single_check_parts(const struct single *single, bool second, struct error *err);
/* Opens the tokenizer for a path below the file's own. Returns 1 if the path is not below it, or if --config gives the
 * tokenizer. */
int single_tokenizer(const struct single *single, const char *path, struct tokenizer **tokenizer, struct error *err);

/* Returns the family's name, "SD 1"; NULL: it was not recognised, because --config gives the configs. */
const char *single_family(const struct single *single);

/* Reads the signs in the file, and in configs next to it, of what the network predicts. */
int single_prediction(const struct single *single, struct prediction_signs *signs, struct error *err);

/* Opens a U-Net's file in any key layout, diffusers' or the original one, each with or without a prefix. *signs: the
 * signs of what it predicts. */
int single_open_unet(struct safetensors **files, const char *path, struct prediction_signs *signs, struct error *err);

#endif
