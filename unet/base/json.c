#include "unet/base/json.h"

#include <errno.h>
#include <stdbool.h>

int json_parse(cJSON **json, const char *text, const char **end, const char *path, struct error *err) {
  errno = 0;
  *json = cJSON_ParseWithOpts(text, end, false);
  return !*json && errno == ENOMEM ? error_set(err, STATUS_FAILED, "%s: out of memory", path) : 0;
}
