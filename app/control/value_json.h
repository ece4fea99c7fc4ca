/* Converts a parameter's value to and from JSON. Numbers and switches are JSON numbers and booleans; sizes ("512x288"),
 * choices and texts are strings; null means that a text is not given. Reading a written value gives exactly the same
 * value. */
#ifndef APP_CONTROL_VALUE_JSON_H
#define APP_CONTROL_VALUE_JSON_H

#include <cjson/cJSON.h>

#include "app/control/parameters.h"

/* Sets a parameter from a JSON value and marks it as set. Returns 0, or -1 with err set if the type is wrong or the
 * value is out of range. */
int value_from_json(struct parameters *values, enum parameter id, int index, const cJSON *value, struct error *err);
/* Returns a parameter's value as JSON, which the caller frees with cJSON_Delete. NULL: out of memory. */
cJSON *value_to_json(const struct parameters *values, enum parameter id, int index);

#endif
