/* Opens a U-Net that comes from elsewhere than the model (--unet), and finds out what a U-Net predicts. */
#ifndef UNET_CHECKPOINT_CHECKPOINT_UNET_H
#define UNET_CHECKPOINT_CHECKPOINT_UNET_H

#include "unet/checkpoint/checkpoint.h"
#include "unet/checkpoint/prediction.h"

/* Opens the weights of a U-Net from its file, or from the folder of a U-Net or of a model; a folder's config then
 * replaces the predictor's config. *signs becomes what the files say about what the U-Net predicts (the noise epsilon,
 * v or the picture). */
int checkpoint_open_unet(struct predictor *predictor, const char *unet, struct prediction_signs *signs,
                         struct error *err);
/* Sets the scheduler's prediction (epsilon, v or the picture) and zero_snr: to what the user asked for, else to what
 * the files say. folder: folder with the model's configs. signs: for a U-Net that the user has named (sources->unet),
 * what its files say about the prediction. Otherwise the signs are read here from the model's weights, if the
 * scheduler's file does not decide. Returns 0, or -1 with err: the weights cannot be read, or the prediction is epsilon
 * although the schedule ends at pure noise (zero terminal SNR). */
int checkpoint_settle_prediction(struct checkpoint *c, const struct checkpoint_sources *sources, const char *folder,
                                 struct prediction_signs *signs, const struct log *log, struct error *err);
/* The name of a U-Net's file may tell at which timestep sampling starts at strength 1. Returns that timestep, and logs
 * it; returns 0 if the name does not tell, so that sampling starts from the last timestep. */
int checkpoint_named_timestep(const struct checkpoint_sources *sources, const struct log *log);

#endif
