/* Families of models: which one the tensors of a single file are of, and the configs that it was published with. */
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
  char prediction_by[160]; /* what tells it: "its tensor v_pred" */
  bool guessed;            /* it may be wrong */
  bool zero_snr;
  struct prediction_signs signs;
};

/* The prefix of a U-Net in a file of the original layout. */
#define FAMILY_UNET "model.diffusion_model."

/* By keys, shapes, metadata and what lies beside the file: safetensors_path says where it is. Files of other
 * networks are refused with what they look like. */
int family_recognise(struct family *family, const struct safetensors *files, struct error *err);
/* Refuses a model of the EDM formulation, whose tensors are those of SDXL. */
int family_refuse_edm(const struct safetensors *files, struct error *err);
const char *family_name(const struct family *family); /* "SD 1" */
/* Text of a file of the family's folder ("unet/config.json"), allocated; NULL: no memory, or there is no such file. */
char *family_config(const struct family *family, const char *name);

#endif
