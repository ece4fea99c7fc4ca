#include "app/remote/messages.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/json.h"

struct watch {
  double id;
  char *name;
  struct property property;
  bool told;
  uint64_t value; /* hash of the property's value that was last sent to the client */
};

struct messages {
  struct hub *hub;
  struct watch *watches;
  int watch_count;
  /* copy of the hub's parameter values and figures (measured values), made to answer a request */
  struct message_view view;
};

/* --- the buffer of lines that a client is to get --- */

void message_lines_sent(struct message_lines *lines, size_t bytes) {
  lines->used -= bytes;
  memmove(lines->text, lines->text + bytes, lines->used);
}

void message_lines_free(struct message_lines *lines) {
  free(lines->text);
  *lines = (struct message_lines){0};
}

static bool make_room(struct message_lines *lines, size_t bytes) {
  size_t room = lines->room ? lines->room : 4096;
  while (room < lines->used + bytes)
    room *= 2;
  if (room > MESSAGE_BACKLOG_MAX)
    return false;
  char *text = room == lines->room ? lines->text : realloc(lines->text, room);
  if (!text)
    return false;
  lines->text = text;
  lines->room = room;
  return true;
}

static void put_line(struct message_lines *lines, const char *line) {
  size_t length = line ? strlen(line) : 0;
  lines->lost |= !line || !make_room(lines, length + 1);
  if (lines->lost)
    return;
  memcpy(lines->text + lines->used, line, length);
  lines->text[lines->used + length] = '\n';
  lines->used += length + 1;
}

/* Appends the object as one line of JSON, and deletes the object. */
static void put_object(struct message_lines *lines, cJSON *object) {
  char *line = cJSON_PrintUnformatted(object);
  put_line(lines, line);
  cJSON_free(line);
  cJSON_Delete(object);
}

/* --- carrying out requests --- */

struct request {
  const char *command;
  const cJSON *argument[2]; /* the values that follow the command's name in the request; NULL: not given */
  int count; /* number of values that follow the command's name, including those that are not in `argument` */
  double id;
};

static int need_name(const cJSON *argument, const char **name, struct error *err) {
  *name = cJSON_GetStringValue(argument);
  return *name ? 0 : error_set(err, STATUS_USAGE, "the name of a property is needed, in quotes");
}

static int find_settable(const cJSON *argument, struct property *property, struct error *err) {
  const char *name;
  if (need_name(argument, &name, err) || property_find(name, property, err))
    return -1;
  return property->kind == PROPERTY_PARAMETER ? 0
                                              : error_set(err, STATUS_USAGE, "%.48s can be read, and not set", name);
}

static int get_property(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  const char *name;
  struct property property;
  if (need_name(request->argument[0], &name, err) || property_find(name, &property, err))
    return -1;
  hub_get_values(messages->hub, &messages->view.values);
  hub_get_figures(messages->hub, &messages->view.figures);
  *data = property_value(&property, &messages->view);
  return *data ? 0 : error_set(err, STATUS_FAILED, "%.48s: no memory", name);
}

/* Refuses a JSON value that does not have the property's type. The parser of texts does this, because its message tells
 * which type and range are needed. */
static int set_other(struct hub *hub, const struct property *property, const cJSON *value, struct error *err) {
  char *text = cJSON_PrintUnformatted(value);
  int status = text ? hub_parse(hub, property->id, property->index, text, err)
                    : error_set(err, STATUS_FAILED, "no memory for a value");
  cJSON_free(text);
  return status;
}

static int set_property(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  struct property property;
  const cJSON *value = request->argument[1];
  (void)data;
  if (find_settable(request->argument[0], &property, err))
    return -1;
  enum parameter_type type = parameter_row(property.id)->type;
  char name[PARAMETER_NAME_MAX];
  if (type == TYPE_TEXT && !cJSON_IsString(value) && !cJSON_IsNull(value))
    return error_set(err, STATUS_USAGE, "%s: a text is needed, in quotes, or null",
                     parameter_name(property.id, property.index, name));
  if (type == TYPE_TEXT && cJSON_IsNull(value))
    return hub_set_text(messages->hub, property.id, property.index, NULL, err);
  if (cJSON_IsString(value))
    return hub_parse(messages->hub, property.id, property.index, value->valuestring, err);
  if (cJSON_IsNumber(value) && (type == TYPE_REAL || type == TYPE_WHOLE))
    return hub_set_number(messages->hub, property.id, property.index, value->valuedouble, err);
  if (cJSON_IsBool(value) && type == TYPE_SWITCH)
    return hub_set_number(messages->hub, property.id, property.index, cJSON_IsTrue(value), err);
  return set_other(messages->hub, &property, value, err);
}

static int add(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  struct property property;
  const cJSON *by = request->argument[1];
  struct parameters *values = &messages->view.values;
  (void)data;
  if (find_settable(request->argument[0], &property, err))
    return -1;
  enum parameter_type type = parameter_row(property.id)->type;
  if ((type != TYPE_REAL && type != TYPE_WHOLE) || !cJSON_IsNumber(by))
    return error_set(err, STATUS_USAGE, "add: a number and the name of a parameter that is one are needed");
  hub_get_values(messages->hub, values);
  parameters_add(values, property.id, property.index, by->valuedouble);
  return hub_set_number(messages->hub, property.id, property.index,
                        parameters_number(values, property.id, property.index), err);
}

static int cycle(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  struct property property;
  (void)data;
  if (find_settable(request->argument[0], &property, err))
    return -1;
  const struct parameter_row *row = parameter_row(property.id);
  if (row->type != TYPE_SWITCH && row->type != TYPE_CHOICE)
    return error_set(err, STATUS_USAGE, "cycle: %s is neither a switch nor a choice", row->name);
  hub_get_values(messages->hub, &messages->view.values);
  double low, high, now = parameters_number(&messages->view.values, property.id, property.index);
  parameter_span(property.id, &low, &high);
  return hub_set_number(messages->hub, property.id, property.index, now < high ? now + 1 : low, err);
}

static bool is_id(const cJSON *number) {
  return cJSON_IsNumber(number) && fabs(number->valuedouble) <= PARAMETER_WHOLE_MAX &&
         trunc(number->valuedouble) == number->valuedouble;
}

static int add_watch(struct messages *messages, const struct watch *watch, struct error *err) {
  if (messages->watch_count == MESSAGE_WATCHES_MAX)
    return error_set(err, STATUS_USAGE, "observe_property: at most %d at a time", MESSAGE_WATCHES_MAX);
  size_t bytes = (size_t)(messages->watch_count + 1) * sizeof *watch;
  struct watch *watches = realloc(messages->watches, bytes);
  char *name = strdup(watch->name);
  if (watches)
    messages->watches = watches;
  if (!watches || !name) {
    free(name);
    return error_set(err, STATUS_FAILED, "observe_property: no memory");
  }
  watches[messages->watch_count] = *watch;
  watches[messages->watch_count++].name = name;
  return 0;
}

static int observe(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  const char *name;
  struct watch watch = {0};
  (void)data;
  if (!is_id(request->argument[0]))
    return error_set(err, STATUS_USAGE, "observe_property: a whole number is needed, then a name");
  if (need_name(request->argument[1], &name, err) || property_find(name, &watch.property, err))
    return -1;
  if (watch.property.kind == PROPERTY_PARAMETERS || watch.property.kind == PROPERTY_COMMANDS)
    return error_set(err, STATUS_USAGE, "%s does not change", name);
  watch.id = request->argument[0]->valuedouble;
  watch.name = (char *)(uintptr_t)name;
  return add_watch(messages, &watch, err);
}

static int unobserve(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  int kept = 0;
  (void)data;
  if (!is_id(request->argument[0]))
    return error_set(err, STATUS_USAGE, "unobserve_property: the number that observe_property was given is needed");
  for (int i = 0; i < messages->watch_count; i++) {
    struct watch *watch = &messages->watches[i];
    if (watch->id == request->argument[0]->valuedouble)
      free(watch->name);
    else
      messages->watches[kept++] = *watch;
  }
  messages->watch_count = kept;
  return 0;
}

static int run_command(struct messages *messages, const struct request *request, struct error *err) {
  const cJSON *value = request->argument[0];
  if (!commands_find(request->command, strlen(request->command)))
    return error_set(err, STATUS_USAGE,
                     "%.40s: there is no such command: set_property with NAME and VALUE sets a value, and "
                     "get_property with command-list lists the other commands",
                     request->command);
  if (request->count > 1 || (value && !cJSON_IsNumber(value)))
    return error_set(err, STATUS_USAGE, "%.40s: at most one number can follow", request->command);
  return hub_run(messages->hub, request->command, value ? value->valuedouble : (double)NAN, err);
}

static const struct answerer {
  const char *command;
  int arguments;
  int (*answer)(struct messages *messages, const struct request *request, cJSON **data, struct error *err);
} answerers[] = {
    {"get_property", 1, get_property}, {"set_property", 2, set_property},    {"add", 2, add}, {"cycle", 1, cycle},
    {"observe_property", 2, observe},  {"unobserve_property", 1, unobserve},
};

static int answer_request(struct messages *messages, const struct request *request, cJSON **data, struct error *err) {
  for (size_t i = 0; i < sizeof answerers / sizeof *answerers; i++)
    if (!strcmp(answerers[i].command, request->command))
      return answerers[i].arguments == request->count
                 ? answerers[i].answer(messages, request, data, err)
                 : error_set(err, STATUS_USAGE, "%s: %d argument%s needed", request->command, answerers[i].arguments,
                             answerers[i].arguments == 1 ? " is" : "s are");
  return run_command(messages, request, err);
}

/* --- parsing received lines as requests --- */

/* Checks a received line for two things that the JSON parser accepts and no client needs: brackets nested deeper than
 * MESSAGE_DEPTH_MAX, and \u0000, which would end a C string early. Returns 0, or -1 with err set. */
static int check_nesting(const char *line, size_t length, struct error *err) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < length; i++) {
    char c = line[i];
    if (quoted && c == '\\') {
      i++;
      if (length - i >= 5 && !memcmp(line + i, "u0000", 5))
        return error_set(err, STATUS_USAGE, "a text cannot have \\u0000 in it");
    } else if (c == '"') {
      quoted = !quoted;
    } else if (!quoted) {
      depth += (c == '{' || c == '[') - (c == '}' || c == ']');
    }
    if (depth > MESSAGE_DEPTH_MAX)
      return error_set(err, STATUS_USAGE, "brackets lie more than %d deep", MESSAGE_DEPTH_MAX);
  }
  return 0;
}

/* Parses one line of JSON. Returns the object, which the caller deletes, or NULL with err set if the line is
 * refused. */
static cJSON *parse(const char *line, size_t length, struct error *err) {
  char copy[MESSAGE_LINE_MAX + 1];
  const char *end = NULL;
  cJSON *object = NULL;
  if (length > MESSAGE_LINE_MAX) {
    error_set(err, STATUS_USAGE, "a line of at most %d bytes is needed", MESSAGE_LINE_MAX);
    return NULL;
  }
  if (memchr(line, 0, length) || !text_is_utf8(line, length)) {
    error_set(err, STATUS_USAGE, "the line is not UTF-8");
    return NULL;
  }
  memcpy(copy, line, length);
  copy[length] = 0;
  if (check_nesting(copy, length, err) || json_parse(&object, copy, &end, "message", err))
    return NULL;
  if (cJSON_IsObject(object) && !end[strspn(end, " \t\r")])
    return object;
  cJSON_Delete(object);
  error_set(err, STATUS_USAGE, "a JSON object is needed, as in {\"command\": [\"get_property\", \"strength\"]}");
  return NULL;
}

static int read_id(const cJSON *object, double *id, struct error *err) {
  const cJSON *given = cJSON_GetObjectItemCaseSensitive(object, "request_id");
  if (given && !is_id(given))
    return error_set(err, STATUS_USAGE, "request_id: a whole number is needed");
  *id = given ? given->valuedouble : 0;
  return 0;
}

/* Fails if a request has members that the protocol does not have. "async", which mpv's protocol has, is accepted and
 * ignored, because every request here is answered at once. */
static int check_keys(const cJSON *object, struct error *err) {
  for (const cJSON *item = object->child; item; item = item->next)
    if (strcmp(item->string, "command") && strcmp(item->string, "request_id") && strcmp(item->string, "async"))
      return error_set(err, STATUS_USAGE, "%.40s: a request has command and request_id", item->string);
  return 0;
}

static int read_request(const cJSON *object, struct request *request, struct error *err) {
  if (read_id(object, &request->id, err) || check_keys(object, err))
    return -1;
  const cJSON *command = cJSON_GetObjectItemCaseSensitive(object, "command");
  request->count = cJSON_GetArraySize(command) - 1;
  request->command = cJSON_GetStringValue(cJSON_GetArrayItem(command, 0));
  if (!cJSON_IsArray(command) || !request->command)
    return error_set(err, STATUS_USAGE, "command: a list is needed, as in [\"set_property\", \"strength\", 0.7]");
  for (int i = 0; i < request->count && i < 2; i++)
    request->argument[i] = cJSON_GetArrayItem(command, i + 1);
  return 0;
}

/* Appends the answer to the request with the number id. data: the result, which this function frees. why: the error;
 * NULL: the request succeeded. */
static void put_answer(struct message_lines *answers, double id, cJSON *data, const struct error *why) {
  cJSON *answer = cJSON_CreateObject();
  cJSON_AddNumberToObject(answer, "request_id", id);
  cJSON_AddStringToObject(answer, "error", why ? why->message : "success");
  if (data)
    cJSON_AddItemToObject(answer, "data", data);
  put_object(answers, answer);
}

void messages_refuse(const struct error *why, struct message_lines *answers) {
  put_answer(answers, 0, NULL, why);
}

void messages_answer(struct messages *messages, const char *line, size_t length, struct message_lines *answers) {
  struct request request = {0};
  struct error err = {0};
  cJSON *data = NULL, *object = parse(line, length, &err);
  bool done = object && !read_request(object, &request, &err) && !answer_request(messages, &request, &data, &err);
  put_answer(answers, request.id, data, done ? NULL : &err);
  cJSON_Delete(object);
}

/* --- events that tell a client of changes of the properties that it observes --- */

bool messages_observes(const struct messages *messages) {
  return messages->watch_count > 0;
}

static uint64_t hash(const char *text) {
  uint64_t sum = 0xcbf29ce484222325u; /* start value of the hash FNV-1a */
  for (; *text; text++)
    sum = (sum ^ (unsigned char)*text) * 0x100000001b3u;
  return sum;
}

static void tell(const struct watch *watch, cJSON *value, struct message_lines *lines) {
  cJSON *event = cJSON_CreateObject();
  cJSON_AddStringToObject(event, "event", "property-change");
  cJSON_AddNumberToObject(event, "id", watch->id);
  cJSON_AddStringToObject(event, "name", watch->name);
  cJSON_AddItemToObject(event, "data", value);
  put_object(lines, event);
}

void messages_tell(struct messages *messages, const struct message_view *view, struct message_lines *lines) {
  for (int i = 0; i < messages->watch_count; i++) {
    struct watch *watch = &messages->watches[i];
    cJSON *value = property_value(&watch->property, view);
    char *text = cJSON_PrintUnformatted(value);
    uint64_t now = text ? hash(text) : 0;
    if (text && (!watch->told || now != watch->value))
      tell(watch, value, lines);
    else
      cJSON_Delete(value);
    watch->told = true;
    watch->value = now;
    cJSON_free(text);
  }
}

int messages_open(struct messages **out, struct hub *hub, struct error *err) {
  struct messages *messages = calloc(1, sizeof *messages);
  if (!messages)
    return error_set(err, STATUS_FAILED, "no memory for a client");
  messages->hub = messages->view.hub = hub;
  *out = messages;
  return 0;
}

void messages_close(struct messages **pointer) {
  struct messages *messages = *pointer;
  if (!messages)
    return;
  for (int i = 0; i < messages->watch_count; i++)
    free(messages->watches[i].name);
  free(messages->watches);
  free(messages);
  *pointer = NULL;
}
