/* Settings are the values that the engine needs for a frame and that can change while frames run: the parameters and
 * the fade between prompts. */
#ifndef APP_CONTROL_SETTINGS_H
#define APP_CONTROL_SETTINGS_H

#include <stdbool.h>

#include "app/control/fade.h"
#include "app/control/parameters.h"
#include "unet/base/maps.h"
#include "unet/engine.h"
#include "unet/base/guidance.h"

/* A plain value. Before each frame the engine thread makes a copy with settings_copy. */
struct settings {
  struct parameters values;
  struct fade fade;  /* the fade to the prompt of values.shown_prompt, or to the blend of values.blend */
  int64_t walked_ns; /* time (platform_now_ns) at which seed_walk last moved values.seed_position; 0: not yet */
};

/* Copies settings. *to must be initialised, at least with zeros: if it has the same version of the texts, these are not
 * copied, because they are most of the bytes. */
void settings_copy(struct settings *to, const struct settings *from);
/* Initialises settings with these values, none of them marked as set, and without a fade. */
void settings_begin(struct settings *settings, const struct parameters *values);

/* Starts a fade at time now_ns (platform_now_ns) from the prompts that are shown to those that values.shown_prompt or
 * values.blend name. */
void settings_turn(struct settings *settings, int64_t now_ns);
/* Copies the values that are marked in `changes`, marks them in settings, and starts a fade if the prompts to show
 * change. */
void settings_apply(struct settings *settings, const struct parameters *changes, int64_t now_ns);

/* Computes the share of each prompt in the picture, without the fade, from shown_prompt and blend. The shares add up to
 * 1. */
void values_shares(const struct parameters *values, float shares[SLOT_PRESETS]);

/* Returns the seed-position after `seconds` more of seed-walk, limited to the parameter's range. */
double values_seed_position(const struct parameters *values, double seconds);

/* Moves values.seed_position by seed_walk for the time since the last call, unless values.pause is set. */
void settings_walk(struct settings *settings, int64_t now_ns);

/* True if the picture changes although no value is set: a fade is under way, or seed-walk moves the seed. */
bool settings_moves(const struct settings *settings, int64_t now_ns);

/* Fills the engine's controls for a frame at time now_ns, from the values and the fade. */
void settings_controls(const struct settings *settings, int64_t now_ns, struct controls *controls);
/* values_controls_there returns a bit for each control (bit 0: control[1]) that is given; values_controls_on a bit for
 * each that is given and switched on. */
unsigned values_controls_there(const struct parameters *values);
unsigned values_controls_on(const struct parameters *values);
/* values_bank_room returns the frames for which a handle's bank needs room: bank-room if somebody has set it, else
 * `least`; and no fewer than bank. values_bank_layers returns the layers of engine_shape for a bank of so many frames.
 * values_bank_layers_word returns the value of bank-layers that stands for these layers. */
int values_bank_room(const struct parameters *values, int least);
unsigned values_bank_layers(const struct parameters *values, int room);
int values_bank_layers_word(unsigned layers);
/* Lists the parameters of control `number` (from 1) that have an effect: those of its network, if it has one, and those
 * of its kind of map. Returns how many there are. */
enum { CONTROL_VALUES_MAX = 4 + MAP_PARAMS };
int values_of_control(const struct parameters *values, int number, enum parameter list[CONTROL_VALUES_MAX]);
/* Returns the value of a control's parameter that is used: the parameter's, or if that is -1 (not set), the default of
 * the kind of map. number: the control, from 1. *step gets the amount by which a key changes it; step may be NULL. */
double values_control_number(const struct parameters *values, enum parameter id, int number, double *step);
/* True if values_of_control may list the parameter. */
bool values_is_control(enum parameter id);
/* Returns the number that is used: for a parameter of a control as values_control_number does, for all others the
 * value. */
double values_number(const struct parameters *values, enum parameter id, int index);

/* The choices of the parameter noise: the same in every frame, or moved with the picture. */
enum noise_mode { NOISE_FIXED, NOISE_CARRIED };

/* Fills the engine's controls for a frame from the values alone, without a fade. */
void values_controls(const struct parameters *values, struct controls *controls);

/* Returns the guidance mode that the engine's handle has to be prepared for (not for models that take the guidance
 * scale as an input). With a scale of 1 no guidance is needed: GUIDANCE_NONE. The mode self is returned with a scale of
 * 1, too, because it computes no further row, and so a change of the scale needs no new handle. */
enum guidance_mode values_guidance(const struct parameters *values);

/* The state on which the picture of a frame depends: the settings, and the controls that settings_controls makes of
 * them. moment_equal returns true if a frame would give the same picture at both moments; it does not compare the
 * number of steps. */
struct moment {
  struct settings settings;
  struct controls controls;
};
/* Copies settings and controls. *to must be initialised, because settings_copy does not copy texts that are equal. */
void moment_copy(struct moment *to, const struct moment *from);
bool moment_equal(const struct moment *a, const struct moment *b);

/* Returns the reason why the negative prompt has no effect with this handle, as words for a message ("without
 * --guidance above 1"). NULL: it has an effect, or there is none. */
const char *values_negative_idle(const struct parameters *values, const struct engine_info *info,
                                 const struct prepared_info *prepared);

/* Returns the text for a slot of the engine's text encoder: a prompt, or the negative prompt. NULL: there is none. */
const char *values_slot_text(const struct parameters *values, int slot);

#endif
