/* The check of what a run is told. */
#ifndef UNET_PLAN_CHECK_RUN_H
#define UNET_PLAN_CHECK_RUN_H

#include "unet/plan/run.h"

/* Refuses parameters that a run of this plan cannot have. Frames are device.c's to check. */
int check_run(const struct plan *plan, const struct run_params *params, struct error *err);

#endif
