/* Convolutions by Winograd's algorithm, and what all fast ones share. */
#ifndef UNET_CPU_CPU_CONV_H
#define UNET_CPU_CPU_CONV_H

#include "unet/cpu/cpu_device.h"

/* Those that are run so, whatever else there is for the others. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;

/* The time row that goes with the bias; none where each picture has its own, which cpu_add_times adds to what the rest
 * of the convolution has made. */
static inline struct tensor cpu_time_of_all(const struct op_conv *op) {
  return op->time.n > 1 ? (struct tensor){0} : op->time;
}
void cpu_add_times(const struct cpu_program *program, const struct op_conv *op);

#endif
