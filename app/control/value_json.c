#include "app/control/value_json.h"

enum { VALUE_BYTES = 64 };

static int refuse(enum parameter id, int index, const char *needed, struct error *err) {
  char name[PARAMETER_NAME_MAX];
  return error_set(err, STATUS_USAGE, "%s: %s is needed", parameter_name(id, index, name), needed);
}

int value_from_json(struct parameters *values, enum parameter id, int index, const cJSON *value, struct error *err) {
  enum parameter_type type = parameter_row(id)->type;
  if (cJSON_IsString(value))
    return parameters_parse(values, id, index, value->valuestring, err);
  if (type == TYPE_TEXT)
    return cJSON_IsNull(value) ? parameters_set_text(values, id, index, NULL, err)
                               : refuse(id, index, "a text or null", err);
  if (type == TYPE_SWITCH && cJSON_IsBool(value))
    return parameters_set_number(values, id, index, cJSON_IsTrue(value), err);
  if ((type == TYPE_REAL || type == TYPE_WHOLE) && cJSON_IsNumber(value))
    return parameters_set_number(values, id, index, value->valuedouble, err);
  return refuse(id, index,
                type == TYPE_SWITCH                       ? "true or false"
                : type == TYPE_REAL || type == TYPE_WHOLE ? "a number"
                                                          : "a word in quotes",
                err);
}

cJSON *value_to_json(const struct parameters *values, enum parameter id, int index) {
  char text[VALUE_BYTES];
  switch (parameter_row(id)->type) {
  case TYPE_REAL:
  /* the number is printed here, because cJSON prints too few digits of a double to keep a large whole number exact */
  case TYPE_WHOLE:
    return cJSON_CreateRaw(parameters_print(values, id, index, text, sizeof text));
  case TYPE_SWITCH:
    return cJSON_CreateBool(parameters_number(values, id, index) > 0);
  case TYPE_TEXT:
    return parameters_text(values, id, index) ? cJSON_CreateString(parameters_text(values, id, index))
                                              : cJSON_CreateNull();
  case TYPE_CHOICE:
  case TYPE_SIZE:
    break;
  }
  return cJSON_CreateString(parameters_print(values, id, index, text, sizeof text));
}
