#include "app/control/key_bindings.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LINE_MAX_BYTES = 1024 };
static const char ignored[] = "ignore", control[] = "Ctrl+";

/* --- names of keys --- */

static const struct {
  const char *name;
  int key;
} names[] = {{"SPACE", ' '},      {"SHARP", '#'},        {"ENTER", KEY_ENTER},     {"TAB", KEY_TAB},
             {"ESC", KEY_ESCAPE}, {"BS", KEY_BACKSPACE}, {"DEL", KEY_DELETE},      {"UP", KEY_UP},
             {"DOWN", KEY_DOWN},  {"LEFT", KEY_LEFT},    {"RIGHT", KEY_RIGHT},     {"HOME", KEY_HOME},
             {"END", KEY_END},    {"PGUP", KEY_PAGE_UP}, {"PGDWN", KEY_PAGE_DOWN}, {"F1", KEY_F1},
             {"F11", KEY_F11}};
enum { NAMES = sizeof names / sizeof *names };

int key_find(const char *name) {
  size_t length = strlen(control);
  if (isgraph((unsigned char)*name) && !name[1])
    return *name;
  if (!strncmp(name, control, length) && name[length] && !name[length + 1])
    return islower((unsigned char)name[length]) || isdigit((unsigned char)name[length]) ? KEY_CONTROL + name[length]
                                                                                        : KEY_NONE;
  for (int i = 0; i < NAMES; i++)
    if (!strcmp(names[i].name, name))
      return names[i].key;
  return KEY_NONE;
}

const char *key_name(int key, char name[KEY_NAME_MAX]) {
  bool held = key > KEY_CONTROL;
  snprintf(name, KEY_NAME_MAX, "%s%c", held ? control : "", held ? key - KEY_CONTROL : key);
  for (int i = 0; i < NAMES; i++)
    if (names[i].key == key)
      snprintf(name, KEY_NAME_MAX, "%s", names[i].name);
  return name;
}

/* --- reading key bindings from the text of keys.conf --- */

/* Cuts the first word off the line; spaces may come before the word. Returns the word; "": the line has no further
 * word. */
static char *take_word(char **line) {
  char *word = *line + strspn(*line, " \t");
  char *end = word + strcspn(word, " \t");
  *line = *end ? end + 1 : end;
  *end = 0;
  return word;
}

/* Removes a comment, which begins with # at the line's beginning or after a space, and spaces at both ends. */
static char *trim(char *line) {
  for (char *at = line; (at = strchr(at, '#')); at++)
    if (at == line || isspace((unsigned char)at[-1])) {
      *at = 0;
      break;
    }
  line += strspn(line, " \t");
  size_t length = strlen(line);
  while (length && isspace((unsigned char)line[length - 1]))
    line[--length] = 0;
  return line;
}

static bool read_number(const char *text, double *number) {
  char *end;
  *number = strtod(text, &end);
  return end != text && !*end && isfinite(*number) && !isspace((unsigned char)*text);
}

static int read_command(struct key_binding *binding, const char *value, struct error *err) {
  const struct command_entry *command = binding->command;
  if (*value && !read_number(value, &binding->number))
    return error_set(err, STATUS_USAGE, "%s %.40s: a number is needed", command->name, value);
  bool chosen = isnan(command->value),
       fits = binding->number >= 1 && binding->number <= SLOT_PRESETS && binding->number == trunc(binding->number);
  if (chosen && !fits)
    return error_set(err, STATUS_USAGE, "%s: a number from 1 to %d is needed", command->name, SLOT_PRESETS);
  return 0;
}

static int read_parameter(struct key_binding *binding, const char *value, struct error *err) {
  struct parameters values;
  char name[PARAMETER_NAME_MAX];
  const struct parameter_row *row = parameter_row(binding->id);
  bool number = row->type == TYPE_REAL || row->type == TYPE_WHOLE, adds = !strncmp(value, "+=", 2),
       takes = !strncmp(value, "-=", 2);
  parameter_name(binding->id, binding->index, name);
  if (row->need == NEED_START)
    return error_set(err, STATUS_USAGE, "%s is set when the program starts", name);
  if (adds || takes) {
    if (!number || !read_number(value + 2 + strspn(value + 2, " \t"), &binding->number))
      return error_set(err, STATUS_USAGE, "%s %.40s: %s", name, value,
                       number ? "a number is needed behind =" : "only to a number something can be added");
    binding->number *= takes ? -1 : 1;
    return 0;
  }
  binding->has_value = *value;
  if (strlen(value) >= sizeof binding->words)
    return error_set(err, STATUS_USAGE, "%s: a value of at most %zu bytes is needed", name, sizeof binding->words - 1);
  strcpy(binding->words, value);
  if (!*value && row->type != TYPE_SWITCH && row->type != TYPE_CHOICE)
    return error_set(err, STATUS_USAGE, "%s: a value is needed", name);
  parameters_init(&values);
  return *value ? parameters_parse(&values, binding->id, binding->index, value, err) : 0;
}

/* Reads what the key does: the name of a command or parameter, and its value in the rest of the line. Returns 0, or -1
 * with err. */
static int read_target(struct key_binding *binding, char *line, struct error *err) {
  const char *name = take_word(&line);
  line += strspn(line, " \t");
  binding->number = (double)NAN;
  if (!*name)
    return error_set(err, STATUS_USAGE, "what the key does is missing: KEY COMMAND-or-PARAMETER [VALUE]");
  if (!strcmp(name, ignored))
    return *line ? error_set(err, STATUS_USAGE, "ignore takes no value") : 0;
  binding->command = commands_find(name, strlen(name));
  struct error why;
  bool parameter = !parameter_find(name, &binding->id, &binding->index, &why);
  /* If a command and a parameter have this name, such as "freeze", the parameter is meant if a value follows. Otherwise
   * the command is meant, which switches the parameter on or off. */
  if (binding->command && !(parameter && *line))
    return binding->id = PARAMETER_NONE, read_command(binding, line, err);
  binding->command = NULL;
  if (!parameter)
    return error_set(err, STATUS_USAGE, "there is no command or parameter \"%.40s\"", name);
  return read_parameter(binding, line, err);
}

static int read_line(struct key_bindings *bindings, char *line, struct error *err) {
  struct key_binding binding = {0};
  const char *name = take_word(&line);
  binding.key = key_find(name);
  if (binding.key == KEY_NONE)
    return error_set(err, STATUS_USAGE, "there is no key \"%.40s\"", name);
  if (read_target(&binding, line, err))
    return -1;
  int at = 0;
  while (at < bindings->count && bindings->entry[at].key != binding.key)
    at++;
  if (at == KEY_BINDINGS_MAX)
    return error_set(err, STATUS_USAGE, "at most %d keys can be bound", KEY_BINDINGS_MAX);
  bindings->entry[at] = binding;
  bindings->count += at == bindings->count;
  return 0;
}

void key_bindings_read(struct key_bindings *bindings, const char *text,
                       void (*complain)(void *opaque, int line, const char *why), void *opaque) {
  for (int number = 1; *text; number++) {
    char line[LINE_MAX_BYTES];
    size_t length = strcspn(text, "\n");
    struct error err;
    int status = 0;
    snprintf(line, sizeof line, "%.*s", (int)(length < sizeof line ? length : sizeof line - 1), text);
    char *words = trim(line);
    if (length >= sizeof line)
      status = error_set(&err, STATUS_USAGE, "the line is too long");
    else if (*words)
      status = read_line(bindings, words, &err);
    if (status)
      complain(opaque, number, err.message);
    text += length + (text[length] == '\n');
  }
}

const struct key_binding *key_bindings_find(const struct key_bindings *bindings, int key) {
  for (int i = 0; bindings && i < bindings->count; i++)
    if (bindings->entry[i].key == key)
      return &bindings->entry[i];
  return NULL;
}

/* --- doing what the binding of a pressed key says --- */

/* Switches a switch on or off, or sets a choice to its next word; after the last word comes the first. */
static void turn_over(const struct key_binding *binding, struct live_state *state, int64_t now_ns) {
  double low, high, number = parameters_number(&state->settings.values, binding->id, binding->index);
  char words[PARAMETER_NAME_MAX], name[PARAMETER_NAME_MAX];
  parameter_span(binding->id, &low, &high);
  live_set_number(state, binding->id, binding->index, number < high ? number + 1 : low, now_ns);
  live_notice(state, now_ns, "%s %s", parameter_name(binding->id, binding->index, name),
              parameters_show(&state->settings.values, binding->id, binding->index, words, sizeof words));
}

bool key_bindings_run(const struct key_binding *binding, struct live_state *state, bool repeat, int64_t now_ns) {
  const struct command_entry *command = binding->command;
  bool adds = !command && !isnan(binding->number), repeats = command ? command->repeats : adds;
  if (repeat && !repeats)
    return false;
  if (command)
    return commands_call(state, command, isnan(binding->number) ? command->value : binding->number, now_ns);
  if (binding->id == PARAMETER_NONE)
    return false;
  if (adds)
    parameters_add(&state->settings.values, binding->id, binding->index, binding->number);
  else if (binding->has_value)
    live_set_words(state, binding->id, binding->index, binding->words, now_ns);
  else
    turn_over(binding, state, now_ns);
  return true;
}

const char *key_binding_describe(const struct key_binding *binding, char *text, size_t size) {
  char name[PARAMETER_NAME_MAX];
  if (!binding->command && binding->id == PARAMETER_NONE)
    snprintf(text, size, "%s", ignored);
  else if (binding->command && isnan(binding->number))
    snprintf(text, size, "%s", binding->command->name);
  else if (binding->command)
    snprintf(text, size, "%s %g", binding->command->name, binding->number);
  else if (!isnan(binding->number))
    snprintf(text, size, "%s %s= %g", parameter_name(binding->id, binding->index, name),
             binding->number < 0 ? "-" : "+", fabs(binding->number));
  else
    snprintf(text, size, "%s%s%s", parameter_name(binding->id, binding->index, name), binding->has_value ? " " : "",
             binding->words);
  return text;
}
