/* Finds out what a network predicts (epsilon, v or the sample). No tensor of a U-Net shows it, so that other signs in
 * the file, and in configs next to it, have to tell. */
#ifndef UNET_CHECKPOINT_PREDICTION_H
#define UNET_CHECKPOINT_PREDICTION_H

#include <stdbool.h>

#include "unet/base/log.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"

/* The place where a sign of what the network predicts was found. A place earlier in this list is trusted more. */
enum prediction_witness {
  WITNESS_TENSOR,   /* the tensor v_pred or ztsnr, which some programs write into the file */
  WITNESS_CONFIG,   /* NAME.yaml next to NAME.safetensors, as web UIs write it */
  WITNESS_METADATA, /* the file's header, which may be older than a later change of the weights */
  WITNESS_NONE
};

struct prediction_sign {
  enum prediction_witness witness;
  enum prediction prediction;
  char by[160]; /* place where the sign was found, for messages: "its tensor v_pred" */
};

struct prediction_signs {
  struct prediction_sign first; /* the most trusted sign; its witness is WITNESS_NONE if there is no sign */
  /* The most trusted sign that contradicts the first one; its witness is WITNESS_NONE if there is none. */
  struct prediction_sign other;
  char strange[160]; /* a sign with an unknown word: "m.yaml says ..."; "": none */
  bool zero_snr;     /* the schedule ends at pure noise; only with v prediction */
};

/* Reads all signs of a file, and of configs next to it. */
int prediction_read(struct prediction_signs *signs, const struct safetensors *files, struct error *err);
/* Adds the sign in a scheduler's file of the same model. Fails if the file cannot be read. */
int prediction_read_scheduler(struct prediction_signs *signs, const char *path, struct error *err);
/* Logs which sign was followed if two contradict each other, and which word is unknown. */
void prediction_tell(const struct prediction_signs *signs, const char *path, const struct log *log);

/* Parses a web UI's config. Returns false if it does not tell what the network predicts. */
bool prediction_parse(const char *text, enum prediction *prediction, bool *zero_snr);

#endif
