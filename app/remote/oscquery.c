#include "app/remote/oscquery.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/remote/properties.h"

enum { ACCESS_READ = 1, ACCESS_WRITE = 2, ADDRESS_PART_MAX = 64 };

/* --- the tree of OSC addresses, as JSON --- */

static void put_head(cJSON *node, const char *path) {
  cJSON_AddStringToObject(node, "FULL_PATH", path);
  cJSON_AddNumberToObject(node, "ACCESS", 0);
}

/* Returns the child of this name; if the node has no such child, makes it. path: the child's whole path. */
static cJSON *take_child(cJSON *node, const char *name, const char *path) {
  cJSON *contents = cJSON_GetObjectItemCaseSensitive(node, "CONTENTS");
  if (!contents)
    contents = cJSON_AddObjectToObject(node, "CONTENTS");
  cJSON *child = cJSON_GetObjectItemCaseSensitive(contents, name);
  if (!child && (child = cJSON_AddObjectToObject(contents, name)))
    put_head(child, path);
  return child;
}

/* Copies the next part of a path, which begins with "/". Returns the rest of the path; NULL: there is no part, or it is
 * too long. */
static const char *next_part(const char *path, char part[ADDRESS_PART_MAX]) {
  size_t length = *path == '/' ? strcspn(path + 1, "/") : 0;
  if (!length || length >= ADDRESS_PART_MAX)
    return NULL;
  memcpy(part, path + 1, length);
  part[length] = 0;
  return path + 1 + length;
}

/* Returns the node at this address. If the node, or one of those above it, does not exist, makes it. */
static cJSON *take_node(cJSON *root, const char *address) {
  char part[ADDRESS_PART_MAX], path[OSC_ADDRESS_MAX];
  cJSON *node = root;
  for (const char *rest = next_part(address, part); rest && node; rest = next_part(rest, part)) {
    snprintf(path, sizeof path, "%.*s", (int)(rest - address), address);
    node = take_child(node, part, path);
  }
  return node;
}

static const cJSON *find_node(const cJSON *root, const char *path) {
  char part[ADDRESS_PART_MAX];
  const cJSON *node = root;
  if (!strcmp(path, "/"))
    return root;
  while (node && *path) {
    path = next_part(path, part);
    if (!path)
      return NULL;
    node = cJSON_GetObjectItemCaseSensitive(cJSON_GetObjectItemCaseSensitive(node, "CONTENTS"), part);
  }
  return node;
}

/* Describes what a node stands for. values and ranges: lists with an entry for each character of `type`, which the node
 * owns from then on; NULL: it has none. */
static void describe(cJSON *node, int access, const char *type, cJSON *values, cJSON *ranges, const char *help) {
  cJSON_ReplaceItemInObjectCaseSensitive(node, "ACCESS", cJSON_CreateNumber(access));
  cJSON_AddStringToObject(node, "TYPE", type);
  if (values)
    cJSON_AddItemToObject(node, "VALUE", values);
  if (ranges)
    cJSON_AddItemToObject(node, "RANGE", ranges);
  if (help)
    cJSON_AddStringToObject(node, "DESCRIPTION", help);
}

static cJSON *list_of(cJSON *item) {
  cJSON *list = cJSON_CreateArray();
  cJSON_AddItemToArray(list, item);
  return list;
}

static cJSON *limits(double low, double high) {
  cJSON *range = cJSON_CreateObject();
  cJSON_AddNumberToObject(range, "MIN", low);
  cJSON_AddNumberToObject(range, "MAX", high);
  return range;
}

/* --- parameters, commands and figures (measured values) --- */

static cJSON *range_of_words(const char *choices) {
  cJSON *range = cJSON_CreateObject(), *words = cJSON_AddArrayToObject(range, "VALS");
  for (size_t length; *choices; choices += length + (choices[length] == '|')) {
    char word[PARAMETER_NAME_MAX];
    length = strcspn(choices, "|");
    snprintf(word, sizeof word, "%.*s", (int)length, choices);
    cJSON_AddItemToArray(words, cJSON_CreateString(word));
  }
  return list_of(range);
}

static void describe_size(cJSON *node, int access, const struct parameters *values, const struct parameter_row *row) {
  cJSON *sides = cJSON_CreateArray(), *ranges = cJSON_CreateArray();
  const int side[] = {values->size.width, values->size.height};
  for (int i = 0; i < 2; i++) {
    cJSON_AddItemToArray(sides, cJSON_CreateNumber(side[i]));
    cJSON_AddItemToArray(ranges, limits(row->min, row->max));
  }
  describe(node, access, "ii", sides, ranges, row->help);
}

/* A parameter that is a whole number has OSC's type i if all values of its range fit into 32 bits, and else type h. */
static const char *number_type(const struct parameter_row *row) {
  if (row->type == TYPE_REAL)
    return "f";
  return row->max <= INT32_MAX && row->min >= INT32_MIN ? "i" : "h";
}

static void describe_parameter(cJSON *node, const struct message_view *view, enum parameter id, int index) {
  const struct parameter_row *row = parameter_row(id);
  const struct property property = {.kind = PROPERTY_PARAMETER, .id = id, .index = index};
  int access = row->need == NEED_START ? ACCESS_READ : ACCESS_READ | ACCESS_WRITE;
  if (row->type == TYPE_SIZE) {
    describe_size(node, access, &view->values, row);
    return;
  }
  cJSON *value = property_value(&property, view);
  if (cJSON_IsNull(value)) { /* null stands for a text parameter without a value */
    cJSON_Delete(value);
    value = cJSON_CreateString("");
  }
  if (row->type == TYPE_SWITCH)
    describe(node, access, cJSON_IsTrue(value) ? "T" : "F", list_of(value), NULL, row->help);
  else if (row->type == TYPE_CHOICE)
    describe(node, access, "s", list_of(value), range_of_words(row->choices), row->help);
  else if (row->type == TYPE_TEXT)
    describe(node, access, "s", list_of(value), NULL, row->help);
  else
    describe(node, access, number_type(row), list_of(value), list_of(limits(row->min, row->max)), row->help);
  if (row->unit)
    cJSON_AddItemToObject(node, "UNIT", list_of(cJSON_CreateString(row->unit)));
}

static void add_parameters(cJSON *root, const struct message_view *view) {
  char address[OSC_ADDRESS_MAX];
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id); i++) {
      int index = parameter_row(id)->first + i;
      cJSON *node = take_node(root, osc_address(id, index, address));
      if (node)
        describe_parameter(node, view, id, index);
    }
}

/* Adds to the tree of OSC addresses a node for each command. Its OSC type is f (a number) if the command needs a
 * number, else I (an impulse, without a value). */
static void add_commands(cJSON *root) {
  char address[OSC_ADDRESS_MAX];
  int count;
  const struct command_entry *commands = commands_table(&count);
  for (int i = 0; i < count; i++) {
    snprintf(address, sizeof address, OSC_ROOT "command/%s", commands[i].name);
    cJSON *node = commands[i].here ? NULL : take_node(root, address);
    if (node)
      describe(node, ACCESS_WRITE, isnan(commands[i].value) ? "f" : "I", NULL, NULL, commands[i].help);
  }
}

/* Adds to the tree of OSC addresses a node for each figure (measured value) that is a number, a text, or true or
 * false, with its present value. */
static void add_figures(cJSON *root, const struct message_view *view) {
  const struct property all = {.kind = PROPERTY_FIGURES};
  char address[OSC_ADDRESS_MAX];
  const cJSON *figure;
  cJSON *figures = property_value(&all, view);
  cJSON_ArrayForEach(figure, figures) {
    snprintf(address, sizeof address, OSC_ROOT "figures/%s", figure->string);
    cJSON *node = cJSON_IsArray(figure) ? NULL : take_node(root, address);
    const char *type = cJSON_IsNumber(figure) ? "f" : cJSON_IsString(figure) ? "s" : cJSON_IsTrue(figure) ? "T" : "F";
    if (node)
      describe(node, ACCESS_READ, type, list_of(cJSON_Duplicate(figure, true)), NULL, NULL);
  }
  cJSON_Delete(figures);
}

static cJSON *make_tree(struct hub *hub) {
  struct message_view *view = calloc(1, sizeof *view);
  cJSON *root = view ? cJSON_CreateObject() : NULL;
  if (root) {
    view->hub = hub;
    hub_get_values(hub, &view->values);
    hub_get_figures(hub, &view->figures);
    put_head(root, "/");
    cJSON_AddStringToObject(root, "DESCRIPTION", "reverie");
    add_parameters(root, view);
    add_commands(root);
    add_figures(root, view);
  }
  free(view);
  return root;
}

/* --- answers --- */

static cJSON *host_info(struct hub *hub) {
  static const char *const extensions[] = {"ACCESS", "VALUE", "RANGE", "TYPE", "DESCRIPTION", "UNIT"};
  cJSON *info = cJSON_CreateObject();
  int port = hub_get_osc_port(hub);
  cJSON_AddStringToObject(info, "NAME", "reverie");
  cJSON *list = cJSON_AddObjectToObject(info, "EXTENSIONS");
  for (size_t i = 0; i < sizeof extensions / sizeof *extensions; i++)
    cJSON_AddBoolToObject(list, extensions[i], true);
  cJSON_AddBoolToObject(list, "LISTEN", false);
  cJSON_AddStringToObject(info, "OSC_TRANSPORT", "UDP");
  if (port)
    cJSON_AddNumberToObject(info, "OSC_PORT", port);
  return info;
}

static char *print(const cJSON *json, unsigned *status) {
  char *text = cJSON_PrintUnformatted(json);
  *status = text ? 200 : 500;
  return text;
}

static bool is_attribute(const char *name) {
  static const char *const names[] = {"FULL_PATH",   "CONTENTS", "TYPE", "ACCESS",   "VALUE",        "RANGE",
                                      "DESCRIPTION", "UNIT",     "TAGS", "CLIPMODE", "EXTENDED_TYPE"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name))
      return true;
  return false;
}

static char *answer_attribute(const cJSON *node, const char *attribute, unsigned *status) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(node, attribute);
  *status = is_attribute(attribute) ? 204 : 400;
  if (!value)
    return NULL;
  cJSON *answer = cJSON_CreateObject();
  cJSON_AddItemToObject(answer, attribute, cJSON_Duplicate(value, true));
  char *text = print(answer, status);
  cJSON_Delete(answer);
  return text;
}

char *oscquery_answer(struct hub *hub, const char *path, const char *attribute, unsigned *status) {
  bool host = attribute && !strcmp(attribute, "HOST_INFO");
  cJSON *json = host ? host_info(hub) : make_tree(hub);
  const cJSON *node = host ? json : find_node(json, path);
  char *text = NULL;
  *status = json ? 404 : 500;
  if (node && (host || !attribute))
    text = print(node, status);
  else if (node)
    text = answer_attribute(node, attribute, status);
  cJSON_Delete(json);
  return text;
}
