/* What device.c shares with the check of a run's arguments. */
#ifndef UNET_PLAN_CHECK_RUN_H
#define UNET_PLAN_CHECK_RUN_H

#include "unet/plan/device.h"

/* Arguments as device_submit has them. Frames that the device does not read where they lie are in the host's memory
 * afterwards. */
int check_run(struct device *device, const struct program *program, const struct run_params *params,
              const struct frame *frames, struct error *err);

#endif
