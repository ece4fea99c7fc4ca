#include "app/remote/osc_names.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *osc_address(enum parameter id, int index, char address[OSC_ADDRESS_MAX]) {
  char name[PARAMETER_NAME_MAX];
  size_t used = (size_t)snprintf(address, OSC_ADDRESS_MAX, OSC_ROOT);
  for (const char *at = parameter_name(id, index, name); *at && used < OSC_ADDRESS_MAX - 1; at++)
    if (*at != ']')
      address[used++] = *at == '[' || *at == '.' ? '/' : *at;
  address[used] = 0;
  return address;
}

/* Converts an OSC address without its beginning /reverie/ to a parameter's name: "lora/1/weight" to
 * "lora[1].weight". */
static void read_parts(const char *parts, size_t length, char name[PARAMETER_NAME_MAX]) {
  size_t used = 0;
  bool number = false;
  for (size_t i = 0; i < length && used + 3 < PARAMETER_NAME_MAX; i++) {
    if (parts[i] != '/') {
      name[used++] = parts[i] == '_' ? '-' : parts[i];
      continue;
    }
    if (number)
      name[used++] = ']';
    number = isdigit((unsigned char)parts[i + 1]);
    name[used++] = number ? '[' : '.';
  }
  if (number)
    name[used++] = ']';
  name[used] = 0;
}

/* If the first *length bytes of `parts` end with "/" and this word, removes that ending by reducing *length, and
 * returns true. */
static bool take_last(const char *parts, size_t *length, const char *word) {
  size_t size = strlen(word);
  if (*length <= size + 1 || memcmp(parts + *length - size, word, size) || parts[*length - size - 1] != '/')
    return false;
  *length -= size + 1;
  return true;
}

static bool begins(const char *text, const char *word) {
  return !strncmp(text, word, strlen(word));
}

/* True for OSC addresses that only this program itself sends (errors and figures). Received messages with such
 * addresses are ignored, because some programs send back all messages that they receive. */
static bool is_answer(const char *parts) {
  return !strcmp(parts, "error") || begins(parts, "figures/");
}

/* If the name would be valid with an instance's number, replaces the message in err ("unknown name") by one that says
 * so. */
static void explain(const char *name, struct error *err) {
  char first[PARAMETER_NAME_MAX + 4], address[OSC_ADDRESS_MAX];
  struct error ignored;
  enum parameter id;
  int index;
  snprintf(first, sizeof first, "%s[1]", name);
  if (!parameter_find(first, &id, &index, &ignored))
    error_set(err, STATUS_USAGE, "%.40s: it has a number, as in %s", name, osc_address(id, index, address));
}

struct osc_name osc_read_name(const char *address, struct error *err) {
  static const struct {
    const char *word;
    enum osc_verb verb;
  } words[] = {{"list", OSC_LIST}, {"subscribe", OSC_SUBSCRIBE}, {"unsubscribe", OSC_UNSUBSCRIBE}};
  static const char command[] = "command/";
  struct osc_name name = {.verb = OSC_FOREIGN};
  if (!begins(address, OSC_ROOT))
    return name;
  const char *parts = address + strlen(OSC_ROOT);
  size_t length = strlen(parts);
  char whole[PARAMETER_NAME_MAX];
  if (is_answer(parts))
    return name;
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (!strcmp(parts, words[i].word)) {
      name.verb = words[i].verb;
      return name;
    }
  if (begins(parts, command)) {
    name.verb = OSC_COMMAND;
    read_parts(parts + sizeof command - 1, length - (sizeof command - 1), name.command);
    return name;
  }
  name.verb = take_last(parts, &length, "get")     ? OSC_GET
              : take_last(parts, &length, "range") ? OSC_RANGE
                                                   : OSC_PARAMETER;
  read_parts(parts, length, whole);
  if (length >= PARAMETER_NAME_MAX || parameter_find(whole, &name.id, &name.index, err)) {
    name.verb = OSC_UNKNOWN;
    if (length >= PARAMETER_NAME_MAX)
      error_set(err, STATUS_USAGE, "there is no parameter of that name");
    else
      explain(whole, err);
  }
  return name;
}
