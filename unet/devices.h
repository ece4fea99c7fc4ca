/* The devices there are, and the choice between them: the one place that knows them by name. */
#ifndef UNET_DEVICES_H
#define UNET_DEVICES_H

#include "unet/plan/device.h"

/* Chooses by options->name. A device picked by name fails loudly; "auto" tries cuda, then cpu, and says in one line why
 * a device was passed over. resources (borrowed) is what plans for this device refer to. */
int device_open(struct device **device, struct resources *resources, const struct device_options *options,
                struct error *err);

#endif
