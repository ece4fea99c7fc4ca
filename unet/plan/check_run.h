/* The check of a run's parameters. */
#ifndef UNET_PLAN_CHECK_RUN_H
#define UNET_PLAN_CHECK_RUN_H

#include "unet/plan/run.h"

/* Refuses parameters with which this plan cannot run. device.c checks the frames. */
int check_run(const struct plan *plan, const struct run_params *params, struct error *err);

#endif
