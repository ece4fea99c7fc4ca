/* What a network predicts, as far as its file and what lies beside it say: no tensor of a U-Net shows it. */
#ifndef UNET_CHECKPOINT_PREDICTION_H
#define UNET_CHECKPOINT_PREDICTION_H

#include <stdbool.h>

#include "unet/base/log.h"
#include "unet/checkpoint/safetensors.h"
#include "unet/sample/sampler.h"

/* Who says it, the most trusted first. */
enum prediction_witness {
  WITNESS_TENSOR,   /* v_pred or ztsnr, which some writers put into the file */
  WITNESS_CONFIG,   /* NAME.yaml beside NAME.safetensors, as web UIs have it */
  WITNESS_METADATA, /* the file's header, which a later change of the weights may have left as it was */
  WITNESS_NONE
};

struct prediction_sign {
  enum prediction_witness witness;
  enum prediction prediction;
  char by[160]; /* "its tensor v_pred" */
};

struct prediction_signs {
  struct prediction_sign first; /* the most trusted; its witness is WITNESS_NONE where nothing says it */
  struct prediction_sign other; /* one that says otherwise; WITNESS_NONE: there is none */
  char strange[160];            /* what is said of it in a word that is not known: "m.yaml says ..."; "": nothing */
  bool zero_snr;                /* the schedule ends in noise alone, with v prediction */
};

/* Reads all signs of a file, and of what lies beside it. */
int prediction_read(struct prediction_signs *signs, const struct safetensors *files, struct error *err);
/* Adds what a scheduler's file beside it says. Failing to read it is an error. */
int prediction_read_scheduler(struct prediction_signs *signs, const char *path, struct error *err);
/* Says which sign was followed, where two of them disagree, and which word is not known. */
void prediction_tell(const struct prediction_signs *signs, const char *path, const struct log *log);

/* The text of a web UI's config. False: it says nothing of what the network predicts. */
bool prediction_parse(const char *text, enum prediction *prediction, bool *zero_snr);

#endif
