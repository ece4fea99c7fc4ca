/* The files and settings from which a checkpoint is opened. */
#ifndef UNET_CHECKPOINT_SOURCES_H
#define UNET_CHECKPOINT_SOURCES_H

#include <stdbool.h>

#include "unet/sample/sampler.h"

/* A setting that the user may switch on or off, or leave to what the model's files say (SWITCH_AUTO). */
enum switch_choice { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };

enum prediction_choice { PREDICTION_AUTO, PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE };

/* The files of a model. All but `model` may be NULL. */
struct checkpoint_sources {
  const char *model; /* a diffusers folder, or one .safetensors file in the original key layout */
  const char *name;  /* name for people; NULL: the name of the folder or file */
  /* a file or folder of an autoencoder, or a model's folder that contains one; it replaces the model's own autoencoder;
   * NULL: none */
  const char *vae;
  /* a U-Net that replaces the model's; NULL: none. If it is a U-Net's file, only its weights are used, with the model's
   * config. If it is the folder of a U-Net or of a model, the U-Net's config in the folder is used as well. */
  const char *unet;
  /* The fields `config` and `vocabulary` are used if the model is one file. */
  /* a diffusers folder whose configs and tokenizers are used; NULL: the built-in ones of the model's family */
  const char *config;
  /* path of CLIP's list of merges of tokens (gzip), from which a family's built-in tokenizer is made; NULL: none */
  const char *vocabulary;
  /* The user's choice of what the network predicts; it replaces that of the scheduler's config or of the model's
   * family. */
  enum prediction_choice prediction;
  enum switch_choice zero_snr; /* the user's choice whether the noise schedule ends at pure noise (zero terminal SNR) */
  /* the layer of the text encoders that is read, counted from the last one, which is 1; 0: the model's default */
  int clip_skip;
};

/* Stores the prediction that the user has chosen. Returns false, and stores nothing, if that is PREDICTION_AUTO. */
bool sources_prediction(const struct checkpoint_sources *sources, enum prediction *prediction);

#endif
