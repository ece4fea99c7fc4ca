#include "app/control/script.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/value_json.h"
#include "app/platform/app_platform.h"

enum ease { EASE_STEP, EASE_LINEAR, EASE_SMOOTH };

static const double time_max = 1e6; /* latest time at which a script may change a value, in seconds */

struct entry {
  double time, number;
  /* value of a text or size, in the form that parameters_parse reads; NULL: the value is a number, or the text is
   * removed */
  char *text;
  enum parameter id;
  int index, line;
  enum ease ease;
};

/* The entries of one parameter in the script: entries[first] to entries[first + count - 1], in order of time. */
struct track {
  int first, count;
  /* the parameter's value at time 0, from which "linear" and "smooth" lead to the value in the first line of the
   * script that sets the parameter */
  double from;
};

struct script {
  struct entry *entries;
  int count, room;
  struct track *tracks;
  int track_count;
  struct parameters values; /* temporary values, into which each new value of the script is parsed to check it */
};

static bool is_number(enum parameter id) {
  enum parameter_type type = parameter_row(id)->type;
  return type == TYPE_REAL || type == TYPE_WHOLE;
}

static bool has_text(enum parameter id) {
  enum parameter_type type = parameter_row(id)->type;
  return type == TYPE_TEXT || type == TYPE_SIZE;
}

/* --- reading a script's lines --- */

static int read_ease(struct entry *entry, const cJSON *value, struct error *err) {
  static const char *const words[] = {"step", "linear", "smooth"};
  const char *word = cJSON_GetStringValue(value);
  for (int i = 0; word && i < 3; i++)
    if (!strcmp(word, words[i])) {
      entry->ease = (enum ease)i;
      return i && !is_number(entry->id) ? error_set(err, STATUS_USAGE, "\"ease\": only numbers have one but step") : 0;
    }
  return error_set(err, STATUS_USAGE, "\"ease\": \"step\", \"linear\" or \"smooth\" is needed");
}

static int read_value(struct script *script, struct entry *entry, const cJSON *value, struct error *err) {
  char text[PARAMETER_TEXT_MAX];
  struct parameters *values = &script->values;
  if (!value)
    return error_set(err, STATUS_USAGE, "\"value\": there is none");
  if (value_from_json(values, entry->id, entry->index, value, err))
    return -1;
  entry->number = parameters_number(values, entry->id, entry->index);
  if (!has_text(entry->id) || cJSON_IsNull(value))
    return 0;
  entry->text = strdup(parameters_print(values, entry->id, entry->index, text, sizeof text));
  return entry->text ? 0 : error_set(err, STATUS_FAILED, "no memory for the script");
}

static int check_members(const cJSON *object, struct error *err) {
  static const char *const known[] = {"time", "parameter", "value", "ease"};
  const cJSON *member;
  cJSON_ArrayForEach(member, object) {
    bool found = false;
    for (int i = 0; i < 4; i++)
      found = found || !strcmp(member->string, known[i]);
    if (!found)
      return error_set(err, STATUS_USAGE, "\"%.40s\": there are time, parameter, value and ease", member->string);
  }
  return 0;
}

static int read_entry(struct script *script, struct entry *entry, const cJSON *object, struct error *err) {
  const cJSON *time = cJSON_GetObjectItemCaseSensitive(object, "time");
  const cJSON *ease = cJSON_GetObjectItemCaseSensitive(object, "ease");
  const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, "parameter"));
  if (!cJSON_IsObject(object) || check_members(object, err))
    return cJSON_IsObject(object) ? -1 : error_set(err, STATUS_USAGE, "an object in {} is needed");
  if (!cJSON_IsNumber(time) || !(time->valuedouble >= 0 && time->valuedouble <= time_max))
    return error_set(err, STATUS_USAGE, "\"time\": seconds from 0 to %g are needed", time_max);
  entry->time = time->valuedouble;
  if (!name)
    return error_set(err, STATUS_USAGE, "\"parameter\": a name is needed");
  if (parameter_find(name, &entry->id, &entry->index, err))
    return -1;
  if (parameter_row(entry->id)->need == NEED_START)
    return error_set(err, STATUS_USAGE, "%.40s: it cannot change while the program runs", name);
  if (ease && read_ease(entry, ease, err))
    return -1;
  return read_value(script, entry, cJSON_GetObjectItemCaseSensitive(object, "value"), err);
}

static int make_room(struct script *script, struct error *err) {
  if (script->count < script->room)
    return 0;
  int room = script->room ? 2 * script->room : 64;
  struct entry *entries = realloc(script->entries, (size_t)room * sizeof *entries);
  if (!entries)
    return error_set(err, STATUS_FAILED, "no memory for the script");
  script->entries = entries;
  script->room = room;
  return 0;
}

static int read_line(struct script *script, const char *line, int number, struct error *err) {
  const char *end = NULL;
  if (line[strspn(line, " \t\r\n")] == 0)
    return 0;
  if (script->count == SCRIPT_ENTRIES_MAX)
    return error_set(err, STATUS_USAGE, "there are at most %d entries", SCRIPT_ENTRIES_MAX);
  if (make_room(script, err))
    return -1;
  cJSON *object = cJSON_ParseWithOpts(line, &end, 0);
  struct entry *entry = &script->entries[script->count];
  *entry = (struct entry){.line = number};
  int status = !object || end[strspn(end, " \t\r\n")] ? error_set(err, STATUS_USAGE, "this is not one value of JSON")
                                                      : read_entry(script, entry, object, err);
  script->count += status == 0;
  cJSON_Delete(object);
  return status;
}

static int by_track(const void *a, const void *b) {
  const struct entry *first = a, *second = b;
  if (first->id != second->id)
    return first->id < second->id ? -1 : 1;
  if (first->index != second->index)
    return first->index - second->index;
  if (first->time < second->time || first->time > second->time)
    return first->time < second->time ? -1 : 1;
  return first->line - second->line;
}

static int make_tracks(struct script *script, struct error *err) {
  qsort(script->entries, (size_t)script->count, sizeof *script->entries, by_track);
  script->tracks = calloc((size_t)script->count, sizeof *script->tracks);
  if (!script->tracks)
    return error_set(err, STATUS_FAILED, "no memory for the script");
  for (int i = 0; i < script->count; i++) {
    const struct entry *entry = &script->entries[i];
    if (!i || entry->id != entry[-1].id || entry->index != entry[-1].index)
      script->tracks[script->track_count++].first = i;
    script->tracks[script->track_count - 1].count++;
  }
  return 0;
}

static int read_lines(struct script *script, FILE *file, const char *name, struct error *err) {
  static const char too_long[] = "a line has at most %d bytes";
  char line[SCRIPT_LINE_MAX];
  int number = 0;
  while (fgets(line, sizeof line, file)) {
    number++;
    bool whole = strchr(line, '\n') || feof(file);
    if (!whole || read_line(script, line, number, err)) {
      if (!whole)
        error_set(err, STATUS_USAGE, too_long, SCRIPT_LINE_MAX - 2);
      return error_prefix(err, "%.200s: line %d: ", name, number);
    }
  }
  if (ferror(file))
    return error_set(err, STATUS_USAGE, "%.200s: %s", name, strerror(errno));
  return script->count ? 0 : error_set(err, STATUS_USAGE, "%.200s: there is no entry in it", name);
}

int script_read(struct script **out, FILE *file, const char *name, struct error *err) {
  struct script *script = calloc(1, sizeof *script);
  *out = NULL;
  if (!script)
    return error_set(err, STATUS_FAILED, "no memory for the script");
  parameters_init(&script->values);
  if (read_lines(script, file, name, err) || make_tracks(script, err)) {
    script_free(&script);
    return -1;
  }
  script_begin(script, &script->values);
  *out = script;
  return 0;
}

int script_open(struct script **script, const char *path, const atomic_bool *stop, const struct log *log,
                struct error *err) {
  *script = NULL;
  FILE *file = platform_open_text(path, stop, log);
  if (!file && errno == EINTR)
    return error_set(err, STATUS_INTERRUPTED, "interrupted");
  if (!file)
    return error_set(err, STATUS_USAGE, "--script %.200s: %s", path, strerror(errno));
  int status = script_read(script, file, path, err);
  fclose(file);
  return status;
}

void script_free(struct script **pointer) {
  struct script *script = *pointer;
  if (!script)
    return;
  for (int i = 0; i < script->count; i++)
    free(script->entries[i].text);
  free(script->entries);
  free(script->tracks);
  free(script);
  *pointer = NULL;
}

bool script_track(const struct script *script, int number, enum parameter *id, int *index, double *last) {
  if (number >= script->track_count)
    return false;
  const struct track *track = &script->tracks[number];
  const struct entry *entry = &script->entries[track->first + track->count - 1];
  *id = entry->id;
  *index = entry->index;
  *last = entry->time;
  return true;
}

double script_length(const struct script *script) {
  double last = 0;
  for (int i = 0; i < script->count; i++)
    last = fmax(last, script->entries[i].time);
  return last;
}

/* --- playing: the values at a given time --- */

void script_begin(struct script *script, const struct parameters *values) {
  for (int i = 0; i < script->track_count; i++) {
    const struct entry *first = &script->entries[script->tracks[i].first];
    script->tracks[i].from = parameters_number(values, first->id, first->index);
  }
}

/* Returns how many entries of the track (one parameter's entries) have a time of at most `now`, in seconds. The entries
 * are sorted by time. */
static int count_passed(const struct script *script, const struct track *track, double now) {
  int low = 0, high = track->count;
  while (low < high) {
    int middle = (low + high) / 2;
    if (script->entries[track->first + middle].time <= now)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static double eased(const struct entry *entry, double from, double since, double now) {
  double part = (now - since) / (entry->time - since);
  if (entry->ease == EASE_SMOOTH)
    part = part * part * (3 - 2 * part);
  double number = from + (entry->number - from) * part;
  return parameter_row(entry->id)->type == TYPE_WHOLE ? round(number) : number;
}

/* Sets the parameter that an entry (a line of the script) names to `number` or, for a text or size, to the entry's
 * text. This cannot fail, because the entry was checked when the script was read. */
static void set(const struct entry *entry, double number, struct parameters *values) {
  struct error ignored;
  if (entry->text)
    parameters_parse(values, entry->id, entry->index, entry->text, &ignored);
  else if (parameter_row(entry->id)->type == TYPE_TEXT)
    parameters_set_text(values, entry->id, entry->index, NULL, &ignored);
  else
    parameters_set_number(values, entry->id, entry->index, number, &ignored);
}

void script_apply(const struct script *script, double before, double now, struct parameters *values) {
  for (int i = 0; i < script->track_count; i++) {
    const struct track *track = &script->tracks[i];
    int passed = count_passed(script, track, now);
    const struct entry *entries = &script->entries[track->first], *last = passed ? &entries[passed - 1] : NULL;
    const struct entry *next = passed < track->count ? &entries[passed] : NULL;
    if (next && next->ease != EASE_STEP)
      set(next, eased(next, last ? last->number : track->from, last ? last->time : 0, now), values);
    else if (last && last->time > before)
      set(last, last->number, values);
  }
}

/* --- recording changes of values as a script --- */

struct script_recorder {
  FILE *file;
  int lines;
  struct parameters values; /* for each parameter, the value that was last written to the file */
};

/* Returns true if changes of this parameter are recorded in a script. Three kinds of parameters are not: settings of
 * the window alone; parameters such as saved-preset, which would load other values from a file; and those that change
 * with the beat or with the file that is shown. */
static bool is_recorded(enum parameter id) {
  switch (id) {
  case PARAMETER_HUD:
  case PARAMETER_HELP:
  case PARAMETER_PAGE_CODE:
  case PARAMETER_FULLSCREEN:
  case PARAMETER_RECORDING:
  case PARAMETER_SAVED_PRESET:
  case PARAMETER_SCENE:
  case PARAMETER_CUED_PRESET:
  case PARAMETER_CUED_SCENE:
  case PARAMETER_CUED_SOURCE:
  case PARAMETER_BEAT:
  case PARAMETER_BAR_PHASE:
  case PARAMETER_CLIP_POSITION:
  case PARAMETER_CLIP_TIME_LEFT:
    return false;
  default:
    return parameter_row(id)->need != NEED_START;
  }
}

static int write_line(struct script_recorder *recorder, enum parameter id, int index, double now) {
  char name[PARAMETER_NAME_MAX], time[40];
  cJSON *object = cJSON_CreateObject(), *value = value_to_json(&recorder->values, id, index);
  snprintf(time, sizeof time, "%.3f", now);
  bool made = cJSON_AddRawToObject(object, "time", time) &&
              cJSON_AddStringToObject(object, "parameter", parameter_name(id, index, name)) &&
              cJSON_AddItemToObject(object, "value", value);
  char *line = made ? cJSON_PrintUnformatted(object) : NULL;
  int status = line && fprintf(recorder->file, "%s\n", line) > 0 ? 0 : -1;
  recorder->lines++;
  free(line);
  cJSON_Delete(object);
  return status;
}

static int fail(struct error *err) {
  return error_set(err, STATUS_OUTPUT, "the script cannot be written on: %s", strerror(errno));
}

static bool is_walking(const struct parameters *values, enum parameter id) {
  return id == PARAMETER_SEED_POSITION && values->seed_walk != 0;
}

static bool is_given(const struct parameters *values, enum parameter id, int index) {
  char text[2];
  return !has_text(id) || *parameters_print(values, id, index, text, sizeof text);
}

/* Returns true unless the parameter belongs to something that is not given: changes of lora[2].weight are recorded only
 * if lora[2] is given, and changes of control[1].low only if control[1] is. */
static bool has_owner(const struct parameters *values, enum parameter id, int index) {
  const char *name = parameter_row(id)->name, *end = strstr(name, "].");
  for (enum parameter owner = PARAMETER_NONE + 1; end && owner < PARAMETERS; owner++) {
    const struct parameter_row *row = parameter_row(owner);
    if (strlen(row->name) == (size_t)(end + 1 - name) && !strncmp(row->name, name, strlen(row->name)))
      return row->type == TYPE_TEXT ? is_given(values, owner, index) : parameters_number(values, owner, index) != 0;
  }
  return true;
}

/* Writes a line for each recorded parameter whose need (what must be done before a change has an effect) is in the set
 * `needs` (bits 1 << enum parameter_need). all: true writes every given value; false writes only values that changed
 * since they were last written. now: time in seconds. Returns 0, or -1 with err. */
static int write_values(struct script_recorder *recorder, const struct parameters *values, unsigned needs, bool all,
                        double now, struct error *err) {
  int before = recorder->lines;
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    for (int i = row->first; i < row->first + parameter_instances(id); i++) {
      bool due = all ? is_given(values, id, i) && has_owner(values, id, i)
                     : !parameters_same(values, &recorder->values, id, i);
      if (!due || !is_recorded(id) || !(needs >> row->need & 1) || is_walking(values, id))
        continue;
      if (recorder->lines == SCRIPT_ENTRIES_MAX)
        return error_set(err, STATUS_OUTPUT, "the script has %d entries, and no more are written", SCRIPT_ENTRIES_MAX);
      parameters_take(&recorder->values, values, id, i);
      if (write_line(recorder, id, i, now))
        return fail(err);
    }
  }
  return recorder->lines != before && fflush(recorder->file) ? fail(err) : 0;
}

int script_record(struct script_recorder **out, FILE *file, const struct parameters *values, struct error *err) {
  const unsigned needs = ~(1u << NEED_ENGINE | 1u << NEED_READING);
  struct script_recorder *recorder = calloc(1, sizeof *recorder);
  *out = recorder;
  if (!recorder) {
    fclose(file);
    return error_set(err, STATUS_FAILED, "no memory for the script");
  }
  recorder->file = file;
  recorder->values = *values;
  return write_values(recorder, values, needs, true, 0, err);
}

int script_note(struct script_recorder *recorder, const struct parameters *values, double now, struct error *err) {
  return write_values(recorder, values, ~0u, false, now, err);
}

int script_close(struct script_recorder **pointer, struct error *err) {
  struct script_recorder *recorder = *pointer;
  int status = recorder && fclose(recorder->file) ? fail(err) : 0;
  free(recorder);
  *pointer = NULL;
  return status;
}
