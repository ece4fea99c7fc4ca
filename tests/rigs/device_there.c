#include "tests/rigs/device_there.h"

#include <stdio.h>

bool device_is_there(const struct device_options *options) {
  struct resources none = {0};
  struct device *device;
  struct error err = {0};
  if (device_open(&device, &none, options, &err) < 0) {
    printf("skipped: %s\n", err.message);
    return false;
  }
  device_close(&device);
  return true;
}
