#include "app/remote/knob_target.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_parameter(struct knob_target *target, const char *text, struct error *err) {
  if (parameter_find(text, &target->id, &target->index, err))
    return -1;
  enum parameter_type type = parameter_row(target->id)->type;
  if (parameter_row(target->id)->need == NEED_START)
    return error_set(err, STATUS_USAGE, "%.60s is set when the program starts", text);
  if (type == TYPE_TEXT || type == TYPE_SIZE)
    return error_set(err, STATUS_USAGE, "%.60s: a knob cannot set a %s", text, type == TYPE_TEXT ? "text" : "size");
  return 0;
}

int knob_target_find(struct knob_target *target, const char *text, struct error *err) {
  static const char prefix[] = "command/";
  bool named = !strncmp(text, prefix, sizeof prefix - 1);
  const char *name = named ? text + sizeof prefix - 1 : text, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  char *end = NULL;
  *target = (struct knob_target){.value = (double)NAN};
  const struct command_entry *command = commands_find(name, length);
  if (!named && (!command || !find_parameter(target, text, err)))
    return command ? 0 : find_parameter(target, text, err);
  if (!command)
    return error_set(err, STATUS_USAGE, "%.60s: there is no command of that name", text);
  *target = (struct knob_target){.command = command, .value = equals ? strtod(equals + 1, &end) : (double)NAN};
  if (equals && (end == equals + 1 || *end || isspace((unsigned char)equals[1]) || !isfinite(target->value)))
    return error_set(err, STATUS_USAGE, "%.60s: a number is needed behind =", text);
  if (isnan(command->value) && !equals)
    return error_set(err, STATUS_USAGE, "%.60s: which one is needed, as in %s=3", text, command->name);
  return commands_check(command, target->value, err);
}

const char *knob_target_name(const struct knob_target *target, char name[PARAMETER_NAME_MAX]) {
  if (!target->command)
    return parameter_name(target->id, target->index, name);
  snprintf(name, PARAMETER_NAME_MAX, isnan(target->value) ? "command/%s" : "command/%s=%.9g", target->command->name,
           target->value);
  return name;
}
