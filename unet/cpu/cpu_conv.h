/* Convolutions by Winograd's algorithm, and a function that all fast convolutions share. */
#ifndef UNET_CPU_CPU_CONV_H
#define UNET_CPU_CPU_CONV_H

#include "unet/cpu/cpu_device.h"

/* True if the Winograd convolution runs this op; it has priority over every other implementation. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;

/* Returns the time row that is added like a bias. There is none if each picture has its own row; cpu_add_times then
 * adds the rows to the result of the rest of the convolution. */
static inline struct tensor cpu_time_of_all(const struct op_conv *op) {
  return op->time.n > 1 ? (struct tensor){0} : op->time;
}
void cpu_add_times(const struct cpu_program *program, const struct op_conv *op);

#endif
