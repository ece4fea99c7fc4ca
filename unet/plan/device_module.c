#include "unet/plan/device_module.h"

#include <stdio.h>
#include <string.h>

#include "device_module_build.h" /* made by the build: the stamp, and the folder of installed modules */
#include "unet/base/platform.h"

/* Writes the path of the module in this folder. Returns true if there is such a file. */
static bool is_in(const char *folder, char path[DEVICE_MODULE_PATH]) {
  int length = snprintf(path, DEVICE_MODULE_PATH, "%s/" DEVICE_MODULE_FILE, folder);
  return length > 0 && length < DEVICE_MODULE_PATH && platform_exists(path);
}

bool device_module_find(char path[DEVICE_MODULE_PATH]) {
  char own[DEVICE_MODULE_PATH];
  if ((platform_own_folder(own, sizeof own) && is_in(own, path)) || is_in(DEVICE_MODULE_FOLDER, path))
    return true;
  *path = 0;
  return false;
}

/* Returns the struct that the opened file exports as a module. Returns NULL with err set if the file exports none, or
 * one with another stamp than this program's. */
static const struct device_module *ask(void *code, const char *path, struct error *err) {
  __typeof__(reverie_cuda_device) *entry;
  *(void **)&entry = platform_find_function(code, DEVICE_MODULE_ENTRY);
  const struct device_module *module = entry ? entry() : NULL;
  if (!module)
    error_set(err, STATUS_DEVICE,
              "cuda: %s is no module of reverie: it lacks the function " DEVICE_MODULE_ENTRY
              "; install the package reverie-cuda anew, or use --device cpu",
              path);
  else if (strcmp(module->stamp, DEVICE_MODULE_STAMP))
    error_set(err, STATUS_DEVICE,
              "cuda: %s is of reverie %s, this program is reverie " DEVICE_MODULE_STAMP
              ": install both in one version, or use --device cpu",
              path, module->stamp);
  else
    return module;
  return NULL;
}

const struct device_module *device_module_open(const char *path, struct error *err) {
  char why[512];
  void *code = platform_open_code(path, why, sizeof why);
  if (!code) {
    error_set(err, STATUS_DEVICE,
              "cuda: %s cannot be opened (%s): install the package reverie-cuda anew, or use --device cpu", path, why);
    return NULL;
  }
  const struct device_module *module = ask(code, path, err);
  if (!module)
    platform_close_code(code);
  return module;
}
