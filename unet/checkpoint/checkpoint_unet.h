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
 * the files say. folder: folder with the model's configs. signs: what the files of sources->unet (a U-Net that the user
 * has named) say about the prediction. If the user has named no U-Net, and the scheduler's file of the model does not
 * decide, the signs are read here from the model's weights. Returns 0, or -1 with err: the weights cannot be read, or
 * the user asked for epsilon with a zero terminal SNR. */
int checkpoint_settle_prediction(struct checkpoint *c, const struct checkpoint_sources *sources, const char *folder,
                                 struct prediction_signs *signs, const struct log *log, struct error *err);
/* Returns the timestep from which sampling starts at strength 1, if the name of the U-Net's file tells that, and logs
 * it. Returns 0 if the name does not tell; sampling then starts from the last timestep. */
int checkpoint_named_timestep(const struct checkpoint_sources *sources, const struct log *log);

#endif
