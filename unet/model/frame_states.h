/* What a frame's plan shares with the programs beside it, whose states it reads: times and noise. */
#ifndef UNET_MODEL_FRAME_STATES_H
#define UNET_MODEL_FRAME_STATES_H

#include "unet/model/plans.h"

/* Of one run: at least 1. */
int frame_pictures(const struct frame_shape *shape);
/* Whether it is a stream batch. */
bool frame_is_batched(const struct frame_shape *shape);
bool frame_has_controlnet(const struct model *model, const struct frame_shape *shape, int control);

/* Rows of the time projections: each guidance row has its own where pooled text tells them apart, or where the call has
 * rows of several steps. */
struct guidance_rows frame_time_rows(const struct model *model, const struct frame_shape *shape);
/* The U-Net's, and those of a control's network. */
struct tensor frame_times_state(const struct model *model, const struct frame_shape *shape, struct plan *plan);
struct tensor frame_control_times_state(const struct model *model, const struct frame_shape *shape, int control,
                                        struct plan *plan);

/* State of n samples of noise, for each picture of a run. */
struct tensor frame_noise_state(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                                const char *name, int n);

#endif
