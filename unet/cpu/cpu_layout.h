#ifndef UNET_CPU_CPU_LAYOUT_H
#define UNET_CPU_CPU_LAYOUT_H

#include "unet/cpu/cpu_device.h"

/* To be called in this order: cpu_states_find finds the states that the program shares with `owner` (NULL: none),
 * cpu_layout chooses types and places, cpu_states_make allocates the states that are the program's own. */
void cpu_states_find(struct cpu_program *program, const struct cpu_program *owner);
int cpu_states_make(struct cpu_program *program, struct error *err);

/* Chooses the type and place of every temporary, and takes the arena. If an op adds a residual that no later op reads,
 * y gets the residual's place, so that the sum is made in place (not on "cpu:plain"). */
int cpu_layout(struct cpu_program *program, struct error *err);

#endif
