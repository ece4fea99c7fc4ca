#include "app/options/options_table.h"

#include <string.h>

#include "app/options/option_values.h"
#include "app/options/spelling.h"
#include "app/platform/app_platform.h"
#include "unet/base/address.h"

/* Names of options in similar programs, for the message about an unknown option. */
static const struct {
  const char *theirs, *ours;
} other_names[] = {
    {"negative-prompt", "negative"},
    {"guidance-scale", "guidance"},
    {"cfg", "guidance"},
    {"cfg-scale", "guidance"},
    {"num-inference-steps", "steps"},
    {"denoise", "strength"},
    {"denoising-strength", "strength"},
    {"width", "size"},
    {"height", "size"},
    {"scheduler", "sampler"},
    {"grid", "spacing"},
    {"timestep-spacing", "spacing"},
};
enum { OTHER_NAMES = sizeof other_names / sizeof *other_names };

static const struct option *nearest_option(const char *name, unsigned commands) {
  const struct option *nearest = NULL;
  int best = 4;
  for (int i = 0; i < OTHER_NAMES; i++)
    if (!strcmp(name, other_names[i].theirs))
      name = other_names[i].ours;
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    if (option_is_hidden(option) || !(option->commands & commands))
      continue;
    int distance = spelling_distance(name, option->name);
    if (distance < best && 2 * distance < (int)strlen(option->name)) {
      best = distance;
      nearest = option;
    }
  }
  return nearest;
}

static const struct command_text *find_command(const char *name) {
  for (int i = 0; i < command_count; i++)
    if (!strcmp(command_table[i].name, name))
      return &command_table[i];
  return NULL;
}

static bool looks_like_source(const char *name) {
  return strpbrk(name, "./:") || !strcmp(name, "-") || platform_is_file(name);
}

/* Quotes a file's name for the shell where necessary. A name that is long or contains a quote becomes "FILE". */
static const char *quote(const char *name, char *word, size_t size) {
  bool plain = !name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=./:,@%")];
  if (strchr(name, '\'') || strlen(name) + 3 > size)
    return "FILE";
  snprintf(word, size, plain ? "%s" : "'%s'", name);
  return word;
}

static int unknown_command(const char *typed, struct error *err) {
  const struct shown shown = address_shown(typed);
  const char *name = shown.text;
  char word[120];
  if (looks_like_source(name)) {
    const char *source = quote(name, word, sizeof word);
    return usage_error(err,
                       "'%.60s' is no command: reverie live %s shows it, reverie render %s OUT writes it to a file",
                       name, source, source);
  }
  for (int i = 0; i < command_count; i++)
    if (spelling_distance(name, command_table[i].name) <= 2)
      return usage_error(err, "unknown command '%.60s': did you mean %s?", name, command_table[i].name);
  return usage_error(
      err, "unknown command '%.60s': the commands are live, render, bench, info and fetch (see reverie --help)", name);
}

static const struct option *find_long(const char *name, size_t length) {
  for (int i = 0; i < option_count; i++)
    if (strlen(option_table[i].name) == length && !memcmp(option_table[i].name, name, length))
      return &option_table[i];
  return NULL;
}

static const struct option *find_letter(char letter) {
  for (int i = 0; i < option_count; i++)
    if (letter && option_table[i].letter == letter)
      return &option_table[i];
  return NULL;
}

static bool takes_value(const struct option *option) {
  return option->metavar || option_choices(option);
}

struct parser {
  struct options *options;
  struct options_request *request;
  int argc, next;
  char **argv;
  /* the text given with each option of the table, "" for an option that takes none; NULL: the option was not given */
  const char *given[OPTIONS_MAX];
  const char *positional[1 + FILES_MAX];
  int positionals;
};

/* True if the option names one thing, such as a file, so that two different values are an error. If another option is
 * repeated, the last value is used, so that options in a shell alias can be overridden. */
static bool names_one(const struct option *option) {
  if (option->kind == OPTION_PARAMETER)
    return option->value != VALUE_WORD;
  return option->kind == OPTION_TEXT &&
         (option->value != VALUE_WORD || option->group == GROUP_INPUT || option->group == GROUP_REMOTE);
}

/* Stores the option's text in parser->given. Fails if the option was given before with another text and names_one is
 * true for it. */
static int note_given(struct parser *parser, const struct option *option, const char *text, struct error *err) {
  const char **given = &parser->given[option - option_table];
  bool hidden = !strcmp(option->name, "input-options"); /* the value may contain a password, and is not printed */
  if (*given && names_one(option) && strcmp(*given, text))
    return hidden ? usage_error(err, "--%s: it can be given once", option->name)
                  : usage_error(err, "--%s %.200s: it can be given once, and is %.200s already", option->name,
                                address_shown(text).text, **given ? address_shown(*given).text : "there");
  *given = text;
  return 0;
}

static int parse_value(struct parser *parser, const struct option *option, const char *attached, struct error *err) {
  const char *text = attached;
  if (option->optional && !text) {
    *(const char **)((char *)parser->options + option->offset) = "";
    return note_given(parser, option, "", err);
  }
  if (takes_value(option) && !text) {
    if (parser->next == parser->argc)
      return usage_error(err, "--%s needs a value: %s", option->name,
                         option_choices(option) ? option_choices(option) : option->metavar);
    text = parser->argv[parser->next++];
  }
  if (!takes_value(option) && attached)
    return usage_error(err, "--%s takes no value", option->name);
  if (note_given(parser, option, takes_value(option) ? text : "", err))
    return -1;
  return option_apply(option, parser->options, parser->request, text, err);
}

/* Reports an unknown option. If the argument contains a dot or a slash, a file may be meant, and the message says how
 * to write it. Long names are truncated. */
static int unknown_option(const char *option, const char *argument, struct error *err) {
  bool file = strpbrk(argument, "./") && !strchr(argument, '=');
  if (file)
    return usage_error(err, "unknown option %s; if a file is meant, write ./%.60s", option, argument);
  return usage_error(err, "unknown option %s (see reverie --help)", option);
}

static int parse_long(struct parser *parser, const char *argument, struct error *err) {
  const char *name = argument + 2, *equals = strchr(name, '=');
  size_t length = equals ? (size_t)(equals - name) : strlen(name);
  const struct option *option = find_long(name, length);
  if (option)
    return parse_value(parser, option, equals ? equals + 1 : NULL, err);
  char word[50];
  snprintf(word, sizeof word, "--%.*s", (int)(length < 48 ? length : 47), name);
  const struct option *nearest = nearest_option(word + 2, ~0u);
  if (nearest)
    return usage_error(err, "unknown option %s: did you mean --%s?", word, nearest->name);
  return unknown_option(word, argument, err);
}

/* Parses letters: "-yq" is the same as "-y -q", and "-s0.5" the same as "-s 0.5". */
static int parse_letters(struct parser *parser, const char *argument, struct error *err) {
  for (const char *letter = argument + 1; *letter; letter++) {
    const struct option *option = find_letter(*letter);
    if (!option) {
      char word[64];
      snprintf(word, sizeof word, "-%c in '%.40s'", *letter, argument);
      return unknown_option(word, argument, err);
    }
    if (takes_value(option))
      return parse_value(parser, option, letter[1] ? letter + 1 : NULL, err);
    if (parse_value(parser, option, NULL, err))
      return -1;
  }
  return 0;
}

static int parse_positional(struct parser *parser, const char *text, struct error *err) {
  if (parser->options->command == COMMAND_NONE && !strcmp(text, "help")) {
    parser->request->action = ACTION_HELP;
    return 0;
  }
  if (parser->options->command == COMMAND_NONE) {
    const struct command_text *command = find_command(text);
    if (!command)
      return unknown_command(text, err);
    parser->options->command = command->command;
    return 0;
  }
  if (parser->positionals == 1 + FILES_MAX)
    return usage_error(err, "'%.60s': too many arguments", text);
  parser->positional[parser->positionals++] = text;
  return 0;
}

static int parse_all(struct parser *parser, struct error *err) {
  bool only_positionals = false;
  while (parser->next < parser->argc) {
    const char *argument = parser->argv[parser->next++];
    int failed;
    if (!only_positionals && !strcmp(argument, "--")) {
      only_positionals = true;
      continue;
    }
    if (only_positionals || argument[0] != '-' || !argument[1])
      failed = parse_positional(parser, argument, err);
    else if (argument[1] == '-')
      failed = parse_long(parser, argument, err);
    else
      failed = parse_letters(parser, argument, err);
    if (failed)
      return -1;
  }
  return 0;
}

static int check_belongs(const struct parser *parser, const struct command_text *command, struct error *err) {
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    if (!parser->given[i] || option->commands & 1u << command->command)
      continue;
    for (int j = 0; j < command_count; j++)
      if (option->commands & 1u << command_table[j].command)
        return usage_error(err, "%s has no option --%s; it belongs to %s", command->name, option->name,
                           command_table[j].name);
  }
  return 0;
}

/* Refuses a second --model or --vae for commands other than live. In live, keys switch between them. */
static int check_choices(const struct options *options, const struct command_text *command, struct error *err) {
  if (command->command != COMMAND_LIVE && (options->models.count > 1 || options->vaes.count > 1))
    return usage_error(err, "%s takes one --%s; live steps through several", command->name,
                       options->models.count > 1 ? "model" : "vae");
  return 0;
}

/* Checks that --control-source is given exactly if a control reads it. */
static int check_control_source(const struct options *options, enum command command, struct error *err) {
  int seeing = 0;
  for (int i = 0; i < options->control_count; i++)
    if (options->values.control_source[i] && !seeing++ && !options->control_source && command != COMMAND_INFO)
      return usage_error(err, "--control %s@source: --control-source says which source that is",
                         map_word((enum map_kind)(options->values.control[i] - 1)));
  if (options->control_source && !seeing)
    return usage_error(err, "--control-source %.200s: no control sees it; --control KIND@source does",
                       options->control_source);
  return 0;
}

/* Checks that --blend names prompts that exist. In live all numbers are valid, because each one has a prompt. */
static int check_blend(const struct options *options, const struct command_text *command, struct error *err) {
  int count = options->prompt_count ? options->prompt_count : 1;
  for (int i = count + 1; i <= SLOT_PRESETS && command->command != COMMAND_LIVE; i++)
    if (options->values.blend[i - 1] > 0)
      return usage_error(err, "--blend %d: there %s %d prompt%s: give another with --prompt", i,
                         count == 1 ? "is" : "are", count, count == 1 ? "" : "s");
  return 0;
}

/* Returns the largest number of arguments, not counting options, that the command takes. If the options given reduce
 * that number, *why is set to the reason for the message. */
static int most_arguments(const struct options *options, const struct command_text *command, const char **why) {
  if (command->command != COMMAND_BENCH || options->steadiness)
    return command->arguments_max;
  *why = options->live ? ": --live shows one clip" : ": a clip is for bench --live or --steadiness";
  return options->live;
}

static int check_arguments(struct parser *parser, const struct command_text *command, struct error *err) {
  if (parser->positionals < command->arguments_min)
    return usage_error(err, "%s needs %s (see reverie %s --help)", command->name, command->arguments, command->name);
  const char *why = "";
  int most = most_arguments(parser->options, command, &why);
  if (parser->positionals > most)
    return usage_error(err, "%s: too many arguments from '%.60s' on%s", command->name,
                       address_shown(parser->positional[most]).text, why);
  for (int i = 0; i < parser->positionals; i++)
    if (!*parser->positional[i])
      return usage_error(err, "%s: an empty argument names nothing", command->name);
  parser->options->input = parser->positional[0];
  parser->options->output = parser->positional[1];
  bool several = command->command == COMMAND_FETCH || command->command == COMMAND_LIVE || parser->options->steadiness;
  if (several && parser->positionals) {
    parser->options->file_count = parser->positionals - 1;
    memcpy(parser->options->files, parser->positional + 1, sizeof parser->options->files);
  }
  if (command->command == COMMAND_INFO && parser->options->input && parser->options->values.model.given)
    return usage_error(err, "info: MODEL is given twice");
  if (parser->options->budget_floor_width && parser->options->budget_ms == 0)
    return usage_error(err, "--budget-floor: there is no --budget that could make the picture smaller");
  if (check_choices(parser->options, command, err) || check_control_source(parser->options, command->command, err))
    return -1;
  return check_blend(parser->options, command, err);
}

int options_parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err) {
  *options = (struct options){
      .quality = -1, .warmup = -1, .read_timeout = 2, .device = {.name = "auto", .precision = PRECISION_AUTO}};
  parameters_init(&options->values);
  *request = (struct options_request){ACTION_RUN, NULL};
  struct parser parser = {.options = options, .request = request, .argc = argc, .next = 1, .argv = argv};
  if (parse_all(&parser, err))
    return -1;
  if (request->action != ACTION_RUN)
    return 0;
  if (options->command == COMMAND_NONE)
    return usage_error(err, "a command is needed: live, render, bench, info or fetch (see reverie --help)");
  const struct command_text *command = &command_table[options->command - COMMAND_LIVE];
  if (check_belongs(&parser, command, err))
    return -1;
  return check_arguments(&parser, command, err);
}

int options_given(const struct parameters *values, enum parameter id) {
  int count = 0;
  while (count < parameter_instances(id) && parameters_text(values, id, count + 1))
    count++;
  return count;
}

void options_with(struct options *wish, const struct options *options, const struct parameters *values) {
  *wish = *options;
  wish->values = *values;
  wish->prompt_count = options_given(values, PARAMETER_PROMPT);
  wish->lora_count = options_given(values, PARAMETER_LORA);
  wish->control_count = 0;
  while (wish->control_count < CONTROLS_MAX && values->control[wish->control_count])
    wish->control_count++;
  wish->style_count = 0;
  for (int i = 1; i <= STYLES_MAX; i++)
    wish->style_count += parameters_text(values, PARAMETER_STYLE, i) != NULL;
  parameters_leave_to_model(&wish->values);
}
