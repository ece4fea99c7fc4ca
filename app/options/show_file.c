#include "app/options/show_file.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/value_json.h"
#include "app/options/options_table.h"
#include "unet/base/address.h"
#include "unet/base/json.h"
#include "app/platform/app_platform.h"
#include "unet/base/platform.h"
#include "unet/base/text_file.h"

/* The arguments that the functions which read a show file pass to each other. */
struct reading {
  struct show_file *show;
  char *folder; /* full path of the show file's folder */
  bool trusted;
  show_complain *complain;
  void *opaque;
};

PRINTF_LIKE(2, 3) static void complain(const struct reading *reading, const char *format, ...);

static void complain(const struct reading *reading, const char *format, ...) {
  char why[400];
  va_list args;
  va_start(args, format);
  vsnprintf(why, sizeof why, format, args);
  va_end(args);
  reading->complain(reading->opaque, why);
}

/* Appends to an allocated text. Returns 0, or -1 if memory is short. */
static int append(char **text, const char *more) {
  size_t before = *text ? strlen(*text) : 0, length = strlen(more);
  char *longer = realloc(*text, before + length + 1);
  if (!longer)
    return -1;
  memcpy(longer + before, more, length + 1);
  *text = longer;
  return 0;
}

/* --- names of files in a show file, which are relative to its folder --- */

static bool lies_in(const char *path, const char *folder) {
  size_t length = strlen(folder);
  return !strncmp(path, folder, length) && (path[length] == '/' || (length && folder[length - 1] == '/'));
}

/* Returns the path of a file that the show file names; the caller frees it. It is the real path if the file lies in the
 * show file's folder; otherwise the name as written, if the show is trusted. NULL: the file may not be opened, which
 * was reported, or memory is short. what: the JSON member with the name, for the report. */
static char *find_name(const struct reading *reading, const char *what, const char *name) {
  char *joined = *name == '/' ? strdup(name) : text_path(reading->folder, name);
  char *real = joined ? platform_real_path(joined) : NULL;
  free(joined);
  if (real && lies_in(real, reading->folder))
    return real;
  free(real);
  if (reading->trusted)
    return strdup(name);
  reading->show->left_out = true;
  complain(reading, "%s: %.200s does not lie in the show's folder; --trust-show opens it", what,
           address_name(name).text);
  return NULL;
}

char *show_file_name(const char *name) {
  char *real = platform_real_path(name);
  struct platform_file file;
  if (real && !platform_open(&file, real)) {
    bool regular = file.regular;
    platform_close(&file);
    if (regular)
      return real;
  }
  free(real);
  return strdup(name);
}

static bool is_line(const char *text) {
  for (; *text; text++)
    if ((unsigned char)*text < ' ' || *text == '"' || *text == 127)
      return false;
  return true;
}

/* --- the options of live in a show file --- */

/* True if the option changes nothing but pictures and windows, so that even a show file from a stranger may set it.
 * Only values that are no file names may be set this way. */
static bool is_harmless(const struct option *option) {
  bool group = option->group == GROUP_PICTURE || option->group == GROUP_INPUT || option->group == GROUP_WINDOW ||
               option->parameter != PARAMETER_NONE;
  switch (option->kind) {
  case OPTION_PARAMETER:
    return parameter_row(option->parameter)->type != TYPE_TEXT ||
           parameter_row(option->parameter)->need == NEED_ENCODING;
  case OPTION_PROMPT:
  case OPTION_LFO:
  case OPTION_LAYERS:
  case OPTION_BLEND:
  case OPTION_ON:
  case OPTION_OFF:
    return true;
  case OPTION_FLAG:
  case OPTION_REAL:
  case OPTION_RATE:
  case OPTION_SECONDS:
  case OPTION_BUDGET:
  case OPTION_SIZE:
  case OPTION_CHOICE:
  case OPTION_INT:
    return group;
  default:
    return false;
  }
}

/* True if the option's value is the name of a file that is read. */
static bool names_input(const struct option *option) {
  bool group = option->group == GROUP_PICTURE || option->group == GROUP_INPUT;
  bool kind = option->kind == OPTION_TEXT || option->kind == OPTION_TEXTS || option->kind == OPTION_SEVERAL ||
              option->kind == OPTION_PARAMETER;
  bool leads_on = !strcmp(option->name, "playlist") || !strcmp(option->name, "script"); /* they name other files */
  return group && kind && !leads_on && (option->value == VALUE_FILE || option->value == VALUE_MODEL);
}

static bool is_usual_model(const char *name) {
  return !strcmp(name, PARAMETER_MODEL_BUILT_IN) || !strcmp(name, PARAMETER_VAE_OWN);
}

/* Adds a line "option = value" to the text of the show file's options, after checking the value. */
static void add_line(const struct reading *reading, const struct option *option, const cJSON *value) {
  char number[40], *found = NULL;
  const char *text = cJSON_IsTrue(value) ? "yes" : cJSON_IsFalse(value) ? "no" : cJSON_GetStringValue(value);
  if (cJSON_IsNumber(value)) {
    snprintf(number, sizeof number, "%.15g", value->valuedouble);
    text = number;
  }
  if (!text || !is_line(text)) {
    complain(reading, "options: %s: a number, true, false or a text of one line without quotes is needed",
             option->name);
    return;
  }
  if (names_input(option) && !is_usual_model(text)) {
    found = find_name(reading, option->name, text);
    if (!found)
      return;
    text = found;
  }
  char **lines = &reading->show->options;
  bool alone = option->optional && (!*text || cJSON_IsTrue(value)); /* the option is written without a value */
  if (append(lines, option->name) || append(lines, alone ? "" : "=\"") || append(lines, alone ? "" : text) ||
      append(lines, alone ? "\n" : "\"\n"))
    complain(reading, "options: %s: no memory", option->name);
  free(found);
}

static void read_option(const struct reading *reading, const cJSON *value) {
  static const char *const of_command_line[] = {"show-file", "trust-show", "no-config", "yes"};
  const struct option *option = NULL;
  for (int i = 0; i < option_count && !option; i++)
    if (!strcmp(option_table[i].name, value->string) && !option_is_hidden(&option_table[i]))
      option = &option_table[i];
  for (size_t i = 0; i < sizeof of_command_line / sizeof *of_command_line; i++)
    if (!strcmp(value->string, of_command_line[i]))
      option = NULL;
  if (!option) {
    complain(reading, "options: a show has no option %.60s", value->string);
    return;
  }
  if (!reading->trusted && !is_harmless(option) && !names_input(option)) {
    reading->show->left_out = true;
    complain(reading, "options: %s is left out: only --trust-show lets a show file set it", option->name);
    return;
  }
  const cJSON *one;
  if (!cJSON_IsArray(value))
    add_line(reading, option, value);
  else
    cJSON_ArrayForEach(one, value) add_line(reading, option, one);
}

/* --- the sources, parameter values and key bindings in a show file --- */

/* Returns an in or out point of a source in seconds; 0: there is none, or it is no valid time, which was reported. */
static double read_point(const struct reading *reading, const cJSON *source, const char *name, enum parameter id) {
  const cJSON *value = cJSON_GetObjectItemCaseSensitive(source, name);
  double most = parameter_row(id)->max, seconds = cJSON_IsNumber(value) ? value->valuedouble : -1;
  if (seconds >= 0 && seconds <= most)
    return seconds;
  if (value)
    complain(reading, "sources: \"%s\": seconds from 0 to %.0f are needed", name, most);
  return 0;
}

static void read_source(const struct reading *reading, const cJSON *value) {
  struct show_file *show = reading->show;
  const cJSON *named = cJSON_IsObject(value) ? cJSON_GetObjectItemCaseSensitive(value, "name") : value;
  const char *name = cJSON_GetStringValue(named);
  if (!name || !*name) {
    complain(reading, "sources: names are needed");
  } else if (show->source_count == FILES_MAX) {
    complain(reading, "sources: there are at most %d", FILES_MAX);
  } else {
    const char *found = find_name(reading, "sources", name);
    if (!found)
      return;
    show->points[show->source_count] = (struct option_points){
        .in_s = read_point(reading, value, "in", PARAMETER_CLIP_IN),
        .out_s = read_point(reading, value, "out", PARAMETER_CLIP_OUT),
    };
    show->sources[show->source_count++] = found;
  }
}

/* True for parameters that a show file does not keep, because their values hold only for the moment, such as the
 * position in a clip or the blackout. */
static bool is_passing(enum parameter id) {
  static const enum parameter passing[] = {PARAMETER_CLIP_POSITION, PARAMETER_CLIP_TIME_LEFT, PARAMETER_BEAT,
                                           PARAMETER_BAR_PHASE,     PARAMETER_MIDI_LEARN,     PARAMETER_HELP,
                                           PARAMETER_RECORDING,     PARAMETER_SCENE,          PARAMETER_CUED_PRESET,
                                           PARAMETER_CUED_SCENE,    PARAMETER_SAVED_PRESET,   PARAMETER_FREEZE,
                                           PARAMETER_BYPASS,        PARAMETER_BLACKOUT,       PARAMETER_PAUSE,
                                           PARAMETER_TEST_CARD,     PARAMETER_CORNER_EDIT,    PARAMETER_CUED_SOURCE};
  for (size_t i = 0; i < sizeof passing / sizeof *passing; i++)
    if (passing[i] == id)
      return true;
  return false;
}

/* True if the parameter's text is the name of a file. */
static bool is_file(enum parameter id) {
  const struct parameter_row *row = parameter_row(id);
  return row->type == TYPE_TEXT && row->need != NEED_ENCODING && id != PARAMETER_LFO && id != PARAMETER_MIDI_LEARN &&
         id != PARAMETER_SCENE && id != PARAMETER_CUED_SCENE;
}

static void read_value(const struct reading *reading, const cJSON *value) {
  enum parameter id;
  int index;
  struct error err;
  struct parameters *values = &reading->show->values;
  if (parameter_find(value->string, &id, &index, &err)) {
    complain(reading, "values: %s", err.message);
    return;
  }
  const char *name = cJSON_GetStringValue(value);
  bool names = is_file(id) && name && !is_usual_model(name);
  char *found = names ? find_name(reading, value->string, name) : NULL;
  if (names ? !found || parameters_set_text(values, id, index, found, &err)
            : value_from_json(values, id, index, value, &err)) {
    if (!names || found)
      complain(reading, "values: %s", err.message);
  }
  free(found);
}

/* Adds a line that binds a key, as in keys.conf. In a show file that is not trusted, keys may set numbers and prompts,
 * but no other texts, because those are names of files. */
static void read_key(const struct reading *reading, const cJSON *value) {
  const char *line = cJSON_GetStringValue(value);
  char name[PARAMETER_NAME_MAX] = "";
  enum parameter id = PARAMETER_NONE;
  int index;
  struct error ignored;
  if (!line || strchr(line, '\n')) {
    complain(reading, "keys: lines as in keys.conf are needed");
    return;
  }
  sscanf(line, "%*s %47s", name);
  if (!reading->trusted && !parameter_find(name, &id, &index, &ignored) && is_file(id)) {
    reading->show->left_out = true;
    complain(reading, "keys: %s is left out: only --trust-show lets a show file name files by keys", name);
    return;
  }
  if (append(&reading->show->keys, line) || append(&reading->show->keys, "\n"))
    complain(reading, "keys: no memory");
}

/* Copies the MIDI bindings without a check, because they name no files: they only set numbers and run commands. */
static void read_midi(const struct reading *reading, const cJSON *root) {
  const cJSON *midi = cJSON_GetObjectItemCaseSensitive(root, "midi");
  char *text = cJSON_IsObject(midi) ? cJSON_PrintUnformatted(midi) : NULL;
  if (midi && (!text || append(&reading->show->midi, text)))
    complain(reading, "\"midi\": an object as in midi.json is needed");
  free(text);
}

static void read_member(const struct reading *reading, const cJSON *root, const char *name, bool list,
                        void read(const struct reading *reading, const cJSON *value)) {
  const cJSON *member = cJSON_GetObjectItemCaseSensitive(root, name), *value;
  if (!member)
    return;
  if (list ? !cJSON_IsArray(member) : !cJSON_IsObject(member)) {
    complain(reading, "\"%s\": %s is needed", name, list ? "a list" : "an object");
    return;
  }
  cJSON_ArrayForEach(value, member) read(reading, value);
}

/* --- reading a show file from its first to its last member --- */

static int read_root(const struct reading *reading, const char *text, struct error *err) {
  cJSON *root;
  if (json_parse(&root, text, NULL, "the show file", err))
    return -1;
  if (!cJSON_IsObject(root)) {
    cJSON_Delete(root);
    return error_set(err, STATUS_USAGE, "this is no JSON object");
  }
  read_member(reading, root, "options", false, read_option);
  read_member(reading, root, "sources", true, read_source);
  read_member(reading, root, "values", false, read_value);
  read_member(reading, root, "keys", true, read_key);
  read_midi(reading, root);
  cJSON_Delete(root);
  return 0;
}

int show_file_read(struct show_file **out, const char *text, const char *folder, bool trusted, show_complain *told,
                   void *opaque, struct error *err) {
  struct show_file *show = calloc(1, sizeof *show);
  char *real = platform_real_path(folder);
  int status = -1;
  if (!show || append(&show->options, "") || append(&show->keys, "") || append(&show->midi, "")) {
    error_set(err, STATUS_FAILED, "no memory for the show file");
  } else if (!real) {
    error_set(err, STATUS_USAGE, "%.200s: there is no such folder", folder);
  } else {
    parameters_init(&show->values);
    status = read_root(&(struct reading){show, real, trusted, told, opaque}, text, err);
  }
  free(real);
  if (status)
    show_file_free(&show);
  *out = show;
  return status;
}

void show_file_free(struct show_file **pointer) {
  struct show_file *show = *pointer;
  if (!show)
    return;
  for (int i = 0; i < show->source_count; i++)
    free((char *)(uintptr_t)show->sources[i]);
  free(show->options);
  free(show->keys);
  free(show->midi);
  free(show);
  *pointer = NULL;
}

void show_file_apply(const struct show_file *show, struct options *options) {
  struct parameters given = options->values;
  struct options before = *options;
  if (!options->input && !options->playlist && show->source_count) {
    options->input = show->sources[0];
    options->points = show->points;
    options->file_count = show->source_count - 1;
    memcpy(options->files, show->sources + 1, sizeof *show->sources * (size_t)options->file_count);
  }
  parameters_apply(&options->values, &show->values);
  parameters_apply(&options->values, &given);
  before = *options;
  options_with(options, &before, &before.values);
}

cJSON *show_file_source(const char *name, double in_s, double out_s) {
  if (in_s <= 0 && out_s <= 0)
    return cJSON_CreateString(name);
  cJSON *source = cJSON_CreateObject();
  cJSON_AddStringToObject(source, "name", name);
  cJSON_AddNumberToObject(source, "in", in_s);
  cJSON_AddNumberToObject(source, "out", out_s);
  return source;
}

cJSON *show_file_values(const struct parameters *values) {
  struct parameters *standard = malloc(sizeof *standard);
  cJSON *object = standard ? cJSON_CreateObject() : NULL;
  if (standard)
    parameters_init(standard);
  for (enum parameter id = PARAMETER_NONE + 1; object && id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    char name[PARAMETER_NAME_MAX];
    for (int i = row->first; !is_passing(id) && i < row->first + parameter_instances(id); i++) {
      const char *file = is_file(id) ? parameters_text(values, id, i) : NULL;
      char *whole = file ? show_file_name(file) : NULL;
      if (!parameters_same(values, standard, id, i))
        cJSON_AddItemToObject(object, parameter_name(id, i, name),
                              whole ? cJSON_CreateString(whole) : value_to_json(values, id, i));
      free(whole);
    }
  }
  free(standard);
  return object;
}
