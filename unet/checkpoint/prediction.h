/* Finds out what a network predicts (epsilon, v or the sample). No weight of a U-Net shows what it predicts; other
 * signs in the file do, and configs next to it. */
#ifndef UNET_CHECKPOINT_PREDICTION_H
#define UNET_CHECKPOINT_PREDICTION_H

#include <stdbool.h>

#include "unet/base/log.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"

/* The place where a sign of what the network predicts was found. A place earlier in this list is trusted more. */
enum prediction_witness {
  WITNESS_TENSOR,   /* there is a tensor v_pred or ztsnr, which some programs write into the file */
  WITNESS_CONFIG,   /* a config NAME.yaml next to NAME.safetensors, as web UIs write it */
  WITNESS_METADATA, /* the metadata in the file's header, which may be outdated, because programs change weights without
                     * it */
  WITNESS_NONE
};

struct prediction_sign {
  enum prediction_witness witness;
  enum prediction prediction;
  char by[160]; /* words for messages that name the sign by which the prediction (epsilon or v) was recognised: "its
                 * tensor v_pred" */
};

struct prediction_signs {
  struct prediction_sign first; /* the most trusted sign; if there is none, the place where it was found (witness) is
                                 * WITNESS_NONE */
  /* The most trusted sign that contradicts `first`. If there is none, its witness (the place where it was found) is
   * WITNESS_NONE. */
  struct prediction_sign other;
  char strange[160]; /* the first sign that this program cannot interpret, for a message: "m.yaml says ..."; "": none */
  /* true: a sign says that the noise schedule ends at pure noise; a network that predicts epsilon cannot have such a
   * schedule */
  bool zero_snr;
};

/* Looks for all signs of what the network predicts: in a file of weights, and in configs next to it. */
int prediction_read(struct prediction_signs *signs, const struct safetensors *files, struct error *err);
/* Adds what the scheduler's file of the same model says that the network predicts. Fails if the file cannot be read. */
int prediction_read_scheduler(struct prediction_signs *signs, const char *path, struct error *err);
/* If two signs of the network's prediction contradict each other, logs which sign was used. Also logs the sign that
 * this program cannot interpret, if there is one. path: the weights' file. */
void prediction_tell(const struct prediction_signs *signs, const char *path, const struct log *log);

/* Finds in the text of a web UI's config what the network predicts. Returns false if the text does not tell. */
bool prediction_parse(const char *text, enum prediction *prediction, bool *zero_snr);

#endif
