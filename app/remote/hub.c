#include "app/remote/hub.h"

#include <cjson/cJSON.h>

#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <utf8proc.h>

#include "app/control/live_beats.h"
#include "app/control/modulation.h"
#include "app/flow/wait.h"
#include "app/remote/knob_target.h"
#include "unet/base/platform.h"

enum { WAITING_CALLS_MAX = 64 };

struct call {
  const struct command_entry *entry;
  double value;
  /* time when the client asked for the command (platform_now_ns); a tap of the tempo counts at this time */
  int64_t asked_ns;
};

struct hub {
  /* state of the live window. The hub reads only its lists of files and its flag midi, because these do not change
   * while clients run */
  const struct live_state *state;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  /* The following fields are protected by `lock`. */
  /* values: parameters' values that hub_publish stored last. wishes: parameters' values that clients have set; a value
   * is marked until the window's thread has taken it */
  struct parameters values, wishes;
  struct hub_figures figures;
  struct call calls[WAITING_CALLS_MAX];
  int call_count;
  char notice[HUB_NOTICE_MAX]; /* text of the last hub_tell; "": there is none, or the window's thread has taken it */
  bool wished;
  /* time when a client last set the parameter beat or bar-phase (platform_now_ns); 0: the window's thread has taken
   * the new value */
  int64_t beat_set_ns;
  struct beats beats;   /* tempo and beat of a MIDI clock, for the window's thread to take if beats_came is true */
  bool beats_came;      /* true: `beats` was set and the window's thread has not taken it yet */
  int sources, presets; /* numbers of sources and of presets that existed when hub_take was called last */
  /* number of the version of values and figures, increased at each change; the first version is 1 */
  uint64_t version;
  struct hub_watch *watches;
  struct covered shown;
  int lookers;
  char *lists[HUB_LISTS]; /* the lists of enum hub_list (presets, MIDI bindings, ...) as JSON, owned; NULL: none */
  int osc_port;           /* UDP port at which OSC messages are received; 0: none */
};

int hub_open(struct hub **out, const struct live_state *state, struct error *err) {
  struct hub *hub = calloc(1, sizeof *hub);
  if (!hub)
    return error_set(err, STATUS_FAILED, "no memory for what sets values from outside");
  hub->state = state;
  hub->values = state->settings.values;
  hub->wishes = state->settings.values;
  parameters_clear_marks(&hub->wishes);
  hub->sources = state->sources;
  hub->presets = state->presets;
  hub->version = 1;
  platform_lock_init(&hub->lock);
  wait_init(&hub->changed);
  *out = hub;
  return 0;
}

void hub_close(struct hub **pointer) {
  struct hub *hub = *pointer;
  if (!hub)
    return;
  covered_release(&hub->shown);
  for (int i = 0; i < HUB_LISTS; i++)
    free(hub->lists[i]);
  pthread_cond_destroy(&hub->changed);
  pthread_mutex_destroy(&hub->lock);
  free(hub);
  *pointer = NULL;
}

/* --- which values of parameters remote clients may set --- */

static bool is_among(const struct parameter_choices *choices, const char *text) {
  for (int i = 0; choices && i < choices->count; i++)
    if (!strcmp(choices->text[i], text))
      return true;
  return false;
}

/* Returns true if a client may set this parameter to this file name: the command line gave the name, or it is among the
 * files that a key of the keyboard can select. */
static bool was_given(const struct hub *hub, enum parameter id, const char *text) {
  const struct live_state *state = hub->state;
  switch (id) {
  case PARAMETER_MODEL:
    return is_among(state->models, text);
  case PARAMETER_VAE:
    return !strcmp(text, PARAMETER_VAE_OWN) || is_among(state->vaes, text);
  case PARAMETER_LORA:
    return is_among(state->loras, text);
  case PARAMETER_STYLE:
    return is_among(state->styles, text);
  default:
    return false;
  }
}

/* True if a text of this parameter is no file's name. This holds for prompts, for lfo[] (the name of a parameter),
 * scene and cued-scene (the name of a preset), and midi-learn (the name of the parameter to which the next MIDI knob is
 * bound). All other texts are names of files that the program would open. */
static bool is_free(enum parameter id) {
  return id == PARAMETER_PROMPT || id == PARAMETER_NEGATIVE || id == PARAMETER_MIDI_LEARN || id == PARAMETER_LFO ||
         id == PARAMETER_SCENE || id == PARAMETER_CUED_SCENE;
}

int hub_check(const struct hub *hub, enum parameter id, int index, const char *text, struct error *err) {
  char name[PARAMETER_NAME_MAX];
  const struct parameter_row *row = parameter_row(id);
  if (row->need == NEED_START)
    return error_set(err, STATUS_USAGE, "%s is set when the program starts", parameter_name(id, index, name));
  if (row->type == TYPE_TEXT && !is_free(id) && text && !was_given(hub, id, text))
    return error_set(err, STATUS_USAGE, "%s: only what the command line names can be chosen, and \"%.200s\" is not",
                     parameter_name(id, index, name), text);
  return 0;
}

/* True if text is valid UTF-8 without control characters, so that it can be stored in preset files and sent to
 * clients. */
static bool is_line(const char *text) {
  utf8proc_int32_t character;
  utf8proc_ssize_t bytes;
  for (; *text; text += bytes) {
    bytes = utf8proc_iterate((const utf8proc_uint8_t *)text, -1, &character);
    if (bytes <= 0 || utf8proc_category(character) == UTF8PROC_CATEGORY_CC)
      return false;
  }
  return true;
}

static int check_learning(const struct hub *hub, const char *text, struct error *err) {
  struct knob_target target;
  if (*text && !hub->state->midi)
    return error_set(err, STATUS_USAGE, "midi-learn: there is no MIDI: --midi listens to it");
  return *text && strcmp(text, MIDI_LEARN_LAST) ? knob_target_find(&target, text, err) : 0;
}

static int check_moved(const char *text, struct error *err) {
  enum parameter id;
  int index;
  return *text ? modulation_find(text, &id, &index, err) : 0;
}

/* Checks that there is a preset of the name that a client wants to set in the parameter `id`. Returns 0, or -1 with err
 * set. */
static int check_scene(struct hub *hub, enum parameter id, const char *text, struct error *err) {
  char *list = hub_get_list(hub, HUB_SCENES);
  cJSON *scenes = list ? cJSON_Parse(list) : NULL;
  const cJSON *scene;
  bool found = false;
  cJSON_ArrayForEach(scene, scenes) {
    const char *name = cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(scene, "name"));
    found |= name && !strcmp(name, text);
  }
  cJSON_Delete(scenes);
  free(list);
  return found ? 0
               : error_set(err, STATUS_USAGE, "%s: there is no preset called \"%.80s\"", parameter_row(id)->name, text);
}

/* Checks a text that a client sets, as hub_check does. The text must also have no line ends or control characters; only
 * texts of the command line and of presets may have them. Returns 0, or -1 with err set. */
static int check_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err) {
  char name[PARAMETER_NAME_MAX];
  if (hub_check(hub, id, index, text, err))
    return -1;
  if (parameter_row(id)->type == TYPE_TEXT && is_free(id) && text && !is_line(text))
    return error_set(err, STATUS_USAGE, "%s: a text is one line of UTF-8, without control characters",
                     parameter_name(id, index, name));
  if (id == PARAMETER_LFO && text)
    return check_moved(text, err);
  if ((id == PARAMETER_SCENE || id == PARAMETER_CUED_SCENE) && text)
    return *text || id == PARAMETER_SCENE ? check_scene(hub, id, text, err) : 0;
  return id == PARAMETER_MIDI_LEARN && text ? check_learning(hub, text, err) : 0;
}

/* True if the parameter's value is the number of a source or a preset, which must not exceed how many sources or
 * presets there are (check_count). */
static bool is_counted(enum parameter id) {
  return id == PARAMETER_SOURCE || id == PARAMETER_CUED_SOURCE || id == PARAMETER_SAVED_PRESET ||
         id == PARAMETER_CUED_PRESET;
}

/* Checks that a number for the parameter source, cued-source, saved-preset or cued-preset does not exceed the number of
 * sources or presets. Other parameters, and numbers below 1, pass. The caller holds the lock. Returns 0, or -1 with err
 * set. */
static int check_count(const struct hub *hub, enum parameter id, double number, struct error *err) {
  bool of_sources = id == PARAMETER_SOURCE || id == PARAMETER_CUED_SOURCE;
  int count = of_sources ? hub->sources : hub->presets;
  const char *name = parameter_row(id)->name;
  if (!is_counted(id) || number <= count || number < 1)
    return 0;
  if (count < 0)
    return error_set(err, STATUS_USAGE, "%s: there is no file of --presets", name);
  return error_set(err, STATUS_USAGE, "%s: there is no number %g, but %d", name, number, count);
}

/* If status is 0, records that a client has set a parameter (status -1: the value was refused). The caller holds the
 * lock. */
static void note_wish(struct hub *hub, enum parameter id, int status) {
  hub->wished |= !status;
  if (!status && live_beats_move(id))
    hub->beat_set_ns = platform_now_ns();
}

int hub_set_number(struct hub *hub, enum parameter id, int index, double number, struct error *err) {
  if (hub_check(hub, id, index, NULL, err))
    return -1;
  pthread_mutex_lock(&hub->lock);
  int status =
      check_count(hub, id, number, err) || parameters_set_number(&hub->wishes, id, index, number, err) ? -1 : 0;
  note_wish(hub, id, status);
  pthread_mutex_unlock(&hub->lock);
  return status;
}

int hub_set_text(struct hub *hub, enum parameter id, int index, const char *text, struct error *err) {
  if (check_text(hub, id, index, text, err))
    return -1;
  pthread_mutex_lock(&hub->lock);
  int status = parameters_set_text(&hub->wishes, id, index, text, err);
  hub->wished |= !status;
  pthread_mutex_unlock(&hub->lock);
  return status;
}

int hub_parse(struct hub *hub, enum parameter id, int index, const char *text, struct error *err) {
  struct parameters parsed = {0};
  if (check_text(hub, id, index, text, err))
    return -1;
  if (is_counted(id))
    return parameters_parse(&parsed, id, index, text, err)
               ? -1
               : hub_set_number(hub, id, index, parameters_number(&parsed, id, index), err);
  pthread_mutex_lock(&hub->lock);
  int status = parameters_parse(&hub->wishes, id, index, text, err);
  note_wish(hub, id, status);
  pthread_mutex_unlock(&hub->lock);
  return status;
}

void hub_set_beats(struct hub *hub, const struct beats *beats) {
  pthread_mutex_lock(&hub->lock);
  hub->beats = *beats;
  hub->beats_came = true;
  pthread_mutex_unlock(&hub->lock);
}

/* --- commands and lines of text that clients pass to the window's thread --- */

int hub_run(struct hub *hub, const char *command, double value, struct error *err) {
  const struct command_entry *entry = commands_find(command, strlen(command));
  if (!entry)
    return error_set(err, STATUS_USAGE, "there is no command \"%.60s\"", command);
  if (commands_check(entry, value, err))
    return -1;
  if (isnan(value))
    value = entry->value;
  pthread_mutex_lock(&hub->lock);
  bool fits = hub->call_count < WAITING_CALLS_MAX;
  if (fits)
    hub->calls[hub->call_count++] = (struct call){entry, value, platform_now_ns()};
  pthread_mutex_unlock(&hub->lock);
  return fits ? 0 : error_set(err, STATUS_FAILED, "%s: too many commands at once", entry->name);
}

void hub_tell(struct hub *hub, const char *format, ...) {
  va_list args;
  va_start(args, format);
  pthread_mutex_lock(&hub->lock);
  vsnprintf(hub->notice, sizeof hub->notice, format, args);
  pthread_mutex_unlock(&hub->lock);
  va_end(args);
}

/* --- reading parameters, figures (measured values) and the picture on the screen --- */

void hub_get_values(struct hub *hub, struct parameters *values) {
  pthread_mutex_lock(&hub->lock);
  *values = hub->values;
  parameters_apply(values, &hub->wishes);
  pthread_mutex_unlock(&hub->lock);
  parameters_clear_marks(values);
}

void hub_get_figures(struct hub *hub, struct hub_figures *figures) {
  pthread_mutex_lock(&hub->lock);
  *figures = hub->figures;
  pthread_mutex_unlock(&hub->lock);
}

bool hub_wait(struct hub *hub, uint64_t *seen, int wait_ms) {
  struct timespec deadline = wait_deadline(platform_now_ns() + (int64_t)wait_ms * 1000000);
  int code = 0;
  pthread_mutex_lock(&hub->lock);
  while (hub->version == *seen && !code)
    code = pthread_cond_timedwait(&hub->changed, &hub->lock, &deadline);
  bool newer = hub->version != *seen;
  *seen = hub->version;
  pthread_mutex_unlock(&hub->lock);
  return newer;
}

void hub_watch(struct hub *hub, struct hub_watch *watch) {
  pthread_mutex_lock(&hub->lock);
  watch->next = hub->watches;
  hub->watches = watch;
  pthread_mutex_unlock(&hub->lock);
}

void hub_unwatch(struct hub *hub, struct hub_watch *watch) {
  pthread_mutex_lock(&hub->lock);
  struct hub_watch **link = &hub->watches;
  while (*link && *link != watch)
    link = &(*link)->next;
  if (*link)
    *link = watch->next;
  pthread_mutex_unlock(&hub->lock);
}

bool hub_get_picture(struct hub *hub, struct covered *shown) {
  pthread_mutex_lock(&hub->lock);
  bool may = hub->shown.picture.plane[0] && hub->lookers < HUB_LOOKERS;
  if (may) {
    *shown = covered_hold(&hub->shown);
    hub->lookers++;
  }
  pthread_mutex_unlock(&hub->lock);
  return may;
}

void hub_put_back(struct hub *hub, struct covered *shown) {
  covered_release(shown);
  pthread_mutex_lock(&hub->lock);
  hub->lookers--;
  pthread_mutex_unlock(&hub->lock);
}

/* Tells clients that something has changed. The caller holds the lock. */
static void tell(struct hub *hub) {
  hub->version++;
  pthread_cond_broadcast(&hub->changed);
  for (const struct hub_watch *watch = hub->watches; watch; watch = watch->next)
    watch->wake(watch->opaque);
}

void hub_set_list(struct hub *hub, enum hub_list list, char *json) {
  pthread_mutex_lock(&hub->lock);
  char *before = hub->lists[list];
  hub->lists[list] = json;
  tell(hub);
  pthread_mutex_unlock(&hub->lock);
  free(before);
}

char *hub_get_list(struct hub *hub, enum hub_list list) {
  pthread_mutex_lock(&hub->lock);
  char *copy = hub->lists[list] ? strdup(hub->lists[list]) : NULL;
  pthread_mutex_unlock(&hub->lock);
  return copy;
}

void hub_set_osc_port(struct hub *hub, int port) {
  pthread_mutex_lock(&hub->lock);
  hub->osc_port = port;
  pthread_mutex_unlock(&hub->lock);
}

int hub_get_osc_port(struct hub *hub) {
  pthread_mutex_lock(&hub->lock);
  int port = hub->osc_port;
  pthread_mutex_unlock(&hub->lock);
  return port;
}

/* --- functions that the window's thread calls --- */

bool hub_has_wishes(struct hub *hub) {
  pthread_mutex_lock(&hub->lock);
  bool any = hub->wished || hub->call_count || *hub->notice;
  pthread_mutex_unlock(&hub->lock);
  return any;
}

static void run_calls(struct live_state *state, const struct call *calls, int count, int64_t now_ns) {
  for (int i = 0; i < count; i++)
    commands_call(state, calls[i].entry, calls[i].value, calls[i].entry->timed ? calls[i].asked_ns : now_ns);
}

bool hub_take(struct hub *hub, struct live_state *state, int64_t now_ns) {
  struct call calls[WAITING_CALLS_MAX];
  pthread_mutex_lock(&hub->lock);
  int count = hub->call_count;
  bool wished = hub->wished;
  memcpy(calls, hub->calls, (size_t)count * sizeof *calls);
  if (wished) {
    settings_apply(&state->settings, &hub->wishes, now_ns);
    parameters_apply(&hub->values, &hub->wishes);
    tell(hub);
  }
  if (hub->beats_came)
    live_take_midi_beats(state, &hub->beats);
  hub->beats_came = false;
  state->beat_set_ns = hub->beat_set_ns;
  hub->beat_set_ns = 0;
  parameters_clear_marks(&hub->wishes);
  hub->call_count = 0;
  hub->wished = false;
  hub->sources = state->sources;
  hub->presets = state->presets;
  pthread_mutex_unlock(&hub->lock);
  run_calls(state, calls, count, now_ns);
  return wished || count;
}

bool hub_take_notice(struct hub *hub, char notice[HUB_NOTICE_MAX]) {
  pthread_mutex_lock(&hub->lock);
  bool told = *hub->notice;
  snprintf(notice, HUB_NOTICE_MAX, "%s", hub->notice);
  *hub->notice = 0;
  pthread_mutex_unlock(&hub->lock);
  return told;
}

/* True if all figures (measured values) of a and b are equal. The fields are compared one by one, because the padding
 * bytes between them are undefined. */
static bool same_figures(const struct hub_figures *a, const struct hub_figures *b) {
  return a->ready == b->ready && a->fps == b->fps && a->frame_ms == b->frame_ms && a->budget_ms == b->budget_ms &&
         a->latency_ms == b->latency_ms && a->latency_p99_ms == b->latency_p99_ms && a->shown == b->shown &&
         a->dropped == b->dropped && a->left_out == b->left_out && a->undrawn == b->undrawn && a->missed == b->missed &&
         a->width == b->width && a->height == b->height && a->recorded_s == b->recorded_s &&
         a->not_recorded == b->not_recorded && a->sending == b->sending && a->lost == b->lost &&
         !strcmp(a->model, b->model) && !strcmp(a->source, b->source) && !strcmp(a->state, b->state) &&
         !strcmp(a->notice, b->notice) && alerts_equal(&a->alerts, &b->alerts) && meter_same(&a->meter, &b->meter);
}

void hub_publish(struct hub *hub, const struct parameters *values, const struct hub_figures *figures) {
  pthread_mutex_lock(&hub->lock);
  bool new_values = !parameters_equal(values, &hub->values, ~0u);
  bool new_figures = !same_figures(figures, &hub->figures);
  if (new_values)
    hub->values = *values;
  /* the stored texts equal the new ones here, so their version number is copied, too, and the next comparison need not
   * compare the texts */
  hub->values.texts = values->texts;
  if (new_figures)
    hub->figures = *figures;
  if (new_values || new_figures)
    tell(hub);
  pthread_mutex_unlock(&hub->lock);
}

void hub_show(struct hub *hub, const struct covered *shown) {
  struct covered held = covered_hold(shown);
  pthread_mutex_lock(&hub->lock);
  struct covered before = hub->shown;
  hub->shown = held;
  pthread_mutex_unlock(&hub->lock);
  covered_release(&before);
}
