/* Changes of weights, and copies of weights in other forms. */
#ifndef UNET_CPU_CPU_WEIGHTS_H
#define UNET_CPU_CPU_WEIGHTS_H

#include "unet/cpu/cpu_device.h"

/* Returns a weight in another form, `bytes` long, which is made on first use; NULL with err set on failure. */
void *cpu_derive(struct cpu_device *device, int resource, const struct form *form, const void *detail, size_t bytes,
                 struct error *err);
/* Makes the copies of changed weights again. It is called before a run. */
int cpu_refresh(struct cpu_device *device, struct error *err);
void cpu_derived_free(struct cpu_device *device);
int cpu_update(struct device *device, const struct weight_change *changes, int count, uint64_t version,
               struct error *err);

#endif
