/* What checkpoint.c asks of a U-Net that comes from elsewhere, and what a U-Net predicts. */
#ifndef UNET_CHECKPOINT_CHECKPOINT_UNET_H
#define UNET_CHECKPOINT_CHECKPOINT_UNET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/prediction.h"

/* Opens a file, or a folder of a U-Net or model, in the place of the predictor's weights, which are not open yet. A
 * folder's config replaces the predictor's own. signs: what it says of its prediction. */
int checkpoint_open_unet(struct predictor *predictor, const char *unet, struct prediction_signs *signs,
                         struct error *err);
/* Settles prediction and zero_snr of the scheduler: as it was asked for, else as the files say. folder: of the configs.
 * signs: those of sources->unet. */
int checkpoint_settle_prediction(struct checkpoint *c, const struct checkpoint_sources *sources, const char *folder,
                                 struct prediction_signs *signs, const struct log *log, struct error *err);
/* The timestep that strength 1 begins at by the name of the U-Net's file, which a line tells; 0: the last one. */
int checkpoint_named_timestep(const struct checkpoint_sources *sources, const struct log *log);

#endif
