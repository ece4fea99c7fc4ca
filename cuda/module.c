/* The function by which a program that was built without CUDA finds the CUDA device in the module reverie-cuda.so. */
#include "unet/plan/device_module.h"

#include "device_module_build.h" /* made by the build; defines DEVICE_MODULE_STAMP */

extern const struct device_impl cuda_device_impl;
bool cuda_find_gpu(const char *device_name, struct gpu *gpu);

const struct device_module *reverie_cuda_device(void) {
  static const struct device_module module = {
      .stamp = DEVICE_MODULE_STAMP, .impl = &cuda_device_impl, .find_gpu = cuda_find_gpu};
  return &module;
}
