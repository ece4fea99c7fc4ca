#include "app/remote/midi_bind.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "unet/base/json.h"

enum {
  FINE_MAX = 16383,
  COARSE_MAX = 127,
  /* A controller with 14 bits sends two messages for one movement. If more than this many nanoseconds lie between two
   * messages, they are from two knobs, because a person needs longer to move from one knob to another. */
  PAIR_NS = 20000000,
  /* After a knob has set a parameter, the values passed to knobs_take may be old for up to this many nanoseconds.
   * During this time, a value that differs from the knob's does not mean that somebody else has changed it. */
  SETTLED_NS = 300000000,
  /* Numbers of MIDI controllers with a special meaning: data entry and the selection of (non-)registered parameters.
   * The numbers from CHANNEL_MODE on are commands to the device and not knobs. */
  DATA_ENTRY = 6,
  DATA_ENTRY_FINE = 38,
  NRPN_FINE = 98,
  NRPN_COARSE = 99,
  RPN_FINE = 100,
  RPN_COARSE = 101,
  CHANNEL_MODE = 120,
};
/* largest difference between a knob's position and the parameter's value, as a fraction of the range, with which the
 * knob may set the value at once */
static const double NEAR = 0.02;

static const char *const kind_words[] = {"", "cc", "cc14", "nrpn", "note", "program", "pressure", "bend"};
static const int number_max[] = {0, 119, 31, FINE_MAX, 127, 127, 0, 0};
enum { KNOB_KINDS = sizeof kind_words / sizeof *kind_words };

/* Writes a knob in the form that the file of bindings has, such as "cc 21". Returns `name`. */
static const char *print_knob(const struct knob *knob, char name[PARAMETER_NAME_MAX]) {
  const char *word = kind_words[knob->kind];
  if (number_max[knob->kind])
    snprintf(name, PARAMETER_NAME_MAX, "%s %d", word, knob->number);
  else
    snprintf(name, PARAMETER_NAME_MAX, "%s", word);
  return name;
}

const char *knob_name(const struct knob *knob, char name[PARAMETER_NAME_MAX]) {
  size_t used = strlen(print_knob(knob, name));
  snprintf(name + used, PARAMETER_NAME_MAX - used, " of channel %d", knob->channel);
  return name;
}

void knobs_learn(struct knobs *knobs, const struct knob_target *target) {
  knobs->learning = target != NULL;
  if (target)
    knobs->wanted = *target;
}

static bool knob_equal(const struct knob *a, const struct knob *b) {
  return a->kind == b->kind && a->channel == b->channel && a->number == b->number;
}

static struct knob_binding *find(struct knobs *knobs, const struct knob *knob) {
  for (int i = 0; i < knobs->count; i++)
    if (knob_equal(&knobs->binding[i].knob, knob))
      return &knobs->binding[i];
  return NULL;
}

/* The movement of a knob that a message reports. */
struct use {
  struct knob knob;
  double at; /* position to which the knob was moved, 0 to 1 */
  int value; /* the value that the message contains, 0 to 127; used for knobs of kind KNOB_CC */
  bool released;
};

/* Reads a controller message that selects or sets a non-registered parameter (NRPN). Two messages select an NRPN, and
 * one or two more set it. A message that selects a registered parameter ends the selection. Returns false for all other
 * messages. If the message only selects, use->knob.kind is KNOB_NONE. */
static bool read_nrpn(struct knobs *knobs, const struct midi_message *message, struct use *use) {
  int number = message->number, upper;
  uint8_t *part = knobs->channel[message->channel - 1].nrpn;
  bool *chosen = &knobs->channel[message->channel - 1].nrpn_chosen;
  uint8_t *coarse = &knobs->channel[message->channel - 1].nrpn_coarse;
  if (number >= NRPN_FINE && number <= RPN_COARSE) {
    if (number >= NRPN_FINE && number <= NRPN_COARSE)
      part[number == NRPN_FINE] = (uint8_t)message->value;
    *chosen = number <= NRPN_COARSE && !(part[0] == COARSE_MAX && part[1] == COARSE_MAX);
    *coarse = 0;
    return true;
  }
  if (!*chosen || (number != DATA_ENTRY && number != DATA_ENTRY_FINE))
    return false;
  upper = number == DATA_ENTRY ? message->value : *coarse;
  *coarse = (uint8_t)upper;
  use->knob = (struct knob){KNOB_NRPN, message->channel, part[0] << 7 | part[1]};
  use->at = number == DATA_ENTRY ? (double)upper / COARSE_MAX : (double)(upper << 7 | message->value) / FINE_MAX;
  return true;
}

/* Reads a controller message. If the controllers `number` and `number` + 32 are bound as one knob with 14 bits, the
 * position is computed from both. The message with the upper 7 bits comes first, and is read as a position of 7
 * bits. */
static void read_controller(struct knobs *knobs, const struct midi_message *message, struct use *use) {
  uint8_t *coarse = knobs->channel[message->channel - 1].coarse;
  int number = message->number;
  const struct knob pair = {KNOB_FINE, message->channel, number & 31};
  bool paired = number < 64 && find(knobs, &pair);
  use->knob = paired ? pair : (struct knob){KNOB_CC, message->channel, number};
  use->at = (double)message->value / COARSE_MAX;
  if (paired && number >= 32)
    use->at = (double)(coarse[number - 32] << 7 | message->value) / FINE_MAX;
  if (number < 32)
    coarse[number] = (uint8_t)message->value;
}

/* Finds out which knob a message moves, and to which position. Returns false if the message moves no knob. */
static bool read_use(struct knobs *knobs, const struct midi_message *message, struct use *use) {
  *use = (struct use){.at = (double)message->value / COARSE_MAX, .value = message->value};
  switch (message->kind) {
  case MIDI_CONTROLLER:
    if (message->number >= CHANNEL_MODE)
      return false;
    if (!read_nrpn(knobs, message, use))
      read_controller(knobs, message, use);
    return use->knob.kind != KNOB_NONE;
  case MIDI_NOTE_OFF:
  case MIDI_NOTE_ON:
    use->knob = (struct knob){KNOB_NOTE, message->channel, message->number};
    use->released = message->kind == MIDI_NOTE_OFF;
    return true;
  case MIDI_PROGRAM:
    use->knob = (struct knob){KNOB_PROGRAM, message->channel, message->number};
    use->at = 1;
    return true;
  case MIDI_PRESSURE:
    use->knob = (struct knob){KNOB_PRESSURE, message->channel, 0};
    return true;
  case MIDI_BEND:
    use->knob = (struct knob){KNOB_BEND, message->channel, 0};
    use->at = (double)message->value / FINE_MAX;
    return true;
  case MIDI_KEY_PRESSURE:
  case MIDI_TICK:
  case MIDI_START:
  case MIDI_CONTINUE:
  case MIDI_STOP:
  case MIDI_SONG:
    break;
  }
  return false;
}

static struct knob_binding *add(struct knobs *knobs, const struct knob *knob) {
  struct knob_binding *binding = find(knobs, knob);
  if (binding || knobs->count == KNOBS_MAX)
    return binding;
  return &knobs->binding[knobs->count++];
}

static void bind(struct knob_binding *binding, const struct knob *knob, const struct knob_target *target) {
  *binding = (struct knob_binding){.knob = *knob, .target = *target, .at = -1};
  if (!target->command)
    parameter_span(target->id, &binding->low, &binding->high);
}

static double value_at(const struct knob_binding *binding, double at) {
  double value = binding->low + at * (binding->high - binding->low);
  /* for a choice, the range of the knob's positions is divided equally among the choices */
  if (parameter_row(binding->target.id)->type == TYPE_CHOICE)
    value = fmin(binding->high, binding->low + floor(at * (binding->high - binding->low + 1)));
  return parameter_row(binding->target.id)->type == TYPE_REAL ? value : round(value);
}

double knob_place(const struct knob_binding *binding, double value) {
  return fmin(1, fmax(0, (value - binding->low) / (binding->high - binding->low)));
}

/* True if the knob's position `at` (0 to 1) is so near to the parameter's value that setting the parameter to this
 * position makes no visible jump. */
static bool is_near(const struct knob_binding *binding, double at, double value) {
  return fabs(at - knob_place(binding, value)) <= NEAR || value_at(binding, at) == value;
}

static bool is_number(const struct knob_target *target) {
  enum parameter_type type = target->command ? TYPE_TEXT : parameter_row(target->id)->type;
  return type == TYPE_REAL || type == TYPE_WHOLE;
}

static bool springs_back(const struct knob *knob) {
  return knob->kind == KNOB_PRESSURE || knob->kind == KNOB_BEND;
}

static bool is_button(const struct knob *knob) {
  return knob->kind == KNOB_NOTE || knob->kind == KNOB_PROGRAM;
}

/* Stores the knob's position when it is bound. If a bound number differs clearly from this position, the knob sets it
 * only after being moved past its present value. */
static void begin_where_it_is(struct knob_binding *binding, const struct use *use, const struct parameters *values) {
  if (binding->target.command)
    return;
  binding->at = use->at;
  binding->set = values_number(values, binding->target.id, binding->target.index);
  binding->caught = is_number(&binding->target) && is_near(binding, use->at, binding->set);
}

/* True if the knob may be an endless encoder. Knobs bound to commands or switches are excluded, because they are
 * probably buttons, which repeat one value just as an encoder does. */
static bool may_be_endless(const struct knob_binding *binding) {
  return binding->knob.kind == KNOB_CC && !binding->target.command &&
         parameter_row(binding->target.id)->type != TYPE_SWITCH;
}

static void note_movement(struct knob_binding *binding, const struct use *use, int64_t now_ns) {
  binding->moved_ns = now_ns;
  binding->heard = use->at;
}

static struct knob_action learn(struct knobs *knobs, const struct use *use, const struct parameters *values,
                                int64_t now_ns) {
  struct knob_action action = {.kind = KNOB_DOES_NOTHING, .knob = use->knob, .target = knobs->wanted};
  if (use->released)
    return action;
  struct knob_binding *binding = add(knobs, &use->knob);
  action.kind = binding ? KNOB_LEARNT : KNOB_TOO_MANY;
  knobs->learning = false;
  if (!binding)
    return action;
  bind(binding, &use->knob, &knobs->wanted);
  note_movement(binding, use, now_ns);
  begin_where_it_is(binding, use, values);
  if (may_be_endless(binding))
    endless_begin(&binding->endless, use->value);
  action.waits = is_number(&binding->target) && !is_button(&use->knob) && !springs_back(&use->knob) &&
                 !binding->caught && !binding->endless.possible;
  binding->pressed = use->at >= 0.5;
  knobs->learnt = use->knob;
  knobs->learnt_ns = now_ns;
  return action;
}

/* True if the message is from controller `number` + 32, where `number` is that of the knob that was just bound. Such a
 * knob sends 14 bits in two messages, so its binding is changed to 14 bits, and *action reports this. */
static bool learn_pair(struct knobs *knobs, const struct midi_message *message, int64_t now_ns,
                       struct knob_action *action) {
  struct knob *learnt = &knobs->learnt;
  const struct knob own = {KNOB_CC, message->channel, message->number};
  struct knob_binding *binding = find(knobs, learnt);
  if (learnt->kind != KNOB_CC || learnt->number >= 32 || !binding || now_ns - knobs->learnt_ns > PAIR_NS ||
      message->kind != MIDI_CONTROLLER || message->channel != learnt->channel ||
      message->number != learnt->number + 32 || find(knobs, &own))
    return false;
  learnt->kind = KNOB_FINE;
  binding->knob = *learnt;
  binding->endless = (struct endless){0};
  *action = (struct knob_action){.kind = KNOB_LEARNT, .knob = *learnt, .target = binding->target};
  return true;
}

/* Returns the value that a pad sets when it is struck. For a whole number, choice or switch, that is the next value, or
 * the first one after the last. For a real number, it depends on the strength `at` of the stroke, from 0 to 1. */
static double next_value(const struct knob_binding *binding, double value, double at) {
  if (parameter_row(binding->target.id)->type == TYPE_REAL)
    return binding->low + at * (binding->high - binding->low);
  double least = fmin(binding->low, binding->high), most = fmax(binding->low, binding->high);
  return value + 1 > most ? least : fmax(least, value + 1);
}

/* Returns true if the knob may set the parameter. If the knob's position differs from the parameter's value, the knob
 * must first be moved past that value, so that the value never jumps. */
static bool catches(struct knob_binding *binding, double at, double value, int64_t now_ns) {
  double before = binding->at, place = knob_place(binding, value);
  bool own = binding->caught && (now_ns - binding->set_ns < SETTLED_NS ||
                                 fabs(value - binding->set) <= 1e-6 * fmax(fabs(binding->low), fabs(binding->high)));
  bool passed = before >= 0 && (before - place) * (at - place) <= 0;
  binding->at = at;
  binding->caught = own || passed || is_near(binding, at, value);
  return binding->caught;
}

/* Returns the value after an endless encoder was turned by `steps`. About 30 steps, usually a full turn, change it by a
 * quarter of the bound range; one step changes a whole number or a choice by at least one. A value outside the bound
 * range is not moved into it. */
static double turned_value(const struct knob_binding *binding, double value, int steps) {
  double by = (binding->high - binding->low) / COARSE_MAX;
  if (parameter_row(binding->target.id)->type != TYPE_REAL)
    by = copysign(fmax(1, round(fabs(by))), by);
  double least = fmin(value, fmin(binding->low, binding->high)), most = fmax(value, fmax(binding->low, binding->high));
  return fmin(most, fmax(least, value + steps * by));
}

static struct knob_action act_endless(struct knob_binding *binding, const struct use *use,
                                      const struct parameters *values) {
  const struct knob_target *target = &binding->target;
  int steps = endless_steps(binding->endless.mode, use->value);
  struct knob_action action = {.knob = use->knob, .target = *target, .number = target->value};
  if (!steps)
    return action;
  action.kind = KNOB_SETS;
  if (target->command)
    action.kind = steps > 0 ? KNOB_RUNS : KNOB_DOES_NOTHING;
  else if (parameter_row(target->id)->type == TYPE_SWITCH)
    action.number = steps > 0 ? binding->high : binding->low;
  else
    action.number = turned_value(binding, values_number(values, target->id, target->index), steps);
  return action;
}

static struct knob_action act(struct knob_binding *binding, const struct use *use, const struct parameters *values,
                              int64_t now_ns) {
  struct knob_action nothing = {.kind = KNOB_DOES_NOTHING};
  struct knob_action action = {.knob = use->knob, .target = binding->target, .number = binding->target.value};
  bool button = is_button(&use->knob), down = button ? !use->released : use->at >= 0.5;
  bool turned = down != binding->pressed || use->knob.kind == KNOB_PROGRAM;
  binding->pressed = down;
  if (binding->target.command) {
    action.kind = down && turned ? KNOB_RUNS : KNOB_DOES_NOTHING;
    return action;
  }
  enum parameter id = binding->target.id;
  enum parameter_type type = parameter_row(id)->type;
  double value = values_number(values, id, binding->target.index);
  action.kind = KNOB_SETS;
  if (button ? !down : type == TYPE_SWITCH && !turned)
    return nothing;
  if (button)
    action.number = type == TYPE_SWITCH ? value == 0 : next_value(binding, value, use->at);
  else if (type == TYPE_SWITCH)
    action.number = down;
  else if (type == TYPE_CHOICE || springs_back(&use->knob) || catches(binding, use->at, value, now_ns))
    action.number = value_at(binding, use->at);
  else
    return nothing;
  binding->set = action.number;
  binding->set_ns = now_ns;
  return action;
}

/* Handles a movement of a bound knob. A message from an endless encoder has a step as its value, not a position. As
 * long as it is not known if the knob is such an encoder, a value that may be a step has no effect. */
static struct knob_action act_as_told(struct knob_binding *binding, const struct use *use,
                                      const struct parameters *values, int64_t now_ns) {
  struct endless *endless = &binding->endless;
  enum endless_news news = endless_take(endless, use->value);
  struct knob_action action = {.knob = use->knob, .target = binding->target, .mode = endless->mode};
  if (news != ENDLESS_NOTHING) {
    action.kind = news == ENDLESS_FOUND ? KNOB_ENDLESS : KNOB_ASKS;
    return action;
  }
  if (endless->mode != ENDLESS_NOT)
    return act_endless(binding, use, values);
  return endless_holds(endless, use->value) ? action : act(binding, use, values, now_ns);
}

/* Handles a movement of a knob without a binding: program change n selects prompt n + 1; all others do nothing. */
static struct knob_action act_unbound(const struct use *use) {
  struct knob_action action = {.kind = KNOB_DOES_NOTHING, .knob = use->knob, .number = use->knob.number + 1};
  if (use->knob.kind != KNOB_PROGRAM || use->knob.number >= SLOT_PRESETS)
    return action;
  action.kind = KNOB_RUNS;
  action.target = (struct knob_target){.command = commands_find("prompt", strlen("prompt")), .value = action.number};
  return action;
}

struct knob_action knobs_take(struct knobs *knobs, const struct midi_message *message, const struct parameters *values,
                              int64_t now_ns) {
  struct use use;
  struct knob_action action = {.kind = KNOB_DOES_NOTHING};
  if (learn_pair(knobs, message, now_ns, &action) || !read_use(knobs, message, &use))
    return action;
  if (knobs->learning)
    return learn(knobs, &use, values, now_ns);
  struct knob_binding *binding = find(knobs, &use.knob);
  if (binding)
    note_movement(binding, &use, now_ns);
  return binding ? act_as_told(binding, &use, values, now_ns) : act_unbound(&use);
}

/* --- reading and writing the JSON text of the file of bindings --- */

static bool read_whole(const cJSON *item, int min, int max, int *number) {
  if (!cJSON_IsNumber(item) || !(item->valuedouble >= min && item->valuedouble <= max) ||
      trunc(item->valuedouble) != item->valuedouble)
    return false;
  *number = (int)item->valuedouble;
  return true;
}

static bool read_knob(const cJSON *entry, struct knob *knob) {
  const char *text = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "knob"));
  if (!text || !read_whole(cJSON_GetObjectItemCaseSensitive(entry, "channel"), 1, MIDI_CHANNELS, &knob->channel))
    return false;
  size_t word = strcspn(text, " ");
  char *end = NULL;
  knob->kind = KNOB_NONE;
  for (int i = KNOB_NONE + 1; i < KNOB_KINDS; i++)
    if (strlen(kind_words[i]) == word && !memcmp(kind_words[i], text, word))
      knob->kind = (enum knob_kind)i;
  long number = text[word] && isdigit((unsigned char)text[word + 1]) ? strtol(text + word + 1, &end, 10) : 0;
  knob->number = number >= 0 && number <= number_max[knob->kind] ? (int)number : -1;
  return knob->kind != KNOB_NONE && knob->number >= 0 && (number_max[knob->kind] ? end && !*end : !text[word]);
}

/* Reads "mode", the encoding of an endless encoder, from an entry of the file of bindings. If the entry has no mode,
 * the knob has ends, and its value is a position. */
static bool read_mode(const cJSON *entry, const struct knob *knob, struct endless *endless) {
  const cJSON *item = cJSON_GetObjectItemCaseSensitive(entry, "mode");
  const char *word = cJSON_GetStringValue(item);
  return !item || (word && endless_find(word, &endless->mode) && (!endless->mode || knob->kind == KNOB_CC));
}

static bool read_binding(const cJSON *entry, struct knob_binding *binding) {
  const char *target = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "sets"));
  const cJSON *low = cJSON_GetObjectItemCaseSensitive(entry, "low");
  const cJSON *high = cJSON_GetObjectItemCaseSensitive(entry, "high");
  struct knob knob;
  struct knob_target found;
  struct error ignored;
  if (!target || !read_knob(entry, &knob) || knob_target_find(&found, target, &ignored))
    return false;
  bind(binding, &knob, &found);
  if (!read_mode(entry, &knob, &binding->endless))
    return false;
  if (found.command || (!low && !high))
    return true;
  const struct parameter_row *row = parameter_row(found.id);
  bool number = row->type == TYPE_REAL || row->type == TYPE_WHOLE;
  double least = number ? row->min : binding->low, most = number ? row->max : binding->high;
  if (!cJSON_IsNumber(low) || !cJSON_IsNumber(high) || low->valuedouble == high->valuedouble ||
      (!number && low->valuedouble > high->valuedouble) ||
      !(fmin(low->valuedouble, high->valuedouble) >= least && fmax(low->valuedouble, high->valuedouble) <= most))
    return false;
  binding->low = low->valuedouble;
  binding->high = high->valuedouble;
  return true;
}

static void note_unknown(struct knobs_unknown *unknown, const cJSON *entry) {
  const char *sets = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(entry, "sets"));
  if (sets && !*unknown->sets)
    snprintf(unknown->sets, sizeof unknown->sets, "%s", sets);
  unknown->count++;
}

int knobs_read(struct knobs *knobs, const char *text, struct knobs_unknown *unknown, struct error *err) {
  *knobs = (struct knobs){0};
  *unknown = (struct knobs_unknown){0};
  cJSON *root;
  if (json_parse(&root, text, NULL, "MIDI bindings", err))
    return -1;
  const cJSON *list = cJSON_GetObjectItemCaseSensitive(root, "bindings"), *entry;
  if (!cJSON_IsArray(list)) {
    cJSON_Delete(root);
    return error_set(err, STATUS_INPUT, "it is no list of MIDI bindings");
  }
  cJSON_ArrayForEach(entry, list) {
    struct knob_binding binding, *place = NULL;
    if (read_binding(entry, &binding))
      place = add(knobs, &binding.knob);
    if (place)
      *place = binding;
    else
      note_unknown(unknown, entry);
  }
  cJSON_Delete(root);
  return 0;
}

static cJSON *write_binding(const struct knob_binding *binding) {
  char name[PARAMETER_NAME_MAX];
  cJSON *entry = cJSON_CreateObject();
  cJSON_AddStringToObject(entry, "knob", print_knob(&binding->knob, name));
  cJSON_AddNumberToObject(entry, "channel", binding->knob.channel);
  cJSON_AddStringToObject(entry, "sets", knob_target_name(&binding->target, name));
  if (!binding->target.command) {
    cJSON_AddNumberToObject(entry, "low", binding->low);
    cJSON_AddNumberToObject(entry, "high", binding->high);
  }
  if (binding->endless.mode != ENDLESS_NOT)
    cJSON_AddStringToObject(entry, "mode", endless_word(binding->endless.mode));
  return entry;
}

/* Removes the list of bindings from `root`, the file of bindings as JSON. Returns a list of those entries that
 * knobs_read cannot read, such as those of newer versions of the program; knobs_write writes these entries again. The
 * caller owns the list. */
static cJSON *kept_list(cJSON *root) {
  struct knob_binding ignored;
  cJSON *list = cJSON_DetachItemFromObjectCaseSensitive(root, "bindings");
  if (!cJSON_IsArray(list)) {
    cJSON_Delete(list);
    return cJSON_CreateArray();
  }
  for (int i = cJSON_GetArraySize(list) - 1; i >= 0; i--)
    if (read_binding(cJSON_GetArrayItem(list, i), &ignored))
      cJSON_DeleteItemFromArray(list, i);
  return list;
}

char *knobs_write(const struct knobs *knobs, const char *before) {
  cJSON *root = NULL;
  struct error err;
  if (before && json_parse(&root, before, NULL, "MIDI bindings", &err))
    return NULL;
  if (!cJSON_IsObject(root)) {
    cJSON_Delete(root);
    root = cJSON_CreateObject();
  }
  cJSON *list = kept_list(root);
  for (int i = knobs->count - 1; i >= 0; i--)
    cJSON_InsertItemInArray(list, 0, write_binding(&knobs->binding[i]));
  if (!cJSON_AddItemToObject(root, "bindings", list))
    cJSON_Delete(list);
  char *text = cJSON_Print(root);
  cJSON_Delete(root);
  return text;
}
