/* Measures the times of a program's launches, both within a frame and alone. */
#ifndef CUDA_PROFILE_H
#define CUDA_PROFILE_H

#include "unet/plan/device.h"

/* Does the work of device_profile (unet/plan/device.h) for the CUDA device. */
int program_profile(struct device *device, struct program *program, const struct run_params *params,
                    const struct frame *frames, const struct frame *pictures, const struct profile_request *request,
                    struct profile *profile, struct error *err);

#endif
