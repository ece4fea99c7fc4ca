/* Tests values that need a handle which the engine refuses: the first value that differs goes back to that of the
 * handle in use. */
#include "tests/rigs/cmocka_all.h"

#include <string.h>

#include "app/control/settings.h"
#include "app/live/refusal.h"
#include "app/run/handles.h"
#include "tests/rigs/live_keys.h"

/* The values while a handle of 512x512 in 2 steps is in use, with room for a frame in its bank. */
static struct live_state state_in_use(void) {
  struct live_state state = fresh_state();
  struct parameters *values = &state.settings.values;
  parameters_init(values);
  values->size = (struct parameter_size){512, 512};
  values->steps = 2;
  values->bank = values->bank_room = 1;
  values->control[1] = 1;
  values->control_on[1] = true;
  return state;
}

/* Returns the shape that values ask for, as the loop does for a model with a fixed canvas. */
static struct engine_shape shape_of(const struct parameters *values) {
  int room = values_bank_room(values, 0);
  return (struct engine_shape){.width = values->size.width,
                               .height = values->size.height,
                               .sampler = (enum sampler)values->sampler,
                               .spacing = (enum spacing)values->spacing,
                               .steps = (int)values->steps,
                               .guidance = values_guidance(values),
                               .chunks = 1,
                               .stream_batch = values->stream_batch,
                               .controls = values_controls_on(values),
                               .canvas = (enum canvas_mode)values->canvas,
                               .bank_room = room,
                               .bank_layers = values_bank_layers(values, room),
                               .carried = values->noise == NOISE_CARRIED,
                               .feedback = values->feedback > 0};
}

/* A change of one value, and the property of the shape that it changes. */
struct wish {
  enum parameter id;
  int index;
  double number;
  enum shape_property property; /* the property of the handle's shape that it changes */
};
static const struct wish wishes[] = {
    {PARAMETER_SAMPLER, 0, SAMPLER_DDIM, SHAPE_SAMPLER},
    {PARAMETER_CONTROL_ON, 2, 0, SHAPE_CONTROLS},
    {PARAMETER_BANK, 0, 3, SHAPE_BANK_ROOM},
    {PARAMETER_BANK_LAYERS, 0, 4, SHAPE_BANK_LAYERS},
    {PARAMETER_STEPS, 0, 9, SHAPE_STEPS},
    {PARAMETER_STREAM_BATCH, 0, 1, SHAPE_STREAM_BATCH},
    {PARAMETER_NOISE, 0, NOISE_CARRIED, SHAPE_CARRIED},
    {PARAMETER_FEEDBACK, 0, 0.5, SHAPE_FEEDBACK},
    {PARAMETER_CANVAS, 0, CANVAS_FOLLOW, SHAPE_CANVAS},
    {PARAMETER_GUIDANCE, 0, 2, SHAPE_GUIDANCE},
};
enum { WISHES = sizeof wishes / sizeof *wishes };

static void make_wish(struct live_state *state, const struct wish *wish) {
  assert_int_equal(parameters_set_number(&state->settings.values, wish->id, wish->index, wish->number, NULL), 0);
}

static double number_of(const struct live_state *state, const struct wish *wish) {
  return parameters_number(&state->settings.values, wish->id, wish->index);
}

/* The refused value goes back. If two were refused together, the first one goes back and the other stays. Both values
 * of the bank go back together. */
static void what_was_refused_goes_back(void **unused) {
  (void)unused;
  const struct live_state in_use = state_in_use();
  const struct engine_shape shape = shape_of(&in_use.settings.values);
  for (int first = 0; first < WISHES; first++)
    for (int second = first; second < WISHES; second++) {
      bool both_of_bank = wishes[first].property == SHAPE_BANK_ROOM && wishes[second].property == SHAPE_BANK_LAYERS;
      struct live_state state = state_in_use();
      make_wish(&state, &wishes[first]);
      make_wish(&state, &wishes[second]);
      const struct engine_shape refused = shape_of(&state.settings.values);
      assert_int_equal(handles_first_difference(&refused, &shape), wishes[first].property);
      refusal_put_back(&state, &refused, &shape);
      if (number_of(&state, &wishes[first]) != number_of(&in_use, &wishes[first]))
        fail_msg("wish %d was not put back", first);
      if (second > first && !both_of_bank && number_of(&state, &wishes[second]) != wishes[second].number)
        fail_msg("wish %d went with %d", second, first);
    }
}

static void a_size_goes_back(void **unused) {
  (void)unused;
  struct live_state state = state_in_use();
  const struct engine_shape shape = shape_of(&state.settings.values);
  assert_int_equal(parameters_set_size(&state.settings.values, PARAMETER_SIZE, 0, 8192, 8192, NULL), 0);
  const struct engine_shape refused = shape_of(&state.settings.values);
  refusal_put_back(&state, &refused, &shape);
  assert_true(state.settings.values.size.width == 512 && state.settings.values.size.height == 512);
}

/* A value that the user has changed meanwhile stays; so does a prompt that is too long. */
static void later_wishes_stay(void **unused) {
  (void)unused;
  struct live_state state = state_in_use();
  const struct engine_shape shape = shape_of(&state.settings.values);
  make_wish(&state, &wishes[4]);
  struct engine_shape refused = shape_of(&state.settings.values);
  state.settings.values.steps = 4;
  refusal_put_back(&state, &refused, &shape);
  assert_int_equal((int)state.settings.values.steps, 4);
  state = state_in_use();
  refused = shape;
  refused.chunks = 3;
  assert_int_equal(handles_first_difference(&refused, &shape), SHAPE_CHUNKS);
  const struct parameters before = state.settings.values;
  refusal_put_back(&state, &refused, &shape);
  assert_memory_equal(&before, &state.settings.values, sizeof before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_was_refused_goes_back),
      cmocka_unit_test(a_size_goes_back),
      cmocka_unit_test(later_wishes_stay),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
