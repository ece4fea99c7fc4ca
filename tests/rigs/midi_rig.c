#include "tests/rigs/midi_rig.h"

#include <stdlib.h>

int midi_rig_make(void **state) {
  *state = calloc(1, sizeof(struct rig));
  return *state ? 0 : -1;
}

int midi_rig_free(void **state) {
  free(*state);
  return 0;
}

struct rig *rig_of(void **state) {
  struct rig *rig = *state;
  rig->knobs = (struct knobs){0};
  parameters_init(&rig->values);
  rig->now_ns = 1000000000;
  return rig;
}

struct knob_target target_of(const char *text) {
  struct knob_target target;
  struct error err;
  assert_int_equal(knob_target_find(&target, text, &err), 0);
  return target;
}

void learn(struct rig *rig, const char *text) {
  const struct knob_target target = target_of(text);
  knobs_learn(&rig->knobs, &target);
}

struct knob_action play(struct rig *rig, enum midi_kind kind, int number, int value) {
  const struct midi_message message = {kind, 1, number, value};
  struct error err;
  struct knob_action action = knobs_take(&rig->knobs, &message, &rig->values, rig->now_ns);
  if (action.kind == KNOB_SETS)
    assert_int_equal(parameters_set_number(&rig->values, action.target.id, action.target.index, action.number, &err),
                     0);
  return action;
}

double strength(const struct rig *rig) {
  return rig->values.strength;
}
