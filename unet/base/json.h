/* Parses JSON texts, which may come from files or from other programs. */
#ifndef UNET_BASE_JSON_H
#define UNET_BASE_JSON_H

#include <cjson/cJSON.h>
#include <stddef.h>

#include "unet/base/error.h"

/* Parses the first JSON value of a text that ends with a zero byte. Stores in *end (end may be NULL) the position after
 * that value. If the text is not JSON, *json becomes NULL and the function returns 0. It returns -1 with err only if
 * memory runs out, which cJSON itself reports in the same way as text that is not JSON. The caller deletes *json with
 * cJSON_Delete. */
int json_parse(cJSON **json, const char *text, const char **end, const char *path, struct error *err);

#endif
