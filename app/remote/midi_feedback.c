#include "app/remote/midi_feedback.h"

#include <math.h>
#include <string.h>

enum {
  BYTES_MAX = 12, /* bytes of the longest message, that of KNOB_NRPN */
  FINE_MAX = 16383,
  COARSE_MAX = 127,
  NOTE_ON = 0x90,
  CONTROLLER = 0xb0,
  BEND = 0xe0,
  /* for how many ns after a knob was moved, or a pad was struck, nothing is sent to it */
  HOLD_NS = 300000000,
  PAD_HOLD_NS = 100000000,
  /* for how many ns after a message was sent the same message counts as its echo */
  ECHO_NS = 100000000,
};

void midi_feedback_forget(struct midi_feedback *feedback, const struct knobs *knobs) {
  *feedback = (struct midi_feedback){0};
  for (int i = 0; i < knobs->count; i++)
    feedback->told[i] =
        (struct feedback_told){.knob = knobs->binding[i].knob, .level = -1, .heard_ns = knobs->binding[i].moved_ns};
}

/* Returns the largest value in the messages of this kind of knob; 0: such a knob cannot be set by a message. */
static int most_of(enum knob_kind kind) {
  static const int most[] = {[KNOB_CC] = COARSE_MAX,
                             [KNOB_NOTE] = COARSE_MAX,
                             [KNOB_FINE] = FINE_MAX,
                             [KNOB_NRPN] = FINE_MAX,
                             [KNOB_BEND] = FINE_MAX};
  return kind < sizeof most / sizeof *most ? most[kind] : 0;
}

/* Returns 1 if the thing that a command changes is on, 0 if it is off; negative: the command changes nothing that can
 * be on or off. */
static double place_of_command(const struct knob_target *target, const struct parameters *values) {
  enum parameter id = target->command->parameter;
  if (id == PARAMETER_SHOWN_PROMPT && isnan(target->command->value))
    return parameters_number(values, id, 0) == target->value;
  if (id == PARAMETER_BLEND && isnan(target->command->value))
    return parameters_number(values, id, (int)target->value) > 0;
  return id != PARAMETER_NONE && parameter_row(id)->type == TYPE_SWITCH && !parameter_row(id)->count
             ? parameters_number(values, id, 0)
             : -1;
}

/* Returns the number to send to the knob so that it shows the value of its parameter or command: 0 to the largest value
 * (most_of) of the knob's kind of message. Returns -1 if nothing is to be sent. */
static int level_of(const struct knob_binding *binding, const struct parameters *values) {
  const struct knob_target *target = &binding->target;
  double place = target->command ? place_of_command(target, values)
                                 : knob_place(binding, values_number(values, target->id, target->index));
  return place < 0 || !most_of(binding->knob.kind) ? -1 : (int)lround(place * most_of(binding->knob.kind));
}

/* Writes the MIDI message that sets a controller to a value, and returns how many bytes it has. */
static size_t put_controller(uint8_t *bytes, int channel, int number, int value) {
  const uint8_t message[] = {(uint8_t)(CONTROLLER | (channel - 1)), (uint8_t)number, (uint8_t)value};
  memcpy(bytes, message, sizeof message);
  return sizeof message;
}

/* Writes the message, or the messages of a value with 14 bits, that bring a knob to a position, or a pad's light to a
 * brightness (level). */
static size_t put(uint8_t bytes[BYTES_MAX], const struct knob *knob, int level) {
  int channel = knob->channel, number = knob->number, upper = level >> 7, lower = level & COARSE_MAX;
  size_t used = 0;
  switch (knob->kind) {
  case KNOB_NOTE:
    bytes[used++] = (uint8_t)(NOTE_ON | (channel - 1));
    bytes[used++] = (uint8_t)number;
    bytes[used++] = (uint8_t)level;
    break;
  case KNOB_BEND:
    bytes[used++] = (uint8_t)(BEND | (channel - 1));
    bytes[used++] = (uint8_t)lower;
    bytes[used++] = (uint8_t)upper;
    break;
  case KNOB_CC:
    used += put_controller(bytes, channel, number, level);
    break;
  case KNOB_FINE:
    used += put_controller(bytes, channel, number, upper);
    used += put_controller(bytes + used, channel, number + 32, lower);
    break;
  case KNOB_NRPN:
    used += put_controller(bytes, channel, 99, number >> 7);
    used += put_controller(bytes + used, channel, 98, number & COARSE_MAX);
    used += put_controller(bytes + used, channel, 6, upper);
    used += put_controller(bytes + used, channel, 38, lower);
    break;
  case KNOB_NONE:
  case KNOB_PROGRAM:
  case KNOB_PRESSURE:
    break;
  }
  return used;
}

static bool same_knob(const struct knob *a, const struct knob *b) {
  return a->kind == b->kind && a->channel == b->channel && a->number == b->number;
}

/* If the knob has sent a message since the last call, stores its time, and in `level` the position or brightness that
 * the knob shows; -1: unknown. A pad's light is unknown after a stroke, because many controllers light a pad while it
 * is held. An endless encoder's position is always unknown. */
static void hear(struct feedback_told *told, const struct knob_binding *binding) {
  bool shows = binding->knob.kind != KNOB_NOTE && binding->endless.mode == ENDLESS_NOT;
  if (!same_knob(&told->knob, &binding->knob))
    *told = (struct feedback_told){.knob = binding->knob, .level = -1};
  if (told->heard_ns == binding->moved_ns)
    return;
  told->heard_ns = binding->moved_ns;
  told->level = shows ? (int)lround(binding->heard * most_of(binding->knob.kind)) : -1;
}

static bool rests(const struct feedback_told *told, int64_t now_ns) {
  int64_t hold_ns = told->knob.kind == KNOB_NOTE ? PAD_HOLD_NS : HOLD_NS;
  return !told->heard_ns || now_ns - told->heard_ns >= hold_ns;
}

size_t midi_feedback_make(struct midi_feedback *feedback, const struct knobs *knobs, const struct parameters *values,
                          int64_t now_ns, uint8_t *bytes, size_t size) {
  size_t used = 0;
  for (int i = 0; i < knobs->count; i++) {
    int number = (feedback->next + i) % knobs->count;
    const struct knob_binding *binding = &knobs->binding[number];
    struct feedback_told *told = &feedback->told[number];
    int level = level_of(binding, values);
    uint8_t message[BYTES_MAX];
    hear(told, binding);
    if (level < 0 || level == told->level || !rests(told, now_ns))
      continue;
    size_t length = put(message, &binding->knob, level);
    if (used + length > size) {
      feedback->next = number;
      break;
    }
    memcpy(bytes + used, message, length);
    used += length;
    told->level = level;
    told->sent_ns = now_ns;
  }
  return used;
}

bool midi_feedback_is_echo(const struct midi_feedback *feedback, const struct knobs *knobs,
                           const struct midi_message *message, int64_t now_ns) {
  static const enum knob_kind kinds[] = {
      [MIDI_NOTE_OFF] = KNOB_NOTE, [MIDI_NOTE_ON] = KNOB_NOTE, [MIDI_CONTROLLER] = KNOB_CC, [MIDI_BEND] = KNOB_BEND};
  struct knob knob = {KNOB_NONE, message->channel, message->number};
  if (message->kind < sizeof kinds / sizeof *kinds)
    knob.kind = kinds[message->kind];
  int level = message->kind == MIDI_NOTE_OFF ? 0 : message->value;
  for (int i = 0; knob.kind != KNOB_NONE && i < knobs->count; i++) {
    const struct feedback_told *told = &feedback->told[i];
    if (same_knob(&told->knob, &knob))
      return told->sent_ns > knobs->binding[i].moved_ns && now_ns - told->sent_ns < ECHO_NS && told->level == level;
  }
  return false;
}
