/* Parses JSON texts, which may come from files or from other programs. */
#ifndef UNET_BASE_JSON_H
#define UNET_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "unet/base/error.h"

/* Parses the first JSON value of a text that ends with a zero byte. *end (end may be NULL) becomes the position after
 * that value. If the text is not JSON, the function returns 0 with *json NULL. Returns -1 with err only if memory runs
 * out; cJSON does not distinguish these two cases. The caller deletes *json with cJSON_Delete. */
int json_parse(cJSON **json, const char *text, const char **end, const char *path, struct error *err);

#endif
