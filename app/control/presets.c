#include "app/control/presets.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/value_json.h"
#include "unet/base/json.h"
#include "unet/base/text.h"

enum { NAME_MAX_BYTES = 80 };

struct presets {
  cJSON *root; /* the whole file as JSON; members that this program does not know are kept */
  cJSON *list; /* the list of presets: the member "presets" of root */
};

/* Returns true if saved presets contain this parameter: it can change while frames run, and pictures depend on it; or
 * it is seed-walk or belongs to an LFO, on which later pictures depend. */
static bool is_kept(enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  return id == PARAMETER_SEED_WALK || (id >= PARAMETER_LFO && id <= PARAMETER_LFO_AMOUNT) ||
         (row->need != NEED_START && row->need != NEED_NOTHING);
}

/* --- reading presets: from JSON to values of parameters --- */

static int set_as_in(const struct parameters *start, struct parameters *values, enum parameter id, int index,
                     struct error *err) {
  return parameter_row(id)->type == TYPE_TEXT
             ? parameters_set_text(values, id, index, parameters_text(start, id, index), err)
             : parameters_set_number(values, id, index, parameters_number(start, id, index), err);
}

static int set_all(struct parameters *values, const struct parameters *start, enum parameter id, const cJSON *list,
                   struct error *err) {
  const struct parameter_row *row = parameter_row(id);
  const cJSON *value = list->child;
  for (int i = row->first; i < row->first + row->count; i++) {
    if (value ? value_from_json(values, id, i, value, err) : set_as_in(start, values, id, i, err))
      return -1;
    value = value ? value->next : NULL;
  }
  return value ? error_set(err, STATUS_USAGE, "%s: there are at most %d", row->name, row->count) : 0;
}

/* Returns the parameter with this name in the table of parameters, such as "prompt[]"; PARAMETER_NONE: there is
 * none. */
static enum parameter find_list(const char *name) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    if (parameter_row(id)->count && !strcmp(parameter_row(id)->name, name))
      return id;
  return PARAMETER_NONE;
}

static int set_named(struct parameters *values, const struct parameters *start, const cJSON *value, struct error *err) {
  enum parameter id = find_list(value->string);
  int index;
  if (id != PARAMETER_NONE)
    return cJSON_IsArray(value) ? set_all(values, start, id, value, err)
                                : error_set(err, STATUS_USAGE, "%.40s: a list is needed", value->string);
  return parameter_find(value->string, &id, &index, err) ? -1 : value_from_json(values, id, index, value, err);
}

static int read_values(struct parameters *values, const struct parameters *start, const cJSON *preset,
                       struct error *err) {
  const cJSON *object = cJSON_GetObjectItemCaseSensitive(preset, "values"), *value;
  parameters_init(values);
  if (!cJSON_IsObject(object))
    return error_set(err, STATUS_USAGE, "\"values\": an object is needed");
  cJSON_ArrayForEach(value, object) if (set_named(values, start, value, err)) return -1;
  return 0;
}

static bool has_good_fade(const cJSON *preset) {
  const cJSON *fade = cJSON_GetObjectItemCaseSensitive(preset, "fade");
  return !fade || (cJSON_IsNumber(fade) && fade->valuedouble >= 0 &&
                   fade->valuedouble <= parameter_row(PARAMETER_PRESET_FADE)->max);
}

static bool has_good_source(const cJSON *preset) {
  const cJSON *source = cJSON_GetObjectItemCaseSensitive(preset, "source");
  return !source || (cJSON_IsString(source) && *source->valuestring && strlen(source->valuestring) < PRESET_SOURCE_MAX);
}

/* Checks names, types and ranges of all presets by applying each preset to temporary values. These are allocated,
 * because they are large. Returns 0, or -1 with err about the first wrong preset. */
static int check_presets(const cJSON *list, struct error *err) {
  struct parameters *values = malloc(2 * sizeof *values);
  const cJSON *preset;
  int number = 0, status = 0;
  if (!values)
    return error_set(err, STATUS_FAILED, "no memory for presets");
  parameters_init(&values[1]);
  cJSON_ArrayForEach(preset, list) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(preset, "name"));
    number++;
    if (!name || !*name || strlen(name) > NAME_MAX_BYTES)
      status = error_set(err, STATUS_USAGE, "preset %d: \"name\": a text of 1 to %d bytes is needed", number,
                         NAME_MAX_BYTES);
    else if (!has_good_fade(preset))
      status = error_set(err, STATUS_USAGE, "preset %d (%.40s): \"fade\": seconds from 0 to %g are needed", number,
                         name, parameter_row(PARAMETER_PRESET_FADE)->max);
    else if (!has_good_source(preset))
      status =
          error_set(err, STATUS_USAGE, "preset %d (%.40s): \"source\": the name of a source is needed", number, name);
    else if (read_values(values, &values[1], preset, err))
      status = error_prefix(err, "preset %d (%.40s): ", number, name);
    if (status)
      break;
  }
  free(values);
  return status;
}

static int count_lines(const char *text, const char *end) {
  int lines = 1;
  for (; text < end; text++)
    lines += *text == '\n';
  return lines;
}

/* True for a show file (options/show_file.h), which need not have presets. */
static bool is_show(const cJSON *root) {
  return cJSON_HasObjectItem(root, "options") || cJSON_HasObjectItem(root, "sources") ||
         cJSON_HasObjectItem(root, "values") || cJSON_HasObjectItem(root, "keys");
}

/* Parses the text of a file of presets, which must be one JSON value with nothing after it. Returns 0, or -1 with
 * err set. */
static int parse(struct presets *presets, const char *text, struct error *err) {
  const char *end = NULL;
  if (json_parse(&presets->root, text, &end, "presets", err))
    return -1;
  while (presets->root && isspace((unsigned char)*end))
    end++;
  if (!presets->root || *end)
    return error_set(err, STATUS_USAGE, "line %d: this is no JSON", end ? count_lines(text, end) : 1);
  presets->list = cJSON_GetObjectItemCaseSensitive(presets->root, "presets");
  if (!presets->list && is_show(presets->root))
    presets->list = cJSON_AddArrayToObject(presets->root, "presets");
  if (!cJSON_IsArray(presets->list))
    return error_set(err, STATUS_USAGE, "\"presets\": a list is needed");
  return check_presets(presets->list, err);
}

int presets_read(struct presets **result, const char *text, struct error *err) {
  struct presets *presets = *result = calloc(1, sizeof *presets);
  if (!presets)
    return error_set(err, STATUS_FAILED, "no memory for presets");
  int status = parse(presets, text ? text : "{\"presets\": []}", err);
  if (status)
    presets_free(result);
  return status;
}

void presets_free(struct presets **presets) {
  if (*presets)
    cJSON_Delete((*presets)->root);
  free(*presets);
  *presets = NULL;
}

int presets_count(const struct presets *presets) {
  return cJSON_GetArraySize(presets->list);
}

const char *presets_name(const struct presets *presets, int number) {
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(presets->list, number - 1), "name"));
}

double presets_fade(const struct presets *presets, int number) {
  const cJSON *fade = cJSON_GetObjectItemCaseSensitive(cJSON_GetArrayItem(presets->list, number - 1), "fade");
  return fade ? fade->valuedouble : -1;
}

int presets_find(const struct presets *presets, const char *name) {
  const cJSON *preset;
  int number = 0;
  cJSON_ArrayForEach(preset, presets->list) {
    number++;
    if (!strcmp(cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(preset, "name")), name))
      return number;
  }
  return 0;
}

const char *presets_source(const struct presets *presets, int number) {
  const cJSON *preset = cJSON_GetArrayItem(presets->list, number - 1);
  return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(preset, "source"));
}

int presets_values(const struct presets *presets, int number, const struct parameters *start,
                   struct parameters *changes, struct error *err) {
  if (number < 1 || number > presets_count(presets))
    return error_set(err, STATUS_USAGE, "preset %d: there are %d", number, presets_count(presets));
  return read_values(changes, start, cJSON_GetArrayItem(presets->list, number - 1), err);
}

/* --- writing presets: from values of parameters to JSON --- */

/* Returns a JSON list with the values of all instances of the parameter, so that the preset has the same effect
 * whatever values the program starts with. */
static cJSON *list_json(const struct parameters *values, enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  cJSON *list = cJSON_CreateArray();
  for (int i = row->first; i < row->first + row->count; i++)
    cJSON_AddItemToArray(list, value_to_json(values, id, i));
  return list;
}

static cJSON *preset_json(const char *name, const struct parameters *values) {
  cJSON *preset = cJSON_CreateObject(), *object = cJSON_CreateObject();
  cJSON_AddStringToObject(preset, "name", name);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    bool unset = row->type == TYPE_SIZE && !values->size.width;
    if (is_kept(id) && !unset)
      cJSON_AddItemToObject(object, row->name, row->count ? list_json(values, id) : value_to_json(values, id, 0));
  }
  if (cJSON_AddItemToObject(preset, "values", object))
    return preset;
  cJSON_Delete(object);
  cJSON_Delete(preset);
  return NULL;
}

int presets_add(struct presets *presets, const char *name, const struct parameters *values, struct error *err) {
  cJSON *preset = preset_json(name, values);
  if (!preset || !cJSON_AddItemToArray(presets->list, preset))
    return error_set(err, STATUS_FAILED, "no memory for one more preset");
  return 0;
}

void presets_add_picture(struct presets *presets, const char *path) {
  cJSON_AddStringToObject(cJSON_GetArrayItem(presets->list, presets_count(presets) - 1), "picture", path);
}

/* Returns the path of a preset's picture relative to the folder of the presets' file. Returns NULL if the preset has
 * no picture, or if the path leads out of that folder, because a stranger may have written the file. */
static const char *find_picture(const cJSON *preset) {
  const char *place = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(preset, "picture"));
  size_t length = place ? strlen(place) : 0;
  if (length < 4 || *place == '/' || strcmp(place + length - 4, ".png") != 0)
    return NULL;
  for (const char *part = place; part; part = strchr(part, '/')) {
    part += *part == '/';
    if (!strncmp(part, "..", 2))
      return NULL;
  }
  return place;
}

char *presets_list(const struct presets *presets) {
  int number = 0;
  const cJSON *preset;
  cJSON *list = cJSON_CreateArray();
  cJSON_ArrayForEach(preset, presets->list) {
    cJSON *object = cJSON_CreateObject();
    number++;
    cJSON_AddNumberToObject(object, "number", number);
    cJSON_AddStringToObject(object, "name", presets_name(presets, number));
    if (presets_fade(presets, number) >= 0)
      cJSON_AddNumberToObject(object, "fade", presets_fade(presets, number));
    cJSON_AddBoolToObject(object, "picture", find_picture(preset) != NULL);
    cJSON_AddItemToArray(list, object);
  }
  char *text = cJSON_PrintUnformatted(list);
  cJSON_Delete(list);
  return text;
}

char *presets_pictures(const struct presets *presets, const char *path) {
  const cJSON *preset;
  cJSON *list = cJSON_CreateArray();
  size_t folder = (size_t)(text_last_part(path) - path);
  cJSON_ArrayForEach(preset, presets->list) {
    const char *place = find_picture(preset);
    size_t room = folder + (place ? strlen(place) : 0) + 1;
    char *whole = malloc(room);
    if (whole)
      snprintf(whole, room, "%.*s%s", place ? (int)folder : 0, path, place ? place : "");
    cJSON_AddItemToArray(list, cJSON_CreateString(whole ? whole : ""));
    free(whole);
  }
  char *text = cJSON_PrintUnformatted(list);
  cJSON_Delete(list);
  return text;
}

int presets_set_members(struct presets *presets, const char *json, struct error *err) {
  cJSON *members = cJSON_Parse(json), *member;
  while (members && (member = cJSON_DetachItemFromArray(members, 0))) {
    cJSON_DeleteItemFromObjectCaseSensitive(presets->root, member->string);
    if (!cJSON_AddItemToObject(presets->root, member->string, member)) {
      cJSON_Delete(member);
      cJSON_Delete(members);
      members = NULL;
    }
  }
  bool good = members;
  cJSON_Delete(members);
  return good ? 0 : error_set(err, STATUS_FAILED, "no memory for the show");
}

char *presets_print(const struct presets *presets) {
  return cJSON_Print(presets->root);
}

char *presets_print_one(const char *name, const struct parameters *values) {
  struct error err;
  struct presets *presets = NULL;
  char *text = NULL;
  if (!presets_read(&presets, NULL, &err) && !presets_add(presets, name, values, &err))
    text = cJSON_PrintUnformatted(presets->root);
  presets_free(&presets);
  return text;
}
