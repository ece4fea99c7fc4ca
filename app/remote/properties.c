#include "app/remote/properties.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "app/control/modulation.h"
#include "app/control/parameter_order.h"
#include "unet/base/text.h"

enum figure_type {
  FIGURE_SWITCH,
  FIGURE_REAL,
  FIGURE_WHOLE,
  FIGURE_INT,
  FIGURE_TEXT,
  FIGURE_ALERTS,
  FIGURE_SOUND,
  FIGURE_MOVED
};

#define FIGURE(field) offsetof(struct hub_figures, field)

static const struct figure {
  const char *name;
  enum figure_type type;
  size_t offset;
} figures_table[] = {
    {"ready", FIGURE_SWITCH, FIGURE(ready)},         {"fps", FIGURE_REAL, FIGURE(fps)},
    {"frame-ms", FIGURE_REAL, FIGURE(frame_ms)},     {"budget-ms", FIGURE_REAL, FIGURE(budget_ms)},
    {"latency-ms", FIGURE_REAL, FIGURE(latency_ms)}, {"latency-p99-ms", FIGURE_REAL, FIGURE(latency_p99_ms)},
    {"shown", FIGURE_WHOLE, FIGURE(shown)},          {"dropped", FIGURE_WHOLE, FIGURE(dropped)},
    {"left-out", FIGURE_WHOLE, FIGURE(left_out)},    {"undrawn", FIGURE_WHOLE, FIGURE(undrawn)},
    {"missed", FIGURE_WHOLE, FIGURE(missed)},        {"width", FIGURE_INT, FIGURE(width)},
    {"height", FIGURE_INT, FIGURE(height)},          {"model", FIGURE_TEXT, FIGURE(model)},
    {"source", FIGURE_TEXT, FIGURE(source)},         {"state", FIGURE_TEXT, FIGURE(state)},
    {"notice", FIGURE_TEXT, FIGURE(notice)},         {"alerts", FIGURE_ALERTS, FIGURE(alerts)},
    {"recorded-s", FIGURE_REAL, FIGURE(recorded_s)}, {"not-recorded", FIGURE_WHOLE, FIGURE(not_recorded)},
    {"sending", FIGURE_INT, FIGURE(sending)},        {"lost", FIGURE_INT, FIGURE(lost)},
    {"sound", FIGURE_SOUND, FIGURE(meter)},          {"moved", FIGURE_MOVED, FIGURE(meter)},
};
enum { FIGURES = sizeof figures_table / sizeof *figures_table };
static const char figures_prefix[] = "figures/";

/* --- values and descriptions of properties as JSON --- */

bool text_is_utf8(const char *text, size_t length) {
  for (size_t at = 0; at < length;) {
    utf8proc_int32_t character;
    utf8proc_ssize_t bytes =
        utf8proc_iterate((const utf8proc_uint8_t *)text + at, (utf8proc_ssize_t)(length - at), &character);
    if (bytes <= 0)
      return false;
    at += (size_t)bytes;
  }
  return true;
}

/* Returns a text as a JSON string; for NULL, JSON's null. Names of files may contain any bytes, but JSON must be UTF-8,
 * so invalid bytes are replaced. */
static cJSON *text_value(const char *text) {
  if (!text)
    return cJSON_CreateNull();
  if (text_is_utf8(text, strlen(text)))
    return cJSON_CreateString(text);
  char *copy = strdup(text);
  cJSON *value = copy ? cJSON_CreateString(text_clean(copy)) : NULL;
  free(copy);
  return value;
}

static cJSON *parameter_value(const struct parameters *values, enum parameter id, int index) {
  char text[PARAMETER_NAME_MAX];
  switch (parameter_row(id)->type) {
  case TYPE_REAL:
  case TYPE_WHOLE:
    return cJSON_CreateNumber(parameters_number(values, id, index));
  case TYPE_SWITCH:
    return cJSON_CreateBool(parameters_number(values, id, index) > 0);
  case TYPE_TEXT:
    return text_value(parameters_text(values, id, index));
  case TYPE_CHOICE:
  case TYPE_SIZE:
    break;
  }
  parameters_print(values, id, index, text, sizeof text);
  return *text ? cJSON_CreateString(text) : cJSON_CreateNull();
}

static cJSON *describe_alert(enum alert_kind kind, const struct alert *alert) {
  cJSON *object = cJSON_CreateObject();
  cJSON_AddStringToObject(object, "what", alert_name(kind));
  cJSON_AddItemToObject(object, "words", text_value(alert->words));
  cJSON_AddItemToObject(object, "reason", text_value(alert->reason));
  cJSON_AddNumberToObject(object, "since", (double)alert->since_s);
  cJSON_AddItemToObject(object, "until",
                        alert->until_s ? cJSON_CreateNumber((double)alert->until_s) : cJSON_CreateNull());
  return object;
}

static cJSON *list_alerts(const struct alerts *alerts) {
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < ALERTS; i++)
    if (alerts->entry[i].holds)
      cJSON_AddItemToArray(list, describe_alert((enum alert_kind)i, &alerts->entry[i]));
  return list;
}

/* Returns the levels of the sound, such as {"level": 0.5, "bass": 1}, or null if there is no sound input. */
static cJSON *describe_sound(const struct meter *meter) {
  static const char *const words[SOUND_VALUES] = {
      [SOUND_LEVEL] = "level",   [SOUND_BASS] = "bass", [SOUND_MID] = "mid",
      [SOUND_TREBLE] = "treble", [SOUND_BEAT] = "beat", [SOUND_ONSET] = "onset"};
  cJSON *object = meter->heard ? cJSON_CreateObject() : cJSON_CreateNull();
  for (int i = 0; meter->heard && i < SOUND_VALUES; i++)
    cJSON_AddNumberToObject(object, words[i], round(meter->values[i] * 1000) / 1000);
  return object;
}

/* Returns a list of the parameters that sound and LFOs change, each with the value that is set and with the value that
 * the newest frame has. */
static cJSON *list_moved(const struct meter *meter) {
  cJSON *list = cJSON_CreateArray();
  char name[PARAMETER_NAME_MAX];
  for (int i = 0; i < meter->count; i++) {
    const struct meter_row *row = &meter->row[i];
    cJSON *object = cJSON_CreateObject();
    cJSON_AddStringToObject(object, "name", parameter_name(row->id, row->index, name));
    cJSON_AddNumberToObject(object, "base", row->base);
    cJSON_AddNumberToObject(object, "now", row->now);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

static cJSON *figure_value(const struct hub_figures *figures, const struct figure *figure) {
  const char *at = (const char *)figures + figure->offset;
  switch (figure->type) {
  case FIGURE_SWITCH:
    return cJSON_CreateBool(*(const bool *)at);
  case FIGURE_REAL:
    return cJSON_CreateNumber(*(const double *)(const void *)at);
  case FIGURE_WHOLE:
    return cJSON_CreateNumber((double)*(const long *)(const void *)at);
  case FIGURE_INT:
    return cJSON_CreateNumber(*(const int *)(const void *)at);
  case FIGURE_ALERTS:
    return list_alerts((const struct alerts *)(const void *)at);
  case FIGURE_SOUND:
    return describe_sound((const struct meter *)(const void *)at);
  case FIGURE_MOVED:
    return list_moved((const struct meter *)(const void *)at);
  case FIGURE_TEXT:
    break;
  }
  return text_value(at);
}

static cJSON *all_figures(const struct hub_figures *figures) {
  cJSON *object = cJSON_CreateObject();
  for (int i = 0; i < FIGURES; i++)
    cJSON_AddItemToObject(object, figures_table[i].name, figure_value(figures, &figures_table[i]));
  return object;
}

static cJSON *list_choices(const char *choices) {
  cJSON *list = cJSON_CreateArray();
  while (*choices) {
    char word[PARAMETER_NAME_MAX];
    size_t length = strcspn(choices, "|");
    snprintf(word, sizeof word, "%.*s", (int)length, choices);
    cJSON_AddItemToArray(list, cJSON_CreateString(word));
    choices += length + (choices[length] == '|');
  }
  return list;
}

static void add_text(cJSON *object, const char *name, const char *text) {
  if (text && *text)
    cJSON_AddStringToObject(object, name, text);
}

static void describe_range(cJSON *object, enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  double low, high;
  parameter_span(id, &low, &high);
  if (row->type == TYPE_REAL || row->type == TYPE_WHOLE || row->type == TYPE_SIZE) {
    cJSON_AddNumberToObject(object, "min", row->min);
    cJSON_AddNumberToObject(object, "max", row->max);
  }
  if (row->type == TYPE_REAL || row->type == TYPE_WHOLE) {
    cJSON_AddNumberToObject(object, "low", low);
    cJSON_AddNumberToObject(object, "high", high);
  }
  if (row->type == TYPE_REAL)
    cJSON_AddNumberToObject(object, "decimals", row->decimals);
  if (row->type == TYPE_CHOICE)
    cJSON_AddItemToObject(object, "choices", list_choices(row->choices));
  if (row->count) {
    cJSON_AddNumberToObject(object, "first", row->first);
    cJSON_AddNumberToObject(object, "count", row->count);
  }
}

/* Returns an object that describes a parameter: type, range, default and so on. defaults: all parameters at their
 * defaults. place: the parameter's index in parameters_in_order. */
static cJSON *describe_parameter(const struct parameters *defaults, enum parameter id, int place) {
  static const char *const types[] = {"real", "whole", "switch", "choice", "size", "text"};
  static const char *const needs[NEEDS] = {"start",   "engine", "preparation", "encoding",
                                           "reading", "frame",  "frame",       "nothing"};
  const struct parameter_row *row = parameter_row(id);
  cJSON *object = cJSON_CreateObject();
  add_text(object, "name", row->name);
  add_text(object, "type", types[row->type]);
  add_text(object, "need", needs[row->need]);
  add_text(object, "group", parameter_group_label(row->group));
  add_text(object, "label", row->label);
  cJSON_AddNumberToObject(object, "place", place);
  cJSON_AddNumberToObject(object, "rank", row->rank);
  cJSON_AddBoolToObject(object, "movable", modulation_can_move(id));
  describe_range(object, id);
  cJSON_AddItemToObject(object, "default", parameter_value(defaults, id, row->first));
  add_text(object, "default_text", row->from);
  add_text(object, "unit", row->unit);
  add_text(object, "help", row->help);
  return object;
}

static cJSON *list_parameters(void) {
  struct parameters *defaults = malloc(sizeof *defaults);
  cJSON *list = defaults ? cJSON_CreateArray() : NULL;
  enum parameter ids[PARAMETERS];
  int places[PARAMETERS], count = parameters_in_order(ids);
  for (int i = 0; i < count; i++)
    places[ids[i]] = i;
  if (defaults)
    parameters_init(defaults);
  for (enum parameter id = PARAMETER_NONE + 1; list && id < PARAMETERS; id++)
    cJSON_AddItemToArray(list, describe_parameter(defaults, id, places[id]));
  free(defaults);
  return list;
}

static cJSON *list_commands(void) {
  int count;
  const struct command_entry *table = commands_table(&count);
  cJSON *list = cJSON_CreateArray();
  for (int i = 0; i < count; i++) {
    cJSON *object = cJSON_CreateObject();
    add_text(object, "name", table[i].name);
    add_text(object, "keys", table[i].label);
    add_text(object, "help", table[i].help);
    if (table[i].parameter != PARAMETER_NONE)
      add_text(object, "parameter", parameter_row(table[i].parameter)->name);
    cJSON_AddBoolToObject(object, "repeats", table[i].repeats);
    if (!isnan(table[i].value))
      cJSON_AddNumberToObject(object, "value", table[i].value);
    cJSON_AddItemToArray(list, object);
  }
  return list;
}

static cJSON *list_value(struct hub *hub, enum hub_list list) {
  char *text = hub_get_list(hub, list);
  cJSON *value = text ? cJSON_Parse(text) : cJSON_CreateNull();
  free(text);
  return value;
}

cJSON *property_value(const struct property *property, const struct message_view *view) {
  switch (property->kind) {
  case PROPERTY_PARAMETER:
    return parameter_value(&view->values, property->id, property->index);
  case PROPERTY_FIGURE:
    return figure_value(&view->figures, property->figure);
  case PROPERTY_FIGURES:
    return all_figures(&view->figures);
  case PROPERTY_PARAMETERS:
    return list_parameters();
  case PROPERTY_LIST:
    return list_value(view->hub, property->list);
  case PROPERTY_COMMANDS:
    break;
  }
  return list_commands();
}

static int find_figure(const char *name, struct property *property, struct error *err) {
  property->kind = PROPERTY_FIGURE;
  for (int i = 0; i < FIGURES; i++)
    if (!strcmp(figures_table[i].name, name)) {
      property->figure = &figures_table[i];
      return 0;
    }
  return error_set(err, STATUS_USAGE, "figures/%.40s: there is no such figure", name);
}

int property_find(const char *name, struct property *property, struct error *err) {
  static const struct {
    const char *name;
    enum property_kind kind;
    enum hub_list list;
  } whole[] = {{"figures", PROPERTY_FIGURES, 0},        {"parameter-list", PROPERTY_PARAMETERS, 0},
               {"command-list", PROPERTY_COMMANDS, 0},  {"scene-list", PROPERTY_LIST, HUB_SCENES},
               {"midi-list", PROPERTY_LIST, HUB_KNOBS}, {"refusal-list", PROPERTY_LIST, HUB_REFUSALS}};
  *property = (struct property){0};
  for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
    if (!strcmp(whole[i].name, name)) {
      property->kind = whole[i].kind;
      property->list = whole[i].list;
      return 0;
    }
  if (!strncmp(name, figures_prefix, sizeof figures_prefix - 1))
    return find_figure(name + sizeof figures_prefix - 1, property, err);
  return parameter_find(name, &property->id, &property->index, err);
}
