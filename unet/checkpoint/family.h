/* Families of models: finds out from its tensors to which one a single file belongs, and provides the configs that the
 * family was published with. */
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
  char prediction_by[160]; /* the sign by which the prediction was found, for messages: "its tensor v_pred" */
  bool guessed;            /* true: no sign was found, so that the prediction is only the usual one of the family */
  bool zero_snr;
  struct prediction_signs signs;
};

/* The prefix of a U-Net's keys in the original layout. */
#define FAMILY_UNET "model.diffusion_model."

/* Recognises the family by keys, shapes and metadata, and by configs next to the file. Refuses files of other networks,
 * and names the kind that they look like. */
int family_recognise(struct family *family, const struct safetensors *files, struct error *err);
/* Refuses a model of the EDM formulation, which has the same tensors as SDXL. */
int family_refuse_edm(const struct safetensors *files, struct error *err);
const char *family_name(const struct family *family); /* Returns the name for people: "SD 1". */
/* Returns the text of a file of the family's folder, such as "unet/config.json". The caller frees it. NULL: there is no
 * such file, or memory is missing. */
char *family_config(const struct family *family, const char *name);

#endif
