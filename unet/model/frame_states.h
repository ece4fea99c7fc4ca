/* States (tensors that outlive a run) that a frame's plan reads and other programs write: time projections and
 * noise. */
#ifndef UNET_MODEL_FRAME_STATES_H
#define UNET_MODEL_FRAME_STATES_H

#include "unet/model/plans.h"

/* frame_drawn_h and frame_drawn_w return the height and the width, in pixels, of what the networks compute: the frame,
 * or with a canvas (an endless plane that follows the camera) a part of the canvas around the frame. */
int frame_drawn_h(const struct frame_shape *shape);
int frame_drawn_w(const struct frame_shape *shape);
/* Returns how many pictures one run of the frame's plan makes, at least 1. */
int frame_pictures(const struct frame_shape *shape);
/* Returns true if one run advances several frames, each by one step (shape.stream_batch with more than one step). */
bool frame_is_batched(const struct frame_shape *shape);
bool frame_has_controlnet(const struct model *model, const struct frame_shape *shape, int control);

/* Returns how many rows of time projections the first step has, and how many each later one. If the U-Net reads pooled
 * texts, or in a stream batch, these are the numbers of guidance rows (copies of a latent for several prompts).
 * Otherwise both are 1. */
struct guidance_rows frame_time_rows(const struct model *model, const struct frame_shape *shape);
/* frame_times_state returns the state with the time projections of all steps for the U-Net; frame_control_times_state
 * returns the one for the network of control number `control`. */
struct tensor frame_times_state(const struct model *model, const struct frame_shape *shape, struct plan *plan);
struct tensor frame_control_times_state(const struct model *model, const struct frame_shape *shape, int control,
                                        struct plan *plan);

/* Makes a state (a tensor that outlives a run) that holds `n` latents of noise for each picture of a run, and returns
 * it. */
struct tensor frame_noise_state(const struct model *model, const struct frame_shape *shape, struct plan *plan,
                                const char *name, int n);

#endif
