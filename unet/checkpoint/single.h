/* A model in one file of the original key layout. Its parts (U-Net, text encoders, autoencoder) are views of the file.
 * The built-in configs of the model's family take the place of those in a diffusers folder.
 *
 * A path such as "model.safetensors/unet/config.json" continues the file's own path, as if the file were a folder. It
 * stands for the file that such a folder would contain. */
#ifndef UNET_CHECKPOINT_SINGLE_H
#define UNET_CHECKPOINT_SINGLE_H

#include "unet/base/log.h"
#include "unet/checkpoint/parts.h"
#include "unet/checkpoint/prediction.h"
#include "unet/checkpoint/sources.h"

struct single;

/* Opens sources->model, which is a file. Recognises the model's family, unless sources->config gives a folder with
 * configs. The caller closes *single. */
int single_open(struct single **single, const struct checkpoint_sources *sources, const struct log *log,
                struct error *err);
void single_close(struct single **single); /* Closes the file. *single becomes NULL; does nothing if it is NULL. */

/* Reads the config for a path such as "model.safetensors/unet/config.json", which continues the model file's path as if
 * that file were a folder. The caller frees *text. Returns 0, or -1 with err if memory is short; 1 if the path does not
 * continue the model file's path, or if --config gives the configs. */
int single_config(const struct single *single, const char *path, char **text, struct error *err);
/* Opens the weights of a part of the model: component->files becomes a view (tensor_view.h) of the part's tensors in
 * the file, under the names that they have in a diffusers folder. */
int single_weights(const struct single *single, struct component *component, struct error *err);
/* Refuses a file with tensors of no part of a model, or of parts that this model would not read. second: true if the
 * model has two text encoders. */
int single_check_parts(const struct single *single, bool second, struct error *err);
/* Opens the tokenizer for a path that continues the model file's own, such as "model.safetensors/tokenizer", as if the
 * file were a folder. Returns 0, or -1 with err; 1 if `path` does not begin with the model file's path, or if --config
 * gives the tokenizer. */
int single_tokenizer(const struct single *single, const char *path, struct tokenizer **tokenizer, struct error *err);

/* Returns the family's name, "SD 1"; NULL: it was not recognised, because --config gives the configs. */
const char *single_family(const struct single *single);

/* Reads what the file, and configs next to it, say about what the network predicts (the noise epsilon, v or the
 * picture). */
int single_prediction(const struct single *single, struct prediction_signs *signs, struct error *err);

/* Opens a U-Net's file in any key layout, diffusers' or the original one, each with or without a prefix. *signs: what
 * the file says about what the U-Net predicts (the noise epsilon, v or the picture). */
int single_open_unet(struct safetensors **files, const char *path, struct prediction_signs *signs, struct error *err);

#endif
