/* Functions for convolutions by Winograd's algorithm and by matrix units, and one for the time row (bias from the time
 * embedding), which all fast convolutions use. */
#ifndef UNET_CPU_CPU_CONV_H
#define UNET_CPU_CPU_CONV_H

#include "unet/cpu/cpu_device.h"

/* Returns true if this op is computed by Winograd's algorithm, which is preferred to every other implementation. */
bool cpu_winograd_takes(const struct op *op);
extern const struct cpu_impl cpu_winograd_conv;

/* Returns true if this op is computed by matrix units (cpu_tiles.h) where the device has them and the program computes
 * in bfloat16. */
bool cpu_tiles_takes(const struct op *op);
extern const struct cpu_impl cpu_tiles_conv;

/* Returns the op's time row (bias from the time embedding) if all pictures have the same row; it can then be added like
 * a bias. If each picture has its own row, returns no tensor; cpu_add_times then adds the rows after the
 * convolution. */
static inline struct tensor cpu_time_of_all(const struct op_conv *op) {
  return op->time.n > 1 ? (struct tensor){0} : op->time;
}
void cpu_add_times(const struct cpu_program *program, const struct op_conv *op);

#endif
