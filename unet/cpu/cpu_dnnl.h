/* Functions for convolutions and linear layers through oneDNN. cpu_no_dnnl.c implements them for builds without
 * oneDNN. */
#ifndef UNET_CPU_CPU_DNNL_H
#define UNET_CPU_CPU_DNNL_H

#include "unet/cpu/cpu_device.h"

/* Replaces the device's functions for convolutions, linear layers and OP_INJECT by oneDNN's. Fails if memory runs
 * out. */
int cpu_dnnl_open(struct cpu_device *device, struct error *err);
void cpu_dnnl_close(struct cpu_device *device);
/* cpu_dnnl_has_bf16 returns true if oneDNN can multiply bfloat16 numbers on this processor. cpu_dnnl_has_amx returns
 * true if the processor has matrix units (AMX) for bfloat16, which are much faster than anything in FP32, and the
 * system lets this process use them. */
bool cpu_dnnl_has_bf16(void);
bool cpu_dnnl_has_amx(void);

#endif
