/* Tests the texts made from the table of options: help, man page and completions are complete, and names agree with the
 * parameters. */
#include "tests/rigs/cmocka_all.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/keys.h"
#include "app/options/options.h"
#include "app/options/options_table.h"

static char *written(void (*help)(FILE *, enum command), enum command command, const char *kind) {
  char *text = NULL;
  size_t size = 0;
  struct error err;
  FILE *out = open_memstream(&text, &size);
  if (help)
    help(out, command);
  else
    assert_int_equal(options_generate(out, kind, &err), 0);
  fclose(out);
  return text;
}

/* True if the completion script offers the option. It also calls the program with an option for names of models that it
 * does not offer. */
static bool offers(const char *text, const char *option) {
  while ((text = strstr(text, option)))
    if (strncmp(text += strlen(option), " models 2>", 10) != 0)
      return true;
  return false;
}

/* True if a line of the help begins with this text and then a space or its end. */
static bool begins_a_line(const char *help, const char *line) {
  while ((help = strstr(help, line)))
    if (strchr(" \n", (help += strlen(line))[0]))
      return true;
  return false;
}

/* Every option is in the help of each command that has it and in no other, and in all generated files. */
static void test_texts_are_complete(void **state) {
  (void)state;
  for (int c = 0; c < command_count; c++) {
    char *help = written(options_help, command_table[c].command, NULL);
    for (int i = 0; i < option_count; i++) {
      const struct option *option = &option_table[i];
      char syntax[64];
      char behind = option->optional ? '[' : option->metavar || option_choices(option) ? ' ' : '\0';
      snprintf(syntax, sizeof syntax, " --%s%c", option->name, behind);
      bool wanted = !option_is_hidden(option) && option->commands & 1u << command_table[c].command;
      char line[80];
      snprintf(line, sizeof line, "\n      --%s", option->name);
      bool there = strstr(help, syntax) != NULL;
      if (wanted && !there)
        fail_msg("%s --help does not have --%s", command_table[c].name, option->name);
      if (!wanted && begins_a_line(help, line))
        fail_msg("%s --help has --%s", command_table[c].name, option->name);
    }
    assert_non_null(strstr(help, "130"));
    assert_true(!strstr(help, "\nKeys\n") == (command_table[c].command != COMMAND_LIVE));
    free(help);
  }
  const struct {
    const char *kind, *dashes;
  } kinds[] = {{"man", "\\-\\-"}, {"bash", "--"}, {"zsh", "--"}, {"fish", "-l "}};
  for (int k = 0; k < 4; k++) {
    char *text = written(NULL, COMMAND_NONE, kinds[k].kind);
    for (int i = 0; i < option_count; i++) {
      char name[96] = "", escaped[96] = "";
      for (const char *at = option_table[i].name; *at; at++)
        snprintf(escaped + strlen(escaped), sizeof escaped - strlen(escaped), k == 0 && *at == '-' ? "\\%c" : "%c",
                 *at);
      snprintf(name, sizeof name, "%s%s", kinds[k].dashes, escaped);
      if (!offers(text, name) == !option_is_hidden(&option_table[i]))
        fail_msg("%s: --%s is %s", kinds[k].kind, option_table[i].name,
                 !option_is_hidden(&option_table[i]) ? "missing" : "shown");
    }
    for (int c = 0; c < command_count; c++)
      assert_non_null(strstr(text, command_table[c].name));
    free(text);
  }
}

/* Each key of the window is in live's help and in the man page, under its label. */
static void test_keys_are_told(void **state) {
  (void)state;
  int count;
  const struct command_entry *entries = commands_table(&count);
  char *help = written(options_help, COMMAND_LIVE, NULL), *man = written(NULL, COMMAND_NONE, "man");
  for (int i = 0; i < count; i++) {
    if (!entries[i].label)
      continue;
    char line[120];
    snprintf(line, sizeof line, "\n  %-26s%s\n", entries[i].label, entries[i].help);
    assert_non_null(strstr(help, line));
    assert_non_null(strstr(man, entries[i].help));
  }
  free(help);
  free(man);
}

/* An option that sets a parameter has the parameter's name, because messages begin with it. */
static void test_options_are_parameters(void **state) {
  (void)state;
  int bound = 0;
  for (int i = 0; i < option_count; i++) {
    const struct option *option = &option_table[i];
    bool binds = option->kind == OPTION_PARAMETER || option->kind == OPTION_SEVERAL || option->kind == OPTION_PROMPT ||
                 option->kind == OPTION_LORA || option->kind == OPTION_CONTROL || option->kind == OPTION_STYLE ||
                 option->kind == OPTION_LAYERS || option->kind == OPTION_BLEND || option->kind == OPTION_LFO ||
                 option->kind == OPTION_ON || option->kind == OPTION_OFF;
    assert_int_equal(binds, option->parameter != PARAMETER_NONE);
    if (!binds || option->kind == OPTION_OFF)
      continue;
    const char *name = parameter_row(option->parameter)->name;
    assert_int_equal(strncmp(name, option->name, strcspn(name, "[")), 0);
    if (option->kind == OPTION_CONTROL) /* an option that takes a choice and more */
      continue;
    assert_true(!option->metavar == (parameter_row(option->parameter)->type == TYPE_CHOICE ||
                                     parameter_row(option->parameter)->type == TYPE_SWITCH));
    bound++;
  }
  assert_true(bound >= 17);
  char *man = written(NULL, COMMAND_NONE, "man");
  assert_non_null(strstr(man, "input picture (default: 1.5)"));
  assert_non_null(strstr(man, "(default: what suits the model)"));
  assert_non_null(strstr(man, "letterbox|stretch"));
  free(man);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_texts_are_complete),
      cmocka_unit_test(test_keys_are_told),
      cmocka_unit_test(test_options_are_parameters),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
