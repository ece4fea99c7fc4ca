#include "unet/devices.h"

#include <stdio.h>
#include <string.h>

#include "unet/base/gpu.h"
#include "unet/base/platform.h"
#include "unet/cpu/cpu.h"
#include "unet/plan/device_module.h"

/* The kinds of devices, in the order in which "auto" tries them. */
enum kind { CUDA, CPU, KINDS };
static const char *const kind_names[KINDS] = {"cuda", "cpu"};

/* find_cuda returns the functions of the CUDA device, or NULL with err set if this program has none. */
#if HAVE_CUDA
extern const struct device_impl cuda_device_impl;
bool cuda_find_gpu(const char *device_name, struct gpu *gpu);

static const struct device_module *find_cuda(struct error *err) {
  static const struct device_module linked = {.impl = &cuda_device_impl, .find_gpu = cuda_find_gpu};
  (void)err;
  return &linked;
}

void devices_tell_cuda(char *text, size_t size) {
  snprintf(text, size, "part of this program");
}
#else
static void say_no_module(struct error *err) {
  enum { VENDOR_NVIDIA = 0x10de };
  bool nvidia = platform_has_display("", VENDOR_NVIDIA);
  error_set(err, STATUS_DEVICE,
            "cuda: %s" DEVICE_MODULE_FILE
            ", is not here: install the package reverie-cuda, build where nvcc is, or use --device cpu",
            nvidia ? "this machine has an NVIDIA GPU, but the module for it, " : "the module for NVIDIA GPUs, ");
  if (!nvidia)
    error_mark_absent(err);
}

static const struct device_module *find_cuda(struct error *err) {
  char path[DEVICE_MODULE_PATH];
  if (device_module_find(path))
    return device_module_open(path, err);
  say_no_module(err);
  return NULL;
}

void devices_tell_cuda(char *text, size_t size) {
  char path[DEVICE_MODULE_PATH];
  struct error err;
  bool found = device_module_find(path);
  if (!find_cuda(&err))
    snprintf(text, size, "not here: %s", err.message);
  else
    snprintf(text, size, "by the module %s", found ? path : "");
}
#endif

/* Returns true if the user's choice `wanted` means the device called `name`: "cuda" and "cuda:1" both mean "cuda". */
static bool names_device(const char *wanted, const char *name) {
  size_t length = strlen(name);
  return !strncmp(wanted, name, length) && (wanted[length] == 0 || wanted[length] == ':');
}

bool devices_find_gpu(const char *device_name, struct gpu *gpu) {
  const char *name = device_name ? device_name : "auto";
  *gpu = (struct gpu){.impl = NULL};
  if (strcmp(name, "auto") && !names_device(name, "cuda"))
    return false;
  const struct device_module *cuda = find_cuda(NULL);
  return cuda && cuda->find_gpu(name, gpu);
}

static const struct device_impl *find_impl(enum kind kind, struct error *err) {
  if (kind == CPU)
    return &cpu_device_impl;
  const struct device_module *cuda = find_cuda(err);
  return cuda ? cuda->impl : NULL;
}

static int open_named(struct device **device, enum kind kind, const char *name, const struct device_options *options,
                      struct error *err) {
  const struct device_impl *impl = find_impl(kind, err);
  if (!impl)
    return -1;
  struct device_options own = *options;
  own.name = name;
  int status = impl->create(device, &own, err);
  if (status == 0)
    (*device)->impl = impl;
  return status;
}

static int open_first(struct device **device, const struct device_options *options, struct error *err) {
  for (int i = 0; i < KINDS; i++) {
    if (open_named(device, i, kind_names[i], options, err) == 0)
      return 0;
    if (i + 1 < KINDS)
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
    for (int i = 0; i < KINDS; i++)
      if (names_device(name, kind_names[i]))
        status = open_named(device, i, name, options, &refusal);
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
