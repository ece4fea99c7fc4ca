#ifndef UNET_CPU_CPU_H
#define UNET_CPU_CPU_H

#include "unet/plan/device.h"

extern const struct device_impl cpu_device_impl;

#endif
