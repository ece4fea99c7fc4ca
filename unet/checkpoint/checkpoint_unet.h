/* The parts of checkpoint.c that deal with a U-Net from elsewhere (--unet), and with what a U-Net predicts. */
#ifndef UNET_CHECKPOINT_CHECKPOINT_UNET_H
#define UNET_CHECKPOINT_CHECKPOINT_UNET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/prediction.h"

/* Opens a U-Net's file, or the folder of a U-Net or of a model, as the predictor's weights, which are not open yet. A
 * folder's config replaces the predictor's own. *signs: the signs of what the U-Net predicts. */
int checkpoint_open_unet(struct predictor *predictor, const char *unet, struct prediction_signs *signs,
                         struct error *err);
/* Decides prediction and zero_snr of the scheduler: as the user asked for, else as the files say. folder: that of the
 * configs. signs: those of sources->unet. */
int checkpoint_settle_prediction(struct checkpoint *c, const struct checkpoint_sources *sources, const char *folder,
                                 struct prediction_signs *signs, const struct log *log, struct error *err);
/* Returns the timestep at which strength 1 begins if the name of the U-Net's file tells one, and logs that; 0: the last
 * one. */
int checkpoint_named_timestep(const struct checkpoint_sources *sources, const struct log *log);

#endif
