#include "app/remote/midi.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "app/control/live_beats.h"
#include "app/control/midi_clock.h"
#include "app/flow/errand.h"
#include "app/platform/app_platform.h"
#include "app/platform/paths.h"
#include "app/remote/midi_feedback.h"
#include "app/remote/midi_input.h"
#include "app/remote/midi_keep.h"
#include "app/remote/midi_output.h"

/* A controller gets at most SENT_BYTES every TICK_MS, 1200 bytes a second; a MIDI cable takes 3125. */
enum { TICK_MS = 20, BYTES = 256, SENT_BYTES = 24 };
static const int64_t complaint_ns = 1000000000;

/* Only the MIDI thread uses this struct's fields, except stop, which midi_stop sets. */
struct midi {
  struct hub *hub;
  const struct log *log;
  struct midi_input *input;   /* port from which messages are received; NULL: none are received */
  struct midi_output *output; /* port to which values are sent; NULL: none are sent */
  struct midi_feedback feedback;
  int64_t sent_ns; /* time (platform_now_ns) at which values of parameters were last sent to the knobs */
  struct midi_reader reader;
  struct knobs knobs;
  struct midi_clock clock;
  struct beats beats; /* tempo and beat according to the last message of a MIDI clock */
  /* path of the file of bindings; "": no folder for it could be made, so bindings are lost when the program ends */
  char path[PATHS_MAX];
  struct parameters values;
  uint64_t seen;
  bool ready; /* true: the engine was open when `values` was last updated */
  /* the parameter that was changed last, by a knob or in any other way; id PARAMETER_NONE: none was changed yet */
  struct knob_target last;
  int complaints; /* number of error messages that were left out, because at most one is logged in a second */
  int64_t complained_ns;
  atomic_bool stop;
  struct errand errand;
};

/* --- learning: binding a parameter to the knob that the user moves next --- */

static void set_learning(struct midi *midi, const char *name) {
  struct error err;
  hub_set_text(midi->hub, PARAMETER_MIDI_LEARN, 0, name, &err);
  parameters_set_text(&midi->values, PARAMETER_MIDI_LEARN, 0, name, &err);
}

/* Starts or stops waiting for the user to move a knob, which is then bound. wish: the value of the parameter
 * midi-learn, which names what the knob is bound to; NULL or "": stop. */
static void follow_wish(struct midi *midi, const char *wish) {
  char name[PARAMETER_NAME_MAX];
  struct knob_target target = midi->last;
  struct error err;
  bool last = wish && !strcmp(wish, MIDI_LEARN_LAST);
  if (!wish || !*wish) {
    knobs_learn(&midi->knobs, NULL);
    return;
  }
  int status = 0;
  if (last && target.id == PARAMETER_NONE)
    status = error_set(&err, STATUS_USAGE, "change what is to be bound first");
  else if (!last)
    status = knob_target_find(&target, wish, &err);
  if (status) {
    hub_tell(midi->hub, "MIDI: %.150s", err.message);
    set_learning(midi, NULL);
    knobs_learn(&midi->knobs, NULL);
    return;
  }
  knob_target_name(&target, name);
  if (last)
    set_learning(midi, name);
  knobs_learn(&midi->knobs, &target);
  hub_tell(midi->hub, "MIDI: move what is to set %s", name);
}

/* True if the parameter's value may change although nobody sets it, because it follows the time, a MIDI clock, the
 * sound, or the file that is shown. */
static bool moves(const struct midi *midi, enum parameter id) {
  const struct parameters *values = &midi->values;
  if (id == PARAMETER_TEMPO)
    return values->tempo_from == TEMPO_FROM_SOUND || (values->tempo_from == TEMPO_FROM_MIDI && midi->clock.count);
  if (id == PARAMETER_CLIP_POSITION || id == PARAMETER_CLIP_TIME_LEFT)
    return true;
  return live_beats_move(id) || (id == PARAMETER_SEED_POSITION && values->seed_walk != 0);
}

/* Compares midi->values with `before`, and stores in midi->last a parameter whose value has changed and that knobs can
 * set. */
static void note_change(struct midi *midi, const struct parameters *before) {
  for (enum parameter id = PARAMETER_NONE + 1; id < PARAMETERS; id++) {
    const struct parameter_row *row = parameter_row(id);
    if (row->type == TYPE_TEXT || row->type == TYPE_SIZE || moves(midi, id))
      continue;
    for (int i = row->first; i < row->first + parameter_instances(id); i++)
      if (!parameters_same(&midi->values, before, id, i))
        midi->last = (struct knob_target){.id = id, .index = i};
  }
}

static bool text_differs(const char *a, const char *b) {
  return a && b ? strcmp(a, b) != 0 : a != b;
}

/* Returns true if the engine was open at the previous call, and stores if it is open now. When it opens, the program
 * sets values that suit the model; these must not count as changes by a user. They reach the hub together with the news
 * that the engine is open, so this function is called before values are copied. */
static bool was_ready(struct midi *midi) {
  struct hub_figures figures;
  bool ready = midi->ready;
  if (!ready)
    hub_get_figures(midi->hub, &figures);
  midi->ready = ready || figures.ready;
  return ready;
}

/* Copies the parameters' values from the hub if they have changed. moved: true: a knob was moved; the values are then
 * always copied, because the knob's effect depends on them. */
static void follow_values(struct midi *midi, bool moved) {
  if (!hub_wait(midi->hub, &midi->seen, 0) && !moved)
    return;
  const struct parameters before = midi->values;
  bool was = was_ready(midi);
  hub_get_values(midi->hub, &midi->values);
  if (was)
    note_change(midi, &before);
  const char *wish = parameters_text(&midi->values, PARAMETER_MIDI_LEARN, 0);
  if (text_differs(wish, parameters_text(&before, PARAMETER_MIDI_LEARN, 0)))
    follow_wish(midi, wish);
}

static void keep(struct midi *midi) {
  struct error err;
  hub_set_list(midi->hub, HUB_KNOBS, knobs_write(&midi->knobs, NULL));
  if (*midi->path && knobs_save(&midi->knobs, midi->path, &err))
    log_line(midi->log, LOG_WARNING, "%s", err.message);
}

static void tell_learnt(struct midi *midi, const struct knob_action *action) {
  char name[PARAMETER_NAME_MAX], knob[PARAMETER_NAME_MAX];
  hub_tell(midi->hub, "MIDI: %s sets %s%s", knob_name(&action->knob, knob), knob_target_name(&action->target, name),
           action->waits ? ", once it comes by the value that is set" : "");
}

static void tell_endless(struct midi *midi, const struct knob_action *action) {
  static const char *const ways[ENDLESS_MODES] = {
      [ENDLESS_TWOS] = "two's complement", [ENDLESS_SIGN] = "sign and magnitude", [ENDLESS_OFFSET] = "offset"};
  char knob[PARAMETER_NAME_MAX];
  knob_name(&action->knob, knob);
  if (action->kind == KNOB_ASKS)
    hub_tell(midi->hub, "MIDI: %s is an endless encoder: turn it the other way, too", knob);
  else
    hub_tell(midi->hub, "MIDI: %s is an endless encoder (%s)", knob, ways[action->mode]);
}

/* --- carrying out what a moved knob does --- */

/* Logs an error message, at most one in a second, because a broken device may cause many. */
static void complain(struct midi *midi, const char *text) {
  int64_t now_ns = platform_now_ns();
  midi->complaints++;
  if (midi->complained_ns && now_ns - midi->complained_ns < complaint_ns)
    return;
  if (midi->complaints > 1)
    log_line(midi->log, LOG_WARNING, "MIDI: %s (and %d more)", text, midi->complaints - 1);
  else
    log_line(midi->log, LOG_WARNING, "MIDI: %s", text);
  midi->complaints = 0;
  midi->complained_ns = now_ns;
}

static void act(struct midi *midi, const struct knob_action *action) {
  struct error err;
  int status = 0;
  switch (action->kind) {
  case KNOB_DOES_NOTHING:
    break;
  case KNOB_SETS:
    status = hub_set_number(midi->hub, action->target.id, action->target.index, action->number, &err);
    if (!status)
      parameters_set_number(&midi->values, action->target.id, action->target.index, action->number, &err);
    midi->last = action->target;
    break;
  case KNOB_RUNS:
    status = hub_run(midi->hub, action->target.command->name, action->number, &err);
    break;
  case KNOB_LEARNT:
    set_learning(midi, NULL);
    tell_learnt(midi, action);
    keep(midi);
    break;
  case KNOB_ENDLESS:
    tell_endless(midi, action);
    keep(midi);
    break;
  case KNOB_ASKS:
    tell_endless(midi, action);
    break;
  case KNOB_TOO_MANY:
    set_learning(midi, NULL);
    hub_tell(midi->hub, "MIDI: there are %d bindings already; remove some from midi.json", KNOBS_MAX);
    break;
  }
  if (status)
    complain(midi, err.message);
}

static void take_clock(struct midi *midi, const struct midi_message *message, int64_t now_ns) {
  static const enum midi_clock_message of_kind[] = {[MIDI_TICK] = MIDI_CLOCK_TICK,
                                                    [MIDI_START] = MIDI_CLOCK_START,
                                                    [MIDI_CONTINUE] = MIDI_CLOCK_CONTINUE,
                                                    [MIDI_STOP] = MIDI_CLOCK_STOP,
                                                    [MIDI_SONG] = MIDI_CLOCK_SONG};
  if (midi_clock_take(&midi->clock, of_kind[message->kind], message->value, &midi->beats, now_ns))
    hub_set_beats(midi->hub, &midi->beats);
}

/* Carries out a MIDI message that came at now_ns. *fresh: true: the parameters' values were copied from the hub for an
 * earlier message of the same read; false: a knob's message copies them and sets *fresh. Messages of a MIDI clock do
 * not need them. */
static void take_message(struct midi *midi, const struct midi_message *message, bool *fresh, int64_t now_ns) {
  if (message->kind >= MIDI_TICK) {
    take_clock(midi, message, now_ns);
    return;
  }
  if (midi_feedback_is_echo(&midi->feedback, &midi->knobs, message, now_ns))
    return;
  if (!*fresh)
    follow_values(midi, true);
  *fresh = true;
  struct knob_action action = knobs_take(&midi->knobs, message, &midi->values, now_ns);
  act(midi, &action);
}

/* Sends the values that the controller does not show yet, every TICK_MS. */
static void send_values(struct midi *midi, int64_t now_ns) {
  uint8_t bytes[SENT_BYTES];
  bool anew;
  if (!midi->output || now_ns - midi->sent_ns < (int64_t)TICK_MS * 1000000)
    return;
  midi->sent_ns = now_ns;
  size_t room = midi_output_room(midi->output, sizeof bytes, &anew);
  if (anew)
    midi_feedback_forget(&midi->feedback, &midi->knobs);
  size_t count = room ? midi_feedback_make(&midi->feedback, &midi->knobs, &midi->values, now_ns, bytes, room) : 0;
  if (count)
    midi_output_write(midi->output, bytes, count);
}

/* Waits at most TICK_MS for bytes, and returns how many came. */
static size_t read_input(struct midi *midi, uint8_t bytes[BYTES]) {
  if (midi->input)
    return midi_input_read(midi->input, bytes, BYTES, TICK_MS);
  platform_sleep_ns((int64_t)TICK_MS * 1000000);
  return 0;
}

static void work(void *opaque) {
  struct midi *midi = opaque;
  uint8_t bytes[BYTES];
  struct midi_message message;
  while (!atomic_load(&midi->stop)) {
    size_t count = read_input(midi, bytes);
    int64_t came_ns = platform_now_ns();
    bool fresh = false;
    follow_values(midi, false);
    for (size_t i = 0; i < count; i++)
      if (midi_read(&midi->reader, bytes[i], &message))
        take_message(midi, &message, &fresh, came_ns);
    send_values(midi, came_ns);
  }
}

/* --- starting and stopping the thread that reads MIDI messages --- */

static void free_all(struct midi *midi) {
  midi_input_close(&midi->input);
  midi_output_close(&midi->output);
  free(midi);
}

/* Stores the path of midi.json in the folder for configuration; "" if that folder cannot be made. */
static void find_file(struct midi *midi) {
  static const char name[] = "/midi.json";
  if (paths_config(midi->path) && strlen(midi->path) + sizeof name <= sizeof midi->path)
    strcat(midi->path, name);
  else
    *midi->path = 0;
}

int midi_start(struct midi **out, const struct midi_params *params, struct error *err) {
  *out = NULL;
  if (!params->source && !params->target)
    return 0;
  struct midi *midi = calloc(1, sizeof *midi);
  if (!midi)
    return error_set(err, STATUS_FAILED, "no memory for MIDI");
  midi->hub = params->hub;
  midi->log = params->log;
  if (!params->bindings)
    find_file(midi);
  if (*midi->path)
    knobs_load(&midi->knobs, midi->path, midi->log);
  struct knobs_unknown unknown;
  if (params->bindings && knobs_read(&midi->knobs, params->bindings, &unknown, err))
    log_line(midi->log, LOG_WARNING, "the show file: midi: %s", err->message);
  hub_set_list(midi->hub, HUB_KNOBS, knobs_write(&midi->knobs, NULL));
  hub_get_values(midi->hub, &midi->values);
  midi_feedback_forget(&midi->feedback, &midi->knobs);
  if ((params->source && midi_input_open(&midi->input, params->source, midi->log, err)) ||
      (params->target && midi_output_open(&midi->output, params->target, midi->log, err)) ||
      errand_start(&midi->errand, work, midi, "listens to MIDI", err)) {
    free_all(midi);
    return -1;
  }
  *out = midi;
  return 0;
}

bool midi_stop(struct midi **pointer, int wait_ms) {
  struct midi *midi = *pointer;
  if (!midi)
    return true;
  atomic_store(&midi->stop, true);
  if (!platform_join(midi->errand.thread, wait_ms))
    return false;
  free_all(midi);
  *pointer = NULL;
  return true;
}
