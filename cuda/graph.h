/* The CUDA device's functions for programs, which implement those of unet/plan/device.h: graph.c prepares and releases
 * programs, runs.c runs them, and profile.c measures them (program_profile). */
#ifndef CUDA_GRAPH_H
#define CUDA_GRAPH_H

#include "cuda/program.h"

int program_prepare(struct device *device, struct program **program, const struct plan *plan,
                    const struct program_options *options, struct error *err);
void program_release(struct device *device, struct program *program);
int program_submit(struct device *device, struct program *program, const struct run_params *params,
                   const struct frame *frames, const struct frame *pictures, struct error *err);
int program_start_part(struct device *device, struct program *program, const struct run_params *params, int part,
                       bool merged, struct error *err);
int program_collect(struct device *device, struct program *program, struct error *err);
int program_poison(struct device *device, struct program *program, struct error *err);

#endif
