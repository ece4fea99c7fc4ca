#include "app/options/options_table.h"

#include <string.h>

#include "app/options/option_values.h"
#include "app/options/spelling.h"
#include "app/platform/app_platform.h"
#include "unet/base/address.h"

/* Names that options have in similar programs, for the message about an unknown option. */
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

/* Stores the name of a file in `word`, quoted for the shell where necessary. Returns `word`; or "FILE" if the name does
 * not fit or contains a quote. */
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
      err, "unknown command '%.60s': the commands are live, render, join, bench, info and fetch (see reverie --help)",
      name);
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
  /* for each option of the table: the text given with it; "": it was given and takes no text; NULL: it was not given */
  const char *given[OPTIONS_MAX];
  const char *positional[1 + FILES_MAX];
  int positionals;
};

/* True if an option names one thing, such as a file, so that giving it twice with different values on one command line
 * is an error. Of all other options the last value counts, so that options in a shell alias can be overridden. */
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
  bool hidden = !strcmp(option->name, "input-options"); /* the value may contain a password, so it is not printed */
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
  if (!takes_value(option) && attached && !option_is_switch(option))
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

/* Parses options that are single letters: "-yq" is the same as "-y -q", and "-s0.5" the same as "-s 0.5". */
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

/* Fails if a control reads the second input but --control-source is not given (except in info), or if --control-source
 * is given but no control reads it. */
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

/* Returns how many arguments besides options the command takes at most. If the options given reduce that number, *why
 * is set to the reason for the message. */
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
  bool joins = command->command == COMMAND_JOIN, renders = command->command == COMMAND_RENDER;
  if (!joins)
    parser->options->input = parser->positional[0];
  parser->options->output = parser->positional[joins ? 0 : renders ? parser->positionals - 1 : 1];
  bool several = joins || renders || command->command == COMMAND_FETCH || command->command == COMMAND_LIVE ||
                 parser->options->steadiness;
  if (several && parser->positionals) {
    parser->options->file_count = parser->positionals - (renders ? 2 : 1);
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

void options_init(struct options *options) {
  *options = (struct options){
      .quality = -1, .warmup = -1, .read_timeout = 2, .device = {.name = "auto", .precision = PRECISION_AUTO}};
  parameters_init(&options->values);
}

/* --- reading options from reverie.conf --- */

/* True for options such as --help, with which the program does something else instead of running the command. They are
 * accepted only on the command line. */
static bool is_request(const struct option *option) {
  return option->kind == OPTION_HELP || option->kind == OPTION_VERSION || option->kind == OPTION_GENERATE ||
         option->kind == OPTION_LIST_DEVICES;
}

/* Removes spaces at both ends of the text, in place. */
static char *trim(char *text) {
  text += strspn(text, " \t\r");
  size_t length = strlen(text);
  while (length && strchr(" \t\r", text[length - 1]))
    text[--length] = 0;
  return text;
}

static void cut_comment(char *line) {
  bool quoted = false;
  for (char *at = line; *at; at++) {
    quoted ^= *at == '"';
    if (*at == '#' && !quoted && (at == line || at[-1] == ' ' || at[-1] == '\t')) {
      *at = 0;
      return;
    }
  }
}

/* Removes the quotes around a value, in place. Returns NULL if the text begins with a quote but does not end with
 * one. */
static char *unquote(char *text) {
  size_t length = strlen(text);
  if (*text != '"')
    return text;
  if (length < 2 || text[length - 1] != '"')
    return NULL;
  text[length - 1] = 0;
  return text + 1;
}

/* Applies one line of reverie.conf. by_hand: for each option of the table, true if the command line gives it. */
static int parse_line(struct parser *parser, char *line, const bool by_hand[], struct error *err) {
  char *equals = strchr(line, '='), *value = equals ? unquote(trim(equals + 1)) : NULL;
  if (equals)
    *equals = 0;
  const char *name = trim(line);
  const struct option *option = find_long(name, strlen(name));
  if (!option || !(option->commands & 1u << COMMAND_LIVE) || option_is_hidden(option))
    return usage_error(err, "live has no option %.60s", name);
  if (is_request(option) || !strcmp(name, "no-config"))
    return usage_error(err, "%s is for the command line alone", name);
  if (equals && !value)
    return usage_error(err, "%s: a quote is missing", name);
  if (by_hand[option - option_table])
    return 0;
  if (takes_value(option) && !value && !option->optional)
    return usage_error(err, "%s needs a value, as in %s=...", name, name);
  return parse_value(parser, option, value, err);
}

static bool sets_loudness(const struct option *option) {
  return option->kind == OPTION_VERBOSE || option->kind == OPTION_QUIET;
}

/* Stores for each option of the table whether the command line gives it. If it gives one of -v and -q, both count
 * as given, because they set the same value. */
static void list_by_hand(const struct parser *parser, bool by_hand[]) {
  bool loudness = false;
  for (int i = 0; i < option_count; i++)
    loudness |= parser->given[i] && sets_loudness(&option_table[i]);
  for (int i = 0; i < option_count; i++)
    by_hand[i] = parser->given[i] || (loudness && sets_loudness(&option_table[i]));
}

static void parse_config(struct parser *parser, const struct options_config *config) {
  bool by_hand[OPTIONS_MAX];
  char *line = config->text;
  list_by_hand(parser, by_hand);
  for (int number = 1; *line; number++) {
    char *end = line + strcspn(line, "\n"), *next = *end ? end + 1 : end;
    struct options options_before = *parser->options;
    struct parser before = *parser;
    struct error err;
    *end = 0;
    cut_comment(line);
    char *words = trim(line);
    if (*words && parse_line(parser, words, by_hand, &err)) {
      *parser = before;
      *parser->options = options_before;
      config->complain(config->opaque, number, err.message);
    }
    line = next;
  }
}

/* Style pictures without --ip-adapter are for the model's own. Without --prompt they alone decide the look then. */
static int complete_styles(struct options *options, struct error *err) {
  struct parameters *values = &options->values;
  if (!options->style_count || values->ip_adapter.given)
    return 0;
  if (!options->prompt_count && parameters_set_text(values, PARAMETER_PROMPT, 1, PARAMETER_PROMPT_STYLED, err))
    return -1;
  options->prompt_count += !options->prompt_count;
  return parameters_set_text(values, PARAMETER_IP_ADAPTER, 0, PARAMETER_IP_ADAPTER_OWN, err);
}

int options_parse(struct options *options, struct options_request *request, int argc, char **argv, struct error *err) {
  return options_parse_with(options, request, argc, argv, NULL, err);
}

int options_parse_with(struct options *options, struct options_request *request, int argc, char **argv,
                       const struct options_config *config, struct error *err) {
  options_init(options);
  *request = (struct options_request){ACTION_RUN, NULL};
  struct parser parser = {.options = options, .request = request, .argc = argc, .next = 1, .argv = argv};
  if (parse_all(&parser, err))
    return -1;
  if (request->action != ACTION_RUN)
    return 0;
  if (options->command == COMMAND_NONE)
    return usage_error(err, "a command is needed: live, render, join, bench, info or fetch (see reverie --help)");
  if (config && options->command == COMMAND_LIVE && (config->always || !options->no_config))
    parse_config(&parser, config);
  if (complete_styles(options, err))
    return -1;
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
