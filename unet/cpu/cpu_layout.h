#ifndef UNET_CPU_CPU_LAYOUT_H
#define UNET_CPU_CPU_LAYOUT_H

#include "unet/cpu/cpu_device.h"

/* Type and place of every temporary, and the arena. Where an op adds a residual that nothing reads later, y takes the
 * residual's place, so that the sum happens there (not on "cpu:plain"). */
int cpu_layout(struct cpu_program *program, struct error *err);

#endif
