#include "tests/rigs/live_keys.h"

#include "tests/rigs/cmocka_all.h"

#include "app/control/keys.h"

struct live_state fresh_state(void) {
  struct live_state state = {.slot_before = 1, .ready = true};
  struct parameters values;
  struct error err;
  parameters_init(&values);
  for (int i = 1; i <= 5; i++)
    assert_int_equal(parameters_set_text(&values, PARAMETER_PROMPT, i, "a prompt", &err), 0);
  values.steps = 4;
  settings_begin(&state.settings, &values);
  return state;
}

void press(struct live_state *state, int key) {
  assert_true(commands_run(state, key, false, 0));
}
