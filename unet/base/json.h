/* JSON from outside. */
#ifndef UNET_BASE_JSON_H
#define UNET_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "unet/base/error.h"

/* Parses the first value of a text that ends with a zero byte, and says where it ends (end may be NULL). *json is NULL,
 * and that is no error here, where the text is no JSON; an error is only that memory is short, which cJSON does not
 * tell apart. */
int json_parse(cJSON **json, const char *text, const char **end, const char *path, struct error *err);

#endif
