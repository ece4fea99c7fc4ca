/* Modules such as reverie-cuda.so, for tests where there is no GPU. Their device "cuda" is the CPU device, with copies
 * of its own of all functions, as a GPU's module has. When it is opened it appends a line to the file that
 * REVERIE_TEST_OPENED names.
 *
 * With OLD_STAMP the module has that stamp, and its device must not be used. With NO_ENTRY it lacks the function that
 * programs look for. */
#include <stdio.h>
#include <stdlib.h>

#include "device_module_build.h"
#include "unet/plan/device_module.h"

#if defined NO_ENTRY
int cuda_module_other(void);
int cuda_module_other(void) {
  return 1;
}
#elif defined OLD_STAMP
const struct device_module *reverie_cuda_device(void) {
  static const struct device_module module = {.stamp = OLD_STAMP};
  return &module;
}
#else
#include "unet/cpu/cpu.h"

static int create(struct device **device, const struct device_options *options, struct error *err) {
  struct device_options own = *options;
  const char *path = getenv("REVERIE_TEST_OPENED");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    fputs("opened\n", file);
    fclose(file);
  }
  own.name = "cpu";
  return cpu_device_impl.create(device, &own, err);
}

static bool find_gpu(const char *device_name, struct gpu *gpu) {
  (void)device_name, (void)gpu;
  return false;
}

const struct device_module *reverie_cuda_device(void) {
  static struct device_impl impl;
  static struct device_module module = {.stamp = DEVICE_MODULE_STAMP, .impl = &impl, .find_gpu = find_gpu};
  impl = cpu_device_impl;
  impl.name = "cuda";
  impl.create = create;
  return &module;
}
#endif
