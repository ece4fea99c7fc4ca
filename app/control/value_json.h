/* Converts a parameter's value from and to JSON: numbers and switches are JSON's; sizes ("512x288"), choices and texts
 * are strings; null is no text. Reading what was written gives exactly the same value. */
#ifndef APP_CONTROL_VALUE_JSON_H
#define APP_CONTROL_VALUE_JSON_H

#include <cjson/cJSON.h>

#include "app/control/parameters.h"

/* Sets and marks a parameter from JSON. Returns -1 with err set if the type is wrong or the value out of range. */
int value_from_json(struct parameters *values, enum parameter id, int index, const cJSON *value, struct error *err);
/* Returns the value as JSON, which the caller owns. NULL: no memory. */
cJSON *value_to_json(const struct parameters *values, enum parameter id, int index);

#endif
