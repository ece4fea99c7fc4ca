#ifndef UNET_CPU_CPU_LAYOUT_H
#define UNET_CPU_CPU_LAYOUT_H

#include "unet/cpu/cpu_device.h"

/* cpu_states_find, cpu_choose_precision, cpu_layout and cpu_states_make are called in this order while a program is
 * prepared. cpu_states_find finds the states (tensors that outlive a run) that the program shares with `owner` (NULL:
 * none). cpu_choose_precision sets program->bf16. cpu_layout, before which the functions of ops are chosen, chooses
 * types and memory. cpu_states_make allocates the program's other states. */
void cpu_states_find(struct cpu_program *program, const struct cpu_program *owner);
void cpu_choose_precision(struct cpu_program *program);
int cpu_states_make(struct cpu_program *program, struct error *err);

/* Chooses the type and the memory of every temporary, and takes working memory from the arena. The result of an op with
 * a residual overwrites the residual, if that is a temporary of the same type which no later op reads. The device
 * "cpu:plain" never shares memory in this way. */
int cpu_layout(struct cpu_program *program, struct error *err);

#endif
