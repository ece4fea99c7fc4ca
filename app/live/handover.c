#include "app/live/handover.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/value_json.h"
#include "unet/base/json.h"

static const int64_t SECOND_NS = INT64_C(1000000000);

/* --- when the next restart is allowed --- */

int64_t handover_due_ns(const struct handover_record *record) {
  enum { FIRST_PAUSE_S = 20, MOST_PAUSE_S = 600, DOUBLINGS = 5 };
  int64_t oldest_ns = record->done_ns[0], last_ns = record->done_ns[HANDOVERS_A_MINUTE - 1];
  int64_t due_ns = oldest_ns ? oldest_ns + 60 * SECOND_NS : 0;
  if (!record->barren || !last_ns)
    return due_ns;
  int64_t pause_s = (int64_t)FIRST_PAUSE_S << (record->barren > DOUBLINGS ? DOUBLINGS : record->barren - 1);
  int64_t later_ns = last_ns + (pause_s > MOST_PAUSE_S ? MOST_PAUSE_S : pause_s) * SECOND_NS;
  return later_ns > due_ns ? later_ns : due_ns;
}

void handover_note(struct handover_record *record, int64_t now_ns) {
  memmove(record->done_ns, record->done_ns + 1, sizeof record->done_ns - sizeof *record->done_ns);
  record->done_ns[HANDOVERS_A_MINUTE - 1] = now_ns;
}

/* --- fields of struct handover that are a single number or text --- */

enum field_type { FIELD_INT, FIELD_LARGE, FIELD_REAL, FIELD_BOOL, FIELD_TEXT };

static const struct field {
  const char *name;
  enum field_type type;
  size_t offset, size;
} fields[] = {
#define FIELD(type, name)                                                                                              \
  { #name, type, offsetof(struct handover, name), sizeof((struct handover *)0)->name }
    FIELD(FIELD_TEXT, device),
    FIELD(FIELD_INT, source),
    FIELD(FIELD_REAL, position),
    FIELD(FIELD_BOOL, loop),
    FIELD(FIELD_BOOL, place.fullscreen),
    FIELD(FIELD_INT, place.left),
    FIELD(FIELD_INT, place.top),
    FIELD(FIELD_INT, place.width),
    FIELD(FIELD_INT, place.height),
    FIELD(FIELD_LARGE, started_ns),
    FIELD(FIELD_LARGE, script_ns),
    FIELD(FIELD_LARGE, shown),
    FIELD(FIELD_REAL, blackout),
    FIELD(FIELD_INT, preset_taken),
    FIELD(FIELD_INT, slot_before),
    FIELD(FIELD_INT, share),
    FIELD(FIELD_INT, lora),
    FIELD(FIELD_INT, control),
    FIELD(FIELD_INT, control_value),
    FIELD(FIELD_REAL, walk),
    FIELD(FIELD_TEXT, web.token),
    FIELD(FIELD_INT, web.port),
    FIELD(FIELD_TEXT, why),
    FIELD(FIELD_INT, record.barren),
#undef FIELD
};
enum { FIELDS = sizeof fields / sizeof *fields };

static cJSON *field_json(const struct field *field, const struct handover *handover) {
  const void *at = (const char *)handover + field->offset;
  switch (field->type) {
  case FIELD_INT:
    return cJSON_CreateNumber(*(const int *)at);
  case FIELD_LARGE:
    return cJSON_CreateNumber((double)*(const int64_t *)at);
  case FIELD_REAL:
    return cJSON_CreateNumber(*(const double *)at);
  case FIELD_BOOL:
    return cJSON_CreateBool(*(const bool *)at);
  case FIELD_TEXT:
    break;
  }
  return cJSON_CreateString(at);
}

static bool read_field(struct handover *handover, const struct field *field, const cJSON *value) {
  void *at = (char *)handover + field->offset;
  if (field->type == FIELD_BOOL ? !cJSON_IsBool(value)
                                : !(field->type == FIELD_TEXT ? cJSON_IsString(value) : cJSON_IsNumber(value)))
    return false;
  switch (field->type) {
  case FIELD_INT:
    *(int *)at = value->valueint;
    break;
  case FIELD_LARGE:
    *(int64_t *)at = (int64_t)value->valuedouble;
    break;
  case FIELD_REAL:
    *(double *)at = value->valuedouble;
    break;
  case FIELD_BOOL:
    *(bool *)at = cJSON_IsTrue(value);
    break;
  case FIELD_TEXT:
    snprintf(at, field->size, "%s", value->valuestring);
    break;
  }
  return true;
}

/* --- values of parameters, and which of them somebody has set --- */

/* Adds a parameter's value to the JSON object, unless it equals the value in `standard`, the defaults. If somebody has
 * set the value, adds the parameter's name to `marks`. */
static void add_value(cJSON *object, cJSON *marks, const struct parameters *values, const struct parameters *standard,
                      enum parameter id, int index) {
  char name[PARAMETER_NAME_MAX];
  parameter_name(id, index, name);
  if (!parameters_same(values, standard, id, index))
    cJSON_AddItemToObject(object, name, value_to_json(values, id, index));
  if (parameters_marked(values, id, index))
    cJSON_AddItemToArray(marks, cJSON_CreateString(name));
}

static int add_values(cJSON *root, const struct parameters *values) {
  struct parameters *standard = malloc(sizeof *standard);
  cJSON *object = cJSON_AddObjectToObject(root, "values"), *marks = cJSON_AddArrayToObject(root, "marks");
  if (!standard || !object || !marks) {
    free(standard);
    return -1;
  }
  parameters_init(standard);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++)
      add_value(object, marks, values, standard, id, i);
  }
  free(standard);
  return 0;
}

static int read_values(struct parameters *values, const cJSON *root, struct error *err) {
  const cJSON *value;
  enum parameter id;
  int index;
  parameters_init(values);
  cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(root, "values")) {
    if (parameter_find(value->string, &id, &index, err) || value_from_json(values, id, index, value, err))
      return -1;
  }
  parameters_clear_marks(values);
  cJSON_ArrayForEach(value, cJSON_GetObjectItemCaseSensitive(root, "marks")) {
    if (!cJSON_IsString(value) || parameter_find(value->valuestring, &id, &index, err))
      return error_set(err, STATUS_USAGE, "\"marks\": names of parameters are needed");
    parameters_mark(values, id, index);
  }
  return 0;
}

/* --- the list of sources, and the times of earlier restarts --- */

static void add_sources(cJSON *root, const struct playlist *sources) {
  cJSON *list = cJSON_AddArrayToObject(root, "sources");
  for (int i = 0; i < sources->count; i++) {
    cJSON *entry = cJSON_CreateObject();
    cJSON_AddStringToObject(entry, "name", sources->entries[i].name);
    cJSON_AddBoolToObject(entry, "plain", sources->entries[i].plain);
    cJSON_AddNumberToObject(entry, "in", sources->entries[i].in_s);
    cJSON_AddNumberToObject(entry, "out", sources->entries[i].out_s);
    cJSON_AddItemToArray(list, entry);
  }
}

/* Returns a time in seconds; 0 if the entry has none of this name, or one that is no time. */
static double read_point(const cJSON *entry, const char *name) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(entry, name);
  return cJSON_IsNumber(value) && value->valuedouble > 0 ? value->valuedouble : 0;
}

static int read_sources(struct playlist *sources, const cJSON *root, struct error *err) {
  const cJSON *entry;
  cJSON_ArrayForEach(entry, cJSON_GetObjectItemCaseSensitive(root, "sources")) {
    const struct playlist_entry source = {
        .name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "name")),
        .plain = cJSON_IsTrue(cJSON_GetObjectItemCaseSensitive(entry, "plain")),
        .in_s = read_point(entry, "in"),
        .out_s = read_point(entry, "out"),
    };
    if (!source.name)
      return error_set(err, STATUS_USAGE, "\"sources\": names are needed");
    if (playlist_insert_copy(sources, sources->count, &source, err))
      return -1;
  }
  return 0;
}

static void add_times(cJSON *root, const struct handover_record *record) {
  cJSON *list = cJSON_AddArrayToObject(root, "done");
  for (int i = 0; i < HANDOVERS_A_MINUTE; i++)
    cJSON_AddItemToArray(list, cJSON_CreateNumber((double)record->done_ns[i]));
}

static void read_times(struct handover_record *record, const cJSON *root) {
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "done");
  for (int i = 0; i < HANDOVERS_A_MINUTE; i++) {
    const cJSON *time = cJSON_GetArrayItem(list, i);
    record->done_ns[i] = cJSON_IsNumber(time) ? (int64_t)time->valuedouble : 0;
  }
}

/* --- the whole state that a restarted program gets, as JSON --- */

char *handover_print(const struct handover *handover) {
  cJSON *root = cJSON_CreateObject();
  char *text = NULL;
  for (int i = 0; i < FIELDS; i++)
    cJSON_AddItemToObject(root, fields[i].name, field_json(&fields[i], handover));
  add_sources(root, &handover->sources);
  add_times(root, &handover->record);
  if (root && !add_values(root, &handover->values))
    text = cJSON_PrintUnformatted(root);
  cJSON_Delete(root);
  return text;
}

static int read_root(struct handover *handover, const cJSON *root, struct error *err) {
  for (int i = 0; i < FIELDS; i++)
    if (!read_field(handover, &fields[i], cJSON_GetObjectItemCaseSensitive(root, fields[i].name)))
      return error_set(err, STATUS_USAGE, "\"%s\" is missing", fields[i].name);
  read_times(&handover->record, root);
  if (read_values(&handover->values, root, err) || read_sources(&handover->sources, root, err))
    return -1;
  int count = handover->sources.count;
  return handover->source < 0 || (count && handover->source >= count)
             ? error_set(err, STATUS_USAGE, "\"source\": there are %d", count)
             : 0;
}

int handover_read(struct handover *handover, const char *text, struct error *err) {
  cJSON *root;
  if (json_parse(&root, text, NULL, "the state of the window before", err))
    return -1;
  int status = root ? read_root(handover, root, err) : error_set(err, STATUS_USAGE, "this is no JSON");
  cJSON_Delete(root);
  return status;
}

void handover_free(struct handover *handover) {
  playlist_free(&handover->sources);
}
