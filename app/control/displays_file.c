#include "app/control/displays_file.h"

#include "app/control/value_json.h"
#include "unet/base/json.h"

const struct kept_value kept_values[KEPT_VALUES] = {
    {PARAMETER_OUTPUT_FIT, 0}, {PARAMETER_OUTPUT_ZOOM, 0}, {PARAMETER_OUTPUT_ROTATION, 0}, {PARAMETER_OUTPUT_FLIP, 0},
    {PARAMETER_CORNER_X, 1},   {PARAMETER_CORNER_Y, 1},    {PARAMETER_CORNER_X, 2},        {PARAMETER_CORNER_Y, 2},
    {PARAMETER_CORNER_X, 3},   {PARAMETER_CORNER_Y, 3},    {PARAMETER_CORNER_X, 4},        {PARAMETER_CORNER_Y, 4}};

bool displays_file_same(const struct parameters *a, const struct parameters *b) {
  for (int i = 0; i < KEPT_VALUES; i++)
    if (!parameters_same(a, b, kept_values[i].id, kept_values[i].index))
      return false;
  return true;
}

static bool is_kept(enum parameter id, int index) {
  for (int i = 0; i < KEPT_VALUES; i++)
    if (kept_values[i].id == id && kept_values[i].index == index)
      return true;
  return false;
}

static int read_value(struct parameters *values, const cJSON *value, struct error *err) {
  enum parameter id;
  int index;
  if (parameter_find(value->string, &id, &index, err))
    return -1;
  if (!is_kept(id, index))
    return error_set(err, STATUS_USAGE, "%.40s: this is not kept for displays", value->string);
  return value_from_json(values, id, index, value, err);
}

/* Parses the text, and finds the member "displays". *root is deleted by the caller. Returns NULL with err if the text
 * is not JSON or has no such object. */
static cJSON *find_displays(const char *text, cJSON **root, struct error *err) {
  if (json_parse(root, text, NULL, "displays", err))
    return NULL;
  cJSON *displays = cJSON_GetObjectItemCaseSensitive(*root, "displays");
  if (!cJSON_IsObject(displays))
    error_set(err, STATUS_USAGE, "\"displays\": an object is needed");
  return cJSON_IsObject(displays) ? displays : NULL;
}

int displays_file_read(const char *text, const char *name, struct parameters *values, struct error *err) {
  cJSON *root = NULL, *displays = find_displays(text, &root, err);
  const cJSON *own = cJSON_GetObjectItemCaseSensitive(displays, name), *value;
  int status = !displays ? -1 : own ? 1 : 0;
  cJSON_ArrayForEach(value, own) if (status > 0 && read_value(values, value, err)) status = -1;
  cJSON_Delete(root);
  return status;
}

static cJSON *make_display(const struct parameters *values) {
  cJSON *own = cJSON_CreateObject();
  char name[PARAMETER_NAME_MAX];
  bool whole = own != NULL;
  for (int i = 0; whole && i < KEPT_VALUES; i++) {
    cJSON *value = value_to_json(values, kept_values[i].id, kept_values[i].index);
    whole = value && cJSON_AddItemToObject(own, parameter_name(kept_values[i].id, kept_values[i].index, name), value);
    if (!whole)
      cJSON_Delete(value);
  }
  if (whole)
    return own;
  cJSON_Delete(own);
  return NULL;
}

char *displays_file_write(const char *before, const char *name, const struct parameters *values) {
  cJSON *root = NULL, *own = make_display(values);
  struct error ignored;
  cJSON *displays = find_displays(before ? before : "{\"displays\": {}}", &root, &ignored);
  char *text = NULL;
  cJSON_DeleteItemFromObjectCaseSensitive(displays, name);
  if (displays && own && cJSON_AddItemToObject(displays, name, own))
    text = cJSON_Print(root);
  else
    cJSON_Delete(own);
  cJSON_Delete(root);
  return text;
}
