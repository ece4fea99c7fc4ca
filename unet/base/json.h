/* Parses JSON texts that come from files or from other programs. */
#ifndef UNET_BASE_JSON_H
#define UNET_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "unet/base/error.h"

/* Parses the first JSON value of a text that ends with a zero byte, and stores where it ends (end may be NULL). If the
 * text is no JSON *json is NULL and this returns 0. It fails only if memory runs out, which cJSON does not
 * distinguish. */
int json_parse(cJSON **json, const char *text, const char **end, const char *path, struct error *err);

#endif
