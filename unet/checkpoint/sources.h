/* The files and settings from which a checkpoint is opened. */
#ifndef UNET_CHECKPOINT_SOURCES_H
#define UNET_CHECKPOINT_SOURCES_H

#include <stdbool.h>

#include "unet/sample/sampler.h"

/* A setting that the user may turn on or off, or leave to what the files say. */
enum switch_choice { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };

enum prediction_choice { PREDICTION_AUTO, PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE };

/* The files of a model. All but `model` may be NULL. */
struct checkpoint_sources {
  const char *model; /* a diffusers folder, or one .safetensors file in the original key layout */
  const char *name;  /* name for people; NULL: that of the folder or file */
  const char *vae;   /* an autoencoder's folder that replaces the model's own, which is then not opened */
  /* A U-Net's file, whose weights replace the model's, while the model's config is kept; or the folder of a U-Net or of
   * a model, whose config is used as well. */
  const char *unet;
  /* The following two are for a model that is one file. */
  const char *config;     /* a diffusers folder whose configs and tokenizers are used; NULL: those of the family */
  const char *vocabulary; /* CLIP's merges (gzip), for the tokenizer of a family */
  /* The user's choice of what the network predicts; it replaces that of the scheduler's config or the family. */
  enum prediction_choice prediction;
  enum switch_choice zero_snr; /* the schedule ends at pure noise */
  /* which layer of the text encoders is read, counted from the last one, which is 1; 0: the model's default */
  int clip_skip;
};

/* Stores the prediction that the user has chosen. Returns false, and stores nothing, if that is PREDICTION_AUTO. */
bool sources_prediction(const struct checkpoint_sources *sources, enum prediction *prediction);

#endif
