/* The filter's properties and settings: one for each parameter of the library, or one for each instance of a parameter.
 * At first only the most used properties are shown. The licence of the compiled plug-in stands in obs_filter.h. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <util/bmem.h>
#include <util/platform.h>

#include "app/library/obs_filter.h"

/* Settings that are no parameters of the library. */
static const char device_name[] = "device", threads_name[] = "threads", all_name[] = "all";

/* --- listing those of the library's parameters that OBS shows --- */

static bool is_one_of(const char *name, const char *const *names) {
  while (*names && strcmp(name, *names))
    names++;
  return *names;
}

/* Returns true if a user of OBS can set the parameter. Left out are parameters that have no use in the filter: it
 * always stretches the picture to the source's size, has no second source, and gets no style pictures. */
static bool is_of_use(const char *name) {
  static const char *const useless[] = {
      "fit", "control[].source", "ip-adapter", "image-encoder", "style[].weight", "style[].layers", "text-to-image",
      NULL};
  return !is_one_of(name, useless);
}

/* Returns the name of an instance of a parameter: "prompt[]" and instance 2 become "prompt[2]". instance 0: the
 * parameter has no instances. */
static char *instance_name(const char *name, int instance) {
  const char *bracket = strstr(name, "[]");
  char made[128];
  if (!bracket || !instance)
    return bstrdup(name);
  snprintf(made, sizeof made, "%.*s[%d]%s", (int)(bracket - name), name, instance, bracket + 2);
  return bstrdup(made);
}

struct obs_rows *rows_list(void) {
  struct obs_rows *rows = bzalloc(sizeof *rows);
  struct reverie_parameter about = {.size = sizeof about};
  for (int i = 0; i < reverie_parameter_count(); i++) {
    if (reverie_describe_parameter(i, &about, NULL) || !is_of_use(about.name))
      continue;
    int instances = about.instances ? about.instances : 1;
    rows->row = brealloc(rows->row, (size_t)(rows->count + instances) * sizeof *rows->row);
    for (int j = 0; j < instances; j++)
      rows->row[rows->count++] = (struct obs_row){instance_name(about.name, about.instances ? j + 1 : 0), about};
  }
  return rows;
}

void rows_free(struct obs_rows *rows) {
  for (int i = 0; i < rows->count; i++)
    bfree(rows->row[i].name);
  bfree(rows->row);
  bfree(rows);
}

/* --- words of a choice --- */

/* Copies word `number` of the choices "a|b|c" to `word`, cut off if it is longer than size - 1. Returns false if there
 * are fewer words. */
static bool choice_word(const char *choices, int number, char *word, size_t size) {
  for (; number && choices; number--) {
    choices = strchr(choices, '|');
    choices = choices ? choices + 1 : NULL;
  }
  if (choices)
    snprintf(word, size, "%.*s", (int)strcspn(choices, "|"), choices);
  return choices;
}

/* Returns the index of a word in the choices "a|b|c"; -1: the choices do not have the word. */
static int choice_number(const char *choices, const char *wanted) {
  char word[64];
  for (int i = 0; choice_word(choices, i, word, sizeof word); i++)
    if (!strcmp(word, wanted))
      return i;
  return -1;
}

/* --- defaults --- */

static void set_default(const struct obs_row *row, obs_data_t *settings) {
  char word[64] = "";
  switch (row->about.type) {
  case REVERIE_REAL:
    obs_data_set_default_double(settings, row->name, row->about.standard);
    break;
  case REVERIE_WHOLE:
    obs_data_set_default_int(settings, row->name, (long long)row->about.standard);
    break;
  case REVERIE_SWITCH:
    obs_data_set_default_bool(settings, row->name, row->about.standard != 0);
    break;
  case REVERIE_CHOICE:
    choice_word(row->about.choices, (int)row->about.standard, word, sizeof word);
    obs_data_set_default_string(settings, row->name, word);
    break;
  default:
    obs_data_set_default_string(settings, row->name, "");
  }
}

void set_defaults(obs_data_t *settings) {
  struct obs_rows *rows = rows_list();
  for (int i = 0; i < rows->count; i++)
    set_default(&rows->row[i], settings);
  rows_free(rows);
  obs_data_set_default_string(settings, device_name, "auto");
  obs_data_set_default_int(settings, threads_name, 0);
  obs_data_set_default_bool(settings, all_name, false);
}

/* --- the properties view --- */

/* Writes the unit of a number as OBS puts it behind the number: " steps"; "" for a number without a unit. */
static const char *suffix_of(const struct reverie_parameter *about, char *suffix, size_t size) {
  snprintf(suffix, size, "%s%s", about->unit ? " " : "", about->unit ? about->unit : "");
  return suffix;
}

static obs_property_t *add_whole(obs_properties_t *view, const struct obs_row *row) {
  char suffix[32];
  int least = (int)fmax(row->about.least, INT_MIN), most = (int)fmin(row->about.most, INT_MAX);
  obs_property_t *property = obs_properties_add_int(view, row->name, row->name, least, most, 1);
  obs_property_int_set_suffix(property, suffix_of(&row->about, suffix, sizeof suffix));
  return property;
}

/* OBS shows a slider for a number if all of the number's range is of use; otherwise users type the number. */
static obs_property_t *add_real(obs_properties_t *view, const struct obs_row *row) {
  const struct reverie_parameter *about = &row->about;
  char suffix[32];
  bool slides = about->low == about->least && about->high == about->most;
  double step = pow(10, -about->decimals);
  obs_property_t *property =
      slides ? obs_properties_add_float_slider(view, row->name, row->name, about->least, about->most, step)
             : obs_properties_add_float(view, row->name, row->name, about->least, about->most, step);
  obs_property_float_set_suffix(property, suffix_of(about, suffix, sizeof suffix));
  return property;
}

static obs_property_t *add_choice(obs_properties_t *view, const struct obs_row *row) {
  char word[64];
  obs_property_t *property =
      obs_properties_add_list(view, row->name, row->name, OBS_COMBO_TYPE_LIST, OBS_COMBO_FORMAT_STRING);
  for (int i = 0; choice_word(row->about.choices, i, word, sizeof word); i++)
    obs_property_list_add_string(property, word, word);
  return property;
}

/* Adds an OBS property to the view for a row of the list of parameters. OBS shows the parameter's help beside the
 * property. */
static void add_row(obs_properties_t *view, const struct obs_row *row) {
  const struct reverie_parameter *about = &row->about;
  char help[1024];
  obs_property_t *property;
  switch (about->type) {
  case REVERIE_REAL:
    property = add_real(view, row);
    break;
  case REVERIE_WHOLE:
    property = add_whole(view, row);
    break;
  case REVERIE_SWITCH:
    property = obs_properties_add_bool(view, row->name, row->name);
    break;
  case REVERIE_CHOICE:
    property = add_choice(view, row);
    break;
  default:
    property = obs_properties_add_text(view, row->name, row->name, OBS_TEXT_DEFAULT);
  }
  snprintf(help, sizeof help, "%s%s%s", about->help, about->from ? "; if not set: " : "",
           about->from ? about->from : "");
  obs_property_set_long_description(property, help);
}

/* Shows all properties or the most used ones, as the property "all" says. */
static bool show_or_hide(obs_properties_t *view, obs_property_t *changed, obs_data_t *settings) {
  static const char *const often[] = {"model", "prompt[1]", "negative",       "strength",  "steps",  "guidance", "seed",
                                      "size",  "lora[1]",   "lora[1].weight", device_name, all_name, NULL};
  (void)changed;
  bool all = obs_data_get_bool(settings, all_name);
  obs_property_t *property = obs_properties_first(view);
  while (property) {
    obs_property_set_visible(property, all || is_one_of(obs_property_name(property), often));
    obs_property_next(&property);
  }
  return true;
}

obs_properties_t *make_properties(void *filter) {
  struct obs_rows *rows = rows_list();
  obs_properties_t *view = obs_properties_create();
  (void)filter;
  for (int i = 0; i < rows->count; i++)
    add_row(view, &rows->row[i]);
  rows_free(rows);
  obs_property_t *device = obs_properties_add_text(view, device_name, device_name, OBS_TEXT_DEFAULT);
  obs_property_set_long_description(device, "auto, cpu, cuda or cuda:N");
  obs_property_t *threads = obs_properties_add_int(view, threads_name, threads_name, 0, 1024, 1);
  obs_property_set_long_description(threads, "threads of a CPU; 0: one for each core");
  obs_property_t *all = obs_properties_add_bool(view, all_name, "show all parameters");
  obs_property_set_modified_callback(all, show_or_hide);
  return view;
}

/* --- reading settings, and setting an engine to them --- */

static struct obs_value read_value(const struct obs_row *row, obs_data_t *settings) {
  struct obs_value value = {.given = obs_data_has_user_value(settings, row->name)};
  if (!value.given)
    return value;
  switch (row->about.type) {
  case REVERIE_REAL:
    value.number = obs_data_get_double(settings, row->name);
    break;
  case REVERIE_WHOLE:
    value.number = (double)obs_data_get_int(settings, row->name);
    break;
  case REVERIE_SWITCH:
    value.number = obs_data_get_bool(settings, row->name);
    break;
  case REVERIE_CHOICE:
    value.number = choice_number(row->about.choices, obs_data_get_string(settings, row->name));
    value.given = value.number >= 0;
    break;
  default:
    value.given = *obs_data_get_string(settings, row->name);
    value.text = value.given ? bstrdup(obs_data_get_string(settings, row->name)) : NULL;
  }
  return value;
}

struct wish *wish_read(const struct obs_rows *rows, obs_data_t *settings) {
  struct wish *wish = bzalloc(sizeof *wish);
  wish->count = rows->count;
  wish->value = bzalloc((size_t)rows->count * sizeof *wish->value);
  for (int i = 0; i < rows->count; i++)
    wish->value[i] = read_value(&rows->row[i], settings);
  wish->device = bstrdup(obs_data_get_string(settings, device_name));
  wish->threads = (int)obs_data_get_int(settings, threads_name);
  wish->time = os_gettime_ns();
  return wish;
}

void wish_free(struct wish *wish) {
  if (!wish)
    return;
  for (int i = 0; i < wish->count; i++)
    bfree(wish->value[i].text);
  bfree(wish->value);
  bfree(wish->device);
  bfree(wish);
}

bool value_equal(const struct obs_value *first, const struct obs_value *second) {
  bool same_text = first->text && second->text ? !strcmp(first->text, second->text) : first->text == second->text;
  return first->given == second->given && first->number == second->number && same_text;
}

bool wish_opens_anew(const struct obs_rows *rows, const struct wish *first, const struct wish *second) {
  for (int i = 0; i < rows->count; i++)
    if (rows->row[i].about.when == REVERIE_AT_OPENING && !value_equal(&first->value[i], &second->value[i]))
      return true;
  return strcmp(first->device, second->device) || first->threads != second->threads;
}

int value_apply(const struct obs_row *row, const struct obs_value *value, struct reverie *engine,
                struct reverie_error *error) {
  bool is_text = row->about.type == REVERIE_TEXT || row->about.type == REVERIE_SIZE;
  return value->given && !is_text ? reverie_set_number(engine, row->name, value->number, error)
                                  : reverie_set(engine, row->name, value->text, error);
}
