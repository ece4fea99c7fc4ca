/* Convolutions and linear layers through oneDNN, or what stands in for it. */
#ifndef UNET_CPU_CPU_DNNL_H
#define UNET_CPU_CPU_DNNL_H

#include "unet/cpu/cpu_device.h"

/* Puts what it has in the place of what was there; may fail (memory). */
int cpu_dnnl_open(struct cpu_device *device, struct error *err);
void cpu_dnnl_close(struct cpu_device *device);
/* Whether oneDNN multiplies bfloat16 here, and whether with matrix units (AMX): then nothing in FP32 comes near it. */
bool cpu_dnnl_has_bf16(void);
bool cpu_dnnl_has_amx(void);

#endif
