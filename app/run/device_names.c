#include "app/run/device_names.h"

#include <stdio.h>
#include <string.h>

#include "unet/base/gpu.h"

static const char all_gpus[] = "cuda:all";

bool device_names_several(const char *value) {
  return value && (strchr(value, ',') || !strcmp(value, all_gpus));
}

static int add(struct device_names *names, const char *name, struct error *err) {
  if (names->count == ENGINES_MAX)
    return error_set(err, STATUS_USAGE, "--device: at most %d devices can be used at once", ENGINES_MAX);
  for (int i = 0; i < names->count; i++)
    if (!strncmp(name, "cuda", 4) && !strcmp(names->name[i], name))
      return error_set(err, STATUS_USAGE, "--device: %s is named twice: one engine a GPU makes all the pictures it can",
                       name);
  snprintf(names->name[names->count++], DEVICE_NAME_MAX, "%s", name);
  return 0;
}

/* Adds every CUDA GPU on which engines can compute; if there is none, adds "cuda", whose opening fails with the
 * reason. */
static int add_all_gpus(struct device_names *names, struct error *err) {
  enum { ORDINALS = 64 };
  int before = names->count;
  for (int i = 0; i < ORDINALS; i++) {
    char name[DEVICE_NAME_MAX];
    struct gpu gpu;
    snprintf(name, sizeof name, "cuda:%d", i);
    if (devices_find_gpu(name, &gpu) && add(names, name, err))
      return -1;
  }
  return names->count > before ? 0 : add(names, "cuda", err);
}

/* Adds the devices that `part` names: the text between two commas of the value of --device. Returns 0, or -1 with
 * err. */
static int add_part(struct device_names *names, const char *part, struct error *err) {
  char name[DEVICE_NAME_MAX];
  bool number = part[0] && part[strspn(part, "0123456789")] == 0;
  if (!strcmp(part, all_gpus))
    return add_all_gpus(names, err);
  snprintf(name, sizeof name, "%s%.*s", number ? "cuda:" : "", DEVICE_NAME_MAX - 8, part);
  return add(names, !strcmp(name, "cuda") ? "cuda:0" : name, err);
}

int device_names_read(struct device_names *names, const char *value, struct error *err) {
  *names = (struct device_names){0};
  if (!device_names_several(value)) {
    if (value && strlen(value) >= DEVICE_NAME_MAX)
      return error_set(err, STATUS_USAGE, "--device: no device has so long a name");
    return add(names, value ? value : "auto", err);
  }
  for (const char *next = value; next; next = strchr(next, ',') ? strchr(next, ',') + 1 : NULL) {
    char part[DEVICE_NAME_MAX];
    size_t length = strcspn(next, ",");
    if (!length || length >= sizeof part - 8)
      return error_set(err, STATUS_USAGE, "--device %.100s: devices are separated by single commas, as in cuda:0,1",
                       value);
    snprintf(part, sizeof part, "%.*s", (int)length, next);
    if (!strcmp(part, "auto"))
      return error_set(err, STATUS_USAGE, "--device %.100s: auto is one device: name each of several", value);
    if (add_part(names, part, err))
      return -1;
  }
  return 0;
}
