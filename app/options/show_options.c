/* Writes the options of live into a show file. */
#include <stdlib.h>
#include <string.h>

#include "app/options/options_table.h"
#include "app/options/show_file.h"

static const void *field(const struct options *options, const struct option *option) {
  return (const char *)options + option->offset;
}

static cJSON *name_json(const struct option *option, const char *text) {
  char *whole = option->value == VALUE_WORD ? strdup(text) : show_file_name(text);
  cJSON *json = whole ? cJSON_CreateString(whole) : NULL;
  free(whole);
  return json;
}

static cJSON *list_json(const struct option *option, const struct parameter_choices *list) {
  cJSON *json = cJSON_CreateArray();
  for (int i = 0; i < list->count; i++)
    cJSON_AddItemToArray(json, name_json(option, list->text[i]));
  return json;
}

static cJSON *size_json(const int size[2]) {
  char text[32];
  snprintf(text, sizeof text, "%dx%d", size[0], size[1]);
  return cJSON_CreateString(text);
}

static cJSON *choice_json(const struct option *option, int chosen) {
  const char *word = option_choices(option);
  for (; word && chosen > 0; chosen--)
    word = strchr(word, '|') ? strchr(word, '|') + 1 : NULL;
  char *text = word ? strndup(word, strcspn(word, "|")) : NULL;
  cJSON *json = text ? cJSON_CreateString(text) : NULL;
  free(text);
  return json;
}

static cJSON *real_json(double number) {
  return number == BUDGET_DISPLAY ? cJSON_CreateString("display") : cJSON_CreateNumber(number);
}

/* Returns the option's value as JSON; NULL: it is the default, or show files do not store this option. */
static cJSON *option_json(const struct option *option, const struct options *options, const struct options *standard) {
  const void *at = field(options, option), *usual = field(standard, option);
  switch (option->kind) {
  case OPTION_FLAG:
    return *(const bool *)at != *(const bool *)usual ? cJSON_CreateBool(*(const bool *)at) : NULL;
  case OPTION_TEXT:
    return *(const char *const *)at ? name_json(option, *(const char *const *)at) : NULL;
  case OPTION_SEVERAL:
  case OPTION_TEXTS:
    return ((const struct parameter_choices *)at)->count ? list_json(option, at) : NULL;
  case OPTION_INT:
    return *(const int *)at != *(const int *)usual ? cJSON_CreateNumber(*(const int *)at) : NULL;
  case OPTION_LONG:
    return *(const long *)at != *(const long *)usual ? cJSON_CreateNumber((double)*(const long *)at) : NULL;
  case OPTION_REAL:
  case OPTION_RATE:
  case OPTION_SECONDS:
  case OPTION_BUDGET:
    return *(const double *)at != *(const double *)usual ? real_json(*(const double *)at) : NULL;
  case OPTION_SIZE:
    return memcmp(at, usual, 2 * sizeof(int)) ? size_json(at) : NULL;
  case OPTION_BYTES:
    return *(const size_t *)at != *(const size_t *)usual ? cJSON_CreateNumber((double)*(const size_t *)at) : NULL;
  case OPTION_CHOICE:
    return *(const int *)at != *(const int *)usual ? choice_json(option, *(const int *)at) : NULL;
  default:
    return NULL;
  }
}

/* True if a show file does not keep the option with this number: because it makes sense on the command line alone, or
 * because it is another name of an option that is written. */
static bool is_left_out(int number) {
  static const char *const names[] = {"show-file", "trust-show", "no-config", "yes", "frames", "duration"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(option_table[number].name, names[i]))
      return true;
  for (int i = 0; i < number; i++)
    if (option_table[i].kind == option_table[number].kind && option_table[i].offset == option_table[number].offset &&
        option_table[number].offset)
      return true;
  return option_is_hidden(&option_table[number]);
}

cJSON *show_file_options(const struct options *options) {
  struct options *standard = malloc(sizeof *standard);
  cJSON *object = standard ? cJSON_CreateObject() : NULL;
  if (standard)
    options_init(standard);
  for (int i = 0; object && i < option_count; i++) {
    bool of_live = option_table[i].commands & 1u << COMMAND_LIVE;
    cJSON *json = of_live && !is_left_out(i) ? option_json(&option_table[i], options, standard) : NULL;
    if (json)
      cJSON_AddItemToObject(object, option_table[i].name, json);
  }
  free(standard);
  return object;
}
