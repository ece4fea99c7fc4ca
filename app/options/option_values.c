#include "app/options/option_values.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/lfo.h"
#include "app/control/settings.h"
#include "app/options/seconds.h"

/* Greatest number of a picture or frame. */
enum { NUMBER_MAX = 2147483646 };

int usage_error(struct error *err, const char *format, ...) {
  char text[400];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return error_set(err, STATUS_USAGE, "%s", text);
}

static int parse_whole(const struct option *option, const char *text, long long *value, struct error *err) {
  char *end;
  errno = 0;
  *value = strtoll(text, &end, 10);
  if (end == text || *end || isspace((unsigned char)*text) || errno || (double)*value < option->min ||
      (double)*value > option->max)
    return usage_error(err, "--%s %.40s: a whole number from %.0f to %.0f is needed", option->name, text, option->min,
                       option->max);
  return 0;
}

static int parse_real(const struct option *option, const char *text, double *value, struct error *err) {
  char *end;
  *value = strtod(text, &end);
  if (end == text || *end || isspace((unsigned char)*text) || !isfinite(*value) || *value < option->min ||
      *value > option->max)
    return usage_error(err, "--%s %.40s: a number from %g to %g is needed", option->name, text, option->min,
                       option->max);
  return 0;
}

/* Returns the exact rate of film or television that a decimal number is rounded from, such as 30000/1001 for 29.97, or
 * the number itself. */
static double exact_rate(double rate) {
  double whole = round(rate * 1.001);
  bool film = fabs(rate * 1.001 - whole) < 0.005 && fabs(rate - round(rate)) > 0.005;
  return film ? whole * 1000 / 1001 : rate;
}

/* Reads a rate in frames a second: a number, or a fraction of two whole numbers such as 30000/1001. */
static int parse_rate(const struct option *option, const char *text, double *value, struct error *err) {
  char *end = NULL;
  long num = isdigit((unsigned char)*text) ? strtol(text, &end, 10) : 0, den = 0;
  bool fraction = end && *end == '/' && isdigit((unsigned char)end[1]);
  if (fraction)
    den = strtol(end + 1, &end, 10);
  fraction = fraction && !*end && den > 0;
  double rate = fraction ? (double)num / (double)den : strtod(text, &end);
  if (end == text || *end || isspace((unsigned char)*text) || !(rate >= option->min && rate <= option->max))
    return usage_error(err, "--%s %.40s: a number from %g to %g is needed, or a fraction, as in 24000/1001",
                       option->name, text, option->min, option->max);
  *value = fraction ? rate : exact_rate(rate);
  return 0;
}

static int parse_budget(const struct option *option, const char *text, double *value, struct error *err) {
  if (strcmp(text, "display"))
    return parse_real(option, text, value, err);
  *value = BUDGET_DISPLAY;
  return 0;
}

static int parse_seconds(const struct option *option, const char *text, double *seconds, struct error *err) {
  double read;
  if (!seconds_read(text, &read) || read < option->min || read > option->max)
    return usage_error(err, "--%s %.40s: a time from %g to %g s is needed, as in 2, 500ms, 0:02 or 1:02:03.5",
                       option->name, text, option->min, option->max);
  *seconds = read;
  return 0;
}

static int parse_size(const struct option *option, const char *text, int size[2], struct error *err) {
  if (parameters_read_size(text, option->min, option->max, &size[0], &size[1]))
    return 0;
  return usage_error(err, "--%s %.40s: WIDTHxHEIGHT is needed, each from %.0f to %.0f, as in 512x288", option->name,
                     text, option->min, option->max);
}

/* Reads the number of a picture or frame. *end: the first character after the number. Returns false if `text` does not
 * begin with a digit, or the number is greater than NUMBER_MAX. */
static bool read_number(const char *text, long *number, char **end) {
  errno = 0;
  *number = isdigit((unsigned char)*text) ? strtol(text, end, 10) : -1;
  return *number >= 0 && !errno && *number <= NUMBER_MAX;
}

/* Reads a range written as "A", "A-" or "A-B"; if `step` is true, ":STEP" may follow. Returns false for other text. */
static bool read_range(const char *text, bool step, struct option_range *range) {
  char *end;
  *range = (struct option_range){.given = true, .step = 1};
  if (!read_number(text, &range->first, &end))
    return false;
  range->last = *end == '-' ? -1 : range->first;
  if (*end == '-' && isdigit((unsigned char)*++end) && !read_number(end, &range->last, &end))
    return false;
  if (step && *end == ':' && (!read_number(end + 1, &range->step, &end) || !range->step))
    return false;
  return !*end && (range->last < 0 || range->last >= range->first);
}

static int parse_range(const struct option *option, const char *text, struct option_range *range, struct error *err) {
  if (read_range(text, true, range))
    return 0;
  return usage_error(err, "--%s %.40s: numbers of pictures or frames are needed, as in 101-200, 101-, 7 or 1-99:2",
                     option->name, text);
}

static int parse_shard(const struct option *option, const char *text, struct option_shard *shard, struct error *err) {
  char *end = NULL;
  *shard = (struct option_shard){0};
  if (strchr(text, '-') && read_range(text, false, &shard->range) && shard->range.last >= 0)
    return 0;
  shard->range = (struct option_range){0};
  if (read_number(text, &shard->index, &end) && *end == '/' && read_number(end + 1, &shard->count, &end) && !*end &&
      shard->index >= 1 && shard->index <= shard->count)
    return 0;
  return usage_error(err,
                     "--%s %.40s: the number of a part and that of all are needed, as in 1/4 to 4/4, or numbers "
                     "of pictures or frames, as in 101-150",
                     option->name, text);
}

static int parse_output_size(const struct option *option, const char *text, int size[2], struct error *err) {
  if (strcmp(text, "source"))
    return parse_size(option, text, size, err);
  size[0] = size[1] = OUTPUT_SIZE_SOURCE;
  return 0;
}

static int parse_bytes(const struct option *option, const char *text, size_t *bytes, struct error *err) {
  char *end;
  double value = strtod(text, &end);
  static const char units[] = "KMG";
  const char *unit = *end ? strchr(units, toupper((unsigned char)*end)) : NULL;
  if (unit) {
    value *= (double)(1ull << (10 * (unit - units + 1)));
    end++;
  }
  if (!isdigit((unsigned char)*text) || *end || !(value >= option->min && value <= option->max))
    return usage_error(err, "--%s %.40s: bytes are needed, as in 800M or 2G", option->name, text);
  *bytes = (size_t)value;
  return 0;
}

static int parse_choice(const struct option *option, const char *text, unsigned *choice, struct error *err) {
  size_t length = strlen(text);
  const char *at = option->choices;
  for (unsigned i = 0; length; i++) {
    size_t size = strcspn(at, "|");
    if (size == length && !memcmp(at, text, size)) {
      *choice = i;
      return 0;
    }
    if (!at[size])
      break;
    at += size + 1;
  }
  return usage_error(err, "--%s %.40s: one of %s is needed", option->name, text, option->choices);
}

/* Parses `text` as the parameter's value. An error's message begins with the parameter's name, which is also the
 * option's name. */
static int set_parameter(const struct option *option, struct options *options, int index, const char *text,
                         struct error *err) {
  struct error why;
  if (!parameters_parse(&options->values, option->parameter, index, text, &why))
    return 0;
  return usage_error(err, "--%s", why.message);
}

static int refuse_empty(const struct option *option, const char *text, struct error *err) {
  return *text ? 0 : usage_error(err, "--%s: an empty %s makes no sense", option->name, option->metavar);
}

static int add_choice(const struct option *option, struct options *options, const char *text, struct error *err) {
  struct parameter_choices *choices = (struct parameter_choices *)((char *)options + option->offset);
  if (refuse_empty(option, text, err))
    return -1;
  if (choices->count == CHOICES_MAX)
    return usage_error(err, "--%s: at most %d can be given", option->name, CHOICES_MAX);
  choices->text[choices->count++] = text;
  bool begins = choices->count == 1 && option->parameter != PARAMETER_NONE;
  return begins ? set_parameter(option, options, 0, text, err) : 0;
}

static int add_prompt(const struct option *option, struct options *options, const char *text, struct error *err) {
  if (options->prompt_count == SLOT_PRESETS)
    return usage_error(err, "--prompt: at most %d can be given", SLOT_PRESETS);
  return set_parameter(option, options, ++options->prompt_count, text, err);
}

/* Finds WEIGHT in "FILE:WEIGHT". Returns a pointer to the colon before WEIGHT and stores the number in *weight; NULL:
 * no number follows the last colon. */
static const char *find_weight(const char *text, double *weight) {
  const char *colon = strrchr(text, ':');
  char *end;
  if (!colon || !colon[1] || isspace((unsigned char)colon[1]))
    return NULL;
  *weight = strtod(colon + 1, &end);
  return *end ? NULL : colon;
}

/* Sets the next unused instance of a text parameter from "FILE" or "FILE:WEIGHT", and the weight of the same instance
 * (the parameter weight_of). *count: number of instances set so far. */
static int add_weighted(const struct option *option, struct options *options, int *count, enum parameter weight_of,
                        const char *text, struct error *err) {
  double weight = 1;
  char file[PARAMETER_TEXT_MAX];
  const char *colon = find_weight(text, &weight);
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  int most = parameter_instances(option->parameter);
  if (!length)
    return usage_error(err, "--%s %.40s: FILE or FILE:WEIGHT is needed", option->name, text);
  if (*count == most)
    return usage_error(err, "--%s: at most %d can be given", option->name, most);
  snprintf(file, sizeof file, "%.*s", (int)(length < sizeof file ? length : sizeof file - 1), text);
  int index = ++*count;
  struct error why;
  if (colon && parameters_set_number(&options->values, weight_of, index, weight, &why))
    return usage_error(err, "--%s", why.message);
  return set_parameter(option, options, index, length < sizeof file ? file : text, err);
}

/* Sets control[index] to the kind of map that the first `length` characters of `text` name. "@source" after the kind
 * means that the map is made from the second source. */
static int set_kind(const struct option *option, struct options *options, int index, const char *text, size_t length,
                    struct error *err) {
  static const char source[] = "@source";
  size_t tail = sizeof source - 1;
  bool second = length > tail && !memcmp(text + length - tail, source, tail);
  size_t word = second ? length - tail : length;
  enum map_kind kind = map_find(text, word);
  if (kind == MAP_KINDS)
    return usage_error(err, "--%s %.*s: there is no such map: %s", option->name, (int)(length < 40 ? length : 40), text,
                       &MAP_WORDS[sizeof "none|" - 1]);
  if (parameters_set_number(&options->values, PARAMETER_CONTROL_SOURCE, index, second, err))
    return -1;
  return parameters_set_number(&options->values, PARAMETER_CONTROL, index, kind + 1, err);
}

static int set_control_model(const struct option *option, struct options *options, int index, const char *text,
                             struct error *err) {
  double weight = 1;
  char *end, file[PARAMETER_TEXT_MAX];
  struct error why;
  const char *colon = find_weight(text, &weight);
  size_t length = colon ? (size_t)(colon - text) : strlen(text);
  if (!length || (strtod(text, &end), end == text + strlen(text)))
    return usage_error(
        err,
        "--%s KIND:%.40s: a model is missing; KIND alone is the map, and a weight stands behind the model, "
        "as in canny:MODEL:0.8",
        option->name, text);
  snprintf(file, sizeof file, "%.*s", (int)(length < sizeof file ? length : sizeof file - 1), text);
  if (parameters_set_text(&options->values, PARAMETER_CONTROL_MODEL, index, length < sizeof file ? file : text, &why) ||
      (colon && parameters_set_number(&options->values, PARAMETER_CONTROL_WEIGHT, index, weight, &why)))
    return usage_error(err, "--%s", why.message);
  return 0;
}

/* Adds a control (map and network) from KIND, KIND:MODEL or KIND:MODEL:WEIGHT. Since MODEL may contain colons, only a
 * number after the last colon is the weight. */
static int add_control(const struct option *option, struct options *options, const char *text, struct error *err) {
  size_t word = strcspn(text, ":");
  int number = options->control_count + 1;
  if (number > CONTROLS_MAX)
    return usage_error(err, "--%s: at most %d controls can be given", option->name, CONTROLS_MAX);
  if (set_kind(option, options, number, text, word, err) ||
      (text[word] && set_control_model(option, options, number, text + word + 1, err)))
    return -1;
  options->control_count = number;
  return option->kind == OPTION_CONTROL_OFF
             ? parameters_set_number(&options->values, PARAMETER_CONTROL_ON, number, 0, err)
             : 0;
}

static void list_values(const struct options *options, char *words, size_t size) {
  enum parameter list[CONTROL_VALUES_MAX];
  int count = values_of_control(&options->values, options->control_count, list);
  size_t used = 0;
  snprintf(words, size, "nothing, without a model");
  for (int i = 0; i < count && used < size; i++)
    used += (size_t)snprintf(words + used, size - used, "%s%s", i ? ", " : "",
                             strrchr(parameter_row(list[i])->name, '.') + 1);
}

/* Sets a value of a control from "NAME=NUMBER", the first `length` characters of `text`. The control is the one that
 * the last --control on the command line has added. */
static int set_control_value(struct options *options, const char *text, size_t length, struct error *err) {
  char part[80], words[120], *end;
  enum parameter list[CONTROL_VALUES_MAX];
  struct error why;
  int index = options->control_count, count = values_of_control(&options->values, index, list);
  snprintf(part, sizeof part, "%.*s", (int)(length < sizeof part ? length : sizeof part - 1), text);
  char *equals = strchr(part, '=');
  if (equals)
    *equals++ = 0;
  for (int i = 0; equals && i < count; i++)
    if (!strcmp(part, strrchr(parameter_row(list[i])->name, '.') + 1)) {
      double number = strtod(equals, &end);
      if (end == equals || *end || isspace((unsigned char)*equals))
        return usage_error(err, "--control-with %s=%s: a number is needed", part, equals);
      return parameters_set_number(&options->values, list[i], index, number, &why)
                 ? usage_error(err, "--control-with %s=%s: %s", part, equals, why.message)
                 : 0;
    }
  list_values(options, words, sizeof words);
  return usage_error(err, "--control-with %s: of %s there may be said: %s", part,
                     map_word((enum map_kind)(options->values.control[index - 1] - 1)), words);
}

static int parse_control_values(struct options *options, const char *text, struct error *err) {
  const char *end;
  if (!options->control_count)
    return usage_error(err, "--control-with %.40s: it follows the --control that it is of", text);
  do {
    end = text + strcspn(text, ",");
    if (set_control_value(options, text, (size_t)(end - text), err))
      return -1;
    text = end + 1;
  } while (*end);
  return 0;
}

static int add_lfo(struct options *options, const char *text, struct error *err) {
  if (options->lfo_count == LFOS_MAX)
    return usage_error(err, "--lfo: at most %d can be given", LFOS_MAX);
  struct error why;
  return lfo_read(&options->values, ++options->lfo_count, text, &why) ? usage_error(err, "%s", why.message) : 0;
}

static int set_all(const struct option *option, struct options *options, const char *text, struct error *err) {
  for (int i = 1; i <= parameter_instances(option->parameter); i++) {
    struct error why;
    if (parameters_parse(&options->values, option->parameter, i, text, &why))
      return usage_error(err, "--%s %.40s: one of %s is needed", option->name, text, option_choices(option));
  }
  return 0;
}

/* Sets the weight of one prompt in the blend from "N" or "N:WEIGHT", the first `length` characters of `text`. */
static int add_share(const struct option *option, struct options *options, const char *text, size_t length,
                     struct error *err) {
  char part[40], *end = part;
  struct error why;
  snprintf(part, sizeof part, "%.*s", (int)(length < sizeof part ? length : sizeof part - 1), text);
  long index = isdigit((unsigned char)*part) ? strtol(part, &end, 10) : 0;
  if (index < 1 || index > SLOT_PRESETS || (*end && (*end != ':' || !end[1])))
    return usage_error(err,
                       "--blend %s: the number of a prompt, from 1 to %d, and its weight are needed, as in 1:0.7,3:0.3",
                       part, SLOT_PRESETS);
  if (parameters_parse(&options->values, option->parameter, (int)index, *end ? end + 1 : "1", &why))
    return usage_error(err, "--%s", why.message);
  return 0;
}

static int parse_blend(const struct option *option, struct options *options, const char *text, struct error *err) {
  for (int i = 1; i <= SLOT_PRESETS; i++)
    parameters_set_number(&options->values, option->parameter, i, 0, err);
  const char *end;
  do {
    end = text + strcspn(text, ",");
    if (add_share(option, options, text, (size_t)(end - text), err))
      return -1;
    text = end + 1;
  } while (*end);
  return 0;
}

/* Checks the value of --generate and stores it as text. Completion scripts of shells use the value "models" to ask for
 * the names of models. */
static int request_generate(const struct option *option, struct options_request *request, const char *text,
                            struct error *err) {
  unsigned choice;
  request->action = strcmp(text, "models") ? ACTION_GENERATE : ACTION_NAMES;
  request->generate = text;
  return parse_choice(option, text, &choice, err);
}

/* Stores in *on whether a switch is turned on. text: what the user wrote after the '='; NULL: the user wrote no '=',
 * which means yes. Returns 0, or -1 with err. */
static int parse_switch(const struct option *option, const char *text, bool *on, struct error *err) {
  *on = !text || !strcmp(text, "yes");
  if (*on || !strcmp(text, "no"))
    return 0;
  return usage_error(err, "--%s=%.40s: yes or no is needed, or no value, which means yes", option->name, text);
}

int option_apply(const struct option *option, struct options *options, struct options_request *request,
                 const char *text, struct error *err) {
  void *field = (char *)options + option->offset;
  long long whole = 0;
  bool on;
  switch (option->kind) {
  case OPTION_FLAG:
    return parse_switch(option, text, field, err);
  case OPTION_TEXT:
    if (refuse_empty(option, text, err))
      return -1;
    *(const char **)field = text;
    return 0;
  case OPTION_PARAMETER:
    if (parameter_row(option->parameter)->type == TYPE_TEXT && option->parameter != PARAMETER_NEGATIVE &&
        refuse_empty(option, text, err))
      return -1;
    return set_parameter(option, options, 0, text, err);
  case OPTION_SEVERAL:
  case OPTION_TEXTS:
    return add_choice(option, options, text, err);
  case OPTION_PROMPT:
    return add_prompt(option, options, text, err);
  case OPTION_LORA:
    return add_weighted(option, options, &options->lora_count, PARAMETER_LORA_WEIGHT, text, err);
  case OPTION_CONTROL:
  case OPTION_CONTROL_OFF:
    return add_control(option, options, text, err);
  case OPTION_CONTROL_WITH:
    return parse_control_values(options, text, err);
  case OPTION_STYLE:
    return add_weighted(option, options, &options->style_count, PARAMETER_STYLE_WEIGHT, text, err);
  case OPTION_LFO:
    return add_lfo(options, text, err);
  case OPTION_LAYERS:
    return set_all(option, options, text, err);
  case OPTION_BLEND:
    return parse_blend(option, options, text, err);
  case OPTION_ON:
  case OPTION_OFF:
    if (parse_switch(option, text, &on, err))
      return -1;
    return parameters_set_number(&options->values, option->parameter, 0, on == (option->kind == OPTION_ON), err);
  case OPTION_INT:
    if (parse_whole(option, text, &whole, err))
      return -1;
    *(int *)field = (int)whole;
    return 0;
  case OPTION_LONG:
    if (parse_whole(option, text, &whole, err))
      return -1;
    *(long *)field = (long)whole;
    return 0;
  case OPTION_REAL:
    return parse_real(option, text, field, err);
  case OPTION_BUDGET:
    return parse_budget(option, text, field, err);
  case OPTION_RATE:
    return parse_rate(option, text, field, err);
  case OPTION_SECONDS:
    return parse_seconds(option, text, field, err);
  case OPTION_RANGE:
    return parse_range(option, text, field, err);
  case OPTION_SHARD:
    return parse_shard(option, text, field, err);
  case OPTION_SIZE:
    return parse_size(option, text, field, err);
  case OPTION_OUTPUT_SIZE:
    return parse_output_size(option, text, field, err);
  case OPTION_BYTES:
    return parse_bytes(option, text, field, err);
  case OPTION_CHOICE:
    return parse_choice(option, text, field, err);
  case OPTION_VERBOSE:
    options->verbose += options->verbose < 2;
    return 0;
  case OPTION_QUIET:
    options->verbose = -1;
    return 0;
  case OPTION_HELP:
    request->action = ACTION_HELP;
    return 0;
  case OPTION_VERSION:
    request->action = ACTION_VERSION;
    return 0;
  case OPTION_LIST_DEVICES:
    request->action = ACTION_DEVICES;
    return 0;
  case OPTION_GENERATE:
    return request_generate(option, request, text, err);
  }
  return -1;
}
