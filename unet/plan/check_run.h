/* Checks a run's parameters against the plan's ops, before a device starts the run. */
#ifndef UNET_PLAN_CHECK_RUN_H
#define UNET_PLAN_CHECK_RUN_H

#include "unet/plan/run.h"

/* Returns -1 with err set (one line) if a parameter that the plan's ops read is out of its range: a rectangle, a slot
 * or token number, a timestep, a coefficient. Frames are checked by device_submit, not here. */
int check_run(const struct plan *plan, const struct run_params *params, struct error *err);

#endif
