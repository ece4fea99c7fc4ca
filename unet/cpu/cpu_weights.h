/* Changes of weights (device_update), and copies of weights in the layouts that kernels read (plan/derived.h). */
#ifndef UNET_CPU_CPU_WEIGHTS_H
#define UNET_CPU_CPU_WEIGHTS_H

#include "unet/cpu/cpu_device.h"

/* Returns the address of a copy of a weight in this layout (form) and variant (detail), which has `bytes` bytes. The
 * copy is made if there is none yet; it belongs to the device and keeps its address. Returns NULL with err set on
 * failure. Takes the lock base.weights. */
void *cpu_derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                 struct error *err);
/* Makes those copies of weights again whose weights have changed after the copy was made. The thread that runs programs
 * calls this before each run. */
int cpu_refresh(struct cpu_device *device, struct error *err);
void cpu_derived_free(struct cpu_device *device);
int cpu_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
               struct error *err);

#endif
