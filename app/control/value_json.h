/* A parameter's value as JSON: numbers and switches are JSON's; sizes ("512x288"), choices and texts are strings, and
 * null is no text. What is written is read back to the bit. */
#ifndef APP_CONTROL_VALUE_JSON_H
#define APP_CONTROL_VALUE_JSON_H

#include <cjson/cJSON.h>

#include "app/control/parameters.h"

/* Checks type and range, as the parameters do, and marks. */
int value_from_json(struct parameters *values, enum parameter id, int index, const cJSON *value, struct error *err);
/* NULL: no memory. */
cJSON *value_to_json(const struct parameters *values, enum parameter id, int index);

#endif
