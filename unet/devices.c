#include "unet/devices.h"

#include <string.h>

#include "unet/base/gpu.h"
#include "unet/base/platform.h"
#include "unet/cpu/cpu.h"

#if HAVE_CUDA
extern const struct device_impl cuda_device_impl;
/* Stores the GPU that "cuda" or "cuda:N" names in *gpu; for any other name, the first GPU. Returns false if there is
 * none. */
bool cuda_find_gpu(const char *device_name, struct gpu *gpu);
#endif

/* The devices, in the order in which "auto" tries them. */
static const struct device_impl *const impls[] = {
#if HAVE_CUDA
    &cuda_device_impl,
#endif
    &cpu_device_impl,
};
enum { IMPLS = sizeof impls / sizeof impls[0] };

/* Returns true if the user's choice `wanted` means the device called `name`: "cuda" and "cuda:1" both mean "cuda". */
static bool names_device(const char *wanted, const char *name) {
  size_t length = strlen(name);
  return !strncmp(wanted, name, length) && (wanted[length] == 0 || wanted[length] == ':');
}

bool devices_find_gpu(const char *device_name, struct gpu *gpu) {
  const char *name = device_name ? device_name : "auto";
  *gpu = (struct gpu){.impl = NULL};
#if HAVE_CUDA
  return (!strcmp(name, "auto") || names_device(name, "cuda")) && cuda_find_gpu(name, gpu);
#else
  (void)name;
  return false;
#endif
}

static int open_named(struct device **device, const struct device_impl *impl, const char *name,
                      const struct device_options *options, struct error *err) {
  struct device_options own = *options;
  own.name = name;
  int status = impl->create(device, &own, err);
  if (status == 0)
    (*device)->impl = impl;
  return status;
}

static int open_first(struct device **device, const struct device_options *options, struct error *err) {
  for (int i = 0; i < IMPLS; i++) {
    if (open_named(device, impls[i], impls[i]->name, options, err) == 0)
      return 0;
    if (i + 1 < IMPLS)
      log_line(options->log, err->absent ? LOG_INFO : LOG_WARNING, "not on the GPU: %s", err->message);
  }
  return -1;
}

int device_open(struct device **device, struct resources *resources, const struct device_options *options,
                struct error *err) {
  const char *name = options->name ? options->name : "auto";
  struct error refusal = {0};
  int status = -1;
  *device = NULL;
  if (!strcmp(name, "auto")) {
    status = open_first(device, options, &refusal);
  } else {
    error_set(&refusal, STATUS_USAGE, "no device is called '%s': use auto, cpu or cuda[:N]", name);
    if (names_device(name, "cuda"))
      error_set(&refusal, STATUS_DEVICE, "this program was built without CUDA: build it where nvcc is, or use cpu");
    for (int i = 0; i < IMPLS; i++)
      if (names_device(name, impls[i]->name))
        status = open_named(device, impls[i], name, options, &refusal);
  }
  if (status == 0) {
    (*device)->resources = resources;
    (*device)->sizes_only = options->sizes_only;
    (*device)->gives_up = options->gives_up;
    (*device)->gives_up_opaque = options->gives_up_opaque;
    (*device)->pictures = (struct device_pictures){
        .device = *device, .batch = 1, .count = RUNS_IN_FLIGHT + (options->pictures > 1 ? options->pictures : 1)};
    platform_lock_init(&(*device)->pictures.lock);
    return 0;
  }
  if (err)
    *err = refusal;
  return -1;
}
