/* The list of the devices that can run plans (cpu, cuda), and the choice between them. No other file knows them by
 * name. */
#ifndef UNET_DEVICES_H
#define UNET_DEVICES_H

#include "unet/plan/device.h"

/* Opens the device that options->name names; fails if that cannot be opened. "auto" tries cuda and then cpu, and logs
 * one line with the reason for each device that it cannot use. resources (borrowed): the weights and states of the
 * plans that this device will run. */
int device_open(struct device **device, struct resources *resources, const struct device_options *options,
                struct error *err);

/* Writes one line that says where the CUDA device's code is: in this program, or in a module (device_module.h), with
 * the module's path. If there is no code that can be used, the line says why. */
void devices_tell_cuda(char *text, size_t size);

#endif
