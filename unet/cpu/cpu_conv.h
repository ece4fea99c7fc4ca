/* Convolutions by Winograd's algorithm. */
#ifndef UNET_CPU_CPU_CONV_H
#define UNET_CPU_CPU_CONV_H

#include "unet/cpu/cpu_device.h"

/* Those that are run so, whatever else there is for the others. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;

#endif
