/* The list of devices, and the choice between them. No other file knows the devices by name. */
#ifndef UNET_DEVICES_H
#define UNET_DEVICES_H

#include "unet/plan/device.h"

/* Opens the device options->name. If the user named a device and it cannot be opened, this fails. "auto" tries cuda and
 * then cpu, and logs one line with the reason if a device cannot be used. resources (borrowed) are those of the plans
 * for this device. */
int device_open(struct device **device, struct resources *resources, const struct device_options *options,
                struct error *err);

#endif
