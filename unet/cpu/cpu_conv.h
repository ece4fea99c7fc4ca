/* Convolutions by Winograd's algorithm, and a function that all fast convolutions share. */
#ifndef UNET_CPU_CPU_CONV_H
#define UNET_CPU_CPU_CONV_H

#include "unet/cpu/cpu_device.h"

/* True if this op runs by Winograd's algorithm, which has priority over every other implementation. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;

/* Returns the op's time row if it is the same for all pictures, so that it can be added like a bias. If each picture
 * has its own row there is no tensor, and cpu_add_times adds the rows after the convolution. */
static inline struct tensor cpu_time_of_all(const struct op_conv *op) {
  return op->time.n > 1 ? (struct tensor){0} : op->time;
}
void cpu_add_times(const struct cpu_program *program, const struct op_conv *op);

#endif
