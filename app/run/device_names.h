/* Splits the value of --device, such as "cuda:0,1", "cuda:all" or "cpu,cpu", into a list of devices. */
#ifndef APP_RUN_DEVICE_NAMES_H
#define APP_RUN_DEVICE_NAMES_H

#include <stdbool.h>

#include "unet/base/error.h"

enum { ENGINES_MAX = 16, DEVICE_NAME_MAX = 64 };

struct device_names {
  int count;
  char name[ENGINES_MAX][DEVICE_NAME_MAX]; /* names of devices, in the form of device_options.name, such as "cuda:1" */
};

/* Splits the value of --device (NULL: "auto") into names, which commas separate. A number alone is the GPU of that
 * number. "cuda:all" means all GPUs on which engines can compute; if there is none it becomes "cuda", whose opening
 * then fails with the reason. Returns 0, or -1 with err: a name is empty or too long, there are too many, a GPU is
 * named twice, or "auto" is not alone. */
int device_names_read(struct device_names *names, const char *value, struct error *err);
/* Returns true if the value of --device names several devices or, as "cuda:all" does, may name several. */
bool device_names_several(const char *value);

#endif
