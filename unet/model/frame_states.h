/* The states that a frame's plan reads and other programs write: time projections and noise. */
#ifndef UNET_MODEL_FRAME_STATES_H
#define UNET_MODEL_FRAME_STATES_H

#include "unet/model/plans.h"

/* Return the size that the networks compute, in pixels: that of the frame, or of the canvas's window. */
int frame_drawn_h(const struct frame_shape *shape);
int frame_drawn_w(const struct frame_shape *shape);
/* Returns how many pictures one run makes, at least 1. */
int frame_pictures(const struct frame_shape *shape);
/* True if one run advances several frames, each by one step (shape.stream_batch with more than one step). */
bool frame_is_batched(const struct frame_shape *shape);
bool frame_has_controlnet(const struct model *model, const struct frame_shape *shape, int control);

/* Returns how many rows of time projections the first step has, and each later one. Both are 1, unless the U-Net reads
 * pooled texts or the run is a stream batch: then there are as many as guidance rows. */
struct guidance_rows frame_time_rows(const struct model *model, const struct frame_shape *shape);
/* Return the states with the time projections of the U-Net, and of a control's network. */
struct tensor frame_times_state(const struct model *model, const struct frame_shape *shape, struct plan *plan);
struct tensor frame_control_times_state(const struct model *model, const struct frame_shape *shape, int control,
                                        struct plan *plan);

/* Returns a state for n samples of noise for each picture of a run. */
struct tensor frame_noise_state(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                                const char *name, int n);

#endif
