/* The functions of cpu_dnnl.h for builds without oneDNN. They change nothing, so that convolutions and linear layers
 * run by their slow definitions. */
#include "unet/cpu/cpu_dnnl.h"

int cpu_dnnl_open(struct cpu_device *device, struct error *err) {
  (void)err;
  log_line(device->log, LOG_WARNING, "cpu: built without oneDNN, so convolutions run as plain loops: slow");
  return 0;
}

void cpu_dnnl_close(struct cpu_device *device) {
  (void)device;
}

bool cpu_dnnl_has_bf16(void) {
  return false;
}

bool cpu_dnnl_has_amx(void) {
  return false;
}
