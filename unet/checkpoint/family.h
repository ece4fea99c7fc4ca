/* Families of models, such as SD 1 or SDXL. Finds out from a single file's tensors to which family it belongs. Also has
 * the configs with which each family was published. */
#ifndef UNET_CHECKPOINT_FAMILY_H
#define UNET_CHECKPOINT_FAMILY_H

#include "unet/checkpoint/prediction.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"

struct family_row;

struct family {
  const struct family_row *row;
  int in_channels;
  enum prediction prediction;
  /* words for messages that name the sign by which the prediction (epsilon or v) was recognised: "its tensor v_pred" */
  char prediction_by[160];
  /* true: no file tells what the network predicts. For SD 2 the spread of a norm's biases has decided; for other
   * families the usual prediction is assumed */
  bool guessed;
  bool zero_snr;
  struct prediction_signs signs;
};

/* Text with which the names of a U-Net's tensors begin in the original layout. */
#define FAMILY_UNET "model.diffusion_model."

/* Finds out to which family a file belongs, from its tensors' names and shapes. From these, from the file's metadata
 * and from configs next to it, also finds out what its network predicts. Refuses files of other networks, and names the
 * kind that they look like. Returns 0, or -1 with err. */
int family_recognise(struct family *family, const struct safetensors *files, struct error *err);
/* Refuses a model that was trained with the EDM formulation of diffusion. Such a model has the same tensors as SDXL. */
int family_refuse_edm(const struct safetensors *files, struct error *err);
const char *family_name(const struct family *family); /* Returns the family's name for people: "SD 1". */
/* Returns the text of a config of the family, such as "unet/config.json". Fields that were found out from the model's
 * own file are inserted: in_channels, and what the network predicts. The caller frees the text. NULL: there is no such
 * file, or memory is short. */
char *family_config(const struct family *family, const char *name);

#endif
