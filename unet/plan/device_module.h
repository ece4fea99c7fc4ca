/* The CUDA device as a module: a shared library of its own, reverie-cuda.so. A program that was built without CUDA is
 * complete without the module, and opens it when it is asked for a GPU. So a separate package can add the use of GPUs.
 *
 * A module has its own copies of the functions in unet/base and unet/plan. Program and module pass structs to each
 * other, so both must be built from the same sources of these folders. Each has a stamp, a text with the version and a
 * hash of the sources; a module with another stamp is refused before it is used. */
#ifndef UNET_PLAN_DEVICE_MODULE_H
#define UNET_PLAN_DEVICE_MODULE_H

#include "unet/plan/device.h"

#define DEVICE_MODULE_FILE "reverie-cuda.so"
#define DEVICE_MODULE_ENTRY "reverie_cuda_device"

enum { DEVICE_MODULE_PATH = 1024 }; /* size in bytes of a buffer for the path of a module */

struct device_module {
  /* The stamp (a text with the version and a hash of the sources) is the first field in every version, so that a
   * program of any version can read it. */
  const char *stamp;
  const struct device_impl *impl;
  /* Stores the GPU that "cuda" or "cuda:N" names in *gpu; for any other name, the first GPU. Returns false if there is
   * none. */
  bool (*find_gpu)(const char *device_name, struct gpu *gpu);
};

/* The function that a module exports. Programs find it by the name DEVICE_MODULE_ENTRY, which is the same in every
 * version; nothing links to it. */
const struct device_module *reverie_cuda_device(void);

/* Looks for the module's file: in the folder of the program or shared library that contains this function, then in the
 * folder `reverie` of the build's library folder (Meson's libdir). No other folder is searched and no environment
 * variable is read, because the file's code will run in this process. Returns true and stores the file's path, or
 * returns false with the path empty. */
bool device_module_find(char path[DEVICE_MODULE_PATH]);
/* Opens the module with this absolute path. It stays open until the process ends. Returns NULL with err set, in one
 * line with the path, if the file is no module or has another stamp. Any thread may call this, any number of times. */
const struct device_module *device_module_open(const char *path, struct error *err);

#endif
