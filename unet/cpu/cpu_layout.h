#ifndef UNET_CPU_CPU_LAYOUT_H
#define UNET_CPU_CPU_LAYOUT_H

#include "unet/cpu/cpu_device.h"

/* Before cpu_layout: the states that the program shares with owner, which may be NULL. Behind it: memory for the
 * others.
 */
void cpu_states_find(struct cpu_program *program, const struct cpu_program *owner);
int cpu_states_make(struct cpu_program *program, struct error *err);

/* Type and place of every temporary, and the arena. Where an op adds a residual that nothing reads later, y takes the
 * residual's place, so that the sum happens there (not on "cpu:plain"). */
int cpu_layout(struct cpu_program *program, struct error *err);

#endif
