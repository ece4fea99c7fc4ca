/* Reads config.json files field by field. */
#include "unet/checkpoint/config.h"

#include <cjson/cJSON.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/json.h"
#include "unet/base/text.h"
#include "unet/base/text_file.h"

static cJSON *find(const struct config *config, const char *key) {
  return cJSON_GetObjectItemCaseSensitive(config->root, key);
}

static void take(struct config *config, cJSON *item) {
  if (item)
    cJSON_Delete(cJSON_DetachItemViaPointer(config->root, item));
}

/* Returns a copy in which Infinity and -Infinity, which Python writes and JSON does not allow, are replaced by null.
 * NULL: out of memory. */
static char *without_infinities(const char *text) {
  static const char *const words[] = {"-Infinity", "Infinity"};
  char *copy = strdup(text);
  bool quoted = false;
  for (char *at = copy; at && *at; at++) {
    if (quoted && *at == '\\' && at[1])
      at++;
    else if (*at == '"')
      quoted = !quoted;
    for (size_t i = 0; !quoted && i < sizeof words / sizeof *words; i++) {
      size_t length = strlen(words[i]);
      if (!strncmp(at, words[i], length))
        memcpy(memset(at, ' ', length), "null", 4);
    }
  }
  return copy;
}

void config_start(struct config *config, const char *text, const char *path) {
  *config = (struct config){.path = path};
  char *json = without_infinities(text);
  const char *end = json;
  config->failed = true;
  if (!json)
    error_set(&config->error, STATUS_FAILED, "%s: out of memory", path);
  else if (!json_parse(&config->root, json, &end, path, &config->error))
    config->failed = false;
  while (config->root && *end && strchr(" \t\r\n", *end))
    end++;
  if (!config->failed && (!cJSON_IsObject(config->root) || *end)) {
    config->failed = true;
    error_set(&config->error, STATUS_MODEL, "%s: is not a JSON object; fetch the file again", path);
    /* if the file's outermost value is no object, the parsed value is dropped; the functions below then find no
     * fields */
    cJSON_Delete(config->root);
    config->root = NULL;
  }
  free(json);
}

void config_refuse(struct config *config, const char *key, const char *value, const char *hint) {
  if (config->failed)
    return;
  config->failed = true;
  error_set(&config->error, STATUS_MODEL, "%s: %s%s%s: %s is not supported%s%s%s", config->path,
            config->inside ? config->inside : "", config->inside ? "." : "", text_quote(key).text,
            text_quote(value).text, hint ? " (" : "", hint ? hint : "", hint ? ")" : "");
}

/* Records the error that this value of a field is not supported. */
static void refuse_item(struct config *config, const cJSON *item, const char *hint) {
  char *value = cJSON_PrintUnformatted(item);
  config_refuse(config, item->string, value ? value : "this value", hint);
  cJSON_free(value);
}

void config_only_parts(struct config *config, const char *const *known, const char *hint) {
  const cJSON *item = NULL;
  cJSON_ArrayForEach(item, config->root) {
    const char *class = cJSON_GetStringValue(cJSON_GetArrayItem(item, 1));
    bool is_known = item->string[0] == '_' || !class;
    for (const char *const *name = known; *name && !is_known; name++)
      is_known = !strcmp(*name, item->string);
    if (!is_known)
      /* config_refuse can be called for each item of the list, because it keeps only the first error */
      config_refuse(config, item->string, class, hint);
  }
}

void config_refuse_field(struct config *config, const char *key, const char *hint) {
  const cJSON *item = find(config, key);
  if (item)
    refuse_item(config, item, hint);
}

int config_finish_open(struct config *config, struct error *err) {
  cJSON_Delete(config->root);
  config->root = NULL;
  if (config->failed && err)
    *err = config->error;
  return config->failed ? -1 : 0;
}

int config_finish(struct config *config, struct error *err) {
  const cJSON *item = NULL;
  if (!config->failed) {
    cJSON_ArrayForEach(item, config->root) {
      if (item->string[0] != '_' && !cJSON_IsNull(item) && !cJSON_IsFalse(item)) {
        refuse_item(config, item, "an unknown field");
        break;
      }
    }
  }
  return config_finish_open(config, err);
}

bool config_has(const struct config *config, const char *key) {
  const cJSON *item = find(config, key);
  return item && !cJSON_IsNull(item);
}

static bool is_number(const cJSON *item, double min, double max, bool whole) {
  return cJSON_IsNumber(item) && item->valuedouble >= min && item->valuedouble <= max &&
         (!whole || floor(item->valuedouble) == item->valuedouble);
}

static void refuse_number(struct config *config, const cJSON *item, double min, double max, bool whole) {
  char hint[96];
  snprintf(hint, sizeof hint, "a %snumber from %.9g to %.9g is", whole ? "whole " : "", min, max);
  refuse_item(config, item, hint);
}

static double take_number(struct config *config, const char *key, double absent, double min, double max, bool whole) {
  cJSON *item = find(config, key);
  double value = absent;
  if (item && is_number(item, min, max, whole))
    value = item->valuedouble;
  else if (item)
    refuse_number(config, item, min, max, whole);
  take(config, item);
  return value;
}

int config_int(struct config *config, const char *key, int absent, int min, int max) {
  return (int)take_number(config, key, absent, min, max, true);
}

double config_number(struct config *config, const char *key, double absent, double min, double max) {
  return take_number(config, key, absent, min, max, false);
}

bool config_bool(struct config *config, const char *key, bool absent) {
  cJSON *item = find(config, key);
  bool value = item ? cJSON_IsTrue(item) : absent;
  if (item && !cJSON_IsBool(item) && !cJSON_IsNull(item))
    refuse_item(config, item, "true or false is");
  take(config, item);
  return value;
}

void config_string(struct config *config, const char *key, const char *absent, char *value, int size) {
  cJSON *item = find(config, key);
  const char *text = absent;
  if (cJSON_IsString(item) && strlen(item->valuestring) < (size_t)size)
    text = item->valuestring;
  else if (cJSON_IsNull(item))
    text = "";
  else if (item)
    refuse_item(config, item, "a short text is");
  snprintf(value, (size_t)size, "%s", text);
  take(config, item);
}

void config_ints(struct config *config, const char *key, int absent, int min, int max, int *values, int count) {
  cJSON *item = find(config, key);
  bool list = cJSON_IsArray(item);
  if (list && cJSON_GetArraySize(item) != count) {
    refuse_item(config, item, "one number for each level is");
    list = false;
  }
  for (int i = 0; i < count; i++) {
    const cJSON *one = list ? cJSON_GetArrayItem(item, i) : item;
    values[i] = absent;
    if (one && is_number(one, min, max, true))
      values[i] = (int)one->valuedouble;
    else if (one && !config->failed)
      refuse_number(config, item, min, max, true);
  }
  take(config, item);
}

void config_numbers(struct config *config, const char *key, const double *absent, double min, double max,
                    double *values, int count) {
  cJSON *item = find(config, key);
  bool list = cJSON_IsArray(item) && cJSON_GetArraySize(item) == count;
  if (item && !list && !cJSON_IsNull(item))
    refuse_item(config, item, "a list of as many numbers as there are channels is");
  for (int i = 0; i < count; i++) {
    const cJSON *one = list ? cJSON_GetArrayItem(item, i) : NULL;
    values[i] = absent[i];
    if (one && is_number(one, min, max, false))
      values[i] = one->valuedouble;
    else if (one && !config->failed)
      refuse_number(config, item, min, max, false);
  }
  take(config, item);
}

void config_inner(struct config *config, const char *key, struct config *inner) {
  cJSON *item = find(config, key);
  *inner = (struct config){.path = config->path, .inside = key};
  if (item && !cJSON_IsObject(item) && !cJSON_IsNull(item))
    refuse_item(config, item, "an object is");
  if (cJSON_IsObject(item))
    inner->root = cJSON_DetachItemViaPointer(config->root, item);
  else
    take(config, item);
  if (!inner->root)
    inner->root = cJSON_CreateObject();
  inner->failed = config->failed;
}

void config_finish_inner(struct config *config, struct config *inner) {
  struct error err;
  if (config_finish(inner, &err) < 0 && !config->failed) {
    config->failed = true;
    config->error = err;
  }
}

void config_item_ints(struct config *config, const char *key, int index, int items, int absent, int min, int max,
                      int *values, int count) {
  const cJSON *field = find(config, key), *item = field;
  if (cJSON_IsArray(field)) {
    item = cJSON_GetArrayItem(field, index);
    if (cJSON_GetArraySize(field) != items || (cJSON_IsArray(item) && cJSON_GetArraySize(item) < count)) {
      refuse_item(config, field, "one number for each level, or for each of its layers, is");
      item = NULL;
    }
  }
  for (int i = 0; i < count; i++) {
    const cJSON *one = cJSON_IsArray(item) ? cJSON_GetArrayItem(item, i) : item;
    values[i] = absent;
    if (one && is_number(one, min, max, true))
      values[i] = (int)one->valuedouble;
    else if (one && !config->failed)
      refuse_number(config, field, min, max, true);
  }
}

bool config_is_nested(const struct config *config, const char *key) {
  const cJSON *item, *field = find(config, key);
  cJSON_ArrayForEach(item, field) {
    if (cJSON_IsArray(field) && cJSON_IsArray(item))
      return true;
  }
  return false;
}

bool config_bools(struct config *config, const char *key, bool absent, bool *values, int count) {
  cJSON *item = find(config, key);
  bool list = cJSON_IsArray(item), good = !list || cJSON_GetArraySize(item) == count;
  for (int i = 0; i < count && good; i++) {
    const cJSON *one = list ? cJSON_GetArrayItem(item, i) : item;
    good = !one || cJSON_IsBool(one);
    values[i] = one ? cJSON_IsTrue(one) : absent;
  }
  if (!good)
    refuse_item(config, item, "true or false, or one of them for each level, is");
  take(config, item);
  return list;
}

int config_length(const struct config *config, const char *key) {
  const cJSON *item = find(config, key);
  return cJSON_IsArray(item) ? cJSON_GetArraySize(item) : item != NULL;
}

void config_item(const struct config *config, const char *key, int index, char *value, int size) {
  const cJSON *item = cJSON_GetArrayItem(find(config, key), index);
  snprintf(value, (size_t)size, "%s", cJSON_IsString(item) ? item->valuestring : "");
}

static void take_only(struct config *config, cJSON *item, bool good, const char *hint) {
  if (item && !good)
    refuse_item(config, item, hint);
  take(config, item);
}

void config_only_string(struct config *config, const char *key, const char *value) {
  cJSON *item = find(config, key);
  char hint[96];
  snprintf(hint, sizeof hint, "\"%s\" is", value);
  take_only(config, item, cJSON_IsString(item) && !strcmp(item->valuestring, value), hint);
}

void config_only_number(struct config *config, const char *key, double value) {
  cJSON *item = find(config, key);
  char hint[32];
  snprintf(hint, sizeof hint, "%.9g is", value);
  take_only(config, item, cJSON_IsNumber(item) && item->valuedouble == value, hint);
}

void config_only_null(struct config *config, const char *const *keys) {
  for (; *keys; keys++) {
    cJSON *item = find(config, *keys);
    take_only(config, item, cJSON_IsNull(item) || cJSON_IsFalse(item), NULL);
  }
}

void config_ignore(struct config *config, const char *const *keys) {
  for (; *keys; keys++)
    take(config, find(config, *keys));
}

void config_peek(const char *folder, const char *key, char *value, int size) {
  char *path = text_path(folder, "config.json"), *text = NULL;
  struct error ignored;
  *value = 0;
  if (path && !text_read(path, CONFIG_LIMIT, &text, NULL, &ignored)) {
    struct config config;
    config_start(&config, text, path);
    if (!config.failed)
      config_string(&config, key, "", value, size);
    if (config_finish_open(&config, &ignored))
      *value = 0;
  }
  free(text);
  free(path);
}
