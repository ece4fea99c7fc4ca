/* What a checkpoint is opened from. */
#ifndef UNET_CHECKPOINT_SOURCES_H
#define UNET_CHECKPOINT_SOURCES_H

#include <stdbool.h>

#include "unet/sample/sampler.h"

/* A choice that may be left to the files. */
enum switch_choice { SWITCH_AUTO, SWITCH_ON, SWITCH_OFF };

enum prediction_choice { PREDICTION_AUTO, PREDICTION_EPSILON, PREDICTION_V, PREDICTION_SAMPLE };

/* What a model is made of. All but model may be NULL. */
struct checkpoint_sources {
  const char *model; /* a diffusers folder, or one .safetensors file in the original key layout */
  const char *name;  /* for people; NULL: as the folder or file is called */
  const char *vae;   /* an autoencoder's folder, in the place of the model's own, which is then not opened */
  const char *unet;  /* a U-Net's file, in the place of the model's own weights: the config stays the model's; or a
                        folder of a  U-Net or model, whose config counts then */
  /* For a model that is one file: */
  const char *config;     /* a diffusers folder whose configs and tokenizers it has; NULL: those of its family */
  const char *vocabulary; /* CLIP's merges (gzip), for the tokenizer of a family */
  /* What the network predicts, where the scheduler's config or the family are not to say it. */
  enum prediction_choice prediction;
  enum switch_choice zero_snr; /* the schedule ends in noise alone */
  int clip_skip; /* the text encoders' layer that counts, from 1, the last; 0: what is usual for the model */
};

/* Stores the one that was chosen, if one was. */
bool sources_prediction(const struct checkpoint_sources *sources, enum prediction *prediction);

#endif
