#include "app/live/refusal.h"

#include "app/control/settings.h"
#include "app/run/handles.h"

/* Returns true if the parameters ask for a bank with room for `room` earlier frames, or the handle (struct prepared) in
 * use has one. The bank stores these frames' keys and values. shape: the shape of that handle. */
static bool is_room_asked_for(const struct parameters *values, const struct engine_shape *shape, int room) {
  return room == shape->bank_room || room == values->bank || room == values->bank_room;
}

/* Returns true if the values still ask for the refused shape. The canvas is not compared, because it depends on other
 * values as well. Moving noise and feedback are not compared, because the handle may have them although the values do
 * not ask for them. */
static bool is_asked_for(const struct parameters *values, const struct engine_shape *refused,
                         const struct engine_shape *shape) {
  return refused->steps == values->steps && refused->guidance == values_guidance(values) &&
         refused->stream_batch == values->stream_batch && refused->width == values->size.width &&
         refused->height == values->size.height && (int)refused->sampler == values->sampler &&
         (int)refused->spacing == values->spacing && refused->controls == values_controls_on(values) &&
         is_room_asked_for(values, shape, refused->bank_room) &&
         refused->bank_layers == values_bank_layers(values, refused->bank_room);
}

static void set(struct parameters *values, enum parameter id, int index, double number) {
  struct error ignored;
  parameters_set_number(values, id, index, number, &ignored);
}

static void put_back_controls(struct parameters *values, unsigned controls) {
  for (int i = 0; i < CONTROLS_MAX; i++)
    if (values->control[i] && values->control_on[i] != (controls >> i & 1))
      set(values, PARAMETER_CONTROL_ON, i + 1, controls >> i & 1);
}

static void put_back_bank(struct parameters *values, const struct engine_shape *shape) {
  if (values->bank > shape->bank_room)
    set(values, PARAMETER_BANK, 0, shape->bank_room);
  if (values->bank_room > shape->bank_room)
    set(values, PARAMETER_BANK_ROOM, 0, shape->bank_room);
  if (shape->bank_room)
    set(values, PARAMETER_BANK_LAYERS, 0, values_bank_layers_word(shape->bank_layers));
}

static void put_back_guidance(struct parameters *values, enum guidance_mode guidance) {
  if (guidance == GUIDANCE_NONE)
    set(values, PARAMETER_GUIDANCE, 0, 1);
  set(values, PARAMETER_GUIDANCE_MODE, 0, guidance == GUIDANCE_NONE ? GUIDANCE_FULL : guidance);
}

void refusal_put_back(struct live_state *state, const struct engine_shape *refused, const struct engine_shape *shape) {
  struct parameters *values = &state->settings.values;
  if (!is_asked_for(values, refused, shape))
    return;
  switch (handles_first_difference(refused, shape)) {
  case SHAPE_SIZE:
    live_put_back_size(state, shape->width, shape->height);
    break;
  case SHAPE_SAMPLER:
    set(values, PARAMETER_SAMPLER, 0, shape->sampler);
    set(values, PARAMETER_SPACING, 0, shape->spacing);
    break;
  case SHAPE_CONTROLS:
    put_back_controls(values, shape->controls);
    break;
  case SHAPE_BANK_ROOM:
  case SHAPE_BANK_LAYERS:
    put_back_bank(values, shape);
    break;
  case SHAPE_STEPS:
    set(values, PARAMETER_STEPS, 0, shape->steps);
    break;
  case SHAPE_STREAM_BATCH:
    set(values, PARAMETER_STREAM_BATCH, 0, shape->stream_batch);
    break;
  case SHAPE_CARRIED:
    set(values, PARAMETER_NOISE, 0, NOISE_FIXED);
    break;
  case SHAPE_FEEDBACK:
    set(values, PARAMETER_FEEDBACK, 0, 0);
    break;
  case SHAPE_CANVAS:
    set(values, PARAMETER_CANVAS, 0, (double)shape->canvas);
    break;
  case SHAPE_GUIDANCE:
    put_back_guidance(values, shape->guidance);
    break;
  case SHAPE_CHUNKS: /* a prompt that is too long for the engine stays as the user typed it */
    break;
  }
}
