#include "app/remote/osc_talk.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct osc_message message_to(const char *address) {
  return (struct osc_message){.address = address};
}

static void add_number(struct osc_message *message, char type, double number) {
  message->argument[message->count++] = (struct osc_argument){.type = type, .number = number};
}

/* Appends a whole number as an argument of the message: as a 32-bit integer if it fits, else as a 64-bit one. */
static void add_whole(struct osc_message *message, double number) {
  add_number(message, fabs(number) <= INT32_MAX ? 'i' : 'h', number);
}

static void add_text(struct osc_message *message, const char *text) {
  message->argument[message->count++] = (struct osc_argument){.type = 's', .number = (double)NAN, .text = text};
}

static void send(const struct osc_sink *sink, const struct osc_message *message) {
  sink->put(sink->opaque, message);
}

/* --- making messages with values and figures (measured values) --- */

void osc_tell_value(const struct parameters *values, enum parameter id, int index, const struct osc_sink *sink) {
  char address[OSC_ADDRESS_MAX], words[PARAMETER_TEXT_MAX];
  const struct parameter_row *row = parameter_row(id);
  struct osc_message message = message_to(osc_address(id, index, address));
  double number = parameters_number(values, id, index);
  int width = 0, height = 0;
  switch (row->type) {
  case TYPE_REAL:
    add_number(&message, 'f', number);
    break;
  case TYPE_WHOLE:
  case TYPE_SWITCH:
    add_whole(&message, number);
    break;
  case TYPE_CHOICE:
    add_whole(&message, number);
    add_text(&message, parameters_print(values, id, index, words, sizeof words));
    break;
  case TYPE_SIZE:
    parameters_read_size(parameters_print(values, id, index, words, sizeof words), row->min, row->max, &width, &height);
    add_whole(&message, width);
    add_whole(&message, height);
    break;
  case TYPE_TEXT:
    add_text(&message, parameters_print(values, id, index, words, sizeof words));
    break;
  }
  send(sink, &message);
}

static const char *const type_words[] = {[TYPE_REAL] = "real",     [TYPE_WHOLE] = "whole", [TYPE_SWITCH] = "switch",
                                         [TYPE_CHOICE] = "choice", [TYPE_SIZE] = "size",   [TYPE_TEXT] = "text"};

/* Passes to `sink` a message with the range of a parameter: min, max, default, unit, type, and the words if it is a
 * choice. */
static void tell_range(const struct osc_name *name, const struct osc_sink *sink) {
  char address[OSC_ADDRESS_MAX];
  const struct parameter_row *row = parameter_row(name->id);
  double low, high;
  parameter_span(name->id, &low, &high);
  bool number = row->type == TYPE_REAL || row->type == TYPE_WHOLE || row->type == TYPE_SIZE;
  double min = number ? row->min : 0, max = number ? row->max : row->type == TYPE_TEXT ? PARAMETER_TEXT_MAX - 1 : high;
  osc_address(name->id, name->index, address);
  snprintf(address + strlen(address), sizeof address - strlen(address), "/range");
  struct osc_message message = message_to(address);
  for (int i = 0; i < 3; i++) {
    double value = i == 0 ? min : i == 1 ? max : row->standard;
    if (row->type == TYPE_REAL)
      add_number(&message, 'f', value);
    else if (i == 2 && (row->type == TYPE_TEXT || row->type == TYPE_SIZE))
      add_text(&message, row->text ? row->text : "");
    else
      add_whole(&message, value);
  }
  add_text(&message, row->unit ? row->unit : "");
  add_text(&message, type_words[row->type]);
  if (row->choices)
    add_text(&message, row->choices);
  send(sink, &message);
}

static void tell_list(const struct osc_sink *sink) {
  char address[OSC_ADDRESS_MAX];
  int count;
  const struct command_entry *commands = commands_table(&count);
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++)
    for (int i = 0; i < parameter_instances(id); i++) {
      struct osc_message message = message_to(OSC_ROOT "list");
      add_text(&message, osc_address(id, parameter_row(id)->first + i, address));
      add_text(&message, type_words[parameter_row(id)->type]);
      add_text(&message, parameter_row(id)->help);
      send(sink, &message);
    }
  for (int i = 0; i < count; i++) {
    struct osc_message message = message_to(OSC_ROOT "list");
    snprintf(address, sizeof address, OSC_ROOT "command/%s", commands[i].name);
    add_text(&message, address);
    add_text(&message, "command");
    add_text(&message, commands[i].help);
    send(sink, &message);
  }
}

static void tell_number(const char *name, char type, double number, const double *before, const struct osc_sink *sink) {
  char address[OSC_ADDRESS_MAX];
  if (before && *before == number)
    return;
  snprintf(address, sizeof address, OSC_ROOT "figures/%s", name);
  struct osc_message message = message_to(address);
  add_number(&message, type, number);
  send(sink, &message);
}

static void tell_words(const char *name, const char *words, const char *before, const struct osc_sink *sink) {
  char address[OSC_ADDRESS_MAX];
  if (before && !strcmp(words, before))
    return;
  snprintf(address, sizeof address, OSC_ROOT "figures/%s", name);
  struct osc_message message = message_to(address);
  add_text(&message, words);
  send(sink, &message);
}

void osc_tell_figures(const struct hub_figures *figures, const struct hub_figures *before,
                      const struct osc_sink *sink) {
#define REAL(name, field) tell_number(name, 'f', figures->field, before ? &before->field : NULL, sink)
#define WHOLE(name, field)                                                                                             \
  tell_number(name, 'i', (double)figures->field, before ? &(double){(double)before->field} : NULL, sink)
#define WORDS(name, field) tell_words(name, figures->field, before ? before->field : NULL, sink)
  WHOLE("ready", ready);
  REAL("fps", fps);
  REAL("frame-ms", frame_ms);
  REAL("budget-ms", budget_ms);
  REAL("latency-ms", latency_ms);
  REAL("latency-p99-ms", latency_p99_ms);
  WHOLE("shown", shown);
  WHOLE("dropped", dropped);
  WHOLE("missed", missed);
  WHOLE("width", width);
  WHOLE("height", height);
  WORDS("model", model);
  WORDS("source", source);
  WORDS("state", state);
  WORDS("notice", notice);
#undef REAL
#undef WHOLE
#undef WORDS
}

/* --- carrying out received messages --- */

static int choice_last(enum parameter id) {
  double low, high;
  parameter_span(id, &low, &high);
  return (int)high;
}

/* Returns the number limited to the parameter's range: a controller with a wider range then sets the end of the
 * range. */
static double fit(enum parameter id, double number) {
  const struct parameter_row *row = parameter_row(id);
  switch (row->type) {
  case TYPE_REAL:
    return fmin(row->max, fmax(row->min, number));
  case TYPE_WHOLE:
  case TYPE_SIZE:
    return fmin(row->max, fmax(row->min, round(number)));
  case TYPE_SWITCH:
    return number >= 0.5;
  case TYPE_CHOICE:
    return fmin(choice_last(id), fmax(0, round(number)));
  case TYPE_TEXT:
    break;
  }
  return number;
}

static int set_size(struct hub *hub, const struct osc_message *message, const struct osc_name *name,
                    struct error *err) {
  char words[32];
  const struct osc_argument *side = message->argument;
  if (message->count < 2 || !isfinite(side[1].number))
    return error_set(err, STATUS_USAGE, "size: width and height are needed, or WIDTHxHEIGHT as a text");
  snprintf(words, sizeof words, "%.0fx%.0f", fit(name->id, side[0].number), fit(name->id, side[1].number));
  return hub_parse(hub, name->id, name->index, words, err);
}

/* True if a message would show the page's address on the stage. The address may have the token in it that the page
 * needs, and OSC needs none: whoever sends OSC may take the address away, but not bring it. */
static bool shows_address(const struct osc_message *message, const struct osc_name *name) {
  const struct osc_argument *value = message->argument;
  bool off = message->count && !value->text && value->number < 0.5;
  return name->verb == OSC_COMMAND ? !strcmp(name->command, "page-code") : name->id == PARAMETER_PAGE_CODE && !off;
}

static int set_value(struct hub *hub, const struct osc_message *message, const struct osc_name *name,
                     struct error *err) {
  char words[PARAMETER_NAME_MAX];
  const struct osc_argument *value = message->argument;
  enum parameter_type type = parameter_row(name->id)->type;
  if (value->text)
    return type == TYPE_TEXT ? hub_set_text(hub, name->id, name->index, value->text, err)
                             : hub_parse(hub, name->id, name->index, value->text, err);
  if (type == TYPE_TEXT || !isfinite(value->number))
    return error_set(err, STATUS_USAGE, "%s: a %s is needed", parameter_name(name->id, name->index, words),
                     type == TYPE_TEXT ? "text" : "number");
  if (type == TYPE_SIZE)
    return set_size(hub, message, name, err);
  return hub_set_number(hub, name->id, name->index, fit(name->id, value->number), err);
}

/* Runs a command. A button sends 1 when pressed and 0 when released, so an argument below 0.5 does nothing. For a
 * command that takes a number, a numeric argument is that number, and only 0 does nothing. Returns 0, or -1 with
 * err. */
static int run(struct hub *hub, const struct osc_message *message, const char *command, struct error *err) {
  const struct command_entry *entry = commands_find(command, strlen(command));
  const struct osc_argument *value = message->argument;
  if (!entry || !message->count)
    return hub_run(hub, command, (double)NAN, err);
  if (!isfinite(value->number))
    return error_set(err, STATUS_USAGE, "%s: a number is needed", command);
  if (value->number == 0)
    return 0;
  bool counts = entry->value != 0 && value->type != 'T' && value->type != 'I';
  if (!counts && value->number < 0.5)
    return 0;
  return hub_run(hub, command, counts ? value->number : (double)NAN, err);
}

static void refuse(const struct osc_message *message, const struct osc_sink *answers, const struct error *err) {
  struct osc_message answer = message_to(OSC_ROOT "error");
  add_text(&answer, message->address);
  add_text(&answer, err->message);
  send(answers, &answer);
}

static void tell_one(struct hub *hub, const struct osc_name *name, const struct osc_sink *answers) {
  struct parameters values;
  hub_get_values(hub, &values);
  osc_tell_value(&values, name->id, name->index, answers);
}

/* Checks the arguments of a subscription: there may be none, or the number of the port to which changes are to be sent.
 * The host is always the sender's, so that nobody can subscribe in another machine's name. Returns 0, or -1 with err
 * set. */
static int check_port(const struct osc_message *message, struct error *err) {
  double port = message->count ? message->argument[0].number : 1;
  if (port >= 1 && port <= 65535 && port == floor(port))
    return 0;
  return error_set(err, STATUS_USAGE,
                   "%.40s: a port of the sender's machine is needed, from 1 to 65535, or nothing for the one it sends "
                   "from",
                   message->address);
}

enum osc_result osc_take(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                         struct osc_name *name, struct error *err) {
  int status = 0;
  /* true: the message is an answer of this program that another program has sent back; answers have more arguments than
   * requests */
  bool answer = message->count > 1;
  *name = osc_read_name(message->address, err);
  switch (name->verb) {
  case OSC_FOREIGN:
    break;
  case OSC_UNKNOWN:
    status = -1;
    break;
  case OSC_PARAMETER:
    if (message->count && shows_address(message, name))
      status = error_set(err, STATUS_USAGE, "page-code: OSC turns it off, the key Q or the page itself turn it on");
    else if (message->count)
      status = set_value(hub, message, name, err);
    else
      tell_one(hub, name, answers);
    break;
  case OSC_GET:
    tell_one(hub, name, answers);
    break;
  case OSC_RANGE:
    if (!answer)
      tell_range(name, answers);
    break;
  case OSC_COMMAND:
    status = shows_address(message, name) ? error_set(err, STATUS_USAGE, "page-code: it is no command of OSC")
                                          : run(hub, message, name->command, err);
    break;
  case OSC_LIST:
    if (!answer)
      tell_list(answers);
    break;
  case OSC_SUBSCRIBE:
  case OSC_UNSUBSCRIBE:
    status = check_port(message, err);
    break;
  }
  if (status) {
    refuse(message, answers, err);
    return OSC_REFUSED;
  }
  if (name->verb == OSC_SUBSCRIBE || name->verb == OSC_UNSUBSCRIBE)
    return name->verb == OSC_SUBSCRIBE ? OSC_WANTS_ALL : OSC_WANTS_NO_MORE;
  return name->verb == OSC_PARAMETER && message->count ? OSC_SET : OSC_DONE;
}

/* --- carrying out messages whose addresses are patterns --- */

struct expansion {
  struct hub *hub;
  const struct osc_message *message;
  const struct osc_sink *answers;
  void (*set)(void *opaque, const struct osc_name *name);
  void *opaque;
  int taken;        /* number of addresses that did not refuse the message */
  struct error err; /* the last error with which an address refused the message */
};

/* Passes on an answer to a message whose address is a pattern, unless it is an error. Errors are left out, because
 * often only some of the matched parameters can have the value. */
static void put_but_errors(void *opaque, const struct osc_message *answer) {
  const struct osc_sink *answers = opaque;
  if (strcmp(answer->address, OSC_ROOT "error") != 0)
    send(answers, answer);
}

static void take_one(void *opaque, const char *address) {
  struct expansion *expansion = opaque;
  const struct osc_sink answers = {put_but_errors, (void *)(uintptr_t)expansion->answers};
  struct osc_message message = *expansion->message;
  struct osc_name name;
  message.address = address;
  enum osc_result result = osc_take(expansion->hub, &message, &answers, &name, &expansion->err);
  expansion->taken += result != OSC_REFUSED;
  if (result == OSC_SET)
    expansion->set(expansion->opaque, &name);
}

enum osc_result osc_take_pattern(struct hub *hub, const struct osc_message *message, const struct osc_sink *answers,
                                 long *work, void (*set)(void *opaque, const struct osc_name *name), void *opaque,
                                 struct error *err) {
  struct osc_pattern pattern;
  struct expansion expansion = {hub, message, answers, set, opaque, 0, {0}};
  struct error why;
  bool ours = !strncmp(message->address, OSC_ROOT, strlen(OSC_ROOT));
  int status = osc_pattern_read(&pattern, message->address, &why);
  int count = status ? 0 : osc_pattern_each(&pattern, work, take_one, &expansion);
  if (!ours && !count)
    return OSC_DONE;
  if (!status && *work < 0)
    status = error_set(&why, STATUS_USAGE, "patterns come faster than they are compared with all addresses");
  else if (!status && !count)
    status = error_set(&why, STATUS_USAGE, "no parameter and no command has an address like that");
  else if (!status && !expansion.taken) {
    why = expansion.err;
    status = -1;
  }
  if (!status)
    return OSC_DONE;
  *err = why;
  refuse(message, answers, err);
  return OSC_REFUSED;
}
